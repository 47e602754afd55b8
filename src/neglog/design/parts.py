"""Terms that have met a table: the columns of a design that each of them makes, new tables alike."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from neglog.design.blocks import Basis, Block, Codes, Dense, Variable
from neglog.design.faults import Fault, missing_rows, refusal
from neglog.design.splines import Pieces, Spline, number_pieces, spline_of
from neglog.design.tables import Level, quoted
from neglog.design.terms import GROUP_FROM, SMOOTH_FROM, Group, Interaction, Smooth, Term, Terms
from neglog.printing import did_you_mean
from neglog.typing import Numbers

Base = Mapping[str, Sequence[Block]]  # the blocks of each column of the table
Ends = Mapping[str, tuple[float, float]]  # the least and the largest number of columns


@dataclass(frozen=True)
class Pull:
    """A Gaussian prior on some coefficients of a term: their number counts 1 in `on`. `scale` is None if it is learned,
    and `label` tells several of a term apart.
    """

    label: str
    on: Numbers
    scale: float | None


@dataclass(frozen=True)
class Number:
    """A column of numbers in an interaction: less its mean, in units of its standard deviation."""

    column: str
    middle: float
    unit: float

    @property
    def pieces(self) -> Pieces:
        """The number itself as one function."""
        return number_pieces(self.middle, self.unit)

    @property
    def turn(self) -> Numbers:
        """One column."""
        return np.ones((1, 1))

    @property
    def names(self) -> tuple[str, ...]:
        """Of its columns."""
        return (self.column,)

    @property
    def wiggly(self) -> Numbers:
        """Which of its columns are wiggles: none."""
        return np.zeros(1, bool)

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {"column": self.column, "middle": self.middle, "unit": self.unit}


@dataclass(frozen=True)
class Curve:
    """A column of numbers as a line and wiggles."""

    column: str
    spline: Spline

    @property
    def pieces(self) -> Pieces:
        """Its B-splines."""
        return self.spline.pieces

    @property
    def turn(self) -> Numbers:
        """B-splines to line and wiggles."""
        return self.spline.turn

    @property
    def names(self) -> tuple[str, ...]:
        """Of its columns."""
        return (self.column, *(f"s({self.column})[{k}]" for k in range(1, self.turn.shape[1])))

    @property
    def wiggly(self) -> Numbers:
        """All but the line."""
        return np.arange(self.turn.shape[1]) > 0

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {"column": self.column, **self.spline.to_json()}


@dataclass(frozen=True)
class Part:
    """Products of up to two variables, for each level of a factor, or for each pair of levels of two.

    `pairs` numbers the pairs of levels that occur; it is None for one factor or none.
    """

    name: str
    kind: str
    variables: tuple[Number | Curve, ...]
    factors: tuple[tuple[str, tuple[Level, ...]], ...]
    pairs: tuple[tuple[int, int], ...] | None
    scale: float | None

    @property
    def inputs(self) -> tuple[str, ...]:
        """The columns of the table that it takes."""
        return (*(name for name, _ in self.factors), *(variable.column for variable in self.variables))

    @property
    def levels(self) -> int:
        """How many levels, or pairs of them, have coefficients of their own."""
        if self.pairs is not None:
            return len(self.pairs)
        return len(self.factors[0][1]) if self.factors else 1

    @cached_property
    def level_names(self) -> tuple[str, ...]:
        """As in region[north], or fuel[gas]:region[north]."""
        if not self.factors:
            return ()
        if self.pairs is None:
            name, levels = self.factors[0]
            return tuple(f"{name}[{level}]" for level in levels)
        (one, first), (other, second) = self.factors
        return tuple(f"{one}[{first[i]}]:{other}[{second[j]}]" for i, j in self.pairs)

    @cached_property
    def coefficients(self) -> list[str]:
        """The names of its coefficients, by level and by the columns of its variables."""
        names = [""]
        for variable in self.variables:
            names = [f"{before}:{own}" if before else own for before in names for own in variable.names]
        if not self.factors:
            return names
        return [f"{level}:{own}" if own else level for level in self.level_names for own in names]

    @cached_property
    def turn(self) -> Numbers:
        """Functions to columns, of one level."""
        turn: Numbers = np.ones((1, 1))
        for variable in self.variables:
            turn = np.kron(turn, variable.turn)
        return np.ascontiguousarray(turn)

    def weights(self, coefficients: Numbers) -> Numbers:
        """Of the functions of its variables, an axis for each, at every level."""
        sizes = [variable.pieces.functions for variable in self.variables]
        return (coefficients.reshape(self.levels, -1) @ self.turn.T).reshape(self.levels, *sizes)

    @cached_property
    def pulls(self) -> tuple[Pull, ...]:
        """The priors of its coefficients. Straight lines have none, but for lines that differ by level."""
        wiggly = [variable.wiggly for variable in self.variables]
        if not self.factors:
            if len(wiggly) == 1:
                return (Pull("", wiggly[0].astype(float), self.scale),)
            one, other = wiggly
            ways = (np.repeat(one, len(other)), np.tile(other, len(one)))
            return tuple(
                Pull(f"along {variable.column}", way.astype(float), self.scale)
                for variable, way in zip(self.variables, ways, strict=True)
                if way.any()
            )
        if not wiggly or not wiggly[0].any():
            return (Pull("", np.ones(len(self.coefficients)), self.scale),)
        wiggles = np.tile(wiggly[0], self.levels)
        return Pull("lines", (~wiggles).astype(float), self.scale), Pull("wiggles", wiggles.astype(float), self.scale)

    def block(self, base: Base) -> Block:
        """Its columns for these rows."""
        codes = self.codes_of(base)
        if not self.variables:
            assert codes is not None
            return Codes(codes, self.level_names)
        variables = tuple(_variable(base, variable.column, variable.pieces) for variable in self.variables)
        return Basis(variables, codes, self.levels, self.turn)

    def codes_of(self, base: Base) -> Any:
        """The number of each row's level, or pair of levels; None for terms without factors."""
        found = [_levels(base, name) for name, _ in self.factors]
        if not found:
            return None
        if self.pairs is None:
            return found[0].codes
        one, other = found
        place = np.full((len(one.levels) + 1, len(other.levels) + 1), -1, np.int32)  # the last are of unknown levels
        for number, (i, j) in enumerate(self.pairs):
            place[i, j] = number
        return place[one.codes, other.codes]

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "name": self.name,
            "kind": self.kind,
            "variables": [variable.to_json() for variable in self.variables],
            "factors": [[name, list(levels)] for name, levels in self.factors],
            "pairs": None if self.pairs is None else [list(pair) for pair in self.pairs],
            "scale": self.scale,
        }

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> "Part":
        """What `to_json` described."""
        variables = tuple(
            Curve(one["column"], Spline.from_json(one))
            if "knots" in one
            else Number(one["column"], one["middle"], one["unit"])
            for one in stored["variables"]
        )
        factors = tuple((name, tuple(levels)) for name, levels in stored["factors"])
        pairs = None if stored["pairs"] is None else tuple((i, j) for i, j in stored["pairs"])
        return cls(stored["name"], stored["kind"], variables, factors, pairs, stored["scale"])


