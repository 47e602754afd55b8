"""Huber loss: statements that textbooks and lecture notes often get wrong."""

import numpy as np
import pytest
import sympy as sp
from scipy import integrate, special, stats

import neglog as nl

K = 1.345


def mixture_nll(r, weight=0.5):
    """A Gaussian-Laplace mixture: each row comes from one or the other."""
    return -np.log(weight * nl.Gaussian(0.0, 1.0).pdf(r) + (1 - weight) * nl.Laplace(0.0, 1.0).pdf(r))


def averaged_losses(r, weight=0.5):
    """What is sometimes written for its NLL."""
    return weight * 0.5 * np.asarray(r) ** 2 + (1 - weight) * np.abs(r)


def huber_constant(delta):
    return np.sqrt(2 * np.pi) * (2 * special.ndtr(delta) - 1) + 2 / delta * np.exp(-(delta**2) / 2)


def test_huber_loss_is_not_the_nll_of_a_gaussian_laplace_mixture():
    """No constant makes the two equal, at any mixture weight."""
    r = np.linspace(0, 6, 61)
    huber = nl.Huber(scale=1.0, delta=1.0).loss(r, 0.0)
    for weight in (0.1, 0.5, 0.9):
        assert np.ptp(mixture_nll(r, weight) - huber) > 0.2


def test_in_a_mixture_the_component_does_not_depend_on_the_size_of_the_error():
    """Small errors Gaussian and large errors Laplace is a splice; a mixture gives both at every size."""
    r = np.array([0.0, 0.5, 3.0])
    gauss, laplace = 0.5 * nl.Gaussian(0.0, 1.0).pdf(r), 0.5 * nl.Laplace(0.0, 1.0).pdf(r)
    share = gauss / (gauss + laplace)
    assert np.all((share > 0.05) & (share < 0.7))
    spliced = nl.Huber(0.0, 1.0, 1.0).pdf(r[:2])
    np.testing.assert_allclose(spliced[1] / spliced[0], np.exp(-(0.5**2) / 2), rtol=1e-13)


def test_the_log_of_a_mixture_is_not_the_mixture_of_the_logs():
    """-log(w A + (1-w) B) <= w (-log A) + (1-w) (-log B), with equality only where A = B."""
    r = np.linspace(-8, 8, 81)
    for weight in (0.2, 0.5, 0.8):
        gauss, laplace = nl.Gaussian(0.0, 1.0).nll(r), nl.Laplace(0.0, 1.0).nll(r)
        bound = weight * gauss + (1 - weight) * laplace
        assert np.all(mixture_nll(r, weight) <= bound + 1e-12)
        assert np.max(bound - mixture_nll(r, weight)) > 1


def test_scale_and_constants_do_not_vanish_from_a_mixture():
    """Mixture NLL minus the averaged losses is 0.80, 0.80, -0.63, -10.6 at r = 0, 2, 4, 8: not a constant."""
    r = np.array([0.0, 2.0, 4.0, 8.0])
    np.testing.assert_allclose(mixture_nll(r) - averaged_losses(r), [0.80, 0.80, -0.63, -10.6], atol=0.015)


def test_the_averaged_losses_have_the_opposite_shape_of_hubers():
    """Kink at 0 and quadratic tails, where Huber's is smooth at 0 with linear tails."""
    h, far = 1e-7, 1e4
    jump = (averaged_losses(h) - averaged_losses(0.0)) / h - (averaged_losses(0.0) - averaged_losses(-h)) / h
    assert jump == pytest.approx(2 * (1 - 0.5), rel=1e-6)
    assert averaged_losses(2 * far) / averaged_losses(far) == pytest.approx(4, rel=1e-3)

    huber = nl.Huber(scale=1.0, delta=K)
    np.testing.assert_allclose(huber.derivatives(np.zeros(2), np.array([-h, h]))[1], [-h, h], rtol=1e-6)
    assert huber.loss(2 * far, 0.0) / huber.loss(far, 0.0) == pytest.approx(2, rel=1e-3)


def test_the_mixture_nll_has_a_kink_and_is_not_convex():
    """Slope 0.556 at 0+, second derivative -0.363 at r = 3.04 for weight 1/2."""
    h = 1e-6
    assert (mixture_nll(h) - mixture_nll(0.0)) / h == pytest.approx(0.556, abs=1e-3)
    r, h = 3.04, 1e-4
    curvature = (mixture_nll(r + h) - 2 * mixture_nll(r) + mixture_nll(r - h)) / h**2
    assert curvature == pytest.approx(-0.363, abs=1e-3)
    hessian = nl.Huber(scale=1.0, delta=K).derivatives(np.linspace(-9, 9, 99), np.zeros(99))[2]
    assert np.all(hessian >= 0)


@pytest.mark.parametrize("delta", [0.3, 1.0, K, 2.5])
def test_huber_loss_is_exactly_the_nll_of_a_gaussian_centre_with_exponential_tails(delta):
    """f(z) = exp(-rho(z)) / C, C = sqrt(2 pi) (2 Phi(delta) - 1) + (2/delta) exp(-delta^2/2)."""
    law, z = nl.Huber(0.0, 1.0, delta), np.linspace(-8, 8, 65)
    rho = np.where(np.abs(z) <= delta, z**2 / 2, delta * np.abs(z) - delta**2 / 2)
    np.testing.assert_allclose(law.nll(z), rho + np.log(huber_constant(delta)), rtol=1e-12)
    np.testing.assert_allclose(law.loss(z, 0.0), rho, rtol=1e-12)
    inner = integrate.quad(law.pdf, 0, delta)[0]
    outer = integrate.quad(law.pdf, delta, np.inf)[0]
    assert 2 * (inner + outer) == pytest.approx(1.0, rel=1e-9)


