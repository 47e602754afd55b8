"""What decides which noises can explain a target, and how finely it was recorded: counts that can be added."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from neglog import _core
from neglog.distributions.censored import Cells
from neglog.distributions.noise import Noise
from neglog.distributions.registry import FAMILIES
from neglog.distributions.support import Support
from neglog.typing import Numbers

FEW_VALUES = 12  # of y, that may be grades
STEPS = (1.0, 0.5, 0.25, 0.1, 0.05, 0.01, 0.005, 0.001)  # in which people record numbers


@dataclass
class Facts:
    """How many targets there are of each sort."""

    rows: int
    zeros: int
    outside: dict[Support, int]  # how many are not in it
    off_grid: Numbers  # for each of STEPS
    nearest: float  # the least absolute value that is not 0
    total: float  # their sum
    least: tuple[float, int]  # the smallest and how many are as small
    largest: tuple[float, int]
    values: frozenset[float] | None  # all there are, if they are few
    cells: int = 0  # targets that are no values, but cells

    def __add__(self, other: "Facts") -> "Facts":
        outside = {support: count + other.outside[support] for support, count in self.outside.items()}
        nearest = min(self.nearest, other.nearest)
        values = None if self.values is None or other.values is None else _few(self.values | other.values)
        least = _pile(min, self.least, other.least)
        largest = _pile(max, self.largest, other.largest)
        off_grid, total = self.off_grid + other.off_grid, self.total + other.total
        rows, zeros = self.rows + other.rows, self.zeros + other.zeros
        return Facts(rows, zeros, outside, off_grid, nearest, total, least, largest, values, self.cells + other.cells)

    @property
    def mixes(self) -> bool:
        """Whether some targets are cells and others are values off any grid, so that masses cannot be compared."""
        return self.step is None

    @property
    def mean(self) -> float:
        """Of the targets."""
        return self.total / self.rows

    @property
    def step(self) -> float | None:
        """The coarsest of the usual steps on whose multiples all targets lie; None where they are on no grid."""
        return next((step for step, off in zip(STEPS, self.off_grid, strict=True) if not off), None)

    def cell_width(self) -> tuple[float | None, str]:
        """The width of the cells that y is scored in, and how to say it; None where densities compare as they are."""
        if self.cells:
            how = "its density" if self.step is None else f"the probability of y ± {self.step / 2:g}"
            return self.step, (
                f"y holds {self.cells:,} cells: every noise is scored by their probability, and where y was observed "
                f"by {how}"
            )
        step = self.step
        if step is not None:
            text = f"y is recorded in steps of {step:g}: every noise is scored by the probability of y ± {step / 2:g}"
            return step, text
        if self.zeros > 1:
            width = float(f"{self.nearest:.1g}") if np.isfinite(self.nearest) else 1.0
            return width, (
                f"y has an atom at 0 ({self.zeros:,} rows) and no grid: every noise is scored by the probability of "
                f"y ± {width / 2:g}, half the smallest value that is not 0"
            )
        return None, "y has no grid: every noise is scored by its density"

    def against(self, noise: Noise) -> str | None:
        """Why the noise cannot explain these targets."""
        if noise.labelled:
            return None
        if self.cells and noise.default_link not in _core.links(f"cells({noise._kernel()})"):
            return "it has no probabilities of cells"
        if self.cells and self.mixes and noise.measure != "density":
            return "it gives values a mass, which cannot be compared with the densities of other noises"
        bad = self.outside.get(noise.support, 0)
        if bad:
            only_zeros = bad == self.zeros and not noise.support.contains(0.0)
            return f"{bad:,} of {self.rows:,} targets {'are 0' if only_zeros else noise.support.others}"
        return noise.cannot_tell(self.rows, self.zeros) if noise.in_doubt else None


def facts_of(y: Any) -> Facts:
    """Of targets in memory."""
    cells = 0
    if isinstance(y, Cells):
        cells, y = int(np.count_nonzero(~y.exact)), np.where(y.exact, y.lower, _inside(y))
    y = np.asarray(y, np.float64)
    size = np.abs(y)
    others = size[size > 0]
    return Facts(
        len(y),
        int(np.count_nonzero(y == 0)),
        {support: int(np.count_nonzero(~support.contains(y))) for support in supports()},
        _off_grid(y),
        float(others.min()) if len(others) else np.inf,
        float(y.sum()),
        (float(y.min()), int(np.count_nonzero(y == y.min()))),
        (float(y.max()), int(np.count_nonzero(y == y.max()))),
        _few(frozenset(np.unique(y[:: max(1, len(y) // 1000)]).tolist())) and _few(frozenset(np.unique(y).tolist())),
        cells,
    )


def _inside(y: Cells) -> Numbers:
    """A value in each cell that any support that has some of the cell is likely to have."""
    return np.where(np.isfinite(y.upper), y.upper, np.where(np.isfinite(y.lower), y.lower, 1.0))


def _few(values: frozenset[float]) -> frozenset[float] | None:
    return values if len(values) <= FEW_VALUES else None


def _pile(end: Any, one: tuple[float, int], other: tuple[float, int]) -> tuple[float, int]:
    """The more extreme of two values, and how many there are of it."""
    value = end(one[0], other[0])
    return value, sum(count for found, count in (one, other) if found == value)


def supports() -> list[Support]:
    """Those of all noises that are registered."""
    noises = (family for family in FAMILIES.values() if issubclass(family, Noise))
    return list(dict.fromkeys(family(**example).support for family in noises for example in family.examples))


def _off_grid(y: Numbers) -> Numbers:
    counts = np.zeros(len(STEPS), int)
    for k, step in enumerate(STEPS):
        multiples = y / step
        counts[k] = np.count_nonzero(
            np.abs(multiples - np.round(multiples)) > 1e-9 * np.maximum(np.abs(multiples), 1.0)
        )
        if counts[k] == 0:  # finer steps are not asked for
            break
    return counts
