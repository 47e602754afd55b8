"""Log and Logit: a noise of the log of y, or of its logit."""

from abc import abstractmethod
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from neglog.distributions import arrays
from neglog.distributions.base import quiet
from neglog.distributions.censored import Cells
from neglog.distributions.composed import Composed, wrapper
from neglog.distributions.expectation import KRONROD, NODES, numeric_entropy
from neglog.distributions.lazy import special
from neglog.distributions.noise import Noise
from neglog.distributions.support import POSITIVE_NUMBERS, PROPORTIONS, REALS, Support
from neglog.distributions.traits import Traits
from neglog.typing import Array

PANELS = np.array([-575.0, -300, -150, -80, -40, -20, -10, -5, -2, np.log(0.5)])  # of logs of probabilities


def _levels(breaks: Any = ()) -> Iterator[tuple[Any, Any, bool]]:
    """Probabilities in either tail, and how much of all they stand for: nodes of quadratures in their logs, which are
    broken where a density is not smooth.
    """
    inner = np.log(np.asarray(breaks, float))
    for low, high in pairwise(np.unique(np.append(PANELS, inner[(inner > PANELS[0]) & (inner < PANELS[-1])]))):
        level = np.exp(0.5 * (low + high) + 0.5 * (high - low) * NODES)
        for upper in (False, True):
            yield level, 0.5 * (high - low) * KRONROD * level, upper


