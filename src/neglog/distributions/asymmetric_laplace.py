"""AsymmetricLaplace: the pinball loss, whose best prediction is a quantile."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from neglog.distributions.arrays import elementwise_loss
from neglog.distributions.base import quiet
from neglog.distributions.noise import Noise
from neglog.distributions.parameters import ITSELF, POSITIVE, REAL, Domain, Parameter, Role, Value
from neglog.distributions.registry import register
from neglog.distributions.support import REALS
from neglog.distributions.traits import Traits

SHARE = Domain("> 0 and < 1", lambda x: (x > 0) & (x < 1))


@register
class AsymmetricLaplace(Noise):
    r"""Two exponentials back to back, of which the lower holds the share `quantile` of the mass.

    Density     p(y) = quantile (1 - quantile) / scale * exp(-rho(z)),  z = (y - loc) / scale,
                rho(z) = quantile z for z >= 0, else -(1 - quantile) z
    Domain      y real; scale > 0; 0 < quantile < 1
    Link        identity: the prediction is the quantile of y, whatever the law of y is; the mean lies where the mass is
    Loss        the pinball loss, scale rho((y - f) / scale); the scale's MLE is its mean over the rows
    Use         a quantile is wanted: stock that costs more when it is missing than when it is left over, or limits that
                a stated share of y stays below
    Not         means or totals are wanted, or a quantile beyond which only a few rows lie
    Page        losses/asymmetric_laplace
    Quantile    the question that is asked, not an unknown: it is stated, never estimated with coefficients. Several are
                as many fits, nl.AsymmetricLaplace(quantile=[0.1, 0.5, 0.9]), whose predictions do not cross
    Limits      quantile = 1/2 is Laplace(2 scale)
    Kink        at y = loc the gradient returned is the middle of the subgradients. The second derivative in the
                prediction is 0 everywhere, although the Fisher information (expected=True) is
                quantile (1 - quantile) / scale^2: what a fit's standard errors rest on, right where y has this law

    Koenker and Bassett (1978), Econometrica 46, 33-50; Yu and Moyeed (2001), Statist. Probab. Lett. 54, 437-447.
    """

    loc: Value
    scale: Value
    declared = (
        Parameter("loc", REAL, role=Role.LOCATION, raw=ITSELF),
        Parameter("scale", POSITIVE, role=Role.SPREAD, precision=-1.0),
        Parameter("quantile", SHARE, role=Role.SHAPE, raw=ITSELF, start=0.5, within=(0.0, 1.0)),
    )

    support = REALS
    default_link = "identity"
    traits = Traits(
        log_concave=("identity",),
        smooth=False,
        predicts="quantile {quantile} of {y}",
        settled_by="absolute",
        asks="quantile",
    )
    examples = (
        {"loc": 0.0, "scale": 0.3, "quantile": 0.81},
        {"loc": 2.0, "scale": 1.0, "quantile": 0.5},
        {"loc": -1e4, "scale": 20.0, "quantile": 0.2},
    )
    summary = ("pinball loss: a quantile", "")

    def __init__(self, loc: Value = 0.0, scale: Value = None, quantile: Value = 0.5, *, link: str = "identity") -> None:
        self._state(link=link, loc=loc, scale=scale, quantile=quantile)

    def cannot_tell(self, rows: int, zeros: int) -> str | None:
        if self.quantile is not None:
            return None
        return (
            "AsymmetricLaplace: quantile is the question that is asked, not an unknown that y could tell; state it, as "
            "in AsymmetricLaplace(quantile=0.9)"
        )

    @property
    def quantile(self) -> Value:
        """The share of the mass below the location."""
        return self.__dict__["_quantile"]

    @property
    def kink_slopes(self) -> tuple[Any, Any]:
        """By how much the loss grows for each unit of y above and below the prediction."""
        quantile = self._known("quantile")
        return quantile, 1 - quantile

    def _kernel_parameters(self) -> tuple[Any, ...]:
        scale, quantile = self._known("scale", "quantile")
        return 1.0 / scale, quantile

    def _constant(self) -> Any:
        scale, quantile = self._known("scale", "quantile")
        return np.log(scale) - np.log(quantile) - np.log1p(np.negative(quantile))

    def _sides(self, upper: bool) -> tuple[Any, Any, float]:
        """The mass of the exponential at the end that is looked from, that of the other, and the sign of z there."""
        above, below = self.kink_slopes
        return (below, above, -1.0) if upper else (above, below, 1.0)

    def _tail(self, y: Any, upper: bool) -> Any:
        loc, scale = self._known("loc", "scale")
        near, far, sign = self._sides(upper)
        z = sign * (y - loc) / scale
        return np.where(z < 0, near * np.exp(far * z), near - far * np.expm1(-near * z))

    def _quantile(self, q: Any, upper: bool) -> Any:
        loc, scale = self._known("loc", "scale")
        near, far, sign = self._sides(upper)
        within = np.where(
            q < 0.5 * near, np.log(q / near), np.log1p((q - near) / near)
        )  # of two forms that with digits
        beyond = np.where(1 - q < 0.5 * far, np.log((1 - q) / far), np.log1p((near - q) / far))
        return loc + sign * scale * np.where(q < near, within / far, -beyond / near)

    def _draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
        return self._quantile(1 - rng.random(shape), upper=False)

    @quiet
    def mean(self) -> Any:
        loc, scale = self._known("loc", "scale")
        above, below = self.kink_slopes
        return self._over_shape(loc + scale * (1 / above - 1 / below))

    @quiet
    def location_at(self, mean: ArrayLike) -> Any:
        above, below = self.kink_slopes
        return np.asarray(mean, float) - self._known("scale") * (1 / above - 1 / below)

    def point(self) -> Any:
        """The quantile."""
        return self._over_shape(self._known("loc"))

    @quiet
    def variance(self) -> Any:
        above, below = self.kink_slopes
        return self._over_shape(np.square(self._known("scale")) * (1 / np.square(above) + 1 / np.square(below)))

    def _entropy(self) -> Any:
        return self._over_shape(1 + self._constant())

    def log_spread_information(self) -> Any:
        return 1.0

    def loss(self, y: ArrayLike, prediction: ArrayLike) -> Any:
        """The pinball loss: what is above the prediction counts `quantile`, what is below 1 - quantile."""
        above, below = self.kink_slopes
        return elementwise_loss(lambda y, f: np.where(y < f, below * (f - y), above * (y - f)), y, prediction)

    @property
    @quiet
    def loss_scale(self) -> Any:
        return self._known("scale")
