"""No-U-Turn sampling against truths that are known, and the calibration of posteriors by simulation."""

import ctypes
import signal
import subprocess
import sys
import time
import warnings
from contextlib import suppress

import numpy as np
import pytest

import neglog as nl

pytest.importorskip("nutpie", reason="the sampler, of the extra neglog[bayes]")
pytest.importorskip("arviz", reason="its diagnostics, of the extra neglog[bayes]")

from neglog.belief.nuts import Density


def regression(n=80, d=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + 1
    return X, X @ np.array([0.5, -0.4, 0.2])[:d], rng


def sampled(fit, draws=500, seed=1, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return fit.posterior("nuts", draws=draws, rng=seed, progress=False, **options)


def check_moments(draws, mean, std):
    """Within the Monte Carlo error of the effective draws."""
    assert np.all(np.abs(draws.mean - mean) < 5 * std / np.sqrt(draws.ess))
    np.testing.assert_allclose(draws.std, std, rtol=8 / np.sqrt(np.min(draws.ess)))


def test_gaussian_noise_against_the_exact_posterior():
    X, eta, rng = regression()
    fit = nl.fit(X, eta + 0.5 * rng.normal(size=80), nl.Gaussian(scale=0.5), nl.Gaussian(scale=1.0))
    exact, draws = fit.posterior(), sampled(fit)
    assert draws.names == exact.names
    check_moments(draws, exact.mean, exact.std)
    assert draws.divergences == 0
    assert np.max(draws.rhat) < 1.02
    assert draws.complete


def test_the_density_of_the_core_is_that_of_python():
    X, eta, rng = regression()
    fit = nl.fit(X, rng.poisson(np.exp(eta)), nl.Poisson(), nl.Gaussian(loc=0.1, scale=[0.5, np.inf]))
    density = Density(fit._joint)
    law, x, gradient, value = density.in_core(), rng.normal(size=3), np.empty(3), np.empty(1)
    number, pointer = ctypes.c_int64, ctypes.c_void_p
    function = ctypes.CFUNCTYPE(number, number, pointer, pointer, pointer, pointer)(law.log_density)
    at = rng.normal(size=3)
    differences = []
    for place in (x, at):
        expected, slope = density(place)
        code = function(3, place.ctypes.data, gradient.ctypes.data, value.ctypes.data, law.data)
        assert code == 0
        np.testing.assert_allclose(gradient, slope, rtol=1e-12)
        differences.append(value[0] - expected)
    assert differences[0] == pytest.approx(differences[1], abs=1e-10)  # each is known up to a constant
    far = np.full(3, 1e6)
    assert function(3, far.ctypes.data, gradient.ctypes.data, value.ctypes.data, law.data) == 1


def test_poisson_rate_against_its_conjugate():
    """One rate with a flat prior on its log: the posterior of the rate is Gamma(sum y, n)."""
    y = np.array([3.0, 1, 4, 1, 5, 9, 2, 6])
    draws = sampled(nl.fit(np.empty((8, 0)), y, nl.Poisson()), 1500)
    rate = np.exp(draws.draws.ravel())
    exact = nl.Gamma(mean=y.sum() / 8, shape=y.sum())
    error = np.sqrt(exact.variance() / draws.ess[0])
    assert abs(rate.mean() - exact.mean()) < 5 * error
    np.testing.assert_allclose(np.quantile(rate, [0.1, 0.5, 0.9]), exact.icdf([0.1, 0.5, 0.9]), rtol=0.03)


def test_a_laplace_prior_against_quadrature():
    X, _, rng = regression(12, 1)
    y = 0.1 * X[:, 0] + rng.normal(size=12)
    fit = nl.fit(X, y, nl.Gaussian(scale=1.0), nl.Laplace(scale=0.2), intercept=False)
    draws = sampled(fit, 1500)
    grid = np.linspace(-3, 3, 20_001)
    nats = ((y[:, None] - X * grid) ** 2).sum(axis=0) / 2 + np.abs(grid) / 0.2
    weights = np.exp(nats.min() - nats)
    mean = weights @ grid / weights.sum()
    std = np.sqrt(weights @ (grid - mean) ** 2 / weights.sum())
    check_moments(draws, np.array([mean]), np.array([std]))


def test_unknown_scale_against_student():
    """An intercept alone with flat priors on it and on log scale: Student's t."""
    y = np.array([1.0, 2.0, 4.0, 8.0, 3.0, 5.0])
    draws = sampled(nl.fit(np.empty((6, 0)), y, nl.Gaussian()), 2000)
    exact = nl.posterior(y, nl.Gaussian(loc=None), nl.Flat()).distribution
    np.testing.assert_allclose(draws.interval(0.8)[0], exact.icdf([0.1, 0.9]), atol=0.2)


@pytest.mark.parametrize(
    "noise", [nl.Gamma(), nl.Tweedie(), nl.Tweedie(dispersion=0.7), nl.Huber(), nl.Bernoulli()], ids=repr
)
def test_close_to_laplace_for_many_rows(noise):
    X, eta, rng = regression(1500)
    stated = {"shape": 2.0, "power": 1.5, "dispersion": 0.7, "scale": 0.5}
    known = {f"_{k}": stated[k] for k, v in noise.parameters.items() if v is None and k in stated}
    y = np.asarray(noise._replaced(**known).given(eta).sample(rng=rng), float)
    fit = nl.fit(X, y, noise, nl.Gaussian(scale=1.0))
    laplace, draws = fit.posterior(), sampled(fit, 300, chains=2)
    assert np.all(np.abs(draws.mean - laplace.mean) < 0.4 * laplace.std)
    np.testing.assert_allclose(draws.std, laplace.std, rtol=0.25)
    law, smooth = draws.predictive(X[:3]), laplace.predictive(X[:3])
    np.testing.assert_allclose(law.mean(), smooth.mean(), rtol=0.03)


def test_classes():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(200, 2))
    y = (X[:, 0] + rng.logistic(size=200) > 0).astype(int) + (rng.random(200) < 0.2)
    fit = nl.fit(X, y, nl.Categorical(), nl.Gaussian(scale=1.0))
    draws = sampled(fit, 300, chains=2)
    assert np.all(np.abs(draws.mean - fit.posterior().mean) < 0.5 * draws.std)
    np.testing.assert_allclose(draws.predictive(X[:4]).p, fit.posterior().predictive(X[:4]).p, atol=0.03)


def test_arviz():
    X, eta, rng = regression()
    fit = nl.fit(X, eta + 0.5 * rng.normal(size=80), nl.Gaussian(), nl.Gaussian(scale=1.0))
    draws = sampled(fit, 200, chains=2)
    data = draws.to_arviz()
    assert data.posterior["coef"].shape == (2, 200, 2)
    assert list(data.posterior["column"].values) == ["x0", "x1"]
    assert float(data.posterior["scale"].mean()) == pytest.approx(fit.noise.scale, rel=0.05)
    assert "chains of 200 draws" in repr(draws)
    smooth = fit.posterior().to_arviz()
    assert float(smooth.posterior["coef"][..., 0].mean()) == pytest.approx(fit.coef[0], abs=0.01)


def test_the_same_seed_gives_the_same_draws():
    X, eta, rng = regression()
    fit = nl.fit(X, rng.poisson(np.exp(eta)), nl.Poisson(), nl.Gaussian(scale=1.0))
    first, second = sampled(fit, 50, seed=7, chains=2), sampled(fit, 50, seed=7, chains=2)
    np.testing.assert_array_equal(first.draws, second.draws)


def test_a_number_of_draws_that_makes_no_sense():
    X, eta, rng = regression()
    fit = nl.fit(X, rng.poisson(np.exp(eta)), nl.Poisson(), nl.Gaussian(scale=1.0))
    with pytest.raises(ValueError, match="draws must be at least 1"):
        fit.posterior("nuts", draws=0)


def test_too_few_draws_warn():
    X, eta, rng = regression()
    fit = nl.fit(X, rng.poisson(np.exp(eta)), nl.Poisson(), nl.Gaussian(scale=1.0))
    with pytest.warns(nl.SamplingWarning, match="effective draws"):
        fit.posterior("nuts", draws=20, chains=2, rng=0, progress=False)


INTERRUPTED = """
import warnings
import numpy as np, neglog as nl

rng = np.random.default_rng(0)
X = rng.normal(size=(20_000, 3))
fit = nl.fit(X, rng.poisson(np.exp(X @ [0.4, -0.3, 0.0])), nl.Poisson(), nl.Gaussian(scale=1.0))
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    fit.posterior("nuts", draws=100, progress=False)  # imports all it needs: an import is not to be interrupted
print("drawing", flush=True)
with warnings.catch_warnings(record=True) as found:
    warnings.simplefilter("always")
    draws = fit.posterior("nuts", draws=400_000, tune=50, chains=2, rng=0, progress=False)
told = ["interrupted" in text for text in (repr(draws), str(found[-1].message))]
print(draws.complete, 0 < draws.draws.shape[1] < 400_000, *told)
"""


def test_an_interrupt_keeps_the_draws_so_far():
    """The sampler is stopped as Ctrl-C stops it, while it draws."""
    with subprocess.Popen([sys.executable, "-c", INTERRUPTED], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "drawing\n"
        time.sleep(2)
        for _ in range(5):
            process.send_signal(signal.SIGINT)  # again, as people do: Python drops one that meets it in a finaliser
            with suppress(subprocess.TimeoutExpired):
                process.wait(30)
                break
        assert process.stdout.read() == "False True True True\n"


# ---- simulation-based calibration (Talts et al. 2018) ----------------------------------------------------------------


def ranks_of(method, noise, runs, seed, draws):
    """The rank of the true first coefficient among draws of its posterior, for data simulated from the prior."""
    rng = np.random.default_rng(seed)
    ranks = []
    for _ in range(runs):
        X = rng.normal(size=(30, 2))
        theta = rng.normal(size=2)
        y = np.asarray(noise.given(X @ theta).sample(rng=rng), float)
        fit = nl.fit(X, y, noise, nl.Gaussian(scale=1.0), intercept=False)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            posterior = method(fit, int(rng.integers(2**31)))
        sample = posterior.sample(draws, rng=rng)[:, 0]
        ranks.append(np.count_nonzero(sample < theta[0]))
    return np.array(ranks)


def check_uniform(ranks, draws, bins=8):
    """A rank histogram that is flat up to chance: chi-squared at one in a thousand."""
    from scipy import stats

    counts = np.bincount(ranks * bins // (draws + 1), minlength=bins)
    assert stats.chisquare(counts).pvalue > 1e-3, counts


def test_laplace_is_calibrated_where_it_is_exact():
    ranks = ranks_of(lambda fit, seed: fit.posterior(), nl.Gaussian(scale=1.0), 400, 0, 63)
    check_uniform(ranks, 63)


@pytest.mark.parametrize("noise", [nl.Gaussian(scale=1.0), nl.Poisson(), nl.Bernoulli()], ids=repr)
def test_nuts_is_calibrated(noise):
    def method(fit, seed):
        return fit.posterior("nuts", draws=64, tune=150, chains=2, rng=seed, progress=False)

    check_uniform(ranks_of(method, noise, 110, 3, 63), 63)
