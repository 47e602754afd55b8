"""Quantile regressions against quantreg's simplex, and the density, the tails and the entropy against mpmath."""

import json
from pathlib import Path

import mpmath
import numpy as np
import pytest

import neglog as nl

STORED = json.loads(Path(__file__).with_name("quantiles.json").read_text(encoding="utf-8"))
CASES = [(table, fit) for table in STORED["tables"] for fit in table["fits"]]


@pytest.mark.parametrize(("table", "wanted"), CASES, ids=lambda part: str(part.get("name") or part["quantile"]))
def test_quantile_regressions_of_quantreg(table, wanted):
    X, y = np.array(table["columns"]).T, np.array(table["y"])
    noise = nl.AsymmetricLaplace(quantile=wanted["quantile"])
    fit = nl.fit(X, y, noise, sample_weight=table["weights"])
    assert fit.converged, fit.message
    assert fit.certificate.gap < 1e-12
    np.testing.assert_allclose(fit.coef, wanted["coef"], rtol=1e-9, atol=1e-11)
    assert fit.intercept == pytest.approx(wanted["intercept"], rel=1e-9)
    assert np.sum(noise.loss(y, fit.predict(X))) == pytest.approx(wanted["pinball"], rel=1e-10)  # there without weights


@pytest.mark.parametrize("quantile", [1e-9, 0.03, 0.5, 0.8, 1 - 1e-9])
@pytest.mark.parametrize("z", [0.0, 1e-9, -0.3, 2.0, -700.0, 3e4, -1e200])
def test_density_and_tails(quantile, z):
    law = nl.AsymmetricLaplace(0.0, 1.0, quantile)
    with mpmath.workdps(60):
        q, at = mpmath.mpf(quantile), mpmath.mpf(z)
        lower = q * mpmath.exp((1 - q) * at) if z < 0 else 1 - (1 - q) * mpmath.exp(-q * at)
        nats = at * (q - (z < 0)) - mpmath.log(q) - mpmath.log(1 - q)
        wanted = [float(nats), float(lower), float(1 - lower)]
    np.testing.assert_allclose([law.nll(z), law.cdf(z), law.sf(z)], wanted, rtol=1e-13, atol=1e-300)


@pytest.mark.parametrize("quantile", [1e-6, 0.03, 0.5, 0.8, 1 - 1e-6])
def test_quantiles_of_the_law_keep_their_digits(quantile):
    law = nl.AsymmetricLaplace(0.0, 1.0, quantile)
    for level in (1e-250, 1e-5, 0.03 * (1 + 1e-9), 0.3, 0.5, 0.8 * (1 - 1e-9), 0.999):
        with mpmath.workdps(60):
            q, p = mpmath.mpf(quantile), mpmath.mpf(level)
            lower = mpmath.log(p / q) / (1 - q) if level < quantile else -mpmath.log((1 - p) / (1 - q)) / q
            upper = -mpmath.log(p / (1 - q)) / q if p < 1 - q else mpmath.log((1 - p) / q) / (1 - q)
        np.testing.assert_allclose([law.icdf(level), law.isf(level)], [float(lower), float(upper)], rtol=1e-12)


@pytest.mark.parametrize("quantile", [0.01, 0.5, 0.7])
def test_moments_and_entropy_by_quadrature(quantile):
    law = nl.AsymmetricLaplace(3.0, 0.5, quantile)
    with mpmath.workdps(30):
        q, ends = mpmath.mpf(quantile), [-mpmath.inf, 3, mpmath.inf]

        def nats(y):
            z = (y - 3) / mpmath.mpf("0.5")
            return z * (q - (z < 0)) - mpmath.log(q * (1 - q) / mpmath.mpf("0.5"))

        mean = mpmath.quad(lambda y: y * mpmath.exp(-nats(y)), ends)
        variance = mpmath.quad(lambda y: (y - mean) ** 2 * mpmath.exp(-nats(y)), ends)
        entropy = mpmath.quad(lambda y: nats(y) * mpmath.exp(-nats(y)), ends)
    found = [law.mean(), law.variance(), law.entropy()]
    np.testing.assert_allclose(found, [float(mean), float(variance), float(entropy)], rtol=1e-10)
    assert law.point() == 3.0
    assert law.cdf(3.0) == pytest.approx(quantile, rel=1e-15)
