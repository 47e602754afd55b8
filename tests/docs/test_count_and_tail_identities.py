"""Student's t and the negative binomial as the handbook derives them: by SymPy or exact numbers, then by neglog."""

import numpy as np
import pytest
import sympy as sp
from docs.symbols import c, eta, minus_log, mu, phi, sigma, y, zero
from scipy import integrate, special, stats

import neglog as nl

nu, r, w, t = sp.symbols("nu r w t", positive=True)
z = sp.Symbol("z", real=True)


# ---- Student's t -----------------------------------------------------------------------------------------------------

RHO = (nu + 1) / 2 * sp.log(1 + z**2 / nu)
PSI = (nu + 1) * z / (nu + z**2)
WEIGHT = (nu + 1) / (nu + z**2)


def expectation(function, df):
    """Of an even function of z under Student's t."""
    law = stats.t(df)
    return 2 * integrate.quad(lambda v: function(v) * law.pdf(v), 0, np.inf, epsabs=1e-13, limit=200)[0]


def test_the_loss_of_student():
    # the density, its -log and its mass
    beta = sp.gamma(sp.Rational(1, 2)) * sp.gamma(nu / 2) / sp.gamma((nu + 1) / 2)
    density = (1 + z**2 / nu) ** (-(nu + 1) / 2) / (sigma * sp.sqrt(nu) * beta)
    assert zero(minus_log(density) - (sp.log(sigma) + sp.log(sp.sqrt(nu) * beta) + RHO))
    for df in (1, 3, 5):
        assert sp.simplify(sp.integrate(density.subs({nu: df, sigma: 1}), (z, -sp.oo, sp.oo))) == 1
    assert sp.simplify(density.subs(nu, 1) - 1 / (sp.pi * sigma * (1 + z**2))) == 0  # Cauchy
    assert sp.limit(RHO, nu, sp.oo) == z**2 / 2
    assert sp.series(RHO, z, 0, 4).removeO().equals((nu + 1) / (2 * nu) * z**2)

    # the constant, from log pi to that of the Gaussian, in nats
    constants = [np.log(df) / 2 + special.betaln(0.5, df / 2) for df in (1.0, 1e9)]
    np.testing.assert_allclose(constants, [np.log(np.pi), np.log(2 * np.pi) / 2], rtol=1e-8)
    np.testing.assert_allclose(constants, [1.145, 0.919], atol=5e-4)

    # ten times as far costs (nu + 1) log 10 more, in the end; and the numbers of the page
    far = sp.Symbol("far", positive=True)
    gap = RHO.subs(z, 10 * far) - RHO.subs(z, far)
    assert sp.limit(sp.exp(2 * gap / (nu + 1)), far, sp.oo) == 100
    costs = [float(RHO.subs({nu: 4, z: value})) for value in (10, 100)]
    np.testing.assert_allclose(costs, [8.1, 19.6], atol=0.05)

    # the pull, where it is largest, and the curvature
    row = RHO.subs(z, (y - eta) / sigma)
    bend = (nu + 1) * (nu - z**2) / (nu + z**2) ** 2
    assert sp.simplify(sp.diff(row, eta) + (PSI / sigma).subs(z, (y - eta) / sigma)) == 0
    assert sp.simplify(sp.diff(row, eta, 2) - (bend / sigma**2).subs(z, (y - eta) / sigma)) == 0
    assert sp.simplify(sp.diff(PSI, z).subs(z, sp.sqrt(nu))) == 0
    assert sp.simplify(PSI.subs(z, sp.sqrt(nu)) - (nu + 1) / (2 * sp.sqrt(nu))) == 0
    assert sp.limit(z * PSI, z, sp.oo) == nu + 1

    # two rows at -a and a: one stationary point, or three
    a = sp.Symbol("a", positive=True)
    slope = sp.together(PSI.subs(z, a - c) - PSI.subs(z, a + c))
    found = {sp.simplify(place) for place in sp.solve(sp.numer(slope), c)}
    assert found == {sp.S.Zero, sp.sqrt(a**2 - nu), -sp.sqrt(a**2 - nu)}
    both = RHO.subs(z, a - c) + RHO.subs(z, a + c)
    middle = sp.diff(both, c, 2).subs(c, 0)
    assert [sp.sign(middle.subs({nu: 4, a: value})) for value in (1, 3)] == [1, -1]  # within sqrt(nu), and beyond


