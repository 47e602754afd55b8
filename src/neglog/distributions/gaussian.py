"""Gaussian: squared error as a noise, ridge (L2) as a prior."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from neglog.distributions.arrays import as_numbers, elementwise_loss
from neglog.distributions.base import Prior, quiet
from neglog.distributions.lazy import special
from neglog.distributions.parameters import ITSELF, POSITIVE_OR_INFINITE, REAL, Parameter, Role, Value
from neglog.distributions.registry import register
from neglog.distributions.symmetric import Symmetric
from neglog.distributions.traits import Traits

HALF_LOG_TWO_PI = 0.5 * np.log(2 * np.pi)


@register
class Gaussian(Symmetric, Prior):
    r"""The normal law.

    Density     p(y) = exp(-(y - loc)^2 / (2 scale^2)) / (scale sqrt(2 pi))
    Domain      y real; scale > 0
    Link        identity: the prediction is the mean
    Loss        (y - f)^2; the scale's MLE is the root mean square of the residuals
    Use         y is any real number, errors are symmetric and of one size, and the mean is wanted
    Not         some errors are far larger than the rest: Huber or StudentT; y is positive and its spread grows with its
                mean: Gamma or LogNormal
    Page        losses/gaussian
    Scale       None is the most probable one, which few rows make too small; "reml" divides the squares by the rows
                less the coefficients
    As prior    ridge, lambda = 1 / (2 scale^2); scale = inf leaves a coefficient unpenalised. While the scale is
                unknown, `groups` may give each coefficient a label: those of the same label share a scale
    """

    loc: Value
    scale: Value
    declared = (
        Parameter("loc", REAL, role=Role.LOCATION, raw=ITSELF),
        Parameter("scale", POSITIVE_OR_INFINITE, role=Role.SPREAD, precision=-0.5, ways=("reml",)),
    )

    traits = Traits(log_concave=("identity",), divided=True, settled_by="squares", integrated="StudentT")
    examples = ({"loc": 0.0, "scale": 1.0}, {"loc": -3.0, "scale": 0.2}, {"loc": 1e6, "scale": 50.0})
    deviance_per_loss = 1.0
    summary = ("squared error", "ridge (L2)")

    def __init__(self, loc: Value = 0.0, scale: Value = None, *, link: str = "identity", groups: Any = None) -> None:
        self._state(link=link, loc=loc, scale=scale)
        if groups is not None:
            self.__dict__["groups"] = tuple(groups)

    def _kernel_parameters(self) -> tuple[Any, ...]:
        return (1.0 / self._known("scale"),)

    def _constant(self) -> Any:
        return np.log(self._known("scale")) + HALF_LOG_TWO_PI

    def _standard_cdf(self, z: Any) -> Any:
        return special.ndtr(z)

    def _standard_quantile(self, q: Any) -> Any:
        return special.ndtri(q)

    def _draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
        loc, scale = self._known("loc", "scale")
        return rng.normal(loc, scale, shape)

    @quiet
    def variance(self) -> Any:
        return self._over_shape(np.square(self._known("scale")))

    def _entropy(self) -> Any:
        return self._over_shape(np.log(self._known("scale")) + HALF_LOG_TWO_PI + 0.5)

    def log_spread_information(self) -> Any:
        return 2.0

    @quiet
    def parameter_gradient(self, y: ArrayLike) -> dict[str, Any]:
        z, scale = self._standardised(as_numbers(y, "y")), self._known("scale")
        return {"loc": -z / scale, "scale": (1 - z**2) / scale}

    def loss(self, y: ArrayLike, prediction: ArrayLike) -> Any:
        """The squared error."""
        return elementwise_loss(lambda y, f: np.square(y - f), y, prediction)

    @property
    @quiet
    def loss_scale(self) -> Any:
        return 2 * np.square(self._known("scale"))

    @quiet
    def penalty(self, theta: ArrayLike) -> Any:
        return np.sum(self.strength * np.square(as_numbers(theta, "theta") - self._known("loc")))

    @property
    @quiet
    def strength(self) -> Any:
        return 0.5 / np.square(self._known("scale"))
