"""Bernoulli: yes or no."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from neglog.distributions.arrays import as_numbers
from neglog.distributions.base import quiet
from neglog.distributions.binomial import Binomial
from neglog.distributions.lazy import special
from neglog.distributions.noise import Noise
from neglog.distributions.parameters import ITSELF, PROBABILITY, Parameter, Role, Value
from neglog.distributions.registry import register
from neglog.distributions.special import half_deviance
from neglog.distributions.support import BINARY
from neglog.distributions.traits import Traits


@register
class Bernoulli(Noise):
    r"""One event that happens with probability p.

    Density     p(1) = p, p(0) = 1 - p   (a mass)
    Domain      y = 0, 1; 0 <= p <= 1
    Link        logit: the prediction is the probability of a one
    Loss        log loss, -y log f - (1 - y) log(1 - f)
    Use         y is yes or no, or a share of trials with precision=trials, and its probability is wanted
    Not         shares that are not counted out of trials: BetaProportion; more than two classes: Categorical or Ordinal
    Page        losses/cross_entropy
    Fractions   `loss` and `derivatives` also take y between 0 and 1, read as a share of ones: the expected log loss
    """

    p: Value
    declared = (Parameter("p", PROBABILITY, role=Role.LOCATION, raw=ITSELF),)

    support = BINARY
    otherwise = "shares of several trials take precision=trials"
    measure = "mass"
    traits = Traits(
        log_concave=("logit", "probit", "cloglog"),
        repeats=True,
        predicts="probability of {y}",
        settled_by="binary",
        separates="the zeros from the ones",
    )
    default_link = "logit"
    examples = ({"p": 0.5}, {"p": 0.03}, {"p": 0.9})
    deviance_per_loss = 2.0
    summary = ("log loss", "")

    def __init__(self, p: Value = None, *, link: str = "logit") -> None:
        self._state(link=link, p=p)

    def nll(self, y: ArrayLike) -> Any:
        """-log p(y) in nats; +inf for any y but 0 and 1."""
        numbers = as_numbers(y, "y")
        nats = super().nll(numbers)
        return np.where((numbers == 0) | (numbers == 1) | np.isnan(numbers), nats, nats.dtype.type(np.inf))[()]

    def _no_and_yes(self) -> tuple[Any, Any]:
        """P(0) and P(1), from the raw prediction where there is one: 1 - p would lose a small P(0)."""
        if "_made_by" in self.__dict__:
            return np.exp(-super().nll(0.0)), np.exp(-super().nll(1.0))
        p = self._known("p")
        return np.subtract(1.0, p), p

    def of_total(self, p: Any) -> Binomial:
        no, yes = self._no_and_yes()
        with np.errstate(divide="ignore"):
            return Binomial(np.rint(p), np.divide(yes, no))

    def _tail(self, y: Any, upper: bool) -> Any:
        no, yes = self._no_and_yes()
        inside = np.where(y < 1, yes if upper else no, float(not upper))
        return np.where(np.isnan(y), np.nan, np.where(y < 0, float(upper), inside))

    def _quantile(self, q: Any, upper: bool) -> Any:
        no, yes = self._no_and_yes()
        is_one = q < yes if upper else q > no
        return np.where(np.isnan(q), np.nan, is_one)

    def _draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
        return (rng.random(shape) < self._known("p")).astype(np.int64)

    def mean(self) -> Any:
        return self._over_shape(self._known("p"))

    @quiet
    def variance(self) -> Any:
        no, yes = self._no_and_yes()
        return self._over_shape(no * yes)

    def _entropy(self) -> Any:
        no, yes = self._no_and_yes()
        rarer = np.minimum(no, yes)  # its complement is 1 - rarer, whose log keeps what rarer is
        return self._over_shape(special.entr(rarer) - special.xlog1py(1 - rarer, -rarer))

    @quiet
    def parameter_gradient(self, y: ArrayLike) -> dict[str, Any]:
        p, y = self._known("p"), as_numbers(y, "y")
        with np.errstate(all="ignore"):
            return {"p": np.where(y == 1, -np.reciprocal(p), np.reciprocal(np.subtract(1.0, p)))[()]}

    def loss(self, y: ArrayLike, prediction: ArrayLike) -> Any:
        """The log loss of a probability."""
        y, p = as_numbers(y, "y"), as_numbers(prediction, "prediction")
        return self._core_nll("identity", y, p)

    @property
    @quiet
    def loss_scale(self) -> Any:
        return 1.0

    def loss_at(self, eta: ArrayLike, y: ArrayLike) -> Any:
        """Half the unit deviance, of shares too; of a sure y its nats, from the raw prediction."""
        y = as_numbers(y, "y")
        nats = self._core_nll(self.link.name, y, as_numbers(eta, "eta"))
        return np.where((y == 0) | (y == 1), nats, 0.5 * self.deviance(y, self.link.inverse(eta)))[()]

    def deviance(self, y: ArrayLike, mean: ArrayLike) -> Any:
        y, mean = as_numbers(y, "y"), as_numbers(mean, "mean")
        return 2 * (half_deviance(y, mean, 1.0) + half_deviance(1 - y, 1 - mean, 1.0))
