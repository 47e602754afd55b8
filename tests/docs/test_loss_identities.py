"""The losses as the handbook derives them: one test for each page, by SymPy or exact numbers."""

import numpy as np
import pytest
import sympy as sp
from docs.symbols import Y, alpha, b, c, delta, eta, gaussian, lam, m, minus_log, mu, n, phi, sigma, y, zero
from scipy import integrate, special

import neglog as nl


def test_gaussian():
    # row by row: both terms positive, then the mean NLL, then the profile over the scale
    row = sp.log(2 * sp.pi * sigma**2) / 2 + (y - mu) ** 2 / (2 * sigma**2)
    assert zero(minus_log(gaussian(y, mu, sigma)) - row)
    mse, rows = sp.symbols("MSE N", positive=True)
    nll = rows / 2 * sp.log(2 * sp.pi * sigma**2) + rows * mse / (2 * sigma**2)
    assert zero(nll / rows - sp.log(2 * sp.pi * sigma**2) / 2 - mse / (2 * sigma**2))
    assert zero(sp.diff(nll, sigma).subs(sigma, sp.sqrt(mse)))
    assert zero(nll.subs(sigma, sp.sqrt(mse)) - rows / 2 * sp.log(2 * sp.pi * sp.E * mse))

    # derivatives in the prediction
    loss = row.subs(mu, eta)
    assert zero(sp.diff(loss, eta) + (y - eta) / sigma**2)
    assert zero(sp.diff(loss, eta, 2) - 1 / sigma**2)

    # E(y - c)^2 = variance + (mean - c)^2 for any law with two moments
    mean, variance = sp.symbols("mean variance", real=True)
    expected = (variance + mean**2) - 2 * c * mean + c**2
    assert zero(expected - variance - (mean - c) ** 2)
    assert sp.solve(sp.diff(expected, c), c) == [mean]

    # known, unequal scales: the weighted mean
    scales = sp.symbols("s1:4", positive=True)
    weighted = sum((value - m) ** 2 / (2 * s**2) + sp.log(s) for value, s in zip(Y, scales, strict=True))
    weights = [1 / s**2 for s in scales]
    best = sum(w * value for w, value in zip(weights, Y, strict=True)) / sum(weights)
    assert sp.simplify(sp.solve(sp.diff(weighted, m), m)[0] - best) == 0


def test_laplace():
    # moments of the law, by symmetry twice those of one side
    e = sp.Symbol("e", positive=True)
    side = sp.exp(-e / b) / (2 * b)
    assert 2 * sp.integrate(side, (e, 0, sp.oo)) == 1
    assert sp.simplify(2 * sp.integrate(e * side, (e, 0, sp.oo)) - b) == 0
    assert sp.simplify(2 * sp.integrate(e**2 * side, (e, 0, sp.oo)) - 2 * b**2) == 0
    assert zero(minus_log(side) - sp.log(2 * b) - e / b)

    # the scale, and the profile over it
    mae, rows = sp.symbols("MAE N", positive=True)
    nll = rows * sp.log(2 * b) + rows * mae / b
    assert sp.solve(sp.diff(nll, b), b) == [mae]
    assert zero(nll.subs(b, mae) - rows * sp.log(2 * sp.E * mae))

    # d/dc E|y - c| = P(y < c) - P(y > c), here for an exponential law, and zero at its median
    at = sp.Symbol("c", positive=True)
    density = sp.exp(-y)
    expected = sp.integrate((at - y) * density, (y, 0, at)) + sp.integrate((y - at) * density, (y, at, sp.oo))
    below, above = sp.integrate(density, (y, 0, at)), sp.integrate(density, (y, at, sp.oo))
    assert zero(sp.diff(expected, at) - (below - above))
    assert zero((below - above).subs(at, sp.log(2)))

    # at a Gaussian sample the median's variance, 1 / (4 p(0)^2 n), is pi/2 times the mean's, sigma^2 / n
    assert zero(1 / (4 * gaussian(0, 0, sigma) ** 2) / sigma**2 - sp.pi / 2)

    # the limits of the slope on both sides of the datum, and the Fisher information
    score = nl.Laplace(scale=0.7).derivatives(np.zeros(2), np.array([-1e-300, 1e-300]))[1]
    np.testing.assert_allclose(score, [-1 / 0.7, 1 / 0.7], rtol=1e-15)
    assert nl.Laplace(scale=0.7).derivatives(0.0, 1.0, expected=True)[2] == pytest.approx(1 / 0.7**2, rel=1e-15)


