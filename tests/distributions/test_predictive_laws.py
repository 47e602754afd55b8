"""Laws of what comes next: mixtures, and the corners of the closed forms."""

import numpy as np
import pytest
from scipy import stats

import neglog as nl
from neglog.distributions.mixture import Mixture
from neglog.distributions.negative_binomial import NegativeBinomial
from neglog.distributions.student import StudentT


def test_a_mixture_is_the_average_of_its_laws(rng):
    laws, weights = nl.Gamma(mean=np.array([[1.0, 2.0], [5.0, 0.5]]), shape=2.0), np.array([0.3, 0.7])
    mixture = Mixture(laws, weights)
    y = np.array([0.7, 1.3])
    np.testing.assert_allclose(mixture.pdf(y), weights @ laws.pdf(y), rtol=1e-13)
    np.testing.assert_allclose(mixture.cdf(y), weights @ laws.cdf(y), rtol=1e-13)
    np.testing.assert_allclose(mixture.mean(), weights @ laws.mean(), rtol=1e-13)
    np.testing.assert_allclose(mixture.cdf(mixture.icdf([0.2, 0.9])), [0.2, 0.9], rtol=1e-9)
    np.testing.assert_allclose(mixture.sf(mixture.isf([1e-9, 0.9])), [1e-9, 0.9], rtol=1e-9)
    draws = mixture.sample((20_000, 2), rng=rng)
    assert np.all(np.abs(draws.mean(axis=0) - mixture.mean()) < 5 * np.sqrt(mixture.variance() / 20_000))
    one = Mixture(nl.Gamma(mean=np.array([1.0, 5.0]), shape=2.0), weights)
    assert one.entropy() == pytest.approx(np.mean(one.nll(one.sample(40_000, rng=rng))), abs=0.03)


def test_quantiles_of_a_mixture_of_counts():
    mixture = Mixture(nl.Poisson(mean=np.array([1.0, 30.0])), [0.5, 0.5])
    for level in (0.01, 0.5, 0.51, 0.99):
        k = mixture.icdf(level)
        assert k == np.floor(k)
        assert mixture.cdf(k) >= level
        assert k == 0 or mixture.cdf(k - 1) < level


def test_an_atom_holds_its_quantiles():
    mixture = Mixture(nl.Tweedie(mean=np.array([0.3, 2.0]), power=1.5, dispersion=1.0), [0.7, 0.3])
    assert np.all(mixture.icdf([0.1, 0.2]) == 0)


def test_draws_of_a_mixture_end_in_its_shape():
    mixture = Mixture(nl.Poisson(mean=np.ones((2, 80))), [0.5, 0.5])
    assert mixture.sample(rng=0).shape == (80,)
    with pytest.raises(ValueError, match="must end in the shape"):
        mixture.sample(5)
    with pytest.raises(ValueError, match="sum to 1"):
        Mixture(nl.Poisson(mean=np.ones(2)), [0.5, 0.6])
    with pytest.raises(ValueError, match="3 components"):
        Mixture(nl.Poisson(mean=np.ones(2)), [0.5, 0.3, 0.2])


def test_a_negative_binomial_of_large_shape_is_poisson():
    for mean, shape in ((1e-6, 1e6), (1e-3, 1e12), (5.0, 1e10)):
        np.testing.assert_allclose(
            NegativeBinomial(mean, 1 / shape).nll([0, 1, 2]), nl.Poisson(mean).nll([0, 1, 2]), rtol=2e-6
        )


def test_student_near_its_centre_and_at_many_degrees():
    for df in (3.0, 1e6, 1e13):
        law, peer = StudentT(0.0, 1.0, df), stats.t(df)
        z = np.array([-3.0, -1.0, -1e-5, 1e-5, 0.3, 2.5])
        np.testing.assert_allclose(law.cdf(z), peer.cdf(z), rtol=1e-9)
        q = np.array([1e-6, 0.3, 0.5 - 1e-5, 0.5, 0.5 + 1e-5, 0.97])
        np.testing.assert_allclose(law.icdf(q), peer.ppf(q), rtol=1e-6, atol=1e-12)
