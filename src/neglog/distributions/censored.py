"""Cells: y that is known to lie between two ends. Rounding, censoring on either side and intervals are one thing."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from neglog.typing import Numbers


class Cells:
    """One cell [lower, upper] for each row; a value where the two are equal, and open where an end is infinite.

    It goes in the place of y: `nl.fit(X, nl.censored(lower, upper), nl.Weibull())`, `law.nll(nl.censored(1.0, 2.0))`.
    """

    def __init__(self, lower: Any, upper: Any) -> None:
        self.lower: Numbers = np.asarray(lower, np.float64, order="C")
        self.upper: Numbers = np.asarray(upper, np.float64, order="C")

    def __len__(self) -> int:
        return len(self.lower)

    @property
    def shape(self) -> tuple[int, ...]:
        """That of either end."""
        return self.lower.shape

    def __getitem__(self, rows: Any) -> "Cells":
        return Cells(self.lower[rows], self.upper[rows])

    @property
    def exact(self) -> Any:
        """Which are values."""
        return self.lower == self.upper

    def holding(self, value: float) -> Any:
        """Which hold this value."""
        return (self.lower <= value) & (value <= self.upper)

    @property
    def points(self) -> Numbers:
        """A number in each: its middle, or the end that is finite."""
        with np.errstate(all="ignore"):
            middle = 0.5 * (self.lower + self.upper)
        ends = np.where(np.isfinite(self.lower), self.lower, np.where(np.isfinite(self.upper), self.upper, 0.0))
        return np.where(np.isfinite(middle), middle, ends)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        """Refused: whoever takes numbers for y would take a point of each cell for what was observed."""
        raise TypeError("y holds cells (nl.censored), which this does not take: it needs values")

    def __repr__(self) -> str:
        return f"<{len(self)} cells, {int(np.count_nonzero(self.exact))} of them values>"


def ends_of(y: Any) -> dict[str, Any]:
    """The columns that tell y, where they are named: y itself, or the ends of its cells."""
    return y.ends if isinstance(y, NamedCells) else {"y": y}


def with_ends(y: Any, given: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """What is read as y, and what beside it: of cells, their lower ends and what tells the upper ones."""
    if isinstance(y, NamedCells):
        return y.ends["y"], {**given, **y.ends}
    return (y.lower, {**given, "upper": y.upper}) if isinstance(y, Cells) else (y, given)


class NamedCells:
    """Cells whose ends are columns of a table, by name."""

    def __init__(self, ends: dict[str, str]) -> None:
        self.ends = ends


def censored(
    lower: ArrayLike | str, upper: ArrayLike | str | None = None, *, event: ArrayLike | str | None = None
) -> Any:
    """y as cells, in the place of y wherever a noise with a distribution function is fitted, compared or asked.

    lower, upper  the ends of each cell: -inf and inf for censoring on the left and on the right, equal where y was
                  observed; a cell holds both its ends, which matters for counts: (5, inf) is "5 or more"
    event         in place of `upper`, for durations: 1 where y was observed, 0 where it is at least that

    Ends are values, or names of columns of the table that is fitted.

    >>> import neglog as nl
    >>> nl.censored([1.0, 2.0, 0.5], [1.0, float("inf"), 0.7])
    <3 cells, 1 of them values>
    >>> round(float(nl.Gaussian(0.0, 1.0).nll(nl.censored(1.96, float("inf")))), 4)
    3.689
    """
    if (upper is None) == (event is None):
        raise TypeError(
            "censored takes the lower ends, and either the upper ends or event=, which says what was observed"
        )
    given = {"y": lower, "upper": upper} if event is None else {"y": lower, "event": event}
    names = [what for what, value in given.items() if isinstance(value, str)]
    if names:
        if len(names) < 2:
            raise TypeError("censored takes two names of columns or two arrays, but got one of each")
        return NamedCells({what: str(value) for what, value in given.items()})
    return cells_of({what: np.asarray(value, np.float64) for what, value in given.items()})


def cells_of(values: dict[str, Any]) -> Any:
    """y of the values that were read for the rows: cells, if there are upper ends or events, and else as it is."""
    y = values["y"]
    if values.get("event") is not None:
        event = np.asarray(values["event"], np.float64)
        other = np.flatnonzero(~((event == 0) | (event == 1)).reshape(-1))
        if len(other):
            first = event.reshape(-1)[other[0]]
            raise ValueError(
                f"event must be 1 (observed) or 0 (censored), but {len(other)} of {event.size} values are neither; the "
                f"first is {first:g} in row {other[0]}"
            )
        lower, upper = np.broadcast_arrays(y, np.where(event == 1, y, np.inf))
        return checked_cells(lower, upper)
    if values.get("upper") is None:
        return y
    try:
        lower, upper = np.broadcast_arrays(np.asarray(y, np.float64), np.asarray(values["upper"], np.float64))
    except ValueError:
        raise ValueError(f"lower has the shape {np.shape(y)} and upper {np.shape(values['upper'])}") from None
    return checked_cells(lower, upper)


def checked_cells(lower: Any, upper: Any) -> Cells:
    """Cells, unless an end is no number or a lower end is above the upper one."""
    wrong = np.flatnonzero(~(lower <= upper).reshape(-1))
    if len(wrong):
        low, high = (float(np.reshape(end, -1)[wrong[0]]) for end in (lower, upper))
        raise ValueError(
            f"the lower end of a cell must not be above the upper one, but {len(wrong)} of {np.size(lower)} cells have "
            f"such ends, or one that is no number; the first is row {wrong[0]}, [{low:g}, {high:g}]"
        )
    return Cells(lower, upper)
