"""Coefficients and everything that the noise leaves open, at once: the solver that takes any noise.

A search begins at a robust fit, looks roughly over the open parameters there, and goes on by Newton's method in all of
it: on a sample of the rows first, by the guide (families.hpp) where the curvature is not positive, by proximal steps
under Laplace priors. A parameter that runs to the limit that its family declares is held there, and the noise that it
then is is named. What is modelled has coefficients among the others, and begins as if it were the same in all rows.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from neglog.distributions import Huber
from neglog.distributions.parameters import LOG, Parameter, at_edge
from neglog.estimation.huber import solve_huber
from neglog.estimation.modelled_start import as_predicted
from neglog.estimation.open_directions import column_null
from neglog.estimation.smooth import finish, minimise_absolute, minimise_smooth, solve_general, start
from neglog.likelihood.accelerated import HuberTarget
from neglog.likelihood.accelerators import merely_open
from neglog.likelihood.joint import joint_engine, joint_sums
from neglog.likelihood.targets import Target
from neglog.likelihood.task import Answer, Task, sample_nll
from neglog.solvers.penalty import Penalty
from neglog.solvers.systems import SINGULAR
from neglog.typing import Numbers

LOOKED_AT = 1000  # rows at which values of the open parameters are looked over
AROUND = (0.25, 0.5, 1.0, 2.0)  # times the spread of the residuals: scales that are tried
TRIED = np.geomspace(1e-3, 1e3, 10)  # times its start, a positive parameter of which nothing else is known
GRID = 8  # values between the ends of a search
FAR = 0.25  # of the way to a limit, on the raw scale, from which on the limit itself is tried
SAME = 1e-4  # nats by which a fit must be better than that at a limit


def solve_joint(
    task: Task, near: Answer | None = None, curvature: Numbers | None = None, of_some: bool = False
) -> Answer:
    """The answer, from one to a question like this, and with its curvature, if these are given."""
    answer = _answered(task, near, None if task.target.open else curvature, of_some)
    for own in task.target.opened:
        if own.limit is not None and is_far(own, getattr(answer.noise, own.name)):
            answer = _at_limit(task, own, answer)
            if own.name in answer.at_limit:
                break  # and the others were looked at there
    if not answer.converged:
        answer.notes += [note for own in task.target.opened if (note := edge_note(own, answer.noise)) is not None]
    return answer


def _answered(task: Task, near: Answer | None, curvature: Numbers | None = None, of_some: bool = False) -> Answer:
    """By Newton's method in coefficients and raw parameters."""
    target, n = task.target, task.engine.coefficients
    wide = replace(task, engine=_opened(task), penalty=_widened(task.penalty, len(target.open)))
    begin = begin_of(task) if near is None else np.append(near.theta, target.raw_of(near.noise))
    minimise = minimise_smooth if task.penalty.smooth else minimise_absolute
    objective = wide.objective(wide.engine)
    if curvature is not None and task.penalty.smooth:
        solution = finish(objective, begin, curvature, task.tol, task.max_iter, of_some)
    else:
        solution = minimise(wide, objective, begin)
    if near is not None and not np.isfinite(solution.point.value):
        return _answered(task, None)
    found = solution.point.theta
    noise = target.at(found[n:])
    null = None if solution.null is None else _of_coefficients(solution.null[:n])
    if null is None and target.noise.modelled and solution.pivot <= SINGULAR:  # found late, on the way of the guide
        null = column_null(task)
    return Answer(
        found[:n],
        noise,
        solution.converged,
        solution.iterations,
        solution.decrement,
        task.engine.with_target(target.with_noise(noise)),
        task.penalty,
        null,
        solution.stuck,
        solution.before,
    )


def _of_coefficients(null: Numbers) -> Numbers | None:
    """Directions that the columns leave open: not those in which parameters alone had no curvature where it began."""
    inside = null[:, np.abs(null).max(axis=0, initial=0.0) > 1e-8]
    return inside if inside.shape[1] else None


def _opened(task: Task) -> Any:
    """The rows under the nll in all that is open; those that are elsewhere make their own of it, piece by piece."""
    if task.engine.streamed:
        return task.engine.with_loss(task.target.joint_loss())
    return joint_engine(task.engine, task.target)


