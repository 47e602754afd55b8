"""The lasso path: the fits of one strength after another, from the first coefficient to nearly none of the penalty."""

import numpy as np
import pytest
from inference.problems import Rows, remainder

import neglog as nl

NOISES = {
    "gaussian": nl.Gaussian(scale=0.8),
    "poisson": nl.Poisson(),
    "bernoulli": nl.Bernoulli(),
    "gamma": nl.Gamma(shape=2.0),
    "huber": nl.Huber(scale=0.8),
}
EACH = pytest.mark.parametrize("noise", NOISES.values(), ids=NOISES)


def problem(noise, n=120, d=8, seed=31):
    """Correlated columns of unit variance, so that a strength means the same on either scale; few of them matter."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + 0.5 * rng.normal(size=(n, 1))
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    eta = 0.2 + X[:, :3] @ [0.6, -0.4, 0.2]
    return X, np.asarray(noise.given(eta).sample(rng=seed + 1), float)


def at(path, noise, k):
    """What the path says at one strength, as `remainder` reads a fit."""

    class Point:
        coef, intercept, prior = path.coefs[k], path.intercepts[k], nl.Laplace(scale=path.scales[k])

    Point.noise = noise
    return Point


@EACH
def test_a_path_is_many_fits(noise):
    X, y = problem(noise)
    path = nl.path(X, y, noise=noise, prior=nl.Laplace(), n=30)
    for k in (0, 1, 5, 12, 20, 29):
        fit = nl.fit(X, y, noise, nl.Laplace(scale=path.scales[k]), tol=1e-10)
        np.testing.assert_allclose(path.coefs[k], fit.coef, atol=1e-6)
        np.testing.assert_allclose(path.intercepts[k], fit.intercept, atol=1e-6)
        np.testing.assert_allclose(path.nlls[k], fit.nll, rtol=1e-7)


@EACH
def test_strengths_fall_and_coefficients_grow(noise):
    """The penalty's norm never falls and the nll never rises while the strength falls: true of every convex loss."""
    X, y = problem(noise)
    path = nl.path(X, y, noise=noise, n=40)
    assert path.strengths.shape == path.scales.shape == path.intercepts.shape == path.nlls.shape == (40,)
    assert path.coefs.shape == (40, 8)
    assert np.all(np.diff(path.strengths) < 0)
    np.testing.assert_allclose(path.scales * path.strengths, 1, rtol=1e-12)
    norms = np.abs(path.coefs).sum(axis=1)
    assert np.all(np.diff(norms) >= -1e-6)
    assert np.all(np.diff(path.nlls) <= 1e-6)
    assert norms[-1] > 0.5


@EACH
def test_the_path_starts_where_the_first_coefficient_enters(noise):
    """The largest slope of the nll at coefficients of zero; every coefficient is exactly zero there, and not after."""
    X, y = problem(noise)
    path = nl.path(X, y, noise=noise, n=50)
    null = nl.fit(X[:, :0], y, noise, tol=1e-10)
    slopes = noise.gradient_hessian(y, np.full(len(y), null.intercept))[0] @ X
    assert path.strengths[0] == pytest.approx(np.max(np.abs(slopes)), rel=1e-5)
    np.testing.assert_array_equal(path.coefs[0], 0.0)
    assert path.intercepts[0] == pytest.approx(null.intercept, abs=1e-6)
    assert np.count_nonzero(path.coefs[1]) == 1
    assert np.argmax(np.abs(slopes)) == np.flatnonzero(path.coefs[1])[0]


@EACH
def test_zeros_are_exact_and_no_column_is_lost(noise):
    """More columns than rows: rules that set columns aside must take back those that they should not have."""
    X, y = problem(noise, n=60, d=150)
    path = nl.path(X, y, noise=noise, n=25)
    used = np.count_nonzero(path.coefs, axis=1)
    assert used[0] == 0
    assert np.all(used <= 60)  # a lasso solution uses no more columns than there are rows
    assert used.max() > 10
    rows = Rows(X, y)
    for k in range(25):
        assert remainder(at(path, noise, k), rows) < 1e-4, k


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("noise", [NOISES["gaussian"], NOISES["poisson"]], ids=str)
def test_more_columns_than_a_curvature_matrix_holds(noise, order):
    X, y = problem(noise, n=60, d=1600)
    path = nl.path(np.asarray(X, order=order), y, noise, n=8, ratio=0.3)
    assert path.converged
    for k in (3, 7):
        single = nl.fit(X, y, noise, nl.Laplace(scale=path.scales[k]))
        assert single.objective == pytest.approx(path[k].objective, rel=1e-9)


