"""Laplace noise, symmetric or not, with y in cells: the exact minimum, with its certificate.

Values among the cells are blurred first, each to a cell of its own: all is smooth then, and Newton's method takes
coefficients and scale at once. Values far from the solution so found stay on their side, and are a part of what is
smooth; those near it keep their kinks in a quadratic with absolute terms, whose minimum is the next point. It tells the
values that the solution passes through. On the plane where these are hit exactly Newton's method ends. Multipliers that
lie between the two slopes of each of them, and balance all other rows and the prior, prove it.

Steps are made in theta / scale and 1 / scale, in which the nll is convex: theta = theta0 + d / (1 + a) and
1 / scale = (1 + a) / scale0.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from neglog.estimation.joint_newton import begin_of, solve_joint
from neglog.estimation.open_directions import column_null
from neglog.estimation.smooth import solve_general, start
from neglog.likelihood.joint import joint_engine
from neglog.likelihood.kinked import KinkedCells
from neglog.likelihood.task import Answer, Task
from neglog.solvers.kinked_quadratic import Balance, Terms, least
from neglog.solvers.systems import newton_step
from neglog.streaming.pieces import PieceTask, Streamed, StreamedTask
from neglog.typing import Numbers

WIDEST = 0.5  # of the scale: half the width of the first cells
NARROWER = 0.2  # from one round to the next
FINEST = 1e-3  # of the scale: less is gained by narrower ones
ROUGH = 1e-2  # posterior standard deviations from their optimum that do
BLURRED = 6  # rounds at most
BAND = 4.0  # times what predictions may be off by: values this near keep their kinks
MOST_NUMBERS = 30_000_000  # that these values may be
ROUNDS = 40
STEPS = 30  # of Newton's method on the plane
SHORTER = (1.0, 0.5, 0.1, 0.01, 1e-3)  # lengths of steps that are tried
DAMPED = 1e-6  # of the information of values, at least: what steps are held together by where nothing bends
STIFFEST = 1e6  # of it, at most
EXACT = 1e-8  # what may be left of the slopes, relative to what was summed
SETTLED = 1e-9  # posterior standard deviations to the optimum on the plane
STRAIGHT = 1e-10  # of the largest curvature: what is less is none
ROOM = 1e-3  # of the distance between the slopes: every multiplier may move so much
RANK = 1e-9  # singular values, of columns of one size, that are 0
ROUNDING = 1e4 * np.finfo(float).eps  # of what was summed for a residual
LOST = 1e-13  # of the numbers summed: what the objective may be off by


@dataclass(frozen=True)
class Certificate:
    """Why nothing is better: values that are hit exactly, and how hard they pull."""

    tied: Numbers
    """The rows whose residual is zero, but for rounding."""
    tied_dual: Numbers
    """Their multipliers, in units of w p / scale: between -b and a, the slopes of the loss."""
    infeasibility: float
    """What the multipliers leave of the slopes in a coefficient, or in the log of the scale, relative to what was
    summed there."""


@dataclass(frozen=True)
class Held:
    """Absolute terms: values, then coefficients under a Laplace prior."""

    X: Numbers
    y: Numbers
    weight: Numbers  # at scale 1
    of_rows: Numbers  # a mask: these are divided by the scale
    above: Numbers
    below: Numbers
    numbers: Numbers  # of the rows, or minus one minus those of the coefficients
    u: Numbers  # multipliers between the slopes, as far as they are known

    def force(self, scale: float) -> Numbers:
        """By which a multiplier counts."""
        return np.where(self.of_rows, self.weight / scale, self.weight)

    def kept(self, chosen: Numbers) -> "Held":
        """Some of them."""
        return Held(*(getattr(self, name)[chosen] for name in self.__dataclass_fields__))


@dataclass(frozen=True)
class Point:
    """Coefficients and open parameters, with the derivatives in (d, a) of what is smooth there."""

    theta: Numbers
    v: Numbers
    value: float
    gradient: Numbers
    hessian: Numbers

    def moved(self, step: Numbers) -> tuple[Numbers, Numbers] | None:
        """Theta and v after a step in (d, a); None where there is no such scale."""
        n = len(self.theta)
        stretch = 1.0 + float(np.sum(step[n:]))
        if not stretch > 0:
            return None
        return self.theta + step[:n] / stretch, self.v - np.log(stretch)


def solve_kinked_cells(task: Task, near: Answer | None = None) -> Answer:
    """The exact minimum, from the answer to a question like this one if there is one."""
    if not task.engine.width or not task.total(count_values):
        return _smooth(task, near)
    near, off = _blurry(task, near)
    unit = 1 / np.sqrt(np.maximum(task.total(squared_columns), np.finfo(float).tiny))
    theta, v = near.theta, task.target.raw_of(near.noise)
    band, damping, decrement = BAND * off, DAMPED, np.inf
    for count in range(1, ROUNDS + 1):
        scale = task.target.at(v).scale
        held = _held(task, theta, band)
        stiff = damping * np.append((unit * scale) ** -2, np.full(len(v), task.target.total()))
        point = _at(task, theta, v, band, held)
        balance = _balance(point, held, scale, stiff)
        if balance is None:
            break
        answer = _finished(task, point, balance, replace(held, u=balance.u / held.force(scale)), unit)
        if answer is not None:
            answer.iterations = near.iterations + count
            answer.null = None if near.null is None else column_null(task)
            return answer
        decrement = float(np.sqrt(abs(balance.x @ point.hessian @ balance.x)))
        theta, v, length = _lowered(task, point, balance.x)
        if length == 1.0:
            damping = max(damping / 10, DAMPED)
        elif damping > STIFFEST:
            break
        else:
            damping, band = (10 if length else 1000) * damping, 4 * band
    noise = task.target.at(v)
    engine = task.engine.with_target(task.target.with_noise(noise))
    iterations = near.iterations + count
    return Answer(theta, noise, False, iterations, decrement, engine, task.penalty, near.null, stuck=True)


def _lowered(task: Task, point: Point, step: Numbers) -> tuple[Numbers, Numbers, float]:
    """Where a step, or a part of it, lowers the objective, and how much of it that is."""
    before = _value(task, point.theta, point.v)
    for length in SHORTER:
        moved = point.moved(length * step)
        if moved is not None and _value(task, *moved) < before:
            return *moved, length
    return point.theta, point.v, 0.0


# ---- the start -------------------------------------------------------------------------------------------------------


def _smooth(task: Task, near: Answer | None) -> Answer:
    """By Newton's method, with the scale if that is open."""
    if task.target.open:
        return solve_joint(task, near)
    return solve_general(task, None if near is None else near.theta)


