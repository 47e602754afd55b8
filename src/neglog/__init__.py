"""neglog: every loss is a -log p of the data, every penalty a -log p of the parameters."""

from typing import TYPE_CHECKING, Any

from neglog.distributions import (
    Bernoulli,
    Beta,
    Categorical,
    Dirichlet,
    Flat,
    Gamma,
    Gaussian,
    Huber,
    InverseGamma,
    Laplace,
    LogNormal,
    Poisson,
    Tweedie,
)
from neglog.inference import (
    Belief,
    Comparison,
    ConvergenceWarning,
    Fit,
    LeaveOneOut,
    ParameterPosterior,
    Path,
    Posterior,
    SamplingWarning,
    bayes,
    compare,
    fit,
    load,
    path,
    posterior,
)
from neglog.information import (
    cross_entropy,
    decompose,
    entropy,
    from_samples,
    jensen_shannon,
    kl_divergence,
    mutual_information,
)

if TYPE_CHECKING:
    from neglog.estimators import Classifier, Regressor, neg_nll_scorer

__version__ = "0.1.0"

_ESTIMATORS = ("Classifier", "Regressor", "neg_nll_scorer")


def __getattr__(name: str) -> Any:
    """The scikit-learn estimators, which are imported when they are first asked for: scikit-learn takes its time."""
    if name in _ESTIMATORS:
        from neglog import estimators

        return getattr(estimators, name)
    raise AttributeError(f"module 'neglog' has no attribute {name!r}")


__all__ = [
    "Belief",
    "Bernoulli",
    "Beta",
    "Categorical",
    "Classifier",
    "Comparison",
    "ConvergenceWarning",
    "Dirichlet",
    "Fit",
    "Flat",
    "Gamma",
    "Gaussian",
    "Huber",
    "InverseGamma",
    "Laplace",
    "LeaveOneOut",
    "LogNormal",
    "ParameterPosterior",
    "Path",
    "Poisson",
    "Posterior",
    "Regressor",
    "SamplingWarning",
    "Tweedie",
    "bayes",
    "compare",
    "cross_entropy",
    "decompose",
    "entropy",
    "fit",
    "from_samples",
    "jensen_shannon",
    "kl_divergence",
    "load",
    "mutual_information",
    "neg_nll_scorer",
    "path",
    "posterior",
]
