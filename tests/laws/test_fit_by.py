"""One fit for each group is what `nl.fit` finds for its rows: of every family, with all that goes with the rows."""

import warnings

import numpy as np
import pytest
from laws.inference_cases import EXAMPLES, LINKED, each

import neglog as nl
from neglog.distributions.link import LINKS

GROUPS = 3
MANY = 40


def of_groups(case, extras):
    """Rows of several groups, each with its own draws, one after the other in no order."""
    parts = [case.rows(extras, seed=seed) for seed in range(GROUPS)]
    label = np.repeat(np.arange(GROUPS), [len(part.y) for part in parts])
    order = np.random.default_rng(0).permutation(len(label))

    def together(name):
        values = [getattr(part, name) for part in parts]
        return None if values[0] is None else np.concatenate(values)[order]

    names = {"sample_weight": "weight", "precision": "precision", "offset": "offset"}
    options = {what: together(name) for what, name in names.items()}
    return together("X"), together("y"), label[order], options


def assert_alike(fits, group, alone, *, errors=True):
    """Whatever can be asked of both."""
    assert fits.converged[group] == alone.converged, fits.message[group]
    noise = alone.noise_standard_errors
    unit = alone.standard_errors
    unit = np.where(np.isfinite(unit) & (unit > 0), unit, 1.0)
    np.testing.assert_allclose(fits.coef[group] / unit, alone.coef / unit, rtol=1e-7, atol=1e-7)
    if fits.has_intercept:
        own = alone.intercept_standard_error
        own = own if np.isfinite(own) and own > 0 else 1.0
        np.testing.assert_allclose(fits.intercept[group] / own, alone.intercept / own, rtol=1e-7, atol=1e-7)
    for name, values in fits.noise_parameters.items():
        wanted, error = getattr(alone.noise, name), noise.get(name, 0.0)
        np.testing.assert_allclose(values[group], wanted, rtol=1e-6, atol=1e-7 * error if np.isfinite(error) else 0.0)
    np.testing.assert_allclose(fits.nll[group], alone.nll, rtol=1e-9, atol=1e-8)
    if errors:
        np.testing.assert_allclose(fits.standard_errors[group], alone.standard_errors, rtol=1e-5)
        np.testing.assert_allclose(fits.intercept_standard_errors[group], alone.intercept_standard_error, rtol=1e-5)
        for name, value in noise.items():
            np.testing.assert_allclose(fits.noise_standard_errors[name][group], value, rtol=1e-4)


@pytest.mark.parametrize("prior", ["flat", "gaussian"])
@pytest.mark.parametrize("extras", ["plain", "weighted"])
@each([*EXAMPLES, *LINKED])
def test_each_group_is_a_fit_of_its_own(case, extras, prior):
    X, y, by, options = of_groups(case, extras)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", nl.ConvergenceWarning)
        fits = nl.fit_by(X, y, case.noise, case.prior(prior), by=by, tol=1e-9, **options)
        for group in range(GROUPS):
            own = {what: None if values is None else values[by == group] for what, values in options.items()}
            alone = nl.fit(X[by == group], y[by == group], case.noise, case.prior(prior), tol=1e-9, **own)
            assert_alike(fits, group, alone)


@each([case for case in EXAMPLES if case.number == 0])
def test_without_an_intercept(case):
    X, y, by, _ = of_groups(case, "plain")
    X = np.column_stack([X, np.ones(len(X))])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", nl.ConvergenceWarning)
        fits = nl.fit_by(X, y, case.noise, by=by, intercept=False, tol=1e-9)
        assert not fits.has_intercept
        assert not fits.intercept.any()
        for group in range(GROUPS):
            alone = nl.fit(X[by == group], y[by == group], case.noise, intercept=False, tol=1e-9)
            assert_alike(fits, group, alone, errors=False)
            np.testing.assert_allclose(fits.standard_errors[group], alone.standard_errors, rtol=1e-5)


@each([case for case in EXAMPLES if case.number == 0])
def test_one_call_settles_what_is_smooth(case):
    """Without it, every answer would come from the slow way round, and be right all the same."""
    X, y, by, _ = of_groups(case, "plain")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", nl.ConvergenceWarning)
        fits = nl.fit_by(X, y, case.noise, by=by)
    if case.truth.smooth and case.truth.traits.settled_by not in ("tweedie", "huber"):
        assert len(fits.texts) < GROUPS, fits.texts


LIMITED = [
    case
    for case in EXAMPLES
    if case.number == 0 and case.opened and any(own.limit is not None for own in case.truth.beside_location())
]


@pytest.mark.parametrize("prior", ["flat", "gaussian"])
@each(LIMITED)
def test_parameters_at_their_limits(case, prior):
    """Rows of the law at the limit, so that in about half of the groups the parameter runs there."""
    rng = np.random.default_rng(0)
    limits = {own.name: own for own in case.truth.beside_location() if own.limit is not None}
    n, name = 60, next(iter(limits))
    X, by = rng.normal(size=(MANY * n, 2)), rng.permutation(np.repeat(np.arange(MANY), n))
    eta = case.centre + case.size * 0.3 * X[:, 0]
    y = case.truth.with_(**{name: limits[name].limit.value}).given(eta).sample(rng=1)
    assert np.isfinite(LINKS[case.link].inverse(eta)).all()
    measure = {case.truth.spread} - {None}
    noise = case.truth.with_(**dict.fromkeys({*limits, *measure}))
    weight = rng.integers(1, 3, MANY * n).astype(float)
    law = nl.Flat() if prior == "flat" else nl.Gaussian(scale=case.size)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", nl.ConvergenceWarning)
        fits = nl.fit_by(X, y, noise, law, by=by, sample_weight=weight, tol=1e-9)
        at_limit = 0
        for group in range(MANY):
            own = by == group
            alone = nl.fit(X[own], y[own], noise, law, sample_weight=weight[own], tol=1e-9)
            at_limit += "went to its limit" in alone.message
            if fits.converged[group] and "Raise max_iter" in alone.message:  # a search of one that was longer
                assert fits.nll[group] + law.penalty(fits.coef[group]) < alone.objective
                continue
            assert_alike(fits, group, alone, errors=alone.converged)
            assert ("went to its limit" in fits.message[group]) == ("went to its limit" in alone.message)
    assert at_limit
    assert len(fits.texts) < MANY / 4
