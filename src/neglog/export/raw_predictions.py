"""Raw predictions as expressions: every term of a design, by the columns of a table."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from neglog.design.design import Column, Gap, Schema
from neglog.design.functions import FUNCTIONS
from neglog.design.parts import Part
from neglog.design.tables import EXACT, MISSING, Level, are_numbers
from neglog.export.dialects import Dialect, identifier, literal
from neglog.export.expressions import Expression, both, cases, column, equals, expression, is_null, polynomial
from neglog.export.writing import Names
from neglog.typing import Numbers

LISTED = 50  # levels that are told apart in a CASE; more are looked up in a table of their own
Factor = tuple[str, tuple[Level, ...]]


class Rows:
    """The rows of a table, of which columns and looked-up effects are taken as they are needed."""

    def __init__(self, schema: Schema, table: str, dialect: Dialect, kept: Sequence[str]) -> None:
        self.schema, self.dialect = schema, dialect
        self.names = Names([*kept, table])
        self.alias = self.names.fresh("rows")
        self.inputs = {name: self._of_rows(name) for name in kept}
        self.source = f"{table} AS {identifier(self.alias)}"
        self.tables: list[str] = []  # of levels with their effects
        self._known: dict[str, Expression] = {}

    def _of_rows(self, name: str) -> str:
        return f"{identifier(self.alias)}.{identifier(name)}"

    def _input(self, name: str, text: str) -> Expression:
        own = self.names.fresh(name)
        self.inputs[own] = text
        return column(own)

    def plain(self, name: str) -> Expression:
        """A column of numbers by its name in the table, whose missing values are none."""
        key = f"number {name}"
        if key not in self._known:
            self._known[key] = self._input(name, self.dialect.number.format(self._of_rows(name)))
        return self._known[key]

    def number(self, name: str) -> Expression:
        """A column of numbers or dates of the schema, or a function of one, with what stands for missing values."""
        if name not in self._known:
            own = self._column(name)
            x = self._raw(own)
            value = x if own.function is None else FUNCTIONS[own.function](x)
            self._known[name] = value if own.fill is None else cases([(is_null(x), own.fill)], value)
        return self._known[name]

    def is_missing(self, name: str) -> Expression:
        """1 where a column has no value, else 0."""
        return cases([(is_null(self._raw(self._column(name))), 1.0)], 0.0)

    def _raw(self, own: Column) -> Expression:
        if not own.dates:
            return self.plain(own.source)
        key = f"date {own.source}"
        if key not in self._known:
            self._known[key] = self._input(own.source, self.dialect.days.format(self._of_rows(own.source)))
        return self._known[key]

    def _column(self, name: str) -> Column:
        return next(own for own in self.schema.table or () if own.name == name)

    def level(self, factor: Factor) -> Expression:
        """A column of levels: as text, as numbers, or as it is where a double would round, or is none."""
        name, levels = factor
        key = f"level {name}"
        if key not in self._known:
            text = own = self._of_rows(name)
            if not are_numbers(levels):
                text = f"CAST({own} AS TEXT)"
                text = f"COALESCE({text}, {literal(MISSING)})" if MISSING in levels else text
            elif all(_fits_double(one) for one in levels if one != MISSING):
                text = self.dialect.number.format(own)
            self._known[key] = self._input(name, text)
        return self._known[key]

    def is_level(self, factor: Factor, level: Level) -> Expression:
        """Whether a row has this level."""
        own = self.level(factor)
        return is_null(own) if _is_null(factor, level) else equals(own, level)

    def looked_up(
        self, factors: Sequence[Factor], places: Sequence[Sequence[int]], effects: Numbers
    ) -> list[Expression]:
        """The effects (levels, outputs) of levels, or of pairs of them, from a table that is joined to the rows."""
        table = self.names.fresh(f"effects of {' and '.join(name for name, _ in factors)}")
        keys = [f"level {k + 1}" for k in range(len(factors))]
        own = [f"effect {k + 1}" for k in range(effects.shape[1])]
        lines = []
        for place, row in zip(places, effects.tolist(), strict=True):
            levels = [factor[1][k] for factor, k in zip(factors, place, strict=True)]
            texts = ["NULL" if _is_null(f, one) else literal(one) for f, one in zip(factors, levels, strict=True)]
            lines.append(f"({', '.join([*texts, *map(literal, row)])})")
        values = ",\n    ".join(lines)
        self.tables.append(
            f"{identifier(table)}({', '.join(map(identifier, [*keys, *own]))}) AS (\n  VALUES\n    {values}\n)"
        )
        on = []
        for key, factor in zip(keys, factors, strict=True):
            subject = self.inputs[self.level(factor).parts[0]]
            same = self.dialect.same if any(_is_null(factor, one) for one in factor[1]) else "="
            on.append(f"{subject} {same} {identifier(table)}.{identifier(key)}")
        self.source += f"\n  LEFT JOIN {identifier(table)} ON {' AND '.join(on)}"
        found = [
            self._input(f"{table} {k + 1}", f"{identifier(table)}.{identifier(name)}") for k, name in enumerate(own)
        ]
        return [cases([*self._unknown(factors), (is_null(one), 0.0)], one) for one in found]

    def by_level(self, factors: Sequence[Factor], places: Sequence[Sequence[int]], values: Sequence[Any]) -> Expression:
        """A value for each level, or for each pair of levels, 0 for others, and none where a level is missing that
        should not be.
        """
        pairs = []
        for place, value in zip(places, values, strict=True):
            first, *others = [self.is_level(f, f[1][k]) for f, k in zip(factors, place, strict=True)]
            pairs.append((both(first, others[0]) if others else first, value))
        return cases([*self._unknown(factors), *pairs], 0.0)

    def _unknown(self, factors: Sequence[Factor]) -> list[tuple[Expression, None]]:
        return [(is_null(self.level(factor)), None) for factor in factors if MISSING not in factor[1]]


def _is_null(factor: Factor, level: Level) -> bool:
    """Whether a level is that of missing numbers, which have no name; those of texts have."""
    return level == MISSING and are_numbers(factor[1])


def _fits_double(level: Level) -> bool:
    """Whether a level of numbers is one that doubles can tell from others."""
    return not isinstance(level, bool | str) and abs(level) <= EXACT


# ---- terms -----------------------------------------------------------------------------------------------------------


def raw_terms(rows: Rows, coefficients: Numbers) -> list[list[Expression]]:
    """What each term adds to each raw prediction; `coefficients` are (outputs, coefficients)."""
    out: list[list[Expression]] = [[] for _ in coefficients]
    start = 0
    for part in rows.schema.parts:
        own = coefficients[:, start : start + len(part.coefficients)]
        start += len(part.coefficients)
        used = np.flatnonzero(own.any(axis=1))
        for k, term in zip(used, _term(rows, part, own[used]) if len(used) else (), strict=True):
            out[k].append(term)
    return out


def _term(rows: Rows, part: Column | Gap | Part, coefficients: Numbers) -> list[Expression]:
    if isinstance(part, Gap):
        return [expression(own) * rows.is_missing(part.column) for own in coefficients[:, 0]]
    if isinstance(part, Part):
        return list(_part(rows, part, coefficients))
    if part.levels is not None:
        kept = range(int(part.reference), len(part.levels))
        return _levels(rows, [(part.name, part.levels)], [(k,) for k in kept], coefficients)
    terms = [expression(own) * rows.number(part.name) for own in coefficients[:, 0]]
    if part.fill is None:
        return terms
    gaps = (expression(own) * rows.is_missing(part.name) for own in coefficients[:, 1])
    return [term + gap for term, gap in zip(terms, gaps, strict=True)]


def _levels(
    rows: Rows, factors: Sequence[Factor], places: Sequence[Sequence[int]], effects: Numbers
) -> list[Expression]:
    if len(places) > LISTED:
        return rows.looked_up(factors, places, effects.T)
    return [rows.by_level(factors, places, own.tolist()) for own in effects]


def _part(rows: Rows, part: Part, coefficients: Numbers) -> Iterator[Expression]:
    places = part.pairs if part.pairs is not None else [(k,) for k in range(part.levels)]
    if not part.variables:
        yield from _levels(rows, part.factors, places, coefficients)
        return
    pieces = [variable.pieces for variable in part.variables]
    xs = [rows.number(variable.column) for variable in part.variables]
    for own in coefficients:
        values = [_piecewise(pieces, xs, weights) for weights in part.weights(own)]
        yield rows.by_level(part.factors, places, values) if part.factors else values[0]


def _piecewise(pieces: Sequence[Any], xs: Sequence[Expression], weights: Numbers) -> Any:
    """The sum of products of functions of each x, piece by piece a polynomial in the first x, whose coefficients are
    such sums for the others.
    """
    if not pieces:
        return float(weights)
    own, x = pieces[0], xs[0]
    values = []
    for k, origin in enumerate(own.origins):
        falling = own.powers(k, weights)[::-1]
        values.append(polynomial([_piecewise(pieces[1:], xs[1:], one) for one in falling], x - origin))
    *inner, last = values
    return cases([(x < end, value) for end, value in zip(own.breaks, inner, strict=True)], last)