def test_student_as_a_mixture():
    # a Gaussian of precision w, and w Gamma of mean 1 and shape nu / 2; sigma is 1
    gaussian = sp.sqrt(w / (2 * sp.pi)) * sp.exp(-w * z**2 / 2)
    precision = (nu / 2) ** (nu / 2) / sp.gamma(nu / 2) * w ** (nu / 2 - 1) * sp.exp(-nu * w / 2)
    rate = sp.Symbol("rate", positive=True)  # (nu + z^2) / 2
    mass = sp.integrate(w ** ((nu - 1) / 2) * sp.exp(-rate * w), (w, 0, sp.oo), conds="none")
    assert sp.simplify(mass - sp.gamma((nu + 1) / 2) * rate ** (-(nu + 1) / 2)) == 0
    power = sp.simplify(gaussian * precision / (w ** ((nu - 1) / 2) * sp.exp(-w * (nu + z**2) / 2)))
    beta = sp.gamma(sp.Rational(1, 2)) * sp.gamma(nu / 2) / sp.gamma((nu + 1) / 2)
    density = (1 + z**2 / nu) ** (-(nu + 1) / 2) / (sp.sqrt(nu) * beta)
    ratio = power * mass.subs(rate, (nu + z**2) / 2) / density
    for value in (sp.Rational(1, 2), 1, sp.Rational(7, 3), 12):
        assert sp.N(ratio.subs({nu: value, z: sp.Rational(17, 10)}), 30) == pytest.approx(1, abs=1e-25)

    # given y, w is Gamma of shape (nu + 1) / 2 and that rate: its mean is the weight, and psi = w z
    assert sp.simplify((nu + 1) / 2 / ((nu + z**2) / 2) - WEIGHT) == 0
    assert sp.simplify(WEIGHT * z - PSI) == 0

    # the scale: 1 - w z^2; and since w (nu + z^2) = nu + 1, a mean of 1 for w z^2 is one for w
    s = sp.Symbol("s", positive=True)
    row = sp.log(s) + RHO.subs(z, z / s)
    assert sp.simplify(s * sp.diff(row, s) - (1 - WEIGHT * z**2).subs(z, z / s)) == 0
    assert sp.simplify(WEIGHT * (nu + z**2) - (nu + 1)) == 0

    # each step of the EM algorithm goes down, to where the weights average one
    rng = np.random.default_rng(0)
    A, df = np.column_stack([np.ones(30), rng.normal(size=30)]), 1.5
    target = A @ [1.0, 2.0] + rng.standard_t(1, size=30)
    theta, scale, nats = np.zeros(2), 5.0, [np.inf]
    for _ in range(500):
        nats.append(-stats.t(df, A @ theta, scale).logpdf(target).sum())
        weights = (df + 1) / (df + ((target - A @ theta) / scale) ** 2)
        theta = np.linalg.solve(A.T * weights @ A, A.T * weights @ target)
        scale = np.sqrt(np.mean(weights * (target - A @ theta) ** 2))
    assert np.diff(nats[1:]).max() < 1e-12
    assert weights.mean() == pytest.approx(1, rel=1e-9)


