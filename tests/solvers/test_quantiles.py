"""Quantiles by the exact solver of the absolute loss: against the linear program, with multipliers in their box."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from neglog.solvers import absolute
from neglog.solvers.absolute import DenseRows, Status, least_absolute


def pinball(residuals, quantile):
    return np.where(residuals < 0, quantile - 1, quantile) * residuals


def linear_program(X, y, w, quantile):
    """The minimum by HiGHS."""
    n, d = X.shape
    cost = np.concatenate([np.zeros(d), quantile * w, (1 - quantile) * w])
    bounds = [(None, None)] * d + [(0, None)] * (2 * n)
    return linprog(cost, A_eq=np.hstack([X, np.eye(n), -np.eye(n)]), b_eq=y, bounds=bounds, method="highs").fun


def multipliers(X, y, w, quantile, solution, extra=None):
    """Of all rows, those of a prior last; each in its box."""
    residuals = y - X @ solution.theta
    u, low, high = w * np.where(residuals < 0, quantile - 1, quantile), w * (quantile - 1), w * quantile
    if extra is not None:
        u = np.concatenate([u, extra[2] * np.sign(extra[1] - extra[0] @ solution.theta)])
        low, high = np.concatenate([low, -extra[2]]), np.concatenate([high, extra[2]])
    u[solution.tied] = solution.tied_dual
    u[solution.basis] = solution.dual
    slack = 1e-11 * (high - low)
    assert np.all((u >= low - slack) & (u <= high + slack))
    return u


def assert_minimum(X, y, w, quantile, solution, *, status=Status.OPTIMAL):
    """The same value from both sides: a lower bound for every theta, and that of this one."""
    assert solution.status == status, solution.message
    u = multipliers(X, y, w, quantile, solution)
    assert np.all(np.abs(u @ X) <= 1e-10 * (w @ np.abs(X)))
    value = w @ pinball(y - X @ solution.theta, quantile)
    size = w @ (np.abs(y) + np.abs(X) @ np.abs(solution.theta))
    assert solution.objective == pytest.approx(value, rel=1e-10, abs=1e-13 * size)
    assert u @ y == pytest.approx(value, rel=1e-9, abs=1e-11 * size)


def rows(rng, kind, n, d):
    X = rng.normal(size=(n, d))
    X[:, 0] = 1.0
    if kind == "integers":
        X = rng.integers(-2, 3, size=(n, d)).astype(float)
        return X, np.round(X @ rng.normal(size=d) + rng.normal(size=n))
    if kind == "duplicates":
        pick = rng.integers(0, max(1, n // 3), n)
        return X[pick], np.round(X @ rng.normal(size=d) + rng.normal(size=n))[pick]
    if kind == "scales":
        X *= 10.0 ** rng.uniform(-6, 6, d)
    if kind == "exact fit":
        return X, X @ rng.normal(size=d)
    return X, X @ (rng.normal(size=d) / np.abs(X).max(axis=0)) + rng.standard_t(2, size=n)


KINDS = ["plain", "integers", "duplicates", "scales", "exact fit"]


@given(
    quantile=st.floats(0.001, 0.999),
    kind=st.sampled_from(KINDS),
    seed=st.integers(0, 2**32 - 1),
    weighted=st.booleans(),
)
def test_linear_program(quantile, kind, seed, weighted):
    rng = np.random.default_rng(seed)
    d, n = int(rng.integers(1, 7)), int(rng.integers(8, 90))
    X, y = rows(rng, kind, n, d)
    w = rng.uniform(0.5, 2.0, n) if weighted else np.ones(n)
    solution = least_absolute(DenseRows(X, y, w), slopes=(quantile, 1 - quantile))
    whole = np.linalg.matrix_rank(X / np.maximum(np.abs(X).max(axis=0), 1e-300)) == d
    assert_minimum(X, y, w, quantile, solution, status=Status.OPTIMAL if whole else Status.RANK_DEFICIENT)
    if kind != "scales":
        expected = linear_program(X, y, w, quantile)
        assert solution.objective == pytest.approx(expected, rel=1e-7, abs=1e-7 * quantile * (w @ np.abs(y)))


@given(quantile=st.floats(0.01, 0.99), seed=st.integers(0, 2**32 - 1), strength=st.floats(-3, 4))
def test_with_a_ridge_the_multipliers_balance_it(quantile, seed, strength):
    rng = np.random.default_rng(seed)
    X, y = rows(rng, "plain", 120, 5)
    w, q, m = rng.uniform(0.5, 2.0, 120), np.full(5, 10.0**strength), rng.normal(size=5)
    q[0] = 0.0
    solution = least_absolute(DenseRows(X, y, w), ridge=(q, m), slopes=(quantile, 1 - quantile))
    assert solution.status == Status.OPTIMAL
    u, away = multipliers(X, y, w, quantile, solution), solution.theta - m
    assert np.all(np.abs(u @ X - q * away) <= 1e-10 * (w @ np.abs(X) + q * (np.abs(m) + np.abs(solution.theta))))
    losses = pinball(y - X @ solution.theta, quantile)
    assert w @ losses - u @ (y - X @ solution.theta) <= 1e-9 * (w @ losses)
    assert solution.objective == pytest.approx(w @ losses + 0.5 * q @ away**2, rel=1e-12)


@given(quantile=st.floats(0.01, 0.99), seed=st.integers(0, 2**32 - 1), rate=st.floats(-1, 3))
def test_a_laplace_prior_is_symmetric_whatever_the_quantile(quantile, seed, rate):
    rng = np.random.default_rng(seed)
    X, y = rows(rng, "plain", 90, 4)
    extra = np.eye(4)[1:], rng.normal(size=3), np.full(3, 10.0**rate)
    solution = least_absolute(DenseRows(X, y), extra_rows=extra, slopes=(quantile, 1 - quantile))
    assert solution.status == Status.OPTIMAL
    u = multipliers(X, y, np.ones(90), quantile, solution, extra)
    assert np.all(np.abs(u @ np.vstack([X, extra[0]])) <= 1e-10 * (np.abs(X).sum(axis=0) + extra[2].sum()))
    value = pinball(y - X @ solution.theta, quantile).sum() + extra[2] @ np.abs(extra[1] - solution.theta[1:])
    assert solution.objective == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize("quantile", [0.002, 0.1, 0.5, 0.75, 0.99])
@pytest.mark.parametrize("kind", ["plain", "integers", "duplicates"])
def test_bands_find_the_minimum_of_all_rows(quantile, kind, rng, monkeypatch):
    monkeypatch.setattr(absolute, "DIRECT", 200)
    X, y = rows(rng, kind, 6000, 4)
    w = rng.uniform(0.2, 3.0, 6000)
    solution = least_absolute(DenseRows(X, y, w), slopes=(quantile, 1 - quantile))
    assert_minimum(X, y, w, quantile, solution)
    assert solution.gap < 1e-11
    assert solution.infeasibility < 1e-12


def test_slopes_of_one_are_the_absolute_loss_to_the_bit(rng):
    X, y = rows(rng, "plain", 20_000, 6)
    whole, half = least_absolute(DenseRows(X, y)), least_absolute(DenseRows(X, y), slopes=(0.5, 0.5))
    assert whole.theta.tobytes() == half.theta.tobytes()
    assert whole.dual.tobytes() == (2 * half.dual).tobytes()
    assert whole.objective == 2 * half.objective


def test_a_constant_is_the_weighted_quantile(rng):
    y, w = rng.normal(size=301), rng.integers(1, 5, 301).astype(float)
    for quantile in (0.07, 0.33, 0.81):
        solution = least_absolute(DenseRows(np.ones((301, 1)), y, w), slopes=(quantile, 1 - quantile))
        order = np.argsort(y)
        wanted = y[order][np.searchsorted(np.cumsum(w[order]), quantile * w.sum())]
        assert solution.theta[0] == wanted
