"""Huber noise whose scale is the median absolute residual or that of proposal 2, against rlm of MASS."""

import json
from pathlib import Path

import numpy as np
import pytest

import neglog as nl

STORED = json.loads(Path(__file__).with_name("robust.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", STORED["cases"], ids=lambda case: case["name"])
def test_robust_regressions_of_mass(case):
    X, y = np.array(case["columns"]).T, np.array(case["y"])
    kinds = {"inv.var": "precision", "case": "sample_weight"}
    weights = {} if case["weights"] is None else {kinds[case["weights"][0]]: np.array(case["weights"][1])}
    fit = nl.fit(X, y, nl.Huber(scale=case["way"], delta=case["delta"]), tol=1e-10, **weights)
    assert fit.converged, fit.message
    assert fit.noise.scale == pytest.approx(case["scale"], rel=1e-7)
    np.testing.assert_allclose(np.append(fit.intercept, fit.coef), case["coef"], rtol=1e-6, atol=1e-9)
    if case["errors"]:
        np.testing.assert_allclose(fit.covariance("HC0").standard_errors, case["errors"], rtol=1e-6)
