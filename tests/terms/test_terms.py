"""Fits of terms as people meet them: what a fit tells of its terms, how it is kept, and what is refused."""

import pickle

import numpy as np
import pandas as pd
import pytest

import neglog as nl

N = 600
LEVELS = [f"r{k:02}" for k in range(12)]
TERMS = ["late", nl.smooth("age", size=10), nl.group("region"), "fuel", nl.interaction("fuel", "age")]


def table_of(rng, rows=N):
    table = pd.DataFrame(
        {
            "age": rng.uniform(18, 80, rows),
            "late": rng.random(rows),
            "fuel": rng.choice(["diesel", "gas"], rows),
            "region": rng.choice(LEVELS, rows),
            "doors": rng.integers(2, 6, rows),
        }
    )
    differs = dict(zip(LEVELS, np.random.default_rng(1).normal(0, 0.5, len(LEVELS)), strict=True))
    eta = (
        np.sin(table.age / 9) + 0.5 * table.late + table.region.map(differs) + 0.02 * (table.fuel == "gas") * table.age
    )
    return table.assign(y=eta + np.exp(-1.5 + 0.01 * table.age) * rng.normal(size=rows))


@pytest.fixture(scope="module")
def table():
    return table_of(np.random.default_rng(0))


@pytest.fixture(scope="module")
def fit(table):
    return nl.fit(table, "y", terms=TERMS)


@pytest.fixture(scope="module")
def both(table):
    """With a model of the scale by other terms than the location's."""
    return nl.fit(table, "y", nl.Gaussian(scale=nl.terms(nl.smooth("age", size=10), "doors")), terms=TERMS)


# ---- what a fit tells ------------------------------------------------------------------------------------------------


def test_one_record_for_each_term_by_number_and_by_name(fit):
    assert [term.name for term in fit.terms] == ["late", "s(age)", "(1|region)", "fuel", "fuel:age"]
    assert [term.kind for term in fit.terms] == ["linear", "smooth", "group", "factor", "interaction"]
    assert [term.coefficients for term in fit.terms] == [1, 9, 12, 1, 2]
    assert fit.terms["s(age)"] == fit.terms["age"] == fit.terms[1]
    assert fit.terms["region"] == fit.terms["(1|region)"] == fit.terms[2]
    assert fit.terms[1:3][0] == fit.terms[1]
    assert fit.terms["late"].effective == pytest.approx(1.0)
    assert fit.terms["late"].scale is None
    assert 5 < fit.terms["age"].effective < 9
    assert 8 < fit.terms["region"].effective < 12
    assert fit.terms["region"].scale == pytest.approx(0.5, rel=0.5)
    assert 0 < fit.terms["region"].error < 1
    assert fit.predictors["location"].terms == fit.terms
    with pytest.raises(
        KeyError, match=r"there is no term 'power'; there are late, s\(age\), \(1\|region\), fuel, fuel:age"
    ):
        fit.terms["power"]
    shown = str(fit.terms)
    assert all(word in shown for word in ("s(age)", "(1|region)", "smooth", "effective"))
    assert "s(age)" in str(fit.summary())


def test_levels_and_wiggles_have_names(fit):
    assert fit.names[:4] == ("late", "age", "s(age)[1]", "s(age)[2]")
    assert fit.names[10:12] == ("region[r00]", "region[r01]")
    assert fit.names[-2:] == ("fuel[diesel]:age", "fuel[gas]:age")
    assert "region[r00]" in str(fit.posterior())  # and not only "region", as if r00 were an instruction how to print


def test_effects_add_up_to_the_prediction(fit, table):
    some = table.iloc[:50]
    total = fit.intercept + fit.coef[0] * some.late.to_numpy()
    total = total + fit.effect("age", at=some.age).estimate
    total = total + fit.effect("region", at=some.region).estimate
    total = total + fit.effect("fuel", at=some.fuel).estimate
    total = total + fit.effect("fuel:age", at=(some.fuel, some.age)).estimate
    np.testing.assert_allclose(total, fit.raw_prediction(some), rtol=1e-10)


def test_a_curve_has_the_mean_0_over_the_rows(fit, table):
    assert fit.effect("age", at=table.age).estimate.mean() == pytest.approx(0.0, abs=1e-9)


