"""Every noise with every prior on every kind of data: the fit is the minimum of nll + penalty."""

import os

import numpy as np
import pytest
from inference.problems import (
    FEW_PRIORS,
    FORMS,
    KNOWN,
    NOISES,
    PRIORS,
    TIGHT,
    UNIVARIATE,
    Rows,
    check_optimal,
    check_same,
    each,
    estimated,
    of_rows,
    problem,
    remainder,
    targets,
)

import neglog as nl


def rows_of(noise, prior, **extra):
    given = problem(prior)
    return Rows(given.dense, targets(noise, given.table), **extra)


# ---- the minimum -----------------------------------------------------------------------------------------------------


@each(PRIORS, "prior")
@each(NOISES)
def test_the_gradient_vanishes(noise, prior):
    rows = rows_of(noise, prior)
    check_optimal(nl.fit(rows.X, rows.y, noise, prior, tol=TIGHT), rows, noise, prior)


@each(FEW_PRIORS, "prior")
@each(NOISES)
def test_the_gradient_vanishes_without_an_intercept(noise, prior):
    rows = rows_of(noise, prior)
    fit = nl.fit(rows.X, rows.y, noise, prior, intercept=False, tol=TIGHT)
    np.testing.assert_array_equal(fit.intercept, 0)
    check_optimal(fit, rows, noise, prior, intercept=False)


@pytest.mark.parametrize("power", [0.0, 3.0])
@each({name: PRIORS[name] for name in ("gaussian", "laplace", "elastic-net")}, "prior")
def test_the_gradient_vanishes_where_the_loss_bends_downward(prior, power):
    """Powers of Tweedie under the log link that are not convex, at targets that lie far from where a fit begins."""
    given = problem(prior)
    y = np.exp(given.table["slope"].to_numpy() + 1.5 * np.random.default_rng(3).normal(size=len(given.table)))
    rows, noise = Rows(given.dense, y), nl.Tweedie(power=power)
    fit = nl.fit(rows.X, rows.y, noise, prior, tol=TIGHT)
    assert fit.converged
    assert remainder(fit, rows) < 1e-4  # the information is not the curvature: the last steps are short


