"""Arrow tables that come one after the other, each as a design with the same coefficients.

`Schema.read` does the same for a dataframe of any library; here a table is small and there are thousands of them, so
that what is done to each must cost little.
"""

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from neglog.design import tables
from neglog.design.blocks import Block, Codes, Dense
from neglog.design.design import Column, Design, Schema
from neglog.design.faults import is_missing
from neglog.design.functions import applied
from neglog.typing import Numbers

DAY = 86_400e6  # microseconds
NUMBER = "(number of the row)"
CLUSTERS = ("cluster", "second cluster")  # arguments whose values are labels, and stay what they are


class Rows(NamedTuple):
    """Some rows: X, the values beside it by the name of their argument, and the numbers of the rows among all."""

    design: Design
    values: dict[str, Any]
    numbers: NDArray[np.int64]


@dataclass(frozen=True)
class Encoder:
    """How a table becomes rows. `named` maps arguments (y, exposure, …) to columns; `classes` are the labels of y."""

    schema: Schema
    named: dict[str, str]
    classes: tuple[Any, ...] | None = None
    drop: bool = False  # rows that lack a value
    encoded: bool = False  # whether tables come from `to_arrow`
    beside: tuple[str, ...] = ()  # columns that are read only to see whether they lack a value

    @property
    def columns(self) -> list[str]:
        """The columns that are needed."""
        own = list(dict.fromkeys(c.name if self.encoded else c.source for c in self.schema.table or ()))
        others = [name for name in dict.fromkeys([*self.named.values(), *self.beside]) if name not in own]
        return [*own, *others, *([NUMBER] if self.encoded else [])]

    def without_columns(self) -> "Encoder":
        """The same rows, of which X has no columns."""
        return replace(self, schema=Schema(0, ()), beside=tuple(self.columns) if self.drop else ())

    def __call__(self, table: Any, first: int) -> Rows:
        """The rows of a table whose first row has this number."""
        table, numbers = self._kept(table, first)
        design = Design(self.schema.blocks(self.base(table)), table.num_rows, self.schema.columns, self.schema)
        return Rows(design, {what: self._value(table.column(name), what) for what, name in self.named.items()}, numbers)

    def base(self, table: Any) -> dict[str, list[Block]]:
        """The blocks of each column of the schema."""
        return {column.name: self._blocks(table, column) for column in self.schema.table or ()}

    def _kept(self, table: Any, first: int) -> tuple[Any, NDArray[np.int64]]:
        """The rows that are used, and their numbers."""
        if self.encoded:
            return table, numbers_of(table.column(NUMBER))
        numbers = np.arange(first, first + table.num_rows)
        if not self.drop:
            return table, numbers
        kept = complete_rows(table)
        return table.filter(kept), numbers[kept]

    def _value(self, column: Any, what: str) -> Numbers:
        if what in CLUSTERS:
            return labels_of(column)
        if what == "y" and self.classes is not None and not self.encoded:
            return codes_of(column, self.classes).astype(np.float64)
        return np.ascontiguousarray(numbers_of(column), np.float64)

    def _blocks(self, table: Any, column: Column) -> list[Block]:
        values = table.column(column.name if self.encoded else column.source)
        if column.levels is not None:
            codes = numbers_of(values) if self.encoded else codes_of(values, column.levels)
            return [Codes(codes, column.levels, column.reference)]
        numbers = days_of(values) if column.dates and not self.encoded else numbers_of(values)
        if column.function is not None and not self.encoded:
            numbers = applied(column.function, numbers)
        if column.fill is None:
            return [Dense.of(numbers[:, np.newaxis])]
        lost = np.isnan(numbers)
        return [Dense.of(np.where(lost, column.fill, numbers)[:, np.newaxis]), Dense.of(lost[:, np.newaxis])]

    def to_arrow(self, table: Any, first: int) -> Any:
        """The rows of a table with nothing left to decode: numbers, codes of levels, and the number of each row."""
        import pyarrow as pa

        table, numbers = self._kept(table, first)
        columns: dict[str, Any] = {}
        for what, name in self.named.items():
            columns[name] = self._value(table.column(name), what)
        for column in self.schema.table or ():
            values = table.column(column.source)
            if column.levels is not None:
                columns[column.name] = codes_of(values, column.levels)
            else:
                numbers_here = days_of(values) if column.dates else numbers_of(values)
                own = column.function
                columns[column.name] = numbers_here if own is None else applied(own, numbers_here)
        return pa.table({**columns, NUMBER: numbers})


