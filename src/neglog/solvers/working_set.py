"""Lasso with more columns than a curvature matrix can hold: solve for a few columns, look at all, add what is
missing.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from neglog.engines.memory import Memory
from neglog.solvers.lasso import proximal_newton
from neglog.solvers.objective import Objective, Point, Solution
from neglog.solvers.penalty import Penalty
from neglog.typing import Numbers

FIRST = 64  # columns to begin with when nothing is known
TOLERANCE = 1e-7  # of the strength, by which a gradient may exceed it

MakeObjective = Callable[[Any, Penalty], Objective]
# The chosen columns as an engine, the others held at their kinks, and the places of its coefficients among all.
Restricted = Callable[[Numbers, Numbers], tuple[Any, Numbers]]


@dataclass
class Part:
    """The chosen columns with the objective restricted to them."""

    chosen: Numbers
    engine: Any
    inside: Numbers  # places of its coefficients among all
    matrix: Numbers | None = None  # curvature there, as last computed


class WorkingSet:
    """The state that is worth keeping from one strength to the next: the columns in use and their curvature."""

    def __init__(self, engine: Memory, make_objective: MakeObjective, restricted: Restricted) -> None:
        self.engine, self.make_objective, self.restricted = engine, make_objective, restricted
        self.part: Part | None = None

    def solve(
        self, penalty: Penalty, point: Point, tol: float, max_iter: int, likely: Numbers | None = None
    ) -> Solution:
        """The minimum over all columns from a point with its gradient; `likely` is a mask of columns to begin with."""
        full = self.make_objective(self.engine, penalty)
        held = penalty.strength > 0
        iterations = 0
        while True:
            fixed = ~held | (point.theta != penalty.kink)
            excess = np.where(held & ~fixed, np.abs(point.gradient) / np.where(held, penalty.strength, 1.0), 0.0)
            wanted = fixed | (excess > 1 + TOLERANCE)
            if not iterations and likely is not None:
                wanted |= likely
            if self.part is None or (wanted & ~self.part.chosen).any():
                self.part = self._chosen(wanted, fixed, excess, penalty.kink, keep=iterations > 0)
            elif iterations:
                break
            part = self.part
            small = proximal_newton(
                self.make_objective(part.engine, penalty.subset(part.inside)),
                point.theta[part.inside].copy(),
                tol,
                max(max_iter - iterations, 1),
                part.matrix,
            )
            part.matrix = small.matrix
            iterations += max(small.iterations, 1)
            theta = np.where(held, penalty.kink, point.theta)
            theta[part.inside] = small.point.theta
            point = full.at(theta, False)
            if not small.converged or not np.isfinite(point.value):
                return Solution(point, False, iterations, small.decrement)
        return Solution(point, True, iterations, small.decrement)

    def _chosen(self, wanted: Numbers, fixed: Numbers, excess: Numbers, kink: Numbers, keep: bool) -> Part:
        """The columns that are in use or violate most, and those of the last part if they are to be kept."""
        chosen = fixed.copy()
        if keep and self.part is not None:
            chosen |= self.part.chosen
        new = np.flatnonzero(wanted & ~chosen)
        room = max(FIRST, 2 * int(chosen.sum()))
        chosen[new[np.argsort(-excess[new], kind="stable")[:room]]] = True
        engine, inside = self.restricted(chosen, kink)
        everything = np.zeros(len(wanted), bool)
        everything[inside] = True
        return Part(everything, engine, inside)
