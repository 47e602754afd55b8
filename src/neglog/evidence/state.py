"""What a search of the evidence knows at one place: the priors, the fit, sums over the rows, and the covariance."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from neglog.likelihood.task import Answer
from neglog.solvers.penalty import Penalty
from neglog.typing import Numbers


@dataclass(frozen=True)
class Pulls:
    """The Gaussian priors: the precision of coefficient j is fixed_j + the sum over k of on_kj / scale_k^2."""

    fixed: Numbers
    on: Numbers  # (scales, width), in the core's order
    centre: Numbers

    def bend(self, log_scales: Numbers) -> Numbers:
        """The precisions."""
        return np.asarray(self.fixed + np.exp(-2 * log_scales) @ self.on)

    def penalty(self, log_scales: Numbers) -> Penalty:
        """The prior at these scales."""
        nothing = np.zeros(len(self.fixed))
        return Penalty(self.bend(log_scales), self.centre, nothing, nothing)


@dataclass(frozen=True)
class Covariance:
    """Of all coefficients, as one matrix."""

    matrix: Numbers

    def diagonal(self) -> Numbers:
        """The variances."""
        return np.asarray(self.matrix.diagonal())

    def times(self, rows: Numbers) -> Numbers:
        """Rows of numbers, one for each coefficient, times the matrix."""
        return np.asarray(rows @ self.matrix)

    def squared(self, rows: Numbers) -> Numbers:
        """Rows times the squares of its entries times the rows again."""
        return np.asarray(rows @ self.matrix**2 @ rows.T)


@dataclass
class Sums:
    """The fit at some u, and the nll there with its derivatives in the coefficients theta and in v."""

    answer: Answer
    nll: float
    slopes: Numbers  # in v
    curvature: Any  # in theta, without the prior
    border: Numbers  # in v and theta
    corner: Numbers  # in v

    @classmethod
    def of(cls, answer: Answer, nll: float, slopes: Numbers, joint: Numbers) -> "Sums":
        """From the second derivatives in (theta, v)."""
        n = len(answer.theta)
        return cls(answer, nll, slopes, joint[:n, :n], joint[n:, :n], joint[n:, n:])


@dataclass
class State:
    """The fit at some u, with its evidence."""

    u: Numbers
    sums: Sums
    bend: Numbers
    covariance: Any
    paces: Any  # how the minimum moves where its slopes change: the covariance, but for a curvature that jumps
    information: Any  # what takes the place of the curvature, where that jumps
    value: float  # the log evidence
    total: float  # of the weights of the rows
    gradient: Numbers | None = None  # of the nll in theta, where not all of theta is at its minimum
    of_some: bool = False  # of the rows

    @property
    def answer(self) -> Answer:
        """The fit."""
        return self.sums.answer

    def without_rows(self) -> "State":
        """What the rows said, without keeping them in memory."""
        return replace(self, sums=replace(self.sums, answer=replace(self.answer, engine=None)))  # type: ignore[arg-type]


def inverse_of(hessian: Numbers, basis: Numbers | None) -> tuple[Numbers, float] | None:
    """The inverse of a positive matrix, along the directions that mean something, and the log of its determinant; None
    if it is none.
    """
    inside = hessian if basis is None else basis.T @ hessian @ basis
    unit = 1 / np.sqrt(np.maximum(inside.diagonal(), 1e-300))
    try:
        factor = np.linalg.cholesky(inside * unit * unit[:, None])
    except np.linalg.LinAlgError:
        return None
    from scipy.linalg import solve_triangular

    root = solve_triangular(factor, np.diag(unit), lower=True, check_finite=False)
    root = root if basis is None else root @ basis.T
    return root.T @ root, 2 * float(np.sum(np.log(factor.diagonal())) - np.sum(np.log(unit)))
