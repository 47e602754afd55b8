"""Without an intercept no level may be lost: the first category then says what the intercept would."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from inference.problems import NOISES, each, targets
from inference.problems import problem as made
from pyarrow import parquet

import neglog as nl
from neglog.design import read

FULL = ("slope", "area[land]", "area[sea]", "area[town]", "size[m]", "size[s]")


def table(n=300, seed=0):
    rng = np.random.default_rng(seed)
    slope, area, size = rng.normal(size=n), rng.choice(["land", "sea", "town"], n), rng.choice(list("lms"), n)
    y = 2.0 + slope + (area == "sea") - 0.5 * (size == "s") + rng.normal(size=n)
    return pd.DataFrame({"slope": slope, "area": area, "size": size, "y": y})


def check_whole(found):
    """The same model as with an intercept, in other coordinates."""
    same = nl.fit(table(), "y")
    assert found.names == FULL
    assert found.intercept == 0
    assert found.nll == pytest.approx(same.nll, rel=1e-12)
    np.testing.assert_allclose(found.predict(table()), same.predict(table()), rtol=1e-9)
    assert found.coef[1] == pytest.approx(same.intercept, rel=1e-9)


def test_in_memory():
    check_whole(nl.fit(table(), "y", intercept=False))


def test_in_files(tmp_path):
    rows = pa.Table.from_pandas(table(), preserve_index=False)
    for i in range(2):
        parquet.write_table(rows.slice(150 * i, 150), tmp_path / f"{i}.parquet")
    check_whole(nl.fit(tmp_path, "y", intercept=False))


@pytest.mark.parametrize("formula", ["y ~ slope + area + size", "y ~ 0 + slope + area + size"])
def test_in_formulas(formula):
    found = nl.fit(table(), formula, intercept=False)
    whole = nl.fit(table(), "y", intercept=False)
    assert found.names == ("slope", "area[land]", "area[sea]", "area[town]", "size[m]", "size[s]")
    np.testing.assert_allclose(found.coef, whole.coef, rtol=1e-9)


def test_a_formula_says_itself_that_there_is_no_intercept():
    check_whole(nl.fit(table(), "y ~ 0 + slope + area + size"))


def test_saved_and_loaded(tmp_path):
    nl.fit(table(), "y", intercept=False).save(tmp_path / "fit.json")
    check_whole(nl.load(tmp_path / "fit.json"))


def test_a_design_for_an_intercept_says_what_it_holds_at_0():
    data = table()
    rows = read(data.drop(columns="y"), reference=True)
    assert any("area[land], size[l]" in note for note in nl.fit(rows, data["y"], intercept=False).notes)
    check_whole(nl.fit(read(data.drop(columns="y"), reference=True, intercept=False), data["y"], intercept=False))


@each(NOISES)
def test_every_noise_explains_as_much_without_its_intercept(noise):
    problem = made(nl.Flat())
    y = targets(noise, problem.table)
    with_one, without = nl.fit(problem.table, y, noise), nl.fit(problem.table, y, noise, intercept=False)
    assert without.nll == pytest.approx(with_one.nll, rel=1e-5, abs=1e-5)
