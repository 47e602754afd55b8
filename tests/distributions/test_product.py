"""Products of priors: the elastic net, and what simplifies."""

import numpy as np
import pytest
from scipy import integrate

import neglog as nl


def density_of_product(first, second, y):
    """The product of two densities, normalised by quadrature."""
    mass = integrate.quad(lambda x: first.pdf(x) * second.pdf(x), -60, 60, points=[-1, 0, 1], epsabs=1e-13, limit=500)[
        0
    ]
    return first.pdf(y) * second.pdf(y) / mass


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (nl.Gaussian(scale=1.0), nl.Laplace(scale=0.3)),
        (nl.Laplace(-1.0, 2.0), nl.Gaussian(1.0, 0.5)),
        (nl.Gaussian(0.5, 1.0), nl.Gaussian(-1.0, 2.0)),
        (nl.Laplace(0.3, 1.0), nl.Laplace(0.3, 0.5)),
        (nl.Gaussian(scale=1.0) * nl.Laplace(scale=1.0), nl.Gaussian(1.0, 1.0)),
        (nl.Gaussian(scale=1.0) * nl.Laplace(scale=1.0), nl.Laplace(scale=2.0)),
    ],
)
def test_the_density_is_the_normalised_product(first, second):
    y = np.linspace(-3, 3, 25)
    for law in (first * second, second * first):
        np.testing.assert_allclose(law.pdf(y), density_of_product(first, second, y), rtol=1e-9)


def test_the_normaliser_of_the_elastic_net_is_the_known_one():
    """2 s sqrt(2 pi) exp(s^2 / 2b^2) Phi(-s/b) for a net around 0."""
    from scipy.special import ndtr

    s, b = 1.3, 0.4
    law = nl.Gaussian(scale=s) * nl.Laplace(scale=b)
    normaliser = 2 * s * np.sqrt(2 * np.pi) * np.exp(s**2 / (2 * b**2)) * ndtr(-s / b)
    assert law.nll(0.0) == pytest.approx(np.log(normaliser), rel=1e-13)


def test_a_strong_lasso_factor_does_not_overflow():
    law = nl.Gaussian(scale=100.0) * nl.Laplace(scale=0.01)
    assert law.nll(0.0) == pytest.approx(nl.Laplace(scale=0.01).nll(0.0), rel=1e-6)
    assert law.variance() == pytest.approx(2e-4, rel=1e-4)
    assert law.cdf(law.icdf(1e-20)) == pytest.approx(1e-20, rel=1e-9)


def test_flat_changes_nothing():
    prior = nl.Laplace(scale=2.0)
    assert nl.Flat() * prior == prior
    assert prior * nl.Flat() == prior
    assert isinstance(nl.Flat() * nl.Flat(), nl.Flat)


def test_conjugate_priors_stay_in_their_family():
    assert nl.Beta(2.0, 3.0) * nl.Beta(1.5, 1.0) == nl.Beta(2.5, 3.0)
    assert nl.Dirichlet([1.0, 2.0]) * nl.Dirichlet([3.0, 1.0]) == nl.Dirichlet([3.0, 2.0])


def test_unknown_scales_are_kept():
    net = nl.Gaussian() * nl.Laplace(scale=0.1)
    assert repr(net) == "Gaussian(loc=0.0, scale=None) * Laplace(loc=0.0, scale=0.1)"
    with pytest.raises(ValueError, match="scale is unknown"):
        net.penalty([1.0])


def test_what_cannot_be_multiplied_says_so():
    with pytest.raises(TypeError, match="only priors can be multiplied"):
        nl.Gaussian(scale=1.0) * nl.Poisson(1.0)
    with pytest.raises(TypeError, match="product of Gaussian and Beta"):
        nl.Gaussian(scale=1.0) * nl.Beta(1.0, 1.0)
    with pytest.raises(ValueError, match="around the same loc"):
        nl.Laplace(0.0, 1.0) * nl.Laplace(1.0, 1.0)
