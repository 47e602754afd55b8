// The exact Tweedie density for 1 < p < 2 and its derivatives in mean, dispersion and power.
//
// y is a Poisson number of Gamma jumps, so f(y) is a sum over the number j of jumps. At mu = y, with
//   lambda = y^(2-p) / (phi (2-p)),   nu = (2-p)/(p-1),   S Stirling's error,   D(j) = j log(j/lambda) - j + lambda,
// every factorial and power collapses into
//   f(y; y, phi) = sqrt(nu) / (2 pi y) * sum_j exp(-S(j) - S(nu j) - (1 + nu) D(j)),
// in which all terms are positive and no exponent cancels, however large lambda is; the mean enters through
//   f(y; mu, phi) = f(y; y, phi) exp(-d(y, mu) / (2 phi)),  d the unit deviance.
//
// The summand is a smooth bump at j = lambda of width sigma = sqrt(lambda / (1 + nu)). When the bump is wide it is summed
// with a stride: by Poisson summation the error of step h sigma is 2 exp(-2 pi^2 / h^2), 6e-18 at h = 0.7. So about
// thirty terms suffice everywhere. (Dunn & Smyth 2005 sum all of them, whose number grows like sqrt(lambda).)
#pragma once

#include <cmath>
#include <cstddef>
#include <optional>

#include "families.hpp"
#include "tweedie_expansion.hpp"

namespace neglog {
namespace {

// ---- the unit deviance, for every power ------------------------------------------------------------------------

// u(a, x) = (exp(a x) - 1) / a, regular at a = 0: what makes p = 1 and p = 2 ordinary points.
inline double box_cox(double a, double x) {
    const double quotient = expm1(a * x) / a;
    return a == 0 ? x : quotient;
}

// d/2 = y^(2-p) [u(2-p, x) - u(1-p, x)],  x = log(mu / y), y > 0. Near mu = y, where the difference cancels, its Taylor
// series x^2/2! c_2 + x^3/3! c_3 + ... with c_k = (2-p)^(k-1) - (1-p)^(k-1).
inline double positive_half_deviance(double y, double log_y, double mu, double log_mu, double power) {
    const double a = 2.0 - power, b = 1.0 - power;
    const double ratio = (mu - y) / y;
    const double x = absolute(ratio) < 0.3 ? log1p(ratio) : log_mu - log_y;
    const double far = box_cox(a, x) - box_cox(b, x);
    constexpr double reciprocal[] = {1.0 / 3, 1.0 / 4, 1.0 / 5, 1.0 / 6, 1.0 / 7, 1.0 / 8, 1.0 / 9,
                                     1.0 / 10, 1.0 / 11, 1.0 / 12, 1.0 / 13, 1.0 / 14, 1.0 / 15, 1.0 / 16};
    double near = 0.5 * x * x, term = near, previous = 0.0, current = 1.0;
    for (double r : reciprocal) {
        const double next = (a + b) * current - a * b * previous;
        previous = current, current = next;
        term *= x * r;
        near += term * current;
    }
    return exp(a * log_y) * (absolute(x) < 0.3 ? near : far);
}

inline double half_deviance(double y, double mu, double log_mu, double power) {
    if (power == 0) return 0.5 * (y - mu) * (y - mu);
    if (y == 0) return power < 2 ? std::exp((2.0 - power) * log_mu) / (2.0 - power) : infinity;
    return positive_half_deviance(y, std::log(y), mu, log_mu, power);
}

// d/da u(a, x) = x^2 g(a x),  g(w) = (w e^w - e^w + 1) / w^2 = sum_k (k+1)/(k+2)! w^k.
inline double box_cox_slope(double w) {
    if (std::fabs(w) > 0.5) return (w * std::exp(w) - std::expm1(w)) / (w * w);
    double sum = 0.0, term = 0.5;
    for (int k = 0; k < 16; ++k) {
        sum += term;
        term *= w * (k + 2.0) / ((k + 1.0) * (k + 3.0));
    }
    return sum;
}

// The derivative of d/2 in the power, y > 0.
inline double half_deviance_power_slope(double y, double log_y, double mu, double power, double half) {
    const double a = 2.0 - power, b = 1.0 - power;
    const double x = std::log1p((mu - y) / y);
    double slope = 0.0;
    if (std::fabs(x) < 0.3) {
        double term = 0.5 * x * x, ak = 1.0, bk = 1.0;  // x^k / k! and a^(k-2), k = 2
        for (int k = 2; k < 20; ++k) {
            slope += term * (k - 1) * (ak - bk);
            term *= x / (k + 1);
            ak *= a, bk *= b;
        }
    } else {
        slope = x * x * (box_cox_slope(a * x) - box_cox_slope(b * x));
    }
    return -log_y * half - std::exp(a * log_y) * slope;
}

// ---- the sum over the number of jumps --------------------------------------------------------------------------

// log of the sum, and averages of the summand's slopes under the weights of the sum (the posterior of j).
struct JumpSum {
    double log_sum;
    double excess_jumps;  // <j - lambda>
    double shape_slope;   // <j S'(nu j)>
    double divergence;    // <D(j)>
};

class JumpSeries {
  public:
    explicit JumpSeries(double power)
        : power(power), nu((2.0 - power) / (power - 1.0)), steepness(1.0 / (power - 1.0)),
          log_front(0.5 * std::log(nu) - 2.0 * half_log_two_pi) {}

