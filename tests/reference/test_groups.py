"""Groups against mixed models of R (groups.json): with all coefficients integrated, as mgcv's REML has it, and with the
groups alone, the maximum likelihood of lme4 and glmmTMB. Criteria are compared with all their constants.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import neglog as nl

STORED = json.loads((Path(__file__).parent / "groups.json").read_text())
CASES = {case["name"]: case for case in STORED["cases"]}
NOISES = {"NegativeBinomial": nl.NegativeBinomial(), "ZeroInflated": nl.ZeroInflated(nl.NegativeBinomial(power=1.0))}


def fitted(case: dict[str, Any], evidence: str) -> Any:
    table = pd.DataFrame(case["columns"])
    terms = [*case["fixed"], *(nl.group(name) for name in case["groups"])]
    if case["slope"]:
        terms += [nl.interaction(nl.group(name), case["slope"]) for name in case["groups"]]
    noise = NOISES.get(case["noise"]) or getattr(nl, case["noise"])()
    return nl.fit(table, case["y"], noise, terms=terms, offset=case["offset"], evidence=evidence, tol=1e-9)


def check_noise(case: dict[str, Any], fit: Any, wanted: list[float], rel: float) -> None:
    if case["noise"] == "Gaussian":
        assert fit.noise.scale == pytest.approx(wanted[0], rel=rel)
    if case["noise"] == "NegativeBinomial":
        assert 1 / fit.noise.dispersion == pytest.approx(wanted[0], rel=rel)
    if case["noise"] == "ZeroInflated":
        assert fit.noise.noise.dispersion == pytest.approx(wanted[0], rel=rel)
        assert fit.noise.p == pytest.approx(wanted[1], rel=rel)


def criterion(fit: Any, integrated: Any) -> float:
    """The log evidence by Laplace's method with every constant; coefficients without a prior have the density 1."""
    n = len(fit._task.penalty.bend)
    bend, theta = fit._task.penalty.bend, fit._answer.theta
    hessian = fit._joint.curvature().matrix[:n, :n][np.ix_(integrated, integrated)]
    held = bend > 0
    prior = 0.5 * np.sum(np.log(bend[held])) - 0.5 * bend @ theta**2 - 0.5 * held.sum() * np.log(2 * np.pi)
    volume = 0.5 * integrated.sum() * np.log(2 * np.pi) - 0.5 * np.linalg.slogdet(hessian)[1]
    return float(-fit.nll + prior + volume)


def deviations(case: dict[str, Any], fit: Any) -> list[float]:
    names = [f"(1|{name})" for name in case["groups"]]
    if case["slope"]:
        names += [f"(1|{name}):{case['slope']}" for name in case["groups"]]
    return [fit.terms[name].scale for name in names]


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case["all"]])
def test_all_coefficients_integrated(name: str) -> None:
    case = CASES[name]
    wanted, fit = case["all"], fitted(case, "all")
    assert fit.converged
    np.testing.assert_allclose(deviations(case, fit), wanted["deviations"], rtol=1e-3)
    first = np.append(fit.intercept, fit.coef[: len(wanted["fixed"]) - 1])
    np.testing.assert_allclose(first, wanted["fixed"], rtol=1e-3, atol=1e-4)
    check_noise(case, fit, wanted["noise"], 1e-3)
    counted = [term.effective for term in fit.terms if term.kind in ("group", "interaction")]
    np.testing.assert_allclose(counted, wanted["edf"], rtol=1e-3)
    everything = np.ones(len(fit._task.penalty.bend), bool)
    assert -criterion(fit, everything) == pytest.approx(wanted["reml"], abs=2e-6 * abs(wanted["reml"]))


@pytest.mark.parametrize("name", CASES)
def test_groups_alone_integrated(name: str) -> None:
    case = CASES[name]
    wanted, fit = case["ml"], fitted(case, "groups")
    assert fit.converged
    value = criterion(fit, fit._task.penalty.bend > 0)
    assert value == pytest.approx(wanted["loglik"], abs=2e-6 * abs(wanted["loglik"]))
    assert value > wanted["loglik"] - 1e-6  # no lower than where others ended
    np.testing.assert_allclose(deviations(case, fit), wanted["deviations"], rtol=1e-3)
    first = np.append(fit.intercept, fit.coef[: len(wanted["fixed"]) - 1])
    np.testing.assert_allclose(first, wanted["fixed"], rtol=1e-3, atol=1e-4)
    check_noise(case, fit, wanted["noise"], 1e-3)


def test_published_numbers() -> None:
    """Of irrigation and radon by mgcv, of contraception and cbpp by lme4, whose log likelihood has the ways to choose
    which animals are ill.
    """
    fit = fitted(CASES["irrigation"], "all")
    assert [fit.terms["field"].scale, fit.noise.scale] == pytest.approx([4.067, 1.194], abs=5e-4)
    assert -criterion(fit, np.ones(len(fit._task.penalty.bend), bool)) == pytest.approx(27.398, abs=5e-4)
    fit = fitted(CASES["radon"], "all")
    assert [fit.terms["county"].scale, fit.noise.scale] == pytest.approx([0.2976671, 0.7660696], abs=1e-6)
    assert fit.terms["county"].effective == pytest.approx(39.57, abs=5e-3)
    fit = fitted(CASES["contraception"], "groups")
    assert -2 * criterion(fit, fit._task.penalty.bend > 0) == pytest.approx(2361.54575, abs=1e-5)
    assert fit.terms["place"].scale == pytest.approx(0.573054, abs=5e-6)
    case = CASES["cbpp"]
    from scipy.special import gammaln

    herds = pd.DataFrame(case["columns"]).groupby(["herd", "period"]).ill.agg(["sum", "count"])
    ways = gammaln(herds["count"] + 1) - gammaln(herds["sum"] + 1) - gammaln(herds["count"] - herds["sum"] + 1)
    found = fitted(case, "groups")
    assert criterion(found, found._task.penalty.bend > 0) + ways.sum() == pytest.approx(-92.02628187, abs=1e-7)
    assert found.terms["herd"].scale == pytest.approx(0.6420622, rel=1e-3)  # lme4 stops a little before its maximum
    published = [-1.3983429, -0.9919250, -1.1282162, -1.5797454]
    np.testing.assert_allclose(np.append(found.intercept, found.coef[:3]), published, rtol=1e-3)
