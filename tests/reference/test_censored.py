"""Censored times and values against survival's survreg, whose scale is 1 / shape of a Weibull law."""

import json
from pathlib import Path

import numpy as np
import pytest

import neglog as nl

STORED = json.loads(Path(__file__).with_name("survival.json").read_text(encoding="utf-8"))
# The noise, the parameter that it leaves open, and how that follows from survreg's scale
NOISES = {
    "weibull": (nl.Weibull(), "shape", lambda scale: 1 / scale),
    "exponential": (nl.Weibull(shape=1.0), None, None),
    "lognormal": (nl.LogNormal(), "scale", lambda scale: scale),
    "gaussian": (nl.Gaussian(), "scale", lambda scale: scale),
    "t": (nl.StudentT(df=4.0), "scale", lambda scale: scale),
}


def rows(name):
    """The columns, and the cells with their missing ends."""
    table = {name: np.array(values, float) for name, values in STORED["tables"][name].items()}
    lower, upper = (table.pop(end) for end in ("lower", "upper"))
    lower[np.isnan(lower)], upper[np.isnan(upper)] = -np.inf, np.inf
    return np.column_stack(list(table.values())), lower, upper


@pytest.mark.parametrize("case", STORED["cases"], ids=lambda case: case["name"])
def test_regressions_of_survreg(case):
    """Its errors are those of the observed information, the log of the scale among what is estimated."""
    X, lower, upper = rows(case["table"])
    noise, name, of_scale = NOISES[case["dist"]]
    fit = nl.fit(X, nl.censored(lower, upper), noise, tol=1e-10)
    assert fit.converged, fit.message
    assert fit.log_likelihood == pytest.approx(case["log likelihood"], rel=1e-8)
    np.testing.assert_allclose([fit.intercept, *fit.coef], case["coef"], rtol=1e-6)
    np.testing.assert_allclose([fit.intercept_standard_error, *fit.standard_errors], case["errors"], rtol=1e-4)
    if name is not None:
        value = getattr(fit.noise, name)
        assert value == pytest.approx(of_scale(case["scale"]), rel=1e-6)
        assert fit.noise_standard_errors[name] / value == pytest.approx(case["log scale error"], rel=1e-4)


def test_the_ovarian_cancer_of_the_books():
    """As survival's documentation prints it: 6.897, -0.385, 0.529, scale 0.884, log likelihood -97.1."""
    X, lower, upper = rows("ovarian")
    fit = nl.fit(X, nl.censored(lower, upper), nl.Weibull())
    np.testing.assert_allclose([fit.intercept, *fit.coef], [6.897, -0.385, 0.529], atol=6e-4)
    assert 1 / fit.noise.shape == pytest.approx(0.884, abs=6e-4)
    assert fit.log_likelihood == pytest.approx(-97.1, abs=0.06)


def test_a_positive_law_does_not_ask_whether_a_cell_begins_at_0():
    """An end that is missing and an end at the edge of the support are the same cell."""
    X, lower, upper = rows("inspected")
    from_zero = np.where(np.isinf(lower), 0.0, lower)
    for noise in (nl.Weibull(), nl.LogNormal()):
        fits = [nl.fit(X, nl.censored(ends, upper), noise, tol=1e-10) for ends in (lower, from_zero)]
        assert fits[0].nll == pytest.approx(fits[1].nll, rel=1e-12)


def test_without_censoring_a_cell_is_the_value():
    """Equal ends are the density of the value: the same fit as without cells."""
    X, lower, _ = rows("ovarian")
    for noise in (nl.Gaussian(), nl.LogNormal(), nl.Weibull()):
        plain = nl.fit(X, lower, noise, tol=1e-10)
        cells = nl.fit(X, nl.censored(lower, lower), noise, tol=1e-10)
        assert cells.nll == pytest.approx(plain.nll, rel=1e-10)
        np.testing.assert_allclose(cells.coef, plain.coef, rtol=1e-6)
