"""Entropy: statements that textbooks and lecture notes often get wrong."""

import heapq

import numpy as np
import pytest

import neglog as nl

P = np.array([1 / 2, 1 / 4, 1 / 8, 1 / 8])
Q = np.full(4, 1 / 4)


def test_one_base_for_all_terms():
    """H in bits + KL in nats is 1.923: neither 2 bits nor 1.386 nats."""
    assert nl.entropy(P, base=2) + nl.kl_divergence(P, Q, base=2) == pytest.approx(2.0, rel=1e-13)
    assert nl.entropy(P) + nl.kl_divergence(P, Q) == pytest.approx(2 * np.log(2), rel=1e-13)
    assert 2 * np.log(2) == pytest.approx(1.386, abs=5e-4)
    assert nl.entropy(P, base=2) + nl.kl_divergence(P, Q) == pytest.approx(1.923, abs=5e-4)


def test_bits_are_nats_divided_by_log_two():
    """The default unit is the nat."""
    assert nl.entropy(P, base=2) == pytest.approx(nl.entropy(P) / np.log(2), rel=1e-13)
    law = nl.Gaussian(0.0, 3.0)
    assert law.entropy(base=2) == pytest.approx(law.entropy() / np.log(2), rel=1e-13)


def test_zero_log_zero_is_zero():
    """An impossible outcome adds nothing."""
    assert nl.entropy([0.5, 0.5, 0.0]) == pytest.approx(np.log(2), rel=1e-13)
    assert nl.entropy([1.0, 0.0]) == 0.0


def huffman_length(p):
    """Expected length, in bits, of the best prefix code."""
    heap, length = list(p), 0.0
    heapq.heapify(heap)
    while len(heap) > 1:
        both = heapq.heappop(heap) + heapq.heappop(heap)
        length += both
        heapq.heappush(heap, both)
    return length


def test_the_best_prefix_code_is_between_the_entropy_and_one_bit_more():
    """H <= L < H + 1; L = H only for powers of 1/2."""
    rng = np.random.default_rng(0)
    for p in [P, [0.9, 0.1], [0.99, 0.01], *rng.dirichlet(np.ones(6), size=10)]:
        entropy = nl.entropy(p, base=2)
        assert entropy - 1e-12 <= huffman_length(p) < entropy + 1
    assert huffman_length(P) == pytest.approx(nl.entropy(P, base=2), rel=1e-13)
    assert huffman_length([0.99, 0.01]) > nl.entropy([0.99, 0.01], base=2) + 0.9


def test_on_a_finite_set_the_uniform_law_has_the_largest_entropy():
    """max H = log K, reached by the uniform law; a sure outcome has 0."""
    rng = np.random.default_rng(1)
    for k in (2, 5, 30):
        assert nl.entropy(np.full(k, 1 / k)) == pytest.approx(np.log(k), rel=1e-13)
        assert np.all(nl.entropy(rng.dirichlet(np.ones(k), size=50)) < np.log(k))


def test_on_an_infinite_set_entropy_has_no_maximum():
    """The entropy of a count, or of a real number, grows without bound unless something is held fixed."""
    counts = [nl.Poisson(mean).entropy() for mean in (1.0, 10.0, 100.0, 1000.0)]
    reals = [nl.Gaussian(0.0, scale).entropy() for scale in (1.0, 1e2, 1e4, 1e8)]
    assert np.all(np.diff(counts) > 1.0)
    assert np.all(np.diff(reals) > 4.0)


def test_at_fixed_variance_the_gaussian_has_the_largest_entropy():
    """h <= log(2 pi e sigma^2) / 2."""
    best = nl.Gaussian(0.0, 1.0).entropy()
    huber = nl.Huber(0.0, 1.0, 1.0)
    others = [
        nl.Laplace(0.0, 1 / np.sqrt(2)).entropy(),
        nl.Huber(0.0, 1 / np.sqrt(huber.variance()), 1.0).entropy(),
        nl.Gamma(2.0, 4.0).entropy(),  # variance 1
        nl.Beta(1.0, 1.0).entropy() + np.log(np.sqrt(12)),  # uniform of variance 1
    ]
    assert best == pytest.approx(0.5 * np.log(2 * np.pi * np.e), rel=1e-13)
    assert np.all(np.array(others) < best - 0.01)


def test_at_fixed_mean_absolute_deviation_the_laplace_has_the_largest_entropy():
    """E|x - m| = 1: Laplace(0, 1) beats the Gaussian and the Huber law."""
    best = nl.Laplace(0.0, 1.0).entropy()
    assert best == pytest.approx(1 + np.log(2), rel=1e-13)
    z = np.linspace(-60, 60, 240_001)
    huber = nl.Huber(0.0, 1.0, 1.0)
    deviation = np.trapezoid(np.abs(z) * huber.pdf(z), z)
    assert nl.Gaussian(0.0, np.sqrt(np.pi / 2)).entropy() < best - 0.01
    assert nl.Huber(0.0, 1 / deviation, 1.0).entropy() < best - 0.005


def test_differential_entropy_may_be_negative():
    """The uniform law on (0, 1/2) has -log 2."""
    assert nl.Beta(1.0, 1.0).entropy() == pytest.approx(0.0, abs=1e-12)
    assert nl.Beta(1.0, 1.0).entropy() + np.log(1 / 2) == pytest.approx(-np.log(2), rel=1e-12)
    assert nl.Gaussian(0.0, 0.01).entropy() < 0
    assert nl.Beta(50.0, 50.0).entropy() < 0


def test_differential_entropy_changes_with_the_unit_of_y():
    """h(c y) = h(y) + log c; a discrete entropy does not care."""
    c = 100.0
    for small, large in [
        (nl.Gaussian(0.0, 0.3), nl.Gaussian(0.0, 0.3 * c)),
        (nl.Laplace(0.0, 0.3), nl.Laplace(0.0, 0.3 * c)),
        (nl.Gamma(2.0, 3.0), nl.Gamma(2.0 * c, 3.0)),
        (nl.LogNormal(0.2, 0.7), nl.LogNormal(0.2 + np.log(c), 0.7)),
    ]:
        assert large.entropy() - small.entropy() == pytest.approx(np.log(c), rel=1e-12)
    assert nl.entropy(P[::-1]) == pytest.approx(nl.entropy(P), rel=1e-14)
