"""Bayes' rule: statements that textbooks and lecture notes often get wrong."""

import numpy as np
import pytest
import sympy as sp
from scipy import integrate, special

import neglog as nl

HEADS, TOSSES = 3, 5


def likelihood(theta):
    theta = np.asarray(theta, float)
    return nl.Bernoulli(theta).pdf(1) ** HEADS * nl.Bernoulli(theta).pdf(0) ** (TOSSES - HEADS)


def test_for_a_continuous_parameter_the_posterior_is_a_density():
    """Prior and posterior of a continuous theta are densities: they may exceed one."""
    posterior = nl.Beta(438, 544)
    assert posterior.pdf(437 / 980) > 20
    assert posterior.cdf(1.0) == pytest.approx(1.0)


def test_the_evidence_is_the_likelihood_averaged_over_the_prior():
    """P(D) = integral of p(D | theta) p(theta); dividing by it gives a density that integrates to one."""
    prior = nl.Beta(2.0, 2.0)
    evidence = integrate.quad(lambda t: likelihood(t) * prior.pdf(t), 0, 1)[0]
    exact = np.exp(special.betaln(2 + HEADS, 2 + TOSSES - HEADS) - special.betaln(2, 2))
    assert evidence == pytest.approx(exact, rel=1e-10)

    theta = np.array([0.1, 0.45, 0.8])
    posterior = likelihood(theta) * prior.pdf(theta) / evidence
    np.testing.assert_allclose(posterior, nl.Beta(2.0 + HEADS, 2.0 + TOSSES - HEADS).pdf(theta), rtol=1e-9)


def test_with_finitely_many_hypotheses_the_evidence_is_a_sum():
    """P(D) = sum over theta of p(D | theta) P(theta), and the posterior sums to one."""
    theta, prior = np.array([0.2, 0.5, 0.9]), np.array([0.5, 0.3, 0.2])
    joint = likelihood(theta) * prior
    posterior = joint / joint.sum()
    assert posterior.sum() == pytest.approx(1.0)
    odds = posterior[0] / posterior[1]
    assert odds == pytest.approx((0.2**3 * 0.8**2 * 0.5) / (0.5**5 * 0.3), rel=1e-12)


def test_the_likelihood_sums_to_one_over_the_data_but_not_over_the_parameter():
    """As a function of D it is a probability; as a function of theta it is not a density."""
    p = nl.Bernoulli(0.3)
    assert p.pdf(np.array([0, 1])).sum() == pytest.approx(1.0)
    area = integrate.quad(likelihood, 0, 1)[0]
    assert area == pytest.approx(special.beta(1 + HEADS, 1 + TOSSES - HEADS), rel=1e-10)
    assert area < 0.02


def test_the_rule_needs_data_of_positive_probability():
    """When no hypothesis can produce the data, P(D) = 0 and there is no posterior."""
    impossible = nl.Poisson(np.array([1.0, 2.0, 7.0])).nll(0.5)
    assert np.all(np.isinf(impossible))
    assert np.exp(-impossible).sum() == 0.0


def test_bayes_rule_is_the_product_rule_divided_by_p_of_b():
    """P(A | B) P(B) = P(B | A) P(A), and with P(B) > 0 one may divide."""
    a, b, b_given_a = sp.symbols("P_A P_B P_B_given_A", positive=True)
    a_given_b = sp.Symbol("x")
    solved = sp.solve(sp.Eq(a_given_b * b, b_given_a * a), a_given_b)
    assert solved == [b_given_a * a / b]

    joint = np.array([[0.10, 0.25], [0.45, 0.20]])
    p_a, p_b = joint.sum(axis=1), joint.sum(axis=0)
    b_given_a = joint / p_a[:, None]
    np.testing.assert_allclose(b_given_a * p_a[:, None] / p_b, joint / p_b, rtol=1e-14)


def test_in_nats_bayes_rule_is_a_sum():
    """-log posterior = -log likelihood - log prior + log evidence."""
    prior, theta = nl.Beta(2.0, 2.0), np.array([0.2, 0.7])
    nll = HEADS * nl.Bernoulli(theta).nll(1) + (TOSSES - HEADS) * nl.Bernoulli(theta).nll(0)
    log_evidence = special.betaln(2 + HEADS, 2 + TOSSES - HEADS) - special.betaln(2, 2)
    posterior = nl.Beta(2.0 + HEADS, 2.0 + TOSSES - HEADS)
    np.testing.assert_allclose(posterior.nll(theta), nll + prior.nll(theta) + log_evidence, rtol=1e-12)
