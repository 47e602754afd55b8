"""Formulas: every construct is the terms that it stands for, and what terms cannot say is left to formulaic."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import neglog as nl
from neglog.design.formula import read_formula
from neglog.design.terms import Factor

N = 300
FORMULAS = {
    "y ~ a": ["a"],
    "y ~ a + b": ["a", "b"],
    "y ~ 1 + a": ["a"],
    "y~a+b": ["a", "b"],
    "y ~ a + a": ["a"],
    "y ~ s(a)": [nl.smooth("a")],
    "y ~ s(a, k=7)": [nl.smooth("a", size=7)],
    "y ~ s(a, size = 7) + b": [nl.smooth("a", size=7), "b"],
    "y ~ s(a, 7)": [nl.smooth("a", size=7)],
    "y ~ (1|g)": [nl.group("g")],
    "y ~ (1 | g) + s(b)": [nl.group("g"), nl.smooth("b")],
    "y ~ a + (1 + a|g)": ["a", nl.group("g"), nl.interaction(nl.group("g"), "a")],
    "y ~ a + (a|g)": ["a", nl.group("g"), nl.interaction(nl.group("g"), "a")],
    "y ~ a + (0 + a|g)": ["a", nl.interaction(nl.group("g"), "a")],
    "y ~ a + (1 + a || g)": ["a", nl.group("g"), nl.interaction(nl.group("g"), "a")],
    "y ~ a + (a - 1|g)": ["a", nl.interaction(nl.group("g"), "a")],
    "y ~ (s(a, 5)|g)": [nl.group("g"), nl.interaction(nl.group("g"), nl.smooth("a", size=5))],
    "y ~ g:a": [nl.interaction("g", "a")],
    "y ~ g*a": ["g", "a", nl.interaction("g", "a")],
    "y ~ g * s(a, 5)": ["g", nl.smooth("a", 5), nl.interaction("g", nl.smooth("a", 5))],
    "y ~ a:b": [nl.interaction("a", "b")],
    "y ~ s(a, 4):s(b, 4)": [nl.interaction(nl.smooth("a", 4), nl.smooth("b", 4))],
    "y ~ s(a) + s(b) + ti(a, b)": [
        nl.smooth("a"),
        nl.smooth("b"),
        nl.interaction(nl.smooth("a", size=8), nl.smooth("b", size=8)),
    ],
    "y ~ te(a, b)": [
        nl.smooth("a"),
        nl.smooth("b"),
        nl.interaction(nl.smooth("a", size=8), nl.smooth("b", size=8)),
    ],
    "y ~ log(b)": ["log(b)"],
    "y ~ s(a) + sqrt(b) + square(a)": [nl.smooth("a"), "sqrt(b)", "square(a)"],
    "y ~ log(b):g + g": [nl.interaction("log(b)", "g"), "g"],
    "y ~ C(k)": [Factor("k")],
    "y ~ C(k):a": [nl.interaction(Factor("k"), "a")],
    "y ~ `two words` + a": ["two words", "a"],
}
OTHERS = ["y ~ a - b", "y ~ bs(a)", "y ~ a:b:g", "y ~ a**2", "log(y) ~ a"]


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "a": rng.normal(size=N),
            "b": rng.uniform(0.5, 4, N),
            "g": rng.choice(list("pqrs"), N),
            "k": rng.integers(0, 4, N),
            "two words": rng.normal(size=N),
        }
    )
    slopes = frame.g.map({"p": -1.0, "q": 0.5, "r": 1.5, "s": 0.0})
    return frame.assign(y=np.sin(2 * frame.a) + np.log(frame.b) + slopes * (1 + frame.a) + 0.4 * rng.normal(size=N))


@pytest.mark.parametrize("formula", FORMULAS)
def test_a_formula_is_the_terms_that_it_stands_for(formula, table):
    read = read_formula(formula)
    assert list(read.terms) == FORMULAS[formula]
    assert read.target == "y"
    one, other = nl.fit(table, formula), nl.fit(table, "y", terms=FORMULAS[formula])
    np.testing.assert_array_equal(one.predict(table), other.predict(table))
    assert one.terms == other.terms


def test_functions_of_columns_are_those_functions(table, tmp_path):
    fit = nl.fit(table, "y ~ log(b) + a")
    plain = nl.fit(pd.DataFrame({"log": np.log(table.b), "a": table.a}), table.y)
    np.testing.assert_allclose(fit.coef, plain.coef, rtol=1e-9)
    assert fit.names == ("log(b)", "a")
    fit.save(tmp_path / "fit.json")
    np.testing.assert_array_equal(nl.load(tmp_path / "fit.json").predict(table), fit.predict(table))
    with pytest.raises(ValueError, match=r"log\(a\)"):
        nl.fit(table, "y ~ log(a)")  # of negative numbers
    with pytest.raises(TypeError, match=r"log\(g\) needs a column of numbers, but 'g' is categorical"):
        nl.fit(table, "y ~ log(g)")


@pytest.mark.parametrize("formula", ["y ~ a + 0", "y ~ 0 + a", "y ~ a - 1", "y ~ -1 + a"])
@pytest.mark.parametrize("intercept", [True, False])
def test_a_formula_may_leave_the_intercept_out(formula, intercept, table):
    fit = nl.fit(table, formula, intercept=intercept)
    assert fit.intercept == 0.0
    assert not fit.has_intercept
    np.testing.assert_allclose(fit.coef, nl.fit(table[["a"]], table.y, intercept=False).coef, rtol=1e-9)
    foreign = nl.fit(table, formula.replace("a", "np.sin(a)"), intercept=intercept)
    assert foreign.intercept == 0.0


def test_without_an_intercept_the_first_factor_keeps_its_levels(table):
    fit = nl.fit(table, "y ~ 0 + g + C(k)")
    assert fit.names[:4] == ("g[p]", "g[q]", "g[r]", "g[s]")
    assert "C(k)[0]" not in fit.names
    np.testing.assert_allclose(fit.predict(table), nl.fit(table, "y ~ g + C(k)").predict(table), rtol=1e-6)


def test_an_intercept_alone(table):
    assert nl.fit(table, "y ~ 1").predict(table[:2]) == pytest.approx(np.full(2, table.y.mean()))


@pytest.mark.parametrize("formula", OTHERS)
def test_what_terms_cannot_say_is_left_to_formulaic(formula):
    assert read_formula(formula) is None


def test_a_formula_beside_a_modelled_scale_and_other_settings(table):
    noise = nl.Gaussian(scale=nl.terms("a", nl.smooth("b", size=6)))
    one = nl.fit(table, "y ~ s(a) + g", noise, sample_weight=np.ones(N))
    other = nl.fit(table, "y", noise, terms=[nl.smooth("a"), "g"])
    assert one.distribution(table) == other.distribution(table)
    found = nl.compare(table, "y ~ s(a) + g", ["gaussian", "laplace"], folds=3)
    assert "y ~ s(a) + g" in found.call


def test_unknown_columns_of_a_formula_are_named(table):
    with pytest.raises(ValueError, match="terms name the columns 'power', but X has 'a', 'b', 'g', 'k', 'two words'"):
        nl.fit(table, "y ~ s(power) + a")


# ---- all other columns -----------------------------------------------------------------------------------------------


def test_a_dot_is_all_other_columns(table, tmp_path):
    rest = ["a", "b", "g", "k", "two words"]
    assert nl.fit(table, "y ~ .").names == nl.fit(table, "y", terms=rest).names
    table = table.assign(**{"two words": np.linspace(0.5, 2, N)})
    fit = nl.fit(table, "y ~ s(a) + . + log(b)", sample_weight="two words")
    assert fit.names[-4:] == ("g[r]", "g[s]", "k", "log(b)")
    np.testing.assert_array_equal(
        fit.predict(table), nl.fit(table, "y ~ s(a) + g + k + log(b)", sample_weight="two words").predict(table)
    )
    assert nl.fit(table, "y ~ . - k - `two words`").names == nl.fit(table, "y ~ a + b + g").names
    fit = nl.fit(table.assign(start=0.5), "y ~ 0 + . - g + offset(start)")
    assert fit.names == ("a", "b", "k", "two words")
    fit.save(tmp_path / "fit.json")
    np.testing.assert_array_equal(
        nl.load(tmp_path / "fit.json").predict(table.assign(start=0.5)), fit.predict(table.assign(start=0.5))
    )


def test_a_dot_in_files(table, tmp_path):
    pq.write_table(pa.Table.from_pandas(table), tmp_path / "rows.parquet")
    found = nl.fit(tmp_path / "rows.parquet", "y ~ s(a, 6) + . - k")
    np.testing.assert_allclose(found.predict(table), nl.fit(table, "y ~ s(a, 6) + . - k").predict(table), rtol=1e-4)


# ---- offsets ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def counts(table):
    rng = np.random.default_rng(3)
    years = rng.uniform(0.2, 2, N)
    found = table.drop(columns="y").assign(years=years, start=np.log(years))
    return found.assign(n=rng.poisson(years * np.exp(0.4 + 0.5 * table.a)))


@pytest.mark.parametrize(
    ("formula", "options"),
    [
        ("n ~ a + s(b) + offset(start)", {}),
        ("n ~ offset(log(years)) + a + s(b)", {}),
        ("n ~ a + s(b)", {"exposure": "years"}),
        ("n ~ a + s(b)", {"offset": "start"}),
    ],
)
def test_an_offset_is_added_and_taken_from_the_table_again(formula, options, counts, tmp_path):
    fit = nl.fit(counts, formula, nl.Poisson(), tol=1e-9, **options)
    wanted = nl.fit(
        counts[["a", "b"]], counts.n, nl.Poisson(), terms=["a", nl.smooth("b")], offset=counts.start, tol=1e-9
    )
    np.testing.assert_allclose(fit.coef, wanted.coef, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(fit.predict(counts), wanted.predict(counts, offset=counts.start), rtol=1e-6)
    row = counts.iloc[0].to_dict()
    assert fit.predict(row)[0] == pytest.approx(fit.predict(counts)[0])
    fit.save(tmp_path / "fit.json")
    again = nl.load(tmp_path / "fit.json")
    np.testing.assert_array_equal(again.predict(counts), fit.predict(counts))
    np.testing.assert_array_equal(again.predict(row), fit.predict(row))
    with pytest.raises(ValueError, match=r"the fit took its (offset|exposure) from the column '(start|years)'"):
        fit.predict(counts[["a", "b"]])
    one = fit.predict(counts, offset=0.0) if "offset" in fit.named else fit.predict(counts, exposure=1.0)
    np.testing.assert_allclose(one * counts.years, fit.predict(counts))


def test_an_offset_beside_what_formulaic_reads(counts):
    one = nl.fit(counts, "n ~ offset(start) + np.sin(a) + b", nl.Poisson())
    other = nl.fit(counts, "n ~ np.sin(a) + b", nl.Poisson(), offset="start")
    np.testing.assert_array_equal(one.predict(counts), other.predict(counts))


def test_an_offset_in_files_and_comparisons(counts, tmp_path):
    pq.write_table(pa.Table.from_pandas(counts), tmp_path / "rows.parquet")
    formula = "n ~ a + offset(log(years))"
    fit = nl.fit(tmp_path / "rows.parquet", formula, nl.Poisson(), tol=1e-9)
    np.testing.assert_allclose(
        fit.predict(counts), nl.fit(counts, formula, nl.Poisson(), tol=1e-9).predict(counts), rtol=1e-6
    )
    found = nl.compare(counts, formula, ["poisson", "negativebinomial"], folds=3)
    assert found.fit.named["exposure"] == "years"
    assert "offset(log(years))" in found.call


# ---- missing values --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("formula", ["y ~ a + log(b) + g", "y ~ s(a, 6) + (1|g)", "y ~ np.sin(a) + g", "y ~ . - k"])
def test_rows_that_lack_what_the_formula_needs_are_left_out(formula, table):
    holes = table.copy()
    holes.loc[::10, "a"] = np.nan
    holes.loc[3, "g"] = None
    holes.loc[5, "y"] = np.nan
    holes.loc[7::20, "k"] = np.nan  # which no formula takes
    weight = np.where(np.arange(N) == 8, np.nan, 1.0)
    kept = holes.a.notna() & holes.g.notna() & holes.y.notna() & ~np.isnan(weight)
    fit = nl.fit(holes, formula, missing="drop", sample_weight=weight)
    assert fit.n_rows == kept.sum()
    np.testing.assert_allclose(fit.predict(table), nl.fit(table[kept], formula).predict(table), rtol=1e-6)


def test_files_leave_the_same_rows_out(table, tmp_path):
    holes = table.copy()
    holes.loc[::10, "a"] = np.nan
    holes.loc[7::20, "k"] = np.nan
    pq.write_table(pa.Table.from_pandas(holes), tmp_path / "rows.parquet")
    found, here = (nl.fit(X, "y ~ a + log(b)", missing="drop") for X in (tmp_path / "rows.parquet", holes))
    assert found.n_rows == here.n_rows == N - N // 10
    np.testing.assert_allclose(found.coef, here.coef, rtol=1e-6)


def test_filling_values_is_not_for_what_formulaic_reads(table):
    with pytest.raises(ValueError, match='missing must be "error" or "drop", but is \'impute\''):
        nl.fit(table, "y ~ np.sin(a)", missing="impute")


# ---- what is wrong, and where ----------------------------------------------------------------------------------------

WRONG = {
    "y ~ a | g": r"has 'a \| g', from letter 5: \| stands inside brackets: \(1\|z\) for the levels",
    "y ~ a + (1|g/k)": r"has '\(1\|g/k\)', from letter 9: a group is \(1\|g\)",
    "y ~ b + s(a, bs='cr')": r"has \"s\(a, bs='cr'\)\", from letter 9: write s\(age\), or s\(age, 10\)",
    "y ~ s(log(a), 2, 3)": "of a column by its name",
    "y ~ te(a)": r"write te\(age, power\)",
    "y ~ offset(a + b) + a": r"has 'offset\(a \+ b\)', from letter 5: write offset\(start\)",
    "y ~ offset(a) + offset(b)": r"has 'offset\(b\)', from letter 17: one offset there is already",
    "y ~ offset(log(b))": "beside the log link, not beside 'identity'",
    "y ~ a + b ~ g": "stands between the target and the terms, once",
    "~ a": "nothing stands before ~",
    "y ~ ": "nothing stands after ~",
    "y ~ s(a": "a bracket is never closed",
    "y ~ a) + b": r"has 'a\)', from letter 5: a bracket is closed that was never opened",
    "y ~ . - nothing": "has '- nothing', from letter 7: X has no such column",
}


@pytest.mark.parametrize("formula", WRONG)
def test_an_error_names_the_place_in_the_formula(formula, table):
    with pytest.raises(ValueError, match=WRONG[formula]):
        nl.fit(table, formula)


def test_weights_are_looked_at_before_curves_are_made_of_them(table):
    with pytest.raises(ValueError, match="sample_weight must be ≥ 0 and finite"):
        nl.fit(table, "y ~ s(b)", sample_weight="a")


def test_what_cannot_be_said_twice(table, counts):
    with pytest.raises(ValueError, match=r"has 'offset\(start\)', from letter 9: offset='a' says another"):
        nl.fit(counts, "n ~ a + offset(start)", nl.Poisson(), offset="a")
    with pytest.raises(ValueError, match="all other columns have no names where X is an array"):
        nl.fit(table[["a", "b"]].to_numpy(), "y ~ .")
    with pytest.raises(ValueError, match="a path takes offset='start' as an argument"):
        nl.path(counts, "n ~ a + offset(start)", nl.Poisson())
    with pytest.raises(ValueError, match="one column per class, but is the name 'a'"):
        nl.fit(table, "g ~ b + offset(a)", nl.Categorical())