def test_poisson():
    # mean and variance of the mass
    k = sp.Symbol("k", integer=True, nonnegative=True)
    mass = mu**k * sp.exp(-mu) / sp.factorial(k)

    def moment(power):
        return sp.simplify(sp.summation(k**power * mass, (k, 0, sp.oo)))

    assert moment(0) == 1
    assert moment(1) == mu
    assert sp.expand(moment(2) - mu**2) == mu

    # the loss in eta and its derivatives; an exposure t is an offset log t
    nll = mu - y * sp.log(mu) + sp.loggamma(y + 1)
    in_eta = nll.subs(mu, sp.exp(eta))
    assert zero(in_eta - (sp.exp(eta) - y * eta + sp.loggamma(y + 1)))
    assert zero(sp.diff(in_eta, eta) - (sp.exp(eta) - y))
    assert zero(sp.diff(in_eta, eta, 2) - sp.exp(eta))
    t = sp.Symbol("t", positive=True)
    assert zero(in_eta.subs(eta, eta + sp.log(t)) - nll.subs(mu, t * sp.exp(eta)))

    # half the deviance is the NLL minus that of the perfect prediction, zero there, mu at y = 0
    half = y * sp.log(y / mu) - (y - mu)
    assert zero(nll - nll.subs(mu, y) - half)
    assert zero(nll - half - (y - y * sp.log(y) + sp.loggamma(y + 1)))
    assert zero(half.subs(mu, y))
    assert zero(sp.diff(half, mu).subs(mu, y))
    assert zero(sp.diff(half, mu, 2) - y / mu**2)
    assert sp.limit(half, y, 0) == mu

    # with an intercept the fitted means sum to the counts: the derivative of the NLL in the intercept
    intercept, slope = sp.symbols("t0 t1", real=True)
    x = sp.symbols("x1:4", real=True)
    means = [sp.exp(intercept + slope * value) for value in x]
    total = sum(mean - count * sp.log(mean) for mean, count in zip(means, Y, strict=True))
    assert zero(sp.diff(total, intercept) - (sum(means) - sum(Y)))


def test_gamma():
    # the density with scale beta, and with the mean
    beta = mu / alpha
    by_scale = y ** (alpha - 1) * sp.exp(-y / beta) / (sp.gamma(alpha) * beta**alpha)
    by_mean = (alpha / mu) ** alpha * y ** (alpha - 1) * sp.exp(-alpha * y / mu) / sp.gamma(alpha)
    assert sp.simplify(by_scale / by_mean) == 1
    nll = alpha * (y / mu + sp.log(mu)) - alpha * sp.log(alpha) - (alpha - 1) * sp.log(y) + sp.loggamma(alpha)
    four = -(alpha - 1) * sp.log(y) + y / beta + sp.loggamma(alpha) + alpha * sp.log(beta)
    assert zero(nll - four)
    for shape in (1, 2, 5):
        density = by_mean.subs(alpha, shape)
        assert sp.integrate(density, (y, 0, sp.oo)) == 1
        assert sp.simplify(sp.integrate(y * density, (y, 0, sp.oo)) - mu) == 0
        assert sp.simplify(sp.integrate((y - mu) ** 2 * density, (y, 0, sp.oo)) - mu**2 / shape) == 0
        assert zero(minus_log(density) - nll.subs(alpha, shape).replace(sp.loggamma, lambda a: sp.log(sp.gamma(a))))

    # the deviance is the NLL minus that of the perfect prediction, in units of 1 / alpha, and depends on y / mu alone
    half = y / mu - 1 - sp.log(y / mu)
    assert zero(nll - nll.subs(mu, y) - alpha * half)
    assert zero(nll - alpha * half - (alpha - alpha * sp.log(alpha) + sp.log(y) + sp.loggamma(alpha)))
    assert zero(half.subs({y: lam * y, mu: lam * mu}) - half)
    r = sp.Symbol("r", positive=True)
    assert zero(sp.diff(r - 1 - sp.log(r), r).subs(r, 1))
    assert sp.diff(r - 1 - sp.log(r), r, 2) == 1 / r**2

    # derivatives with the log link
    in_eta = nll.subs(mu, sp.exp(eta))
    assert zero(sp.diff(in_eta, eta) - alpha * (1 - y * sp.exp(-eta)))
    assert zero(sp.diff(in_eta, eta, 2) - alpha * y * sp.exp(-eta))

    # the shape: log(alpha) - psi(alpha) = D / 2n
    derivative = sp.diff(nll, alpha)
    assert zero(derivative - (half - sp.log(alpha) + sp.digamma(alpha)))


