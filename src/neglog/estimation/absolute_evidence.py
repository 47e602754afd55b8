"""The evidence of a Gaussian prior's scale under Laplace noise, symmetric or not, one exact fit for each scale that is
tried.

The coefficients depend on the scale s of the prior and b of the noise through the ridge q = b / s^2 alone. So q is
searched: at each, b follows from the residuals and s from both, where otherwise b and the coefficients would be fitted
in turn at every s. The information of the rows is that of one matrix over b^2, whose eigenvalues are found once.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from neglog.estimation.absolute import EngineRows, counted_rows, proven_constant
from neglog.estimation.scale_search import Evidence
from neglog.likelihood.joint import Joint
from neglog.likelihood.task import Answer, Task
from neglog.solvers.absolute import least_absolute
from neglog.solvers.penalty import Penalty
from neglog.typing import Numbers


class AbsoluteEvidence:
    """Fits at one ridge after another, each from the last; `unit` is the size of each coefficient's column, 0 for the
    intercept, in the core's order.
    """

    def __init__(self, task: Task, unit: Numbers, centre: Numbers) -> None:
        self.task, self.unit, self.centre = task, unit, centre
        self.data = EngineRows(counted_rows(task.engine), task.target.noise.kink_slopes)
        self.total = task.target.total()
        self.theta: Numbers | None = None
        self.basis: Any = None
        spread = self.data.loss(self.data.y - self.data.middle())
        self.noise_scale = task.target.dispersion().profile(spread).dispersion or 1.0
        self.values = self._eigenvalues()

    @property
    def constant(self) -> bool:
        """Whether no prior, however weak, lets a coefficient move."""
        nothing = np.zeros(len(self.unit))
        return proven_constant(self.data, Penalty(nothing, self.centre, nothing, nothing)) is not None

    def _eigenvalues(self) -> Numbers:
        """Of the information about the coefficients of unit-variance columns at b = 1, the intercept taken out."""
        task, width = self.task, len(self.unit)
        target = task.target
        at_one = replace(task, target=target.with_noise(target.noise.estimated(scale=1.0)), penalty=Penalty.none(width))
        theta = np.zeros(width)
        joint = Joint(at_one, Answer(theta, at_one.target.noise, True, 0, 0.0, task.engine, at_one.penalty))
        matrix = joint.objective(at_one.target).at(theta, True).hessian
        assert matrix is not None
        if task.engine.intercept:
            matrix = matrix[1:, 1:] - np.outer(matrix[0, 1:], matrix[0, 1:]) / matrix[0, 0]
        unit = self.unit[self.unit > 0]
        return np.asarray(np.maximum(np.linalg.eigvalsh(matrix / unit / unit[:, None]), 0.0))

    def range_of(self, low: float, high: float) -> tuple[float, float]:
        """Places between which s is from low to high standard errors, as `Evidence.place` counts."""
        if not self.values[-1] > 0:
            raise ValueError("the scale of a prior cannot be learned where the data say nothing; state it")
        least = np.log(self.noise_scale / self.values[-1] ** 0.5) - 0.5 * np.log(self.noise_scale)
        return float(least + np.log(low)), float(least + np.log(high))

    def at(self, place: float) -> Evidence:
        """At q = exp(-2 place)."""
        q = float(np.exp(-2 * place))
        ridge = q * self.unit**2, self.centre
        close = self.theta is not None
        slopes = self.data.slopes
        solution = least_absolute(
            self.data, None, None, ridge, self.theta, slopes=slopes, close=close, basis=self.basis
        )
        theta, self.basis = solution.theta, solution.basis
        self.theta = theta
        loss = self.data.loss(self.data.residuals(theta))
        noise = self.task.target.filled(self.task.target.dispersion().profile(loss).dispersion)
        b = self.noise_scale = noise.scale
        per_square = q / b  # 1 / s^2
        squares = float(np.sum((self.unit * (theta - self.centre)) ** 2))
        spread = self.values / b**2 + per_square
        value = -self.total * np.log(b) - loss / b - 0.5 * squares * per_square
        value += 0.5 * len(self.values) * np.log(per_square) - 0.5 * np.sum(np.log(spread))
        if self.task.engine.intercept:
            value += np.log(b)
        nothing = np.zeros(len(theta))
        penalty = Penalty(per_square * self.unit**2, self.centre, nothing, nothing)
        answer = Answer(theta, noise, True, 1, 0.0, self.task.engine, penalty)
        answer.certificate = solution
        effective = float(np.sum(self.values / b**2 / spread))
        return Evidence(place, -0.5 * np.log(per_square), float(value), squares * per_square, effective, answer)
