"""Queries against real databases: what a design may be made of, and what rows may hold."""

import datetime

import numpy as np
import pyarrow as pa
import pytest
from export.databases import ask_duckdb, numbers

import neglog as nl

ROWS = 400
NASTY = """it's "quoted"; DROP TABLE t; --"""


def table(rng, rows=ROWS):
    age, power = rng.uniform(20, 80, rows), rng.uniform(1, 9, rows)
    region = rng.choice([NASTY, "south", "w\\est", ""], rows)
    days = [datetime.date(2020, 1, 1) + datetime.timedelta(int(k)) for k in rng.integers(0, 900, rows)]
    columns = {
        "id": np.arange(rows),
        "age": age,
        "power": power,
        'the "region"': region,
        "shop": rng.permutation(np.arange(rows) % 70).astype(str),
        "year": rng.integers(2018, 2023, rows),
        "day": days,
        "years": rng.uniform(0.2, 1, rows),
        "shift": rng.normal(size=rows) / 9,
    }
    eta = np.log(columns["years"]) + columns["shift"] + np.sin(age / 9) + 0.3 * (region == NASTY) + 0.05 * power
    return pa.table(columns).append_column("y", pa.array(rng.gamma(2.0, np.exp(eta) / 2)))


def check(database, fit, rows, quantiles=(), name="t", near=0.0):
    """Row by row what the fit predicts, found again by the column that was kept."""
    dialect, ask = database
    found = ask(rows, name, fit.to_sql(name, quantiles, dialect=dialect, keep=["id"]))
    order = np.argsort(numbers(found["id"]))
    law = fit.distribution(rows)
    wanted = {"prediction": fit.predict(rows)}
    wanted |= {f"q{level:g}": law.icdf(np.full(law.batch_shape, level)) for level in quantiles}
    assert list(found) == ["id", *wanted]
    for column, values in wanted.items():
        np.testing.assert_allclose(numbers(found[column])[order], values, rtol=1e-12, atol=near)


TERMS = {
    "columns": None,
    "functions": ["log(power)", "sqrt(age)", "log1p(power)", "square(power)", "exp(power)", "log10(age)", "abs(power)"],
    "curves and groups": [nl.smooth("age"), nl.group("shop"), nl.group("year"), 'the "region"', "day"],
    "interactions": [
        "age",
        nl.interaction('the "region"', "shop"),
        nl.interaction('the "region"', nl.smooth("age", size=5)),
        nl.interaction(nl.smooth("age", size=4), nl.smooth("power", size=4)),
        nl.interaction("year", "power"),
    ],
}


@pytest.mark.parametrize("terms", TERMS)
def test_terms(database, rng, terms):
    rows = table(rng)
    own = TERMS[terms]
    without = ["id"] if own is None else []
    fit = nl.fit(
        rows.drop_columns(without),
        "y",
        nl.Gamma(),
        nl.Gaussian(scale=1.0),
        terms=own,
        exposure="years",
        offset="shift",
    )
    new = table(np.random.default_rng(7))
    new = new.set_column(1, "age", pa.array(np.linspace(5, 200, ROWS)))  # beyond what was seen, on both sides
    check(database, fit, new, [0.1, 0.9])


def test_modelled_scales_have_their_own_terms(database, rng):
    rows = table(rng)
    noise = nl.LogNormal(scale=nl.terms("power", nl.group("shop")))
    fit = nl.fit(rows, "y", noise, nl.Gaussian(scale=1.0), terms=[nl.smooth("age"), 'the "region"'])
    check(database, fit, rows, [0.05, 0.5])


def test_levels_that_are_missing_or_unseen(database, rng):
    """What the fit gives a coefficient has it in the database, what it has not seen adds nothing."""
    rows = table(rng)
    holes = rng.uniform(size=ROWS) < 0.2
    for name in ("age", 'the "region"', "shop", "year", "power", "day"):
        lost = pa.array([None if hole else one for hole, one in zip(holes, rows[name].to_pylist(), strict=True)])
        rows = rows.set_column(rows.column_names.index(name), name, lost)
    terms = [nl.smooth("age"), "log(power)", 'the "region"', nl.group("shop"), nl.group("year"), "day",
             nl.interaction("year", "shop")]  # fmt: skip
    fit = nl.fit(rows, "y", nl.Gamma(), nl.Gaussian(scale=1.0), terms=terms, missing="impute")
    new = rows.set_column(3, 'the "region"', pa.array(["elsewhere", *rows['the "region"'].to_pylist()[1:]]))
    new = new.set_column(4, "shop", pa.array(["999"] * 9 + rows["shop"].to_pylist()[9:]))
    with pytest.warns(nl.UnseenLevelWarning):
        check(database, fit, new)


