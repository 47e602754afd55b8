"""Values beside X, one per row: y, weights, offset and exposure, given as arrays or by the name of a column of X."""

from collections.abc import Collection, Mapping
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neglog.design import tables
from neglog.design.blocks import is_sparse
from neglog.design.faults import missing_rows
from neglog.design.tables import Table, as_table, quoted
from neglog.distributions.arrays import as_numbers
from neglog.printing import did_you_mean

MODES = ("error", "drop", "impute")


def column(X: Any, values: ArrayLike | str, what: str, *, numeric: bool = True, complete: bool = True) -> NDArray[Any]:
    """One value per row of X, as a contiguous array without missing values; `what` names the argument in errors.

    `values` is anything like an array, a Series of a dataframe library, or the name of a column of X. Numbers come as
    float32 or float64. With `numeric=False` labels (strings, categories, booleans, integers) keep their own kind, and
    with `complete=False` values may be missing.
    """
    rows = row_count(X)
    if isinstance(values, str):
        array = _from_series(_named(X, values, what), what, numeric, complete)
    elif isinstance(values, np.ndarray | list | tuple):
        array = _from_array(values, what, complete)
    else:
        series = None if np.isscalar(values) else tables.as_series(values)
        check_index(X, values, what)
        array = _from_array(values, what, complete) if series is None else _from_series(series, what, numeric, complete)
    if array.shape != (rows,):
        if array.ndim == 2 and array.shape[1] == 1:  # a column vector
            array = array[:, 0]
        elif array.ndim != 1:
            raise ValueError(f"{what} must have one value per row, {rows} of them, but has the shape {array.shape}")
        if len(array) != rows:
            raise ValueError(f"{what} must have one value per row of X, but has {len(array)} for {rows} rows")
    if complete:
        _check_complete(missing_rows(array), what, rows)
    return np.ascontiguousarray(_as_numbers(array, what) if numeric else array)


def declared_order(X: Any, values: Any) -> tuple[Any, ...] | None:
    """The categories of a column in the order that its library was told, also those that do not occur; None where none
    was: `values` is the column, or its name in X.
    """
    if isinstance(values, str):
        table = None if _is_array(X) else as_table(X)
        if table is None or values not in table.names:
            return None
        values = table.series(values).to_native()
    return tables.declared_order(values)


def check_index(X: Any, values: Any, what: str) -> None:
    """Refuse values of pandas whose index is not that of X: whether they belong together by place or by label is for
    the caller to say.
    """
    own, other = _index_of(X), None if isinstance(values, np.ndarray) else _index_of(values)
    if own is None or other is None or own is other or len(own) != len(other) or own.equals(other):
        return
    pairs = enumerate(zip(own, other, strict=True))
    place = next((i for i, (a, b) in pairs if a is not b and a != b), None)
    if place is None:  # the same labels, kept differently
        return
    shuffled = own.is_unique and other.is_unique and not len(own.difference(other))
    how = "the same labels in another order" if shuffled else "other labels"
    remedy = f"{what}.loc[X.index] puts them in the order of X" if shuffled else "give both the same index"
    raise ValueError(
        f"{what} must have the index of X, but has {how}: the first difference is in row {place}, {own[place]!r} in X "
        f"and {other[place]!r} in {what}; {remedy}, {what}.to_numpy() takes them as they stand"
    )


def _index_of(X: Any) -> Any:
    """The index of pandas' tables and columns; None for what has none."""
    native = X.native if isinstance(X, Table) else X
    index = getattr(native, "index", None)
    return index if hasattr(index, "equals") else None


def split(
    X: Any, columns: Mapping[str, ArrayLike | str | None], *, labels: Collection[str] = (), missing: str = "error"
) -> tuple[Any, dict[str, NDArray[Any] | None]]:
    """X without the columns that were called by name, and each argument as an array (None stays None).

    `columns` maps the name of an argument to its values or to the name of a column of X; the arguments in `labels` keep
    their own kind, the others are numbers. X itself comes back when no name was used, otherwise a view of it for `read`
    that copies nothing. With missing="drop" both come without the rows that lack any value.
    """
    if missing not in MODES:
        raise ValueError(f"missing must be one of {quoted(MODES)}, but is {missing!r}")
    check_target(columns)
    named = {values for values in columns.values() if isinstance(values, str)}
    drop = missing == "drop"
    source = as_table(X) or X if (named or drop) and not _is_array(X) else X
    arrays = {
        what: None if values is None else column(source, values, what, numeric=what not in labels, complete=not drop)
        for what, values in columns.items()
    }
    rest = source.without(named) if named else source if drop else X
    return _complete_rows(rest, arrays) if drop else (rest, arrays)


def check_target(columns: Mapping[str, Any]) -> None:
    """Refuse to go without y, if it is asked for; the other arguments may be left out."""
    if columns.get("y", 0) is None:
        raise TypeError("y must be one value per row, or the name of a column of X, but is None")


