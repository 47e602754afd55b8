"""Cross-entropy: statements that textbooks and lecture notes often get wrong."""

import numpy as np
import pytest

import neglog as nl

P = np.array([1 / 2, 1 / 4, 1 / 8, 1 / 8])
Q = np.full(4, 1 / 4)


def test_cross_entropy_is_the_total_code_length_and_kl_the_extra_part():
    """Total 2 bits, entropy 1.75, extra 0.25."""
    assert nl.cross_entropy(P, Q, base=2) == pytest.approx(2.0, rel=1e-13)
    assert nl.entropy(P, base=2) == pytest.approx(1.75, rel=1e-13)
    assert nl.kl_divergence(P, Q, base=2) == pytest.approx(0.25, rel=1e-13)


def test_cross_entropy_is_not_a_divergence():
    """H(P, P) = H(P), which is not zero."""
    assert nl.cross_entropy(P, P) == pytest.approx(nl.entropy(P), rel=1e-13)
    assert nl.cross_entropy(P, P) > 1


def test_cross_entropy_is_not_symmetric():
    """H(P, Q) = 2 bits, H(Q, P) = 2.25 bits."""
    assert nl.cross_entropy(P, Q, base=2) == pytest.approx(2.0, rel=1e-13)
    assert nl.cross_entropy(Q, P, base=2) == pytest.approx(2.25, rel=1e-13)


def test_cross_entropy_is_infinite_when_the_model_excludes_what_happens():
    """Q(x) = 0 < P(x) costs +inf, and is not clipped; P(x) = 0 = Q(x) costs nothing."""
    assert nl.cross_entropy([0.5, 0.5], [1.0, 0.0]) == np.inf
    assert nl.cross_entropy([1.0, 0.0], [1.0, 0.0]) == 0.0
    assert nl.Bernoulli().loss(1.0, 0.0) == np.inf


def test_over_all_q_the_minimum_is_exactly_p_and_its_value_the_entropy(argmin):
    """Gibbs: H(P, Q) >= H(P), equality only at Q = P."""
    rng = np.random.default_rng(2)
    others = rng.dirichlet(np.ones(4), size=100)
    assert np.all(nl.cross_entropy(np.broadcast_to(P, others.shape), others) > nl.entropy(P))
    best = argmin(lambda q: nl.cross_entropy([0.3, 0.7], [q, 1 - q]), 0.01, 0.99)
    assert best == pytest.approx(0.3, abs=1e-6)


def test_within_a_model_class_the_minimiser_is_the_kl_projection(argmin):
    """The best Gaussian for a Gamma law has its mean and variance; cross-entropy and KL agree on it."""
    law = nl.Gamma(3.0, 4.0)
    y = np.linspace(0, 40, 40001)[1:]
    weight = law.pdf(y)

    def cross(m, s):
        return np.trapezoid(weight * nl.Gaussian(m, s).nll(y), y)

    mean = argmin(lambda m: cross(m, 1.0), 0, 10)
    scale = argmin(lambda s: cross(3.0, s), 0.1, 10)
    assert mean == pytest.approx(3.0, abs=1e-4)
    assert scale**2 == pytest.approx(9 / 4, rel=1e-4)
    assert cross(mean, scale) > law.entropy() + 0.01  # the class does not contain the law


@pytest.mark.parametrize("q", [[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]])
def test_the_mean_nll_is_the_cross_entropy_of_the_empirical_distribution(q):
    """An identity, not a close relation: NLL/n = H(P_n, Q) = H(P_n) + D(P_n || Q)."""
    y = np.array([0, 2, 2, 1, 2, 0, 2])
    empirical = np.bincount(y) / len(y)
    mean_nll = nl.Categorical(np.array(q)).nll(y).mean()
    assert mean_nll == pytest.approx(nl.cross_entropy(empirical, q), rel=1e-13)
    assert mean_nll == pytest.approx(nl.entropy(empirical) + nl.kl_divergence(empirical, q), rel=1e-13)


def test_the_same_identity_for_counts():
    """Poisson: mean NLL = -sum of P_n(k) log Q(k) over the counts seen."""
    y = np.array([0, 3, 1, 1, 4, 0, 2])
    values, counts = np.unique(y, return_counts=True)
    law = nl.Poisson(1.7)
    assert law.nll(y).mean() == pytest.approx(counts / len(y) @ law.nll(values), rel=1e-13)


def test_maximum_likelihood_is_minimum_cross_entropy_is_minimum_kl(argmin):
    """One minimiser for the three: here the share of ones."""
    y = np.array([1, 0, 1, 1, 0, 1])
    empirical = [1 / 3, 2 / 3]
    objectives = [
        lambda p: nl.Bernoulli(p).nll(y).sum(),
        lambda p: nl.cross_entropy(empirical, [1 - p, p]),
        lambda p: nl.kl_divergence(empirical, [1 - p, p]),
    ]
    for objective in objectives:
        assert argmin(objective, 0.01, 0.99) == pytest.approx(2 / 3, abs=1e-6)
