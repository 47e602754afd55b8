"""Raw predictions for one row at a time, as a service is asked for them: plain numbers, without tables and arrays."""

import math
from bisect import bisect_right
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from neglog.design.design import Column, Gap
from neglog.design.functions import applied
from neglog.design.parts import Part
from neglog.design.splines import Pieces
from neglog.design.tables import MISSING, are_numbers
from neglog.typing import Numbers

if TYPE_CHECKING:
    from neglog.results.fit import Fit

Row = Mapping[str, Any]
Value = Callable[[Row], float]


class UnusualRowError(Exception):
    """A row that plain numbers do not do for: the reader of tables says what is wrong with it, or does it justice."""


def is_row(X: Any) -> bool:
    """Whether this is one row: a value for each column, by name."""
    return type(X) is dict and not any(map(_is_column, X.values()))


def as_columns(X: Any) -> Any:
    """A row, or lists by name, as a table; anything else as it is."""
    if type(X) is not dict:
        return X
    import pyarrow as pa

    return pa.table({name: value if _is_column(value) else [value] for name, value in X.items()})


def _is_column(value: Any) -> bool:
    return hasattr(value, "__len__") and not isinstance(value, str)


class OneRow:
    """The raw predictions of a fit, each the sum of what its terms make of a row."""

    def __init__(self, fit: "Fit") -> None:
        self._named, self._labelled = fit.named, fit.noise.of_classes
        self._log = fit.noise.link.name == "log"
        intercepts, coefficients = fit.outputs
        self._outputs = [
            (float(level), list(_terms(fit, own))) for level, own in zip(intercepts, coefficients, strict=True)
        ]

    def __call__(self, row: Row, offset: Any, exposure: Any) -> Numbers:
        """As `Fit.raw_prediction` has them, of one row; or UnusualRowError."""
        try:
            sums = [level + math.fsum([term(row) for term in terms]) for level, terms in self._outputs]
            sums[0] += self._beside(row, offset, exposure)
        except (KeyError, TypeError, ValueError, OverflowError):
            raise UnusualRowError from None
        if not all(map(math.isfinite, sums)):
            raise UnusualRowError
        return np.array(sums) if len(sums) == 1 else np.array([sums])

    def _beside(self, row: Row, offset: Any, exposure: Any) -> float:
        offset = self._named.get("offset") if offset is None else offset
        exposure = self._named.get("exposure") if exposure is None else exposure
        if (offset is not None and self._labelled) or (exposure is not None and not self._log):
            raise UnusualRowError
        shift = 0.0 if offset is None else number(row[offset] if type(offset) is str else offset)
        if exposure is None:
            return shift
        return shift + math.log(number(row[exposure] if type(exposure) is str else exposure))


def number(value: Any) -> float:
    """A finite number."""
    if type(value) is not float and not isinstance(value, int | float | np.number | np.bool_):
        raise UnusualRowError
    if not math.isfinite(value):
        raise UnusualRowError
    return float(value)


def _terms(fit: "Fit", coefficients: Numbers) -> Any:
    """A function of rows for each term."""
    columns = {column.name: column for column in fit.schema.table or ()}
    start = 0
    for part in fit.schema.parts:
        own = coefficients[start : start + len(part.coefficients)]
        start += len(part.coefficients)
        if isinstance(part, Gap):
            yield _gap(columns[part.column], float(own[0]))
        elif isinstance(part, Part):
            yield _part(part, columns, own)
        elif part.levels is not None:
            yield _levels(part, own)
        else:
            yield _line(_number(part), float(own[0]))
            if part.fill is not None:
                yield _gap(part, float(own[1]))


def _number(column: Column) -> Value:
    """A column of numbers, or a function of one."""
    source, fill, function = column.source, column.fill, column.function
    if column.dates:
        raise UnusualRowError

    def value(row: Row) -> float:
        x = row[source]
        if fill is not None and (x is None or x != x):
            return fill
        x = number(x)
        return x if function is None else float(applied(function, x))

    return value


def _line(value: Value, slope: float) -> Value:
    return lambda row: slope * value(row)


def _gap(column: Column, effect: float) -> Value:
    def value(row: Row) -> float:
        x = row[column.source]
        return effect if x is None or x != x else 0.0

    return value


def _levels(column: Column, effects: Numbers) -> Value:
    """The effect of a level that is known; the reader of tables says that others are not."""
    assert column.levels is not None
    known = dict(zip(column.levels, [0.0] * column.reference + effects.tolist(), strict=True))
    place = _place(column)
    return lambda row: known[place(row)]


def _place(column: Column) -> Callable[[Row], Any]:
    """The level of a row, of the type that levels have."""
    name, levels = column.name, column.levels or ()
    kinds: tuple[type, ...] = (int, float) if are_numbers(levels) else (str,)

    def level(row: Row) -> Any:
        x = row[name]
        if x is None and column.takes_missing:
            return MISSING
        if not isinstance(x, kinds) or x != x:
            raise UnusualRowError
        return x

    return level


def _part(part: Part, columns: Mapping[str, Column], coefficients: Numbers) -> Value:
    xs = [_number(columns[variable.column]) for variable in part.variables]
    places = [_place(columns[name]) for name, _ in part.factors]
    pieces = [variable.pieces for variable in part.variables]
    values = [Polynomials(pieces, own) for own in part.weights(coefficients)]
    if not places:
        (curve,) = values
        return lambda row: curve(*[x(row) for x in xs])
    factors = [levels for _, levels in part.factors]
    pairs = [(k,) for k in range(part.levels)] if part.pairs is None else part.pairs
    keys = [tuple(levels[k] for levels, k in zip(factors, pair, strict=True)) for pair in pairs]
    known = dict(zip(keys, values, strict=True))
    if not xs:
        effects = {key: curve() for key, curve in known.items()}
        return lambda row: effects.get(tuple([place(row) for place in places]), 0.0)

    def value(row: Row) -> float:
        curve = known.get(tuple([place(row) for place in places]))
        return 0.0 if curve is None else curve(*[x(row) for x in xs])

    return value


class Polynomials:
    """A sum of products of functions of each x: in each piece of the first x a cubic, whose coefficients are such sums
    for the others. A piece is made when the first row lies in it.
    """

    def __init__(self, pieces: list[Pieces], weights: Numbers) -> None:
        self._pieces, self._weights = pieces, weights
        self._breaks = pieces[0].breaks.tolist() if pieces else []
        self._known: dict[int, Any] = {}

    def __call__(self, *xs: float) -> float:
        if not xs:
            return float(self._weights)
        x, *others = xs
        k = bisect_right(self._breaks, x)
        if k not in self._known:
            self._known[k] = self._made(k, bool(others))
        origin, powers = self._known[k]
        a, b, c, d = [own(*others) for own in powers] if others else powers
        x -= origin
        return float(a + x * (b + x * (c + x * d)))

    def _made(self, k: int, inner: bool) -> Any:
        powers = self._pieces[0].powers(k, self._weights)
        own = [Polynomials(self._pieces[1:], one) for one in powers] if inner else powers.tolist()
        return float(self._pieces[0].origins[k]), own
