"""Errors of the coefficients that hold where the noise, or that rows are independent, is wrong.

With H the curvature of the objective, prior included, and s the slope of a row's nll, the covariance is
H^-1 (sum of s s') H^-1: the spread of the slopes that the rows have, not the one that the noise says they should have.
Rows of a cluster pull together: their slopes are added before they are squared.

HC0 takes slopes as they are; HC1 counts the coefficients; HC2 and HC3 enlarge the slope of a row by its leverage, since
a fit runs after each row: with C the curvature of a row in its raw predictions eta and M the posterior covariance of
these, by (I - C M)^-1/2 and (I - C M)^-1.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from neglog.belief.predicted_rows import row_chunks
from neglog.belief.row_slopes import row_slopes
from neglog.belief.standard_errors import posterior_covariance
from neglog.engines.blas import one_blas_thread
from neglog.engines.memory import Memory
from neglog.likelihood.joint import Joint
from neglog.likelihood.task import Answer, Task
from neglog.typing import Numbers

ENLARGED = {"HC0": 0.0, "HC1": 0.0, "HC2": 0.5, "HC3": 1.0}  # powers of (I - C M)^-1
LEAST = 1e-10  # of 1 - leverage: of a row that alone decides its prediction nothing is known


@one_blas_thread
def robust_covariance(joint: Joint, kind: str) -> Numbers:
    """Of coefficients and open parameters, in the core's order."""
    refuse_kinks(joint)
    bread = posterior_covariance(joint)
    power = ENLARGED[kind]
    with np.errstate(all="ignore"):
        meat = joint.task.total(squared_slopes, bare(joint.answer), power, np.nan_to_num(bread) if power else None)
    return around(bread, meat)


@one_blas_thread
def clustered_covariance(joint: Joint, sums: Numbers) -> Numbers:
    """The same of the sums of the slopes over each cluster, (clusters, coefficients and open parameters)."""
    return around(posterior_covariance(joint), sums.T @ sums)


def refuse_kinks(joint: Joint) -> None:
    """A loss with a kink has no curvature of its own that could stand around the slopes."""
    if not joint.task.target.bends:
        name = type(joint.answer.noise).__name__
        raise ValueError(
            f"robust errors take the curvature of the loss, and that of {name} noise has a kink; "
            "take Huber or StudentT noise, or errors from fits to rows that were drawn again"
        )


def around(bread: Numbers, meat: Numbers) -> Numbers:
    """bread meat bread; what does not move stays unknown, and what the data say nothing about infinite."""
    unknown = ~np.isfinite(bread.diagonal())
    known = np.where(unknown[:, None] | unknown, 0.0, bread)
    found = known @ meat @ known
    found[unknown[:, None] | unknown] = np.nan
    found[unknown, unknown] = bread.diagonal()[unknown]
    return np.asarray(found)


def bare(answer: Answer) -> Answer:
    """What travels to rows elsewhere."""
    return replace(answer, engine=None, penalty=None, information=None, drift=None, null=None, certificate=None)  # type: ignore[arg-type]


def _weighted_slopes(task: Task, answer: Answer, power: float, bread: Numbers | None) -> tuple[Any, Numbers, Numbers]:
    """The rows as a fit of their own, with their slopes and weights."""
    joint = Joint(task, replace(answer, engine=task.engine))
    target = joint.target(joint.start)
    rows = row_slopes(joint, target)
    gradient = rows.gradient
    if power:
        assert bread is not None
        gradient = gradient.copy()
        outputs = rows.eta.shape[1]
        gradient[:, :outputs] = _enlarged(task.engine, gradient[:, :outputs], rows.curvature, bread, power)
    return joint, gradient, np.ones(len(gradient)) if target.w is None else np.asarray(target.w, float)


