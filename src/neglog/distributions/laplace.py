"""Laplace: absolute error as a noise, lasso (L1) as a prior."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from neglog.distributions.arrays import as_numbers, elementwise_loss
from neglog.distributions.base import Prior, quiet
from neglog.distributions.parameters import ITSELF, POSITIVE_OR_INFINITE, REAL, Parameter, Role, Value
from neglog.distributions.registry import register
from neglog.distributions.symmetric import Symmetric
from neglog.distributions.traits import Traits


@register
class Laplace(Symmetric, Prior):
    r"""The double exponential around a median.

    Density     p(y) = exp(-|y - loc| / scale) / (2 scale)
    Domain      y real; scale > 0
    Link        identity: the prediction is the median
    Loss        |y - f|; the scale's MLE is the mean absolute residual
    Use         the median is wanted, or some y are grossly wrong and must not decide
    Not         means or totals are wanted; nearly Gaussian errors with a few gross ones: Huber wastes fewer rows
    Page        losses/laplace
    As prior    lasso, lambda = 1 / scale; scale = inf leaves a coefficient unpenalised
    Kink        at y = loc the gradient returned is 0, the middle of the subgradients. The second derivative is 0
                everywhere, although the Fisher information (expected=True) is 1 / scale^2
    """

    loc: Value
    scale: Value
    declared = (
        Parameter("loc", REAL, role=Role.LOCATION, raw=ITSELF),
        Parameter("scale", POSITIVE_OR_INFINITE, role=Role.SPREAD, precision=-1.0),
    )

    traits = Traits(log_concave=("identity",), smooth=False, predicts="median of {y}", settled_by="absolute")
    examples = ({"loc": 0.0, "scale": 1.0}, {"loc": 2.0, "scale": 0.3}, {"loc": -1e4, "scale": 20.0})
    summary = ("absolute error", "lasso (L1)")
    kink_slopes = 1.0, 1.0  # by how much the loss grows for each unit of y above and below the prediction

    def __init__(self, loc: Value = 0.0, scale: Value = None, *, link: str = "identity") -> None:
        self._state(link=link, loc=loc, scale=scale)

    def _kernel_parameters(self) -> tuple[Any, ...]:
        return (1.0 / self._known("scale"),)

    def _constant(self) -> Any:
        return np.log(2 * self._known("scale"))

    def _standard_cdf(self, z: Any) -> Any:
        return np.where(z < 0, 0.5 * np.exp(z), -0.5 * np.expm1(-z) + 0.5)

    def _standard_quantile(self, q: Any) -> Any:
        return np.where(q < 0.5, np.log(2 * q), -np.log1p(1 - 2 * q))

    def _draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
        loc, scale = self._known("loc", "scale")
        return rng.laplace(loc, scale, shape)

    @quiet
    def variance(self) -> Any:
        return self._over_shape(2 * np.square(self._known("scale")))

    def exponential_has_mean(self) -> Any:
        return np.asarray(self._known("scale")) < 1

    def _entropy(self) -> Any:
        return self._over_shape(1 + np.log(2 * self._known("scale")))

    def log_spread_information(self) -> Any:
        return 1.0

    @quiet
    def parameter_gradient(self, y: ArrayLike) -> dict[str, Any]:
        z, scale = self._standardised(as_numbers(y, "y")), self._known("scale")
        return {"loc": -np.sign(z) / scale, "scale": (1 - np.abs(z)) / scale}

    def loss(self, y: ArrayLike, prediction: ArrayLike) -> Any:
        """The absolute error."""
        return elementwise_loss(lambda y, f: np.abs(y - f), y, prediction)

    @property
    @quiet
    def loss_scale(self) -> Any:
        return self._known("scale")

    @quiet
    def penalty(self, theta: ArrayLike) -> Any:
        return np.sum(self.strength * np.abs(as_numbers(theta, "theta") - self._known("loc")))

    @property
    @quiet
    def strength(self) -> Any:
        return 1 / self._known("scale")