def _widened(penalty: Penalty, count: int) -> Penalty:
    """With a place for each open parameter, which no prior holds."""
    terms = (penalty.bend, penalty.centre, penalty.strength, penalty.kink)
    return Penalty(*(np.append(term, np.zeros(count)) for term in terms))


# ---- where to begin --------------------------------------------------------------------------------------------------


def begin_of(task: Task) -> Numbers:
    """Coefficients, and the best of some values of the open parameters there."""
    some = task.in_memory()
    if task.target.noise.modelled:
        flat = merely_open(some)
        begun, columns = begin_of(flat), some.engine.columns
        answer = as_predicted(task, flat, begun[:columns], flat.target.at(begun[columns:]))
        return np.append(answer.theta, task.target.raw_of(answer.noise))
    theta = _coefficients(some)
    step = max(1, some.engine.rows // (LOOKED_AT if some.target.cheap else LOOKED_AT // 10))
    rows = np.arange(0, some.engine.rows, step)
    target = some.target.taken(rows)
    eta = (some.engine if step == 1 else some.engine.take(rows)).predict(theta)
    return np.append(theta, _looked_over(target, eta))


def _coefficients(task: Task) -> Numbers:
    """Under a noise around a location, of any shape, where a convex loss of the same kind has its minimum."""
    target, engine = task.target, task.engine
    anywhere = target.locations[0] < 0 and target.noise.link.name == "identity"
    if not anywhere or not engine.columns:
        return start(task)
    rows = task.sample()
    some = task if rows is None else task.taken(np.arange(engine.rows)[rows])
    told = np.flatnonzero(np.isfinite(some.target.on_location_scale))
    if task.penalty.smooth and len(told):
        some = some if len(told) == some.engine.rows else some.taken(told)
        own = HuberTarget(Huber(), some.target.on_location_scale, some.target.w, some.target.p)
        here = replace(some, target=own, engine=some.engine.under(own.loss, own.y, own.weight), tol=0.1)
        found = solve_huber(here, own).theta
        if np.isfinite(found).all():
            return found
    theta = task.penalty.centre + task.penalty.kink
    if engine.intercept:
        theta[0] = _median(target.on_location_scale - (0.0 if engine.offset is None else engine.offset), target.w)
    return theta


def _median(values: Numbers, w: Numbers | None) -> float:
    """Of rows that count by their weights, and say something."""
    told = np.isfinite(values)
    if not told.all():
        values, w = values[told], None if w is None else w[told]
    if w is None:
        return float(np.median(values))
    order = np.argsort(values)
    share = np.cumsum(w[order])
    return float(values[order[int(np.searchsorted(share, 0.5 * share[-1]))]])


def _looked_over(target: Target, eta: Numbers) -> Numbers:
    """The raw values, of some, at which these rows cost least."""
    begin = target.begin(eta)
    if begin is not None:
        return begin
    spread = _spread(target, eta)
    axes = [worth_a_look(own, spread if own.name == target.measure else None) for own in target.opened]
    grid = np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=-1)
    law = target.at(grid[:, None, :]).with_precision(target.p).given(eta)
    with np.errstate(all="ignore"):
        nats = np.asarray(law.nll(target.raw)) @ (np.ones(len(eta)) if target.w is None else target.w)
    return np.asarray(grid[int(np.nanargmin(np.where(np.isfinite(nats), nats, np.inf)))])


def _spread(target: Target, eta: Numbers) -> float | None:
    """About as far as y lies from these predictions: by residuals, or by the loss where the spread divides that."""
    if target.locations[0] < 0:
        away = np.abs(target.on_location_scale - np.asarray(target.noise.link.inverse(eta)))
        return _median(away, target.w) * 1.4826 or float(np.nanmean(away)) or 1.0
    if not target.noise.traits.divided:  # a dispersion without a unit is about one, a shape may be anything
        return 1.0 if target.measure and target.noise.parameter(target.measure).precision < 0 else None
    others = {own.name: own.start for own in target.opened if own.name != target.measure}
    with np.errstate(all="ignore"):
        rows = target.noise.estimated(**others).loss_at(eta, target.points)
        dispersion = 2 * float(np.average(rows, weights=target.w))
        spread = float(dispersion ** -target.noise.parameter(target.measure).precision) if dispersion > 0 else 1.0
    return spread if 0 < spread < np.inf else None


