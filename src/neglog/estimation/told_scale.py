"""Scales that are told by something else than the likelihood, which gross errors spoil, and which few rows make too
small: by the median absolute residual, by Huber's proposal 2, or by the squares over the rows less the coefficients,
which is the restricted likelihood of Gaussian noise (Patterson and Thompson 1971, Biometrika 58, 545-554). Scale and
coefficients settle together: the fit under a scale leaves residuals, these tell the scale, until it stays.

Huber (1964), Ann. Math. Statist. 35, 73-101, proposal 2; Huber and Ronchetti (2009), Robust Statistics, sections 6.7-8.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from neglog.belief.standard_errors import free_coefficients, posterior_covariance
from neglog.distributions.censored import Cells
from neglog.distributions.lazy import special
from neglog.likelihood.joint import Joint
from neglog.likelihood.task import Answer, Task
from neglog.typing import Numbers

QUARTILE = 0.6745  # of the standard Gaussian, as other programs have it
SETTLED = 1e-10  # of a scale: less is no change
CLOSE = 1e-2  # of the tolerance of the fit, beside that
NOTHING = 1e-13  # of the largest y: residuals below this are rounding
ROUNDS = 200
DAMPED = 40  # rounds after which each goes half the way
FARTHER = 20.0  # times the plain step: a line through two rounds tells nothing that is farther
WIDE = 100.0  # times the farthest y: under such a scale all errors are squared, which is where the search begins

Solve = Callable[[Task], tuple[Task, Answer, Any]]


def refuse_untold(noise: Any) -> None:
    """The scale tells nothing about a threshold that is open, too."""
    left = [name for name in (*noise.unknown, *noise.modelled) if name not in noise.told]
    if left:
        name, way = next(iter(noise.told.items()))
        raise ValueError(
            f"{noise!r}: {name}={way!r} is told by residuals, whatever else is open: state {', '.join(left)}, too"
        )


def settled(task: Task, name: str, way: str, solve: Solve) -> tuple[Task, Answer, Any]:
    """The task with the scale stated at which it stays, and its answer."""
    if isinstance(task.target.raw, Cells):
        raise ValueError(
            f"{name}={way!r} is told by residuals, which cells do not have; state a number, or {name}=None"
        )
    y = task.target.raw
    size = float(np.max(np.abs(y)))
    x = float(np.log(WIDE * np.max(np.abs(y - np.median(y))) or 1.0))
    enough, rounds = max(SETTLED, CLOSE * task.tol), 0
    before: tuple[float, float] | None = None
    while True:
        here, answer, prior = solve(_at(task, name, float(np.exp(x))))
        found = WAYS[way](here, answer, float(np.exp(x)))
        if not found > NOTHING * size:
            raise ValueError(
                f"{name}={way!r} is told by the residuals, but "
                f"{'half of them are' if way == 'mad' else 'all of them are'} 0; state a number"
            )
        away, rounds = float(np.log(found)) - x, rounds + 1
        if not np.isfinite(away) or abs(away) < enough or rounds == ROUNDS:
            break
        x, before = x + _step(x, away, before, rounds), (x, away)
    if way == "reml":
        answer.told, answer.integrated = (name,), "all"
    if not abs(away) < enough:
        answer.converged = False
        answer.notes.append(f"The scale and the coefficients did not settle in {rounds} rounds; state {name}=....")
    return here, answer, prior


def _step(x: float, away: float, before: tuple[float, float] | None, rounds: int) -> float:
    """How far the log of the scale goes: to where the line through this round and the one before says that it stays;
    at first, and where that line says little, to where the residuals are; half the way where a median jumps.
    """
    if rounds > DAMPED:
        return 0.5 * away
    if before is None or x == before[0]:
        return away
    slope = (away - before[1]) / (x - before[0])
    step = -away / slope if slope < 0 else away
    return step if 0 < step / away < FARTHER else away


def note_of(noise: Any, name: str, way: str) -> str:
    """What is said of the scale of a fit."""
    value = f"{name}: {getattr(noise, name):.6g} by"
    if way == "reml":
        return f"{value} the squares over the rows less the coefficients (reml); the nll is not at its least there"
    by = "the median absolute residual (mad)" if way == "mad" else "Huber's proposal 2"
    return f"{value} {by}; nats, errors and posteriors are those of a stated {name}"


def _at(task: Task, name: str, scale: float) -> Task:
    """The same question with the scale stated."""
    target = task.target.with_noise(task.target.noise.with_(**{name: scale}))
    return replace(task, target=target, engine=task.engine.with_target(target))


def _residuals(task: Task, answer: Answer) -> Numbers:
    """Of rows of precision 1."""
    target = task.target
    location = np.asarray(target.noise.link.inverse(task.engine.predict(answer.theta)))
    away = np.abs(target.raw - location)
    return np.asarray(away if target.p is None else away * np.sqrt(target.p))


def _median(task: Task, answer: Answer, scale: float) -> float:
    return weighted_median(_residuals(task, answer), task.target.w) / QUARTILE


def weighted_median(values: Numbers, w: Numbers | None) -> float:
    """A row of weight 2 counts as two."""
    if w is None:
        return float(np.median(values))
    order = np.argsort(values)
    below = np.cumsum(w[order])
    half = 0.5 * below[-1]
    first = int(np.searchsorted(below, half * (1 - 1e-12)))
    second = int(np.searchsorted(below, half * (1 + 1e-12), side="right"))
    return float(0.5 * (values[order[first]] + values[order[min(second, len(order) - 1)]]))


def _proposal2(task: Task, answer: Answer, scale: float) -> float:
    """The root for these residuals, from above: sum min(r^2, (delta s)^2) = (n - k) E[min(z^2, delta^2)] s^2."""
    delta, target = float(task.target.noise.delta), task.target
    inside = 2 * special.ndtr(delta) - 1
    density = np.exp(-0.5 * delta**2) / np.sqrt(2 * np.pi)
    # of a delta that is infinite all squares count
    wanted = inside + (delta**2 * (1 - inside) - 2 * delta * density if np.isfinite(delta) else 0.0)
    squares, rows = _residuals(task, answer) ** 2, target.total() - _counted(task, answer)
    if not rows > 0:
        return 0.0
    s = scale**2
    for _ in range(10 * ROUNDS):
        found = target.total(np.minimum(squares, delta**2 * s)) / (rows * wanted)
        if not found > 0 or abs(np.log(found / s)) < 0.1 * SETTLED:
            return float(np.sqrt(found))
        s = found
    return float(np.sqrt(s))


def _squares(task: Task, answer: Answer, scale: float) -> float:
    """Over the rows that are left when each coefficient has taken one."""
    target = task.target
    losses = np.asarray(target.noise.loss_at(task.engine.predict(answer.theta), target.raw))
    left = target.total() - _counted(task, answer)
    return float(np.sqrt(target.total(losses if target.p is None else target.p * losses) / left)) if left > 0 else 0.0


def _counted(task: Task, answer: Answer) -> float:
    """How many coefficients the residuals have paid for, each by what a prior leaves of it."""
    free = free_coefficients(task, answer)
    bend = task.penalty.bend
    lost = 0 if answer.null is None else answer.null.shape[1]
    if answer.effective is not None:
        return float(np.sum(answer.effective[free]))
    if not bend.any():
        return float(np.count_nonzero(free) - lost)
    covariance = posterior_covariance(Joint(task, answer)).diagonal()
    return float(np.nansum(np.where(free, 1 - bend * covariance[: len(bend)], 0.0)) - lost)


WAYS: dict[str, Callable[[Task, Answer, float], float]] = {
    "mad": _median,
    "proposal2": _proposal2,
    "reml": _squares,
}
