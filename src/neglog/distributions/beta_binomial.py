"""BetaBinomial: what is believed about the successes in n trials whose probability is known only up to a Beta."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from neglog.distributions.base import Distribution, quiet
from neglog.distributions.lazy import special
from neglog.distributions.parameters import POSITIVE, Domain, Parameter, Value
from neglog.distributions.support import Support

WHOLE = Domain("a whole number ≥ 1", lambda x: (x >= 1) & (x == np.floor(x)) & np.isfinite(x))


class BetaBinomial(Distribution):
    r"""Successes in n trials, binomial with a probability that is itself Beta(a, b).

    Density     p(y) = C(n, y) B(y + a, n - y + b) / B(a, b)   (a mass)
    Domain      y = 0, 1, ..., n; a > 0; b > 0
    """

    n: Value
    a: Value
    b: Value
    declared = (Parameter("n", WHOLE), Parameter("a", POSITIVE), Parameter("b", POSITIVE))

    support = Support("y = 0, 1, …, n", 0.0, ends=(True, True), step=1.0)
    measure = "mass"
    examples = ({"n": 1.0, "a": 2.0, "b": 3.0}, {"n": 12.0, "a": 0.5, "b": 2.0}, {"n": 300.0, "a": 40.0, "b": 9.0})

    def __init__(self, n: Value, a: Value, b: Value) -> None:
        self._state(n=n, a=a, b=b)

    @property
    def bounds(self) -> tuple[float, float]:
        """Of the support."""
        return 0.0, float(np.max(self._known("n")))

    def nll(self, y: ArrayLike) -> Any:
        """-log p(y) in nats; +inf outside 0, 1, ..., n."""

        def compute(x: Any) -> Any:
            n, a, b = self._known("n", "a", "b")
            good = (x >= 0) & (x <= n) & (x == np.floor(x))
            k = np.where(good, x, 0.0)
            choices = -np.log(n + 1.0) - special.betaln(n - k + 1, k + 1)
            nats = special.betaln(a, b) - special.betaln(k + a, n - k + b) - choices
            return np.where(good, nats, np.where(np.isnan(x), np.nan, np.inf))

        return self._elementwise(compute, y, "y")

    def _masses(self) -> Any:
        """The mass at 0, 1, ... along a last axis; 0 beyond n."""
        n, a, b = (np.asarray(value)[..., None] for value in self._known("n", "a", "b"))
        return BetaBinomial(n, a, b).pdf(np.arange(np.max(n) + 1))

    def _tail(self, y: Any, upper: bool) -> Any:
        masses = self._masses()
        sums = np.cumsum(masses[..., ::-1], axis=-1)[..., ::-1] if upper else np.cumsum(masses, axis=-1)
        counts = np.floor(y)
        places = np.clip(np.where(np.isnan(counts), 0, counts), -1, masses.shape[-1] - 1).astype(int)
        shape = np.broadcast_shapes(places.shape, sums.shape[:-1])
        sums, nothing = np.broadcast_to(sums, (*shape, sums.shape[-1])), np.zeros((*shape, 1))
        # P(Y > k) is the sum from k + 1 on, P(Y <= k) that up to k
        padded = np.concatenate([sums, nothing] if upper else [nothing, sums], axis=-1)
        found = np.take_along_axis(padded, np.broadcast_to(places, shape)[..., None] + 1, axis=-1)[..., 0]
        return np.where(np.isnan(counts), np.nan, np.minimum(found, 1.0))

    def _quantile(self, q: Any, upper: bool) -> Any:
        masses = self._masses()
        sums = np.cumsum(masses[..., ::-1], axis=-1)[..., ::-1] if upper else np.cumsum(masses, axis=-1)
        q = np.asarray(q)[..., None]
        if upper:  # the first k with P(Y > k) <= q
            beyond = np.concatenate([sums[..., 1:], np.zeros((*sums.shape[:-1], 1))], axis=-1)
            reached = beyond <= q
        else:
            reached = sums >= np.minimum(q, sums[..., -1:])
        return np.where(np.isnan(q[..., 0]), np.nan, np.argmax(reached, axis=-1))

    def _draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
        n, a, b = self._known("n", "a", "b")
        return rng.binomial(np.asarray(n, int), rng.beta(a, b, shape))

    @quiet
    def mean(self) -> Any:
        n, a, b = self._known("n", "a", "b")
        return n * a / (a + b)

    @quiet
    def variance(self) -> Any:
        n, a, b = self._known("n", "a", "b")
        return n * a * b * (a + b + n) / ((a + b) ** 2 * (a + b + 1))

    def _entropy(self) -> Any:
        return np.sum(special.entr(self._masses()), axis=-1)[()]
