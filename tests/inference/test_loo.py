"""Leave-one-out from leverages, against refits without each row."""

import numpy as np
import pytest

import neglog as nl


def problem(n=40, d=3, seed=1):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, X @ np.array([0.5, -0.4, 0.2])[:d] + 0.3, rng


def refitted(X, y, noise, prior, weight=None, **options):
    """The nll of each row under the fit without it."""
    nats = np.empty(len(y))
    for i in range(len(y)):
        rest = np.arange(len(y)) != i
        w = None if weight is None else weight[rest]
        fit = nl.fit(X[rest], y[rest], noise, prior, sample_weight=w, tol=1e-9, **options)
        law = fit.distribution(X[i : i + 1])
        nats[i] = law.nll(y[i : i + 1])[0]
    return nats


@pytest.mark.parametrize("intercept", [True, False])
def test_ridge_is_exact(intercept):
    X, eta, rng = problem()
    y = eta + rng.normal(size=40)
    noise, prior = nl.Gaussian(scale=0.8), nl.Gaussian(scale=0.7)
    loo = nl.fit(X, y, noise, prior, intercept=intercept).loo()
    np.testing.assert_allclose(loo.nll, refitted(X, y, noise, prior, intercept=intercept), rtol=1e-9)
    assert loo.total == pytest.approx(loo.nll.sum(), rel=1e-14)
    assert not loo.unreliable.any()


def test_least_squares_without_a_prior_is_exact():
    X, eta, rng = problem()
    y = eta + rng.normal(size=40)
    loo = nl.fit(X, y, nl.Gaussian(scale=0.8)).loo()
    np.testing.assert_allclose(loo.nll, refitted(X, y, nl.Gaussian(scale=0.8), nl.Flat()), rtol=1e-9)
    assert loo.leverage.sum() == pytest.approx(4.0, rel=1e-9)  # the trace of the hat matrix


NOISES = [
    nl.Gaussian(),
    nl.LogNormal(),
    nl.Poisson(),
    nl.Gamma(shape=2.0),
    nl.Gamma(),
    nl.Tweedie(power=1.5, dispersion=0.5),
    nl.Tweedie(power=1.5),
    nl.Bernoulli(),
    nl.Bernoulli(link="probit"),
    nl.Huber(scale=1.0),
    nl.Huber(),
    nl.Poisson(link="sqrt"),
]


@pytest.mark.parametrize("noise", NOISES, ids=repr)
@pytest.mark.parametrize("prior", [nl.Gaussian(scale=0.7), nl.Flat(), nl.Laplace(scale=0.3)], ids=repr)
def test_against_refits(noise, prior):
    X, eta, rng = problem(80)
    if noise.link.name == "sqrt":
        eta = eta + 3
    stated = {
        f"_{name}": {"shape": 2.0, "dispersion": 0.5}.get(name, 0.7)
        for name, v in noise.parameters.items()
        if v is None
    }
    y = np.asarray(noise._replaced(**stated).given(eta).sample(rng=rng), float)
    loo = nl.fit(X, y, noise, prior, tol=1e-9).loo()
    exact = refitted(X, y, noise, prior)
    seen = nl.fit(X, y, noise, prior, tol=1e-9)
    optimism = exact.sum() - seen.nll
    assert optimism > 0
    sure = ~loo.unreliable
    assert abs(loo.nll[sure].sum() - exact[sure].sum()) < 0.1 * optimism + 0.02
    assert np.mean(sure) > 0.9
    assert np.max(np.abs(loo.nll - exact)[sure]) < 0.1 + 0.3 * np.max(exact - seen_nll(seen, X, y))


def seen_nll(fit, X, y):
    return fit.distribution(X).nll(y)


def test_classes_against_refits():
    X, eta, rng = problem(60)
    y = (eta + rng.logistic(size=60) > 0).astype(int) + (rng.random(60) < 0.3)
    prior = nl.Gaussian(scale=0.7)
    fit = nl.fit(X, y, nl.Categorical(), prior, tol=1e-9)
    loo = fit.loo()
    exact = np.empty(60)
    for i in range(60):
        rest = np.arange(60) != i
        exact[i] = -np.log(nl.fit(X[rest], y[rest], nl.Categorical(), prior).predict(X[i : i + 1])[0, y[i]])
    assert abs(loo.total - exact.sum()) < 0.1 * (exact.sum() - fit.nll)
    np.testing.assert_allclose(loo.nll, exact, atol=0.1)


@pytest.mark.parametrize("noise", [nl.Poisson(), nl.Gaussian(), nl.Gaussian(scale=1.0)], ids=repr)
def test_a_weight_repeats_the_row(noise):
    X, eta, rng = problem(30)
    y = rng.poisson(np.exp(eta)).astype(float)
    weight = rng.integers(0, 4, 30)
    prior = nl.Gaussian(scale=0.7)
    weighted = nl.fit(X, y, noise, prior, sample_weight=weight, tol=1e-10).loo()
    rows = np.repeat(np.arange(30), weight)
    repeated = nl.fit(X[rows], y[rows], noise, prior, tol=1e-10).loo()
    np.testing.assert_allclose(weighted.nll[rows], repeated.nll, rtol=1e-7)
    assert weighted.total == pytest.approx(repeated.total, rel=1e-8)


def test_a_row_that_alone_knows_its_column():
    X = np.zeros((6, 1))
    X[0] = 1.0
    for intercept in (True, False):
        loo = nl.fit(X, np.arange(6.0) + 1, nl.Gaussian(scale=1.0), intercept=intercept).loo()
        assert loo.unreliable[0]
        assert loo.nll[0] == np.inf
        assert np.isfinite(loo.nll[1:]).all()


def test_a_row_that_decides_alone_is_flagged():
    X, eta, rng = problem(30)
    X[7] = [30.0, 0.0, 0.0]
    y = rng.poisson(np.exp(np.clip(eta, -2, 2))).astype(float)
    loo = nl.fit(X, y, nl.Poisson(), nl.Gaussian(scale=3.0)).loo()
    assert loo.unreliable[7]
    assert "unreliable" in repr(loo)


def test_a_lasso_over_many_columns():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 400))
    y = X[:, 0] - X[:, 1] + 0.5 * rng.normal(size=80)
    fit = nl.fit(X, y, nl.Gaussian(scale=0.5), nl.Laplace(scale=0.02))
    loo = fit.loo()
    assert loo.total > fit.nll
    rest = np.arange(80) != 3
    without = nl.fit(X[rest], y[rest], nl.Gaussian(scale=0.5), nl.Laplace(scale=0.02)).distribution(X[3:4])
    assert loo.nll[3] == pytest.approx(without.nll(y[3:4])[0], abs=0.1)


def test_errors():
    X, eta, rng = problem(30)
    y = eta + rng.normal(size=30)
    with pytest.raises(ValueError, match="needs a smooth loss"):
        nl.fit(X, y, nl.Laplace(scale=1.0)).loo()


def test_collinear_columns():
    X, eta, rng = problem(30)
    y = eta + rng.normal(size=30)
    twice = nl.fit(np.column_stack([X, X]), y, nl.Gaussian(scale=1.0)).loo()
    np.testing.assert_allclose(twice.nll, nl.fit(X, y, nl.Gaussian(scale=1.0)).loo().nll, rtol=1e-8)
