"""Ordered classes against clm of R's ordinal and polr of MASS, and cells against mpmath."""

import json
from pathlib import Path

import mpmath
import numpy as np
import pytest

import neglog as nl

STORED = json.loads(Path(__file__).with_name("ordinal.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", STORED["cases"], ids=lambda case: f"{case['name']} {case['by']} {case['link']}")
def test_regressions_of_r(case):
    """polr's search stops earlier than clm's, and its errors come from differences of gradients."""
    rtol = 1e-8 if case["by"] == "clm" else 2e-4
    X, y, weight = np.array(case["columns"]).T, np.array(case["y"]), np.array(case["weight"], float)
    fit = nl.fit(X, y, nl.Ordinal(link=case["link"]), sample_weight=weight, tol=1e-11)
    assert fit.converged, fit.message
    assert fit.log_likelihood == pytest.approx(case["log likelihood"], rel=1e-10)
    np.testing.assert_allclose(fit.coef, case["coef"], rtol=rtol, atol=rtol)
    np.testing.assert_allclose(fit.noise.edges, case["edges"], rtol=rtol, atol=rtol)
    np.testing.assert_allclose(fit.standard_errors, case["coef errors"], rtol=max(rtol, 1e-6))
    np.testing.assert_allclose(list(fit.noise_standard_errors.values()), case["edge errors"], rtol=max(rtol, 1e-6))
    assert fit.intercept == 0


@pytest.mark.parametrize(("name", "link"), [("res_ord_logit", "logit"), ("res_ord_probit", "probit")])
def test_graduate_school_of_ucla(name, link):
    """As statsmodels has them of R's polr, whose search ends a little before the maximum: ours is above it."""
    module = "statsmodels.miscmodels.tests.results.results_ordinal_model"
    stored = pytest.importorskip(module, reason="this installation has no tests")
    table, wanted = stored.data_store.df, getattr(stored, name)
    X = table[["pared", "public", "gpa"]]
    fit = nl.fit(X, table["apply"], nl.Ordinal(link=link), tol=1e-10)
    assert fit.classes.tolist() == ["unlikely", "somewhat likely", "very likely"]
    np.testing.assert_allclose(fit.coef, wanted.coefficients_val, atol=3e-4)
    np.testing.assert_allclose(fit.noise.edges, wanted.thresholds, atol=1e-3)
    np.testing.assert_allclose(fit.standard_errors, wanted.coefficients_stdE, atol=2e-4)
    np.testing.assert_allclose(fit.predict(X.iloc[:7]), wanted.prob_pred, atol=1e-4)
    theirs = nl.Ordinal(edges=wanted.thresholds, link=link).given(X.to_numpy(float) @ wanted.coefficients_val)
    assert fit.nll <= float(np.sum(theirs.nll(table["apply"].cat.codes))) < fit.nll + 1e-5


# ---- cells -----------------------------------------------------------------------------------------------------------

PLACES = [0.0, 0.3, -2.0, 5.5, -8.0, 12.0, 39.0, -40.0]
WIDTHS = [1e-12, 1e-5, 0.01, 0.9, 2.5, 9.0, 60.0, np.inf]


def density(x, link):
    """Of the latent law, with P(Z > x) before and the slope of the density after."""
    if abs(x) == mpmath.inf:
        return mpmath.mpf(x < 0), mpmath.mpf(0), mpmath.mpf(0)
    if link == "probit":
        f = mpmath.npdf(x)
        return mpmath.erfc(x / mpmath.sqrt(2)) / 2, f, -x * f
    above = 1 / (1 + mpmath.exp(x))
    return above, above * (1 - above), above * (1 - above) * (2 * above - 1)


def exact(low, high, link):
    """-log of the mass between, its first two derivatives in a prediction, and the first in both ends."""
    (above_b, f_b, d_b), (above_a, f_a, d_a) = (density(mpmath.mpf(x), link) for x in (low, high))
    mass = above_b - above_a
    slope = (f_a - f_b) / mass
    found = (-mpmath.log(mass), slope, slope**2 - (d_a - d_b) / mass, f_b / mass, -f_a / mass)
    return [float(value) for value in found]


@pytest.mark.parametrize("link", ["logit", "probit"])
@pytest.mark.parametrize("low", PLACES)
@pytest.mark.parametrize("width", WIDTHS)
def test_cells_narrow_and_wide_in_both_tails(low, width, link):
    high = low + width
    edges = [low, high] if np.isfinite(high) else [low]
    noise = nl.Ordinal(edges=edges, link=link)
    found = [*noise.derivatives(1.0, 0.0), *noise.parameter_gradient(1.0)["edges"]]
    with mpmath.workdps(800):  # 40 standard deviations out, 1 - Phi is 1e-350
        wanted = exact(low, high, link)[: len(found)]
    np.testing.assert_allclose(found[1], wanted[1], rtol=1e-12, atol=1e-15)  # the pulls of both ends, which may be even
    np.testing.assert_allclose(np.delete(found, 1), np.delete(wanted, 1), rtol=1e-12, atol=1e-300)
    if len(edges) > 1:
        mirrored = nl.Ordinal(edges=[-high, -low], link=link)
        np.testing.assert_allclose(mirrored.nll(1.0), noise.nll(1.0), rtol=1e-14)
