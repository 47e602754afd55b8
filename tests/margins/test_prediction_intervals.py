"""Intervals of predictions: numbers that statsmodels has too, how often they hold, and what is refused."""

import warnings

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm

import neglog as nl


def rows(n=60, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return rng, X, 0.3 + X @ [0.5, -0.4]


def frame(result, X):
    return result.get_prediction(sm.add_constant(X)).summary_frame(alpha=0.1)


def test_means_of_least_squares_are_those_of_statsmodels():
    rng, X, eta = rows()
    y = eta + rng.normal(size=len(eta))
    wanted = frame(sm.OLS(y, sm.add_constant(X)).fit(), X)
    found = nl.fit(X, y).predict(X, interval=0.9)
    np.testing.assert_allclose(found.estimate, wanted["mean"], rtol=1e-10)
    np.testing.assert_allclose(found.lower, wanted["mean_ci_lower"], rtol=1e-9)
    np.testing.assert_allclose(found.upper, wanted["mean_ci_upper"], rtol=1e-9)


def test_y_under_least_squares_is_that_of_statsmodels():
    rng, X, eta = rows(30)
    y = eta + rng.normal(size=len(eta))
    wanted = frame(sm.OLS(y, sm.add_constant(X)).fit(), X)
    found = nl.fit(X, y).predict(X, interval=0.9, of="y")
    np.testing.assert_allclose(found.lower, wanted["obs_ci_lower"], rtol=1e-8)
    np.testing.assert_allclose(found.upper, wanted["obs_ci_upper"], rtol=1e-8)


@pytest.mark.parametrize(
    ("noise", "family"),
    [
        (nl.Poisson(), sm.families.Poisson()),
        (nl.Bernoulli(), sm.families.Binomial()),
        (nl.Bernoulli(link="cloglog"), sm.families.Binomial(sm.families.links.CLogLog())),
    ],
)
def test_means_of_linear_models_with_links_are_those_of_statsmodels(noise, family):
    _, X, eta = rows(200)
    y = np.asarray(noise.given(eta).sample(rng=1), float)
    result = sm.GLM(y, sm.add_constant(X), family=family).fit(tol=1e-13, cov_type="nonrobust")
    if noise.link.name == "cloglog":  # whose information statsmodels takes expected
        result = sm.GLM(y, sm.add_constant(X), family=family).fit(method="newton", tol=1e-13, maxiter=100)
    wanted, found = frame(result, X), nl.fit(X, y, noise, tol=1e-10).predict(X, interval=0.9)
    np.testing.assert_allclose(found.lower, wanted["mean_ci_lower"], rtol=1e-6)
    np.testing.assert_allclose(found.upper, wanted["mean_ci_upper"], rtol=1e-6)


@pytest.mark.parametrize(
    ("noise", "n"), [(nl.Gaussian(), 7), (nl.LogNormal(), 40), (nl.Poisson(), 40), (nl.Gaussian(scale="model"), 150)]
)
def test_intervals_hold_the_mean_as_often_as_they_say(noise, n):
    X = np.linspace(-1, 1, n)[:, None]
    truth = noise.unmodelled()
    if truth.unknown:
        truth = truth.estimated(scale=np.exp(0.5 * X[:, 0]) if noise.modelled else 0.7)
    eta = 0.5 + 0.8 * X[:, 0]
    law = truth.given(eta)
    held = []
    for seed in range(400):
        y = np.asarray(law.sample(rng=seed), float)
        found = nl.fit(X, y, noise).predict(X[-2:], interval=0.9)
        held.append((found.lower <= law.mean()[-2:]) & (law.mean()[-2:] <= found.upper))
    assert np.mean(held) == pytest.approx(0.9, abs=0.035)


def test_classes_have_intervals_of_their_probabilities():
    _, X, eta = rows(300)
    y = np.random.default_rng(2).binomial(2, 1 / (1 + np.exp(-eta)))
    for noise in (nl.Categorical(), nl.Ordinal()):
        fit = nl.fit(X, y, noise)
        found = fit.predict(X[:4], interval=0.9)
        assert found.estimate.shape == found.lower.shape == (4, 3)
        assert np.all((found.lower > 0) & (found.lower < found.estimate) & (found.estimate < found.upper))
        assert np.all(found.upper < 1)
        assert np.asarray(found).shape == (4, 3, 3)
        draws = fit.posterior().sample(4000, rng=0)
        one = X[0]
        if isinstance(noise, nl.Categorical):
            own = draws.reshape(-1, 3, 3)
            p = np.exp(own[:, :, 0] + own[:, :, 1:] @ one)
            p /= p.sum(axis=1, keepdims=True)
            np.testing.assert_allclose(np.quantile(p, 0.05, axis=0), found.lower[0], atol=0.02)
        with pytest.raises(ValueError, match="one of several classes"):
            fit.predict(X, interval=0.9, of="y")


def test_levels_that_the_fit_has_not_seen_have_the_spread_of_their_prior():
    rng = np.random.default_rng(0)
    level = rng.integers(30, size=600)
    y = rng.normal(size=30)[level] + 0.5 * rng.normal(size=600)
    table = pd.DataFrame({"level": level.astype(str), "y": y})
    fit = nl.fit(table, "y ~ (1|level)")
    scale = fit.terms["(1|level)"].scale if hasattr(fit.terms, "__getitem__") else fit.terms[0].scale
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = fit.predict(pd.DataFrame({"level": ["never"]}), interval=0.9)
    assert found.upper[0] - found.lower[0] > 2 * 1.6 * float(np.ravel(scale)[0])


def test_what_predict_gives_without_an_interval_is_what_it_was():
    rng, X, eta = rows()
    table = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": eta + rng.normal(size=60)})
    fit = nl.fit(table, "y ~ a + b")
    assert isinstance(fit.predict(table), np.ndarray)
    one = {"a": 0.3, "b": -0.2}
    found = fit.predict(one, interval=0.9)
    estimate, lower, upper = found
    assert lower[0] < estimate[0] < upper[0]
    assert estimate[0] == pytest.approx(fit.predict(one)[0])
    assert len(found) == 1


def test_what_is_refused(tmp_path):
    rng, X, eta = rows()
    fit = nl.fit(X, eta + rng.normal(size=60))
    with pytest.raises(ValueError, match="level must be between 0 and 1"):
        fit.predict(X, interval=90)
    with pytest.raises(ValueError, match='of must be "mean" or "y"'):
        fit.predict(X, interval=0.9, of="median")
    fit.save(tmp_path / "fit.json")
    with pytest.raises(ValueError, match="has no data"):
        nl.load(tmp_path / "fit.json").predict(X, interval=0.9)
