"""Huber noise: its scale, stated or fitted."""

from dataclasses import replace

import numpy as np

from neglog.engines.memory import Memory
from neglog.estimation.smooth import answer_of, finish, solve_general, start
from neglog.likelihood.accelerated import HuberTarget
from neglog.likelihood.task import Answer, Task
from neglog.solvers.concomitant import ConcomitantObjective
from neglog.solvers.lasso import proximal_newton
from neglog.solvers.newton import newton
from neglog.solvers.penalty import Penalty
from neglog.solvers.systems import newton_step
from neglog.typing import Numbers

NEARLY_ALL = 1e-3  # of the spread of y: what is left of it where columns explain the rest
EXACT = 1e-13  # of that spread: what is left where they explain everything
MANY = 40  # coefficients from which on it pays to begin at least squares
NARROW = 0.3  # of the median residual: rows beyond a smaller threshold have no curvature to step by
TIGHTER = 0.1  # each threshold beside the one before, on the way to a narrow one
SUSPICIOUS = 1e-3  # of a first guess: whether a scale below this explains the residuals is worth a pass


def solve_stated(task: Task, target: HuberTarget, theta: Numbers | None = None) -> Answer:
    """With its scale stated. Where the threshold is small beside the residuals, by way of wider ones.

    scale and delta both times k leave the straight tails as they are and widen the parabola between them by k^2: the
    minimum moves little from one k to the next, and each is a few steps from the one before.
    """
    if theta is not None:
        return solve_general(task, theta)
    some = task.in_memory()
    theta, steps = start(some), 0
    engine, y, p = some.engine, some.target.y, some.target.p
    rows = some.sample() or slice(None)
    if rows != slice(None):
        engine, y, p = engine.take(rows), y[rows], None if p is None else p[rows]
    link, delta, scale = target.noise.link, target.noise.delta, target.noise.scale
    away = np.abs(y - np.asarray(link.inverse(engine.predict(theta)))) * (1.0 if p is None else np.sqrt(p))
    wide, threshold = float(np.median(away)), float(delta * scale)
    while np.isfinite(wide) and threshold < NARROW * wide:
        k = (wide / threshold) ** 0.5
        known = some.target.with_noise(target.noise.estimated(scale=scale * k, delta=delta * k))
        objective = replace(some, target=known).objective(engine.with_loss(known.taken(rows).loss), rows)
        first = (newton if task.penalty.smooth else proximal_newton)(objective, theta, 0.3, 25)
        if not np.isfinite(first.point.value):
            break
        theta, steps, wide = first.point.theta, steps + first.iterations, wide * TIGHTER
    answer = solve_general(task, theta)
    answer.iterations += steps
    return answer


def solve_huber(task: Task, target: HuberTarget, near: Answer | None = None) -> Answer:
    """With 1 / scale as the coefficient of y, which makes the objective convex (`HuberTarget.is_convex_in_all`). From
    the answer to a question like this one, if it is given.
    """
    answer = _with_response(task, target, near)
    if task.engine.streamed or (answer.converged and answer.null is None):
        return answer
    return _of_residuals(task, target) or answer


def _of_residuals(task: Task, target: HuberTarget) -> Answer | None:
    """The fit of what least squares leave of y, for a y that the columns explain nearly all of, so that it is collinear
    with them but for rounding; None if it is not better.
    """
    engine, penalty = task.engine, task.penalty
    gram = engine.moments()
    if not np.isfinite(gram).all():
        return None
    least = newton_step(gram[:-1, :-1], -gram[:-1, -1]).x
    left = engine.y - engine.predict(least)
    typical = float(np.median(np.abs(left)))
    spread = float(np.median(np.abs(engine.y - np.median(engine.y))))
    if not EXACT * spread < typical < NEARLY_ALL * spread:
        return None
    rest = target.of_rows(left, target.w, target.p)
    rows = Memory(
        engine.design, left, engine.weight, None, engine.loss, intercept=engine.intercept, centre=engine.centre
    )
    moved = Penalty(penalty.bend, penalty.centre - least, penalty.strength, penalty.kink)
    noise = target.noise.estimated(scale=typical / 0.6745)
    near = Answer(np.zeros_like(least), noise, False, 0, np.inf, rows, moved)
    answer = _with_response(replace(task, target=rest, engine=rows, penalty=moved), rest, near)
    if not answer.converged:
        return None
    return replace(answer, theta=answer.theta + least, engine=engine, penalty=penalty)


