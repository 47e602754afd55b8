"""Average marginal effects: how the mean of y changes with a column, averaged over rows, and how sure that is.

Of numbers it is the mean derivative of the prediction, through every term that the column is part of; of a level the
mean difference that it makes to the first level, in all rows. With m(theta) such an average, its variance is g' V g, g
its gradient in the coefficients and the open parameters of the noise, V their covariance (the delta method).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from neglog.belief.sandwich import bare
from neglog.design.columns import column
from neglog.design.functions import SLOPES
from neglog.design.tables import as_table, numbers_or_nan, quoted
from neglog.engines.memory import Memory
from neglog.likelihood.joint import Joint
from neglog.likelihood.task import Answer, Task
from neglog.margins.columns import Given, along, at_level, factors_of, numbers_of, only_grouped
from neglog.margins.delta import Delta
from neglog.margins.points import Points, points
from neglog.printing import as_text, did_you_mean
from neglog.testing.covariance import Spread
from neglog.typing import Numbers

Fit = Any  # of rows, as `nl.fit` gives it: results stand below this room


@dataclass(frozen=True)
class AverageEffects:
    """One line for each number and for each level but the first, of each class if y is one: `names`, `estimate` with
    `standard_errors`, `lower` and `upper`, and the `covariance` of all. By name a pair of ends. Prints itself.

    statistic   estimates over their errors, with their law in `law`, and p, the probability of one as far from 0
    text        what was averaged, and whose errors these are
    """

    names: tuple[str, ...]
    estimate: Numbers
    covariance: Numbers
    level: float
    spread: Spread
    text: str
    tests: bool = False

    @property
    def standard_errors(self) -> Numbers:
        """By the delta method."""
        return np.sqrt(self.covariance.diagonal())

    @property
    def lower(self) -> Numbers:
        """The lower ends of the intervals."""
        return np.asarray(self.estimate - self.spread.reach(self.level) * self.standard_errors)

    @property
    def upper(self) -> Numbers:
        """The upper ends."""
        return np.asarray(self.estimate + self.spread.reach(self.level) * self.standard_errors)

    @property
    def statistic(self) -> Numbers:
        """Estimates over their errors."""
        with np.errstate(all="ignore"):
            return np.asarray(self.estimate / self.standard_errors)

    @property
    def law(self) -> str:
        """The law of these where there is no effect."""
        return self.spread.law

    @property
    def p(self) -> Numbers:
        """The probability of an estimate so many errors from 0, or more, where there is no effect."""
        return np.asarray(self.spread.p_value(self.statistic))

    @property
    def table(self) -> dict[str, Any]:
        """The columns of what is printed, by name."""
        own = {
            "name": list(self.names),
            "estimate": self.estimate,
            "standard error": self.standard_errors,
            "lower": self.lower,
            "upper": self.upper,
        }
        return own | ({self.law: self.statistic, "p": self.p} if self.tests else {})

    def __len__(self) -> int:
        return len(self.names)

    def __getitem__(self, name: str) -> tuple[float, float]:
        """The interval of one effect."""
        if name not in self.names:
            raise KeyError(f"there is no effect {name!r}{did_you_mean([name], self.names)}")
        k = self.names.index(name)
        return float(self.lower[k]), float(self.upper[k])

    def __rich_console__(self, console: Any, options: Any) -> Any:
        from rich.table import Table
        from rich.text import Text

        table = Table(title="Average marginal effects", caption=Text(self.text), caption_justify="left")
        table.add_column("")
        for name in ("estimate", "std. error", f"{100 * self.level:g}% from", "to", *list(self.table)[5:]):
            table.add_column(name, justify="right")
        for name, *values in zip(*self.table.values(), strict=True):
            table.add_row(Text(name), *("–" if np.isnan(value) else f"{value:.5g}" for value in values))
        yield table

    def __repr__(self) -> str:
        return as_text(self)


@dataclass(frozen=True)
class Asked:
    """A column of numbers, or a factor with its levels."""

    name: str
    levels: tuple[Any, ...] | None

    @property
    def lines(self) -> int:
        """How many averages it takes: a derivative, or a prediction for each level."""
        return 1 if self.levels is None else len(self.levels)


def average_effects(
    fit: Fit,
    X: Any,
    columns: str | Sequence[str] | None,
    level: float,
    spread: Spread,
    beside: Mapping[str, Any],
    tests: bool,
) -> AverageEffects:
    """`Fit.effects`."""
    asked = _asked(fit, columns)
    answer = bare(fit._answer)
    if X is None:
        sums = fit._task.total(effect_sums, answer, tuple(asked), _signs_of_fit(fit, asked))
        rows, weighted = fit.n_rows, fit._task.target.w is not None
    else:
        task, given, weighted = _rows_given(fit, X, asked, beside)
        sums, rows = effect_sums(task, answer, tuple(asked), given), task.engine.rows
    names, matrix = _lines(fit, asked)
    with np.errstate(all="ignore"):
        averages = sums[..., 1:] / sums[..., :1]
    averages = np.tensordot(matrix, averages.reshape(len(matrix[0]), -1), axes=1).reshape(len(names), -1)
    covariance = Delta(fit, spread).covariance(averages[:, 1:])
    text = f"Means over {rows:,} rows{', by their weights' if weighted else ''}. Standard errors {spread.text}."
    return AverageEffects(tuple(names), averages[:, 0], covariance, level, spread, text, tests)


# ---- sums over rows --------------------------------------------------------------------------------------------------


def effect_sums(task: Task, answer: Answer, asked: tuple[Asked, ...], given: Given) -> Numbers:
    """For each line and class the sum of the weights, that of what is averaged, and its gradient: (lines, q, ...)."""
    engine = task.engine
    joint = Joint(task, replace(answer, engine=engine))
    w = np.ones(engine.rows) if task.target.w is None else np.asarray(task.target.w, float)
    theta = answer.theta[: engine.coefficients]
    here = None
    lines: list[Numbers] = []
    with np.errstate(all="ignore"):
        for one in asked:
            if one.levels is None:
                here = points(joint, engine.predict(theta)) if here is None else here
                lines.append(_slope(engine, theta, here, w, one.name, given))
                continue
            for code in range(len(one.levels)):
                moved = at_level(engine, one.name, code)
                lines.append(_mean(moved, points(joint, moved.predict(theta), bends=False), w))
    return np.stack(lines)


def _slope(engine: Memory, theta: Numbers, here: Points, w: Numbers, name: str, given: Given) -> Numbers:
    """Of the derivative in a column."""
    path = along(engine, name, given)
    w = w if path.lost is None else np.where(path.lost, 0.0, w)
    outputs, columns = engine.loss.outputs, engine.columns
    ways = path.of(theta.reshape(outputs, columns), engine.rows)
    n, m = outputs * columns, here.first.shape[-1] - outputs
    out = np.zeros((here.value.shape[1], 2 + n + m))
    out[:, 0] = w.sum()
    for own, first, second in zip(out, here.first.swapaxes(0, 1), here.second.swapaxes(0, 1), strict=True):
        own[1] = w @ np.sum(first[:, :outputs] * ways, axis=1)
        turning = np.einsum("ia,iab->ib", ways, second)  # of the slopes along the way
        for a in range(outputs):
            block = own[2 + a * columns : 2 + (a + 1) * columns]
            block += engine.transposed(np.ascontiguousarray(w * turning[:, a])) + path.back(w * first[:, a])
        own[2 + n :] = w @ turning[:, outputs:]
    return out


def _mean(engine: Memory, here: Points, w: Numbers) -> Numbers:
    """Of the prediction itself."""
    outputs, columns = engine.loss.outputs, engine.columns
    n, m = outputs * columns, here.first.shape[-1] - outputs
    out = np.zeros((here.value.shape[1], 2 + n + m))
    out[:, 0] = w.sum()
    for own, value, first in zip(out, here.value.T, here.first.swapaxes(0, 1), strict=True):
        own[1] = w @ value
        for a in range(outputs):
            own[2 + a * columns : 2 + (a + 1) * columns] = engine.transposed(np.ascontiguousarray(w * first[:, a]))
        own[2 + n :] = w @ first[:, outputs:]
    return out


# ---- what is asked ---------------------------------------------------------------------------------------------------


def _asked(fit: Fit, columns: str | Sequence[str] | None) -> list[Asked]:
    """All columns but groups, or those that are named."""
    schema = fit.schema
    if schema.by_name and schema.table is None:
        raise ValueError(
            "effects are of columns, but this fit is of a formula with functions that neglog does not know, which "
            "makes columns of its own; make these yourself and fit them"
        )
    numbers, factors = numbers_of(schema), factors_of(schema)
    known = [*numbers, *factors]
    wanted = [columns] if isinstance(columns, str) else columns
    if wanted is None:
        wanted = [name for name in known if name not in factors or not only_grouped(schema, name)]
        order = [one.source for one in schema.table or ()]
        wanted = sorted(wanted, key=order.index) if order else wanted
    lost = [name for name in wanted if name not in known]
    if lost:
        raise ValueError(
            f"the fit has no column {quoted(lost)}; it has {quoted(known) or 'none'}{did_you_mean(lost, known)}"
        )
    alone = [name for name in wanted if name in factors and len(factors[name]) < 2]
    wanted = [name for name in wanted if name not in alone]
    if not wanted:
        raise ValueError(
            "effects are of columns, but the fit has none "
            + (f"of which more than one level is known: {quoted(alone)}" if alone else "beside groups; name those")
        )
    return [Asked(name, factors.get(name)) for name in wanted]


def _lines(fit: Fit, asked: list[Asked]) -> tuple[list[str], Numbers]:
    """Names of the effects, and what makes them of the averages: derivatives as they are, levels less the first."""
    labels = [f"{label}: " for label in fit.classes] if fit.noise.labelled else [""]
    names: list[str] = []
    rows: list[Numbers] = []
    total = sum(one.lines for one in asked)
    start = 0
    for one in asked:
        for k in range(one.lines):
            if one.levels is not None and not k:
                continue
            row = np.zeros(total)
            row[start + k] = 1.0
            if one.levels is not None:
                row[start] = -1.0
            title = one.name if one.levels is None else f"{one.name}[{one.levels[k]}] - [{one.levels[0]}]"
            for place, label in enumerate(labels):
                names.append(f"{label}{title}")
                rows.append(np.kron(row, np.eye(len(labels))[place]))
        start += one.lines
    return names, np.stack(rows)


def _rows_given(fit: Fit, X: Any, asked: list[Asked], beside: Mapping[str, Any]) -> tuple[Task, Given, bool]:
    """Rows as a task that knows what the fit found; what functions of columns do not tell; and whether they count by
    weights.
    """
    engine = fit.prediction_engine(X, beside["offset"], beside["exposure"], fit._task.engine)
    weight = beside["sample_weight"]
    table = None if isinstance(X, np.ndarray) or not fit.schema.by_name else as_table(X)
    if weight is None and table is not None and fit.named.get("sample_weight") in table.names:
        weight = fit.named["sample_weight"]
    w = None if weight is None else np.asarray(column(X, weight, "sample_weight"), float)
    if w is not None and not (np.isfinite(w).all() and (w >= 0).all() and w.any()):
        raise ValueError("sample_weight must be ≥ 0 and finite, and not 0 in every row")
    target = fit._task.target.taken(slice(0, 0))  # nobody asks for y
    target.w = w
    task = Task(target, engine, fit._task.penalty, fit._task.tol, fit._task.max_iter)
    return task, {} if table is None else _signs(fit, table, asked), w is not None


def _signs_of_fit(fit: Fit, asked: list[Asked]) -> Given:
    """The same of the rows of the fit, where they are in memory as they were given."""
    table = None if fit.table is None or not fit.schema.by_name else as_table(fit.table)
    if table is None or table.rows != fit.n_rows:
        return {}
    found, task = _signs(fit, table, asked), fit._task
    if task.whole is None:
        return found
    counted = np.flatnonzero(np.asarray(task.whole.target.w))
    return {name: values[counted] for name, values in found.items()}


def _signs(fit: Fit, table: Any, asked: list[Asked]) -> Given:
    """The numbers of columns of which there are functions that do not tell them."""
    columns = fit.schema.table or ()
    numbers = [one.name for one in asked if one.levels is None and one.name in table.names]
    blurred = [name for name in numbers if any(own.source == name and own.function in SLOPES for own in columns)]
    return {name: numbers_or_nan(table.series(name)) for name in blurred}