def _variable(base: Base, name: str, pieces: Pieces) -> Variable:
    block = base[name][0]
    assert isinstance(block, Dense)
    return Variable.of(block.values[:, 0], pieces)


def _levels(base: Base, name: str) -> Codes:
    block = base[name][0]
    assert isinstance(block, Codes)
    return block


# ---- from terms and rows ---------------------------------------------------------------------------------------------


def chosen_terms(base: Base) -> Terms:
    """What suits the columns: curves of numbers with many values, groups of factors with many levels."""
    return Terms(tuple(_suited(name, blocks[0]) for name, blocks in base.items()))


def _suited(name: str, block: Block) -> Term:
    if isinstance(block, Codes):
        return Group(name) if len(block.levels) >= GROUP_FROM else name
    assert isinstance(block, Dense)
    some = block.values[:: max(1, block.rows // 1000), 0]
    if len(np.unique(some)) >= SMOOTH_FROM or len(np.unique(block.values[:, 0])) >= SMOOTH_FROM:
        return Smooth(name)
    return name


def built(item: Smooth | Group | Interaction, base: Base, weight: Any, ends: Ends, notes: list[str]) -> Part | str:
    """A term made for these rows; or, where a curve has too few values to bend, the name of its column. `ends` are
    those of columns of which these rows are but some.
    """
    if isinstance(item, Group):
        return _group(item, base)
    if isinstance(item, Smooth):
        curve = _curve(item, base, weight, ends)
        if isinstance(curve, Number):
            notes.append(f"{item}: {item.column} has fewer than three values, and so no curve but a line")
            return item.column
        return Part(str(item), "smooth", (curve,), (), None, item.scale)
    return _interaction(item, base, weight, ends)


def _group(item: Group, base: Base) -> Part:
    return Part(str(item), "group", (), ((item.column, _levels(base, item.column).levels),), None, item.scale)


def _numbers(name: str, base: Base, what: str) -> Numbers:
    block = base[name][0]
    if not isinstance(block, Dense):
        raise TypeError(f"{what} needs a column of numbers, but {name!r} holds categories; take group({name!r})")
    x = block.values[:, 0]
    if not np.isfinite(x).all():
        lost = missing_rows(x)
        raise refusal([Fault.at(name, "missing", lost) if len(lost) else _infinite(name, x)])
    return x


def _infinite(name: str, x: Numbers) -> Fault:
    return Fault.at(name, "infinite", np.flatnonzero(np.isinf(x)))


def _curve(item: Smooth, base: Base, weight: Any, ends: Ends) -> Number | Curve:
    x = _numbers(item.column, base, f"smooth({item.column!r})")
    spline = spline_of(x, item.size, weight, ends.get(item.column))
    return _number(item.column, x, weight) if spline is None else Curve(item.column, spline)


def _number(name: str, x: Numbers, weight: Any) -> Number:
    middle = float(np.average(x, weights=weight))
    unit = float(np.sqrt(np.average((np.asarray(x, float) - middle) ** 2, weights=weight)))
    return Number(name, middle, unit if unit > 0 else 1.0)


def _interaction(item: Interaction, base: Base, weight: Any, ends: Ends) -> Part:
    factors: list[Codes] = []
    names: list[str] = []
    variables: list[Number | Curve] = []
    for part in (item.first, item.second):
        name = part if isinstance(part, str) else part.column
        block = base[name][0]
        if isinstance(part, Smooth):
            variables.append(_curve(part, base, weight, ends))
        elif isinstance(block, Codes):
            factors.append(block)
            names.append(name)
        else:
            variables.append(_number(name, _numbers(name, base, f"interaction {item}"), weight))
    levels = tuple((name, block.levels) for name, block in zip(names, factors, strict=True))
    pairs = None
    if len(factors) == 2:
        one, other = factors
        seen = np.unique(one.codes.astype(np.int64) * len(other.levels) + other.codes)
        pairs = tuple((int(both // len(other.levels)), int(both % len(other.levels))) for both in seen)
    return Part(str(item), "interaction", tuple(variables), levels, pairs, item.scale)


def check_columns(needed: Sequence[str], names: Sequence[str]) -> None:
    """Refuse terms of columns that are not there."""
    absent = [name for name in needed if name not in names]
    if absent:
        raise ValueError(
            f"terms name the columns {quoted(absent)}, but X has {quoted(names) or 'no columns'}"
            f"{did_you_mean(absent, names)}"
        )
