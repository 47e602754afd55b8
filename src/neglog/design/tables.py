"""Tables: dataframes of any library, seen through narwhals, as numbers and as codes of levels.

narwhals is imported by the functions that need it, so that arrays never wait for it. Its `stable.v1` is the interface
that its authors promise to keep.
"""

import numbers
import re
from collections import Counter
from collections.abc import Collection, Iterable
from datetime import date
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neglog.design.faults import Fault, is_missing, missing_rows

Level = str | int | float | bool  # what survives JSON; other values of a category become their text

KINDS = {"numeric", "date", "categorical"}  # of columns that can be used
NUMBER = re.compile(r"\s*[+-]?(\d[\d.,]*|[.,]\d+)\s*")
EXACT = 2**53  # up to which floats have every whole number
MISSING = "(missing)"  # the level of a category that is not there
ACCEPTED = "a column may hold numbers, booleans, dates, strings or categories; turn it into one of these, or drop it"


class Table:
    """A dataframe and those of its columns that are in use, by name. It copies nothing."""

    def __init__(self, frame: Any, keys: dict[str, Any]) -> None:
        self._frame = frame
        self._keys = keys  # pandas' names need not be strings
        self._series: dict[str, Any] = {}  # wrapping a column costs more than a small column's arithmetic

    @property
    def native(self) -> Any:
        """The caller's own dataframe."""
        return self._frame.to_native()

    @property
    def rows(self) -> int:
        """The number of rows, also when no column is left."""
        return int(self._frame.shape[0])

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns in use."""
        return self.rows, len(self._keys)

    @property
    def names(self) -> list[str]:
        """The names of the columns in use, as text."""
        return list(self._keys)

    def series(self, name: str) -> Any:
        """One column as a narwhals Series."""
        if name not in self._series:
            self._series[name] = self._frame.get_column(self._keys[name])
        return self._series[name]

    def without(self, names: Collection[str]) -> "Table":
        """The same table with these columns out of use."""
        return Table(self._frame, {name: key for name, key in self._keys.items() if name not in names})

    def with_series(self, series: dict[str, Any]) -> "Table":
        """The same table with other columns in the place of some."""
        other = Table(self._frame, self._keys)
        other._series = {**self._series, **series}
        return other

    def rows_where(self, kept: NDArray[Any]) -> "Table":
        """The rows of a mask."""
        return Table(self._frame.filter(kept.tolist()), self._keys)

    def gaps(self, names: Iterable[str]) -> list[Fault]:
        """Where these columns have no value, NaN included: a scan of everything."""
        found = [(name, missing_in(self.series(name))) for name in names]
        return [Fault.at(name, "missing", rows) for name, rows in found if len(rows)]

    def missing(self, names: Iterable[str]) -> list[Fault]:
        """Where these columns have no value. NaN in plain floats is looked for only once something else is missing.

        A scan of all floats costs as much as a pass over the data, which will meet the NaN anyway.
        """
        names = list(names)
        if not any(not is_plain(series) and series.null_count() for series in map(self.series, names)):
            return []
        return self.gaps(names)


def as_table(X: Any) -> Table | None:
    """X as a table if it is a dataframe in memory, else None. Names that occur twice are refused."""
    if isinstance(X, Table):
        return X
    import narwhals.stable.v1 as nw

    if hasattr(X, "shape"):  # not a lazy frame, whose names may cost a query
        _check_names(X)  # before narwhals does, in its own words
    frame: Any = nw.from_native(X, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        return None
    _check_names(frame)
    return Table(frame, {str(key): key for key in frame.columns})


def _check_names(frame: Any) -> None:
    names = getattr(frame, "column_names", getattr(frame, "columns", ()))  # Arrow has columns that are not names
    if hasattr(names, "__iter__"):
        twice = [name for name, count in Counter(map(str, names)).items() if count > 1]
        if twice:
            raise ValueError(f"the columns of X must have different names, but {quoted(twice)} occurs more than once")


def as_series(values: Any) -> Any | None:
    """`values` as a narwhals Series if it is a column of some library, or a dataframe with one column; else None."""
    import narwhals.stable.v1 as nw

    column: Any = nw.from_native(values, allow_series=True, eager_only=True, pass_through=True)
    if isinstance(column, nw.DataFrame) and column.shape[1] == 1:
        return column.get_column(column.columns[0])
    return column if isinstance(column, nw.Series) else None


def quoted(names: Iterable[str]) -> str:
    """Names as they stand in an error."""
    return ", ".join(repr(name) for name in names)


# ---- types and missing values ----------------------------------------------------------------------------------------


def kind_of(series: Any) -> str:
    """The word for what a column holds: numeric, date, categorical, or the name of a type that is none of them."""
    import narwhals.stable.v1 as nw

    if is_plain(series):
        return "numeric"
    dtype = series.dtype
    if dtype.is_numeric() or dtype == nw.Boolean:
        return "numeric"
    if dtype in (nw.String, nw.Categorical, nw.Enum):
        return "categorical"
    if dtype in (nw.Date, nw.Datetime):
        return "date"
    if dtype == nw.Object and series.implementation.is_pandas_like():
        return _kind_of_objects(series.to_native())
    # narwhals has no name for some types of pandas, such as periods
    return str(getattr(series.to_native(), "dtype", dtype) if dtype == nw.Unknown else dtype)


def _kind_of_objects(native: Any) -> str:
    """What a column of Python objects holds, from its distinct values."""
    try:
        values = list(native.factorize()[1])
    except TypeError:  # lists and other values without a hash
        return f"object ({type(native.iloc[0]).__name__})"
    if all(isinstance(value, str) for value in values):
        return "categorical"
    if all(isinstance(value, numbers.Real | Decimal | np.bool_) for value in values):
        return "numeric"
    if values and all(isinstance(value, date) for value in values):
        return "date"
    return f"object ({', '.join(sorted({type(value).__name__ for value in values}))})"


def is_plain(series: Any) -> bool:
    """Whether these are NumPy's numbers inside pandas: they need no conversion, and nothing but a NaN is missing."""
    dtype = getattr(series.to_native(), "dtype", None)
    return isinstance(dtype, np.dtype) and dtype.kind in "biuf"


