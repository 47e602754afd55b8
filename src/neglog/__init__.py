"""neglog: every loss is a -log p of the data, every penalty a -log p of the parameters."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from neglog.belief.bayes import Belief as Belief
    from neglog.belief.bayes import bayes as bayes
    from neglog.belief.conjugate import ParameterPosterior as ParameterPosterior
    from neglog.belief.conjugate import posterior as posterior
    from neglog.belief.leave_one_out import LeaveOneOut as LeaveOneOut
    from neglog.belief.nuts import SamplingWarning as SamplingWarning
    from neglog.belief.posterior import Posterior as Posterior
    from neglog.boosted_estimators import BoostedClassifier as BoostedClassifier
    from neglog.boosted_estimators import BoostedRegressor as BoostedRegressor
    from neglog.comparison.compare import compare as compare
    from neglog.comparison.comparison import Comparison as Comparison
    from neglog.design.terms import group as group
    from neglog.design.terms import interaction as interaction
    from neglog.design.terms import smooth as smooth
    from neglog.design.terms import terms as terms
    from neglog.distributions import (
        Bernoulli as Bernoulli,
    )
    from neglog.distributions import (
        Beta as Beta,
    )
    from neglog.distributions import (
        Categorical as Categorical,
    )
    from neglog.distributions import (
        Dirichlet as Dirichlet,
    )
    from neglog.distributions import (
        Flat as Flat,
    )
    from neglog.distributions import (
        Gamma as Gamma,
    )
    from neglog.distributions import (
        Gaussian as Gaussian,
    )
    from neglog.distributions import (
        Huber as Huber,
    )
    from neglog.distributions import (
        InverseGamma as InverseGamma,
    )
    from neglog.distributions import (
        Laplace as Laplace,
    )
    from neglog.distributions import (
        LogNormal as LogNormal,
    )
    from neglog.distributions import (
        Poisson as Poisson,
    )
    from neglog.distributions import (
        Tweedie as Tweedie,
    )
    from neglog.distributions.censored import censored as censored
    from neglog.estimators import Classifier as Classifier
    from neglog.estimators import Regressor as Regressor
    from neglog.estimators import neg_nll_scorer as neg_nll_scorer
    from neglog.fitting.fit import fit as fit
    from neglog.fitting.fit_by import fit_by as fit_by
    from neglog.fitting.likelihood_ratio import likelihood_ratio as likelihood_ratio
    from neglog.fitting.path import Path as Path
    from neglog.fitting.path import path as path
    from neglog.information import from_samples as from_samples
    from neglog.information.cross_entropy import cross_entropy as cross_entropy
    from neglog.information.decompose import decompose as decompose
    from neglog.information.entropy import entropy as entropy
    from neglog.information.entropy import mutual_information as mutual_information
    from neglog.information.kl import jensen_shannon as jensen_shannon
    from neglog.information.kl import kl_divergence as kl_divergence
    from neglog.likelihood.row_values import ConvergenceWarning as ConvergenceWarning
    from neglog.likelihood.row_values import UnseenLevelWarning as UnseenLevelWarning
    from neglog.results.fit import Fit as Fit
    from neglog.results.fit_by import FitBy as FitBy
    from neglog.results.loading import load as load
    from neglog.results.quantile_fit import QuantileFit as QuantileFit

__version__ = "0.2.0.dev0"

# Where each public name lives. It is imported when it is first asked for: `neglog --help` needs no NumPy, and whoever
# takes an entropy need not wait for scikit-learn.
_HOMES = {
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
    "neglog.results.fit_by": ("FitBy",),
    "neglog.results.loading": ("load",),
    "neglog.results.quantile_fit": ("QuantileFit",),
    "neglog.fitting.fit": ("fit",),
    "neglog.fitting.fit_by": ("fit_by",),
    "neglog.fitting.likelihood_ratio": ("likelihood_ratio",),
    "neglog.fitting.path": ("Path", "path"),
    "neglog.comparison.compare": ("compare",),
    "neglog.comparison.comparison": ("Comparison",),
    "neglog.distributions.censored": ("censored",),
    "neglog.design.terms": ("group", "interaction", "smooth", "terms"),
    "neglog.boosted_estimators": ("BoostedClassifier", "BoostedRegressor"),
    "neglog.estimators": (
        "Classifier",
        "Regressor",
        "neg_nll_scorer",
    ),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}
_ROOMS = ("distributions", "information", "estimators")


def __getattr__(name: str) -> Any:
    """A public name from its home, a room of the package, or a family of distributions."""
    if name in _ROOMS:
        return import_module(f"neglog.{name}")
    if name == "__all__":
        return sorted({*_HOME_OF, *_families()})
    if name not in _HOME_OF and name not in _families():
        raise AttributeError(f"module 'neglog' has no attribute {name!r}")
    value = getattr(import_module(_HOME_OF.get(name, "neglog.distributions")), name)
    globals()[name] = value
    return value


def _families() -> list[str]:
    """The families of distributions, each of which is public."""
    names: list[str] = import_module("neglog.distributions").public_names()
    return names


def __dir__() -> list[str]:
    return sorted({*globals(), *__getattr__("__all__")})
