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

#include "deviance.hpp"
#include "families.hpp"
#include "jets.hpp"
#include "panels.hpp"
#include "tweedie_expansion.hpp"

namespace neglog {
namespace {

// ---- the sum over the number of jumps --------------------------------------------------------------------------

// log of the sum, and averages of the summand's derivatives under the weights of the sum (the posterior of j): none of them at order 0,
// means at order 1, and at order 2 how they vary together.
struct JumpSum {
    double log_sum;
    double excess_jumps = nan_value;  // <j - lambda>
    double shape_slope = nan_value;   // <j S'(nu j)>
    double divergence = nan_value;    // <D(j)>
    double shape_bend = nan_value;    // <j^2 S''(nu j)>
    double jumps_variance = nan_value, shape_variance = nan_value, covariance = nan_value;  // of j, and of j S'(nu j) + D(j)
};

class JumpSeries {
  public:
    explicit JumpSeries(double power)
        : power(power), nu((2.0 - power) / (power - 1.0)), steepness(1.0 / (power - 1.0)),
          log_front(0.5 * std::log(nu) - 2.0 * half_log_two_pi) {}

    const double power, nu, steepness, log_front;

    template <int order>
    JumpSum sum(double lambda) {
        if (!(lambda > 0 && lambda < infinity)) return {lambda == 0 ? -infinity : nan_value};  // rounded to 0, or no number
        const double sigma = std::sqrt(lambda / steepness);
        // Terms more than 40 nats below the largest are dropped: with x = j - lambda, D(j) >= x^2 / (2 lambda + 2x/3), x > 0.
        const double reach = 40.0 / steepness;
        const double below = std::sqrt(2.0 * reach * lambda);
        const double above = reach / 3.0 + std::sqrt(reach * reach / 9.0 + 2.0 * reach * lambda);
        if (sigma > 1.5 && steepness * lambda > 60.0) return strided<order>(lambda, sigma, below, above);
        return whole<order>(lambda, larger(1.0, std::floor(lambda - below)), larger(3.0, std::ceil(lambda + above)));
    }

  private:
    static constexpr std::size_t most_nodes = 256, table_size = 1024;
    struct Nodes {  // j = lambda + offset, their exponents and D(j); of S(nu j) the derivatives in nu, where a table has them
        double first, step;
        std::size_t count;
        const double *slope = nullptr, *bend = nullptr;
        double exponent[most_nodes], divergence[most_nodes];
        double offset(std::size_t k) const { return first + static_cast<double>(k) * step; }
    };
    // Filled as far as needed: S(j) + S(nu j), the exponent at lambda = 1 up to (1 + nu) lambda, and of S(nu j) the derivatives in nu.
    // Plain arrays, since a std::vector compiled here for AVX could be linked into the baseline.
    std::size_t filled_ = 1, differentiated_ = 1;
    double stirling_[table_size], level_[table_size], slope_[table_size], bend_[table_size];

    double stirling(double j) const { return stirling_error(j) + stirling_error(nu * j); }
    // D(j) at j = lambda + offset, and at the number j itself.
    static double divergence(double offset, double j, double lambda, double log_lambda) {
        return j * excess(lambda, j, -offset, log_lambda - log(j));
    }
    static double divergence(double j, double lambda, double log_lambda) { return divergence(j - lambda, j, lambda, log_lambda); }

    // The number of jumps with the largest term. It is next to lambda, but not always the nearest: where jumps are sharp, the
    // terms on both sides differ by thousands of nats.
    static double likeliest(double low, double lambda, double log_lambda) {
        const double below = larger(low, std::floor(lambda));
        return divergence(below + 1.0, lambda, log_lambda) < divergence(below, lambda, log_lambda) ? below + 1.0 : below;
    }

    double slope(double j) const { return j * stirling_error_slope(nu * j); }
    double bend(double j) const { return j * j * stirling_error_bend(nu * j); }
    template <int order>
    void extend_tables(double high) {
        for (; filled_ <= static_cast<std::size_t>(high); ++filled_) {
            const double j = static_cast<double>(filled_);
            stirling_[filled_] = stirling(j);
            level_[filled_] = -stirling_[filled_] - steepness * (j * std::log(j) - j);
        }
        for (; order > 0 && differentiated_ <= static_cast<std::size_t>(high); ++differentiated_) {
            const double j = static_cast<double>(differentiated_);
            slope_[differentiated_] = slope(j), bend_[differentiated_] = bend(j);
        }
    }

