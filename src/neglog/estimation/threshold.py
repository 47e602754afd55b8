"""A parameter of the noise that needs a search of its own: Huber's threshold."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from neglog.estimation.huber import has_vanished, solve_huber, solve_stated
from neglog.estimation.joint_newton import solve_joint
from neglog.likelihood.accelerated import HuberTarget
from neglog.likelihood.task import Answer, Task, sample_nll
from neglog.solvers import scalar
from neglog.typing import Numbers

# among which Huber's is looked for, in units of the scale; beyond the last the noise is Gaussian to eight digits
THRESHOLDS = (0.01, 0.03, 0.1, 0.2, 0.35, 0.55, 0.8, 1.1, 1.5, 2.1, 3.0, 4.2, 6.0)
SEVERAL_OPTIMA = 10_000  # rows up to which the nll may have several optima in the threshold that matter
FEW_ROWS, DENSE = 1_000, 40  # rows up to which so many thresholds are looked at
SEVERAL = 3  # optima that are followed to their ends


def solve_threshold(task: Task, target: HuberTarget, near: Answer | None = None) -> Answer:
    """Huber noise whose threshold is open; near the one of another answer, if there is one."""
    ends = low, high = float(np.log(THRESHOLDS[0])), float(np.log(THRESHOLDS[-1]))
    if near is None and not task.engine.streamed and task.engine.rows <= SEVERAL_OPTIMA:
        log_delta, answer = _best_threshold(task, target)
    else:
        first, step = float(np.log(1.345)), 0.3
        if task.engine.streamed:
            small = task.in_memory()
            assert isinstance(small.target, HuberTarget)
            rough = solve_threshold(small, small.target)
            first, step = float(np.log(rough.noise.delta)), 0.03
            if target.noise.scale is None and has_vanished(small.target, rough.noise.scale):
                return _at_threshold(task, target, first, None)[1]
        elif near is not None:
            first, step = float(np.log(near.noise.delta)), 0.1
            low, high = max(low, first - 1), min(high, first + 1)
        first = min(max(first, low + step), high - step)
        log_delta, answer = _searched(partial(_at_threshold, task, target), low, high, first, step, 0.01 * task.tol)
    if scalar.at_edge(log_delta, *ends):
        answer.converged = False
        answer.notes.append(
            f"Huber's threshold ended at {np.exp(log_delta):.3g}, the edge of the range in which it is looked for: "
            f"the noise looks {'Laplace' if log_delta < 0 else 'Gaussian'}; use that noise, or state delta=...."
        )
    elif near is not None and scalar.at_edge(log_delta, low, high):  # it is not near
        return solve_threshold(task, target)
    return answer


def _at_threshold(task: Task, target: HuberTarget, log_delta: float, last: Answer | None) -> tuple[float, Answer]:
    """The slope of the nll in the log of the threshold, and the answer there, from the one at another threshold."""
    delta = float(np.exp(log_delta))
    known = target.at_threshold(delta)
    here = replace(task, target=known, engine=task.engine.with_loss(known.loss))
    if known.is_convex_in_all(task.penalty):
        answer = solve_huber(here, known, last)
    elif known.open:
        answer = solve_joint(here, last)
    else:
        answer = solve_stated(here, known, None if last is None else last.theta)
    return delta * float(task.total(threshold_slope, answer.noise, answer.theta)), answer


def _best_threshold(task: Task, target: HuberTarget) -> tuple[float, Answer]:
    """The best of all optima that a grid of thresholds shows, each followed to its end, and of the ends of the grid."""

    def nats(answer: Answer) -> float:
        penalty = answer.penalty.quadratic(answer.theta)[0] + answer.penalty.absolute(answer.theta)
        value = float(task.total(sample_nll, answer.noise, answer.theta)) + penalty
        return value if np.isfinite(value) else np.inf

    rough = replace(task, tol=max(task.tol, 1e-4))
    dense = task.engine.rows <= FEW_ROWS and task.penalty.smooth
    grid = np.log(np.geomspace(THRESHOLDS[0], THRESHOLDS[-1], DENSE) if dense else THRESHOLDS)
    slopes: list[float] = []
    answers: list[Answer] = []
    last: Answer | None = None
    for x in grid[::-1]:  # from nearly Gaussian noise on, whose fit is the easiest
        slope, last = _at_threshold(rough, target, float(x), last)
        slopes.insert(0, slope)
        answers.insert(0, last)
        if not np.isfinite(slope) or has_vanished(target, last.noise.scale):
            return 0.0, last  # residuals of 0: no threshold is better than another
    values = [nats(answer) for answer in answers]
    optima = [i for i in range(len(grid) - 1) if slopes[i] < 0 <= slopes[i + 1]]
    optima.sort(key=lambda i: min(values[i], values[i + 1]))
    found = [(values[i], float(grid[i]), answers[i]) for i in (0, len(grid) - 1)]
    for i in optima[:SEVERAL]:
        low, high = float(grid[i]), float(grid[i + 1])
        at = partial(_at_threshold, task, target)
        begin = answers[i] if values[i] < values[i + 1] else answers[i + 1]
        middle = low - slopes[i] * (high - low) / (slopes[i + 1] - slopes[i])
        log_delta, answer = _searched(at, low, high, middle, 0.1 * (high - low), 0.01 * task.tol, begin)
        found.append((nats(answer), log_delta, answer))
    _, log_delta, answer = min(found, key=lambda one: one[0])
    answer.iterations += len(grid)
    return log_delta, answer


def threshold_slope(task: Task, noise: Any, theta: Numbers) -> float:
    """The derivative of the nll in Huber's threshold."""
    law = noise.with_precision(task.target.p).given(task.engine.predict(theta))
    return task.target.total(law.parameter_gradient(task.target.raw)["delta"])


def _searched(
    at: Callable[[float, Answer | None], tuple[float, Answer]],
    low: float,
    high: float,
    first: float,
    step: float,
    tol: float,
    near: Answer | None = None,
) -> tuple[float, Answer]:
    """The answer at the root of the slope; each fit starts from the one before, the first from one that is near."""
    answers: list[Answer] = []

    def slope(x: float) -> float:
        value, answer = at(x, answers[-1] if answers else near)
        answers.append(answer)
        return value

    found = scalar.root(slope, low, high, first, step, max(tol, 1e-10))
    answers[-1].iterations = len(answers)
    return found, answers[-1]
