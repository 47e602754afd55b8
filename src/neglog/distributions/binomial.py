"""Binomial: how many of n trials succeed, as a row of Bernoulli noise that stands for several trials tells it."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from neglog.distributions.base import Distribution, quiet
from neglog.distributions.beta import odds_tail
from neglog.distributions.beta_binomial import WHOLE
from neglog.distributions.expectation import numeric_entropy
from neglog.distributions.lazy import special
from neglog.distributions.parameters import Domain, Parameter, Value
from neglog.distributions.quantiles import smallest_integer
from neglog.distributions.support import Support

ODDS = Domain("0 or more", lambda x: x >= 0)


class Binomial(Distribution):
    r"""Successes in n independent trials, each with the same odds, p / (1 - p).

    Density     p(y) = C(n, y) p^y (1 - p)^(n - y)   (a mass)
    Domain      y = 0, 1, ..., n; odds >= 0, which keep what a p next to 1 would round away
    """

    n: Value
    odds: Value
    declared = (Parameter("n", WHOLE), Parameter("odds", ODDS))

    support = Support("y = 0, 1, …, n", 0.0, ends=(True, True), step=1.0)
    measure = "mass"
    examples = ({"n": 1.0, "odds": 0.5}, {"n": 12.0, "odds": 3.0}, {"n": 300.0, "odds": 0.01})

    def __init__(self, n: Value, odds: Value) -> None:
        self._state(n=n, odds=odds)

    @property
    def bounds(self) -> tuple[float, float]:
        """Of the support."""
        return 0.0, float(np.max(self._known("n")))

    def nll(self, y: ArrayLike) -> Any:
        """-log p(y) in nats; +inf outside 0, 1, ..., n."""

        def compute(x: Any) -> Any:
            n, odds = self._known("n", "odds")
            good = (x >= 0) & (x <= n) & (x == np.floor(x))
            k = np.where(good, x, 0.0)
            choices = -np.log(n + 1.0) - special.betaln(n - k + 1, k + 1)
            nats = np.where(k > 0, k * np.log1p(1 / odds), 0.0) + (n - k) * np.log1p(odds)
            return np.where(good, nats - choices, np.where(np.isnan(x), np.nan, np.inf))

        return self._elementwise(compute, y, "y")

    def _tail(self, y: Any, upper: bool) -> Any:
        n, odds = self._known("n", "odds")
        k = np.floor(y)
        inner = np.clip(k, 0, np.maximum(n - 1, 0))
        inside = odds_tail(odds, inner + 1, n - inner, not upper)  # P(Y <= k) is that of a Beta(k + 1, n - k) above p
        ends = np.where(k < 0, float(upper), np.where(k >= n, float(not upper), inside))
        return np.where(np.isnan(y), np.nan, ends)

    def _quantile(self, q: Any, upper: bool) -> Any:
        n, odds = self._known("n", "odds")

        def tail(k: Any, n: Any, odds: Any) -> Any:
            return Binomial(n, odds)._tail(k, upper)

        found = smallest_integer(tail, q, upper, n, n, odds)
        return np.where(np.isnan(found), found, np.minimum(found, n))

    def _draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
        n, odds = self._known("n", "odds")
        return rng.binomial(np.asarray(n, int), odds / (1 + odds), shape)

    @quiet
    def mean(self) -> Any:
        n, odds = self._known("n", "odds")
        return self._over_shape(n / (1 + np.reciprocal(odds)))

    @quiet
    def variance(self) -> Any:
        n, odds = self._known("n", "odds")
        return self._over_shape(n / (1 + np.reciprocal(odds)) / (1 + odds))

    def _entropy(self) -> Any:
        return numeric_entropy(self)
