"""A task is a belief about noise and parameters together with data; a candidate is one way to fit it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import data
import numpy as np
import pandas as pd
from scipy import sparse, special

HALF_DEVIANCES = {  # each is the -log p of the noise, dispersion 1, less what does not depend on the prediction
    "poisson": lambda y, eta: special.xlogy(y, y) - y - y * eta + np.exp(eta),
    "gamma": lambda y, eta: eta - np.log(y) + y * np.exp(-eta) - 1,
    "tweedie": lambda y, eta: 2 * (y * np.exp(-eta / 2) + np.exp(eta / 2)) - 4 * np.sqrt(y),
    "bernoulli": lambda y, eta: np.logaddexp(0, eta) - y * eta,
    "gaussian": lambda y, eta: (y - eta) ** 2 / 2,
    "laplace": lambda y, eta: np.abs(y - eta),
}


class Fitted(NamedTuple):
    """What a fit found; along a path the first axis counts the strengths."""

    intercept: Any
    coef: Any
    seconds: float | None = None  # where the rival must measure its time itself
    scale: float | None = None  # of the noise, where it is estimated


@dataclass
class Candidate:
    """One way to fit a task, at any tolerance of its ladder, the loosest first.

    A candidate with a `ruler` minimises something of its own, and is held to its own best value.
    A stalled optimiser is no witness of that value, so `least` may say what can be reached.
    """

    name: str
    fit: Callable[[Any], Fitted]
    ladder: tuple[Any, ...] = (None,)
    ruler: Callable[[Fitted], float] | None = None
    least: float = np.inf  # on that ruler, where another way to the minimum is known


@dataclass
class Task:
    """Minimise the half deviance of `y` at X θ + intercept, plus the penalty of the prior on θ."""

    name: str
    noise: str
    prior: str
    X: Any
    y: np.ndarray
    scale: Any = 1.0  # of the prior; an array for a path
    exposure: np.ndarray | None = None
    wanted: float | None = None  # the least ratio rival / neglog that is good enough
    below: float | None = None  # milliseconds
    grams: float | None = None  # the largest multiple of one X'X
    gram: bool = False  # measure X'X beside the fits
    exact: bool = False  # neglog has to find the very minimum
    quantile: float = 0.5  # of the noises that predict one
    remarks: dict[str, str] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        """How the columns are stored."""
        if isinstance(self.X, pd.DataFrame):
            return "table"
        return "sparse" if sparse.issparse(self.X) else "dense"

    @property
    def path(self) -> bool:
        """Whether many strengths of the prior are asked for at once."""
        return np.ndim(self.scale) > 0

    @property
    def n(self) -> int:
        """Rows."""
        return self.X.shape[0]

    @cached_property
    def matrix(self):
        """The columns as numbers; sparse ones with short indices, which some rivals insist on."""
        if self.kind == "dense":
            return self.X
        X = data.indicators(self.X) if self.kind == "table" else self.X
        return sparse.csr_array((X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), shape=X.shape)

    @cached_property
    def columnwise(self):
        """The same numbers stored by columns."""
        return np.asfortranarray(self.X) if self.kind == "dense" else sparse.csc_array(self.matrix)

    @property
    def strength(self):
        """What multiplies |θ| (Laplace) or θ² / 2 (Gaussian) in the sum over all rows."""
        return 1 / np.asarray(self.scale) ** (2 if self.prior == "gaussian" else 1)

    @property
    def rates(self) -> tuple[np.ndarray, np.ndarray | None]:
        """Response and row weight for rivals that know no exposure: claims per year, weighted by years."""
        return (self.y, None) if self.exposure is None else (self.y / self.exposure, self.exposure)

    @property
    def mean_strength(self):
        """The strength for objectives that average over rows."""
        weight = self.rates[1]
        return self.strength / (self.n if weight is None else weight.sum())

    def objective(self, fitted: Fitted) -> np.ndarray:
        """The sum that is minimised; one number for each strength of the prior."""
        coef, intercept = np.asarray(fitted.coef), np.asarray(fitted.intercept)
        eta = self.matrix @ coef.T + intercept
        if self.noise == "categorical":
            loss = np.sum(special.logsumexp(eta, axis=1) - eta[np.arange(self.n), self.y])
            return np.atleast_1d(loss + self.penalty(coef.ravel()))
        y = self.y[:, None] if self.path else self.y
        if self.exposure is not None:
            eta += np.log(self.exposure)
        with np.errstate(over="ignore", invalid="ignore"):
            if self.noise == "quantile":
                losses = np.where(y < eta, self.quantile - 1, self.quantile) * (y - eta)
            else:
                losses = HALF_DEVIANCES[self.noise](y, eta)
            return np.atleast_1d(losses.sum(axis=0) + self.penalty(coef))

    def penalty(self, coef: np.ndarray):
        """-log p of the coefficients, without constants."""
        if self.prior == "flat":
            return 0.0
        size = np.abs(coef) if self.prior == "laplace" else coef**2 / 2
        return size.sum(axis=-1) * self.strength


def largest_strength(X, y: np.ndarray) -> float:
    """The strength of a Laplace prior from which on every coefficient is zero (canonical links)."""
    return float(np.max(np.abs(X.T @ (y - y.mean()))))
