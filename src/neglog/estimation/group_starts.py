"""Where the search of each group begins: what smooth.py and joint_newton.py do for one, for all at once."""

from typing import Any

import numpy as np

from neglog.distributions.arrays import all_finite
from neglog.engines.groups import ARRIVED, Held, search
from neglog.engines.memory import Loss
from neglog.estimation.joint_newton import AROUND
from neglog.estimation.rows_of_groups import Groups, of_rows, raw_predictions_of
from neglog.typing import Numbers

TYPICAL = 1.4826  # times the median distance from a prediction: the spread, where y is Gaussian
ROUGH = 0.1  # posterior standard deviations from the optimum that do for a start
SHORT = 25  # steps to it


def plain_starts(task: Groups) -> Numbers:
    """Where to begin if nothing is open. For squares the core takes one step from the mean."""
    if task.target.squares and task.engine.intercept:
        return np.tile(task.penalty.centre, (task.grouping.count, 1))
    return starts(task)


def starts(task: Groups) -> Numbers:
    """The intercept-only fit of each group, roughly, as `smooth.start` has it for one."""
    target, engine, grouping = task.target, task.engine, task.grouping
    link, low = target.noise.link, target.locations[0]
    theta = np.tile(task.penalty.centre, (grouping.count, 1))
    located = target.on_location_scale
    weight: Any = 1.0 if target.weight is None else target.weight
    if not all_finite(located):
        told = np.isfinite(located)
        located, weight = np.where(told, located, 0.0), np.where(told, weight, 0.0)
    total = grouping.sums(weight)
    middle = np.where(total > 0, grouping.sums(weight * located) / total, 1.0)
    if target.locations == (0.0, 1.0):
        margin = 0.5 / (task.weight + 1)
        middle = np.clip(middle, margin, 1 - margin)
    if not engine.intercept:
        if link.name in ("inverse", "sqrt") or (link.name == "identity" and low == 0):
            wanted = np.where(located > 0, located, 0.5 * middle[grouping.codes])
            return _regressed(task, np.asarray(link.forward(wanted)), theta)
        return theta
    offset = engine.offset
    if link.name == "log":
        base: Any = 0.0
        if offset is not None:
            top = grouping.largest(offset)
            base = top + np.log(grouping.sums(weight * np.exp(offset - top[grouping.codes])) / total)
        empty = 0.5 / np.maximum(task.weight, 1.0) if low == 0 else 1.0
        theta[:, 0] = np.log(np.where(middle > 0, middle, empty)) - base
    else:
        eta = np.asarray(link.forward(middle))
        away = 0.0 if offset is None else grouping.sums(offset) / grouping.sizes
        theta[:, 0] = np.where(np.isfinite(eta), eta, 1.0) - away
    return theta


def _regressed(task: Groups, eta: Numbers, otherwise: Numbers) -> Numbers:
    """The coefficients whose raw predictions are nearest to these."""
    engine = task.engine.under(Loss("gaussian", "identity"), np.ascontiguousarray(eta), task.target.weight)
    flat = Held(np.zeros(engine.width), np.zeros(engine.width))
    found = search(engine, task.grouping, flat, np.zeros_like(otherwise), tol=ROUGH, most_steps=SHORT)
    good = (found.ends == ARRIVED)[:, None]
    return np.where(good, found.theta, otherwise)


def begin_of(task: Groups) -> Numbers:
    """Coefficients, and places for what is open. Of a noise around a location, a robust fit, which outliers do not
    pull; it begins at least squares.
    """
    target, grouping = task.target, task.grouping
    theta, room = starts(task), np.zeros((grouping.count, len(target.open)))
    anywhere = target.locations[0] < 0 and target.noise.link.name == "identity"
    if not anywhere or not task.engine.columns or target.squares:
        return np.hstack([theta, room])
    located = target.on_location_scale
    told = np.isfinite(located)
    some = task if told.all() else of_rows(task, told)
    y = located[told]
    weight = None if some.target.weight is None else some.target.weight
    squares = some.engine.under(Loss("gaussian", "identity"), y, weight)
    flat = Held(task.penalty.bend * 1e-9, task.penalty.centre)  # next to nothing, but for columns that are collinear
    begun = search(squares, some.grouping, flat, theta, tol=ROUGH, most_steps=SHORT)
    theta = np.where((begun.ends == ARRIVED)[:, None], begun.theta, theta)
    robust = Loss("huber", "identity", (np.zeros(1), np.full(1, np.log(1.345))), open=(0,))
    spread = _distances(some, theta, y)
    near = search(
        some.engine.under(robust, y, some.target.w),
        some.grouping,
        task.held.widened(1),
        np.hstack([theta, np.zeros((grouping.count, 1))]),
        tol=ROUGH,
        most_steps=SHORT,
        looked_at=np.log(np.array([*AROUND, 0.05])),
        shifts=np.log(spread),
    )
    good = np.isfinite(near.theta).all(axis=1) & (near.ends == ARRIVED)
    return np.hstack([np.where(good[:, None], near.theta[:, :-1], theta), room])


def _distances(task: Groups, theta: Numbers, y: Numbers) -> Numbers:
    """About as far as y lies from its predictions, by group."""
    grouping, w = task.grouping, task.target.w
    away = np.abs(y - np.asarray(task.target.noise.link.inverse(raw_predictions_of(task, theta))))
    middle = TYPICAL * grouping.medians(away, w)
    mean = grouping.sums(away) / grouping.sizes
    return np.where(middle > 0, middle, np.where(mean > 0, mean, 1.0))


def spreads(task: Groups, theta: Numbers) -> Numbers | None:
    """What the spread of the noise is about, by group; None where nothing tells."""
    target, grouping = task.target, task.grouping
    if target.locations[0] < 0:
        located = target.on_location_scale
        told = np.isfinite(located)
        some = task if told.all() else of_rows(task, told)
        spread = _distances(some, theta, located[told])
        return np.where((spread > 0) & np.isfinite(spread), spread, 1.0)
    if not target.noise.traits.divided:
        negative = bool(target.measure) and target.noise.parameter(target.measure).precision < 0
        return np.ones(grouping.count) if negative else None
    others = {own.name: own.start for own in target.opened if own.name != target.measure}
    rows = target.noise.estimated(**others).loss_at(raw_predictions_of(task, theta), target.points)
    w = target.w
    dispersion = 2 * grouping.sums(rows if w is None else w * rows) / task.weight
    spread = dispersion ** -target.noise.parameter(target.measure).precision
    return np.where((spread > 0) & np.isfinite(spread), spread, 1.0)
