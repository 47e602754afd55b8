"""Gamma: positive amounts whose spread grows with their mean."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from neglog.distributions.arrays import as_numbers
from neglog.distributions.base import quiet
from neglog.distributions.lazy import special
from neglog.distributions.noise import Noise
from neglog.distributions.parameters import POSITIVE, Parameter, Role, Value
from neglog.distributions.quantiles import checked_root
from neglog.distributions.registry import register
from neglog.distributions.special import digamma_minus_log, half_deviance, incomplete_gamma, stirling_error
from neglog.distributions.support import POSITIVE_NUMBERS
from neglog.distributions.traits import Traits


@register
class Gamma(Noise):
    r"""Positive amounts with a constant coefficient of variation, 1 / sqrt(shape).

    Density     p(y) = (shape / mean)^shape y^(shape - 1) exp(-shape y / mean) / Gamma(shape)
    Domain      y > 0; mean > 0; shape > 0
    Link        log: the prediction is the mean
    Loss        half the unit deviance, y / f - 1 - log(y / f); the dispersion is 1 / shape
    Use         positive amounts, skewed to the right, whose spread grows with their mean: claim sizes, costs, rainfall
                on wet days
    Not         zeros: Tweedie or Hurdle(Gamma()); tails so heavy that a few rows decide: LogNormal or Log(StudentT())
    Page        losses/gamma
    """

    shape: Value
    declared = (
        Parameter("mean", POSITIVE, role=Role.LOCATION),
        Parameter("shape", POSITIVE, role=Role.SPREAD, precision=1.0),
    )

    support = POSITIVE_NUMBERS
    otherwise = "a Tweedie noise takes zeros"
    traits = Traits(log_concave=("log", "inverse"), divided=True, settled_by="gamma")
    default_link = "log"
    examples = ({"mean": 1.0, "shape": 1.0}, {"mean": 30.0, "shape": 0.4}, {"mean": 0.02, "shape": 55.0})
    deviance_per_loss = 2.0
    summary = ("Gamma deviance", "")

    def __init__(self, mean: Value = None, shape: Value = None, *, link: str = "log") -> None:
        self._state(link=link, mean=mean, shape=shape)

    def _kernel_parameters(self) -> tuple[Any, ...]:
        return (self._known("shape"),)

    def _constant(self) -> Any:
        shape = self._known("shape")  # Stirling's error in place of log Gamma, which would cancel for large shapes
        return 0.5 * np.log(2 * np.pi / shape) + stirling_error(shape)

    def _tail(self, y: Any, upper: bool) -> Any:
        mean, shape = self._known("mean", "shape")
        x = shape * (np.maximum(y, 0) / mean)
        return incomplete_gamma(np.asarray(shape, float), x, upper)

    def _quantile(self, q: Any, upper: bool) -> Any:
        mean, shape = self._known("mean", "shape")
        found = special.gammainccinv(shape, q) if upper else special.gammaincinv(shape, q)
        return mean / shape * checked_root(lambda x, a: incomplete_gamma(a, x, upper), found, q, upper, shape)

    def _draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
        mean, a = self._known("mean", "shape")
        return rng.standard_gamma(a, shape) * (mean / a)

    def mean(self) -> Any:
        return self._over_shape(self._known("mean"))

    @quiet
    def variance(self) -> Any:
        mean, shape = self._known("mean", "shape")
        return self._over_shape(np.square(mean) / shape)

    def mean_log(self) -> Any:
        """The expectation of log y."""
        mean, shape = self._known("mean", "shape")
        return np.log(mean) + digamma_minus_log(shape)

    def mean_inverse(self) -> Any:
        """The expectation of 1 / y, infinite up to shape 1."""
        mean, shape = self._known("mean", "shape")
        with np.errstate(all="ignore"):
            return np.where(np.asarray(shape) > 1, shape / (mean * (np.asarray(shape) - 1)), np.inf)[()]

    def variance_log(self) -> Any:
        """The variance of log y."""
        return self._over_shape(special.polygamma(1, self._known("shape")))

    def log_spread_information(self) -> Any:
        """1/2 for large shapes, more for small ones."""
        shape = self._known("shape")
        return np.maximum(np.square(shape) * self.variance_log() - shape, 0.5)

    def _entropy(self) -> Any:
        shape = self._known("shape")
        return self.mean_log() - shape * digamma_minus_log(shape) + self._constant()

    @quiet
    def parameter_gradient(self, y: ArrayLike) -> dict[str, Any]:
        mean, shape = self._known("mean", "shape")
        y = as_numbers(y, "y")
        return {
            "mean": shape * (mean - y) / np.square(mean),
            "shape": half_deviance(y, mean, 2.0) + digamma_minus_log(shape),
        }

    def loss(self, y: ArrayLike, prediction: ArrayLike) -> Any:
        """Half the unit deviance."""
        return half_deviance(y, prediction, 2.0)

    @property
    @quiet
    def loss_scale(self) -> Any:
        return 1 / self._known("shape")
