"""Fits, comparisons and predictions on a Dask cluster of processes: the same as of files and of memory."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

import neglog as nl

distributed = pytest.importorskip("distributed", reason="the cluster, of the extra neglog[dask]")
dataframes = pytest.importorskip("dask.dataframe", reason="of the extra neglog[dask]")

N = 4000


@pytest.fixture(scope="module")
def cluster():
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0", memory_limit="1GB"
        ) as made,
        distributed.Client(made) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    data = pd.DataFrame({"age": rng.uniform(18, 80, N), "area": rng.choice(["north", "south", "west"], N)})
    data["years"] = rng.uniform(0.1, 1, N)
    mean = data.years * np.exp(-1 + 0.02 * data.age + 0.3 * (data.area == "south"))
    return data.assign(claims=rng.poisson(mean))


@pytest.fixture(scope="module")
def paths(table, tmp_path_factory):
    folder = tmp_path_factory.mktemp("claims")
    rows = pa.Table.from_pandas(table, preserve_index=False)
    for i in range(4):
        parquet.write_table(rows.slice(1000 * i, 1000), folder / f"{i}.parquet", row_group_size=300)
    return str(folder / "*.parquet")


def test_without_a_client_the_call_says_how_to_get_one(paths):
    with pytest.raises(RuntimeError, match="Client"):
        nl.fit(paths, "claims", nl.Poisson(), engine="dask")


def check_same(found, memory):
    assert found.names == memory.names
    np.testing.assert_allclose(found.coef, memory.coef, atol=1e-10)
    assert found.nll == pytest.approx(memory.nll, rel=1e-12)
    np.testing.assert_allclose(found.standard_errors, memory.standard_errors, rtol=1e-7)


def test_a_modelled_parameter_is_that_of_rows_in_memory(cluster, table):
    noise = nl.NegativeBinomial(dispersion="model")
    rows = dataframes.from_pandas(table[["age", "claims"]], npartitions=5)
    prior = nl.Gaussian(scale=1.0)
    found = nl.fit(rows, "claims", noise, prior, tol=1e-9, progress=False)
    memory = nl.fit(table[["age", "claims"]], "claims", noise, prior, tol=1e-9)
    check_same(found, memory)
    np.testing.assert_allclose(found.predictors["dispersion"].coef, memory.predictors["dispersion"].coef, rtol=1e-6)


@pytest.mark.parametrize("prior", [nl.Flat(), nl.Gaussian()], ids=str)
def test_rows_of_weight_0_change_nothing(cluster, table, prior):
    idle = np.arange(N) % 7 == 0
    fits = []
    for value in (30.0, 1e300):
        rows = table.assign(weight=np.where(idle, 0.0, 2.0), age=np.where(idle, value, table.age))
        frame = dataframes.from_pandas(rows.drop(columns="years"), npartitions=3)
        fits.append(nl.fit(frame, "claims", nl.Poisson(), prior, sample_weight="weight"))
    np.testing.assert_array_equal(fits[0].coef, fits[1].coef)
    assert fits[0].nll == fits[1].nll
    memory = nl.fit(
        table[~idle].drop(columns="years"), "claims", nl.Poisson(), fits[0].prior, sample_weight=np.full(N, 2.0)[~idle]
    )
    np.testing.assert_allclose(fits[0].coef, memory.coef, atol=1e-7)


@pytest.mark.parametrize("noise", [nl.Poisson(), nl.Tweedie(power=1.5)], ids=str)
def test_files_on_a_cluster(cluster, table, paths, noise):
    given = ("claims", noise, nl.Gaussian(scale=1.0))
    check_same(nl.fit(paths, *given, exposure="years", engine="dask"), nl.fit(table, *given, exposure="years"))


def test_a_dask_dataframe(cluster, table):
    frame = dataframes.from_pandas(table.assign(area=table.area.astype("category")), npartitions=5)
    given = ("claims", nl.Poisson())
    check_same(nl.fit(frame, *given, exposure="years"), nl.fit(table, *given, exposure="years"))


def test_comparisons_and_predictions(cluster, table, paths, tmp_path):
    noises, prior = ["poisson", "tweedie(power=1.5)"], nl.Gaussian(scale=1.0)
    there = nl.compare(paths, "claims", noises, prior, exposure="years", folds=2, engine="dask")
    here = nl.compare(table, "claims", noises, prior, exposure="years", folds=2)
    for one, other in zip(here.table, there.table, strict=True):
        assert (one["noise"], other["nats"]) == (other["noise"], pytest.approx(one["nats"], rel=1e-5))
    assert there.fit.predict_to(tmp_path / "out", paths, keep=["claims"], engine="dask") == N
    out = parquet.read_table(tmp_path / "out")
    assert out["claims"].to_pylist() == table.claims.tolist()
    np.testing.assert_allclose(out["prediction"].to_numpy(), there.fit.predict(table, exposure="years"), rtol=1e-9)


def test_bad_targets_come_back_as_they_do_from_files(cluster, table, tmp_path):
    bad = table.copy()
    bad.loc[2500, "claims"] = -1
    parquet.write_table(pa.Table.from_pandas(bad, preserve_index=False), tmp_path / "bad.parquet", row_group_size=500)
    with pytest.raises(ValueError, match=r"Poisson noise needs counts.*-1.*counted from row .* of .*bad\.parquet"):
        nl.fit(str(tmp_path / "bad.parquet"), "claims", nl.Poisson(), exposure="years", engine="dask")
