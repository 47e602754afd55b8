"""The lasso over very many sparse columns: proximal Newton steps on those that may move, found column by column.

A Gram matrix of thousands of sparse columns is mostly zeros; coordinate descent that keeps the predictions needs none.
"""

import numpy as np

from neglog.engines.columns import Columns, Model
from neglog.solvers.newton import ENOUGH, ROUNDING
from neglog.solvers.objective import Point, Solution
from neglog.solvers.penalty import Penalty
from neglog.typing import Numbers

TOLERANCE = 1e-7  # of the strength, by which a gradient may exceed it


class SparseLasso:
    """The objective loss / dispersion + penalty; the first coefficient is the intercept, if there is one."""

    def __init__(self, columns: Columns, penalty: Penalty, dispersion: float) -> None:
        self.columns, self.penalty, self.phi = columns, penalty, dispersion
        self.first = int(columns.engine.intercept)

    def solve(self, theta: Numbers, tol: float, max_iter: int) -> Solution:
        """Columns that violate their bound join those in use, until none is left."""
        penalty, first = self.penalty, self.first
        theta = theta.copy()
        self.eta = self.columns.predict(float(theta[0]) if first else 0.0, theta[first:])
        self._look(theta)
        chosen = np.zeros(len(theta) - first, bool)
        iterations, decrement = 0, np.inf
        while True:
            gradient = self._gradient(theta)
            if not np.isfinite(gradient).all():
                return self._end(theta, gradient, False, iterations, np.inf)
            held = penalty.strength[first:] > 0
            fixed = ~held | (theta[first:] != penalty.kink[first:])
            wanted = fixed | (np.abs(gradient) > penalty.strength[first:] * (1 + TOLERANCE))
            if iterations and not (wanted & ~chosen).any():
                return self._end(theta, gradient, True, iterations, decrement)
            chosen |= wanted
            converged = False
            while iterations < max_iter and not converged:
                before, decrement = decrement, self._step(theta, np.flatnonzero(chosen), tol)
                iterations += 1
                rounding = 0.5 * decrement**2 <= ROUNDING * abs(self.value) and decrement > 0.5 * before
                converged = decrement <= tol or rounding
                if not np.isfinite(decrement):
                    break
            if not converged:
                return self._end(theta, gradient, False, iterations, decrement)

    def _end(self, theta: Numbers, gradient: Numbers, converged: bool, iterations: int, decrement: float) -> Solution:
        point = Point(theta, self.value, np.append(np.full(self.first, self.slope0), gradient), None, self.phi)
        return Solution(point, converged, iterations, decrement)

    def _look(self, theta: Numbers) -> None:
        """Value and derivatives of the rows at the present predictions."""
        loss, gradient, hessian = self.columns.losses(self.eta)
        self.rows, self.weight = gradient / self.phi, hessian / self.phi
        self.value = loss / self.phi + self.penalty.quadratic(theta)[0] + self.penalty.absolute(theta)
        self.slope0 = float(self.rows.sum())

    def _gradient(self, theta: Numbers, chosen: Numbers | None = None) -> Numbers:
        """Of the smooth part, for the chosen columns or all."""
        pull = self.penalty.quadratic(theta)[1][self.first :]
        return self.columns.products(self.rows, chosen) + (pull if chosen is None else pull[chosen])

    def _step(self, theta: Numbers, chosen: Numbers, tol: float) -> float:
        """One Newton step with a line search, theta in place; returns the decrement, infinite where no step helps."""
        first, penalty = self.first, self.penalty
        places = chosen + first
        slope = self._gradient(theta, chosen)
        model = Model(self.weight, slope, penalty.bend[places], penalty.strength[places], penalty.kink[places])
        x = theta[places]
        gain, step0, change = self.columns.descend(chosen, model, self.slope0 if first else None, 1e-3 * tol**2, x)
        if not np.isfinite(gain):
            return np.inf
        start, eta, value = theta[places].copy(), self.eta, self.value
        intercept = float(theta[0]) if first else 0.0
        length = 1.0
        for _ in range(40):
            theta[places] = x if length == 1.0 else start + length * (x - start)
            if first:
                theta[0] = intercept + length * step0
            self.eta = eta + length * change
            self._look(theta)
            if self.value <= value - ENOUGH * length * gain + ROUNDING * abs(value):
                return float((2 * max(gain, 0.0)) ** 0.5)
            length *= 0.5
        theta[places], self.eta = start, eta
        if first:
            theta[0] = intercept
        self._look(theta)
        return np.inf
