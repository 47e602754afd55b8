"""Huber noise with its scale."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from neglog.distributions.arrays import Numbers
from neglog.engines.memory import Memory
from neglog.inference.answer import Answer, Task
from neglog.inference.general import answer_of, finish, solve_general, start
from neglog.inference.targets import HuberTarget
from neglog.solvers.concomitant import ConcomitantObjective
from neglog.solvers.newton import newton


def solve_huber(task: Task, target: HuberTarget) -> Answer:
    """With 1 / scale as the coefficient of y where that is possible: the objective is then convex in both."""
    if not task.penalty.smooth or target.noise.link.name != "identity":
        return _alternate_scale(task, target)
    wide = task.engine.with_loss(target.response_loss())
    place = wide.response_place
    known = task.in_memory().target.y
    residuals = known if wide.offset is None else known - wide.offset
    some = residuals[:: max(1, len(residuals) // 10_000)]
    centre = float(np.median(some)) if wide.intercept else 0.0
    spread = float(np.median(np.abs(some - centre))) or float(np.std(some)) or 1.0
    tau = 0.6745 / spread
    penalty = task.wide_penalty(wide)
    theta = (penalty.centre) * tau
    theta[place] = -tau
    if wide.intercept:
        theta[0] = centre * tau

    def objective(engine: Memory, part: slice | None) -> ConcomitantObjective:
        count = target.total() if part is None else task.weight_of(part)
        return ConcomitantObjective(engine, penalty, count, place, target.total() / count)

    matrix = None
    rows = task.sample()
    if rows is not None:
        first = newton(objective(wide.take(rows), rows), theta, 0.3, 50)
        theta, matrix = first.point.theta, None if first.null is not None else first.point.hessian
    solution = finish(objective(wide, None), theta, matrix, task.tol, task.max_iter)
    tau = -solution.point.theta[place]
    answer = answer_of(task, solution)
    answer.theta = np.delete(solution.point.theta, place) / tau
    answer.noise = target.noise._replaced(_scale=float(1 / tau))
    if answer.null is not None:
        answer.null = np.delete(answer.null, place, axis=0)
    return answer


def _alternate_scale(task: Task, target: HuberTarget) -> Answer:
    """Coefficients at the scale, scale at the coefficients, in turn."""
    theta = start(task)
    scale, delta = 0.0, target.noise.delta
    some = task.in_memory()
    residuals = some.target.y - some.engine.predict(theta)
    following = float(np.median(np.abs(residuals))) * 1.4826 or 1.0
    iterations = 0
    while True:
        scale = following
        known = target.with_noise(target.noise._replaced(_scale=scale))
        engine = task.engine.with_loss(known.loss)
        left = task.max_iter - iterations
        answer = solve_general(replace(task, target=known, engine=engine, max_iter=left), theta)
        theta, iterations = answer.theta, iterations + max(answer.iterations, 1)
        following = huber_scale(partial(task.total, scale_sums, theta, delta), target.total(), scale)
        answer.engine, answer.noise, answer.iterations = (
            task.engine,
            target.noise._replaced(_scale=following),
            iterations,
        )
        if abs(following / scale - 1) <= 1e-10 or iterations >= task.max_iter:
            answer.converged = answer.converged and abs(following / scale - 1) <= 1e-10
            return answer


def scale_sums(task: Task, theta: Numbers, delta: float, scale: float) -> tuple[float, float]:
    """Sums of z psi(z) and of its derivative in log(1 / scale), z = residual / scale."""
    target = task.target
    location = np.asarray(target.noise.link.inverse(task.engine.predict(theta)))
    z = (target.y - location) * (1.0 if target.p is None else np.sqrt(target.p)) / scale
    inside = np.abs(z) <= delta
    psi = np.where(inside, z, delta * np.sign(z))
    return target.total(z * psi), target.total(z * psi + np.where(inside, z**2, 0.0))


def huber_scale(sums: Callable[[float], tuple[float, float]], total: float, scale: float) -> float:
    """The root of mean(z psi(z)) = 1 in the scale, by Newton's method in 1 / scale."""
    for _ in range(100):
        value, tilt = sums(scale)
        following = scale / max(1 - (value - total) / tilt, 0.1)
        if abs(following / scale - 1) <= 1e-14:
            break
        scale = following
    return float(scale)
