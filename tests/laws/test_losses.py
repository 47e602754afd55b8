"""The familiar loss, the deviance and the nll differ only by what does not depend on the prediction."""

import numpy as np
import pytest
from laws.cases import NOISES, PRIORS, each, typical

import neglog as nl


def predictions(noise):
    """Predictions on the scale of y, and the law at each."""
    if noise._family() == "categorical":
        rows = np.random.default_rng(1).dirichlet(np.ones(noise.p.size), 6)
        return [(row, nl.Categorical(row)) for row in rows]
    values = np.linspace(0.15, 0.85, 6) if noise.bounds[1] == 1 else np.linspace(0.2, 3.0, 6)
    locations = noise.located(values)
    return [
        (value, type(noise)(**noise.parameters | {noise.location: at}))
        for value, at in zip(values, locations, strict=True)
    ]


@each(NOISES, "noise")
def test_nll_minus_loss_over_its_scale_does_not_depend_on_the_prediction(noise, rng):
    y = typical(noise, rng, 20)
    rest = np.array([law.nll(y) - noise.loss(y, f) / noise.loss_scale for f, law in predictions(noise)])
    size = np.max([np.abs(law.nll(y)) for _, law in predictions(noise)], axis=0)
    assert np.all(np.ptp(rest, axis=0) <= 1e-12 * (1 + size))


@each(NOISES, "noise")
def test_the_loss_is_least_where_the_nll_is(noise, rng):
    y = typical(noise, rng, 50)
    pairs = predictions(noise)
    losses, nats = [noise.loss(y, f).sum() for f, _ in pairs], [law.nll(y).sum() for _, law in pairs]
    assert np.array_equal(np.argsort(losses), np.argsort(nats))


@each([noise for noise in NOISES if noise.traits.divided or noise.traits.repeats], "noise")
def test_without_covariates_the_best_prediction_is_the_known_statistic(noise, rng):
    """The mean of y, or of log y for the median model: there the gradients sum to zero."""
    y = typical(noise, rng, 200)
    statistic = np.mean(noise.located(y))
    if noise.link.name == "log" and statistic <= 0:
        pytest.skip("a negative mean has no log link")
    free = type(noise)(**noise.parameters | {noise.location: 0.0 if noise.location == "loc" else None})
    eta = noise.link.forward(statistic)
    gradients, hessians = free.gradient_hessian(y, eta)
    rounding = np.abs(hessians).sum() * np.spacing(np.abs(eta))  # of the statistic itself
    assert abs(gradients.sum()) <= 1e-12 * np.abs(gradients).sum() + 4 * rounding


def test_the_scale_with_the_highest_likelihood_is_the_known_statistic(rng):
    y = rng.normal(size=101)
    rms, mean_absolute = np.sqrt(np.mean(y**2)), np.mean(np.abs(y))
    for law in (nl.Gaussian(0.0, rms), nl.Laplace(0.0, mean_absolute), nl.LogNormal(0.0, rms)):
        at = np.exp(y) if isinstance(law, nl.LogNormal) else y
        assert law.parameter_gradient(at)["scale"].sum() == pytest.approx(0, abs=1e-12)


@each(NOISES, "noise")
def test_the_deviance_is_twice_the_loss_or_is_refused(noise, rng):
    y = typical(noise, rng, 20)
    if noise.deviance_per_loss is None:
        with pytest.raises(TypeError, match="no unit deviance"):
            noise.deviance(y, 1.0)
        return
    (first, law), (second, other) = predictions(noise)[:2]
    extra = noise.deviance(y, second) - noise.deviance(y, first)
    size = 1 + np.abs(law.nll(y)) + np.abs(other.nll(y))
    scale = noise.loss_scale if noise._family() != "gaussian" else noise.scale**2
    np.testing.assert_allclose(extra / (2 * scale) / size, (other.nll(y) - law.nll(y)) / size, atol=1e-12)
    if noise._family() != "categorical":
        inside = y[(y > 0) & (y < 1)] if noise.bounds[1] == 1 else y
        np.testing.assert_allclose(noise.deviance(inside, inside), 0, atol=1e-14)


@each(PRIORS, "prior")
def test_the_penalty_is_the_nll_without_its_constant(prior):
    theta = np.array([[0.3, -2.0], [0.0, 5.0], [1.0, 1.0]])
    rest = [np.sum(prior.nll(row)) - prior.penalty(row) for row in theta]
    size = max(abs(prior.penalty(row)) for row in theta)
    assert np.ptp(rest) <= 1e-12 * (1 + size)


@pytest.mark.parametrize("prior", [nl.Beta(2.0, 5.0), nl.Beta(0.5, 0.5)], ids=repr)
def test_the_penalty_of_a_beta_prior_is_its_nll_without_the_constant(prior):
    theta = np.array([0.1, 0.5, 0.9])
    assert np.ptp(prior.nll(theta) - [prior.penalty(t) for t in theta]) < 1e-14


def test_strengths_are_the_lambdas_of_the_penalties():
    theta = np.array([1.0, -2.0, 0.5])
    ridge, lasso = nl.Gaussian(scale=0.5), nl.Laplace(scale=0.2)
    assert ridge.strength == 2.0
    assert ridge.penalty(theta) == pytest.approx(2.0 * np.sum(theta**2))
    assert lasso.strength == 5.0
    assert lasso.penalty(theta) == pytest.approx(5.0 * np.sum(np.abs(theta)))
    net = ridge * lasso
    assert net.strength == (2.0, 5.0)
    assert net.penalty(theta) == pytest.approx(ridge.penalty(theta) + lasso.penalty(theta))
    assert nl.Flat().penalty(theta) == nl.Flat().strength == 0


def test_an_infinite_scale_leaves_a_coefficient_unpenalised():
    prior = nl.Gaussian(scale=[1.0, np.inf])
    assert prior.penalty([3.0, 100.0]) == 4.5