def numbers_of(column: Any) -> Numbers:
    """A column of numbers; NaN where there is none."""
    import pyarrow as pa

    if isinstance(column, pa.ChunkedArray):
        column = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.uint8())
    if pa.types.is_decimal(column.type) or column.null_count:
        column = column.cast(pa.float64()).fill_null(np.nan)
    values: Numbers = np.from_dlpack(column)  # to_numpy would import pandas first
    return values


def labels_of(column: Any) -> NDArray[Any]:
    """A column of labels, as Python has them."""
    import pyarrow as pa

    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    labels = np.array([*column.dictionary.to_pylist(), None], object)
    return np.asarray(labels[column.indices.fill_null(len(labels) - 1).to_numpy(zero_copy_only=False)])


def days_of(column: Any) -> Numbers:
    """Dates as days since the beginning of 1970, NaN where there is none."""
    import pyarrow as pa

    micros = column.cast(pa.timestamp("us"), safe=False).cast(pa.int64())
    return np.asarray(numbers_of(micros), np.float64) / DAY


def codes_of(column: Any, levels: tuple[Any, ...]) -> NDArray[np.int32]:
    """The place of each value among the levels, -1 for others; a missing value is the level "(missing)"."""
    parts = []
    for codes, values in _coded_chunks(column):
        parts.append(_places(values, levels)[codes])  # the code -1 is the last entry
    return parts[0] if len(parts) == 1 else np.concatenate([np.empty(0, np.int32), *parts])


def _places(values: Any, levels: tuple[Any, ...]) -> NDArray[np.int32]:
    """The place of each value, and last that of a missing one; of texts by Arrow, since there may be many levels."""
    texts = None if isinstance(values, list) else _as_texts(levels)
    if texts is not None:
        import pyarrow.compute as pc

        array, missing = texts
        return np.append(np.from_dlpack(pc.index_in(values, array).fill_null(-1)), np.int32(missing))
    places = {level: place for place, level in enumerate(levels)}
    listed = [places.get(value, -1) for value in map(tables.level, _listed(values))]
    return np.array([*listed, places.get(tables.MISSING, -1)], np.int32)


@lru_cache(8)
def _as_texts(levels: tuple[Any, ...]) -> tuple[Any, int] | None:
    """Levels as Arrow has them, and the place of that of missing values, if all are texts."""
    import pyarrow as pa

    if not all(isinstance(level, str) for level in levels):
        return None
    missing = levels.index(tables.MISSING) if tables.MISSING in levels else -1
    return pa.array(levels, pa.string()), missing


def _listed(values: Any) -> list[Any]:
    return values if isinstance(values, list) else values.to_pylist()


def level_counts(column: Any) -> dict[Any, int]:
    """How often each value of a category, or of numbers that are levels, occurs; None for missing ones."""
    import pyarrow as pa

    own = tables.level if pa.types.is_dictionary(column.type) else tables.number_level
    counts: dict[Any, int] = {}
    for codes, found in _coded_chunks(column):
        values = _listed(found)
        for place, count in enumerate(np.bincount(codes + 1, minlength=len(values) + 1).tolist()):
            if count:
                value = None if place == 0 else own(values[place - 1])
                counts[value] = counts.get(value, 0) + count
    return counts


def _coded_chunks(column: Any) -> Any:
    """Codes, -1 for missing values, and the values behind them: texts as Arrow has them, others in a list."""
    import pyarrow as pa

    if pa.types.is_decimal(column.type):
        column = column.cast(pa.float64())
    for chunk in column.chunks if isinstance(column, pa.ChunkedArray) else [column]:
        coded = chunk if pa.types.is_dictionary(chunk.type) else chunk.dictionary_encode()
        indices = coded.indices
        codes = np.from_dlpack(indices.fill_null(-1) if indices.null_count else indices)
        if pa.types.is_string(coded.dictionary.type) and not coded.dictionary.null_count:
            yield codes, coded.dictionary
            continue
        values = coded.dictionary.to_pylist()
        lost = [place for place, value in enumerate(values) if is_missing(value)]
        if lost:  # a null may also be one of the values, or NaN
            codes = np.where(np.isin(codes, lost), -1, codes)
        yield codes, values


def complete_rows(table: Any) -> NDArray[np.bool_]:
    """Which rows lack nothing."""
    import pyarrow as pa

    kept = np.ones(table.num_rows, bool)
    for column in table.columns:
        if column.null_count:
            kept &= ~column.is_null().to_numpy()
        if pa.types.is_floating(column.type):
            kept &= ~np.isnan(numbers_of(column))
    return kept