def test_tweedie():
    u, power = sp.symbols("u p", positive=True)
    monomial = (mu ** (2 - power) / (2 - power) - y * mu ** (1 - power) / (1 - power)) / phi

    # canonical parameter and cumulant: d kappa / d theta = mu, and the variance function is mu^p
    canonical, cumulant = mu ** (1 - power) / (1 - power), mu ** (2 - power) / (2 - power)
    assert sp.simplify(sp.diff(cumulant, mu) / sp.diff(canonical, mu) - mu) == 0
    assert sp.simplify(1 / sp.diff(canonical, mu) - mu**power) == 0

    # the unit deviance is 2 int (y - u) / u^p du from mu to y: same derivative in mu, and zero at mu = y
    half = (
        y ** (2 - power) / ((1 - power) * (2 - power))
        - y * mu ** (1 - power) / (1 - power)
        + mu ** (2 - power) / (2 - power)
    )
    assert sp.simplify(sp.diff(half, mu) + (y - mu) / mu**power) == 0
    assert sp.simplify(half.subs(mu, y)) == 0
    assert sp.simplify(sp.diff(half, mu) - phi * sp.diff(monomial, mu)) == 0
    for value, known in (
        (0, (y - mu) ** 2 / 2),
        (3, (y - mu) ** 2 / (2 * mu**2 * y)),
    ):
        assert sp.simplify(half.subs(power, value) - known) == 0
    assert zero(sp.integrate((y - u) / u, (u, mu, y)) - (y * sp.log(y / mu) - (y - mu)))  # Poisson
    assert zero(sp.integrate((y - u) / u**2, (u, mu, y)) - (y / mu - 1 - sp.log(y / mu)))  # Gamma
    at = {y: 1.7, mu: 2.3}
    for value, limit in ((1, y * sp.log(y / mu) - (y - mu)), (2, y / mu - 1 - sp.log(y / mu))):
        near = half.subs(power, value + sp.Rational(1, 10**12)).subs({y: sp.Rational(17, 10), mu: sp.Rational(23, 10)})
        assert float(sp.N(near, 40)) == pytest.approx(float(limit.subs(at)), rel=1e-9)

    # derivatives with the log link; the second is never negative for 1 <= p <= 2
    in_eta = monomial.subs(mu, sp.exp(eta))
    first = (sp.exp((2 - power) * eta) - y * sp.exp((1 - power) * eta)) / phi
    second = ((2 - power) * sp.exp((2 - power) * eta) + (power - 1) * y * sp.exp((1 - power) * eta)) / phi
    assert sp.simplify(sp.expand_power_exp(sp.powsimp(sp.diff(in_eta, eta) - first, force=True))) == 0
    assert sp.simplify(sp.powsimp(sp.diff(first, eta) - second, force=True)) == 0

    # the Poisson sum of Gammas: rate, shape and scale of the jumps give mean, variance and the mass at zero
    rate = mu ** (2 - power) / (phi * (2 - power))
    shape, scale = (2 - power) / (power - 1), phi * (power - 1) * mu ** (power - 1)
    assert sp.simplify(rate * shape * scale - mu) == 0
    assert sp.simplify(rate * shape * (shape + 1) * scale**2 - phi * mu**power) == 0
    assert sp.simplify(rate - cumulant / phi) == 0  # so that P(0) = exp(-rate) is the exponential family term at y = 0

    # in the density of that sum the mean stands only in the exponential: r^k scale^(-k shape) is free of it
    count = sp.Symbol("k", positive=True)
    free = count * sp.log(rate) - count * shape * sp.log(scale)
    assert sp.simplify(sp.diff(sp.expand_log(free, force=True), mu)) == 0
    assert sp.simplify(-rate - y / scale + monomial) == 0

    # the formula that circulates as the likelihood integrates to phi^((3-p)/2) sqrt(pi) / (p Gamma(1/p))
    for value in (1, 2, 3):
        w = sp.Symbol("w", positive=True)  # (y / phi)^p = w^2
        inner = phi ** sp.Rational(1 - value, 2) / sp.gamma(sp.Rational(1, value)) * sp.exp(-(w**2)) * 2 * phi / value
        area = sp.integrate(inner, (w, 0, sp.oo))  # (y / phi)^(p/2 - 1) dy = (2 phi / p) dw
        known = phi ** sp.Rational(3 - value, 2) * sp.sqrt(sp.pi) / (value * sp.gamma(sp.Rational(1, value)))
        assert sp.simplify(area - known) == 0

    # and its cumulant function, rate ((1 - scale t)^-shape - 1), is that of the exponential dispersion model
    t = sp.Symbol("t", negative=True)
    ours = rate * ((1 - scale * t) ** (-shape) - 1)
    base = 1 + (1 - power) * phi * mu ** (power - 1) * t
    model = rate * (base ** ((2 - power) / (1 - power)) - 1)
    for value in (sp.Rational(5, 4), sp.Rational(3, 2), sp.Rational(9, 5)):
        gap = (ours - model).subs(power, value).subs({mu: 2, phi: sp.Rational(1, 3), t: -sp.Rational(4, 5)})
        assert abs(sp.N(gap, 30)) < 1e-25


