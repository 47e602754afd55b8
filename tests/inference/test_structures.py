"""Shapes of f beside noises: which wins where the truth is known, what is skipped, and what the comparison says."""

from importlib.util import find_spec

import numpy as np
import pytest

import neglog as nl
from neglog.comparison.splits import at_random, split_by
from neglog.comparison.stacking import MixedLaw, shares_of, stacked
from neglog.comparison.verdict import in_words

pd = pytest.importorskip("pandas", reason="tables with names")
TREES = pytest.mark.skipif(find_spec("lightgbm") is None, reason="LightGBM grows the trees")


def waves(n=1500, seed=0):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({"x": rng.uniform(0, 6, n), "z": rng.normal(size=n)})
    return table.assign(y=np.sin(2 * table.x) + 0.3 * table.z + 0.4 * rng.normal(size=n)), rng


def test_a_curve_is_found_and_its_price_is_told():
    table, _ = waves()
    found = nl.compare(table, "y", structures=("linear", "smooth"))
    best = found.scores[0]
    assert best.structure == "smooth"
    assert best.noise.spread == "scale"
    assert {record["structure"] for record in found.table} == {"constant", "linear", "smooth"}
    assert found.model is found.fit
    assert found.readable is best
    again = eval(found.call, {"nl": nl, "X": table})
    np.testing.assert_array_equal(again.coef, found.fit.coef)
    assert 'terms="smooth"' in found.call
    assert "Half of the rows lie within ±0.2" in found.conclusion
    assert (
        "as each row" in found.conclusion or "came from nowhere" in found.conclusion or "as likely" in found.conclusion
    )
    baseline = next(score for score in found.scores if score.structure == "constant")
    assert baseline.mean > max(score.mean for score in found.scores if score.structure == "smooth") + 0.3


def test_a_spread_that_depends_on_a_column_is_found_and_where_it_was_missing():
    rng = np.random.default_rng(1)
    table = pd.DataFrame({"x": rng.uniform(-1, 1, 3000), "z": rng.normal(size=3000)})
    table["y"] = table.x + np.exp(1.2 * table.x) * rng.normal(size=3000)
    plain = nl.compare(table, "y", ["gaussian"])
    assert [one.column for one in plain.uneven] == ["x"]
    assert plain.uneven[0].of == "spread"
    assert "scale=nl.terms(nl.smooth('x'))" in plain.conclusion
    found = nl.compare(table, "y", structures="smooth")
    assert found.best.modelled == ("scale",)
    assert not found.uneven


def test_what_is_even_is_not_called_uneven():
    rng = np.random.default_rng(3)
    found = 0
    for _ in range(20):
        table = pd.DataFrame({name: rng.normal(size=600) for name in "abcdef"})
        table["y"] = table.a + rng.normal(size=600)
        found += bool(nl.compare(table, "y", ["gaussian"], folds=3).uneven)
    assert found <= 1, "one in a hundred would be chance"


@TREES
def test_trees_win_where_columns_act_together():
    rng = np.random.default_rng(2)
    table = pd.DataFrame(rng.uniform(-1, 1, (3000, 3)), columns=list("abc")).assign(g=rng.choice(list("uvw"), 3000))
    table["y"] = 2.0 * (table.a * table.b > 0) * (table.g == "u") + 0.3 * rng.normal(size=3000)
    found = nl.compare(table, "y", structures=("linear", "smooth", "trees"))
    best = found.scores[0]
    assert best.structure in ("trees", "stack")
    trees = next(score for score in found.scores if score.structure == "trees")
    assert trees.mean < min(score.mean for score in found.scores if score.structure == "smooth") - 0.1
    assert found.readable.structure in ("linear", "smooth")
    assert found.fit.coef.size
    assert "neglog.lightgbm.train({" in found.call
    assert found.call_of(found.readable).startswith("nl.fit(X")
    assert any(name.startswith("trees ") for name in found.refused), "what was not tried is listed"
    model = nl.compare(table, "y", ["gaussian"], structures="trees").model
    features = np.column_stack([table.a, table.b, table.c, pd.Categorical(table.g).codes])
    residuals = table.y - model.predict(features)
    assert float(np.mean(np.abs(residuals))) < 0.3


def test_a_factor_of_many_levels_has_a_scale_of_its_own():
    rng = np.random.default_rng(4)
    table = pd.DataFrame({"x": rng.normal(size=900), "place": rng.integers(0, 30, 900).astype(str)})
    table["y"] = rng.poisson(np.exp(0.5 * table.x))
    found = nl.compare(table, "y", structures="linear")
    assert "terms=['x', nl.group('place')]" in found.call
    assert found.fit.terms["(1|place)"].effective < 15
    eval(found.call, {"nl": nl, "X": table})


