"""Gradients and Hessians as trainers get them, starts and estimates: no trainer is needed."""

import numpy as np
import pytest
from boosting.trainers import MODELLED, OPEN, TRUTH, draws, spread_draws
from families import TESTED

import neglog as nl
from neglog.boosting.derivatives import slopes_of
from neglog.boosting.estimation import estimated, start_of
from neglog.boosting.information import Information
from neglog.boosting.laws import WHOLE_LINE, law_of, suited
from neglog.boosting.nats import mean_nats

SINGLE = [
    *TRUTH.values(),
    nl.Gaussian(scale=0.5, link="log"),
    nl.Bernoulli(link="probit"),
    nl.Tweedie(power=3, dispersion=0.5),
]
SINGLE = [noise for noise in SINGLE if not isinstance(noise, nl.Categorical)]


def nll_sum(noise, y, raw):
    return float(np.sum(law_of(noise, raw).nll(y)))


@pytest.mark.parametrize("noise", SINGLE, ids=repr)
def test_gradients_are_those_of_the_exact_nll(noise):
    raw = np.linspace(-1.1, 0.9, 9)
    y = np.asarray(noise.given(raw).sample(rng=0), float) + (1e-3 if noise._family() in ("laplace", "huber") else 0)
    gradient, hessian = slopes_of(noise)(y, raw, None)
    step = 1e-5
    difference = (noise.given(raw + step).nll(y) - noise.given(raw - step).nll(y)) / (2 * step)
    np.testing.assert_allclose(gradient, difference, rtol=2e-4, atol=2e-5)
    assert gradient.dtype == hessian.dtype == np.float32
    _, exact, curvature = noise.derivatives(y, raw, expected=not noise.curved)
    np.testing.assert_allclose(gradient, exact, rtol=1e-6)
    np.testing.assert_allclose(hessian, curvature, rtol=1e-6)


@pytest.mark.parametrize("noise", [*SINGLE, *OPEN.values()], ids=repr)
def test_hessians_are_positive_everywhere(noise):
    if isinstance(noise, nl.Categorical):
        raw = np.random.default_rng(0).normal(0, 40, size=(50, 3))
        y = np.arange(50) % 3
    else:
        noise = nl.Tweedie(power=1.5) if noise == nl.Tweedie() else noise
        raw = np.linspace(-40, 40, 50)
        y = np.full(50, 1.0)
    for weight in (None, np.linspace(0, 3, 50)):
        gradient, hessian = slopes_of(noise)(y.astype(float), raw, weight)
        assert np.all(hessian > 0)
        assert np.all(np.isfinite(gradient))


@pytest.mark.parametrize("noise", MODELLED.values(), ids=repr)
def test_gradients_of_two_outputs(noise):
    X, y, _ = spread_draws(noise._family(), 30)
    raw = np.stack([X[:, 0], 0.5 * X[:, 1]], axis=1)
    gradient, hessian = slopes_of(noise)(y, raw, None)
    assert gradient.shape == hessian.shape == (30, 2)
    for k in range(2):
        step = 1e-5 * np.eye(2)[k]
        up, down = law_of(noise, raw + step).nll(y), law_of(noise, raw - step).nll(y)
        unit = np.mean(law_of(noise, raw).derivatives(y, raw[:, 0], expected=True)[2]) if k == 0 else 1.0
        np.testing.assert_allclose(unit * gradient[:, k], (up - down) / 2e-5, rtol=1e-3, atol=1e-4)
    assert hessian[:, 0].mean() == pytest.approx(1.0)
    assert np.all(hessian > 0)
    assert np.all(np.abs(gradient[:, 1]) <= hessian[:, 1])  # no leaf changes the log spread by more than one


