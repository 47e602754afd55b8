"""Negative binomial fits against MASS's glm.nb, and Student's t against a direct search with mpmath."""

import json
from pathlib import Path

import mpmath
import numpy as np
import pytest
from scipy import optimize

import neglog as nl

STORED = json.loads(Path(__file__).with_name("counts.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", STORED["cases"], ids=lambda case: case["name"])
def test_negative_binomial_regressions_of_mass(case):
    """Days absent from school. theta is 1 / dispersion, whose error there is that at fixed coefficients."""
    X, y = np.array(case["columns"]).T, np.array(STORED["y"], float)
    fit = nl.fit(X, y, nl.NegativeBinomial(), tol=1e-10)
    assert fit.converged, fit.message
    assert fit.log_likelihood == pytest.approx(case["log likelihood"], rel=1e-10)
    assert 1 / fit.noise.dispersion == pytest.approx(case["theta"], rel=1e-6)
    np.testing.assert_allclose(fit.coef, case["coef"], rtol=1e-5, atol=1e-6)
    assert fit.intercept == pytest.approx(case["intercept"], rel=1e-6)


@pytest.mark.parametrize("df", [0.3, 1.0, 2.5, 30.0, 1e5, 1e8])
@pytest.mark.parametrize("z", [0.0, 1e-8, 0.7, -3.0, 40.0, -1e6, 1e160])
def test_the_density_of_student_in_both_tails(df, z):
    with mpmath.workdps(40):
        nu, at = mpmath.mpf(df), mpmath.mpf(z)
        exact = (nu + 1) / 2 * mpmath.log1p(at**2 / nu) + mpmath.log(mpmath.sqrt(nu) * mpmath.beta(0.5, nu / 2))
        assert float(nl.StudentT(0.0, 1.0, df).nll(z)) == pytest.approx(float(exact), rel=1e-13, abs=1e-13)


@pytest.mark.parametrize("power", [2.0, 1.0, 1.5])
@pytest.mark.parametrize("dispersion", [1e-10, 1e-3, 0.7, 40.0])
@pytest.mark.parametrize("mean", [1e-3, 0.8, 30.0, 1e6])
def test_the_mass_of_the_negative_binomial(mean, dispersion, power):
    for y in (0, 1, 4, 60, 10**6):
        with mpmath.workdps(50):
            mu, r = mpmath.mpf(mean), mpmath.mpf(mean) ** (2 - mpmath.mpf(power)) / mpmath.mpf(dispersion)
            ways = mpmath.loggamma(y + r) - mpmath.loggamma(r) - mpmath.loggamma(y + 1)
            exact = -(ways - r * mpmath.log1p(mu / r) - y * mpmath.log1p(r / mu))
            found = float(nl.NegativeBinomial(mean, dispersion, power).nll(float(y)))
            assert found == pytest.approx(float(exact), rel=1e-13, abs=1e-13)


def test_student_is_where_a_direct_search_ends(rng):
    X = rng.normal(size=(300, 2))
    y = 1 + X @ [0.5, -1.0] + 0.6 * rng.standard_t(3, 300)

    def nats(x):
        return float(np.sum(nl.StudentT(x[0] + X @ x[1:3], np.exp(x[3]), np.exp(x[4])).nll(y)))

    fit = nl.fit(X, y, nl.StudentT(), tol=1e-10)
    options = {"maxiter": 20_000, "xatol": 1e-9, "fatol": 1e-12}
    found = optimize.minimize(nats, np.zeros(5), method="Nelder-Mead", options=options)
    assert fit.nll == pytest.approx(found.fun, abs=1e-8)
    wanted = [*found.x[:3], *np.exp(found.x[3:])]
    np.testing.assert_allclose([fit.intercept, *fit.coef, fit.noise.scale, fit.noise.df], wanted, rtol=1e-4)
