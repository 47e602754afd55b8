"""Comparisons of noises of which some have terms of their own for a parameter."""

import numpy as np
import pandas as pd
import pytest

import neglog as nl
from neglog.report import render
from neglog.streaming.pieces import fold_of

N = 500
FLAT, OWN, ALIKE = nl.Gaussian(), nl.Gaussian(scale=nl.terms("x")), nl.Gaussian(scale="model")
BENT = nl.Gaussian(scale=nl.terms(nl.smooth("z", size=6), nl.group("g")))


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(5)
    rows = pd.DataFrame({"x": rng.normal(size=N), "z": rng.uniform(0, 6, N), "g": rng.choice(list("abcd"), N)})
    rows["y"] = 0.5 * rows.x + np.sin(rows.z) + rng.normal(size=N) * np.exp(0.7 * rows.x - 0.5)
    return rows


def runs(found, X):
    """What the printed call gives is the fit that the comparison has."""
    again = eval(found.call, {"nl": nl, "X": X})
    assert again.nll == pytest.approx(found.fit.nll, rel=1e-9)
    assert again.names == found.fit.names
    np.testing.assert_allclose(again.raw_prediction(X), found.fit.raw_prediction(X), rtol=1e-7, atol=1e-9)
    return again


@pytest.mark.parametrize("terms", [None, ["x", nl.smooth("z", size=8), nl.group("g")]], ids=["columns", "terms"])
@pytest.mark.parametrize("noise", [OWN, ALIKE, BENT], ids=["columns", "model", "terms"])
def test_the_scale_has_terms_of_its_own(table, noise, terms):
    found = nl.compare(table, "y", [FLAT, noise], terms=terms, folds=3)
    assert not found.refused
    names = {record["noise"] for record in found.table}
    assert len(names) == 2
    assert "Gaussian" in names
    runs(found, table)
    if noise is not BENT:  # whose columns say nothing about the scale
        assert found.call.startswith('nl.fit(X, "y", nl.Gaussian(scale=')
        assert found.call in found.conclusion


def test_each_row_is_scored_by_a_fit_to_the_other_folds(table):
    found = nl.compare(table, "y", [FLAT, OWN, ALIKE], nl.Gaussian(scale=1.0), terms=["x", "z"], folds=3, seed=4)
    fold = fold_of(np.arange(N), 3, 4)
    for noise, name in ((FLAT, "Gaussian"), (OWN, "Gaussian(scale=nl.terms('x'))"), (ALIKE, 'Gaussian(scale="model")')):
        expected = np.empty(N)
        for k in range(3):
            fit = nl.fit(table[fold != k], "y", noise, nl.Gaussian(scale=1.0), terms=["x", "z"])
            expected[fold == k] = fit.distribution(table[fold == k]).nll(table.y[fold == k])
        score = next(score for score in found.scores if score.name == name)
        np.testing.assert_allclose(score.nll, expected, rtol=2e-3, atol=2e-3)
    assert found.scores[0].name == "Gaussian(scale=nl.terms('x'))"
    assert found.table[0]["nats"] < found.table[-1]["nats"] - 0.1


def test_noises_made_of_others_name_what_is_modelled():
    rng = np.random.default_rng(1)
    rows = pd.DataFrame({"x": rng.normal(size=N), "z": rng.normal(size=N)})
    rows["y"] = rng.poisson(np.exp(1 + 0.3 * rows.x)) * (rng.random(N) < 1 / (1 + np.exp(-2 * rows.z)))
    noises = [nl.ZeroInflated(nl.Poisson(), p=p) for p in (None, "model", nl.terms("z"), 0.4)]
    found = nl.compare(rows, "y", noises, terms=["x"], folds=3)
    assert {record["noise"] for record in found.table} == {
        "ZeroInflated(Poisson())",
        'ZeroInflated(Poisson(), p="model")',
        "ZeroInflated(Poisson(), p=nl.terms('z'))",
        "ZeroInflated(Poisson(), p=0.4)",
    }
    assert found.table[0]["noise"] == "ZeroInflated(Poisson(), p=nl.terms('z'))"
    assert runs(found, rows).predictors["p"].names == ("z",)


def test_a_prior_is_learned_where_there_are_columns(table):
    """Of the location there are none, of the scale one: the prior is that of the latter."""
    rows = table[["x", "y"]]
    found = nl.compare(rows, "y", [FLAT, OWN], terms=[], folds=3)
    assert found.prior == nl.Gaussian()
    runs(found, rows)
    plain = nl.compare(table, "y", [FLAT, nl.Gaussian(scale=nl.terms(nl.group("g")))], terms=[], folds=3)
    assert plain.table[0]["noise"] == "Gaussian"
    assert plain.prior == nl.Flat()
    runs(plain, table)


def test_weights_and_missing_values_are_those_of_every_noise(table):
    rng = np.random.default_rng(0)
    rows = table.assign(w=rng.integers(0, 3, N).astype(float), z=table.z.where(rng.random(N) < 0.9))
    kept = rows[rows.z.notna()]
    found = nl.compare(rows, "y", [FLAT, OWN], terms=["x", "z"], missing="drop", sample_weight="w", folds=3)
    assert found.rows == len(kept)
    assert not found.refused
    assert [len(score.nll) for score in found.scores] == [int((kept.w > 0).sum())] * 2
    again = eval(found.call, {"nl": nl, "X": rows})
    assert again.nll == pytest.approx(found.fit.nll, rel=1e-9)


def test_a_report_of_the_winner(table):
    found = nl.compare(table, "y", [FLAT, OWN], terms=["x", nl.smooth("z", size=8)], folds=3)
    text = render(found)
    assert "nl.terms(&#39;x&#39;)" in text or "nl.terms('x')" in text


@pytest.mark.parametrize(
    ("noise", "error", "said"),
    [
        (nl.Gaussian(scale=nl.terms("age")), ValueError, "terms name the columns 'age', but X has 'x', 'z', 'g'"),
        (nl.Gaussian(scale=nl.terms(nl.smooth("g"))), TypeError, "'g' holds categories"),
    ],
)
def test_terms_that_cannot_be_are_an_error_of_the_call(table, noise, error, said):
    with pytest.raises(error, match=said):
        nl.compare(table, "y", [FLAT, noise], terms=["x"])


def test_terms_beside_a_formula_of_formulaic_are_refused(table):
    pytest.importorskip("formulaic", reason="of the extra neglog[formulas]")
    with pytest.raises(ValueError, match=r"scale=nl.terms\('z'\) states terms of the scale, which the formula"):
        nl.fit(table, "y ~ poly(x, 2)", nl.Gaussian(scale=nl.terms("z")))
    with pytest.raises(ValueError, match=r"states the terms; leave terms=\['z'\] out"):
        nl.fit(table, "y ~ poly(x, 2)", terms=["z"])
    assert nl.fit(table, "y ~ poly(x, 2)", ALIKE).predictors["scale"].names == ("poly(x, 2)[1]", "poly(x, 2)[2]")
