// Tweedie noise, whose density is a sum (tweedie.hpp), and what else is made of its parts.

#include <iterator>

#include "loops.hpp"
#include "../tweedie.hpp"

namespace neglog {
namespace {

// Whether the expansion for small dispersions would reach few of these points.
bool mostly_jumps(std::size_t n, const double* y, double power, double inverse_dispersion) {
    const double reached = std::exp(-std::log(power_tables(power).expansion.reach * inverse_dispersion) / (2.0 - power));
    return std::count_if(y, y + n, [reached](double value) { return value >= reached; }) < static_cast<std::ptrdiff_t>(n / 8);
}

template <class Link>
void tweedie_nll_loop(std::size_t n, const double* y, const double* eta, Parameters p, double* nll) {
    // Few points are not worth an interpolation. Blocks lie the same whatever the number of threads, so the choice does too.
    constexpr std::size_t many = 512;
    const double *powers = p[0], *inverse_dispersion = p[1], power = powers[0];
    const bool one_power = n >= many && power > 1 && power < 2 && is_uniform(n, powers);
    const bool one_law = one_power && is_uniform(n, eta) && is_uniform(n, inverse_dispersion);
    if (one_law && mostly_jumps(n, y, power, inverse_dispersion[0]))
        single_law_nll<Link>(n, y, eta[0], power, inverse_dispersion[0], nll);
    else if (one_power)
        compound_nll<Link>(n, y, eta, power, inverse_dispersion, nll);
    else
        for (std::size_t i = 0; i < n; ++i) nll[i] = PowerVariance<TweedieLaw, Link>::nll(y[i], eta[i], powers[i], inverse_dispersion[i]);
}

template <class Link>
constexpr Kernel tweedie_kernel(const char* link) {
    Kernel result = kernel<PowerVariance<TweedieLaw, Link>>("tweedie", link, joint_loops<TweediePotential<Link>>);
    result.nll = tweedie_nll_loop<Link>;
    return result;
}

NEGLOG_VECTOR_LOOP void positive_half_deviance_loop(std::size_t n, const Deviance& deviance, const double* __restrict y,
                                                    const double* __restrict mean, double* __restrict out) {
    const Deviance local = deviance;
    for (std::size_t i = 0; i < n; ++i) out[i] = local.of_positive(y[i], log_positive(y[i]), mean[i], log_positive(mean[i]));
}

}  // namespace

namespace NEGLOG_ISA {

extern const Kernel tweedie_kernels[];
extern const std::size_t tweedie_count;
constinit const Kernel tweedie_kernels[] = {
    tweedie_kernel<MeanLink<0>>("log"),
    tweedie_kernel<MeanLink<1>>("identity"),
    tweedie_kernel<MeanLink<-1>>("inverse"),
    tweedie_kernel<MeanLink<2>>("sqrt"),
};
const std::size_t tweedie_count = std::size(tweedie_kernels);

void half_deviance_loop(std::size_t n, const double* y, const double* mean, const double* power, double* out) {
    const bool uniform = power[0] != 0 && is_uniform(n, power);
    // All as if y and mean were positive, in vectors; then the others once more.
    if (uniform) positive_half_deviance_loop(n, Deviance(power[0]), y, mean, out);
    for (std::size_t i = 0; i < n; ++i)
        if (!(uniform && y[i] > 0 && y[i] < infinity && mean[i] > 0 && mean[i] < infinity))
            out[i] = half_deviance(y[i], mean[i], log(mean[i]), power[i]);
}

void tweedie_slopes_loop(std::size_t n, const double* y, const double* mean, const double* power, const double* dispersion, double* nll,
                         double* d_mean, double* d_power, double* d_dispersion) {
    for (std::size_t i = 0; i < n; ++i) {
        const TweedieSlopes s = tweedie_slopes(y[i], mean[i], power[i], dispersion[i]);
        nll[i] = s.nll, d_mean[i] = s.mean, d_power[i] = s.power, d_dispersion[i] = s.dispersion;
    }
}

}  // namespace NEGLOG_ISA
}  // namespace neglog
