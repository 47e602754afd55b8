"""Enough rows for a sample, a working set, several threads: the answer is that of all rows at once."""

import numpy as np
import pytest
from inference.problems import Rows, check_optimal
from scipy import sparse

import neglog as nl
from neglog.design import read


def columns(n, d, seed=5):
    """Correlated and badly scaled."""
    rng = np.random.default_rng(seed)
    X = (rng.normal(size=(n, d)) + 0.7 * rng.normal(size=(n, 1))) * 10 ** rng.uniform(-2, 2, d) + 5 * rng.normal(size=d)
    theta = rng.normal(size=d) / X.std(axis=0) / np.sqrt(d) / 2
    return X, (X - X.mean(axis=0)) @ theta + 0.3, rng


def target(noise, eta, rng):
    match noise:
        case nl.Poisson():
            return rng.poisson(np.exp(eta)).astype(float)
        case nl.Gamma():
            return rng.gamma(2.0, np.exp(eta) / 2)
        case nl.Tweedie():
            return nl.Tweedie(np.exp(eta), 1.5, 1.0).sample(rng=rng)
        case nl.Bernoulli():
            return (rng.random(len(eta)) < 1 / (1 + np.exp(-eta))).astype(float)
        case nl.Categorical():
            return (rng.random(len(eta)) < 1 / (1 + np.exp(-eta))) + (rng.random(len(eta)) < 0.3)
    return eta + rng.standard_t(3, size=len(eta))


NOISES = [
    nl.Gaussian(),
    nl.Huber(),
    nl.Laplace(),
    nl.Poisson(),
    nl.Gamma(),
    nl.Tweedie(power=1.5),
    nl.Bernoulli(),
    nl.Categorical(),
]
PRIORS = [nl.Flat(), nl.Gaussian(scale=0.5), nl.Laplace(scale=0.01)]


@pytest.mark.parametrize("noise", NOISES, ids=repr)
@pytest.mark.parametrize("prior", PRIORS, ids=repr)
def test_the_gradient_vanishes(noise, prior):
    X, eta, rng = columns(60_000, 8)
    y = target(noise, eta, rng)
    fit = nl.fit(X, y, noise, prior, tol=1e-9)
    check_optimal(fit, Rows(X, y), noise, prior, atol=1e-6)


def test_a_level_that_the_sample_misses():
    pandas = pytest.importorskip("pandas", reason="a table to fit")
    rng = np.random.default_rng(2)
    n = 60_000
    level = np.where(np.arange(n) % 9973 == 1, "rare", np.array(["a", "b", "c"])[rng.integers(0, 3, n)])
    table = pandas.DataFrame({f"x{j}": rng.normal(size=n) for j in range(6)} | {"level": level})
    y = rng.poisson(np.exp(0.2 * table["x0"] + 1.5 * (level == "rare")))
    fit = nl.fit(table, y, nl.Poisson(), tol=1e-9)
    plain = np.column_stack([table[[f"x{j}" for j in range(6)]], *(level == name for name in ("b", "c", "rare"))])
    check_optimal(fit, Rows(plain.astype(float), y.astype(float)), nl.Poisson(), nl.Flat(), atol=1e-6)


@pytest.mark.parametrize("noise", [nl.Gaussian(scale=1.0), nl.Poisson(), nl.Bernoulli()], ids=repr)
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_more_columns_than_a_matrix_holds(noise, kind):
    rng = np.random.default_rng(7)
    X = rng.normal(size=(150, 2000)) * (rng.random((150, 2000)) < 0.2)
    y = target(noise, X[:, :4] @ [1.0, -1.0, 0.5, 0.5], rng)
    prior = nl.Laplace(scale=0.2)
    fit = nl.fit(kind(X), y, noise, prior, tol=1e-9)
    assert 0 < np.count_nonzero(fit.coef) < 150
    check_optimal(fit, Rows(X, y), noise, prior, atol=1e-5)


def test_strided_and_turned_rows_are_not_copied_wrongly():
    X, eta, rng = columns(4000, 6)
    y = target(nl.Poisson(), eta, rng)
    plain = nl.fit(X, y, nl.Poisson(), tol=1e-10)
    wide = np.empty((8000, 9))
    wide[::2, 1:7] = X
    for same in (np.asfortranarray(X), wide[::2, 1:7], X[:, ::-1][:, ::-1]):
        np.testing.assert_allclose(nl.fit(same, y, nl.Poisson(), tol=1e-10).coef, plain.coef, rtol=1e-9)


def test_a_design_that_was_read_before():
    pandas = pytest.importorskip("pandas", reason="a table to fit")
    table = pandas.DataFrame({"colour": list("abcb") * 10, "size": np.arange(40.0)})
    y, prior = np.arange(40) % 5, nl.Gaussian(scale=1.0)
    once = nl.fit(read(table), y, nl.Poisson(), prior)
    np.testing.assert_array_equal(once.coef, nl.fit(table, y, nl.Poisson(), prior).coef)
    np.testing.assert_array_equal(once.predict(table), nl.fit(table, y, nl.Poisson(), prior).predict(table))
