"""Rows in files: every way to name them, sums that depend on nothing but the rows, and errors that name the file."""

import gzip
import os
import threading

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, feather, parquet

from neglog.engines import files
from neglog.engines.files import Files


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    """So that small tables have many pieces and batches."""
    monkeypatch.setattr(files, "ROWS_AT_ONCE", 64)
    monkeypatch.setattr(files, "ROWS_OF_PIECE", 100)


def table(n=1000, seed=0):
    rng = np.random.default_rng(seed)
    return pa.table({"x": rng.normal(size=n), "k": rng.integers(0, 9, n), "s": rng.choice(["a", "b", "c"], n)})


def summed(source, columns=("x", "k")):
    """The sum over rows, the number of rows, and the tables' first row numbers."""

    def work(part, first):
        return np.array([part.column(name).to_numpy().sum() for name in columns]), part.num_rows, [first]

    return source.total(work, list(columns))


@pytest.fixture
def folder(tmp_path):
    whole = table()
    parquet.write_table(whole.slice(0, 600), tmp_path / "a.parquet", row_group_size=90)
    parquet.write_table(whole.slice(600), tmp_path / "b.parquet", row_group_size=70)
    return tmp_path


@pytest.mark.parametrize("how", ["glob", "directory", "list", "path"])
def test_files_can_be_named_in_many_ways(folder, how):
    paths = {
        "glob": str(folder / "*.parquet"),
        "directory": folder,
        "list": [folder / "a.parquet", str(folder / "b.parquet")],
        "path": folder / "a.parquet",
    }[how]
    expected = table().slice(0, 600) if how == "path" else table()
    sums, rows, firsts = summed(Files(paths))
    assert rows == expected.num_rows
    np.testing.assert_allclose(sums, [expected["x"].to_numpy().sum(), expected["k"].to_numpy().sum()], rtol=1e-12)
    assert firsts == sorted(firsts)
    assert firsts[0] == 0


def test_sums_do_not_depend_on_the_number_of_threads(folder):
    one, four = (summed(Files(folder, threads=threads))[0] for threads in (1, 4))
    assert one.tobytes() == four.tobytes()


def test_only_the_columns_that_are_asked_for_are_read(folder):
    seen = []
    Files(folder).total(lambda part, _: seen.append(part.column_names) or 0, ["k"])
    assert set(map(tuple, seen)) == {("k",)}


def test_directories_may_name_columns(tmp_path):
    whole = table(90)
    for year in (2019, 2020):
        for area in ("north", "south sea"):
            place = tmp_path / f"year={year}" / f"area={area.replace(' ', '%20')}"
            place.mkdir(parents=True)
            parquet.write_table(whole, place / "part.parquet")
    (tmp_path / "_SUCCESS").write_text("")
    (tmp_path / "year=2019" / ".part.parquet.crc").write_bytes(b"x")
    source = Files(tmp_path)
    found = source.total(
        lambda part, _: {(part["year"][0].as_py(), part["area"][0].as_py()): part.num_rows}, ["year", "area"]
    )
    assert found == {(year, area): 90 for year in (2019.0, 2020.0) for area in ("north", "south sea")}


def test_text_and_arrow_files(tmp_path):
    whole = table(500)
    csv.write_csv(whole.slice(0, 200), tmp_path / "1.csv", csv.WriteOptions(delimiter=";"))
    csv.write_csv(whole.slice(200), tmp_path / "2.csv")
    with open(tmp_path / "2.csv", "rb") as plain, gzip.open(tmp_path / "2.csv.gz", "wb") as packed:
        packed.write(plain.read())
    os.remove(tmp_path / "2.csv")
    feather.write_feather(whole, str(tmp_path / "whole.arrow"), compression="uncompressed")
    text, arrow = Files([tmp_path / "1.csv", tmp_path / "2.csv.gz"]), Files(tmp_path / "whole.arrow")
    assert text.lengths is None
    rows = text.total(lambda part, _: part.num_rows, ["x"], count=int)
    assert (rows, text.lengths) == (500, [200, 300])
    np.testing.assert_allclose(summed(text)[0], summed(arrow)[0], rtol=1e-12)
    assert summed(text)[2][0] == 0
    assert 200 in summed(text)[2]
    assert text.where(250).startswith("row 50 of")
    strings = text.total(lambda part, _: dict.fromkeys(part["s"].to_pylist(), 1), ["s"])
    assert set(strings) == {"a", "b", "c"}


