"""Files that are not quite alike: read as one where that loses nothing, refused with a sentence where it would."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

import neglog as nl
from neglog.design.files import open_batches, open_table

N = 300


def table():
    rng = np.random.default_rng(0)
    days = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 500, N), "D")
    columns = {"a": rng.integers(0, 9, N), "b": rng.integers(0, 99, N), "area": rng.choice(["land", "sea", "town"], N)}
    return pd.DataFrame({**columns, "new": rng.random(N) < 0.5, "day": days, "y": rng.normal(size=N)})


def write(rows, path):
    rows = pa.Table.from_pandas(rows, preserve_index=False)
    if path.suffix == ".csv":
        csv.write_csv(rows, path)
    elif path.suffix == ".arrow":
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, rows.schema) as writer:
            writer.write_table(rows)
    else:
        parquet.write_table(rows, path)


WIDTHS = {
    "int64 and double": ({"a": "int64"}, {"a": "float64"}),
    "double and int16": ({"a": "float64"}, {"a": "int16"}),
    "unsigned and float32": ({"a": "uint8"}, {"a": "float32"}),
    "booleans and integers": ({"new": bool}, {"new": "int64"}),
    "texts and categories": ({"area": str}, {"area": "category"}),
    "moments of two units": ({"day": "datetime64[s]"}, {"day": "datetime64[ns]"}),
}


@pytest.mark.parametrize("types", list(WIDTHS.values()), ids=list(WIDTHS))
@pytest.mark.parametrize("endings", [("parquet", "parquet"), ("csv", "parquet"), ("arrow", "csv"), ("arrow", "arrow")])
def test_columns_of_different_width_are_one_column(types, endings, tmp_path):
    whole = table()
    for i, (own, ending) in enumerate(zip(types, endings, strict=True)):
        write(whole.iloc[150 * i : 150 * i + 150].astype(own), tmp_path / f"{i}.{ending}")
    found, memory = nl.fit(tmp_path, "y"), nl.fit(whole, "y")
    assert found.names == memory.names
    np.testing.assert_allclose(found.coef, memory.coef, rtol=1e-9)
    cached = nl.fit(tmp_path, "y", cache=tmp_path / ".cache")
    np.testing.assert_allclose(cached.coef, memory.coef, rtol=1e-9)
    found.predict_to(tmp_path / "_out", str(tmp_path / "[01].*"))
    predicted = parquet.read_table(tmp_path / "_out")["prediction"].to_numpy()
    np.testing.assert_allclose(predicted, memory.predict(whole), rtol=1e-9)


def test_columns_of_different_kinds_are_refused(tmp_path):
    whole = table()
    write(whole, tmp_path / "0.parquet")
    write(whole.astype({"a": str}), tmp_path / "1.parquet")
    with pytest.raises(ValueError, match=r"the column 'a' is .*string.* in .*1\.parquet, but int64 in .*0\.parquet"):
        nl.fit(tmp_path, "y")


def test_a_header_that_names_a_column_twice_is_refused(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("a,b,a,y\n" + "1,2,3,4\n5,6,8,8\n2,1,1,9\n")
    for read in (open_table, lambda path: list(open_batches(path, {"a": None})), lambda path: nl.fit(path, "y")):
        with pytest.raises(ValueError, match=r"rows\.csv has the columns 'a' more than once"):
            read(path)


@pytest.mark.parametrize(
    "values", [["1,5", "2,25", "-3,0", "4"], ["1.234,5", "17,0", "3", "2"], ["1,234", "17", "2", "3"]]
)
def test_numbers_with_a_comma_are_no_categories(values, tmp_path):
    text = "a;y;z\n" + "".join(f"{value};{i};{value}\n" for i, value in enumerate(values * 3))
    path = tmp_path / "rows.csv"
    path.write_text(text)
    comma = "numbers written with a comma, such as '"
    with pytest.raises(TypeError, match=comma):
        nl.fit(path, "y")
    with pytest.raises(TypeError, match=comma):
        nl.compare(path, "z", folds=2)
    with pytest.raises(TypeError, match=comma):
        nl.fit(path, "z", nl.Categorical())
    for rows in (open_table(path), pd.read_csv(path, sep=";", dtype=str).astype({"y": float})):
        with pytest.raises(TypeError, match=comma):
            nl.fit(rows, "y")
        with pytest.raises(TypeError, match=comma):
            nl.compare(rows, "z", folds=2)
    categories = pd.read_csv(path, sep=";", dtype={"a": "category", "z": "category"})
    assert len(nl.fit(categories[["a", "y"]], "y", nl.Gaussian(), nl.Gaussian(scale=1.0)).names) == 4


def test_texts_that_only_look_a_little_like_numbers_are_categories(tmp_path):
    for values in (["1,5", "two"], ["7", "8"], ["a,b", "c,d"], ["2020-01", "1,5"]):
        rows = pd.DataFrame({"a": values * 10, "y": np.arange(20.0)})
        assert len(nl.fit(rows, "y").names) == 1
        rows.to_parquet(tmp_path / "rows.parquet")
        assert len(nl.fit(tmp_path / "rows.parquet", "y").names) == 1
