"""Separation: some direction along which the likelihood grows without end, so that there is no maximum.

A direction v separates if moving along it makes no row less likely and some row more so. For yes and no that is
(2 y - 1) x'v >= 0 for every row; for counts x'v <= 0 where y = 0 and x'v = 0 elsewhere; for classes x'(v_y - v_k) >= 0
for every other class k; for ordered ones x'v between what the two edges of the class move by. A linear programme finds
one, or proves that there is none.
"""

import numpy as np

from neglog.distributions.noise import Noise
from neglog.likelihood.accelerators import merely_open
from neglog.likelihood.ordered import OrderedClasses
from neglog.likelihood.task import Task
from neglog.typing import Numbers

SOME = 5_000  # rows to look at first
MOST = 20_000_000  # numbers that a linear programme may have
SECONDS = 20.0  # that it may take: it looks for the reason of what did not converge, and may leave it open
TOLERANCE = 1e-6  # of a linear programme
ROUNDS = 20  # of which each adds rows
ADDED = 500  # rows of a piece that are added at a time


def separating_direction(task: Task) -> Numbers | None:
    """A direction among the unpenalised coefficients, in the core's order, along which the nll falls for ever.

    Some of the rows are looked at first: where they are not separated, all of them are not either. Else rows that speak
    against what was found are added until none does, which takes few rounds. Where parameters are modelled, the
    location alone is asked, of rows in memory.
    """
    if isinstance(task.target, OrderedClasses):
        return _between_edges(task)
    if task.target.noise.modelled:
        found = None if task.engine.streamed else separating_direction(merely_open(task))
        return None if found is None else np.append(found, np.zeros(task.engine.coefficients - len(found)))
    flat, loss, noise = task.penalty.flat, task.target.loss, task.target.noise
    endless = noise.of_classes or any(_towards(noise, end) for end in noise.certain)
    if not endless or not flat.any():
        return None
    some = task.in_memory()
    rows = np.arange(some.engine.rows) if some.engine.weight is None else np.flatnonzero(some.engine.weight)
    chosen = rows[:: max(1, -(-len(rows) // min(SOME, MOST // (max(loss.classes - 1, 1) * len(flat)) + 1)))]
    X, y, inside = _dense(some, chosen, flat)
    direction = np.zeros(len(flat))
    for _ in range(ROUNDS):
        if len(y) * max(loss.classes - 1, 1) * len(inside) > MOST:
            return None  # too many to say
        found = _direction(task, X, y)
        if found is None:
            return None
        direction[inside] = found
        size = float(np.max(np.abs(_moves(some, direction))))
        against = task.total(rows_against, flat, direction, size)
        if not against:
            return direction if not direction[~flat].any() else None
        X, y = (np.concatenate(parts) for parts in zip((X, y), *against, strict=True))
    return None


def _between_edges(task: Task) -> Numbers | None:
    """Of ordered classes, whose edges move along."""
    some, flat = task.in_memory(), task.penalty.flat
    edges = len(some.target.open)
    rows = np.arange(some.engine.rows) if some.engine.weight is None else np.flatnonzero(some.engine.weight)
    if not (edges and flat.any()) or len(rows) < task.engine.rows:
        return None
    direction = np.zeros(len(flat))
    for step in (max(1, len(rows) // SOME), 1):
        X, y, inside = _dense(some, rows[::step], flat)
        if 2 * len(y) * (len(inside) + edges) > MOST:
            return None
        scale, unit = _sizes(X), np.eye(edges)
        below, above = y < edges, y > 0
        own = y.astype(int)
        gains = np.vstack(
            [np.hstack([-X[below] / scale, unit[own[below]]]), np.hstack([X[above] / scale, -unit[own[above] - 1]])]
        )
        found = _programme(gains / np.maximum(np.abs(gains).max(axis=1, keepdims=True), 1e-300), gains[:0])
        if found is None:
            return None
        direction[inside] = found[: len(inside)] / scale
    return direction


def rows_against(task: Task, flat: Numbers, direction: Numbers, size: float) -> list[tuple[Numbers, Numbers]]:
    """Rows that become less likely along the direction by more than the rounding of moves of this size: those that do
    so most, dense in the columns without a prior, with their targets; nothing if there are none.
    """
    engine, y, classes = task.engine, task.target.y, task.engine.loss.classes
    moves = _moves(task, direction)
    if classes > 1:
        loss = np.max(moves - moves[np.arange(len(y)), y.astype(int)][:, None], axis=1)
    else:
        sign = _signs(task, y)
        loss = np.where(np.isnan(sign), np.abs(moves), -sign * moves)
    if engine.weight is not None:
        loss = np.where(engine.weight > 0, loss, 0.0)
    worst = np.argsort(-loss)[:ADDED]
    worst = worst[loss[worst] > TOLERANCE * size]
    if not len(worst):
        return []
    return [_dense(task, np.sort(worst), flat)[:2]]


def _moves(task: Task, direction: Numbers) -> Numbers:
    """What the direction adds to the raw predictions of the rows."""
    engine = task.engine
    weight = np.ones(engine.rows) if engine.weight is None else engine.weight
    return engine.with_rows(engine.y, weight).predict(direction)


def _dense(task: Task, rows: Numbers, flat: Numbers) -> tuple[Numbers, Numbers, Numbers]:
    """The columns of some rows that have no prior, their targets, and where their coefficients are among all."""
    engine, inside = task.engine.take(rows).subset(flat)
    return engine.dense_rows(np.arange(engine.rows)), task.target.y[rows], inside


def _direction(task: Task, X: Numbers, y: Numbers) -> Numbers | None:
    scale = _sizes(X)
    gains, fixed = _constraints(task, X / scale, y)
    gains, fixed = (rows / np.maximum(np.abs(rows).max(axis=1, keepdims=True), 1e-300) for rows in (gains, fixed))
    found = _programme(gains, fixed) if len(gains) else None
    return None if found is None else found / np.tile(scale, task.target.loss.classes)


def _sizes(X: Numbers) -> Numbers:
    """A usual size of each column where it is not 0: beside the largest the others may be too small to be seen."""
    sizes = np.abs(X)
    sizes = np.where(sizes.any(axis=0), sizes, 1.0)
    usual = np.nanmedian(np.where(sizes > 0, sizes, np.nan), axis=0)
    return np.where(usual > 0, usual, 1.0)


def _constraints(task: Task, X: Numbers, y: Numbers) -> tuple[Numbers, Numbers]:
    """Rows g with g'v >= 0, of which one must be positive, and rows f with f'v = 0."""
    classes = task.target.loss.classes
    if classes == 1:
        sign = _signs(task, y)
        free = ~np.isnan(sign)
        return sign[free, None] * X[free], X[~free]
    parts = []
    for k in range(classes):
        others = y != k
        block = np.zeros((int(others.sum()), classes, X.shape[1]))
        index = np.arange(len(block))
        block[index, y[others].astype(int)] = X[others]
        block[index, k] -= X[others]
        parts.append(block.reshape(len(block), classes * X.shape[1]))
    return np.concatenate(parts), np.empty((0, classes * X.shape[1]))


def _signs(task: Task, y: Numbers) -> Numbers:
    """In which direction the raw prediction of a row may go for ever, NaN where in none."""
    signs = np.full(len(y), np.nan)
    for end in task.target.noise.certain:
        signs[y == end] = _towards(task.target.noise, end) or np.nan
    return signs


def _towards(noise: Noise, end: float) -> float:
    """The sign of the raw predictions whose location comes ever nearer to this end; 0 where none does, because the link
    ends where the locations do.
    """
    return next((sign for sign in (1.0, -1.0) if noise.link.inverse(sign * np.inf) == end), 0.0)


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
