"""BetaPrime: what is believed about an amount whose mean is known only up to an InverseGamma."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from neglog.distributions.base import Distribution, quiet
from neglog.distributions.beta import odds_tail
from neglog.distributions.lazy import special
from neglog.distributions.parameters import POSITIVE, Parameter, Value
from neglog.distributions.quantiles import checked_root
from neglog.distributions.support import POSITIVE_NUMBERS


class BetaPrime(Distribution):
    r"""Positive amounts: Gamma of shape a whose rate is itself Gamma of shape b.

    Density     p(y) = z^(a - 1) (1 + z)^(-a - b) / (scale B(a, b)),  z = y / scale
    Domain      y > 0; a > 0; b > 0; scale > 0
    """

    a: Value
    b: Value
    scale: Value
    declared = (Parameter("a", POSITIVE), Parameter("b", POSITIVE), Parameter("scale", POSITIVE))

    support = POSITIVE_NUMBERS
    examples = ({"a": 2.0, "b": 30.0, "scale": 1.0}, {"a": 1.5, "b": 12.0, "scale": 30.0})

    def __init__(self, a: Value, b: Value, scale: Value = 1.0) -> None:
        self._state(a=a, b=b, scale=scale)

    def nll(self, y: ArrayLike) -> Any:
        """-log p(y) in nats; +inf outside y > 0."""

        def compute(x: Any) -> Any:
            a, b, scale = self._known("a", "b", "scale")
            z = np.where(x > 0, x, 1.0) / scale
            nats = (
                np.add(a, b) * np.log1p(z) - special.xlogy(np.subtract(a, 1), z) + special.betaln(a, b) + np.log(scale)
            )
            return np.where(x > 0, np.where(x == np.inf, np.inf, nats), np.where(np.isnan(x), np.nan, np.inf))

        return self._elementwise(compute, y, "y")

    def _tail(self, y: Any, upper: bool) -> Any:
        a, b, scale = self._known("a", "b", "scale")
        with np.errstate(invalid="ignore", over="ignore"):
            return odds_tail(np.maximum(y, 0) / scale, a, b, upper)

    def _quantile(self, q: Any, upper: bool) -> Any:
        a, b, scale = self._known("a", "b", "scale")
        with np.errstate(all="ignore"):
            share = special.betaincinv(b, a, q) if upper else special.betaincinv(a, b, q)
            found = (1 - share) / share if upper else share / (1 - share)
            return scale * checked_root(lambda z, a, b: odds_tail(z, a, b, upper), found, q, upper, a, b)

    def _draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
        a, b, scale = self._known("a", "b", "scale")
        return scale * rng.standard_gamma(a, shape) / rng.standard_gamma(b, shape)

    @quiet
    def mean(self) -> Any:
        a, b, scale = self._known("a", "b", "scale")
        return np.where(np.asarray(b) > 1, scale * a / (np.asarray(b) - 1), np.inf)[()]

    @quiet
    def variance(self) -> Any:
        a, b, scale = self._known("a", "b", "scale")
        b = np.asarray(b)
        return np.where(b > 2, np.square(scale) * a * (a + b - 1) / ((b - 2) * np.square(b - 1)), np.inf)[()]

    def _entropy(self) -> Any:
        a, b, scale = self._known("a", "b", "scale")
        total = special.digamma(np.add(a, b)) - special.digamma(b)
        logs = special.digamma(a) - special.digamma(b)
        return np.log(scale) + special.betaln(a, b) - np.subtract(a, 1) * logs + np.add(a, b) * total
