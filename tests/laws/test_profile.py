"""Ends of profile intervals, against fits that hold the parameter there: for whatever the registry holds."""

import numpy as np
import pytest
from laws.inference_cases import EXAMPLES, EXTRAS, LINKED, each
from scipy.stats import norm, t

import neglog as nl

SMOOTH = [case for case in EXAMPLES + LINKED if case.truth.smooth]
LEVEL = 0.9


def nats(fit, degrees):
    """How many a level takes."""
    upper = 0.5 + 0.5 * LEVEL
    if degrees is None:
        return 0.5 * norm.ppf(upper) ** 2
    return 0.5 * fit.total_weight * np.log1p(t.ppf(upper, degrees) ** 2 / degrees)


def cost(fit):
    """Minus the log of the posterior density, in units in which fits that hold a coefficient can be compared."""
    return fit.nll + fit.penalty


def held(rows, noise, prior, column, value):
    """The fit in which one coefficient is what it is; its own prior is a number."""
    offset = value * rows.X[:, column] + (0.0 if rows.offset is None else rows.offset)
    options = {**rows.options, "offset": offset}
    return nl.fit(np.delete(rows.X, column, axis=1), rows.y, noise, prior, tol=1e-9, **options)


@pytest.mark.parametrize("extras", EXTRAS)
@pytest.mark.parametrize("prior", ["flat", "gaussian"])
@each(SMOOTH)
def test_a_coefficient_at_the_end_of_its_interval_costs_what_the_level_says(case, prior, extras):
    rows, prior = case.rows(extras), case.prior(prior)
    fit = rows.fit(case.noise, prior)
    name = "x1"
    for end in fit.interval(LEVEL, "profile", name)[name]:
        there = held(rows, case.noise, prior, 1, end)
        own = 0.0 if isinstance(prior, nl.Flat) else prior.penalty(end)
        assert cost(there) + own - cost(fit) == pytest.approx(nats(fit, fit.residual_degrees), rel=2e-5)


@each([case for case in SMOOTH if case.opened])
def test_a_parameter_at_the_end_of_its_interval_costs_what_the_level_says(case):
    rows = case.rows()
    fit = rows.fit(case.noise)
    for name in case.noise.unknown:
        own = case.noise.parameter(name)
        ends = fit.interval(LEVEL, "profile", name)[name]
        assert ends[0] < fit.noise.parameters[name] < ends[1]
        for end in ends:
            if not own.domain.contains(end):
                continue  # as far as there is to go
            there = rows.fit(case.noise.with_(**{name: end}))
            assert cost(there) - cost(fit) == pytest.approx(nats(fit, None), rel=2e-5)


@each([case for case in EXAMPLES if not case.truth.smooth and case.number == 0])
def test_kinks_are_refused(case):
    with pytest.raises(ValueError, match="has a kink; take Huber or StudentT noise"):
        case.rows().fit(case.noise).interval(LEVEL, "profile")


@each([case for case in SMOOTH if case.number == 0])
def test_wald_intervals_are_those_of_the_summary(case):
    fit = case.rows().fit(case.noise)
    found, table = fit.interval(LEVEL), fit.summary(LEVEL, contrasts=False).table
    assert list(found.names) == table["name"]
    np.testing.assert_array_equal(np.asarray(found), np.column_stack([table["lower"], table["upper"]]))
