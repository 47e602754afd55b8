"""One fit for each group, all of them in one native call: where each begins, and which of them have arrived.

Every group is a question of its own. What the call cannot settle beyond doubt, and all that is not smooth, is left to
whoever asks one group at a time, with everything that a single fit knows about what may be wrong.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neglog.design.blocks import Codes, Dense
from neglog.distributions.arrays import all_finite
from neglog.distributions.noise import Noise
from neglog.distributions.parameters import Parameter
from neglog.engines.groups import ARRIVED, Found, Grouping, Held, curvature, raw_predictions, search
from neglog.engines.memory import Loss, Memory
from neglog.estimation.diagnosis import MANY
from neglog.estimation.joint_newton import AROUND, FAR, worth_a_look
from neglog.estimation.smooth import TOUCHING
from neglog.likelihood.accelerated import Absolutes, HuberTarget
from neglog.likelihood.censored import Censored
from neglog.likelihood.kinked import KinkedCells
from neglog.likelihood.link_domain import domain_of
from neglog.likelihood.targets import LEAST_SUM, Target
from neglog.solvers.dispersion import Known
from neglog.solvers.penalty import Penalty
from neglog.typing import Numbers

FAINT = 11.5  # log of how small a spread may be beside y before one asks whether the columns reach every y
EXTREME = 15.0  # a raw parameter beyond it is asked again
SPREAD_OF_MEAN = 1.25  # times the mean distance from a prediction: about the spread
ROUGH = 0.1  # posterior standard deviations from the optimum that do for a start
SHORT = 25  # steps to it


@dataclass
class Groups:
    """The rows of all groups under one noise and prior. The columns are not centred; the core does so by group."""

    target: Target
    engine: Memory
    penalty: Penalty
    grouping: Grouping
    tol: float
    max_iter: int

    @property
    def held(self) -> Held:
        """The prior of the coefficients."""
        return Held(self.penalty.bend, self.penalty.centre)

    @property
    def weight(self) -> Numbers:
        """The weight of each group."""
        w = self.target.w
        return self.grouping.sums(1.0 if w is None else w)


@dataclass
class GroupAnswers:
    """Where each group ended: coefficients in the core's order, what is open as raw values, and whether there is no
    doubt about it. Of least squares what is open is known from the sum.
    """

    task: Groups
    theta: Numbers
    raw: Numbers  # (groups, open parameters)
    steps: NDArray[np.int32]
    held: NDArray[np.bool_]
    sure: NDArray[np.bool_]
    arrived: NDArray[np.bool_]
    far: NDArray[np.bool_]  # (groups, open parameters): well on their way to a limit, and no other doubt
    at_limit: tuple[Parameter, ...] = ()  # parameters that are stated in the task, for they went there


def is_native(target: Target, design: Any, penalty: Penalty) -> bool:
    """Whether the core can fit all groups in one call: numbers and levels, a smooth prior, and a noise whose nll is
    smooth in one raw prediction and in whatever is open.
    """
    kind = isinstance(target, Absolutes | Censored | KinkedCells) or not target.bends or target.noise.labelled
    if kind or target.noise.modelled or (target.open and target.has_remainder):
        return False
    if isinstance(target, HuberTarget) and target.noise.delta is None:
        return False
    if not (target.open or isinstance(target.dispersion(), Known)):
        return False
    return penalty.smooth and all(isinstance(block, Dense | Codes) for block in design.blocks)


def answer_groups(task: Groups) -> GroupAnswers:
    """All groups at once."""
    if not task.target.open:
        return _at_known(task)
    if task.target.squares and task.penalty.flat.all():
        return _least_squares(task)
    return _jointly(task)


def known_loss(task: Groups) -> tuple[Memory, float]:
    """The rows under the loss at known parameters, and what multiplies it."""
    dispersion = task.target.dispersion()
    assert isinstance(dispersion, Known)
    return task.engine.with_target(task.target), 1.0 / dispersion.dispersion


def joint_rows(task: Groups) -> Memory:
    """The rows under the nll in coefficients and all that is open."""
    return task.engine.under(task.target.joint_loss(), task.target.joint_y, task.target.w)


# ---- three ways ------------------------------------------------------------------------------------------------------


def _at_known(task: Groups) -> GroupAnswers:
    engine, factor = known_loss(task)
    begin = starts(task)
    found = search(engine, task.grouping, task.held, begin, tol=task.tol, most_steps=task.max_iter, factor=factor)
    raw = np.empty((task.grouping.count, 0))
    return _judged(task, found, raw, ~_at_edge(task, engine, found.theta))


def _least_squares(task: Groups) -> GroupAnswers:
    """The scale does not move the coefficients, and the sum of squares tells it."""
    found = search(
        task.engine.with_target(task.target),
        task.grouping,
        task.held,
        starts(task),
        tol=task.tol,
        most_steps=task.max_iter,
    )
    scale = np.sqrt(np.maximum(2 * found.value, 0.0) / task.weight)
    return _judged(task, found, np.log(scale)[:, None])


def _jointly(task: Groups) -> GroupAnswers:
    """Coefficients and all that is open."""
    target, grouping = task.target, task.grouping
    begin = _begin_of(task)
    found = _from(task, begin, look=True)
    if target.squares:  # beside the prior with a large scale there may be an optimum near least squares
        flat = Groups(target, task.engine, Penalty.none(task.engine.width), grouping, task.tol, task.max_iter)
        near = _least_squares(flat)
        other = _from(task, np.hstack([near.theta, near.raw]), look=False)
        better = (other.ends == ARRIVED) & ~((found.ends == ARRIVED) & (found.value <= other.value))
        for name in ("theta", "value", "decrement", "steps", "ends"):
            getattr(found, name)[better] = getattr(other, name)[better]
    width = task.engine.width
    theta, raw = found.theta[:, :width], found.theta[:, width:]
    inside = ~_at_edge(task, joint_rows(task), theta)
    found.held = found.held[:, :width]
    found.theta = np.ascontiguousarray(theta)
    return _judged(task, found, raw, inside)


def from_there(task: Groups, theta: Numbers, raw: Numbers) -> GroupAnswers:
    """All groups at once, from these coefficients and raw values on."""
    found, width = _from(task, np.hstack([theta, raw]), look=False), task.engine.width
    raw, found.held = found.theta[:, width:], found.held[:, :width]
    found.theta = np.ascontiguousarray(found.theta[:, :width])
    return _judged(task, found, raw, ~_at_edge(task, joint_rows(task), found.theta))


def _judged(task: Groups, found: Found, raw: Numbers, inside: Any = True) -> GroupAnswers:
    """What was found, and whether there is any doubt about it."""
    finite = np.isfinite(found.theta).all(axis=1) & np.isfinite(raw).all(axis=1)
    arrived = (found.ends == ARRIVED) & finite
    known, far = _parameters(task, found, raw)
    sure = arrived & (found.steps < MANY) & known & inside & ~far.any(axis=1)
    far = far & (finite & known)[:, None]
    return GroupAnswers(task, found.theta, raw, found.steps, found.held, sure, arrived, far)


def _from(task: Groups, begin: Numbers, look: bool) -> Found:
    """Newton's method in all of it; at first over some values of what is open, about where the residuals put it."""
    target, engine = task.target, joint_rows(task)
    within = [(-np.inf, np.inf) if own.within is None else own.within for own in target.opened]
    looks: dict[str, Any] = {}
    if look:
        spread = _spreads(task, begin[:, : task.engine.width])
        measured = [own.name == target.measure and spread is not None for own in target.opened]
        axes = [
            worth_a_look(own, 1.0 if own_spread else None)
            for own, own_spread in zip(target.opened, measured, strict=True)
        ]
        grid = np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=-1)
        shifts = np.zeros((task.grouping.count, len(axes)))
        for k, own_spread in enumerate(measured):
            if own_spread and spread is not None:
                shifts[:, k] = np.log(spread)
        looks = {"looked_at": grid, "shifts": shifts}
    return search(
        engine,
        task.grouping,
        task.held.widened(len(target.open)),
        begin,
        tol=task.tol,
        most_steps=task.max_iter,
        within=within,
        **looks,
    )


