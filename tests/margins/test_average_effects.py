"""Average marginal effects: numbers that statsmodels has too, terms, factors and classes, and what is refused."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import statsmodels.api as sm

import neglog as nl

LEVELS = {"fuel": ["a", "b", "c"], "area": ["q", "u", "v", "w"]}


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    n = 600
    found = pd.DataFrame(
        {
            "age": rng.uniform(0.5, 3, n),
            "power": rng.normal(size=n),
            "fuel": rng.choice(LEVELS["fuel"], n),
            "area": rng.choice(LEVELS["area"], n),
            "count": rng.uniform(0.5, 2, n),
        }
    )
    eta = 0.2 + np.sin(found.age) + (0.3 + 0.4 * (found.fuel == "b")) * found.power - 0.2 * (found.area == "v")
    found["claims"] = rng.poisson(np.exp(eta)) * (rng.random(n) < 0.8)
    found["grade"] = np.where(found.claims > 2, "high", np.where(found.claims > 0, "middle", "low"))
    found["cost"] = np.exp(0.3 * eta + 0.5 * rng.normal(size=n))
    return found


# ---- numbers from elsewhere ------------------------------------------------------------------------------------------


def rows(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(300, 2))
    return rng, X, 0.3 + X @ [0.5, -0.4]


@pytest.mark.parametrize(
    ("noise", "model"),
    [(nl.Poisson(), sm.Poisson), (nl.Bernoulli(), sm.Logit), (nl.Bernoulli(link="probit"), sm.Probit)],
)
def test_effects_of_counts_and_of_yes_or_no_are_those_of_statsmodels(noise, model):
    _, X, eta = rows()
    y = np.asarray(noise.given(eta).sample(rng=1), float)
    theirs = model(y, sm.add_constant(X)).fit(disp=0, tol=1e-12).get_margeff(at="overall")
    ours = nl.fit(X, y, noise, tol=1e-10).effects(tests=True)
    np.testing.assert_allclose(ours.estimate, theirs.margeff, rtol=1e-6)
    np.testing.assert_allclose(ours.standard_errors, theirs.margeff_se, rtol=1e-6)
    np.testing.assert_allclose(ours.p, theirs.pvalues, rtol=1e-5)
    np.testing.assert_allclose(np.stack([ours.lower, ours.upper], axis=1), theirs.conf_int(), rtol=1e-5)


def test_effects_under_least_squares_are_the_coefficients():
    rng, X, eta = rows()
    y = eta + rng.normal(size=len(eta))
    theirs = sm.OLS(y, sm.add_constant(X)).fit()
    ours = nl.fit(X, y).effects(tests=True)
    np.testing.assert_allclose(ours.estimate, theirs.params[1:], rtol=1e-9)
    np.testing.assert_allclose(ours.standard_errors, theirs.bse[1:], rtol=1e-9)
    np.testing.assert_allclose(ours.p, theirs.pvalues[1:], rtol=1e-7)
    robust = sm.OLS(y, sm.add_constant(X)).fit(cov_type="HC1")
    np.testing.assert_allclose(nl.fit(X, y).effects(errors="HC1").standard_errors, robust.bse[1:], rtol=1e-9)


def test_effects_on_classes_are_those_of_statsmodels():
    _, X, eta = rows()
    y = np.random.default_rng(2).binomial(2, 1 / (1 + np.exp(-eta)))
    theirs = sm.MNLogit(y, sm.add_constant(X)).fit(disp=0, tol=1e-13).get_margeff(at="overall")
    ours = nl.fit(X, y, nl.Categorical(), tol=1e-10).effects()
    assert ours.names == ("0: x0", "1: x0", "2: x0", "0: x1", "1: x1", "2: x1")
    np.testing.assert_allclose(ours.estimate.reshape(2, 3), theirs.margeff, rtol=1e-5)
    np.testing.assert_allclose(ours.standard_errors.reshape(2, 3), theirs.margeff_se, rtol=1e-5)


# ---- differences -----------------------------------------------------------------------------------------------------


def differences(fit, table, name):
    """The effects of a column and their errors, by predictions for changed tables and changed parameters."""
    joint, answer = fit._joint, fit._answer
    weight = table["count"] if "sample_weight" in fit.named else np.ones(len(table))

    def mean(changed, z):
        theta, v = np.split(z, [len(answer.theta)])
        engine = fit.prediction_engine(changed, None, None, fit._task.engine)
        law = joint.noise(v).given(engine.predict(theta))
        values = law.p if law.labelled else np.asarray(law.point())[:, None]
        return np.asarray(weight @ values / weight.sum())

    def effects(z):
        if name in LEVELS:
            first, *others = (mean(table.assign(**{name: level}), z) for level in LEVELS[name])
            return np.concatenate([other - first for other in others])
        h = 1e-4
        near, far = ([mean(table.assign(**{name: table[name] + k * h}), z) for k in ks] for ks in ((1, -1), (2, -2)))
        return (8 * (near[0] - near[1]) - (far[0] - far[1])) / (12 * h)

    at = np.append(answer.theta, joint.start)
    spread = fit._spread("posterior", None)
    whole = np.nan_to_num(spread.covariance)
    moved = []
    for k, h in enumerate(1e-3 * np.maximum(np.sqrt(whole.diagonal()), 1e-6)):
        step = h * np.eye(len(at))[k]
        widened = spread.widened if k < len(answer.theta) else 1.0
        moved.append(widened * (effects(at + step) - effects(at - step)) / (2 * h))
    return effects(at), np.sqrt(np.einsum("ji,jk,ki->i", moved, whole, moved))


FITS = {
    "functions": ("claims ~ log(age) + s(power) + fuel:power + fuel + area", nl.ZeroInflated(nl.Poisson()), {}),
    "signs": ("claims ~ square(power) + abs(age) + fuel", nl.Poisson(), {"sample_weight": "count"}),
    "curves by level": ("claims ~ s(age) + fuel:s(power) + s(power) + fuel", nl.NegativeBinomial(), {}),
    "surfaces": ("claims ~ te(age, power) + fuel:area + fuel", nl.Hurdle(nl.NegativeBinomial(), p="model"), {}),
    "groups": ("claims ~ (age|area) + log(age):fuel + power", nl.Poisson(), {}),
    "modelled": ("cost ~ age*power + fuel", nl.LogNormal(scale=nl.terms("fuel", nl.smooth("age"))), {}),
    "law of logs": ("cost ~ age + fuel", nl.Log(nl.StudentT(df=5)), {}),
    "weights": ("cost ~ s(age) + fuel", nl.Weibull(), {"sample_weight": "count"}),
}


@pytest.mark.parametrize(("formula", "noise", "options"), FITS.values(), ids=FITS)
def test_a_column_counts_in_every_term_that_it_is_part_of(table, formula, noise, options):
    fit = nl.fit(table, formula, noise, tol=1e-8, **options)
    found = fit.effects()
    for name in ("age", "power", "fuel", "area"):
        places = [k for k, own in enumerate(found.names) if own.split("[")[0] == name]
        if not places:
            assert name not in formula or f"|{name})" in formula  # a group
            continue
        estimate, errors = differences(fit, table, name)
        np.testing.assert_allclose(found.estimate[places], estimate, rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(found.standard_errors[places], errors, rtol=1e-5)
    again = fit.effects(table)
    np.testing.assert_allclose(again.estimate, found.estimate, rtol=1e-9)


@pytest.mark.parametrize("noise", [nl.Categorical(), nl.Ordinal(classes=["low", "middle", "high"])])
@pytest.mark.parametrize("prior", [nl.Flat(), nl.Gaussian(scale=0.5)])
def test_effects_on_classes(table, noise, prior):
    fit = nl.fit(table[["age", "power", "fuel", "grade"]], "grade", noise, prior, tol=1e-9)
    found = fit.effects()
    assert found.names[:3] == tuple(f"{label}: age" for label in fit.classes)
    for k, name in enumerate(["age", "power"]):
        estimate, errors = differences(fit, table, name)
        np.testing.assert_allclose(found.estimate[3 * k : 3 * k + 3], estimate, rtol=1e-6)
        np.testing.assert_allclose(found.standard_errors[3 * k : 3 * k + 3], errors, rtol=1e-5)
    estimate, errors = differences(fit, table, "fuel")
    np.testing.assert_allclose(found.estimate[6:], estimate, rtol=1e-8)
    np.testing.assert_allclose(found.standard_errors[6:], errors, rtol=1e-5)
    np.testing.assert_allclose(found.estimate.reshape(-1, 3).sum(axis=1), 0, atol=1e-10)


def test_levels_of_a_group_are_shown_where_they_are_asked_for(table):
    fit = nl.fit(table, "claims ~ age + (1|area)", nl.Poisson(), tol=1e-8)
    assert fit.effects().names == ("age",)
    found = fit.effects(columns="area")
    assert found.names == ("area[u] - [q]", "area[v] - [q]", "area[w] - [q]")
    np.testing.assert_allclose(found.estimate, differences(fit, table, "area")[0], rtol=1e-8)


def test_rows_of_files_have_the_effects_of_rows_in_memory(table, tmp_path):
    pq.write_table(pa.Table.from_pandas(table), tmp_path / "rows.parquet", row_group_size=100)
    formula = "claims ~ s(age) + log(age) + fuel:power + fuel"
    for noise in (nl.ZeroInflated(nl.Poisson()), nl.Poisson()):
        options = {"sample_weight": "count", "tol": 1e-9}
        elsewhere, here = (nl.fit(X, formula, noise, **options) for X in (str(tmp_path / "rows.parquet"), table))
        found, wanted = elsewhere.effects(), here.effects()
        assert found.names == wanted.names
        np.testing.assert_allclose(found.estimate, wanted.estimate, rtol=1e-3)
        np.testing.assert_allclose(found.standard_errors, wanted.standard_errors, rtol=1e-3)
        np.testing.assert_allclose(elsewhere.effects(table).estimate, found.estimate, rtol=1e-9)


def test_rows_without_a_value_do_not_count_for_it(table):
    holes = table[["age", "power", "claims"]].copy()
    holes.loc[::4, "age"] = np.nan
    fit = nl.fit(holes, "claims", nl.Poisson(), missing="impute")
    slope = fit.coef[fit.names.index("age")]
    kept = holes.age.notna()
    np.testing.assert_allclose(fit.effects(columns="age").estimate, slope * fit.predict(holes[kept]).mean())


def test_rows_of_weight_0_touch_nothing(table):
    weighted = table.assign(count=np.where(np.arange(len(table)) % 3, 1.0, 0.0))
    formula = "claims ~ s(age) + square(power) + fuel"
    one = nl.fit(weighted, formula, nl.Poisson(), sample_weight="count", tol=1e-9)
    other = nl.fit(weighted[weighted["count"] > 0], formula, nl.Poisson(), tol=1e-9)
    np.testing.assert_allclose(one.effects().estimate, other.effects().estimate, rtol=1e-5)
    np.testing.assert_allclose(one.effects(weighted).estimate, one.effects().estimate, rtol=1e-9)


def test_exposure_multiplies_the_effects(table):
    fit = nl.fit(table[["age", "fuel", "claims", "count"]], "claims", nl.Poisson(), exposure="count")
    wanted = fit.coef[0] * fit.predict(table).mean()
    np.testing.assert_allclose(fit.effects().estimate[0], wanted)
    np.testing.assert_allclose(fit.effects(table).estimate[0], wanted)
    np.testing.assert_allclose(
        fit.effects(table, exposure=2.0).estimate[0], fit.coef[0] * fit.predict(table, exposure=2.0).mean()
    )


def test_nothing_is_known_of_what_a_prior_holds_at_0(table):
    fit = nl.fit(table[["age", "power", "cost"]], "cost", nl.Gamma(), nl.Laplace(scale=0.01))
    found = fit.effects()
    held = fit.coef == 0
    assert held.any()
    assert not held.all()
    np.testing.assert_array_equal(np.isnan(found.standard_errors), held)
    np.testing.assert_array_equal(found.estimate[held], 0)


def test_of_columns_that_say_the_same_nothing_is_known_but_of_others_all(table):
    once = table[["age", "power", "claims"]]
    found = nl.fit(once.assign(again=table.age), "claims", nl.Poisson(), tol=1e-9).effects()
    wanted = nl.fit(once, "claims", nl.Poisson(), tol=1e-9).effects()
    np.testing.assert_array_equal(np.isinf(found.standard_errors), [True, False, True])
    np.testing.assert_allclose(found.standard_errors[1], wanted.standard_errors[1], rtol=1e-6)


def test_a_table_for_people(table):
    found = nl.fit(table, "claims ~ age + fuel", nl.Poisson()).effects(tests=True, level=0.9)
    text = str(found)
    for part in ("Average marginal effects", "fuel[b] - [a]", "90% from", "Means over 600 rows", "p"):
        assert part in text
    assert list(found.table) == ["name", "estimate", "standard error", "lower", "upper", "z", "p"]
    assert found["age"] == (found.lower[0], found.upper[0])
    assert len(found) == 3


# ---- what is refused -------------------------------------------------------------------------------------------------


def test_a_fit_that_was_loaded_says_that_it_has_no_rows(table, tmp_path):
    fit = nl.fit(table, "claims ~ age", nl.Poisson())
    fit.save(tmp_path / "fit.json")
    with pytest.raises(ValueError, match="has no data"):
        nl.load(tmp_path / "fit.json").effects(table)


def test_what_is_refused(table):
    fit = nl.fit(table, "claims ~ age + fuel", nl.Poisson())
    with pytest.raises(ValueError, match="no column 'agee'; it has 'age', 'fuel'; did you mean 'age'"):
        fit.effects(columns="agee")
    with pytest.raises(ValueError, match="offset goes with the rows of X"):
        fit.effects(offset=1.0)
    with pytest.raises(ValueError, match="level must be between 0 and 1"):
        fit.effects(level=95)
    with pytest.raises(ValueError, match="columns of its own; make these yourself"):
        nl.fit(table, "claims ~ np.sin(age)", nl.Poisson()).effects()
    with pytest.raises(ValueError, match="name those"):
        nl.fit(table, "claims ~ (1|area)", nl.Poisson()).effects()
    quantiles = nl.fit(table[["age", "cost"]], "cost", nl.AsymmetricLaplace(quantile=[0.1, 0.9]))
    with pytest.raises(ValueError, match="ask that of one"):
        quantiles.effects()
    assert quantiles[0.9].effects().estimate == pytest.approx(quantiles[0.9].coef)
