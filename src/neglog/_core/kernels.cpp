// The loops over the scalar formulas. CMake compiles this file once per instruction set, with NEGLOG_ISA set to
// the name of the set; dispatch.cpp chooses among the results when the module is imported.

#include "kernels.hpp"

#include <algorithm>

#include "linear.hpp"
#include "absolute_loops.hpp"
#include "rows.hpp"
#include "tweedie.hpp"

#ifndef NEGLOG_ISA
#error "NEGLOG_ISA must name the instruction set this file is compiled for"
#endif

#define NEGLOG_STRING2(x) #x
#define NEGLOG_STRING(x) NEGLOG_STRING2(x)

namespace neglog {
namespace {

template <class Formula>
NEGLOG_VECTOR_LOOP void nll_loop(std::size_t n, const double* __restrict y, const double* __restrict eta, const double* __restrict p0,
              const double* __restrict p1, double* __restrict nll) {
    for (std::size_t i = 0; i < n; ++i) nll[i] = Formula::nll(y[i], eta[i], p0[i], p1[i]);
}

inline bool is_uniform(std::size_t n, const double* x) {
    return std::all_of(x, x + n, [x](double value) { return value == x[0]; });
}

// Whether the expansion for small dispersions would reach few of these points.
bool mostly_jumps(std::size_t n, const double* y, double power, double inverse_dispersion) {
    const double reached = std::exp(-std::log(power_tables(power).expansion.reach * inverse_dispersion) / (2.0 - power));
    return std::count_if(y, y + n, [reached](double value) { return value >= reached; }) < static_cast<std::ptrdiff_t>(n / 8);
}

template <class Link>
void tweedie_nll_loop(std::size_t n, const double* y, const double* eta, const double* power, const double* inverse_dispersion,
                      double* nll) {
    // Few points are not worth an interpolation. Blocks lie the same whatever the number of threads, so the choice does too.
    constexpr std::size_t many = 512;
    const double p = power[0];
    const bool one_power = n >= many && p > 1 && p < 2 && is_uniform(n, power);
    const bool one_law = one_power && is_uniform(n, eta) && is_uniform(n, inverse_dispersion);
    if (one_law && mostly_jumps(n, y, p, inverse_dispersion[0]))
        single_law_nll<Link>(n, y, eta[0], p, inverse_dispersion[0], nll);
    else if (one_power)
        compound_nll<Link>(n, y, eta, p, inverse_dispersion, nll);
    else
        for (std::size_t i = 0; i < n; ++i)
            nll[i] = PowerVariance<TweedieLaw, Link>::nll(y[i], eta[i], power[i], inverse_dispersion[i]);
}

template <class Formula, Curvature curvature, class Label, class Raw, class Slope>
NEGLOG_VECTOR_LOOP void slopes_loop(std::size_t n, const Label* __restrict y, const Raw* __restrict eta,
                                    const double* __restrict p0, const double* __restrict p1, const double* __restrict weight,
                                    double least, Slope* __restrict gradient, Slope* __restrict hessian) {
    if (!hessian) {
        for (std::size_t i = 0; i < n; ++i)
            gradient[i] = static_cast<Slope>(Formula::template slopes<curvature>(y[i], eta[i], p0[i], p1[i]).gradient * weight[i]);
        return;
    }
    for (std::size_t i = 0; i < n; ++i) {
        const Slopes s = Formula::template slopes<curvature>(y[i], eta[i], p0[i], p1[i]);
        const double bend = s.hessian * weight[i];
        gradient[i] = static_cast<Slope>(s.gradient * weight[i]);
        hessian[i] = static_cast<Slope>(bend < least ? least : bend);  // NaN stays
    }
}

template <class Formula, Curvature curvature>
constexpr SlopesLoops slopes_loops = {slopes_loop<Formula, curvature, double, double, double>,
                                      slopes_loop<Formula, curvature, float, float, float>,
                                      slopes_loop<Formula, curvature, float, double, float>};

// In one loop the value shares its exponentials with the slopes. Families without a cheaper potential use their nll.
template <class Formula, Curvature curvature>
NEGLOG_VECTOR_LOOP void loss_loop(std::size_t n, const double* __restrict y, const double* __restrict eta, const double* __restrict p0,
               const double* __restrict p1, double* __restrict value, double* __restrict gradient, double* __restrict hessian) {
    for (std::size_t i = 0; i < n; ++i) {
        if constexpr (requires { Formula::potential(0.0, 0.0, 0.0, 0.0); })
            value[i] = Formula::potential(y[i], eta[i], p0[i], p1[i]);
        else
            value[i] = Formula::nll(y[i], eta[i], p0[i], p1[i]);
        const Slopes s = Formula::template slopes<curvature>(y[i], eta[i], p0[i], p1[i]);
        gradient[i] = s.gradient;
        hessian[i] = s.hessian;
    }
}

template <class Formula>
constexpr Kernel kernel(const char* family, const char* link) {
    return {family, link, nll_loop<Formula>, slopes_loops<Formula, Curvature::observed>, slopes_loops<Formula, Curvature::expected>,
            loss_loop<Formula, Curvature::observed>, loss_loop<Formula, Curvature::guide>};
}

template <class Link>
constexpr Kernel tweedie_kernel(const char* link) {
    using Formula = PowerVariance<TweedieLaw, Link>;
    Kernel result = kernel<Formula>("tweedie", link);
    result.nll = tweedie_nll_loop<Link>;
    return result;
}

// A new noise adds its lines here.
constexpr Kernel all_kernels[] = {
    kernel<Location<Square, IdentityLocation>>("gaussian", "identity"),
    kernel<Location<Square, LogLocation>>("gaussian", "log"),
    kernel<Location<Square, InverseLocation>>("gaussian", "inverse"),
    kernel<Location<Square, SqrtLocation>>("gaussian", "sqrt"),
    kernel<Location<Absolute, IdentityLocation>>("laplace", "identity"),
    kernel<Location<Absolute, LogLocation>>("laplace", "log"),
    kernel<Location<Absolute, InverseLocation>>("laplace", "inverse"),
    kernel<Location<Absolute, SqrtLocation>>("laplace", "sqrt"),
    kernel<Location<HuberLoss, IdentityLocation>>("huber", "identity"),
    kernel<Location<HuberLoss, LogLocation>>("huber", "log"),
    kernel<Location<HuberLoss, InverseLocation>>("huber", "inverse"),
    kernel<Location<HuberLoss, SqrtLocation>>("huber", "sqrt"),
    kernel<LogNormal>("lognormal", "identity"),
    kernel<PowerVariance<PoissonLaw, MeanLink<0>>>("poisson", "log"),
    kernel<PowerVariance<PoissonLaw, MeanLink<1>>>("poisson", "identity"),
    kernel<PowerVariance<PoissonLaw, MeanLink<-1>>>("poisson", "inverse"),
    kernel<PowerVariance<PoissonLaw, MeanLink<2>>>("poisson", "sqrt"),
    kernel<PowerVariance<GammaLaw, MeanLink<0>>>("gamma", "log"),
    kernel<PowerVariance<GammaLaw, MeanLink<1>>>("gamma", "identity"),
    kernel<PowerVariance<GammaLaw, MeanLink<-1>>>("gamma", "inverse"),
    kernel<PowerVariance<GammaLaw, MeanLink<2>>>("gamma", "sqrt"),
    tweedie_kernel<MeanLink<0>>("log"),
    tweedie_kernel<MeanLink<1>>("identity"),
    tweedie_kernel<MeanLink<-1>>("inverse"),
    tweedie_kernel<MeanLink<2>>("sqrt"),
    kernel<Logit>("bernoulli", "logit"),
    kernel<Binary<Probit>>("bernoulli", "probit"),
    kernel<Binary<Cloglog>>("bernoulli", "cloglog"),
    kernel<Binary<LogProbability>>("bernoulli", "log"),
    kernel<Binary<IdentityProbability>>("bernoulli", "identity"),
};

template <double (*function)(double)>
NEGLOG_VECTOR_LOOP void unary_loop(std::size_t n, const double* __restrict x, double* __restrict out) {
    for (std::size_t i = 0; i < n; ++i) out[i] = function(x[i]);
}

NEGLOG_VECTOR_LOOP void positive_half_deviance_loop(std::size_t n, const Deviance& deviance, const double* __restrict y,
                                                    const double* __restrict mean, double* __restrict out) {
    const Deviance local = deviance;
    for (std::size_t i = 0; i < n; ++i)
        out[i] = local.of_positive(y[i], log_positive(y[i]), mean[i], log_positive(mean[i]));
}

void half_deviance_loop(std::size_t n, const double* y, const double* mean, const double* power, double* out) {
    const bool uniform = power[0] != 0 && is_uniform(n, power);
    // All as if y and mean were positive, in vectors; then the others once more.
    if (uniform) positive_half_deviance_loop(n, Deviance(power[0]), y, mean, out);
    for (std::size_t i = 0; i < n; ++i)
        if (!(uniform && y[i] > 0 && y[i] < infinity && mean[i] > 0 && mean[i] < infinity))
            out[i] = half_deviance(y[i], mean[i], log(mean[i]), power[i]);
}

void tweedie_slopes_loop(std::size_t n, const double* y, const double* mean, const double* power, const double* dispersion,
                         double* nll, double* d_mean, double* d_power, double* d_dispersion) {
    for (std::size_t i = 0; i < n; ++i) {
        const TweedieSlopes s = tweedie_slopes(y[i], mean[i], power[i], dispersion[i]);
        nll[i] = s.nll, d_mean[i] = s.mean, d_power[i] = s.power, d_dispersion[i] = s.dispersion;
    }
}

inline double first(double p, double) { return p; }

void softmax_loop(std::size_t rows, std::size_t width, const double* y, const double* eta, double* nll, double* gradient) {
    for (std::size_t i = 0; i < rows; ++i) nll[i] = softmax_row(width, y[i], eta + i * width, gradient + i * width);
}

}  // namespace

namespace NEGLOG_ISA {
extern const InstructionSet instruction_set;
const InstructionSet instruction_set = {
    .name = NEGLOG_STRING(NEGLOG_ISA),
    .kernels = all_kernels,
    .stirling_error = unary_loop<stirling_error>,
    .stirling_error_slope = unary_loop<stirling_error_slope>,
    .half_deviance = half_deviance_loop,
    .tweedie_slopes = tweedie_slopes_loop,
    .entropy = sum_rows<entropy_term>,
    .divergence = sum_rows<divergence_term>,
    .row_sum = sum_rows<first>,
    .softmax = softmax_loop,
    .pack_double = pack<double>,
    .pack_float = pack<float>,
    .multiply = multiply,
    .multiply_transposed = multiply_transposed,
    .multiply_rows = multiply_rows,
    .add_rows = add_rows,
    .weighted_rows = weighted_rows,
    .add_by_level = add_by_level,
    .add_gram = add_gram,
    .softmax_panel = softmax_panel,
    .class_slopes_panel = class_slopes_panel,
    .add_products = add_products,
    .dot = dot,
    .absolute = {panels_times, panels_edge, panels_transposed, add_multiple, inner_products},
};
}  // namespace NEGLOG_ISA

}  // namespace neglog
