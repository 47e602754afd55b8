"""y in cells under a noise whose loss has a kink, such as Laplace's: a cell is smooth, and a value among them is not.

A value y is the limit of the cell [y - h, y + h]. `Blurred` has such cells in the place of its values, so that Newton's
method finds the way to where the kinks are.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from neglog.distributions.censored import Cells
from neglog.engines.memory import Loss
from neglog.likelihood.censored import Censored
from neglog.likelihood.task import Task
from neglog.typing import Numbers


class KinkedCells(Censored):
    """Cells and values of a noise that is log-concave, whose loss grows by `noise.kink_slopes` around a value."""

    def check(self) -> None:
        objection = self.noise.cannot_tell(len(self.raw), 0)
        if objection is not None:
            raise ValueError(objection)
        super().check()

    @property
    def bends(self) -> bool:
        """Where no row is a value; of rows that are elsewhere nothing is known."""
        return isinstance(self.raw, Cells) and not self.values.any()

    @property
    def convex(self) -> bool:
        return True  # the probability of a cell is log-concave where the density is

    @property
    def steady(self) -> bool:
        return False  # what is straight for all values but the nearest is nearly so when these are blurred

    @property
    def values(self) -> Numbers:
        """Which rows are values."""
        return np.asarray(self.raw.exact)

    @property
    def sharpness(self) -> Numbers:
        """By how much each row divides the scale."""
        return np.ones(len(self.raw)) if self.p is None else self.p

    @property
    def counts(self) -> Numbers:
        """What each row counts."""
        return np.ones(len(self.raw)) if self.w is None else self.w

    def blurred(self, half: float) -> "Blurred":
        """With cells of this half width in the place of the values."""
        other = object.__new__(Blurred)
        other.__dict__.update(self.__dict__, half=half)
        other.y = other.transformed(self.raw)
        return other


class Blurred(KinkedCells):
    """Values are cells of the half width `half`, whose nll is too large by about log(2 half)."""

    half: float

    @property
    def bends(self) -> bool:
        return True

    def transformed(self, y: Any) -> Numbers:
        ends = super().transformed(y)
        return np.where(y.exact, ends - self.half, ends) if isinstance(y, Cells) else ends

    def _with_ends(self, loss: Loss) -> Loss:
        loss = super()._with_ends(loss)
        if loss.upper is None or not isinstance(self.raw, Cells):
            return loss
        return replace(loss, upper=np.where(self.values, loss.upper + self.half, loss.upper))


def information_sums(task: Task, theta: Numbers, v: Numbers) -> tuple[Numbers, Numbers, float]:
    """Derivatives of the nll of the cells in (theta, v), second and first, with the information of the values about
    theta among the second; and the loss of the values, in nats.
    """
    target, engine = task.target, task.engine
    assert isinstance(target, KinkedCells)
    cells = engine.under(target.joint_loss(), target.joint_y, np.where(target.values, 0.0, target.counts))
    _, gradient, matrix = cells.evaluate(np.append(theta, v), True)
    assert matrix is not None
    noise, n, sharpness = target.at(v), len(theta), target.sharpness / target.at(v).scale
    above, below = noise.kink_slopes
    weight = np.where(target.values, target.counts, 0.0)
    gram = engine.with_rows(np.zeros(engine.rows), weight * sharpness**2).moments()[:-1, :-1]
    matrix[:n, :n] += above * below * gram
    away = np.where(target.values, target.y - engine.predict(theta), 0.0)
    return matrix, gradient, float(np.sum(weight * sharpness * np.where(away < 0, -below, above) * away))