# ---- where to begin --------------------------------------------------------------------------------------------------


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


def _begin_of(task: Groups) -> Numbers:
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
        flat.widened(1),
        np.hstack([theta, np.zeros((grouping.count, 1))]),
        tol=ROUGH,
        most_steps=SHORT,
        looked_at=np.log(np.array([*AROUND, 0.05])),
        shifts=np.log(np.where(spread > 0, spread, 1.0)),
    )
    good = np.isfinite(near.theta).all(axis=1) & (near.ends == ARRIVED)
    return np.hstack([np.where(good[:, None], near.theta[:, :-1], theta), room])


def of_rows(task: Groups, kept: Any) -> Groups:
    """The same question about some of the rows, a mask; groups keep their numbers."""
    rows = np.flatnonzero(kept)
    own, grouping = task.target.taken(rows), task.grouping.take(rows)
    return Groups(own, task.engine.take(rows), task.penalty, grouping, task.tol, task.max_iter)


def raw_predictions_of(task: Groups, theta: Numbers) -> Numbers:
    """eta of each row, by the coefficients of its group."""
    engine = task.engine
    intercept = theta[:, 0] if engine.intercept else np.zeros(len(theta))
    return raw_predictions(engine.design, task.grouping.codes, intercept, theta[:, engine.where], engine.offset)


