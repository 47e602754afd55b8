"""What databases write in ways of their own."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from neglog.export.expressions import Expression, cases

REACH = math.log(np.finfo(float).max), math.log(5e-324)  # beyond which exp is infinite, or 0


@dataclass(frozen=True)
class Dialect:
    """A database's words.

    days          a date or a moment, as days since the beginning of 1970
    number        a column as a number with double precision, where what is no number (NaN) is no value
    infinity      as a number
    functions     what it calls functions otherwise than others do
    same          a comparison in which two that have no value are equal
    fence         what ends an inner query, lest each name be replaced by its formula wherever it occurs
    exp_fails     whether exp refuses what is beyond the range of numbers
    """

    days: str
    number: str
    infinity: str = "CAST('Infinity' AS DOUBLE PRECISION)"
    functions: Mapping[str, str] = field(default_factory=dict)
    same: str = "IS NOT DISTINCT FROM"
    fence: str = ""
    exp_fails: bool = False

    def guarded(self, node: Expression) -> Expression:
        """An operation that has a value for every number."""
        if node.operation != "EXP" or not self.exp_fails:
            return node
        (x,) = node.parts
        large, small = REACH
        return cases([(x > large, math.inf), (x < small, 0.0)], Expression("EXP", x))


NAN_IS_NULL = "NULLIF(CAST({} AS DOUBLE PRECISION), CAST('NaN' AS DOUBLE PRECISION))"
DIALECTS = {
    "duckdb": Dialect("EPOCH(CAST({} AS TIMESTAMP)) / 86400e0", NAN_IS_NULL),
    "postgres": Dialect(
        "CAST(EXTRACT(EPOCH FROM CAST({} AS TIMESTAMP)) AS DOUBLE PRECISION) / 86400e0",
        NAN_IS_NULL,
        fence=" OFFSET 0",
        exp_fails=True,
    ),
    "sqlite": Dialect(
        "ROUND((JULIANDAY({}) - 2440587.5e0) * 86400000e0) / 86400000e0",  # SQLite's moments are of milliseconds
        "CAST({} AS DOUBLE PRECISION)",
        infinity="9e999",
        functions={"LEAST": "MIN", "GREATEST": "MAX"},
        same="IS",
        fence=" LIMIT -1",
    ),
}


def dialect_of(name: str) -> Dialect:
    """The dialect of a name."""
    if name not in DIALECTS:
        raise ValueError(f"dialect must be one of {', '.join(DIALECTS)}, but is {name!r}")
    return DIALECTS[name]


# ---- quoting ---------------------------------------------------------------------------------------------------------


def identifier(name: str) -> str:
    """A name, whatever is in it."""
    return '"' + _complete(name).replace('"', '""') + '"'


def literal(value: str | float) -> str:
    """A level, or a number beside levels."""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, str):
        return "'" + _complete(value).replace("'", "''") + "'"
    return repr(value) if isinstance(value, int) else decimal(value)


def decimal(value: float) -> str:
    """A double: digits with an exponent, without which DuckDB would read them as a decimal of fewer."""
    text = repr(float(value))
    return text if "e" in text else f"{text}e0"


def _complete(text: str) -> str:
    if "\0" in text:
        raise ValueError(f"SQL has no words for the character 0, which is in {text!r}; replace it in the table")
    return text
