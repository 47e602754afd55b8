"""Gradients and Hessians where y lies in cells.

A cell may hardly bend, as that of a row which is censored far below its prediction, or bend the wrong way, as one far
out in a heavy tail; and leaves divide by sums of curvatures. So its Hessian is its curvature, but at least the part of
the information I of a value that its gradient is of the usual gradient of a value, √I: a leaf in which nothing bends
then moves by 1/√I, one scale of Gaussian noise, and one that bends as values do makes Newton's step. Where a link
bends, it is at least the gradient too: no leaf of cells changes a mean by more than a factor of e, where a count of
"5 or more" at a mean near 0 would ask for many powers of ten. Cells that say nothing keep a hundredth of I, so that
leaves of rows that are all censored do not run away.
"""

from typing import Any

import numpy as np

from neglog import _core
from neglog.boosting.buffers import Buffers
from neglog.boosting.derivatives import SMALLEST, Followed, finished, mean_of
from neglog.boosting.information import Information
from neglog.boosting.laws import open_parameters
from neglog.boosting.team import Team
from neglog.distributions.arrays import native, thread_count
from neglog.distributions.censored import Cells
from neglog.distributions.noise import Noise
from neglog.likelihood.modelled import through_ends
from neglog.typing import Numbers

FLATTEST = 0.01  # of the information of a value: the least that a cell counts


class OfCells:
    """Gradient and Hessian of cells, times the weights, for noises of one raw prediction or with modelled parameters.

    Values among the cells have those that they have elsewhere. What the noise leaves open bends the loss of cells, also
    a spread that divides that of values, and so follows the predictions; the units are those of values.
    """

    def __init__(self, noise: Noise) -> None:
        self.following = Followed(noise, open_parameters(noise), slowly=True)
        anywhere = noise.locations[0] < 0
        is_open = noise.spread in self.following.names
        self.divided = is_open and noise.traits.divided
        self.in_units = is_open and anywhere
        self.flat = anywhere and noise.link.name == "identity"  # one information for all rows
        self.longest = np.inf if noise.link.name == "identity" else 1.0
        self.observed = noise.curved
        self.information = Information(noise) if noise.modelled else None
        self._buffers = Buffers()
        self._kernel = f"cells({noise._kernel()})"
        self._seen: Any = None
        self._ends: tuple[Any, Any, Any] = (None, None, None)

    def __call__(
        self, y: Cells, raw: Numbers, weight: Numbers | None, team: Team | None = None
    ) -> tuple[Numbers, Numbers]:
        """Gradient and Hessian of each row, times its weight; with modelled parameters, a column for each output."""
        noise = self.following.at(y, raw, weight)
        with np.errstate(all="ignore"):
            return (self._of_one if self.information is None else self._of_several)(noise, y, raw, weight, team)

    def _of_one(
        self, noise: Any, y: Cells, raw: Numbers, weight: Numbers | None, team: Team | None
    ) -> tuple[Numbers, Numbers]:
        lower, upper, exact = self._kernel_ends(noise, y)
        slope, bend = np.empty(raw.shape), np.empty(raw.shape)
        parameters = [native(np.asarray(value, float), raw.shape) for value in (*noise.raw_parameters(), upper)]
        threads, one = thread_count(raw.size), np.ones(1)
        link = noise.link.name
        _core.slopes(
            self._kernel, link, False, lower, np.asarray(raw), parameters, one, -np.inf, slope, bend, threads, team
        )
        information = self._information(noise, raw, team)
        curvature = positive(bend, slope, information, longest=self.longest)
        np.copyto(curvature, bend if self.observed else information, where=exact)
        unit = self._unit(noise)
        gradient, hessian = self._buffers.empty(raw.shape), self._buffers.empty(raw.shape)
        factor = unit if weight is None else unit * np.asarray(weight, np.float64)
        np.multiply(slope, factor, out=gradient, casting="same_kind")
        np.multiply(curvature, factor, out=hessian, casting="same_kind")
        return finished(gradient, hessian, None)

    def _of_several(
        self, noise: Any, y: Cells, raw: Numbers, weight: Numbers | None, team: Team | None
    ) -> tuple[Numbers, Numbers]:
        assert self.information is not None
        location = np.ascontiguousarray(raw[:, 0], np.float64)
        law = noise.given(raw)
        _, slopes, bends = law.joint(y, location, curvature=True)
        through_ends(noise, law, slopes, bends)
        outputs = [(0, self._information(law, location, team), self.longest)]
        beside = [own.name for own in noise.beside_location()]
        for name, information in zip(noise.modelled, self.information(noise, law, raw), strict=True):
            outputs.append((1 + beside.index(name), information, 1.0))
        gradient, hessian = self._buffers.empty(raw.shape, "F"), self._buffers.empty(raw.shape, "F")
        for column, (k, information, longest) in enumerate(outputs):
            gradient[:, column] = slopes[k]
            curvature = positive(bends[k * (k + 3) // 2], slopes[k], information, longest=longest)
            hessian[:, column] = np.where(y.exact, information, curvature)
        unit = mean_of(hessian[:, 0], weight)
        gradient[:, 0] /= unit
        hessian[:, 0] /= unit
        np.maximum(hessian[:, 1:], np.abs(gradient[:, 1:]), out=hessian[:, 1:])  # of values too
        return finished(gradient, hessian, None if weight is None else weight[:, None])

    def _information(self, noise: Any, raw: Numbers, team: Team | None) -> Numbers:
        """Of a value in each row, whatever it is."""
        one = self.flat and self.information is None
        at = np.zeros(1) if one else np.asarray(raw, np.float64)
        slope, information = np.empty(at.shape), np.empty(at.shape)
        noise._slopes(0.5, at, True, slope, information, team=None if one else team)
        return information

    def _unit(self, noise: Any) -> float:
        """What makes derivatives of values those of a spread that is left out: Hessians then count rows."""
        if self.divided:
            return float(noise.loss_scale / noise.with_(**{str(noise.spread): 1.0}).loss_scale)
        return float(getattr(noise, str(noise.spread)) ** 2) if self.in_units else 1.0

    def _kernel_ends(self, noise: Any, y: Cells) -> tuple[Numbers, Numbers, Any]:
        if self._seen is not y:
            lower, upper = (native(np.asarray(noise._end_for_kernel(end)), y.shape) for end in (y.lower, y.upper))
            self._seen, self._ends = y, (lower, upper, y.exact)
        return self._ends


def positive(bend: Numbers, slope: Numbers, information: Any, *, longest: float = np.inf) -> Numbers:
    """Curvatures to step by: those of the cells, but not less than the part of the information that their slopes tell,
    nor so small that a step is longer than the `longest`.

    >>> import numpy as np
    >>> positive(np.array([1.0, 0.0, -0.1, 0.0]), np.array([5.0, -2.0, 0.5, 0.0]), 1.0)
    array([1.  , 1.  , 0.5 , 0.01])
    """
    usual = np.sqrt(information)
    share = np.clip(np.abs(slope) / np.where(usual > 0, usual, SMALLEST), FLATTEST, 1.0)
    return np.asarray(np.fmax(np.fmax(bend, share * information), np.abs(slope) / longest))
