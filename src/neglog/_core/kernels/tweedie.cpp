// Tweedie noise, whose density is a sum (tweedie.hpp), and what else is made of its parts.

#include <iterator>

#include "loops.hpp"
#include "../tweedie_cells.hpp"

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

// The whole nll of a row in the raw prediction, power and log dispersion. A mean of power 0 may be negative. Powers that are other laws
// stand alone, and at power 1 the support moves with the dispersion: there is nothing to differentiate along.
template <class Link, class J>
J whole_row(double y, const J& eta, const J* raw) {
    constexpr double c = Link::exponent;
    const double at = eta.value, power = raw[0].value, i = 1.0 / at;
    if (Link::outside(at) && power != 0) return J::constant(infinity);
    J out;
    if (power == 0) {
        const double mu = Link::mean(at);
        const J mean = c == 0
                           ? compose(eta, mu, mu, mu)
                           : compose(eta, mu, c == 1 ? 1.0 : (c == 2 ? 2.0 * at : -i * i), c == 1 ? 0.0 : (c == 2 ? 2.0 : 2.0 * i * i * i));
        const J log_scale = 0.5 * raw[1];
        out = whole<GaussianFormula>(y, mean, &log_scale);
    } else {
        out = TweedieFormula::row(y, c == 0 ? eta : compose(eta, Link::log_mean(at), c * i, -c * i * i), raw);
    }
    for (const std::size_t alone : {1, 2}) {
        if (alone == 1 ? TweedieFormula::is_compound(raw) : power != 1) continue;
        out.first[alone] = nan_value;
        for (std::size_t j = 0; j < J::variables && J::pairs > 0; ++j)
            out.second[alone >= j ? triangle(alone) + j : triangle(j) + alone] = nan_value;
    }
    return out;
}

// Row by row: sums over jumps leave nothing to vectors.
template <class Link, Wanted wanted>
void whole_loop(std::size_t n, std::size_t stride, const double* y, const double* eta, Parameters p, double* value, double* gradient,
                double* hessian) {
    using J = JetOf<3, wanted>;
    for (std::size_t i = 0; i < n; ++i) {
        const double plain[] = {p[0][i], p[1][i]};
        const J raw[] = {J::variable(plain[0], 1), J::variable(plain[1], 2)};
        const J jet = whole_row<Link>(y[i], J::variable(eta[i], 0), raw);
        const double guide = wanted == Wanted::guide ? TweediePotential<Link>::guide(y[i], eta[i], plain) : 0.0;
        store<wanted>(jet, guide, i, stride, value, gradient, hessian);
    }
}
template <class Link>
constexpr JointLoops whole_loops = {3, whole_loop<Link, Wanted::slopes>, whole_loop<Link, Wanted::curvatures>,
                                    whole_loop<Link, Wanted::guide>};

template <class Link>
constexpr Kernel tweedie_kernel(const char* family, const char* link, const JointLoops& joint) {
    Kernel result = kernel<PowerVariance<TweedieLaw, Link>>(family, link, joint);
    result.nll = tweedie_nll_loop<Link>;
    return result;
}

// Jointly, what the prediction takes part in: few numbers give the rest for all rows, where these share power and dispersion.
template <class Link>
constexpr Kernel in_parts(const char* link) {
    return tweedie_kernel<Link>("tweedie", link, joint_loops<TweediePotential<Link>>);
}
template <class Link>
constexpr Kernel as_a_whole(const char* link) {
    return tweedie_kernel<Link>("whole(tweedie)", link, whole_loops<Link>);
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
    in_parts<MeanLink<0>>("log"),        in_parts<MeanLink<1>>("identity"), in_parts<MeanLink<-1>>("inverse"),
    in_parts<MeanLink<2>>("sqrt"),       as_a_whole<MeanLink<0>>("log"),    as_a_whole<MeanLink<1>>("identity"),
    as_a_whole<MeanLink<-1>>("inverse"), as_a_whole<MeanLink<2>>("sqrt"),
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
