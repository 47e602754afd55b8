"""What is believed after the data, for whatever the registry holds: posteriors, evidence and held-out rows against
differences, quadrature and refits that use nothing but the nll of the noise and of the prior.
"""

import ctypes
from dataclasses import replace

import numpy as np
import pytest
from laws.inference_cases import (
    EXAMPLES,
    EXTRAS,
    LINKED,
    PRIORS,
    can_open,
    curvature,
    each,
    estimates,
    information,
    slope,
)

import neglog as nl
from neglog.belief.nuts import Density

FEW = 200  # rows, of which one is left out
STATED = [case for case in EXAMPLES if not case.opened]


# ---- Laplace's approximation -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("extras", EXTRAS)
@pytest.mark.parametrize("prior", ["flat", "gaussian"])
@each(EXAMPLES)
def test_the_posterior_has_the_peak_and_the_curvature_of_its_density(case, prior, extras):
    rows, noise = case.rows(extras), case.noise
    fit = rows.fit(noise, case.prior(prior))
    posterior, names = fit.posterior(), noise.unknown
    labels = [noise.parameter(name).label for name in names]
    assert posterior.names == ("intercept", "x0", "x1", "x2", *labels)
    np.testing.assert_allclose(posterior.mean, estimates(fit, names), rtol=1e-9, atol=1e-9 * case.size)
    covariance = np.linalg.inv(curvature(fit, rows, names, posterior.std))
    size = np.sqrt(np.outer(covariance.diagonal(), covariance.diagonal()))
    close = 2e-3 if noise.traits.steady else 0.01
    np.testing.assert_allclose(posterior.covariance() / size, covariance / size, atol=close)


@pytest.mark.parametrize("extras", EXTRAS)
@each(STATED)
def test_the_evidence_is_the_integral_of_likelihood_and_prior(case, extras):
    """One coefficient, whose density is summed over a fine grid."""
    rows, noise, prior = case.rows(extras), case.truth, case.prior("gaussian")
    column, extra = rows.X[:, 0], 0.0 if rows.offset is None else rows.offset
    offset = case.centre - 0.5 * case.size * rows.X[:, 1] + extra
    part = replace(rows, X=column[:, None], offset=offset)
    posterior = part.fit(noise, prior, intercept=False).posterior()
    grid = posterior.mean[0] + posterior.std[0] * np.linspace(-8, 8, 161)
    nats = [part.w @ part.nats(noise, part.eta(0.0, np.array([b]))) + prior.nll(b) for b in grid]
    exact = np.log(np.sum(np.exp(min(nats) - nats)) * (grid[1] - grid[0])) - min(nats)
    steady = noise.traits.smooth and noise.traits.steady
    assert posterior.evidence == pytest.approx(exact, abs=0.01 if steady else 0.2)


# ---- the density that a sampler sees ---------------------------------------------------------------------------------


def in_core(density):
    """The same density as the sampler's C function gives it: value and gradient; None where there is none."""
    law = density.in_core()
    if law is None:
        return None
    size, number, pointer = density.root.shape[1], ctypes.c_int64, ctypes.c_void_p
    function = ctypes.CFUNCTYPE(number, number, pointer, pointer, pointer, pointer)(law.log_density)

    def at(x):
        gradient, value = np.empty(size), np.empty(1)
        assert function(size, x.ctypes.data, gradient.ctypes.data, value.ctypes.data, law.data) == 0
        return value[0], gradient

    return at


@pytest.mark.parametrize("prior", PRIORS)
@each([*EXAMPLES, *LINKED])
def test_the_sampled_density_is_that_of_the_posterior(case, prior):
    """Up to a constant, in coordinates about the peak; a value within an interval is sampled as its log odds."""
    rows, noise = case.rows("weighted"), case.noise
    fit = rows.fit(noise, case.prior(prior))
    joint, names = fit._joint, noise.unknown
    density = Density(joint)
    within = [(4 + k, *own.within) for k, own in enumerate(joint.opened) if own.within is not None]

    def wanted(x):
        z = joint.public_matrix() @ density.native(x)
        odds = sum(np.log((z[k] - low) * (high - z[k])) for k, low, high in within)
        return odds - rows.minus_log_posterior(fit, names, z)

    rng = np.random.default_rng(3)
    points = rng.normal(size=(4, density.root.shape[1]))
    native = in_core(density)
    middle = np.zeros(len(points[0]))
    for x in points:
        value, gradient = density(x)
        if not np.isfinite(wanted(x)):  # a raw prediction without a law
            assert value == -np.inf
            continue
        change = value - density(middle)[0]
        assert change == pytest.approx(wanted(x) - wanted(middle), rel=1e-7, abs=1e-6)
        for k, unit in enumerate(np.eye(len(x))):
            numeric = slope(lambda t, unit=unit, x=x: wanted(x + t * unit), 0.0, 1e-4)
            assert gradient[k] == pytest.approx(numeric, rel=1e-4, abs=2e-4)
        if native is not None:
            assert native(x)[0] - native(middle)[0] == pytest.approx(change, rel=1e-9, abs=1e-9)
            np.testing.assert_allclose(native(x)[1], gradient, rtol=1e-8, atol=1e-8)


