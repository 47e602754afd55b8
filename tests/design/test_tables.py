"""Dataframes as designs: the same blocks from every library, views of its memory, refusals that name the column."""

import datetime
from decimal import Decimal

import narwhals.stable.v1 as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from design.frames import CODES, COLUMNS, FRAMES, LEVELS, NUMBERS

from neglog.design import Codes, Dense, read


@pytest.mark.parametrize("frame", FRAMES)
def test_every_library_gives_the_same_design(frame):
    design = read(frame())
    assert design.names == ("Age", "Area[A]", "Area[B]", "Area[C]", "Cars", "Urban")
    assert (design.rows, design.columns) == (4, 6)
    age, area, cars, urban = design.blocks
    for block, name in ((age, "Age"), (cars, "Cars"), (urban, "Urban")):
        assert isinstance(block, Dense)
        assert block.values.dtype == np.float64
        assert block.values.shape == (4, 1)
        assert np.array_equal(block.values[:, 0], NUMBERS[name])
    assert isinstance(area, Codes)
    assert area.codes.dtype == np.int32
    assert area.codes.flags.c_contiguous
    assert area.codes.tolist() == CODES
    assert area.levels == LEVELS
    assert (area.rows, area.columns, area.reference) == (4, 3, False)
    assert design.unseen == {}
    design.check_finite()


@pytest.mark.parametrize("frame", FRAMES)
def test_a_reference_level_has_no_coefficient_but_keeps_its_code(frame):
    design = read(frame(), reference=True)
    assert design.names == ("Age", "Area[B]", "Area[C]", "Cars", "Urban")
    area = design.blocks[1]
    assert (area.columns, area.reference, area.levels) == (2, True, LEVELS)
    assert area.codes.tolist() == CODES
    assert design.columns == sum(block.columns for block in design.blocks) == 5


@pytest.mark.parametrize("reference", [False, True])
def test_a_category_with_one_level(reference):
    design = read(pl.DataFrame({"a": ["x", "x"], "b": [1.0, 2.0]}), reference=reference)
    assert design.names == (("b",) if reference else ("a[x]", "b"))
    assert design.blocks[0].codes.tolist() == [0, 0]


@pytest.mark.parametrize("frame", FRAMES)
def test_a_frame_is_not_changed(frame):
    given, again = frame(), frame()
    read(given).check_finite()
    assert given.equals(again)


# ---- memory ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_floats_are_views_of_the_library_s_memory(dtype):
    values = np.arange(5, dtype=dtype)
    table = pa.table({"a": pa.array(values)})
    assert np.shares_memory(read(table).blocks[0].values, values)
    frame = pl.DataFrame({"a": values})
    assert np.shares_memory(read(frame).blocks[0].values, frame["a"].to_numpy())
    frame = pd.DataFrame({"a": values, "b": values + 1})
    for name, block in zip("ab", read(frame).blocks, strict=True):
        assert np.shares_memory(block.values, frame[name].to_numpy())
        assert block.values.dtype == dtype


@pytest.mark.parametrize("order", "CF")
def test_columns_of_one_pandas_block_are_views(order):
    values = np.ones((6, 3), order=order)
    frame = pd.DataFrame(values, columns=list("abc"), copy=False)
    assert all(np.shares_memory(block.values, frame.to_numpy()) for block in read(frame).blocks)


# ---- names and levels ------------------------------------------------------------------------------------------------


def test_names_that_are_not_strings_are_shown_as_text():
    assert read(pd.DataFrame(np.ones((2, 3)))).names == ("0", "1", "2")
    assert read(pd.DataFrame({("a", 1): ["u", "v"]})).names == ("('a', 1)[u]", "('a', 1)[v]")


@pytest.mark.parametrize(
    "frame",
    [
        lambda: pd.DataFrame([[1, 2]], columns=["a", "a"]),
        lambda: pd.DataFrame([[1, 2]], columns=[1, "1"]),
        lambda: pa.table([pa.array([1]), pa.array([2])], names=["a", "a"]),
    ],
)
def test_names_that_occur_twice_are_refused(frame):
    with pytest.raises(ValueError, match=r"must have different names, but '.' occurs more than once"):
        read(frame())


