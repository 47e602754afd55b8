"""Beta: a prior for a probability."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from neglog.distributions.arrays import as_numbers
from neglog.distributions.base import Prior, quiet
from neglog.distributions.dirichlet import dirichlet_entropy, dirichlet_mean_log, dirichlet_nll
from neglog.distributions.lazy import special
from neglog.distributions.parameters import POSITIVE, Parameter, Value
from neglog.distributions.quantiles import checked_root
from neglog.distributions.registry import register
from neglog.distributions.support import Support


@register
class Beta(Prior):
    r"""A law of a probability: as if a - 1 successes and b - 1 failures had been seen under a uniform prior.

    Density     p(y) = y^(a-1) (1-y)^(b-1) / B(a, b)
    Domain      0 < y < 1; a > 0; b > 0
    Use         the prior of one probability, before yes and no are counted
    Page        bayes/bayes_rule
    As prior    conjugate to Bernoulli; penalty -(a-1) log y - (b-1) log(1-y), strength (a-1, b-1)
    """

    a: Value
    b: Value
    declared = (Parameter("a", POSITIVE), Parameter("b", POSITIVE))

    support = Support("0 < y < 1", 0.0, 1.0)
    examples = ({"a": 1.0, "b": 1.0}, {"a": 0.5, "b": 2.5}, {"a": 40.0, "b": 8.0})
    summary = ("", "for a probability")

    def __init__(self, a: Value, b: Value) -> None:
        self._state(a=a, b=b)

    def _pair(self) -> Any:
        """a and b as the two classes of a Dirichlet."""
        return np.stack(np.broadcast_arrays(*self._known("a", "b")), axis=-1)

    def nll(self, y: ArrayLike) -> Any:
        """-log p(y) in nats; +inf outside 0 < y < 1."""

        def compute(x: Any) -> Any:
            nats = dirichlet_nll(np.stack([x, 1 - x], axis=-1), self._pair())
            return np.where((x <= 0) | (x >= 1), np.inf, nats)

        return self._elementwise(compute, y, "y")

    def _tail(self, y: Any, upper: bool) -> Any:
        a, b = self._known("a", "b")
        return beta_tail(np.clip(y, 0, 1), a, b, upper)

    def _quantile(self, q: Any, upper: bool) -> Any:
        a, b = self._known("a", "b")
        found = special.betainccinv(a, b, q) if upper else special.betaincinv(a, b, q)
        found = checked_root(lambda y, a, b: beta_tail(np.minimum(y, 1), a, b, upper), found, q, upper, a, b)
        return np.minimum(found, 1.0)

    def _draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
        a, b = self._known("a", "b")
        return rng.beta(a, b, shape)

    def mean(self) -> Any:
        a, b = self._known("a", "b")
        return a / (a + b)

    @quiet
    def variance(self) -> Any:
        a, b = self._known("a", "b")
        return a * b / ((a + b) ** 2 * (a + b + 1))

    def mean_log(self) -> Any:
        """The expectation of log y."""
        return dirichlet_mean_log(self._pair())[..., 0][()]

    def mean_inverse(self) -> Any:
        """The expectation of 1 / y, infinite up to a = 1."""
        a, b = self._known("a", "b")
        with np.errstate(all="ignore"):
            return np.where(np.asarray(a) > 1, np.divide(a + b - 1, np.subtract(a, 1)), np.inf)[()]

    def variance_log(self) -> Any:
        """The variance of log y."""
        a, b = self._known("a", "b")
        return special.polygamma(1, a) - special.polygamma(1, a + b)

    def mean_log_complement(self) -> Any:
        """The expectation of log(1 - y)."""
        return dirichlet_mean_log(self._pair())[..., 1][()]

    def _entropy(self) -> Any:
        return dirichlet_entropy(self._pair())[()]

    @quiet
    def penalty(self, theta: ArrayLike) -> Any:
        theta = as_numbers(theta, "theta")
        successes, failures = self.strength
        with np.errstate(all="ignore"):
            return -np.sum(special.xlogy(successes, theta) + special.xlog1py(failures, -theta))

    @property
    @quiet
    def strength(self) -> Any:
        a, b = self._known("a", "b")
        return a - 1, b - 1


def beta_tail(x: Any, a: Any, b: Any, upper: bool) -> Any:
    """P(Y <= x), or P(Y > x); of the two the smaller one keeps its digits."""
    low, high = special.betainc(a, b, x), special.betaincc(a, b, x)
    return np.where(high < 0.5, high, 1 - low) if upper else np.where(low < 0.5, low, 1 - high)


def odds_tail(z: Any, a: Any, b: Any, upper: bool) -> Any:
    """The same of odds y / (1 - y): the share or what it lacks to 1, whichever is small, is the argument."""
    small = z < 1
    share, lacks = np.where(small, z / (1 + z), 0.5), np.where(small, 0.5, 1 / (1 + z))
    return np.where(np.isnan(z), z, np.where(small, beta_tail(share, a, b, upper), beta_tail(lacks, b, a, not upper)))
