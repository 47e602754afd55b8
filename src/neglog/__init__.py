"""neglog: every loss is a -log p of the data, every penalty a -log p of the parameters."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from neglog.belief.bayes import Belief, bayes
    from neglog.belief.conjugate import ParameterPosterior, posterior
    from neglog.belief.leave_one_out import LeaveOneOut
    from neglog.belief.nuts import SamplingWarning
    from neglog.belief.posterior import Posterior
    from neglog.comparison.compare import compare
    from neglog.comparison.comparison import Comparison
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
    from neglog.fitting.fit import fit
    from neglog.fitting.path import Path, path
    from neglog.information import from_samples
    from neglog.information.cross_entropy import cross_entropy
    from neglog.information.decompose import decompose
    from neglog.information.entropy import entropy, mutual_information
    from neglog.information.kl import jensen_shannon, kl_divergence
    from neglog.likelihood.row_values import ConvergenceWarning, UnseenLevelWarning
    from neglog.results.fit import Fit
    from neglog.results.storage import load

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
    "neglog.information": (
        "cross_entropy",
        "decompose",
        "entropy",
        "from_samples",
        "jensen_shannon",
        "kl_divergence",
        "mutual_information",
    ),
    "neglog.likelihood.row_values": ("ConvergenceWarning", "UnseenLevelWarning"),
    "neglog.belief.bayes": ("Belief", "bayes"),
    "neglog.belief.conjugate": ("ParameterPosterior", "posterior"),
    "neglog.belief.leave_one_out": ("LeaveOneOut",),
    "neglog.belief.nuts": ("SamplingWarning",),
    "neglog.belief.posterior": ("Posterior",),
    "neglog.results.fit": ("Fit",),
    "neglog.results.storage": ("load",),
    "neglog.fitting.fit": ("fit",),
    "neglog.fitting.path": ("Path", "path"),
    "neglog.comparison.compare": ("compare",),
    "neglog.comparison.comparison": ("Comparison",),
    "neglog.estimators": (
        "Classifier",
        "Regressor",
        "neg_nll_scorer",
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
