"""Smooth objectives: Newton's method, and for many rows sample, curve, polish."""

import math
from collections import deque
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from neglog import _core
from neglog.solvers.objective import Objective, Point, Solution
from neglog.solvers.systems import Step, newton_step, threads_for
from neglog.typing import Numbers

ENOUGH = 1e-4  # of the decrease that the slope promises, for a step to be accepted
CAUTION = 10.0  # a guess at the next step is taken for this many times too good
FAINT = 1e-12  # slope along directions without curvature, at unit curvature of each coefficient, that is not rounding
FAR = (3e2, 3e5, 3e8)  # to go along such directions in the same units, until gradients change
LOST_BESIDE_ONE = 1e-8  # nats: what the objective may be off by where one row outweighs all others
CHANGE = 1e-13  # of a gradient, in the same units, that is not rounding
ROUNDING = 2e-15  # relative changes of the objective below this are noise


def newton(objective: Objective, theta: Numbers, tol: float, max_iter: int) -> Solution:
    """Newton's method with a line search. The last step is taken without looking: its error is of second order."""
    quick = objective.quick_newton(theta, tol, max_iter)
    if quick is not None and quick.converged:
        return quick
    point = objective.at(theta if quick is None or not math.isfinite(quick.point.value) else quick.point.theta, True)
    null: Numbers | None = None
    detour = False
    apart: bool | None = None  # not asked yet
    decrement = before = np.inf
    steps = 0 if quick is None else min(quick.iterations, max_iter)
    for _ in range(2 * max_iter + 2):
        if not math.isfinite(point.value):
            return Solution(point, False, steps, np.inf)
        assert point.hessian is not None
        step = newton_step(point.hessian, point.gradient)
        astray = not step.definite or step.leak > 1e-6 * (1 + step.decrement)
        if step.null is not None and step.leak > FAINT and not (astray and not objective.expected):
            apart = objective.tells_columns_apart() if apart is None else apart
            step = _along_faint(objective, point, step) if apart else step
        if astray and not objective.expected:
            # far from the optimum, or where the loss has no curvature, the information is the better guide
            observed = point.hessian
            objective.settle(expected=True)
            detour = not objective.steady  # for this step only: the next rows may be on the curved part again
            point = objective.at(point.theta, True)
            if detour:
                assert point.hessian is not None
                point.hessian = observed + objective.borrowed * point.hessian
            continue
        if not steps or not objective.steady:
            # later a curvature that vanishes is the likelihood's doing, not the columns'
            null = step.null
        before, decrement = decrement, step.decrement
        rounding = 0.5 * decrement**2 <= ROUNDING * objective.summed(point) and decrement > 0.5 * before
        left = decrement
        if objective.plain and math.isfinite(before):
            # near the optimum each step squares the distance, in a unit that the last two steps tell
            left *= min(CAUTION * (decrement / before) ** 2, 1.0)
        if (left <= tol or rounding) and step.leak <= max(tol, 1e-6):
            end = objective.after(point, step.x, 0.5 * decrement**2)
            return Solution(end, True, steps, left, null, step.pivot)
        if steps == max_iter or max(decrement, before) <= tol:  # all that is left is a slope that no step follows
            break
        far = detour
        if detour:
            objective.expected = detour = False
        elif objective.expected and decrement < 0.5 and objective.settle(expected=False):
            point = objective.at(point.theta, True)
            continue
        following = line_search(lambda t: objective.at(t, True), point, step.x, decrement, objective.lost(point))
        if following is None or np.array_equal(following.theta, point.theta):
            # a step whose gain drowns in rounding errors is still the right one: it is made of slopes, not of that gain
            lost = max(objective.lost(point), LOST_BESIDE_ONE if apart else 0.0)
            arrived = 0.5 * decrement**2 <= lost and step.leak <= max(tol, 1e-6)
            end = objective.after(point, step.x, 0.5 * decrement**2) if arrived else point
            return Solution(end, arrived, steps, decrement, null, step.pivot, stuck=not arrived)
        point = farther(lambda t: objective.at(t, True), objective, point, following, step.x) if far else following
        steps += 1
    return Solution(point, False, steps, decrement, null)


def _along_faint(objective: Objective, point: Point, step: Step) -> Step:
    """The step with directions whose curvature looked like rounding, but whose slope does not: where one row outweighs
    all others, what these say is lost in the sum of squares. Differences of the gradient, which is linear in the rows,
    still show it.
    """
    null = step.null
    assert null is not None
    found = replace(step, null=None)
    for far in FAR:
        changes = [objective.at(point.theta + far * direction, False).gradient - point.gradient for direction in null.T]
        inside = null.T @ np.column_stack(changes) / far
        if not np.isfinite(inside).all():
            break
        values, vectors = np.linalg.eigh(0.5 * (inside + inside.T))
        slopes, known = vectors.T @ (null.T @ point.gradient), values > CHANGE / far
        if known.any():
            squared = step.decrement**2 + float(np.sum(slopes[known] ** 2 / values[known]))
            x = step.x - null @ (vectors[:, known] @ (slopes[known] / values[known]))
            leak = float(np.linalg.norm(slopes[~known]))
            found = replace(step, x=x, decrement=squared**0.5, null=None, leak=leak)
        if known.all():
            break
    return found