def _blurry(task: Task, near: Answer | None) -> tuple[Answer, float]:
    """The minimum with values as cells that are about as wide as predictions are uncertain; and that width."""
    target, n = task.target, task.engine.coefficients
    fine = np.sqrt(n / target.total())
    if near is not None:
        return near, fine * near.noise.scale
    theta = begin_of(task) if target.open else start(task)
    noise = target.at(theta[n:])
    near = Answer(theta[:n], noise, False, 0, np.inf, task.engine, task.penalty)
    half, iterations = WIDEST * noise.scale, 0
    for _ in range(BLURRED):
        found = _smooth(replace(_blurred(task, half), tol=max(task.tol, ROUGH)), near)
        iterations += found.iterations
        if not np.isfinite(found.theta).all():
            break
        near, scale = found, found.noise.scale
        if half <= 1.01 * max(fine, FINEST) * scale:
            break
        half *= NARROWER
        if target.open and scale < half:  # it vanishes within cells that are too wide, and has to come back
            near = replace(near, noise=near.noise.estimated(scale=half))
        scale = near.noise.scale
        half = max(min(half, WIDEST * scale), min(fine, WIDEST) * scale)
    return replace(near, iterations=iterations), max(fine * near.noise.scale, half)


def _blurred(task: Task, half: float) -> Task:
    """The same question with cells of this half width in the place of values."""
    assert isinstance(task.target, KinkedCells)
    target = task.target.blurred(half)
    if isinstance(task, StreamedTask):
        small = _blurred(task.small, half)
        assert isinstance(small, PieceTask)
        return replace(task, target=target, small=small, engine=Streamed(small, task.pieces, target, task.engine.rows))
    return replace(task, target=target, engine=task.engine.under(target.loss, target.y, target.weight))


# ---- values with their kinks -----------------------------------------------------------------------------------------


