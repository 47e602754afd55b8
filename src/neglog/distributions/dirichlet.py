"""Dirichlet: a prior for class probabilities."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from neglog.distributions.arrays import as_numbers
from neglog.distributions.base import Prior, quiet
from neglog.distributions.lazy import special
from neglog.distributions.parameters import POSITIVE, Parameter, Value
from neglog.distributions.registry import register
from neglog.distributions.special import digamma_minus_log, half_deviance, stirling_error
from neglog.distributions.support import Support


def dirichlet_nll(y: Any, alpha: Any) -> Any:
    """-log p of a Dirichlet for y > 0, over the last axis.

    Written around the mean alpha / n: a sum of Poisson half deviances, logs of y and Stirling errors, none of which
    cancel.
    """
    total = np.sum(alpha, axis=-1)
    parts = (
        half_deviance(alpha * np.ones_like(y), total[..., None] * y, 1.0)
        + np.log(y)
        + stirling_error(alpha)
        - 0.5 * np.log(alpha / (2 * np.pi))
    )
    return np.sum(parts, axis=-1) + 0.5 * np.log(total / (2 * np.pi)) - stirling_error(total)


def dirichlet_mean_log(alpha: Any) -> Any:
    """The expectation of log y_k under a Dirichlet."""
    total = alpha.sum(axis=-1, keepdims=True)
    return np.log(alpha / total) + digamma_minus_log(alpha) - digamma_minus_log(total)


def dirichlet_entropy(alpha: Any) -> Any:
    """The expectation of dirichlet_nll, term by term."""
    total = alpha.sum(axis=-1)
    parts = (
        alpha * (digamma_minus_log(total)[..., None] - digamma_minus_log(alpha))
        + dirichlet_mean_log(alpha)
        + stirling_error(alpha)
        - 0.5 * np.log(alpha / (2 * np.pi))
    )
    return np.sum(parts, axis=-1) + 0.5 * np.log(total / (2 * np.pi)) - stirling_error(total)


@register
class Dirichlet(Prior):
    r"""A law of class probabilities: the Beta law for more than two classes. The last axis of alpha and of y is the
    classes.

    Density     p(y) = prod_k y_k^(alpha_k - 1) / B(alpha)
    Domain      y_k > 0 with sum 1; alpha_k > 0
    Use         the prior of the probabilities of several classes
    Page        bayes/bayes_rule
    As prior    conjugate to Categorical; penalty -sum (alpha_k - 1) log y_k, strength alpha - 1
    """

    alpha: Value
    declared = (Parameter("alpha", POSITIVE),)

    support = Support("y > 0, sum of y = 1", 0.0, 1.0)
    examples = ({"alpha": [1.0, 1.0, 1.0]}, {"alpha": [0.5, 2.0, 9.0, 30.0]})
    summary = ("", "for class probabilities")

    def __init__(self, alpha: Value) -> None:
        self._state(alpha=alpha)
        if np.ndim(self.alpha) == 0 or np.shape(self.alpha)[-1] < 2:
            raise ValueError(f"Dirichlet: alpha must hold at least two classes on its last axis, but is {alpha!r}")

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """The shape of alpha without the classes."""
        return tuple(np.shape(self.alpha)[:-1])

    def nll(self, y: ArrayLike) -> Any:
        """-log p(y) in nats over the last axis; +inf unless all y > 0 and they sum to one."""
        alpha = self._known("alpha")

        def compute(x: Any) -> Any:
            if x.shape[-1:] != alpha.shape[-1:]:
                raise ValueError(f"y must hold {alpha.shape[-1]} classes on its last axis, but has the shape {x.shape}")
            inside = np.all(x > 0, axis=-1) & (np.abs(np.sum(x, axis=-1) - 1) < self._tolerance(numbers.dtype))
            return np.where(inside, dirichlet_nll(x, alpha), np.where(np.any(np.isnan(x), axis=-1), np.nan, np.inf))

        numbers = as_numbers(y, "y")
        return self._elementwise(compute, numbers, "y")

    @staticmethod
    def _tolerance(dtype: np.dtype[Any]) -> float:
        return 1e-5 if dtype == np.float32 else 1e-9

    def _draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
        # log Gamma(alpha) as log Gamma(alpha + 1) + log(U) / alpha: small alphas would all underflow to 0
        size = (*shape, np.shape(self.alpha)[-1])
        logs = np.log(rng.standard_gamma(self._known("alpha") + 1, size)) + np.log(1 - rng.random(size)) / self.alpha
        return special.softmax(logs, axis=-1)

    def mean(self) -> Any:
        alpha = self._known("alpha")
        return alpha / alpha.sum(axis=-1, keepdims=True)

    def median(self) -> Any:
        raise TypeError("Dirichlet is a law of several numbers and has no median")

    @quiet
    def variance(self) -> Any:
        mean = self.mean()
        return mean * (1 - mean) / (self.alpha.sum(axis=-1, keepdims=True) + 1)

    def mean_log(self) -> Any:
        """The expectation of log y_k."""
        return dirichlet_mean_log(self._known("alpha"))

    def _entropy(self) -> Any:
        return dirichlet_entropy(self._known("alpha"))[()]

    @quiet
    def penalty(self, theta: ArrayLike) -> Any:
        with np.errstate(all="ignore"):
            return -np.sum(special.xlogy(self.strength, as_numbers(theta, "theta")))

    @property
    @quiet
    def strength(self) -> Any:
        return self._known("alpha") - 1
