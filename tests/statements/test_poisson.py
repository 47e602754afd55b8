"""Poisson loss: statements that textbooks and lecture notes often get wrong."""

import numpy as np
import pytest
import sympy as sp
from scipy import special

import neglog as nl

X = np.array([-1.0, 0.0, 0.5, 1.0, 2.0])
Y = np.array([0.0, 1.0, 3.0, 2.0, 9.0])


def test_poisson_is_the_law_of_the_count_and_not_of_a_residual():
    """With f = 2.5 and y = 3 a Poisson residual of 0.5 is impossible; the count 3 given mean 2.5 is not."""
    assert nl.Poisson(2.5).nll(3.0 - 2.5) == np.inf
    assert nl.Poisson(2.5).pdf(3) == pytest.approx(2.5**3 * np.exp(-2.5) / 6, rel=1e-13)


def test_mean_and_variance_are_both_mu_and_the_model_gives_log_mu():
    """y | x is Poisson(mu) with log mu = f(x), plus log t for an exposure t."""
    law = nl.Poisson().given(np.log(2.5))
    assert law.mean() == pytest.approx(2.5, rel=1e-14)
    assert law.variance() == pytest.approx(2.5, rel=1e-14)
    exposed = nl.Poisson().given(np.log(2.5) + np.log(4.0))
    np.testing.assert_allclose(exposed.nll(Y), nl.Poisson(10.0).nll(Y), rtol=1e-13)


def test_the_nll_is_exp_f_minus_y_f_plus_log_factorial():
    """Each row has its own mean, so theta is in the objective."""
    f = 0.3 + 0.8 * X
    expected = np.exp(f) - Y * f + special.gammaln(Y + 1)
    np.testing.assert_allclose(nl.Poisson().given(f).nll(Y), expected, rtol=1e-13)


def test_a_common_rate_would_only_give_the_mean(argmin):
    """Without mu_i = exp(f(x_i)) the estimate is y-bar whatever x is."""
    rate = argmin(lambda m: nl.Poisson(m).nll(Y).sum(), 0.1, 20)
    assert rate == pytest.approx(Y.mean(), abs=1e-6)
    slope = argmin(lambda t: nl.Poisson().given(t * X).nll(Y).sum(), -3, 3)
    assert np.sum((np.exp(slope * X) - Y) * X) == pytest.approx(0, abs=1e-5)
    assert slope > 0.5


@pytest.mark.parametrize("n", [1, 2, 5])
def test_the_factorial_term_may_be_dropped_for_every_n_when_estimating_the_mean(argmin, n):
    """log y! does not depend on theta, so the argmin is the same for n = 1 already."""
    y = Y[-n:]
    with_it = argmin(lambda m: nl.Poisson(m).nll(y).sum(), 0.1, 20)
    without = argmin(lambda m: np.sum(m - y * np.log(m)), 0.1, 20)
    assert with_it == pytest.approx(without, abs=1e-6)


@pytest.mark.parametrize("n", [10, 1000, 100_000])
def test_the_factorial_term_does_not_become_small_with_n(n):
    """At mean 5 it is 5.25 nats per row whatever n, more than the -3.05 that is kept."""
    y = nl.Poisson(5.0).icdf((np.arange(n) + 0.5) / n)
    kept = (5.0 - y * np.log(5.0)).mean()
    dropped = nl.Poisson(5.0).nll(y).mean() - kept
    assert dropped == pytest.approx(5.25, abs=0.11)
    assert kept == pytest.approx(-3.04, abs=0.02)
    assert abs(dropped) > abs(kept)


def test_the_factorial_term_belongs_to_the_likelihood_value():
    """Without it the 'probabilities' of the counts do not sum to one, so no comparison of models is left."""
    k = np.arange(200)
    assert nl.Poisson(5.0).pdf(k).sum() == pytest.approx(1.0, rel=1e-13)
    truncated = nl.Poisson(5.0).nll(k) - special.gammaln(k + 1)
    assert np.exp(-truncated[:20]).sum() > 1e6


def test_stirling_is_an_approximation_of_the_factorial_term():
    """y log y - y + log(2 pi y)/2 is short of log y! by about 1/(12 y): the exact term is used."""
    y = np.array([1.0, 2.0, 10.0])
    exact = nl.Poisson(3.0).nll(y) - (3.0 - y * np.log(3.0))
    np.testing.assert_allclose(exact, [0.0, np.log(2), np.log(3628800)], atol=1e-12)
    stirling = y * np.log(y) - y + 0.5 * np.log(2 * np.pi * y)
    np.testing.assert_allclose(exact - stirling, 1 / (12 * y), rtol=0.04)


def test_the_nll_is_half_the_deviance_plus_a_term_free_of_theta():
    """NLL = D/2 + sum(y - y log y + log y!), with 0 log 0 = 0."""
    constant = Y - special.xlogy(Y, Y) + special.gammaln(Y + 1)
    for mean in (0.5, 2.0, 7.0):
        deviance = nl.Poisson().deviance(Y, mean)
        assert deviance[0] == pytest.approx(2 * mean, rel=1e-14)
        np.testing.assert_allclose(nl.Poisson(mean).nll(Y), deviance / 2 + constant, rtol=1e-12)
        np.testing.assert_allclose(nl.Poisson().loss(Y, mean), deviance / 2, rtol=1e-14)


def test_the_poisson_deviance_identity_holds_symbolically():
    """d/2 + y - y log y + log y! = mu - y log mu + log y!."""
    y, mu = sp.symbols("y mu", positive=True)
    deviance = 2 * (y * sp.log(y / mu) - (y - mu))
    left = deviance / 2 + y - y * sp.log(y) + sp.loggamma(y + 1)
    right = mu - y * sp.log(mu) + sp.loggamma(y + 1)
    assert sp.simplify(sp.expand_log(left - right)) == 0
