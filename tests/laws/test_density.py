"""Density, distribution function, moments and samples must describe the same law."""

import numpy as np
import pytest
from laws.cases import PROPER, UNIVARIATE, each, typical
from scipy import stats

from neglog.distributions import Dirichlet
from neglog.distributions.expectation import expectation

CONTINUOUS = [law for law in UNIVARIATE if law.measure == "density"]
LEVELS = np.array([1e-12, 1e-6, 0.01, 0.2, 0.5, 0.77, 0.99])


@each(UNIVARIATE)
def test_total_mass_is_one(law):
    mass = expectation(law, np.ones_like)
    assert mass.value == pytest.approx(1.0, abs=1e-10)
    assert mass.error < 1e-8


@each([law for law in PROPER if isinstance(law, Dirichlet)])
def test_total_mass_of_a_dirichlet_is_one(law, rng):
    """By importance sampling from the law with half of each alpha, plus a half."""
    proposal = Dirichlet(0.5 * law.alpha + 0.5)
    draws = proposal.sample(200_000, rng=rng)
    weights = np.exp(proposal.nll(draws) - law.nll(draws))
    assert abs(weights.mean() - 1) < 5 * weights.std() / np.sqrt(len(weights)) + 1e-12


@each(PROPER)
def test_pdf_is_exp_of_minus_nll(law, rng):
    y = typical(law, rng)
    np.testing.assert_array_equal(law.pdf(y), np.exp(-law.nll(y)))


@each(UNIVARIATE)
def test_entropy_is_the_expected_nll(law):
    assert law.entropy() == pytest.approx(expectation(law, law.nll).value, abs=1e-9, rel=1e-9)
    assert law.entropy(base=2) == pytest.approx(law.entropy() / np.log(2), rel=1e-14)


@each(UNIVARIATE)
def test_moments_are_expectations(law):
    mean = expectation(law, lambda y: y).value
    if law.mean() == np.inf:
        assert mean > 1e200  # as far as there are numbers
        return
    assert law.mean() == pytest.approx(mean, rel=1e-9, abs=1e-9)
    assert law.variance() == pytest.approx(expectation(law, lambda y: (y - mean) ** 2).value, rel=1e-8)


@each(PROPER)
def test_samples_have_the_moments_and_the_entropy(law, rng):
    n = 40_000
    y = law.sample(n if not isinstance(law, Dirichlet) else (n,), rng=rng)
    if np.all(np.isfinite(law.mean())):
        mean_error = np.sqrt(law.variance() / n)
        assert np.all(np.abs(y.mean(axis=0) - law.mean()) < 5 * mean_error)
        squares = (y - law.mean()) ** 2
        assert np.all(np.abs(squares.mean(axis=0) - law.variance()) <= 6 * squares.std(axis=0) / np.sqrt(n) + 1e-15)
    nats = law.nll(y)
    assert abs(nats.mean() - law.entropy()) < 5 * nats.std() / np.sqrt(n) + 1e-12


@each(UNIVARIATE)
def test_samples_follow_the_cdf(law, rng):
    y = law.sample(5000, rng=rng).astype(float)
    if law.measure == "density":
        assert stats.kstest(y, law.cdf).pvalue > 1e-4
        return
    values, counts = np.unique(y, return_counts=True)  # with atoms: compare at the values that occur
    gap = np.abs(np.cumsum(counts) / len(y) - law.cdf(values)).max()
    assert gap < 2.2 / np.sqrt(len(y))


@each(UNIVARIATE)
def test_sampling_is_repeatable_and_has_the_asked_shape(law):
    assert np.array_equal(law.sample(5, rng=3), law.sample(5, rng=3))
    assert law.sample((2, 3), rng=0).shape == (2, 3)
    assert np.ndim(law.sample(rng=0)) == 0


@each(UNIVARIATE)
def test_the_two_tails_add_up(law, rng):
    y = np.concatenate([typical(law, rng, 50), law.icdf([1e-9, 1 - 1e-9])])
    np.testing.assert_allclose(law.cdf(y) + law.sf(y), 1.0, rtol=1e-12)


@each(CONTINUOUS)
def test_quantiles_invert_the_tails(law):
    for tail, quantile in ((law.cdf, law.icdf), (law.sf, law.isf)):
        y = quantile(LEVELS)
        rounding = law.pdf(y) * np.spacing(np.abs(y))  # y itself has only so many digits
        near, far = np.abs(y) < 1e-290, np.abs(y) > 1e290  # where numbers end, or nearly so
        beyond = (near | far | np.isin(y, law.bounds)) & (law.measure == "density")
        assert np.all(beyond | (np.abs(tail(y) - LEVELS) <= 1e-9 * LEVELS + 4 * rounding))
    inner = LEVELS[1:]
    spread = np.sqrt(law.variance())
    spread = spread if np.isfinite(spread) else law.isf(0.2) - law.icdf(0.2)
    np.testing.assert_allclose(law.icdf(inner), law.isf(1 - inner), rtol=1e-8, atol=1e-8 * spread)


@each([law for law in UNIVARIATE if law.measure != "density"])
def test_a_quantile_is_the_smallest_y_that_reaches_the_level(law):
    below = 1 - 1e-10
    y = law.icdf(LEVELS)
    assert np.all(law.cdf(y) >= LEVELS * (1 - 1e-9))
    assert np.all(law.cdf(np.where(y > 0, y * below, -1e-10)) <= LEVELS * (1 + 1e-6))
    y = law.isf(LEVELS)
    assert np.all(law.sf(y) <= LEVELS * (1 + 1e-9))
    assert np.all(law.sf(np.where(y > 0, y * below, -1e-10)) >= LEVELS * (1 - 1e-6))


@each(UNIVARIATE)
def test_the_cdf_is_the_integral_of_the_density(law):
    """P(Y <= y) as the expectation of an indicator, at a few quantiles."""
    for y in np.unique(law.icdf([0.1, 0.5, 0.9])):
        lower = expectation(law, lambda t, y=y: (t <= y).astype(float), relative_error=1e-7)
        assert law.cdf(y) == pytest.approx(lower.value, abs=1e-6)


@each(UNIVARIATE)
def test_the_median_splits_the_mass(law):
    assert law.median() == pytest.approx(law.icdf(0.5), rel=1e-12, abs=1e-12)


@each(UNIVARIATE)
def test_ends_of_the_distribution_function(law):
    assert law.cdf(-np.inf) == 0
    assert law.cdf(np.inf) == 1
    assert law.sf(-np.inf) == 1
    assert law.sf(np.inf) == 0
    assert np.isnan(law.icdf([-0.1, 1.1, np.nan])).all()
    assert np.isnan(law.isf([-0.1, 1.1, np.nan])).all()
    low, high = law.bounds
    assert law.icdf(0.0) <= law.icdf(1e-12)
    assert low <= law.icdf(1e-12)
    assert law.icdf(1.0) == high
    assert law.isf(0.0) == high
