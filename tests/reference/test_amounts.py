"""Weibull, inverse Gaussian, Beta and sinh-arcsinh laws: their densities and tails against mpmath in both tails and at
the ends of their parameters, and their fits against survival, glm and glmmTMB.
"""

import json
from pathlib import Path

import mpmath
import numpy as np
import pytest
from mpmath import mpf
from scipy import optimize

import neglog as nl

STORED = json.loads(Path(__file__).with_name("amounts.json").read_text(encoding="utf-8"))
EPS = np.finfo(float).eps


@pytest.mark.parametrize("case", STORED["cases"], ids=lambda case: case["name"])
def test_regressions_of_r(case):
    X, y = np.array(case["columns"]).T, np.array(case["y"], float)
    fit = nl.fit(X, y, getattr(nl, case["noise"])(link=case["link"]), tol=1e-10)
    assert fit.converged, fit.message
    assert fit.log_likelihood == pytest.approx(case["log likelihood"], rel=1e-9)
    assert fit.noise.parameters[case["other"]] == pytest.approx(case["value"], rel=3e-5)
    np.testing.assert_allclose(fit.coef, case["coef"], rtol=3e-5, atol=1e-7)
    assert fit.intercept == pytest.approx(case["intercept"], rel=3e-5)


def exact(function, *values):
    """With 60 digits, of the numbers as they are."""
    with mpmath.workdps(60):
        return float(function(*(mpf(value) for value in values)))


def weibull(y, scale, shape):
    ratio = (y / scale) ** shape
    return -mpmath.log(shape / y * ratio) + ratio


@pytest.mark.parametrize("shape", [0.01, 0.5, 1.0, 3.0, 200.0, 1e6])
@pytest.mark.parametrize("scale", [1e-100, 0.02, 1.0, 5e8])
def test_weibull(scale, shape):
    law = nl.Weibull(scale, shape)
    for level in (-690.0, -40.0, -1.0, 0.0, 0.5, 3.0, 6.0):
        y = float(scale * np.exp(level / shape))
        if not 1e-300 < y < 1e300:
            continue
        rounding = 4 * EPS * shape * (abs(np.log(scale)) + 1) * (1 + np.exp(level))  # of log y - log scale
        assert law.nll(y) == pytest.approx(exact(weibull, y, scale, shape), rel=1e-13, abs=1e-13 + rounding)
        risk = exact(lambda y, s, k: (y / s) ** k, y, scale, shape)
        assert law.sf(y) == pytest.approx(np.exp(-risk), rel=(1 + risk) * (1e-14 + 4 * EPS * shape))
        assert law.cdf(y) == pytest.approx(-np.expm1(-risk), rel=1e-14 + 4 * EPS * shape)
    moments = [exact(lambda s, k, n=n: s**n * mpmath.gamma(1 + n / k), scale, shape) for n in (1, 2)]
    if np.isfinite(moments[1]) and moments[1] > 0:
        assert law.mean() == pytest.approx(moments[0], rel=1e-13)
        variance = exact(lambda s, k: s**2 * (mpmath.gamma(1 + 2 / k) - mpmath.gamma(1 + 1 / k) ** 2), scale, shape)
        assert law.variance() == pytest.approx(variance, rel=1e-12)


def inverse_gaussian(y, mean, dispersion):
    return mpmath.log(2 * mpmath.pi * dispersion * y**3) / 2 + (y - mean) ** 2 / (2 * dispersion * mean**2 * y)


def inverse_gaussian_tail(y, mean, dispersion, upper):
    root = 1 / mpmath.sqrt(dispersion * y)
    near, far = root * (y / mean - 1), root * (y / mean + 1)
    beyond = mpmath.exp(2 / (dispersion * mean)) * mpmath.ncdf(-far)
    return mpmath.ncdf(-near) - beyond if upper else mpmath.ncdf(near) + beyond


@pytest.mark.parametrize("spread", [1e-6, 0.01, 1.0, 300.0, 1e5, 1e10, 1e15])  # dispersion times mean
@pytest.mark.parametrize("mean", [1e-8, 1.3, 1e5])
def test_inverse_gaussian(mean, spread):
    dispersion = float(spread / mean)
    law = nl.InverseGaussian(mean, dispersion)
    for ratio in (1e-16, 1e-8, 1e-3, 0.5, 0.99, 1.0, 1.02, 3.0, 1e3, 1e8, 1e14, 1e17):
        y = float(mean * ratio)
        nats = exact(inverse_gaussian, y, mean, dispersion)
        if nats > 600:
            continue
        rounding = 4 * EPS * (abs(np.log(mean)) + abs(np.log(y)) + 1) * abs(ratio - 1) / spread  # of log y - log mean
        assert law.nll(y) == pytest.approx(nats, rel=1e-13, abs=1e-13 + rounding)
        for tail, upper in ((law.cdf, False), (law.sf, True)):
            with mpmath.workdps(60):
                wanted = float(inverse_gaussian_tail(mpf(y), mpf(mean), mpf(dispersion), upper))
            slope = y * np.exp(-nats)  # by which the rounding of y / mean counts
            assert float(tail(y)) == pytest.approx(wanted, rel=3e-12, abs=16 * EPS * slope)


def beta_proportion(y, mean, precision):
    a, b = mean * precision, (1 - mean) * precision
    ways = mpmath.loggamma(a) + mpmath.loggamma(b) - mpmath.loggamma(precision)
    return ways - (a - 1) * mpmath.log(y) - (b - 1) * mpmath.log1p(-y)


