"""Entropy, cross-entropy and divergence as the handbook derives them: one test for each page."""

import itertools

import numpy as np
import pytest
import sympy as sp
from docs.symbols import alpha, b, eta, expected_nll, gaussian, m, minus_log, mu, sigma, tau, y, zero

import neglog as nl

P, Q = sp.symbols("p1:4", positive=True), sp.symbols("q1:4", positive=True)


def sum_over(term):
    return sum(term(p, q) for p, q in zip(P, Q, strict=True))


def test_entropy():
    # log t <= t - 1, with equality at t = 1 only
    t = sp.Symbol("t", positive=True)
    gap = t - 1 - sp.log(t)
    assert sp.solve(sp.diff(gap, t), t) == [1]
    assert gap.subs(t, 1) == 0
    assert sp.diff(gap, t, 2) == 1 / t**2

    # log K - H = -sum p log((1/K) / p), and the bound on it is 1 - sum 1/K, for K = 3 outcomes that sum to one
    total_one = {P[2]: 1 - P[0] - P[1]}
    deficit = sp.log(3) + sum(p * sp.log(p) for p in P)
    assert zero((deficit + sum(p * sp.log(sp.Rational(1, 3) / p) for p in P)).subs(total_one))
    assert sp.simplify((-sum(p * (sp.Rational(1, 3) / p - 1) for p in P)).subs(total_one)) == 0
    assert sp.limit(t * sp.log(t), t, 0) == 0  # 0 log 0

    # two outcomes: slope and curvature
    p = sp.Symbol("p", positive=True)
    binary = -p * sp.log(p) - (1 - p) * sp.log(1 - p)
    assert zero(sp.diff(binary, p) - (sp.log(1 - p) - sp.log(p)))
    assert sp.simplify(sp.diff(binary, p, 2) + 1 / (p * (1 - p))) == 0
    assert zero(binary.subs(p, sp.Rational(1, 2)) - sp.log(2))

    # expectations of -log p: Gaussian, Laplace, log-normal, Gamma, from E e^2, E|e| and E y^s
    e = sp.Symbol("e", real=True)
    assert sp.simplify(sp.integrate(e**2 * gaussian(e, 0, sigma), (e, -sp.oo, sp.oo)) - sigma**2) == 0
    assert sp.simplify(sp.integrate(t * sp.exp(-t / b) / b, (t, 0, sp.oo)) - b) == 0
    s = sp.Symbol("s", positive=True)
    power = sp.integrate(t**s * t ** (alpha - 1) * sp.exp(-alpha * t / mu), (t, 0, sp.oo), conds="none")
    power *= (alpha / mu) ** alpha / sp.gamma(alpha)
    mean_log = sp.digamma(alpha) + sp.log(mu / alpha)  # the derivative of E y^s at s = 0
    assert zero(sp.diff(power, s).subs(s, 0) - mean_log)
    nats = sp.log(2 * sp.pi * sigma**2) / 2 + (y - m) ** 2 / (2 * sigma**2)
    assert zero(nats.subs((y - m) ** 2, sigma**2) - sp.log(2 * sp.pi * sp.E * sigma**2) / 2)
    distance = sp.Symbol("a", positive=True)
    assert zero((sp.log(2 * b) + distance / b).subs(distance, b) - sp.log(2 * sp.E * b))
    log_y = sp.Symbol("l", real=True)
    lognormal = log_y + nats.subs((y - m) ** 2, sigma**2)
    assert zero(lognormal.subs(log_y, m) - m - sp.log(2 * sp.pi * sp.E * sigma**2) / 2)
    gamma = alpha * (y / mu + sp.log(mu)) - alpha * sp.log(alpha) - (alpha - 1) * log_y + sp.loggamma(alpha)
    expected = gamma.subs({y: mu, log_y: mean_log})  # E y and E log y
    table = alpha + sp.log(mu / alpha) + sp.loggamma(alpha) + (1 - alpha) * sp.digamma(alpha)
    assert zero(expected - table)
    at = {mu: 2, alpha: 3}
    assert nl.Gamma(mean=2.0, shape=3.0).entropy() == pytest.approx(float(table.subs(at)), rel=1e-13)

    # a change of unit: -log of p(y / c) / c has log c more
    unit = sp.Symbol("u", positive=True)
    density = gaussian(y / unit, mu, sigma)
    assert zero(minus_log(density / unit) - minus_log(density) - sp.log(unit))

    # largest entropy: under any law of the same variance, or of the same E|y - m|, the expected -log q is the bound
    scale = 1.3
    cross = nl.cross_entropy(nl.Laplace(0.0, scale / np.sqrt(2)), nl.Gaussian(0.0, scale))
    assert cross == pytest.approx(0.5 * np.log(2 * np.pi * np.e * scale**2), rel=1e-13)
    cross = nl.cross_entropy(nl.Gaussian(0.0, scale * np.sqrt(np.pi / 2)), nl.Laplace(0.0, scale))
    assert cross == pytest.approx(np.log(2 * np.e * scale), rel=1e-13)


