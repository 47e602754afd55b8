"""Gamma loss: statements that textbooks and lecture notes often get wrong."""

import numpy as np
import pytest
import sympy as sp
from scipy import special

import neglog as nl

Y = np.array([1.0, 2.0, 4.0])
SHAPE = 2.0


def test_gamma_is_the_law_of_y_with_scale_mean_over_shape():
    """Shape alpha, scale mu / alpha, mu = exp(f): mean mu, variance mu^2 / alpha, y > 0 only."""
    law = nl.Gamma(shape=SHAPE).given(np.log(3.0))
    assert law.mean() == pytest.approx(3.0, rel=1e-13)
    assert law.variance() == pytest.approx(3.0**2 / SHAPE, rel=1e-13)
    assert law.nll(-0.5) == np.inf
    beta = 3.0 / SHAPE
    density = Y ** (SHAPE - 1) * np.exp(-Y / beta) / (special.gamma(SHAPE) * beta**SHAPE)
    np.testing.assert_allclose(law.pdf(Y), density, rtol=1e-13)


def test_after_minus_log_all_four_gamma_terms_change_sign():
    """NLL = -(alpha-1) log y + y/beta + log Gamma(alpha) + alpha log beta."""
    beta = 1.4
    nll = -(SHAPE - 1) * np.log(Y) + Y / beta + special.gammaln(SHAPE) + SHAPE * np.log(beta)
    np.testing.assert_allclose(nl.Gamma(SHAPE * beta, SHAPE).nll(Y), nll, rtol=1e-13)
    turned = (SHAPE - 1) * np.log(Y) - Y / beta - special.gammaln(SHAPE) - SHAPE * np.log(beta)
    assert np.all(np.abs(nll - turned) > 0.1)


def test_alpha_log_beta_depends_on_the_model_and_stays(argmin):
    """y = 1, 2, 4 and alpha = 2: the NLL has its minimum at beta = y-bar / alpha = 7/6."""
    beta = argmin(lambda b: nl.Gamma(SHAPE * b, SHAPE).nll(Y).sum(), 0.01, 50)
    assert beta == pytest.approx(7 / 6, abs=1e-6)

    b, a = sp.symbols("beta alpha", positive=True)
    total = sum(-(a - 1) * sp.log(y) + y / b + sp.loggamma(a) + a * sp.log(b) for y in (1, 2, 4))
    assert sp.solve(sp.diff(total, b), b) == [sp.Rational(7, 3) / a]


def test_without_alpha_log_beta_there_is_no_minimum():
    """Wrong signs: -6998 at beta = 0.001 and falling. Right signs without the term: 0 as beta grows."""

    def printed(beta):
        return np.sum(-Y / beta + (SHAPE - 1) * np.log(Y))

    assert printed(1e-3) == pytest.approx(-6998, abs=0.5)
    assert printed(1e-6) < 900 * printed(1e-3)
    assert np.sum(Y / 1e9) == pytest.approx(0.0, abs=1e-7)


def test_the_other_term_log_y_does_not_depend_on_the_model_and_may_go():
    """argmin NLL = argmin sum(y/mu + log mu) = argmin D/2: differences of NLL are alpha times those."""
    mu = np.array([0.7, 1.9, 5.0])[:, None]
    nll = nl.Gamma(mu, SHAPE).nll(Y).sum(axis=1)
    reduced = SHAPE * (Y / mu + np.log(mu)).sum(axis=1)
    half_deviance = SHAPE * nl.Gamma().deviance(Y, mu).sum(axis=1) / 2
    np.testing.assert_allclose(nll - nll[0], reduced - reduced[0], rtol=1e-12)
    np.testing.assert_allclose(nll - nll[0], half_deviance - half_deviance[0], rtol=1e-12)


def test_the_gamma_nll_is_shape_times_half_deviance_plus_a_term_free_of_the_mean():
    """Symbolically: nll - alpha d/2 = alpha - alpha log alpha + log y + log Gamma(alpha)."""
    y, mu, a = sp.symbols("y mu alpha", positive=True)
    nll = -(a - 1) * sp.log(y) + a * y / mu + sp.loggamma(a) + a * sp.log(mu / a)
    deviance = 2 * (y / mu - 1 - sp.log(y / mu))
    rest = a - a * sp.log(a) + sp.log(y) + sp.loggamma(a)
    assert sp.simplify(sp.expand_log(nll - a * deviance / 2 - rest)) == 0
    mean, shape = 3.0, 2.5
    rest = shape - shape * np.log(shape) + np.log(Y) + special.gammaln(shape)
    expected = shape * nl.Gamma().deviance(Y, mean) / 2 + rest
    np.testing.assert_allclose(nl.Gamma(mean, shape).nll(Y), expected, rtol=1e-12)


def test_with_the_log_link_the_gamma_nll_is_convex_so_any_solver_works():
    """h = alpha y / mu > 0 in eta."""
    eta = np.linspace(-4, 6, 101)
    for y in (1e-3, 1.0, 1e3):
        _, _, hessian = nl.Gamma(shape=SHAPE).derivatives(np.full_like(eta, y), eta)
        assert np.all(hessian > 0)
        np.testing.assert_allclose(hessian, SHAPE * y * np.exp(-eta), rtol=1e-9)


def test_with_the_identity_link_the_gamma_nll_is_not_convex():
    """h = alpha (2y/mu^3 - 1/mu^2), negative for y < mu/2."""
    mu, y = np.full(3, 4.0), np.array([1.9, 2.0, 2.1])
    _, _, hessian = nl.Gamma(shape=SHAPE, link="identity").derivatives(y, mu)
    np.testing.assert_allclose(hessian, SHAPE * (2 * y / mu**3 - 1 / mu**2), atol=1e-14)
    assert hessian[0] < 0 < hessian[2]


@pytest.mark.parametrize(
    "noise",
    [nl.Poisson(), nl.Gamma(shape=2.0), nl.Tweedie(power=1.5, dispersion=0.5), nl.Bernoulli()],
    ids=["poisson", "gamma", "tweedie", "bernoulli"],
)
def test_irls_is_fisher_scoring_for_every_glm(noise):
    """The same reweighted least squares step finds the minimum of every family, not only of the Gamma."""
    X = np.column_stack([np.ones(6), [-1.0, -0.5, 0.0, 0.5, 1.0, 1.5]])
    y = np.array([0.0, 1.0, 0.0, 1.0, 0.0, 1.0])
    if not isinstance(noise, nl.Bernoulli):
        y = 1.0 + np.arange(6)
    beta = np.zeros(2)
    for _ in range(30):
        _, gradient, weight = noise.derivatives(y, X @ beta, expected=True)
        beta = beta - np.linalg.solve(X.T @ (weight[:, None] * X), X.T @ gradient)
    np.testing.assert_allclose(X.T @ noise.derivatives(y, X @ beta)[1], 0, atol=1e-9)
