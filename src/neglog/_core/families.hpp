// The scalar formula of each family, once: the nll of y at a raw prediction eta, and its two derivatives in eta.
//
// Three shapes of family cover all noises. Each takes its link as a template argument, so that the link is
// merged into the formula and the default link costs nothing:
//   Location<Loss, Link>      y spread around a location m = inverse link of eta (Gaussian, Laplace, Huber, LogNormal)
//   PowerVariance<Law, Link>  mean mu, variance phi mu^p, written with t = log mu (Poisson, Gamma, Tweedie)
//   Binary<Link>              log p and log(1 - p) as functions of eta (Bernoulli)
// Parameters come as they multiply: `sharpness` is 1 / scale. `nll` leaves out the constant that depends on neither y
// nor eta (Tweedie has none to leave out); the caller adds it.
#pragma once

#include <cmath>
#include <numbers>

#include "vector_math.hpp"

namespace neglog {
namespace {

struct Slopes {
    double gradient, hessian;
};

constexpr double sqrt_half = std::numbers::sqrt2 / 2;

// `guide` is what a search steps by where the second derivative misleads: the information, and for a loss with straight tails the
// secant psi(z) / z, whose parabola lies above the loss, so that its minimum never overshoots (iteratively reweighted squares).
enum class Curvature { observed, expected, guide };

// ---- location families ---------------------------------------------------------------------------------------

struct LocationLink {  // location m and its first two derivatives in eta
    double m, d1, d2;
    bool outside;
};
struct IdentityLocation {
    static LocationLink at(double eta) { return {eta, 1.0, 0.0, false}; }
};
struct LogLocation {
    static LocationLink at(double eta) {
        const double m = exp(eta);
        return {m, m, m, false};
    }
};
struct InverseLocation {
    static LocationLink at(double eta) {
        const double m = 1.0 / eta;
        return {m, -m * m, 2.0 * m * m * m, eta == 0};
    }
};
struct SqrtLocation {
    static LocationLink at(double eta) { return {eta * eta, 2.0 * eta, 2.0, eta < 0}; }
};

// rho(z), psi = rho', psi' at a standardised residual z, the Fisher information E[psi^2] at scale one, and the guide of a search.
struct Square {
    static double rho(double z, double) { return 0.5 * z * z; }
    static double psi(double z, double) { return z; }
    static double bend(double, double) { return 1.0; }
    static double information(double) { return 1.0; }
    static double guide(double, double) { return 1.0; }
};
struct Absolute {  // at the kink z = 0 the subgradient 0; no curvature anywhere, although the information is 1
    static double rho(double z, double) { return absolute(z); }
    static double psi(double z, double) { return z > 0 ? 1.0 : (z < 0 ? -1.0 : z); }
    static double bend(double z, double) { return z == z ? 0.0 : z; }
    static double information(double) { return 1.0; }
    static double guide(double, double) { return 1.0; }
};
struct HuberLoss {  // the threshold itself belongs to the quadratic part
    static double rho(double z, double delta) {
        const double m = smaller(absolute(z), delta);
        return absolute(z) <= delta ? 0.5 * z * z : m * (absolute(z) - 0.5 * m);
    }
    static double psi(double z, double delta) { return z > delta ? delta : (z < -delta ? -delta : z); }
    static double bend(double z, double delta) { return absolute(z) <= delta ? 1.0 : (z == z ? 0.0 : z); }
    // E[psi^2] = P(|Z| <= delta): the mass of the Gaussian centre.
    static double information(double delta) {
        const double centre = std::sqrt(std::numbers::pi / 2) * std::erf(delta * sqrt_half);
        const double tails = std::exp(-0.5 * delta * delta) / delta;
        return centre / (centre + tails);
    }
    static double guide(double z, double delta) { return absolute(z) <= delta ? 1.0 : delta / absolute(z); }
};
struct Pinball {  // at the kink z = 0 the middle of the subgradients, as Absolute has it
    static double rho(double z, double quantile) { return z * psi(z, quantile); }
    static double psi(double z, double quantile) { return quantile - (z > 0 ? 0.0 : (z < 0 ? 1.0 : 0.5 + z)); }
    static double bend(double z, double) { return z == z ? 0.0 : z; }
    static double information(double quantile) { return quantile * (1.0 - quantile); }
    static double guide(double, double quantile) { return quantile * (1.0 - quantile); }
};

// bend * turn^2, and 0 where there is no bend even if the square overflows
inline double curved(double bend, double turn) { return bend == 0 ? 0.0 : bend * (turn * turn); }

template <class Loss, class Link>
struct Location {
    static double nll(double y, double eta, double sharpness, double delta) {
        const LocationLink link = Link::at(eta);
        const double value = Loss::rho((y - link.m) * sharpness, delta);
        return link.outside ? infinity : value;
    }
    template <Curvature curvature>
    static Slopes slopes(double y, double eta, double sharpness, double delta) {
        const LocationLink link = Link::at(eta);
        const double z = (y - link.m) * sharpness;
        const double down = -Loss::psi(z, delta) * sharpness;
        const double turn = sharpness * link.d1;
        if constexpr (curvature == Curvature::expected)
            return {down * link.d1, Loss::information(delta) * (turn * turn)};
        else if constexpr (curvature == Curvature::guide)
            return {down * link.d1, Loss::guide(z, delta) * (turn * turn)};
        else
            return {down * link.d1, curved(Loss::bend(z, delta), turn) + down * link.d2};
    }
};

// log y is Gaussian; the Jacobian log y makes it a density of y.
struct LogNormal {
    static double nll(double y, double eta, double sharpness, double) {
        const double log_y = log(y);
        const double z = (log_y - eta) * sharpness;
        return y <= 0 ? infinity : (y == infinity ? infinity : log_y + 0.5 * z * z);
    }
    template <Curvature>
    static Slopes slopes(double y, double eta, double sharpness, double) {
        const double precision = sharpness * sharpness;
        return {(eta - log(y)) * precision, precision};
    }
};

// ---- families with variance phi mu^p -------------------------------------------------------------------------

// eta = mu^(1/c) for c = 1, -1, 2; eta = log mu for c = 0. Every one is t = log mu = c log(eta) or eta itself.
template <int c>
struct MeanLink {
    static constexpr int exponent = c;
    static double log_mean(double eta) { return c == 0 ? eta : c * log(eta); }
    static double mean(double eta) { return c == 0 ? exp(eta) : (c == 1 ? eta : (c == 2 ? eta * eta : 1.0 / eta)); }
    static double over_mean(double y, double eta) { return c == 0 ? y * exp(-eta) : (c == -1 ? y * eta : y / mean(eta)); }
    static bool outside(double eta) { return c != 0 && eta <= 0; }
};

// A law gives its power p and the two monomials of the score in t = log mu:
//   d nll / dt = A - B,   d2 nll / dt2 = (2 - p) A + (p - 1) B,   E = A,
//   A = mu^(2-p) / phi,   B = y mu^(1-p) / phi.
struct Monomials {
    double A, B, power;
};

struct PoissonLaw {
    static bool takes_any_mean(double) { return false; }
    static double nll(double y, double mu, double t, double, double) { return nll(y, mu, mu - y, t); }
    static double nll(double y, double mu, double difference, double t) {
        const double near = y * excess(mu, y, difference, t - log(y)) + stirling_error(y) + 0.5 * log(y) + half_log_two_pi;
        const bool counts = y >= 0 && is_integer(y) && y < infinity;
        return counts ? (y == 0 ? mu : near) : (y == y ? infinity : y);
    }
    template <class Link>
    static Monomials monomials(double y, double eta, double, double) {
        return {Link::mean(eta), y, 1.0};
    }
};

struct GammaLaw {  // first parameter: the shape, 1 / phi
    static bool takes_any_mean(double) { return false; }
    static double nll(double y, double mu, double t, double shape, double) {
        const double log_y = log(y);
        const double value = log_y + shape * excess(y, mu, log_y - t);
        return y <= 0 || y == infinity ? infinity : value;
    }
    template <class Link>
    static Monomials monomials(double y, double eta, double shape, double) {
        return {shape, shape * Link::over_mean(y, eta), 2.0};
    }
};

struct TweedieLaw {  // parameters: power and 1 / dispersion; the exact density is in tweedie.hpp
    static bool takes_any_mean(double power) { return power == 0; }
    static double nll(double y, double mu, double t, double power, double inverse_dispersion);
    template <class Link>
    static Monomials monomials(double y, double eta, double power, double inverse_dispersion) {
        const double t = Link::log_mean(eta);
        const double above = exp((2.0 - power) * t), below = exp((1.0 - power) * t);
        // at y = 0 a power that overflows does not count
        if constexpr (Link::exponent == 0) return {above * inverse_dispersion, y == 0 ? 0.0 : y * below * inverse_dispersion, power};
        const double mu = Link::mean(eta);  // negative for power 0, and then without a logarithm
        const bool gaussian = takes_any_mean(power);
        return {(gaussian ? mu * mu : above) * inverse_dispersion, y * (gaussian ? mu : below) * inverse_dispersion, power};
    }
};

template <class Law, class Link>
struct PowerVariance {
    static double nll(double y, double eta, double p0, double p1) {
        const double value = Law::nll(y, Link::mean(eta), Link::log_mean(eta), p0, p1);
        const bool any_mean = Link::exponent != 2 && Law::takes_any_mean(p0);  // a root is never negative
        return (Link::outside(eta) & !any_mean) ? infinity : value;
    }
    // The integral of A - B over t: the nll without what does not depend on eta.
    static double potential(double y, double eta, double p0, double p1) {
        const auto [A, B, p] = Law::template monomials<Link>(y, eta, p0, p1);
        const double t = Link::log_mean(eta);
        const double value = (p == 2 ? A * t : A / (2.0 - p)) - (p == 1 ? (y == 0 ? 0.0 : B * t) : B / (1.0 - p));
        const bool any_mean = Link::exponent != 2 && Law::takes_any_mean(p0);
        return (Link::outside(eta) & !any_mean) ? infinity : value;
    }
    template <Curvature curvature>
    static Slopes slopes(double y, double eta, double p0, double p1) {
        const auto [A, B, p] = Law::template monomials<Link>(y, eta, p0, p1);
        constexpr double c = Link::exponent;
        if constexpr (c == 0) return {A - B, curvature != Curvature::observed ? A : (2.0 - p) * A + (p - 1.0) * B};
        // t = c log eta: t' = c / eta, t'' = -c / eta^2. Collected by monomial, so that nothing cancels.
        const double i = 1.0 / eta;
        if (c == 1 && Law::takes_any_mean(p0)) return {(eta - y) * p1, p1};  // Gaussian: eta may be 0
        const double observed = (c * c * (2.0 - p) - c) * A + (c * c * (p - 1.0) + c) * B;
        return {c * (A - B) * i, (curvature != Curvature::observed ? c * c * A : observed) * (i * i)};
    }
};

// ---- binary ----------------------------------------------------------------------------------------------------

// y in [0, 1] may be a fraction: the nll is then its expectation over a y that is 1 with that share.
struct Logit {
    static double nll(double y, double eta, double, double) {
        const double tail = log1p(exp(-absolute(eta)));
        const double yes = larger(-eta, 0.0) + tail;  // -log p
        const double no = larger(eta, 0.0) + tail;    // -log(1 - p)
        const double value = (y == 0 ? 0.0 : y * yes) + (y == 1 ? 0.0 : (1.0 - y) * no);
        return y < 0 || y > 1 ? infinity : value;
    }
    template <Curvature>
    static Slopes slopes(double y, double eta, double, double) {
        const double e = exp(-absolute(eta));
        const double i = 1.0 / (1.0 + e);
        const double p = eta >= 0 ? i : e * i;
        const double q = eta >= 0 ? e * i : i;
        return {(1.0 - y) * p - y * q, e * i * i};
    }
};

struct BinaryLink {  // log p and log(1 - p), each with two derivatives
    double yes, yes1, yes2, no, no1, no2;
    bool outside;
};

struct Probit {
    // h = phi(x) / Phi(x) and h + x, by the continued fraction of Mills' ratio where Phi is small.
    struct Hazard {
        double h, plus_x;
    };
    static Hazard hazard(double x) {
        if (x > -5.0) {
            const double h = std::exp(-0.5 * x * x) / (std::sqrt(2 * std::numbers::pi) * 0.5 * std::erfc(-x * sqrt_half));
            return {h, h + x};
        }
        double fraction = 0.0;
        for (int k = 60; k >= 1; --k) fraction = k / (-x + fraction);
        return {-x + fraction, fraction};
    }
    static double log_cdf(double x) {
        if (x > 0) return std::log1p(-0.5 * std::erfc(x * sqrt_half));
        if (x > -5.0) return std::log(0.5 * std::erfc(-x * sqrt_half));
        return -0.5 * x * x - half_log_two_pi - std::log(hazard(x).h);
    }
    static BinaryLink at(double eta) {
        const Hazard up = hazard(eta), down = hazard(-eta);
        return {log_cdf(eta), up.h, -up.h * up.plus_x, log_cdf(-eta), -down.h, -down.h * down.plus_x, false};
    }
};

struct Cloglog {  // log(1 - p) = -exp(eta)
    static BinaryLink at(double eta) {
        const double u = std::exp(eta);
        const double w = u == 0 ? 1.0 : (u > 700 ? 0.0 : u / std::expm1(u));
        // 1 - u - w cancels for small u: its Taylor series there.
        const double rest = u < 0.05 ? -u * (0.5 + u * (1.0 / 12 - u * u * (1.0 / 720 - u * u / 30240))) : 1.0 - u - w;
        const double log_p = u < 0.5 ? eta + std::log(u == 0 ? 1.0 : -std::expm1(-u) / u) : std::log1p(-std::exp(-u));
        return {log_p, w, w == 0 ? 0.0 : w * rest, -u, -u, -u, false};
    }
};

struct LogProbability {
    static BinaryLink at(double eta) {
        const double q = -std::expm1(eta), odds = std::exp(eta) / q;
        const double log_q = eta < -0.5 ? std::log1p(-std::exp(eta)) : std::log(q);
        return {eta, 1.0, 0.0, log_q, -odds, -odds / q, eta > 0};
    }
};

struct IdentityProbability {
    static BinaryLink at(double p) {
        const double i = 1.0 / p, j = 1.0 / (1.0 - p);
        return {std::log(p), i, -i * i, std::log1p(-p), -j, -j * j, p < 0 || p > 1};
    }
};

template <class Link>
struct Binary {
    static double nll(double y, double eta, double, double) {
        const BinaryLink link = Link::at(eta);
        const double value = (y == 0 ? 0.0 : -y * link.yes) + (y == 1 ? 0.0 : -(1.0 - y) * link.no);
        return link.outside || y < 0 || y > 1 ? infinity : value;
    }
    template <Curvature curvature>
    static Slopes slopes(double y, double eta, double, double) {
        const BinaryLink link = Link::at(eta);
        const double gradient = (y == 0 ? 0.0 : -y * link.yes1) + (y == 1 ? 0.0 : -(1.0 - y) * link.no1);
        if constexpr (curvature != Curvature::observed) return {gradient, link.yes1 == 0 || link.no1 == 0 ? 0.0 : -link.yes1 * link.no1};
        return {gradient, (y == 0 ? 0.0 : -y * link.yes2) + (y == 1 ? 0.0 : -(1.0 - y) * link.no2)};
    }
};

}  // namespace
}  // namespace neglog