def test_lognormal():
    # the density of y is that of z = log y times the Jacobian 1 / y
    z = sp.log(y)
    row = sp.log(y) + sp.log(2 * sp.pi * sigma**2) / 2 + (z - m) ** 2 / (2 * sigma**2)
    assert zero(minus_log(gaussian(z, m, sigma) * sp.diff(z, y)) - row)

    # least squares on the logs, and the mean squared log residual
    logs = sp.symbols("z1:4", real=True)
    spread = sum((value - m) ** 2 for value in logs)
    nll = sum(logs) + sp.Rational(n, 2) * sp.log(2 * sp.pi * sigma**2) + spread / (2 * sigma**2)
    assert zero(sp.diff(nll, m) - sp.diff(spread, m) / (2 * sigma**2))
    assert zero(sp.solve(sp.diff(nll, m), m)[0] - sum(logs) / n)
    assert zero(sp.diff(nll, sigma).subs(sigma, sp.sqrt(spread / n)))

    # geometric mean times Duan's smearing factor is the mean of the sample
    average = sum(logs) / n
    smearing = sum(sp.exp(value - average) for value in logs) / n
    assert sp.simplify(sp.expand(sp.exp(average) * smearing - sum(sp.exp(value) for value in logs) / n)) == 0

    # E y^k = exp(k m + k^2 s^2 / 2), by completing the square under the integral over z
    w, k = sp.symbols("w k", real=True)
    tilted = k * w - (w - m) ** 2 / (2 * sigma**2)
    square = -((w - m - k * sigma**2) ** 2) / (2 * sigma**2) + k * m + k**2 * sigma**2 / 2
    assert sp.expand(tilted - square) == 0
    mean, second = sp.exp(m + sigma**2 / 2), sp.exp(2 * m + 2 * sigma**2)
    variance = (sp.exp(sigma**2) - 1) * sp.exp(2 * m + sigma**2)
    assert sp.simplify(second - mean**2 - variance) == 0

    # the mode e^(m - s^2), the median e^m, and what naive back-transformation loses
    assert zero(sp.diff(row, y).subs(y, sp.exp(m - sigma**2)) * sp.exp(m - sigma**2))
    assert zero((z - m).subs(y, sp.exp(m)))
    assert sp.simplify(sp.exp(m) / mean - sp.exp(-(sigma**2) / 2)) == 0

    # derivatives in the raw prediction
    assert zero(sp.diff(row, m) - (m - z) / sigma**2)
    assert zero(sp.diff(row, m, 2) - 1 / sigma**2)

    # numbers: the same moments by neglog
    law = nl.LogNormal(0.4, 0.8)
    at = {m: 0.4, sigma: 0.8}
    assert law.mean() == pytest.approx(float(mean.subs(at)), rel=1e-13)
    assert law.variance() == pytest.approx(float(variance.subs(at)), rel=1e-13)
    assert law.median() == pytest.approx(float(sp.exp(m).subs(at)), rel=1e-13)


