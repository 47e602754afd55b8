"""Lasso with more columns than a curvature matrix can hold: solve for a few columns, look at all, add what is missing."""

from collections.abc import Callable

import numpy as np

from neglog.distributions.arrays import Array
from neglog.engines.memory import Memory
from neglog.solvers.lasso import proximal_newton
from neglog.solvers.newton import Solution
from neglog.solvers.objective import Objective, Point
from neglog.solvers.penalty import Penalty

FIRST = 64  # columns to begin with when nothing is known


def working_set_lasso(
    engine: Memory,
    penalty: Penalty,
    make_objective: Callable[[Memory, Penalty], Objective],
    theta: Array,
    tol: float,
    max_iter: int,
) -> Solution:
    """The minimum over all columns; `theta` is a start in the core's order, mostly at its kinks."""
    full = make_objective(engine, penalty)
    point = full.at(theta, False)
    chosen = np.zeros(engine.width, bool)
    iterations = 0
    while True:
        away = penalty.strength > 0
        fixed = ~away | (point.theta != penalty.kink)
        excess = np.where(away & ~fixed, np.abs(point.gradient) / np.where(away, penalty.strength, 1.0), 0.0)
        violators = np.flatnonzero(~chosen & (fixed | (excess > 1 + 1e-7)))
        if not len(violators):
            break
        room = max(FIRST, int(chosen.sum()))
        best = violators[np.argsort(-np.where(fixed[violators], np.inf, excess[violators]), kind="stable")[:room]]
        chosen[best] = True
        chosen |= fixed
        part, inside = engine.subset(chosen)
        small = proximal_newton(
            make_objective(part, penalty.subset(inside)), point.theta[inside].copy(), tol, max_iter - iterations
        )
        iterations += small.iterations
        moved = penalty.kink * away + np.where(away, 0.0, point.theta)
        moved[inside] = small.point.theta
        point = full.at(moved, False)
        if not small.converged:
            return Solution(point, False, iterations, small.decrement)
    return Solution(Point(point.theta, point.value, point.gradient, None, point.dispersion), True, iterations, tol)
