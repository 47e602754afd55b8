"""The same problem solved by scikit-learn, glum and statsmodels: the strengths translate, and nobody finds less.

A peer is a function of a Data that returns its intercept and coefficients. What its penalty parameter means in prior
scales is written there, once; n is the sum of the weights. The objective of both answers is computed by the test.
"""

import warnings
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest
from inference.problems import Rows, check_same
from scipy import sparse

import neglog as nl

linear = pytest.importorskip("sklearn.linear_model", reason="the peer")
glum = pytest.importorskip("glum", reason="the peer")
statsmodels = pytest.importorskip("statsmodels.api", reason="the peer")

TAU, B = 0.4, 0.1
L2, L1 = nl.Gaussian(scale=TAU), nl.Laplace(scale=B)
WIDTHS = np.array([np.inf, 0.3, 0.5, 0.2])
SIGMA = 0.6


@dataclass(frozen=True)
class Data:
    """Rows, and what a peer may be told about them."""

    X: np.ndarray
    y: np.ndarray
    weight: np.ndarray | None = None

    @property
    def n(self):
        return len(self.y) if self.weight is None else self.weight.sum()


def data(noise, weighted=False, n=150):
    rng = np.random.default_rng(21)
    X = rng.normal(size=(n, 4)) @ (np.eye(4) + 0.3) * [1.0, 0.5, 2.0, 1.0]
    X[rng.random((n, 4)) < 0.2] = 0.0
    eta = 0.3 + X @ [0.4, -0.3, 0.0, 0.1]
    if isinstance(noise, nl.Categorical):
        eta = np.column_stack([eta, -eta, 0 * eta])
    y = np.asarray(noise.given(eta).sample(rng=22), float)
    return Data(X, y, rng.integers(1, 4, n).astype(float) if weighted else None)


def answer(model):
    return float(np.squeeze(model.intercept_)), np.ravel(model.coef_)


def total(d, noise, prior, intercept, coef):
    """nll + penalty of an answer."""
    said = SimpleNamespace(coef=coef, intercept=intercept, noise=noise)
    return Rows(d.X, d.y, weight=d.weight).nll(said) + prior.penalty(coef)


