"""Residuals of rows that were drawn from the noise that is fitted: for whatever the registry holds."""

import numpy as np
import pytest
from laws.inference_cases import EXAMPLES, EXTRAS, LINKED, each
from scipy import special, stats

import neglog as nl
from neglog import _core

CELLS = [case for case in EXAMPLES if _core.links(f"cells({case.family._kernel()})")]
SURE = 1e-5  # of some hundred tests


def beside(rows):
    """What goes with the rows where they are given again."""
    return {"precision": rows.precision, "offset": rows.offset}


def is_normal(z):
    assert np.isfinite(z).all()
    assert stats.kstest(z, "norm").pvalue > SURE


@pytest.mark.parametrize("extras", EXTRAS)
@each(EXAMPLES + LINKED)
def test_quantile_residuals_are_normal(case, extras):
    rows = case.rows(extras)
    fit = rows.fit(case.noise)
    z = fit.residuals()
    is_normal(z)
    np.testing.assert_array_equal(z, fit.residuals())  # the same draws
    np.testing.assert_allclose(z, fit.residuals("quantile", rows.X, rows.y, **beside(rows)), rtol=1e-6, atol=1e-8)
    other = fit.residuals(rng=1)
    is_normal(other)
    assert np.array_equal(z, other) == (fit.noise.measure == "density")


@pytest.mark.parametrize("extras", EXTRAS)
@each(EXAMPLES)
def test_residuals_by_the_law_of_each_row(case, extras):
    rows = case.rows(extras)
    fit = rows.fit(case.noise)
    law = fit.distribution(rows.X, offset=rows.offset)
    np.testing.assert_allclose(fit.residuals("response"), rows.y - fit.predict(rows.X, offset=rows.offset), atol=1e-9)
    many = rows.precision if fit.noise.traits.repeats and rows.precision is not None else 1.0
    law = law if fit.noise.traits.repeats else law.with_precision(rows.precision)
    with np.errstate(all="ignore"):
        sd = np.sqrt(np.broadcast_to(law.variance(), rows.y.shape) / many)
    if np.isfinite(sd).all() and np.isfinite(law.mean()).all():
        found = fit.residuals("pearson")
        np.testing.assert_allclose(found, (rows.y - law.mean()) / sd, rtol=1e-6, atol=1e-8)
    else:
        with pytest.raises(ValueError, match=r"no finite one in \d+ of \d+ rows"):
            fit.residuals("pearson")


@pytest.mark.parametrize("extras", EXTRAS)
@each(EXAMPLES)
def test_squares_of_deviance_residuals_add_up(case, extras):
    rows = case.rows(extras)
    fit = rows.fit(case.noise)
    if fit.noise.deviance_per_loss is None and not fit.noise.saturates:
        with pytest.raises(ValueError, match="has no deviance"):
            fit.residuals("deviance")
        return
    found = fit.residuals("deviance")
    again = fit.residuals("deviance", rows.X, rows.y, **beside(rows))
    np.testing.assert_allclose(found, again, rtol=1e-6, atol=1e-6)
    mean = fit.distribution(rows.X, offset=rows.offset).parameters[fit.noise.location]
    np.testing.assert_array_equal(np.sign(found), np.sign(rows.y - mean) * (found != 0))
    if fit.noise.deviance_per_loss is not None:
        assert rows.w @ found**2 == pytest.approx(fit.deviance, rel=1e-9)
    else:
        law = fit.distribution(rows.X, offset=rows.offset).with_precision(rows.precision)
        best = law.of_rows(slice(None)).with_(**{fit.noise.location: np.maximum(rows.y, 1e-12)})
        wanted = 2 * (law.nll(rows.y) - best.nll(rows.y))
        np.testing.assert_allclose(found**2, wanted, rtol=1e-6, atol=1e-6)


@each([case for case in CELLS if case.number == 0 and not case.opened])
def test_places_in_cells_are_normal(case):
    rows = case.rows()
    edges = np.quantile(rows.y, [0.2, 0.4, 0.6, 0.8])
    if case.truth.measure == "mass":
        edges = np.unique(np.floor(edges)) + 0.5  # between counts
    ends = np.concatenate([[-np.inf], edges, [np.inf]])
    own = np.searchsorted(edges, rows.y)
    seen = np.arange(len(rows.y)) % 3 == 0
    cells = nl.censored(np.where(seen, rows.y, ends[own]), np.where(seen, rows.y, ends[own + 1]))
    fit = nl.fit(rows.X, cells, case.truth, tol=1e-9)
    is_normal(fit.residuals())
    is_normal(fit.residuals("quantile", rows.X, cells, rng=5))
    values = nl.fit(rows.X, nl.censored(rows.y, rows.y), case.truth, tol=1e-9)
    np.testing.assert_allclose(values.residuals(), nl.fit(rows.X, rows.y, case.truth, tol=1e-9).residuals(), atol=1e-5)
    with pytest.raises(ValueError, match="hold cells"):
        fit.residuals("pearson")


