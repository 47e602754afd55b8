"""Priors whose scale is learned."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_diabetes
from sklearn.linear_model import ARDRegression, BayesianRidge, RidgeCV

import neglog as nl

CLOSE = {"alpha_1": 0.0, "alpha_2": 0.0, "lambda_1": 0.0, "lambda_2": 0.0, "tol": 1e-10, "max_iter": 5000}


def regression(n=150, d=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    theta = rng.normal(size=d) * 0.4
    return X, X @ theta, rng


def test_the_same_optimum_as_bayesian_ridge():
    X, eta, rng = regression()
    y = eta + 0.5 * rng.normal(size=150)
    fit = nl.fit(X, y, nl.Gaussian(), nl.Gaussian(), intercept=False, standardize=False)
    peer = BayesianRidge(fit_intercept=False, **CLOSE).fit(X, y)
    assert fit.prior.scale == pytest.approx(peer.lambda_**-0.5, rel=1e-5)
    assert fit.noise.scale == pytest.approx(peer.alpha_**-0.5, rel=1e-5)
    np.testing.assert_allclose(fit.coef, peer.coef_, rtol=1e-5)


def test_diabetes_against_bayesian_ridge():
    X, y = load_diabetes(return_X_y=True)
    y = y - y.mean()
    fit = nl.fit(X, y, nl.Gaussian(), nl.Gaussian(), intercept=False)
    peer = BayesianRidge(fit_intercept=False, **CLOSE).fit(X, y)
    np.testing.assert_allclose(fit.prior.scale, peer.lambda_**-0.5, rtol=1e-4)
    np.testing.assert_allclose(fit.coef, peer.coef_, rtol=1e-4)


def test_the_same_optimum_as_automatic_relevance():
    X, _, rng = regression(200, 4)
    y = X @ [1.0, -0.5, 0.3, 0.2] + 0.5 * rng.normal(size=200)
    fit = nl.fit(X, y, nl.Gaussian(), nl.Gaussian(groups=range(4)), intercept=False, standardize=False)
    peer = ARDRegression(fit_intercept=False, threshold_lambda=1e12, **CLOSE).fit(X, y)
    np.testing.assert_allclose(fit.prior.scale, peer.lambda_**-0.5, rtol=1e-3)
    np.testing.assert_allclose(fit.coef, peer.coef_, rtol=1e-4)


def test_a_group_that_does_not_matter_is_shrunk_away():
    X, _, rng = regression(400, 6)
    y = X[:, :3] @ [1.0, -0.8, 0.6] + 0.5 * rng.normal(size=400)
    fit = nl.fit(X, y, nl.Gaussian(), nl.Gaussian(groups=["real"] * 3 + ["noise"] * 3))
    assert fit.prior.scale[0] > 10 * fit.prior.scale[3]
    assert np.max(np.abs(fit.coef[3:])) < 0.05
    counts = rng.poisson(np.exp(X[:, :3] @ [0.4, -0.3, 0.3]))
    glm = nl.fit(X, counts, nl.Poisson(), nl.Gaussian(groups=["real"] * 3 + ["noise"] * 3))
    assert glm.prior.scale[0] > 3 * glm.prior.scale[3]


@pytest.mark.parametrize("noise", [nl.Gaussian(scale=0.5), nl.Poisson(), nl.Bernoulli(), nl.Gamma(shape=2.0)], ids=repr)
@pytest.mark.parametrize("intercept", [True, False])
def test_no_other_scale_has_more_evidence(noise, intercept):
    X, eta, rng = regression()
    y = np.asarray(noise.given(eta).sample(rng=rng), float)
    fit = nl.fit(X, y, noise, nl.Gaussian(), intercept=intercept, standardize=False)
    best = fit.posterior().evidence
    for factor in (0.9, 0.99, 1.01, 1.1):
        other = nl.fit(X, y, noise, nl.Gaussian(scale=factor * fit.prior.scale), intercept=intercept)
        assert other.posterior().evidence < best + 1e-6


def test_columns_of_unit_variance_share_the_scale():
    X, eta, rng = regression()
    y = rng.poisson(np.exp(eta))
    units = np.array([1.0, 100.0, 0.01, 3.0, 1e4])
    fit, wide = nl.fit(X, y, nl.Poisson(), nl.Gaussian()), nl.fit(X * units, y, nl.Poisson(), nl.Gaussian())
    np.testing.assert_allclose(wide.coef * units, fit.coef, rtol=1e-4)
    np.testing.assert_allclose(wide.prior.scale * units, fit.prior.scale, rtol=1e-3)
    np.testing.assert_allclose(
        fit.prior.scale * X.std(axis=0), np.full(5, fit.prior.scale[0] * X[:, 0].std()), rtol=1e-9
    )
    stated = nl.fit(X * units, y, nl.Poisson(), nl.Gaussian(scale=0.3), standardize=True)
    plain = nl.fit(X, y, nl.Poisson(), nl.Gaussian(scale=0.3 / X.std(axis=0)))
    np.testing.assert_allclose(stated.coef * units, plain.coef, rtol=1e-6)


@pytest.mark.parametrize("noise", [nl.Gaussian(), nl.Poisson()], ids=repr)
def test_every_form_of_the_data(noise):
    pandas = pytest.importorskip("pandas", reason="a table to fit")
    rng = np.random.default_rng(1)
    table = pandas.DataFrame({"x": rng.normal(size=300), "level": rng.choice(list("abcd"), 300)})
    effect = table["level"].map({"a": 0.0, "b": 0.5, "c": -0.4, "d": 0.2}).to_numpy() + 0.3 * table["x"].to_numpy()
    y = np.asarray(
        noise._replaced(**({"_scale": 0.5} if "scale" in noise.parameters else {})).given(effect).sample(rng=2)
    )
    dense = np.column_stack([table["x"], *(table["level"] == level for level in "abcd")]).astype(float)
    fits = [nl.fit(X, y, noise, nl.Gaussian()) for X in (table, dense, sparse.csr_array(dense))]
    for fit in fits[1:]:
        np.testing.assert_allclose(fit.coef, fits[0].coef, atol=1e-4)
        np.testing.assert_allclose(fit.prior.scale, fits[0].prior.scale, rtol=1e-3)


def test_held_out_nats_are_no_worse_than_of_cross_validation():
    X, y = load_diabetes(return_X_y=True)
    rng = np.random.default_rng(0)
    rows = rng.permutation(len(y))
    train, test = rows[:300], rows[300:]
    fit = nl.fit(X[train], y[train], nl.Gaussian(), nl.Gaussian())
    peer = RidgeCV(np.geomspace(1e-3, 1e3, 61)).fit(X[train], y[train])
    sigma = np.sqrt(np.mean((y[train] - peer.predict(X[train])) ** 2))
    ours = fit.distribution(X[test]).nll(y[test]).mean()
    theirs = nl.Gaussian(peer.predict(X[test]), sigma).nll(y[test]).mean()
    assert ours < theirs + 0.005


def test_a_laplace_prior_by_leave_one_out():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(200, 30))
    y = rng.poisson(np.exp(0.6 * X[:, 0] - 0.5 * X[:, 1] + 0.2))
    fit = nl.fit(X, y, nl.Poisson(), nl.Laplace())
    assert fit.coef[0] > 0.4
    assert fit.coef[1] < -0.3
    assert np.count_nonzero(fit.coef) < 25
    assert fit.converged
    best = fit.loo().total
    for factor in (0.5, 2.0):
        other = nl.fit(X, y, nl.Poisson(), nl.Laplace(scale=factor * fit.prior.scale))
        assert other.loo().total > best - 0.2


def test_the_filled_prior_gives_the_same_fit():
    X, eta, rng = regression()
    y = rng.poisson(np.exp(eta))
    for prior in (nl.Gaussian(), nl.Laplace()):
        learned = nl.fit(X, y, nl.Poisson(), prior)
        again = nl.fit(X, y, nl.Poisson(), learned.prior)
        np.testing.assert_allclose(again.coef, learned.coef, atol=1e-6)
        assert again.objective == pytest.approx(learned.objective, rel=1e-10)


def test_noise_alone_learns_a_small_scale():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(500, 4))
    fit = nl.fit(X, rng.normal(size=500), nl.Gaussian(), nl.Gaussian())
    assert np.max(np.abs(fit.coef)) < 0.1


@pytest.mark.parametrize(
    ("prior", "message"),
    [
        (nl.Gaussian() * nl.Laplace(scale=1.0), "only one scale of a prior can be learned"),
        (nl.Gaussian(groups=["a", "b"]), "one label per coefficient, 5 of them"),
    ],
)
def test_errors(prior, message):
    X, eta, _ = regression()
    with pytest.raises(ValueError, match=message):
        nl.fit(X, eta, nl.Gaussian(), prior)
    with pytest.raises(ValueError, match="needs a smooth loss"):
        nl.fit(X, eta, nl.Laplace(), nl.Laplace())
    with pytest.raises(ValueError, match="without columns"):
        nl.fit(np.empty((5, 0)), np.arange(5.0), nl.Gaussian(), nl.Gaussian())


# ---- edges -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("noise", [nl.Poisson(), nl.Gaussian(), nl.Bernoulli()], ids=repr)
@pytest.mark.parametrize("groups", [None, [0, 1, 2]])
def test_data_without_any_effect(noise, groups):
    """The evidence may rise all the way down to a scale of 0: the search ends at its edge and says so."""
    notes = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(60, 3))
        y = {"poisson": rng.poisson(3.0, size=60), "gaussian": rng.normal(size=60), "bernoulli": rng.random(60) < 0.5}
        fit = nl.fit(X, y[noise._family()].astype(float), noise, nl.Gaussian(groups=groups))
        assert fit.converged
        assert np.max(np.abs(fit.coef)) < 0.6
        notes += "no effect" in fit.message
    assert notes


def test_separated_classes_say_that_nothing_holds_them():
    X = np.linspace(-1, 1, 40)[:, None]
    fit = nl.fit(X, (X[:, 0] > 0).astype(float), nl.Bernoulli(), nl.Gaussian())
    assert "upper edge" in fit.message or fit.prior.scale > 5


def test_strong_effects_do_not_end_the_path_early():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    y = X @ [10.0, 20.0, 30.0] + 0.3 * rng.normal(size=80)
    fit = nl.fit(X, y, nl.Gaussian(), nl.Laplace())
    np.testing.assert_allclose(fit.coef, [10, 20, 30], atol=0.3)


def test_an_offset_far_from_zero_changes_nothing():
    X, eta, rng = regression()
    y = eta + 0.5 * rng.normal(size=150)
    near = nl.fit(X, y, nl.Gaussian(), nl.Gaussian())
    far = nl.fit(X, y + 1e7, nl.Gaussian(), nl.Gaussian(), offset=np.full(150, 1e7))
    assert far.noise.scale == pytest.approx(near.noise.scale, rel=1e-6)


def test_a_small_column_is_not_a_constant_one():
    X, eta, rng = regression()
    y = eta + 0.5 * rng.normal(size=150)
    units = np.array([1e-8, 1e6, 1.0, 1.0, 1.0])
    fit, scaled = nl.fit(X, y, nl.Gaussian(), nl.Gaussian()), nl.fit(X * units, y, nl.Gaussian(), nl.Gaussian())
    np.testing.assert_allclose(scaled.coef * units, fit.coef, rtol=1e-5)


def test_a_location_is_one_of_unit_variance_too():
    rng = np.random.default_rng(0)
    X = 10 * rng.normal(size=(100, 1))
    y = 0.3 * X[:, 0] + rng.normal(size=100)
    strong = nl.fit(X, y, nl.Gaussian(scale=1.0), nl.Gaussian(2.0, 1e-4), standardize=True)
    assert strong.coef[0] * X.std() == pytest.approx(2.0, abs=1e-3)


@pytest.mark.parametrize("prior", [nl.Gaussian(), nl.Laplace()], ids=repr)
@pytest.mark.parametrize("noise", [nl.Gaussian(), nl.Poisson()], ids=repr)
def test_missing_values_are_named(prior, noise):
    X, _, rng = regression()
    X[3, 2] = np.nan
    with pytest.raises(ValueError, match="column 'x2' has 1, the first in row 3"):
        nl.fit(X, rng.poisson(2.0, size=150).astype(float), noise, prior)


def test_too_little_to_learn_from():
    with pytest.raises(ValueError, match="cannot be learned from 1 rows"):
        nl.fit(np.ones((1, 2)), [1.0], nl.Gaussian(), nl.Gaussian())
    with pytest.raises(ValueError, match="cannot be learned where"):
        nl.fit(np.ones((50, 2)), np.arange(50.0), nl.Gaussian(), nl.Gaussian())
    with pytest.raises(ValueError, match="loc must be stated"):
        nl.fit(np.ones((50, 2)), np.arange(50.0), nl.Gaussian(), nl.Gaussian(loc=None, scale=1.0))
