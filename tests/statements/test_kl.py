"""KL divergence: statements that textbooks and lecture notes often get wrong."""

import numpy as np
import pytest
from scipy import integrate, optimize

import neglog as nl

P = np.array([1 / 2, 1 / 4, 1 / 8, 1 / 8])
Q = np.full(4, 1 / 4)


def test_kl_is_in_bits_only_with_logarithms_to_base_two():
    """0.25 bits are 0.1733 nats."""
    assert nl.kl_divergence(P, Q, base=2) == pytest.approx(0.25, rel=1e-13)
    assert nl.kl_divergence(P, Q) == pytest.approx(0.25 * np.log(2), rel=1e-13)


def test_kl_is_zero_exactly_when_the_laws_are_equal():
    """D >= 0, and D = 0 only for P = Q."""
    rng = np.random.default_rng(4)
    p, q = rng.dirichlet(np.ones(5), size=(2, 100))
    assert np.all(nl.kl_divergence(p, q) > 0)
    np.testing.assert_allclose(nl.kl_divergence(p, p), 0, atol=1e-15)
    assert nl.kl_divergence(nl.Gaussian(0.3, 2.0), nl.Gaussian(0.3, 2.0)) == pytest.approx(0, abs=1e-15)


def test_for_densities_equality_is_needed_only_almost_everywhere():
    """Changing a density at one point leaves D = 0."""
    law = nl.Gaussian(0.0, 1.0)

    def changed(y):
        return 7.0 if y == 0.0 else float(law.pdf(y))

    def integrand(y):
        return changed(y) * (np.log(changed(y)) + float(law.nll(y)))

    assert integrand(0.0) > 0.5
    assert integrate.quad(integrand, -8, 0)[0] == pytest.approx(0, abs=1e-12)
    assert integrate.quad(integrand, 0, 8)[0] == pytest.approx(0, abs=1e-12)


def test_kl_is_infinite_when_p_can_do_what_q_cannot():
    """P(x) > 0 = Q(x) gives +inf; the other way round it is finite."""
    assert nl.kl_divergence([0.5, 0.5], [1.0, 0.0]) == np.inf
    assert nl.kl_divergence([1.0, 0.0], [0.5, 0.5]) == pytest.approx(np.log(2), rel=1e-13)
    # densities: the Gamma law excludes y < 0, where the Gaussian puts mass
    assert nl.Gaussian(0.0, 1.0).cdf(0.0) == pytest.approx(0.5)
    assert np.all(np.isinf(nl.Gamma(1.0, 1.0).nll(np.array([-3.0, -0.1]))))


def test_for_densities_the_sum_becomes_an_integral():
    """D = integral of p log(p/q)."""
    for p, q in [
        (nl.Gaussian(0.0, 1.0), nl.Gaussian(0.5, 2.0)),
        (nl.Laplace(0.0, 1.0), nl.Laplace(1.0, 0.7)),
        (nl.LogNormal(0.0, 0.5), nl.LogNormal(0.3, 0.8)),
        (nl.Gamma(2.0, 3.0), nl.Gamma(1.0, 2.0)),
    ]:
        positive = isinstance(p, (nl.LogNormal, nl.Gamma))
        y = np.linspace(0, 60, 120_001)[1:] if positive else np.linspace(-50, 50, 200_001)
        density = p.pdf(y)
        integral = np.trapezoid(density * (q.nll(y) - p.nll(y)), y)
        assert nl.kl_divergence(p, q) == pytest.approx(integral, rel=1e-5)


def test_a_mass_and_a_density_have_no_kl():
    """Counts and real numbers are measured differently: no number is returned."""
    with pytest.raises(TypeError):
        nl.kl_divergence(nl.Poisson(3.0), nl.Gaussian(3.0, 1.0))


