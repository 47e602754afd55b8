"""Links: from the mean (or location, or probability) of y to the raw prediction eta, and back."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from neglog.distributions.arrays import as_numbers
from neglog.distributions.lazy import special


@dataclass(frozen=True)
class Link:
    """eta = forward(mean), mean = inverse(eta), elementwise (softmax: over the last axis)."""

    name: str
    _forward: Callable[[Any], Any]
    _inverse: Callable[[Any], Any]
    _slopes: Callable[[Any], tuple[Any, Any]] | None = None

    def forward(self, mean: ArrayLike) -> Any:
        """The raw prediction that belongs to a mean; NaN or infinite where the mean is outside the link's domain."""
        with np.errstate(all="ignore"):
            return self._forward(as_numbers(mean, "mean"))[()]

    def inverse(self, eta: ArrayLike) -> Any:
        """The mean at a raw prediction."""
        with np.errstate(all="ignore"):
            return self._inverse(as_numbers(eta, "eta"))[()]

    def slopes(self, eta: ArrayLike) -> tuple[Any, Any]:
        """The first two derivatives of the mean in the raw prediction, elementwise."""
        if self._slopes is None:
            raise TypeError(f"the link {self.name} has a matrix of derivatives for each row, not one")
        with np.errstate(all="ignore"):
            return self._slopes(as_numbers(eta, "eta"))

    def of_expression(self, eta: Any) -> Any:
        """The same of what is no number, but takes NumPy's functions: an expression of SQL."""
        return self._inverse(eta)

    def __repr__(self) -> str:
        return f"<link {self.name}>"

    def __reduce__(self) -> Any:  # its functions are not picklable, its name is
        return get_link, (self.name,)


def _logit(p: Any) -> Any:
    return special.logit(p)


def _expit(eta: Any) -> Any:
    return special.expit(eta)


def _normal_quantile(p: Any) -> Any:
    return special.ndtri(p)


def _normal_cdf(eta: Any) -> Any:
    return special.ndtr(eta)


def _complementary_log_log(p: Any) -> Any:
    return np.log(-np.log1p(-p))


def _complementary_exp_exp(eta: Any) -> Any:
    return -np.expm1(-np.exp(eta))


def _slopes_of_expit(eta: Any) -> Any:
    p, rest = special.expit(eta), special.expit(-eta)
    return p * rest, p * rest * (rest - p)


def _slopes_of_normal(eta: Any) -> Any:
    density = np.exp(-0.5 * np.square(eta)) / np.sqrt(2 * np.pi)
    return density, -eta * density


def _slopes_of_exp_exp(eta: Any) -> Any:
    slope = np.exp(eta - np.exp(eta))
    return slope, -slope * np.expm1(eta)


def _centred_log(p: Any) -> Any:
    logs = np.log(p)
    return logs - logs.mean(axis=-1, keepdims=True)


def _softmax(eta: Any) -> Any:
    return special.softmax(eta, axis=-1)


LINKS = {
    link.name: link
    for link in (
        Link("identity", np.positive, np.positive, lambda eta: (np.ones_like(eta), np.zeros_like(eta))),
        Link("log", np.log, np.exp, lambda eta: (np.exp(eta), np.exp(eta))),
        Link("inverse", np.reciprocal, np.reciprocal, lambda eta: (-(eta**-2.0), 2.0 * eta**-3.0)),
        Link("sqrt", np.sqrt, np.square, lambda eta: (2.0 * eta, np.full_like(eta, 2.0))),
        Link("logit", _logit, _expit, _slopes_of_expit),
        Link("probit", _normal_quantile, _normal_cdf, _slopes_of_normal),
        Link("cloglog", _complementary_log_log, _complementary_exp_exp, _slopes_of_exp_exp),
        Link("softmax", _centred_log, _softmax),
    )
}


def get_link(name: str) -> Link:
    """The link of that name."""
    return LINKS[name]
