"""neglog: every loss is a -log p of the data, every penalty a -log p of the parameters."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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
    from neglog.estimators import Classifier, Regressor, neg_nll_scorer
    from neglog.inference.bayes import Belief, bayes
    from neglog.inference.compare import compare
    from neglog.inference.comparison import Comparison
    from neglog.inference.conjugate import ParameterPosterior, posterior
    from neglog.inference.fit import fit
    from neglog.inference.loo import LeaveOneOut
    from neglog.inference.nuts import SamplingWarning
    from neglog.inference.path import Path, path
    from neglog.inference.posterior import Posterior
    from neglog.inference.result import Fit
    from neglog.inference.rows import ConvergenceWarning, UnseenLevelWarning
    from neglog.inference.storage import load
    from neglog.information import from_samples
    from neglog.information.cross_entropy import cross_entropy
    from neglog.information.decompose import decompose
    from neglog.information.entropy import entropy, mutual_information
    from neglog.information.kl import jensen_shannon, kl_divergence

__version__ = "0.1.0"

# Where each public name lives. It is imported when it is first asked for: `neglog --help` needs no NumPy, and whoever
# takes an entropy need not wait for scikit-learn.
_HOMES = {
    "neglog.distributions": (
        "Bernoulli",
        "Beta",
        "Categorical",
        "Dirichlet",
        "Flat",
        "Gamma",
        "Gaussian",
        "Huber",
        "InverseGamma",
        "Laplace",
        "LogNormal",
        "Poisson",
        "Tweedie",
    ),
    "neglog.estimators": (
        "Classifier",
        "Regressor",
        "neg_nll_scorer",
    ),
    "neglog.inference": (
        "Belief",
        "Comparison",
        "ConvergenceWarning",
        "Fit",
        "LeaveOneOut",
        "ParameterPosterior",
        "Path",
        "Posterior",
        "SamplingWarning",
        "UnseenLevelWarning",
        "bayes",
        "compare",
        "fit",
        "load",
        "path",
        "posterior",
    ),
    "neglog.information": (
        "cross_entropy",
        "decompose",
        "entropy",
        "from_samples",
        "jensen_shannon",
        "kl_divergence",
        "mutual_information",
    ),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    """A public name from its home, or a module of the package."""
    if f"neglog.{name}" in _HOMES:
        return import_module(f"neglog.{name}")
    if name not in _HOME_OF:
        raise AttributeError(f"module 'neglog' has no attribute {name!r}")
    value = getattr(import_module(_HOME_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


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
    "UnseenLevelWarning",
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
