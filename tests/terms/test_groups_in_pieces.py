"""A group of many levels whose rows are in files or on a cluster: the answer is that of the same rows in memory."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

import neglog as nl
from neglog.engines import files
from neglog.evidence import large_groups
from neglog.evidence.groups_in_pieces import GroupInPieces
from neglog.evidence.maximum import Maximum

LEVELS = [f"l{k:02d}" for k in range(40)]
TERMS = ["x", nl.smooth("z", size=8), nl.group("g"), nl.group("h")]
NOISES = [
    nl.Poisson(),
    nl.Gaussian(),
    nl.Gaussian(scale=1.0),
    nl.Gamma(),
    nl.NegativeBinomial(),
    nl.Bernoulli(),
    nl.StudentT(),
]


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """So that few levels are many, small tables have many pieces, and searches go on as long as the evidence grows."""
    monkeypatch.setattr(large_groups, "LARGE", 20)
    monkeypatch.setattr(files, "ROWS_AT_ONCE", 130)
    monkeypatch.setattr(files, "ROWS_OF_PIECE", 250)
    monkeypatch.setattr(Maximum.find, "__defaults__", (1e-16, None))


def table(noise, n=700):
    rng = np.random.default_rng(3)
    data = pd.DataFrame({"x": rng.normal(size=n), "z": rng.uniform(size=n), "w": rng.integers(0, 3, n).astype(float)})
    data["g"], data["h"] = rng.choice(LEVELS, n), rng.choice(list("abc"), n)
    effects = dict(zip(LEVELS, rng.normal(0, 0.6, len(LEVELS)), strict=True))
    eta = 0.3 + 0.4 * data.x + np.sin(4 * data.z) + data.g.map(effects)
    eta += data.h.map({"a": -0.6, "b": 0.1, "c": 0.7})
    stated = {"scale": 0.8, "dispersion": 0.5, "shape": 2.0, "df": 5.0}
    known = noise.with_(**{name: value for name, value in stated.items() if name in noise.unknown})
    return data.assign(y=np.asarray(known.given(eta.to_numpy()).sample(rng=rng), float))


def written(data, folder):
    rows = pa.Table.from_pandas(data, preserve_index=False)
    for k in range(3):
        parquet.write_table(rows.slice(250 * k, 250), folder / f"{k}.parquet", row_group_size=90)
    return str(folder)


def alike(found, memory):
    assert found.converged == memory.converged is True
    assert found._information.places is not None
    np.testing.assert_allclose(found.coef, memory.coef, atol=1e-7 * np.abs(memory.coef).max())
    assert found.intercept == pytest.approx(memory.intercept, rel=1e-6, abs=1e-7)
    assert found.nll == pytest.approx(memory.nll, rel=1e-8)
    np.testing.assert_allclose(found.standard_errors, memory.standard_errors, rtol=1e-6, atol=1e-9)
    assert found.noise_standard_errors == pytest.approx(memory.noise_standard_errors, rel=1e-5)
    for mine, other in zip(found.terms, memory.terms, strict=True):
        assert mine.effective == pytest.approx(other.effective, rel=1e-6, abs=1e-6)
        if isinstance(other.scale, float):
            assert mine.scale == pytest.approx(other.scale, rel=1e-6)


@pytest.mark.parametrize("noise", NOISES, ids=repr)
@pytest.mark.parametrize("weight", [None, "w"])
def test_files_are_as_memory(noise, weight, tmp_path):
    data = table(noise)
    given = {"terms": TERMS, "sample_weight": weight, "tol": 1e-9}
    memory = nl.fit(data, "y", noise, **given)
    alike(nl.fit(written(data, tmp_path), "y", noise, progress=False, **given), memory)


def test_a_cluster_is_as_memory():
    distributed = pytest.importorskip("distributed", reason="the cluster, of the extra neglog[dask]")
    dataframes = pytest.importorskip("dask.dataframe", reason="of the extra neglog[dask]")
    data = table(nl.Poisson())
    settings = {"n_workers": 1, "threads_per_worker": 1, "processes": False, "dashboard_address": ":0"}
    memory = nl.fit(data, "y", nl.Poisson(), terms=TERMS, tol=1e-9)
    with distributed.LocalCluster(**settings) as cluster, distributed.Client(cluster):
        rows = dataframes.from_pandas(data, npartitions=4)
        alike(nl.fit(rows, "y", nl.Poisson(), terms=TERMS, progress=False, tol=1e-9), memory)


def test_levels_that_no_piece_has_and_rare_ones(tmp_path):
    data = table(nl.Poisson())
    data["g"] = pd.Categorical(data["g"], [*LEVELS, "nobody"])
    given = {"terms": TERMS, "rare": 15, "tol": 1e-9}
    memory = nl.fit(data, "y", nl.Poisson(), **given)
    found = nl.fit(written(data.astype({"g": str}), tmp_path), "y", nl.Poisson(), progress=False, **given)
    np.testing.assert_allclose(found.predict(data), memory.predict(data), rtol=1e-6)
    assert found.terms["g"].scale == pytest.approx(memory.terms["g"].scale, rel=1e-6)


def test_two_thousand_levels_take_no_square(tmp_path, monkeypatch):
    """And of rows nothing is kept: what a pass brings back is as long as there are levels."""
    rng = np.random.default_rng(0)
    n, levels = 20_000, 2_000
    codes, effects = rng.integers(0, levels, n), rng.normal(0, 0.5, levels)
    data = pd.DataFrame({"x": rng.normal(size=n), "g": [f"l{k}" for k in codes]})
    data["y"] = rng.poisson(np.exp(0.2 + 0.3 * data.x + effects[codes]))
    parquet.write_table(pa.Table.from_pandas(data), tmp_path / "rows.parquet", row_group_size=3000)
    monkeypatch.setattr(files, "ROWS_AT_ONCE", 3000)
    brought, total = [], GroupInPieces._total
    monkeypatch.setattr(GroupInPieces, "_total", lambda *asked: brought.append(total(*asked)) or brought[-1])
    fit = nl.fit(str(tmp_path), "y", nl.Poisson(), terms=["x", nl.group("g")], progress=False)
    alike(fit, nl.fit(data, "y", nl.Poisson(), terms=["x", nl.group("g")]))
    assert max(sizes(brought)) <= 2 * levels


def sizes(results):
    """Of all arrays."""
    for one in results:
        if isinstance(one, tuple | list):
            yield from sizes(one)
        else:
            yield from map(np.size, vars(one).values()) if hasattr(one, "levels") else [np.size(one)]


def test_a_second_group_counts_among_the_others(monkeypatch, tmp_path):
    data = table(nl.Poisson())
    data["b"] = np.random.default_rng(1).choice([f"b{k}" for k in range(30)], len(data))
    given = {"terms": ["x", nl.group("g"), nl.group("b")], "tol": 1e-9}
    monkeypatch.setattr(large_groups, "CROSSED", 20)  # of the sample, where a search begins, both are eliminated
    found = nl.fit(written(data, tmp_path), "y", nl.Poisson(), progress=False, **given)
    monkeypatch.setattr(large_groups, "CROSSED", 300)
    alike(found, nl.fit(data, "y", nl.Poisson(), **given))
    monkeypatch.setattr(large_groups, "MOST", 20)
    with pytest.raises(
        ValueError, match=r"beside the group .*g.* there are 32 .* at most 20 .*rare=.*unless rows are in"
    ):
        nl.fit(written(data, tmp_path), "y", nl.Poisson(), progress=False, **given)
