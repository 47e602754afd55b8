"""Where columns leave directions open, every noise takes the smallest of the best solutions, so weights count rows."""

import warnings

import numpy as np
import pytest
from inference.problems import UNIVARIATE, each, problem, targets

import neglog as nl


@each(UNIVARIATE)
def test_a_column_given_twice_shares_its_effect(noise):
    made = problem(nl.Flat())
    y, X = targets(noise, made.table), made.dense
    once, twice = nl.fit(X, y, noise, tol=1e-9), nl.fit(np.column_stack([X[:, :1], X]), y, noise, tol=1e-9)
    assert "collinear" in twice.message
    np.testing.assert_allclose(twice.coef[:2], once.coef[0] / 2, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(twice.predict(np.column_stack([X[:, :1], X])), once.predict(X), rtol=1e-4)


@pytest.mark.parametrize("noise", [nl.Huber(), nl.Huber(scale=1.0)], ids=str)
def test_rows_beyond_hubers_threshold_still_say_what_their_columns_do(noise):
    rng = np.random.default_rng(0)
    y = rng.normal(size=60)
    level = np.arange(60) < 3
    y[level] = [40.0, 50.0, 60.0]  # a level whose rows may all be beyond the threshold
    found = nl.fit(np.column_stack([rng.normal(size=60), level]), y, noise)
    assert found.converged
    assert "collinear" not in found.message
    assert 39 < found.predict([[0.0, 1.0]])[0] < 61


@pytest.mark.parametrize(
    "noise", [nl.Gaussian(), nl.Huber(), nl.Laplace(), nl.Huber(scale=1.0), nl.Laplace(scale=1.0)], ids=str
)
@pytest.mark.parametrize("times", [1, 8])
def test_a_fit_through_every_point_is_the_smallest_one(noise, times):
    rng = np.random.default_rng(1)
    X, y, w = rng.random((9, 20)), rng.normal(size=9), np.full(9, times)
    middle = np.column_stack([np.ones(9), X])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", nl.ConvergenceWarning)
        weighted = nl.fit(X, y, noise, sample_weight=w)
        repeated = nl.fit(np.repeat(X, w, axis=0), np.repeat(y, w), noise)
    np.testing.assert_allclose(weighted.coef, repeated.coef, atol=1e-9)
    np.testing.assert_allclose(weighted.predict(X), y, atol=1e-9)
    centred = X - X.mean(axis=0)
    smallest = np.linalg.lstsq(centred, y - y.mean(), rcond=None)[0]
    assert np.linalg.matrix_rank(middle) == 9
    assert np.linalg.norm(weighted.coef) <= np.linalg.norm(smallest) * (1 + 1e-9)
    if weighted.noise.scale < 1e-9:
        assert not weighted.converged
        assert "passes through every point" in weighted.message