@pytest.mark.parametrize("precision", [1e-3, 0.5, 2.0, 37.0, 1e4, 1e9, 1e13])
@pytest.mark.parametrize("mean", [1e-200, 1e-6, 0.03, 0.5, 0.9, 1 - 2.0**-30])
def test_beta_proportion(mean, precision):
    law = nl.BetaProportion(mean, precision)
    spread = np.sqrt(mean * (1 - mean) / (1 + precision))
    near = [float(mean + z * spread) for z in (-6.0, -1.0, 0.0, 0.3, 2.0, 6.0)]
    for y in (*near, 1e-300, 1e-10, 0.2, 0.7, 1 - 2.0**-20, 1 - 2.0**-53):
        if 0 < y < 1:
            nats = exact(beta_proportion, y, mean, precision)
            logs = sum(abs(np.log(share)) + abs(np.log1p(-share)) for share in (y, mean))
            away = abs(y - mean) + mean * (1 - mean) * abs(np.log(y / mean))
            rounding = 4 * EPS * precision * away * logs  # of the logs
            assert law.nll(y) == pytest.approx(nats, rel=2e-13, abs=2e-13 + rounding)


def sinh_arcsinh(y, loc, scale, skew, tail):
    z = (y - loc) / scale
    u = tail * mpmath.asinh(z) - skew
    density = tail * mpmath.cosh(u) / (scale * mpmath.sqrt(2 * mpmath.pi * (1 + z**2)))
    return mpmath.sinh(u) ** 2 / 2 - mpmath.log(density)


@pytest.mark.parametrize("tail", [1e-3, 0.3, 1.0, 2.5, 40.0])
@pytest.mark.parametrize("skew", [-3.0, 0.0, 1e-9, 0.4, 20.0])
def test_sinh_arcsinh(skew, tail):
    law = nl.SinhArcsinh(0.0, 1.0, skew, tail)
    for z in (0.0, 1e-200, 1e-8, 0.3, 2.0, 60.0, 1e6, 1e60, 1e99, 1e101, 1e200, 1e300):
        for y in (z, -z):
            nats = exact(sinh_arcsinh, y, 0.0, 1.0, skew, tail)
            u = tail * np.arcsinh(y) - skew
            if nats < 1e300:  # sinh(u)^2 carries the rounding of u
                rounding = 4 * EPS * (abs(u) + abs(skew) + 1) * nats
                assert law.nll(y) == pytest.approx(nats, rel=1e-13, abs=1e-13 + rounding)
            else:
                assert law.nll(y) > 1e300
            for method, sign in ((law.cdf, 1), (law.sf, -1)):
                if abs(u) < 4:  # beyond, a tail is below 1e-300
                    wanted = exact(
                        lambda y, e, d, sign=sign: mpmath.ncdf(sign * mpmath.sinh(d * mpmath.asinh(y) - e)),
                        y,
                        skew,
                        tail,
                    )
                    rounding = 8 * EPS * (abs(u) + abs(skew) + 1) * (1 + np.abs(np.sinh(u)) * np.cosh(u))
                    assert float(method(y)) == pytest.approx(wanted, rel=1e-13 + rounding)


@pytest.mark.parametrize(("skew", "tail"), [(0.5, 0.8), (-2.0, 3.0), (0.0, 0.4), (1.0, 50.0), (4.0, 1.0)])
def test_the_moments_of_sinh_arcsinh(skew, tail):
    """By the Bessel functions of Jones and Pewsey."""

    def p(q):
        bessel = mpmath.besselk((q + 1) / 2, mpf(1) / 4) + mpmath.besselk((q - 1) / 2, mpf(1) / 4)
        return mpmath.exp(mpf(1) / 4) / mpmath.sqrt(8 * mpmath.pi) * bessel

    law = nl.SinhArcsinh(0.0, 1.0, skew, tail)
    mean = exact(lambda e, d: mpmath.sinh(e / d) * p(1 / d), skew, tail)
    assert law.mean() == pytest.approx(mean, rel=1e-12, abs=1e-13)
    variance = exact(
        lambda e, d: (mpmath.cosh(2 * e / d) * p(2 / d) - 1) / 2 - (mpmath.sinh(e / d) * p(1 / d)) ** 2, skew, tail
    )
    assert law.variance() == pytest.approx(variance, rel=1e-11)


@pytest.mark.parametrize(
    ("skew", "tail", "seed"),
    [(0.5, 0.8, 0), (-0.8, 0.5, 1), (0.0, 1.0, 2), (1.5, 1.5, 3), (-0.2, 2.5, 4), (0.6, 0.35, 5)],
)
def test_sinh_arcsinh_is_fitted_where_the_best_of_many_searches_ends(skew, tail, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(400, 1))
    y = 1 + 0.5 * X[:, 0] + nl.SinhArcsinh(0.0, 0.7, skew, tail).sample(400, rng=rng)
    fit = nl.fit(X, y, nl.SinhArcsinh(), tol=1e-9)
    assert fit.converged, fit.message
    plain = nl.SinhArcsinh(0.0, 1.0, 0.0, 1.0)

    def nats(x):
        values = {"scale": np.exp(x[2]), "skew": x[3], "tail": np.exp(x[4])}
        _, slopes, _ = plain.estimated(**values).joint(y, x[0] + x[1] * X[:, 0])
        total = slopes.sum(axis=1)
        value = float(np.sum(plain.estimated(loc=x[0] + x[1] * X[:, 0], **values).nll(y)))
        return value, np.array([total[0], slopes[0] @ X[:, 0], *total[1:]])

    best = np.inf
    for _ in range(20):
        begin = np.array([np.median(y), 0.0, np.log(y.std()), 0.0, 0.0]) + rng.normal(size=5) * [1, 0.5, 1, 1, 0.7]
        with np.errstate(all="ignore"):
            best = min(best, optimize.minimize(nats, begin, jac=True, method="L-BFGS-B", options={"maxiter": 3000}).fun)
    assert fit.nll <= best + 1e-6 * abs(best)
