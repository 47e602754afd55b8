"""Smooths, groups and modelled spreads as the handbook derives them."""

import numpy as np
import pandas as pd
import pytest
import sympy as sp
from docs.symbols import gaussian, minus_log, sigma, zero
from scipy import stats
from scipy.interpolate import CubicSpline

import neglog as nl

s = sp.Symbol("s", positive=True)


# ---- smooths ---------------------------------------------------------------------------------------------------------


def wiggles(x):
    """Those of a natural cubic spline with a knot at every x: orthonormal over the rows, and d."""
    unit, h = CubicSpline(x, np.eye(len(x)), bc_type="natural"), np.diff(x)[:, None]
    left, right = unit(x[:-1], 2), unit(x[1:], 2)
    cross = left.T @ (h * right)
    bends, u = np.linalg.eigh((left.T @ (h * left) + right.T @ (h * right)) / 3 + (cross + cross.T) / 6)
    c = np.sum(1 / bends[2:]) / len(x)
    return u[:, 2:], 1 / (c * bends[2:])


def gain(a, d, noise, scale):
    kept = d / (d + noise**2 / scale**2)
    return 0.5 * np.sum(kept * a**2 / noise**2 - np.log1p(scale**2 * d / noise**2))


def test_the_evidence_of_a_smooth():
    noise, scale = 0.5, 1.3
    rng = np.random.default_rng(0)
    x = np.sort(rng.uniform(0, 5, 14))
    y = np.cos(2 * x) + noise * rng.normal(size=14)
    u, d = wiggles(x)
    z = u * np.sqrt(d)
    assert np.sum(z**2) / 14 == pytest.approx(1)  # the scale is the size of the wiggles at the rows
    line = np.column_stack([np.ones(14), x])
    np.testing.assert_allclose(line.T @ z, 0, atol=1e-9)

    # with the line integrated, what is left is what is orthogonal to it
    rest = np.linalg.svd(line, full_matrices=True)[0][:, 2:]
    narrow = stats.multivariate_normal(np.zeros(12), noise**2)
    wide = stats.multivariate_normal(np.zeros(12), rest.T @ (noise**2 * np.eye(14) + scale**2 * z @ z.T) @ rest)
    expected = wide.logpdf(rest.T @ y) - narrow.logpdf(rest.T @ y)
    a = u.T @ y
    assert gain(a, d, noise, scale) == pytest.approx(expected)

    # its slope in the square of the scale, at 0
    slope = np.sum(d * (a**2 - noise**2)) / (2 * noise**4)
    step = 1e-4
    assert gain(a, d, noise, step) / step**2 == pytest.approx(slope, rel=1e-5)

    # by neglog: the curve at any scale, its effective number, and the maximum
    table = pd.DataFrame({"x": x, "y": y})
    fit = nl.fit(table, "y", nl.Gaussian(scale=noise), terms=[nl.smooth("x", size=14, scale=scale)])
    kept = d / (d + noise**2 / scale**2)
    np.testing.assert_allclose(fit.predict(table), np.polyval(np.polyfit(x, y, 1), x) + u @ (kept * a), atol=1e-7)
    assert fit.terms["x"].effective == pytest.approx(1 + kept.sum())
    best = nl.fit(table, "y", nl.Gaussian(scale=noise), terms=[nl.smooth("x", size=14)]).terms["x"].scale
    assert gain(a, d, noise, best) >= max(gain(a, d, noise, best * t) for t in (0.97, 1.03))


def test_fast_wiggles_are_small():
    _, d = wiggles(np.linspace(0, 1, 200))
    d, j = np.sort(d)[::-1], np.arange(1, 199)
    slopes = np.diff(np.log(d[9:60])) / np.diff(np.log(j[9:60]))
    assert slopes.mean() == pytest.approx(-4, abs=0.5)


# ---- groups ----------------------------------------------------------------------------------------------------------


def test_credibility():
    n, mean, mu, u = sp.symbols("n mean mu u", positive=True)
    level = n * (mean - mu - u) ** 2 / (2 * sigma**2) + u**2 / (2 * s**2)  # what squares within a level leave
    found = sp.solve(sp.diff(level, u), u)[0]
    z = n / (n + sigma**2 / s**2)
    assert sp.simplify(found - z * (mean - mu)) == 0
    assert sp.simplify(1 / sp.diff(level, u, 2) - (1 - z) * s**2) == 0
    # at so many rows it counts half
    assert sp.simplify(z.subs(n, sigma**2 / s**2) - sp.Rational(1, 2)) == 0


def pooled(own, rows, noise, scale):
    w = 1 / (scale**2 + noise**2 / rows)
    mu = w @ own / w.sum()
    return 0.5 * np.sum(np.log(w) - w * (own - mu) ** 2) - 0.5 * np.log(w.sum()), mu, w


