"""Any noise with y in cells: the pass sees the lower ends as y and the upper ends beside the parameters."""

from dataclasses import replace
from typing import Any

import numpy as np

from neglog import _core
from neglog.design.faults import first_rows
from neglog.distributions.censored import Cells
from neglog.engines.memory import Loss
from neglog.likelihood.targets import Target, require
from neglog.typing import Numbers


class Censored(Target):
    """A noise with cells as its y."""

    raw: Any
    cheap = False

    def check(self) -> None:
        refuse_without_cells(self.noise)
        refuse_empty(self.noise, self.raw)
        if self.p is not None and not self.noise.takes_precision():
            name = type(self.noise).__name__
            raise ValueError(f"{name} noise has no dispersion that a precision could divide; use sample_weight")
        if self.p is not None and self.noise.traits.repeats:
            name = type(self.noise).__name__
            raise ValueError(
                f"a precision says of how many observations {name} noise has the mean, and ends of cells are no means; "
                "give the ends of the sums, with exposure=... in the place of precision=..."
            )
        self.y = self.transformed(self.raw)

    def transformed(self, y: Any) -> Numbers:
        return np.asarray(self.noise._end_for_kernel(y.lower) if isinstance(y, Cells) else y)

    @property
    def located(self) -> Numbers:
        return self.points

    @property
    def joint_y(self) -> Numbers:
        return self.y

    @property
    def kernel(self) -> str:
        return f"cells({self.noise._kernel()})"

    @property
    def bends(self) -> bool:
        return True

    @property
    def convex(self) -> bool:
        return False  # what is convex for values need not be for cells

    @property
    def loss(self) -> Loss:
        known = self.noise.estimated(**dict.fromkeys(self.open, np.nan)) if self.open else self.noise
        values = tuple(np.full(1, float(raw)) for raw in known.raw_parameters())
        return self.sharpened(Loss(self.kernel, self.noise.link.name, values, open=()))

    def joint_loss(self) -> Loss:
        return self._with_ends(replace(super().joint_loss(), family=self.kernel))

    def sharpened(self, loss: Loss) -> Loss:
        return self._with_ends(super().sharpened(loss))

    def _with_ends(self, loss: Loss) -> Loss:
        if not isinstance(self.raw, Cells):  # the rows are elsewhere, and have their own
            return replace(loss, upper=np.full(1, np.inf))
        return replace(loss, upper=np.asarray(self.noise._end_for_kernel(self.raw.upper)))

    @property
    def points(self) -> Numbers:
        return self.raw.points if isinstance(self.raw, Cells) else np.asarray(self.raw)

    @property
    def zeros(self) -> Any:
        return self.raw.holding(0.0) if isinstance(self.raw, Cells) else self.points == 0

    def middle(self) -> float:
        y = self.points
        return float(np.mean(y) if self.w is None else self.w @ y / self.w.sum())

    def row_slopes(self, noise: Any, eta: Numbers, expected: bool = False) -> tuple[Numbers, Numbers]:
        refuse_expected(expected)
        _, slopes, bends = noise.with_precision(self.p).joint(self.raw, eta, curvature=True)
        return slopes[0], bends[0]


def refuse_expected(expected: bool) -> None:
    """What a row is expected to say depends on where its cell would have been."""
    if expected:
        raise ValueError("rows in cells have observed second derivatives only; leave expected=True out")


def refuse_without_cells(noise: Any) -> None:
    """Refuse a noise, or a link, of which the core has no cells."""
    name = type(noise).__name__
    links = [] if noise.of_classes else _core.links(f"cells({noise._kernel()})")
    if not links:
        raise ValueError(f"{name} noise has no probabilities of cells that could be fitted; y must be values")
    if noise.link.name not in links:
        raise ValueError(f"{name} noise takes cells with the link {links[0]!r} only, but has {noise.link.name!r}")


def refuse_empty(noise: Any, cells: Cells) -> None:
    """Refuse values outside the support, and cells that hold no y of it."""
    support = noise.support
    with np.errstate(all="ignore"):  # of infinite ends
        inside = ~cells.exact | support.contains(cells.lower)
    require(noise, inside, cells.lower, support.sentence)
    bad = np.flatnonzero(~_holds_some(support, cells))
    if len(bad):
        low, high = float(cells.lower[bad[0]]), float(cells.upper[bad[0]])
        raise ValueError(
            f"{type(noise).__name__} noise needs cells that hold a y, {support.sentence}, but "
            f"{first_rows(bad, len(cells))} [{low:g}, {high:g}]; widen them, or "
            f"{noise.otherwise or 'take another noise'}"
        )


def refuse_one_sided(cells: Cells) -> None:
    """Refuse cells that are all open on the same side: the farther away the prediction, the better."""
    for open_end, side, other in ((cells.upper, "right", "above"), (cells.lower, "left", "below")):
        if np.isinf(open_end).all():
            raise ValueError(
                f"all {len(cells)} rows of y are censored on the {side}, so that there is no maximum: every y "
                f"may lie arbitrarily far {other}; some rows must have been observed, or lie in intervals"
            )


def refuse_untold(noise: Any, cells: Cells) -> None:
    """Refuse what is open and cannot be told from cells of which so many may be 0."""
    zeros = int(np.count_nonzero(cells.holding(0.0)))
    objection = noise.cannot_tell(len(cells), zeros) if noise.in_doubt else None
    if objection is not None:
        raise ValueError(objection)


def _holds_some(support: Any, cells: Cells) -> Any:
    """Whether each cell holds a y of the support."""
    low, high = np.maximum(cells.lower, support.low), np.minimum(cells.upper, support.high)
    if support.step is None:
        return (low < high) | (cells.exact & support.contains(cells.lower)) | ((low == high) & support.contains(low))
    with np.errstate(all="ignore"):
        return np.ceil(low / support.step) * support.step <= high
