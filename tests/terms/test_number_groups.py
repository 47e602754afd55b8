"""Groups over columns of numbers: levels, wherever the rows are and however a library keeps the numbers."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import csv, feather, parquet

import neglog as nl
from neglog.engines import files
from neglog.evidence.maximum import Maximum

N = 1200
TERMS = ["x", nl.group("store"), nl.interaction(nl.group("half"), "x")]


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    """Many pieces of few rows, and scales at the very maximum, wherever the search of them begins."""
    monkeypatch.setattr(files, "ROWS_AT_ONCE", 150)
    monkeypatch.setattr(files, "ROWS_OF_PIECE", 300)
    monkeypatch.setattr(Maximum.find, "__defaults__", (1e-16, None))


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(7)
    rows = pd.DataFrame({"x": rng.normal(size=N), "store": rng.integers(1, 13, N), "half": rng.integers(0, 6, N) / 2})
    own = rng.normal(0, 0.6, 13)[rows.store] + rng.normal(0, 0.4, 6)[(2 * rows.half).astype(int)] * rows.x
    rows["y"] = rng.poisson(np.exp(0.3 + 0.2 * rows.x + own))
    return rows


def fitted(X, **settings):
    return nl.fit(X, "y", nl.Poisson(), terms=TERMS, tol=1e-10, progress=False, **settings)


def written(rows, place, kind):
    rows = rows if isinstance(rows, pa.Table) else pa.Table.from_pandas(rows, preserve_index=False)
    path = place / f"rows.{kind}"
    if kind == "parquet":
        parquet.write_table(rows, path, row_group_size=170)
    elif kind == "csv":
        csv.write_csv(rows, path)
    else:
        feather.write_feather(rows, path, compression="uncompressed")
    return str(path)


def same(found, memory, rows):
    assert found.names == memory.names
    assert found.nll == pytest.approx(memory.nll, rel=1e-9)
    for one, other in zip(found.terms, memory.terms, strict=True):
        assert one.scale is None or one.scale == pytest.approx(other.scale, rel=1e-6)
    np.testing.assert_allclose(found.raw_prediction(rows), memory.raw_prediction(rows), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("kind", ["parquet", "csv", "arrow"])
def test_files_are_as_memory(table, tmp_path, kind):
    memory, found = fitted(table), fitted(written(table, tmp_path, kind))
    assert memory.names[:3] == ("x", "store[1]", "store[2]")
    assert "half[0.5]:x" in memory.names
    same(found, memory, table)
    assert sum(term.effective for term in found.terms) > 10  # the levels do differ


@pytest.mark.parametrize(
    "make",
    [
        lambda t: t.astype({"store": "int8"}),
        lambda t: t.astype({"store": "float32"}),
        lambda t: t.astype({"store": "Int64"}),
        lambda t: t.assign(store=t.store + 2**60),  # which floats do not tell apart
        lambda t: t.assign(store=t.store - 7),
    ],
    ids=["small", "float", "nullable", "large", "negative"],
)
def test_however_the_numbers_are_kept(table, tmp_path, make):
    rows = make(table)
    memory = fitted(rows)
    same(fitted(written(rows, tmp_path, "parquet")), memory, rows)
    np.testing.assert_allclose(memory.predict(rows), fitted(table).predict(table), rtol=1e-8)
    same(fitted(pl.from_pandas(rows)), memory, rows)


def test_truths_and_decimals(table, tmp_path):
    rows = pa.Table.from_pandas(table.assign(half=table.store % 2 == 0), preserve_index=False)
    store = rows.column("store").cast(pa.decimal128(21, 2))
    rows = rows.set_column(rows.schema.get_field_index("store"), "store", store)
    memory, found = fitted(rows), fitted(written(rows, tmp_path, "parquet"))
    assert "half[False]:x" in memory.names
    same(found, memory, rows)


def test_floats_that_stand_for_several_whole_numbers_are_refused(table, tmp_path):
    large = table.assign(store=table.store + 2**60)
    broken = large.astype({"store": float})
    for rows in (broken, written(large, tmp_path, "csv"), written(broken, tmp_path, "parquet")):
        with pytest.raises(ValueError, match=r"'store' is to hold levels, but has floats as large as \d+, .*texts"):
            fitted(rows)
    lost = large.astype({"store": "Int64"})
    lost.loc[::50, "store"] = pd.NA
    same(fitted(written(lost, tmp_path, "parquet"), missing="impute"), fitted(lost, missing="impute"), lost)


@pytest.mark.parametrize("missing", ["drop", "impute"])
@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_missing_numbers(table, tmp_path, missing, kind):
    rows = table.assign(store=table.store.astype(float).where(np.random.default_rng(0).random(N) < 0.9))
    memory, found = (fitted(X, missing=missing) for X in (rows, written(rows, tmp_path, kind)))
    known = rows if missing == "impute" else rows.dropna()
    same(found, memory, known)
    assert ("store[(missing)]" in memory.names) == (missing == "impute")
    again = known.dropna()
    expected = memory.predict(again)
    np.testing.assert_allclose(memory.predict(again.astype({"store": int})), expected)  # 7 is the level of 7.0
    np.testing.assert_allclose(memory.predict(pl.from_pandas(again)), expected)
    memory.save(tmp_path / "model.json")
    np.testing.assert_allclose(nl.load(tmp_path / "model.json").predict(known), memory.predict(known))


@pytest.mark.parametrize("kind", ["memory", "parquet", "csv"])
def test_missing_numbers_are_refused(table, tmp_path, kind):
    rows = table.assign(store=table.store.astype(float).where(table.index != 700))
    with pytest.raises(ValueError, match=r"missing values: column 'store' has 1, the first in row 700"):
        fitted(rows if kind == "memory" else written(rows, tmp_path, kind))


def test_rare_levels_weights_and_a_cache(table, tmp_path):
    rng = np.random.default_rng(3)
    rows = table.assign(store=np.where(np.arange(N) % 400 == 0, 99, table.store), w=rng.integers(0, 3, N))
    path = written(rows, tmp_path, "parquet")
    memory = fitted(rows, rare=10, sample_weight="w")
    assert "store[99]" not in memory.names
    for cache in (None, tmp_path / "cache", tmp_path / "cache"):
        same(fitted(path, rare=10, sample_weight="w", cache=cache), memory, rows)


def test_other_places_of_a_group(table, tmp_path):
    """In a formula, in the terms of a parameter, and beside terms that are chosen."""
    path = written(table, tmp_path, "parquet")
    for y, noise, terms in (
        ("y ~ x + C(store)", nl.Poisson(), None),
        ("y", nl.NegativeBinomial(dispersion=nl.terms(nl.group("half"))), ["x"]),
        ("y", nl.NegativeBinomial(dispersion=nl.terms(nl.group("store"))), "smooth"),
    ):
        memory, found = (nl.fit(X, y, noise, terms=terms, tol=1e-10, progress=False) for X in (table, path))
        assert found.names == memory.names
        np.testing.assert_allclose(found.raw_prediction(table), memory.raw_prediction(table), rtol=1e-7, atol=1e-7)


def test_predictions_and_comparisons_of_files(table, tmp_path):
    path = written(table, tmp_path, "csv")
    fit = fitted(path)
    assert fit.predict_to(tmp_path / "out", path, keep=["x"], progress=False) == N
    out = pd.read_parquet(tmp_path / "out").sort_values("x")
    np.testing.assert_allclose(out.iloc[:, -1], fit.predict(table.sort_values("x")), rtol=1e-6)
    found, memory = (
        nl.compare(X, "y", ["poisson", "gaussian"], terms=TERMS, folds=2, progress=False) for X in (path, table)
    )
    assert found.table[0]["nats"] == pytest.approx(memory.table[0]["nats"], rel=1e-3)


def test_a_cluster_is_as_memory(table):
    distributed = pytest.importorskip("distributed", reason="the cluster, of the extra neglog[dask]")
    dataframes = pytest.importorskip("dask.dataframe", reason="of the extra neglog[dask]")
    settings = {"n_workers": 1, "threads_per_worker": 1, "processes": False, "dashboard_address": ":0"}
    with distributed.LocalCluster(**settings) as cluster, distributed.Client(cluster):
        same(fitted(dataframes.from_pandas(table, npartitions=4)), fitted(table), table)


def test_what_has_no_levels_is_refused(table, tmp_path):
    rows = table.assign(day=pd.Timestamp("2024-01-01") + pd.to_timedelta(table.store, unit="D"))
    for X in (rows, written(rows, tmp_path, "parquet")):
        for name, said in (("day", "'day' holds dates"), ("log(store)", "not of a function of one")):
            with pytest.raises(TypeError, match=said):
                nl.fit(X, "y", nl.Poisson(), terms=["x", nl.group(name)], progress=False)
    with pytest.raises(TypeError, match=r"'store' of X held numbers .* such as 1, but now holds texts, such as '7'"):
        fitted(table).predict(table.assign(store="7"))
