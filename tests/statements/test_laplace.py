"""Laplace noise and absolute error: statements that textbooks and lecture notes often get wrong."""

import numpy as np
import pytest
from scipy import optimize

import neglog as nl

Y = np.array([1.0, 2.0, 2.5, 4.0, 17.0])


def test_the_nll_of_the_sample_is_a_sum_over_rows():
    """NLL = n log 2b + sum |y - f| / b."""
    b = 1.6
    expected = len(Y) * np.log(2 * b) + np.abs(Y - 3.0).sum() / b
    assert nl.Laplace(3.0, b).nll(Y).sum() == pytest.approx(expected, rel=1e-13)
    assert nl.Laplace(3.0, b).nll(Y[0]) == pytest.approx(np.log(2 * b) + 2.0 / b, rel=1e-13)


def test_an_estimate_is_the_argmin_and_not_the_minimum():
    """The estimate is a place (the median 2.5), the NLL there is a value in nats."""
    best = optimize.minimize_scalar(lambda m: nl.Laplace(m, 1.0).nll(Y).sum(), bounds=(0, 9), method="bounded")
    assert best.x == pytest.approx(2.5, abs=1e-4)
    assert best.fun == pytest.approx(5 * np.log(2) + 18.0, abs=1e-3)


@pytest.mark.parametrize("b", [0.3, 1.0, 5.0])
def test_with_a_fixed_scale_the_argmin_is_that_of_the_absolute_error(b):
    """log 2b and 1/b are a constant and a positive factor: equality of argmins, not proportionality."""
    grid = np.linspace(0, 20, 401)[:, None]
    nll = nl.Laplace(grid, b).nll(Y).sum(axis=1)
    mae = nl.Laplace().loss(Y, grid).mean(axis=1)
    assert grid[nll.argmin()] == grid[mae.argmin()] == 2.5


def test_the_target_is_the_median_and_not_the_mean(argmin):
    """Absolute error asks for the conditional median."""
    assert np.median(Y) != Y.mean()
    median = argmin(lambda m: nl.Laplace(m, 1.0).nll(Y).sum(), 0, 20)
    mean = argmin(lambda m: nl.Gaussian(m, 1.0).nll(Y).sum(), 0, 20)
    assert median == pytest.approx(np.median(Y), abs=1e-6)
    assert mean == pytest.approx(Y.mean(), abs=1e-6)


def test_the_loss_has_a_kink_at_zero():
    """Slope -1/b left of the datum, +1/b right of it; at the datum only a subgradient in between."""
    b, noise = 0.5, nl.Laplace(scale=0.5)
    _, gradient, _ = noise.derivatives(np.zeros(3), np.array([-1e-9, 0.0, 1e-9]))
    assert gradient[0] == pytest.approx(-1 / b)
    assert gradient[2] == pytest.approx(1 / b)
    assert abs(gradient[1]) <= 1 / b


def test_the_hessian_is_zero_although_the_fisher_information_is_not():
    """Second derivative 0 almost everywhere, but E[score^2] = 1/b^2: Newton has nothing to divide by."""
    b = 0.7
    y = np.linspace(-20, 20, 40001)[:-1] + 0.0005
    _, gradient, hessian = nl.Laplace(scale=b).derivatives(y, np.zeros_like(y))
    np.testing.assert_array_equal(hessian, 0.0)
    density = nl.Laplace(0.0, b).pdf(y)
    assert np.trapezoid(density * gradient**2, y) == pytest.approx(1 / b**2, rel=1e-5)


def test_the_minimiser_is_not_unique():
    """Even number of rows: the NLL is constant between the two middle ones."""
    y = np.array([1.0, 2.0, 5.0, 9.0])
    nll = nl.Laplace(np.array([1.5, 2.0, 3.5, 5.0, 6.0])[:, None], 1.0).nll(y).sum(axis=1)
    np.testing.assert_allclose(nll[1:4], nll[1], rtol=1e-14)
    assert nll[0] > nll[1]
    assert nll[4] > nll[3]


def test_the_mle_of_the_scale_is_the_mean_absolute_error(argmin):
    """b-hat = MAE."""
    b = np.exp(argmin(lambda w: nl.Laplace(2.5, np.exp(w)).nll(Y).sum(), -4, 4))
    assert b == pytest.approx(nl.Laplace().loss(Y, 2.5).mean(), rel=1e-6)


def test_the_scale_is_not_the_standard_deviation():
    """Laplace(0, b) has variance 2 b^2."""
    b = 1.3
    assert nl.Laplace(0.0, b).variance() == pytest.approx(2 * b**2, rel=1e-13)
    y = np.linspace(-60, 60, 120001)
    assert np.trapezoid(y**2 * nl.Laplace(0.0, b).pdf(y), y) == pytest.approx(2 * b**2, rel=1e-6)
