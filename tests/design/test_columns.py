"""y, weights, offset and exposure: as arrays, as columns of a library, by name; what is wrong is said with its row."""

from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from design.frames import COLUMNS, FRAMES

from neglog.design import column, read, split

X = np.ones((4, 2))

# ---- values ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "values",
    [
        [1, 2, 3, 4],
        (1.0, 2.0, 3.0, 4.0),
        np.arange(1, 5),
        np.arange(1.0, 5.0)[:, np.newaxis],
        np.array([1, 2.0, Decimal(3), True + 3], object),
        np.arange(1.0, 5.0).astype(">f8"),
        np.ma.masked_array([1.0, 2.0, 3.0, 4.0]),
        pd.Series([1, 2, 3, 4], index=list("dcba")),
        pd.Series([1, 2, 3, 4], dtype="Int64"),
        pd.Series([1, 2, 3, 4], dtype="int64[pyarrow]"),
        pd.Series([1, 2, 3, 4], dtype=object),
        pd.DataFrame({"y": [1, 2, 3, 4]}),
        pl.Series([1, 2, 3, 4]),
        pl.DataFrame({"y": [1, 2, 3, 4]}),
        pl.Series([Decimal(1), Decimal(2), Decimal(3), Decimal(4)]),
        pa.chunked_array([[1, 2], [3, 4]]),
        pa.array([1, 2, 3, 4]),
        range(1, 5),
    ],
    ids=lambda values: f"{type(values).__module__}.{type(values).__name__}",
)
def test_numbers_come_as_one_contiguous_double_precision_array(values):
    array = column(X, values, "y")
    assert type(array) is np.ndarray
    assert array.dtype == np.float64
    assert array.dtype.isnative
    assert array.flags.c_contiguous
    assert array.tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_floats_are_not_copied(dtype):
    y = np.arange(4, dtype=dtype)
    for values in (y, pd.Series(y, copy=False), pa.chunked_array([pa.array(y)])):
        assert np.shares_memory(column(X, values, "y"), y)
        assert column(X, values, "y").dtype == dtype


def test_strided_values_are_made_contiguous_and_booleans_numbers():
    assert column(X, np.arange(8.0)[::2], "y").flags.c_contiguous
    assert column(X, np.arange(4.0)[::-1], "y").tolist() == [3, 2, 1, 0]
    for values in ([True, False, True, True], pl.Series([True, False, True, True])):
        assert column(X, values, "y").tolist() == [1, 0, 1, 1]


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["a", "b", "c", "a"], "U"),
        (np.array(["a", "b", "c", "a"], object), "O"),
        ([3, 1, 2, 3], "i"),
        ([True, False, True, True], "b"),
        (np.array([1.0, 2.0, 1.0, 2.0], np.float32), "f"),
        (pd.Series(["a", "b", "c", "a"], dtype="category"), "O"),
        (pd.Series([1, 2, 3, 1], dtype="Int64"), "i"),
        (pl.Series(["a", "b", "c", "a"], dtype=pl.Enum(["c", "b", "a"])), "OU"),
        (pl.Series([True, False, True, True]), "b"),
        (pa.chunked_array([["a", "b"], ["c", "a"]]), "O"),
    ],
)
def test_labels_keep_their_own_kind(values, kind):
    array = column(X, values, "y", numeric=False)
    assert array.dtype.kind in kind
    assert array.flags.c_contiguous
    expected = values.to_pylist() if isinstance(values, pa.ChunkedArray) else list(values)
    assert array.tolist() == expected


def test_infinities_are_left_to_who_knows_the_support():
    assert column(X, [1, 2, np.inf, 3], "y")[2] == np.inf


# ---- refusals --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "rows", [X, X.tolist(), sp.csr_array(X), pd.DataFrame(X), pl.DataFrame(X), pa.table({"a": [1] * 4})]
)
@pytest.mark.parametrize("values", [[1, 2, 3], pl.Series([1, 2, 3])])
def test_a_wrong_length_is_said_with_both_lengths(rows, values):
    with pytest.raises(ValueError, match="offset must have one value per row of X, but has 3 for 4 rows"):
        column(rows, values, "offset")


@pytest.mark.parametrize("values", [1.0, np.ones((4, 2)), np.ones((1, 4)), pl.DataFrame(np.ones((4, 2)))])
def test_a_wrong_shape_is_refused(values):
    with pytest.raises(ValueError, match="exposure must have one value per row, 4 of them, but has the shape"):
        column(X, values, "exposure")


