"""Entropy and divergence from samples, against laws whose values are known."""

import numpy as np
import pytest

import neglog as nl


@pytest.mark.parametrize(
    "law", [nl.Gaussian(1.0, 2.0), nl.Laplace(0.0, 1.0), nl.Gamma(2.0, 4.0), nl.Beta(2.0, 3.0)], ids=repr
)
def test_the_entropy_of_a_known_law(law):
    estimate = nl.from_samples.entropy(law.sample(4000, rng=1))
    assert abs(float(estimate) - law.entropy()) < 4 * estimate.standard_error + 0.005
    assert 0.005 < estimate.standard_error < 0.05


@pytest.mark.parametrize("dimension", [2, 3, 5])
def test_the_entropy_of_a_gaussian_in_several_dimensions(dimension, rng):
    mixing = np.eye(dimension) + 0.3
    x = rng.normal(size=(6000, dimension)) @ mixing
    exact = 0.5 * dimension * np.log(2 * np.pi * np.e) + np.log(abs(np.linalg.det(mixing)))
    estimate = nl.from_samples.entropy(x, k=4)
    assert float(estimate) == pytest.approx(exact, abs=4 * estimate.standard_error + 0.02 * dimension)


def test_the_divergence_of_two_gaussians():
    p, q = nl.Gaussian(0.0, 1.0), nl.Gaussian(1.0, 1.5)
    estimate = nl.from_samples.kl_divergence(p.sample(5000, rng=1), q.sample(4000, rng=2), k=5)
    assert float(estimate) == pytest.approx(nl.kl_divergence(p, q), abs=4 * estimate.standard_error + 0.01)
    assert estimate.samples == 5000
    assert estimate.neighbours == 5


def test_the_divergence_does_not_see_a_common_linear_map(rng):
    x, y = rng.normal(size=(3000, 3)), 0.5 + rng.normal(size=(3000, 3))
    straight, scaled = nl.from_samples.kl_divergence(x, y), nl.from_samples.kl_divergence(7 * x, 7 * y)
    assert float(straight) == pytest.approx(float(scaled), abs=1e-9)
    assert float(straight) == pytest.approx(3 * 0.125, abs=4 * straight.standard_error + 0.03)


def test_the_standard_error_is_that_of_repeated_samples(rng):
    law = nl.Gaussian(0.0, 1.0)
    estimates = [nl.from_samples.entropy(law.sample(500, rng=rng)) for _ in range(200)]
    spread = np.std([float(e) for e in estimates])
    assert np.mean([e.standard_error for e in estimates]) == pytest.approx(spread, rel=0.35)


def test_bits_are_nats_over_log_two(rng):
    x = rng.normal(size=300)
    nats, bits = nl.from_samples.entropy(x), nl.from_samples.entropy(x, base=2)
    assert float(bits) == pytest.approx(float(nats) / np.log(2))
    assert bits.standard_error == pytest.approx(nats.standard_error / np.log(2))


def test_ties_are_refused_or_jittered(rng):
    x = np.round(rng.normal(size=2000), 1)
    with pytest.raises(ValueError, match=r"x: \d+ of 2000 rows coincide with another .* pass jitter="):
        nl.from_samples.entropy(x)
    before = x.copy()
    estimate = nl.from_samples.entropy(x, jitter=0.1, rng=0)
    assert np.array_equal(x, before)
    assert float(estimate) == pytest.approx(nl.Gaussian(0.0, 1.0).entropy(), abs=0.1)


def test_what_is_not_rows_of_numbers_is_refused():
    with pytest.raises(ValueError, match="more than k = 3"):
        nl.from_samples.entropy([1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="1 of 5 rows are not; the first is row 2"):
        nl.from_samples.entropy([1.0, 2.0, np.nan, 3.0, 4.0])
    with pytest.raises(ValueError, match="same columns, but have 1 and 2"):
        nl.from_samples.kl_divergence(np.arange(9.0), np.arange(18.0).reshape(9, 2))


def test_an_estimate_prints_its_error(rng):
    assert " ± " in str(nl.from_samples.entropy(rng.normal(size=50)))
