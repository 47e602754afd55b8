"""The lasso over many sparse columns finds what the other solvers find on the same columns made dense."""

import numpy as np
import pytest
from scipy import sparse

import neglog as nl


def problem(noise, n=400, d=1800, seed=0):
    rng = np.random.default_rng(seed)
    X = sparse.random_array((n, d), density=0.02, rng=rng, data_sampler=rng.standard_normal, format="csr")
    coef = np.zeros(d)
    coef[:8] = rng.choice([-1.5, 1.5], 8)
    y = np.asarray(noise.given(X @ coef + 0.3).sample(rng=rng), float)
    return X, y, rng


def check_same(fit, other, atol=1e-7):
    np.testing.assert_allclose(fit.coef, other.coef, atol=atol)
    assert fit.intercept == pytest.approx(other.intercept, abs=atol)
    assert fit.objective == pytest.approx(other.objective, rel=1e-11)
    np.testing.assert_array_equal(fit.coef == 0, other.coef == 0)


NOISES = [nl.Bernoulli(), nl.Poisson(), nl.Gamma(shape=2.0), nl.Gaussian(scale=0.7)]
PRIORS = [
    nl.Laplace(scale=0.2),
    nl.Laplace(scale=0.2) * nl.Gaussian(scale=2.0),
    nl.Laplace(0.05, 0.2),
    nl.Laplace(scale=np.append(np.inf, np.full(1799, 0.2))),
]


@pytest.mark.parametrize("noise", NOISES, ids=repr)
@pytest.mark.parametrize("prior", PRIORS, ids=lambda prior: repr(prior)[:50])
def test_the_same_as_on_dense_columns(noise, prior):
    X, y, _ = problem(noise)
    fit, dense = (nl.fit(form, y, noise, prior, tol=1e-9) for form in (X, X.toarray()))
    assert fit.converged
    check_same(fit, dense)


@pytest.mark.parametrize("intercept", [True, False])
def test_weights_and_offsets(intercept):
    X, y, rng = problem(nl.Poisson())
    options = {
        "sample_weight": rng.integers(0, 3, 400).astype(float),
        "offset": rng.normal(size=400) / 3,
        "intercept": intercept,
        "tol": 1e-9,
    }
    fit, dense = (nl.fit(form, y, nl.Poisson(), nl.Laplace(scale=0.2), **options) for form in (X, X.toarray()))
    check_same(fit, dense)


def test_every_sparse_form():
    X, y, _ = problem(nl.Bernoulli())
    prior = nl.Laplace(scale=0.3)
    first = nl.fit(X, y, nl.Bernoulli(), prior, tol=1e-9)
    short = sparse.csc_array(X)
    short.indices, short.indptr = short.indices.astype(np.int32), short.indptr.astype(np.int32)
    long = sparse.csc_array(X)
    long.indices, long.indptr = long.indices.astype(np.int64), long.indptr.astype(np.int64)
    for form in (sparse.csc_array(X), sparse.coo_array(X), sparse.csr_matrix(X), short, long):
        before = form.data.copy()
        check_same(nl.fit(form, y, nl.Bernoulli(), prior, tol=1e-9), first, 1e-9)
        np.testing.assert_array_equal(form.data, before)
    single = nl.fit(X.astype(np.float32), y, nl.Bernoulli(), prior, tol=1e-9)
    np.testing.assert_allclose(single.coef, first.coef, atol=1e-4)
    np.testing.assert_allclose(first.predict(sparse.csc_array(X)), first.predict(X), rtol=1e-13)


def test_the_gradient_keeps_its_bound():
    """Zero where a coefficient is free to move, within the strength where it is held at 0."""
    X, y, _ = problem(nl.Bernoulli())
    scale = 0.3
    fit = nl.fit(X, y, nl.Bernoulli(), nl.Laplace(scale=scale), tol=1e-9)
    gradient = X.T @ (fit.predict(X) - y)
    free = fit.coef != 0
    np.testing.assert_allclose(gradient[free], -np.sign(fit.coef[free]) / scale, atol=1e-6)
    assert np.abs(gradient[~free]).max() <= (1 + 1e-6) / scale
    assert abs(np.sum(fit.predict(X) - y)) < 1e-6


def test_too_few_iterations_are_said():
    X, y, _ = problem(nl.Poisson())
    with pytest.warns(nl.ConvergenceWarning, match="max_iter=1"):
        nl.fit(X, y, nl.Poisson(), nl.Laplace(scale=1.0), max_iter=1, tol=1e-9)


def test_a_wrong_index_is_refused_by_columns_too():
    X, y, _ = problem(nl.Poisson())
    broken = sparse.csc_array(X)
    broken.indices[0] = 10_000
    with pytest.raises(ValueError, match="lie outside it"):
        nl.fit(broken, y, nl.Poisson(), nl.Laplace(scale=0.2))


def test_missing_values_are_named():
    X, y, _ = problem(nl.Poisson())
    broken = sparse.csc_array(X)
    broken.data[5] = np.nan
    with pytest.raises(ValueError, match="X has missing values"):
        nl.fit(broken, y, nl.Poisson(), nl.Laplace(scale=1.0))


def test_columns_that_are_nearly_dependent():
    rng = np.random.default_rng(0)
    n = 100
    b = rng.normal(size=n)
    first = np.column_stack([b, b + 1e-3 * rng.normal(size=n), rng.normal(size=n)])
    others = sparse.random_array((n, 1600), density=0.02, rng=rng, data_sampler=rng.standard_normal)
    X = sparse.csc_array(sparse.hstack([sparse.csc_array(first), others]))
    y = first @ [1.0, -1.0, 0.5] + 0.1 * rng.normal(size=n)
    prior = nl.Laplace(scale=np.append(np.full(3, np.inf), np.full(1600, 1e-3)))
    fit = nl.fit(X, y, nl.Gaussian(scale=0.1), prior)
    ones = np.column_stack([np.ones(n), first])
    assert fit.converged
    np.testing.assert_allclose(fit.coef[:3], np.linalg.lstsq(ones, y)[0][1:], rtol=1e-4)


@pytest.mark.parametrize("width", [300, 1600])
def test_huber_noise_beyond_its_threshold_is_no_reason_to_stay(width):
    """A column whose rows all lie where the loss is straight has no curvature, but a slope."""
    rng = np.random.default_rng(1)
    X = sparse.random_array((200, width), density=0.004, rng=rng, data_sampler=lambda size: np.ones(size), format="lil")
    X[:, 0] = 0
    X[5, 0] = 1.0
    X = sparse.csr_array(X)
    y = rng.normal(size=200)
    y[5] = 50.0
    fit = nl.fit(X, y, nl.Huber(scale=1.0), nl.Laplace(scale=2.0), tol=1e-9)
    z = y - fit.intercept - X @ fit.coef
    gradient = -(X.T @ np.clip(z, -1.345, 1.345))
    free = fit.coef != 0
    assert fit.converged
    np.testing.assert_allclose(gradient[free], -np.sign(fit.coef[free]) / 2, atol=1e-6)
    assert np.abs(gradient[~free]).max() <= 0.5 + 1e-6