def test_cross_entropy():
    # the data as P: rows sorted by class
    counts = sp.symbols("n1:4", positive=True)
    rows = sum(counts)
    nll = -sum(count * sp.log(q) for count, q in zip(counts, Q, strict=True))
    frequencies = [count / rows for count in counts]
    assert zero(nll / rows + sum(f * sp.log(q) for f, q in zip(frequencies, Q, strict=True)))

    # the bound: -sum p (q / p - 1) = 1 - sum q, and H(P, Q) - H(P) = -sum p log(q / p)
    one = {P[2]: 1 - P[0] - P[1]}
    assert sp.simplify((sum_over(lambda p, q: -p * (q / p - 1)) - (1 - sum(Q))).subs(one)) == 0
    excess = sum_over(lambda p, q: -p * sp.log(q) + p * sp.log(p))
    assert zero(excess - sum_over(lambda p, q: -p * sp.log(q / p)))

    # two classes with the logit link
    q = 1 / (1 + sp.exp(-eta))
    seen = sp.Symbol("y", real=True)
    assert sp.simplify(sp.exp(-(sp.log(1 + sp.exp(eta)) - eta)) - q) == 0  # exp(-loss) is q for y = 1
    assert sp.simplify(sp.exp(-sp.log(1 + sp.exp(eta))) - (1 - q)) == 0  # and 1 - q for y = 0
    loss = sp.log(1 + sp.exp(eta)) - seen * eta
    assert sp.simplify(sp.diff(loss, eta) - (q - seen)) == 0
    assert sp.simplify(sp.diff(loss, eta, 2) - q * (1 - q)) == 0

    # softmax: gradient q - y, Hessian diag(q) - q q', which maps the ones to zero
    raw, labels = sp.symbols("e1:4", real=True), sp.symbols("s1:4", real=True)
    total = sum(sp.exp(e) for e in raw)
    softmax = [sp.exp(e) / total for e in raw]
    whole = sp.log(total) - sum(s * e for s, e in zip(labels, raw, strict=True))
    direct = -sum(s * sp.log(k) for s, k in zip(labels, softmax, strict=True))
    shares = {labels[2]: 1 - labels[0] - labels[1]}
    assert sp.simplify(sp.expand_log((whole - direct).subs(shares), force=True)) == 0
    hessian = sp.hessian(whole, raw)
    for i, j in itertools.product(range(3), repeat=2):
        assert sp.simplify(sp.diff(whole, raw[i]) - (softmax[i] - labels[i])) == 0
        assert sp.simplify(hessian[i, j] - (softmax[i] * int(i == j) - softmax[i] * softmax[j])) == 0
    assert sp.simplify(hessian * sp.ones(3, 1)) == sp.zeros(3, 1)

    # perplexity: the same number from nats and from bits
    nats = sp.Symbol("H", positive=True)
    assert sp.simplify(sp.exp(nats) - 2 ** (nats / sp.log(2))) == 0


