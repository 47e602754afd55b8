"""Leave-one-out without refitting: what each row would have cost, had it not been seen.

Without row i the optimum moves by the step that undoes the row's pull, with the row's own curvature taken out. In the
raw predictions eta of the row and the open parameters v of the noise that is a small system: with M the posterior
covariance of (eta, v), g and C the row's gradient and second derivatives there, the step is (I - M C)^-1 M g. It is
exact where the rest of the objective is quadratic, as for ridge regression.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from neglog.belief.posterior import refuse_improper
from neglog.belief.predicted_rows import row_chunks
from neglog.belief.row_slopes import RowSlopes, row_slopes
from neglog.belief.standard_errors import inverse
from neglog.distributions.lazy import special
from neglog.engines.blas import one_blas_thread
from neglog.likelihood.joint import Joint
from neglog.likelihood.targets import Target
from neglog.likelihood.task import Answer, Task
from neglog.typing import Numbers

HIGH = 0.7  # leverage from which a row decides its own prediction
COSTLY = 2.0  # nats by which a row's cost rises when it is left out, from which on the step is too long to be exact
BENT = 2.0  # factor by which the curvature may change on the way


@dataclass(frozen=True)
class LeaveOneOut:
    """Held-out nats per row, and which not to rely on. Of a row that counts several times one copy is left out."""

    nll: Numbers
    leverage: Numbers
    unreliable: Numbers  # a mask over the rows
    weight: Numbers | None = None

    @property
    def total(self) -> float:
        """The sum over the rows, each counted by its weight."""
        if self.weight is None:
            return float(np.sum(self.nll))
        counted = self.weight > 0  # the others may be anywhere
        return float(np.sum(self.weight[counted] * self.nll[counted]))

    @property
    def mean(self) -> float:
        """Nats per row."""
        return self.total / (len(self.nll) if self.weight is None else float(self.weight.sum()))

    def __repr__(self) -> str:
        flagged = int(np.count_nonzero(self.unreliable))
        note = (
            f", {flagged} of them unreliable (see .unreliable; refit without these rows to be sure)" if flagged else ""
        )
        return f"<held out {self.total:.6g} nats, {self.mean:.5g} a row, {len(self.nll)} rows{note}>"


@one_blas_thread
def leave_one_out(joint: Joint) -> LeaveOneOut:
    """From the curvature at the fit and one more pass over the rows."""
    if not joint.task.target.bends:
        name = type(joint.answer.noise).__name__
        raise ValueError(
            f"leave-one-out needs a smooth loss, which that of {name} noise is not; Huber noise is smooth, or refit "
            "without some rows"
        )
    if joint.answer.null is None or not joint.answer.converged:  # of many best solutions one predicts as any other
        refuse_improper(joint)
    whole, (joint, _) = joint, without_held(joint)
    target = joint.target(joint.start)
    free = np.append(_moving(joint.task, joint.answer), np.ones(len(joint.names), bool))
    spread = np.nan_to_num(inverse(joint.curvature().matrix, free, pseudo=True), nan=0.0)
    rows = row_slopes(joint, target)
    return _with_idle(whole, _held_out(joint, spread, rows, target))


def _with_idle(joint: Joint, found: LeaveOneOut) -> LeaveOneOut:
    """With a place for the rows of weight 0 as well, which the fit has not seen anyway."""
    whole = joint.task.whole
    if whole is None:
        return found
    counts = np.asarray(whole.target.w) > 0
    idle, counted = np.flatnonzero(~counts), np.flatnonzero(counts)
    part = whole.taken(idle)
    target, eta = part.target.with_noise(joint.noise(joint.start)), part.engine.predict(joint.answer.theta)
    with np.errstate(all="ignore"):
        unseen = np.asarray(target.rows_nll(target.noise, eta, target.p, target.raw), np.float64)
    nll, leverage, unreliable = (
        np.empty(whole.engine.rows),
        np.zeros(whole.engine.rows),
        np.zeros(whole.engine.rows, bool),
    )
    nll[counted], nll[idle] = found.nll, unseen
    leverage[counted] = found.leverage
    unreliable[counted], unreliable[idle] = found.unreliable, ~np.isfinite(unseen)
    return LeaveOneOut(nll, leverage, unreliable, whole.target.w)


def _moving(task: Task, answer: Answer) -> Numbers:
    """Coefficients that a small change of the data would move: not those that a Laplace prior holds at its kink."""
    return np.asarray((task.penalty.strength == 0) | (answer.theta != task.penalty.kink))


def without_held(joint: Joint) -> tuple[Joint, Any]:
    """The same fit without the columns whose coefficients are held at 0: of many columns, few are left; and where its
    coefficients stand among all.
    """
    task, answer = joint.task, joint.answer
    moving = _moving(task, answer)
    if task.penalty.smooth or moving.all():
        return joint, slice(0, len(answer.theta))
    engine, inside = answer.engine.subset(moving, rest=task.penalty.kink)
    smaller = replace(task, engine=engine, penalty=task.penalty.subset(inside))
    return Joint(smaller, replace(answer, theta=answer.theta[inside], engine=engine, penalty=smaller.penalty)), inside


def _held_out(joint: Joint, spread: Numbers, rows: RowSlopes, target: Target) -> LeaveOneOut:
    engine = joint.answer.engine
    columns, r = engine.columns, rows.eta.shape[1]
    n, size = r * columns, rows.gradient.shape[1]
    w = np.ones(engine.rows) if target.w is None else np.minimum(target.w, 1.0)  # of several copies one is left out
    moved = np.empty((engine.rows, size))
    leverage = np.empty(engine.rows)
    for chunk, matrix in row_chunks(engine):
        covariance = np.empty((len(chunk), size, size))
        for k in range(r):
            left = matrix @ spread[k * columns : (k + 1) * columns]
            for other in range(r):
                part = left[:, other * columns : (other + 1) * columns]
                covariance[:, k, other] = np.einsum("ij,ij->i", part, matrix)
            covariance[:, k, r:] = left[:, n:]
            covariance[:, r:, k] = left[:, n:]
        covariance[:, r:, r:] = spread[n:, n:]
        pull = w[chunk, None] * rows.gradient[chunk]
        share = covariance @ (w[chunk, None, None] * rows.curvature[chunk])
        leverage[chunk] = np.trace(share[:, :r, :r], axis1=1, axis2=2)
        left_out = np.eye(size) - share
        alone: Numbers = (
            np.abs(np.linalg.det(left_out)) < 1e-10
        )  # without this row nothing is known about its prediction
        left_out[alone] = np.eye(size)
        moved[chunk] = np.linalg.solve(left_out, covariance @ pull[..., None])[..., 0]
        moved[chunk[alone]] = np.nan
    with np.errstate(all="ignore"):
        unknown = np.asarray(np.isnan(moved).any(axis=1))
        moved = np.where(unknown[:, None], 0.0, moved)
        at = rows.eta + moved[:, :r]
        nll = np.where(unknown, np.inf, np.asarray(rows.nll(at, joint.start + moved[:, r:]), np.float64))
        unreliable = ~(leverage < HIGH)
        if rows.bend is None:
            before, after = special.softmax(rows.eta, axis=1), special.softmax(at, axis=1)
            unreliable |= np.abs(before - after).max(axis=1) > 0.25
        else:
            ratio = rows.bend(at) / rows.curvature[:, 0, 0]
            unreliable |= ~((ratio < BENT) & (ratio > 1 / BENT)) & (rows.curvature[:, 0, 0] != 0)
        seen = rows.nll(rows.eta, np.broadcast_to(joint.start, moved[:, r:].shape))
        unreliable |= ~(nll - seen < COSTLY)
    exact = target.squares and not joint.names
    if exact and joint.task.penalty.smooth:
        unreliable = ~(leverage < 1 - 1e-9)
    unreliable |= ~np.isfinite(nll)
    return LeaveOneOut(nll, leverage, unreliable, target.w)