@pytest.mark.parametrize(
    "law",
    [
        nl.Gaussian(1.0, 0.3),
        nl.Laplace(1.0, 0.3),
        nl.Huber(1.0, 0.3),
        nl.LogNormal(0.2, 0.7),
        nl.Gamma(2.0, 0.4),
        nl.Gamma(2.0, 30.0),
        nl.Tweedie(3.0, 1.5, 0.7),
        nl.Tweedie(0.1, 1.3, 6.0),
        nl.Tweedie(2e-4, 1.3, 6.0),
        nl.Tweedie(5e4, 1.3, 6.0),
        nl.Tweedie(3.0, 2, 0.7),
        nl.Tweedie(3.0, 3, 0.7),
        nl.Tweedie(3.0, 0, 0.7),
    ],
    ids=repr,
)
def test_the_information_of_the_log_spread(law):
    name = law.spread
    noise = type(law)(**law.parameters | {name: "model"})
    eta, log_spread = np.array([law.link.forward(law.parameters[law.location])]), np.log([getattr(law, name)])
    (information,) = Information(noise)(noise, law, np.stack([eta, log_spread], axis=1))
    y = law.sample(200_000, rng=5)
    scores = law.parameter_gradient(y)[name] * getattr(law, name)
    assert information == pytest.approx(np.mean(scores**2), rel=0.08)
    locations = law.parameter_gradient(y)[law.location]
    error = np.std(scores * locations) / np.sqrt(len(y))
    assert abs(np.mean(scores * locations)) < 5 * error  # location and spread are orthogonal


def test_tabulated_information_of_a_known_one():
    """Where a family has a formula, draws tell the same."""
    law = nl.Gamma(np.array([1.0, 5.0]), np.array([0.5, 3.0]))
    noise = nl.Gamma(shape="model")
    (found,) = Information(noise)._tabulated(noise, np.log([[1.0, 0.5], [5.0, 3.0]]))
    np.testing.assert_allclose(found, law.log_spread_information(), rtol=0.08)


def modelled_laws():
    """Every noise that trees take with every parameter beside its location modelled, by the name of the family."""
    for name, family in TESTED.items():
        example = family(**family.examples[0])
        names = [own.name for own in family.beside_location() if not own.several and own.name != family.traits.asks]
        while names and example.modelling(*names).cannot_tell(2, 1):  # one without the other
            names.pop()
        if names and example.link.name in WHOLE_LINE:
            yield pytest.param(example, example.modelling(*names), id=name)


@pytest.mark.parametrize(("law", "noise"), list(modelled_laws()))
def test_gradients_and_informations_of_every_modelled_parameter(law, noise):
    """Gradients against differences of the exact nll; informations against the mean square of many draws."""
    predicted = [float(noise.parameter(name).predicted.raw(law.parameters[name])) for name in noise.modelled]
    location = float(np.ravel(law.link.forward(law.parameters[law.location]))[0])
    raw = np.tile([location, *predicted], (30, 1))
    raw += 0.1 * np.random.default_rng(0).normal(size=raw.shape)
    suited(noise)
    laws = noise.given(raw)
    y = np.asarray(laws.sample(rng=1), float)
    gradient, hessian = slopes_of(noise)(y, raw, None)
    assert gradient.shape == hessian.shape == raw.shape
    for k in range(1, raw.shape[1]):
        step = 1e-5 * np.eye(raw.shape[1])[k]
        difference = (noise.given(raw + step).nll(y) - noise.given(raw - step).nll(y)) / 2e-5
        np.testing.assert_allclose(gradient[:, k], difference, rtol=2e-3, atol=2e-4)
        assert np.all(np.abs(gradient[:, k]) <= hessian[:, k])
    informations = Information(noise)(noise, laws, raw)
    draws = np.asarray(noise.given(raw[:1]).sample((20_000,), rng=2), float)
    wide = np.repeat(raw[:1], len(draws), axis=0)
    slopes = slopes_of(noise)(draws, wide, None)[0]
    for k, information in enumerate(informations, 1):
        squares = np.square(slopes[:, k].astype(float))
        near = 0.15 + 5 * np.std(squares) / np.mean(squares) / np.sqrt(len(draws))
        assert np.ravel(information)[0] == pytest.approx(np.mean(squares), rel=near)


def test_weights_multiply_once():
    _, y, eta = draws("poisson", 50)
    weight = np.linspace(0.5, 4, 50)
    gradient, hessian = slopes_of(nl.Poisson())(y, eta, None)
    weighted = slopes_of(nl.Poisson())(y, eta, weight)
    np.testing.assert_allclose(weighted[0], gradient * weight, rtol=1e-6)
    np.testing.assert_allclose(weighted[1], hessian * weight, rtol=1e-6)


