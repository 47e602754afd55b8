"""From a source of rows that are not in memory to the question that a solver is given: one pass, which reads everything
once, checks it, and keeps a sample.
"""

import sys
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from neglog.design.arrow import Encoder, complete_rows, level_counts, numbers_of
from neglog.design.columns import MODES, check_target
from neglog.design.design import Schema, TermsByPredictor, with_terms
from neglog.design.functions import applied, function_of
from neglog.design.parts import check_columns as check_terms
from neglog.design.tables import KINDS, quoted, refuse_commas, refuse_rounded, sorted_levels, unsupported
from neglog.distributions import Flat
from neglog.distributions.base import Prior
from neglog.distributions.censored import cells_of, ends_of
from neglog.distributions.noise import Noise
from neglog.engines.cache import cached
from neglog.engines.files import Files, is_paths, is_whole, kind_of_type
from neglog.engines.memory import Memory, centres_of
from neglog.engines.sources import Source, final_numbers
from neglog.engines.spark import SparkRows, is_spark
from neglog.engines.survey import SAMPLE_ROWS, Sample, Survey, schema_of, surveyed_column, surveyed_numbers
from neglog.likelihood.accelerators import make_target
from neglog.likelihood.modelled import check_columns
from neglog.likelihood.ordered import order_notes
from neglog.likelihood.row_values import check_counted_classes, checked, combined_offset
from neglog.likelihood.targets import Target
from neglog.likelihood.task import Task
from neglog.printing import did_you_mean
from neglog.solvers.penalty import Penalty
from neglog.streaming.pieces import Folds, Pieces, PieceTask, Streamed, StreamedTask
from neglog.streaming.target_sums import TargetSums, condensed, sums_of


def opened_source(X: Any, engine: str | None) -> Any:
    """X as a source of rows that are not in memory, or None if it is in memory."""
    if engine not in (None, "dask"):
        raise ValueError(f'engine must be "dask" or None, but is {engine!r}')
    if type(X) is np.ndarray and engine is None:
        return None
    if isinstance(X, Files):
        return X
    if is_paths(X):
        if engine is None:
            return Files(X)
        from neglog.engines.dask import FilesOnCluster

        return FilesOnCluster(X)
    if "dask" in sys.modules:
        from neglog.engines.dask import Partitions, is_dask

        if is_dask(X):
            return Partitions(X)
    if engine is not None:
        raise TypeError(f'engine="dask" reads files or a Dask dataframe, but X is a {type(X).__name__}')
    return SparkRows(X) if is_spark(X) else None


class RowError(ValueError):
    """Rows that cannot be used; `first` is the number of the row that the message counts from."""

    def __init__(self, message: str, first: int) -> None:
        super().__init__(message, first)
        self.message, self.first = message, first


@dataclass(frozen=True)
class FirstLook:
    """The work of the first pass."""

    kinds: dict[str, str]  # of the columns of X
    named: dict[str, str]
    noise: Any
    step: int
    drop: bool
    functions: dict[str, tuple[str, str]]  # of columns, by the names that terms have for them

    def __call__(self, table: Any, first: int) -> Survey:
        rows, numbers = table.num_rows, np.arange(first, first + table.num_rows)
        if self.drop:
            kept = complete_rows(table)
            table, numbers = table.filter(kept), numbers[kept]
        weight = self._weight(table, first)
        columns = {
            name: surveyed_column(table.column(name), kind, name, first, weight)
            for name, kind in self.kinds.items()
            if name not in self.functions
        }
        for name, (function, of) in self.functions.items():
            columns[name] = surveyed_numbers(applied(function, numbers_of(table.column(of))), name, first, weight)
        sample = Sample.of(table, numbers, self.step, weight)
        total = float(table.num_rows if weight is None else weight.sum())
        return Survey(rows, columns, sample, total, self._target(table, first), self._counted(table, weight))

    def _counted(self, table: Any, weight: Any) -> dict[Any, int]:
        """How often each label occurs in rows with a weight."""
        if weight is None or not self.noise.labelled:
            return {}
        return _label_counts(table.filter(weight > 0).column(self.named["y"]))

    def _weight(self, table: Any, first: int) -> Any:
        if "sample_weight" not in self.named:
            return None
        values = np.asarray(numbers_of(table.column(self.named["sample_weight"])), float)
        try:
            return checked(values, "sample_weight", zero=True)
        except ValueError as error:
            raise RowError(str(error), first) from None

    def _target(self, table: Any, first: int) -> Any:
        """Sums over y, or how often each label occurs."""
        if not table.num_rows:
            return None
        y = table.column(self.named["y"])
        if self.noise.labelled:
            return _label_counts(y)
        values = {name: np.asarray(numbers_of(table.column(own)), float) for name, own in self.named.items()}
        noise = self.noise
        try:
            weight = checked(values.get("sample_weight"), "sample_weight", zero=True)
            precision = checked(values.get("precision"), "precision")
            target = make_target(noise, cells_of(values), weight, precision, whole=False)
            combined_offset(noise, values.get("offset"), values.get("exposure"))
        except ValueError as error:
            raise RowError(str(error), first) from None
        return sums_of(target)