    // Every j of the window, one by one.
    template <int order>
    JumpSum whole(double lambda, double low, double high) {
        const double log_lambda = std::log(lambda);
        const auto count = static_cast<std::size_t>(high - low) + 1;
        const double peak_j = likeliest(low, lambda, log_lambda);
        const bool known = high < table_size;
        Nodes nodes{low - lambda, 1.0, count};
        double peak;
        if (known) {
            extend_tables<order>(high);
            const auto first = static_cast<std::size_t>(low);
            const double *level = level_ + first, *stirling = stirling_ + first;
            const double rise = steepness * log_lambda, less = 1.0 / steepness;
            nodes.slope = slope_ + first, nodes.bend = bend_ + first;
            if (high * (std::fabs(rise) + steepness) < 3000.0) {  // too small for the subtractions below to lose digits
                peak = level_[static_cast<std::size_t>(peak_j)] + peak_j * rise;
                for (std::size_t k = 0; k < count; ++k) nodes.exponent[k] = level[k] + (low + static_cast<double>(k)) * rise - peak;
                for (std::size_t k = 0; k < count && order > 0; ++k)
                    nodes.divergence[k] = lambda - (level[k] + stirling[k]) * less - (low + static_cast<double>(k)) * log_lambda;
                peak -= steepness * lambda;
            } else {
                peak = -stirling_[static_cast<std::size_t>(peak_j)] - steepness * divergence(peak_j, lambda, log_lambda);
                for (std::size_t k = 0; k < count; ++k) {
                    nodes.divergence[k] = divergence(low + static_cast<double>(k), lambda, log_lambda);
                    nodes.exponent[k] = -stirling[k] - steepness * nodes.divergence[k] - peak;
                }
            }
        } else {
            peak = -stirling(peak_j) - steepness * divergence(peak_j, lambda, log_lambda);
            for (std::size_t k = 0; k < count; ++k) {
                const double j = low + static_cast<double>(k);
                nodes.divergence[k] = divergence(j, lambda, log_lambda);
                nodes.exponent[k] = -stirling(j) - steepness * nodes.divergence[k] - peak;
            }
        }
        return collect<order>(nodes, lambda, peak);
    }

    // A wide bump: nodes at a stride, the trapezoidal rule. They are counted from lambda, beside which their distance may round.
    template <int order>
    JumpSum strided(double lambda, double sigma, double below, double above) {
        const double log_lambda = std::log(lambda);
        const double step = 0.7 * sigma;
        const double first = below < lambda ? -below : 0.5 * step - lambda;
        const double peak = -stirling(lambda);
        Nodes nodes{first, step, static_cast<std::size_t>((above - first) / step) + 1};
        for (std::size_t k = 0; k < nodes.count; ++k) {
            const double offset = nodes.offset(k), x = lambda + offset;
            nodes.divergence[k] = divergence(offset, x, lambda, log_lambda);
            nodes.exponent[k] = -stirling(x) - steepness * nodes.divergence[k] - peak;
        }
        JumpSum result = collect<order>(nodes, lambda, peak);
        result.log_sum += std::log(step);
        return result;
    }

