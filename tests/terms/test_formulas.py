"""Formulas: every construct is the terms that it stands for, and what terms cannot say is left to formulaic."""

import numpy as np
import pandas as pd
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
OTHERS = ["y ~ a - b", "y ~ s(a, bs='cr')", "y ~ bs(a)", "y ~ a:b:g", "y ~ a**2", "log(y) ~ a", "y ~ s(log(a), 2, 3)"]


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


@pytest.mark.parametrize("formula", ["y ~ a + 0", "y ~ 0 + a", "y ~ a - 1"])
def test_the_intercept_is_an_argument(formula, table):
    with pytest.raises(ValueError, match="leaves the intercept out, which is an argument here: say intercept=False"):
        nl.fit(table, formula)
    fit = nl.fit(table, formula, intercept=False)
    assert fit.intercept == 0.0
    np.testing.assert_allclose(fit.coef, nl.fit(table[["a"]], table.y, intercept=False).coef, rtol=1e-9)


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