def test_the_information_of_student():
    for df in (0.7, 1.0, 3.0, 12.0):
        pull = expectation(lambda v, df=df: ((df + 1) * v / (df + v * v)) ** 2, df)
        assert pull == pytest.approx((df + 1) / (df + 3), rel=1e-8)
        scale = expectation(lambda v, df=df: (1 - (df + 1) * v * v / (df + v * v)) ** 2, df)
        assert scale == pytest.approx(2 * df / (df + 3), rel=1e-8)
    # what least squares keeps of it: the variance of the best estimate over that of the mean
    kept = (nu + 3) / (nu + 1) / (nu / (nu - 2))
    assert sp.simplify(kept - (1 - 6 / (nu * (nu + 1)))) == 0
    assert [kept.subs(nu, value) for value in (5, 3, 2)] == [sp.Rational(4, 5), sp.Rational(1, 2), 0]

    # the degrees of freedom: what is left of the derivative once the mean of w z^2 is 1
    row = sp.log(nu) / 2 + sp.loggamma(nu / 2) - sp.loggamma((nu + 1) / 2) + RHO
    slope = (sp.log(1 + z**2 / nu) + sp.digamma(nu / 2) - sp.digamma((nu + 1) / 2)) / 2
    assert sp.simplify(sp.diff(row, nu) - slope - (1 - WEIGHT * z**2) / (2 * nu)) == 0
    for df in (1.0, 4.0):
        mean = expectation(lambda v, df=df: np.log1p(v * v / df), df)
        assert mean == pytest.approx(special.digamma((df + 1) / 2) - special.digamma(df / 2), rel=1e-8)


def test_students_likelihood_has_no_upper_bound():
    datasets = pytest.importorskip("statsmodels.api").datasets
    plant = datasets.stackloss.load_pandas().data
    gap = (plant["STACKLOSS"] - (plant["AIRFLOW"] / 2 + plant["WATERTEMP"] - 36)).to_numpy()
    met = int(np.sum(gap == 0))
    assert (met, len(gap)) == (8, 21)
    for df in (0.5, 0.7):  # on either side of 8 / 13
        nats = [-stats.t(df, 0, scale).logpdf(gap).sum() for scale in (1e-12, 1e-9)]
        slope = (nats[1] - nats[0]) / np.log(1e3)
        assert slope == pytest.approx(met - (len(gap) - met) * df, rel=1e-6)


# ---- the negative binomial -------------------------------------------------------------------------------------------

MASS = sp.gamma(y + r) / (sp.gamma(r) * sp.gamma(y + 1)) * (r / (r + mu)) ** r * (mu / (r + mu)) ** y
NLL = sp.loggamma(r) - sp.loggamma(y + r) + sp.loggamma(y + 1)
NLL += r * (sp.log(r + mu) - sp.log(r)) + y * (sp.log(r + mu) - sp.log(mu))
HALF = y * sp.log(y / mu) - (y + r) * sp.log((y + r) / (mu + r))


def nll_at(count):
    """The NLL of a count, with log Gamma(count + r) - log Gamma(r) written as a sum of logarithms."""
    ways = sum(sp.log(r + j) for j in range(count)) - sp.log(sp.factorial(count))
    return -ways + r * (sp.log(r + mu) - sp.log(r)) + count * (sp.log(r + mu) - sp.log(mu))


def test_the_law_of_the_negative_binomial():
    # a Poisson count whose mean m is Gamma of mean mu and shape r
    m, rate = sp.symbols("m rate", positive=True)  # the rate 1 + r / mu
    tail = sp.integrate(m ** (y + r - 1) * sp.exp(-rate * m), (m, 0, sp.oo), conds="none")
    assert sp.simplify(tail - sp.gamma(y + r) * rate ** (-y - r)) == 0
    mixed = (r / mu) ** r / (sp.gamma(y + 1) * sp.gamma(r)) * tail.subs(rate, 1 + r / mu)
    assert zero(sp.log(mixed) - sp.log(MASS))
    assert zero(minus_log(MASS).replace(sp.gamma, lambda a: sp.exp(sp.loggamma(a))) - NLL)

    # its generating function, from which mass, mean and variance follow
    generating = (1 + mu / r * (1 - t)) ** (-r)
    for count in range(4):
        by_series = sp.diff(generating, t, count).subs(t, 0) / sp.factorial(count)
        assert sp.simplify(sp.expand_func(by_series / MASS.subs(y, count))) == 1
    mean, second = (sp.diff(generating, t, k).subs(t, 1) for k in (1, 2))
    assert sp.simplify(mean - mu) == 0
    assert sp.simplify(second + mean - mean**2 - (mu + mu**2 / r)) == 0
    assert sp.simplify(MASS.subs(y, 0) - (1 + mu / r) ** (-r)) == 0
    q = sp.Symbol("q", real=True)
    assert sp.simplify((mu + mu**2 / r).subs(r, mu ** (2 - q) / phi) - (mu + phi * mu**q)) == 0

    # sums of NB1 are NB1: the logarithm of the generating function is proportional to the mean
    nb1 = sp.log(generating).subs(r, mu / phi)
    assert sp.simplify(sp.diff(sp.expand_log(nb1, force=True) / mu, mu)) == 0
    # with one mean, NB1 of dispersion phi mu is NB2 of dispersion phi
    assert sp.simplify((mu / r).subs(r, mu / (phi * mu)) - (mu / r).subs(r, 1 / phi)) == 0

    # numbers of the page: zeros, and the point that a chi-square of one degree passes in 10 % of all cases
    zeros = [float(MASS.subs({y: 0, mu: 2, r: sp.Rational(1, 2)})), np.exp(-2)]
    np.testing.assert_allclose(zeros, [0.45, 0.14], atol=0.005)
    assert stats.chi2(1).isf(0.1) == pytest.approx(2.71, abs=0.005)


