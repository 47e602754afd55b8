"""Where fits go wrong: each edge has the right answer, or says clearly why there is none."""

import re
import warnings

import numpy as np
import pandas
import pytest
from inference.problems import Rows, check_optimal, remainder

import neglog as nl

COLOURS = np.array(["blue", "green", "red"])


def design(n=40, d=3, seed=1):
    return np.random.default_rng(seed).normal(size=(n, d))


def completed(noise):
    """The noise with values for what is unknown, so that it can be sampled."""
    values = {"scale": 1.0, "shape": 2.0}
    return type(noise)(**{name: value for name, value in values.items() if name in noise.parameters})


def told(*arguments, **keywords):
    """What a fit that cannot succeed says: the text of its error, or of its message, status and warning."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            fit = nl.fit(*arguments, **keywords)
        except ValueError as error:
            return str(error)
    assert not fit.converged
    assert any(issubclass(warning.category, nl.ConvergenceWarning) for warning in caught)
    return fit.message


def quietly(*arguments, **keywords):
    """A fit that must not warn about convergence."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit = nl.fit(*arguments, **keywords)
    assert fit.converged, fit.message
    return fit


# ---- targets ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("noise", [nl.Poisson(), nl.Tweedie(power=1.5, dispersion=1.0)], ids=repr)
def test_counts_that_are_all_zero_have_no_finite_intercept(noise):
    with pytest.warns(nl.ConvergenceWarning):
        fit = nl.fit(design(), np.zeros(40), noise)
    assert not fit.converged
    assert fit.message
    assert np.all(np.isfinite(fit.coef))
    assert np.all(fit.predict(design()) < 1e-3)


@pytest.mark.parametrize(
    "noise",
    [nl.Gaussian(scale=2.0), nl.Laplace(scale=2.0), nl.Huber(scale=2.0), nl.LogNormal(scale=2.0), nl.Poisson()],
    ids=repr,
)
@pytest.mark.parametrize("prior", [nl.Flat(), nl.Gaussian(scale=1.0), nl.Laplace(scale=0.5)], ids=repr)
def test_a_constant_target_needs_no_slope(noise, prior):
    fit = quietly(design(), np.full(40, 3.0), noise, prior, tol=1e-10)
    np.testing.assert_allclose(fit.coef, 0, atol=1e-9)
    expected = np.log(3.0) if isinstance(noise, nl.LogNormal | nl.Poisson) else 3.0
    assert fit.intercept == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("noise", [nl.Gaussian(), nl.Laplace(), nl.LogNormal(), nl.Gamma()], ids=repr)
def test_a_perfect_fit_leaves_no_scale_to_estimate(noise):
    """The likelihood has no maximum: the scale runs to zero (the shape to infinity)."""
    assert re.search("scale|shape|exact|perfect", told(design(), np.full(40, 3.0), noise))


@pytest.mark.parametrize("noise", [nl.Gaussian(), nl.Laplace()], ids=repr)
def test_more_columns_than_rows_leave_no_scale_to_estimate(noise):
    X = design(5, 8)
    assert re.search("scale|exact|perfect", told(X, design(5, 1)[:, 0], noise))


def test_positive_amounts_near_the_ends_of_the_numbers():
    X = design(60, 2)
    for size in (1e-280, 1e280):
        y = size * np.random.default_rng(2).gamma(3.0, 1 / 3, 60)
        fit = quietly(X, y, nl.Gamma(), tol=1e-10)
        plain = quietly(X, y / size, nl.Gamma(), tol=1e-10)
        np.testing.assert_allclose(fit.coef, plain.coef, atol=1e-8)
        assert fit.intercept == pytest.approx(plain.intercept + np.log(size), abs=1e-8)
        assert fit.noise.shape == pytest.approx(plain.noise.shape, rel=1e-7)


def test_large_counts():
    X = design(60, 2)
    y = np.random.default_rng(2).poisson(1e12 * np.exp(0.5 * X[:, 0])).astype(float)
    fit = quietly(X, y, nl.Poisson(), tol=1e-10)
    np.testing.assert_allclose(fit.coef, [0.5, 0.0], atol=1e-5)
    assert remainder(fit, Rows(X, y)) < 1e-5  # y is known to 1e-16 of 1e12, which is 1e-10 of its deviation


