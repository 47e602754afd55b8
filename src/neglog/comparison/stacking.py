"""Several predictive laws as one: a mixture in the shares under which the rows that were left out cost least."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from neglog.distributions.lazy import special
from neglog.typing import Numbers

STEPS = 500  # of the search for the shares
DONE = 1e-9  # nats a row that a step gains
SMALL = 1e-3  # shares that are left out


def shares_of(nll: Numbers, weight: Numbers) -> Numbers:
    """The shares of laws, by rows of what each costs in each row: the maximum of a concave likelihood, by EM."""
    w = weight / weight.sum()
    likelihoods = np.exp(nll.min(axis=0) - nll)
    shares, before = np.full(len(nll), 1 / len(nll)), np.inf
    for _ in range(STEPS):
        whole = shares @ likelihoods
        cost = -float(w @ np.log(whole))
        if before - cost < DONE:
            break
        shares, before = shares * (likelihoods @ (w / whole)), cost
    return shares


def stacked(nll: Numbers, weight: Numbers, fold: Numbers) -> tuple[Numbers, Numbers]:
    """What a mixture costs in each row, its shares found in the other folds, and the shares of each fold, by row."""
    out, shares = np.empty(nll.shape[1]), np.empty_like(nll)
    for k in np.unique(fold):
        own = fold == k
        found = shares_of(nll[:, ~own], weight[~own])
        shares[:, own] = found[:, None]
        with np.errstate(divide="ignore"):
            out[own] = -special.logsumexp(np.log(found)[:, None] - nll[:, own], axis=0)
    return out, shares


@dataclass(frozen=True)
class MixedLaw:
    """Laws of the same rows, of any families, in shares."""

    laws: tuple[Any, ...]
    shares: tuple[float, ...]

    def _sum(self, values: Any) -> Numbers:
        return np.asarray(sum(share * np.asarray(value) for share, value in zip(self.shares, values, strict=True)))

    def nll(self, y: Any) -> Numbers:
        """-log of the mixed density, or probability."""
        parts = [np.log(share) - np.asarray(law.nll(y)) for share, law in zip(self.shares, self.laws, strict=True)]
        return np.asarray(-special.logsumexp(np.stack(parts), axis=0))

    def cdf(self, y: Any) -> Numbers:
        """P(Y <= y)."""
        return self._sum(law.cdf(y) for law in self.laws)

    def point(self) -> Numbers:
        """The mean, where the laws have one."""
        return self._sum(law.point() for law in self.laws)

    def icdf(self, p: Any) -> Numbers:
        """Quantiles, by bisection between those of the laws."""
        ends = np.stack([np.broadcast_to(law.icdf(p), np.shape(self.laws[0].point())) for law in self.laws])
        low, high = ends.min(axis=0), ends.max(axis=0)
        for _ in range(80):
            middle = 0.5 * (low + high)
            below = self.cdf(middle) < p
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return np.asarray(high)


@dataclass(frozen=True)
class Stack:
    """Fits of the same rows, whose laws are mixed."""

    fits: tuple[Any, ...]
    shares: tuple[float, ...]

    def distribution(self, X: Any, **beside: Any) -> MixedLaw:
        """The mixed law of y for each row of X."""
        return MixedLaw(tuple(one.distribution(X, **beside) for one in self.fits), self.shares)

    def predict(self, X: Any, **beside: Any) -> Numbers:
        """Its point for each row of X."""
        return self.distribution(X, **beside).point()