def test_effects_over_their_range(fit, table):
    curve = fit.effect("age")
    assert curve.name == "age"
    assert curve.kind == "smooth"
    assert (curve.x[0], curve.x[-1], len(curve.x)) == (table.age.min(), table.age.max(), 100)
    assert np.all((curve.lower < curve.estimate) & (curve.estimate < curve.upper))
    levels = fit.effect("region")
    assert levels.x == [f"region[{name}]" for name in LEVELS]
    both = fit.effect("region", at=["r03", "r01"])
    assert both.x == ["region[r03]", "region[r01]"]
    np.testing.assert_array_equal(both.estimate, levels.estimate[[3, 1]])
    labels, x = fit.effect("fuel:age").x
    assert len(labels) == len(x) == 200
    assert fit.effect("late", at=[0.0, 1.0]).estimate == pytest.approx([0.0, fit.coef[0]])
    narrow, wide = fit.effect("age", level=0.5), fit.effect("age", level=0.99)
    assert np.all(wide.upper - wide.lower > narrow.upper - narrow.lower)


def test_a_band_for_the_whole_curve_is_wider(fit):
    each, whole = fit.effect("age"), fit.effect("age", simultaneous=True)
    np.testing.assert_array_equal(each.estimate, whole.estimate)
    wider = (whole.upper - whole.lower) / (each.upper - each.lower)
    np.testing.assert_allclose(wider, wider[0])
    assert 1.2 < wider[0] < 2.5
    np.testing.assert_array_equal(whole.lower, fit.effect("age", simultaneous=True).lower)


def test_effects_on_what_is_modelled(both, table):
    assert [term.name for term in both.predictors["scale"].terms] == ["s(age)", "doors"]
    assert both.predictors["scale"].names[0] == "age"
    curve = both.effect("age", of="scale", at=[20.0, 50.0, 80.0]).estimate
    assert curve[2] - curve[0] == pytest.approx(0.6, abs=0.3)
    law = both.distribution(table)
    raw = both.predictors["scale"].intercept + both.effect("age", of="scale", at=table.age).estimate
    raw = raw + both.effect("doors", of="scale", at=table.doors).estimate
    np.testing.assert_allclose(np.log(law.scale), raw, rtol=1e-9)
    with pytest.raises(ValueError, match="region is no term of the scale"):
        both.effect("region", of="scale")
    with pytest.raises(ValueError, match="doors is no term of the location"):
        both.effect("doors", at=[1.0])
    with pytest.raises(ValueError, match="of must be one of location, scale, but is 'shape'"):
        both.effect("age", of="shape")


def test_no_terms_are_a_constant(table):
    fit = nl.fit(table, "y", nl.Gaussian(scale=nl.terms()), terms=["late", nl.smooth("age")])
    plain = nl.fit(table, "y", terms=["late", nl.smooth("age")])
    assert len(fit.predictors["scale"].coef) == 0
    np.testing.assert_allclose(fit.distribution(table).scale, plain.noise.scale, rtol=1e-2)
    np.testing.assert_allclose(fit.predict(table), plain.predict(table), atol=1e-2)


def test_a_surface_over_a_square(table):
    terms = ["fuel", nl.interaction(nl.smooth("age", size=5), nl.smooth("late", size=4))]
    fit = nl.fit(table, "y", terms=[*terms, nl.smooth("age"), nl.smooth("late")])
    surface = fit.effect("s(age):s(late)")
    one, other = surface.x
    assert len(one) == len(other) == len(surface.estimate) == 900
    assert set(fit.terms["s(age):s(late)"].scale) == {"along age", "along late"}
    at = fit.effect("s(age):s(late)", at=(one[:7], other[:7]))
    np.testing.assert_allclose(at.estimate, surface.estimate[:7])
    factor = fit.effect("fuel")
    assert factor.x == ["diesel", "gas"]
    assert factor.estimate == pytest.approx([0.0, fit.coef[0]])


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (lambda fit: fit.effect("late"), ValueError, "the effect of late is a straight line; say at="),
        (lambda fit: fit.effect("power"), KeyError, "there is no term 'power'; there are late"),
        (lambda fit: fit.effect("age", level=1.0), ValueError, "level must be between 0 and 1, but is 1.0"),
        (lambda fit: fit.effect("region", at="r99"), ValueError, r"\(1\|region\) has no level 'r99'; it has 'r00'"),
        (lambda fit: fit.effect("fuel:age", at=[1.0]), ValueError, r"takes at=\(values of fuel, values of age\)"),
    ],
)
def test_effects_that_are_not_there(fit, call, error, said):
    with pytest.raises(error, match=said):
        call(fit)


