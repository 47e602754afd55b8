"""The scale of a Gaussian prior is learned in few fits, whatever the noise, and at the maximum of the evidence."""

import numpy as np
import pytest
from inference.problems import KNOWN, NOISES, UNIVARIATE, each

import neglog as nl
from neglog.estimation import absolute_evidence, learned_ridge
from neglog.estimation.scale_search import Evidence, best_scale

MOST_FITS = 20
EFFECTS = {"strong": 0.5, "weak": 0.05, "none": 0.0}


def drawn(noise, effect, rows=300, seed=0):
    """Columns and targets of the noise with effects of this size; open parameters are those of the first example."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 4))
    if isinstance(noise, nl.Categorical):
        logits = effect * X @ rng.normal(size=(4, 3))
        return X, np.array(list("abc"))[np.argmax(logits + rng.gumbel(size=logits.shape), axis=1)]
    eta = effect * X @ rng.normal(size=4)
    if noise.link.name not in ("log", "logit", "identity"):
        eta = 2 + 0.2 * eta
    return X, np.asarray(KNOWN[noise._family()].given(eta).sample(rng=rng), float)


def count_calls(monkeypatch, module, name):
    calls = []
    original = getattr(module, name)

    def counted(*arguments, **settings):
        calls.append(name)
        return original(*arguments, **settings)

    monkeypatch.setattr(module, name, counted)
    return calls


@each(NOISES)
@each(EFFECTS, "effect")
def test_few_fits_find_the_scale(noise, effect, monkeypatch):
    fits = count_calls(monkeypatch, learned_ridge, "solve")
    exact = count_calls(monkeypatch, absolute_evidence, "least_absolute")
    X, y = drawn(noise, effect)
    assert nl.fit(X, y, noise, nl.Gaussian()).converged
    assert 0 < len(fits) + len(exact) <= MOST_FITS


@each({name: noise for name, noise in UNIVARIATE.items() if name in KNOWN})
@each({"strong": 0.5, "weak": 0.1}, "effect")
def test_no_other_scale_has_more_evidence(noise, effect):
    X, y = drawn(noise, effect)
    fit = nl.fit(X, y, noise, nl.Gaussian())
    best = fit.posterior().evidence
    slack = 1e-6 if fit._task.target.bends else 0.05  # which changes in small jumps from row to row
    if isinstance(noise, nl.Huber):  # is learned by the expected curvature, and its evidence has the one observed
        slack = 0.2
    at_edge = "lower edge" in fit.message  # where the evidence still rises a little towards no effect at all
    for factor in (1.01, 1.1, 2.0) if at_edge else (0.5, 0.9, 0.99, 1.01, 1.1, 2.0):
        other = nl.fit(X, y, noise, nl.Gaussian(scale=factor * fit.prior.scale))
        assert other.posterior().evidence < best + slack


@pytest.mark.parametrize("noise", [nl.Gaussian(), nl.Laplace(), nl.Huber()], ids=repr)
@pytest.mark.parametrize("unit", [1e-6, 1e5])
def test_the_scale_has_the_unit_of_y(noise, unit):
    X, y = drawn(noise, 0.3)
    one, other = nl.fit(X, y, noise, nl.Gaussian()), nl.fit(X, unit * y, noise, nl.Gaussian())
    np.testing.assert_allclose(other.prior.scale, unit * one.prior.scale, rtol=1e-5)
    np.testing.assert_allclose(other.coef, unit * one.coef, rtol=1e-5)


def test_the_exact_fit_of_laplace_noise_is_that_of_its_prior():
    X, y = drawn(nl.Laplace(), 0.3, rows=8000)
    learned = nl.fit(X, y, nl.Laplace(), nl.Gaussian())
    again = nl.fit(X, y, nl.Laplace(), learned.prior)
    np.testing.assert_allclose(again.coef, learned.coef, rtol=1e-9)
    assert again.noise.scale == pytest.approx(learned.noise.scale, rel=1e-9)
    assert learned.certificate.gap < 1e-9


# ---- the search by itself --------------------------------------------------------------------------------------------


def searched(squares, strengths, drift=0.0, low=-8.0, high=8.0, start=0.0):
    """Least squares in coordinates where the information is diagonal: the evidence in closed form, and a drift where
    the data know the coefficients.
    """
    asked = []

    def at(place):
        asked.append(place)
        s2 = np.exp(2 * place)
        shrunk = strengths / (strengths + 1 / s2)
        value = 0.5 * np.sum(squares * strengths * shrunk) - 0.5 * np.sum(np.log1p(s2 * strengths))
        value += 0.5 * drift * np.log1p(s2 * strengths.max())
        return Evidence(place, place, value, float(np.sum(squares * shrunk**2) / s2), float(np.sum(shrunk)), None)

    return best_scale(at, at(start), low, high)[1], len(asked), at


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("drift", [0.0, 0.3, -0.3])
def test_the_search_ends_at_a_maximum_in_few_steps(seed, drift):
    rng = np.random.default_rng(seed)
    strengths = np.exp(rng.normal(3.0, 2.0, size=6))
    squares = (np.exp(rng.normal(-1.0, 2.0)) * rng.normal(size=6)) ** 2 + rng.normal(size=6) ** 2 / strengths
    place, asked, at = searched(squares, strengths, drift)
    values = [at(x).value for x in place + np.array([0.0, -0.1, -0.01, 0.01, 0.1]) if -8 <= x <= 8]
    assert values[0] >= max(values) - 1e-4
    assert asked <= 12


def test_the_search_stops_at_its_ends():
    assert searched(np.zeros(3), np.ones(3))[0] == -8.0
    assert searched(np.full(3, 1e12), np.ones(3))[0] == 8.0


@pytest.mark.parametrize("noise", [nl.Gaussian(), nl.Huber(), nl.Huber(delta=None), nl.Laplace()], ids=str)
@pytest.mark.parametrize("prior", [nl.Flat(), nl.Gaussian()], ids=str)
def test_a_noise_that_is_next_to_nothing_beside_y_keeps_its_scale(noise, prior):
    """The residuals of y are rounding in its sums of squares, and y is next to collinear with the columns."""
    rng = np.random.default_rng(0)
    X, errors = rng.normal(size=(500, 3)) * [1, 10, 100], rng.standard_t(3, size=500)
    scales = []
    for size in (1e-2, 1e-4, 1e-6):
        fit = nl.fit(X, 50 + X @ [1.0, 2.0, -1.0] + size * errors, noise, prior)
        assert fit.converged, fit.message
        scales.append(fit.noise.scale / size)
    np.testing.assert_allclose(scales, scales[0], rtol=1e-4)