    template <int order>
    JumpSum collect(const Nodes& nodes, double lambda, double peak) const {
        double weight[most_nodes];
        for (std::size_t k = 0; k < nodes.count; ++k) weight[k] = exp(nodes.exponent[k]);
        double total = 0.0;
        for (std::size_t k = 0; k < nodes.count; ++k) total += weight[k];
        JumpSum result{peak + std::log(total)};
        if constexpr (order > 0) {
            const double part = 1.0 / total;
            double shape[most_nodes], jumps = 0.0, slopes = 0.0, divergences = 0.0, bends = 0.0;
            for (std::size_t k = 0; k < nodes.count; ++k) {
                const double x = lambda + nodes.offset(k), own = nodes.slope ? nodes.slope[k] : slope(x);
                weight[k] *= part;
                shape[k] = own + nodes.divergence[k];
                jumps += weight[k] * nodes.offset(k), slopes += weight[k] * own, divergences += weight[k] * nodes.divergence[k];
                if constexpr (order > 1) bends += weight[k] * (nodes.bend ? nodes.bend[k] : bend(x));
            }
            result.excess_jumps = jumps, result.shape_slope = slopes, result.divergence = divergences, result.shape_bend = bends;
            if constexpr (order > 1) {
                double of_jumps = 0.0, of_shape = 0.0, of_both = 0.0;
                for (std::size_t k = 0; k < nodes.count; ++k) {
                    const double more = nodes.offset(k) - jumps, other = shape[k] - (slopes + divergences);
                    of_jumps += weight[k] * more * more, of_shape += weight[k] * other * other, of_both += weight[k] * more * other;
                }
                result.jumps_variance = of_jumps, result.shape_variance = of_shape, result.covariance = of_both;
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
    static_assert(expansion_order == 12);
    double b[expansion_order], power_slope[expansion_order], power_bend[expansion_order], reach;

    explicit Expansion(double power) {
        const double offset = power - 1.5, z = offset * offset;
        for (int k = 0; k < expansion_order; ++k) {
            double value = 0.0, slope = 0.0, half_bend = 0.0;  // in z
            for (int i = k + 1; i >= 0; --i) {
                half_bend = half_bend * z + slope;
                slope = slope * z + value;
                value = value * z + expansion_table[k][i];
            }
            b[k] = value;
            power_slope[k] = 2.0 * offset * slope;
            power_bend[k] = 2.0 * slope + 8.0 * z * half_bend;
        }
        const double lattice = 2.0 * std::pow(std::sin(std::numbers::pi * (power - 1.0)), 2) / ((2.0 - power) * (power - 1.0));
        reach = smaller(0.1, lattice / 40.0);
    }
    double sum(double x) const {
        const double x2 = x * x, x4 = x2 * x2;
        const double low = (b[0] + b[1] * x) + x2 * (b[2] + b[3] * x);
        const double mid = (b[4] + b[5] * x) + x2 * (b[6] + b[7] * x);
        const double high = (b[8] + b[9] * x) + x2 * (b[10] + b[11] * x);
        return x * (low + x4 * (mid + x4 * high));
    }
    // The sum, and its derivatives in the power and in log x
    template <int order>
    OfTwo derivatives(double x) const {
        OfTwo d = {sum(x), 0.0, 0.0, 0.0, 0.0, 0.0};
        double xk = 1.0;
        for (int k = 0; k < expansion_order && order > 0; ++k) {
            const double n = k + 1;
            xk *= x;
            d.x += power_slope[k] * xk, d.y += n * b[k] * xk;
            d.xx += power_bend[k] * xk, d.xy += n * power_slope[k] * xk, d.yy += n * n * b[k] * xk;
        }
        return d;
    }
};

// ---- what is kept ------------------------------------------------------------------------------------------------

// Everything that depends on the power alone, with the sum interpolated in log(lambda); and one whole law, mean and
// dispersion included, interpolated in log y.
struct PowerTables {
    explicit PowerTables(double power) : jumps(power), expansion(power) {}
    JumpSeries jumps;
    Expansion expansion;

    double log_sum(double log_lambda) {
        const auto exact = [this](double t) { return jumps.sum<0>(std::exp(t)).log_sum; };
        const double interpolated = sums_.at(log_lambda, exact);
        return interpolated == interpolated ? interpolated : exact(log_lambda);
    }
    Panels& law(int link, double eta, double inverse_dispersion) {
        if (link != link_ || eta != eta_ || inverse_dispersion != inverse_dispersion_) {
            law_.forget();
            link_ = link, eta_ = eta, inverse_dispersion_ = inverse_dispersion;
        }
        return law_;
    }

  private:
    Panels sums_, law_;
    int link_ = 0;
    double eta_ = nan_value, inverse_dispersion_ = nan_value;
};

// One per thread, kept while the power stays the same.
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

// 1 < p < 2, y > 0: the half deviance over phi is known, the normaliser is not. Of numbers, or of jets.
template <class P>
P compound_normaliser(double log_y, const P& power, const P& log_dispersion) {
    constexpr int order = derivatives_of<P>;
    PowerTables& tables = power_tables(value_of(power));
    const P above = 2.0 - power, log_x = log_dispersion - above * log_y;
    const double x = std::exp(value_of(log_x));
    if (x <= tables.expansion.reach) {
        const P sum = compose(power, log_x, tables.expansion.derivatives<order>(x));
        return half_log_two_pi + 0.5 * log_dispersion + (0.5 * log_y) * power - sum;
    }
    const P nu = above * reciprocal(power - 1.0), log_lambda = -log_x - log(above);
    const double lambda = std::exp(value_of(log_lambda)), steep = tables.jumps.steepness;
    const JumpSum sum = tables.jumps.sum<order>(lambda);
    const OfTwo derivatives = {sum.log_sum,
                               -sum.shape_slope - sum.divergence,
                               steep * sum.excess_jumps,
                               sum.shape_variance - sum.shape_bend,
                               sum.excess_jumps - steep * sum.covariance,
                               steep * (steep * sum.jumps_variance - lambda)};
    return log_y - 0.5 * log(nu) + 2.0 * half_log_two_pi - compose(nu, log_lambda, derivatives);
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
    return power > 1 && power < 2 ? exponent + compound_normaliser(log_y, power, std::log(dispersion)) : nan_value;
}

template <class Link>
NEGLOG_VECTOR_LOOP void positive_or_mean(std::size_t n, const double* __restrict y, const double* __restrict eta, double* __restrict value,
                                         double* __restrict log_value) {
    for (std::size_t i = 0; i < n; ++i) {
        const double mean = Link::mean(eta[i]);
        value[i] = (y[i] > 0) & (y[i] < infinity) ? y[i] : mean;
    }
    for (std::size_t i = 0; i < n; ++i) {
        const double log_y = log_positive(y[i]), log_mean = Link::log_mean(eta[i]);
        log_value[i] = (y[i] > 0) & (y[i] < infinity) ? log_y : log_mean;
    }
}

NEGLOG_VECTOR_LOOP void scale_and_precision(std::size_t n, double a, const double* __restrict log_y, const double* __restrict precision,
                                            double* __restrict scaled, double* __restrict log_precision) {
    for (std::size_t i = 0; i < n; ++i) scaled[i] = exp(a * log_y[i]) * precision[i];
    for (std::size_t i = 0; i < n; ++i) log_precision[i] = log_positive(precision[i]);
}

template <class Link>
NEGLOG_VECTOR_LOOP void scaled_deviance(std::size_t n, const Deviance& deviance, const double* __restrict eta,
                                        const double* __restrict scaled, const double* __restrict log_y, double* __restrict y_then_result) {
    const Deviance local = deviance;
    for (std::size_t i = 0; i < n; ++i)
        y_then_result[i] = scaled[i] * local.relative(y_then_result[i], log_y[i], Link::mean(eta[i]), Link::log_mean(eta[i]));
}

// One power between 1 and 2. What vectorises is done for all: the deviance, the mass at zero, and the expansion
// wherever it reaches; the rest is interpolated.
template <class Link>
void compound_nll(std::size_t n, const double* __restrict y, const double* __restrict eta, double power,
                  const double* __restrict inverse_dispersion, double* __restrict nll) {
    PowerTables& tables = power_tables(power);
    const Expansion expansion = tables.expansion;
    const Deviance deviance(power);
    const double a = deviance.a, log_a = std::log(a);
    constexpr std::size_t chunk = 256;
    double log_y[chunk], scaled[chunk], x[chunk], half[chunk], log_precision[chunk];
    for (std::size_t start = 0; start < n; start += chunk) {
        const std::size_t m = n - start < chunk ? n - start : chunk;
        const double *ys = y + start, *etas = eta + start, *precisions = inverse_dispersion + start;
        double* out = nll + start;
        const auto positive = [ys](std::size_t i) { return (ys[i] > 0) & (ys[i] < infinity); };
        // Where y is not positive it is replaced by mu, at which the deviance is 0; what is left of the first factor then
        // gives the mass at 0.
        positive_or_mean<Link>(m, ys, etas, half, log_y);
        scale_and_precision(m, a, log_y, precisions, scaled, log_precision);
        scaled_deviance<Link>(m, deviance, etas, scaled, log_y, half);
        for (std::size_t i = 0; i < m; ++i) {
            x[i] = positive(i) ? 1.0 / scaled[i] : 0.0;
            const double near = half[i] + half_log_two_pi - 0.5 * log_precision[i] + 0.5 * power * log_y[i] - expansion.sum(x[i]);
            out[i] = positive(i) ? near : scaled[i] * deviance.over_a;
        }
        std::size_t left[chunk], count = 0;  // collected first: a branch that nobody can predict costs more than a polynomial
        for (std::size_t i = 0; i < m; ++i) {
            left[count] = i;
            count += (x[i] > expansion.reach) | !((ys[i] >= 0) & (ys[i] < infinity)) | !(out[i] == out[i]) | Link::outside(etas[i]);
        }
        for (std::size_t k = 0; k < count; ++k) {
            const std::size_t i = left[k];
            const bool ordinary = (ys[i] >= 0) & (ys[i] < infinity) & (x[i] < infinity) & (half[i] == half[i]) & !Link::outside(etas[i]);
            const double log_lambda = a * log_y[i] + log_precision[i] - log_a;
            out[i] = ordinary ? half[i] + log_y[i] - tables.jumps.log_front - tables.log_sum(log_lambda)
                              : PowerVariance<TweedieLaw, Link>::nll(ys[i], etas[i], power, precisions[i]);
        }
    }
}

NEGLOG_VECTOR_LOOP void log_loop(std::size_t n, const double* __restrict x, double* __restrict out) {
    for (std::size_t i = 0; i < n; ++i) out[i] = log_positive(x[i]);
}

// The same law for every y: all of it is a function of log y, and one polynomial does where no expansion would do better.
template <class Link>
void single_law_nll(std::size_t n, const double* __restrict y, double eta, double power, double inverse_dispersion,
                    double* __restrict nll) {
    PowerTables& tables = power_tables(power);
    Panels& panels = tables.law(Link::exponent, eta, inverse_dispersion);
    const auto exact = [=](double value) { return PowerVariance<TweedieLaw, Link>::nll(value, eta, power, inverse_dispersion); };
    const double at_zero = exact(0.0);
    const double highest = -std::log(tables.expansion.reach * inverse_dispersion) / (2.0 - power);
    constexpr std::size_t chunk = 256;
    double log_y[chunk];
    std::size_t left[chunk];
    for (std::size_t start = 0; start < n; start += chunk) {
        const std::size_t m = n - start < chunk ? n - start : chunk;
        const double* ys = y + start;
        double* out = nll + start;
        log_loop(m, ys, log_y);
        std::size_t count = 0;
        for (std::size_t i = 0; i < m; ++i) {
            out[i] = at_zero;
            left[count] = i;
            count += ys[i] != 0;
        }
        for (std::size_t k = 0; k < count; ++k) {
            const std::size_t i = left[k];
            const bool low = (ys[i] > 0) & (log_y[i] < highest);
            const double found = low ? panels.at(log_y[i], [&](double t) { return exact(std::exp(t)); }) : nan_value;
            out[i] = found == found ? found : exact(ys[i]);
        }
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
    const double half = y_power * Deviance(power).relative(y, log_y, mu, t);
    const double half_slope = half_deviance_power_slope(y, log_y, mu, t, power, half) / dispersion;
    if (x <= tables.expansion.reach) {
        const OfTwo sum = tables.expansion.derivatives<1>(x);
        return {nll, mean_slope, half_slope + (0.5 - sum.y) * log_y - sum.x, (0.5 - sum.y - half / dispersion) / dispersion};
    }
    const JumpSeries& series = tables.jumps;
    const double steep = series.steepness;
    const JumpSum jumps = tables.jumps.sum<1>(y_power / (dispersion * (2.0 - power)));
    const double in_power = steep * steep * (jumps.shape_slope + jumps.divergence) +
                            steep * jumps.excess_jumps * (1.0 / (2.0 - power) - log_y);
    return {nll, mean_slope, half_slope + steep * steep / (2.0 * series.nu) - in_power,
            (steep * jumps.excess_jumps - half / dispersion) / dispersion};
}

}  // namespace
}  // namespace neglog