def _complete_rows(X: Any, arrays: dict[str, NDArray[Any] | None]) -> tuple[Any, dict[str, NDArray[Any] | None]]:
    """Without the rows in which a column or an argument has no value."""
    lost = np.zeros(row_count(X), bool)
    for array in arrays.values():
        if array is not None:
            lost[missing_rows(array)] = True
    if isinstance(X, Table):
        for name in X.names:
            lost[tables.missing_in(X.series(name))] = True
    elif isinstance(X, np.ndarray | list | tuple):
        X = np.asarray(X)
        lost |= np.isnan(X.reshape(len(X), -1)).any(axis=1) if X.dtype.kind == "f" else False
    if not lost.any():
        return X, arrays
    kept = ~lost
    if not kept.any():
        raise ValueError(f"each of the {len(lost)} rows lacks a value; leave out the columns that are mostly empty")
    return (
        X.rows_where(kept) if isinstance(X, Table) else X[kept],
        {what: None if array is None else array[kept] for what, array in arrays.items()},
    )


def _is_array(X: Any) -> bool:
    return isinstance(X, np.ndarray | list | tuple) or is_sparse(X)


def row_count(X: Any) -> int:
    """The number of rows of anything that X may be."""
    shape = getattr(X, "shape", None)
    if not shape and not hasattr(type(X), "__len__"):
        raise ValueError(f"X must have two dimensions, rows and columns, but is {X!r}")
    return int(shape[0]) if shape else len(X)


def beside(X: Any, given: Mapping[str, Any], named: Mapping[str, str]) -> dict[str, Any]:
    """What goes with rows to predict for: what is given, else the column that was named at the fit; a number counts
    for all rows.
    """
    found = {what: named.get(what) if value is None else value for what, value in given.items()}
    taken = {what: name for what, name in found.items() if given[what] is None and name is not None}
    if taken:
        _check_named(X, taken)
    return {
        what: np.full(row_count(X), float(value)) if isinstance(value, Real) else value for what, value in found.items()
    }


def _check_named(X: Any, named: Mapping[str, str]) -> None:
    """Refuse X if it lacks a column that a fit was told to take its offset or exposure from."""
    table: Table | None = None if _is_array(X) else as_table(X)
    for what, name in named.items():
        if table is None or name not in table.names:
            found = "is not a table with named columns" if table is None else f"has only {quoted(table.names)}"
            near = "" if table is None else did_you_mean([name], table.names)
            raise ValueError(
                f"the fit took its {what} from the column {name!r}, so X must have that column, but it {found}; add "
                f"it, or say {what}=... (one value per row, or one number for all){near}"
            )


def _named(X: Any, name: str, what: str) -> Any:
    table: Table | None = None if _is_array(X) else as_table(X)
    if table is None:
        raise TypeError(
            f"{what} is the name {name!r}, but X is not a table with named columns; give the values instead"
        )
    if name not in table.names:
        raise ValueError(
            f"{what} is the name {name!r}, but X has no such column; it has {quoted(table.names)}"
            f"{did_you_mean([name], table.names)}"
        )
    return table.series(name)


def _from_series(series: Any, what: str, numeric: bool, complete: bool) -> NDArray[Any]:
    if complete:
        _check_complete(tables.missing_in(series), what, len(series))
    if not numeric:
        labels = np.asarray(series.to_numpy())
        if not tables.is_declared(series):
            tables.refuse_commas(labels, what)
        return labels
    if tables.kind_of(series) != "numeric":
        if tables.kind_of(series) == "categorical":
            tables.refuse_commas(series.to_numpy(), what)
        raise TypeError(f"{what} must hold numbers, but has the type {series.dtype}")
    return tables.numbers_of(series) if complete else tables.numbers_or_nan(series)


def _from_array(values: Any, what: str, complete: bool) -> NDArray[Any]:
    if isinstance(values, np.ma.MaskedArray):
        if not complete:
            return np.ma.filled(values.astype(np.float64), np.nan)
        _check_complete(np.flatnonzero(np.ma.getmaskarray(values)), what, values.size)
        return np.asarray(values.data)
    try:
        return np.asarray(values)
    except ValueError as error:  # a list of lists of different lengths
        raise ValueError(f"{what} must have one value per row: {error}") from None


def _as_numbers(array: NDArray[Any], what: str) -> NDArray[Any]:
    if array.dtype.kind == "O":
        try:
            return array.astype(np.float64)
        except (TypeError, ValueError):
            raise TypeError(f"{what} must hold numbers, but holds objects such as {array[0]!r}") from None
    return as_numbers(array, what)


def _check_complete(missing: NDArray[np.intp], what: str, rows: int) -> None:
    if len(missing):
        raise ValueError(
            f"{what} has missing values in {len(missing)} of {rows} rows, the first in row {missing[0]}; "
            'drop these rows, as missing="drop" does, or fill the values'
        )