# ---- one parameter ---------------------------------------------------------------------------------------------------


def parameters_of(case):
    """The location, and what else could be the one that is unknown."""
    return [case.family.location, *can_open(case.truth)]


def proper_prior(law, name):
    """One about the value that a law has, by what the parameter may be; a location's is three times as wide as what
    one row tells.
    """
    contains, value = law.parameter(name).domain.contains, law.parameters[name]
    low, high = law.locations if name == law.location else [-np.inf if contains(-1.0) else 0.0, np.inf]
    if low < 0:
        told = name == law.location and law.link.name == "identity"
        square = 1 / information(law, np.array([value]))[0] if told else law.variance()
        return nl.Gaussian(value, 3 * float(np.sqrt(square)))
    return nl.Gamma(value, 4.0) if high > 1 else nl.Beta(2.0, 3.0)


ONE = [pytest.param(case, name, id=f"{case}-{name}") for case in STATED for name in parameters_of(case)]


@pytest.mark.parametrize(("case", "name"), ONE)
def test_the_posterior_of_one_parameter_is_likelihood_times_prior(case, name):
    """Against a sum over a fine grid."""
    law = case.family(**case.family.examples[case.number])
    y = np.asarray(law.sample(40, rng=9), float)
    prior, values = proper_prior(law, name), law.parameters | {name: None}
    posterior = nl.posterior(y, case.family(**values), prior)
    assert posterior.parameter == name
    ends = prior.bounds if law.parameter(name).within is None else law.parameter(name).within
    grid = np.linspace(*np.clip(posterior.mean + posterior.std * np.array([-12, 12]), *ends), 1201)[1:-1]
    grid = grid[law.parameter(name).domain.contains(grid)]
    nats = np.sum(case.family(**values | {name: grid[:, None]}).nll(y), axis=1) + prior.nll(grid)
    masses = np.exp(np.min(nats) - nats) * (grid[1] - grid[0])
    assert posterior.evidence == pytest.approx(np.log(masses.sum()) - np.min(nats), abs=1e-3)
    mean = masses @ grid / masses.sum()
    assert posterior.mean == pytest.approx(mean, abs=0.01 * posterior.std)
    assert posterior.std == pytest.approx(np.sqrt(masses @ (grid - mean) ** 2 / masses.sum()), rel=0.01)


# ---- rows that are left out ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("extras", EXTRAS)
@pytest.mark.parametrize("prior", ["gaussian", "laplace"])
@each(EXAMPLES)
def test_held_out_nats_are_those_of_refits(case, prior, extras):
    """Of a row that counts more than once, one copy is left out. A refit in which a coefficient leaves 0, or comes to
    it, is no small step away.
    """
    rows, noise, belief = case.rows(extras, FEW), case.open_at(FEW), case.prior(prior, FEW)
    fit = rows.fit(noise, belief)
    if not noise.traits.smooth:
        with pytest.raises(ValueError, match="needs a smooth loss"):
            fit.loo()
        return
    loo = fit.loo()
    seen = rows.nats(fit.noise, rows.eta(fit.intercept, fit.coef))
    assert fit.nll == pytest.approx(rows.w @ seen, rel=1e-10)
    assert loo.total > fit.nll
    assert np.mean(loo.unreliable) < 0.1
    chosen = np.flatnonzero(~loo.unreliable)[:: FEW // 5]
    compared = 0
    for row in chosen:
        left = rows.w.copy()
        left[row] -= min(left[row], 1.0)
        without = replace(rows, weight=left).fit(noise, belief)
        if np.array_equal(without.coef == 0, fit.coef == 0):
            exact = rows.nats(without.noise, rows.eta(without.intercept, without.coef))[row]
            close = 0.1 * abs(exact - seen[row]) + 0.1 * np.mean(loo.nll - seen)
            assert loo.nll[row] == pytest.approx(exact, rel=0, abs=close)
            compared += 1
    assert compared >= (1 if prior == "laplace" else len(chosen))