def _with_response(task: Task, target: HuberTarget, near: Answer | None) -> Answer:
    """Coefficients of the columns and of y."""
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
    if near is not None and not has_vanished(target, near.noise.scale):
        tau = 1 / near.noise.scale
        theta = np.insert(near.theta * tau, place, -tau)

    def objective(engine: Memory, part: slice | None) -> ConcomitantObjective:
        count = target.total() if part is None else task.weight_of(part)
        return ConcomitantObjective(engine, penalty, count, place, target.total() / count)

    matrix = None
    rows = task.sample() if near is None else None
    if near is None and task.engine.width > MANY and not wide.streamed:
        closer = _from_squares(task, rows, spread)
        if closer is not None:
            tau = 1 / closer[1]
            theta = np.insert(closer[0] * tau, place, -tau)
    if rows is not None:
        first = newton(objective(wide.take(rows), rows), theta, 0.3, 50)
        theta, matrix = first.point.theta, None if first.null is not None else first.point.hessian
    solution = finish(objective(wide, None), theta, matrix, task.tol, task.max_iter)
    tau = -solution.point.theta[place]
    answer = answer_of(task, solution)
    answer.theta = np.delete(solution.point.theta, place) / tau
    scale = float(1 / tau)
    if not answer.converged or scale < SUSPICIOUS * spread:  # it may be on its way to 0
        explained = task.total(scale_sums, answer.theta, target.noise.delta, scale)[0]
        if explained < 0.5 * target.total():
            scale, answer.converged = _vanished(target), False
    answer.noise = target.noise.estimated(scale=scale)
    if answer.null is not None:
        answer.null = np.delete(answer.null, place, axis=0)
    return answer


def _from_squares(task: Task, rows: slice | None, spread: float) -> tuple[Numbers, float] | None:
    """Least squares and the scale of what they leave, unless that is more than the median of y leaves: many columns may
    explain most of y, and from the median of y it is then a long way.
    """
    engine, share = task.engine, 1.0
    if rows is not None:
        engine, share = engine.take(rows), task.weight_of(rows) / task.target.total()
    gram, found = engine.moments(), None
    if not np.isfinite(gram).all():
        return None
    for _ in range(3):  # the less is left, the less the prior counts
        strength = share * (spread / 0.6745) ** 2 * task.penalty.bend
        right = gram[:-1, -1] + strength * task.penalty.centre
        theta = newton_step(gram[:-1, :-1] + np.diag(strength), -right).x
        left = float(np.median(np.abs(engine.y - engine.predict(theta))))
        if not 0 < left < spread:
            break
        found, spread = (theta, left / 0.6745), left
    return found


def _vanished(target: HuberTarget) -> float:
    """Stands for a scale of 0: too small beside y for any residual that is not an error of rounding."""
    return float(1e-18 * np.max(np.abs(target.y))) or 1e-320


def has_vanished(target: HuberTarget, scale: float) -> bool:
    """Whether a scale stands for 0: nothing is near it."""
    return not scale > 1e-16 * max(float(np.max(np.abs(target.y))), 1e-300)


def scale_sums(task: Task, theta: Numbers, delta: float, scale: float) -> tuple[float, float]:
    """Sums of z psi(z) and of its derivative in log(1 / scale), z = residual / scale."""
    target = task.target
    location = np.asarray(target.noise.link.inverse(task.engine.predict(theta)))
    z = (target.y - location) * (1.0 if target.p is None else np.sqrt(target.p)) / scale
    inside = np.abs(z) <= delta
    psi = np.where(inside, z, delta * np.sign(z))
    return target.total(z * psi), target.total(z * psi + np.where(inside, z**2, 0.0))
