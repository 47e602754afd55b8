// Noises of y with a mean, and yes or no. A new one adds its lines here.

#include <iterator>

#include "loops.hpp"

namespace neglog::NEGLOG_ISA {

extern const Kernel mean_kernels[];
extern const std::size_t mean_count;
constinit const Kernel mean_kernels[] = {
    kernel<PowerVariance<PoissonLaw, MeanLink<0>>>("poisson", "log"),
    kernel<PowerVariance<PoissonLaw, MeanLink<1>>>("poisson", "identity"),
    kernel<PowerVariance<PoissonLaw, MeanLink<-1>>>("poisson", "inverse"),
    kernel<PowerVariance<PoissonLaw, MeanLink<2>>>("poisson", "sqrt"),
    kernel<PowerVariance<GammaLaw, MeanLink<0>>>("gamma", "log", joint_loops<GammaFormula>),
    kernel<PowerVariance<GammaLaw, MeanLink<1>>>("gamma", "identity", joint_loops<GammaFormula, LogMean<MeanLink<1>>>),
    kernel<PowerVariance<GammaLaw, MeanLink<-1>>>("gamma", "inverse", joint_loops<GammaFormula, LogMean<MeanLink<-1>>>),
    kernel<PowerVariance<GammaLaw, MeanLink<2>>>("gamma", "sqrt", joint_loops<GammaFormula, LogMean<MeanLink<2>>>),
    kernel_of<NegativeBinomialFormula>("negativebinomial", "log"),
    kernel_of<NegativeBinomialFormula, LogMean<MeanLink<1>>>("negativebinomial", "identity"),
    kernel_of<NegativeBinomialFormula, LogMean<MeanLink<-1>>>("negativebinomial", "inverse"),
    kernel_of<NegativeBinomialFormula, LogMean<MeanLink<2>>>("negativebinomial", "sqrt"),
    kernel<Logit>("bernoulli", "logit"),
    kernel<Binary<Probit>>("bernoulli", "probit"),
    kernel<Binary<Cloglog>>("bernoulli", "cloglog"),
    kernel<Binary<LogProbability>>("bernoulli", "log"),
    kernel<Binary<IdentityProbability>>("bernoulli", "identity"),
    kernel_of<WeibullFormula>("weibull", "log"),
    kernel_of<WeibullFormula, LogMean<MeanLink<1>>>("weibull", "identity"),
    kernel_of<WeibullFormula, LogMean<MeanLink<-1>>>("weibull", "inverse"),
    kernel_of<WeibullFormula, LogMean<MeanLink<2>>>("weibull", "sqrt"),
    kernel_of<InverseGaussianFormula>("inversegaussian", "log"),
    kernel_of<InverseGaussianFormula, LogMean<MeanLink<1>>>("inversegaussian", "identity"),
    kernel_of<InverseGaussianFormula, LogMean<MeanLink<-1>>>("inversegaussian", "inverse"),
    kernel_of<InverseGaussianFormula, LogMean<MeanLink<2>>>("inversegaussian", "sqrt"),
    kernel_of<BetaProportionFormula>("betaproportion", "logit"),
    kernel_of<BetaProportionFormula, LogOdds<Probit>>("betaproportion", "probit"),
    kernel_of<BetaProportionFormula, LogOdds<Cloglog>>("betaproportion", "cloglog"),
    kernel_of<BetaProportionFormula, LogOdds<IdentityProbability>>("betaproportion", "identity"),
};
const std::size_t mean_count = std::size(mean_kernels);

}  // namespace neglog::NEGLOG_ISA
