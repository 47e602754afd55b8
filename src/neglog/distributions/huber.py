"""Huber: a Gaussian centre with exponential tails, the noise of Huber's loss."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from neglog.distributions.arrays import as_numbers, elementwise_loss
from neglog.distributions.base import quiet
from neglog.distributions.lazy import special
from neglog.distributions.parameters import ITSELF, POSITIVE, POSITIVE_OR_INFINITE, REAL, Parameter, Role, Value
from neglog.distributions.registry import register
from neglog.distributions.symmetric import Symmetric
from neglog.distributions.traits import Traits


@register
class Huber(Symmetric):
    r"""Huber's least favourable law: of all contaminated Gaussians it carries the least information about its centre.

    Density     p(y) = exp(-rho(z)) / (scale C),  z = (y - loc) / scale,
                rho(z) = z^2 / 2 for |z| <= delta, else delta |z| - delta^2 / 2,
                C = sqrt(2 pi) erf(delta / sqrt(2)) + 2 exp(-delta^2 / 2) / delta
    Domain      y real; scale > 0; delta > 0, in units of the scale
    Link        identity: the prediction is the centre, mean and median in one
    Loss        scale^2 rho((y - f) / scale): quadratic up to delta * scale, linear beyond; scale counts as 1 while
                unknown
    Use         nearly Gaussian errors, a few of them gross
    Not         the mean of skewed data is wanted; what is wild is a column, not y
    Page        losses/huber
    Limits      delta -> infinity is Gaussian(scale), delta -> 0 is Laplace(scale / delta)
    Scale       None is told by the likelihood, whose tails are straight: gross errors stretch it without end. "mad" is
                the median of |y - f| / 0.6745, which nearly half of the rows may spoil and it stays finite;
                "proposal2" has sum min(z^2, delta^2) = (n - k) E[min(z^2, delta^2)] under N(0, 1) with k
                coefficients, and is the surer of the two where errors are Gaussian. Either settles together with the
                coefficients, in fits of rows in memory. Nats, AIC, errors and posteriors are then those of a stated
                scale, and what is not known about it is left out: they rank no noise against another
    Kink        the second derivative jumps at |z| = delta, where that of the quadratic part is returned

    Huber (1964), Ann. Math. Statist. 35, 73-101. The default delta gives 95% efficiency under Gaussian noise.
    """

    loc: Value
    scale: Value
    delta: Value
    declared = (
        Parameter("loc", REAL, role=Role.LOCATION, raw=ITSELF),
        Parameter("scale", POSITIVE, role=Role.SPREAD, precision=-0.5, ways=("mad", "proposal2")),
        Parameter("delta", POSITIVE_OR_INFINITE, role=Role.SHAPE, start=1.345, search=(0.01, 6.0)),
    )

    traits = Traits(log_concave=("identity",), steady=False, predicts="centre of {y}", settled_by="huber")
    examples = (
        {"loc": 0.0, "scale": 1.0, "delta": 1.345},
        {"loc": 3.0, "scale": 0.5, "delta": 0.3},
        {"loc": -10.0, "scale": 20.0, "delta": 4.0},
    )
    summary = ("Huber's loss", "")

    def __init__(
        self,
        loc: Value = 0.0,
        scale: Value = None,
        delta: Value = 1.345,
        *,
        link: str = "identity",
    ) -> None:
        self._state(link=link, loc=loc, scale=scale, delta=delta)

    def _kernel_parameters(self) -> tuple[Any, ...]:
        scale, delta = self._known("scale", "delta")
        return 1.0 / scale, delta

    def _normaliser(self) -> tuple[Any, Any, Any]:
        """The mass of exp(-rho) in the centre, in one tail, and in all."""
        delta = self._known("delta")
        centre = np.sqrt(2 * np.pi) * special.erf(delta / np.sqrt(2))
        tail = np.exp(-0.5 * np.square(delta)) / delta
        return centre, tail, centre + 2 * tail

    def _constant(self) -> Any:
        return np.log(self._known("scale")) + np.log(self._normaliser()[2])

    def _standard_cdf(self, z: Any) -> Any:
        delta = self._known("delta")
        _, tail, total = self._normaliser()
        outside = np.exp(delta * np.minimum(z + 0.5 * delta, 0)) / delta  # for z <= -delta
        gaussian = np.sqrt(2 * np.pi) * (special.ndtr(z) - special.ndtr(-delta))
        beyond = total - np.exp(-delta * np.maximum(z - 0.5 * delta, 0)) / delta
        return np.where(z <= -delta, outside, np.where(z <= delta, tail + gaussian, beyond)) / total

    def _standard_quantile(self, q: Any) -> Any:
        delta = self._known("delta")
        _, tail, total = self._normaliser()
        mass = np.minimum(q, 1 - q) * total  # by symmetry
        outside = np.log(mass * delta) / delta - 0.5 * delta
        inside = special.ndtri(special.ndtr(-delta) + (mass - tail) / np.sqrt(2 * np.pi))
        z = np.where(mass < tail, outside, inside)
        return np.where(q < 0.5, z, -z)

    def _draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
        return self._quantile(1 - rng.random(shape), upper=False)

    @quiet
    def variance(self) -> Any:
        scale, delta = self._known("scale", "delta")
        centre, tail, total = self._normaliser()
        return self._over_shape(np.square(scale) * (centre + 4 * tail * (1 + 1 / np.square(delta))) / total)

    def exponential_has_mean(self) -> Any:
        scale, delta = self._known("scale", "delta")
        return np.asarray(scale) < delta

    def jumps(self) -> tuple[Any, ...]:
        threshold = self._known("scale") * self._known("delta")
        return -threshold, threshold

    def _entropy(self) -> Any:
        _, tail, total = self._normaliser()
        return self._over_shape(self._constant() + 0.5 + tail / total)

    @quiet
    def parameter_gradient(self, y: ArrayLike) -> dict[str, Any]:
        scale, delta = self._known("scale", "delta")
        z = self._standardised(as_numbers(y, "y"))
        psi = np.clip(z, -delta, delta)
        _, tail, total = self._normaliser()
        in_delta = np.maximum(np.abs(z) - delta, 0) - 2 * tail / (delta * total)
        return {"loc": -psi / scale, "scale": (1 - z * psi) / scale, "delta": in_delta}

    def loss(self, y: ArrayLike, prediction: ArrayLike) -> Any:
        """Huber's loss with its threshold at delta * scale, in units of y."""
        threshold = self._known("delta") * (1.0 if self.scale is None else self.scale)

        def compute(y: Any, f: Any) -> Any:
            residual = np.abs(y - f)
            bounded = np.minimum(residual, threshold)
            return bounded * (residual - 0.5 * bounded)

        return elementwise_loss(compute, y, prediction)

    @property
    @quiet
    def loss_scale(self) -> Any:
        return np.square(self._known("scale"))
