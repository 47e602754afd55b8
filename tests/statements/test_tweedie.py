"""Tweedie loss: statements that textbooks and lecture notes often get wrong."""

import numpy as np
import pytest
import sympy as sp
from scipy import integrate, optimize, special, stats

import neglog as nl

MEAN, POWER, PHI = 1.5, 1.6, 0.9


def not_a_density(y, p, phi):
    """The formula that circulates as 'the Tweedie likelihood'."""
    return phi ** ((1 - p) / 2) / special.gamma(1 / p) * (y / phi) ** (p / 2 - 1) * np.exp(-((y / phi) ** p))


@pytest.mark.parametrize(
    ("p", "phi", "area"), [(1, 1, 1.772), (1.5, 1, 0.873), (2, 1, 0.5), (3, 1, 0.2205), (3, 7, 0.2205)]
)
def test_the_circulating_tweedie_formula_does_not_integrate_to_one(p, phi, area):
    """Its integral is phi^((3-p)/2) sqrt(pi) / (p Gamma(1/p)); it has no mean parameter either."""
    total = integrate.quad(lambda r: not_a_density(r * r, p, phi) * 2 * r, 0, np.inf)[0]
    formula = phi ** ((3 - p) / 2) * np.sqrt(np.pi) / (p * special.gamma(1 / p))
    assert total == pytest.approx(formula, rel=1e-8)
    assert total == pytest.approx(area, abs=6e-4)


def test_the_circulating_tweedie_formula_has_none_of_the_special_cases():
    """Power 2 gives a half Gaussian instead of a Gamma; power 1 is continuous, a Poisson is not."""
    y = np.array([0.5, 1.0, 2.0, 3.0])
    half_gaussian = not_a_density(y, 2, 1.3)
    np.testing.assert_allclose(half_gaussian * np.exp((y / 1.3) ** 2), half_gaussian[0] * np.exp((0.5 / 1.3) ** 2))
    gamma = nl.Tweedie(mean=1.3, power=2, dispersion=1.0).pdf(y)
    np.testing.assert_allclose(gamma, nl.Gamma(1.3, 1.0).pdf(y), rtol=1e-12)
    assert np.ptp(np.log(half_gaussian / gamma)) > 1.0
    assert not_a_density(0.5, 1, 1.0) > 0
    assert nl.Tweedie(mean=1.3, power=1, dispersion=1.0).nll(0.5) == np.inf


def test_the_true_tweedie_density_has_total_mass_one_mean_mu_and_variance_phi_mu_p():
    """E y = mu, Var y = phi mu^p, with the mass at zero counted."""
    law = nl.Tweedie(mean=MEAN, power=POWER, dispersion=PHI)
    r = np.linspace(0.0, 8.0, 1601)[1:]  # y = r^2: the density is steep at zero
    y, density = r**2, law.pdf(r**2) * 2 * r
    zero = law.pdf(0.0)

    def moment(values):
        return integrate.trapezoid(np.append(0.0, values * density), np.append(0.0, r))

    assert zero + moment(1.0) == pytest.approx(1.0, abs=2e-4)
    assert moment(y) == pytest.approx(MEAN, rel=1e-4)
    assert moment(y**2) - MEAN**2 == pytest.approx(PHI * MEAN**POWER, rel=1e-4)
    assert law.mean() == pytest.approx(MEAN)
    assert law.variance() == pytest.approx(PHI * MEAN**POWER, rel=1e-12)


@pytest.mark.parametrize("power", [1.2, 1.5, 1.8])
def test_between_one_and_two_there_is_a_point_mass_at_zero(power):
    """P(y = 0) = exp(-mu^(2-p) / (phi (2-p)))."""
    law = nl.Tweedie(mean=MEAN, power=power, dispersion=PHI)
    expected = np.exp(-(MEAN ** (2 - power)) / (PHI * (2 - power)))
    assert law.pdf(0.0) == pytest.approx(expected, rel=1e-13)
    assert law.cdf(0.0) == pytest.approx(expected, rel=1e-13)
    assert law.measure == "mixed"


