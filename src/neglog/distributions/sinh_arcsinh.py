"""SinhArcsinh: real values, skewed, with heavy or light tails."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from neglog.distributions.base import quiet
from neglog.distributions.expectation import adaptive
from neglog.distributions.gaussian import HALF_LOG_TWO_PI
from neglog.distributions.lazy import special
from neglog.distributions.noise import Noise
from neglog.distributions.parameters import ITSELF, POSITIVE, REAL, Parameter, Role, Value
from neglog.distributions.registry import register
from neglog.distributions.support import REALS
from neglog.distributions.traits import Traits

STEP = 1 / 16  # of the trapezoidal rule over asinh of a standard Gaussian, whose density falls as exp(-exp(2 u) / 8)
NODES = np.arange(-7.0, 7.0 + STEP, STEP)
LOG_WEIGHTS = np.log(STEP) - 0.5 * np.sinh(NODES) ** 2 + np.log(np.cosh(NODES)) - HALF_LOG_TWO_PI

PILE, FEW = 0.25, 100  # the share of equal y, of more than a few rows, from which on the likelihood has no maximum
LOOKED_AT = 2000  # rows that tell which y is the most frequent


@register
class SinhArcsinh(Noise):
    r"""A Gaussian that is bent: sinh(tail asinh(z) - skew) is a standard one, with z = (y - loc) / scale.

    Density     p(y) = tail cosh(u) exp(-sinh(u)^2 / 2) / (scale sqrt(2 pi (1 + z^2))),  u = tail asinh(z) - skew
    Domain      y real; scale > 0; skew real; tail > 0
    Link        identity: the prediction is the centre; the median is loc + scale sinh(skew / tail)
    Loss        sinh(u)^2 / 2 - log cosh(u) + log(1 + z^2) / 2, which is not convex
    Use         real numbers of unknown form, skewed and with tails of any weight: delays, returns, differences
    Not         few rows, for it has four parameters; values that repeat often
    Page        losses/sinh_arcsinh
    Limits      skew 0 and tail 1 is Gaussian(scale); skew > 0 leans to large y, tail < 1 has heavier tails;
                a large skew with a small scale leaves all y on one side of loc, and says little more of either
    Source      Jones and Pewsey, Biometrika 96 (2009) 761
    """

    loc: Value
    scale: Value
    skew: Value
    tail: Value
    declared = (
        Parameter("loc", REAL, role=Role.LOCATION, raw=ITSELF),
        Parameter("scale", POSITIVE, role=Role.SPREAD, precision=-0.5),
        Parameter("skew", REAL, role=Role.SHAPE, raw=ITSELF, start=0.0, search=(-1.0, 1.0)),
        Parameter("tail", POSITIVE, role=Role.SHAPE, search=(0.3, 3.0)),
    )

    support = REALS
    default_link = "identity"
    traits = Traits(predicts="centre of {y}")
    examples = (
        {"loc": 0.0, "scale": 1.0, "skew": 0.3, "tail": 0.6},
        {"loc": -2.0, "scale": 0.3, "skew": -0.3, "tail": 1.4},
        {"loc": 10.0, "scale": 4.0, "skew": 0.0, "tail": 0.8},
    )
    summary = ("sinh-arcsinh loss", "")

    def __init__(
        self,
        loc: Value = 0.0,
        scale: Value = None,
        skew: Value = None,
        tail: Value = None,
        *,
        link: str = "identity",
    ) -> None:
        self._state(link=link, loc=loc, scale=scale, skew=skew, tail=tail)

    def piled(self, y: Any) -> str | None:
        if self.scale is not None or self.tail is not None or len(y) < FEW:
            return None
        values, counts = np.unique(y[:: max(1, len(y) // LOOKED_AT)], return_counts=True)
        value = values[np.argmax(counts)]
        alike = int(np.count_nonzero(y == value))
        if alike <= PILE * len(y):
            return None
        return (
            "the scale and tail of a SinhArcsinh noise can be estimated only where few targets are alike, but "
            f"{alike:,} of {len(y):,} are {value:g}, around which its density grows without end; state tail=..., or "
            f"use a noise that has mass at {value:g}"
        )

    def _tail(self, y: Any, upper: bool) -> Any:
        loc, scale, skew, tail = self._known("loc", "scale", "skew", "tail")
        s = np.sinh(tail * np.arcsinh((y - loc) / scale) - skew)
        return special.ndtr(-s if upper else s)

    def _quantile(self, q: Any, upper: bool) -> Any:
        loc, scale, skew, tail = self._known("loc", "scale", "skew", "tail")
        u = np.arcsinh(special.ndtri(q))
        return loc + scale * np.sinh(((-u if upper else u) + skew) / tail)

    def _draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
        loc, scale, skew, tail = self._known("loc", "scale", "skew", "tail")
        return loc + scale * np.sinh((np.arcsinh(rng.standard_normal(shape)) + skew) / tail)

    def _roots(self) -> Any:
        """z at the nodes, times the root of their weights, and these: of each law along the last axis."""
        skew, tail = (np.asarray(value, float)[..., None] for value in self._known("skew", "tail"))
        x, half = (NODES + skew) / tail, 0.5 * LOG_WEIGHTS
        far = np.copysign(0.5 * np.exp(half + np.abs(x)), x)  # sinh, of what may be no number without its weight
        return np.where(np.abs(x) < 20, np.exp(half) * np.sinh(np.clip(x, -20, 20)), far), np.exp(half)

    @quiet
    def _standard_mean(self) -> Any:
        roots, weights = self._roots()
        return np.sum(roots * weights, axis=-1)

    @quiet
    def mean(self) -> Any:
        loc, scale = self._known("loc", "scale")
        return self._over_shape(loc + scale * self._standard_mean())

    @quiet
    def median(self) -> Any:
        loc, scale, skew, tail = self._known("loc", "scale", "skew", "tail")
        return self._over_shape(loc + scale * np.sinh(np.divide(skew, tail)))

    @quiet
    def location_at(self, mean: ArrayLike) -> Any:
        return np.asarray(mean, float) - self._known("scale") * self._standard_mean()

    @quiet
    def variance(self) -> Any:
        roots, weights = self._roots()
        away = roots - weights * np.sum(roots * weights, axis=-1, keepdims=True)
        return self._over_shape(np.square(self._known("scale")) * np.sum(np.square(away), axis=-1))

    def _entropy(self) -> Any:
        """That of the Gaussian, and how much the bend stretches at each place: cosh((u + skew) / tail) / cosh(u)."""
        skew, tail = np.broadcast_arrays(*self._known("skew", "tail"))
        stretch = np.array([_stretch(*pair) for pair in zip(skew.flat, tail.flat, strict=True)]).reshape(skew.shape)
        return self._over_shape(np.log(self._known("scale")) - np.log(tail) + HALF_LOG_TWO_PI + 0.5 + stretch)


def _log_cosh(x: Any) -> Any:
    return np.logaddexp(x, -x) - np.log(2)


def _stretch(skew: float, tail: float) -> float:
    """The expectation of log cosh((u + skew) / tail) - log cosh(u), u the asinh of a standard Gaussian."""

    def weighted(u: Any) -> Any:
        density = np.exp(-0.5 * np.sinh(u) ** 2 - HALF_LOG_TWO_PI) * np.cosh(u)
        return density * (_log_cosh((u + skew) / tail) - _log_cosh(u))

    kink = np.clip(-skew, -4, 4)  # nearly one, where the tail is small
    edges = np.unique([-4.0, -2.0, -1.0, 0.0, 1.0, 2.0, 4.0, kink, *np.clip(kink + tail * np.array([-3, 3]), -4, 4)])
    return adaptive(weighted, edges, 1e-12).value
