"""Coefficients and open parameters of the noise as one vector, and minus the log of their posterior density.

The vector is (theta, v): theta in the core's order, v the open parameters of the noise, each on the scale where it may
take any value and where its prior is flat: the logarithm, but for the power of a Tweedie noise the power itself.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from neglog.distributions.arrays import Numbers
from neglog.engines.memory import Memory
from neglog.likelihood.targets import Target, with_precision
from neglog.likelihood.task import Answer, Task
from neglog.solvers.objective import Objective

STEP = 1e-4  # of v, for differences


@dataclass(frozen=True)
class Curvature:
    """Second derivatives of minus the log posterior at a point, with the point."""

    theta: Numbers
    v: Numbers
    matrix: Numbers


class Joint:
    """Minus the log posterior density of one fit's coefficients and open parameters, up to a constant."""

    def __init__(self, task: Task, answer: Answer) -> None:
        self.task, self.answer = task, answer
        self.names = task.target.open
        self.labels = tuple(name if name == "power" else f"log {name}" for name in self.names)

    # ---- the noise at v ----------------------------------------------------------------------------------------------

    @property
    def start(self) -> Numbers:
        """v of the fit."""
        values = [getattr(self.answer.noise, name) for name in self.names]
        return np.array([x if name == "power" else np.log(x) for name, x in zip(self.names, values, strict=True)])

    def noise(self, v: Numbers) -> Any:
        """The noise with its open parameters at v; v may have a leading axis of many values."""
        if not self.names:
            return self.answer.noise
        values = {f"_{name}": v[..., k] if name == "power" else np.exp(v[..., k]) for k, name in enumerate(self.names)}
        plain = {name: float(x) if np.ndim(x) == 0 else x for name, x in values.items()}
        return self.answer.noise._replaced(**plain)

    def target(self, v: Numbers) -> Target:
        """The target under that noise, nothing open."""
        target: Target = self.task.target.with_noise(self.noise(v))
        return target

    def engine(self, target: Target) -> Memory:
        """The rows under the target's loss."""
        engine = self.answer.engine
        fixed = not self.names or self.names[0] in ("shape", "dispersion") or target.family in ("gaussian", "laplace")
        return engine if fixed else engine.with_loss(target.loss)

    # ---- density -----------------------------------------------------------------------------------------------------

    def objective(self, target: Target) -> Objective:
        """The objective in theta at that noise."""
        target = target.informed()
        engine = self.engine(target) if target.bends else self.answer.engine.with_target(target)
        objective = Objective(engine, self.task.penalty, target.dispersion())
        objective.expected = not target.bends
        return objective

    def nll(self, theta: Numbers, target: Target) -> float:
        """-log p of the sample, every constant included."""
        return target.total(self._without_idle(target.rows_nll(target.noise, self.eta(theta), target.p, target.raw)))

    def eta(self, theta: Numbers) -> Numbers:
        """The raw predictions of the rows."""
        return self.answer.engine.predict(theta)

    def slopes(self, eta: Numbers, target: Target) -> Numbers:
        """The derivative of each row's nll in v, (rows, len(v))."""
        return slopes(target, self.names, eta)

    def _without_idle(self, values: Any) -> Numbers:
        """Rows without weight may lie outside the support: they count nothing."""
        w = self.task.target.w
        return np.asarray(values) if w is None else np.where(w > 0, values, 0.0)

    def gradient(self, theta: Numbers, v: Numbers) -> tuple[Numbers, Numbers]:
        """Of the smooth part, in theta and in v."""
        target = self.target(v)
        point = self.objective(target).at(theta, False)
        in_v = replace(self.task, target=target).total(summed_slopes, self.names, theta) if self.names else np.zeros(0)
        return point.gradient, np.asarray(in_v)

    def curvature(self) -> Curvature:
        """At the fit. In v by differences of the gradients, which are exact."""
        theta, v = self.answer.theta, self.start
        target = self.target(v)
        point = self.objective(target).at(theta, True)
        assert point.hessian is not None
        n, m = len(theta), len(v)
        matrix = np.empty((n + m, n + m))
        matrix[:n, :n] = point.hessian
        if not target.bends and m:
            matrix[n:, n:], matrix[n:, :n] = point.loss, self._pull(theta)
            matrix[:n, n:] = matrix[n:, :n].T
            return Curvature(theta, v, matrix)
        for k in range(m):
            shift = STEP * np.eye(m)[k]
            above, below = self.gradient(theta, v + shift), self.gradient(theta, v - shift)
            matrix[:n, n + k] = matrix[n + k, :n] = (above[0] - below[0]) / (2 * STEP)
            matrix[n:, n + k] = (above[1] - below[1]) / (2 * STEP)
        matrix[n:, n:] = 0.5 * (matrix[n:, n:] + matrix[n:, n:].T)
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
        """Intercept, coefficients, then the noise; for classes, one class after the other."""
        engine = self.task.engine
        own = ("intercept",) * engine.intercept + engine.design.names
        if engine.loss.classes > 1:
            labels = self.task.target.classes  # type: ignore[attr-defined]
            return tuple(f"{label}: {name}" for label in labels for name in own)
        return own + self.labels

    def public_matrix(self) -> Numbers:
        """What takes (theta, v) to the values of `public_names`: columns as they are, not centred."""
        engine = self.task.engine
        columns, classes = engine.columns, engine.loss.classes
        one = np.zeros((columns, columns))
        first = int(engine.intercept)
        one[np.arange(first, columns), engine.places] = 1.0
        if engine.intercept:
            one[0, 0] = 1.0
            one[0, engine.places] = -engine.centre
        size = columns * classes + len(self.names)
        matrix = np.eye(size)
        for k in range(classes):
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


def slopes(target: Target, names: tuple[str, ...], eta: Numbers) -> Numbers:
    """The derivative of each row's nll in the noise's parameters, on their own scale; 0 for rows without weight."""
    if not names:
        return np.zeros((len(target.raw), 0))
    law = with_precision(target.noise, target.p).given(eta)
    gradient = law.parameter_gradient(target.raw)
    parts = [gradient[name] if name == "power" else gradient[name] * getattr(law, name) for name in names]
    columns = np.stack([np.broadcast_to(part, eta.shape) for part in parts], axis=-1)
    return columns if target.w is None else np.where(target.w[:, None] > 0, columns, 0.0)


def summed_slopes(task: Task, names: tuple[str, ...], theta: Numbers) -> Numbers:
    """Their sum over rows, each counted by its weight."""
    rows, w = slopes(task.target, names, task.engine.predict(theta)), task.target.w
    return np.asarray(rows.sum(axis=0) if w is None else w @ rows)