class Changed(Composed):
    """A law of y whose g(y) has the law inside: densities are multiplied by the slope of g."""

    onto: Support  # what g maps to all numbers
    word: str  # g, as people write it
    of_log = False  # whether g is the logarithm
    instead: str

    @classmethod
    def holds(cls, inside: type[Noise]) -> bool:
        """Any law of all numbers, whose kernel then sees g(y)."""
        return getattr(inside, "support", None) is REALS and inside.traits.asks is None

    @classmethod
    def declare(cls, inside: type[Noise]) -> dict[str, Any]:
        traits = inside.traits
        return {
            "support": cls.onto,
            "measure": "density",
            "otherwise": cls.instead,
            "examples": tuple(
                {
                    own.name: {**example, "loc": 0.4, "scale": 0.1}.get(own.name, example[own.name])
                    for own in inside.declared
                }
                for example in inside.examples[:1]
            ),
            "traits": Traits(
                log_concave=tuple(link for link in traits.log_concave if link == "identity"),
                smooth=traits.smooth,
                steady=traits.steady,
                divided=traits.divided,
                settled_by=traits.settled_by,
                integrated=traits.integrated and f"{cls.__name__}({traits.integrated})",
                asks=traits.asks,
                of_log=cls.of_log,
                predicts=traits.predicts.replace("{y}", f"{cls.word} {{y}}"),
            ),
        }

    def piled(self, y: Any) -> str | None:
        return self.noise.piled(y)

    @staticmethod
    @abstractmethod
    def _forward(y: Any) -> Any:
        """g."""

    @staticmethod
    @abstractmethod
    def _back(x: Any) -> Any:
        """Its inverse."""

    # ---- the kernel: that of the law inside, at g(y) -----------------------------------------------------------------

    @classmethod
    def _kernel(cls) -> str:
        return cls.inside._kernel()

    @classmethod
    def _links(cls) -> list[str]:
        return ["identity"]

    @quiet
    def _for_kernel(self, y: Any) -> Any:
        x = self._forward(np.asarray(y, np.float64))
        return self.noise._for_kernel(np.where(self.onto.contains(y), x, np.nan))

    @quiet
    def _end_for_kernel(self, end: Any) -> Any:
        return self.noise._end_for_kernel(self._forward(np.clip(end, self.onto.low, self.onto.high)))

    @quiet
    def _cell_joint(self, link: str, y: Cells, eta: Any, curvature: bool = False) -> tuple[Any, Any, Any]:
        nats, slopes, bends = super()._cell_joint(link, y, eta, curvature)
        return nats + np.where(y.exact, self._jacobian(np.where(y.exact, y.lower, 0.5)), 0.0), slopes, bends

    def _kernel_parameters(self) -> tuple[Any, ...]:
        return self.noise._kernel_parameters()

    def _constant(self) -> Any:
        return self.noise._constant()

    @property
    def kink_slopes(self) -> tuple[float, float]:
        """Those of the law inside, where the exact absolute loss fits it."""
        slopes: tuple[float, float] = self.noise.kink_slopes  # type: ignore[attr-defined]
        return slopes

    def jumps(self) -> tuple[Any, ...]:
        return self.noise.jumps()

    @staticmethod
    @abstractmethod
    def _jacobian(y: Any) -> Any:
        """-log of the slope of g."""

    @quiet
    def _core_nll(self, link: str, y: Array, eta: Any) -> Any:
        nats = super()._core_nll(link, self._for_kernel(y), eta) + self._jacobian(np.asarray(y, np.float64))
        outside = ~(self.onto.contains(y) | np.isnan(y))
        dtype = arrays.output_type(y, eta, *self._others())
        return np.where(outside, np.inf, nats).astype(dtype)[()]

    @quiet
    def _core_joint(self, link: str, y: Array, eta: Any, curvature: bool) -> tuple[Any, Any, Any]:
        nats, slopes, bends = super()._core_joint(link, self._for_kernel(y), eta, curvature)
        return np.where(self.onto.contains(y), nats + self._jacobian(y), np.inf), slopes, bends

    def _slopes(self, y: ArrayLike, *rest: Any, **options: Any) -> None:
        super()._slopes(self._for_kernel(y), *rest, **options)

    @quiet
    def loss(self, y: ArrayLike, prediction: ArrayLike) -> Any:
        """That of the law inside, of both as it sees them."""
        inside = self.noise.loss(self._for_kernel(y), self._end_for_kernel(np.asarray(prediction, np.float64)))
        return np.where(self.onto.contains(np.asarray(y)), inside, np.inf)[()]

    def loss_at(self, eta: ArrayLike, y: ArrayLike) -> Any:
        """The prediction is one of g(y)."""
        return self.noise.loss_at(eta, self._for_kernel(y))

    @property
    def loss_scale(self) -> Any:
        return self.noise.loss_scale

    # ---- the law -----------------------------------------------------------------------------------------------------

    def _tail(self, y: Any, upper: bool) -> Any:
        low, high = self.onto.low, self.onto.high
        x = self._forward(np.clip(y, low, high))
        return np.where(np.isnan(y), np.nan, self.noise._tail(x, upper))

    def _quantile(self, q: Any, upper: bool) -> Any:
        return self._back(self.noise._quantile(q, upper))

    def _draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
        return self._back(self.noise._draw(rng, shape))

    def median(self) -> Any:
        return self._back(self.noise.median())

    def point(self) -> Any:
        """The mean where there is one, else the median."""
        return np.where(self._has_mean(), self.mean(), self.median())[()]

    def _has_mean(self) -> Any:
        return True

    def _has_variance(self) -> Any:
        return True

    @quiet
    def mean(self) -> Any:
        return self._expected(lambda y, _: y)

    @quiet
    def variance(self) -> Any:
        about = np.where(self._has_variance(), self.mean(), 0.0)
        return np.where(self._has_variance(), self._expected(lambda y, mean: np.square(y - mean), about), np.inf)[()]

    @property
    def _alike(self) -> bool:
        """Whether the laws differ in their location alone."""
        return all(np.ndim(value) == 0 for name, value in self.parameters.items() if name != self.location)

    def _expected(self, g: Callable[[Any, Any], Any], about: Any = 0.0) -> Any:
        """E[g(y, about)] by the quantiles of the law inside; where laws differ in their location alone, these are those
        of one law, moved.
        """
        inside, location, alike = self.noise, self._known(self.location), self._alike
        law = inside.with_(**{self.location: 0.0}) if alike else inside
        moved, about = (np.broadcast_to(x, self.batch_shape)[..., None] for x in (location, about))
        out = np.zeros(self.batch_shape)
        jumps = [float(away) for away in law.jumps()] if alike else []
        breaks = [tail for away in jumps for tail in (law.cdf(away), law.sf(away))]
        for level, weight, upper in _levels(breaks):
            if alike:
                x = law._quantile(level, upper) + moved
            else:
                x = np.stack([law._quantile(np.broadcast_to(u, self.batch_shape), upper) for u in level], axis=-1)
            values = g(self._back(x), about)
            out = out + np.where(weight > 0, values * weight, 0.0).sum(axis=-1)
        return np.where(self._has_mean(), out, np.inf)[()]

    def log_spread_information(self) -> Any:
        return self.noise.log_spread_information()

    def _entropy(self) -> Any:
        return numeric_entropy(self)