def squared_slopes(task: Task, answer: Answer, power: float, bread: Numbers | None) -> Numbers:
    """The sum of s s' over the rows."""
    _, gradient, w = _weighted_slopes(task, answer, power, bread)
    engine, size = task.engine, gradient.shape[1]
    columns, outputs = engine.columns, engine.loss.outputs
    n, m = columns * outputs, size - outputs
    meat = np.zeros((n + m, n + m))
    for a in range(outputs):
        here = slice(a * columns, (a + 1) * columns)
        for b in range(a + 1):
            there = slice(b * columns, (b + 1) * columns)
            meat[here, there] = meat[there, here] = engine.gram(w * gradient[:, a] * gradient[:, b])
        for k in range(outputs, size):
            meat[here, n + k - outputs] = meat[n + k - outputs, here] = engine.transposed(
                np.ascontiguousarray(w * gradient[:, a] * gradient[:, k])
            )
    own = gradient[:, outputs:]
    meat[n:, n:] = own.T @ (w[:, None] * own)
    return meat


def cluster_sums(task: Task, answer: Answer, codes: Numbers, count: int) -> Numbers:
    """The sum of the slopes over the rows of each cluster, of which `codes` tells the number."""
    from scipy.sparse import csr_array

    _, gradient, w = _weighted_slopes(task, answer, 0.0, None)
    engine, outputs = task.engine, task.engine.loss.outputs
    columns = engine.columns
    n = columns * outputs
    pulls = w[:, None] * gradient
    sums = np.zeros((count, n + gradient.shape[1] - outputs))
    for rows, matrix in row_chunks(engine):
        there, inside = np.unique(codes[rows], return_inverse=True)
        member = csr_array((np.ones(len(rows)), (inside, np.arange(len(rows)))), shape=(len(there), len(rows)))
        for a in range(outputs):
            sums[there, a * columns : (a + 1) * columns] += member @ (matrix * pulls[rows, a, None])
    for k in range(outputs, gradient.shape[1]):
        sums[:, n + k - outputs] = np.bincount(codes, pulls[:, k], count)
    return sums


def sums_by_label(task: Task, answer: Answer) -> dict[Any, Numbers]:
    """The same for rows that come in pieces, by the labels of their clusters."""
    labels, codes = labelled(task.labels)  # type: ignore[attr-defined]
    return dict(zip(labels, cluster_sums(task, answer, codes, len(labels)), strict=True))


def labelled(columns: Sequence[Any]) -> tuple[list[Any], Numbers]:
    """The different clusters, and the number of that of each row; of two columns, their pairs."""
    found = [_coded(column) for column in columns]
    if len(found) == 1:
        return found[0]
    (first, one), (second, other) = found
    pairs, codes = np.unique(one * len(second) + other, return_inverse=True)
    both = zip((pairs // len(second)).tolist(), (pairs % len(second)).tolist(), strict=True)
    return [(first[a], second[b]) for a, b in both], codes.reshape(-1)


def _coded(column: Any) -> tuple[list[Any], Numbers]:
    """Different values in the order in which they come, and the place of each among them."""
    column = np.asarray(column)
    if column.dtype.kind != "O":
        labels, codes = np.unique(column, return_inverse=True)
        return labels.tolist(), codes.reshape(-1)
    places: dict[Any, int] = {}
    codes = np.array([places.setdefault(label, len(places)) for label in column.tolist()], np.int64)
    return list(places), codes


def _enlarged(engine: Memory, gradient: Numbers, curvature: Numbers, bread: Numbers, power: float) -> Numbers:
    """Slopes in the raw predictions times (I - C M)^-power."""
    columns, r = engine.columns, gradient.shape[1]
    if r == 1:
        leverage = curvature[:, 0, 0] * engine.forms(np.ascontiguousarray(bread[:columns, :columns]))
        left = 1 - leverage
        return np.asarray(gradient / np.where(left > LEAST, left, np.nan)[:, None] ** power)
    out = np.empty_like(gradient)
    for rows, matrix in row_chunks(engine):
        spread = np.empty((len(rows), r, r))
        for a in range(r):
            left = matrix @ bread[a * columns : (a + 1) * columns, : r * columns]
            for b in range(r):
                spread[:, a, b] = np.einsum("ij,ij->i", left[:, b * columns : (b + 1) * columns], matrix)
        values, vectors = np.linalg.eig(np.eye(r) - curvature[rows, :r, :r] @ spread)
        grown = np.where(values.real > LEAST, values.real, np.nan) ** -power
        turned = np.linalg.solve(vectors, gradient[rows][..., None].astype(vectors.dtype))[..., 0]
        out[rows] = np.einsum("ijk,ik->ij", vectors, grown * turned).real
    return out