def agree(d, noise, prior, peer, atol, rtol=1e-8):
    """The coefficients are the peer's to its precision; the objective is as low as the peer's."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        intercept, coef = peer(d)
    fit = nl.fit(d.X, d.y, noise, prior, sample_weight=d.weight, tol=1e-10)
    assert fit.converged, fit.message
    assert np.any(coef)
    np.testing.assert_allclose(fit.coef, coef, atol=atol)
    np.testing.assert_allclose(fit.intercept, intercept, atol=atol)
    theirs = total(d, noise, prior, intercept, coef)
    assert fit.objective == pytest.approx(total(d, noise, prior, fit.intercept, fit.coef), rel=1e-11)
    assert fit.objective <= theirs + 1e-10 * abs(theirs)
    assert fit.objective == pytest.approx(theirs, rel=rtol)


# ---- scikit-learn ----------------------------------------------------------------------------------------------------

GAUSS = nl.Gaussian(scale=SIGMA)
GAMMA = nl.Gamma(shape=2.0)
TWEEDIE = nl.Tweedie(power=1.5, dispersion=0.7)
POWER_ZERO = nl.Tweedie(power=0.0, dispersion=SIGMA**2, link="identity")
NEWTON = {"solver": "newton-cholesky", "tol": 1e-12, "max_iter": 1000}
COORDINATES = {"tol": 1e-14, "max_iter": 100_000}


def elastic(d, scale=1.0):
    """alpha and l1_ratio of a mean loss whose nll is the loss / scale."""
    both = 1 / B + 1 / TAU**2
    return {"alpha": scale / d.n * both, "l1_ratio": 1 / B / both}


SKLEARN = {
    "LinearRegression": (GAUSS, nl.Flat(), lambda d: linear.LinearRegression(), 1e-8),
    "Ridge": (GAUSS, L2, lambda d: linear.Ridge(alpha=SIGMA**2 / TAU**2, tol=1e-12), 1e-8),
    "Lasso": (GAUSS, L1, lambda d: linear.Lasso(alpha=SIGMA**2 / (d.n * B), **COORDINATES), 1e-6),
    "ElasticNet": (GAUSS, L2 * L1, lambda d: linear.ElasticNet(**elastic(d, SIGMA**2), **COORDINATES), 1e-6),
    "PoissonRegressor": (nl.Poisson(), L2, lambda d: linear.PoissonRegressor(alpha=1 / (d.n * TAU**2), **NEWTON), 1e-6),
    "PoissonRegressor-flat": (nl.Poisson(), nl.Flat(), lambda d: linear.PoissonRegressor(alpha=0.0, **NEWTON), 1e-6),
    "GammaRegressor": (GAMMA, L2, lambda d: linear.GammaRegressor(alpha=0.5 / (d.n * TAU**2), **NEWTON), 1e-6),
    "TweedieRegressor": (
        TWEEDIE,
        L2,
        lambda d: linear.TweedieRegressor(power=1.5, alpha=0.7 / (d.n * TAU**2), **NEWTON),
        1e-6,
    ),
    "TweedieRegressor-gaussian": (
        POWER_ZERO,
        L2,
        lambda d: linear.TweedieRegressor(power=0, alpha=SIGMA**2 / (d.n * TAU**2), **NEWTON),
        1e-6,
    ),
    "LogisticRegression": (nl.Bernoulli(), L2, lambda d: linear.LogisticRegression(C=TAU**2, **NEWTON), 1e-6),
    "LogisticRegression-l1": (
        nl.Bernoulli(),
        L1,
        lambda d: linear.LogisticRegression(
            C=B, l1_ratio=1.0, solver="saga", tol=1e-10, max_iter=100_000, random_state=0
        ),
        1e-5,
    ),
    "LogisticRegression-elastic-net": (
        nl.Bernoulli(),
        L2 * L1,
        lambda d: linear.LogisticRegression(
            C=1 / (1 / B + 1 / TAU**2),
            l1_ratio=1 / B / (1 / B + 1 / TAU**2),
            solver="saga",
            tol=1e-10,
            max_iter=100_000,
            random_state=0,
        ),
        1e-5,
    ),
}


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("name", SKLEARN)
def test_scikit_learn(name, weighted):
    noise, prior, estimator, atol = SKLEARN[name]
    d = data(noise, weighted)
    agree(d, noise, prior, lambda d: answer(estimator(d).fit(d.X, d.y, sample_weight=d.weight)), atol)


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
def test_scikit_learn_multinomial(weighted):
    noise = nl.Categorical()
    d = data(noise, weighted)
    peer = linear.LogisticRegression(C=TAU**2, **NEWTON).fit(d.X, d.y, sample_weight=d.weight)
    fit = nl.fit(d.X, d.y, noise, L2, sample_weight=d.weight, tol=1e-10)
    np.testing.assert_allclose(fit.coef, peer.coef_, atol=1e-6)
    np.testing.assert_allclose(fit.intercept, peer.intercept_ - peer.intercept_.mean(), atol=1e-6)
    np.testing.assert_allclose(fit.predict(d.X), peer.predict_proba(d.X), atol=1e-6)
    theirs = total(d, noise, L2, peer.intercept_, peer.coef_)
    assert fit.objective <= theirs + 1e-10 * theirs
    assert fit.objective == pytest.approx(theirs, rel=1e-8)


def test_scikit_learn_huber_at_its_own_scale():
    """alpha = scale / tau^2; its solver stops early."""
    d = data(GAUSS)
    y = d.y + np.where(np.arange(150) % 9 == 0, 4.0, 0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        peer = linear.HuberRegressor(epsilon=1.345, alpha=3.0, tol=1e-10, max_iter=10_000).fit(d.X, y)
    noise, prior = nl.Huber(scale=peer.scale_), nl.Gaussian(scale=np.sqrt(peer.scale_ / 3.0))
    agree(Data(d.X, y), noise, prior, lambda d: answer(peer), 1e-4)


@pytest.mark.parametrize("strength", [0.0, 0.02])
def test_scikit_learn_quantiles(strength):
    """The median loss is half the absolute error: scale of the Laplace noise = twice that of the pinball."""
    d = data(nl.Laplace(scale=0.5))
    noise = nl.Laplace(scale=0.5)
    prior = nl.Laplace(scale=0.25 / (d.n * strength)) if strength else nl.Flat()
    peer = linear.QuantileRegressor(quantile=0.5, alpha=strength, solver="highs").fit(d.X, d.y)
    agree(d, noise, prior, lambda d: answer(peer), 1e-7)


# ---- glum ------------------------------------------------------------------------------------------------------------

GLUM = {
    "normal": (GAUSS, "normal", SIGMA**2),
    "poisson": (nl.Poisson(), "poisson", 1.0),
    "gamma": (GAMMA, "gamma", 0.5),
    "tweedie": (TWEEDIE, "tweedie (1.5)", 0.7),
    "inverse-gaussian": (nl.Tweedie(power=3.0, dispersion=0.2), "inverse.gaussian", 0.2),
    "binomial": (nl.Bernoulli(), "binomial", 1.0),
}
BY_COLUMN = nl.Gaussian(scale=WIDTHS)


def glum_penalty(d, prior, dispersion):
    """alpha, l1_ratio and the factors of the columns P1 and P2."""
    match prior:
        case nl.Flat():
            return {"alpha": 0.0}
        case nl.Laplace():
            return {"alpha": dispersion / (d.n * B), "l1_ratio": 1.0}
        case nl.Gaussian():
            return {"alpha": 1.0, "l1_ratio": 0.0, "P2": np.broadcast_to(dispersion / d.n / prior.scale**2, 4).copy()}
    return elastic(d, dispersion)


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize(
    "prior", [nl.Flat(), L2, L1, L2 * L1, BY_COLUMN], ids=["flat", "l2", "l1", "elastic-net", "by-column"]
)
@pytest.mark.parametrize("name", GLUM)
def test_glum(name, prior, weighted):
    noise, family, dispersion = GLUM[name]
    link = "logit" if name == "binomial" else "identity" if name == "normal" else "log"

    def peer(d):
        model = glum.GeneralizedLinearRegressor(
            family=family, link=link, gradient_tol=1e-10, max_iter=1000, **glum_penalty(d, prior, dispersion)
        )
        return answer(model.fit(d.X, d.y, sample_weight=d.weight))

    agree(data(noise, weighted), noise, prior, peer, 1e-5)


def test_glum_with_an_offset_and_sparse_columns():
    d = data(nl.Poisson())
    offset = np.random.default_rng(5).normal(size=150) * 0.5
    peer = glum.GeneralizedLinearRegressor(
        family="poisson", alpha=1 / (d.n * TAU**2), l1_ratio=0.0, gradient_tol=1e-10, max_iter=1000
    ).fit(sparse.csc_matrix(d.X), d.y, offset=offset)
    fit = nl.fit(sparse.csc_matrix(d.X), d.y, nl.Poisson(), L2, offset=offset, tol=1e-10)
    np.testing.assert_allclose(fit.coef, peer.coef_, atol=1e-7)
    np.testing.assert_allclose(fit.intercept, peer.intercept_, atol=1e-7)
    check_same(nl.fit(d.X, d.y, nl.Poisson(), L2, exposure=np.exp(offset), tol=1e-10), fit, 1e-9)


# ---- statsmodels -----------------------------------------------------------------------------------------------------

FAMILIES = {
    "gaussian": (GAUSS, lambda: statsmodels.families.Gaussian()),
    "poisson": (nl.Poisson(), lambda: statsmodels.families.Poisson()),
    "gamma": (GAMMA, lambda: statsmodels.families.Gamma(statsmodels.families.links.Log())),
    "tweedie": (TWEEDIE, lambda: statsmodels.families.Tweedie(var_power=1.5)),
    "binomial": (nl.Bernoulli(), lambda: statsmodels.families.Binomial()),
}


def first_and_rest(result):
    params = np.asarray(result.params)
    return params[0], params[1:]


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("name", FAMILIES)
def test_statsmodels_glm(name, weighted):
    noise, family = FAMILIES[name]

    def peer(d):
        model = statsmodels.GLM(d.y, statsmodels.add_constant(d.X), family=family(), freq_weights=d.weight)
        return first_and_rest(model.fit(tol=1e-13, maxiter=500, tol_criterion="params"))

    agree(data(noise, weighted), noise, nl.Flat(), peer, 1e-7)


@pytest.mark.parametrize("name", ["gaussian", "gamma", "tweedie"])
def test_statsmodels_variance_weights_are_precisions(name):
    noise, family = FAMILIES[name]
    d, precision = data(noise), np.random.default_rng(6).random(150) + 0.5
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = statsmodels.GLM(d.y, statsmodels.add_constant(d.X), family=family(), var_weights=precision)
        intercept, coef = first_and_rest(model.fit(tol=1e-13, maxiter=500, tol_criterion="params"))
    fit = nl.fit(d.X, d.y, noise, precision=precision, tol=1e-10)
    np.testing.assert_allclose(fit.coef, coef, atol=1e-7)
    np.testing.assert_allclose(fit.intercept, intercept, atol=1e-7)


@pytest.mark.parametrize("prior", [L2, L1, L2 * L1], ids=["l2", "l1", "elastic-net"])
def test_statsmodels_regularised_least_squares(prior):
    """It penalises the constant too, unless alpha is a vector that spares it."""
    strengths = {"l2": (1 / TAU**2, 0.0), "l1": (0.0, 1 / B), "both": (1 / TAU**2, 1 / B)}
    l2, l1 = strengths["l2" if prior is L2 else "l1" if prior is L1 else "both"]

    def peer(d):
        model = statsmodels.OLS(d.y, statsmodels.add_constant(d.X))
        alpha = SIGMA**2 / d.n * (l1 + l2) * np.array([0.0, 1.0, 1.0, 1.0, 1.0])
        result = model.fit_regularized(
            alpha=alpha, L1_wt=l1 / (l1 + l2), maxiter=10_000, cnvrg_tol=1e-14, zero_tol=1e-14
        )
        return first_and_rest(result)

    agree(data(GAUSS), GAUSS, prior, peer, 1e-5)


def test_statsmodels_multinomial():
    d = data(nl.Categorical())
    peer = statsmodels.MNLogit(d.y, statsmodels.add_constant(d.X)).fit(method="newton", disp=0, tol=1e-14, maxiter=200)
    fit = nl.fit(d.X, d.y, nl.Categorical(), tol=1e-10)
    differences = np.column_stack([fit.intercept, fit.coef])
    np.testing.assert_allclose((differences - differences[0])[1:].T, peer.params, atol=1e-7)
    assert fit.log_likelihood == pytest.approx(peer.llf, rel=1e-11)
    assert fit.aic == pytest.approx(peer.aic, rel=1e-11)


def test_statsmodels_standard_errors():
    """At known dispersion and canonical link there is only one information."""
    for noise, family in (FAMILIES["poisson"], FAMILIES["binomial"]):
        d = data(noise)
        model = statsmodels.GLM(d.y, statsmodels.add_constant(d.X), family=family())
        peer = model.fit(tol=1e-13, maxiter=500, tol_criterion="params")
        fit = nl.fit(d.X, d.y, noise, tol=1e-10)
        np.testing.assert_allclose([fit.intercept_standard_error, *fit.standard_errors], peer.bse, rtol=1e-6)
        assert fit.log_likelihood == pytest.approx(peer.llf, rel=1e-11)
