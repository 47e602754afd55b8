"""The first pass over a table that is not in memory: what its columns hold, and some of its rows."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from neglog.design import tables
from neglog.design.arrow import days_of, level_counts, numbers_of
from neglog.design.design import Column, Schema, has_reference
from neglog.design.faults import Fault, refusal
from neglog.engines.sources import added

SAMPLE_ROWS = 200_000  # about so many are kept
MOST_LEVELS = 200_000  # of a category: more are names of rows


@dataclass
class ColumnSurvey:
    """What is known about one column; all of it can be added."""

    name: str
    missing: Fault | None = None
    infinite: Fault | None = None
    total: float = 0.0
    known: int = 0
    levels: dict[Any, int] = field(default_factory=dict)

    def __add__(self, other: "ColumnSurvey") -> "ColumnSurvey":
        levels = added(self.levels, other.levels)
        if len(levels) > MOST_LEVELS:
            raise ValueError(
                f"the column {self.name!r} has more than {MOST_LEVELS:,} different values; leave it out, or make "
                "it a number"
            )
        return ColumnSurvey(
            self.name,
            added(self.missing, other.missing),
            added(self.infinite, other.infinite),
            self.total + other.total,
            self.known + other.known,
            levels,
        )


class Sample:
    """Every so-manieth row of each piece; thinned when there are too many."""

    def __init__(self, step: int, parts: list[tuple[Any, Any]]) -> None:
        self.step, self.parts = step, parts  # of tables, with the number of each row

    @classmethod
    def of(cls, table: Any, numbers: Any, step: int) -> "Sample":
        """From one table whose rows have these numbers."""
        places = np.flatnonzero(numbers % step == 0)
        return cls(step, [(_taken(table, places), numbers[places])] if len(places) else [])

    def __add__(self, other: "Sample") -> "Sample":
        step = max(self.step, other.step)
        both = Sample(step, self._at(step) + other._at(step))
        while both.rows > 2 * SAMPLE_ROWS:
            both = Sample(2 * both.step, both._at(2 * both.step))
        return both

    @property
    def rows(self) -> int:
        """How many there are."""
        return sum(len(numbers) for _, numbers in self.parts)

    def _at(self, step: int) -> list[tuple[Any, Any]]:
        if step == self.step:
            return self.parts
        kept = [(table, numbers, np.flatnonzero(numbers % step == 0)) for table, numbers in self.parts]
        return [(_taken(table, places), numbers[places]) for table, numbers, places in kept if len(places)]

    def table(self) -> Any:
        """The rows as one table."""
        import pyarrow as pa

        return pa.concat_tables([table for table, _ in self.parts])

    def numbers(self) -> Any:
        """Their numbers."""
        return np.concatenate([numbers for _, numbers in self.parts])


def _taken(table: Any, places: Any) -> Any:
    """Some rows of a table. From NumPy's numbers Arrow would only make its own after having imported pandas."""
    import pyarrow as pa

    numbers = np.ascontiguousarray(places, np.int64)
    return table.take(pa.Array.from_buffers(pa.int64(), len(numbers), [None, pa.py_buffer(numbers)]))


class Survey(NamedTuple):
    """What one pass found out; the sum of surveys is the survey of all."""

    rows: int
    columns: dict[str, ColumnSurvey]
    sample: Sample
    target: Any


def surveyed_column(column: Any, kind: str, name: str, first: int) -> ColumnSurvey:
    """One column of one table."""
    if kind == "categorical":
        levels = level_counts(column)
        lost = levels.get(None, 0)
        fault = None
        if lost:
            nulls = np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))
            fault = Fault(name, "missing", lost, first + (int(nulls[0]) if len(nulls) else 0))
        return ColumnSurvey(name, fault, levels=levels)
    values = days_of(column) if kind == "date" else numbers_of(column)
    if np.isfinite(np.add.reduce(values, dtype=np.float64)):
        return ColumnSurvey(name, total=float(np.add.reduce(values, dtype=np.float64)), known=len(values))
    missing, infinite = np.flatnonzero(np.isnan(values)), np.flatnonzero(np.isinf(values))
    good = values[np.isfinite(values)]
    return ColumnSurvey(
        name,
        Fault.at(name, "missing", first + missing) if len(missing) else None,
        Fault.at(name, "infinite", first + infinite) if len(infinite) else None,
        float(good.sum(dtype=np.float64)),
        len(good),
    )


def schema_of(
    columns: dict[str, ColumnSurvey],
    kinds: dict[str, str],
    *,
    reference: bool,
    intercept: bool,
    missing: str,
    rare: int,
    place: Callable[[int], str],
) -> tuple[Schema, list[str]]:
    """The schema of the columns in their order, and notes on what was done to them: as `design.read` decides it."""
    if missing == "error":
        faults = [survey.missing for survey in columns.values() if survey.missing is not None]
        if faults:
            raise refusal(faults, place=place)
    infinite = [survey.infinite for survey in columns.values() if survey.infinite is not None]
    if infinite:
        raise refusal(infinite, place=place)
    impute = missing == "impute"
    found: list[Column] = []
    notes: list[str] = []
    for name, survey in columns.items():
        lost = survey.missing.count if survey.missing is not None and impute else 0
        if kinds[name] == "categorical":
            referred = has_reference(found, reference, intercept)
            found.append(replace(_category(name, survey, lost, rare, notes), reference=referred))
            continue
        if lost and not survey.known:
            raise ValueError(f"the column {name!r} of X has no values at all; leave it out")
        fill = survey.total / survey.known if lost else None
        found.append(Column(name, dates=kinds[name] == "date", fill=fill))
        if kinds[name] == "date":
            notes.append(f"{name}: dates are days since 1970-01-01")
        if fill is not None:
            notes.append(f"{name}: {lost:,} missing values are the mean, {fill:.6g}, and a column says where")
    return Schema(len(found), tuple(found)), notes


def _category(name: str, survey: ColumnSurvey, lost: int, rare: int, notes: list[str]) -> Column:
    counts = {value: count for value, count in survey.levels.items() if value is not None}
    if lost:
        counts[tables.MISSING] = lost
    few = {value: count for value, count in counts.items() if count < rare}
    if few and len(few) == len(counts):
        raise ValueError(
            f"each level of the column {name!r} has fewer than {rare} rows; lower rare, or leave the column out"
        )
    if few:
        notes.append(
            f"{name}: {len(few):,} of {len(counts):,} levels have fewer than {rare:,} rows, {sum(few.values()):,} in "
            "all; their effect is 0"
        )
    if lost:
        notes.append(f"{name}: {lost:,} missing values are a level of their own")
    return Column(name, tables.sorted_levels(value for value in counts if value not in few))
