"""Newton's linear systems, also where they are singular."""

from dataclasses import dataclass

import numpy as np

from neglog import _core
from neglog.distributions.arrays import available_threads
from neglog.typing import Numbers

SMALL = 256  # up to here one thread is as fast as several
SINGULAR = 1e-11  # a pivot of the matrix with unit diagonal below this counts as zero


@dataclass(frozen=True)
class Step:
    """The solution of matrix * x = -gradient, its decrement sqrt(x' matrix x), and what the matrix leaves open."""

    x: Numbers
    decrement: float
    null: Numbers | None = None  # columns span the null space, if there is one
    pivot: float = 0.0  # smallest of the matrix at unit diagonal
    definite: bool = True  # False: the matrix has directions of negative curvature
    leak: float = 0.0  # slope along the null space, where the gradient says to go but the matrix not how far


def newton_step(matrix: Numbers, gradient: Numbers) -> Step:
    """Newton's step; in the directions the matrix says nothing about, no step."""
    x = np.empty(len(gradient))
    pivot = _core.solve_positive(matrix, gradient, x, threads_for(len(x)))
    if pivot > SINGULAR:
        squared = float(x @ gradient)
        return Step(-x, squared**0.5 if squared > 0 else 0.0, None, pivot)
    return _singular_step(matrix, gradient)


def smallest_pivot(matrix: Numbers) -> float:
    """Of the matrix at unit diagonal; 0 or below if it is not positive."""
    return _core.Factor(matrix, len(matrix), threads_for(len(matrix))).smallest_pivot


def threads_for(size: int) -> int:
    """Threads for a system of this many unknowns."""
    return 1 if size <= SMALL else available_threads()


def _singular_step(matrix: Numbers, gradient: Numbers) -> Step:
    diagonal = matrix.diagonal().copy()
    if not np.all(np.isfinite(matrix)):
        return Step(np.full(len(gradient), np.nan), np.nan)
    scale = 1 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    values, vectors = np.linalg.eigh(matrix * scale * scale[:, None])
    threshold = SINGULAR * max(1.0, values[-1])
    kept = values > threshold
    along = vectors[:, kept].T @ (scale * gradient)
    x = -scale * (vectors[:, kept] @ (along / values[kept]))
    null = scale[:, None] * vectors[:, np.abs(values) <= threshold]
    squared = float(-(x @ gradient))
    decrement = squared**0.5 if squared > 0 else 0.0
    leak = float(np.linalg.norm(null.T @ gradient))
    return Step(x, decrement, null if null.shape[1] else None, 0.0, bool(values[0] >= -threshold), leak)


def minimum_norm(theta: Numbers, null: Numbers, counted: Numbers) -> Numbers:
    """The point of theta + span(null) whose `counted` coordinates have the least norm."""
    return theta - null @ np.linalg.lstsq(null[counted], theta[counted], rcond=None)[0]
