"""The laws under test, read from the registry: a new family is tested without editing a test."""

import pytest

from neglog.distributions import FAMILIES, Beta, Dirichlet, Flat, Gaussian, InverseGamma, Laplace, Noise, Prior
from neglog.distributions.beta_binomial import BetaBinomial
from neglog.distributions.beta_prime import BetaPrime
from neglog.distributions.binomial import Binomial

PROPER = [family(**example) for family in FAMILIES.values() if family is not Flat for example in family.examples]
PREDICTIVES = (BetaBinomial, BetaPrime, Binomial)  # laws of what comes next or of several rows, not to fit with
PROPER += [law(**example) for law in PREDICTIVES for example in law.examples]
PROPER += [
    Gaussian(scale=1.0) * Laplace(scale=0.3),
    Gaussian(1.0, 0.5) * Laplace(-1.0, 2.0),
]
UNIVARIATE = [law for law in PROPER if not isinstance(law, Dirichlet)]
NOISES = [law for law in PROPER if isinstance(law, Noise)]
PRIORS = [law for law in PROPER if isinstance(law, Prior) and not isinstance(law, Beta | Dirichlet | InverseGamma)]


def linked(noise):
    """The noise with each of its links, and raw predictions at which the link is defined."""
    parameters = noise.parameters | {noise.location: None if noise.location != "loc" else 0.0}
    return [type(noise)(**parameters, link=link) for link in noise._links()]


LINKED_NOISES = [one for noise in NOISES if noise._family() != "categorical" for one in linked(noise)]


def each(laws, name="law"):
    return pytest.mark.parametrize(name, laws, ids=repr)


def typical(law, rng, size=7):
    """Draws, as floats: points where the law has mass."""
    return law.sample(size, rng=rng).astype(float)


def raw_predictions(noise, size=7):
    """Raw predictions inside the domain of the noise's link."""
    import numpy as np

    if noise.locations[1] == 1:  # not so near to 1 that y between the last number and 1 count
        ends = {"identity": (0.1, 0.8), "log": (-2.0, -0.2)}.get(noise.link.name, (-1.3, 0.6))
        return np.linspace(*ends, size)
    if noise.link.name in ("identity", "inverse", "sqrt"):
        return np.linspace(0.4, 2.1, size)
    return np.linspace(-1.3, 1.4, size)


def plausible(noise, eta, rng):
    """A y for each raw prediction, drawn from the law there."""
    return noise.given(eta).sample(rng=rng).astype(float)
