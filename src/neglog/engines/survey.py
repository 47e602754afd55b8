"""The first pass over a table that is not in memory: what its columns hold, and some of its rows."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from neglog.design import tables
from neglog.design.arrow import days_of, level_counts, numbers_of
from neglog.design.design import Column, Schema, has_reference, no_values
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
    total: float = 0.0  # of the values, each counted by its row's weight
    known: float = 0  # how many there are, counted likewise
    ends: tuple[float, float] = (np.inf, -np.inf)  # the least and the largest
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
            (min(self.ends[0], other.ends[0]), max(self.ends[1], other.ends[1])),
            levels,
        )


class Sample:
    """Every so-manieth row of each piece; thinned when there are too many."""

    def __init__(self, step: int, parts: list[tuple[Any, Any, Any]]) -> None:
        self.step, self.parts = step, parts  # of tables, with the number and the rank of each row

    @classmethod
    def of(cls, table: Any, numbers: Any, step: int, weight: Any = None) -> "Sample":
        """From one table whose rows have these numbers. Rows of weight 0 are passed over: the rank of a row is its
        number as if they were not there.
        """
        counted = np.arange(len(numbers)) if weight is None else np.flatnonzero(weight)
        ranks = numbers[: len(counted)]
        chosen = np.flatnonzero(ranks % step == 0)
        at = counted[chosen]
        return cls(step, [(_taken(table, at), numbers[at], ranks[chosen])] if len(at) else [])

    def __add__(self, other: "Sample") -> "Sample":
        step = max(self.step, other.step)
        both = Sample(step, self.thinned(step).parts + other.thinned(step).parts)
        while both.rows > 2 * SAMPLE_ROWS:
            both = both.thinned(2 * both.step)
        return both

    @property
    def rows(self) -> int:
        """How many there are."""
        return sum(len(numbers) for _, numbers, _ in self.parts)

    def thinned(self, step: int) -> "Sample":
        """The rows whose rank is a multiple of the step."""
        if step == self.step:
            return self
        kept = [(table, numbers, ranks, np.flatnonzero(ranks % step == 0)) for table, numbers, ranks in self.parts]
        taken = [(_taken(table, at), numbers[at], ranks[at]) for table, numbers, ranks, at in kept if len(at)]
        return Sample(step, taken)

    def table(self) -> Any:
        """The rows as one table."""
        import pyarrow as pa

        return pa.concat_tables([table for table, _, _ in self.parts])

    def numbers(self) -> Any:
        """Their numbers."""
        return np.concatenate([numbers for _, numbers, _ in self.parts])


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
    weight: float  # of all rows
    target: Any
    counted: dict[Any, int]  # of labels with weights: how often each occurs in rows that count


def surveyed_column(column: Any, kind: str, name: str, first: int, weight: Any = None) -> ColumnSurvey:
    """One column of one table whose rows count by their weight."""
    if kind == "categorical":
        levels = level_counts(column)
        lost = levels.get(None, 0)
        fault = None
        if lost:
            nulls = np.flatnonzero(column.is_null(nan_is_null=True).to_numpy(zero_copy_only=False))
            fault = Fault(name, "missing", lost, first + (int(nulls[0]) if len(nulls) else 0))
        return ColumnSurvey(name, fault, levels=levels)
    return surveyed_numbers(days_of(column) if kind == "date" else numbers_of(column), name, first, weight)


def surveyed_numbers(values: Any, name: str, first: int, weight: Any = None) -> ColumnSurvey:
    """The same of numbers."""
    total = float(np.add.reduce(values, dtype=np.float64))
    if np.isfinite(total) and weight is None:
        return ColumnSurvey(name, total=total, known=len(values), ends=_ends(values))
    good = np.isfinite(values)
    counted = values[good] if weight is None else values[good] * weight[good]
    total, known = float(counted.sum(dtype=np.float64)), float(good.sum() if weight is None else weight[good].sum())
    missing, infinite = np.flatnonzero(np.isnan(values)), np.flatnonzero(np.isinf(values))
    return ColumnSurvey(
        name,
        Fault.at(name, "missing", first + missing) if len(missing) else None,
        Fault.at(name, "infinite", first + infinite) if len(infinite) else None,
        total,
        known,
        _ends(values[good if weight is None else good & (weight > 0)]),
    )


def _ends(values: Any) -> tuple[float, float]:
    return (float(values.min()), float(values.max())) if len(values) else (np.inf, -np.inf)


def schema_of(
    columns: dict[str, ColumnSurvey],
    kinds: dict[str, str],
    *,
    reference: bool,
    intercept: bool,
    missing: str,
    rare: int,
    place: Callable[[int], str],
    weighted: bool = False,
    functions: Mapping[str, tuple[str, str]] | None = None,
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
            raise no_values(name, weighted)
        fill = survey.total / survey.known if lost else None
        function = (functions or {}).get(name, (None, ""))[0]
        found.append(Column(name, dates=kinds[name] == "date", fill=fill, function=function))
        if kinds[name] == "date":
            notes.append(f"{name}: dates are days since 1970-01-01")
        if fill is not None:
            notes.append(f"{name}: {lost:,} missing values are the mean, {fill:.6g}, and a column says where")
    return Schema(len(found), tuple(found)), notes


def _category(name: str, survey: ColumnSurvey, lost: int, rare: int, notes: list[str]) -> Column:
    counts = {value: count for value, count in survey.levels.items() if value is not None}
    tables.refuse_commas(counts, f"the column {name!r}")
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