def test_levels_are_sorted_by_their_values():
    ages = pd.cut(pd.Series([3, 30, 12, 7]), [0, 5, 10, 20, 40])
    frame = pd.DataFrame({"age": ages, "power": pd.Categorical([10, 9, 10, 9]), "flag": pd.Categorical([True] * 4)})
    design = read(frame)
    assert design.blocks[0].levels == ("(0, 5]", "(5, 10]", "(10, 20]", "(20, 40]")
    assert design.blocks[0].codes.tolist() == [0, 3, 2, 1]
    assert design.blocks[1].levels == (9, 10)
    assert all(type(level) is int for level in design.blocks[1].levels)
    assert design.names[4:] == ("power[9]", "power[10]", "flag[True]")


def test_levels_of_several_types_have_an_order_too():
    frame = pd.DataFrame({"a": pd.Categorical(["x", 2, 1, "x"])})
    assert read(frame).names == ("a[1]", "a[2]", "a[x]")


def test_numbers_in_an_arrow_dictionary_are_levels():
    table = pa.table({"a": pa.array([20, 10, 20]).dictionary_encode()})
    assert read(table).names == ("a[10]", "a[20]")


def test_declared_levels_without_rows_have_no_coefficient():
    table = pa.table({"a": pa.DictionaryArray.from_arrays(pa.array([2, 0, 2]), pa.array(["z", "y", "x"]))})
    assert read(table).blocks[0].levels == ("x", "z")
    assert read(table).blocks[0].codes.tolist() == [0, 1, 0]


def test_many_levels(rng):
    codes = rng.integers(0, 5000, 20_000)
    names = np.char.add("k", np.char.zfill(codes.astype(str), 4))
    levels, expected = np.unique(names, return_inverse=True)
    for frame in (pd.DataFrame({"a": names}), pl.DataFrame({"a": names.tolist()}), pa.table({"a": names.tolist()})):
        block = read(frame).blocks[0]
        assert block.levels == tuple(levels.tolist())
        assert np.array_equal(block.codes, expected)


# ---- types -----------------------------------------------------------------------------------------------------------


def test_numbers_that_numpy_does_not_have():
    prices = [Decimal("1.50"), Decimal("2.25")]
    wide = pl.DataFrame({"a": [1, 2]}).with_columns(pl.col("a").cast(pl.Int128))
    frames = [
        pl.DataFrame({"a": prices}),
        pa.table({"a": prices}),
        pd.DataFrame({"a": prices}),
        pd.DataFrame({"a": pd.Series(prices, dtype=pd.ArrowDtype(pa.decimal128(5, 2)))}),
    ]
    for frame in frames:
        assert read(frame).blocks[0].values.tolist() == [[1.5], [2.25]]
    assert read(wide).blocks[0].values.tolist() == [[1.0], [2.0]]


def test_half_precision_becomes_double():
    frame = pd.DataFrame({"a": np.ones(3, np.float16)})
    assert read(frame).blocks[0].values.dtype == np.float64


DAY = datetime.date(2024, 2, 29)


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (lambda: pd.DataFrame({"t": pd.to_timedelta([1, 2])}), "'t' has the type Duration"),
        (lambda: pd.DataFrame({"t": pd.period_range("2024", periods=2, freq="M")}), r"'t' has the type period\[M\]"),
        (lambda: pd.DataFrame({"t": [DAY, 1]}, dtype=object), r"'t' has the type object \(date, int\)"),
        (lambda: pd.DataFrame({"t": [1, "a"]}, dtype=object), r"'t' has the type object \(int, str\)"),
        (lambda: pd.DataFrame({"t": [[1], [2]]}), r"'t' has the type object \(list\)"),
        (lambda: pd.DataFrame({"t": [1j, 2j]}), "'t' has the type complex128"),
        (lambda: pl.DataFrame({"t": [DAY], "u": [[1]]}), r"'u' has the type List\(Int64\)"),
        (lambda: pl.DataFrame({"t": pl.Series([object()], dtype=pl.Object)}), "'t' has the type Object"),
        (lambda: pa.table({"t": [datetime.time(12)]}), "'t' has the type Time"),
    ],
)
def test_types_that_are_neither_numbers_nor_categories_are_refused(frame, message):
    with pytest.raises(
        TypeError, match=f"{message}.*; a column may hold numbers, booleans, dates, strings or categories"
    ):
        read(frame())


# ---- missing values --------------------------------------------------------------------------------------------------


