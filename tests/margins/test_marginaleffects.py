"""The package marginaleffects about our fits: the numbers of `Fit.effects`, and of its own adapter to statsmodels."""

import warnings

import numpy as np
import pandas as pd
import pytest

import neglog as nl

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    me = pytest.importorskip("marginaleffects")

import polars as pl

try:
    pl.Series([0.5]).is_in([0, 1])
except pl.exceptions.InvalidOperationError:
    pytest.skip("marginaleffects 0.6 asks polars what polars 2 refuses", allow_module_level=True)

from neglog.marginaleffects import as_model

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    n = 400
    found = pd.DataFrame({"age": rng.uniform(1, 3, n), "power": rng.normal(size=n), "fuel": rng.choice(["a", "b"], n)})
    eta = 0.2 + np.log(found.age) + 0.3 * found.power - 0.4 * (found.fuel == "b") * found.power
    found["claims"] = rng.poisson(np.exp(eta)) * (rng.random(n) < 0.8)
    found["grade"] = np.where(found.claims > 2, "high", np.where(found.claims > 0, "middle", "low"))
    found["cost"] = np.exp(0.3 * eta + 0.5 * rng.normal(size=n))
    return found


FITS = {
    "counts": ("claims ~ log(age) + power*fuel", nl.Poisson()),
    "curves": ("claims ~ s(age) + power + fuel", nl.ZeroInflated(nl.Poisson())),
    "least squares": ("cost ~ age + power*fuel", nl.Gaussian()),
    "modelled": ("cost ~ age + power + fuel", nl.LogNormal(scale="model")),
}


def by_name(frame):
    """Estimate and error of each term."""
    names = [
        row["term"] if "dY" in row["contrast"] or "dx" in row["contrast"].lower() else f"{row['term']}[b] - [a]"
        for row in frame.iter_rows(named=True)
    ]
    return {
        name: (row["estimate"], row["std_error"]) for name, row in zip(names, frame.iter_rows(named=True), strict=True)
    }


@pytest.mark.parametrize(("formula", "noise"), FITS.values(), ids=FITS)
def test_average_slopes_are_those_of_effects(table, formula, noise):
    fit = nl.fit(table, formula, noise, tol=1e-9)
    found, ours = by_name(me.avg_slopes(as_model(fit))), fit.effects()
    assert set(found) == set(ours.names)
    for name, estimate, error in zip(ours.names, ours.estimate, ours.standard_errors, strict=True):
        assert found[name] == (
            pytest.approx(estimate, rel=1e-3),
            pytest.approx(error, rel=5e-3),
        )  # by forward differences


def test_robust_errors(table):
    fit = nl.fit(table, "claims ~ age + power", nl.Poisson(), tol=1e-9)
    found, ours = by_name(me.avg_slopes(as_model(fit), vcov="HC3")), fit.effects(errors="HC3")
    for name, error in zip(ours.names, ours.standard_errors, strict=True):
        assert found[name][1] == pytest.approx(error, rel=1e-3)


def test_classes(table):
    fit = nl.fit(table[["age", "power", "grade"]], "grade", nl.Categorical(), tol=1e-9)
    frame, ours = me.avg_slopes(as_model(fit)), fit.effects()
    for row in frame.iter_rows(named=True):
        k = ours.names.index(f"{row['group']}: {row['term']}")
        assert row["estimate"] == pytest.approx(ours.estimate[k], rel=1e-3, abs=1e-7)
        assert row["std_error"] == pytest.approx(ours.standard_errors[k], rel=1e-3)


def test_predictions_have_the_errors_of_statsmodels(table):
    smf = pytest.importorskip("statsmodels.formula.api")
    import statsmodels.api as sm

    theirs = smf.glm("claims ~ age + power", table, family=sm.families.Poisson()).fit(tol=1e-12)
    fit = nl.fit(table, "claims ~ age + power", nl.Poisson(), tol=1e-10)
    found, wanted = me.predictions(as_model(fit)), me.predictions(theirs)
    np.testing.assert_allclose(found["estimate"], wanted["estimate"], rtol=1e-6)
    np.testing.assert_allclose(found["std_error"], wanted["std_error"], rtol=1e-4)


def test_arrays_and_comparisons(table):
    X = table[["age", "power"]].to_numpy()
    fit = nl.fit(X, table.claims.to_numpy(), nl.Poisson())
    frame = me.avg_comparisons(as_model(fit), variables={"x0": 0.5})
    step = np.array([0.25, 0.0])
    assert frame["estimate"][0] == pytest.approx(np.mean(fit.predict(X + step) - fit.predict(X - step)))


def test_what_is_refused(table, tmp_path):
    fit = nl.fit(table, "claims ~ age", nl.Poisson())
    fit.save(tmp_path / "fit.json")
    with pytest.raises(TypeError, match="a fit with its rows"):
        as_model(nl.load(tmp_path / "fit.json"))
    with pytest.raises(ValueError, match="make columns of these"):
        as_model(nl.fit(table, "claims ~ np.sin(age)", nl.Poisson()))
