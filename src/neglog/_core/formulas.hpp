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
//   path(m, raw)            a change of y to u, with one peak near 0, along which cells are integrated (cells.hpp); or, of counts,
//   middle(m)               about the likeliest
// and a law of counts that others are made of (composed.hpp)
//   none(m, raw)            -log of the probability of 0
// A new noise adds its formula here, and its lines in kernels/.
#pragma once

#include <cmath>
#include <numbers>

#include "families.hpp"
#include "jets.hpp"

namespace neglog {
namespace {

template <class Formula>
constexpr bool has_constant = requires(const double* raw) { Formula::template constant<double>(raw); };

// The nll with every constant
template <class Formula, class T, class P>
inline auto whole(double y, const T& m, const P* raw) {
    if constexpr (has_constant<Formula>)
        return Formula::row(y, m, raw) + Formula::constant(raw);
    else
        return Formula::row(y, m, raw);
}

// Along which a density is integrated (cells.hpp): y as a function of u, in which it has one peak, near u = 0, and tails that fall at
// least exponentially.
struct Path {
    enum Kind { real, positive, share, straight } kind;
    double middle, width;  // real: y = middle + width sinh(from + rate u); others: log or logit of y, or y itself, are middle + width u
    double from = 0.0, rate = 1.0;
    double u(double y) const {  // an end beyond the support is where that ends
        if (kind == real) return (std::asinh((y - middle) / width) - from) / rate;
        if (kind == straight) return (y - middle) / width;
        if (y <= 0) return -infinity;
        if (kind == share && y >= 1) return infinity;
        return ((kind == positive ? std::log(y) : std::log(y) - std::log1p(-y)) - middle) / width;
    }
    double y(double u) const {
        if (kind == real) return middle + width * std::sinh(from + rate * u);
        const double at = middle + width * u;
        if (kind == straight) return at;
        return kind == positive ? std::exp(at) : 1.0 / (1.0 + std::exp(-at));
    }
    bool is_above_half(double u) const { return kind == share && middle + width * u > 0; }
    double mirrored(double u) const { return 1.0 / (1.0 + std::exp(middle + width * u)); }  // 1 - y of a share
    double log_slope(double u) const {  // log dy/du
        if (kind == real) {
            const double away = absolute(from + rate * u);
            return std::log(width * rate) + away + std::log1p(std::exp(-2.0 * away)) - std::numbers::ln2;
        }
        const double at = middle + width * u;
        return std::log(width) + (kind == straight ? 0.0 : kind == positive ? at : -softplus(at) - softplus(-at));
    }
};

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
    static double information(double, const double* raw) { return exp(-2.0 * raw[0]); }
    static bool contains(double y) { return absolute(y) < infinity; }
    static Path path(double m, const double* raw) { return {Path::real, m, std::exp(raw[0])}; }
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
    static bool contains(double y) { return absolute(y) < infinity; }
    static Path path(double m, const double* raw) { return {Path::real, m, std::exp(raw[0])}; }
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
    static bool contains(double y) { return absolute(y) < infinity; }
    static Path path(double m, const double* raw) { return {Path::real, m, std::exp(raw[0])}; }
    static double breaks(double, const double* raw) { return std::exp(raw[0] + raw[1]); }
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
    static Path path(double m, const double* raw) { return {Path::real, m, std::exp(raw[0])}; }
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
    static double information(double, const double* raw) { return exp(-2.0 * raw[0]); }
    static bool contains(double y) { return y > 0 && y < infinity; }
};

struct SinhArcsinhFormula {  // raw: log scale, skew, log tail. sinh(u), u = tail asinh(z) - skew, is a standard Gaussian
    static constexpr std::size_t parameters = 3;
    template <class T, class P>
    static auto row(double y, const T& m, const P* raw) {
        const auto z = (y - m) * exp(-raw[0]);
        return bell(exp(raw[2]) * asinh(z) - raw[1]) + log_root(z);
    }
    template <class P>
    static P constant(const P* raw) {
        return raw[0] - raw[2] + half_log_two_pi;
    }
    // That of the square alone, by the slope of sinh(u)
    static double guide(double y, double m, const double* raw) {
        const double z = (y - m) * exp(-raw[0]), tail = exp(raw[2]), u = tail * asinh(z) - raw[1];
        const double slope = smaller(0.5 * (exp(u) + exp(-u)), 1e100) * tail / root(z);
        return slope * slope * exp(-2.0 * raw[0]);
    }
    // The variance of the score by the trapezoidal rule in u, whose weights fall so fast that few of them count
    static double information(double, const double* raw) {
        const double tail = std::exp(raw[2]), step = std::fmin(std::fmax(tail, 0.01), 1.0) / 8;
        double sum = 0.0;
        for (double u = -3.2; u <= 3.2; u += step) {
            const double s = std::sinh(u), x = (u + raw[1]) / tail;
            const double score = (tail * std::tanh(u) * s * s + std::tanh(x)) / std::cosh(x);
            sum += std::exp(-0.5 * s * s - half_log_two_pi) * std::cosh(u) * score * score;
        }
        return sum * step * std::exp(-2.0 * raw[0]);
    }
    static bool contains(double y) { return absolute(y) < infinity; }
    static Path path(double m, const double* raw) {
        const double tail = std::exp(raw[2]);
        return {Path::real, m, std::exp(raw[0]), raw[1] / tail, 1.0 / tail};
    }
    // sinh(u), which is normal
    template <class J>
    static J score(double y, const J& m, const J* raw) {
        const J u = exp(raw[2]) * asinh((y - m) * exp(-raw[0])) - raw[1];
        const double s = std::sinh(u.value);
        return compose(u, s, std::cosh(u.value), s);
    }

