"""One fit for each group, all of them in one native call: where each begins, and which of them have arrived.

Every group is a question of its own. What the call cannot settle beyond doubt, and all that is not smooth, is left to
whoever asks one group at a time, with everything that a single fit knows about what may be wrong.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neglog.design.blocks import Codes, Dense
from neglog.distributions.noise import Noise
from neglog.distributions.parameters import Parameter
from neglog.engines.groups import ARRIVED, Found, search
from neglog.engines.memory import Memory
from neglog.estimation.diagnosis import MANY
from neglog.estimation.group_starts import begin_of, plain_starts, spreads
from neglog.estimation.joint_newton import FAR, worth_a_look
from neglog.estimation.rows_of_groups import Groups, joint_rows, known_loss, raw_predictions_of
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


# ---- three ways ------------------------------------------------------------------------------------------------------


def _at_known(task: Groups) -> GroupAnswers:
    engine, factor = known_loss(task)
    begin = plain_starts(task)
    found = search(engine, task.grouping, task.held, begin, tol=task.tol, most_steps=task.max_iter, factor=factor)
    raw = np.empty((task.grouping.count, 0))
    return _judged(task, found, raw, ~_at_edge(task, engine, found.theta))


def _least_squares(task: Groups) -> GroupAnswers:
    """The scale does not move the coefficients, and the sum of squares tells it."""
    found = search(
        task.engine.with_target(task.target),
        task.grouping,
        task.held,
        plain_starts(task),
        tol=task.tol,
        most_steps=task.max_iter,
    )
    scale = np.sqrt(np.maximum(2 * found.value, 0.0) / task.weight)
    return _judged(task, found, np.log(scale)[:, None])


def _jointly(task: Groups) -> GroupAnswers:
    """Coefficients and all that is open."""
    target, grouping = task.target, task.grouping
    begin = begin_of(task)
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
        spread = spreads(task, begin[:, : task.engine.width])
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


def endless(task: Groups) -> dict[int, float]:
    """Groups whose every y is the same end of the support, of which the noise is ever more certain the farther the
    intercept goes, with that end: there is no maximum, and no search is needed to say so.
    """
    noise, grouping = task.target.noise, task.grouping
    found: dict[int, float] = {}
    if not task.engine.intercept or task.target.open:
        return found
    for end in noise.certain:
        with np.errstate(all="ignore"):
            reached = np.isfinite(noise.link.forward(end))
        if not reached:
            alike = (grouping.sums((task.target.points == end).astype(float)) == grouping.sizes) & (grouping.sizes > 0)
            found |= dict.fromkeys(np.flatnonzero(alike).tolist(), float(end))
    return found
