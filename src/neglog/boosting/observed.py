"""What was observed of y, values or cells: what is asked of both alike, and which cells trees refuse."""

from typing import Any

import numpy as np

from neglog.distributions.censored import Cells, checked_cells
from neglog.distributions.noise import Noise
from neglog.likelihood.censored import refuse_empty, refuse_one_sided, refuse_without_cells
from neglog.typing import Numbers

OPEN_BELOW = -9e37  # labels up to this, which trainers make of -inf, or are given for it

# ---- values or cells -------------------------------------------------------------------------------------------------


def numbers(y: Any) -> Any:
    """Values as float64; cells as they are."""
    return y if isinstance(y, Cells) else np.asarray(y, np.float64)


def points_of(y: Any) -> Numbers:
    """A number for each y: of a cell, one that lies in it."""
    return y.points if isinstance(y, Cells) else np.asarray(y)


def zeros_of(y: Any) -> int:
    """How many are 0, or may be."""
    return int(np.count_nonzero(y.holding(0.0) if isinstance(y, Cells) else y == 0))


def may_be(y: Any, value: float) -> bool:
    """Whether this value explains all of them."""
    return bool(np.all(y.holding(value) if isinstance(y, Cells) else y == value))


# ---- cells -----------------------------------------------------------------------------------------------------------


def cells_of_labels(labels: Numbers, upper: Numbers) -> Cells:
    """Cells whose lower ends are the labels of a trainer, which keeps them in float32: values whose label is the upper
    end but for that rounding are values.
    """
    if upper.shape != labels.shape:
        raise ValueError(
            f"upper must have the upper end of each row of the dataset, in its order, but has the shape {upper.shape} "
            f"for {len(labels)} labels; rows of another dataset need an objective or metric of their own"
        )
    with np.errstate(over="ignore"):  # of ends beyond the numbers of float32
        same = labels == upper.astype(labels.dtype)
    lower = np.where(labels <= OPEN_BELOW, -np.inf, labels.astype(np.float64))
    return checked_cells(np.where(same, upper, lower), upper)


def check_cells(noise: Noise, cells: Cells, *, whole: bool) -> None:
    """Refuse what a fit refuses; cells that are all open on one side only where these are all rows."""
    refuse_without_cells(noise)
    if whole:
        refuse_one_sided(cells)
    refuse_empty(noise, cells)


def values_or_cells(cells: Cells) -> Any:
    """Values where all of them are."""
    return cells.lower if np.all(cells.exact) else cells
