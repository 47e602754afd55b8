"""Minima at the edge of a domain: the logarithm of the distance keeps the search inside, and counts less and less.

At strength s the minimum of objective - s * (sum of log distances) is no more than s times the number of distances
above the minimum sought, if that is convex (Fiacco and McCormick 1968).
"""

from dataclasses import dataclass

import numpy as np

from neglog.solvers.lasso import proximal_newton
from neglog.solvers.newton import newton
from neglog.solvers.objective import Engine, Objective, Point, Solution
from neglog.typing import Numbers

FIRST, LEAST = 0.1, 1e-11  # strengths
WEAKER = 0.1  # each beside the one before
STEPS = 50  # at each


@dataclass(frozen=True)
class Wall:
    """The sum of -log distance over rows, as a loss of sign * theta."""

    engine: Engine
    sign: float


class WalledObjective(Objective):
    """An objective with walls of some strength."""

    plain = False

    def __init__(self, inner: Objective, walls: list[Wall], strength: float) -> None:
        self.__dict__.update(inner.__dict__)
        self.inner, self.walls, self.strength = inner, walls, strength

    def quick_newton(self, theta: Numbers, tol: float, max_iter: int) -> None:
        """The engine knows nothing of the walls."""

    def after(self, point: Point, step: Numbers, gain: float) -> Point:
        """The point after a last step, unless that leaves the domain."""
        end = self.at(point.theta + step, False)
        return end if np.isfinite(end.value) else point

    def at(self, theta: Numbers, curvature: bool) -> Point:
        """One pass over the rows, and one for each wall."""
        self.inner.expected = self.expected
        point = self.inner.at(theta, curvature)
        if not np.isfinite(point.value):
            return point
        for wall in self.walls:
            value, gradient, gram = wall.engine.evaluate(wall.sign * theta, curvature)
            point.value += self.strength * value
            point.gradient = point.gradient + self.strength * wall.sign * gradient
            if point.hessian is not None and gram is not None:
                point.hessian += self.strength * gram
        if not np.isfinite(point.value):
            point.value = np.inf
        return point


def between_walls(objective: Objective, walls: list[Wall], rows: int, theta: Numbers, tol: float) -> Solution:
    """The minimum inside the walls, from a theta inside them."""
    solve = newton if objective.penalty.smooth else proximal_newton
    strength, steps = FIRST, 0
    least = max(0.5 * tol**2 / max(rows * len(walls), 1), LEAST)
    while True:
        walled = WalledObjective(objective, walls, strength)
        last = strength <= 1.01 * least
        near = 0.3 * strength**0.5  # of the distance at which the walls bend: the last step stays between them
        solution = solve(walled, theta, min(tol, near) if last else near, STEPS)
        steps += solution.iterations
        theta = solution.point.theta
        if last or not np.isfinite(solution.point.value):
            break
        strength = max(strength * WEAKER, least)
    solution.point = objective.at(theta, False)
    solution.iterations = steps
    return solution
