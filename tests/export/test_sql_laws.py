"""Every noise, with every link, predicts in a database what it predicts here, or says why it cannot."""

import numpy as np
import pyarrow as pa
import pytest
from export.databases import numbers
from laws.cases import LINKED_NOISES, raw_predictions

import neglog as nl
from neglog.design.design import Column, Schema
from neglog.distributions import FAMILIES, Noise
from neglog.results.fit import Fit
from neglog.results.predictor import Predictor

LEVELS = (0.1, 0.5, 0.95)
FAMILY_NAMES = sorted({type(noise).__name__ for noise in LINKED_NOISES})


def fit_at(noise, slopes=None):
    """A fit whose raw prediction is the column "eta", and beside it a line in it for each modelled parameter."""
    slopes = slopes or {}
    modelled = {
        name: Predictor(start, np.array([slope]), ("eta",), nl.Flat()) for name, (start, slope) in slopes.items()
    }
    schema = Schema(1, (Column("eta"),))
    state = {"noise": noise, "prior": nl.Flat(), "schema": schema, "named": {}, "_modelled": modelled}
    return Fit(state | {"coef": np.ones(1), "intercept": 0.0, "converged": True, "n_iter": 0, "notes": []})


def table_for(noise):
    return pa.table({"eta": raw_predictions(noise)})


def refusal(fit, *quantiles):
    """Why this is not said in SQL; "" where it is."""
    try:
        fit.to_sql("t", quantiles)
    except ValueError as error:
        return str(error)
    return ""


def check(database, fit, table):
    """Whatever can be said in SQL is right; whether that is the prediction, and which quantiles."""
    dialect, ask = database
    why = refusal(fit)
    if why:
        assert "is no formula that SQL could compute" in why
        return False, []
    reasons = {level: refusal(fit, level) for level in LEVELS}
    assert all("leave quantiles out" in why for why in reasons.values() if why)
    said = [level for level, why in reasons.items() if not why]
    law = fit.distribution(table)
    wanted = {"prediction": fit.predict(table)}
    wanted |= {f"q{level:g}": law.icdf(np.full(law.batch_shape, level)) for level in said}
    found = ask(table, "t", fit.to_sql("t", said, dialect=dialect))
    assert list(found) == list(wanted)
    for name, values in wanted.items():
        np.testing.assert_allclose(numbers(found[name]), values, rtol=1e-12, err_msg=f"{name} of {fit.noise!r}")
    return True, said


@pytest.mark.parametrize("family", FAMILY_NAMES)
def test_predictions_and_quantiles_are_those_of_the_fit(database, family):
    for noise in LINKED_NOISES:
        if type(noise).__name__ != family or noise.labelled:
            continue
        said, quantiles = check(database, fit_at(noise), table_for(noise))
        assert said == (getattr(noise, "around", "") != "Logit")  # whose mean is an integral
        if said and noise.measure == "density" and noise.location == "loc":
            assert tuple(quantiles) == LEVELS


@pytest.mark.parametrize("family", [name for name in FAMILY_NAMES if FAMILIES[name.lower()].beside_location()])
def test_modelled_parameters(database, family):
    """On their raw scales; quantiles and means that need a search in them are refused, others are right."""
    noise = next(one for one in LINKED_NOISES if type(one).__name__ == family)
    if noise.labelled or noise.traits.asks:
        return
    slopes = {own.name: (float(own.predicted.raw(noise.parameters[own.name])), 0.1) for own in noise.beside_location()}
    said, quantiles = check(database, fit_at(noise.modelling(*slopes), slopes), table_for(noise))
    if family in ("Gaussian", "Laplace", "LogNormal", "Weibull"):
        assert (said, tuple(quantiles)) == (True, LEVELS)


def test_what_is_refused_says_what_to_do():
    with pytest.raises(ValueError, match=r"the quantile 0.9 of Poisson.*leave quantiles out.*fit.distribution"):
        fit_at(nl.Poisson()).to_sql(quantiles=[0.9])
    with pytest.raises(ValueError, match=r"the prediction of Logit.*predict in Python"):
        fit_at(nl.Logit(nl.Gaussian(scale=1.0))).to_sql()
    with pytest.raises(ValueError, match="between 0 and 1, but one is 90"):
        fit_at(nl.Gaussian(scale=1.0)).to_sql(quantiles=[90])
    with pytest.raises(ValueError, match="dialect must be one of duckdb, postgres, sqlite"):
        fit_at(nl.Poisson()).to_sql(dialect="oracle")


def test_the_ends_of_the_links(database):
    """Far out nothing overflows, whatever a database thinks of exp(1000)."""
    far = pa.table({"eta": [-800.0, -40.0, -6.0, -0.3, 0.0, 1e-9, 0.4, 6.0, 30.0, 800.0]})
    dialect, ask = database
    for noise in (nl.Bernoulli(), nl.Bernoulli(link="probit"), nl.Bernoulli(link="cloglog"), nl.Poisson()):
        fit = fit_at(noise)
        found = numbers(ask(far, "t", fit.to_sql(dialect=dialect))["prediction"])
        wanted = fit.predict(far)
        usual = (wanted > 1e-300) & np.isfinite(wanted)
        np.testing.assert_allclose(found[usual], wanted[usual], rtol=1e-12)
        assert np.all(found[wanted == np.inf] > 1e300)
        assert np.all(found[wanted <= 1e-300] <= 1e-300)


def test_the_mean_of_a_weibull_law_of_any_shape(database):
    """By a Gamma function that the query brings along."""
    dialect, ask = database
    raw = pa.table({"eta": np.linspace(-2.5, 3.0, 23)})
    fit = fit_at(nl.Weibull(shape="model"), {"shape": (0.0, 1.0)})
    np.testing.assert_allclose(
        numbers(ask(raw, "t", fit.to_sql(dialect=dialect))["prediction"]), fit.predict(raw), rtol=1e-12
    )


def test_every_noise_is_looked_at():
    noises = {family.__name__ for family in FAMILIES.values() if issubclass(family, Noise)}
    assert noises - set(FAMILY_NAMES) == {"Categorical"}  # of which test_sql_tables.py has fits