def _held(task: Task, theta: Numbers, band: float) -> Held:
    """The values within the band, and all that a Laplace prior holds."""
    penalty, slopes = task.penalty, task.target.noise.kink_slopes
    count, *parts = task.total(rows_within, theta, band, MOST_NUMBERS // task.engine.width)
    X, y, weight, numbers = (np.concatenate(part) for part in parts)
    if len(y) < count:
        raise MemoryError(
            f"an exact fit of {type(task.target.noise).__name__} noise would keep {count:,} of {task.engine.rows:,} "
            "rows in memory, as many have the same y or are near it; use fewer rows, or StudentT or Huber noise"
        )
    prior = np.flatnonzero(penalty.strength)
    above, below = (np.append(np.full(count, slope), np.ones(len(prior))) for slope in slopes)
    return Held(
        np.concatenate([X, np.eye(len(theta))[prior]]),
        np.append(y, penalty.kink[prior]),
        np.append(weight, penalty.strength[prior]),
        np.append(np.ones(count, bool), np.zeros(len(prior), bool)),
        above,
        below,
        np.append(numbers, -1 - prior),
        0.5 * (above - below),
    )


def _at(task: Task, theta: Numbers, v: Numbers, band: float, held: Held) -> Point:
    """All but the values that are this near to their predictions, and what of the prior is held."""
    penalty, n = task.penalty, len(theta)
    value, first, second, weight = task.total(sums_apart, theta, v, band)
    extra, pull = penalty.quadratic(theta)
    free = penalty.strength.copy()
    free[-1 - held.numbers[~held.of_rows]] = 0.0
    gradient, hessian = first.copy(), second.copy()
    gradient[:n] += pull + free * np.sign(theta - penalty.kink)
    gradient[n:] += weight  # the log of the scale
    value += extra + float(free @ np.abs(theta - penalty.kink)) + weight * float(v.sum())
    hessian[np.diag_indices(n)] += penalty.bend
    if len(v):  # from (theta, log scale) to (d, a)
        hessian[:n, n:] += gradient[:n, None]
        hessian[n:, :n] += gradient[:n]
        hessian[n:, n:] += gradient[n:]
        turn = np.append(np.ones(n), -np.ones(len(v)))
        gradient, hessian = turn * gradient, turn[:, None] * turn * hessian
    return Point(theta, v, float(value), gradient, hessian)


def _balance(point: Point, held: Held, scale: float, stiff: Numbers) -> Balance | None:
    """The minimum of the quadratic, held together by these curvatures, with the absolute terms as they are."""
    r, force = held.y - held.X @ point.theta, held.force(scale)
    along = np.where(held.of_rows, -r, 0.0)  # what is divided by the scale changes with it
    A = np.column_stack([held.X, *([along] if len(point.v) else [])])
    hessian = _convex(point.hessian) + np.diag(stiff)
    return least(hessian, point.gradient, Terms(A, r, force * held.above, force * held.below))


def _convex(hessian: Numbers) -> Numbers:
    """Without directions that bend downwards, which a prior may leave where the scale is open."""
    scale = 1 / np.sqrt(np.where(hessian.diagonal() > 0, hessian.diagonal(), 1.0))
    values, vectors = np.linalg.eigh(hessian * scale * scale[:, None])
    if not len(values) or values[0] >= -STRAIGHT * max(values[-1], 1.0):
        return hessian
    return np.asarray((vectors * np.abs(values)) @ vectors.T / scale / scale[:, None])


def _value(task: Task, theta: Numbers, v: Numbers) -> float:
    """The objective."""
    nats = float(task.total(nats_of, theta, v))
    value = nats + task.penalty.quadratic(theta)[0] + task.penalty.absolute(theta)
    return value if np.isfinite(value) else np.inf


# ---- on the plane ----------------------------------------------------------------------------------------------------


def _finished(task: Task, point: Point, balance: Balance, held: Held, unit: Numbers) -> Answer | None:
    """The minimum with some values hit exactly, if it can be proven to be that of all."""
    moved, held = point.moved(balance.x), held.kept(balance.through)
    while moved is not None:
        found = _on_plane(task, *moved, held, unit)
        if found is None:
            return None
        held, off = _balanced(task, found, held, unit)
        slack = EXACT * (held.above + held.below)
        inside = (held.u <= held.above + slack) & (held.u >= -held.below - slack)
        if inside.all():
            return _answer(task, found, held, off) if off <= EXACT else None
        held = held.kept(inside)
    return None


def _answer(task: Task, point: Point, held: Held, off: float) -> Answer:
    target, rows = task.target, held.of_rows
    noise = target.at(point.v)
    engine = task.engine.with_target(target.with_noise(noise))
    answer = Answer(point.theta, noise, True, 0, 0.0, engine, task.penalty)
    answer.certificate = Certificate(held.numbers[rows], np.clip(held.u, -held.below, held.above)[rows], off)
    return answer


def _on_plane(task: Task, theta: Numbers, v: Numbers, held: Held, unit: Numbers) -> Point | None:
    """The minimum among the points where all residuals are zero, if there are such and Newton's method finds it."""
    n, scale = len(theta), task.target.at(v).scale
    left, values, right = _decomposed(held.X * unit)
    rank = int(np.count_nonzero(values > RANK * np.max(values, initial=0.0)))
    kinked = np.zeros(n, bool)
    kinked[-1 - held.numbers[~held.of_rows]] = True

    def onto(theta: Numbers) -> Numbers:
        for _ in range(2):  # the second takes off what rounding left
            away = left[:, :rank].T @ (held.y - held.X @ theta) / values[:rank]
            theta = theta + unit * (right[:rank].T @ away)
        return np.where(kinked, task.penalty.kink, theta)

    theta = onto(theta)
    summed = np.abs(held.X) @ np.abs(theta) + np.abs(held.y)
    level = ROUNDING * (float(np.max(summed, initial=0.0)) + scale)
    if np.any(np.abs(held.y - held.X @ theta) > level):
        return None
    along = np.zeros((n + len(v), n - rank + len(v)))
    along[:n, : n - rank] = unit[:, None] * right[rank:].T
    along[n:, n - rank :] = np.eye(len(v))
    point = _at(task, theta, v, level, held)
    for _ in range(STEPS):
        if not np.isfinite(point.value):
            return None
        step = newton_step(along.T @ point.hessian @ along, along.T @ point.gradient)
        if not step.definite or step.leak > EXACT * np.sqrt(task.target.total()) / scale:
            return None
        following = None
        for length in SHORTER:
            moved = point.moved(length * (along @ step.x))
            if moved is None:
                continue
            following = _at(task, onto(moved[0]), moved[1], level, held)
            if following.value <= point.value + LOST * (abs(point.value) + task.engine.rows):
                break
        else:
            return None
        assert following is not None
        point = following
        if step.decrement <= SETTLED:
            return point
    return None


def _decomposed(X: Numbers) -> tuple[Numbers, Numbers, Numbers]:
    """Its singular vectors and values, of the right ones all, of the left ones as many as there are values."""
    if not len(X):
        return np.empty((0, 0)), np.empty(0), np.eye(X.shape[1])
    turn, triangle = np.linalg.qr(X)
    left, values, right = np.linalg.svd(triangle)
    return turn @ left[:, : len(values)], values, right


def _balanced(task: Task, point: Point, held: Held, unit: Numbers) -> tuple[Held, float]:
    """Multipliers that balance all other slopes, of all such those next to what they were, as far as each has room; and
    what they leave, relative to what was summed.
    """
    n, scale, total = len(point.theta), task.target.at(point.v).scale, task.target.total()
    rows = held.X * unit * held.force(scale)[:, None]
    room = np.maximum(np.minimum(held.above - held.u, held.u + held.below), ROOM * (held.above + held.below))
    u, wanted = held.u, unit * point.gradient[:n]
    for _ in range(2 if len(u) else 0):  # the second takes off what rounding left
        u = u + room * np.linalg.lstsq((rows * room[:, None]).T, wanted - rows.T @ u, rcond=RANK)[0]
    left = np.abs(wanted - rows.T @ u) * scale / np.sqrt(total)
    off = max(float(np.max(left, initial=0.0)), float(np.max(np.abs(point.gradient[n:]), initial=0.0)) / total)
    return replace(held, u=u), off


# ---- functions of a piece --------------------------------------------------------------------------------------------


def _target(task: Task) -> KinkedCells:
    assert isinstance(task.target, KinkedCells)
    return task.target


def count_values(task: Task) -> int:
    """How many rows are values."""
    return int(np.count_nonzero(_target(task).values))


def squared_columns(task: Task) -> Numbers:
    """The sum of w (p x)^2 of each column."""
    target, engine = _target(task), task.engine
    weight = target.counts * target.sharpness**2
    return engine.with_rows(np.zeros(engine.rows), weight).moments().diagonal()[:-1].copy()


def nats_of(task: Task, theta: Numbers, v: Numbers) -> float:
    """The nll of the rows."""
    return joint_engine(task.engine, task.target).evaluate(np.append(theta, v), False)[0]


def rows_within(task: Task, theta: Numbers, band: float, most: int) -> tuple[Any, ...]:
    """The values that are this near to their predictions, unless they are too many: how many; dense, y less the offset,
    w p, and their numbers.
    """
    target, engine = _target(task), task.engine
    near = np.flatnonzero(target.values & (np.abs(target.y - engine.predict(theta)) <= band))
    count, near = len(near), near if len(near) <= most else near[:0]
    y = target.y if engine.offset is None else target.y - engine.offset
    numbers = task.numbers if isinstance(task, PieceTask) else np.arange(engine.rows)
    weight = target.counts * target.sharpness
    return count, [engine.dense_rows(near)], [y[near]], [weight[near]], [numbers[near]]


def sums_apart(task: Task, theta: Numbers, v: Numbers, band: float) -> tuple[float, Numbers, Numbers | None, float]:
    """The nll and its derivatives in (theta, v) of all rows but the values that are this near to their predictions, and
    what those count.
    """
    target, engine = _target(task), task.engine
    held = target.values & (np.abs(target.y - engine.predict(theta)) <= band)
    apart = engine.under(target.joint_loss(), target.joint_y, np.where(held, 0.0, target.counts))
    return *apart.evaluate(np.append(theta, v), True), float(np.sum(target.counts[held]))
