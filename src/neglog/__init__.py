"""neglog: every loss is a -log p of the data, every penalty a -log p of the parameters."""

from neglog.distributions import (
    Bernoulli,
    Beta,
    Categorical,
    Dirichlet,
    Flat,
    Gamma,
    Gaussian,
    Huber,
    Laplace,
    LogNormal,
    Poisson,
    Tweedie,
)
from neglog.inference import ConvergenceWarning, Fit, Path, fit, load, path
from neglog.information import (
    cross_entropy,
    decompose,
    entropy,
    from_samples,
    jensen_shannon,
    kl_divergence,
    mutual_information,
)

__version__ = "0.1.0"

__all__ = [
    "Bernoulli",
    "Beta",
    "Categorical",
    "ConvergenceWarning",
    "Dirichlet",
    "Fit",
    "Flat",
    "Gamma",
    "Gaussian",
    "Huber",
    "Laplace",
    "LogNormal",
    "Path",
    "Poisson",
    "Tweedie",
    "cross_entropy",
    "decompose",
    "entropy",
    "fit",
    "from_samples",
    "jensen_shannon",
    "kl_divergence",
    "load",
    "mutual_information",
    "path",
]
