"""Coefficients and open parameters of the noise as one vector, and minus the log of their posterior density.

The vector is (theta, v): theta in the core's order, v the open parameters of the noise, each on its raw scale, on which
its prior is flat. One pass over the rows gives the density with its derivatives in all of it.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from neglog.engines.memory import Memory
from neglog.likelihood.kinked import KinkedCells, information_sums
from neglog.likelihood.targets import Target
from neglog.likelihood.task import Answer, Task
from neglog.solvers.objective import Objective
from neglog.typing import Numbers


@dataclass(frozen=True)
class Curvature:
    """Second derivatives of minus the log posterior at a point, with the point."""

    theta: Numbers
    v: Numbers
    matrix: Numbers


def joint_engine(engine: Memory, target: Target) -> Memory:
    """The rows in memory under the nll in coefficients and all that is open."""
    return engine.under(target.joint_loss(), target.joint_y, target.w)


def joint_sums(task: Task, theta: Numbers, v: Numbers, curvature: bool) -> tuple[float, Numbers, Numbers | None]:
    """The nll of the rows and its derivatives in (theta, v), but for what takes v alone (`Target.remainder`)."""
    return joint_engine(task.engine, task.target).evaluate(np.append(theta, v), curvature)


def by_pairs(pairs: Any, chosen: list[int]) -> Numbers:
    """Second derivatives of each row in some of its variables, (rows, variables, variables), of those by pairs that
    `Noise.joint` gives.
    """
    out = np.empty((len(pairs[0]), len(chosen), len(chosen)))
    for i, a in enumerate(chosen):
        for j, b in enumerate(chosen):
            out[:, i, j] = pairs[pair(a, b)]
    return out


def pair(a: int, b: int) -> int:
    """Where the second derivative in two variables stands among those by pairs."""
    high, low = max(a, b), min(a, b)
    return high * (high + 1) // 2 + low


class Joint:
    """Minus the log posterior density of one fit's coefficients and open parameters, up to a constant."""

    def __init__(self, task: Task, answer: Answer) -> None:
        if answer.at_limit:  # as if they had been stated
            held = {name: getattr(answer.noise, name) for name in answer.at_limit}
            task = replace(task, target=task.target.with_noise(task.target.noise.with_(**held)))
        self.task, self.answer = task, answer
        self.names = task.target.open
        self.opened = task.target.opened
        self.labels = tuple(own.label for own in self.opened)

    # ---- the noise at v ----------------------------------------------------------------------------------------------

    @property
    def start(self) -> Numbers:
        """v of the fit."""
        return self.task.target.raw_of(self.answer.noise)

    def noise(self, v: Numbers) -> Any:
        """The noise with its open parameters at v; v may have a leading axis of many values."""
        return self.task.target.at(v)

    def target(self, v: Numbers) -> Target:
        """The target under that noise, nothing open."""
        target: Target = self.task.target.with_noise(self.noise(v))
        return target

    # ---- density -----------------------------------------------------------------------------------------------------

    def objective(self, target: Target) -> Objective:
        """The objective in theta at that noise."""
        target = target.informed()
        objective = Objective(self.answer.engine.with_target(target), self.task.penalty, target.dispersion())
        objective.expected = not target.bends
        return objective

    def nll(self, theta: Numbers, target: Target) -> float:
        """-log p of the sample, every constant included."""
        return target.total(self._without_idle(target.rows_nll(target.noise, self.eta(theta), target.p, target.raw)))

    def eta(self, theta: Numbers) -> Numbers:
        """The raw predictions of the rows."""
        return self.answer.engine.predict(theta)

    def _without_idle(self, values: Any) -> Numbers:
        """Rows without weight may lie outside the support: they count nothing."""
        w = self.task.target.w
        return np.asarray(values) if w is None else np.where(w > 0, values, 0.0)

    def curvature(self) -> Curvature:
        """At the fit, in theta and v at once."""
        theta, v, target = self.answer.theta, self.start, self.task.target
        if isinstance(target, KinkedCells) and not target.bends:
            return self._among_cells(theta, v)
        if not (len(v) and target.bends):
            return self._without_border(theta, v)
        matrix = self.task.total(joint_sums, theta, v, True)[2].copy()
        n = len(theta)
        matrix[np.diag_indices(n)] += self.task.penalty.bend
        matrix[n:, n:] += target.remainder(v, self.task)[2]
        return Curvature(theta, v, matrix)

    def _without_border(self, theta: Numbers, v: Numbers) -> Curvature:
        """Where nothing is open; or where the loss has no second derivatives, and its information takes their place."""
        point = self.objective(self.target(v)).at(theta, True)
        assert point.hessian is not None
        if not len(v):
            return Curvature(theta, v, point.hessian)
        border = self._pull(theta)[:, None]
        return Curvature(theta, v, np.block([[point.hessian, border], [border.T, np.full((1, 1), point.loss)]]))

    def _among_cells(self, theta: Numbers, v: Numbers) -> Curvature:
        """Where some rows are cells, which have second derivatives, and others are values under a loss with a kink."""
        matrix, slopes, loss = self.task.total(information_sums, theta, v)
        n = len(theta)
        matrix = matrix.copy()
        matrix[np.diag_indices(n)] += self.task.penalty.bend
        if len(v):
            border = self._pull(theta) + slopes[:n]  # which the values balance
            matrix[:n, n] += border
            matrix[n, :n] += border
            matrix[n, n] += loss
        return Curvature(theta, v, matrix)

    def _pull(self, theta: Numbers) -> Numbers:
        """The gradient of the prior, which that of the loss balances at the optimum: what the log of a scale that
        divides the loss shares with the coefficients. Of a loss with a kink the gradient itself does not tell, as rows
        that are hit exactly pull with any force between their two slopes.
        """
        penalty = self.task.penalty
        return np.asarray(penalty.quadratic(theta)[1] + penalty.strength * np.sign(theta - penalty.kink))

    def basis(self) -> Numbers | None:
        """Orthonormal directions that mean something, as columns: shifting all classes alike means nothing where no
        prior holds them. None where all directions do.
        """
        engine = self.task.engine
        classes, columns = engine.loss.classes, engine.columns
        flat = np.flatnonzero(self.task.penalty.flat[:columns])
        if classes == 1 or not len(flat):
            return None
        # Each direction within one column: columns of very different units must not be mixed.
        differences = _contrasts(classes)
        basis = np.zeros((engine.width, engine.width - len(flat)))
        at = 0
        for j in range(columns):
            block = differences if j in flat else np.eye(classes)
            basis[np.arange(classes) * columns + j, at : at + block.shape[1]] = block
            at += block.shape[1]
        return basis

    # ---- from the core's order to people's ---------------------------------------------------------------------------

    def public_names(self) -> tuple[str, ...]:
        """Intercept, coefficients, those of what is modelled, then what is open; for classes, one after the other."""
        engine = self.task.engine
        own = ("intercept",) * engine.intercept + engine.design.names
        if engine.loss.classes > 1:
            labels = self.task.target.classes  # type: ignore[attr-defined]
            return tuple(f"{label}: {name}" for label in labels for name in own)
        modelled = tuple(f"{label}: {name}" for label in self.task.target.noise.modelled for name in own)
        return own + modelled + self.labels

    def public_matrix(self) -> Numbers:
        """What takes (theta, v) to the values of `public_names`: columns as they are, not centred."""
        engine = self.task.engine
        columns, classes, outputs = engine.columns, engine.loss.classes, engine.loss.outputs
        one = np.zeros((columns, columns))
        first = int(engine.intercept)
        one[np.arange(first, columns), engine.places] = 1.0
        if engine.intercept:
            one[0, 0] = 1.0
            one[0, engine.places] = -engine.centre
        size = columns * outputs + len(self.names)
        matrix = np.eye(size)
        if self.names and not engine.intercept:  # the first of the edges takes up what centres add
            matrix[columns * outputs, engine.places] = engine.centre
        for k in range(outputs):
            matrix[k * columns : (k + 1) * columns, k * columns : (k + 1) * columns] = one
        if classes > 1:  # of classes only differences count where nothing else holds them
            for j in np.flatnonzero(np.append(np.ones(first, bool), self._flat_columns())):
                rows = np.arange(classes) * columns + j
                matrix[rows] -= matrix[rows].mean(axis=0)
        return matrix

    def _flat_columns(self) -> Numbers:
        return np.asarray(self.task.penalty.flat[: self.task.engine.columns][self.task.engine.places])


def _contrasts(classes: int) -> Numbers:
    """Orthonormal vectors that sum to 0, as columns: each class against those before it (Helmert)."""
    contrasts = np.zeros((classes, classes - 1))
    for k in range(1, classes):
        contrasts[:k, k - 1], contrasts[k, k - 1] = 1.0, -k
    return np.asarray(contrasts / np.linalg.norm(contrasts, axis=0))