def _label_counts(y: Any) -> dict[Any, int]:
    return level_counts(y) if kind_of_type(y.type) == "categorical" else _number_counts(numbers_of(y))


def _number_counts(values: Any) -> dict[Any, int]:
    labels, counts = np.unique(values, return_counts=True)
    return dict(zip(labels.tolist(), counts.tolist(), strict=True))


def open_source(
    source: Source,
    y: Any,
    noise: Noise,
    prior: Prior,
    given: dict[str, Any],
    *,
    intercept: bool,
    tol: float,
    max_iter: int,
    missing: str,
    rare: int,
    cache: Any = None,
    terms: Any = None,
    modelled: Any = None,
) -> StreamedTask:
    """The task of a fit, its penalty still that of no prior."""
    if missing not in MODES:
        raise ValueError(f"missing must be one of {quoted(MODES)}, but is {missing!r}")
    check_target({"y": y})
    named = _named(source, {**ends_of(y), **given})
    kinds = {name: kind_of_type(dtype) for name, dtype in source.types.items() if name not in set(named.values())}
    stated = TermsByPredictor.of(terms, modelled, list(kinds))
    functions: dict[str, tuple[str, str]] = {}
    if stated is not None and stated.columns is not None:
        found = {name: function_of(name, kinds) for name in stated.columns}
        functions = {name: own for name, own in found.items() if own is not None}
        check_terms([name for name in stated.columns if name not in functions], list(kinds))
        for name, (_, of) in functions.items():
            if kinds[of] != "numeric":
                raise TypeError(f"{name} needs a column of numbers, but {of!r} is {kinds[of]}")
        kinds = {name: kind for name, kind in kinds.items() if name in stated.columns}
    numbers = set() if stated is None else stated.grouped_numbers(kinds)
    kinds |= dict.fromkeys(functions, "numeric") | dict.fromkeys(numbers, "categorical")
    if not set(kinds.values()) <= KINDS:
        raise unsupported((name, kind) for name, kind in kinds.items() if kind not in KINDS)
    _check_named(source, named, noise)
    # how many rows there are, or count, may be known only afterwards: then a sample is thinned as it grows
    unknown = source.lengths is None or "sample_weight" in named
    step = 1 if unknown else max(1, sum(source.lengths or ()) // SAMPLE_ROWS)
    look = FirstLook(kinds, named, noise, step, missing == "drop", functions)
    needed = [name for name in kinds if name not in functions] + [of for _, of in functions.values()]
    try:
        survey: Survey = source.total(
            look, list(dict.fromkeys([*needed, *named.values()])), count=lambda part: part.rows
        )
    except RowError as error:
        raise ValueError(f"{error.message} (counted from {source.where(error.first)})") from None
    if survey is None or survey.target is None:
        raise ValueError("there are no rows" if survey is None or not survey.rows else "no row has all its values")
    if not survey.sample.rows:
        raise ValueError("sample_weight is zero in every row; at least one row must count")
    for name in sorted(numbers):
        if not is_whole(source.types[name]):
            refuse_rounded((level for level in survey.columns[name].levels if level is not None), name)
    schema, notes = schema_of(
        survey.columns,
        kinds,
        reference=isinstance(prior, Flat),
        intercept=intercept or not noise.takes_intercept,
        missing=missing,
        rare=rare,
        place=source.where,
        weighted="sample_weight" in named,
        functions=functions,
    )
    if stated is not None:
        schema = _with_terms(schema, stated, survey, named, notes)
    check_columns(noise, len(schema.names))
    intercept = intercept and noise.takes_intercept
    classes = None
    if noise.labelled:
        refuse_commas(survey.target, f"y, the column {named['y']!r},")
        classes = noise.classes or sorted_levels(survey.target)
        notes += order_notes(noise, classes)
        noise = noise.with_classes(classes)
        check_counted_classes(list(survey.counted), len(classes))
    encoder = Encoder(schema, named, classes, missing == "drop")
    kept = sum(survey.target.values()) if classes is not None else survey.target.rows
    if kept < survey.rows:
        notes.insert(0, f"{survey.rows - kept:,} of {survey.rows:,} rows were left out: they lack values")
    small = _small(encoder, survey.sample, source.lengths, noise, intercept, notes, tol, max_iter)
    sums = _sums(survey, small, kept)
    _check_sums(noise, sums, small.target)
    if cache is not None:
        source, encoder = cached(source, encoder, cache)
    pieces = Pieces(source, encoder, intercept, small.engine.centre)
    return streamed_task(small, pieces, sums)


def _with_terms(schema: Schema, stated: Any, survey: Survey, named: dict[str, str], notes: list[str]) -> Schema:
    """Terms made for the sample, curves between the ends of all rows."""
    table = survey.sample.table()
    weight = np.asarray(numbers_of(table.column(named["sample_weight"])), float) if "sample_weight" in named else None
    ends = {name: column.ends for name, column in survey.columns.items() if column.known}
    return with_terms(schema, stated, Encoder(schema, {}).base(table), weight, notes, ends)


def streamed_task(small: PieceTask, pieces: Pieces, sums: TargetSums) -> StreamedTask:
    """The same fit of all rows, of which `small` has a sample."""
    target = condensed(small.target, sums)
    engine = Streamed(small, pieces, target, sums.rows)
    return StreamedTask(target, engine, Penalty.none(engine.width), small.tol, small.max_iter, small, sums)


def on_fold(task: StreamedTask, keep: Folds) -> StreamedTask:
    """The same question about some of the rows; the sample too is cut."""
    pieces = replace(task.pieces, keep=keep)
    sums = pieces.without_columns().total(task_sums, task.small.target)
    chosen = np.flatnonzero(keep(task.small.numbers))
    small = replace(task.small.taken(chosen), numbers=task.small.numbers[chosen])
    part = streamed_task(small, pieces, sums)
    return replace(part, penalty=task.penalty)


def task_sums(task: Task) -> TargetSums:
    """Of one piece."""
    return sums_of(task.target)


def _named(source: Source, columns: dict[str, Any]) -> dict[str, str]:
    """Arguments that name columns; others cannot go with rows that are not in memory."""
    named = {}
    for what, value in columns.items():
        if value is None:
            continue
        if not isinstance(value, str):
            raise TypeError(
                f"{what} must be the name of a column where X is not in memory, but is a {type(value).__name__}"
            )
        if value not in source.types:
            raise ValueError(
                f"{what} is {value!r}, but the columns are {quoted(source.types)}{did_you_mean([value], source.types)}"
            )
        named[what] = value
    return named


def _check_named(source: Source, named: dict[str, str], noise: Noise) -> None:
    for what, name in named.items():
        kind = kind_of_type(source.types[name])
        if kind != "numeric" and not (what == "y" and noise.labelled and kind == "categorical"):
            raise TypeError(f"{what} must be a column of numbers, but {name!r} is {source.types[name]}")
    if noise.of_classes and "offset" in named:
        raise ValueError(
            "for classes an offset has one column per class, which rows that are not in memory cannot have"
        )
    if noise.in_memory_only is not None:
        raise ValueError(noise.in_memory_only)


def _small(
    encoder: Encoder,
    sample: Sample,
    lengths: list[int] | None,
    noise: Noise,
    intercept: bool,
    notes: list[str],
    tol: float,
    max_iter: int,
) -> PieceTask:
    """The fit of the sample."""
    rows = encoder(sample.table(), 0)
    values = rows.values
    weight = checked(values.get("sample_weight"), "sample_weight", zero=True)
    precision = checked(values.get("precision"), "precision")
    design = replace(rows.design, notes=tuple(notes))
    if encoder.classes is not None:
        target = make_target(noise, np.asarray(encoder.classes), None, precision)
        if noise.classes is None:
            target.classes = np.asarray(encoder.classes)  # type: ignore[attr-defined]
        target = target.of_rows(values["y"], weight, precision)
    else:
        target = make_target(
            noise, cells_of(values), weight, precision, whole=False
        )  # the sample alone may have no zero
    shift = combined_offset(noise, values.get("offset"), values.get("exposure"))
    centre = None if noise.takes_intercept else centres_of(design)
    engine = Memory(design, target.y, target.weight, shift, target.loss, intercept=intercept, centre=centre)
    numbers = final_numbers(sample.numbers(), lengths)
    return PieceTask(target, engine, Penalty.none(engine.width), tol, max_iter, numbers)


def _sums(survey: Survey, small: Task, rows: int) -> TargetSums:
    found = survey.target
    if isinstance(found, TargetSums):
        return found
    sums = sums_of(small.target)  # of classes nothing is needed but how often they occur
    labels = small.target.classes.tolist()  # type: ignore[attr-defined]
    counts = {label: found.get(label, 0) for label in labels}
    return replace(sums, rows=rows, weight=survey.weight, precise=survey.weight, classes=counts)


def _check_sums(noise: Noise, sums: TargetSums, sample: Target) -> None:
    objection = None
    if noise.in_doubt:
        objection = noise.cannot_tell(sums.rows, sums.zeros) or noise.piled(sample.points)
    if objection is not None:
        raise ValueError(objection)
