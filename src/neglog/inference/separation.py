"""Separation: some direction along which the likelihood grows without end, so that there is no maximum.

A direction v separates if moving along it makes no row less likely and some row more so. For yes and no that is
(2 y - 1) x'v >= 0 for every row; for counts x'v <= 0 where y = 0 and x'v = 0 elsewhere; for classes x'(v_y - v_k) >= 0
for every other class k. A linear programme finds one, or proves that there is none.
"""

import numpy as np

from neglog.distributions.arrays import Numbers
from neglog.engines.memory import Memory
from neglog.inference.answer import Task

SOME = 5_000  # rows to look at first
MOST = 20_000_000  # numbers that a linear programme may have
SECONDS = 20.0  # that it may take: it looks for the reason of what did not converge, and may leave it open
FAMILIES = ("bernoulli", "poisson", "tweedie", "softmax")
BOUNDED = ("identity", "sqrt")  # links whose raw predictions end where the means do: none goes on for ever


def separating_direction(task: Task) -> Numbers | None:
    """A direction among the unpenalised coefficients, in the core's order, along which the nll falls for ever.

    Some of the rows are looked at first: where they are not separated, all of them are not either.
    """
    flat = task.penalty.flat
    if task.target.loss.family not in FAMILIES or task.target.loss.link in BOUNDED or not flat.any():
        return None
    engine, inside = task.engine.subset(flat)
    rows = np.arange(engine.rows) if engine.weight is None else np.flatnonzero(engine.weight)
    for count in (SOME, len(rows)):
        if count * max(engine.loss.classes - 1, 1) * engine.width > MOST:
            return None  # too many to say
        chosen = rows[:: max(1, len(rows) // count)]
        direction = _direction(task, engine, engine.dense_rows(chosen), task.target.y[chosen])
        if direction is None or len(chosen) == len(rows):
            break
    if direction is None:
        return None
    full = np.zeros(task.engine.width)
    full[inside] = direction
    return full if not full[~flat].any() else None


def _direction(task: Task, engine: Memory, X: Numbers, y: Numbers) -> Numbers | None:
    scale = _sizes(X)
    gains, fixed = _constraints(task, X / scale, y)
    gains, fixed = (rows / np.maximum(np.abs(rows).max(axis=1, keepdims=True), 1e-300) for rows in (gains, fixed))
    found = _programme(gains, fixed) if len(gains) else None
    return None if found is None else found / np.tile(scale, engine.loss.classes)


def _sizes(X: Numbers) -> Numbers:
    """A usual size of each column where it is not 0: beside the largest the others may be too small to be seen."""
    sizes = np.abs(X)
    sizes = np.where(sizes.any(axis=0), sizes, 1.0)
    usual = np.nanmedian(np.where(sizes > 0, sizes, np.nan), axis=0)
    return np.where(usual > 0, usual, 1.0)


def _constraints(task: Task, X: Numbers, y: Numbers) -> tuple[Numbers, Numbers]:
    """Rows g with g'v >= 0, of which one must be positive, and rows f with f'v = 0."""
    family, classes = task.target.loss.family, task.target.loss.classes
    nothing = np.empty((0, classes * X.shape[1]))
    if family == "bernoulli" and task.target.loss.link == "log":  # no raw prediction of a one lies above 0
        return -X[y == 0], X[y > 0]
    if family == "bernoulli":
        sure = (y == 0) | (y == 1)
        return (2 * y[sure] - 1)[:, None] * X[sure], X[~sure]
    if family in ("poisson", "tweedie"):
        down = -1.0 if task.target.loss.link == "log" else 1.0  # where the mean is 0: at minus or plus infinity
        return down * X[y == 0], X[y > 0]
    parts = []
    for k in range(classes):
        others = y != k
        block = np.zeros((int(others.sum()), classes, X.shape[1]))
        index = np.arange(len(block))
        block[index, y[others].astype(int)] = X[others]
        block[index, k] -= X[others]
        parts.append(block.reshape(len(block), classes * X.shape[1]))
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
        options={"time_limit": SECONDS},
    )
    return result.x if result.status == 0 and result.fun < -1e-9 else None