def test_a_figure_has_axes_for_each_term(fit, both):
    pytest.importorskip("matplotlib")
    figure = fit.plot()
    drawn = [axes for axes in figure.axes if axes.axison]
    assert [axes.get_title() for axes in drawn] == ["s(age)", "(1|region)", "fuel", "fuel:age"]
    drawn = [axes for axes in both.plot(of="scale").axes if axes.axison]
    assert [axes.get_title() for axes in drawn] == ["s(age)"]
    with pytest.raises(ValueError, match="no term that could be drawn"):
        nl.fit(pd.DataFrame({"x": [0.0, 1.0, 2.0], "y": [1.0, 0.0, 2.0]}), "y").plot()


# ---- kept and brought back -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("which", ["fit", "both"])
def test_a_fit_without_rows_says_the_same(which, table, tmp_path, request):
    fit = request.getfixturevalue(which)
    fit.save(tmp_path / "fit.json")
    for again in (nl.load(tmp_path / "fit.json"), pickle.loads(pickle.dumps(fit))):
        np.testing.assert_array_equal(again.predict(table), fit.predict(table))
        assert again.distribution(table) == fit.distribution(table)
        assert again.terms == fit.terms
        assert again.predictors.keys() == fit.predictors.keys()
        assert all(again.predictors[name].terms == own.terms for name, own in fit.predictors.items())
        for name in ("age", "region", "fuel:age"):
            mine, other = fit.effect(name, simultaneous=True), again.effect(name, simultaneous=True)
            np.testing.assert_allclose(other.lower, mine.lower, rtol=1e-9)
            np.testing.assert_allclose(other.estimate, mine.estimate, rtol=1e-12)
        assert str(again.summary()) == str(fit.summary())


def test_terms_read_as_they_are_written():
    for term in (nl.smooth("a"), nl.smooth("a", size=5, scale=2.0), nl.group("g", scale=0.5), nl.terms("a", "b")):
        assert eval(repr(term), {"nl": nl}) == term
    both = nl.interaction("g", nl.smooth("a", 4))
    assert eval(repr(both), {"nl": nl}) == both
    assert repr(nl.smooth("a", np.int64(5), np.float32(2.0))) == "nl.smooth('a', size=5, scale=2.0)"
    assert pickle.loads(pickle.dumps(both)) == both


# ---- what is chosen --------------------------------------------------------------------------------------------------


def test_smooth_chooses_by_the_columns(rng):
    table = pd.DataFrame(
        {
            "ten": rng.integers(0, 10, N).astype(float),
            "eleven": np.append(np.arange(11.0), rng.integers(0, 11, N - 11)),
            "few": np.array([f"l{k:02}" for k in np.append(np.arange(20), rng.integers(0, 20, N - 20))]),
            "many": np.array([f"l{k:02}" for k in np.append(np.arange(21), rng.integers(0, 21, N - 21))]),
            "yes": rng.random(N) < 0.5,
            "y": rng.normal(size=N),
        }
    )
    kinds = {term.name: term.kind for term in nl.fit(table, "y", terms="smooth").terms}
    assert kinds == {"ten": "linear", "s(eleven)": "smooth", "few": "factor", "(1|many)": "group", "yes": "linear"}


def test_numbers_can_be_levels(table):
    fit = nl.fit(table, "y", terms=[nl.group("doors"), nl.smooth("age")])
    assert fit.effect("doors").x == ["doors[2]", "doors[3]", "doors[4]", "doors[5]"]
    assert fit.predict(table.assign(doors=99)).shape == (N,)


# ---- stated scales and other priors ----------------------------------------------------------------------------------


def test_a_scale_of_0_is_a_straight_line(table):
    line = nl.fit(table, "y", terms=["age", "late"])
    fit = nl.fit(table, "y", terms=[nl.smooth("age", scale=0.0), "late"])
    np.testing.assert_allclose(fit.predict(table), line.predict(table), atol=1e-5)
    assert fit.terms["age"].scale == 0.0
    assert fit.terms["age"].effective == pytest.approx(1.0, abs=1e-4)
    none = nl.fit(table, "y", terms=["age", nl.group("region", scale=0)])
    np.testing.assert_allclose(none.predict(table), nl.fit(table, "y", terms=["age"]).predict(table), atol=1e-5)