def missing_in(series: Any) -> NDArray[np.intp]:
    """The rows in which a column has no value, NaN among floats included."""
    if is_plain(series):
        return missing_rows(series.to_native().to_numpy())
    lost = np.asarray(series.is_null().to_numpy(), bool) if series.null_count() else np.zeros(len(series), bool)
    if str(series.dtype).startswith("Float"):
        lost = lost | np.isnan(np.asarray(series.to_numpy(), np.float64))
    return np.flatnonzero(lost)


# ---- values ----------------------------------------------------------------------------------------------------------


def numbers_of(series: Any) -> NDArray[Any]:
    """A numeric column without nulls as an array: the library's own memory where it allows that."""
    import narwhals.stable.v1 as nw

    if is_plain(series):
        plain: NDArray[Any] = series.to_native().to_numpy()
        return plain
    if series.dtype in (nw.Decimal, nw.Int128, nw.UInt128):  # types that NumPy does not have
        series = series.cast(nw.Float64)
    values: NDArray[Any] = series.to_numpy()
    return values.astype(np.float64) if values.dtype.kind == "O" else values


def numbers_or_nan(series: Any) -> NDArray[Any]:
    """A numeric column as floats, NaN where it has no value."""
    import narwhals.stable.v1 as nw

    return numbers_of(series) if is_plain(series) else np.asarray(series.cast(nw.Float64).to_numpy(), np.float64)


def days_of(series: Any) -> NDArray[Any]:
    """Dates as days since the beginning of 1970, NaN where there is none."""
    moments = np.asarray(series.to_numpy()).astype("datetime64[us]")
    return np.where(np.isnat(moments), np.nan, moments.astype(np.int64) / 86_400e6)


def named_missing(series: Any) -> Any:
    """A category as text in which missing values have a name."""
    import narwhals.stable.v1 as nw

    return series.cast(nw.String).fill_null(MISSING)


