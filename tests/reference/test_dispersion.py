"""Modelled parameters against glmmTMB, which models the log of another power of some of them."""

import json
from pathlib import Path

import numpy as np
import pytest

import neglog as nl

STORED = json.loads(Path(__file__).with_name("dispersion.json").read_text(encoding="utf-8"))
# the noise, and what its modelled log is times that of glmmTMB: the variance is the square of the scale
NOISES = {
    "gaussian": (nl.Gaussian(scale="model"), 0.5),
    "gamma": (nl.Gamma(shape="model"), 1.0),
    "nb2": (nl.NegativeBinomial(dispersion="model"), -1.0),
    "nb1": (nl.NegativeBinomial(dispersion="model", power=1.0), 1.0),
    "beta": (nl.BetaProportion(precision="model"), 1.0),
    "zero-inflated": (nl.ZeroInflated(nl.Poisson(), p="model"), 1.0),
    "hurdle": (nl.Hurdle(nl.Poisson(), p="model"), 1.0),
}


@pytest.mark.parametrize("case", STORED["cases"], ids=lambda case: case["name"])
def test_models_of_glmmtmb(case):
    noise, factor = NOISES[case["noise"]]
    X, y = np.array(case["columns"]).T, np.array(case["y"], float)
    fit = nl.fit(X, y, noise, tol=1e-10)
    assert fit.converged, fit.message
    assert fit.log_likelihood == pytest.approx(case["log likelihood"], abs=1e-8)
    (name,) = noise.modelled
    location, model = fit.predictors["location"], fit.predictors[name]
    errors = fit.summary(contrasts=False).table["standard error"].reshape(2, -1)
    for predictor, own, theirs, times in ((location, 0, "location", 1.0), (model, 1, "model", factor)):
        found = np.append(predictor.intercept, predictor.coef)
        wanted, wide = times * np.array(case[theirs]), abs(times) * np.array(case[f"{theirs} errors"])
        assert np.max(np.abs(found - wanted) / wide) < 1e-4
        np.testing.assert_allclose(errors[own], wide, rtol=1e-3)
