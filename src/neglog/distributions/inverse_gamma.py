"""InverseGamma: a prior for a positive mean."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from neglog.distributions.arrays import as_numbers
from neglog.distributions.base import Prior, quiet
from neglog.distributions.gamma import Gamma
from neglog.distributions.lazy import special
from neglog.distributions.parameters import POSITIVE, Parameter, Value
from neglog.distributions.registry import register
from neglog.distributions.support import POSITIVE_NUMBERS


@register
class InverseGamma(Prior):
    r"""A law of a positive number whose inverse is Gamma distributed.

    Density     p(y) = scale^shape y^(-shape - 1) exp(-scale / y) / Gamma(shape)
    Domain      y > 0; shape > 0; scale > 0
    Use         the prior of one positive mean
    Page        bayes/bayes_rule
    As prior    conjugate to the mean of a Gamma noise; penalty (shape + 1) log y + scale / y,
                strength (shape + 1, scale)
    """

    shape: Value
    scale: Value
    declared = (Parameter("shape", POSITIVE), Parameter("scale", POSITIVE))

    support = POSITIVE_NUMBERS
    examples = ({"shape": 30.0, "scale": 2.0}, {"shape": 12.0, "scale": 40.0})
    summary = ("", "for a positive mean")

    def __init__(self, shape: Value, scale: Value) -> None:
        self._state(shape=shape, scale=scale)

    def _inverse(self) -> Gamma:
        """The law of 1 / y."""
        shape, scale = self._known("shape", "scale")
        return Gamma(np.divide(shape, scale), shape)

    def nll(self, y: ArrayLike) -> Any:
        """-log p(y) in nats; +inf outside y > 0."""

        def compute(x: Any) -> Any:
            inside = np.where(x > 0, x, 1.0)
            nats = self._inverse().nll(1 / inside) + 2 * np.log(inside)
            return np.where(x > 0, np.where(x == np.inf, np.inf, nats), np.where(np.isnan(x), np.nan, np.inf))

        return self._elementwise(compute, y, "y")

    def _tail(self, y: Any, upper: bool) -> Any:
        with np.errstate(divide="ignore"):
            return self._inverse()._tail(np.where(y <= 0, np.inf, 1 / np.maximum(y, 0)), not upper)

    def _quantile(self, q: Any, upper: bool) -> Any:
        with np.errstate(divide="ignore"):
            return 1 / self._inverse()._quantile(q, not upper)

    def _draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
        return 1 / self._inverse()._draw(rng, shape)

    @quiet
    def mean(self) -> Any:
        shape, scale = np.asarray(self._known("shape")), self._known("scale")
        return np.where(shape > 1, scale / (shape - 1), np.inf)[()]

    @quiet
    def variance(self) -> Any:
        shape, scale = np.asarray(self._known("shape")), self._known("scale")
        return np.where(shape > 2, np.square(scale / (shape - 1)) / (shape - 2), np.inf)[()]

    def _entropy(self) -> Any:
        shape, scale = self._known("shape", "scale")
        return shape + np.log(scale) + special.gammaln(shape) - (1 + shape) * special.digamma(shape)

    @quiet
    def penalty(self, theta: ArrayLike) -> Any:
        theta = as_numbers(theta, "theta")
        logs, inverses = self.strength
        with np.errstate(all="ignore"):
            return np.sum(logs * np.log(theta) + inverses / theta)

    @property
    @quiet
    def strength(self) -> Any:
        shape, scale = self._known("shape", "scale")
        return shape + 1, scale
