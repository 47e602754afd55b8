"""How sure the estimates are: the inverse of the observed information, prior included; where scales of terms were
learned, with what is not known about these.

A loss without second derivatives, as Laplace noise has it, has its expected information in their place: w (p / scale)^2
x x' for a row, times q (1 - q) for a quantile q, and w for log scale.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from neglog.engines.blas import one_blas_thread
from neglog.likelihood.joint import Joint
from neglog.likelihood.task import Answer, Task
from neglog.typing import Numbers


@dataclass(frozen=True)
class Information:
    """Standard errors of coefficients (outputs, columns), intercepts (outputs,) and open parameters of the noise. The
    outputs are the classes, or the location and what is modelled.
    """

    coefficients: Numbers
    intercepts: Numbers
    noise: dict[str, float]
    covariance: Numbers  # of the coefficients in the core's order, without the response
    places: Numbers | None = None  # those that it is of, if not of all


@one_blas_thread
def information_of(task: Task, answer: Answer) -> Information:
    """From one more pass over the data."""
    with np.errstate(all="ignore"):  # of what is beyond the range of numbers nothing is known
        return _information_of(task, answer)


def _information_of(task: Task, answer: Answer) -> Information:
    joint = Joint(task, answer)
    return errors_of(joint, task, with_drift(answer, posterior_covariance(joint)))


def errors_of(joint: Joint, task: Task, covariance: Numbers) -> Information:
    """The standard errors that belong to a covariance of coefficients and raw parameters."""
    answer, n = joint.answer, len(joint.answer.theta)
    noise = joint.task.target.errors(answer.noise, _of_noise(joint, covariance))
    if answer.at_limit:  # of a parameter at its limit nothing is known but that
        noise = {name: noise.get(name, np.nan) for name in task.target.open}
    coefficients, intercepts = _public_errors(task, covariance[:n, :n])
    return Information(coefficients, intercepts, noise, covariance[:n, :n])


def with_drift(answer: Answer, covariance: Numbers) -> Numbers:
    """With what scales of terms leave open, where they were learned."""
    if answer.drift is None:
        return covariance
    covariance, n = covariance.copy(), len(answer.theta)
    covariance[:n, :n] += answer.drift @ answer.drift.T
    return covariance


@one_blas_thread
def shifted_noise_errors(joint: Joint, covariance: Numbers, shift: Numbers) -> dict[str, float]:
    """Of what a noise estimates in the place of an intercept, less these parts of the coefficients of the columns."""
    with np.errstate(all="ignore"):
        return joint.task.target.errors(joint.answer.noise, _of_noise(joint, covariance, shift))


def posterior_covariance(joint: Joint, *, pseudo: bool = False) -> Numbers:
    """Of coefficients and raw parameters; unknown where there is no maximum. Directions without information are
    infinite, or left out (`pseudo`).
    """
    answer = joint.answer
    if answer.degenerate:
        return np.full((len(answer.theta) + len(joint.names),) * 2, np.nan)
    free = np.append(free_coefficients(joint.task, answer), np.ones(len(joint.names), bool))
    return inverse(joint.curvature().matrix, free, joint.basis(), pseudo=pseudo)


def _of_noise(joint: Joint, covariance: Numbers, shift: Any = 0.0) -> Numbers:
    """The covariance of the raw parameters of the noise, as they belong to columns that are not centred; the first less
    these parts of the coefficients.
    """
    n = len(covariance) - len(joint.names)
    own, turn = covariance[n:, n:], joint.public_matrix()[n:]
    if len(turn):
        turn[0, joint.task.engine.places] -= shift
    used = np.flatnonzero(np.abs(turn).sum(axis=0))
    if len(used) and used[0] < n:
        moved = covariance[np.ix_(used, used)]
        own = np.where(np.isnan(own), np.nan, turn[:, used] @ np.where(np.isnan(moved), 0.0, moved) @ turn[:, used].T)
    return own


def free_coefficients(task: Task, answer: Answer) -> Numbers:
    """Coefficients that may move a little: not those that a Laplace prior holds at its kink."""
    penalty = task.penalty
    return np.asarray((penalty.strength == 0) | (answer.theta[: len(penalty.strength)] != penalty.kink))


def inverse(hessian: Numbers, free: Numbers, basis: Numbers | None = None, *, pseudo: bool = False) -> Numbers:
    """The inverse over the free coefficients, NaN for the others.

    In directions without information the variance is infinite, or left out (`pseudo`). With a basis only directions in
    its span count: that classes may all be shifted alike says nothing about coefficients that sum to 0.
    """
    full = np.full(hessian.shape, np.nan)
    if not free.any() or not np.isfinite(hessian).all():  # nothing is free, or a fit ended where nothing is finite
        return full
    inside = hessian[np.ix_(free, free)]
    if basis is not None:
        inside = basis[free].T @ inside @ basis[free]
    scale = 1 / np.sqrt(np.where(inside.diagonal() > 0, inside.diagonal(), 1.0))
    values, vectors = np.linalg.eigh(inside * scale * scale[:, None])
    known = values > 1e-11 * max(1.0, values[-1])
    spread, open_ended = scale[:, None] * vectors, np.abs(vectors[:, ~known])
    if basis is not None:
        spread, open_ended = basis[free] @ spread, np.abs(basis[free] @ vectors[:, ~known])
    covariance = (spread[:, known] / values[known]) @ spread[:, known].T
    lost = (open_ended > 1e-6).any(axis=1)
    if not pseudo:
        covariance[lost, lost] = np.inf
    full[np.ix_(free, free)] = covariance
    return full


def _public_errors(task: Task, covariance: Numbers) -> tuple[Numbers, Numbers]:
    engine = task.engine
    outputs, columns = engine.loss.outputs, engine.columns
    variances = covariance.diagonal().reshape(outputs, columns)
    coefficients = np.sqrt(variances[:, engine.places])
    intercepts = np.full(outputs, np.nan)
    if engine.intercept:
        rows = np.zeros((outputs, len(covariance)))
        for k in range(outputs):
            rows[k, k * columns] = 1.0
            rows[k, k * columns + engine.places] = -engine.centre
        if engine.loss.classes > 1:
            rows -= rows.mean(axis=0)  # of classes only differences count
        for k, row in enumerate(rows):
            used = row != 0
            part = covariance[np.ix_(used, used)]
            held = np.isnan(part.diagonal())  # coefficients at a kink do not move
            part = np.where(held[:, None] | held, 0.0, part)
            own = covariance[k * columns, k * columns]
            intercepts[k] = np.nan if np.isnan(own) else np.sqrt(row[used] @ part @ row[used])
    return coefficients, intercepts