def test_the_loss_of_the_negative_binomial():
    # what depends on the mean at a fixed size, and the half deviance
    kept = (y + r) * sp.log(r + mu) - y * sp.log(mu)
    assert sp.simplify(sp.diff(NLL - kept, mu)) == 0
    assert zero(NLL - NLL.subs(mu, y) - HALF)
    assert sp.simplify(HALF.subs(mu, y)) == 0
    assert sp.simplify(sp.diff(HALF, mu) - r * (mu - y) / (mu * (r + mu))) == 0
    at = {y: 7, mu: 3}
    poisson, gamma = y * sp.log(y / mu) - (y - mu), y / mu - 1 - sp.log(y / mu)
    assert float(HALF.subs(at).subs(r, 10**9)) == pytest.approx(float(poisson.subs(at)), rel=1e-6)
    small = sp.Rational(1, 10**9)
    assert float(sp.N((HALF / r).subs(at).subs(r, small), 30)) == pytest.approx(float(gamma.subs(at)), rel=1e-6)

    # derivatives with the log link
    in_eta = kept.subs(mu, sp.exp(eta)).subs(r, 1 / phi)
    first = (mu - y) / (1 + phi * mu)
    second = mu * (1 + phi * y) / (1 + phi * mu) ** 2
    assert sp.simplify(sp.diff(in_eta, eta) - first.subs(mu, sp.exp(eta))) == 0
    assert sp.simplify(sp.diff(in_eta, eta, 2) - second.subs(mu, sp.exp(eta))) == 0
    assert sp.simplify(second.subs(y, mu) - mu / (1 + phi * mu)) == 0  # linear in y: its expectation

    # NB1 with the log link: its curvature, which turns negative, here between the counts 4 and 5
    for count in range(1, 7):
        bend = sp.diff(nll_at(count).subs(r, mu / phi).subs(mu, sp.exp(eta)), eta, 2)
        total = sum(j / (r + j) ** 2 for j in range(1, count))
        claimed = (r * (sp.log(1 + phi) - total)).subs(r, mu / phi).subs(mu, sp.exp(eta))
        assert sp.simplify(bend - claimed) == 0
        assert (float(claimed.subs({eta: 0, phi: 1})) > 0) == (count < 5)