@wrapper
class Log(Changed):
    r"""log y has the law inside: `Log(StudentT())` for amounts with heavy tails. LogNormal is `Log(Gaussian())`.

    Density     p(y) = f(log y) / y, with f the law inside
    Domain      y > 0
    Link        that of the noise inside, for the location of log y
    Loss        that of the noise inside, on the log scale
    Use         amounts of which some are many times too large and some many times too small
    Not         zeros: Hurdle(Log(StudentT())); a mean is wanted, which Log(StudentT()) does not have: there the median
                is predicted
    Page        losses/change_of_variables
    """

    onto = POSITIVE_NUMBERS
    word = "log"
    of_log = True
    instead = "Hurdle takes zeros too"
    summary = ("of log y", "")

    @staticmethod
    def _forward(y: Any) -> Any:
        return np.log(y)

    @staticmethod
    def _back(x: Any) -> Any:
        return np.exp(x)

    @staticmethod
    def _jacobian(y: Any) -> Any:
        return np.log(y)

    def _has_mean(self) -> Any:
        return self.noise.exponential_has_mean()

    def _has_variance(self) -> Any:
        """Whether e^2x has a mean: that of a law twice as wide."""
        spread = str(self.spread)
        return self.noise.estimated(**{spread: 2 * np.asarray(self._known(spread))}).exponential_has_mean()

    @quiet
    def mean(self) -> Any:
        """The location moves y by a factor, so that laws which differ in nothing else take one quadrature."""
        location = self._known(self.location)
        if not self._alike:
            return super().mean()
        return self._over_shape(np.exp(location) * self.estimated(**{self.location: 0.0})._expected(lambda y, _: y))

    @quiet
    def location_at(self, mean: ArrayLike) -> Any:
        """The location moves y by a factor."""
        return np.log(np.asarray(mean, float)) - np.log(self.estimated(**{self.location: 0.0}).point())


@wrapper
class Logit(Changed):
    r"""The logit of y has the law inside: `Logit(Gaussian())` for shares between 0 and 1.

    Density     p(y) = f(log(y / (1 - y))) / (y (1 - y)), with f the law inside
    Domain      0 < y < 1
    Link        that of the noise inside, for the location of logit y
    Loss        that of the noise inside, on the logit scale
    Use         shares between 0 and 1 that vary by odds
    Not         shares of 0 or 1
    Page        losses/change_of_variables
    """

    onto = PROPORTIONS
    word = "logit"
    instead = "shares of 0 or 1 need a law that has them"
    summary = ("of logit y", "")

    @staticmethod
    def _forward(y: Any) -> Any:
        return np.log(y) - np.log1p(-y)

    @staticmethod
    def _back(x: Any) -> Any:
        return special.expit(x)

    @staticmethod
    def _jacobian(y: Any) -> Any:
        return np.log(y) + np.log1p(-y)

    @quiet
    def location_at(self, mean: ArrayLike) -> Any:
        """By Newton's method on the logits of means, which hardly bend."""
        wanted = location = special.logit(np.asarray(mean, float))
        for _ in range(50):
            here = self.estimated(**{self.location: location})
            own = here.mean()
            slope = here._expected(lambda y, _: y * (1 - y)) / (own * (1 - own))
            step = np.clip((wanted - special.logit(own)) / slope, -10.0, 10.0)
            location = location + step
            if not np.max(np.abs(step), initial=0.0, where=np.isfinite(step)) > 1e-13 * np.max(np.abs(location)):
                break
        return location
