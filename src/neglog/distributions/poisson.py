"""Poisson: counts."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from neglog.distributions.arrays import as_numbers
from neglog.distributions.base import quiet
from neglog.distributions.noise import Noise
from neglog.distributions.parameters import POSITIVE, Parameter, Role, Value
from neglog.distributions.quantiles import smallest_integer
from neglog.distributions.registry import register
from neglog.distributions.special import half_deviance, incomplete_gamma
from neglog.distributions.support import COUNTS
from neglog.distributions.traits import Traits


@register
class Poisson(Noise):
    r"""The number of rare events.

    Density     p(y) = mean^y exp(-mean) / y!   (a mass)
    Domain      y = 0, 1, 2, ...; mean > 0
    Link        log: the prediction is the mean
    Loss        half the unit deviance, y log(y / f) - y + f
    Use         counts of rare events without an upper limit, with the exposure where rows were watched for different
                times
    Not         counts that vary more than their mean: NegativeBinomial; more zeros than it has: ZeroInflated or Hurdle
    Page        losses/poisson
    """

    declared = (Parameter("mean", POSITIVE, role=Role.LOCATION),)

    support = COUNTS
    otherwise = "amounts that are not counts may be Gamma or Tweedie"
    measure = "mass"
    traits = Traits(
        log_concave=("log", "identity", "sqrt"),
        repeats=True,
        settled_by="counts",
        separates="the zeros from the other counts",
    )
    default_link = "log"
    examples = ({"mean": 0.3}, {"mean": 4.2}, {"mean": 700.0})
    deviance_per_loss = 2.0
    summary = ("Poisson deviance", "")

    def __init__(self, mean: Value = None, *, link: str = "log") -> None:
        self._state(link=link, mean=mean)

    def of_total(self, p: Any) -> "Poisson":
        return Poisson().estimated(mean=self._known("mean") * p)

    def _tail(self, y: Any, upper: bool) -> Any:
        return poisson_tail(y, self._known("mean"), upper)

    def _quantile(self, q: Any, upper: bool) -> Any:
        return poisson_quantile(q, self._known("mean"), upper)

    def _draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
        return poisson_draw(rng, self._known("mean"), shape)

    def log_mass_at_zero(self) -> Any:
        return np.negative(self._known("mean"))

    def mean(self) -> Any:
        return self._over_shape(self._known("mean"))

    @quiet
    def variance(self) -> Any:
        return self.mean()

    def _entropy(self) -> Any:
        return poisson_entropy(self._known("mean"))

    @quiet
    def parameter_gradient(self, y: ArrayLike) -> dict[str, Any]:
        return {"mean": 1 - as_numbers(y, "y") / self._known("mean")}

    def loss(self, y: ArrayLike, prediction: ArrayLike) -> Any:
        """Half the unit deviance."""
        return half_deviance(y, prediction, 1.0)

    @property
    @quiet
    def loss_scale(self) -> Any:
        return 1.0


def poisson_draw(rng: np.random.Generator, mean: Any, shape: Any = None) -> Any:
    """Counts; beyond 1e18, where NumPy's sampler ends and counts are no longer exact anyway, rounded Gaussians."""
    huge = np.asarray(mean) > 1e18
    counts = rng.poisson(np.where(huge, 1.0, mean), shape)
    return np.where(huge, np.round(rng.normal(mean, np.sqrt(mean), shape)), counts) if huge.any() else counts


def poisson_tail(y: Any, mean: Any, upper: bool) -> Any:
    """P(Y <= y), or P(Y > y), by the incomplete gamma function."""
    counts = np.floor(y)
    inside = incomplete_gamma(counts + 1, np.asarray(mean, float), not upper)
    return np.where(counts < 0, float(upper), np.where(counts == np.inf, float(not upper), inside))


def poisson_quantile(q: Any, mean: Any, upper: bool) -> Any:
    """The smallest count whose cdf reaches q (whose upper tail falls to q)."""
    return smallest_integer(
        lambda k, m: poisson_tail(k, m, upper), q, upper, np.asarray(mean) + 10 * np.sqrt(mean), mean
    )


def poisson_entropy(mean: Any) -> Any:
    """The entropy in nats: the sum of -p log p over all counts with p > e^-45, an expansion in 1/mean beyond 10,000.

    The neglected tail is below 1e-17 of a nat, the neglected order of the expansion below 1e-16.
    """

    def one(m: float) -> float:
        if not 0 < m < np.inf:  # a mean beyond the range of numbers, or no number
            return 0.0 if m == 0 else m
        if m >= 1e4:
            return float(0.5 * np.log(2 * np.pi * np.e * m) - 1 / (12 * m) - 1 / (24 * m**2) - 19 / (360 * m**3))
        reach = 10 * np.sqrt(m) + 45
        counts = np.arange(max(0.0, np.floor(m - reach)), np.ceil(m + reach))
        nats = Poisson(m).nll(counts)
        return float(np.sum(np.exp(-nats) * nats))

    return np.vectorize(one, otypes=[float])(mean)[()]
