"""InverseGaussian: positive amounts with a long tail, the first time that a drifting particle reaches a level."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from neglog.distributions.base import quiet
from neglog.distributions.lazy import special
from neglog.distributions.noise import Noise
from neglog.distributions.parameters import POSITIVE, Parameter, Role, Value
from neglog.distributions.quantiles import positive_root
from neglog.distributions.registry import register
from neglog.distributions.special import half_deviance, scaled_exp1
from neglog.distributions.support import POSITIVE_NUMBERS
from neglog.distributions.traits import Traits

NEAR = 0.2  # arguments of the scaled error function whose difference is an integral between them
POINTS, WEIGHTS = np.polynomial.legendre.leggauss(6)


@register
class InverseGaussian(Noise):
    r"""Positive amounts with a longer tail than Gamma's: variance = dispersion mean^3.

    Density     p(y) = exp(-(y - mean)^2 / (2 dispersion mean^2 y)) / sqrt(2 pi dispersion y^3)
    Domain      y > 0; mean > 0; dispersion > 0
    Link        log: the prediction is the mean
    Loss        half the unit deviance, (y - f)^2 / (2 f^2 y); the dispersion's MLE is twice its mean
    Use         amounts and durations with a sharp start and a long tail, whose variance grows as the cube of the mean
    Not         zeros: Tweedie; a spread in proportion to the mean: Gamma
    Page        losses/inverse_gaussian
    Same as     Tweedie of power 3
    """

    dispersion: Value
    declared = (
        Parameter("mean", POSITIVE, role=Role.LOCATION),
        Parameter("dispersion", POSITIVE, role=Role.SPREAD, precision=-1.0),
    )

    support = POSITIVE_NUMBERS
    otherwise = "a Tweedie noise takes zeros"
    traits = Traits(log_concave=("inverse",), divided=True)
    default_link = "log"
    examples = (
        {"mean": 1.5, "dispersion": 0.3},
        {"mean": 30.0, "dispersion": 0.02},
        {"mean": 0.02, "dispersion": 4.0},
    )
    deviance_per_loss = 2.0
    summary = ("inverse Gaussian deviance", "")

    def __init__(self, mean: Value = None, dispersion: Value = None, *, link: str = "log") -> None:
        self._state(link=link, mean=mean, dispersion=dispersion)

    def _tail(self, y: Any, upper: bool) -> Any:
        mean, dispersion = self._known("mean", "dispersion")
        return tail(y, mean, dispersion, upper)

    def _quantile(self, q: Any, upper: bool) -> Any:
        mean, dispersion = self._known("mean", "dispersion")
        return quantile(q, mean, dispersion, upper)

    def _draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
        mean, dispersion = self._known("mean", "dispersion")
        return rng.wald(mean, np.reciprocal(dispersion), shape)

    def mean(self) -> Any:
        return self._over_shape(self._known("mean"))

    @quiet
    def variance(self) -> Any:
        mean, dispersion = self._known("mean", "dispersion")
        return self._over_shape(dispersion * np.power(mean, 3))

    def mean_log(self) -> Any:
        """The expectation of log y."""
        mean, dispersion = self._known("mean", "dispersion")
        return self._over_shape(np.log(mean) - scaled_exp1(2 / np.multiply(dispersion, mean)))

    def mean_inverse(self) -> Any:
        """The expectation of 1 / y."""
        mean, dispersion = self._known("mean", "dispersion")
        return self._over_shape(np.reciprocal(mean) + dispersion)

    def log_spread_information(self) -> Any:
        return 0.5

    def _entropy(self) -> Any:
        return self._over_shape(entropy(*self._known("mean", "dispersion")))

    def loss(self, y: ArrayLike, prediction: ArrayLike) -> Any:
        """Half the unit deviance."""
        return half_deviance(y, prediction, 3.0)

    @property
    def loss_scale(self) -> Any:
        return self._known("dispersion")


def tail(y: Any, mean: Any, dispersion: Any, upper: bool) -> Any:
    """P(Y <= y), or P(Y > y): two normal tails, the second with a large factor."""
    inside = np.maximum(y, 0)
    root = 1 / np.sqrt(dispersion * inside)
    near, far = root * (inside / mean - 1), root * (inside / mean + 1)
    # exp(2 / (phi mean)) Phi(-far) = exp(-near^2 / 2) erfcx(far / sqrt 2) / 2: the large exponents cancel exactly
    bell, reflected = 0.5 * np.exp(-0.5 * near**2), special.erfcx(far / np.sqrt(2))
    if upper:
        beyond = bell * (special.erfcx(near / np.sqrt(2)) - reflected)
        value = np.where(near > 0, beyond, special.ndtr(-near) - bell * reflected)
        value = np.where(root < NEAR, bell * _fall(near / np.sqrt(2), np.sqrt(2) * root), value)
        return np.where(y <= 0, 1.0, np.where(y == np.inf, 0.0, value))
    value = special.ndtr(near) + bell * reflected
    return np.where(y <= 0, 0.0, np.where(y == np.inf, 1.0, value))


def _fall(x: Any, width: Any) -> Any:
    """erfcx(x) - erfcx(x + width), of which the subtraction leaves little: the integral of the slope."""
    at = np.add.outer(x, 0 * POINTS) + np.multiply.outer(0.5 * width, 1 + POINTS)
    return width * ((1 / np.sqrt(np.pi) - at * special.erfcx(at)) @ WEIGHTS)


def quantile(q: Any, mean: Any, dispersion: Any, upper: bool) -> Any:
    """The y at which the tail is q."""
    return positive_root(lambda y, m, phi: tail(y, m, phi, upper), q, upper, mean, mean, dispersion)


def entropy(mean: Any, dispersion: Any) -> Any:
    """log(2 pi phi)/2 + 1/2 + 3/2 E[log y], with E[log y] = log(mean) - e^x E1(x), x = 2 / (phi mean)."""
    return 0.5 * np.log(2 * np.pi * dispersion) + 0.5 + 1.5 * (np.log(mean) - scaled_exp1(2 / (dispersion * mean)))
