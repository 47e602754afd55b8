"""One fit for each group against R's glm, lm and glm.nb of its rows; groups that know of each other against lme4 and
glmmTMB, whose coefficients by group are independent, by ML (by_group.json).
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import neglog as nl

STORED = json.loads((Path(__file__).parent / "by_group.json").read_text())
CASES = {case["name"]: case for case in STORED["cases"]}
POOLED = {case["name"]: case for case in STORED["pooled"]}


@pytest.mark.parametrize("name", CASES)
def test_each_group_on_its_own(name: str) -> None:
    case = CASES[name]
    exposure = [case["exposure"]] if case["exposure"] else []
    table = pd.DataFrame(STORED["columns"])[["g", "x", "z", case["y"], *exposure]]
    fits = nl.fit_by(table, case["y"], getattr(nl, case["noise"])(), by="g", exposure=case["exposure"], tol=1e-9)
    wanted = np.array(case["coefficients"])
    np.testing.assert_allclose(np.column_stack([fits.intercept, fits.coef]), wanted, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(-fits.nll, case["loglik"], rtol=1e-9)
    errors = np.column_stack([fits.intercept_standard_errors, fits.standard_errors])
    if len(case["errors"][0]):
        np.testing.assert_allclose(errors, case["errors"], rtol=1e-6)
    own = list(fits.noise_parameters.values())
    assert len(own) == len(case["own"][0])
    if own:
        np.testing.assert_allclose(own[0], np.ravel(case["own"]), rtol=2e-6)


@pytest.mark.parametrize("name", POOLED)
def test_groups_that_know_of_each_other(name: str) -> None:
    case: dict[str, Any] = POOLED[name]
    fits = nl.fit_by(
        pd.DataFrame(case["columns"]), case["y"], getattr(nl, case["noise"])(), by=case["group"], pool=True
    )
    pooled = fits.pooled
    assert pooled is not None
    scale = np.append(pooled.intercept_scale, pooled.scale)
    assert pooled.log_evidence == pytest.approx(case["loglik"], abs=2e-6)
    np.testing.assert_allclose(np.append(pooled.intercept, pooled.mean), case["mean"], rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(scale, case["scale"], rtol=2e-3, atol=2e-3)
    if case["own"]:
        np.testing.assert_allclose(list(pooled.noise.values()), case["own"], rtol=1e-3)
    own = np.column_stack([fits.intercept, fits.coef])
    np.testing.assert_allclose(own, case["groups"], rtol=2e-3, atol=2e-3)
