"""NegativeBinomial: what is believed about a count whose mean is known only up to a Gamma."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from neglog.distributions.base import Distribution, quiet
from neglog.distributions.beta import odds_tail
from neglog.distributions.expectation import numeric_entropy
from neglog.distributions.parameters import ITSELF, POSITIVE, REAL, Parameter, Value
from neglog.distributions.poisson import poisson_draw
from neglog.distributions.quantiles import smallest_integer
from neglog.distributions.special import half_deviance, stirling_error
from neglog.distributions.support import COUNTS


class NegativeBinomial(Distribution):
    r"""Counts that vary more than Poisson's: variance = mean + dispersion mean^power.

    Density     p(y) = Gamma(y + r) / (Gamma(r) y!) q^r (1 - q)^y,  q = r / (r + mean),
                r = mean^(2 - power) / dispersion   (a mass)
    Domain      y = 0, 1, 2, ...; mean > 0; dispersion > 0
    Mixture     of Poisson laws whose mean is Gamma(mean, shape r); power 2 (NB2) has the same shape at every mean
    """

    dispersion: Value
    power: Value
    declared = (
        Parameter("mean", POSITIVE),
        Parameter("dispersion", POSITIVE),
        Parameter("power", REAL, raw=ITSELF),
    )

    support = COUNTS
    measure = "mass"
    examples = (
        {"mean": 3.0, "dispersion": 0.5, "power": 2.0},
        {"mean": 0.4, "dispersion": 1.4, "power": 2.0},
        {"mean": 60.0, "dispersion": 0.002, "power": 2.0},
    )

    def __init__(self, mean: Value = None, dispersion: Value = None, power: Value = 2.0) -> None:
        self._state(mean=mean, dispersion=dispersion, power=power)

    def _gamma(self) -> tuple[Any, Any]:
        """The mean, and the shape of the Gamma law that it has in its place."""
        mean, dispersion, power = self._known("mean", "dispersion", "power")
        return mean, mean ** (2 - power) / dispersion

    def nll(self, y: ArrayLike) -> Any:
        """-log p(y) in nats; +inf outside 0, 1, 2, ..."""

        def compute(x: Any) -> Any:
            mean, shape = self._gamma()
            # a binomial at its saddle point (Loader 2000), because differences of log Gamma lose digits
            counts = np.where(x > 0, x, 1.0)
            trials = shape + counts
            errors = stirling_error(trials) - stirling_error(shape) - stirling_error(counts)
            share = shape / (shape + mean)
            rest = mean / (shape + mean)
            deviances = half_deviance(shape, trials * share, 1.0) + half_deviance(counts, trials * rest, 1.0)
            nats = deviances - errors - 0.5 * np.log(shape / (2 * np.pi * trials * counts))
            nats = np.where(x == 0, shape * np.log1p(mean / shape), nats)
            return np.where((x >= 0) & (x == np.floor(x)) & (x < np.inf), nats, np.where(np.isnan(x), np.nan, np.inf))

        return self._elementwise(compute, y, "y")

    def _tail(self, y: Any, upper: bool) -> Any:
        mean, shape = self._gamma()
        return _count_tail(y, mean, shape, upper)

    def _quantile(self, q: Any, upper: bool) -> Any:
        mean, shape = self._gamma()
        start = mean + 10 * np.sqrt(mean + np.square(mean) / shape)
        return smallest_integer(lambda k, m, r: _count_tail(k, m, r, upper), q, upper, start, mean, shape)

    def _draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
        mean, spread = self._gamma()
        return poisson_draw(rng, rng.standard_gamma(spread, shape) * (mean / spread))

    def mean(self) -> Any:
        return self._over_shape(self._known("mean"))

    @quiet
    def variance(self) -> Any:
        mean, shape = self._gamma()
        return self._over_shape(mean + np.square(mean) / shape)

    def _entropy(self) -> Any:
        return numeric_entropy(self)


def _count_tail(y: Any, mean: Any, shape: Any, upper: bool) -> Any:
    counts = np.floor(y)
    inside = odds_tail(np.divide(mean, shape), np.clip(counts, 0, 1e300) + 1, shape, not upper)
    return np.where(counts < 0, float(upper), np.where(counts == np.inf, float(not upper), inside))