    const double power, nu, steepness, log_front;

    template <bool with_slopes>
    JumpSum sum(double lambda) {
        const double sigma = std::sqrt(lambda / steepness);
        // Terms more than 40 nats below the largest are dropped: D(lambda (1+e)) >= lambda e^2 / (2 + 2e/3), e > 0.
        const double c = 40.0 / (steepness * lambda);
        const double low = lambda * (1.0 - std::sqrt(2.0 * c));
        const double high = lambda * (1.0 + c / 3.0 + std::sqrt(c * c / 9.0 + 2.0 * c));
        if (sigma > 1.5 && steepness * lambda > 60.0) return strided<with_slopes>(lambda, sigma, low, high);
        return whole<with_slopes>(lambda, larger(1.0, std::floor(low)), larger(3.0, std::ceil(high)));
    }

  private:
    static constexpr std::size_t most_nodes = 256, table_size = 1024;
    // Filled as far as needed: S(j) + S(nu j), and the exponent at lambda = 1 up to (1 + nu) lambda. Plain arrays, since
    // a std::vector compiled here for AVX could be linked into the baseline.
    std::size_t filled_ = 1;
    double stirling_[table_size], level_[table_size];

    double stirling(double j) const { return stirling_error(j) + stirling_error(nu * j); }
    double divergence(double j, double lambda, double log_lambda) const { return j * excess(lambda, j, log_lambda - log(j)); }

    void extend_tables(double high) {
        for (; filled_ <= static_cast<std::size_t>(high); ++filled_) {
            const double j = static_cast<double>(filled_);
            stirling_[filled_] = stirling(j);
            level_[filled_] = -stirling_[filled_] - steepness * (j * std::log(j) - j);
        }
    }

    // Every j of the window, one by one.
    template <bool with_slopes>
    JumpSum whole(double lambda, double low, double high) {
        const double log_lambda = std::log(lambda);
        const auto count = static_cast<std::size_t>(high - low) + 1;
        const double peak_j = larger(low, nearest(lambda));
        double exponent[most_nodes];
        double peak;
        if (high < table_size) {
            extend_tables(high);
            const double* level = level_ + static_cast<std::size_t>(low);
            const double* stirling = stirling_ + static_cast<std::size_t>(low);
            const double rise = steepness * log_lambda;
            if (high * std::fabs(rise) < 1000.0) {  // too small for the subtraction below to lose digits
                peak = level_[static_cast<std::size_t>(peak_j)] + peak_j * rise;
                for (std::size_t k = 0; k < count; ++k) exponent[k] = level[k] + (low + static_cast<double>(k)) * rise - peak;
                peak -= steepness * lambda;
            } else {
                peak = -stirling_[static_cast<std::size_t>(peak_j)] - steepness * divergence(peak_j, lambda, log_lambda);
                for (std::size_t k = 0; k < count; ++k)
                    exponent[k] = -stirling[k] - steepness * divergence(low + static_cast<double>(k), lambda, log_lambda) - peak;
            }
        } else {
            peak = -stirling(peak_j) - steepness * divergence(peak_j, lambda, log_lambda);
            for (std::size_t k = 0; k < count; ++k) {
                const double j = low + static_cast<double>(k);
                exponent[k] = -stirling(j) - steepness * divergence(j, lambda, log_lambda) - peak;
            }
        }
        return collect<with_slopes>(exponent, count, low, 1.0, lambda, log_lambda, peak);
    }