def test_a_column_that_enters_late_is_found():
    """Two nearly equal columns of opposite effect: hidden behind each other at first, both needed at the end."""
    rng = np.random.default_rng(8)
    base = rng.normal(size=300)
    X = np.column_stack([base, base + 0.3 * rng.normal(size=300), rng.normal(size=(300, 5))])
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    noise = nl.Gaussian(scale=0.5)
    y = 2 * X[:, 0] - 1.8 * X[:, 1] + 0.5 * rng.normal(size=300)
    path = nl.path(X, y, noise=noise, n=60)
    exact = np.linalg.lstsq(np.column_stack([np.ones(300), X]), y, rcond=None)[0][1:]
    np.testing.assert_allclose(path.coefs[-1][:2], exact[:2], atol=0.05)
    for k in range(60):
        assert remainder(at(path, noise, k), Rows(X, y)) < 1e-4, k


@pytest.mark.parametrize("noise", [nl.Gaussian(scale=0.8), nl.Poisson(), nl.Bernoulli()], ids=repr)
def test_cross_validation_is_deterministic_and_chooses_the_least_nats(noise):
    X, y = problem(noise, n=200)
    first, again = (nl.path(X, y, noise=noise, n=30, cv=5) for _ in range(2))
    assert first.held_out.shape == (30,)
    assert first.held_out.tobytes() == again.held_out.tobytes()
    assert first.best == again.best == np.argmin(first.held_out)
    np.testing.assert_allclose(first.fit.coef, first.coefs[first.best], atol=1e-6)
    np.testing.assert_allclose(first.fit.intercept, first.intercepts[first.best], atol=1e-6)
    assert first.fit.prior.scale == pytest.approx(first.scales[first.best], rel=1e-12)
    assert first.best > 0  # some columns do matter
    # nats per row: like those of the sample, and never much better
    assert np.all(first.held_out > first.nlls / 200 - 0.05)
    assert first.held_out[0] == pytest.approx(first.nlls[0] / 200, rel=0.05)


def test_without_cross_validation_nothing_is_chosen():
    X, y = problem(nl.Poisson())
    path = nl.path(X, y, noise=nl.Poisson(), n=5)
    assert getattr(path, "held_out", None) is None
    assert getattr(path, "best", None) is None


def test_diabetes_columns_enter_in_the_published_order():
    """Efron, Hastie, Johnstone & Tibshirani (2004), Least angle regression, figure 1: 3, 9, 4, 7, 2, 10, 5, 8, 6, 1."""
    datasets = pytest.importorskip("sklearn.datasets", reason="its diabetes data")
    X, y = datasets.load_diabetes(return_X_y=True)
    path = nl.path(X, y, noise=nl.Gaussian(scale=54.0), n=400)
    entry = np.argmax(path.coefs != 0, axis=0)
    assert np.all(np.any(path.coefs != 0, axis=0))
    assert len(set(entry)) == 10
    assert list(1 + np.argsort(entry)) == [3, 9, 4, 7, 2, 10, 5, 8, 6, 1]


def test_the_path_agrees_with_scikit_learn():
    linear = pytest.importorskip("sklearn.linear_model", reason="the peer")
    noise = nl.Gaussian(scale=0.8)
    X, y = problem(noise)
    path = nl.path(X, y, noise=noise, n=20)
    alphas = 0.8**2 * path.strengths / len(y)
    _, coefs, _ = linear.lasso_path(X, y - y.mean(), alphas=alphas, tol=1e-12, max_iter=100_000)
    np.testing.assert_allclose(path.coefs, coefs.T, atol=1e-5)


def test_bad_requests():
    X, y = problem(nl.Poisson())
    with pytest.raises(ValueError, match=r"\bn\b"):
        nl.path(X, y, noise=nl.Poisson(), n=0)
    with pytest.raises(ValueError, match="cv"):
        nl.path(X, y, noise=nl.Poisson(), n=5, cv=1)
    with pytest.raises((TypeError, ValueError), match="prior"):
        nl.path(X, y, noise=nl.Poisson(), prior=nl.Flat(), n=5)
