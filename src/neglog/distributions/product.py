"""Products of priors: densities multiply, penalties add. Gaussian times Laplace is the elastic net."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from neglog.distributions.base import Prior, quiet
from neglog.distributions.beta import Beta
from neglog.distributions.dirichlet import Dirichlet
from neglog.distributions.flat import Flat
from neglog.distributions.gaussian import HALF_LOG_TWO_PI, Gaussian
from neglog.distributions.laplace import Laplace
from neglog.distributions.lazy import special
from neglog.distributions.support import REALS


def multiply(first: Prior, second: Prior) -> Prior:
    """The prior proportional to the product of two densities, in the simplest form that is exact."""
    if not isinstance(second, Prior):
        raise TypeError(f"only priors can be multiplied, and {second!r} is not one")
    match first, second:
        case Flat(), _:
            return second
        case _, Flat():
            return first
        case Product(), _:
            return multiply_all(*first.factors, second)
        case _, Product():
            return multiply_all(first, *second.factors)
        case Gaussian(), Gaussian():
            return _merge_gaussians(first, second)
        case Laplace(), Laplace():
            return _merge_laplaces(first, second)
        case Gaussian(), Laplace():
            return Product(first, second)
        case Laplace(), Gaussian():
            return Product(second, first)
        case Beta(), Beta():
            return Beta(first.a + second.a - 1, first.b + second.b - 1)
        case Dirichlet(), Dirichlet():
            return Dirichlet(first.alpha + second.alpha - 1)
    raise TypeError(f"the product of {type(first).__name__} and {type(second).__name__} is not a prior known here")


def multiply_all(*factors: Prior) -> Prior:
    """Gaussians merge with Gaussians and Laplaces with Laplaces, so that at most one of each is left."""
    gaussian: Prior = Flat()
    laplace: Prior = Flat()
    for factor in factors:
        if isinstance(factor, Gaussian):
            gaussian = multiply(gaussian, factor)
        elif isinstance(factor, Laplace):
            laplace = multiply(laplace, factor)
        elif not isinstance(factor, Flat):
            raise TypeError(f"a {type(factor).__name__} cannot be a factor of an elastic net")
    return multiply(gaussian, laplace)


def _merge_gaussians(first: Gaussian, second: Gaussian) -> Gaussian:
    with np.errstate(all="ignore"):
        precisions = [np.power(law._known("scale"), -2.0) for law in (first, second)]
        total = precisions[0] + precisions[1]
        loc = np.divide(precisions[0] * first.loc + precisions[1] * second.loc, total)
        return Gaussian(np.where(total > 0, loc, 0.0)[()], 1 / np.sqrt(total))


def _merge_laplaces(first: Laplace, second: Laplace) -> Laplace:
    if np.any(first.loc != second.loc):
        raise ValueError(
            f"two Laplace priors can only be multiplied around the same loc, not {first.loc} and {second.loc}"
        )
    with np.errstate(all="ignore"):
        return Laplace(first.loc, 1 / (1 / first._known("scale") + 1 / second._known("scale")))


class Product(Prior):
    r"""Gaussian times Laplace, normalised: the elastic net as a prior.

    Density     p(x) = exp(-(x - m)^2 / (2 s^2) - |x - c| / b) / Z
    Domain      x real; m, s from the Gaussian factor, c, b from the Laplace factor
    As prior    elastic net: penalty sum (x - m)^2 / (2 s^2) + |x - c| / b, strength (1 / (2 s^2), 1 / b)

    On each side of the kink c the density is a piece of a Gaussian, N(m + s^2/b, s^2) below and N(m - s^2/b, s^2)
    above, so that mass, moments, quantiles and entropy are closed.
    """

    declared = ()
    support = REALS

    def __init__(self, gaussian: Gaussian, laplace: Laplace) -> None:
        self.__dict__["factors"] = (gaussian, laplace)

    factors: tuple[Gaussian, Laplace]

    def __repr__(self) -> str:
        return " * ".join(repr(factor) for factor in self.factors)

    def _stated(self) -> list[Any]:
        return [value for factor in self.factors for value in factor._stated()]

    # ---- the two pieces ----------------------------------------------------------------------------------------------

    def _numbers(self) -> tuple[Any, Any, Any, Any]:
        gaussian, laplace = self.factors
        return *gaussian._known("loc", "scale"), *laplace._known("loc", "scale")

    def _pieces(self) -> tuple[Any, Any]:
        """log of the unnormalised mass below and above the kink, where the Gaussian factor keeps its own constant."""
        m, s, c, b = self._numbers()
        shift, gap = s / b, (c - m) / s
        return (
            0.5 * shift**2 - gap * shift + special.log_ndtr(gap - shift),
            0.5 * shift**2 + gap * shift + special.log_ndtr(-gap - shift),
        )

    def _log_mass(self) -> Any:
        return np.logaddexp(*self._pieces())

    def nll(self, y: ArrayLike) -> Any:
        """-log p(y) in nats, normalised."""
        m, s, c, b = self._numbers()

        def compute(x: Any) -> Any:
            gaussian = 0.5 * ((x - m) / s) ** 2 + np.log(s) + HALF_LOG_TWO_PI
            nats = gaussian + np.abs(x - c) / b + self._log_mass()
            return np.where(np.isinf(s), self.factors[1].nll(x), nats)  # an infinitely wide factor is none

        return self._elementwise(compute, y, "y")

    def _tail(self, y: Any, upper: bool) -> Any:
        m, s, c, b = self._numbers()
        sign = -1.0 if upper else 1.0  # the upper tail is the lower tail of the mirrored law
        below, above = self._pieces()[:: -1 if upper else 1]
        total, shift = np.logaddexp(below, above), s / b
        z, kink = sign * (y - m) / s, sign * (c - m) / s
        low = 0.5 * shift**2 - kink * shift + special.log_ndtr(np.minimum(z, kink) - shift)
        step = special.ndtr(-kink - shift) - special.ndtr(-np.maximum(z, kink) - shift)
        high = np.exp(0.5 * shift**2 + kink * shift - total) * step
        return np.exp(low - total) + np.where(z > kink, high, 0.0)

    def _quantile(self, q: Any, upper: bool) -> Any:
        m, s, c, b = self._numbers()
        sign = -1.0 if upper else 1.0
        below, above = self._pieces()[:: -1 if upper else 1]
        total, shift, kink = np.logaddexp(below, above), s / b, sign * (c - m) / s
        low = special.ndtri_exp(np.log(q) + total - 0.5 * shift**2 + kink * shift) + shift
        high = -special.ndtri_exp(np.log1p(-q) + total - 0.5 * shift**2 - kink * shift) - shift
        return m + sign * s * np.where(np.log(q) <= below - total, low, high)

    def _draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
        return self._quantile(1 - rng.random(shape), upper=False)

    def _moments(self) -> tuple[Any, Any, Any]:
        """E[x - c], E[(x - c)^2] and E|x - c|: measured from the kink, from which both pieces fall off."""
        m, s, c, b = self._numbers()
        total = self._log_mass()
        first = second = absolute = 0.0
        for side, log_mass in zip((-1.0, 1.0), self._pieces(), strict=True):
            weight = np.exp(log_mass - total)
            mean, square = _beyond(side * (c - m) / s + s / b)
            first += weight * side * s * mean
            second += weight * s**2 * square
            absolute += weight * s * mean
        return first, second, absolute

    def mean(self) -> Any:
        return self._numbers()[2] + self._moments()[0]

    @quiet
    def variance(self) -> Any:
        first, second, _ = self._moments()
        return second - first**2

    def _entropy(self) -> Any:
        m, s, c, b = self._numbers()
        first, second, absolute = self._moments()
        square = second + 2 * (c - m) * first + (c - m) ** 2
        return 0.5 * square / s**2 + np.log(s) + HALF_LOG_TWO_PI + absolute / b + self._log_mass()

    @quiet
    def penalty(self, theta: ArrayLike) -> Any:
        return sum(factor.penalty(theta) for factor in self.factors)

    @property
    @quiet
    def strength(self) -> Any:
        """lambda of each factor: (1 / (2 s^2), 1 / b)."""
        return tuple(factor.strength for factor in self.factors)


def _beyond(edge: Any) -> tuple[Any, Any]:
    """Mean and mean square of z - edge for a standard normal z > edge.

    The formulas with the hazard cancel for large edges; there z - edge is nearly exponential, and Gauss-Laguerre
    quadrature is exact.
    """
    near = np.minimum(edge, 10.0)
    mean = np.exp(-0.5 * near**2 - HALF_LOG_TWO_PI - special.log_ndtr(-near)) - near
    nodes, weights = np.polynomial.laguerre.laggauss(32)
    u = nodes / np.maximum(edge, 10.0)[..., None] if np.ndim(edge) else nodes / max(edge, 10.0)
    tilted = weights * np.exp(-0.5 * u**2)
    mass = tilted.sum(axis=-1)
    far = edge > 10.0
    return (
        np.where(far, (tilted * u).sum(axis=-1) / mass, mean),
        np.where(far, (tilted * u**2).sum(axis=-1) / mass, 1 - near * mean),
    )