def test_between_one_and_two_y_is_a_poisson_sum_of_gammas():
    """rate mu^(2-p)/(phi(2-p)), shape (2-p)/(p-1), scale phi (p-1) mu^(p-1)."""
    rate = MEAN ** (2 - POWER) / (PHI * (2 - POWER))
    shape, scale = (2 - POWER) / (POWER - 1), PHI * (POWER - 1) * MEAN ** (POWER - 1)
    y, n = np.array([0.01, 0.5, 2.0, 9.0]), np.arange(1, 120)[:, None]
    expected = (stats.poisson(rate).pmf(n) * stats.gamma(n * shape, scale=scale).pdf(y)).sum(axis=0)
    law = nl.Tweedie(mean=MEAN, power=POWER, dispersion=PHI)
    np.testing.assert_allclose(law.pdf(y), expected, rtol=1e-10)


@pytest.mark.parametrize("power", [1.3, 1.6, 3])
def test_the_mean_enters_only_through_the_exponential_family_term(power):
    """log p = log a(y, phi) + [y mu^(1-p)/(1-p) - mu^(2-p)/(2-p)] / phi: the factor a is free of mu."""
    y, mu = np.array([0.3, 1.0, 4.0]), np.array([0.6, 1.0, 2.5])[:, None]
    exponent = (y * mu ** (1 - power) / (1 - power) - mu ** (2 - power) / (2 - power)) / PHI
    log_a = -nl.Tweedie(mean=mu, power=power, dispersion=PHI).nll(y) - exponent
    np.testing.assert_allclose(log_a, np.broadcast_to(log_a[0], log_a.shape), atol=1e-10)


@pytest.mark.parametrize("power", [1.3, 1.6, 1.9])
def test_the_loss_of_the_mean_at_fixed_power_needs_no_density(power):
    """argmin of sum mu^(2-p)/(2-p) - y mu^(1-p)/(1-p) = argmin D_p/2 = argmin NLL."""
    y, mu = np.array([0.0, 0.0, 1.0, 5.0]), np.array([0.6, 1.5, 3.0])[:, None]
    loss = (mu ** (2 - power) / (2 - power) - y * mu ** (1 - power) / (1 - power)).sum(axis=1)
    half_deviance = nl.Tweedie(power=power).deviance(y, mu).sum(axis=1) / 2
    nll = nl.Tweedie(mean=mu, power=power, dispersion=PHI).nll(y).sum(axis=1)
    np.testing.assert_allclose(half_deviance - half_deviance[0], loss - loss[0], atol=1e-10)
    np.testing.assert_allclose(PHI * (nll - nll[0]), loss - loss[0], atol=1e-10)
    assert loss.argmin() == 1


def test_the_tweedie_loss_is_minimised_at_the_mean_symbolically():
    """d/dmu [mu^(2-p)/(2-p) - y mu^(1-p)/(1-p)] = (mu - y) mu^-p."""
    y, mu, p = sp.symbols("y mu p", positive=True)
    loss = mu ** (2 - p) / (2 - p) - y * mu ** (1 - p) / (1 - p)
    assert sp.simplify(sp.diff(loss, mu) - (mu - y) * mu ** (-p)) == 0


def test_dispersion_and_power_need_the_whole_density():
    """The normalising factor depends on both; the deviance alone is no likelihood of either."""
    y = np.array([0.0, 0.4, 1.0, 2.2, 6.0])

    def nll(phi):
        return nl.Tweedie(mean=y.mean(), power=1.5, dispersion=phi).nll(y).sum()

    best = optimize.minimize_scalar(nll, bounds=(0.05, 20), method="bounded").x
    assert 0.3 < best < 5
    assert nll(1e-1) > nll(best) + 1
    assert nll(20.0) > nll(best) + 1
    by_power = [nl.Tweedie(power=p).deviance(y, y.mean()).sum() for p in (1.2, 1.5, 1.8)]
    nll_by_power = [nl.Tweedie(mean=y.mean(), power=p, dispersion=1.0).nll(y).sum() for p in (1.2, 1.5, 1.8)]
    assert np.max(np.abs(np.diff(by_power) / 2 - np.diff(nll_by_power))) > 0.1


