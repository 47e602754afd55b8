"""Divergences between distributions: closed forms against quadrature, and the identities that hold for all."""

from itertools import product

import numpy as np
import pytest
from families import stands_alone

import neglog as nl
from neglog.distributions import FAMILIES, Flat
from neglog.distributions.expectation import expectation

SAME_FAMILY = [
    (family(**first), family(**second))
    for family in FAMILIES.values()
    if family is not Flat and stands_alone(family)
    for first, second in product(family.examples, repeat=2)
    if family(**first).measure == family(**second).measure
    and [*map(np.shape, first.values())] == [*map(np.shape, second.values())]
]
POSITIVE = [nl.Gamma(2.0, 3.0), nl.LogNormal(0.5, 0.4), nl.Tweedie(2.0, 3.0, 0.2), nl.Beta(2.0, 5.0)]
REAL = [
    nl.Gaussian(0.3, 1.2),
    nl.Laplace(-0.2, 0.8),
    nl.Huber(0.1, 1.0, 1.0),
    nl.Gaussian(scale=1.0) * nl.Laplace(scale=1.0),
]
MIXED = [pair for pair in product(POSITIVE + REAL, repeat=2) if type(pair[0]) is not type(pair[1])]
MIXED += [
    (nl.Bernoulli(0.3), nl.Poisson(0.5)),
    (nl.Categorical([0.2, 0.3, 0.5]), nl.Poisson(1.0)),
    (nl.Bernoulli(0.3), nl.Categorical([0.6, 0.4])),
]


def both(pairs):
    return pytest.mark.parametrize(("p", "q"), pairs, ids=[f"{p!r} || {q!r}" for p, q in pairs])


def integrated(p, q):
    """The definition, by quadrature or summation."""
    return expectation(p, lambda y: q.nll(y) - p.nll(y), relative_error=1e-10).value


@both(SAME_FAMILY + MIXED)
def test_cross_entropy_is_entropy_plus_divergence(p, q):
    divergence = nl.kl_divergence(p, q)
    assert divergence >= 0
    if np.isfinite(divergence):
        assert nl.cross_entropy(p, q) == pytest.approx(nl.entropy(p) + divergence, rel=1e-12)
        assert nl.kl_divergence(p, q, base=2) == pytest.approx(divergence / np.log(2), rel=1e-14)
    else:
        assert nl.cross_entropy(p, q) == np.inf


@both([(p, q) for p, q in SAME_FAMILY + MIXED if not isinstance(p, nl.Dirichlet)])
def test_the_divergence_is_the_expected_difference_of_the_nlls(p, q):
    divergence = nl.kl_divergence(p, q)
    outside = p.bounds[0] < q.bounds[0] or p.bounds[1] > q.bounds[1]
    assert np.isinf(divergence) == (
        outside or (isinstance(p, nl.Tweedie) and p.measure == "mass" and p != q and p.dispersion != q.dispersion)
    )
    if np.isfinite(divergence):
        assert divergence == pytest.approx(integrated(p, q), rel=1e-8, abs=1e-9)


@both([(p, p) for p, _ in SAME_FAMILY])
def test_no_law_differs_from_itself(p, q):
    assert nl.kl_divergence(p, q) == pytest.approx(0, abs=1e-15)


@both([(p, q) for p, q in SAME_FAMILY if isinstance(p, nl.Dirichlet)])
def test_the_divergence_of_dirichlets_by_samples(p, q):
    if p.alpha.shape != q.alpha.shape:
        pytest.skip("not the same classes")
    y = p.sample(200_000, rng=0)
    extra = q.nll(y) - p.nll(y)
    assert abs(extra.mean() - nl.kl_divergence(p, q)) < 5 * extra.std() / np.sqrt(len(y)) + 1e-12


def test_laws_in_arrays_broadcast():
    p = nl.Gaussian(loc=[0.0, 1.0, 2.0], scale=1.0)
    np.testing.assert_allclose(nl.kl_divergence(p, nl.Gaussian(0.0, 1.0)), [0.0, 0.5, 2.0])
    huber = nl.Huber(loc=[0.0, 1.0], scale=1.0)
    singles = [nl.kl_divergence(nl.Huber(loc, 1.0), nl.Laplace(0.0, 1.0)) for loc in (0.0, 1.0)]
    np.testing.assert_allclose(nl.kl_divergence(huber, nl.Laplace(0.0, 1.0)), singles, rtol=1e-12)


@both(
    [
        (nl.Poisson(1.0), nl.Gaussian(0.0, 1.0)),
        (nl.Gamma(1.0, 1.0), nl.Poisson(1.0)),
        (nl.Tweedie(1.0, 1.5, 1.0), nl.Gamma(1.0, 1.0)),
    ]
)
def test_a_mass_and_a_density_are_not_compared(p, q):
    with pytest.raises(TypeError, match="cannot be compared"):
        nl.kl_divergence(p, q)
    with pytest.raises(TypeError, match="cannot be compared"):
        nl.cross_entropy(p, q)


def test_a_flat_prior_has_no_divergence():
    with pytest.raises(TypeError, match="improper"):
        nl.kl_divergence(nl.Flat(), nl.Gaussian(scale=1.0))
    with pytest.raises(TypeError, match="improper"):
        nl.entropy(nl.Flat())


def test_a_distribution_is_not_compared_with_an_array():
    with pytest.raises(TypeError, match="only be compared with a distribution"):
        nl.kl_divergence(nl.Poisson(1.0), [0.5, 0.5])


@pytest.mark.parametrize("power", [0.0, 1.0, 1.3, 1.8, 2.0, 3.0])
def test_within_a_dispersion_model_the_divergence_is_half_the_scaled_deviance(power):
    p, q = nl.Tweedie(1.2, power, 0.7), nl.Tweedie(2.5, power, 0.7)
    assert nl.kl_divergence(p, q) == pytest.approx(p.deviance(1.2, 2.5) / 1.4, rel=1e-12)
