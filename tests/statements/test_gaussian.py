"""Gaussian noise and squared error: statements that textbooks and lecture notes often get wrong."""

import numpy as np
import pytest
import sympy as sp

import neglog as nl

Y = np.array([1.0, 2.0, 2.5, 4.0, 7.0])


def test_the_estimate_minimises_a_sum_over_all_rows(argmin):
    """One row alone is minimised by that row; the sample is minimised by its mean."""
    lone = argmin(lambda m: nl.Gaussian(m, 1.0).nll(Y[3]), -20, 20)
    whole = argmin(lambda m: nl.Gaussian(m, 1.0).nll(Y).sum(), -20, 20)
    assert lone == pytest.approx(4.0, abs=1e-6)
    assert whole == pytest.approx(Y.mean(), abs=1e-6)


def test_after_minus_log_both_gaussian_terms_are_positive():
    """NLL = n/2 log 2 pi sigma^2 + RSS / 2 sigma^2, with two plus signs."""
    n, rss = len(Y), ((Y - 3.0) ** 2).sum()
    for scale in (0.8, 1.0, 2.5):
        expected = n / 2 * np.log(2 * np.pi * scale**2) + rss / (2 * scale**2)
        assert nl.Gaussian(3.0, scale).nll(Y).sum() == pytest.approx(expected, rel=1e-13)


def test_the_gaussian_nll_is_that_of_the_density():
    """The same, symbolically."""
    y, f = sp.symbols("y f", real=True)
    sigma = sp.Symbol("sigma", positive=True)
    density = sp.exp(-((y - f) ** 2) / (2 * sigma**2)) / sp.sqrt(2 * sp.pi * sigma**2)
    nll = sp.log(2 * sp.pi * sigma**2) / 2 + (y - f) ** 2 / (2 * sigma**2)
    assert sp.simplify(sp.expand_log(-sp.log(density), force=True) - sp.expand_log(nll)) == 0


def test_with_minus_signs_the_argmin_would_maximise_the_error():
    """At residual 0 and 10 the NLL is +0.919 and +50.92; with the signs turned it is -0.919 and -50.92."""
    nll = nl.Gaussian(0.0, 1.0).nll(np.array([0.0, 10.0]))
    np.testing.assert_allclose(nll, [0.919, 50.92], atol=0.002)
    turned = -0.5 * np.log(2 * np.pi) - 0.5 * np.array([0.0, 10.0]) ** 2
    np.testing.assert_allclose(turned, [-0.919, -50.92], atol=0.002)
    assert nll.argmin() == 0
    assert turned.argmin() == 1


def test_the_mean_nll_is_half_log_two_pi_sigma2_plus_mse_over_two_sigma2():
    """Dividing the NLL by n does not give the MSE itself."""
    scale, mse = 1.7, nl.Gaussian().loss(Y, 3.0).mean()
    mean_nll = nl.Gaussian(3.0, scale).nll(Y).mean()
    assert mean_nll == pytest.approx(0.5 * np.log(2 * np.pi * scale**2) + mse / (2 * scale**2), rel=1e-13)
    assert abs(mean_nll - mse) > 0.5


def test_the_mle_of_the_variance_is_the_mse(argmin):
    """An unknown sigma^2 is estimated by the MSE (divisor n, not n - 1)."""
    scale = np.exp(argmin(lambda w: nl.Gaussian(3.0, np.exp(w)).nll(Y).sum(), -4, 4))
    assert scale**2 == pytest.approx(nl.Gaussian().loss(Y, 3.0).mean(), rel=1e-6)
    assert scale**2 < nl.Gaussian().loss(Y, 3.0).sum() / (len(Y) - 1)


def test_with_unknown_variance_the_objective_is_the_log_of_the_mse():
    """Profile NLL = n/2 log(2 pi e MSE)."""
    for f in (0.0, 3.0, 5.0):
        mse = nl.Gaussian().loss(Y, f).mean()
        profile = nl.Gaussian(f, np.sqrt(mse)).nll(Y).sum()
        assert profile == pytest.approx(len(Y) / 2 * np.log(2 * np.pi * np.e * mse), rel=1e-13)


def test_with_unequal_variances_the_nll_is_weighted_least_squares_plus_log_scales(argmin):
    """Squared error needs one sigma for all rows; otherwise rows weigh 1 / sigma_i^2."""
    scale = np.array([0.5, 1.0, 1.0, 2.0, 4.0])
    weight = 1 / scale**2
    best = argmin(lambda m: nl.Gaussian(m, scale).nll(Y).sum(), -20, 20)
    assert best == pytest.approx(np.average(Y, weights=weight), abs=1e-6)
    assert abs(best - Y.mean()) > 1.0
    expected = np.sum(weight * (Y - 3.0) ** 2) / 2 + np.log(scale).sum() + len(Y) / 2 * np.log(2 * np.pi)
    assert nl.Gaussian(3.0, scale).nll(Y).sum() == pytest.approx(expected, rel=1e-13)
