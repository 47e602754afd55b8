// Tweedie noise in all its raw parameters at once, and its cells.
//
// Between powers 1 and 2 the probability of a cell is that of no jump, if 0 lies in it, and the integral of the density, which is a sum
// over the number of jumps (tweedie.hpp). In log y, in which nothing underflows where jumps are so small and many that amounts beyond
// 1e-308 count. Near power 1, n jumps sum up to nearly n times one, and the density is a row of ridges with next to nothing between them:
// there the cell is summed over n, Poisson's mass times the cell of a Gamma law, which is 1 for most n.
#pragma once

#include <utility>

#include "cells.hpp"
#include "tweedie.hpp"

namespace neglog {
namespace {

// The law of log y, y > 0, whose integral is the probability that there is a jump.
struct LogTweedieFormula {  // raw: power, log dispersion
    static constexpr std::size_t parameters = 2;
    template <class T, class P>
    static auto row(double log_y, const T& t, const P* raw) {
        return divergence(log_y, t, raw) + compound_normaliser(log_y, raw[0], raw[1]) - log_y;
    }
    // Half the deviance over the dispersion. By Chernoff's bound at most e^-divergence lies beyond y, seen from the mean.
    template <class T, class P>
    static auto divergence(double log_y, const T& t, const P* raw) {
        const auto above = 2.0 - raw[0], below = raw[0] - 1.0, more = log_y - t;
        const auto relative = excess_of_log(-above * more) * reciprocal(above) + excess_of_log(below * more) * reciprocal(below);
        return exp(above * log_y - raw[1]) * relative;
    }
    // About the mean of what is not 0, as wide as a sum of the usual number of jumps is, or one
    static Path path(double t, const double* raw) {
        const double above = 2.0 - raw[0], lambda = mean_jumps(t, raw), nu = above / (raw[0] - 1.0);
        return {Path::straight, t - log1mexp(lambda), 1.0 / std::sqrt(1.0 + above * lambda + nu / (1.0 + lambda))};
    }
    // Where lambda jumps make y there is a ridge at each number of them, of the width sigma in their number, which is 1 / (a lambda) in
    // log y, unless ridges are so wide that they cannot be told apart.
    static double longest(double log_y, const double* raw) {
        const double lambda = mean_jumps(log_y, raw), sigma = std::sqrt(lambda * (raw[0] - 1.0));
        return sigma > 1.2 ? infinity : smaller(1.0, 4.0 * sigma) / ((2.0 - raw[0]) * lambda);
    }
    static double mean_jumps(double t, const double* raw) { return std::exp((2.0 - raw[0]) * t - raw[1]) / (2.0 - raw[0]); }
};

struct TweedieFormula {  // raw: power, log dispersion
    static constexpr std::size_t parameters = 2;
    template <class J>
    static J row(double y, const J& t, const J* raw) {
        if (!is_compound(raw)) return isolated(y, y, t, raw);
        if (y == 0) return none(t, raw);
        const double log_y = std::log(y);
        return y > 0 ? LogTweedieFormula::row(log_y, t, raw) + log_y : J::constant(infinity);
    }
    static double guide(double, double t, const double* raw) { return std::exp((2.0 - raw[0]) * t - raw[1]); }
    static bool contains(double y) { return absolute(y) < infinity; }

    template <class J>
    static bool is_compound(const J* raw) {
        return raw[0].value > 1 && raw[0].value < 2;
    }
    template <class J>
    static J log_mean_jumps(const J& t, const J* raw) {
        const J above = 2.0 - raw[0];
        return above * t - raw[1] - log(above);
    }
    template <class J>
    static J none(const J& t, const J* raw) {  // -log of the probability of 0
        return exp(log_mean_jumps(t, raw));
    }

    // Powers that are other laws. They stand alone, so that there is nothing along which the power itself could be differentiated.
    template <class J>
    static J isolated(double lower, double upper, const J& t, const J* raw) {
        const double power = raw[0].value, dispersion = std::exp(raw[1].value);
        const J log_scale = 0.5 * raw[1], log_shape = -raw[1];
        if (power == 0) return Cells<GaussianFormula>::nll(lower, upper, exp(t), &log_scale);
        if (power == 1) return Cells<PoissonFormula>::nll(steps(lower, dispersion), steps(upper, dispersion), t - raw[1], raw);
        if (power == 2) return Cells<GammaFormula>::nll(lower, upper, t, &log_shape);
        if (power == 3) return Cells<InverseGaussianFormula>::nll(lower, upper, t, raw + 1);
        return J::constant(nan_value);
    }

