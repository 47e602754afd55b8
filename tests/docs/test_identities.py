"""The derivations of the handbook, step by step: one test for each topic page, by SymPy or by exact numbers."""

import itertools

import numpy as np
import pytest
import sympy as sp
from scipy import integrate, special

import neglog as nl

y, mu, sigma, tau, b, alpha, phi, delta, lam = sp.symbols("y mu sigma tau b alpha phi delta lambda", positive=True)
eta, theta, m, c = sp.symbols("eta theta m c", real=True)
Y = sp.symbols("y1:4", positive=True)  # a sample of three
n = len(Y)


def zero(expression):
    """Whether an expression vanishes identically, all its symbols being what they were declared to be."""
    return sp.simplify(sp.expand(sp.expand_log(expression, force=True))) == 0


def minus_log(density):
    return sp.expand_log(-sp.log(density), force=True)


def gaussian(y, mu, sigma):
    return sp.exp(-((y - mu) ** 2) / (2 * sigma**2)) / sp.sqrt(2 * sp.pi * sigma**2)


def expected_nll(p, q):
    """E_P[-log q] of two Gaussians (mean, scale), from E(y - mean of Q)^2 = variance of P + square of the gap."""
    (m1, s1), (m2, s2) = p, q
    return sp.log(2 * sp.pi * s2**2) / 2 + (s1**2 + (m1 - m2) ** 2) / (2 * s2**2)


# ---- likelihood, Bayes' rule, MAP ------------------------------------------------------------------------------------


def test_likelihood():
    # -log of a product of densities is the sum of their -logs, and an argmin ignores a positive factor and a constant
    product = sp.Mul(*(gaussian(value, m, sigma) for value in Y))
    rss = sum((value - m) ** 2 for value in Y)
    nll = sp.Rational(n, 2) * sp.log(2 * sp.pi * sigma**2) + rss / (2 * sigma**2)
    assert zero(minus_log(product) - nll)
    loss, c1, c2 = sp.Function("L")(theta), sp.Symbol("c1", positive=True), sp.Symbol("c2")
    assert zero(sp.diff(c1 * loss + c2, theta) / c1 - sp.diff(loss, theta))

    # Gaussian: the two stationary points
    assert zero(sp.diff(nll, m) + sum(value - m for value in Y) / sigma**2)
    mean = sum(Y) / n
    assert zero(sp.solve(sp.diff(nll, m), m)[0] - mean)
    assert zero(sp.diff(nll, sigma) - (n / sigma - rss / sigma**3))
    at_mean = rss.subs(m, mean)
    assert zero(sp.diff(nll, sigma).subs({m: mean, sigma: sp.sqrt(at_mean / n)}))

    # Laplace: the scale with the highest likelihood is the mean distance
    distance = sp.Symbol("S", positive=True)  # the sum of |y - m|
    assert sp.solve(sp.diff(n * sp.log(2 * b) + distance / b, b), b) == [distance / n]

    # multiplicative noise: the Jacobian of eps = y e^-f is e^-f, and without it f moves by sigma^2
    f = sp.Symbol("f", real=True)
    noise = minus_log(gaussian(sp.log(y) - f, 0, sigma) / (y * sp.exp(-f)))  # the density of eps at y e^-f
    assert zero(noise + f - minus_log(gaussian(sp.log(y), f, sigma) / y))
    assert zero(sp.solve(sp.diff(noise, f), f)[0] - (sp.log(y) + sigma**2))
    assert zero(sp.solve(sp.diff(noise + f, f), f)[0] - sp.log(y))

    # a batch sum times n / |B| has the whole gradient as its average
    rows = sp.symbols("g1:5")
    batches = list(itertools.combinations(rows, 2))
    assert sp.expand(sum(sp.Rational(4, 2) * sum(batch) for batch in batches) / len(batches) - sum(rows)) == 0


