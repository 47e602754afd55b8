"""Rows to predict for: as dense matrices, and what levels that the fit has not seen add."""

from typing import Any

import numpy as np

from neglog.engines.memory import Memory
from neglog.likelihood.joint import Joint
from neglog.typing import Numbers

ROWS_AT_ONCE = 4096


def row_chunks(engine: Memory) -> Any:
    """The rows as dense matrices in the core's order, a few thousand at a time."""
    for start in range(0, engine.rows, ROWS_AT_ONCE):
        rows = np.arange(start, min(start + ROWS_AT_ONCE, engine.rows))
        yield rows, engine.dense_rows(rows)


def unseen_spread(engine: Memory, joint: Joint) -> Numbers:
    """The variance of each raw prediction, (rows, outputs), that levels which the fit has not seen add: that of their
    prior.
    """
    design, outputs = engine.design, engine.loss.outputs
    if design.schema.terms is None:
        return np.zeros((engine.rows, outputs))
    of_fit = joint.task.engine
    bend = joint.task.penalty.bend[: of_fit.coefficients].reshape(outputs, of_fit.columns)[:, of_fit.places]
    variances = np.where(bend > 0, 1 / np.where(bend > 0, bend, 1.0), 0.0)
    return np.stack([design.unseen_spread(row) for row in variances], axis=1)