@pytest.mark.parametrize("scale", [1e6, np.inf])
def test_a_huge_scale_is_no_prior(table, scale):
    fit = nl.fit(table, "y", terms=[nl.smooth("age", size=6, scale=scale), nl.group("region", scale=scale)])
    assert fit.terms["age"].effective == pytest.approx(5.0, abs=1e-3)
    some = fit.effect("age", at=table.age).estimate
    levels = pd.get_dummies(table.region, dtype=float)
    basis = np.column_stack([fit._task.engine.dense_rows(np.arange(N))[:, -5:], levels])
    wanted = basis @ np.linalg.lstsq(basis, table.y, rcond=None)[0]
    np.testing.assert_allclose(fit.predict(table), wanted, atol=1e-4)
    assert np.ptp(some) > 1


def test_stated_scales_are_those_that_would_be_learned(table, fit):
    scales = {term.name: term.scale for term in fit.terms}
    stated = [
        "late",
        nl.smooth("age", size=10, scale=scales["s(age)"]),
        nl.group("region", scale=scales["(1|region)"]),
        "fuel",
        nl.interaction("fuel", "age", scale=scales["fuel:age"]),
    ]
    again = nl.fit(table, "y", nl.Gaussian(scale=fit.noise.scale), terms=stated)
    np.testing.assert_allclose(again.predict(table), fit.predict(table), atol=1e-5)
    for mine, other in zip(fit.terms, again.terms, strict=True):
        assert other.effective == pytest.approx(mine.effective, abs=1e-4)
    beside = nl.fit(table, "y", terms=[*stated[:2], nl.group("region"), *stated[3:]])  # one of them learned
    assert beside.terms["region"].scale == pytest.approx(scales["(1|region)"], rel=1e-3)


def test_a_prior_of_the_other_columns_is_learned_beside(rng):
    X = pd.DataFrame(rng.normal(size=(N, 8)), columns=list("abcdefgh"))
    truth = rng.normal(0, 0.3, 8)
    table = X.assign(x=rng.uniform(size=N), y=X.to_numpy() @ truth + rng.normal(size=N))
    table["y"] += np.sin(6 * table.x)
    fit = nl.fit(table, "y", nl.Gaussian(), nl.Gaussian(), terms=[*"abcdefgh", nl.smooth("x")])
    scale = float(np.asarray(fit.prior.scale)[0])
    assert scale == pytest.approx(0.3, rel=0.6)
    count = sum(fit.terms[name].effective for name in "abcdefgh")
    assert scale**2 * count == pytest.approx(np.sum((fit.coef[:8] * X.std(ddof=0).to_numpy()) ** 2), rel=0.2)
    flat = nl.fit(table, "y", terms=[*"abcdefgh", nl.smooth("x")])
    assert np.linalg.norm(fit.coef[:8]) < np.linalg.norm(flat.coef[:8])


# ---- levels that are rare or new -------------------------------------------------------------------------------------


def test_a_level_that_was_not_seen_has_the_prior(table, fit):
    some = table.iloc[:4]
    new = some.assign(region="elsewhere")
    np.testing.assert_allclose(
        fit.raw_prediction(new), fit.raw_prediction(some) - fit.effect("region", at=some.region).estimate
    )
    known = nl.fit(table, "y", nl.Gaussian(scale=fit.noise.scale), terms=[nl.group("region", scale=0.7)])
    law = known.posterior().predictive(new)
    assert law.variance() == pytest.approx(known.noise.scale**2 + 0.7**2 + known.intercept_standard_error**2, rel=1e-6)
    assert np.all(law.variance() > known.posterior().predictive(some).variance())


def test_rare_levels_have_the_effect_0(table):
    rare = table.assign(region=np.where(np.arange(N) < 3, "hamlet", table.region))
    fit = nl.fit(rare, "y", terms=["late", nl.group("region")], rare=5)
    assert fit.effect("region").x == [f"region[{name}]" for name in LEVELS]
    assert any("region: 1 of 13 levels" in note for note in fit.notes)
    assert fit.raw_prediction(rare)[0] == pytest.approx(fit.intercept + fit.coef[0] * rare.late[0])


