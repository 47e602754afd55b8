"""Separation: some direction along which the likelihood grows without end, so that there is no maximum.

A direction v separates if moving along it makes no row less likely and some row more so. For yes and no that is
(2 y - 1) x'v >= 0 for every row; for counts x'v <= 0 where y = 0 and x'v = 0 elsewhere; for classes x'(v_y - v_k) >= 0
for every other class k. A linear programme finds one, or proves that there is none.
"""

import numpy as np

from neglog.distributions.arrays import Numbers
from neglog.inference.answer import Task

FAMILIES = ("bernoulli", "poisson", "tweedie", "softmax")


def separating_direction(task: Task) -> Numbers | None:
    """A direction among the unpenalised coefficients, in the core's order, along which the nll falls for ever."""
    engine = task.engine
    flat = np.flatnonzero(task.penalty.flat)
    if task.target.loss.family not in FAMILIES or not len(flat):
        return None
    rows = np.arange(engine.rows) if engine.weight is None else np.flatnonzero(engine.weight)
    X, y = engine.dense_rows(rows), task.target.y[rows]
    scale = np.abs(X).max(axis=0)
    X = X / np.where(scale > 0, scale, 1.0)
    gains, fixed = _constraints(task, X, y)
    if not len(gains):
        return None
    direction = _programme(gains[:, flat], fixed[:, flat])
    if direction is None:
        return None
    full = np.zeros(engine.width)
    full[flat] = direction
    return full


def _constraints(task: Task, X: Numbers, y: Numbers) -> tuple[Numbers, Numbers]:
    """Rows g with g'v >= 0, of which one must be positive, and rows f with f'v = 0."""
    family, classes = task.target.loss.family, task.target.loss.classes
    nothing = np.empty((0, task.engine.width))
    if family == "bernoulli":
        sure = (y == 0) | (y == 1)
        return (2 * y[sure] - 1)[:, None] * X[sure], X[~sure]
    if family in ("poisson", "tweedie"):
        return -X[y == 0], X[y > 0]
    parts = []
    for k in range(classes):
        others = y != k
        block = np.zeros((int(others.sum()), classes, X.shape[1]))
        index = np.arange(len(block))
        block[index, y[others].astype(int)] = X[others]
        block[index, k] -= X[others]
        parts.append(block.reshape(len(block), -1))
    return np.concatenate(parts), nothing


def _programme(gains: Numbers, fixed: Numbers) -> Numbers | None:
    """max of the total gain over |v| <= 1; none if the best is nothing."""
    from scipy.optimize import linprog

    result = linprog(
        -gains.sum(axis=0) / len(gains),
        A_ub=-gains,
        b_ub=np.zeros(len(gains)),
        A_eq=fixed if len(fixed) else None,
        b_eq=np.zeros(len(fixed)) if len(fixed) else None,
        bounds=(-1, 1),
        method="highs",
    )
    return result.x if result.status == 0 and result.fun < -1e-9 else None