def test_with_a_scale_the_huber_density_is_that_of_z_divided_by_sigma():
    """p(y) = f((y - loc) / sigma) / sigma."""
    y = np.array([-4.0, 0.2, 1.0, 9.0])
    expected = nl.Huber(0.0, 1.0, K).nll((y - 1.0) / 2.5) + np.log(2.5)
    np.testing.assert_allclose(nl.Huber(1.0, 2.5, K).nll(y), expected, rtol=1e-13)


def test_the_huber_density_is_a_contaminated_normal_whose_contamination_is_not_laplace():
    """delta = 1.345 means 5.79 % contamination by H, which has no mass in [-delta, delta]."""
    law = nl.Huber(0.0, 1.0, K)
    odds = 2 * stats.norm.pdf(K) / K - 2 * stats.norm.cdf(-K)
    eps = odds / (1 + odds)
    assert eps == pytest.approx(0.0579, abs=5e-5)
    assert eps == pytest.approx(1 - np.sqrt(2 * np.pi) * law.pdf(0.0), rel=1e-10)

    z = np.array([0.0, 0.7, 1.3, 1.4, 2.0, 5.0])
    outside = np.exp(K**2 / 2 - K * z) - np.exp(-(z**2) / 2)
    contamination = np.where(z <= K, 0.0, (1 - eps) / (eps * np.sqrt(2 * np.pi)) * outside)
    mixture = (1 - eps) * nl.Gaussian(0.0, 1.0).pdf(z) + eps * contamination
    np.testing.assert_allclose(law.pdf(z), mixture, rtol=1e-10)
    assert np.all(contamination[:3] == 0)
    assert nl.Laplace(0.0, 1.0).pdf(0.0) == pytest.approx(0.5)


def test_among_contaminated_normals_huber_has_the_least_fisher_information():
    """I = (1 - eps)(2 Phi(delta) - 1); another contamination of the same size has more."""
    law, eps = nl.Huber(0.0, 1.0, K), 1 - np.sqrt(2 * np.pi) / huber_constant(K)
    z = np.linspace(-40, 40, 400_001)

    def information(density):
        return np.trapezoid(np.gradient(density, z) ** 2 / density, z)

    least = information(law.pdf(z))
    assert least == pytest.approx((1 - eps) * (2 * special.ndtr(K) - 1), rel=1e-4)
    for other in (nl.Laplace(0.0, 1.0), nl.Laplace(0.0, 3.0), nl.Gaussian(0.0, 3.0)):
        mixture = (1 - eps) * nl.Gaussian(0.0, 1.0).pdf(z) + eps * other.pdf(z)
        assert information(mixture) > least + 0.01


def test_hubers_loss_is_continuously_differentiable():
    """Value and slope of the two branches meet at delta; the second derivative jumps."""
    r, delta = sp.symbols("r delta", positive=True)
    inner, outer = r**2 / 2, delta * (r - delta / 2)
    assert sp.simplify((inner - outer).subs(r, delta)) == 0
    assert sp.simplify(sp.diff(inner - outer, r).subs(r, delta)) == 0
    assert sp.diff(inner - outer, r, 2) == 1


def test_the_threshold_in_units_of_y_is_delta_times_the_scale():
    """delta counts scales: with sigma = 2 and delta = 1.5 the loss turns linear at |r| = 3."""
    noise = nl.Huber(scale=2.0, delta=1.5)
    np.testing.assert_allclose(noise.loss(np.array([2.0, 3.0]), 0.0), [2.0, 4.5], rtol=1e-13)
    far = noise.loss(np.array([3.0, 4.0, 5.0]), 0.0)
    np.testing.assert_allclose(np.diff(far), 3.0, rtol=1e-13)
    gradient = noise.derivatives(np.array([2.9, 3.0, 50.0]), np.zeros(3))[1]
    np.testing.assert_allclose(gradient, -np.array([2.9, 3.0, 3.0]) / 4, rtol=1e-13)


def test_the_outer_branch_is_not_the_absolute_error():
    """It is delta |r| - delta^2 / 2."""
    r = np.array([2.0, 5.0])
    outer = nl.Huber(scale=1.0, delta=1.5).loss(r, 0.0)
    np.testing.assert_allclose(outer, 1.5 * r - 1.5**2 / 2, rtol=1e-13)
    assert np.all(np.abs(outer - nl.Laplace().loss(r, 0.0)) > 0.1)


def test_delta_cannot_be_learned_from_the_loss_but_from_the_nll():
    """The loss falls to 0 as delta does; the NLL with log(sigma C(delta)) has an interior minimum."""
    residual = nl.Huber(0.0, 1.0, 1.0).icdf((np.arange(400) + 0.5) / 400)
    deltas = np.array([1e-3, 0.1, 0.3, 0.6, 0.8, 1.0, 1.2, 1.6, 2.5, 5.0])
    loss = np.array([nl.Huber(scale=1.0, delta=d).loss(residual, 0.0).sum() for d in deltas])
    nll = np.array([nl.Huber(0.0, 1.0, d).nll(residual).sum() for d in deltas])
    assert np.all(np.diff(loss) > 0)
    assert loss[0] < 1.0
    assert deltas[nll.argmin()] == 1.0