def _distances(task: Groups, theta: Numbers, y: Numbers) -> Numbers:
    """About as far as y lies from its predictions, by group."""
    w, away = task.target.w, np.abs(y - np.asarray(task.target.noise.link.inverse(raw_predictions_of(task, theta))))
    return SPREAD_OF_MEAN * task.grouping.sums(away if w is None else w * away) / task.weight


def _spreads(task: Groups, theta: Numbers) -> Numbers | None:
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


# ---- doubts ----------------------------------------------------------------------------------------------------------


def _parameters(task: Groups, found: Found, raw: Numbers) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Whether what is open is neither next to nothing nor beyond all bounds, and rows are more than columns; and which
    parameters are well on their way to a limit.
    """
    target, grouping = task.target, task.grouping
    known, far = np.ones(grouping.count, bool), np.zeros(raw.shape, bool)
    if not target.open:
        return known, far
    moving = task.engine.width - found.held.sum(axis=1)
    known &= grouping.sizes > moving + (0 if target.squares else len(target.open))
    size = found.largest
    known &= (size == 0) | (size > LEAST_SUM**0.25)
    for k, own in enumerate(target.opened):
        v = raw[:, k]
        if own.limit is not None:
            first, last = (float(own.raw.raw(x)) for x in (own.start, own.limit.value))
            far[:, k] = ~((v - first) / (last - first) < FAR)
        spread = own.name == target.measure and target.locations[0] < 0
        extent = np.abs(v - np.log(size)) < FAINT if spread else np.abs(v) < EXTREME
        known &= np.isfinite(v) & (extent | far[:, k])
    return known & ~_in_doubt(task), far


def _in_doubt(task: Groups) -> NDArray[np.bool_]:
    """Groups of which the family says that what is open cannot be told."""
    noise, grouping = task.target.noise, task.grouping
    doubted = np.zeros(grouping.count, bool)
    if type(noise).cannot_tell is not Noise.cannot_tell:
        zeros = grouping.sums(task.target.zeros.astype(float)).astype(int)
        pairs, inverse = np.unique(np.stack([grouping.sizes, zeros]), axis=1, return_inverse=True)
        told = np.array([noise.cannot_tell(int(n), int(none)) is not None for n, none in pairs.T], bool)
        doubted |= told[inverse.reshape(-1)]
    if type(noise).piled is not Noise.piled:
        y = task.target.points
        for group in range(grouping.count):
            doubted[group] = doubted[group] or noise.piled(y[grouping.rows(group)]) is not None
    return doubted


def _at_edge(task: Groups, engine: Memory, theta: Numbers) -> NDArray[np.bool_]:
    """Groups with rows at the edge of what the link allows, or beyond it."""
    grouping, domain = task.grouping, domain_of(engine.loss)
    if domain is None:
        return np.zeros(grouping.count, bool)
    eta = raw_predictions_of(task, theta)
    least = -grouping.largest(-domain.margins(eta))
    size = np.minimum(domain.high - domain.low, grouping.sums(np.abs(eta)) / grouping.sizes)
    return ~(least > TOUCHING * size)


# ---- how sure --------------------------------------------------------------------------------------------------------


def variances_of(task: Groups, theta: Numbers, raw: Numbers) -> Numbers:
    """Of the coefficients, (groups, columns), and of what is open on its raw scale, after them."""
    with np.errstate(all="ignore"):
        if not task.target.open:
            engine, factor = known_loss(task)
            return curvature(engine, task.grouping, task.held, theta, factor=factor).variances
        if task.target.squares and task.penalty.flat.all():
            own = curvature(task.engine.with_target(task.target), task.grouping, task.held, theta).variances
            scale = np.exp(raw)
            return np.hstack([own * scale * scale, 0.5 / task.weight[:, None]])
        held = task.held.widened(len(task.target.open))
        return curvature(joint_rows(task), task.grouping, held, np.hstack([theta, raw])).variances


def nll_of(task: Groups, theta: Numbers, raw: Numbers) -> Numbers:
    """-log p of the rows of each group, every constant included."""
    with np.errstate(all="ignore"):
        target, codes = task.target, task.grouping.codes
        rows = target.rows_nll(target.at(raw[codes]), raw_predictions_of(task, theta), target.p, target.raw)
        return task.grouping.sums(rows if target.w is None else target.w * rows)