def test_rows_that_predict_would_refuse_have_no_prediction(database, rng):
    rows = table(rng)
    fit = nl.fit(rows, "y", nl.Gamma(), terms=["log(power)", nl.smooth("age"), 'the "region"'], exposure="years")
    new = rows.slice(0, 6)
    for place, (name, value) in enumerate({"power": -1.0, "age": None, 'the "region"': None, "years": 0.0}.items()):
        values = new[name].to_pylist()
        values[place] = value
        new = new.set_column(new.column_names.index(name), name, pa.array(values, new[name].type))
    dialect, ask = database
    found = numbers(ask(new, "t", fit.to_sql(dialect=dialect))["prediction"])
    assert np.isnan(found[:4]).all()
    np.testing.assert_allclose(found[4:], fit.predict(rows.slice(4, 2)), rtol=1e-12)


def test_what_is_no_number_is_missing(rng):
    rows = table(rng)
    broken = pa.array(np.where(np.arange(ROWS) == 3, np.nan, rows["age"].to_numpy()))
    fit = nl.fit(rows, "y", nl.Gamma(), terms=["age"])
    found = numbers(ask_duckdb(rows.set_column(1, "age", broken), "t", fit.to_sql())["prediction"])
    assert np.flatnonzero(np.isnan(found)).tolist() == [3]


def test_names_are_quoted(database, rng):
    """A table and columns whose names would end the query, or are those of its own inner ones."""
    rows = table(rng).rename_columns(
        ["id", NASTY, "inputs", "rows", "step", "SELECT", "day", "years", 'raw "prediction', "y"]
    )
    fit = nl.fit(rows.drop_columns(["id"]), "y", nl.Gaussian(), nl.Gaussian(scale=1.0))
    check(database, fit, rows, [0.5], name=NASTY.replace("t;", "u;"), near=1e-12)
    with pytest.raises(ValueError, match="character 0"):
        fit.to_sql("a\0b")


def test_classes_have_probabilities(database, rng):
    rows = table(rng)
    labels = np.array(["low", "mid", "it's high"])[np.digitize(rows["y"].to_numpy(), [0.5, 2.0])]
    rows = rows.set_column(rows.column_names.index("y"), "y", pa.array(labels))
    for noise in (
        nl.Categorical(),
        nl.Ordinal(["low", "mid", "it's high"]),
        nl.Ordinal(["low", "mid", "it's high"], link="probit"),
    ):
        fit = nl.fit(rows, "y", noise, nl.Gaussian(scale=1.0), terms=["age", 'the "region"', "power"])
        dialect, ask = database
        found = ask(rows, "t", fit.to_sql(dialect=dialect))
        assert list(found) == [f"probability of {label}" for label in fit.classes]
        columns = np.column_stack([numbers(values) for values in found.values()])
        np.testing.assert_allclose(columns, fit.predict(rows), rtol=1e-11)
        with pytest.raises(ValueError, match="classes, which have no quantiles"):
            fit.to_sql(quantiles=[0.5])


def test_several_quantiles_do_not_cross(database, rng):
    rows = table(rng, 60)
    fit = nl.fit(rows, "y", nl.AsymmetricLaplace(quantile=[0.2, 0.5, 0.6, 0.9]), terms=["age", "power", 'the "region"'])
    new = rows.set_column(1, "age", pa.array(np.linspace(-2000, 2000, 60)))  # far out, where lines cross
    assert np.any(np.diff(fit.raw_prediction(new)) < 0)
    dialect, ask = database
    found = ask(new, "t", fit.to_sql(dialect=dialect))
    assert list(found) == ["q0.2", "q0.5", "q0.6", "q0.9"]
    np.testing.assert_allclose(np.column_stack(list(map(numbers, found.values()))), fit.predict(new), rtol=1e-11)


def test_loaded_fits_and_other_columns_of_exposure(rng, tmp_path):
    rows = table(rng)
    fit = nl.fit(rows, "y", nl.Gamma(), terms=["age"], exposure="years")
    fit.save(tmp_path / "m.json")
    assert nl.load(tmp_path / "m.json").to_sql("t", [0.9]) == fit.to_sql("t", [0.9])
    found = numbers(ask_duckdb(rows, "t", fit.to_sql(exposure="power"))["prediction"])
    np.testing.assert_allclose(found, fit.predict(rows, exposure="power"), rtol=1e-12)
    assert 'FROM "main"."t" AS' in fit.to_sql(("main", "t"))


def test_arrays_have_no_columns_to_call(rng):
    with pytest.raises(ValueError, match="made from an array"):
        nl.fit(rng.normal(size=(20, 2)), rng.normal(size=20), nl.Gaussian()).to_sql()
