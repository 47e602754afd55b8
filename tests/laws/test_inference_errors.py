"""Standard errors against the second derivatives of the posterior by differences, and the derivatives of every noise in
its prediction and all its raw parameters against differences of the nll: for whatever the registry holds.
"""

import numpy as np
import pytest
from laws.inference_cases import (
    EVERYWHERE,
    EXAMPLES,
    EXTRAS,
    LINKED,
    PRIORS,
    UNIVARIATE,
    can_open,
    curvature,
    each,
    errors,
    movable,
    slope,
)


@pytest.mark.parametrize("family", UNIVARIATE.values(), ids=list(UNIVARIATE))
def test_every_example_is_asked(family):
    """A family without a kernel, or with an example that no link reaches, would not be seen."""
    asked = {case.number for case in EXAMPLES if case.family is family}
    assert asked == set(range(len(family.examples)))
    assert all(set(example) == {own.name for own in family.declared} for example in family.examples)


def check_errors(case, prior, extras):
    rows, noise = case.rows(extras), case.noise
    fit = rows.fit(noise, case.prior(prior))
    names = noise.unknown
    assert fit.converged
    assert tuple(fit.noise_standard_errors) == names
    assert all(noise.parameter(name).domain.contains(fit.noise.parameters[name]) for name in names)
    found = errors(fit, names)
    free = movable(fit, names)
    np.testing.assert_array_equal(np.isnan(found), ~free)
    matrix = curvature(fit, rows, names, np.where(free, found, case.error()))[np.ix_(free, free)]
    wanted = np.sqrt(np.linalg.inv(matrix).diagonal())
    np.testing.assert_allclose(found[free], wanted, rtol=1e-3 if noise.traits.steady else 5e-3)


@pytest.mark.parametrize("extras", EXTRAS)
@pytest.mark.parametrize("prior", PRIORS)
@each(EXAMPLES)
def test_errors_are_those_of_the_curvature(case, prior, extras):
    check_errors(case, prior, extras)


@pytest.mark.parametrize("prior", ["flat", "gaussian"])
@each(LINKED)
def test_errors_under_every_link(case, prior):
    check_errors(case, prior, "weighted")


# ---- derivatives -----------------------------------------------------------------------------------------------------


def check_close(noise, found, wanted, unit, rtol):
    """Everywhere, but where a difference meets a kink."""
    close = np.abs(found - wanted) <= rtol * (np.abs(wanted) + unit)
    assert close.all() if noise.traits.smooth and noise.traits.steady else close.mean() > 0.9


@each(EVERYWHERE)
def test_joint_derivatives_are_those_of_the_nll(case):
    noise, eta = case.truth, case.centre + case.size * np.linspace(-3, 3, 30)
    y = np.asarray(noise.given(eta).sample(rng=5), float)
    nll, slopes, bends = noise.joint(y, eta, curvature=True)
    np.testing.assert_allclose(nll, noise.given(eta).nll(y), rtol=1e-11, atol=1e-11)
    own = noise.beside_location()
    assert slopes.shape == (1 + len(own), 30)
    raw = [eta, *(np.full(30, value) for value in noise.raw_parameters())]
    # a parameter whose value stands alone has no derivative
    chosen = [0, *(1 + k for k, one in enumerate(own) if one.name in can_open(noise))]
    units = {k: max(1.0, np.sqrt(np.mean(slopes[k] ** 2))) for k in chosen}
    units[0] = 1 / (2 * case.size)

    def at(k, x):
        return (noise.at_raw(**{own[k - 1].name: x}), eta) if k else (noise, x)

    def nats(k, x):
        here, raw_prediction = at(k, x)
        return here.given(raw_prediction).nll(y)

    for k in chosen:
        step = 1e-3 / units[k]
        numeric = slope(lambda x, k=k: nats(k, x), raw[k], step)
        check_close(noise, slopes[k], numeric, units[k], 1e-6)
        for j in chosen:
            if j <= k:
                change = slope(lambda x, k=k, j=j: at(k, x)[0].joint(y, at(k, x)[1])[1][j], raw[k], step)
                check_close(noise, bends[k * (k + 1) // 2 + j], change, units[k] * units[j], 1e-4)
