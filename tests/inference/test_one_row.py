"""One row as a dict is predicted as a table of that row is."""

import datetime

import numpy as np
import pyarrow as pa
import pytest

import neglog as nl

ROWS = 300


def table(rng):
    columns = {
        "age": rng.uniform(20, 80, ROWS),
        "power": rng.uniform(1, 9, ROWS),
        "region": rng.choice(["north", "south", "west"], ROWS),
        "shop": rng.integers(0, 12, ROWS),
        "years": rng.uniform(0.2, 1, ROWS),
        "shift": rng.normal(size=ROWS) / 9,
    }
    mean = columns["years"] * np.exp(np.sin(columns["age"] / 9) + 0.2 * (columns["region"] == "south"))
    return pa.table(columns).append_column("y", pa.array(rng.gamma(2.0, mean / 2)))


TERMS = {
    "columns": None,
    "curves": [nl.smooth("age"), "log(power)", "sqrt(age)", "region"],
    "groups": ["age", nl.group("shop"), nl.interaction("region", "shop"), nl.interaction("shop", "power")],
    "surfaces": [nl.interaction("region", nl.smooth("age", size=5)), nl.interaction(nl.smooth("age", 4), "power")],
}


def rows_of(rows, numbers=range(20)):
    return [(rows.slice(k, 1), rows.slice(k, 1).to_pylist()[0]) for k in numbers]


@pytest.mark.parametrize("terms", TERMS)
def test_a_row_is_predicted_as_its_table(rng, tmp_path, terms):
    rows = table(rng)
    fit = nl.fit(rows, "y", nl.Gamma(), nl.Gaussian(scale=1.0), terms=TERMS[terms], exposure="years", offset="shift")
    fit.save(tmp_path / "m.json")
    loaded = nl.load(tmp_path / "m.json")
    new = rows.set_column(0, "age", pa.array(np.linspace(-20, 150, ROWS)))
    for one, row in rows_of(rows) + ([] if terms == "curves" else rows_of(new, (0, ROWS - 1))):
        found = loaded.predict(row)
        assert found.shape == (1,)
        np.testing.assert_allclose(found, fit.predict(one), rtol=1e-12)
        np.testing.assert_allclose(loaded.predict(row, exposure=2.0), fit.predict(one, exposure=2.0), rtol=1e-12)
        np.testing.assert_allclose(
            loaded.predict(row, offset="age", exposure="power"),
            fit.predict(one, offset="age", exposure="power"),
            rtol=1e-12,
        )
        np.testing.assert_allclose(loaded.distribution(row).icdf([0.9]), fit.distribution(one).icdf([0.9]), rtol=1e-9)


def test_rows_of_every_shape_of_answer(rng):
    """Several raw predictions, classes, and quantiles in order."""
    rows = table(rng)
    kinds = rows.set_column(rows.column_names.index("y"), "y", pa.array(np.asarray(rows["region"])[::-1]))
    fits = [
        nl.fit(rows, "y", nl.LogNormal(scale=nl.terms("power")), terms=[nl.smooth("age"), "region"]),
        nl.fit(rows, "y", nl.AsymmetricLaplace(quantile=[0.2, 0.9])),
        nl.fit(kinds, "y", nl.Categorical(), nl.Gaussian(scale=1.0)),
        nl.fit(kinds, "y", nl.Ordinal(), nl.Gaussian(scale=1.0)),
    ]
    for fit in fits:
        for one, row in rows_of(rows):
            np.testing.assert_allclose(fit.predict(row), fit.predict(one), rtol=1e-11)


def test_lists_by_name_are_a_table(rng):
    rows = table(rng)
    fit = nl.fit(rows, "y", nl.Gamma(), nl.Gaussian(scale=1.0))
    np.testing.assert_allclose(fit.predict(rows.slice(0, 5).to_pydict()), fit.predict(rows.slice(0, 5)), rtol=1e-12)


def test_missing_values_and_levels_that_are_unseen(rng):
    rows = table(rng)
    for name in ("age", "region"):
        values = [None if k % 7 == 0 else value for k, value in enumerate(rows[name].to_pylist())]
        rows = rows.set_column(rows.column_names.index(name), name, pa.array(values))
    fit = nl.fit(
        rows, "y", nl.Gamma(), nl.Gaussian(scale=1.0), missing="impute", terms=["age", "region", nl.group("shop")]
    )
    for one, row in rows_of(rows):
        np.testing.assert_allclose(fit.predict(row), fit.predict(one), rtol=1e-12)
    row = rows.slice(1, 1).to_pylist()[0]
    np.testing.assert_allclose(
        fit.predict(row | {"shop": 99}), fit.predict(rows.slice(1, 1).set_column(3, "shop", [[99]]))
    )
    with pytest.warns(nl.UnseenLevelWarning, match="column 'region' in 1 of 1 rows"):
        fit.predict(row | {"region": "elsewhere"})


def test_rows_are_refused_as_tables_are(rng):
    fit = nl.fit(
        table(rng), "y", nl.Gamma(), nl.Gaussian(scale=1.0), terms=["log(power)", "age", "region"], exposure="years"
    )
    row = {"age": 40.0, "power": 2, "region": "north", "years": np.float64(1.0)}
    fit.predict(row)
    for change, message in (
        ({"age": None}, "missing"),
        ({"age": np.nan}, "missing"),
        ({"age": np.inf}, "infinite"),
        ({"age": "old"}, "held numbers when the model was made"),
        ({"power": 0}, "infinite"),
        ({"years": 0.0}, "exposure must be > 0"),
        ({"region": None}, "missing|type"),
        ({"region": 3}, "held strings"),
    ):
        with pytest.raises((ValueError, TypeError), match=message):
            fit.predict(row | change)
    del row["power"]
    with pytest.raises(ValueError, match=r"X lacks the columns 'power'.*did you mean 'pwoer'\?"):
        fit.predict(row | {"pwoer": 2.0})


def test_dates_are_read_by_the_reader_of_tables(rng):
    days = [datetime.date(2020, 1, 1) + datetime.timedelta(k) for k in range(ROWS)]
    rows = table(rng).append_column("day", pa.array(days))
    fit = nl.fit(rows, "y", nl.Gamma(), terms=["day", "age"])
    for one, row in rows_of(rows):
        np.testing.assert_allclose(fit.predict(row), fit.predict(one), rtol=1e-12)
