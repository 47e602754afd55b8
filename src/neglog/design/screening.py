"""Columns that say nothing about the target: identifiers, constants and the like. Names are a hint; values decide."""

import re
from typing import Any

import numpy as np

from neglog.design.tables import has_commas
from neglog.typing import Numbers

MANY_TEXTS = 0.5  # of the rows: text with more different values than this names the rows
FEW_ROWS = 20  # in which nothing is taken for an identifier
ENOUGH_ROWS = 100  # for values alone to tell one
MISSED_REPEATS = (
    7.0  # that numbers drawn at random from the same range would have on average, none by chance 1 in 1,000
)
IDENTIFIER = re.compile(
    r"(^|[_\W])id([_\W]|$)|^ID[a-z]|[a-z]I[Dd]$|^(index|uuid|guid)$|^(Unnamed: ?\d+)?$"
    r"|([_\W]|[a-z](?=[NK])|[A-Z]{3})(no|No|NO|nr|Nr|NR|num|Num|NUM|key|Key|KEY|number|Number|NUMBER)$"
)


def useless_columns(table: Any) -> dict[str, str]:
    """Columns of an Arrow table that had better be left out, and why."""
    return {name: reason for name in table.column_names if (reason := _reason(name, table.column(name)))}


def _reason(name: str, column: Any) -> str | None:
    import pyarrow as pa
    import pyarrow.compute as pc

    rows = len(column)
    if column.null_count == rows:
        return "it is empty"
    if pa.types.is_nested(column.type):
        return f"it holds {column.type}, which is neither a number nor a text"
    text = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
    if pa.types.is_dictionary(column.type):
        column, text = column.cast(column.type.value_type), True
    distinct = pc.count_distinct(column, mode="only_valid").as_py()
    if distinct == 1 and column.null_count == 0:
        return f"it is {column[0].as_py()!r} in every row"
    if text:  # numbers with a comma are for the reader to refuse
        return None if has_commas(column.to_pylist()) else names_of_rows(distinct, rows)
    if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
        return numbers_of_rows(name, np.asarray(column.drop_null().to_numpy(), np.float64))
    return None


def names_of_rows(distinct: int, rows: int) -> str | None:
    """Why texts with so many different values look like names of rows."""
    if rows > FEW_ROWS and distinct > MANY_TEXTS * rows:
        return f"it has {distinct:,} different texts in {rows:,} rows, as identifiers have"
    return None


def numbers_of_rows(name: str, values: Numbers) -> str | None:
    """Why these numbers look like identifiers: whole numbers that never repeat, though numbers that measure something
    would; or that hardly repeat, in a column whose name says so.
    """
    rows = len(values)
    if rows <= FEW_ROWS or not np.isfinite(values).all() or (values != np.round(values)).any():
        return None
    ordered = np.sort(values)
    distinct = 1 + int(np.count_nonzero(np.diff(ordered)))
    if IDENTIFIER.search(name) and distinct > MANY_TEXTS * rows:
        if distinct == rows:
            return "it is different in every row, as identifiers are"
        return f"it has {distinct:,} different whole numbers in {rows:,} rows, as identifiers have"
    if distinct < rows or rows < ENOUGH_ROWS:
        return None
    steps = np.diff(values)
    if (steps == steps[0]).all():
        return f"it counts the rows, each {steps[0]:+g} from the one before"
    if rows**2 / (2 * (ordered[-1] - ordered[0] + 1)) > MISSED_REPEATS:
        return f"its whole numbers from {ordered[0]:.15g} to {ordered[-1]:.15g} never repeat, as those of identifiers"
    return None
