"""Relativities: a base and factors whose product is the prediction."""

import csv

import numpy as np
import pyarrow as pa
import pytest

import neglog as nl

ROWS = 400


def table(rng):
    columns = {
        "age": np.round(rng.uniform(20, 80, ROWS)),
        "power": rng.integers(1, 9, ROWS).astype(float),
        "region": rng.choice(["north", "south", "west"], ROWS),
        "fuel": rng.choice(["gas", "diesel"], ROWS),
    }
    mean = np.exp(0.02 * columns["age"] + 0.3 * (columns["region"] == "south") + 0.05 * columns["power"])
    return pa.table(columns).append_column("y", pa.array(rng.gamma(2.0, mean / 2)))


def factor(one, row, name="factor"):
    """What a term makes of a row."""
    levels = one.table["level"]
    if one.kind == "linear":
        return one.table[name][0] ** row[one.columns[0]]
    if "and" in one.table:
        pairs = list(zip(levels, one.table["and"], strict=True))
        return one.table[name][pairs.index(tuple(row[column] for column in one.columns))]
    return one.table[name][levels.index(row[one.columns[0]])]


@pytest.mark.parametrize("prior", [nl.Flat(), nl.Gaussian(scale=1.0)], ids=repr)
def test_the_product_of_base_and_factors_is_the_prediction(rng, prior):
    rows = table(rng)
    terms = ["power", "region", nl.group("fuel"), nl.interaction("region", "fuel")]
    fit = nl.fit(rows, "y", nl.Gamma(), prior, terms=terms)
    found = fit.relativities()
    assert list(found) == ["intercept", "power", "region", "(1|fuel)", "region:fuel"]
    for row in rows.slice(0, 30).to_pylist():
        product = found["intercept"].table["factor"][0]
        product *= np.prod([factor(one, row) for name, one in found.items() if name != "intercept"])
        np.testing.assert_allclose(product, fit.predict(row)[0], rtol=1e-10)


def test_what_levels_are_compared_with(rng):
    rows = table(rng)
    plain = nl.fit(rows, "y", nl.Gamma()).relativities()["region"]
    assert plain.against == "the level north"
    assert plain.table["level"] == ["north", "south", "west"]
    assert (plain.table["factor"][0], plain.table["lower"][0]) == (1.0, 0.0)
    fit = nl.fit(rows, "y", nl.Gamma(), nl.Gaussian(scale=1.0))
    pulled = fit.relativities()["region"]
    assert pulled.against == "the average over the rows"
    shares = [np.mean(np.asarray(rows["region"]) == level) for level in pulled.table["level"]]
    assert abs(np.dot(shares, pulled.table["estimate"])) < 1e-10
    summary = fit.summary().table
    place = summary["name"].index("region[south]")
    for column in ("estimate", "lower", "upper"):
        np.testing.assert_allclose(pulled.table[column][1], summary[column][place], rtol=1e-12)


def test_curves_are_looked_at_in_round_places(rng):
    fit = nl.fit(
        table(rng), "y", nl.Gamma(), terms=[nl.smooth("age"), nl.interaction("fuel", nl.smooth("age", size=4))]
    )
    curve, by_fuel = list(fit.relativities(level=0.8).values())[1:]
    assert curve.table["level"] == [20.0 + 5 * k for k in range(13)]
    effect = fit.effect("age", curve.table["level"], level=0.8)
    np.testing.assert_allclose(curve.table["lower"], effect.lower, rtol=1e-9)
    assert by_fuel.columns == ("fuel", "age")
    assert by_fuel.table["level"][0] == "diesel"
    np.testing.assert_allclose(by_fuel.table["factor"], np.exp(by_fuel.table["estimate"]))


def test_without_a_log_link_there_are_no_factors(rng):
    fit = nl.fit(table(rng), "y", nl.Gaussian(scale="model"), terms=["age", "region"])
    assert "factor" not in fit.relativities().table
    scales = fit.relativities(of="scale")
    assert scales["age"].table["factor"][0] == np.exp(fit.predictors["scale"].coef[0])
    with pytest.raises(ValueError, match="of must be one of location, scale"):
        fit.relativities(of="mean")
    with pytest.raises(KeyError, match="did you mean 'region'"):
        scales["regoin"]


def test_in_words_and_in_files(rng, tmp_path):
    rows = table(rng).rename_columns(["age", "engine_power", "region", "fuel", "y"])
    found = nl.fit(rows, "y", nl.Gamma()).relativities()
    (line,) = found["engine_power"].lines
    assert line.startswith("×1.0")
    assert " per engine power, " in line
    assert found["region"].lines[0] == "×1.00 for region[north], 1.00 to 1.00"
    found.to_csv(tmp_path / "tariff.csv")
    with open(tmp_path / "tariff.csv", encoding="utf-8", newline="") as file:
        written = list(csv.DictReader(file))
    assert [row["term"] for row in written[:4]] == ["intercept", "age", "engine_power", "region"]
    assert float(written[1]["factor"]) == found["age"].table["factor"][0]
    assert "engine_power" in str(found)


def test_several_quantiles_and_classes_are_asked_one_by_one(rng):
    rows = table(rng)
    with pytest.raises(ValueError, match=r"ask one, as in fit\[0.5\]"):
        nl.fit(rows, "y", nl.AsymmetricLaplace(quantile=[0.2, 0.5])).relativities()
    kinds = rows.set_column(4, "y", rows["fuel"]).drop_columns(["fuel"])
    with pytest.raises(ValueError, match="as many effects of a term as classes"):
        nl.fit(kinds, "y", nl.Categorical(), nl.Gaussian(scale=1.0)).relativities()
    ordered = nl.fit(kinds, "y", nl.Ordinal(), nl.Gaussian(scale=1.0)).relativities()
    assert list(ordered) == ["age", "power", "region"]


def test_arrays_have_columns_by_number(rng):
    X = rng.normal(size=(50, 2))
    fit = nl.fit(X, rng.poisson(2.0, 50), nl.Poisson())
    np.testing.assert_allclose(fit.relativities()["x1"].table["estimate"], fit.coef[1:])
