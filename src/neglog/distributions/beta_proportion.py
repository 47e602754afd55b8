"""BetaProportion: shares strictly between 0 and 1."""

from typing import Any

import numpy as np

from neglog import _core
from neglog.distributions.base import quiet
from neglog.distributions.beta import Beta
from neglog.distributions.lazy import special
from neglog.distributions.noise import Noise
from neglog.distributions.parameters import POSITIVE, Domain, Parameter, Role, Value
from neglog.distributions.registry import register
from neglog.distributions.special import unary
from neglog.distributions.support import PROPORTIONS
from neglog.distributions.traits import Traits

INSIDE = Domain("between 0 and 1, neither of them", lambda p: (p > 0) & (p < 1))
REST = {  # 1 - mean at a raw prediction
    "logit": lambda eta: special.expit(-eta),
    "probit": lambda eta: special.ndtr(-eta),
    "cloglog": lambda eta: np.exp(-np.exp(eta)),
}


@register
class BetaProportion(Noise):
    r"""Shares, rates and indices between 0 and 1: a Beta law with a = mean precision and b = (1 - mean) precision.

    Density     p(y) = y^(a - 1) (1 - y)^(b - 1) / B(a, b)
    Domain      0 < y < 1; 0 < mean < 1; precision > 0
    Link        logit: the prediction is the mean; the variance is mean (1 - mean) / (1 + precision)
    Loss        log B(a, b) - a log y - b log(1 - y) less the same at mean = y, which is not convex
    Use         proportions that are not counts: shares of a budget, of land or of time, and indices
    Not         shares of so many trials: Bernoulli with precision=trials; exact zeros or ones, which it has no density
                for
    Page        losses/beta_proportion
    Limits      a large precision is nearly Gaussian; below a = 1 or b = 1 the density is infinite at 0 or at 1
    """

    precision: Value
    declared = (
        Parameter("mean", INSIDE, role=Role.LOCATION),
        Parameter("precision", POSITIVE, role=Role.SPREAD, precision=1.0, search=(0.3, 1e4)),
    )

    support = PROPORTIONS
    otherwise = "shares of ones among so many trials, also 0 and 1, take Bernoulli with precision=trials"
    traits = Traits(separates="the small shares from the large ones")
    default_link = "logit"
    examples = (
        {"mean": 0.3, "precision": 8.0},
        {"mean": 0.9, "precision": 40.0},
        {"mean": 0.02, "precision": 30.0},
        {"mean": 0.5, "precision": 3000.0},
    )
    summary = ("Beta loss", "")

    def __init__(self, mean: Value = None, precision: Value = None, *, link: str = "logit") -> None:
        self._state(link=link, mean=mean, precision=precision)

    def _rest(self) -> Any:
        """1 - mean, from the raw prediction where there is one: a mean near 1 would have lost it."""
        if "_made_by" in self.__dict__:
            link, eta = self.__dict__["_made_by"]
            return REST[link](eta)
        return np.subtract(1.0, self._known("mean"))

    def _beta(self) -> Beta:
        """The same law by its two shapes."""
        mean, precision = self._known("mean", "precision")
        a, b = (np.maximum(np.multiply(share, precision), 1e-300) for share in (mean, self._rest()))
        return Beta(1.0, 1.0).estimated(a=a, b=b)

    def _tail(self, y: Any, upper: bool) -> Any:
        return self._beta()._tail(y, upper)

    def _quantile(self, q: Any, upper: bool) -> Any:
        return self._beta()._quantile(q, upper)

    def _draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
        drawn = np.asarray(self._beta()._draw(rng, shape))
        return np.clip(drawn, 5e-324, 1 - 2**-53)  # a share that rounds to an end is next to it

    def mean(self) -> Any:
        return self._over_shape(self._known("mean"))

    @quiet
    def variance(self) -> Any:
        mean, precision = self._known("mean", "precision")
        return self._over_shape(mean * self._rest() / np.add(1.0, precision))

    def mean_log(self) -> Any:
        """The expectation of log y."""
        return self._beta().mean_log()

    def variance_log(self) -> Any:
        """The variance of log y."""
        return self._beta().variance_log()

    @quiet
    def log_spread_information(self) -> Any:
        """1/2 for large precisions; what x^2 trigamma(x) leaves of x, of both shapes and their sum."""
        law = self._beta()
        a, b, both = (np.square(x) * unary(_core.stirling_error_bend, x) for x in (law.a, law.b, law.a + law.b))
        return self._over_shape(0.5 + a + b - both)

    def _entropy(self) -> Any:
        return self._over_shape(self._beta()._entropy())