    // A wide bump: nodes at a stride, the trapezoidal rule.
    template <bool with_slopes>
    JumpSum strided(double lambda, double sigma, double low, double high) {
        const double log_lambda = std::log(lambda);
        const double step = 0.7 * sigma;
        const double first = low > 0 ? low : 0.5 * step;
        const auto count = static_cast<std::size_t>((high - first) / step) + 1;
        const double peak = -stirling(lambda);
        double exponent[most_nodes];
        for (std::size_t k = 0; k < count; ++k) {
            const double x = first + static_cast<double>(k) * step;
            exponent[k] = -stirling(x) - steepness * divergence(x, lambda, log_lambda) - peak;
        }
        JumpSum result = collect<with_slopes>(exponent, count, first, step, lambda, log_lambda, peak);
        result.log_sum += std::log(step);
        return result;
    }

    template <bool with_slopes>
    JumpSum collect(const double* exponent, std::size_t count, double first, double step, double lambda, double log_lambda,
                    double peak) const {
        double weight[most_nodes];
        for (std::size_t k = 0; k < count; ++k) weight[k] = exp(exponent[k]);
        double total = 0.0;
        for (std::size_t k = 0; k < count; ++k) total += weight[k];
        JumpSum result{peak + std::log(total), 0.0, 0.0, 0.0};
        if constexpr (with_slopes) {
            for (std::size_t k = 0; k < count; ++k) {
                const double x = first + static_cast<double>(k) * step;
                const double w = weight[k] / total;
                result.excess_jumps += w * (x - lambda);
                result.shape_slope += w * x * stirling_error_slope(nu * x);
                result.divergence += w * divergence(x, lambda, log_lambda);
            }
        }
        return result;
    }
};

// ---- the expansion for small dispersion ------------------------------------------------------------------------

// With x = phi y^(p-2):  log f(y; y, phi) = -log(2 pi phi y^p) / 2 + b_1 x + b_2 x^2 + ...  The coefficients grow only because of the
// other saddle points of the inversion integral, at a distance of at least 2 pi / x, so that twelve terms are exact up to
// x = 0.1 for every p. What the series cannot see is the lattice of the Poisson limit, whose share is exp(-lattice / x).
struct Expansion {
    double b[expansion_order], power_slope[expansion_order], reach;

