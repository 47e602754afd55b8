"""Weibull: times until something happens, whose risk falls or grows with age."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from neglog.distributions.base import quiet
from neglog.distributions.lazy import special
from neglog.distributions.noise import Noise
from neglog.distributions.parameters import POSITIVE, Parameter, Role, Value
from neglog.distributions.registry import register
from neglog.distributions.support import POSITIVE_NUMBERS
from neglog.distributions.traits import Traits


@register
class Weibull(Noise):
    r"""Durations: the risk goes with y^(shape - 1), so that it falls with age below shape 1, and grows above.

    Density     p(y) = shape / y (y / scale)^shape exp(-(y / scale)^shape)
    Domain      y > 0; scale > 0; shape > 0
    Link        log: the prediction is the scale, which a share 1 - 1/e of all y do not reach; the mean is
                scale Gamma(1 + 1 / shape)
    Loss        (y / f)^shape - 1 - shape log(y / f), with f the scale
    Use         durations whose risk rises or falls steadily with age, also those that have not ended yet: nl.censored
    Not         a risk that rises and then falls: LogNormal; zeros
    Page        losses/weibull
    Limits      shape 1 is the exponential law, the risk of which does not change
    Precision   that of log y, which varies by 1 / shape around log scale: a row of precision p has shape sqrt(p)
    """

    scale: Value
    shape: Value
    declared = (
        Parameter("scale", POSITIVE, role=Role.LOCATION),
        Parameter("shape", POSITIVE, role=Role.SPREAD, precision=0.5, search=(0.3, 30.0)),
    )

    support = POSITIVE_NUMBERS
    otherwise = "a Tweedie noise takes zeros, a Gaussian any number"
    traits = Traits(log_concave=("log",), predicts="scale of {y}")
    default_link = "log"
    examples = ({"scale": 1.0, "shape": 1.5}, {"scale": 30.0, "shape": 0.7}, {"scale": 0.02, "shape": 12.0})
    summary = ("Weibull loss", "")

    def __init__(self, scale: Value = None, shape: Value = None, *, link: str = "log") -> None:
        self._state(link=link, scale=scale, shape=shape)

    def _tail(self, y: Any, upper: bool) -> Any:
        scale, shape = self._known("scale", "shape")
        ratio = np.maximum(y, 0) / scale
        near = np.abs(ratio - 1) < 0.5  # where large shapes need the difference, which is exact there
        logs = np.where(near, np.log1p((y - scale) / scale), np.log(ratio))
        risk = np.exp(shape * logs)
        return np.exp(-risk) if upper else -np.expm1(-risk)

    def _quantile(self, q: Any, upper: bool) -> Any:
        scale, shape = self._known("scale", "shape")
        logs = np.log(-np.log(q) if upper else -np.log1p(-q)) / shape
        return np.where(np.abs(logs) < 0.5, scale + scale * np.expm1(logs), scale * np.exp(logs))

    def _draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
        scale, k = self._known("scale", "shape")
        return scale * rng.weibull(k, shape)

    @quiet
    def mean(self) -> Any:
        scale, shape = self._known("scale", "shape")
        return self._over_shape(scale * special.gamma(1 + np.reciprocal(shape)))

    @quiet
    def location_at(self, mean: ArrayLike) -> Any:
        return np.asarray(mean, float) / special.gamma(1 + np.reciprocal(self._known("shape")))

    @quiet
    def variance(self) -> Any:
        """Gamma(1 + 2u) less Gamma(1 + u)^2 with u = 1 / shape, by the series of their logs where these cancel."""
        u = np.reciprocal(self._known("shape"))
        small, n = np.minimum(u, 0.05), np.arange(2.0, 22.0)
        series = np.power.outer(-np.asarray(small, float), n) @ (special.zeta(n) * (2**n - 2) / n)
        plain = special.gammaln(1 + 2 * u) - 2 * special.gammaln(1 + u)
        return self._over_shape(np.square(self.mean()) * np.expm1(np.where(u < 0.05, series, plain)))

    def mean_log(self) -> Any:
        """The expectation of log y."""
        scale, shape = self._known("scale", "shape")
        return self._over_shape(np.log(scale) - np.euler_gamma / shape)

    def variance_log(self) -> Any:
        """The variance of log y."""
        return self._over_shape(np.square(np.pi / self._known("shape")) / 6)

    def _entropy(self) -> Any:
        scale, shape = self._known("scale", "shape")
        return self._over_shape(np.euler_gamma * (1 - np.reciprocal(shape)) + np.log(scale) - np.log(shape) + 1)

    def log_spread_information(self) -> Any:
        return np.pi**2 / 6 + (1 - np.euler_gamma) ** 2
