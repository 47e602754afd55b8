"""How sure the estimates are: the inverse of the observed information, prior included.

A loss without second derivatives, as Laplace noise has it, has its expected information in their place: w (p / scale)^2
x x' for a row, and w for log scale.
"""

from dataclasses import dataclass, replace

import numpy as np

from neglog.distributions.arrays import Numbers
from neglog.engines.blas import one_blas_thread
from neglog.likelihood.joint import Joint
from neglog.likelihood.targets import HuberTarget
from neglog.likelihood.task import Answer, Task
from neglog.likelihood.tweedie import Compound
from neglog.likelihood.tweedie_errors import power_errors
from neglog.solvers.objective import Objective


@dataclass(frozen=True)
class Information:
    """Standard errors of coefficients (classes, columns), intercepts (classes,) and parameters of the noise."""

    coefficients: Numbers
    intercepts: Numbers
    noise: dict[str, float]
    covariance: Numbers  # of the coefficients in the core's order, without the response


@one_blas_thread
def information_of(task: Task, answer: Answer) -> Information:
    """From one more pass over the data."""
    with np.errstate(all="ignore"):  # of what is beyond the range of numbers nothing is known
        return _information_of(task, answer)


def _information_of(task: Task, answer: Answer) -> Information:
    target = task.target
    noise: dict[str, float] = {}
    if answer.degenerate:
        covariance, noise = np.full((len(answer.theta),) * 2, np.nan), dict.fromkeys(target.open, np.nan)
    elif not target.bends or (isinstance(target, HuberTarget) and target.open):
        covariance, noise = _with_parameters(task, answer)
    elif target.open:
        covariance, noise = _with_dispersion(task, answer)
    else:
        objective = _objective_at(task, answer)
        objective.gauge = None
        point = objective.at(answer.theta, True)
        assert point.hessian is not None
        covariance = inverse(point.hessian, _free(task, answer), Joint(task, answer).basis())
    coefficients, intercepts = _public_errors(task, covariance)
    return Information(coefficients, intercepts, noise, covariance)


def _objective_at(task: Task, answer: Answer) -> Objective:
    if isinstance(task.target, Compound) and "dispersion" in task.target.open:  # which is best near the one found
        target = task.target.at_power(answer.noise.power, float(np.log(answer.noise.dispersion)))
        task = replace(task, target=target, engine=answer.engine)
    elif isinstance(task.target, Compound) and task.target.open:
        target = task.target.at_power(answer.noise.power)
        task = replace(task, target=target, engine=answer.engine)
    objective = task.objective(answer.engine)
    objective.expected = False
    return objective


def _free(task: Task, answer: Answer) -> Numbers:
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
    classes, columns = engine.loss.classes, engine.columns
    variances = covariance.diagonal().reshape(classes, columns)
    coefficients = np.sqrt(variances[:, engine.places])
    intercepts = np.full(classes, np.nan)
    if engine.intercept:
        rows = np.zeros((classes, len(covariance)))
        for k in range(classes):
            rows[k, k * columns] = 1.0
            rows[k, k * columns + engine.places] = -engine.centre
        if classes > 1:
            rows -= rows.mean(axis=0)  # of classes only differences count
        for k, row in enumerate(rows):
            used = row != 0
            part = covariance[np.ix_(used, used)]
            held = np.isnan(part.diagonal())  # coefficients at a kink do not move
            part = np.where(held[:, None] | held, 0.0, part)
            intercepts[k] = np.nan if np.isnan(covariance[0, 0]) else np.sqrt(row[used] @ part @ row[used])
    return coefficients, intercepts


def _with_dispersion(task: Task, answer: Answer) -> tuple[Numbers, dict[str, float]]:
    """Coefficients and t = log dispersion at once; then the parameter by its derivative in t."""
    loss, gradient, gram = answer.engine.evaluate(answer.theta, True)
    assert gram is not None
    profile = _objective_at(task, answer).dispersion.profile(loss)
    slope, n = np.float64(profile.slope), len(gradient)  # whose square may be beyond the range of numbers
    hessian, free = slope * gram + np.diag(task.penalty.bend), _free(task, answer)
    result: dict[str, float] = {}
    if profile.bend:
        # F_tt from d2/dU2 of the minimum: -slope^2 / F_tt; and F_t,theta = -slope * gradient
        cross = -slope * gradient
        hessian = np.block([[hessian, cross[:, None]], [cross, slope**2 / -profile.bend]])
        free = np.append(free, True)
    covariance = inverse(hessian, free)
    if profile.bend:
        result = _in_parameters(answer, float(np.sqrt(covariance[n, n])))
    covariance = covariance[:n, :n]
    if isinstance(task.target, Compound) and task.target.noise.power is None:
        result |= power_errors(task, answer, covariance, result.get("dispersion"))
    return covariance, {name: result.get(name, np.nan) for name in task.target.open}


def _in_parameters(answer: Answer, error: float) -> dict[str, float]:
    """d parameter / dt times the error of t = log dispersion."""
    noise = answer.noise
    match noise._family():
        case "gaussian" | "lognormal":
            return {"scale": 0.5 * noise.scale * error}
        case "gamma":
            return {"shape": noise.shape * error}
    return {"dispersion": noise.dispersion * error}


def _with_parameters(task: Task, answer: Answer) -> tuple[Numbers, dict[str, float]]:
    """Of noises whose parameters are part of the loss: all at once, then the parameters from their logarithms."""
    joint = Joint(task, answer)
    free = np.append(_free(task, answer), np.ones(len(joint.names), bool))
    covariance = inverse(joint.curvature().matrix, free)
    n = len(answer.theta)
    logarithms = np.sqrt(covariance.diagonal()[n:])
    errors = {name: float(getattr(answer.noise, name) * e) for name, e in zip(joint.names, logarithms, strict=True)}
    return covariance[:n, :n], errors
