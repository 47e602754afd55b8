"""Bernoulli: yes or no."""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from neglog.distributions import arrays
from neglog.distributions.arrays import as_numbers
from neglog.distributions.base import Noise
from neglog.distributions.lazy import special
from neglog.distributions.parameters import PROBABILITY, Parameter
from neglog.distributions.registry import register
from neglog.distributions.special import half_deviance


@register
class Bernoulli(Noise):
    r"""One event that happens with probability p.

    Density     p(1) = p, p(0) = 1 - p   (a mass)
    Domain      y = 0, 1; 0 <= p <= 1
    Link        logit: the prediction is the probability of a one
    Loss        log loss, -y log f - (1 - y) log(1 - f)
    Fractions   `loss` and `derivatives` also take y between 0 and 1, read as a share of ones: the expected log loss
    """

    p: Parameter
    domains: ClassVar = {"p": PROBABILITY}

    support = "y = 0, 1"
    bounds = (0.0, 1.0)
    measure = "mass"
    location = "p"
    default_link = "logit"
    examples = ({"p": 0.5}, {"p": 0.03}, {"p": 0.9})
    summary = ("log loss", "")

    def __init__(self, p: Parameter = None, *, link: str = "logit") -> None:
        self._state(link=link, p=p)

    def nll(self, y: ArrayLike) -> Any:
        """-log p(y) in nats; +inf for any y but 0 and 1."""
        numbers = as_numbers(y, "y")
        nats = super().nll(numbers)
        return np.where((numbers == 0) | (numbers == 1) | np.isnan(numbers), nats, nats.dtype.type(np.inf))[()]

    def _tail(self, y: Any, upper: bool) -> Any:
        p = self._known("p")
        return np.where(y < 0, float(upper), np.where(y < 1, p if upper else 1 - p, float(not upper)))

    def _quantile(self, q: Any, upper: bool) -> Any:
        p = self._known("p")
        is_one = q < p if upper else q > 1 - p
        return np.where(np.isnan(q), np.nan, is_one)

    def _draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
        return (rng.random(shape) < self._known("p")).astype(np.int64)

    def mean(self) -> Any:
        return self._over_shape(self._known("p"))

    def variance(self) -> Any:
        p = self._known("p")
        return self._over_shape(p * (1 - p))

    def _entropy(self) -> Any:
        p = self._known("p")
        return self._over_shape(special.entr(p) - special.xlog1py(np.subtract(1, p), np.negative(p)))

    def parameter_gradient(self, y: ArrayLike) -> dict[str, Any]:
        p, y = self._known("p"), as_numbers(y, "y")
        with np.errstate(all="ignore"):
            return {"p": np.where(y == 1, -1 / p, 1 / (1 - p))[()]}

    def loss(self, y: ArrayLike, prediction: ArrayLike) -> Any:
        """The log loss of a probability."""
        y, p = as_numbers(y, "y"), as_numbers(prediction, "prediction")
        return arrays.core_nll("bernoulli", "identity", y, p, (), 0.0)

    @property
    def loss_scale(self) -> Any:
        return 1.0

    def deviance(self, y: ArrayLike, mean: ArrayLike) -> Any:
        y, mean = as_numbers(y, "y"), as_numbers(mean, "mean")
        return 2 * (half_deviance(y, mean, 1.0) + half_deviance(1 - y, 1 - mean, 1.0))
