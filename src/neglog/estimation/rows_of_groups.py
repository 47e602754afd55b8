"""The question of several groups at once: their rows under one noise and prior, and what can be asked of these."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from neglog.engines.groups import Grouping, Held, curvature, raw_predictions
from neglog.engines.memory import Memory
from neglog.likelihood.targets import Target
from neglog.solvers.dispersion import Known
from neglog.solvers.penalty import Penalty
from neglog.typing import Numbers


@dataclass
class Groups:
    """The rows of all groups under one noise and prior. The columns are not centred; the core does so by group."""

    target: Target
    engine: Memory
    penalty: Penalty
    grouping: Grouping
    tol: float
    max_iter: int

    @property
    def held(self) -> Held:
        """The prior of the coefficients."""
        return Held(self.penalty.bend, self.penalty.centre)

    @property
    def weight(self) -> Numbers:
        """The weight of each group."""
        w = self.target.w
        return self.grouping.sums(1.0 if w is None else w)


def known_loss(task: Groups) -> tuple[Memory, float]:
    """The rows under the loss at known parameters, and what multiplies it."""
    dispersion = task.target.dispersion()
    assert isinstance(dispersion, Known)
    return task.engine.with_target(task.target), 1.0 / dispersion.dispersion


def joint_rows(task: Groups) -> Memory:
    """The rows under the nll in coefficients and all that is open."""
    return task.engine.under(task.target.joint_loss(), task.target.joint_y, task.target.w)


def of_rows(task: Groups, kept: Any) -> Groups:
    """The same question about some of the rows, a mask; groups keep their numbers."""
    rows = np.flatnonzero(kept)
    own, grouping = task.target.taken(rows), task.grouping.take(rows)
    return Groups(own, task.engine.take(rows), task.penalty, grouping, task.tol, task.max_iter)


def raw_predictions_of(task: Groups, theta: Numbers) -> Numbers:
    """eta of each row, by the coefficients of its group."""
    engine = task.engine
    intercept = theta[:, 0] if engine.intercept else np.zeros(len(theta))
    return raw_predictions(engine.design, task.grouping.codes, intercept, theta[:, engine.where], engine.offset)


def variances_of(task: Groups, theta: Numbers, raw: Numbers) -> Numbers:
    """Of the coefficients, (groups, columns), and of what is open on its raw scale, after them."""
    with np.errstate(all="ignore"):
        if not task.target.open:
            engine, factor = known_loss(task)
            return curvature(engine, task.grouping, task.held, theta, factor=factor).variances
        if task.target.squares and task.penalty.flat.all():
            own = curvature(task.engine.with_target(task.target), task.grouping, task.held, theta).variances
            scale = np.exp(raw)
            return np.hstack([own * scale * scale, 0.5 / task.weight[:, None]])
        held = task.held.widened(len(task.target.open))
        return curvature(joint_rows(task), task.grouping, held, np.hstack([theta, raw])).variances


def nll_of(task: Groups, theta: Numbers, raw: Numbers) -> Numbers:
    """-log p of the rows of each group, every constant included."""
    with np.errstate(all="ignore"):
        target, codes = task.target, task.grouping.codes
        rows = target.rows_nll(target.at(raw[codes]), raw_predictions_of(task, theta), target.p, target.raw)
        return task.grouping.sums(rows if target.w is None else target.w * rows)