def codes_of(series: Any) -> tuple[NDArray[Any], dict[int, Any]]:
    """A column without nulls as one small integer per row, and the value behind each integer that occurs.

    Each library has its own fast way; none of them sorts the rows.
    """
    native, library = series.to_native(), series.implementation
    if library.is_pandas_like() and hasattr(native.dtype, "categories"):
        codes = native.cat.codes.to_numpy()
        return codes, _occurring(codes, native.cat.categories)
    if library.is_pandas_like():
        codes, values = native.factorize()
        return codes, dict(enumerate(values.tolist()))
    if library.is_polars():
        return _polars_codes(native, series.__native_namespace__())
    if library.is_pyarrow():
        # pyarrow's chunks may each have a dictionary of their own
        encoded = native.dictionary_encode().unify_dictionaries().combine_chunks()
        codes = encoded.indices.to_numpy(zero_copy_only=False)
        return codes, _occurring(codes, encoded.dictionary.to_pylist())
    return unique_codes(series.to_numpy())


def coded_nulls(codes: NDArray[Any], values: dict[int, Any]) -> NDArray[np.intp]:
    """The rows whose code stands for no value. Arrow may keep a null among the values, unseen by any count of nulls."""
    plain = set(map(type, values.values())) == {str}  # many levels are asked one by one only if they must
    nulls = [] if plain else [code for code, value in values.items() if is_missing(value)]
    if not nulls and codes.min() >= 0:
        return np.empty(0, np.intp)
    return np.flatnonzero((codes < 0) | np.isin(codes, nulls))


def _polars_codes(native: Any, polars: Any) -> tuple[NDArray[Any], dict[int, Any]]:
    distinct = native.unique()
    if native.dtype == polars.String:
        # An Enum, not a Categorical: the latter would write the strings into a table that all of polars shares.
        levels = polars.Enum(distinct)
        native, distinct = native.cast(levels), distinct.cast(levels)
    values = distinct.cast(polars.String).to_list()
    return native.to_physical().to_numpy(), dict(zip(distinct.to_physical().to_list(), values, strict=True))


def unique_codes(values: NDArray[Any]) -> tuple[NDArray[Any], dict[int, Any]]:
    """The same of an array."""
    distinct, codes = np.unique(values, return_inverse=True)
    return codes, dict(enumerate(distinct.tolist()))


def number_codes(series: Any) -> tuple[NDArray[Any], dict[int, Any]]:
    """The same for a column of numbers, which are levels only because somebody says so; those that are missing have the
    code of "(missing)".
    """
    lost = missing_in(series)
    if not len(lost):
        plain = numbers_of(series)
        codes, values = unique_codes(plain)
        if plain.dtype.kind == "f":
            refuse_rounded(values.values(), series.name)
        return codes, {code: number_level(value) for code, value in values.items()}
    known = np.ones(len(series), bool)
    known[lost] = False
    codes, values = number_codes(series.filter(known.tolist()))  # not as floats, which would round large numbers
    whole = np.full(len(series), len(values))
    whole[known] = codes
    return whole, values | {len(values): MISSING}


def _occurring(codes: NDArray[Any], values: Any) -> dict[int, Any]:
    """The values that some row has: a declared level without rows would be a coefficient without data."""
    used = np.flatnonzero(np.bincount(codes, minlength=len(values)))
    listed = values.tolist() if hasattr(values, "tolist") else values  # one by one an Arrow array is slow to ask
    return {code: listed[code] for code in used.tolist()}


# ---- levels ----------------------------------------------------------------------------------------------------------


def level(value: Any) -> Level:
    """A category's value as it is kept and compared: intervals, dates and the like by their text."""
    if isinstance(value, np.generic):
        value = value.item()
    return value if isinstance(value, str | int | float) else str(value)


def number_level(value: Any) -> Level:
    """A number as a level: 7 whether a library has it as 7 or, for others are missing or broken, as 7.0."""
    kept = level(value)
    return int(kept) if isinstance(kept, float) and kept.is_integer() else kept


