"""NegativeBinomial: counts that vary more than Poisson's."""

from typing import Any

import numpy as np

from neglog.distributions.base import quiet
from neglog.distributions.beta import odds_tail
from neglog.distributions.expectation import numeric_entropy
from neglog.distributions.noise import Noise
from neglog.distributions.parameters import ITSELF, POSITIVE, Domain, Limit, Parameter, Role, Value
from neglog.distributions.poisson import poisson_draw
from neglog.distributions.quantiles import smallest_integer
from neglog.distributions.registry import register
from neglog.distributions.support import COUNTS
from neglog.distributions.traits import Traits

POWER = Domain("from 0 to 3", lambda p: (p >= 0) & (p <= 3))


@register
class NegativeBinomial(Noise):
    r"""Counts that vary more than Poisson's: variance = mean + dispersion mean^power.

    Density     p(y) = Gamma(y + r) / (Gamma(r) y!) q^r (1 - q)^y,  q = r / (r + mean),
                r = mean^(2 - power) / dispersion   (a mass)
    Domain      y = 0, 1, 2, ...; mean > 0; dispersion > 0; power 2 is NB2, power 1 NB1
    Link        log: the prediction is the mean
    Loss        y log(y / f) - (y + r) log((y + r) / (f + r)) at power 2, half the deviance at the stated dispersion
    Use         counts that vary more than their mean allows: visits, claims, accidents, defects
    Not         counts that vary as Poisson's do; counts with an upper limit: Bernoulli with precision=trials
    Page        losses/negative_binomial
    Mixture     of Poisson laws whose mean is Gamma(mean, shape r); power 2 has the same shape at every mean
    Limits      dispersion -> 0 is Poisson
    """

    dispersion: Value
    power: Value
    declared = (
        Parameter("mean", POSITIVE, role=Role.LOCATION),
        Parameter("dispersion", POSITIVE, role=Role.SPREAD, precision=-1.0, limit=Limit(1e-10, "Poisson")),
        Parameter("power", POWER, role=Role.SHAPE, raw=ITSELF, start=2.0, search=(1.0, 2.0), within=(0.0, 3.0)),
    )

    support = COUNTS
    otherwise = "amounts that are not counts may be Gamma or Tweedie"
    measure = "mass"
    default_link = "log"
    traits = Traits(log_concave=("log",), separates="the zeros from the other counts")
    examples = (
        {"mean": 3.0, "dispersion": 0.5, "power": 2.0},
        {"mean": 0.4, "dispersion": 1.4, "power": 2.0},
        {"mean": 60.0, "dispersion": 0.002, "power": 2.0},
        {"mean": 4.0, "dispersion": 1.5, "power": 1.0},
    )
    variants = ({"power": 1.0},)
    summary = ("negative binomial deviance", "")

    def __init__(self, mean: Value = None, dispersion: Value = None, power: Value = 2.0, *, link: str = "log") -> None:
        self._state(link=link, mean=mean, dispersion=dispersion, power=power)

    @property
    def log_concave(self) -> bool:
        """For power 2, at which the prediction has no part in the shape."""
        return super().log_concave and bool(np.all(np.equal(self.power, 2.0)))

    @property
    def saturates(self) -> bool:
        """For power 2, for the same reason."""
        return bool(np.all(np.equal(self._known("power"), 2.0)))

    def cannot_tell(self, rows: int, zeros: int) -> str | None:
        if self.power is None and "dispersion" in self.modelled:
            return (
                f"{self!r}: log(dispersion) + power log(mean) is all that the variance has of them, one sum of the "
                "same columns, so that a modelled dispersion and a power cannot be told apart; state power=2.0"
            )
        return None

    def _gamma(self) -> tuple[Any, Any]:
        """The mean, and the shape of the Gamma law that it has in its place."""
        mean, dispersion, power = self._known("mean", "dispersion", "power")
        return mean, mean ** np.subtract(2.0, power) / dispersion

    def _tail(self, y: Any, upper: bool) -> Any:
        return _count_tail(y, *self._gamma(), upper)

    def _quantile(self, q: Any, upper: bool) -> Any:
        start = self._known("mean") + 10 * np.sqrt(self.variance())
        return smallest_integer(lambda k, m, r: _count_tail(k, m, r, upper), q, upper, start, *self._gamma())

    def _draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
        mean, r = self._gamma()
        return poisson_draw(rng, rng.standard_gamma(r, shape) * (mean / r))

    def log_mass_at_zero(self) -> Any:
        mean, r = self._gamma()
        return -r * np.log1p(mean / r)

    def mean(self) -> Any:
        return self._over_shape(self._known("mean"))

    @quiet
    def variance(self) -> Any:
        mean, r = self._gamma()
        return self._over_shape(mean + np.square(mean) / r)

    def _entropy(self) -> Any:
        return numeric_entropy(self)


def _count_tail(y: Any, mean: Any, shape: Any, upper: bool) -> Any:
    counts = np.floor(y)
    inside = odds_tail(np.divide(mean, shape), np.clip(counts, 0, 1e300) + 1, shape, not upper)
    return np.where(counts < 0, float(upper), np.where(counts == np.inf, float(not upper), inside))
