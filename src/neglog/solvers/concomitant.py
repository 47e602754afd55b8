"""Huber's loss with its scale: coefficients and scale in one convex problem.

With tau = 1 / scale and b = theta / scale the loss of a row is rho(tau (y - offset) - x b) - log tau, convex in (b,
tau): y is one more column, with coefficient -tau.
"""

from dataclasses import replace

import numpy as np

from neglog.engines.memory import Memory
from neglog.solvers.objective import Objective, Point
from neglog.solvers.penalty import Penalty
from neglog.typing import Numbers


class ConcomitantObjective(Objective):
    """The objective in (b, -tau); `place` is that of -tau among the coefficients."""

    plain = steady = False  # curvature jumps where a residual passes the threshold

    def __init__(self, engine: Memory, penalty: Penalty, rows: float, place: int, factor: float = 1.0) -> None:
        self.engine, self.penalty, self.rows, self.place, self.factor = engine, penalty, rows, place, factor
        self.expected = self.tried_curvature = False

    def quick_newton(self, theta: Numbers, tol: float, max_iter: int) -> None:
        """The engine knows nothing of tau."""

    def tells_columns_apart(self) -> bool:
        """Not asked: y is one of the columns, and is told by the others where a fit is perfect."""
        return False

    def after(self, point: Point, step: Numbers, gain: float) -> Point:
        """The scale is a coefficient like the others."""
        return replace(point, theta=point.theta + step, value=point.value - gain)

    def at(self, theta: Numbers, curvature: bool) -> Point:
        """One pass over the rows."""
        r, tau = self.place, -theta[self.place]
        if not tau > 0:
            return Point(theta, np.inf, theta, None, np.nan)
        value, gradient, hessian = self.engine.evaluate(theta, curvature, self.expected)
        value, gradient = self.factor * value, self.factor * gradient
        u = theta / tau
        u[r] = 0.0
        extra, pull = self.penalty.quadratic(u)  # pull = d penalty / du, zero for the response
        rows = self.factor * self.rows
        value += extra - rows * np.log(tau)
        gradient += pull / tau
        gradient[r] += rows / tau + float(pull @ u) / tau  # in -tau
        if hessian is not None:
            hessian *= self.factor
            bend = self.penalty.bend
            hessian[np.diag_indices(len(u))] += bend / tau**2
            cross = (bend * u + pull) / tau**2
            cross[r] = 0.0
            hessian[r] += cross
            hessian[:, r] += cross
            hessian[r, r] += rows / tau**2 + float(u @ (bend * u + 2 * pull)) / tau**2
        return Point(theta, value, gradient, hessian, 1 / tau**2)
