"""Showing progress never changes or fails a fit: every noise, every prior, over files."""

import numpy as np
import pandas as pd
import pytest
from inference.problems import NOISES, each, targets
from pyarrow import Table, parquet

import neglog as nl
from neglog.engines import files
from neglog.streaming import first_pass

PRIORS = {
    "flat": nl.Flat(),
    "ridge": nl.Gaussian(scale=1.0),
    "lasso": nl.Laplace(scale=0.5),
    "both": nl.Gaussian(scale=1.0) * nl.Laplace(scale=0.5),
    "learned": nl.Gaussian(),
}
N = 400


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    """So that a small table has several pieces, and its sample is a part of it."""
    monkeypatch.setattr(files, "ROWS_OF_PIECE", 100)
    monkeypatch.setattr(first_pass, "SAMPLE_ROWS", 150)


def written(noise, path, rows=N):
    rng = np.random.default_rng(3)
    columns = {"slope": rng.normal(size=rows), "curve": rng.uniform(0.5, 2.5, rows)}
    table = pd.DataFrame({**columns, "colour": rng.choice(["amber", "blue", "cyan"], rows)})
    table["y"] = targets(noise, table)
    parquet.write_table(Table.from_pandas(table, preserve_index=False), path, row_group_size=100)
    return str(path)


@each(NOISES)
@each(PRIORS, "prior")
def test_every_fit_of_files_can_be_watched(noise, prior, tmp_path):
    path, told = written(noise, tmp_path / "rows.parquet"), []
    watched = nl.fit(path, "y", noise, prior, progress=told.append)
    plain = nl.fit(path, "y", noise, prior, progress=False)
    assert told[0].startswith("pass 1: ")
    np.testing.assert_array_equal(watched.coef, plain.coef)
    assert watched.n_iter == plain.n_iter


def test_a_bar_is_shown(tmp_path, capsys):
    path = written(nl.Gaussian(), tmp_path / "rows.parquet")
    assert nl.fit(path, "y", progress=True).converged
    assert nl.compare(path, "y", ["gaussian", "laplace"], folds=2, progress=True).best is not None
    table = pd.read_parquet(path)
    told = []
    nl.compare(table, "y", ["gaussian"], folds=2, progress=lambda *what: told.append(what))
    assert [share for _, share in told] == sorted(share for _, share in told)
    for progress in (True, False, None):
        assert nl.compare(table, "y", ["gaussian"], folds=2, progress=progress).fit.converged


def test_a_progress_that_fails_is_silenced_not_the_fit(tmp_path):
    path = written(nl.Poisson(), tmp_path / "rows.parquet")

    def fails(*_):
        raise OSError("the terminal is gone")

    with pytest.warns(UserWarning, match="no longer shown.*terminal is gone") as caught:
        found = nl.fit(path, "y", nl.Poisson(), progress=fails)
    assert len(caught) == 1
    assert found.converged
    with pytest.warns(UserWarning, match="no longer shown"):
        nl.compare(path, "y", ["poisson"], folds=2, progress=fails)
    with pytest.warns(UserWarning, match="no longer shown"):
        assert found.predict_to(tmp_path / "out", path, progress=fails) == N


def test_a_fit_from_a_cache_can_be_asked_when_nobody_watches_any_more(tmp_path):
    path = written(nl.Poisson(), tmp_path / "rows.parquet")
    told = []
    found = nl.fit(path, "y", nl.Poisson(), cache=tmp_path / "cache", progress=told.append)
    count = len(told)
    assert np.isfinite(found.nll)
    assert len(told) == count
