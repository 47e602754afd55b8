"""Values that no fit can use, missing or infinite: where they are and how to say it."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from neglog.distributions.arrays import all_finite

Kind = Literal["missing", "infinite"]

SHOWN = 10  # columns that an error lists before it only counts them

ADVICE: dict[Kind, str] = {
    "missing": 'drop these rows with missing="drop", fill the values with missing="impute", or do so yourself',
    "infinite": "drop these rows or put finite numbers in their place",
}


@dataclass(frozen=True)
class Fault:
    """Values of one kind in one column: how many, and the row of the first."""

    column: str
    kind: Kind
    count: int
    first: int

    @classmethod
    def at(cls, column: str, kind: Kind, rows: NDArray[Any]) -> "Fault":
        """The fault of having such values in these rows, which are in ascending order and not none."""
        return cls(column, kind, len(rows), int(rows[0]))

    def __add__(self, later: "Fault") -> "Fault":
        return Fault(self.column, self.kind, self.count + later.count, self.first)


def refusal(faults: Iterable[Fault], owner: str = "X", place: Callable[[int], str] = "row {}".format) -> ValueError:
    """The error that names the columns, the counts, the first rows, and what to do."""
    faults = list(faults)
    sentences = []
    for kind, advice in ADVICE.items():
        found = [fault for fault in faults if fault.kind == kind]
        if found:
            shown = [
                f"{fault.column!r} has {fault.count}, the first in {place(fault.first)}" for fault in found[:SHOWN]
            ]
            more = [f"and {len(found) - SHOWN} more columns"] if len(found) > SHOWN else []
            sentences.append(f"{owner} has {kind} values: column {'; '.join(shown + more)}; {advice}")
    return ValueError(". ".join(sentences))


def missing_rows(values: NDArray[Any]) -> NDArray[np.intp]:
    """The places of NaN, NaT, None and the like in a one-dimensional array of any type."""
    if values.dtype.kind == "f" and all_finite(values):
        return np.empty(0, np.intp)
    if values.dtype.kind in "fc":
        missing: NDArray[np.intp] = np.isnan(values).nonzero()[0]
        return missing
    if values.dtype.kind in "mM":
        return np.flatnonzero(np.isnat(values))
    if values.dtype.kind == "O":
        return np.flatnonzero(np.fromiter(map(is_missing, values), bool, len(values)))
    return np.empty(0, np.intp)


def is_missing(value: Any) -> bool:
    """Whether an object stands for no value. pandas.NA is told by name: it compares to neither true nor false."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float | np.floating) and bool(value != value)


def first_rows(rows: NDArray[Any], total: int) -> str:
    """How many of all rows these are and which is the first: the middle of an error's sentence."""
    return f"{len(rows)} of {total} rows are not: the first, row {rows[0]}, is"
