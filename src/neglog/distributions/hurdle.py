"""Hurdle: zeros have a probability of their own, and other values a law without zeros."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from neglog.distributions.arrays import as_numbers
from neglog.distributions.base import quiet
from neglog.distributions.composed import Composed, wrapper
from neglog.distributions.expectation import numeric_entropy
from neglog.distributions.lazy import special
from neglog.distributions.noise import Noise
from neglog.distributions.parameters import LOGIT, SHARE, Limit, Parameter, Role, Value
from neglog.distributions.support import AMOUNTS, COUNTS
from neglog.distributions.traits import Traits

AGAIN = 4  # times a count that came out 0 is drawn again, before it is found by its quantile


@wrapper
class Hurdle(Composed):
    r"""y is 0 with probability p; what is not 0 has the law inside, truncated at 0 where that has zeros of its own:
    `Hurdle(Gamma(), p=0.6)` for amounts, `Hurdle(Poisson())` for counts.

    Density     p(0) = p,  p(y) = (1 - p) f(y) / (1 - f(0)) for y > 0, with f the law inside and f(0) its mass at 0
    Domain      y = 0 and the support of the noise inside; 0 < p < 1
    Link        that of the noise inside, whose location is what is predicted: the mean of f, before its zeros go
    Loss        -log of the density: that of a yes or no, and where y > 0 that of the noise inside
    Use         zeros that are decided apart from how large y is otherwise: amounts with exact zeros, counts
    Not         zeros that are small counts like others: ZeroInflated, or NegativeBinomial
    Page        losses/zeros
    Fit         the best constant p is the share of zeros
    Limits      p -> 0 where no y is 0, which a fit then says
    """

    p: Value
    further = (Parameter("p", SHARE, role=Role.SHAPE, raw=LOGIT, start=0.3, search=(0.02, 0.98)),)
    stated = ({"p": 0.3}, {"p": 0.8})
    summary = ("zeros apart", "")
    certain = ()

    @classmethod
    def declare(cls, inside: type[Noise]) -> dict[str, Any]:
        counts = inside.measure == "mass"
        traits = inside.traits
        name = f"zero-truncated {inside.__name__}" if counts else inside.__name__
        own = cls.further[0].__class__(**{**vars(cls.further[0]), "limit": Limit(1e-10, name)})
        return {
            "declared": (*cls.inner_parameters(inside), own),
            "support": COUNTS if counts else AMOUNTS,
            "measure": "mass" if counts else "mixed",
            "otherwise": inside.otherwise if counts else "a Gaussian takes any number",
            "traits": Traits(
                log_concave=() if counts else traits.log_concave,
                of_log=traits.of_log,
                predicts=f"{traits.predicts}, zeros apart",
                separates=traits.separates,
            ),
        }

    @property
    def curved(self) -> bool:
        """A zero says nothing about what else y could be."""
        return False

    @property
    def in_doubt(self) -> bool:
        return True

    def cannot_tell(self, rows: int, zeros: int) -> str | None:
        if zeros < rows:
            return None
        return f"{type(self).__name__}: what is not 0 can be estimated only where some y is, but all {rows} are 0"

    def piled(self, y: Any) -> str | None:
        return self.noise.piled(y[y != 0])

    def uncalled_for(self, rows: int, zeros: int, mean: float) -> str | None:
        if not zeros:
            return "no y is 0"
        expected = rows * float(np.exp(-mean))
        if self.measure != "mass" or abs(zeros - expected) > 3 * np.sqrt(expected):
            return None
        return f"{zeros:,} zeros are as many as counts of this mean have anyway, about {expected:,.0f}"

    @quiet
    def located(self, y: Any) -> Any:
        return np.where(y == 0, np.nan, self.noise.located(y))

    def loss(self, y: ArrayLike, prediction: ArrayLike) -> Any:
        """Of amounts that of the noise inside, and none where y is 0, of which the prediction says nothing."""
        if self.measure == "mass":
            return super().loss(y, prediction)
        y = as_numbers(y, "y")
        return np.where(y == 0, 0.0, self.noise.loss(np.where(y == 0, 1.0, y), prediction))[()]

    def loss_at(self, eta: ArrayLike, y: ArrayLike) -> Any:
        if self.measure == "mass":
            return super().loss_at(eta, y)
        y = as_numbers(y, "y")
        return np.where(y == 0, 0.0, self.noise.loss_at(eta, np.where(y == 0, 1.0, y)))[()]

    @property
    def loss_scale(self) -> Any:
        return 1.0 if self.measure == "mass" else self.noise.loss_scale

    @property
    def _rest(self) -> Any:
        """The probability, under the law inside, of what is not 0."""
        return -np.expm1(self.noise.log_mass_at_zero()) if self.measure == "mass" else 1.0

    def _tail(self, y: Any, upper: bool) -> Any:
        p = np.asarray(self._known("p"))
        above = (1 - p) * self.noise._tail(y, True) / self._rest
        if upper:
            return np.where(y < 0, 1.0, np.where(y == 0, 1 - p, above))
        below = 1 - p - above if self.measure == "mass" else (1 - p) * self.noise._tail(y, False)
        return np.where(y < 0, 0.0, np.where(y == 0, p, np.where(y == np.inf, 1.0, p + below)))

    def _quantile(self, q: Any, upper: bool) -> Any:
        p, rest = np.asarray(self._known("p")), self._rest
        if upper:
            found = self.noise._quantile(np.minimum(q / (1 - p), 1.0) * rest, True)
            return np.where(q >= 1 - p, 0.0, found)
        if self.measure == "mass":
            found = self.noise._quantile(np.clip((1 - q) / (1 - p), 0.0, 1.0) * rest, True)
        else:
            found = self.noise._quantile(np.clip((q - p) / (1 - p), 0.0, 1.0), False)
        return np.where(q <= p, 0.0, found)

    def _draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
        zero = rng.random(shape) < self._known("p")
        if self.measure != "mass":
            return np.where(zero, 0.0, self.noise._draw(rng, shape))
        drawn = np.asarray(self.noise._draw(rng, shape))
        for _ in range(AGAIN):
            if not np.any(left := ~zero & (drawn == 0)):
                return np.where(zero, 0, drawn)
            drawn = np.where(left, self.noise._draw(rng, shape), drawn)
        names = [own.name for own in self.inside.declared]
        some = {name: np.broadcast_to(self._known(name), shape)[left] for name in names}
        level = rng.random(shape)[left] * np.broadcast_to(self._rest, shape)[left]  # an upper tail that no zero has
        drawn[left] = self.inside(**some)._quantile(level, True)
        return np.where(zero, 0, drawn)

    @quiet
    def mean(self) -> Any:
        return self._over_shape((1 - self._known("p")) * self.noise.mean() / self._rest)

    @quiet
    def point(self) -> Any:
        """The mean; where the law inside has none, with its centre in the place of that."""
        if self.measure == "mass":
            return self.mean()
        return self._over_shape((1 - self._known("p")) * self.noise.point())

    @quiet
    def variance(self) -> Any:
        mean = self.mean()
        square = (
            (1 - np.asarray(self._known("p"))) * (self.noise.variance() + np.square(self.noise.mean())) / self._rest
        )
        return self._over_shape(np.where(np.isfinite(mean), square - np.square(mean), np.inf))

    def log_spread_information(self) -> Any:
        inside = None if self.measure == "mass" else self.noise.log_spread_information()
        return None if inside is None else (1 - np.asarray(self._known("p"))) * inside

    @quiet
    def location_at(self, mean: ArrayLike) -> Any:
        above = np.asarray(mean, float) / (1 - np.asarray(self._known("p")))
        if self.measure != "mass":
            return self.noise.location_at(above)
        location = np.maximum(above, 1e-8)  # the mean of what is not 0 exceeds that of the law inside
        for _ in range(200):
            rest = self.noise.estimated(**{self.location: location}).sf(0.0)
            location = np.maximum(above * rest, 1e-300)
        return location

    def _entropy(self) -> Any:
        if self.measure == "mass":
            return numeric_entropy(self)
        p = np.asarray(self._known("p"))
        return self._over_shape(special.entr(p) + special.entr(1 - p) + (1 - p) * self.noise._entropy())
