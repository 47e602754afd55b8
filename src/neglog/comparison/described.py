"""What columns and targets look like, kept for people: the rows themselves are not."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from neglog.distributions.censored import Cells
from neglog.typing import Numbers

if TYPE_CHECKING:
    from neglog.comparison.structures import Feature

BINS = 40
FEW = 40  # different values of a column that are all kept
TAIL = 0.01  # of the rows, beyond the last bin
SKEWED = 20  # times the median that the last bin ends at, from which on bins are equal in the logarithm
MISSING = " missing"  # after the name of a column: where it has no value


@dataclass(frozen=True)
class Described:
    """A column: of numbers the least, the middle and the largest, of levels how many rows each has."""

    name: str
    quantiles: tuple[float, float, float] | None
    levels: tuple[tuple[str, int], ...]  # from the most to the fewest rows
    distinct: int
    missing: int
    marks: tuple[float, ...] = ()  # where the numbers are: all that differ, or of many the tenths of the rows


def described(features: list["Feature"]) -> list[Described]:
    """Each column, where it lacks values with the column itself."""
    gaps = {one.name: int(np.sum(one.values)) for one in features if one.name.endswith(MISSING)}
    names = {one.name for one in features}
    found = []
    for one in features:
        if one.name.endswith(MISSING) and one.name.removesuffix(MISSING) in names:
            continue
        missing = gaps.get(one.name + MISSING, 0)
        if one.levels is None:
            x = np.asarray(one.values, float)
            low, middle, high = (float(value) for value in np.quantile(x, (0, 0.5, 1)))
            values = np.unique(x)
            marks = values if len(values) <= FEW else np.quantile(x, np.linspace(0, 1, 11))
            found.append(Described(one.name, (low, middle, high), (), len(values), missing, tuple(marks.tolist())))
            continue
        counts = np.bincount(np.where(one.values < 0, len(one.levels), one.values), minlength=len(one.levels))
        levels = [(str(level), int(count)) for level, count in zip(one.levels, counts, strict=False)]
        missing = dict(levels).get("(missing)", 0)
        found.append(
            Described(one.name, None, tuple(sorted(levels, key=lambda one: -one[1])), len(one.levels), missing)
        )
    return found


def bins_of(y: Any) -> Numbers | None:
    """Edges between which the rows are counted: each value for itself where there are few, else of equal width, or of
    equal ratio where a few rows are far larger than most. None where y is not a number in each row.
    """
    if isinstance(y, Cells) or np.asarray(y).dtype.kind not in "fiub":
        return None
    y = np.asarray(y, float)
    low, high = (float(value) for value in np.quantile(y, (0.0 if y.min() >= 0 else TAIL, 1 - TAIL)))
    if (y == np.round(y)).all():
        step = max(1, int(np.ceil((high - low + 1) / BINS)))
        if low == 0 and step > 1:  # zeros for themselves
            return np.append(-0.5, np.arange(0.5, high + step, step))
        return np.arange(low - 0.5, high + step, step)
    positive = y[y > 0]
    if y.min() >= 0 and high > SKEWED * np.median(positive):
        return np.append(0.0, np.geomspace(np.quantile(positive, TAIL), high, BINS))
    if not high > low:
        return None
    unit = 10.0 ** np.floor(np.log10((high - low) / BINS))
    width = unit * next(k for k in (1, 2, 2.5, 5, 10) if k * unit * BINS >= high - low)
    first, last = np.floor(low / width), np.ceil(high / width)
    return np.asarray(np.arange(first, last + 1) * width)