def farther(
    evaluate: Callable[[Numbers], Point], objective: Objective, point: Point, following: Point, step: Numbers
) -> Point:
    """A step that was safe because it was short, made longer for as long as that gains. How far it goes says how much
    of the guide the next one needs.
    """
    for _ in range(60):
        beyond = evaluate(point.theta + 3 * (following.theta - point.theta))
        if not beyond.value < following.value - ROUNDING * abs(following.value):
            break
        following = beyond
    length = float(np.linalg.norm(following.theta - point.theta))
    objective.borrow(length / max(float(np.linalg.norm(step)), 1e-300))
    return following


def line_search(
    evaluate: Callable[[Numbers], Point], point: Point, direction: Numbers, decrement: float, lost: float
) -> Point | None:
    """The first of ever shorter steps that lowers the objective enough; None if there is none.

    `decrement` squared is minus the slope along the direction. Where the mean leaves its domain the objective is
    infinite or no number, and the step is cut short. `lost` is what sums over the rows may be off by: a step that
    promises less is taken for what its slope says, unless the objective rises by more, and no shorter one is tried.
    """
    slope = -(decrement**2)
    length = 1.0
    slack = ROUNDING * abs(point.value)
    for _ in range(60):
        following = evaluate(point.theta + length * direction)
        if following.value <= point.value + ENOUGH * length * slope + slack:
            return following
        if math.isfinite(following.value):
            if -length * slope <= lost:
                return following if following.value <= point.value + lost else None
            excess = following.value - point.value - length * slope
            length *= min(max(-0.5 * length * slope / excess, 0.1), 0.5)
        else:
            length *= 0.25
    return None


class Metric:
    """An approximate inverse of the curvature: a factorised matrix, improved by the changes of gradient seen since
    (L-BFGS).
    """

    def __init__(self, matrix: Numbers, memory: int = 10) -> None:
        self.factor = _core.Factor(matrix, len(matrix), threads_for(len(matrix)))
        self.diagonal = matrix.diagonal()
        self.pairs: deque[tuple[Numbers, Numbers, float]] = deque(maxlen=memory)

    def _solve(self, gradient: Numbers) -> Numbers:
        if not self.factor.smallest_pivot > 0:  # downhill at least
            return np.where(self.diagonal > 0, gradient / self.diagonal, 0.0)
        x = np.empty(len(gradient))
        self.factor.solve(gradient, x)
        return x

    def direction(self, gradient: Numbers) -> Numbers:
        """Minus the metric times the gradient."""
        q = -gradient
        coefficients = []
        for moved, changed, inverse in reversed(self.pairs):
            coefficients.append(inverse * (moved @ q))
            q = q - coefficients[-1] * changed
        q = self._solve(q)
        for (moved, changed, inverse), a in zip(self.pairs, reversed(coefficients), strict=True):
            q = q + (a - inverse * (changed @ q)) * moved
        return q

    def learn(self, moved: Numbers, changed: Numbers) -> None:
        """Take in that the gradient changed by `changed` along `moved`."""
        product = float(moved @ changed)
        if product > 1e-14 * float(np.linalg.norm(moved) * np.linalg.norm(changed)):
            self.pairs.append((moved, changed, 1 / product))


def with_own_curvature(objective: Objective, theta: Numbers, matrix: Numbers, tol: float, max_iter: int) -> Solution:
    """In few passes, where those cost more than second derivatives: the first step by a borrowed curvature, the next by
    that of all rows, which is then good enough for the rest.
    """
    point = objective.at(theta, False)
    direction = Metric(matrix).direction(point.gradient)
    squared = -float(direction @ point.gradient)
    if not (np.isfinite(point.value) and squared > 0):
        return Solution(point, False, 0, np.inf)
    following = line_search(lambda t: objective.at(t, True), point, direction, squared**0.5, objective.lost(point))
    if following is None or following.hessian is None:
        return Solution(point, False, 0, squared**0.5, stuck=True)
    step = newton_step(following.hessian, following.gradient)
    if step.null is not None or not step.definite:
        return Solution(following, False, 1, squared**0.5)
    rest = polish(objective, following.theta, following.hessian, tol, max_iter - 1, following)
    rest.iterations += 1
    return rest


def polish(
    objective: Objective, theta: Numbers, matrix: Numbers, tol: float, max_iter: int, known: Point | None = None
) -> Solution:
    """From a good start with a good metric: passes that need the gradient only. Gives up early when they gain
    little. What the objective is at theta may be known already.
    """
    metric = Metric(matrix)
    point = objective.at(theta, False) if known is None else known
    decrements: list[float] = []
    for iteration in range(max_iter + 1):
        direction = metric.direction(point.gradient)
        squared = -float(direction @ point.gradient)
        decrements.append(squared**0.5 if squared > 0 else 0.0)
        if not np.isfinite(point.value):
            return Solution(point, False, iteration, np.inf)
        left = decrements[-1]
        if objective.plain and iteration and left < 0.2 * decrements[-2]:
            left *= left / decrements[-2]  # this step gains at least as much as the one before it
        if left <= tol:
            return Solution(objective.after(point, direction, 0.5 * squared), True, iteration, left)
        slow = len(decrements) > 4 and decrements[-1] > 0.3 * decrements[-4]
        if iteration == max_iter or slow:
            break
        following = line_search(
            lambda t: objective.at(t, False), point, direction, decrements[-1], objective.lost(point)
        )
        if following is None:
            arrived = 0.5 * squared <= objective.lost(point)
            end = objective.after(point, direction, 0.5 * squared) if arrived else point
            return Solution(end, arrived, iteration, decrements[-1], stuck=not arrived)
        metric.learn(following.theta - point.theta, following.gradient - point.gradient)
        point = following
    return Solution(point, False, iteration, decrements[-1])
