"""Objectives with absolute terms: proximal Newton steps, each found by coordinate descent on the curvature matrix."""

from dataclasses import replace

import numpy as np

from neglog import _core
from neglog.distributions.arrays import Numbers
from neglog.solvers.newton import ROUNDING, line_search
from neglog.solvers.objective import Objective, Point, Solution

SWEEPS = 100_000


def proximal_newton(
    objective: Objective, theta: Numbers, tol: float, max_iter: int, matrix: Numbers | None = None
) -> Solution:
    """From theta, with `matrix` in place of the curvature as long as that gains enough, else with the curvature
    itself.
    """
    penalty = objective.penalty
    point = objective.at(theta, matrix is None)
    decrement, before = np.inf, np.inf
    for iteration in range(max_iter + 1):
        curvature = matrix if point.hessian is None else point.hessian
        assert curvature is not None
        if not np.isfinite(point.value):
            return Solution(point, False, iteration, np.inf)
        target = model_minimum(curvature, point, penalty.strength, penalty.kink, tol)
        step = target - point.theta
        slope = float(point.gradient @ step) + penalty.absolute(target) - penalty.absolute(point.theta)
        gain = -slope - 0.5 * float(step @ curvature @ step)
        before, decrement = decrement, (2 * gain) ** 0.5 if gain > 0 else 0.0
        rounding = gain <= ROUNDING * abs(point.value) and decrement > 0.5 * before
        if decrement <= tol or rounding:
            end = replace(point, theta=target, value=point.value - gain)
            return Solution(end, True, iteration, decrement, matrix=curvature)
        if iteration == max_iter:
            break
        if matrix is not None and point.hessian is None and decrement > 0.3 * before:
            matrix = None  # the borrowed curvature no longer pays
            point = objective.at(point.theta, True)
            continue
        wanted = matrix is None
        following = line_search(lambda t: objective.at(t, wanted), point, step, max(-slope, 0.0) ** 0.5)  # noqa: B023
        if following is None:
            return Solution(point, False, iteration, decrement, stuck=True)
        point = following
    return Solution(point, False, max_iter, decrement, matrix=curvature)


def model_minimum(curvature: Numbers, point: Point, strength: Numbers, kink: Numbers, tol: float) -> Numbers:
    """Where the quadratic model of the smooth part plus the absolute terms is least."""
    x = point.theta.copy()
    _core.coordinate_descent(curvature, point.gradient, strength, kink, 1e-3 * tol**2, SWEEPS, x)
    return x