@pytest.mark.parametrize("numeric", [True, False])
@pytest.mark.parametrize(
    "values",
    [
        [0.0, np.nan, 1.0, np.nan],
        [0, None, 1, None],
        np.array([0, pd.NA, 1, pd.NaT], object),
        np.ma.masked_array([0, 1, 2, 3], mask=[0, 1, 0, 1]),
        pd.Series([0.0, np.nan, 1.0, np.nan]),
        pd.Series([0, None, 1, None], dtype="Int64"),
        pd.Series([0, None, 1, None], dtype="double[pyarrow]"),
        pl.Series([0, None, 1, None]),
        pl.Series([0.0, None, 1.0, float("nan")]),
        pa.chunked_array([[0.0, None], [1.0, float("nan")]]),
    ],
    ids=lambda values: f"{type(values).__module__}.{type(values).__name__}" if not isinstance(values, bool) else None,
)
def test_missing_values_are_refused_with_count_and_first_row(values, numeric):
    with pytest.raises(
        ValueError, match="y has missing values in 2 of 4 rows, the first in row 1; drop these rows, as"
    ):
        column(X, values, "y", numeric=numeric)


@pytest.mark.parametrize(
    "values", [["a", None, "b", "c"], pd.Series(["a", None, "b", "c"]), pl.Series(["a", None, "b", "c"])]
)
def test_missing_labels_are_refused(values):
    with pytest.raises(ValueError, match="y has missing values in 1 of 4 rows, the first in row 1"):
        column(X, values, "y", numeric=False)


@pytest.mark.parametrize(
    "values",
    [list("abcd"), np.array(list("abcd"), object), pd.Series(list("abcd")), pl.Series(list("abcd")), [1j] * 4],
)
def test_what_is_not_numbers_is_refused(values):
    with pytest.raises(TypeError, match="sample_weight must hold numbers, but"):
        column(X, values, "sample_weight")


# ---- names -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("frame", FRAMES)
def test_a_column_may_be_called_by_name(frame):
    assert column(frame(), "Cars", "y").tolist() == COLUMNS["Cars"]
    assert column(frame(), "Area", "y", numeric=False).tolist() == COLUMNS["Area"]
    with pytest.raises(TypeError, match="y must hold numbers, but has the type"):
        column(frame(), "Area", "y")
    with pytest.raises(ValueError, match="y is the name 'Claims', but X has no such column; it has 'Age', 'Area'"):
        column(frame(), "Claims", "y")


@pytest.mark.parametrize("rows", [X, X.tolist(), sp.csr_array(X)])
def test_an_array_has_no_names(rows):
    with pytest.raises(TypeError, match="y is the name 'Claims', but X is not a table with named columns"):
        column(rows, "Claims", "y")
    with pytest.raises(TypeError, match="y is the name 'Claims', but X is not a table with named columns"):
        split(rows, {"y": "Claims"})


@pytest.mark.parametrize("frame", FRAMES)
def test_columns_called_by_name_leave_the_design(frame):
    given = frame()
    rest, values = split(
        given, {"y": "Area", "exposure": "Age", "sample_weight": [1, 2, 3, 4], "offset": None}, labels=["y"]
    )
    assert values["y"].tolist() == COLUMNS["Area"]
    assert values["exposure"].tolist() == COLUMNS["Age"]
    assert values["sample_weight"].tolist() == [1, 2, 3, 4]
    assert values["offset"] is None
    assert read(rest).names == ("Cars", "Urban")
    assert rest.shape == (4, 2)
    assert given.equals(frame())


def test_a_hole_in_a_named_column_is_not_a_hole_in_the_design():
    frame = pl.DataFrame({"a": [1, 2], "y": [1.0, None]})
    with pytest.raises(ValueError, match="y has missing values in 1 of 2 rows, the first in row 1"):
        split(frame, {"y": "y"})
    rest, _ = split(frame.with_columns(z=pl.lit(1)), {"y": "z"})
    with pytest.raises(ValueError, match="X has missing values: column 'y' has 1"):
        read(rest)


@pytest.mark.parametrize("rows", [X, X.tolist(), sp.csr_array(X), pl.DataFrame(X)])
def test_without_names_the_same_object_comes_back(rows):
    rest, values = split(rows, {"y": [1, 2, 3, 4], "offset": None})
    assert rest is rows
    assert values["y"].tolist() == [1, 2, 3, 4]


def test_a_table_of_nothing_but_named_columns_keeps_its_rows():
    rest, _ = split(pl.DataFrame({"y": [1, 2, 3]}), {"y": "y"})
    assert (read(rest).rows, read(rest).columns) == (3, 0)


def test_a_view_of_a_table_can_be_split_and_predicted_again():
    frame = pd.DataFrame(COLUMNS)
    rest, _ = split(frame, {"y": "Cars"})
    again, values = split(rest, {"exposure": "Age"})
    assert read(again).names == ("Area[A]", "Area[B]", "Area[C]", "Urban")
    assert values["exposure"].tolist() == COLUMNS["Age"]
    with pytest.raises(ValueError, match="no such column; it has 'Area', 'Urban'"):
        column(again, "Cars", "y")
    assert read(again).schema.read(frame).names == read(again).names
