"""LogNormal: positive amounts with multiplicative noise."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from neglog.distributions.arrays import as_numbers, elementwise_loss
from neglog.distributions.base import quiet
from neglog.distributions.gaussian import HALF_LOG_TWO_PI
from neglog.distributions.lazy import special
from neglog.distributions.noise import Noise
from neglog.distributions.parameters import ITSELF, POSITIVE, REAL, Parameter, Role, Value
from neglog.distributions.registry import register
from neglog.distributions.support import POSITIVE_NUMBERS
from neglog.distributions.traits import Traits


@register
class LogNormal(Noise):
    r"""log y is Gaussian. `loc` and `scale` are those of log y, so the median of y is exp(loc) and its mean exp(loc +
    scale^2 / 2).

    Density     p(y) = exp(-(log y - loc)^2 / (2 scale^2)) / (y scale sqrt(2 pi))
    Domain      y > 0; scale > 0
    Link        identity, on the scale of log y: the raw prediction is loc
    Loss        (log y - log f)^2 with f the median; the scale's MLE is the root mean square of the log residuals
    Use         positive values that vary by factors: prices, incomes, concentrations
    Not         zeros: Hurdle(LogNormal()); some y are many times too large or too small: Log(StudentT())
    Page        losses/lognormal
    Scale       None is the most probable one, which few rows make too small; "reml" divides the squares of logs by the
                rows less the coefficients
    """

    loc: Value
    scale: Value
    declared = (
        Parameter("loc", REAL, role=Role.LOCATION, raw=ITSELF),
        Parameter("scale", POSITIVE, role=Role.SPREAD, precision=-0.5, ways=("reml",)),
    )

    support = POSITIVE_NUMBERS
    otherwise = "a Tweedie noise takes zeros, a Gaussian any number"
    traits = Traits(
        log_concave=("identity",),
        predicts="mean of log {y}",
        of_log=True,
        divided=True,
        settled_by="squares of logs",
        integrated="Log(StudentT)",
    )
    default_link = "identity"
    examples = ({"loc": 0.0, "scale": 1.0}, {"loc": 5.0, "scale": 0.1}, {"loc": -2.0, "scale": 1.2})
    summary = ("squared log error", "")
    also = "Log(Gaussian)"  # what it is made of: the same law under two names

    def __init__(self, loc: Value = 0.0, scale: Value = None, *, link: str = "identity") -> None:
        self._state(link=link, loc=loc, scale=scale)

    def _kernel_parameters(self) -> tuple[Any, ...]:
        return (1.0 / self._known("scale"),)

    def _constant(self) -> Any:
        return np.log(self._known("scale")) + HALF_LOG_TWO_PI

    @quiet
    def located(self, y: Any) -> Any:
        return np.log(y)

    def _standardised(self, y: Any) -> Any:
        loc, scale = self._known("loc", "scale")
        return (np.log(y) - loc) / scale

    def _tail(self, y: Any, upper: bool) -> Any:
        z = self._standardised(np.maximum(y, 0))
        return special.ndtr(-z if upper else z)

    def _quantile(self, q: Any, upper: bool) -> Any:
        loc, scale = self._known("loc", "scale")
        z = special.ndtri(q)
        return np.exp(loc + scale * (-z if upper else z))

    def _draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
        loc, scale = self._known("loc", "scale")
        return rng.lognormal(loc, scale, shape)

    @quiet
    def mean(self) -> Any:
        loc, scale = self._known("loc", "scale")
        return np.exp(loc + 0.5 * np.square(scale))

    @quiet
    def location_at(self, mean: ArrayLike) -> Any:
        return np.log(np.asarray(mean, float)) - 0.5 * np.square(self._known("scale"))

    def median(self) -> Any:
        return self._over_shape(np.exp(self._known("loc")))

    @quiet
    def variance(self) -> Any:
        return np.expm1(np.square(self._known("scale"))) * self.mean() ** 2

    def mean_log(self) -> Any:
        """The expectation of log y."""
        return self._over_shape(self._known("loc"))

    def mean_inverse(self) -> Any:
        """The expectation of 1 / y."""
        loc, scale = self._known("loc", "scale")
        with np.errstate(all="ignore"):
            return np.exp(-loc + 0.5 * np.square(scale))

    def variance_log(self) -> Any:
        """The variance of log y."""
        return self._over_shape(np.square(self._known("scale")))

    def _entropy(self) -> Any:
        return self.mean_log() + self._constant() + 0.5

    def log_spread_information(self) -> Any:
        return 2.0

    @quiet
    def parameter_gradient(self, y: ArrayLike) -> dict[str, Any]:
        z, scale = self._standardised(as_numbers(y, "y")), self._known("scale")
        return {"loc": -z / scale, "scale": (1 - z**2) / scale}

    def loss(self, y: ArrayLike, prediction: ArrayLike) -> Any:
        """The squared difference of the logs; infinite where only one of the two is positive."""
        return elementwise_loss(lambda y, f: np.square(np.log(y) - np.log(f)), y, prediction)

    def loss_at(self, eta: ArrayLike, y: ArrayLike) -> Any:
        """The prediction on the scale of y is the median."""
        with np.errstate(all="ignore"):
            return self.loss(y, np.exp(np.asarray(eta)))

    @property
    @quiet
    def loss_scale(self) -> Any:
        return 2 * np.square(self._known("scale"))
