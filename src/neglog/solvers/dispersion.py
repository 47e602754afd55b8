"""The dispersion that is fitted along with the coefficients.

At dispersion phi = e^t the nll of the sample is U e^-t + C(t): U is half the deviance, a function of the coefficients
alone, and C the nll of the sample at predictions equal to y. The best t is a function of U, so that the coefficients
can be fitted to the minimum over t, as if there were no t.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from neglog import _core
from neglog.distributions.lazy import special
from neglog.typing import Numbers

SMALL_STEP = 1e-6  # relative: the error after such a step is of its square


@dataclass(frozen=True)
class Profile:
    """The minimum over t at some U: value, its first and second derivative in U, and the dispersion reached."""

    value: float
    slope: float
    bend: float
    dispersion: float


class Dispersion(ABC):
    """What is known about the dispersion."""

    saturated = 0.0  # what the loss of the pass is at predictions equal to y: U is the loss less this

    @abstractmethod
    def profile(self, loss: float) -> Profile:
        """The best dispersion for a given sum of the loss."""


class Known(Dispersion):
    """Stated: U counts by 1 / phi."""

    def __init__(self, dispersion: float) -> None:
        self.dispersion = dispersion

    def profile(self, loss: float) -> Profile:
        """A straight line in the loss."""
        return Profile(loss / self.dispersion, 1 / self.dispersion, 0.0, self.dispersion)


class Proportional(Dispersion):
    """C = degrees t: degrees is half the number of rows for squares, the number of rows for absolute values."""

    def __init__(self, degrees: float) -> None:
        self.degrees = degrees

    def constants(self, t: float) -> tuple[float, float, float]:
        """C and its first two derivatives at t."""
        return self.degrees * t, self.degrees, 0.0

    def profile(self, loss: float) -> Profile:
        """phi = U / degrees."""
        u = max(loss, 1e-300)
        k = self.degrees
        return Profile(k * np.log(u / k) + k, k / u, -k / u / u, u / k)


class Fitted(Dispersion):
    """C from its derivatives in t; t by Newton's method, safeguarded by a bracket."""

    longest = 3.0  # step in t

    def __init__(self, saturated: float) -> None:
        self.saturated = saturated
        self._t = 0.0

    @abstractmethod
    def constants(self, t: float) -> tuple[float, float, float]:
        """C and its first two derivatives at t."""

    def profile(self, loss: float) -> Profile:
        """Newton's method on -U e^-t + C'(t) = 0 from the last t."""
        if not np.isfinite(loss):  # predictions outside the domain, which must not spoil the next search
            return Profile(np.inf, float(np.exp(-self._t)), 0.0, np.nan)
        u = max(loss - self.saturated, 1e-300)
        t, low, high = self._t, -np.inf, np.inf
        last: tuple[float, float] | None = None
        for _ in range(100):
            value, slope, bend = self.constants(t)
            near = u * np.exp(-t)
            off, tilt = slope - near, bend + near
            if last is not None and 1e-7 < abs(t - last[0]) < 0.5 and (off - last[1]) / (t - last[0]) > 0:
                tilt = (off - last[1]) / (t - last[0])  # the secant, where the second derivative is an old one
            last = t, off
            low, high = (t, high) if off < 0 else (low, t)
            step = -off / tilt if tilt > 0 else -np.sign(off)
            following = t + float(np.clip(step, -self.longest, self.longest))
            if abs(following - t) <= SMALL_STEP * max(1.0, abs(t)):
                break
            if not low < following < high:  # at an end it would be where it was before
                following = 0.5 * (low + high)
            t = following
        # the last step is small enough for a parabola: C need not be summed again
        last_step = following - t
        value += last_step * (slope + 0.5 * (tilt - near) * last_step)
        self._t = t = following
        curvature = max(tilt, 1e-300)
        weight = np.exp(-t)
        return Profile(u * weight + value, weight, -(weight**2) / curvature, float(np.exp(t)))


class GammaDispersion(Fitted):
    """phi = 1 / shape; a row of precision p has shape p / phi. C = sum of w (log(2 pi / shape) / 2 + Stirling's
    error).
    """

    def __init__(self, saturated: float, weight: Numbers, precision: Numbers) -> None:
        super().__init__(saturated)
        self.weight, self.precision = weight, precision

    def constants(self, t: float) -> tuple[float, float, float]:
        shape = self.precision * np.exp(-t)
        error, slope = np.empty_like(shape), np.empty_like(shape)
        _core.stirling_error(shape, error)
        _core.stirling_error_slope(shape, slope)
        # d/dt = -shape d/dshape, of -log(shape)/2 + error(shape)
        first = 0.5 - shape * slope
        trigamma = special.polygamma(1, shape)
        second = shape * slope + shape**2 * trigamma - shape - 0.5  # shape^2 error'' = shape^2 trigamma - shape - 1/2
        value = 0.5 * np.log(2 * np.pi / shape) + error
        w = self.weight
        return float(w @ value), float(w @ first), float(w @ second)