def test_huber():
    z = sp.Symbol("z", positive=True)
    inner, outer = z**2 / 2, delta * z - delta**2 / 2
    # value and slope meet at the threshold; the second derivative jumps from 1 to 0
    assert zero((inner - outer).subs(z, delta))
    assert zero(sp.diff(inner - outer, z).subs(z, delta))
    assert (sp.diff(inner, z, 2), sp.diff(outer, z, 2)) == (1, 0)

    # the constant: a piece of a Gaussian and two exponential tails
    centre = 2 * sp.integrate(sp.exp(-inner), (z, 0, delta))
    tails = 2 * sp.integrate(sp.exp(-outer), (z, delta, sp.oo))
    two_phi_less_one = sp.erf(delta / sp.sqrt(2))
    constant = sp.sqrt(2 * sp.pi) * two_phi_less_one + 2 / delta * sp.exp(-(delta**2) / 2)
    assert sp.simplify(centre + tails - constant) == 0

    # the two ways to state the contamination
    share = 1 - sp.sqrt(2 * sp.pi) / constant
    normal = sp.exp(-(delta**2) / 2) / sp.sqrt(2 * sp.pi)
    odds = 2 * normal / delta - (1 - two_phi_less_one)  # 2 Phi(-delta) = 1 - (2 Phi(delta) - 1)
    assert sp.simplify(share / (1 - share) - odds) == 0
    assert float(share.subs(delta, 1.345)) == pytest.approx(0.0579, abs=5e-5)

    # the scale: d/dlog(sigma) of log(sigma) + rho(r / sigma) is 1 - z clip(z), on both branches
    r = sp.Symbol("r", positive=True)
    for branch, clipped in ((inner, z), (outer, delta)):
        row = sp.log(sigma) + branch.subs(z, r / sigma)
        assert zero(sigma * sp.diff(row, sigma) - (1 - z * clipped).subs(z, r / sigma))
    # whose expectation vanishes under the law itself
    expected = 2 * sp.integrate(z**2 * sp.exp(-inner), (z, 0, delta))
    expected += 2 * sp.integrate(z * delta * sp.exp(-outer), (z, delta, sp.oo))
    assert sp.simplify(expected - constant) == 0

    # derivatives in the prediction, z = (y - eta) / sigma
    for branch, slope, bend in ((inner, z, 1), (outer, delta, 0)):
        row = branch.subs(z, (y - eta) / sigma)
        assert zero(sp.diff(row, eta) + (slope / sigma).subs(z, (y - eta) / sigma))
        assert zero(sp.diff(row, eta, 2) - bend / sigma**2)

    # the limits: Gaussian for a large threshold, Laplace with b = sigma / delta for a small one
    assert sp.limit(constant, delta, sp.oo) == sp.sqrt(2 * sp.pi)
    assert sp.limit(delta * constant, delta, 0) == 2
    # 1.345 keeps 95 % of the efficiency at the Gaussian: (E psi')^2 / E psi^2
    k = 1.345
    inside = special.erf(k / np.sqrt(2))
    square = integrate.quad(lambda v: min(v * v, k * k) * 2 * np.exp(-v * v / 2) / np.sqrt(2 * np.pi), 0, 40)[0]
    assert inside**2 / square == pytest.approx(0.95, abs=1e-4)
