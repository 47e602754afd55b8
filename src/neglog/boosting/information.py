"""The Fisher information about the logarithm of a noise's spread: what the gradient in it is measured by."""

from typing import Any

import numpy as np

from neglog.distributions import Gamma, Gaussian, Huber, Laplace, LogNormal, Tweedie
from neglog.distributions.arrays import Numbers
from neglog.distributions.base import Noise
from neglog.distributions.tweedie import kind_of

DRAWS = 50_000  # per node: an error of a percent or few, in what only sets the length of a step
LOWEST, HIGHEST, NODES = -3.0, 4.0, 15  # of the log of the dispersion at mean one


class SpreadInformation:
    """E[(d nll / d log spread)^2] under the law itself; a number, or one per row.

    A scale's does not depend on where the law lies: 2 for Gaussian and LogNormal, 1 for Laplace, for Huber a number
    that only its threshold sets. That of Gamma depends on its shape alone. A Tweedie law of mean m is that of mean one,
    stretched, with the dispersion phi m^(p-2): a function of this one number, tabulated from draws.
    """

    def __init__(self, noise: Noise) -> None:
        self.noise: Any = noise
        if isinstance(noise, Huber):
            self._constant = sampled_information(Huber(0.0, 1.0, noise.delta), "scale")
        elif isinstance(noise, Tweedie) and kind_of(noise.power) == "compound":
            self._nodes = np.linspace(LOWEST, HIGHEST, NODES)
            laws = (Tweedie(1.0, noise.power, float(np.exp(node))) for node in self._nodes)
            self._logs = np.log([sampled_information(law, "dispersion") for law in laws])

    def __call__(self, law: Any) -> Numbers | float:
        """The information at each row of the law."""
        match law:
            case Gaussian() | LogNormal():
                return 2.0
            case Laplace():
                return 1.0
            case Huber():
                return self._constant
            case Gamma():
                return _of_shape(law)
            case Tweedie():
                return self._of_tweedie(law)
        raise TypeError(f"{type(law).__name__} has no spread that could be predicted")

    def _of_tweedie(self, law: Any) -> Numbers | float:
        kind = kind_of(law.power)
        if kind == "gamma":
            return _of_shape(Gamma(shape=1 / law.dispersion))
        if kind != "compound":
            return 0.5  # of log scale^2, a quarter of that of log scale; the inverse Gaussian's is the same
        with np.errstate(all="ignore"):
            at_one = np.log(law.dispersion) + (law.power - 2) * np.log(law.mean())
        beyond = np.maximum(at_one - HIGHEST, 0.0)  # where jumps are rare the information falls with their number
        return np.asarray(np.exp(np.interp(at_one, self._nodes, self._logs) - beyond))


def _of_shape(law: Any) -> Numbers:
    shape = law.shape
    return np.asarray(np.maximum(shape**2 * law.variance_log() - shape, 0.5))  # 1/2 for large shapes, more for small


def sampled_information(law: Any, name: str) -> float:
    """The mean square of the derivative in log `name` over draws from the law."""
    y = law.sample(DRAWS, rng=0)
    return float(np.mean(np.square(law.parameter_gradient(y)[name] * law.parameters[name])))