def refuse_rounded(values: Iterable[Any], name: str) -> None:
    """Refuse floats as levels that are so large that different whole numbers may have become one."""
    large = next((value for value in values if abs(value) > EXACT), None)
    if large is not None:
        raise ValueError(
            f"the column {name!r} is to hold levels, but has floats as large as {large:.0f}, of which each stands for "
            "several whole numbers; keep them as whole numbers, or as texts (a CSV file is read as floats)"
        )


def are_numbers(levels: Iterable[Level]) -> bool:
    """Whether no level is a text, but for that of what is missing; there must be some."""
    named = [one for one in levels if one != MISSING]
    return bool(named) and not any(isinstance(one, str) for one in named)


def sorted_levels(values: Iterable[Any]) -> tuple[Level, ...]:
    """Levels in the order of the values themselves, so that the interval (5, 10] comes before (10, 20]."""
    values = list(values)
    try:
        values.sort()
    except TypeError:  # numbers beside strings
        values.sort(key=_among_others)
    return tuple(dict.fromkeys(values if _are_levels(values) else map(level, values)))


def _are_levels(values: Iterable[Any]) -> bool:
    """Whether values are kept as they are."""
    return set(map(type, values)) <= {str, int, float}


def _among_others(value: Any) -> tuple[bool, float, str, str]:
    """The place of a value among those of other types: numbers first, as they increase."""
    number = isinstance(value, numbers.Real)
    return not number, float(value) if number else 0.0, type(value).__name__, str(value)


def has_commas(texts: Iterable[Any]) -> str | None:
    """The first text with a comma where all are numbers but for that, as 1,5 or 1,234; else None.

    It ends at the first text that is no number.
    """
    first = None
    for text in texts:
        if is_missing(text) or text == MISSING:
            continue
        if not (isinstance(text, str) and NUMBER.fullmatch(text)):
            return None
        first = text if first is None and "," in text else first
    return first


def refuse_commas(texts: Iterable[Any], what: str) -> None:
    """Refuse numbers written with a comma: as categories they would mean nothing."""
    first = has_commas(texts)
    if first is not None:
        raise TypeError(
            f"{what} holds texts that are numbers written with a comma, such as {first!r}, and so would be a category; "
            "write them with a point and without other marks (as 1234.5), or, if they are categories, as other texts"
        )


def is_declared(series: Any) -> bool:
    """Whether a category was called one, rather than being made of texts."""
    import narwhals.stable.v1 as nw

    return series.dtype in (nw.Categorical, nw.Enum)


def declared_order(native: Any) -> tuple[Level, ...] | None:
    """The categories of an ordered category of pandas, of an Enum of polars, of an ordered dictionary of Arrow."""
    dtype: Any = getattr(native, "dtype", getattr(native, "type", None))
    if getattr(dtype, "ordered", False) is not True and type(dtype).__name__ != "Enum":
        return None
    if hasattr(dtype, "categories"):
        return tuple(map(level, dtype.categories))
    chunks = getattr(native, "chunks", [native])
    return tuple(map(level, chunks[0].dictionary.to_pylist())) if len(chunks) else None


def recode(codes: NDArray[Any], values: dict[int, Any], levels: tuple[Level, ...]) -> NDArray[np.int32]:
    """Codes of a library as positions in `levels`, -1 for a value that is not among them."""
    place = {value: position for position, value in enumerate(levels)}
    table: NDArray[np.int32] = np.full(max(values, default=-1) + 1, -1, np.int32)
    known = values.values() if _are_levels(values.values()) else map(level, values.values())
    table[list(values)] = [place.get(value, -1) for value in known]
    recoded: NDArray[np.int32] = table[codes]
    return recoded


def unsupported(kinds: Iterable[tuple[str, str]]) -> TypeError:
    """The error for columns, given with the names of their types, that are neither numbers nor categories."""
    listed = ", ".join(f"{name!r} has the type {kind}" for name, kind in kinds)
    return TypeError(f"X has columns that cannot be used: {listed}; {ACCEPTED}")
