"""Curves and groups against mgcv's REML (terms.json): the criterion, where its maximum lies, and the fit there."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import neglog as nl
from neglog.design.splines import _bending
from neglog.evidence.learned_terms import _native, _owned
from neglog.evidence.maximum import Maximum
from neglog.evidence.state import Pulls
from neglog.fitting.fit import prepare

STORED = json.loads((Path(__file__).parent / "terms.json").read_text())
CASES = {case["name"]: case for case in STORED["cases"]}
NOTHING = dict.fromkeys(("sample_weight", "precision", "offset", "exposure"))


def table_of(case: dict[str, Any]) -> pd.DataFrame:
    return pd.DataFrame({name: case[name] for name in [*case["terms"], "y"]})


def terms_of(case: dict[str, Any]) -> list[Any]:
    return [
        nl.group(name) if group == "TRUE" else nl.smooth(name, size=int(case["size"]))
        for name, group in zip(case["terms"], case["groups"], strict=True)
    ]


@pytest.fixture(scope="module", params=CASES)
def case(request: pytest.FixtureRequest) -> dict[str, Any]:
    return CASES[request.param]


@pytest.fixture(scope="module")
def fit(case: dict[str, Any]) -> Any:
    return nl.fit(table_of(case), "y", getattr(nl, case["noise"])(), terms=terms_of(case))


def dispersion(noise: Any) -> float:
    """What divides the deviance, as R has it."""
    if isinstance(noise, nl.Gaussian):
        return float(noise.scale) ** 2
    if isinstance(noise, nl.Gamma):
        return 1 / float(noise.shape)
    return float(noise.dispersion) if isinstance(noise, nl.Tweedie) else 1.0


def as_log_scales(fit: Any, lambdas: Any, phi: float) -> Any:
    """Log scales of the priors that penalties mean."""
    parts, out = fit.schema.parts, []
    for part, penalty in zip(parts, lambdas, strict=True):
        bending = 1.0
        if part.variables:
            spline = part.variables[0].spline
            bending = float(spline.turn[:, 1] @ _bending(np.array(spline.knots)) @ spline.turn[:, 1])
        out.append(-0.5 * np.log(penalty * bending / phi))
    return np.array(out)


def test_terms_count_as_in_mgcv(case: dict[str, Any], fit: Any) -> None:
    assert fit.converged, fit.message
    gram, covariance, _ = by_information(case, fit)
    shares = (covariance @ gram).diagonal()[fit._task.engine.places]
    ends = np.cumsum([term.coefficients for term in fit.terms])[:-1]
    found = [part.sum() for part in np.split(shares, ends)]
    np.testing.assert_allclose(found, case["edf"], rtol=1e-4)
    if case["noise"] in ("Gaussian", "Poisson", "Bernoulli"):  # whose information is their curvature
        np.testing.assert_allclose([term.effective for term in fit.terms], case["edf"], rtol=1e-4)


def test_predictions_and_their_errors(case: dict[str, Any], fit: Any) -> None:
    size = np.ptp(case["eta"])
    np.testing.assert_allclose(fit.raw_prediction(table_of(case)), case["eta"], atol=1e-4 * size)
    _, covariance, matrix = by_information(case, fit)
    errors = np.sqrt(np.einsum("ij,jk,ik->i", matrix, covariance, matrix))
    np.testing.assert_allclose(
        errors, np.array(case["errors"]) * (case["scale"] / case["scale of errors"]) ** 0.5, rtol=1e-4
    )


def by_information(case: dict[str, Any], fit: Any) -> tuple[Any, Any, Any]:
    """What the rows say, the covariance of the coefficients and the columns, with the expected information in the place
    of the curvature and the parameters of the noise taken as known: mgcv finds its scales with the curvature, but
    counts and errs with the information.
    """
    engine = fit._task.engine
    matrix = engine.dense_rows(np.arange(engine.rows))
    eta = engine.predict(fit._answer.theta)
    weight = fit.noise.gradient_hessian(np.array(case["y"], float), eta, expected=True)[1]
    gram = matrix.T @ (np.reshape(weight, (-1, 1)) * matrix)
    return gram, np.linalg.inv(gram + np.diag(fit._answer.penalty.bend)), matrix


def test_noise(case: dict[str, Any], fit: Any) -> None:
    assert dispersion(fit.noise) == pytest.approx(case["scale"], rel=1e-3)
    if case["noise"] == "NegativeBinomial":
        assert 1 / fit.noise.dispersion == pytest.approx(case["shape"][0], rel=1e-3)
    if case["noise"] == "Tweedie":
        assert fit.noise.power == pytest.approx(case["shape"][0], abs=1e-3)


def test_criterion_and_its_maximum(case: dict[str, Any], fit: Any) -> None:
    """Ours differs from mgcv's by the units of straight lines, the same for all penalties; its maximum is no lower."""
    noise = getattr(nl, case["noise"])()
    task = prepare(table_of(case), "y", noise, nl.Flat(), NOTHING, True, 1e-9, 100, terms=terms_of(case))
    owned = list(_owned(task, nl.Flat(), None))
    on = np.array([_native(task.engine, one) for one in owned])
    search = Maximum(task, Pulls(np.zeros(task.engine.width), on, np.zeros(task.engine.width)))
    v = task.target.raw_of(fit.noise)
    ours = np.log([fit.terms[name].scale for name in case["terms"]])
    here = search.at(np.append(ours, v), None)
    theirs = search.at(np.append(as_log_scales(fit, case["lambda"], case["scale"]), v_of(case, task, v)), None)
    assert here is not None
    assert theirs is not None
    assert here.value >= theirs.value - 1e-6
    assert here.value == pytest.approx(theirs.value, abs=1e-5 * abs(case["reml"]))
    beside = best_noise(search, case, fit, v)
    assert theirs.value - beside == pytest.approx(case["reml beside"] - case["reml"], abs=1e-5 * abs(case["reml"]))


def v_of(case: dict[str, Any], task: Any, v: Any) -> Any:
    """The raw parameters of the noise that mgcv found."""
    named = {
        "Gaussian": {"scale": case["scale"] ** 0.5},
        "Gamma": {"shape": 1 / case["scale"]},
        "NegativeBinomial": {"dispersion": 1 / (case["shape"] or [1.0])[0]},
        "Tweedie": {"power": (case["shape"] or [1.5])[0], "dispersion": case["scale"]},
    }.get(case["noise"], {})
    return task.target.raw_of(task.target.noise.estimated(**named)) if named else v


def best_noise(search: Maximum, case: dict[str, Any], fit: Any, v: Any) -> float:
    """The criterion where all penalties are larger by a factor, at the noise that is best there."""
    from scipy.optimize import minimize

    spread = {"Gaussian", "Gamma", "Tweedie"}

    def cost(values: Any) -> float:
        noise = search.task.target.at(np.asarray(values))
        phi = dispersion(noise) if case["noise"] in spread else 1.0
        lambdas = case["factor"] * np.array(case["lambda"])
        found = search.at(np.append(as_log_scales(fit, lambdas, phi), values), None)
        return np.inf if found is None else -found.value

    if not len(v):
        return -cost(v)
    return -float(minimize(cost, v, method="Nelder-Mead", options={"xatol": 1e-7, "fatol": 1e-9}).fun)
