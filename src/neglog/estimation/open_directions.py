"""Directions that the columns leave open, and fits through every point, where the loss has a kink.

The curvature of a smooth loss shows which directions the columns leave open. That of a loss with kinks says less: rows
beyond Huber's threshold have none, nor has any row of an absolute loss. There the columns themselves are asked.
"""

import numpy as np

from neglog.likelihood.task import Answer, Task
from neglog.solvers.systems import newton_step
from neglog.typing import Numbers

EXACT = 1e-10  # of the largest y: residuals below this are rounding


def ask_columns(task: Task, answer: Answer) -> None:
    """What is open by the columns in the place of what is open by the curvature; and where the scale is open too, the
    fit through every point, if there is one: a search only creeps towards it.
    """
    if answer.null is not None:
        answer.null = column_null(task)
    if (
        not (answer.converged and answer.null is None)
        and task.target.measure in task.target.open
        and task.penalty.flat.all()
    ):
        theta = None if task.engine.streamed else _exact(task)
        if theta is not None:
            left = task.engine.y - task.engine.predict(theta)
            answer.theta, answer.null = theta, column_null(task)
            size = float(np.sqrt(np.mean(left[_counted(task)] ** 2)))
            answer.noise = answer.noise.estimated(**{task.target.measure: size})


def column_null(task: Task) -> Numbers | None:
    """The directions in which no prediction changes and no prior holds; None if there are none."""
    engine = task.engine
    columns, held = engine.columns, task.penalty.bend + task.penalty.strength
    moments, parts = engine.moments()[:-1, :-1], []
    for start in range(0, engine.coefficients, columns or 1):  # of each row of coefficients
        gram = moments.copy()
        gram[np.diag_indices(columns)] += held[start : start + columns]
        null = newton_step(gram, np.zeros(columns)).null
        if null is not None:
            parts.append(np.zeros((engine.coefficients, null.shape[1])))
            parts[-1][start : start + columns] = null
    return np.concatenate(parts, axis=1) if parts else None


def _exact(task: Task) -> Numbers | None:
    """Coefficients whose predictions are y in every row that counts, if there are any."""
    engine = task.engine
    if task.target.noise.link.name != "identity" or engine.loss.outputs > 1:
        return None
    gram = engine.moments()
    theta = newton_step(gram[:-1, :-1], -gram[:-1, -1]).x
    left = engine.y - engine.predict(theta)
    weight = 1.0 if engine.weight is None else engine.weight
    theta = theta + newton_step(gram[:-1, :-1], -engine.transposed(weight * left)).x  # what rounding left
    left = engine.y - engine.predict(theta)
    size = float(np.max(np.abs(engine.y), initial=0.0))
    return theta if np.all(np.abs(left[_counted(task)]) <= EXACT * size) else None


def _counted(task: Task) -> Numbers:
    """The rows with a weight."""
    w = task.target.w
    return np.ones(task.engine.rows, bool) if w is None else np.asarray(w) > 0