    explicit Expansion(double power) {
        const double offset = power - 1.5, z = offset * offset;
        for (int k = 0; k < expansion_order; ++k) {
            double value = 0.0, slope = 0.0;
            for (int i = k + 1; i >= 0; --i) {
                slope = slope * z + value;
                value = value * z + expansion_table[k][i];
            }
            b[k] = value;
            power_slope[k] = 2.0 * offset * slope;
        }
        const double lattice = 2.0 * std::pow(std::sin(std::numbers::pi * (power - 1.0)), 2) / ((2.0 - power) * (power - 1.0));
        reach = smaller(0.1, lattice / 40.0);
    }
    double sum(double x) const {
        double value = 0.0;
        for (int k = expansion_order - 1; k >= 0; --k) value = (value + b[k]) * x;
        return value;
    }
};

// Everything that depends on the power alone: one per thread, kept while the power stays the same.
struct PowerTables {
    explicit PowerTables(double power) : jumps(power), expansion(power) {}
    JumpSeries jumps;
    Expansion expansion;
};

inline PowerTables& power_tables(double power) {
    thread_local std::optional<PowerTables> cache;
    if (!cache || cache->jumps.power != power) cache.emplace(power);
    return *cache;
}

// ---- the density -----------------------------------------------------------------------------------------------

inline double scaled_poisson_nll(double y, double mu, double t, double dispersion) {
    // y = dispersion * count, up to the rounding of that product.
    const double count = nearest(y / dispersion);
    if (!(std::fabs(y - count * dispersion) <= 4e-16 * std::fabs(y))) return y == y ? infinity : y;
    const double difference = -std::fma(count, dispersion, -mu) / dispersion;  // the quotient mu / dispersion is rounded
    return PoissonLaw::nll(count, mu / dispersion, difference, t - std::log(dispersion));
}

// 1 < p < 2, y > 0: the half deviance over phi is known, the normaliser is not.
inline double compound_normaliser(double log_y, double power, double dispersion) {
    PowerTables& tables = power_tables(power);
    const double y_power = std::exp((2.0 - power) * log_y);
    const double x = dispersion / y_power;
    if (x <= tables.expansion.reach)
        return half_log_two_pi + 0.5 * std::log(dispersion) + 0.5 * power * log_y - tables.expansion.sum(x);
    return log_y - tables.jumps.log_front - tables.jumps.sum<false>(y_power / (dispersion * (2.0 - power))).log_sum;
}

inline double TweedieLaw::nll(double y, double mu, double t, double power, double inverse_dispersion) {
    const double dispersion = 1.0 / inverse_dispersion;
    if (power == 1) return scaled_poisson_nll(y, mu, t, dispersion);
    if (power != 0 && (y < 0 || y == infinity)) return infinity;
    if (!(y == y && mu == mu)) return nan_value;
    const double exponent = half_deviance(y, mu, t, power) * inverse_dispersion;
    if (power == 0) return exponent + 0.5 * std::log(dispersion) + half_log_two_pi;
    if (y == 0) return exponent;
    const double log_y = std::log(y);
    if (power == 2) return exponent + log_y + stirling_error(inverse_dispersion) + 0.5 * std::log(dispersion) + half_log_two_pi;
    if (power == 3) return exponent + half_log_two_pi + 0.5 * std::log(dispersion) + 1.5 * log_y;
    return exponent + compound_normaliser(log_y, power, dispersion);
}

// One power between 1 and 2: the expansion in one vector loop for all, then the jumps for those it does not reach.
template <class Link>
void compound_nll(std::size_t n, const double* __restrict y, const double* __restrict eta, double power,
                  const double* __restrict inverse_dispersion, double* __restrict nll) {
    const Expansion expansion = power_tables(power).expansion;
    constexpr std::size_t chunk = 256;
    double x[chunk];
    for (std::size_t start = 0; start < n; start += chunk) {
        const std::size_t stop = n - start < chunk ? n : start + chunk;
        for (std::size_t i = start; i < stop; ++i) {
            const double log_y = log_positive(y[i]), precision = inverse_dispersion[i];
            x[i - start] = exp((power - 2.0) * log_y) / precision;
            const double half = positive_half_deviance(y[i], log_y, Link::mean(eta[i]), Link::log_mean(eta[i]), power);
            nll[i] = half * precision + half_log_two_pi - 0.5 * log_positive(precision) + 0.5 * power * log_y -
                     expansion.sum(x[i - start]);
        }
        for (std::size_t i = start; i < stop; ++i)
            if (!(x[i - start] <= expansion.reach && y[i] > 0 && y[i] < infinity) || Link::outside(eta[i]))
                nll[i] = PowerVariance<TweedieLaw, Link>::nll(y[i], eta[i], power, inverse_dispersion[i]);
    }
}

struct TweedieSlopes {
    double nll, mean, power, dispersion;
};

inline TweedieSlopes tweedie_slopes(double y, double mu, double power, double dispersion) {
    const double t = std::log(mu);
    const double nll = TweedieLaw::nll(y, mu, t, power, 1.0 / dispersion);
    const double mean_slope = (mu - y) / dispersion * (power == 0 ? 1.0 : std::exp(-power * t));
    if (!(power > 1 && power < 2) || !(y >= 0) || y == infinity) return {nll, mean_slope, nan_value, nan_value};
    if (y == 0) return {nll, mean_slope, nll * (1.0 / (2.0 - power) - t), -nll / dispersion};

    PowerTables& tables = power_tables(power);
    const double log_y = std::log(y), y_power = std::exp((2.0 - power) * log_y), x = dispersion / y_power;
    const double half = positive_half_deviance(y, log_y, mu, t, power);
    const double half_slope = half_deviance_power_slope(y, log_y, mu, power, half) / dispersion;
    if (x <= tables.expansion.reach) {
        double in_power = 0.0, in_log_x = 0.0, xk = 1.0;
        for (int k = 0; k < expansion_order; ++k) {
            xk *= x;
            in_power += tables.expansion.power_slope[k] * xk;
            in_log_x += (k + 1) * tables.expansion.b[k] * xk;
        }
        return {nll, mean_slope, half_slope + (0.5 - in_log_x) * log_y - in_power,
                (0.5 - in_log_x - half / dispersion) / dispersion};
    }
    const JumpSeries& series = tables.jumps;
    const double steep = series.steepness;
    const JumpSum jumps = tables.jumps.sum<true>(y_power / (dispersion * (2.0 - power)));
    const double in_power =
        steep * steep * (jumps.shape_slope + jumps.divergence) + steep * jumps.excess_jumps * (1.0 / (2.0 - power) - log_y);
    return {nll, mean_slope, half_slope + steep * steep / (2.0 * series.nu) - in_power,
            (steep * jumps.excess_jumps - half / dispersion) / dispersion};
}

}  // namespace
}  // namespace neglog
