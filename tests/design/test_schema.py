"""A schema gives new data the coefficients of the old: by name, by number, with unknown levels, through JSON."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from design.frames import CODES, COLUMNS, FRAMES, LEVELS

from neglog.design import Column, Schema, read


def through_json(schema):
    return Schema.from_json(json.loads(json.dumps(schema.to_json())))


@pytest.mark.parametrize("reference", [False, True])
@pytest.mark.parametrize("frame", FRAMES)
def test_a_schema_survives_json(frame, reference):
    schema = read(frame(), reference=reference).schema
    again = through_json(schema)
    assert again == schema
    assert hash(again) == hash(schema)
    assert again.names == schema.names
    assert again.columns == len(schema.names)


def test_what_a_schema_says():
    stored = read(pl.DataFrame(COLUMNS), reference=True).schema.to_json()
    assert stored == {
        "columns": 4,
        "names": ["Age", "Area", "Cars", "Urban"],
        "kinds": ["numeric", "categorical", "numeric", "numeric"],
        "levels": [None, ["A", "B", "C"], None, None],
        "fill": [None] * 4,
        "reference": True,
    }
    schema = read(np.ones((2, 3))).schema
    assert schema.to_json() == {
        "columns": 3,
        "names": None,
        "kinds": None,
        "levels": None,
        "fill": None,
        "reference": False,
    }
    assert through_json(schema) == schema


def test_levels_of_every_type_survive_json():
    frame = pd.DataFrame(
        {
            "i": pd.Categorical([2, 10]),
            "f": pd.Categorical([0.1, 2.5]),
            "b": pd.Categorical([True, False]),
            "cut": pd.cut(pd.Series([1, 7]), [0, 5, 10]),
            "t": pd.Categorical(pd.to_datetime(["2024-02-29", "2023-01-01"])),
        }
    )
    schema = through_json(read(frame).schema)
    design = schema.read(frame)
    assert design.unseen == {}
    assert [block.codes.tolist() for block in design.blocks] == [[0, 1], [0, 1], [1, 0], [0, 1], [1, 0]]


# ---- tables ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("new", FRAMES)
@pytest.mark.parametrize("old", [FRAMES[0], FRAMES[5], FRAMES[9], FRAMES[-2]])
def test_any_library_may_predict_for_any_other(old, new):
    fitted = read(old(), reference=True)
    design = through_json(fitted.schema).read(new())
    assert design.names == fitted.names
    assert design.schema == fitted.schema
    assert design.unseen == {}
    assert design.blocks[1].codes.tolist() == CODES
    assert design.blocks[1].reference
    for block, other in zip(design.blocks[::2], fitted.blocks[::2], strict=True):
        assert np.array_equal(block.values, other.values)


def test_columns_are_matched_by_name():
    schema = read(pl.DataFrame(COLUMNS)).schema
    names = ["Urban", "Extra", "Cars", "Area", "Age"]
    design = schema.read(pd.DataFrame({**COLUMNS, "Extra": pd.date_range("2024", periods=4)})[names])
    assert design.names == ("Age", "Area[A]", "Area[B]", "Area[C]", "Cars", "Urban")
    assert design.blocks[0].values[:, 0].tolist() == COLUMNS["Age"]


def test_only_the_columns_of_the_schema_must_be_complete():
    schema = read(pl.DataFrame({"a": [1, 2]})).schema
    schema.read(pl.DataFrame({"a": [1, 2], "b": [None, "x"]}))
    with pytest.raises(ValueError, match="column 'a' has 1, the first in row 1"):
        schema.read(pl.DataFrame({"a": [1, None], "b": [None, "x"]}))


def test_a_missing_column_is_named():
    schema = read(pl.DataFrame(COLUMNS)).schema
    with pytest.raises(ValueError, match="X lacks the columns 'Area', 'Cars' of the model; it has 'Age', 'Urban'"):
        schema.read(pl.DataFrame(COLUMNS).drop("Area", "Cars"))


@pytest.mark.parametrize("frame", FRAMES)
def test_unknown_levels_get_the_code_minus_one_and_are_counted(frame):
    schema = Schema(1, (Column("Area", ("A", "B")),))
    design = schema.read(frame())
    assert design.blocks[0].codes.tolist() == [-1, 0, 1, -1]
    assert design.blocks[0].levels == ("A", "B")
    assert design.unseen == {"Area": 2}
    assert design.names == ("Area[A]", "Area[B]")


def test_levels_that_no_new_row_has_keep_their_coefficients():
    schema = read(pl.DataFrame(COLUMNS)).schema
    design = schema.read(pl.DataFrame(COLUMNS)[1:2])
    assert design.columns == 6
    assert design.blocks[1].codes.tolist() == [0]
    assert design.blocks[1].levels == LEVELS


def test_numbers_may_stand_for_levels_that_are_numbers():
    schema = read(pd.DataFrame({"a": pd.Categorical([9, 10, 11])})).schema
    design = schema.read(pl.DataFrame({"a": [11, 12, 9, 12]}))
    assert design.blocks[0].codes.tolist() == [2, -1, 0, -1]
    assert design.unseen == {"a": 2}


def test_a_column_that_changed_its_kind_is_refused():
    schema = read(pl.DataFrame(COLUMNS)).schema
    with pytest.raises(TypeError, match=r"'Area' of X held strings or categories .* such as 'A', but now .* \(Int64\)"):
        schema.read(pl.DataFrame({**COLUMNS, "Area": [1, 2, 3, 4]}))
    with pytest.raises(TypeError, match=r"'Cars' of X held numbers .* but is now categorical \(String\)"):
        schema.read(pl.DataFrame({**COLUMNS, "Cars": ["1", "2", "3", "4"]}))


def test_booleans_and_numbers_stand_for_each_other():
    schema = read(pl.DataFrame({"a": [True, False]})).schema
    assert schema.read(pl.DataFrame({"a": [0, 1]})).blocks[0].values.tolist() == [[0.0], [1.0]]


# ---- arrays ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("new", [np.ones((5, 3), np.float32), [[1, 2, 3]] * 5, sp.csr_array(np.ones((5, 3)))])
@pytest.mark.parametrize("old", [np.ones((2, 3)), sp.coo_array(np.ones((2, 3)))])
def test_arrays_are_matched_by_the_number_of_columns(old, new):
    design = read(old).schema.read(new)
    assert (design.rows, design.columns, design.names) == (5, 3, ("x0", "x1", "x2"))


@pytest.mark.parametrize("new", [np.ones((5, 2)), sp.csr_array((5, 2)), pl.DataFrame({"a": [1.0], "b": [2.0]})])
def test_another_number_of_columns_is_refused(new):
    with pytest.raises(ValueError, match="made from 3 columns, but X has 2"):
        read(np.ones((2, 3))).schema.read(new)


def test_an_array_may_follow_a_table_of_numbers():
    schema = read(pa.table({"b": [1, 2], "a": [3.0, 4.0]})).schema
    design = schema.read(np.arange(6.0).reshape(3, 2))
    assert design.names == ("b", "a")
    assert design.rows == 3
    with pytest.raises(ValueError, match="made from 2 columns, but X has 3"):
        schema.read(np.ones((2, 3)))


def test_an_array_cannot_follow_a_table_with_categories():
    schema = read(pl.DataFrame(COLUMNS)).schema
    with pytest.raises(TypeError, match="'Area' are categories; X must be a table with these columns, not an array"):
        schema.read(np.ones((2, 4)))


def test_a_table_of_numbers_may_follow_an_array():
    schema = read(np.ones((2, 2))).schema
    design = schema.read(pl.DataFrame({"b": [1, 2, 3], "a": [4.0, 5.0, 6.0]}))
    assert design.names == ("x0", "x1")
    assert np.hstack([block.values for block in design.blocks]).tolist() == [[1, 4], [2, 5], [3, 6]]
    with pytest.raises(TypeError, match="made from an array of numbers, but the columns 'a' of X are categories"):
        schema.read(pl.DataFrame({"b": [1, 2], "a": ["x", "y"]}))