  private:
    static constexpr double far = 1e100;  // whose squares are as good as one more than that
    static double root(double z) {
        const double near = std::sqrt(1.0 + z * z);
        return absolute(z) > far ? absolute(z) : near;
    }
    template <class T>
    static T asinh(const T& z) {
        const double at = value_of(z), size = absolute(at), h = root(at), i = 1.0 / h;
        const double beyond = log_positive(size) + std::numbers::ln2, near = log1p(size + size * (size / (1.0 + h)));
        const double value = size > far ? beyond : near;
        return compose(z, at < 0 ? -value : value, i, -(at * i) * i * i);
    }
    template <class T>
    static T log_root(const T& z) {  // log(1 + z^2) / 2
        const double at = value_of(z), i = 1.0 / root(at), c = at * i;
        const double beyond = log_positive(absolute(at)), near = 0.5 * log1p(at * at);
        return compose(z, absolute(at) > far ? beyond : near, c * i, i * i - 2.0 * (c * i) * (c * i));
    }
    template <class T>
    static T bell(const T& u) {  // sinh(u)^2 / 2 - log cosh(u), flat about 0
        const double size = absolute(value_of(u)), less = expm1(-size), s = 0.5 * (expm1(size) - less), e = exp(-2.0 * size);
        const double tanh = -expm1(-2.0 * size) / (1.0 + e), slope = tanh * (s * s);
        const double value = 0.5 * (s * s) - (size + log1p(e) - std::numbers::ln2);
        return compose(u, value, value_of(u) < 0 ? -slope : slope, 2.0 * (s * s) + tanh * tanh);
    }
};

struct AsymmetricLaplaceFormula {  // raw: log scale, quantile
    static constexpr std::size_t parameters = 2;
    template <class T, class P>
    static auto row(double y, const T& m, const P* raw) {
        const auto z = (y - m) * exp(-raw[0]);
        const double at = value_of(z);
        return z * (raw[1] - (at > 0 ? 0.0 : (at < 0 ? 1.0 : 0.5)));
    }
    template <class P>
    static P constant(const P* raw) {
        return raw[0] - log(raw[1]) - log1p(-raw[1]);
    }
    static double guide(double, double, const double* raw) { return Pinball::information(raw[1]) * exp(-2.0 * raw[0]); }
    static bool contains(double y) { return absolute(y) < infinity; }
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
    static double information(double, const double* raw) { return exp(raw[0]); }
    static bool contains(double y) { return y > 0 && y < infinity; }
    static Path path(double t, const double* raw) { return {Path::positive, t, 1.0 / std::sqrt(1.0 + std::exp(raw[0]))}; }
};

struct PoissonFormula {
    static constexpr std::size_t parameters = 0;
    template <class T, class P>
    static T row(double y, const T& t, const P*) {
        const double some = y > 0 ? y : 1.0, log_y = log(some);
        return select(y > 0, some * excess_of_log(t - log_y) + (stirling_error(some) + 0.5 * log_y + half_log_two_pi), exp(t));
    }
    template <class T, class P>
    static T none(const T& t, const P*) {  // -log of the probability of 0
        return exp(t);
    }
    static double guide(double, double t, const double*) { return exp(t); }
    static double information(double t, const double*) { return exp(t); }
    static bool contains(double y) { return y >= 0 && is_integer(y) && y < infinity; }
    static double middle(double t) { return std::exp(t); }
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
    template <class T, class P>
    static auto none(const T& t, const P* raw) {  // -log of the probability of 0
        const auto log_r = (2.0 - raw[1]) * t - raw[0];
        const auto r = exp(select(value_of(log_r) < 100.0, log_r, log_r * 0.0 + 100.0));
        return r * log1p(exp(t) * reciprocal(r));
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
    static double middle(double t) { return std::exp(t); }
};

struct WeibullFormula {  // raw: log shape; t is the log of the scale. (y / scale)^shape is exponential of mean one
    static constexpr std::size_t parameters = 1;
    template <class T, class P>
    static auto row(double y, const T& t, const P* raw) {
        const double log_y = log(y);
        return excess_of_log(exp(raw[0]) * (log_y - t)) + log_y;
    }
    template <class P>
    static P constant(const P* raw) {
        return 1.0 - raw[0];
    }
    static double guide(double, double, const double* raw) { return exp(2.0 * raw[0]); }
    static double information(double, const double* raw) { return exp(2.0 * raw[0]); }
    static bool contains(double y) { return y > 0 && y < infinity; }
    // The hazard up to y is (y / scale)^shape: a cell costs that of its lower end, and -log(1 - e^-more) of what there is more to the upper,
    // which may be so little that only its logarithm is a number
    template <class J>
    static J cell(double lower, double upper, const J& t, const J* raw) {
        const bool begins = lower > 0, ends = upper < infinity;
        const double from = log(begins ? lower : 1.0), to = log(ends && upper > 0 ? upper : 1.0);
        const J shape = exp(raw[0]), nothing = J::constant(0.0);
        const J log_before = shape * (from - t), longer = shape * (to - from);
        const J log_more = select(begins, log_before + longer + log1mexp(longer), shape * (to - t));
        return select(begins, exp(log_before), nothing) - select(ends, log1mexpexp(log_more), nothing);
    }
};

struct InverseGaussianFormula {  // raw: log dispersion
    static constexpr std::size_t parameters = 1;
    template <class T, class P>
    static auto row(double y, const T& t, const P* raw) {
        const double log_y = log(y);
        return 0.5 * square(expm1(log_y - t) * exp(-0.5 * (raw[0] + log_y))) + 1.5 * log_y;
    }
    template <class P>
    static P constant(const P* raw) {
        return 0.5 * raw[0] + half_log_two_pi;
    }
    static double guide(double, double t, const double* raw) { return exp(-t - raw[0]); }
    static double information(double t, const double* raw) { return exp(-t - raw[0]); }
    static bool contains(double y) { return y > 0 && y < infinity; }
    static Path path(double t, const double* raw) { return {Path::positive, t, 1.0 / std::sqrt(1.0 + std::exp(-t - raw[0]))}; }
};

// ---- y with a mean between 0 and 1, written with its log odds -----------------------------------------------------------

struct BetaProportionFormula {  // raw: log precision. y is Beta(a, b), a = mean precision, b = (1 - mean) precision
    static constexpr std::size_t parameters = 1;
    template <class T, class P>
    static auto row(double y, const T& odds, const P* raw) {
        const auto precision = exp(raw[0]);
        const auto log_p = log_share(odds), log_q = log_share(-odds), p = exp(log_p), q = exp(log_q);
        const double log_y = log(y), log_rest = log1p(-y);
        // the divergence of y from the mean, as large as the precision, and what Stirling's formula leaves out of three log Gammas
        const auto divergence = part(y, log_y, p, log_p) + part(1.0 - y, log_rest, q, log_q);
        const auto left = stirling_error(precision * p) + stirling_error(precision * q) - 0.5 * (log_p + log_q);
        return precision * divergence + left + (log_y + log_rest);
    }
    template <class P>
    static P constant(const P* raw) {
        return half_log_two_pi - 0.5 * raw[0] - stirling_error(exp(raw[0]));
    }
    static double guide(double, double odds, const double* raw) { return information(odds, raw); }
    static double information(double odds, const double* raw) {
        const double precision = exp(raw[0]), p = exp(log_share(odds)), q = exp(log_share(-odds));
        return q * q * of_log_shape(precision * p) + p * p * of_log_shape(precision * q);
    }
    static bool contains(double y) { return y > 0 && y < 1; }
    static constexpr bool mirrors = true;  // 1 - y has the same law at minus the log odds
    static Path path(double odds, const double* raw) {
        const double precision = std::exp(raw[0]), p = 1.0 / (1.0 + std::exp(-odds));
        return {Path::share, odds, 1.0 / std::sqrt(0.1 + precision * p * (1.0 - p))};
    }

  private:
    template <class T>
    static T log_share(const T& odds) {  // log of 1 / (1 + e^-odds), whose slope is the other share
        const double at = value_of(odds), e = exp(-absolute(at)), i = 1.0 / (1.0 + e), other = at >= 0 ? e * i : i;
        return compose(odds, smaller(at, 0.0) - log1p(e), other, -e * i * i);
    }
    // Of the divergence p log(p / y) the part that is never negative, y - p + p log(p / y): where they are near, by their ratio
    template <class T>
    static T part(double y, double log_y, const T& p, const T& log_p) {
        const T x = log_y - log_p;
        return select(absolute(value_of(x)) < 1.0, p * excess_of_log(x), y - p - p * x);
    }
    static double of_log_shape(double x) {  // x^2 trigamma(x)
        const double some = larger(x, 1e-100);
        return some * some * stirling_error_bend(some) + some + 0.5;
    }
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
