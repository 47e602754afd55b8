// Ordered classes: the cells that edges cut from a latent law around the prediction. A cell costs -log(F(high - eta) - F(low - eta)).
//
// Neither edge of a row is the noise's own parameter: which two of them a row has is said by its class (passes.cpp). The lowest class
// begins at -infinity, the highest ends at infinity. Nothing here is a difference of nearly equal numbers, in any tail, for cells
// narrow or wide.
#pragma once

#include <cmath>
#include <numbers>

#include "families.hpp"
#include "jets.hpp"

namespace neglog {
namespace {

// log(1 + e^x) with its derivatives
template <class T>
inline T softplus(const T& x) {
    const double at = value_of(x), e = exp(-absolute(at)), i = 1.0 / (1.0 + e);
    return compose(x, larger(at, 0.0) + log1p(e), at >= 0 ? i : e * i, e * i * i);
}

// -log(1 - e^-x), x > 0
template <class T>
inline T cost_of_gap(const T& x) {
    const double at = value_of(x), grown = expm1(at), share = -expm1(-at);
    const double value = at > 0.5 ? -log1p(-exp(-at)) : -log(share);
    return compose(x, value, -1.0 / grown, 1.0 / (grown * share));
}

// F(a) - F(b) = F(a) F(-b) (1 - e^(b - a)) for the logistic law
struct LogisticCell {  // raw: low, high
    static constexpr std::size_t parameters = 2;
    template <class T, class P>
    static auto row(double, const T& m, const P* raw) {
        return softplus(m - raw[1]) + softplus(raw[0] - m) + cost_of_gap(raw[1] - raw[0]);
    }
    static double guide(double, double m, const double* raw) {
        const auto bend = [](double x) {
            const double e = exp(-absolute(x)), i = 1.0 / (1.0 + e);
            return e * i * i;
        };
        return bend(m - raw[1]) + bend(raw[0] - m);
    }
    static double information(double m, const double* raw) { return guide(0.0, m, raw); }
    static bool contains(double y) { return y >= 0 && is_integer(y); }
};

// -log(Phi(a) - Phi(b)) with what all its derivatives are made of: the densities at both ends over the mass, the mean of a Gaussian that
// is cut to the cell, and how far the ends are from that. Each second derivative is a sum of positive products of these.
struct CutGaussian {
    double nll, mean, at_low, at_high, above_low, below_high;

    static CutGaussian of(double b, double a) {
        if (a + b < 0) {  // by symmetry
            const CutGaussian other = in_upper_half(-a, -b);
            return {other.nll, -other.mean, other.at_high, other.at_low, other.below_high, other.above_low};
        }
        return in_upper_half(b, a);
    }

  private:
    static double density(double x) { return std::exp(-0.5 * x * x - half_log_two_pi); }
    static double tail(double x) { return 0.5 * std::erfc(x * sqrt_half); }

    static CutGaussian in_upper_half(double b, double a) {  // -a <= b
        const double width = a - b;
        if (!(width > 0)) return {width == width ? infinity : width, nan_value, nan_value, nan_value, nan_value, nan_value};
        if (width * larger(a, 1.0) < 2.0) return narrow(b, a, width);
        return b > 0 ? far(b, a) : across(b, a);
    }

    // The density over the cell is nearly a polynomial there: Gauss and Legendre's 12 points give every digit.
    static CutGaussian narrow(double b, double a, double width) {
        constexpr double node[] = {0.1252334085114689, 0.3678314989981802, 0.5873179542866175,
                                   0.7699026741943047, 0.9041172563704749, 0.9815606342467192};
        constexpr double weight[] = {0.2491470458134028, 0.2334925365383548, 0.2031674267230659,
                                     0.1600783285433462, 0.1069393259953184, 0.0471753363865118};
        const double middle = 0.5 * (a + b), half = 0.5 * width;
        double mass = 0.0, lean = 0.0, below = 0.0, above = 0.0;  // in units of the density in the middle, times half the width
        for (int k = 0; k < 6; ++k)
            for (const double x : {-node[k], node[k]}) {
                const double t = half * x, share = weight[k] * std::exp(-t * (middle + 0.5 * t));
                mass += share, lean += share * x, below += share * (1.0 + x), above += share * (1.0 - x);
            }
        const double ends = 1.0 / (half * mass);
        return {0.5 * middle * middle + half_log_two_pi - std::log(half * mass),
                middle + half * lean / mass,
                ends * std::exp(half * (middle - 0.5 * half)),
                ends * std::exp(-half * (middle + 0.5 * half)),
                half * below / mass,
                half * above / mass};
    }

    // Both ends in the upper tail, where Q(a) is a small part of Q(b)
    static CutGaussian far(double b, double a) {
        const Probit::Hazard low = Probit::hazard(-b);
        if (a == infinity) return {-Probit::log_cdf(-b), low.h, low.h, 0.0, low.plus_x, 0.0};
        const Probit::Hazard high = Probit::hazard(-a);
        const double log_b = Probit::log_cdf(-b), q = std::exp(Probit::log_cdf(-a) - log_b), mass = 1.0 - q;
        const double above = (low.plus_x - q * (high.plus_x + (a - b))) / mass;  // E[u] - b, E[u; u > a] taken out
        return {-log_b - std::log1p(-q), b + above, low.h / mass, high.h * q / mass, above, (a - b) - above};
    }

    // The mean of the whole law is inside
    static CutGaussian across(double b, double a) {
        const double outside = tail(a) + tail(-b);
        const double mass = 0.5 * (std::erf(a * sqrt_half) - std::erf(b * sqrt_half));
        const double low = density(b) / mass, high = density(a) / mass, mean = low - high;
        return {outside < 0.5 ? -std::log1p(-outside) : -std::log(mass), mean, low, high, mean - b, a == infinity ? 0.0 : a - mean};
    }
};

struct GaussianCell {  // raw: low, high
    static constexpr std::size_t parameters = 2;
    template <class T, class P>
    static auto row(double, const T& m, const P* raw) {
        const double eta = value_of(m);
        const CutGaussian cut = CutGaussian::of(value_of(raw[0]) - eta, value_of(raw[1]) - eta);
        const double low = cut.at_low == 0 ? 0.0 : cut.at_low * cut.above_low, high = cut.at_high == 0 ? 0.0 : cut.at_high * cut.below_high;
        if constexpr (is_jet<P>) {  // all three: the prediction, and both edges
            P out = P::constant(cut.nll);
            const double first[] = {-cut.mean, cut.at_low, -cut.at_high}, both = cut.at_low * cut.at_high;
            const double second[] = {low + high, -low, low + both, -high, -both, high + both};
            unrolled<3>([&]<std::size_t k>() { out.first[k] = first[k]; });
            unrolled<P::pairs>([&]<std::size_t p>() { out.second[p] = second[p]; });
            return out;
        } else {
            return compose(m, cut.nll, -cut.mean, low + high);
        }
    }
    static double guide(double y, double m, const double* raw) { return row(y, Jet<1, 2>::variable(m, 0), raw).second[0]; }
    static double information(double m, const double* raw) { return guide(0.0, m, raw); }
    static bool contains(double y) { return y >= 0 && is_integer(y); }
};

}  // namespace
}  // namespace neglog