@each([case for case in CELLS if case.number == 0 and not case.opened])
def test_far_rows_have_finite_residuals(case):
    """Far out on both sides, where no number is near enough to 0 for the probability that is left."""
    rows = case.rows()
    fit = rows.fit(case.noise)
    y = rows.y.copy()
    support = case.truth.support
    inside = support.high < np.inf
    y[0] = 1 - 1e-15 if inside else np.ceil(1e4 * (1 + np.abs(rows.y).max()))
    y[1] = 1e-300 if support.low == 0 and support.step is None else 0.0 if support.low == 0 else -y[0]
    z = fit.residuals("quantile", rows.X, y)
    assert np.isfinite(z).all()
    assert z[0] > 3.5 or inside


# ---- known places ----------------------------------------------------------------------------------------------------


def test_far_places_are_those_of_closed_forms():
    from neglog.checking.places import normal_places

    half = np.full(4, 0.5)
    z = np.array([-40.0, -3.0, 8.0, 200.0])
    np.testing.assert_allclose(normal_places(nl.Gaussian(np.zeros(4), 2.0), 2 * z, half), z, rtol=1e-12)
    logs = nl.LogNormal(np.zeros(4), 0.5)
    np.testing.assert_allclose(normal_places(logs, np.exp(0.5 * z), half), z, rtol=1e-10)
    times = np.array([1e-3, 1.0, 900.0, 1e5])
    wanted = np.where(times > 1, -special.ndtri_exp(-times), special.ndtri(-np.expm1(-times)))
    for law in (nl.Gamma(np.ones(4), 1.0), nl.Weibull(np.ones(4), 1.0)):
        np.testing.assert_allclose(normal_places(law, times, half), wanted, rtol=1e-9)
    far = nl.Laplace(np.zeros(4), 1.0)
    away = np.array([-2000.0, -1.0, 1.0, 5000.0])
    wanted = np.sign(away) * -special.ndtri_exp(-np.abs(away) - np.log(2))
    np.testing.assert_allclose(normal_places(far, away, half), wanted, rtol=1e-9)


@pytest.mark.parametrize(
    ("law", "theirs"),
    [
        (nl.Gamma(np.full(5, 3.0), 2.0), stats.gamma(2.0, scale=1.5)),
        (nl.StudentT(np.full(5, 1.0), 2.0, 4.0), stats.t(4.0, 1.0, 2.0)),
        (nl.Weibull(np.full(5, 2.0), 1.5), stats.weibull_min(1.5, scale=2.0)),
        (nl.BetaProportion(np.full(5, 0.3), 7.0), stats.beta(2.1, 4.9)),
    ],
    ids=lambda law: type(law).__name__,
)
def test_places_of_amounts_are_scipys(law, theirs):
    from neglog.checking.places import normal_places

    y = theirs.ppf([1e-6, 0.1, 0.5, 0.9, 1 - 1e-6])
    np.testing.assert_allclose(
        normal_places(law, y, np.full(5, 0.5)), special.ndtri([1e-6, 0.1, 0.5, 0.9, 1 - 1e-6]), rtol=1e-8, atol=1e-9
    )


@pytest.mark.parametrize(
    ("law", "theirs"),
    [
        (nl.Poisson(np.full(6, 4.2)), stats.poisson(4.2)),
        (nl.NegativeBinomial(np.full(6, 4.0), 0.5), stats.nbinom(2.0, 1 / 3)),
        (nl.Bernoulli(np.full(6, 0.3)).of_total(np.full(6, 12.0)), stats.binom(12, 0.3)),
    ],
    ids=lambda law: type(law).__name__,
)
def test_places_of_counts_are_scipys(law, theirs):
    from neglog.checking.places import normal_places

    y, shares = np.array([0.0, 1, 3, 6, 9, 12]), np.array([0.01, 0.5, 0.3, 0.9, 0.5, 0.99])
    wanted = special.ndtri(theirs.cdf(y - 1) + shares * theirs.pmf(y))
    np.testing.assert_allclose(normal_places(law, y, shares), wanted, rtol=1e-7)


