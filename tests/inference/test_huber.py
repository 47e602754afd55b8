"""Huber noise whose scale is small beside y, open, or without an estimate; and whose threshold is open."""

import warnings

import numpy as np
import pandas
import pytest
from inference.problems import PRIORS, Rows, check_optimal, each

import neglog as nl
from neglog.engines.memory import Memory

FEW = {name: PRIORS[name] for name in ("flat", "gaussian", "laplace", "elastic-net")}


def contaminated(rows=200, columns=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, columns))
    y = X @ np.arange(1.0, columns + 1) + 10 * rng.normal(size=rows)
    y[: rows // 10] += 500
    return Rows(X, y)


@pytest.fixture
def passes(monkeypatch):
    """How often the rows are gone through."""
    count = []
    for name in ("evaluate", "newton"):
        real = getattr(Memory, name)
        monkeypatch.setattr(Memory, name, lambda *a, real=real, **k: count.append(0) or real(*a, **k))
    return count


# ---- a stated scale --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [100.0, 1.0, 0.1, 1e-2, 1e-4])
@each(FEW, "prior")
def test_a_scale_that_is_small_beside_y(prior, scale):
    rows = contaminated()
    noise = nl.Huber(scale=scale)
    fit = nl.fit(rows.X, rows.y, noise, prior)
    check_optimal(fit, rows, noise, prior, atol=1e-5)


@pytest.mark.parametrize("seed", range(8))
def test_few_rows_within_the_threshold(seed):
    """With hardly more rows than columns the curvature is singular nearly everywhere."""
    rng = np.random.default_rng(seed)
    rows = Rows(rng.normal(size=(30, 12)), 30 * rng.standard_t(1.5, size=30))
    for noise in (nl.Huber(scale=1.0, delta=0.3), nl.Huber(scale=0.001, delta=0.3)):
        check_optimal(nl.fit(rows.X, rows.y, noise), rows, noise, nl.Flat(), atol=1e-5)


def test_a_path_over_a_small_scale():
    rows = contaminated()
    path = nl.path(rows.X, rows.y, nl.Huber(scale=0.1), n=10)
    assert path.converged
    for fit in (path[3], path[9]):
        check_optimal(fit, rows, fit.noise, fit.prior, atol=1e-5)


# ---- an open scale ---------------------------------------------------------------------------------------------------


@each(FEW, "prior")
def test_residuals_of_zero_have_no_scale(prior):
    X = np.random.default_rng(0).normal(size=(20, 3))
    for noise in (nl.Huber(), nl.Huber(delta=None), nl.Huber(link="log")):
        with pytest.warns(nl.ConvergenceWarning, match="passes through every point"):
            assert not nl.fit(X, np.ones(20), noise, prior).converged


@pytest.mark.parametrize("seed", range(3))
def test_a_laplace_prior_with_an_open_scale_takes_few_passes(seed, passes):
    rng = np.random.default_rng(seed)
    rows = Rows(rng.normal(size=(50, 15)), rng.standard_t(2, size=50))
    prior = nl.Laplace(scale=0.3)
    fit = nl.fit(rows.X, rows.y, nl.Huber(), prior)
    check_optimal(fit, rows, nl.Huber(), prior, atol=1e-5)
    assert len(passes) < 200


def test_many_columns_that_explain_most_of_y_take_few_passes(passes):
    rng = np.random.default_rng(2)
    X = np.hstack([rng.normal(size=(600, 10)), np.eye(90)[rng.integers(0, 90, 600)]])
    rows, prior = Rows(X, X @ rng.normal(size=100) * 50 + rng.standard_t(2, size=600)), nl.Gaussian(scale=100.0)
    fit = nl.fit(rows.X, rows.y, nl.Huber(), prior)
    check_optimal(fit, rows, nl.Huber(), prior, atol=1e-5)
    assert len(passes) < 25  # 92 from the median of y


def test_a_learned_prior_goes_from_one_fit_to_the_next(passes):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(300, 6))
    fit = nl.fit(X, X[:, 0] + rng.standard_t(2, size=300), nl.Huber(), nl.Gaussian(scale=None))
    assert fit.converged
    assert len(passes) < 24  # 29 where each begins at the median of y


# ---- an open threshold -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [None, 1.0])
@pytest.mark.parametrize("seed", range(6))
def test_no_stated_threshold_does_better(seed, scale):
    rng = np.random.default_rng(seed)
    rows = int(rng.integers(12, 80))
    X, y = rng.normal(size=(rows, 3)), rng.normal(size=rows) * np.where(rng.random(rows) < 0.2, 8, 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", nl.ConvergenceWarning)
        best = nl.fit(X, y, nl.Huber(scale=scale, delta=None))
        stated = [nl.fit(X, y, nl.Huber(scale=scale, delta=delta)).objective for delta in np.geomspace(0.01, 6, 90)]
    assert best.objective <= min(stated) + 1e-6
    assert best.converged or "the edge of the range" in best.message


def test_an_open_threshold_under_a_laplace_prior_takes_few_passes(passes):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(50, 15))
    y = X[:, 0] + rng.standard_t(2, size=50)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", nl.ConvergenceWarning)
        fit = nl.fit(X, y, nl.Huber(delta=None), nl.Laplace(scale=0.3))
    assert fit.converged or "the edge of the range" in fit.message
    assert len(passes) < 3000


def test_an_open_threshold_of_a_perfect_fit_in_files_takes_few_passes(tmp_path, passes):
    """A scale that stands for 0 is no place to begin from: no step changes coefficients that large."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(7, 6))
    table = pandas.DataFrame(X, columns=[*"abcdef"])
    table["y"] = X @ [1.0, -0.5, 0.8, 0.3, 0.1, 0.4] + 2 + rng.normal(size=7)
    table.to_csv(tmp_path / "rows.csv", index=False)
    with pytest.warns(nl.ConvergenceWarning, match="can pass through every point"):  # as in memory, of learned priors
        nl.fit(str(tmp_path / "rows.csv"), "y", nl.Huber(delta=None), nl.Gaussian())
    assert len(passes) < 2000
