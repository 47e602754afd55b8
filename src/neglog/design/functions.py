"""Functions of a column that a term may be of, as in "log(power)": a few by name, so that a saved fit runs no code."""

import re
from collections.abc import Callable, Collection
from typing import Any

import numpy as np

FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "log": np.log,
    "log1p": np.log1p,
    "log2": np.log2,
    "log10": np.log10,
    "exp": np.exp,
    "sqrt": np.sqrt,
    "abs": np.abs,
    "square": np.square,
}
# By the value of a function: how fast it changes there; and of those whose value tells no sign, by the number itself
SLOPES_BY_VALUE: dict[str, Callable[[Any], Any]] = {
    "log": lambda value: np.exp(-value),
    "log1p": lambda value: np.exp(-value),
    "log2": lambda value: np.exp2(-value) / np.log(2),
    "log10": lambda value: 10.0**-value / np.log(10),
    "exp": np.positive,
    "sqrt": lambda value: 0.5 / value,
}
SLOPES: dict[str, Callable[[Any], Any]] = {"abs": np.sign, "square": lambda x: 2.0 * x}
CALL = re.compile(r"(\w+)\((.+)\)")


def function_of(name: str, columns: Collection[str]) -> tuple[str, str] | None:
    """The function and its column, where a name is that of no column but of a function of one."""
    if name in columns:
        return None
    called = CALL.fullmatch(name)
    if called is None or called[1] not in FUNCTIONS or called[2] not in columns:
        return None
    return called[1], called[2]


def applied(function: str, values: Any) -> Any:
    """The function of each number; what it has no value for becomes NaN or infinite, and is refused as such."""
    with np.errstate(all="ignore"):
        return FUNCTIONS[function](np.asarray(values, np.float64))