def test_groups_and_what_came_later_are_left_out_whole():
    rng = np.random.default_rng(0)
    groups = rng.integers(0, 40, 500)
    splits = split_by("group", groups, 5, 0)
    assert len(splits) == 5
    assert len(splits.tested) == 500
    for train, test in splits.pairs:
        assert not set(groups[train]) & set(groups[test])
        assert 60 <= len(test) <= 140
    moments = rng.integers(0, 100, 500)
    splits = split_by("time", moments, 4, 0)
    assert len(splits) == 4
    for train, test in splits.pairs:
        assert moments[train].max() < moments[test].min()
    assert sorted(splits.tested) == sorted(np.concatenate([test for _, test in splits.pairs]))
    assert (splits.fold >= 0).all()
    assert len(at_random(np.arange(100), 5, 0).tested) == 100


def test_folds_by_time_score_only_what_has_a_past():
    table, rng = waves(600)
    table["day"] = np.sort(rng.integers(0, 50, 600)).astype(float)
    found = nl.compare(table, "y", ["gaussian"], folds_by=("time", "day"), folds=3)
    assert 300 < len(found.scores[0].nll) < 600
    assert len(found.y) == len(found.scores[0].nll)
    by_chance = nl.compare(table, "y", ["gaussian"], folds=3)
    assert any("day looks like time" in note for note in by_chance.notes)
    assert not any("looks like time" in note for note in found.notes)


def test_rows_that_are_there_twice_are_told():
    table, _ = waves(300)
    found = nl.compare(pd.concat([table, table[:30]], ignore_index=True), "y", ["gaussian"])
    assert any("30 of 330 rows repeat others" in note for note in found.notes)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"structures": "bumpy"}, "structures must be some of linear, smooth, trees, but are bumpy"),
        ({"structures": "smooth", "terms": ["x"]}, "the terms were stated"),
        ({"folds_by": "x"}, "folds_by must be"),
        ({"folds_by": ("group", "z"), "folds": 2000}, "folds must be between 2 and"),
    ],
)
def test_what_cannot_be_asked(arguments, said):
    table, _ = waves(100)
    with pytest.raises(ValueError, match=said):
        nl.compare(table, "y", ["gaussian"], **arguments)


def test_an_array_has_no_curves_unless_it_is_a_table():
    table, _ = waves(200)
    with pytest.raises(ValueError, match="an array without names"):
        nl.compare(table[["x", "z"]].to_numpy(), table.y.to_numpy(), ["gaussian"], structures=("linear", "smooth"))


def test_shares_are_the_maximum_of_the_mixed_likelihood():
    rng = np.random.default_rng(0)
    y = np.where(rng.random(4000) < 0.3, rng.normal(3, 1, 4000), rng.normal(0, 1, 4000))
    laws = nl.Gaussian(loc=3.0, scale=1.0), nl.Gaussian(loc=0.0, scale=1.0)
    nll = np.stack([law.nll(y) for law in laws])
    shares = shares_of(nll, np.ones(len(y)))
    np.testing.assert_allclose(shares, [0.3, 0.7], atol=0.03)
    mixed = MixedLaw(tuple(law.given(np.full(1, law.loc)) for law in laws), tuple(shares))
    at = [float(mixed.nll(np.array([one]))[0]) for one in (-1.0, 3.0)]
    expected = -np.log(shares @ np.exp([-law.nll(np.array([-1.0, 3.0])) for law in laws]))
    np.testing.assert_allclose(at, expected, rtol=1e-12)
    low = mixed.icdf(0.1)
    np.testing.assert_allclose(mixed.cdf(low), 0.1, rtol=1e-9)
    out, by_fold = stacked(nll, np.ones(len(y)), np.arange(len(y)) % 5)
    assert out.mean() < nll.mean(axis=1).min() - 0.2
    np.testing.assert_allclose(by_fold.sum(axis=0), 1.0)


def test_prices_in_words():
    assert in_words(0.025) == "as if 1 row in 41 came from nowhere"
    assert in_words(np.log(2)) == "as if each row had been one of 2 that are as likely"
    assert in_words(1e-6) == "next to nothing"


@TREES
def test_rows_too_few_for_trees_are_no_end_of_a_comparison():
    table, _ = waves(38)
    found = nl.compare(table, "y", ["gaussian"], structures=("linear", "trees"))
    assert any("trees that leave some rows out" in reason for reason in found.refused.values())
    assert [score.structure for score in found.scores] == ["linear"]
