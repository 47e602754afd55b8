"""Arrays, lists of rows and masked arrays as a block of numbers, or the error that says why they are none."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from neglog.design.blocks import Dense
from neglog.design.faults import Fault, refusal


def dense_block(array: NDArray[Any]) -> Dense:
    """An array of numbers as a block."""
    check_shape(array.shape)
    kind = array.dtype.kind
    if kind == "O":
        array = _from_objects(array)
    elif kind not in "fiub":
        strings = "; a dataframe may hold strings, which become categories" if kind in "UST" else ""
        raise TypeError(f"X must hold numbers, but is an array of the type {array.dtype}{strings}")
    return Dense.of(array)


def check_shape(shape: tuple[int, ...]) -> None:
    """Refuse what has no rows and columns."""
    if len(shape) != 2:
        advice = "; make one column of it with X.reshape(-1, 1), which has the shape (n, 1)" if len(shape) == 1 else ""
        raise ValueError(f"X must have two dimensions, rows and columns, but has the shape {shape}{advice}")
    if shape[0] == 0:
        raise ValueError(f"X must have at least one row, but has the shape {shape}")


def as_array(X: Any) -> NDArray[Any]:
    """A list of rows as an array."""
    try:
        return np.asarray(X)
    except ValueError as error:  # rows of different lengths
        raise ValueError(f"X must have as many values in each row as in the first: {error}") from None


def unmasked(X: Any) -> NDArray[Any]:
    """A masked array that hides nothing."""
    check_shape(X.shape)
    mask = np.ma.getmaskarray(X)
    hidden = np.flatnonzero(mask.any(axis=0)).tolist()
    if hidden:
        raise refusal(Fault.at(f"x{column}", "missing", np.flatnonzero(mask[:, column])) for column in hidden)
    return np.asarray(X.data)


def _from_objects(array: NDArray[Any]) -> NDArray[Any]:
    try:
        return array.astype(np.float64)
    except (TypeError, ValueError):
        (row, column), value = next((at, value) for at, value in np.ndenumerate(array) if not _is_number(value))
        raise TypeError(
            f"X must hold numbers, but is an array of objects with {value!r} in row {row} of column 'x{column}'; "
            "a dataframe may hold strings, which become categories"
        ) from None


def _is_number(value: Any) -> bool:
    try:
        np.asarray(value, object).astype(np.float64)
    except (TypeError, ValueError):
        return False
    return True