def test_an_open_spread_gives_the_units_of_the_built_in_objectives():
    y, eta = np.array([0.5, 2.0, 4.0]), np.array([0.1, 0.2, 0.3])
    residual = eta - y
    np.testing.assert_allclose(slopes_of(nl.Gaussian())(y, eta, None), [residual, np.ones(3)], rtol=1e-6)
    ratio = y * np.exp(-eta)
    np.testing.assert_allclose(slopes_of(nl.Gamma())(y, eta, None), [1 - ratio, ratio], rtol=1e-6)
    scale = np.abs(residual).mean()
    np.testing.assert_allclose(slopes_of(nl.Laplace())(y, eta, None), [-scale * np.ones(3), np.ones(3)], rtol=1e-6)


def test_two_classes_step_like_bernoulli_noise():
    y, eta = np.array([0.0, 1.0, 1.0]), np.array([0.4, -1.0, 2.0])
    gradient, hessian = slopes_of(nl.Categorical())(y, np.stack([-eta / 2, eta / 2], axis=1), None)
    one = slopes_of(nl.Bernoulli())(y, eta, None)
    step = -gradient / hessian
    np.testing.assert_allclose(step[:, 1] - step[:, 0], -one[0] / one[1], rtol=1e-5)


@pytest.mark.parametrize("family", OPEN)
def test_the_start_with_offset_and_weights_is_the_maximum(family):
    _, y, eta = draws(family, 300)
    rng = np.random.default_rng(2)
    weight, offset = rng.uniform(0.5, 2, 300), rng.normal(size=eta.shape)
    start = start_of(TRUTH[family], y, weight, offset)
    raw = start.scores(300, offset)
    best = mean_nats(TRUTH[family], y, raw, weight)
    for k in range(len(start.intercept)):
        for step in (-0.01, 0.01):
            moved = raw + (step if raw.ndim == 1 else step * np.eye(len(start.intercept))[k])
            assert mean_nats(TRUTH[family], y, moved, weight) >= best - 1e-12


def test_the_start_of_a_modelled_spread_is_that_of_a_constant_one():
    _, y, _ = spread_draws("gamma", 500)
    start = start_of(nl.Gamma(shape="model"), y, None, None)
    null = nl.fit(np.empty((500, 1))[:, :0], y, nl.Gamma())
    np.testing.assert_allclose(start.intercept, [null.intercept, np.log(null.noise.shape)], rtol=1e-8)
    assert start.noise.modelled == ("shape",)


@pytest.mark.parametrize("family", ["gaussian", "laplace", "huber", "lognormal", "gamma", "tweedie"])
def test_estimates_at_the_true_predictions_are_near_the_truth(family):
    _, y, eta = draws(family, 20_000)
    found = estimated(OPEN[family], y, eta, None)
    for name, value in TRUTH[family].parameters.items():
        if OPEN[family].parameters[name] is None and name != found.location:
            assert getattr(found, name) == pytest.approx(value, rel=0.05)


def test_a_fit_without_columns_and_without_intercept_only_estimates_the_noise():
    rng = np.random.default_rng(0)
    eta = rng.normal(size=500)
    y = rng.normal(eta, 2.0)
    found = nl.fit(np.empty((500, 1))[:, :0], y, nl.Gaussian(), offset=eta, intercept=False)
    assert found.noise.scale == pytest.approx(np.sqrt(np.mean((y - eta) ** 2)))
    assert found.coef.shape == (0,)


def test_model_as_a_parameter_is_said_and_kept():
    noise = nl.Gaussian(scale="model")
    assert repr(noise) == "Gaussian(loc=0.0, scale='model')"
    assert noise.modelled == ("scale",)
    assert noise.scale is None
    assert noise != nl.Gaussian()
    assert noise.unmodelled() == nl.Gaussian()
    assert suited("gaussian(scale='model')") == noise
    assert suited(nl.StudentT(df="model")).modelled == ("df",)
    with pytest.raises(ValueError, match="the scale of a prior is a number, or None"):
        nl.fit(np.zeros((3, 1)), [1.0, 2.0, 3.0], prior=noise)
    with pytest.raises(ValueError, match="scale is unknown"):
        noise.nll(1.0)
    for family, wrong in ((nl.Gaussian, {"loc": "model"}), (nl.Poisson, {"mean": "model"}), (nl.Gamma, {"shape": "a"})):
        with pytest.raises(TypeError, match="must be a number"):
            family(**wrong)
