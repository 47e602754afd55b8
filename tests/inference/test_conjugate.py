"""Posteriors of one parameter: conjugate pairs against SciPy and quadrature, all others against quadrature."""

import numpy as np
import pytest
from scipy import integrate, stats

import neglog as nl
from neglog.distributions.beta_binomial import BetaBinomial

COUNTS = [3, 1, 4, 1, 5, 9, 2, 6]


def total(minus_log, low, high, peak):
    """The log of the integral of exp(-minus_log), by adaptive quadrature about the peak."""
    at_peak = minus_log(peak)
    value, _ = integrate.quad(lambda x: np.exp(at_peak - minus_log(x)), low, high, epsabs=0, epsrel=1e-12, limit=400)
    return np.log(value) - at_peak


PAIRS = [
    ([1, 0, 1, 1, 0, 1], nl.Bernoulli(), nl.Beta(2.0, 3.0), (0, 1), nl.Beta(6.0, 5.0)),
    (COUNTS, nl.Poisson(), nl.Gamma(mean=2.0, shape=3.0), (0, 40), nl.Gamma(34 / 9.5, 34.0)),
    ([1.2, 0.4, 2.0], nl.Gaussian(scale=0.7), nl.Gaussian(0.5, 2.0), (-8, 8), None),
    ([1.2, 0.4, 2.0, 5.5], nl.Gamma(shape=2.5), nl.InverseGamma(3.0, 4.0), (1e-3, 200), nl.InverseGamma(13.0, 26.75)),
    # not conjugate
    ([1.2, 0.4, 2.0], nl.Laplace(scale=0.7), nl.Gaussian(0.5, 2.0), (-8, 8), None),
    ([1.2, 0.4, 2.0], nl.Huber(scale=0.7), nl.Laplace(0.0, 2.0), (-8, 8), None),
    (COUNTS, nl.Poisson(), nl.LogNormal(1.0, 0.8), (1e-6, 40), None),
    ([1.2, 0.4, 2.0, 5.5], nl.Gamma(shape=2.5), nl.Gamma(mean=2.0, shape=2.0), (1e-6, 60), None),
    ([1.2, 0.4, 2.0, 5.5], nl.Gamma(mean=2.0), nl.Gamma(mean=2.0, shape=2.0), (1e-6, 60), None),
    ([1.2, 0.4, 2.0], nl.Gaussian(loc=1.0), nl.Gamma(mean=1.0, shape=2.0), (1e-6, 30), None),
    ([0, 0, 1.2, 0.4, 2.0], nl.Tweedie(power=1.5, dispersion=1.0), nl.Gamma(mean=1.0, shape=2.0), (1e-6, 30), None),
    ([1, 0, 1, 1], nl.Bernoulli(), nl.Beta(1.0, 1.0) * nl.Beta(1.5, 1.5), (0, 1), None),
]