def test_missing_values_beside_a_curve(table, rng):
    holes = table.assign(age=np.where(rng.random(N) < 0.1, np.nan, table.age))
    holes.loc[rng.random(N) < 0.1, "region"] = None
    fit = nl.fit(holes, "y", terms=["late", nl.smooth("age"), nl.group("region")], missing="impute")
    assert "age missing" in fit.names
    assert "region[(missing)]" in fit.names
    assert np.isfinite(fit.predict(holes)).all()
    dropped = nl.fit(holes, "y", terms=["late", nl.smooth("age"), nl.group("region")], missing="drop")
    assert dropped.n_rows == len(holes.dropna())
    with pytest.raises(ValueError, match="age"):
        nl.fit(holes, "y", terms=[nl.smooth("age")])


# ---- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (
            lambda t: nl.fit(t, "y", terms=["age", "power", nl.smooth("x")]),
            ValueError,
            "columns 'power', 'x', but X has",
        ),
        (lambda t: nl.fit(t, "y", terms=["y"]), ValueError, "terms name the columns 'y', but X has"),
        (lambda t: nl.fit(t, "y", terms=[nl.smooth("region")]), TypeError, r"'region' holds categories; take group\("),
        (lambda t: nl.fit(t, "y", terms=["age", "age"]), ValueError, "once, but age occurs more often"),
        (lambda t: nl.fit(t, "y", terms=[nl.smooth("age"), nl.smooth("age", 5)]), ValueError, r"once, but s\(age\)"),
        (lambda t: nl.fit(t[["age"]].to_numpy(), t.y, terms=[nl.smooth("age")]), TypeError, "X is an array without"),
        (lambda t: nl.fit(t, "y ~ s(age)", terms=["age"]), ValueError, "states the terms; leave terms="),
        (lambda t: nl.fit(t, "y", terms="age"), TypeError, 'a list of terms, or "smooth", but is'),
        (lambda t: nl.fit(t, "y", terms=[3]), TypeError, "a term is the name of a column, or smooth"),
        (
            lambda t: nl.fit(t, "y", terms=[nl.smooth("age"), "late"], prior=nl.Laplace(scale=1.0)),
            ValueError,
            "about 0",
        ),
        (
            lambda t: nl.smooth("age", size=2),
            ValueError,
            r"smooth\('age'\): size must be from 3 to 200 knots, but is 2",
        ),
        (lambda t: nl.smooth("age", size=201), ValueError, "from 3 to 200 knots, but is 201"),
        (lambda t: nl.smooth("age", size=5.5), ValueError, "from 3 to 200 knots, but is 5.5"),
        (lambda t: nl.smooth(3), TypeError, "smooth takes the name of a column, but got 3"),
        (lambda t: nl.group(["a"]), TypeError, r"group takes the name of a column, but got \['a'\]"),
        (lambda t: nl.group("region", scale=-1.0), ValueError, "scale must be a number >= 0, or None"),
        (lambda t: nl.group("region", scale=np.nan), ValueError, "scale must be a number >= 0, or None"),
        (lambda t: nl.interaction("age", nl.smooth("age")), ValueError, "two different columns, but both are 'age'"),
        (lambda t: nl.interaction("age", 3), TypeError, "interaction takes names of columns"),
        (lambda t: nl.path(t, "y ~ s(age) + late"), ValueError, r"a path is of columns as they are.*s\(age\)"),
        (lambda t: nl.path(t, "y", nl.Gaussian(scale=nl.terms("age"))), ValueError, "scale has terms of its own"),
    ],
)
def test_what_cannot_be_is_said(table, call, error, said):
    with pytest.raises(error, match=said):
        call(table)


def test_a_search_of_mean_and_spread_begins_where_a_fit_has_an_end():
    """A curve of each, held by next to nothing, may meet a lone rich household exactly, with a spread of 0."""
    engel = pytest.importorskip("statsmodels.api").datasets.engel.load_pandas().data
    fit = nl.fit(engel, "foodexp", nl.Gaussian(scale=nl.terms(nl.smooth("income"))), terms=[nl.smooth("income")])
    assert fit.converged
    assert fit.distribution(engel).scale.min() > 10
