"""Relativities: a prediction as a base and what each level, each unit more or each place on a curve makes of it."""

import csv
import io
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from neglog.atomic import written_whole
from neglog.design.design import Column, Gap
from neglog.design.parts import Curve, Part
from neglog.printing import as_text, did_you_mean
from neglog.results.contrasts import Shown, shown
from neglog.results.effects import effect_of
from neglog.typing import Numbers

if TYPE_CHECKING:
    from neglog.results.fit import Fit

POINTS = 25  # of a curve, at most
SQUARE = 8  # points of a surface, at most, each way
PLACES = 8  # of a curve that are said in words
LISTED = 60  # levels that are said in words; of more, the lowest and the highest
COLUMNS = ("level", "and", "estimate", "lower", "upper", "factor", "factor lower", "factor upper")
AVERAGE = "the average over the rows"


@dataclass(frozen=True)
class Relativity:
    """What one term makes of a prediction.

    against   what it is the difference from: the average over the rows, a reference level, the number less one
    columns   of the data that it is of
    numbers   those of them that a curve goes through
    table     by column. "level" has the levels, or the numbers at which a curve was looked at, or "+1"; a term of two
              columns has those of the second under "and". "estimate", "lower" and "upper" are on the scale of the raw
              prediction; where that is a logarithm, "factor", "factor lower" and "factor upper" are what they multiply
    """

    name: str
    kind: str
    against: str
    columns: tuple[str, ...]
    numbers: tuple[str, ...]
    table: dict[str, Any]

    @property
    def lines(self) -> list[str]:
        """It in words: ×1.31 per age, 1.26 to 1.36."""
        return list(_words(self))


