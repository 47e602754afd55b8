// Loops over the scalar formulas, and what makes kernels of them. Compiled once per instruction set, as everything in this folder.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <type_traits>
#include <utility>

#include "../families.hpp"
#include "../formulas.hpp"
#include "../kernels.hpp"

#ifndef NEGLOG_ISA
#error "NEGLOG_ISA must name the instruction set this file is compiled for"
#endif

// Columns of results lie in one array, and the compiler cannot know that they do not overlap.
#if defined(__clang__)
#define NEGLOG_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#define NEGLOG_INDEPENDENT _Pragma("GCC ivdep")
#else
#define NEGLOG_INDEPENDENT
#endif

namespace neglog {
namespace {

inline bool is_uniform(std::size_t n, const double* x) {
    return std::all_of(x, x + n, [x](double value) { return value == x[0]; });
}

// ---- the prediction alone, the other parameters known ---------------------------------------------------------------------

// The parameters of row i, after y and the prediction: as many as the formula takes, two where it does not say.
template <class Formula>
constexpr std::size_t arguments = 2;
template <class Formula>
    requires requires { Formula::arguments; }
constexpr std::size_t arguments<Formula> = Formula::arguments;

template <class Formula>
struct Own {
    const double* of[arguments<Formula>];
    explicit Own(Parameters p) {
        unrolled<arguments<Formula>>([&]<std::size_t k>() { of[k] = p[k]; });
    }
    template <class F>
    auto at(std::size_t i, const F& f) const {
        return [&]<std::size_t... k>(std::index_sequence<k...>) { return f(of[k][i]...); }(std::make_index_sequence<arguments<Formula>>{});
    }
};

template <class Formula>
NEGLOG_VECTOR_LOOP void nll_loop(std::size_t n, const double* __restrict y, const double* __restrict eta, Parameters p,
                                 double* __restrict nll) {
    const Own<Formula> own(p);
    for (std::size_t i = 0; i < n; ++i) nll[i] = own.at(i, [&](auto... q) { return Formula::nll(y[i], eta[i], q...); });
}

template <class Formula, Curvature curvature, class Label, class Raw, class Slope>
NEGLOG_VECTOR_LOOP void slopes_loop(std::size_t n, const Label* __restrict y, const Raw* __restrict eta, Parameters p,
                                    const double* __restrict weight, double least, Slope* __restrict gradient, Slope* __restrict hessian) {
    const Own<Formula> own(p);
    const auto slopes = [&](std::size_t i) {
        return own.at(i, [&](auto... q) { return Formula::template slopes<curvature>(y[i], eta[i], q...); });
    };
    if (!hessian) {
        for (std::size_t i = 0; i < n; ++i) gradient[i] = static_cast<Slope>(slopes(i).gradient * weight[i]);
        return;
    }
    for (std::size_t i = 0; i < n; ++i) {
        const Slopes s = slopes(i);
        const double bend = s.hessian * weight[i];
        gradient[i] = static_cast<Slope>(s.gradient * weight[i]);
        hessian[i] = static_cast<Slope>(bend < least ? least : bend);  // NaN stays
    }
}

// The same through doubles: for noises that trees learn seldom, of which a loop in each type would only take long to compile.
template <SlopesLoop<double, double, double> loop, class Label, class Raw>
void converted_slopes(std::size_t n, const Label* y, const Raw* eta, Parameters p, const double* weight, double least, float* gradient,
                      float* hessian) {
    double room[4][joint_rows_at_once];
    for (std::size_t i = 0; i < n; ++i) room[0][i] = y[i], room[1][i] = eta[i];
    loop(n, room[0], room[1], p, weight, least, room[2], hessian ? room[3] : nullptr);
    for (std::size_t i = 0; i < n; ++i) gradient[i] = static_cast<float>(room[2][i]);
    for (std::size_t i = 0; i < n && hessian; ++i) hessian[i] = static_cast<float>(room[3][i]);
}
template <SlopesLoop<double, double, double> loop>
constexpr SlopesLoops through_doubles = {loop, converted_slopes<loop, float, float>, converted_slopes<loop, float, double>};

template <class Formula, Curvature curvature>
constexpr SlopesLoops slopes_loops = {slopes_loop<Formula, curvature, double, double, double>,
                                      slopes_loop<Formula, curvature, float, float, float>,
                                      slopes_loop<Formula, curvature, float, double, float>};

// In one loop the value shares its exponentials with the slopes. Families without a cheaper potential use their nll.
template <class Formula, Curvature curvature>
NEGLOG_VECTOR_LOOP void loss_loop(std::size_t n, const double* __restrict y, const double* __restrict eta, Parameters p,
                                  double* __restrict value, double* __restrict gradient, double* __restrict hessian) {
    const Own<Formula> own(p);
    for (std::size_t i = 0; i < n; ++i) {
        value[i] = own.at(i, [&](auto... q) {
            if constexpr (requires { Formula::potential(0.0, 0.0, q...); })
                return Formula::potential(y[i], eta[i], q...);
            else
                return Formula::nll(y[i], eta[i], q...);
        });
        const Slopes s = own.at(i, [&](auto... q) { return Formula::template slopes<curvature>(y[i], eta[i], q...); });
        gradient[i] = s.gradient;
        hessian[i] = s.hessian;
    }
}

// ---- all raw parameters at once ---------------------------------------------------------------------------------------------

enum class Wanted { slopes, curvatures, guide };

template <std::size_t K, Wanted wanted>
using JetOf = Jet<K, wanted == Wanted::slopes ? 1 : 2>;

// Stores a row of derivatives: slopes in columns of `stride`, curvatures in columns by pairs. Where a guide is wanted, that of the
// location, which shares nothing with the parameters; of what these bend among themselves, the solver makes a guide from the sum.
template <Wanted wanted, class J>
inline void store(const J& jet, double guide, std::size_t i, std::size_t stride, double* value, double* gradient, double* hessian) {
    value[i] = jet.value;
    unrolled<J::variables>([&]<std::size_t k>() { gradient[k * stride + i] = jet.first[k]; });
    unrolled<J::pairs>([&]<std::size_t p>() {
        if constexpr (wanted == Wanted::guide && column_of(p) == 0)
            hessian[p * stride + i] = p == 0 ? guide : 0.0;
        else
            hessian[p * stride + i] = jet.second[p];
    });
}

template <class Formula, Wanted wanted>
NEGLOG_VECTOR_LOOP void joint_rows(std::size_t n, std::size_t stride, const double* __restrict y, const double* __restrict m, Parameters p,
                                   double* __restrict value, double* __restrict gradient, double* __restrict hessian) {
    constexpr std::size_t K = 1 + Formula::parameters;
    using J = JetOf<K, wanted>;
    const double* own[Formula::parameters];
    unrolled<Formula::parameters>([&]<std::size_t k>() { own[k] = p[k]; });
    NEGLOG_INDEPENDENT
    for (std::size_t i = 0; i < n; ++i) {
        J raw[Formula::parameters];
        double plain[Formula::parameters];
        unrolled<Formula::parameters>([&]<std::size_t k>() { plain[k] = own[k][i], raw[k] = J::variable(plain[k], 1 + k); });
        const J jet = Formula::row(y[i], J::variable(m[i], 0), raw);
        const double guide = wanted == Wanted::guide ? Formula::guide(y[i], m[i], plain) : 0.0;
        store<wanted>(jet, guide, i, stride, value, gradient, hessian);
    }
}

// What the parameters alone add: for rows that share them, once.
template <class Formula, Wanted wanted>
void add_constants(std::size_t n, std::size_t stride, Parameters p, double* value, double* gradient, double* hessian) {
    constexpr std::size_t K = 1 + Formula::parameters;
    using J = JetOf<K, wanted>;
    bool uniform = true;
    for (std::size_t k = 0; k < Formula::parameters; ++k) uniform = uniform && is_uniform(n, p[k]);
    J jet = J::constant(0.0);
    for (std::size_t i = 0; i < n; ++i) {
        if (i == 0 || !uniform) {
            J raw[Formula::parameters];
            for (std::size_t k = 0; k < Formula::parameters; ++k) raw[k] = J::variable(p[k][i], 1 + k);
            jet = Formula::constant(raw);
        }
        value[i] += jet.value;
        unrolled<J::variables>([&]<std::size_t k>() { gradient[k * stride + i] += jet.first[k]; });
        unrolled<J::pairs>([&]<std::size_t q>() { hessian[q * stride + i] += jet.second[q]; });  // none of them in the location
    }
}

// The chain rule from a formula's own coordinate to the raw prediction.
template <class Predictor>
void through_link(std::size_t n, std::size_t stride, std::size_t variables, const double* eta, double* value, double* gradient,
                  double* hessian) {
    for (std::size_t i = 0; i < n; ++i) {
        const LocationLink link = Predictor::at(eta[i]);
        if (link.outside) value[i] = infinity;
        const double down = gradient[i];
        gradient[i] = down * link.d1;
        if (!hessian) continue;
        hessian[i] = curved(hessian[i], link.d1) + down * link.d2;
        for (std::size_t k = 1; k < variables; ++k) hessian[triangle(k) * stride + i] *= link.d1;
    }
}

struct AsItIs {};  // the raw prediction is the formula's own coordinate

template <class Formula, class Predictor, Wanted wanted>
void joint_loop(std::size_t n, std::size_t stride, const double* y, const double* eta, Parameters p, double* value, double* gradient,
                double* hessian) {
    if constexpr (std::is_same_v<Predictor, AsItIs>) {
        joint_rows<Formula, wanted>(n, stride, y, eta, p, value, gradient, hessian);
    } else {
        double m[joint_rows_at_once];
        for (std::size_t i = 0; i < n; ++i) m[i] = Predictor::at(eta[i]).m;
        joint_rows<Formula, wanted>(n, stride, y, m, p, value, gradient, hessian);
    }
    if constexpr (has_constant<Formula>) add_constants<Formula, wanted>(n, stride, p, value, gradient, hessian);
    if constexpr (!std::is_same_v<Predictor, AsItIs>)
        through_link<Predictor>(n, stride, 1 + Formula::parameters, eta, value, gradient, wanted == Wanted::slopes ? nullptr : hessian);
}

template <class Formula, class Predictor = AsItIs>
constexpr JointLoops joint_loops = {1 + Formula::parameters, joint_loop<Formula, Predictor, Wanted::slopes>,
                                    joint_loop<Formula, Predictor, Wanted::curvatures>, joint_loop<Formula, Predictor, Wanted::guide>};

// A noise without other parameters: its nll and its slopes.
template <class Formula, Curvature curvature>
void single_loop(std::size_t n, std::size_t, const double* y, const double* eta, Parameters p, double* value, double* gradient,
                 double* hessian) {
    nll_loop<Formula>(n, y, eta, p, value);
    for (std::size_t i = 0; i < n; ++i) {
        const Slopes s = Formula::template slopes<curvature>(y[i], eta[i], 1.0, 1.0);
        gradient[i] = s.gradient;
        if (hessian) hessian[i] = s.hessian;
    }
}
template <class Formula>
constexpr JointLoops single_loops = {1, single_loop<Formula, Curvature::observed>, single_loop<Formula, Curvature::observed>,
                                     single_loop<Formula, Curvature::guide>};

// ---- links ----------------------------------------------------------------------------------------------------------------------

// t = log mean at a raw prediction, as through_link wants it
template <class Link>
struct LogMean {
    static LocationLink at(double eta) {
        constexpr double c = Link::exponent;
        return {Link::log_mean(eta), c / eta, -c / (eta * eta), Link::outside(eta)};
    }
};

// The log odds of a share at a raw prediction, by its log and that of the rest
template <class Link>
struct LogOdds {
    static LocationLink at(double eta) {
        const BinaryLink link = Link::at(eta);
        return {link.yes - link.no, link.yes1 - link.no1, link.yes2 - link.no2, link.outside};
    }
};

// ---- kernels --------------------------------------------------------------------------------------------------------------------

template <class Formula>
constexpr Kernel kernel(const char* family, const char* link, const JointLoops& joint = single_loops<Formula>) {
    return {family,
            link,
            nll_loop<Formula>,
            slopes_loops<Formula, Curvature::observed>,
            slopes_loops<Formula, Curvature::expected>,
            loss_loop<Formula, Curvature::observed>,
            loss_loop<Formula, Curvature::guide>,
            joint};
}

// A noise that has nothing but its formula: its kernel takes raw parameters, and differentiates in the prediction alone.
template <class Formula, class Predictor>
struct ByFormula {
    static LocationLink location(double eta) {
        if constexpr (std::is_same_v<Predictor, AsItIs>)
            return {eta, 1.0, 0.0, false};
        else
            return Predictor::at(eta);
    }
    static constexpr std::size_t arguments = Formula::parameters;
    template <class... P>
    static double nll(double y, double eta, P... p) {
        const double raw[] = {p...};
        const LocationLink link = location(eta);
        const double value = whole<Formula>(y, link.m, raw);
        return !Formula::contains(y) || link.outside ? (y == y ? infinity : y) : value;
    }
    template <Curvature curvature, class... P>
    static Slopes slopes(double y, double eta, P... p) {
        const double raw[] = {p...};
        const LocationLink link = location(eta);
        const auto jet = Formula::row(y, Jet<1, curvature == Curvature::observed ? 2 : 1>::variable(link.m, 0), raw);
        const double down = jet.first[0];
        if constexpr (curvature == Curvature::expected)
            return {down * link.d1, curved(Formula::information(link.m, raw), link.d1)};
        else if constexpr (curvature == Curvature::guide)
            return {down * link.d1, curved(Formula::guide(y, link.m, raw), link.d1)};
        else
            return {down * link.d1, curved(jet.second[0], link.d1) + down * link.d2};
    }
};

template <class Formula, class Predictor = AsItIs>
constexpr Kernel kernel_of(const char* family, const char* link) {
    using Rows = ByFormula<Formula, Predictor>;
    return {family,
            link,
            nll_loop<Rows>,
            through_doubles<slopes_loop<Rows, Curvature::observed, double, double, double>>,
            through_doubles<slopes_loop<Rows, Curvature::expected, double, double, double>>,
            loss_loop<Rows, Curvature::observed>,
            loss_loop<Rows, Curvature::guide>,
            joint_loops<Formula, Predictor>};
}

}  // namespace
}  // namespace neglog
