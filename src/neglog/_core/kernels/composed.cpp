// Noises made of another (composed.hpp). What stands here can be composed in Python (distributions/composed.py); a new pair adds its line.
// A change of variables alone has the kernel of the noise inside (distributions/changed.py).

#include "../composed.hpp"

#include <iterator>

#include "loops.hpp"

namespace neglog::NEGLOG_ISA {

using IdentityMean = LogMean<MeanLink<1>>;

extern const Kernel composed_kernels[];
extern const std::size_t composed_count;
constinit const Kernel composed_kernels[] = {
    kernel_of<ZeroInflated<PoissonFormula>>("zeroinflated(poisson)", "log"),
    kernel_of<ZeroInflated<PoissonFormula>, IdentityMean>("zeroinflated(poisson)", "identity"),
    kernel_of<ZeroInflated<NegativeBinomialFormula>>("zeroinflated(negativebinomial)", "log"),
    kernel_of<ZeroInflated<NegativeBinomialFormula>, IdentityMean>("zeroinflated(negativebinomial)", "identity"),
    kernel_of<Hurdle<PoissonFormula>>("hurdle(poisson)", "log"),
    kernel_of<Hurdle<PoissonFormula>, IdentityMean>("hurdle(poisson)", "identity"),
    kernel_of<Hurdle<NegativeBinomialFormula>>("hurdle(negativebinomial)", "log"),
    kernel_of<Hurdle<NegativeBinomialFormula>, IdentityMean>("hurdle(negativebinomial)", "identity"),
    kernel_of<Hurdle<GammaFormula>>("hurdle(gamma)", "log"),
    kernel_of<Hurdle<GammaFormula>, IdentityMean>("hurdle(gamma)", "identity"),
    kernel_of<Hurdle<LogNormalFormula>>("hurdle(lognormal)", "identity"),
    kernel_of<Hurdle<WeibullFormula>>("hurdle(weibull)", "log"),
    kernel_of<Hurdle<WeibullFormula>, IdentityMean>("hurdle(weibull)", "identity"),
    kernel_of<Hurdle<InverseGaussianFormula>>("hurdle(inversegaussian)", "log"),
    kernel_of<Hurdle<InverseGaussianFormula>, IdentityMean>("hurdle(inversegaussian)", "identity"),
    kernel_of<Hurdle<Changed<LogOf, StudentTFormula>>>("hurdle(log(studentt))", "identity"),
    kernel_of<Hurdle<Changed<LogOf, SinhArcsinhFormula>>>("hurdle(log(sinharcsinh))", "identity"),
};
const std::size_t composed_count = std::size(composed_kernels);

}  // namespace neglog::NEGLOG_ISA