# ---- columns ---------------------------------------------------------------------------------------------------------


def test_constant_columns_are_collinear_with_the_intercept():
    table = pandas.DataFrame(design(40, 2), columns=["first", "second"]).assign(same=7.0)
    y = 1.0 + table["first"].to_numpy() + design(40, 1, 5)[:, 0]
    fit = quietly(table, y, tol=1e-10)
    plain = quietly(table[["first", "second"]], y, tol=1e-10)
    np.testing.assert_allclose(fit.coef, [*plain.coef, 0.0], atol=1e-9)
    assert fit.intercept == pytest.approx(plain.intercept, abs=1e-9)
    assert "collinear" in fit.message
    assert "same" in fit.message
    alone = quietly(table, y, intercept=False, tol=1e-10)
    assert 7.0 * alone.coef[2] == pytest.approx(plain.intercept, abs=1e-9)
    assert "collinear" not in alone.message


@pytest.mark.parametrize("noise", [nl.Gaussian(), nl.Poisson(), nl.Bernoulli(), nl.Gamma(), nl.Huber()], ids=repr)
def test_collinear_columns_have_the_solution_of_least_norm(noise):
    """Of all equally good coefficients on the original scale; the intercept does not count."""
    base = design(80, 2)
    table = pandas.DataFrame({"one": base[:, 0], "two": base[:, 1], "sum": base[:, 0] + 3 * base[:, 1]})
    y = completed(noise).given(0.3 + 0.4 * base[:, 0]).sample(rng=3).astype(float)
    fit, plain = quietly(table, y, noise, tol=1e-10), quietly(base, y, noise, tol=1e-10)
    span = np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 3.0]])  # table = base @ span
    np.testing.assert_allclose(span @ fit.coef, plain.coef, atol=1e-8)
    np.testing.assert_allclose(fit.coef, np.linalg.pinv(span) @ plain.coef, atol=1e-8)
    assert fit.nll == pytest.approx(plain.nll, rel=1e-11)
    assert "collinear" in fit.message
    assert any(name in fit.message for name in table.columns)


def test_more_columns_than_rows():
    X, y = design(10, 25), design(10, 1, 4)[:, 0]
    fit = quietly(X, y, nl.Gaussian(scale=1.0), tol=1e-10)
    centred, deviation = X - X.mean(axis=0), y - y.mean()
    np.testing.assert_allclose(fit.coef, np.linalg.pinv(centred, rcond=1e-10) @ deviation, atol=1e-8)
    np.testing.assert_allclose(fit.predict(X), y, atol=1e-8)
    assert "collinear" in fit.message
    for prior in (nl.Gaussian(scale=0.3), nl.Laplace(scale=0.3), nl.Gaussian(scale=0.5) * nl.Laplace(scale=0.5)):
        noise = nl.Gaussian(scale=1.0)
        check_optimal(quietly(X, y, noise, prior, tol=1e-10), Rows(X, y), noise, prior)


@pytest.mark.parametrize("noise", [nl.Gaussian(), nl.Poisson(), nl.Gamma(), nl.Laplace()], ids=repr)
def test_columns_far_from_zero(noise):
    """1e12 with a spread of 1: nothing is lost, because 1e12 + k / 1024 is exact."""
    X = np.round(design(90, 2) * 1024) / 1024
    y = completed(noise).given(0.2 + 0.5 * X[:, 0]).sample(rng=3).astype(float)
    near, far = quietly(X, y, noise, tol=1e-10), quietly(X + 1e12, y, noise, tol=1e-10)
    np.testing.assert_allclose(far.coef, near.coef, atol=1e-7)
    assert far.intercept == pytest.approx(near.intercept - 1e12 * near.coef.sum(), rel=1e-6, abs=1e6)
    assert far.nll == pytest.approx(near.nll, abs=0.01)  # 1e12 times a coefficient is known to 1e-4