def test_when_levels_differ_by_more_than_noise():
    rng = np.random.default_rng(1)
    sides = []
    for _ in range(20):
        rows = rng.integers(1, 30, size=6).astype(float)
        own = rng.normal(0, 0.3, 6) + rng.normal(size=6) / np.sqrt(rows)
        n, mean = rows.sum(), rows @ own / rows.sum()
        excess = rows**2 @ (own - mean) ** 2 - (n - rows @ rows / n)
        step = 1e-4
        slope = (pooled(own, rows, 1.0, step)[0] - pooled(own, rows, 1.0, 0.0)[0]) / step**2
        assert slope == pytest.approx(excess / 2, rel=1e-3, abs=1e-3)
        sides.append(excess > 0)
    assert 0 < sum(sides) < 20


def test_a_group_by_neglog():
    noise, scale = 1.0, 0.8
    rows, own = np.array([1, 2, 5, 20]), np.array([1.5, -0.7, 0.4, 0.1])
    table = pd.DataFrame({"g": np.repeat(list("pqrs"), rows), "y": np.repeat(own, rows)})
    fit = nl.fit(table, "y", nl.Gaussian(scale=noise), terms=[nl.group("g", scale=scale)], tol=1e-10)
    _, mu, w = pooled(own, rows, noise, scale)
    z = rows / (rows + noise**2 / scale**2)
    assert fit.intercept == pytest.approx(mu)
    np.testing.assert_allclose(fit.effect("g").estimate, z * (own - mu))
    of_level = (1 - z) * scale**2 + z**2 / w.sum()
    assert fit.terms["g"].effective == pytest.approx(np.sum(1 - of_level / scale**2))
    assert fit.terms["g"].effective < z.sum()
    unseen = fit.posterior().predictive(pd.DataFrame({"g": ["t"]}))
    assert unseen.mean()[0] == pytest.approx(mu)
    assert unseen.variance()[0] == pytest.approx(noise**2 + scale**2 + 1 / w.sum())


def test_levels_and_their_scale_have_no_joint_maximum():
    own = nl.Gaussian(0.0, 1e-9).nll(np.zeros(8)).sum()
    assert own < nl.Gaussian(0.0, 1e-6).nll(np.zeros(8)).sum() < 0


# ---- spreads ---------------------------------------------------------------------------------------------------------


def test_the_loss_of_a_spread():
    f, zeta, y = sp.symbols("f zeta y", real=True)
    nll = minus_log(gaussian(y, f, sp.exp(zeta)))
    assert zero(nll - ((y - f) ** 2 / (2 * sp.exp(2 * zeta)) + zeta + sp.log(2 * sp.pi) / 2))
    spread = sp.exp(zeta)
    assert sp.simplify(sp.diff(nll, f) + (y - f) / spread**2) == 0
    assert sp.simplify(sp.diff(nll, zeta) - (1 - (y - f) ** 2 / spread**2)) == 0
    z = sp.Symbol("z", real=True)  # (y - f) / spread, of mean 0 and variance 1

    def expected(second):
        terms = sp.Poly(sp.simplify(second.subs(y, f + spread * z)), z)
        return sp.simplify(terms.coeff_monomial(1) + terms.coeff_monomial(z**2))

    assert sp.simplify(expected(sp.diff(nll, f, 2)) - 1 / spread**2) == 0
    assert expected(sp.diff(nll, zeta, 2)) == 2
    assert expected(sp.diff(nll, f, zeta)) == 0


def test_what_a_spread_is_worth():
    m, v, delta = sp.symbols("m v delta", positive=True)
    # a log scale that is Gaussian of mean m and variance v: half the log of E exp(2 zeta), less its mean
    assert sp.simplify((2 * m + 2 * v) / 2 - m - v) == 0
    # a small variation, here of two values with variance delta^2
    small = sp.log((sp.exp(2 * delta) + sp.exp(-2 * delta)) / 2) / 2
    assert sp.series(small, delta, 0, 4).removeO() == delta**2
    # a log scale that is wrong by delta costs delta^2 nats
    cost = delta + sp.exp(-2 * delta) / 2 - sp.Rational(1, 2)
    assert sp.series(cost, delta, 0, 3).removeO() == delta**2
    divergence = nl.kl_divergence(nl.Gaussian(0.0, 1.0), nl.Gaussian(0.0, np.exp(0.01)))
    assert divergence == pytest.approx(1e-4, rel=0.03)
    assert np.log(2) ** 2 == pytest.approx(0.5, abs=0.02)  # a factor of two either way