def test_power_one_is_poisson_only_with_dispersion_one():
    """Otherwise y = phi N with N Poisson(mu / phi), and y lives on multiples of phi."""
    k = np.arange(6.0)
    law = nl.Tweedie(mean=2.0, power=1, dispersion=1.0)
    np.testing.assert_allclose(law.nll(k), nl.Poisson(2.0).nll(k), rtol=1e-12)
    law = nl.Tweedie(mean=2.0, power=1, dispersion=0.5)
    np.testing.assert_allclose(law.nll(0.5 * k), nl.Poisson(4.0).nll(k), rtol=1e-12)
    assert law.nll(0.3) == np.inf
    assert law.variance() == pytest.approx(1.0)


def test_powers_zero_two_and_three_are_gaussian_gamma_and_inverse_gaussian():
    """The powers whose density has a closed form."""
    y = np.array([0.3, 1.0, 4.0])

    def law(power):
        return nl.Tweedie(mean=1.5, power=power, dispersion=0.7).nll(y)

    np.testing.assert_allclose(law(0), nl.Gaussian(1.5, np.sqrt(0.7)).nll(y), rtol=1e-12)
    np.testing.assert_allclose(law(2), nl.Gamma(1.5, 1 / 0.7).nll(y), rtol=1e-12)
    np.testing.assert_allclose(law(3), -stats.invgauss(1.5 * 0.7, scale=1 / 0.7).logpdf(y), rtol=1e-12)


def test_the_power_says_how_the_variance_follows_the_mean():
    """Var y = phi mu^p; the shape of the law at one mean is not what the power fixes."""
    mean = np.array([0.5, 1.0, 2.0, 8.0])
    for power in (1.3, 1.7, 3):
        variance = nl.Tweedie(mean=mean, power=power, dispersion=0.7).variance()
        np.testing.assert_allclose(np.diff(np.log(variance)) / np.diff(np.log(mean)), power, rtol=1e-12)


@pytest.mark.parametrize("power", [0.2, 0.5, 0.99])
def test_no_tweedie_law_has_a_power_between_zero_and_one(power):
    """There is no exponential dispersion model with V(mu) = mu^p for 0 < p < 1."""
    with pytest.raises(ValueError, match="no Tweedie law exists between 0 and 1"):
        nl.Tweedie(mean=1.0, power=power, dispersion=1.0)


def test_with_the_log_link_the_loss_is_convex_for_powers_one_to_two():
    """h = [(2-p) mu^(2-p) + (p-1) y mu^(1-p)] / phi is never negative exactly when 1 <= p <= 2."""
    eta = np.linspace(-4, 4, 81)
    for power, y in ((1, (0.0, 1.0, 50.0)), (1.5, (0.0, 1.0, 50.0)), (2, (1e-3, 1.0, 50.0))):
        noise = nl.Tweedie(power=power, dispersion=1.0)
        for value in y:
            hessian = noise.derivatives(np.full_like(eta, value), eta)[2]
            mean = np.exp(eta)
            expected = (2 - power) * mean ** (2 - power) + (power - 1) * value * mean ** (1 - power)
            np.testing.assert_allclose(hessian, expected, rtol=1e-10, atol=1e-12)
            assert np.all(hessian >= 0)


def test_with_the_log_link_the_loss_is_not_convex_outside_one_to_two():
    """Power 3 with y < mu/2 and power 0 with y > 2 mu have negative curvature."""
    one = np.zeros(1)
    assert nl.Tweedie(power=3, dispersion=1.0).derivatives(one + 0.4, one)[2] < 0
    assert nl.Gaussian(scale=1.0, link="log").derivatives(one + 2.5, one)[2] < 0


def test_the_mean_fit_at_fixed_power_does_not_depend_on_the_dispersion():
    """The score in eta is proportional to 1/phi: an ordinary GLM fit."""
    y, eta = np.array([0.0, 1.0, 4.0]), np.array([-0.3, 0.2, 1.0])
    first = nl.Tweedie(power=1.5, dispersion=0.2).derivatives(y, eta)[1]
    second = nl.Tweedie(power=1.5, dispersion=3.0).derivatives(y, eta)[1]
    np.testing.assert_allclose(0.2 * first, 3.0 * second, rtol=1e-12)
    mu = np.exp(eta)
    np.testing.assert_allclose(0.2 * first, -(y - mu) * mu ** (1 - 1.5), rtol=1e-12)