@pytest.mark.parametrize("size", [1e-150, 1e-12, 1e12, 1e150])
def test_units_of_columns_do_not_matter(size):
    X = design(60, 2)
    y = np.random.default_rng(3).poisson(np.exp(0.5 * X[:, 0])).astype(float)
    plain, scaled = (quietly(x, y, nl.Poisson(), tol=1e-10) for x in (X, X * [size, 1.0]))
    np.testing.assert_allclose(scaled.coef * [size, 1.0], plain.coef, atol=1e-8)


@pytest.mark.parametrize("slope", [1.0, 2.0, -2.0])
def test_poisson_where_a_full_newton_step_diverges(slope):
    rng = np.random.default_rng(6)
    x = rng.uniform(5, 10, 200)
    y = rng.poisson(np.exp(slope * (x - 7.5))).astype(float)
    fit = quietly(x[:, None], y, nl.Poisson(), tol=1e-10)
    check_optimal(fit, Rows(x[:, None], y), nl.Poisson(), nl.Flat())
    assert fit.coef[0] == pytest.approx(slope, abs=0.1)


@pytest.mark.parametrize("n", [1, 7])
@pytest.mark.parametrize("make", [np.empty, lambda shape: pandas.DataFrame(index=range(shape[0]))])
def test_no_columns_at_all(make, n):
    y = np.arange(1.0, n + 1)
    fit = quietly(make((n, 0)), y, nl.Poisson(), tol=1e-10)
    assert np.shape(fit.coef) == (0,)
    assert fit.intercept == pytest.approx(np.log(y.mean()), abs=1e-9)


# ---- offsets and exposures -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("offset", [-700.0, 700.0])
@pytest.mark.parametrize("noise", [nl.Poisson(), nl.Gamma(), nl.Bernoulli(), nl.Gaussian()], ids=repr)
def test_large_offsets_move_the_intercept_only(noise, offset):
    X = design(60, 2)
    y = completed(noise).given(0.5 * X[:, 0]).sample(rng=8).astype(float)
    plain, moved = quietly(X, y, noise, tol=1e-10), quietly(X, y, noise, offset=np.full(60, offset), tol=1e-10)
    np.testing.assert_allclose(moved.coef, plain.coef, atol=1e-9)
    assert moved.intercept + offset == pytest.approx(plain.intercept, abs=1e-9)
    assert moved.nll == pytest.approx(plain.nll, rel=1e-10)


def test_exposures_over_sixteen_orders_of_magnitude():
    """The rate is all events over all exposure."""
    exposure = np.geomspace(1e-8, 1e8, 33)
    y = np.random.default_rng(4).poisson(2.0 * exposure).astype(float)
    fit = quietly(np.empty((33, 0)), y, nl.Poisson(), exposure=exposure, tol=1e-12)
    assert np.exp(fit.intercept) == pytest.approx(y.sum() / exposure.sum(), rel=1e-12)
    np.testing.assert_allclose(fit.predict(np.empty((33, 0)), exposure=exposure).sum(), y.sum(), rtol=1e-12)


# ---- separation ------------------------------------------------------------------------------------------------------


def separated(noise):
    """A table whose column 'culprit' decides the target, and its target."""
    table = pandas.DataFrame(design(60, 2, 9), columns=["harmless", "culprit"])
    side = table["culprit"].to_numpy() > 0
    rng = np.random.default_rng(10)
    if isinstance(noise, nl.Bernoulli):
        return table, side.astype(float)
    if isinstance(noise, nl.Poisson):  # never an event where the culprit is 1
        return table.assign(culprit=side.astype(float)), np.where(side, 0, rng.poisson(2.0, 60)).astype(float)
    return table, COLOURS[np.where(side, 2, rng.integers(0, 2, 60))]


SEPARABLE = [nl.Bernoulli(), nl.Bernoulli(link="probit"), nl.Poisson(), nl.Categorical()]


@pytest.mark.parametrize("noise", SEPARABLE, ids=repr)
def test_separation_is_found_and_its_column_named(noise):
    table, y = separated(noise)
    with pytest.warns(nl.ConvergenceWarning, match="separat") as caught:
        fit = nl.fit(table, y, noise)
    assert not fit.converged
    for text in (fit.message, str(caught[0].message)):
        assert "separat" in text
        assert "culprit" in text
    assert np.all(np.isfinite(fit.coef))