def test_kl():
    # two Gaussians: subtract the two expected -logs
    m1, m2 = sp.symbols("m1 m2", real=True)
    s1, s2 = sp.symbols("s1 s2", positive=True)
    steps = expected_nll((m1, s1), (m2, s2)) - expected_nll((m1, s1), (m1, s1))
    closed = sp.log(s2 / s1) + (s1**2 + (m1 - m2) ** 2) / (2 * s2**2) - sp.Rational(1, 2)
    assert zero(steps - closed)
    e = sp.Symbol("e", real=True)  # y = m1 + e with E e = 0 and E e^2 = s1^2
    shifted = sp.Poly(sp.expand((m1 + e - m2) ** 2), e)
    assert sp.expand(shifted.coeff_monomial(e**2) * s1**2 + shifted.coeff_monomial(1) - (s1**2 + (m1 - m2) ** 2)) == 0
    assert nl.kl_divergence(nl.Gaussian(0.3, 1.2), nl.Gaussian(-0.5, 0.7)) == pytest.approx(
        float(closed.subs({m1: 0.3, s1: 1.2, m2: -0.5, s2: 0.7})), rel=1e-13
    )

    # an exponential dispersion model: [mu1 (t1 - t2) - kappa1 + kappa2] / phi is half a deviance over phi
    a, d = sp.symbols("mu1 mu2", positive=True)
    for canonical, cumulant, half in (
        (lambda v: v, lambda v: v**2 / 2, (a - d) ** 2 / 2),  # Gaussian
        (sp.log, lambda v: v, a * sp.log(a / d) - a + d),  # Poisson
        (lambda v: -1 / v, sp.log, a / d - 1 - sp.log(a / d)),  # Gamma
        (lambda v: -2 / sp.sqrt(v), lambda v: 2 * sp.sqrt(v), 2 * (sp.sqrt(a) - sp.sqrt(d)) ** 2 / sp.sqrt(d)),  # 3/2
    ):
        divergence = a * (canonical(a) - canonical(d)) - cumulant(a) + cumulant(d)
        assert zero(divergence - half)

    # Bernoulli in the same form: theta = logit p, kappa = -log(1 - p)
    p, q = sp.symbols("p q", positive=True)
    logit = p * (sp.log(p / (1 - p)) - sp.log(q / (1 - q))) + sp.log(1 - p) - sp.log(1 - q)
    bernoulli = p * sp.log(p / q) + (1 - p) * sp.log((1 - p) / (1 - q))
    assert zero(logit - bernoulli)
    assert zero(bernoulli.subs({p: sp.Rational(1, 5), q: sp.Rational(4, 5)}) - sp.Rational(3, 5) * sp.log(4))

    # Laplace: E|y - m2| = g + b1 exp(-g / b1) at distance g, by the three pieces of the integral
    g, b1, b2, v = sp.symbols("g b1 b2 v", positive=True)
    left = sp.integrate((g + v) * sp.exp(-v / b1) / (2 * b1), (v, 0, sp.oo))  # on the far side of m1
    between = sp.integrate((g - v) * sp.exp(-v / b1) / (2 * b1), (v, 0, g))
    beyond = sp.integrate((v - g) * sp.exp(-v / b1) / (2 * b1), (v, g, sp.oo))
    mean_distance = sp.simplify(left + between + beyond)
    assert zero(mean_distance - (g + b1 * sp.exp(-g / b1)))
    laplace = sp.log(2 * b2) + mean_distance / b2 - sp.log(2 * b1) - 1
    assert zero(laplace - (sp.log(b2 / b1) + g / b2 + b1 / b2 * sp.exp(-g / b1) - 1))

    # nearby laws: half the Fisher information times the square of the step
    step = sp.Symbol("h", real=True)
    poisson = a * sp.log(a / (a + step)) + step
    assert sp.simplify(sp.series(poisson, step, 0, 3).removeO() - step**2 / (2 * a)) == 0
    assert zero(closed.subs({m2: m1 + step, s2: s1}) - step**2 / (2 * s1**2))

    # a one to one map gives both densities the same factor
    density, other, factor = sp.symbols("f g j", positive=True)
    assert zero(sp.log(density * factor / (other * factor)) - sp.log(density / other))


def test_relations():
    # the derivation: add and subtract sum p log p
    cross = sum_over(lambda p, q: -p * sp.log(q))
    entropy = sum_over(lambda p, q: -p * sp.log(p))
    divergence = sum_over(lambda p, q: p * sp.log(p / q))
    assert zero(cross - entropy - sum_over(lambda p, q: p * sp.log(p) - p * sp.log(q)))
    assert zero(cross - entropy - divergence)
    base = sp.Symbol("B", positive=True)
    assert zero(cross / sp.log(base) - entropy / sp.log(base) - divergence / sp.log(base))

    # the entropy does not depend on Q, so the gradients in Q agree
    for q in Q:
        assert sp.diff(entropy, q) == 0
        assert zero(sp.diff(cross, q) - sp.diff(divergence, q))

    # a change of unit divides both densities by c: two terms gain log c, the divergence nothing
    unit = sp.Symbol("u", positive=True)
    p1, q1 = (mu, sigma), (m, tau)
    scaled = [tuple(unit * value for value in law) for law in (p1, q1)]
    assert zero(expected_nll(*scaled) - expected_nll(p1, q1) - sp.log(unit))
    assert zero(expected_nll(scaled[0], scaled[0]) - expected_nll(p1, p1) - sp.log(unit))
    gap = (expected_nll(*scaled) - expected_nll(scaled[0], scaled[0])) - (expected_nll(p1, q1) - expected_nll(p1, p1))
    assert zero(gap)

    # a trainable target, two outcomes: the slopes in p
    p, q = sp.symbols("p q", positive=True)
    binary_cross = -p * sp.log(q) - (1 - p) * sp.log(1 - q)
    binary_kl = p * sp.log(p / q) + (1 - p) * sp.log((1 - p) / (1 - q))
    assert zero(sp.diff(binary_cross, p) + sp.log(q) - sp.log(1 - q))
    assert zero(sp.diff(binary_kl, p) - (sp.log(p / (1 - p)) - sp.log(q / (1 - q))))
    assert zero(sp.diff(binary_kl, p).subs(p, q))
