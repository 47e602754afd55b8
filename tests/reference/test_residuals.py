"""Residuals and influence against R's lm, glm and glm.nb, and statsmodels."""

import json
from pathlib import Path

import numpy as np
import pytest

import neglog as nl

STORED = json.loads(Path(__file__).with_name("residuals.json").read_text(encoding="utf-8"))
NOISES = {
    "gaussian": nl.Gaussian(),
    "poisson": nl.Poisson(),
    "bernoulli": nl.Bernoulli(),
    "gamma": nl.Gamma(),
    "inversegaussian": nl.InverseGaussian(),
    "tweedie": nl.Tweedie(power=1.5),
}


def fitted(case):
    X, y = np.array(case["columns"]).T, np.array(case["y"], float)
    noise = nl.NegativeBinomial(dispersion=1 / case["theta"]) if "theta" in case else NOISES[case["noise"]]
    beside = {name: np.array(case[name], float) for name in ("precision", "offset") if name in case}
    return nl.fit(X, y, noise, tol=1e-11, **beside), (X, y, beside)


def dispersion(fit):
    """That which R leaves out of Pearson residuals."""
    own = fit.noise.parameters
    if "scale" in own:
        return own["scale"] ** 2
    if "shape" in own:
        return 1 / own["shape"]
    return 1.0 if fit.noise.spread is None or isinstance(fit.noise, nl.NegativeBinomial) else own["dispersion"]


def check(found, wanted, rtol=1e-6):
    wanted = np.asarray(wanted)
    np.testing.assert_allclose(found, wanted, rtol=rtol, atol=rtol * np.abs(wanted).max())


each = pytest.mark.parametrize("case", STORED["cases"], ids=lambda case: case["name"])


@each
def test_residuals(case):
    fit, (X, y, beside) = fitted(case)
    for rows in ((), (X, y)):
        own = beside if rows else {}
        check(fit.residuals("deviance", *rows, **own), case["deviance"])
        check(fit.residuals("pearson", *rows, **own) * np.sqrt(dispersion(fit)), case["pearson"])


@each
def test_influence(case):
    fit, (X, y, beside) = fitted(case)
    few = 1.0 if fit.residual_degrees is None else len(y) / fit.residual_degrees
    if case["noise"] == "negativebinomial":
        few = 1.0  # no spread of its own to R
    ratio = few * dispersion(fit) / case["dispersion"]  # of ours to Pearson's
    for rows in ((), (X, y)):
        found = fit.influence(*rows, **(beside if rows else {}), expected=True)
        check(found.leverage, case["leverage"])
        # R has the deviance residual where the slope of the row has Pearson's; least squares have one for both
        other = np.divide(case["deviance"], case["pearson"])[:, None]
        check(found.dfbeta * other, np.array(case["dfbeta"]).T)
        check(found.cooks_distance * ratio, case["cooks"])
    if case["noise"] == "gaussian":
        assert ratio == pytest.approx(1.0)


@each
def test_leverages_as_they_are_add_up(case):
    fit, _ = fitted(case)
    found = fit.influence()
    assert found.leverage.sum() == pytest.approx(1 + len(case["columns"]), rel=1e-6)
    assert found.coefficients == pytest.approx(1 + len(case["columns"]), rel=1e-6)
    np.testing.assert_array_equal(found.leverage, fit.influence().leverage)


def test_least_squares_as_statsmodels_has_it():
    linear = pytest.importorskip("statsmodels.regression.linear_model")
    rng = np.random.default_rng(3)
    X = rng.normal(size=(40, 3))
    y = X @ [1.0, -0.5, 0.0] + rng.standard_t(4, 40)
    fit = nl.fit(X, y, nl.Gaussian())
    theirs = linear.OLS(y, np.column_stack([np.ones(40), X])).fit().get_influence()
    found = fit.influence()
    check(found.leverage, theirs.hat_matrix_diag, 1e-10)
    check(found.cooks_distance, theirs.cooks_distance[0], 1e-10)
    check(found.dfbeta, theirs.dfbeta, 1e-10)
    sigma = np.sqrt(fit.noise.scale**2 * 40 / fit.residual_degrees)
    check(found.dfbetas * sigma / np.sqrt(theirs.sigma2_not_obsi)[:, None], theirs.dfbetas, 1e-10)
    check(fit.residuals("pearson") * fit.noise.scale / sigma / np.sqrt(1 - found.leverage), theirs.resid_studentized)


@pytest.mark.parametrize("noise", ["poisson", "gamma", "bernoulli"])
def test_generalised_models_as_statsmodels_has_them(noise):
    models = pytest.importorskip("statsmodels.genmod.generalized_linear_model")
    families = pytest.importorskip("statsmodels.genmod.families")
    rng = np.random.default_rng(4)
    X = rng.normal(size=(60, 3))
    mean = np.exp(X @ [0.3, -0.2, 0.1] + 1)
    y, family = {
        "poisson": (rng.poisson(mean), families.Poisson()),
        "gamma": (rng.gamma(2, mean / 2), families.Gamma(families.links.Log())),
        "bernoulli": (rng.binomial(1, mean / (4 + mean)), families.Binomial()),
    }[noise]
    fit = nl.fit(X, y, NOISES[noise], tol=1e-11)
    theirs = models.GLM(y, np.column_stack([np.ones(60), X]), family).fit(tol=1e-13)
    influence = theirs.get_influence(observed=False)
    found = fit.influence(expected=True)
    check(found.leverage, influence.hat_matrix_diag, 1e-7)
    check(found.dfbeta, influence.d_params, 1e-6)
    few = 1.0 if fit.residual_degrees is None else 60 / fit.residual_degrees
    check(found.cooks_distance * few * dispersion(fit) / theirs.scale, influence.cooks_distance[0], 1e-6)
    check(fit.residuals("pearson") * np.sqrt(dispersion(fit)), theirs.resid_pearson, 1e-7)
    check(fit.residuals("deviance"), theirs.resid_deviance, 1e-7)