@pytest.mark.parametrize("seed", [2, 5, 6, 8, 9])
def test_a_lasso_goes_all_the_way_where_the_loss_bends_downward(seed):
    """Steps by the information shrink so slowly that the gain of one drowns in rounding before the optimum is near."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 1.2, (36, 6))
    y = rng.gamma(0.4, np.maximum(1.5 - 0.8 * X[:, 3] + X[:, 5], 0.2) / 0.4)
    noise, prior = nl.Gamma(link="identity"), nl.Laplace(scale=3.0)
    rough, exact = (nl.fit(X, y, noise, prior, tol=tol) for tol in (1e-6, 1e-10))
    assert rough.converged
    assert exact.converged
    assert remainder(exact, Rows(X, y)) < 1e-6
    np.testing.assert_allclose(rough.coef, exact.coef, atol=1e-6)


@each(FEW_PRIORS, "prior")
@each(NOISES)
def test_no_step_away_lowers_the_objective(noise, prior):
    """Without derivatives: coefficients and noise parameters are moved at random."""
    rows = rows_of(noise, prior)
    fit = nl.fit(rows.X, rows.y, noise, prior, tol=TIGHT)
    rng = np.random.default_rng(5)

    class Moved:
        pass

    for size in (1e-3, 1e-1):
        for _ in range(5):
            moved = Moved()
            moved.coef = fit.coef + size * rng.normal(size=np.shape(fit.coef))
            moved.intercept = fit.intercept + size * rng.normal(size=np.shape(fit.intercept))
            changed = {}
            for name in estimated(noise):
                low, factor = (1.0, 0.3) if name == "power" else (0.0, 1.0)
                changed[name] = low + (getattr(fit.noise, name) - low) * np.exp(factor * size * rng.normal())
            kept = {name: None if name == noise.location else v for name, v in fit.noise.parameters.items()}
            kept = {name: v for name, v in (kept | changed).items() if name != noise.location}
            moved.noise = type(noise)(**kept, link=noise.link)
            assert rows.nll(moved) + prior.penalty(moved.coef) >= fit.objective - 1e-9


@pytest.mark.parametrize("tol", [1e-2, 1e-4, 1e-6, 1e-8])
@each(FEW_PRIORS, "prior")
@each({name: noise for name, noise in KNOWN.items() if noise.smooth and name != "categorical"})
def test_tol_is_a_distance_in_posterior_standard_deviations(noise, prior, tol):
    rows = rows_of(noise, prior)
    near, exact = (nl.fit(rows.X, rows.y, noise, prior, tol=t) for t in (tol, 1e-12))
    step = np.concatenate([[near.intercept - exact.intercept], near.coef - exact.coef])
    A = np.column_stack([np.ones(len(rows.y)), rows.X])
    assert np.sqrt(rows.derivatives(exact)[1] @ (A @ step) ** 2) <= 2 * tol
    assert remainder(near, rows) <= 5 * tol


# ---- weights, precisions, offsets ------------------------------------------------------------------------------------


@each(FEW_PRIORS, "prior")
@each(NOISES)
def test_a_weight_repeats_the_row(noise, prior):
    rows = rows_of(noise, prior)
    times = 1 + np.arange(len(rows.y)) % 3
    weighted = nl.fit(rows.X, rows.y, noise, prior, sample_weight=times, tol=TIGHT)
    repeated = nl.fit(np.repeat(rows.X, times, axis=0), np.repeat(rows.y, times), noise, prior, tol=TIGHT)
    if noise.smooth:  # among equal weights, absolute errors may have more than one minimum
        check_same(weighted, repeated, 1e-9)
    assert weighted.objective == pytest.approx(repeated.objective, rel=1e-11)
    check_optimal(weighted, Rows(rows.X, rows.y, weight=times.astype(float)), noise, prior)


@each(FEW_PRIORS, "prior")
@each(NOISES)
def test_a_weight_of_zero_leaves_the_row_out(noise, prior):
    rows = rows_of(noise, prior)
    kept = np.arange(len(rows.y)) % 4 != 1
    weighted = nl.fit(rows.X, rows.y, noise, prior, sample_weight=kept.astype(float), tol=TIGHT)
    left = nl.fit(rows.X[kept], rows.y[kept], noise, prior, tol=TIGHT)
    if noise.smooth:
        check_same(weighted, left, 1e-9)
    assert weighted.objective == pytest.approx(left.objective, rel=1e-11)


@each(FEW_PRIORS, "prior")
@each({name: noise for name, noise in UNIVARIATE.items() if noise.takes_precision()})
def test_a_precision_divides_the_dispersion_of_its_row(noise, prior):
    rows = rows_of(noise, prior)
    precision = 1.0 + np.arange(len(rows.y)) % 4
    if isinstance(noise, nl.Bernoulli):  # shares of ones in so many trials
        y = np.random.default_rng(3).binomial(precision.astype(int), 0.3 + 0.4 * rows.y) / precision
    elif isinstance(noise, nl.Poisson):  # counts per trial
        y = np.random.default_rng(3).poisson(precision * (0.5 + rows.y)) / precision
    else:
        precision, y = precision * 0.7, rows.y
    fit = nl.fit(rows.X, y, noise, prior, precision=precision, tol=TIGHT)
    check_optimal(fit, Rows(rows.X, y, precision=precision), noise, prior)


@each({name: noise for name, noise in KNOWN.items() if noise.takes_precision() and not noise.traits.repeats})
def test_a_precision_of_one_changes_nothing_and_is_not_a_weight(noise):
    rows = rows_of(noise, nl.Flat())
    ones, twos = np.ones(len(rows.y)), np.full(len(rows.y), 2.0)
    plain = nl.fit(rows.X, rows.y, noise, tol=TIGHT)
    assert nl.fit(rows.X, rows.y, noise, precision=ones, tol=TIGHT).nll == pytest.approx(plain.nll, rel=1e-13)
    weighted = nl.fit(rows.X, rows.y, noise, sample_weight=twos, tol=TIGHT)
    sharpened = nl.fit(rows.X, rows.y, noise, precision=twos, tol=TIGHT)
    if noise.traits.divided or noise.traits.repeats or not noise.smooth:  # or predictions move with the spread
        check_same(weighted, sharpened, 1e-9)  # the same prediction, another likelihood
    assert weighted.nll == pytest.approx(2 * plain.nll, rel=1e-12)
    law = of_rows(noise, twos).given(rows.eta(sharpened))
    assert sharpened.nll == pytest.approx(law.nll(rows.y).sum(), rel=1e-12)


@each(FEW_PRIORS, "prior")
@each(UNIVARIATE)
def test_an_offset_is_added_to_the_raw_prediction(noise, prior):
    offset = np.random.default_rng(9).normal(size=160) * 0.3
    rows = rows_of(noise, prior, offset=offset)
    fit = nl.fit(rows.X, rows.y, noise, prior, offset=offset, tol=TIGHT)
    check_optimal(fit, rows, noise, prior)
    law = rows.law(fit)
    np.testing.assert_allclose(fit.predict(rows.X, offset=offset), law.p if law.labelled else law.point(), rtol=1e-12)
    if noise.link.name == "log":
        exposed = nl.fit(rows.X, rows.y, noise, prior, exposure=np.exp(offset), tol=TIGHT)
        check_same(exposed, fit, 1e-9)
        np.testing.assert_allclose(
            exposed.predict(rows.X, exposure=np.exp(offset)), fit.predict(rows.X, offset=offset), rtol=1e-8
        )


# ---- kinds of data ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
@each(FEW_PRIORS, "prior")
@each(NOISES)
def test_every_form_of_the_data_has_the_same_fit(noise, prior, form):
    given = problem(prior)
    y = targets(noise, given.table)
    fit = nl.fit(given.form(form), y, noise, prior, tol=TIGHT)
    check_same(fit, nl.fit(given.dense, y, noise, prior, tol=TIGHT))
    law = fit.noise.given(Rows(given.dense, y).eta(fit))
    np.testing.assert_allclose(fit.predict(given.form(form)), law.p if law.labelled else law.point(), rtol=1e-10)


@each(FEW_PRIORS, "prior")
@each(NOISES)
def test_single_precision(noise, prior):
    """Columns in float32 are read as they are; sums are still in double precision."""
    rows = rows_of(noise, prior)
    single = rows.X.astype(np.float32)
    fit = nl.fit(single, rows.y.astype(np.float32), noise, prior, tol=TIGHT)
    double = nl.fit(single.astype(float), rows.y.astype(np.float32).astype(float), noise, prior, tol=TIGHT)
    check_same(fit, double, 1e-4)


@pytest.mark.parametrize("form", ["pandas", "pandas_strings", "polars", "arrow"])
@each(FEW_PRIORS, "prior")
def test_names_say_column_and_level(prior, form):
    given = problem(prior)
    fit = nl.fit(given.form(form), targets(nl.Poisson(), given.table), nl.Poisson(), prior)
    names = list(fit.names)
    assert names[:3] == ["slope", "curve", "flag"]
    levels = ["amber", "blue", "cyan"] if given.levels else ["blue", "cyan"]
    assert len(names) == 3 + len(levels) == np.size(fit.coef)
    for name, level in zip(names[3:], levels, strict=True):
        assert "colour" in name
        assert level in name


def test_classes_may_have_any_labels():
    given = problem(nl.Flat())
    numbers = targets(nl.Categorical(), given.table).astype(int)
    labels = np.array(["pear", "apple", "quince"])  # sorted: apple, pear, quince
    named, plain = (
        nl.fit(given.dense, y, nl.Categorical(), nl.Gaussian(scale=1.0), tol=TIGHT) for y in (labels[numbers], numbers)
    )
    assert list(named.classes) == ["apple", "pear", "quince"]
    assert list(plain.classes) == [0, 1, 2]
    np.testing.assert_allclose(named.coef[[1, 0, 2]], plain.coef, atol=1e-9)
    for fit in (named, plain):
        np.testing.assert_allclose(fit.coef.sum(axis=0), 0, atol=1e-9)
        np.testing.assert_allclose(fit.intercept.sum(), 0, atol=1e-9)


@each(KNOWN)
def test_inputs_are_left_as_they_were(noise):
    rows = rows_of(noise, nl.Gaussian(scale=1.0))
    inputs = {"X": rows.X.copy(), "y": rows.y.copy(), "sample_weight": np.full(160, 2.0), "offset": np.full(160, 0.1)}
    before = {name: value.copy() for name, value in inputs.items()}
    for value in inputs.values():
        value.flags.writeable = False
    nl.fit(inputs["X"], inputs["y"], noise, nl.Gaussian(scale=1.0), sample_weight=inputs["sample_weight"])
    nl.fit(np.asfortranarray(inputs["X"]), inputs["y"], noise, nl.Laplace(scale=1.0), sample_weight=None)
    if not isinstance(noise, nl.Categorical):
        nl.fit(inputs["X"], inputs["y"], noise, offset=inputs["offset"])
    for name, value in inputs.items():
        np.testing.assert_array_equal(value, before[name])


@each(KNOWN)
def test_the_number_of_threads_changes_no_bit(noise, monkeypatch):
    given = problem(nl.Flat(), rows=100_000)
    X, y = given.dense, targets(noise, given.table)
    answers = []
    for threads in ("1", "2", "3"):
        monkeypatch.setitem(os.environ, "NEGLOG_NUM_THREADS", threads)
        fit = nl.fit(X, y, noise, nl.Gaussian(scale=1.0))
        answers.append(np.concatenate([np.ravel(fit.coef), np.ravel(fit.intercept), [fit.nll]]))
    assert answers[0].tobytes() == answers[1].tobytes() == answers[2].tobytes()


@each(KNOWN)
def test_the_predictive_law_has_the_nll_of_the_fit(noise):
    rows = rows_of(noise, nl.Flat())
    fit = nl.fit(rows.X, rows.y, noise)
    assert fit.distribution(rows.X).nll(rows.y).sum() == pytest.approx(fit.nll, rel=1e-10)
    assert fit.log_likelihood == pytest.approx(-fit.nll, rel=1e-13)
    assert fit.n_parameters == (2 * 6 if isinstance(noise, nl.Categorical) else 6)
    assert fit.aic == pytest.approx(2 * fit.nll + 2 * fit.n_parameters, rel=1e-12)
    assert fit.bic == pytest.approx(2 * fit.nll + np.log(160) * fit.n_parameters, rel=1e-12)


# ---- hard problems ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("large", [1e3, 3e4, 1e5])
@pytest.mark.parametrize("seed", range(3))
def test_one_row_that_outweighs_all_others_hides_no_direction(seed, large):
    """Under the inverse link a mean of 1e5 bends 1e20 times more than one of 1: sums of squares lose the others."""
    rng = np.random.default_rng(seed)
    X = rng.random((60, 3))
    y = 1 / (0.5 + X @ [0.5, 0.3, 0.2]) + 0.1 * rng.normal(size=60)
    X[0], y[0] = [-1.0, 0.0, 0.0], large
    fit = nl.fit(X, y, nl.Gaussian(scale=0.1, link="inverse"))
    assert fit.converged
    assert "collinear" not in fit.message
    A = np.column_stack([np.ones(60), X])
    eta = A @ [fit.intercept, *fit.coef]
    slopes = (y - 1 / eta) / eta**2 / 0.1**2
    unit = np.linalg.qr(A / eta[:, None] ** 2 / 0.1)[1]  # of which the information is the square
    assert np.linalg.norm(np.linalg.solve(unit.T, A.T @ slopes)) < 2e-3


@pytest.mark.parametrize("seed", range(8))
def test_an_open_scale_under_a_lasso_takes_the_better_of_two_optima(seed):
    """One near the prior with a large scale, one near least squares with a small one."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(24, 5))
    y = X @ [0.5, -0.5, 0.5, 0.5, -0.5] + 0.2 * rng.normal(size=24)
    prior = nl.Laplace(scale=0.1)
    fit = nl.fit(X, y, nl.Gaussian(), prior)
    others = [nl.fit(X, y, nl.Gaussian(scale=scale), prior).objective for scale in np.geomspace(0.03, 3, 60)]
    assert fit.objective <= min(others) + 1e-6


@each({name: noise for name, noise in KNOWN.items() if name != "categorical"})
@pytest.mark.parametrize("prior", [nl.Laplace(loc=60.0, scale=200.0), nl.Gaussian(loc=60.0, scale=200.0)], ids=str)
def test_a_prior_centred_far_from_the_data_is_no_place_to_begin(noise, prior):
    """Raw predictions of some hundreds, whose means are beyond the numbers under a log link."""
    given = problem(nl.Flat())
    fit = nl.fit(given.dense[:, :2], targets(noise, given.table), noise, prior)
    assert fit.converged
    assert np.all(np.abs(fit.coef) < 10)