@pytest.mark.parametrize("noise", SEPARABLE, ids=repr)
def test_a_prior_cures_separation(noise):
    table, y = separated(noise)
    for prior in (nl.Gaussian(scale=1.0), nl.Laplace(scale=1.0)):
        fit = quietly(table, y, noise, prior, tol=1e-10)
        numbers = np.unique(y, return_inverse=True)[1] if isinstance(noise, nl.Categorical) else y
        check_optimal(fit, Rows(table.to_numpy(), np.asarray(numbers, float)), noise, prior)


def test_quasi_complete_separation():
    """One class occurs alone on one side; on the other both occur."""
    table, _ = separated(nl.Bernoulli())
    rng = np.random.default_rng(12)
    table["culprit"] = (table["culprit"] > 0).astype(float)
    y = np.where(table["culprit"] > 0, 1.0, rng.integers(0, 2, 60))
    with pytest.warns(nl.ConvergenceWarning, match="separat"):
        fit = nl.fit(table, y, nl.Bernoulli())
    assert "culprit" in fit.message
    assert "harmless" not in fit.message  # its coefficient is finite
    assert fit.coef[1] > 5
    inside = table["culprit"] == 0  # the rest is a fit of its own
    rest = quietly(table.loc[inside, ["harmless"]], y[inside], nl.Bernoulli())
    assert fit.coef[0] == pytest.approx(rest.coef[0], abs=1e-2)


def test_overlap_by_a_single_row_is_no_separation():
    table, y = separated(nl.Bernoulli())
    y[np.argmax(table["culprit"])] = 0.0
    quietly(table, y, nl.Bernoulli())


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_only_one_answer_was_ever_given(value):
    with pytest.warns(nl.ConvergenceWarning):
        fit = nl.fit(design(), np.full(40, value), nl.Bernoulli())
    assert not fit.converged
    np.testing.assert_allclose(fit.predict(design()), value, atol=1e-3)


# ---- stopping early --------------------------------------------------------------------------------------------------


def test_too_few_iterations_are_a_status_a_message_and_a_warning():
    X = design(200, 3)
    y = np.random.default_rng(3).poisson(np.exp(1.5 * X[:, 0] + 1.0)).astype(float)
    with pytest.warns(nl.ConvergenceWarning, match="max_iter") as caught:
        fit = nl.fit(X, y, nl.Poisson(), max_iter=1, tol=1e-10)
    assert len(caught) == 1
    assert issubclass(nl.ConvergenceWarning, UserWarning)
    assert not fit.converged
    assert fit.n_iter <= 1
    assert "max_iter" in fit.message
    assert np.isfinite(fit.objective)
    fine = quietly(X, y, nl.Poisson(), tol=1e-10)
    assert 1 < fine.n_iter <= 100
    assert fit.objective > fine.objective


def test_offsets_of_classes():
    rng = np.random.default_rng(4)
    X, offset = rng.normal(size=(300, 2)), rng.normal(size=(300, 3))
    y = rng.integers(0, 3, 300)
    fit = nl.fit(X, y, nl.Categorical(), nl.Gaussian(scale=1.0), offset=offset, tol=1e-10)
    eta = offset + fit.intercept + X @ fit.coef.T
    _, gradient, _ = nl.Categorical().derivatives(y, eta)
    np.testing.assert_allclose(gradient.T @ X + fit.coef, 0, atol=1e-7)
    np.testing.assert_allclose(gradient.sum(axis=0), 0, atol=1e-7)
    np.testing.assert_allclose(fit.raw_prediction(X, offset=offset), eta, atol=1e-12)
    with pytest.raises(ValueError, match=r"\(300, 3\).*\(300,\)"):
        nl.fit(X, y, nl.Categorical(), offset=np.zeros(300))