def test_the_dispersion_of_the_negative_binomial():
    # the derivative in the size, and the mixed one, which is linear in y - mu
    claimed = sp.digamma(r) - sp.digamma(y + r) + sp.log(r + mu) - sp.log(r) + (y - mu) / (r + mu)
    assert sp.simplify(sp.diff(NLL, r) - claimed) == 0
    mixed = sp.diff(sp.diff(NLL, mu).subs(r, 1 / phi), phi)
    assert sp.simplify(mixed - (y - mu) / (1 + phi * mu) ** 2) == 0
    # that of NB1 has another expectation: at mean 3 and dispersion 1.5
    counts = np.arange(400)

    def slope(m, dispersion):  # of NB1, in the mean
        size = m / dispersion
        return (special.digamma(size) - special.digamma(counts + size) + np.log1p(dispersion)) / dispersion

    step = 1e-5
    crossed = (slope(3.0, 1.5 + step) - slope(3.0, 1.5 - step)) / (2 * step)
    assert stats.nbinom(2.0, 2.0 / 5.0).pmf(counts) @ crossed == pytest.approx(-0.03417, abs=1e-5)

    # the slope at phi = 0 in u = 1 / r, which is phi mu^(q - 2)
    u = sp.Symbol("u", positive=True)
    for count in range(6):
        # log(r + j) = log r + log(1 + j u), and the logs of r cancel
        row = -sum(sp.log(1 + j * u) for j in range(count)) + (count + 1 / u) * sp.log(1 + mu * u)
        edge = sp.series(row, u, 0, 2).removeO().coeff(u, 1)
        assert sp.expand(edge + ((count - mu) ** 2 - count) / 2) == 0

    # Stirling's errors: the NLL is the half deviance, the variance at y, and three of them
    def error(a, log_factorial):
        return log_factorial - (a + sp.Rational(1, 2)) * sp.log(a) + a - sp.log(2 * sp.pi) / 2

    errors = error(y, sp.loggamma(y + 1)) + error(r, sp.loggamma(r) + sp.log(r))
    errors -= error(y + r, sp.loggamma(y + r) + sp.log(y + r))
    saddle = HALF + sp.log(2 * sp.pi * y * (r + y) / r) / 2
    assert sp.simplify(y * (r + y) / r - (y + y**2 / r)) == 0
    assert zero(saddle + errors - NLL)


# ---- the same by neglog ----------------------------------------------------------------------------------------------


def test_student_by_neglog():
    law, values = nl.StudentT(loc=1.0, scale=0.8, df=4.0), np.array([-4.0, 0.2, 1.0, 2.9, 9.0])
    np.testing.assert_allclose(law.nll(values), -stats.t(4, 1.0, 0.8).logpdf(values), rtol=1e-12)
    nll, pull, bend = nl.StudentT(scale=0.8, df=4.0).derivatives(values, 1.0)
    scores = (values - 1.0) / 0.8
    np.testing.assert_allclose(pull, -5 * scores / (4 + scores**2) / 0.8, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(bend, 5 * (4 - scores**2) / (4 + scores**2) ** 2 / 0.64, rtol=1e-12)
    assert nl.StudentT(scale=0.8, df=4.0).derivatives(9.0, 1.0, expected=True)[2] == pytest.approx(
        5 / 7 / 0.64, rel=1e-12
    )
    rest = nll - law.loss(values, 1.0) / law.loss_scale  # free of the prediction
    other = nl.StudentT(3.0, 0.8, 4.0)
    np.testing.assert_allclose(other.nll(values) - other.loss(values, 3.0) / other.loss_scale, rest, rtol=1e-12)


def test_the_negative_binomial_by_neglog():
    values, means = np.array([0.0, 1.0, 3.0, 2.0, 9.0]), np.array([0.6, 1.3, 2.0, 3.0, 6.7])
    for power in (1.0, 2.0, 1.5):
        size = means ** (2 - power) / 0.5
        law = nl.NegativeBinomial(means, dispersion=0.5, power=power)
        np.testing.assert_allclose(
            law.nll(values), -stats.nbinom(size, size / (size + means)).logpmf(values), rtol=1e-10
        )
        np.testing.assert_allclose(law.variance(), means + 0.5 * means**power, rtol=1e-12)
        np.testing.assert_allclose(law.pdf(0.0), (1 + means / size) ** -size, rtol=1e-12)
    _, slope, bend = nl.NegativeBinomial(dispersion=0.5).derivatives(values, np.log(means))
    np.testing.assert_allclose(slope, (means - values) / (1 + 0.5 * means), rtol=1e-10)
    np.testing.assert_allclose(bend, means * (1 + 0.5 * values) / (1 + 0.5 * means) ** 2, rtol=1e-10)
    law, other = nl.NegativeBinomial(means, 0.5), nl.NegativeBinomial(2 * means, 0.5)
    rest = law.nll(values) - law.loss(values, means) / law.loss_scale  # free of the prediction
    np.testing.assert_allclose(other.nll(values) - other.loss(values, 2 * means) / other.loss_scale, rest, rtol=1e-9)