@pytest.mark.parametrize(("y", "noise", "prior", "bounds", "after"), PAIRS, ids=lambda value: repr(value)[:60])
def test_evidence_and_moments_are_integrals(y, noise, prior, bounds, after):
    found = nl.posterior(y, noise, prior)
    if after is not None:
        assert type(found.distribution) is type(after)
        for name, value in after.parameters.items():
            assert getattr(found.distribution, name) == pytest.approx(value, rel=1e-13) or name == "mean"

    def minus_log(x):
        law = noise._replaced(**{f"_{found.parameter}": float(x)})
        return float(np.sum(law.nll(np.asarray(y, float))) + prior.nll(float(x)))

    peak = float(found.distribution.median())
    expected = total(minus_log, *bounds, peak)
    assert found.evidence == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert found.error < 1e-8
    at = found.distribution.icdf(np.array([0.05, 0.5, 0.95]))
    np.testing.assert_allclose(found.distribution.nll(at), [minus_log(x) + expected for x in at], rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(found.distribution.cdf(at), [0.05, 0.5, 0.95], atol=1e-9)
    mean = np.exp(total(lambda x: minus_log(x) - np.log(abs(x) + 1e-300), *bounds, peak) - expected)
    if bounds[0] >= 0:
        assert found.mean == pytest.approx(mean, rel=1e-7)
    np.testing.assert_allclose(found.interval(0.9), at[[0, 2]], rtol=1e-8)


@pytest.mark.parametrize(("y", "noise", "prior", "bounds", "after"), PAIRS, ids=lambda value: repr(value)[:60])
def test_the_predictive_is_the_ratio_of_evidences(y, noise, prior, bounds, after):
    """p(next | y) = p(y, next) / p(y), for every pair alike."""
    found = nl.posterior(y, noise, prior)
    following = found.predictive()
    for value in (0.0, 1.0) if noise.measure == "mass" else (0.3, 1.7):
        both = nl.posterior([*y, value], noise, prior)
        close = 1e-6 if noise.smooth else 1e-5
        assert following.nll(value) == pytest.approx(found.evidence - both.evidence, rel=close, abs=close)
    draws = following.sample(4000, rng=0)
    assert abs(np.mean(draws) - following.mean()) < 5 * np.sqrt(following.variance() / 4000)
    level = following.icdf(0.8)
    assert following.cdf(level) >= 0.8 - 1e-9


def test_against_scipy():
    beta = nl.posterior([1, 0, 1, 1], nl.Bernoulli(), nl.Beta(1.0, 1.0))
    trials = beta.predictive(trials=7)
    assert isinstance(trials, BetaBinomial)
    np.testing.assert_allclose(trials.pdf(np.arange(8)), stats.betabinom(7, 4, 2).pmf(np.arange(8)), rtol=1e-12)
    poisson = nl.posterior(COUNTS, nl.Poisson(), nl.Gamma(mean=2.0, shape=3.0), exposure=np.full(8, 2.0))
    rate = 1.5 + 16
    np.testing.assert_allclose(
        poisson.predictive(exposure=3.0).pdf(np.arange(30)),
        stats.nbinom(34, rate / (rate + 3)).pmf(np.arange(30)),
        rtol=1e-11,
    )
    student = nl.posterior([1.0, 2.0, 4.0, 8.0], nl.Gaussian(loc=None), nl.Flat())
    spread = np.std([1.0, 2.0, 4.0, 8.0], ddof=1)
    points = np.linspace(-5, 15, 9)
    np.testing.assert_allclose(student.distribution.cdf(points), stats.t(3, 3.75, spread / 2).cdf(points), rtol=1e-10)
    np.testing.assert_allclose(
        student.predictive().pdf(points), stats.t(3, 3.75, spread * np.sqrt(1.25)).pdf(points), rtol=1e-11
    )
    assert np.isnan(student.evidence)
    gamma = nl.posterior([1.2, 0.4], nl.Gamma(shape=2.5), nl.InverseGamma(3.0, 4.0))
    np.testing.assert_allclose(
        gamma.distribution.pdf([0.5, 1.0, 3.0]), stats.invgamma(8, scale=8.0).pdf([0.5, 1.0, 3.0]), rtol=1e-12
    )
    np.testing.assert_allclose(
        gamma.predictive().cdf([0.5, 1.0, 3.0]), stats.betaprime(2.5, 8, scale=3.2).cdf([0.5, 1.0, 3.0]), rtol=1e-11
    )


def test_classes():
    found = nl.posterior([0, 2, 2, 1, 2], nl.Categorical(), nl.Dirichlet([1.0, 1.0, 1.0]))
    np.testing.assert_allclose(found.distribution.alpha, [2, 2, 4])
    np.testing.assert_allclose(found.predictive().p, [0.25, 0.25, 0.5])
    # one value after the other, each at its predictive
    prior, nats = nl.Dirichlet([1.0, 1.0, 1.0]), 0.0
    for value in [0, 2, 2, 1, 2]:
        nats -= np.log(prior.mean()[value])
        prior = nl.Dirichlet(prior.alpha + np.eye(3)[value])
    assert found.evidence == pytest.approx(-nats, rel=1e-13)


def test_placenta_previa():
    """Gelman et al., Bayesian Data Analysis, section 2.4: 437 girls among 980 births."""
    births = np.repeat([1, 0], [437, 543])
    uniform = nl.posterior(births, nl.Bernoulli(), nl.Beta(1.0, 1.0))
    assert uniform.mean == pytest.approx(0.446, abs=5e-4)
    assert uniform.std == pytest.approx(0.016, abs=5e-4)
    np.testing.assert_allclose(uniform.interval(0.95), [0.415, 0.477], atol=5e-4)
    informed = nl.posterior(births, nl.Bernoulli(), nl.Beta(97.0, 103.0))
    np.testing.assert_allclose(informed.interval(0.95), [0.424, 0.481], atol=5e-4)


def test_nothing_observed_leaves_the_prior():
    for noise, prior in [
        (nl.Bernoulli(), nl.Beta(2.0, 3.0)),
        (nl.Poisson(), nl.Gamma(mean=2.0, shape=3.0)),
        (nl.Gaussian(scale=1.0), nl.Gaussian(0.5, 2.0)),
        (nl.Gamma(shape=2.0), nl.InverseGamma(3.0, 4.0)),
    ]:
        found = nl.posterior([], noise, prior)
        assert found.distribution == prior
        assert found.evidence == pytest.approx(0.0, abs=1e-14)


@pytest.mark.parametrize("unit", [1e-16, 1e-3, 1e15])
def test_units_do_not_matter(unit):
    plain = nl.posterior([1.0, 3.0], nl.Laplace(scale=1.0), nl.Gaussian(0.0, 10.0))
    scaled = nl.posterior([unit, 3 * unit], nl.Laplace(scale=unit), nl.Gaussian(0.0, 10 * unit))
    assert scaled.std == pytest.approx(unit * plain.std, rel=1e-8)
    assert scaled.evidence == pytest.approx(plain.evidence - 2 * np.log(unit), rel=1e-9)


def test_many_values_take_little_memory(rng):
    y = rng.poisson(3.0, size=200_000)
    found = nl.posterior(y, nl.Poisson(), nl.LogNormal(0.0, 2.0))
    assert found.mean == pytest.approx(y.mean(), rel=1e-3)
    draws = found.sample(2000, rng=0)
    assert abs(draws.mean() - found.mean) < 5 * found.std / np.sqrt(2000)


@pytest.mark.parametrize(
    ("y", "noise", "prior", "message"),
    [
        ([1, 2], nl.Bernoulli(), nl.Beta(1.0, 1.0), "1 of 2 values are not: the first, number 1, is 2"),
        ([1.5], nl.Poisson(), nl.Gamma(1.0, 1.0), "needs y = 0, 1, 2"),
        ([-1.0], nl.Gamma(shape=1.0), nl.InverseGamma(1.0, 1.0), "needs y > 0"),
        ([[1, 2]], nl.Poisson(), nl.Gamma(1.0, 1.0), "list of values"),
        ([1, 2], nl.Gamma(), nl.Gamma(1.0, 1.0), "2 unknown parameters, mean and shape"),
        ([1, 2], nl.Poisson(), nl.Gamma(mean=1.0), "leaves shape open"),
        ([0, 3], nl.Categorical(), nl.Dirichlet([1.0, 1.0]), "2 classes, 0 to 1, but y has the class 3"),
        ([1.0, 1.0], nl.Gaussian(loc=None), nl.Flat(), "two different values"),
        ([], nl.Gaussian(scale=1.0), nl.Flat(), "improper"),
        ([1.0], nl.Gaussian(loc=0.0), nl.Flat(), "improper"),
        ([1.0, 1.0, 1.0], nl.Gaussian(loc=1.0), nl.Flat(), "improper"),
        ([0, 1], nl.Categorical(), nl.Beta(1.0, 1.0), "Categorical noise takes a Dirichlet prior"),
        ([0, 1], nl.Bernoulli(), nl.Dirichlet([1.0, 1.0]), "and no other noise does"),
        ([0.0, 1.0], nl.Gaussian(scale=[1.0, 2.0]), nl.Gaussian(0.0, 1.0), "its scale has the shape"),
    ],
)
def test_errors(y, noise, prior, message):
    with pytest.raises(ValueError, match=message):
        nl.posterior(y, noise, prior)
