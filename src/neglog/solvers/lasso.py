"""Objectives with absolute terms: proximal Newton steps, each found by coordinate descent on the curvature matrix."""

from dataclasses import replace

import numpy as np

from neglog import _core
from neglog.solvers.newton import ROUNDING, farther, line_search
from neglog.solvers.objective import NEARLY_SINGULAR, Objective, Point, Solution
from neglog.solvers.penalty import Penalty
from neglog.solvers.systems import smallest_pivot
from neglog.typing import Numbers

SWEEPS = 20_000  # after which a step is as good as it gets
LEAST_GAIN = 1e-28  # of the objective: sweeps that gain less move coefficients by rounding errors
STALLED = 1e-9  # nats that a step promises, when the one before it promised as much and did not keep it
NEAR = 0.5  # standard deviations from the optimum, where the curvature is a better guide than the information
WORTHWHILE = 0.3  # of the decrement: a step that leaves more calls for a new curvature matrix


def proximal_newton(
    objective: Objective,
    theta: Numbers,
    tol: float,
    max_iter: int,
    matrix: Numbers | None = None,
    guess: Point | None = None,
) -> Solution:
    """From theta. A curvature matrix, given or computed, is used for as long as it gains enough: a gradient costs less.

    `guess` is what the objective at theta is thought to be, which saves the first pass; it is never what is returned.
    """
    penalty = objective.penalty
    point = objective.at(theta, matrix is None) if guess is None or matrix is None else guess
    guessed = point is guess
    fresh = matrix is None
    guide: Numbers | None = None
    decrement, before = np.inf, np.inf
    steps = 0
    while np.isfinite(point.value):
        if fresh:
            matrix = point.hessian
        assert matrix is not None
        target, gain, exact = model_minimum(matrix, point, penalty, tol, before)
        if not np.isfinite(gain):  # a curvature that is no number, as at the edge of a domain
            return Solution(point, False, steps, decrement, stuck=True, matrix=matrix)
        before, decrement = decrement, (2 * gain) ** 0.5 if gain > 0 else 0.0
        # sums of squares from a Gram matrix have lost digits that their value does not show: steps stop gaining earlier
        rounding = fresh and gain <= max(ROUNDING * objective.summed(point), STALLED) and decrement > 0.5 * before
        small = decrement <= tol and exact
        if small and _falls_for_ever(matrix, point, penalty):
            return Solution(point, False, steps, np.inf, stuck=True, matrix=matrix)
        if guessed and small:
            point, guessed = objective.at(point.theta, False), False
            continue
        if small or rounding:
            return Solution(_after(objective, point, target, gain, matrix), True, steps, decrement, matrix=matrix)
        if steps == max_iter:
            break
        if objective.expected and guide is None and decrement < NEAR:
            guide = matrix
            point, fresh, guessed = _curved(objective, point.theta, guide), True, False
            continue
        if not fresh and decrement > WORTHWHILE * before:
            point, fresh = _curved(objective, point.theta, guide), True
            continue
        step = target - point.theta
        slope = float(point.gradient @ step) + penalty.absolute_change(point.theta, target)
        decline = max(-slope, 0.0) ** 0.5
        following = line_search(lambda t: objective.at(t, False), point, step, decline, objective.lost(point))
        if following is None and fresh:
            arrived = gain <= objective.lost(point)
            end = _after(objective, point, target, gain, matrix) if arrived else point
            return Solution(end, arrived, steps, decrement, stuck=not arrived, matrix=matrix)
        if following is None:
            point, fresh, guessed = _curved(objective, point.theta, guide), True, False
            continue
        if objective.filled:
            following = farther(lambda t: objective.at(t, False), objective, point, following, step)
        point, fresh, guessed = following, False, False
        steps += 1
    return Solution(point, False, steps, decrement, matrix=matrix)


def _falls_for_ever(matrix: Numbers, point: Point, penalty: Penalty) -> bool:
    """Whether something that no prior holds has a slope but no curvature: the model then has no minimum to go to."""
    straight = (matrix.diagonal() <= 0) & (penalty.strength == 0) & (penalty.bend == 0)
    return bool(np.any(straight & (np.abs(point.gradient) > STALLED * (1 + abs(point.value)))))


def _curved(objective: Objective, theta: Numbers, guide: Numbers | None) -> Point:
    """With second derivatives; where `guide`, an information matrix from nearby, is given, with those of the loss among
    the coefficients that are away from their kinks, and the guide for the others.

    Near an optimum steps by the information alone only creep. But what coefficients at a kink would do to each other
    need not be convex, nor matters as long as they stay: should one leave, the next matrix knows.
    """
    if guide is None:
        return objective.at(theta, True)
    objective.expected = False
    point = objective.at(theta, True)
    objective.expected = True
    if point.hessian is None:
        return point
    held = (objective.penalty.strength > 0) & (theta == objective.penalty.kink)
    within = ~(held | held[:, None])
    mixed = np.where(within, point.hessian, np.where(held & held[:, None], guide, 0.0))
    return replace(point, hessian=mixed) if smallest_pivot(mixed) > NEARLY_SINGULAR else objective.at(theta, True)


def _after(objective: Objective, point: Point, target: Numbers, gain: float, matrix: Numbers) -> Point:
    """The point at the end of a last step, without a pass over the rows: its gradient to first order, as theta is to
    second.
    """
    step = target - point.theta
    end = objective.after(point, step, gain)
    if end is point:
        return end
    end.theta, end.gradient = target, point.gradient + matrix @ step
    return end


def model_minimum(
    curvature: Numbers, point: Point, penalty: Penalty, tol: float, expected: float
) -> tuple[Numbers, float, bool]:
    """Where the quadratic model of the smooth part plus the absolute terms is least, by how much that is lower, and
    whether it is all that there is to gain.

    As exact as the decrement needs it to be: first to a part of what was `expected`, then to a part of what was found.
    """
    least = max(1e-3 * tol**2, LEAST_GAIN * (1 + abs(point.value)))
    tolerance = max(least, 1e-3 * min(expected, 1e3) ** 2)
    x, slope = point.theta.copy(), point.gradient
    while True:
        sweeps = _core.coordinate_descent(curvature, slope, penalty.strength, penalty.kink, tolerance, SWEEPS, x)
        step = x - point.theta
        bent = curvature @ step
        gain = -float(step @ (point.gradient + 0.5 * bent)) - penalty.absolute_change(point.theta, x)
        if tolerance <= max(least, 0.01 * gain) or sweeps >= SWEEPS:
            return x, gain, sweeps < SWEEPS
        tolerance, slope = max(least, 1e-3 * gain), point.gradient + bent
