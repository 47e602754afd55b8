"""Entropy, cross-entropy and KL together: statements that textbooks and lecture notes often get wrong."""

import numpy as np
import pytest
import sympy as sp

import neglog as nl

P = np.array([0.5, 0.3, 0.2])


def test_the_entropy_of_p_does_not_depend_on_q():
    """H(P, Q) - D(P || Q) = H(P) for every Q: only the divergence can be minimised."""
    q = np.random.default_rng(5).dirichlet(np.ones(3), size=20)
    p = np.broadcast_to(P, q.shape)
    gap = nl.cross_entropy(p, q) - nl.kl_divergence(p, q)
    np.testing.assert_allclose(gap, nl.entropy(P), rtol=1e-12)


def test_minimising_cross_entropy_over_q_is_minimising_kl_only():
    """Same gradient in the model's logits: softmax - P."""
    logits = np.array([0.2, -0.4, 0.9])

    def softmax(z):
        return np.exp(z) / np.exp(z).sum()

    def gradient(function):
        h = 1e-6
        return [(function(logits + h * e) - function(logits - h * e)) / (2 * h) for e in np.eye(3)]

    cross = gradient(lambda z: nl.cross_entropy(P, softmax(z)))
    kl = gradient(lambda z: nl.kl_divergence(P, softmax(z)))
    np.testing.assert_allclose(cross, kl, atol=1e-8)
    np.testing.assert_allclose(cross, softmax(logits) - P, atol=1e-8)


def test_when_the_target_is_trainable_cross_entropy_and_kl_have_different_gradients():
    """In p: -log(q/(1-q)) for the cross-entropy, log(p/(1-p)) more than that for the KL."""
    p, q = sp.symbols("p q", positive=True)
    cross = -p * sp.log(q) - (1 - p) * sp.log(1 - q)
    entropy = -p * sp.log(p) - (1 - p) * sp.log(1 - p)
    kl = p * sp.log(p / q) + (1 - p) * sp.log((1 - p) / (1 - q))
    assert sp.simplify(sp.expand_log(sp.diff(cross - kl, q), force=True)) == 0
    difference = sp.diff(kl - cross, p) + sp.diff(entropy, p)
    assert sp.simplify(sp.expand_log(difference, force=True)) == 0
    h, a, b = 1e-6, 0.3, 0.6

    def slope(function):
        up, down = np.array([1 - a - h, a + h]), np.array([1 - a + h, a - h])
        return (function(up, [1 - b, b]) - function(down, [1 - b, b])) / (2 * h)

    assert slope(nl.cross_entropy) == pytest.approx(-np.log(b / (1 - b)), abs=1e-7)
    assert slope(nl.kl_divergence) - slope(nl.cross_entropy) == pytest.approx(np.log(a / (1 - a)), abs=1e-7)


def test_a_trainable_target_would_collapse_under_cross_entropy_and_not_under_kl():
    """Minimising H(P, Q) over P puts all mass on Q's mode; minimising D(P || Q) gives P = Q."""
    q, p = [0.6, 0.4], np.linspace(0, 1, 101)
    pairs = np.column_stack([p, 1 - p])
    cross = nl.cross_entropy(pairs, np.broadcast_to(q, pairs.shape))
    kl = nl.kl_divergence(pairs, np.broadcast_to(q, pairs.shape))
    assert p[cross.argmin()] == 1.0
    assert p[kl.argmin()] == pytest.approx(0.6)


@pytest.mark.parametrize("base", [None, 2, 10])
def test_cross_entropy_is_entropy_plus_kl_in_one_base(base):
    """H(P, Q) = H(P) + D(P || Q) whatever the base, if it is the same three times."""
    q = np.array([0.2, 0.2, 0.6])
    total = nl.entropy(P, base=base) + nl.kl_divergence(P, q, base=base)
    assert nl.cross_entropy(P, q, base=base) == pytest.approx(total, rel=1e-13)
    assert nl.cross_entropy(P, q, base=2) != pytest.approx(nl.entropy(P) + nl.kl_divergence(P, q), rel=1e-2)


@pytest.mark.parametrize(
    ("p", "q"),
    [
        (nl.Gaussian(0.0, 1.0), nl.Gaussian(0.7, 1.8)),
        (nl.Laplace(0.0, 1.0), nl.Laplace(0.7, 1.8)),
        (nl.Gamma(2.0, 3.0), nl.Gamma(1.5, 2.0)),
        (nl.LogNormal(0.1, 0.5), nl.LogNormal(0.4, 0.9)),
        (nl.Poisson(2.0), nl.Poisson(3.5)),
    ],
    ids=["gaussian", "laplace", "gamma", "lognormal", "poisson"],
)
def test_the_identity_also_holds_with_differential_entropy(p, q):
    """Cross-entropy is the expected -log q under p, for densities as for masses."""
    total = p.entropy() + nl.kl_divergence(p, q)
    assert nl.cross_entropy(p, q) == pytest.approx(total, rel=1e-8)
    y = np.arange(200.0) if p.measure == "mass" else np.linspace(-60, 60, 240_001)
    density = p.pdf(y)
    inside = density > 0
    nats = np.where(inside, density, 0.0)[inside] * q.nll(y[inside])
    expected = nats.sum() if p.measure == "mass" else np.trapezoid(nats, y[inside])
    assert nl.cross_entropy(p, q) == pytest.approx(expected, rel=1e-5)


def test_the_gaussian_cross_entropy_has_the_known_closed_form():
    """log(2 pi s2^2)/2 + (s1^2 + (m1-m2)^2) / 2 s2^2."""
    expected = 0.5 * np.log(2 * np.pi * 1.8**2) + (1.0 + 0.7**2) / (2 * 1.8**2)
    assert nl.cross_entropy(nl.Gaussian(0.0, 1.0), nl.Gaussian(0.7, 1.8)) == pytest.approx(expected, rel=1e-9)


def test_the_identity_holds_symbolically():
    """-sum p log q = -sum p log p + sum p log(p/q)."""
    p = sp.symbols("p1:4", positive=True)
    q = sp.symbols("q1:4", positive=True)
    cross = -sum(a * sp.log(b) for a, b in zip(p, q, strict=True))
    entropy = -sum(a * sp.log(a) for a in p)
    kl = sum(a * sp.log(a / b) for a, b in zip(p, q, strict=True))
    assert sp.simplify(sp.expand_log(cross - entropy - kl)) == 0