def holes(frame):
    """The table with holes in rows 1 and 3 of Area and row 2 of Cars."""
    if isinstance(frame, pd.DataFrame):
        frame = frame.copy()
        frame.loc[[1, 3], "Area"] = None
        frame["Cars"] = frame["Cars"].astype("Int64" if frame["Cars"].dtype == np.int64 else frame["Cars"].dtype)
        frame.loc[2, "Cars"] = None
        return frame
    if isinstance(frame, pl.DataFrame):
        row = pl.int_range(pl.len())
        area = pl.when(~row.is_in([1, 3])).then(pl.col("Area"))
        return frame.with_columns(area.alias("Area"), pl.when(row != 2).then(pl.col("Cars")).alias("Cars"))
    area, cars = frame["Area"].to_pylist(), frame["Cars"].to_pylist()
    area[1] = area[3] = cars[2] = None
    frame = frame.set_column(1, "Area", pa.array(area).cast(frame["Area"].type))
    return frame.set_column(2, "Cars", pa.array(cars))


@pytest.mark.parametrize("frame", FRAMES)
def test_missing_values_are_refused_by_column_count_and_first_row(frame):
    message = "X has missing values: column 'Area' has 2, the first in row 1; 'Cars' has 1, the first in row 2; drop"
    with pytest.raises(ValueError, match=message):
        read(holes(frame()))


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.table])
def test_nan_among_floats_is_left_to_the_scan_unless_something_else_is_missing(library):
    numbers = np.array([1.0, np.nan, np.inf])
    design = read(library({"a": numbers, "b": [1, 2, 3]}))
    with pytest.raises(ValueError, match=r"missing values: column 'a' has 1, the first in row 1; .*infinite .* row 2"):
        design.check_finite()
    with pytest.raises(ValueError, match="column 'a' has 1, the first in row 1; 's' has 1, the first in row 0; drop"):
        read(library({"a": numbers, "s": [None, "x", "y"]}))


def test_a_scan_names_the_right_column_after_a_category():
    frame = pl.DataFrame({"s": ["x", "y", "z"], "a": [1.0, 2.0, float("inf")]})
    with pytest.raises(ValueError, match="infinite values: column 'a' has 1, the first in row 2; drop"):
        read(frame, reference=True).check_finite()


@pytest.mark.parametrize(
    "frame",
    [
        lambda: pd.DataFrame({"a": [None, None]}, dtype=object),
        lambda: pl.DataFrame({"a": [None, None]}),
        lambda: pa.table({"a": pa.nulls(2)}),
        lambda: pd.DataFrame({"a": [np.nan, pd.NA]}, dtype=object),
        lambda: pd.DataFrame({"a": pd.Categorical([None, None], categories=["x"])}),
    ],
)
def test_columns_of_nothing_are_missing(frame):
    with pytest.raises(ValueError, match="column 'a' has 2, the first in row 0"):
        read(frame())


def test_a_null_inside_an_arrow_dictionary_is_missing():
    values = pa.DictionaryArray.from_arrays(pa.array([0, 1, 0]), pa.array(["x", None]))
    for frame in (pa.table({"a": values}), pd.DataFrame({"a": pd.Series(values, dtype=pd.ArrowDtype(values.type))})):
        with pytest.raises(ValueError, match="column 'a' has 1, the first in row 1"):
            read(frame)


# ---- what is no table ------------------------------------------------------------------------------------------------


def test_frames_of_narwhals_itself():
    assert read(nw.from_native(pl.DataFrame(COLUMNS), eager_only=True)).columns == 6


@pytest.mark.parametrize("column", [pd.Series([1.0]), pl.Series([1.0]), pa.chunked_array([[1.0]])])
def test_one_column_is_no_table(column):
    with pytest.raises(ValueError, match=r"is one column \(.*\); make a table"):
        read(column)


@pytest.mark.parametrize("frame", [pl.LazyFrame({"a": [1]}), pa.record_batch({"a": [1]})])
def test_what_is_not_a_table_in_memory_is_refused(frame):
    with pytest.raises(TypeError, match=r"X is a (polars|pyarrow)\..*; collect it into one first"):
        read(frame)


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.table])
def test_tables_without_rows_are_refused(library):
    with pytest.raises(ValueError, match="at least one row"):
        read(library({"a": []}))


def test_a_table_without_columns_has_rows_in_pandas():
    design = read(pd.DataFrame(index=range(3)))
    assert (design.rows, design.columns, design.blocks, design.names) == (3, 0, (), ())