class Relativities(Mapping[str, Relativity]):
    """The terms by name, beside the intercept; prints itself, and writes itself as CSV.

    `table` has all of them in one, by column.
    """

    def __init__(self, each: list[Relativity], level: float) -> None:
        self._each, self.level = {one.name: one for one in each}, level

    def __getitem__(self, name: str) -> Relativity:
        if name not in self._each:
            raise KeyError(
                f"there is no term {name!r}; there are {', '.join(self._each)}{did_you_mean([name], self._each)}"
            )
        return self._each[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._each)

    def __len__(self) -> int:
        return len(self._each)

    @property
    def table(self) -> dict[str, list[Any]]:
        """All terms in one table; "and" is None where a term is of one column."""
        columns = [name for name in COLUMNS if any(name in one.table for one in self.values())]
        out: dict[str, list[Any]] = {name: [] for name in ("term", "kind", "against", *columns)}
        for one in self.values():
            rows = len(one.table["level"])
            for name, value in (("term", one.name), ("kind", one.kind), ("against", one.against)):
                out[name] += [value] * rows
            for name in columns:
                out[name] += list(one.table.get(name, [None] * rows))
        return out

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write the table to a file, which appears only when it is complete."""
        table, text = self.table, io.StringIO(newline="")
        writer = csv.writer(text)
        writer.writerow(table)
        writer.writerows(zip(*table.values(), strict=True))
        with written_whole(path) as file:
            file.write(text.getvalue().encode())

    def __rich_console__(self, console: Any, options: Any) -> Any:
        from rich.table import Table
        from rich.text import Text

        for one in self.values():
            table = Table(title=Text(one.name), caption=Text(f"against {one.against}"), caption_justify="left")
            for column in one.table:
                table.add_column(column, justify="left" if column in ("level", "and") else "right")
            for row in zip(*one.table.values(), strict=True):
                table.add_row(*(Text(one if isinstance(one, str) else f"{one:.4g}") for one in row))
            yield table

    def __str__(self) -> str:
        return as_text(self)

    def __repr__(self) -> str:
        return str(self)


def relativities_of(fit: "Fit", level: float, of: str) -> Relativities:
    """`Fit.relativities`."""
    if not 0 < level < 1:
        raise ValueError(f"level must be between 0 and 1, but is {level}")
    if fit.noise.of_classes:
        raise ValueError("a target of classes has as many effects of a term as classes; ask the coefficients")
    if fit.noise.batch_shape:
        raise ValueError("several quantiles have as many effects of a term; ask one, as in fit[0.5].relativities()")
    outputs = ["location", *fit.noise.modelled]
    if of not in outputs:
        raise ValueError(f"of must be one of {', '.join(outputs)}, but is {of!r}")
    makers = _Maker(fit, level, of, outputs.index(of), shown(fit))
    return Relativities(list(makers.all()), level)


@dataclass(frozen=True)
class _Maker:
    fit: "Fit"
    level: float
    of: str
    output: int
    values: Shown

    def all(self) -> Iterator[Relativity]:
        fit, start, kept = self.fit, 0, self.fit.schema.kept(self.of)
        if fit.has_intercept:
            base, error = self.values.intercepts[self.output], self.values.intercept_errors[self.output]
            yield self.relativity("intercept", "intercept", "0", [], [[""]], np.array([base]), np.array([error]))
        if fit.schema.table is None:
            for place, name in enumerate(fit.schema.names):
                yield self.linear(name, name, ["+1"], np.array([place]))
        for part in fit.schema.parts:
            places = np.arange(start, start + len(part.coefficients))
            start += len(places)
            if kept[places].all():
                yield self.term(part, places)

    def term(self, part: Column | Gap | Part, places: Numbers) -> Relativity:
        if isinstance(part, Part) and part.variables:
            return self.curve(part)
        if isinstance(part, Part):
            pairs = [(k,) for k in range(part.levels)] if part.pairs is None else part.pairs
            at = [[levels[pair[k]] for pair in pairs] for k, (_, levels) in enumerate(part.factors)]
            return self.levels(part.name, part.kind, part.inputs, at, "the middle of the prior", places)
        if isinstance(part, Gap):
            return self.linear(part.coefficients[0], part.column, ["missing"], places)
        if part.levels is None:
            return self.linear(part.name, part.name, ["+1", "missing"][: len(places)], places)
        against = f"the level {part.levels[0]}" if part.reference else "0, for there is no intercept"
        return self.levels(part.name, "factor", [part.name], [list(part.levels)], against, places)

    def linear(self, name: str, column: str, levels: list[str], places: Numbers) -> Relativity:
        return self.relativity(name, "linear", f"{column} one less", [column], [levels], *self.coefficients(places))

    def levels(
        self, name: str, kind: str, columns: Sequence[str], at: list[Any], otherwise: str, places: Numbers
    ) -> Relativity:
        """Levels less their mean, or else as they are, a reference level among them."""
        contrasts = self.fit._contrasts
        average = contrasts is not None and bool((contrasts.factors[places] >= 0).all())
        own = self.coefficients(places)
        if len(places) < len(at[0]):
            own = np.append(0.0, own[0]), np.append(0.0, own[1])
        return self.relativity(name, kind, AVERAGE if average else otherwise, columns, at, *own)

    def curve(self, part: Part) -> Relativity:
        """A curve, one for each level, or a surface, at round numbers."""
        axes: list[list[Any]] = [list(levels) for _, levels in part.factors]
        most = POINTS if len(part.inputs) == 1 else SQUARE
        axes += [round_numbers(*_ends(variable), most) for variable in part.variables]
        if len(axes) == 2:
            axes = [[one for one in axes[0] for _ in axes[1]], axes[1] * len(axes[0])]
        at = axes[0] if len(axes) == 1 else (axes[0], axes[1])
        found = effect_of(self.fit, part.name, at, self.level, False, self.of)
        against = AVERAGE if part.kind == "smooth" else "its columns without their interaction"
        error = (found.upper - found.estimate) / self.reach
        numbers = tuple(variable.column for variable in part.variables)
        return self.relativity(part.name, part.kind, against, part.inputs, axes, found.estimate, error, numbers)

    def coefficients(self, places: Numbers) -> tuple[Numbers, Numbers]:
        return self.values.coefficients[self.output][places], self.values.errors[self.output][places]

    @property
    def reach(self) -> float:
        return self.fit.reach(self.level)

    @property
    def multiplies(self) -> bool:
        """Whether what is added to the raw prediction is a factor of what is predicted."""
        noise = self.fit.noise
        return (noise.link if self.of == "location" else noise.parameter(self.of).predicted).name == "log"

    def relativity(
        self,
        name: str,
        kind: str,
        against: str,
        columns: Sequence[str],
        at: list[Any],
        estimate: Numbers,
        error: Numbers,
        numbers: tuple[str, ...] = (),
    ) -> Relativity:
        ends = estimate - self.reach * error, estimate + self.reach * error
        own = dict(zip(("estimate", "lower", "upper"), (estimate, *ends), strict=True))
        if self.multiplies:
            with np.errstate(over="ignore"):
                factors = [np.exp(one) for one in own.values()]
            own |= dict(zip(("factor", "factor lower", "factor upper"), factors, strict=True))
        levels = dict(zip(("level", "and"), at, strict=False))
        return Relativity(name, kind, against, tuple(columns), numbers, levels | own)


def _ends(variable: Any) -> tuple[float, float]:
    if isinstance(variable, Curve):
        return variable.spline.knots[0], variable.spline.knots[-1]
    return variable.middle - 2 * variable.unit, variable.middle + 2 * variable.unit


def round_numbers(low: float, high: float, most: int) -> list[float]:
    """Multiples of 1, 2 or 5 times a power of ten between two ends: as many as there may be, and two at least."""
    power = int(np.floor(np.log10((high - low) / most)))
    for digit, tens in ((1, power), (2, power), (5, power), (1, power + 1)):
        step = digit * 10.0**tens
        first, last = np.ceil(low / step), np.floor(high / step)
        if last - first < most:
            break
    return [float(np.round(k * step, max(0, -tens))) for k in np.arange(first, last + 1)]


# ---- in words --------------------------------------------------------------------------------------------------------


def _words(one: Relativity) -> Iterator[str]:
    table = one.table
    factors = "factor" in table
    columns = ("factor", "factor lower", "factor upper") if factors else ("estimate", "lower", "upper")
    rows: Any = range(len(table["level"]))
    if one.kind == "smooth":
        rows = rows[:: -(-len(rows) // PLACES)]
    elif len(rows) > LISTED:
        order = np.argsort(table["estimate"])
        rows = [*order[: LISTED // 2], *order[-LISTED // 2 :]]
        yield f"of {len(order):,} levels the lowest and the highest {LISTED // 2}:"
    for row in rows:
        value, low, high = (_digits(float(table[name][row])) for name in columns)
        sign = "×" if factors else "" if value.startswith("-") else "+"
        yield f"{sign}{value} {_place(one, row)}, {low} to {high}"


def _place(one: Relativity, row: int) -> str:
    if one.kind == "intercept":
        return "in all"
    levels = [one.table[key][row] for key in ("level", "and")[: len(one.columns)]]
    if one.kind == "linear":
        name = one.columns[0].replace("_", " ")
        return f"per {name}" if levels == ["+1"] else f"where {name} is missing"
    pairs = zip(one.columns, levels, strict=True)
    return " ".join(f"at {name} {x:g}" if name in one.numbers else f"for {name}[{x}]" for name, x in pairs)


def _digits(value: float) -> str:
    """Three of them."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:#.3g}".rstrip(".")
