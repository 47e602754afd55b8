"""Parameters beside the location with terms of their own (own_terms.json): columns as they are against glmmTMB, curves
against mgcv's gaulss, gammals and ziplss.

Two published fits are not compared: lmls' of `abdom`, whose rows are in no package here; and those of B-splines (mgcv's
"bs") that statsmodels stores for `autos`: their curves are other functions, without natural ends and with another
penalty, so that neither coefficients nor effective numbers at a stated penalty are those of a natural spline.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import neglog as nl
from neglog.design.splines import _bending

STORED = json.loads(Path(__file__).with_name("own_terms.json").read_text(encoding="utf-8"))


def noise_of(name: str, own: Any) -> tuple[Any, float]:
    """The noise, and what its modelled log is times that of glmmTMB."""
    return {
        "Gaussian": (nl.Gaussian(scale=own), 0.5),
        "Gamma": (nl.Gamma(shape=own), 1.0),
        "NegativeBinomial": (nl.NegativeBinomial(dispersion=own), -1.0),
        "ZeroInflated": (nl.ZeroInflated(nl.Poisson(), p=own), 1.0),
        "ZeroInflatedNegativeBinomial": (nl.ZeroInflated(nl.NegativeBinomial(), p=own), 1.0),
    }[name]


@pytest.mark.parametrize("case", STORED["plain"], ids=lambda case: case["name"])
def test_columns_of_glmmtmb(case: dict[str, Any]) -> None:
    table = pd.DataFrame(case["columns"])
    noise, factor = noise_of(case["noise"], nl.terms(*case["own"]))
    # extra zeros beside a dispersion that is open: from where the curvature is none, the way is long
    fit = nl.fit(table, case["y"], noise, terms=case["terms"], tol=1e-10, max_iter=2000)
    assert fit.converged, fit.message
    assert fit.log_likelihood == pytest.approx(case["loglik"], abs=1e-6)
    (name,) = noise.modelled
    for predictor, wanted in (("location", case["location"]), (name, factor * np.array(case["model"]))):
        own = fit.predictors[predictor]
        np.testing.assert_allclose(np.append(own.intercept, own.coef), wanted, rtol=1e-3, atol=1e-4)
    assert [term.name for term in fit.predictors[name].terms or ()] in ([], case["own"])


@pytest.fixture(scope="module", params=STORED["curves"], ids=lambda case: case["name"])
def case(request: pytest.FixtureRequest) -> dict[str, Any]:
    return request.param


def own_noise(case: dict[str, Any], size: int) -> Any:
    """The noise whose parameter beside the location mgcv models, too: as one number where the curve has no size."""
    own = nl.terms(nl.smooth("own", size=size)) if size else None
    match case["noise"]:
        case "Gaussian":
            return nl.Gaussian(scale=own)
        case "Gamma":
            return nl.Gamma(shape=own)
        case "Hurdle":
            return nl.Hurdle(nl.Poisson(), p=own)
    raise ValueError(case["noise"])


def rows_of(noise: str, law: Any) -> tuple[Any, Any]:
    """What mgcv gives of a row: its location, by the link, and a log beside it."""
    match noise:
        case "Gaussian":
            return law.loc, np.log(law.scale)
        case "Gamma":
            return np.log(law.parameters["mean"]), -np.log(law.shape)
        case "Hurdle":
            return np.log(law.parameters["mean"]), np.log(law.p)
    raise ValueError(noise)


@pytest.fixture(scope="module")
def fit(case: dict[str, Any]) -> Any:
    size, own = (int(value) for value in case["sizes"])
    # the same column twice, since a curve of it is one term, whatever its size
    table = pd.DataFrame(case["columns"]).assign(own=case["columns"][case["x"]])
    return nl.fit(table, case["y"], own_noise(case, own), terms=[nl.smooth(case["x"], size=size)], tol=1e-9)


def test_curves_of_mgcv(case: dict[str, Any], fit: Any) -> None:
    assert fit.converged, fit.message
    table = pd.DataFrame(case["columns"]).assign(own=case["columns"][case["x"]])
    location, other = rows_of(case["noise"], fit.distribution(table))
    np.testing.assert_allclose(location, case["location"], atol=1e-3 * np.ptp(case["location"]))
    np.testing.assert_allclose(other, case["other"], atol=2e-3)
    assert fit.log_likelihood == pytest.approx(case["loglik"], abs=2e-2)
    found = [predictor.terms[0].effective for predictor in fit.predictors.values() if predictor.terms]
    np.testing.assert_allclose(found, case["edf"], rtol=2e-3)


def test_scales_of_mgcv(case: dict[str, Any], fit: Any) -> None:
    """As penalties of the integral of f''^2."""
    terms = [predictor.terms[0] for predictor in fit.predictors.values() if predictor.terms]
    found = []
    for part, term in zip(fit.schema.parts, terms, strict=True):
        spline = part.variables[0].spline
        found.append(1 / (term.scale**2 * (spline.turn[:, 1] @ _bending(np.array(spline.knots)) @ spline.turn[:, 1])))
    np.testing.assert_allclose(np.log(found), np.log(case["lambda"]), atol=2e-2)
