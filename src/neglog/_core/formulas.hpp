// The nll of each noise in all its raw parameters, written once: what fits, standard errors and samplers differentiate.
//
// A formula is a template over numbers and jets (jets.hpp), so that one line gives the nll and all its derivatives. It is written in the
// coordinate in which it is simplest, which a link makes of the raw prediction: a location m, or t, the log of a mean. Its parameters
// come on the scale on which they take any value (distributions/parameters.py): logarithms, but for a power. Each formula has
//   parameters              how many there are beside the location
//   row(y, m, raw)          the nll, but for what depends on the parameters alone
//   constant(raw)           the rest, if there is any; computed once where all rows share the parameters
//   guide(y, m, raw)        a positive curvature in m to step by where the second derivative misleads (families.hpp)
// and, where families.hpp has no faster form of the same noise, also
//   information(m, raw)     the expectation of the second derivative in m
//   contains(y)             the support
// A new noise adds its formula here, and its lines in kernels/.
#pragma once

#include <cmath>
#include <numbers>

#include "families.hpp"
#include "jets.hpp"

namespace neglog {
namespace {

// ---- y around a location --------------------------------------------------------------------------------------------

struct GaussianFormula {  // raw: log scale
    static constexpr std::size_t parameters = 1;
    template <class T, class P>
    static auto row(double y, const T& m, const P* raw) {
        return 0.5 * square((y - m) * exp(-raw[0]));
    }
    template <class P>
    static P constant(const P* raw) {
        return raw[0] + half_log_two_pi;
    }
    static double guide(double, double, const double* raw) { return exp(-2.0 * raw[0]); }
};

struct LaplaceFormula {  // raw: log scale
    static constexpr std::size_t parameters = 1;
    template <class T, class P>
    static auto row(double y, const T& m, const P* raw) {
        const auto z = (y - m) * exp(-raw[0]);
        const double at = value_of(z);
        return compose(z, absolute(at), Absolute::psi(at, 0.0), 0.0);
    }
    template <class P>
    static P constant(const P* raw) {
        return raw[0] + std::numbers::ln2;
    }
    static double guide(double, double, const double* raw) { return exp(-2.0 * raw[0]); }
};

struct HuberFormula {  // raw: log scale, log delta
    static constexpr std::size_t parameters = 2;
    template <class T, class P>
    static auto row(double y, const T& m, const P* raw) {
        const auto z = (y - m) * exp(-raw[0]);
        const auto delta = exp(raw[1]);
        const bool inside = absolute(value_of(z)) <= value_of(delta);
        const auto cut = select(inside, z, select(value_of(z) > 0, delta, -delta));
        return cut * (z - 0.5 * cut);
    }
    template <class P>
    static P constant(const P* raw) {
        const P delta = exp(raw[1]);
        const double x = value_of(delta) * sqrt_half, slope = std::exp(-x * x) * std::sqrt(2 / std::numbers::pi);
        const P centre = compose(delta, std::erf(x), slope, -value_of(delta) * slope);
        return raw[0] + log(std::sqrt(2 * std::numbers::pi) * centre + 2.0 * exp(-0.5 * square(delta) - raw[1]));
    }
    static double guide(double y, double m, const double* raw) {
        const double sharpness = exp(-raw[0]);
        return HuberLoss::guide((y - m) * sharpness, exp(raw[1])) * (sharpness * sharpness);
    }
};

struct StudentTFormula {  // raw: log scale, log df
    static constexpr std::size_t parameters = 2;
    template <class T, class P>
    static auto row(double y, const T& m, const P* raw) {
        const auto z = (y - m) * exp(-raw[0]);
        const double at = value_of(z), i = 1.0 / at;
        const auto far = 2.0 * compose(z, log(absolute(at)), i, -i * i) - raw[1];  // where the square is no number
        return (0.5 * exp(raw[1]) + 0.5) * select(absolute(at) > 1e100, far, log1p(square(z) * exp(-raw[1])));
    }
    template <class P>
    static P constant(const P* raw) {  // that of the Gaussian, and what is left of log Gamma(df/2) - log Gamma(df/2 + 1/2)
        const P half = 0.5 * exp(raw[1]);
        return raw[0] + half_log_two_pi + 0.5 - half * log1p(exp(-raw[1])) + stirling_error(half) - stirling_error(half + 0.5);
    }
    static double guide(double y, double m, const double* raw) {
        const double z = (y - m) * exp(-raw[0]), df = exp(raw[1]);
        return (df + 1.0) / (df + z * z) * exp(-2.0 * raw[0]);
    }
    static double information(double, const double* raw) { return (1.0 - 2.0 / (exp(raw[1]) + 3.0)) * exp(-2.0 * raw[0]); }
    static bool contains(double y) { return absolute(y) < infinity; }
};

struct LogNormalFormula {  // raw: log scale
    static constexpr std::size_t parameters = 1;
    template <class T, class P>
    static auto row(double y, const T& m, const P* raw) {
        const double log_y = log(y);
        return 0.5 * square((log_y - m) * exp(-raw[0])) + log_y;
    }
    template <class P>
    static P constant(const P* raw) {
        return raw[0] + half_log_two_pi;
    }
    static double guide(double, double, const double* raw) { return exp(-2.0 * raw[0]); }
};

// ---- y with a mean, written with t = log mean ---------------------------------------------------------------------------

struct GammaFormula {  // raw: log shape
    static constexpr std::size_t parameters = 1;
    template <class T, class P>
    static auto row(double y, const T& t, const P* raw) {
        const double log_y = log(y);
        return exp(raw[0]) * excess_of_log(log_y - t) + log_y;
    }
    template <class P>
    static P constant(const P* raw) {
        return stirling_error(exp(raw[0])) - 0.5 * raw[0] + half_log_two_pi;
    }
    static double guide(double, double, const double* raw) { return exp(raw[0]); }
};

struct NegativeBinomialFormula {  // raw: log dispersion, power. A Poisson mean that is Gamma of shape r = mean^(2-power) / dispersion
    static constexpr std::size_t parameters = 2;
    template <class T, class P>
    static auto row(double y, const T& t, const P* raw) {
        const auto log_r = (2.0 - raw[1]) * t - raw[0];
        const auto mu = exp(t), r = exp(select(value_of(log_r) < 100.0, log_r, log_r * 0.0 + 100.0)), ry = r + y;
        const auto u = (mu - y) * reciprocal(ry), x = select(absolute(value_of(u)) < 0.5, log1p(u), log((r + mu) * reciprocal(ry)));
        const double some = y > 0 ? y : 1.0, log_y = log(some);
        // Poisson's deviance less that of r + y where they are near Poisson's, and logarithms cancel; elsewhere by these, which do not
        const auto near = some * excess_of_log(t - log_y) - ry * excess_of_log(x);
        const auto far = r * x + y * (log1p(r * exp(-t)) - log1p(r * (1.0 / some)));
        const auto deviance = select(y > 0 && y * absolute(value_of(t) - log_y) < smaller(value_of(r), y), near, far);
        const double factorial = y > 0 ? stirling_error(some) + 0.5 * log_y + half_log_two_pi : 0.0;
        return deviance + 0.5 * log1p(y * reciprocal(r)) + stirling_error(r) - stirling_error(ry) + factorial;
    }
    static double guide(double, double t, const double* raw) {
        const double mu = exp(t);
        return mu / (1.0 + mu * exp(raw[0] - (2.0 - raw[1]) * t));
    }
    static double information(double t, const double* raw) {
        const double bend = 2.0 - raw[1], log_r = bend * t - raw[0];
        return guide(0.0, t, raw) + (bend == 0 ? 0.0 : bend * bend * of_log_shape(std::exp(t), std::exp(log_r)));
    }
    // About log r, to which the mean is orthogonal: r^2 sum_j P(Y > j) / (r + j)^2 - r mu / (r + mu)
    static double of_log_shape(double mu, double r) {
        const double share = mu / (r + mu), none = r * std::log1p(mu / r), most = mu + 12 * std::sqrt(mu + mu * mu / r) + 60;
        if (!(none < 600 && most < 1e5))
            return share * share * larger(r * (r * (stirling_error_bend(r) + 1 / r + 0.5 / (r * r)) - 1.0), 0.5);
        double mass = std::exp(-none), above = -std::expm1(-none), sum = 0.0;
        for (double j = 0; j < most && above > 1e-17; ++j) {
            sum += above / ((r + j) * (r + j));
            mass *= share * (j + r) / (j + 1), above -= mass;
        }
        return r * r * sum - r * share;
    }
    static bool contains(double y) { return y >= 0 && is_integer(y) && y < infinity; }
};

// What the prediction takes part in: the nll is that and a sum over y alone, which few numbers give for all rows (likelihood/tweedie.py).
// In the raw prediction itself, because a mean of power 0 may be negative.
template <class Link>
struct TweediePotential {  // raw: power, log dispersion
    static constexpr std::size_t parameters = 2;
    template <class T, class P>
    static T row(double y, const T& eta, const P* raw) {
        constexpr double c = Link::exponent;
        const double at = value_of(eta), power = value_of(raw[0]);
        if (power == 0) {
            const double i = 1.0 / at, mu = Link::mean(at);
            const T mean = c == 0 ? compose(eta, mu, mu, mu)
                                  : compose(eta, mu, c == 1 ? 1.0 : (c == 2 ? 2.0 * at : -i * i),
                                            c == 1 ? 0.0 : (c == 2 ? 2.0 : 2.0 * i * i * i));
            return (0.5 * square(mean) - y * mean) * exp(-raw[1]);
        }
        const T t = c == 0 ? eta : compose(eta, Link::log_mean(at), c / at, -c / (at * at));
        const auto above = exp((2.0 - raw[0]) * t - raw[1]);
        const auto gain = power == 2 ? above * t : above * reciprocal(2.0 - raw[0]);
        if (y == 0) return gain;  // a power that overflows does not count
        const auto below = y * exp((1.0 - raw[0]) * t - raw[1]);
        return gain - (power == 1 ? below * t : below * reciprocal(1.0 - raw[0]));
    }
    static double guide(double y, double eta, const double* raw) {
        return PowerVariance<TweedieLaw, Link>::template slopes<Curvature::guide>(y, eta, raw[0], std::exp(-raw[1])).hessian;
    }
};

}  // namespace
}  // namespace neglog