# ---- which rows ------------------------------------------------------------------------------------------------------


def test_modelled_parameters_and_exposure():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(3000, 2))
    exposure = rng.uniform(0.2, 3, 3000)
    noise = nl.NegativeBinomial(dispersion="model")
    truth = nl.NegativeBinomial(exposure * np.exp(0.5 + X @ [0.4, 0.0]), np.exp(-0.5 + X @ [0.0, 0.6]))
    y = truth.sample(rng=rng)
    fit = nl.fit(X, y, noise, exposure=exposure)
    is_normal(fit.residuals())
    np.testing.assert_allclose(fit.residuals(), fit.residuals(X=X, y=y, exposure=exposure), atol=1e-8)
    law = fit.distribution(X, exposure=exposure)
    np.testing.assert_allclose(fit.residuals("pearson"), (y - law.mean()) / np.sqrt(law.variance()))
    flat = nl.fit(X, y, nl.Poisson(), exposure=exposure).residuals()
    assert stats.kstest(flat, "norm").pvalue < 1e-6  # which has not seen how much the counts vary


def test_rows_in_their_order_also_those_that_do_not_count():
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(60, 2)), rng.normal(size=60)
    weight = (np.arange(60) % 4 > 0).astype(float)
    fit = nl.fit(X, y, nl.Gaussian(), sample_weight=weight)
    found = fit.residuals("response")
    np.testing.assert_allclose(found, y - fit.predict(X))


def test_columns_by_name_and_a_fit_that_was_saved(tmp_path):
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(3)
    table = pandas.DataFrame({"x": rng.normal(size=200), "years": rng.uniform(1, 3, 200)})
    table["claims"] = rng.poisson(table["years"] * np.exp(0.3 * table["x"]))
    fit = nl.fit(table, "claims", nl.Poisson(), exposure="years")
    fit.save(tmp_path / "fit.json")
    loaded = nl.load(tmp_path / "fit.json")
    np.testing.assert_allclose(loaded.residuals(X=table), fit.residuals(), atol=1e-9)
    np.testing.assert_allclose(loaded.residuals(X=table, y=table["claims"]), fit.residuals(), atol=1e-9)
    with pytest.raises(ValueError, match="give residuals the rows, X and y"):
        loaded.residuals()
    with pytest.raises(ValueError, match="needs counts"):
        loaded.residuals(X=table, y=table["claims"] + 0.5)
    with pytest.raises(TypeError, match="y without X"):
        fit.residuals(y=table["claims"])


def test_rows_elsewhere(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    rng = np.random.default_rng(4)
    table = pyarrow.table({"x": rng.normal(size=500), "y": rng.normal(size=500)})
    parquet.write_table(table, tmp_path / "rows.parquet")
    fit = nl.fit(str(tmp_path / "rows.parquet"), "y", nl.Gaussian())
    with pytest.raises(ValueError, match="must be in memory; give X and y of some"):
        fit.residuals()
    np.testing.assert_allclose(fit.residuals(X=table), nl.fit(table, "y", nl.Gaussian()).residuals(), atol=1e-6)


def test_classes():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(800, 2))
    edges = np.array([-0.5, 0.7])
    y = np.array(["low", "mid", "high"])[np.sum(X @ [1.0, 0.0] + rng.logistic(size=800) > edges[:, None], axis=0)]
    fit = nl.fit(X, y, nl.Ordinal(classes=["low", "mid", "high"]))
    is_normal(fit.residuals())
    np.testing.assert_allclose(fit.residuals(), fit.residuals(X=X, y=y), atol=1e-8)
    for kind in ("pearson", "response"):
        with pytest.raises(ValueError, match="has classes"):
            fit.residuals(kind)
    with pytest.raises(ValueError, match="classes without an order"):
        nl.fit(X, y, nl.Categorical()).residuals()
    with pytest.raises(ValueError, match="kind must be one of 'quantile'"):
        fit.residuals("studentized")


def test_several_quantiles_have_residuals_one_by_one():
    rng = np.random.default_rng(6)
    X, y = rng.normal(size=(100, 1)), rng.normal(size=100)
    fit = nl.fit(X, y, nl.AsymmetricLaplace(quantile=[0.1, 0.9]))
    with pytest.raises(ValueError, match="ask those of one"):
        fit.residuals()
    assert np.mean(fit[0.9].residuals("response") < 0) == pytest.approx(0.9, abs=0.02)
