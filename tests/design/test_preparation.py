"""Dates, missing values, rare levels, formulas, and columns that say nothing."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import neglog as nl
from neglog.design import Schema, read
from neglog.design.screening import useless_columns

DAYS = [datetime.date(1970, 1, 2), datetime.date(2024, 2, 29), datetime.date(1969, 12, 31)]
NUMBERS = [1.0, 19782.0, -1.0]


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"t": pd.to_datetime(DAYS)}),
        pd.DataFrame({"t": pd.to_datetime(DAYS).tz_localize("UTC")}),
        pd.DataFrame({"t": pd.Series(DAYS, dtype=object)}),
        pl.DataFrame({"t": DAYS}),
        pl.DataFrame({"t": [datetime.datetime.combine(day, datetime.time()) for day in DAYS]}),
        pa.table({"t": DAYS}),
        pa.table({"t": pa.array(DAYS).cast(pa.timestamp("ns"))}),
    ],
    ids=["pandas", "time zone", "objects", "polars", "polars datetime", "arrow", "arrow timestamp"],
)
def test_dates_are_days_and_noted(frame):
    design = read(frame)
    assert design.blocks[0].values[:, 0].tolist() == NUMBERS
    assert design.notes == ("t: dates are days since 1970-01-01",)
    again = Schema.from_json(design.schema.to_json())
    assert again.read(frame).blocks[0].values[:, 0].tolist() == NUMBERS


HOLES = {"a": [1.0, None, 3.0, 4.0], "b": ["x", "y", None, "x"], "c": [1, 2, 3, None], "y": [1.0, 2.0, 3.0, 5.0]}
FRAMES = {
    "pandas": lambda: pd.DataFrame(HOLES),
    "pandas nullable": lambda: pd.DataFrame(HOLES).convert_dtypes(),
    "pandas category": lambda: pd.DataFrame(HOLES).astype({"b": "category"}),
    "polars": lambda: pl.DataFrame(HOLES),
    "polars category": lambda: pl.DataFrame(HOLES, schema_overrides={"b": pl.Categorical}),
    "arrow": lambda: pa.table(HOLES),
    "arrow dictionary": lambda: pa.table({**HOLES, "b": pa.array(HOLES["b"]).dictionary_encode()}),
}


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
def test_imputed_values_are_the_mean_and_a_level(frame):
    design = read(frame(), missing="impute")
    assert design.names == ("a", "a missing", "b[(missing)]", "b[x]", "b[y]", "c", "c missing", "y")
    a, lost, b, c = (design.blocks[i] for i in (0, 1, 2, 3))
    np.testing.assert_allclose(a.values[:, 0], [1, 8 / 3, 3, 4])
    assert lost.values[:, 0].tolist() == [0, 1, 0, 0]
    assert b.codes.tolist() == [1, 2, 0, 1]
    np.testing.assert_allclose(c.values[:, 0], [1, 2, 3, 2])
    assert design.notes[0].startswith("a: 1 missing values are the mean, 2.66667")
    schema = Schema.from_json(design.schema.to_json())
    again = schema.read(frame())
    np.testing.assert_array_equal(again.blocks[0].values, a.values)
    np.testing.assert_array_equal(again.blocks[2].codes, b.codes)


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
def test_rows_that_lack_values_are_dropped_and_counted(frame):
    fit = nl.fit(frame(), "y", nl.Gaussian(scale=1.0), nl.Gaussian(scale=1.0), missing="drop")
    assert fit.n_rows == 1
    assert fit.names == ("a", "b[x]", "c")
    assert fit.notes == ["3 of 4 rows were left out: they lack values"]


def test_dropping_looks_at_the_target_too():
    frame = pd.DataFrame({"a": [0.0, 1.0, 2.0, 3.0], "y": [1.0, np.nan, 2.0, 4.0]})
    fit = nl.fit(frame, "y", missing="drop")
    assert fit.n_rows == 3
    same = nl.fit(frame[["a"]].to_numpy(), frame["y"].to_numpy(), missing="drop")
    np.testing.assert_allclose(same.coef, fit.coef)
    with pytest.raises(ValueError, match="y has missing values in 1 of 4 rows, the first in row 1"):
        nl.fit(frame, "y", missing="impute")


def test_the_default_refuses_and_says_what_to_do():
    with pytest.raises(ValueError, match=r"'a' has 1, the first in row 1; 'b' has 1.*missing=\"drop\".*\"impute\""):
        nl.fit(pl.DataFrame(HOLES), "y")
    with pytest.raises(ValueError, match="missing must be one of 'error', 'drop', 'impute', but is 'ignore'"):
        nl.fit(pl.DataFrame(HOLES), "y", missing="ignore")
    with pytest.raises(ValueError, match="'x0' has 1, the first in row 1"):
        nl.fit(np.array([[1.0], [np.nan]]), [1.0, 2.0], missing="impute")
    with pytest.raises(ValueError, match="'e' of X has no values at all"):
        nl.fit(pa.table({"e": pa.array([None, None], pa.float64()), "y": [1.0, 2.0]}), "y", missing="impute")
    with pytest.raises(ValueError, match="each of the 2 rows lacks a value"):
        nl.fit(pa.table({"e": pa.array([None, None], pa.float64()), "y": [1.0, 2.0]}), "y", missing="drop")


def test_new_values_may_be_missing_only_where_some_were():
    known = pl.DataFrame({"a": [1.0, None, 3.0], "b": ["x", "y", "x"], "y": [1.0, 2.0, 4.0]})
    fit = nl.fit(known, "y", nl.Gaussian(scale=1.0), nl.Gaussian(scale=1.0), missing="impute")
    rows = pl.DataFrame({"a": [None, 2.0], "b": ["x", "y"]}, schema={"a": pl.Float64, "b": pl.String})
    assert np.isfinite(fit.predict(rows)).all()
    with pytest.raises(ValueError, match="column 'b' has 1"):
        fit.predict(rows.with_columns(b=pl.lit(None, pl.String)).head(1))


def test_rare_levels_have_no_effect_and_are_counted():
    frame = pl.DataFrame({"g": ["a"] * 10 + ["b"] * 10 + ["c", "d"], "y": np.arange(22.0)})
    fit = nl.fit(frame, "y", nl.Gaussian(scale=1.0), nl.Gaussian(scale=1.0), rare=5)
    assert fit.names == ("g[a]", "g[b]")
    assert fit.notes == ["g: 2 of 4 levels have fewer than 5 rows, 2 in all; their effect is 0"]
    with pytest.warns(nl.UnseenLevelWarning, match="column 'g' in 2 of 3 rows"):
        at = fit.predict(pl.DataFrame({"g": ["c", "zzz", "a"]}))
    assert at[0] == at[1] == pytest.approx(fit.intercept)
    with pytest.raises(ValueError, match="each level of the column 'g' has fewer than 50 rows"):
        nl.fit(frame, "y", rare=50)


def test_a_formula_states_the_terms(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.uniform(1, 5, 60), "g": list("uvw") * 20})
    frame["y"] = rng.poisson(frame["a"] ** 0.5 * np.where(frame["g"] == "v", 2.0, 1.0))
    fit = nl.fit(frame, "y ~ log(a) + C(g)", nl.Poisson())
    assert fit.names == ("log(a)", "g[v]", "g[w]")
    X = np.column_stack([np.log(frame["a"]), frame["g"] == "v", frame["g"] == "w"])
    np.testing.assert_allclose(fit.coef, nl.fit(X, frame["y"], nl.Poisson()).coef, atol=1e-8)
    np.testing.assert_allclose(fit.predict(frame.head(3)), fit.predict(frame)[:3])
    assert nl.compare(frame, "y ~ log(a) + C(g)", ["gaussian", "poisson"], folds=3).target == "y"
    fit.save(tmp_path / "fit.json")
    np.testing.assert_array_equal(nl.load(tmp_path / "fit.json").predict(frame), fit.predict(frame))
    assert not nl.fit(frame, "y ~ 0 + a", nl.Poisson()).has_intercept


def test_other_formulas_are_read_by_formulaic():
    pytest.importorskip("formulaic", reason="formulas")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.uniform(1, 5, 60)})
    frame["y"] = rng.poisson(frame["a"])
    fit = nl.fit(frame, "y ~ poly(a, 2)", nl.Poisson())
    assert len(fit.coef) == 2
    with pytest.raises(ValueError, match="cannot be saved"):
        fit.save("nowhere.json")


def test_columns_that_say_nothing_are_found():
    rows = 50
    table = pa.table(
        {
            "policy_id": np.arange(rows),
            "size": np.arange(rows),
            "name": [f"person {i}" for i in range(rows)],
            "country": ["NL"] * rows,
            "empty": pa.nulls(rows, pa.float64()),
            "group": ["a", "b"] * 25,
        }
    )
    found = useless_columns(table)
    assert set(found) == {"policy_id", "name", "country", "empty"}
    assert found["country"] == "it is 'NL' in every row"
    assert "50 different texts in 50 rows" in found["name"]