def test_bayes_rule():
    # the diagnostic test, from the product rule and the sum over both hypotheses
    prevalence, s, specificity = sp.symbols("pi s c", positive=True)
    joint = {
        ("sick", "+"): prevalence * s,
        ("sick", "-"): prevalence * (1 - s),
        ("well", "+"): (1 - prevalence) * (1 - specificity),
        ("well", "-"): (1 - prevalence) * specificity,
    }
    assert sp.expand(sum(joint.values())) == 1
    positive, negative = (joint["sick", r] / (joint["sick", r] + joint["well", r]) for r in "+-")
    assert zero(positive - s * prevalence / (s * prevalence + (1 - specificity) * (1 - prevalence)))
    assert zero(negative - (1 - s) * prevalence / ((1 - s) * prevalence + specificity * (1 - prevalence)))

    # in odds an update is one multiplication; two updates commute and equal one with both
    prior, l1, k1, l2, k2 = sp.symbols("p l1 k1 l2 k2", positive=True)

    def updated(p, likely, otherwise):
        return p * likely / (p * likely + (1 - p) * otherwise)

    after = updated(prior, l1, k1)
    assert sp.simplify(after / (1 - after) - l1 / k1 * prior / (1 - prior)) == 0
    assert sp.simplify(updated(after, l2, k2) - updated(prior, l1 * l2, k1 * k2)) == 0
    assert sp.simplify(updated(after, l2, k2) - updated(updated(prior, l2, k2), l1, k1)) == 0

    # the coin: evidence B(a + h, b + t) / B(a, b), posterior Beta(a + h, b + t), and its mean
    p = sp.Symbol("p", positive=True)
    for first, second, heads, tails in ((2, 2, 3, 2), (1, 1, 3, 7), (4, 1, 0, 5)):

        def beta(i, j):
            return sp.gamma(i) * sp.gamma(j) / sp.gamma(i + j)

        density = p ** (first - 1) * (1 - p) ** (second - 1) / beta(first, second)
        weighted = sp.expand(p**heads * (1 - p) ** tails * density)
        evidence = sp.integrate(weighted, (p, 0, 1))
        assert evidence == beta(first + heads, second + tails) / beta(first, second)
        posterior = weighted / evidence
        by_name = p ** (first + heads - 1) * (1 - p) ** (second + tails - 1) / beta(first + heads, second + tails)
        assert zero(posterior - by_name)
        mean = sp.integrate(sp.expand(p * posterior), (p, 0, 1))
        total = first + second + heads + tails
        assert mean == sp.Rational(first + heads, total)
        share = sp.Rational(heads, heads + tails)
        compromise = (sp.Rational(first, first + second) * (first + second) + share * (heads + tails)) / total
        assert mean == compromise


def test_map():
    # -log of the priors of a vector, with every constant
    coefficients = sp.symbols("t1:4", positive=True)  # |t| = t
    d = len(coefficients)
    squares, absolutes = sum(t**2 for t in coefficients), sum(coefficients)
    normal = sp.Mul(*(gaussian(t, 0, tau) for t in coefficients))
    double = sp.Mul(*(sp.exp(-t / b) / (2 * b) for t in coefficients))
    assert zero(minus_log(normal) - squares / (2 * tau**2) - sp.Rational(d, 2) * sp.log(2 * sp.pi * tau**2))
    assert zero(minus_log(double) - absolutes / b - d * sp.log(2 * b))
    assert zero(minus_log(normal * double) - minus_log(normal) - minus_log(double))

    # with their constants the scales of the priors have an optimum
    assert zero(sp.diff(minus_log(normal), tau).subs(tau, sp.sqrt(squares / d)))
    assert zero(sp.diff(minus_log(double), b).subs(b, absolutes / d))

    # the table of lambdas: a data term that is k times the NLL takes k times both factors
    rss, rows = sp.symbols("RSS N", positive=True)
    nll = rss / (2 * sigma**2)
    table = {
        nll: (1 / (2 * tau**2), 1 / b),
        nll / rows: (1 / (2 * rows * tau**2), 1 / (rows * b)),
        rss: (sigma**2 / tau**2, 2 * sigma**2 / b),
        rss / 2: (sigma**2 / (2 * tau**2), sigma**2 / b),
        rss / rows: (sigma**2 / (rows * tau**2), 2 * sigma**2 / (rows * b)),
        rss / (2 * rows): (sigma**2 / (2 * rows * tau**2), sigma**2 / (rows * b)),
    }
    assert len(table) == 6
    for data, (l2, l1) in table.items():
        factor = data / nll
        assert sp.simplify(l2 - factor / (2 * tau**2)) == 0
        assert sp.simplify(l1 - factor / b) == 0
    assert sp.solve(lam - 1 / (2 * rows * tau**2), tau**2) == [1 / (2 * rows * lam)]  # a fixed lambda on a mean loss

    # one Gaussian observation: ridge shrinks by a share, the lasso by sigma^2 / b until zero
    objective = (y - theta) ** 2 / (2 * sigma**2)
    ridge = sp.solve(sp.diff(objective + theta**2 / (2 * tau**2), theta), theta)[0]
    assert zero(ridge - y * tau**2 / (sigma**2 + tau**2))
    lasso = sp.solve(sp.diff(objective + theta / b, theta), theta)[0]  # to the right of zero
    assert zero(lasso - (y - sigma**2 / b))
    assert zero(sp.diff(objective, theta).subs(theta, 0) + y / sigma**2)  # which exceeds 1/b exactly if lasso > 0

    # 3 of 10 under a uniform prior: 0.3 for p, 1/3 for logit p, whose density has the factor p (1 - p)
    p = sp.Symbol("p", positive=True)
    nats = -3 * sp.log(p) - 7 * sp.log(1 - p)
    assert sp.solve(sp.diff(nats, p), p) == [sp.Rational(3, 10)]
    assert sp.solve(sp.diff(nats - sp.log(p * (1 - p)), p), p) == [sp.Rational(1, 3)]
    inverse = 1 / (1 + sp.exp(-eta))
    assert sp.simplify(sp.diff(inverse, eta) - inverse * (1 - inverse)) == 0


# ---- losses ----------------------------------------------------------------------------------------------------------


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


# ---- information -----------------------------------------------------------------------------------------------------


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
