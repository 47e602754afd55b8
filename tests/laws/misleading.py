"""Noises whose parameters have the names of others: whoever goes by a name, and not by what is declared, goes wrong.

Each is another noise under wrong names, so that every answer about it is known: `honest` gives that noise.
"""

import numpy as np

from neglog.distributions import Gaussian, Noise, Poisson
from neglog.distributions.gaussian import HALF_LOG_TWO_PI
from neglog.distributions.parameters import ITSELF, POSITIVE, REAL, Parameter, Role
from neglog.distributions.support import COUNTS, REALS
from neglog.distributions.traits import Traits


class Disguised(Noise):
    """A noise that draws, sums and judges as the honest one does."""

    def honest(self):
        """The same noise under its own names."""
        raise NotImplementedError

    def _tail(self, y, upper):
        return self.honest()._tail(y, upper)

    def _quantile(self, q, upper):
        return self.honest()._quantile(q, upper)

    def _draw(self, rng, shape):
        return self.honest()._draw(rng, shape)

    def mean(self):
        return self.honest().mean()

    def variance(self):
        return self.honest().variance()

    def _entropy(self):
        return self.honest()._entropy()


class MisnamedGaussian(Disguised):
    """A Gaussian whose mean is called shape and whose scale is called power."""

    declared = (
        Parameter("shape", REAL, role=Role.LOCATION, raw=ITSELF),
        Parameter("power", POSITIVE, role=Role.SPREAD, precision=-0.5),
    )
    support = REALS
    default_link = "identity"
    traits = Traits(log_concave=("identity",))
    examples = ({"shape": 0.0, "power": 1.0}, {"shape": -3.0, "power": 0.2})

    def __init__(self, shape=0.0, power=None, *, link="identity"):
        self._state(link=link, shape=shape, power=power)

    @classmethod
    def _family(cls):
        return "gaussian"

    def _kernel_parameters(self):
        return (1.0 / self._known("power"),)

    def _constant(self):
        return np.log(self._known("power")) + HALF_LOG_TWO_PI

    def honest(self):
        return Gaussian(self.shape, self.power, link=self.link)


class MisnamedPoisson(Disguised):
    """Counts whose mean is called scale, beside a constant called dispersion, which is the step of no lattice."""

    declared = (
        Parameter("scale", POSITIVE, role=Role.LOCATION),
        Parameter("dispersion", POSITIVE, role=Role.SHAPE),
    )
    support = COUNTS
    measure = "mass"
    default_link = "log"
    traits = Traits(log_concave=("log", "identity", "sqrt"))
    examples = ({"scale": 0.3, "dispersion": 0.5}, {"scale": 4.2, "dispersion": 0.5})

    def __init__(self, scale=None, dispersion=0.5, *, link="log"):
        self._state(link=link, scale=scale, dispersion=dispersion)

    @classmethod
    def _family(cls):
        return "poisson"

    def _kernel_parameters(self):
        return ()

    def honest(self):
        return Poisson(self.scale, link=self.link)


MISLEADING = (MisnamedGaussian, MisnamedPoisson)
