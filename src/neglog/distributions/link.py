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

    def forward(self, mean: ArrayLike) -> Any:
        """The raw prediction that belongs to a mean; NaN or infinite where the mean is outside the link's domain."""
        with np.errstate(all="ignore"):
            return self._forward(as_numbers(mean, "mean"))[()]

    def inverse(self, eta: ArrayLike) -> Any:
        """The mean at a raw prediction."""
        with np.errstate(all="ignore"):
            return self._inverse(as_numbers(eta, "eta"))[()]

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


def _centred_log(p: Any) -> Any:
    logs = np.log(p)
    return logs - logs.mean(axis=-1, keepdims=True)


def _softmax(eta: Any) -> Any:
    return special.softmax(eta, axis=-1)


LINKS = {
    link.name: link
    for link in (
        Link("identity", np.positive, np.positive),
        Link("log", np.log, np.exp),
        Link("inverse", np.reciprocal, np.reciprocal),
        Link("sqrt", np.sqrt, np.square),
        Link("logit", _logit, _expit),
        Link("probit", _normal_quantile, _normal_cdf),
        Link("cloglog", _complementary_log_log, _complementary_exp_exp),
        Link("softmax", _centred_log, _softmax),
    )
}


def get_link(name: str) -> Link:
    """The link of that name."""
    return LINKS[name]