def worth_a_look(own: Parameter, spread: float | None) -> Numbers:
    """Raw values of a parameter that are worth a look."""
    if own.search is not None:
        values = np.geomspace(*own.search, GRID) if own.raw is LOG else np.linspace(*own.search, GRID)
    elif own.within is not None:
        low, high = own.within
        return np.linspace(low, high, GRID + 2)[1:-1]
    else:
        values = own.start * (TRIED if spread is None else spread * np.array(AROUND))
    return np.asarray(own.raw.raw(values))


# ---- limits ----------------------------------------------------------------------------------------------------------


def edge_note(own: Parameter, noise: Any) -> str | None:
    """What to do about a search that ran to an end of the interval in which a parameter lies, where it has no value."""
    end = None if own.within is None else at_edge(own, float(own.raw.raw(getattr(noise, own.name))))
    if end is None:
        return None
    return (
        f"The {own.name} of the {type(noise).__name__} noise ran to {end:g}, the edge of its range, towards which "
        f"these data cost ever less: state {own.name}=..., or take the noise that it is there."
    )


def is_far(own: Parameter, value: float, share: float = FAR) -> bool:
    """Whether a parameter is well on its way to its limit, or so large a share of it."""
    assert own.limit is not None
    first, last, here = (float(own.raw.raw(x)) for x in (own.start, own.limit.value, value))
    return not (here - first) / (last - first) < share


def _at_limit(task: Task, own: Parameter, answer: Answer) -> Answer:
    """The fit with the parameter held at its limit, unless the one that was found is better."""
    assert own.limit is not None
    target = task.target.with_noise(task.target.noise.with_(**{own.name: own.limit.value}))
    here = replace(task, target=target, engine=task.engine.with_target(target))
    theta = answer.theta if np.isfinite(answer.theta).all() else None
    if target.noise.modelled:
        held = _answered(here, replace(answer, noise=answer.noise.with_(**{own.name: own.limit.value})))
    else:
        held = solve_joint(here) if target.open else solve_general(here, theta)
    if _turns_back(task, own, held):  # so far out all is flat, and a search that came from there saw no slope
        inside = inside_of(own)
        answer = _answered(task, replace(held, noise=held.noise.with_(**{own.name: inside})))
    found, limit = (_objective(task, one) for one in (answer, held))
    if answer.converged and found < limit - SAME and not is_far(own, getattr(answer.noise, own.name), 1.0):
        return answer
    held.at_limit = (*held.at_limit, own.name)
    held.iterations += answer.iterations
    held.notes.append(at_limit_note(own, answer.noise))
    return held


def at_limit_note(own: Parameter, noise: Any) -> str:
    """What it means that a parameter went to its limit."""
    assert own.limit is not None
    return (
        f"The {own.name} of the {type(noise).__name__} noise went to its limit, {own.limit.value:g}: to these data it "
        f"is as good as {own.limit.noise} noise."
    )


def _turns_back(task: Task, own: Parameter, held: Answer) -> bool:
    """Whether the nll falls on the way back from the limit."""
    assert own.limit is not None
    place = task.engine.coefficients + task.target.open.index(own.name)
    slope = task.total(joint_sums, held.theta, task.target.raw_of(held.noise), False)[1][place]
    return bool(slope * (own.raw.raw(own.limit.value) - own.raw.raw(own.start)) > 0)


def inside_of(own: Parameter) -> float:
    """A value from which both the limit and what lies before it can be reached."""
    assert own.limit is not None
    first, last = (float(own.raw.raw(x)) for x in (own.start, own.limit.value))
    return float(own.raw.value(first + 0.5 * FAR * (last - first)))


def _objective(task: Task, answer: Answer) -> float:
    with np.errstate(all="ignore"):
        nats = float(task.total(sample_nll, answer.noise, answer.theta))
    total = nats + answer.penalty.quadratic(answer.theta)[0] + answer.penalty.absolute(answer.theta)
    return total if np.isfinite(total) else np.inf
