"""How the rows of a design change with one column of the table: along its numbers, in whatever terms they stand, or
from level to level. What its blocks hold says it, so that rows in memory and pieces of files are alike.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from neglog.design.blocks import Basis, Block, Codes, Dense, Variable
from neglog.design.design import Column, Design, Gap, Schema
from neglog.design.functions import SLOPES, SLOPES_BY_VALUE
from neglog.design.parts import Part
from neglog.engines.memory import Loss, Memory
from neglog.typing import Numbers

Given = Mapping[str, Numbers]  # numbers of columns, by name


@dataclass(frozen=True)
class Along:
    """The derivative of the rows in a column of numbers, in the core's order: single columns, whose derivative is a
    number or one for each row (None: 1), and curves, as engines of their own. Rows that are `lost` lack a value there.
    """

    columns: int
    lines: list[tuple[int, Numbers | None]]
    curves: list[tuple[Numbers, Memory, Numbers | None]]
    lost: Any

    def of(self, theta: Numbers, rows: int) -> Numbers:
        """How fast the raw predictions change, (rows, outputs), by coefficients (outputs, columns)."""
        out = np.zeros((rows, len(theta)))
        for place, pace in self.lines:
            out += theta[:, place] if pace is None else pace[:, None] * theta[:, place]
        for places, engine, pace in self.curves:
            for k, own in enumerate(theta[:, places]):
                moved = engine.predict(np.ascontiguousarray(own))
                out[:, k] += moved if pace is None else pace * moved
        return out

    def back(self, values: Numbers) -> Numbers:
        """The sum of these derivatives of the rows, each times its value."""
        out = np.zeros(self.columns)
        for place, pace in self.lines:
            out[place] += np.sum(values if pace is None else pace * values)
        for places, engine, pace in self.curves:
            out[places] += engine.transposed(np.ascontiguousarray(values if pace is None else pace * values))
        return out


def along(engine: Memory, name: str, given: Given) -> Along:
    """Of a column of numbers."""
    schema = engine.design.schema
    if schema.table is None:
        place = engine.places[schema.names.index(name)]
        return Along(engine.columns, [(int(place), None)], [], None)
    base = _numbers(engine.design)
    found = Along(engine.columns, [], [], None)
    lost = None
    for part, start, blocks in _parts(engine.design):
        places = engine.places[start : start + len(part.coefficients)]
        if isinstance(part, Gap):
            lost = blocks[0] if part.column in _columns_of(schema, name) else lost
        elif isinstance(part, Column):
            if part.source == name and part.levels is None:
                found.lines.append((int(places[0]), _pace(part, base, given)))
                lost = blocks[1] if part.fill is not None else lost
        else:
            for k, variable in enumerate(part.variables):
                column = _columns_of(schema, name).get(variable.column)
                if column is not None:
                    assert isinstance(blocks[0], Basis)
                    found.curves.append((places, _slopes(blocks[0], k), _pace(column, base, given)))
    values = lost.values[:, 0] > 0 if isinstance(lost, Dense) else None
    return replace(found, lost=values)


def at_level(engine: Memory, name: str, code: int) -> Memory:
    """The same rows, all of them with this level of a factor."""
    design = engine.design
    codes = _codes(design)
    codes[name] = np.full(design.rows, code, np.int32)
    blocks: list[Block] = []
    for part, _, own in _parts(design):
        if isinstance(part, Column) and part.name == name:
            assert isinstance(own[0], Codes)
            blocks.append(Codes(codes[name], own[0].levels, own[0].reference))
        elif isinstance(part, Part) and name in (factor for factor, _ in part.factors):
            blocks.append(_recoded(part, own[0], codes))
        else:
            blocks += own
    moved = replace(design, blocks=tuple(blocks))
    return Memory(
        moved,
        engine.y,
        engine.weight,
        engine.offset,
        engine.loss,
        intercept=engine.intercept,
        centre=engine.centre,
    ).beside(engine)


def factors_of(schema: Schema) -> dict[str, tuple[Any, ...]]:
    """The levels of the columns of categories, and of numbers that stand for levels."""
    return {column.name: column.levels for column in schema.table or () if column.levels is not None}


def only_grouped(schema: Schema, name: str) -> bool:
    """Whether a factor stands in nothing but groups, whose levels have a prior."""
    uses = [part for part in schema.parts if isinstance(part, Part) and name in part.inputs]
    plain = any(isinstance(part, Column) and part.name == name for part in schema.parts)
    return bool(uses) and not plain and any(part.kind == "group" for part in uses)


def numbers_of(schema: Schema) -> list[str]:
    """The columns of numbers and dates, each once."""
    if schema.table is None:
        return list(schema.names)
    return list(dict.fromkeys(column.source for column in schema.table if column.levels is None))


# ---- blocks ----------------------------------------------------------------------------------------------------------


def _parts(design: Design) -> Iterator[tuple[Column | Gap | Part, int, list[Block]]]:
    """Each term with the place of its first coefficient, and its blocks."""
    start, blocks = 0, iter(design.blocks)
    for part in design.schema.parts:
        count = len(part.coefficients)
        own = [next(blocks)] if count else []
        while sum(block.columns for block in own) < count:
            own.append(next(blocks))
        yield part, start, own
        start += count


def _columns_of(schema: Schema, name: str) -> dict[str, Column]:
    """What a design makes of a column of numbers: itself and functions of it."""
    return {column.name: column for column in schema.table or () if column.source == name and column.levels is None}


def _numbers(design: Design) -> dict[str, Numbers]:
    """The numbers of columns and of functions of them, as blocks hold them."""
    found: dict[str, Numbers] = {}
    for part, _, blocks in _parts(design):
        if isinstance(part, Column) and isinstance(blocks[0], Dense):
            found[part.name] = blocks[0].values[:, 0]
        elif isinstance(part, Part) and isinstance(blocks[0], Basis):
            for variable, held in zip(part.variables, blocks[0].variables, strict=True):
                found[variable.column] = held.x
    return found


def _codes(design: Design) -> dict[str, Any]:
    """The levels of factors, as blocks hold them."""
    found: dict[str, Any] = {}
    for part, _, blocks in _parts(design):
        block = blocks[0] if blocks else None
        if isinstance(part, Column) and isinstance(block, Codes):
            found[part.name] = block.codes
        elif isinstance(part, Part) and part.factors:
            assert isinstance(block, Codes | Basis)
            assert block.codes is not None
            pairs = [(k,) for k in range(part.levels)] if part.pairs is None else part.pairs
            decode = np.array([*pairs, (-1,) * len(part.factors)], np.int32)  # the last is that of unknown levels
            for (name, _), column in zip(part.factors, decode[block.codes].T, strict=True):
                found.setdefault(name, np.ascontiguousarray(column))
    return found


def _recoded(part: Part, block: Block, codes: Mapping[str, Any]) -> Block:
    """A term by level, with other levels."""
    base: dict[str, list[Block]] = {name: [Codes(codes[name], levels)] for name, levels in part.factors}
    own = part.codes_of(base)
    return Basis(block.variables, own, block.levels, block.turn) if isinstance(block, Basis) else part.block(base)


def _slopes(block: Basis, k: int) -> Memory:
    """The derivatives of curves in one of their variables, as columns of their own."""
    own = list(block.variables)
    own[k] = Variable(own[k].x, own[k].pieces.slopes(), own[k].found)
    columns = Basis(tuple(own), block.codes, block.levels, block.turn)
    design = Design((columns,), block.rows, block.columns, Schema(block.columns))
    rows, loss = np.zeros(block.rows), Loss("gaussian", "identity")
    return Memory(design, rows, None, None, loss, intercept=False, centre=np.zeros(block.columns))


def _pace(column: Column, base: Mapping[str, Numbers], given: Given) -> Numbers | None:
    """How fast a function of a column changes with it, in each row; None for the column itself."""
    function = column.function
    if function is None:
        return None
    with np.errstate(all="ignore"):
        if function in SLOPES_BY_VALUE:
            return np.asarray(SLOPES_BY_VALUE[function](np.asarray(base[column.name], float)))
        x = given.get(column.source, base.get(column.source))
        if x is None:
            raise ValueError(
                f"{column.name} does not tell the sign of {column.source}, on which its slope depends; say for which "
                "rows, as in fit.effects(X)"
            )
        return np.asarray(SLOPES[function](np.asarray(x, float)))
