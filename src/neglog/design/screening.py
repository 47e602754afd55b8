"""Columns of a file that say nothing about the target: identifiers and constants."""

import re
from typing import Any

MANY_TEXTS = 0.5  # of the rows: text with more different values than this names the rows
FEW_ROWS = 20  # in which nothing is taken for an identifier
IDENTIFIER = re.compile(r"(^|[_\W])id([_\W]|$)|^ID[a-z]|[a-z]I[Dd]$|^(index|uuid|guid)$|^(Unnamed: ?\d+)?$")


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
    whole = pa.types.is_integer(column.type)
    if pa.types.is_dictionary(column.type):
        column, text = column.cast(column.type.value_type), True
    distinct = pc.count_distinct(column, mode="only_valid").as_py()
    if distinct == 1 and column.null_count == 0:
        return f"it is {column[0].as_py()!r} in every row"
    if text and rows > FEW_ROWS and distinct > MANY_TEXTS * rows:
        return f"it has {distinct:,} different texts in {rows:,} rows, as identifiers have"
    if whole and rows > FEW_ROWS and distinct == rows and IDENTIFIER.search(name):
        return "it is different in every row, as identifiers are"
    return None