  private:
    // A multiple of the dispersion is a count, although that product was rounded
    static double steps(double y, double dispersion) {
        const double count = nearest(y / dispersion);
        return std::fabs(y - count * dispersion) <= 4e-16 * std::fabs(y) ? count : y / dispersion;
    }
};

template <>
struct CellOf<TweedieFormula> {
    using Law = TweedieFormula;
    template <class J>
    static J nll(double lower, double upper, const J& t, const J* raw) {
        if (!Law::is_compound(raw)) return Law::isolated(lower, upper, t, raw);
        if (upper < 0) return J::constant(infinity);
        if (upper == 0) return Law::none(t, raw);
        const double plain[] = {raw[0].value, raw[1].value}, mean = std::exp(t.value);
        const bool begins = lower > 0, ends = upper < infinity;
        if (!begins && !ends) return J::constant(0.0);
        // A cell that holds the mean: what lies beyond an end is the smaller part, or nothing
        if (lower < mean && mean < upper) {
            const auto nothing = [&](double y) { return LogTweedieFormula::divergence(std::log(y), t.value, plain) > negligible; };
            if (begins && ends && nothing(lower)) return nll(0.0, upper, t, raw);
            if (begins && ends && nothing(upper)) return nll(lower, infinity, t, raw);
            if (!begins) return -log1mexp(nll(upper, infinity, t, raw));
            if (!ends && LogTweedieFormula::mean_jumps(t.value, plain) > 1) return -log1mexp(nll(0.0, lower, t, raw));
        }
        J parts[3];
        std::size_t count = 0;
        const double from = larger(lower, 0.0), smooth = smooth_from(plain);
        if (!begins) parts[count++] = Law::none(t, raw);
        if (from < smooth) parts[count++] = over_jumps(from, smaller(upper, smooth), t, raw);
        if (upper > smooth) parts[count++] = integrated<LogTweedieFormula>(std::log(larger(from, smooth)), std::log(upper), t, raw);
        for (std::size_t k = 1; k < count; ++k)  // the likeliest first, about whose slopes the sum is collected
            if (parts[k].value < parts[0].value) std::swap(parts[0], parts[k]);
        SumOfTerms<J> sum;
        for (std::size_t k = 0; k < count; ++k) sum.add(parts[k], 0.0);
        return sum.nll();
    }

  private:
    // The y up to which the cells are summed over jumps: where the ridges begin to overlap, of powers at which they are narrow
    static double smooth_from(const double* raw) {
        const double above = 2.0 - raw[0], below = raw[0] - 1.0;
        return below < 0.02 ? std::exp((std::log(1.5 * above / below) + raw[1]) / above) : 0.0;
    }

    // The sum over n jumps, from the likeliest outwards
    template <class J>
    static J over_jumps(double lower, double upper, const J& t, const J* raw) {
        const J log_above = log(2.0 - raw[0]), log_lambda = Law::log_mean_jumps(t, raw), log_nu = log_above - log(raw[0] - 1.0);
        const J log_jump = (raw[0] - 1.0) * t + raw[1] + log_above;
        const double plain[] = {raw[0].value, raw[1].value}, log_lower = std::log(lower), log_upper = std::log(upper);
        const double most = LogTweedieFormula::mean_jumps(log_upper, plain), least = LogTweedieFormula::mean_jumps(log_lower, plain);
        const double start = larger(1.0, std::floor(smaller(most, larger(least, std::exp(log_lambda.value)))));
        SumOfTerms<J> sum;
        double best = infinity;
        const auto add = [&](double n) {
            const J log_mean = log_jump + std::log(n), log_shape = log_nu + std::log(n);
            // By Chernoff's bound beyond an end lies at most e^-certain of the sum of n jumps
            const auto certain = [&](double log_y) { return std::exp(log_shape.value) * excess_of_log(log_y - log_mean.value); };
            const bool holds = log_lower < log_mean.value && log_mean.value < log_upper;
            const bool begins = !(holds && certain(log_lower) > negligible), ends = !(holds && certain(log_upper) > negligible);
            J nats = PoissonFormula::row(n, log_lambda, raw);
            if (begins || ends)
                nats = nats + CellOf<GammaFormula>::nll(begins ? lower : 0.0, ends ? upper : infinity, log_mean, &log_shape);
            sum.add(nats, 0.0);
            best = smaller(best, nats.value);
            return !(nats.value - best > negligible);
        };
        for (double n = start; add(n);) ++n;
        for (double n = start - 1; n >= 1 && add(n);) --n;
        return sum.nll();
    }
};

}  // namespace
}  // namespace neglog