def test_a_row_is_named_by_its_file(folder):
    source = Files(folder)
    assert source.where(0) == f"row 0 of {folder / 'a.parquet'}"
    assert source.where(999) == f"row 399 of {folder / 'b.parquet'}"


# ---- faults ----------------------------------------------------------------------------------------------------------


def test_a_truncated_file_is_named(folder):
    path = folder / "b.parquet"
    whole = path.read_bytes()
    path.write_bytes(whole[:-2000])
    with pytest.raises(ValueError, match=r"b\.parquet cannot be read"):
        Files(folder)
    damaged = bytearray(whole)
    damaged[200:1800] = bytes(1600)
    path.write_bytes(damaged)
    with pytest.raises(ValueError, match=r"b\.parquet, row groups? \d+.* cannot be read"):
        summed(Files(folder))


def test_a_bad_line_is_named(tmp_path):
    many = 1 << 18  # lines, more than those that the types are guessed from
    (tmp_path / "bad.csv").write_text("x,k\n" + "1.5,2\n" * many + "1.5,two\n" + "1.5,2\n")
    with pytest.raises(ValueError, match=rf"bad\.csv cannot be read: .*Row #{many + 2}: .*'two'"):
        Files(tmp_path / "bad.csv").total(lambda part, _: part.num_rows, ["x", "k"])
    (tmp_path / "short.csv").write_text("x,k\n" + "1.5,2\n" * 40 + "1.5\n")
    with pytest.raises(ValueError, match=r"short\.csv cannot be read: .*Expected 2 columns, got 1"):
        Files(tmp_path / "short.csv").total(lambda part, _: part.num_rows, ["x"])


def test_differing_columns_are_named(tmp_path):
    parquet.write_table(pa.table({"x": [1.0], "s": ["a"]}), tmp_path / "1.parquet")
    parquet.write_table(pa.table({"x": [1.0]}), tmp_path / "2.parquet")
    with pytest.raises(ValueError, match=r"2\.parquet lacks the columns 's', which .*1\.parquet has"):
        Files(tmp_path)
    parquet.write_table(pa.table({"x": ["1"], "s": ["a"]}), tmp_path / "2.parquet")
    with pytest.raises(ValueError, match=r"the column 'x' is .* in .*2\.parquet, but double in .*1\.parquet"):
        Files(tmp_path)
    parquet.write_table(pa.table({"x": [1.0], "s": ["a"], "z": [0]}), tmp_path / "2.parquet")
    with pytest.raises(ValueError, match=r"2\.parquet has the columns 'z', which .*1\.parquet has not"):
        Files(tmp_path)


def test_a_file_that_changes_or_vanishes_is_named(folder):
    source = Files(folder)
    parquet.write_table(table(400, seed=1), folder / "b.parquet", row_group_size=70)
    with pytest.raises(ValueError, match=r"b\.parquet changed since the work began"):
        summed(source)
    os.remove(folder / "b.parquet")
    with pytest.raises(FileNotFoundError, match=r"b\.parquet is no longer there"):
        summed(source)


def test_nothing_there_is_said(tmp_path):
    for path in (tmp_path / "none.parquet", tmp_path / "*.csv", tmp_path):
        with pytest.raises(FileNotFoundError, match="there is no file"):
            Files(path)
    (tmp_path / "notes.docx").write_text("")
    with pytest.raises(ValueError, match=r"\.docx"):
        Files(tmp_path / "notes.docx")


def test_an_error_ends_all_threads(folder):
    before = threading.active_count()

    def work(part, first):
        if first > 300:
            raise ZeroDivisionError
        return 0

    with pytest.raises(ZeroDivisionError):
        Files(folder, threads=4).total(work, ["x"])
    assert threading.active_count() == before


def test_progress_counts_rows(folder):
    seen = []
    source = Files(folder, watch=lambda rows, everything: seen.append((rows, everything)))
    summed(source)
    assert seen[-1] == (1000, 1000)
    assert [rows for rows, _ in seen] == sorted(rows for rows, _ in seen)
    assert source.passes == 1