def test_kl_is_asymmetric_in_general():
    """D(P || Q) and D(Q || P) usually differ."""
    forward = nl.kl_divergence(nl.Gaussian(0.0, 1.0), nl.Gaussian(0.0, 3.0))
    backward = nl.kl_divergence(nl.Gaussian(0.0, 3.0), nl.Gaussian(0.0, 1.0))
    assert backward > forward + 1
    p, q = [0.7, 0.2, 0.1], [0.2, 0.2, 0.6]
    assert nl.kl_divergence(p, q) != pytest.approx(nl.kl_divergence(q, p), rel=1e-2)


def test_kl_may_be_equal_in_both_directions():
    """N(0,1) and N(1,1): both 1/2. Bernoulli(0.2) and (0.8): both 0.8318. P and the uniform Q: 1/4 bit."""
    a, b = nl.Gaussian(0.0, 1.0), nl.Gaussian(1.0, 1.0)
    assert nl.kl_divergence(a, b) == pytest.approx(0.5, rel=1e-9)
    assert nl.kl_divergence(b, a) == pytest.approx(0.5, rel=1e-9)
    a, b = nl.Bernoulli(0.2), nl.Bernoulli(0.8)
    assert nl.kl_divergence(a, b) == pytest.approx(0.8318, abs=5e-5)
    assert nl.kl_divergence(b, a) == pytest.approx(nl.kl_divergence(a, b), rel=1e-12)
    assert nl.kl_divergence(P, Q) == pytest.approx(nl.kl_divergence(Q, P), rel=1e-12)


def test_kl_is_not_a_metric():
    """No triangle inequality: 2 > 1/2 + 1/2 for N(0,1), N(1,1), N(2,1)."""
    a, b, c = (nl.Gaussian(m, 1.0) for m in (0.0, 1.0, 2.0))
    assert nl.kl_divergence(a, c) == pytest.approx(2.0, rel=1e-9)
    assert nl.kl_divergence(a, c) > nl.kl_divergence(a, b) + nl.kl_divergence(b, c) + 0.9


def test_maximum_likelihood_minimises_the_forward_and_variational_inference_the_reverse_kl():
    """For a law with two humps the forward KL takes both (variance 10), the reverse KL one of them."""
    y = np.linspace(-15, 15, 1501)
    target = (nl.Gaussian(-3.0, 1.0).pdf(y) + nl.Gaussian(3.0, 1.0).pdf(y)) / 2
    log_target = np.log(target)

    def forward(theta):
        return np.trapezoid(target * (log_target + nl.Gaussian(theta[0], np.exp(theta[1])).nll(y)), y)

    def reverse(theta):
        q = nl.Gaussian(theta[0], np.exp(theta[1]))
        return np.trapezoid(q.pdf(y) * (-q.nll(y) - log_target), y)

    wide, narrow = (optimize.minimize(kl, [2.0, 0.0], method="Nelder-Mead").x for kl in (forward, reverse))
    assert wide[0] == pytest.approx(0.0, abs=1e-3)
    assert np.exp(2 * wide[1]) == pytest.approx(10.0, rel=1e-3)
    assert narrow[0] == pytest.approx(3.0, abs=0.1)
    assert np.exp(2 * narrow[1]) == pytest.approx(1.0, abs=0.15)


def test_the_forward_kl_to_the_data_has_the_mle_as_its_minimiser():
    """argmin over q of D(P_n || q) is the MLE; argmin of the reverse is not defined by the data alone."""
    y = np.array([0, 1, 1, 3, 5])
    values, counts = np.unique(y, return_counts=True)
    share = counts / len(y)

    def forward(m):
        return np.sum(share * (np.log(share) + nl.Poisson(m).nll(values)))

    best = optimize.minimize_scalar(forward, bounds=(0.1, 9), method="bounded", options={"xatol": 1e-10}).x
    assert best == pytest.approx(y.mean(), abs=1e-6)
    empirical, model = np.array([0.5, 0.5, 0.0]), np.array([0.4, 0.4, 0.2])
    assert np.isfinite(nl.kl_divergence(empirical, model))
    assert nl.kl_divergence(model, empirical) == np.inf