def test_standard_errors_of_classes_are_those_of_their_differences():
    """With two classes the difference of the coefficients is a logistic regression."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(300, 2))
    y = (rng.random(300) < 1 / (1 + np.exp(-X[:, 0]))).astype(float)
    two, one = nl.fit(X, y, nl.Categorical()), nl.fit(X, y, nl.Bernoulli())
    np.testing.assert_allclose(2 * two.standard_errors[1], one.standard_errors, rtol=1e-6)
    assert 2 * two.intercept_standard_error[1] == pytest.approx(one.intercept_standard_error, rel=1e-6)


@pytest.mark.parametrize("seed", [4, 6, 17, 25])
def test_of_several_thresholds_that_are_best_nearby_the_best_is_found(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(300, 3))
    y = nl.Huber(scale=0.3, delta=1.0).given(2 + 0.05 * X @ [1, -0.5, 0]).sample(rng=rng)
    with warnings.catch_warnings():  # for some of them Laplace noise would be best, which is at the edge
        warnings.simplefilter("ignore", nl.ConvergenceWarning)
        found = nl.fit(X, y, nl.Huber(delta=None))
        known = [nl.fit(X, y, nl.Huber(delta=delta)).nll for delta in np.geomspace(0.02, 5, 30)]
    assert found.nll < min(known) + 0.01  # another optimum is worse by 0.15 nats or more


@pytest.mark.parametrize("link", ["inverse", "sqrt", "log", "identity"])
@pytest.mark.parametrize("noise", [nl.Gaussian, nl.Huber, nl.Gamma, nl.Poisson, nl.Tweedie])
def test_a_column_of_ones_is_an_intercept_under_every_link(noise, link, rng):
    X = rng.normal(size=(400, 2))
    eta = {"inverse": 0.8, "sqrt": 1.4, "log": 0.3, "identity": 1.5}[link] + 0.05 * X[:, 0]
    truth = {nl.Gaussian: {"scale": 0.3}, nl.Huber: {"scale": 0.3}, nl.Gamma: {"shape": 3.0}, nl.Poisson: {}}
    parameters = truth.get(noise, {"power": 1.5, "dispersion": 0.5})
    y = noise(**parameters, link=link).given(eta).sample(rng=rng)
    law = noise(**({"power": 1.5} if noise is nl.Tweedie else {}), link=link)
    usual = nl.fit(X, y, law, tol=1e-9)
    column = nl.fit(np.column_stack([X, np.ones(400)]), y, law, intercept=False, tol=1e-9)
    np.testing.assert_allclose(column.coef, [*usual.coef, usual.intercept], rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(column.standard_errors[:2], usual.standard_errors, rtol=1e-5)


@pytest.mark.parametrize(
    "noise",
    [
        nl.Gaussian(link="sqrt"),
        nl.Huber(link="sqrt"),
        nl.Gamma(link="inverse"),
        nl.Poisson(link="identity"),
        nl.Tweedie(power=1.5, link="sqrt"),
        nl.Tweedie(power=1.5, link="identity"),
    ],
    ids=str,
)
def test_predictions_that_must_leave_the_domain_of_a_link_are_said_to(noise, rng):
    X = rng.normal(size=(100, 2))  # about 0, and no intercept
    y = rng.poisson(3.0, 100) + 1.0
    with pytest.warns(
        nl.ConvergenceWarning, match=r"domain of the \w+ link, 0 and above: \d+ of 100 rows .* intercept"
    ):
        fit = nl.fit(X, y, noise, intercept=False)
    assert not fit.converged
    assert str(fit.summary())


def test_gaussian_noise_is_not_given_a_huber_threshold(rng):
    with pytest.warns(nl.ConvergenceWarning, match="looks Gaussian"):
        nl.fit(np.empty((3000, 0)), rng.uniform(size=3000), nl.Huber(delta=None))


def test_the_summary_of_a_fit_whose_coefficients_are_all_at_the_kink(rng):
    X, y = rng.normal(size=(50, 2)), rng.normal(size=50)
    fit = nl.fit(X, y, nl.Gaussian(), nl.Laplace(scale=1e-4), intercept=False)
    assert not fit.coef.any()
    assert np.isnan(fit.standard_errors).all()
    assert fit.noise_standard_errors["scale"] == pytest.approx(fit.noise.scale / 10, rel=1e-6)
    assert "scale" in str(fit.summary())
