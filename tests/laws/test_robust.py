"""The errors of how rows pull, against differences of the nll of each row: for whatever the registry holds."""

from dataclasses import replace

import numpy as np
import pytest
from laws.inference_cases import EXAMPLES, EXTRAS, each, errors, estimates, slope

import neglog as nl

SMOOTH = [case for case in EXAMPLES if case.truth.smooth]
KINKED = [case for case in EXAMPLES if not case.truth.smooth]


def covariance(fit, *arguments, **options):
    return np.asarray(fit.covariance(*arguments, noise=True, **options))


def pulls(fit, rows, names):
    """The slopes of each row's nll in intercept, coefficients and raw parameters, by differences."""
    at, steps = estimates(fit, names), errors(fit, names) * (0.05 if fit.noise.traits.steady else 1e-3)

    def nats(k):
        def along(value):
            z = at.copy()
            z[k] = value
            noise = fit.noise.at_raw(**dict(zip(names, z[1 + len(fit.coef) :].tolist(), strict=True)))
            return rows.nats(noise, rows.eta(z[0], z[1 : 1 + len(fit.coef)]))

        return along

    return np.stack([slope(nats(k), at[k], steps[k]) for k in range(len(at))], axis=1)


def check(found, wanted, rtol):
    units = np.sqrt(np.abs(wanted.diagonal()))
    np.testing.assert_allclose(found / np.outer(units, units), wanted / np.outer(units, units), atol=rtol, rtol=0)


@pytest.mark.parametrize("extras", EXTRAS)
@pytest.mark.parametrize("prior", ["flat", "gaussian"])
@each(SMOOTH)
def test_slopes_of_rows_stand_between_curvatures(case, prior, extras):
    rows = case.rows(extras)
    fit = rows.fit(case.noise, case.prior(prior))
    bread = covariance(fit)
    moved = pulls(fit, rows, case.noise.unknown)
    wanted = bread @ (moved.T * rows.w) @ moved @ bread
    check(covariance(fit, "robust"), wanted, 2e-3 if case.truth.traits.steady else 2e-2)


@each([case for case in SMOOTH if case.number == 0])
def test_slopes_of_a_cluster_are_added(case):
    rows = case.rows("weighted")
    fit = rows.fit(case.noise)
    own = np.arange(len(rows.y)) % 23
    bread = covariance(fit)
    moved = rows.w[:, None] * pulls(fit, rows, case.noise.unknown)
    sums = np.stack([moved[own == k].sum(axis=0) for k in range(23)])
    n, k = rows.w.sum(), 1 + len(fit.coef)
    few = 1 if fit.residual_degrees is None else (n - 1) / (n - k)
    wanted = 23 / 22 * few * bread @ sums.T @ sums @ bread
    check(covariance(fit, "cluster", own), wanted, 2e-3 if case.truth.traits.steady else 2e-2)


@each([case for case in SMOOTH if case.number == 0])
def test_a_cluster_for_each_row_is_robust(case):
    rows = case.rows()
    fit = rows.fit(case.noise)
    n, k = len(rows.y), 1 + len(fit.coef)
    factor = n / (n - 1) * (1 if fit.residual_degrees is None else (n - 1) / (n - k))
    check(covariance(fit, "cluster", np.arange(n)), factor * covariance(fit, "robust"), 1e-9)


@each([case for case in SMOOTH if case.number == 0])
def test_a_row_of_weight_two_is_the_row_twice(case):
    rows = case.rows()
    twice = replace(rows, weight=np.where(np.arange(len(rows.y)) % 3 == 0, 2.0, 1.0))
    longer = rows.taken(np.repeat(np.arange(len(rows.y)), twice.weight.astype(int)))
    one, other = twice.fit(case.noise), longer.fit(case.noise)
    for kind in ("HC0", "HC1", "HC3"):
        check(covariance(one, kind), covariance(other, kind), 1e-5)
    rare = replace(rows, weight=np.where(np.arange(len(rows.y)) % 3 == 0, 0.0, 1.0))
    fewer = rows.taken(rare.weight > 0)
    own = np.arange(len(rows.y)) % 11
    one, other = rare.fit(case.noise), fewer.fit(case.noise)
    check(covariance(one, "cluster", own), covariance(other, "cluster", own[rare.weight > 0]), 1e-5)


@each([case for case in SMOOTH if case.number == 0 and not case.opened])
def test_rows_that_follow_the_noise_pull_as_it_says(case):
    rows = case.rows(n=20_000)
    fit = rows.fit(case.noise)
    found = np.sqrt(covariance(fit, "HC3").diagonal() / covariance(fit).diagonal())
    np.testing.assert_allclose(found, 1, atol=0.12)


@each([case for case in KINKED if case.number == 0])
def test_kinks_are_refused(case):
    fit = case.rows().fit(case.noise)
    with pytest.raises(ValueError, match="has a kink; take Huber or StudentT noise"):
        fit.covariance("robust")
    with pytest.raises(ValueError, match="has a kink; take Huber or StudentT noise"):
        fit.covariance("cluster", np.arange(len(fit.predict(case.rows().X))) % 5)


def test_modelled_parameters_pull_too():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    y = X @ [1.0, 0.0] + np.exp(0.5 * X[:, 1]) * rng.standard_t(5, 400)
    fit = nl.fit(X, y, nl.Gaussian(scale="model"), tol=1e-10)
    found = fit.covariance("robust")
    matrix = np.column_stack([np.ones(400), X])
    residual, scale = y - fit.predict(X), np.exp(fit.predictors["scale"].intercept + X @ fit.predictors["scale"].coef)
    moved = np.hstack([-matrix * (residual / scale**2)[:, None], matrix * (1 - (residual / scale) ** 2)[:, None]])
    bread = np.asarray(fit.covariance())
    assert found.names == ("intercept", "x0", "x1", "scale: intercept", "scale: x0", "scale: x1")
    check(np.asarray(found), bread @ moved.T @ moved @ bread, 1e-8)
