"""ZeroInflated: counts of which some are 0 for another reason."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from neglog.distributions.base import quiet
from neglog.distributions.composed import Composed, wrapper
from neglog.distributions.expectation import numeric_entropy
from neglog.distributions.noise import Noise
from neglog.distributions.parameters import LOGIT, SHARE, Limit, Parameter, Role, Value
from neglog.distributions.traits import Traits


@wrapper
class ZeroInflated(Composed):
    r"""A share p of the rows is 0 for another reason than the noise inside: `ZeroInflated(Poisson(), p=0.2)`.

    Density     p(0) = p + (1 - p) f(0),  p(y) = (1 - p) f(y) for y > 0, with f the law inside
    Domain      that of the counts inside; 0 < p < 1
    Link        that of the noise inside, whose location is what is predicted: not the mean of y, (1 - p) mean
    Loss        -log of the density
    Use         counts with more zeros than their law has, of rows that could never have been anything else
    Not         zeros that are decided apart from the rest, or amounts: Hurdle
    Page        losses/zeros
    Limits      p -> 0 is the noise inside, which a fit then says
    """

    p: Value
    further = (Parameter("p", SHARE, role=Role.SHAPE, raw=LOGIT, start=0.2, search=(0.02, 0.9)),)
    stated = ({"p": 0.3}, {"p": 0.05})
    summary = ("with extra zeros", "")

    @classmethod
    def declare(cls, inside: type[Noise]) -> dict[str, Any]:
        traits = inside.traits
        own = cls.further[0].__class__(**{**vars(cls.further[0]), "limit": Limit(1e-10, inside.__name__)})
        return {
            "declared": (*cls.inner_parameters(inside), own),
            "support": inside.support,
            "measure": inside.measure,
            "otherwise": inside.otherwise,
            "traits": Traits(predicts=f"{traits.predicts} beside the extra zeros", separates=traits.separates),
        }

    @classmethod
    def refusal(cls, inside: type[Noise]) -> str:
        """Amounts have no zeros of their own."""
        return "" if inside.measure == "mass" else f"; amounts that may be 0 are Hurdle({inside.__name__}())"

    def cannot_tell(self, rows: int, zeros: int) -> str | None:
        if zeros < rows or self.p is not None:
            return self.noise.cannot_tell(rows, zeros)
        return (
            f"{type(self).__name__}: p can be estimated only where some y is not 0, but all {rows} are 0, extra "
            "zeros or not; state p=..."
        )

    def piled(self, y: Any) -> str | None:
        return self.noise.piled(y)

    def uncalled_for(self, rows: int, zeros: int, mean: float) -> str | None:
        expected = rows * float(np.exp(-mean))
        if zeros > expected + 3 * np.sqrt(expected):
            return None
        return f"{zeros:,} zeros are not more than the {expected:,.0f} that counts of this mean have anyway"

    def _tail(self, y: Any, upper: bool) -> Any:
        p = self._known("p")
        inside = (1 - np.asarray(p)) * self.noise._tail(y, upper)
        return np.where(y < 0, float(upper), inside if upper else p + inside)

    def _quantile(self, q: Any, upper: bool) -> Any:
        p = np.asarray(self._known("p"))
        level = q / (1 - p) if upper else (q - p) / (1 - p)
        return self.noise._quantile(np.where(np.isnan(level), level, np.clip(level, 0.0, 1.0)), upper)

    def _draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
        extra = rng.random(shape) < self._known("p")
        return np.where(extra, 0, self.noise._draw(rng, shape))

    @quiet
    def mean(self) -> Any:
        return self._over_shape((1 - self._known("p")) * self.noise.mean())

    @quiet
    def location_at(self, mean: ArrayLike) -> Any:
        return self.noise.location_at(np.asarray(mean, float) / (1 - np.asarray(self._known("p"))))

    @quiet
    def variance(self) -> Any:
        p, mean = np.asarray(self._known("p")), self.noise.mean()
        return self._over_shape((1 - p) * (self.noise.variance() + p * np.square(mean)))

    def _entropy(self) -> Any:
        return numeric_entropy(self)
