"""What may be wrong with an answer that looks like one: directions left open, likelihoods without a maximum."""

import numpy as np

from neglog.estimation.modelled_limits import is_endless, note_limits, note_runaways, raw_values
from neglog.estimation.open_directions import ask_columns
from neglog.estimation.separation import separating_direction
from neglog.estimation.solve import solve
from neglog.likelihood.accelerators import merely_open
from neglog.likelihood.link_domain import domain_of
from neglog.likelihood.messages import involved_columns, listed
from neglog.likelihood.targets import LEAST_SUM
from neglog.likelihood.task import Answer, Task
from neglog.solvers.systems import minimum_norm, newton_step
from neglog.streaming.pieces import StreamedTask
from neglog.typing import Numbers

SPARE = 4  # rows beyond the number of columns that are asked whether columns reach every y
NEARLY = 1e-12  # of y: what is left of it where columns do
ROUGHLY = 1e-5  # the same by normal equations, which are less exact and ten times as fast
NARROW = 1e10  # times rounding: a spread that is so small beside y, of a search that did not end, is on its way to 0
PILED = 0.1  # of the rows, where as many have the same y
MANY = 14  # Newton steps that a maximum hardly ever needs, but a likelihood that rises for ever does


def diagnose(task: Task, answer: Answer, learned: bool = False) -> None:
    """Completes the answer: the smallest of many solutions, and notes on what has none.

    With a prior whose scale was learned, the noise's scale was found along with it, whatever the columns could do.
    """
    if task.target.noise.modelled:
        _look_at_models(task, answer)
    long = answer.before + answer.iterations >= MANY
    if learned and not long:  # the last of many fits had a warm start
        long = _size(task) == 0 or not task.varies()
    if long or not answer.converged:
        _look_for_separation(task, answer)
    target = task.target
    blunt = not (target.bends and target.steady) or (target.open and not target.profiled and target.locations[0] < 0)
    if blunt and answer.information is None:  # whose curvature says little about the columns
        ask_columns(task, answer)
    if answer.null is not None:
        _choose_smallest(task, answer)
    if not _leaves_domain(task, answer):
        _look_at_dispersion(task, answer, learned)


def _choose_smallest(task: Task, answer: Answer) -> None:
    assert answer.null is not None
    engine = task.engine
    counted = np.ones(engine.width, bool)
    if engine.intercept:
        counted[:: engine.columns] = False
    answer.theta = minimum_norm(answer.theta, answer.null, counted)


def _look_for_separation(task: Task, answer: Answer) -> None:
    direction = separating_direction(task)
    if direction is None:
        return
    answer.converged = False
    columns = involved_columns(task, direction[:, None])
    who = f"the columns {listed(columns)} separate" if columns else "the intercept alone separates"
    what = task.target.noise.traits.separates
    answer.notes.append(
        f"There is no maximum of the likelihood: {who} {what}, so that their coefficients grow without end "
        "(complete or quasi-complete separation). Leave them out, merge levels, or hold them by a prior such as "
        "Gaussian(scale=...)."
    )


def _look_at_models(task: Task, answer: Answer) -> None:
    """Where parameters are modelled, a search without an end is asked what one value for all rows would have been."""
    values = raw_values(task, answer)
    note_limits(answer, values)
    answer.converged &= not is_endless(task, answer, values)
    if answer.converged or answer.information is not None:  # of so many levels, held by a prior
        return
    flat = merely_open(task.in_memory())
    found = solve(flat)
    diagnose(flat, found)
    if found.notes and not found.converged:
        answer.notes += found.notes
        return
    noise = found.noise
    levels = {name: float(noise.parameter(name).predicted.raw(getattr(noise, name))) for name in answer.noise.modelled}
    note_runaways(task, answer, levels, values)


def _leaves_domain(task: Task, answer: Answer) -> bool:
    """Whether the search ended at predictions that the link has no means for, which it then says."""
    domain = domain_of(task.target.loss)
    if domain is None:
        return False
    rows = task.in_memory()
    counted = True if rows.target.w is None else rows.target.w > 0
    margins = domain.margins(rows.engine.predict_location(answer.theta))
    begun = answer.converged or np.isfinite(answer.decrement)
    outside = np.flatnonzero(~(margins >= 0 if begun else margins > 0) & counted)
    if not len(outside):
        return False
    where = f"the domain of the {answer.noise.link.name} link, {domain.sentence}"
    who = f"{len(outside)} of {rows.engine.rows} rows"
    first = f"the first is row {rows.row_number(outside[0])}"
    other = "logit" if np.isfinite(domain.high) else "log"
    if answer.converged:  # the last step, taken without looking, went over the edge
        sentence = f"There is no maximum inside {where}: the best predictions of {who} lie at its edge, {first}. "
    else:
        sentence = f"No coefficients were found whose raw predictions all lie in {where}: {who} are outside, {first}. "
    lacks = not (answer.converged or rows.engine.intercept)
    remedy = f"Fit an intercept, or take the {other} link." if lacks else f"Take another link, such as {other}."
    answer.converged = False
    answer.notes.append(sentence + remedy)
    return True


# ---- open dispersions ------------------------------------------------------------------------------------------------


def _look_at_dispersion(task: Task, answer: Answer, learned: bool) -> None:
    """A fit that passes through all points has no scale."""
    target = task.target
    name = target.measure
    if name not in target.open or name in answer.at_limit or answer.information is not None:
        return
    value, noise = np.float64(getattr(answer.noise, name)), type(answer.noise).__name__
    size = np.float64(_size(task))
    if size == 0 and target.locations[0] == 0:
        sentence = (
            f"Every y is 0, which says nothing about the {name} of the {noise} noise: the likelihood grows as long as "
            f"the mean shrinks beside it. State {name}=..., or use other rows."
        )
    elif np.isnan(value):
        return  # for a reason that the search has noticed itself
    elif 0 < size < LEAST_SUM**0.25 and (target.kernel == "gaussian" or target.vanished(answer.noise, size)):
        sentence = (  # and their squares again, in the slopes of the dispersion
            f"y, of at most {size:.2g}, is so small that sums of squares are beyond the range of numbers. State it in "
            "another unit."
        )
    elif size == 0 or target.vanished(answer.noise, size) or not np.isfinite(value):
        pile = None if size == 0 or _reaches_all(task) else _pile(task)
        sentence = _through_all(name, noise) if pile is None else _around(pile, name, noise)
    elif (not answer.converged or learned or target.vanished(answer.noise, 1e9 * size)) and _reaches_all(task):
        if learned and target.squares and answer.converged and task.engine.rows <= task.engine.width:
            return  # the evidence divides y between the columns and the noise
        sentence = _through_all(name, noise, "The columns can pass" if learned else "The fit passes")
    elif not learned and task.penalty.smooth and not task.penalty.flat.all() and _reaches_all(task):
        sentence = (
            f"There is no most probable {name} of the {noise} noise: the columns can pass through every point, where "
            f"the posterior grows without end; this fit is a local optimum only. State "
            f"{name}=..., or let the scale of the prior be learned: Gaussian()."
        )
    elif not answer.converged and target.vanished(answer.noise, NARROW * size) and (pile := _pile(task)) is not None:
        sentence = _around(pile, name, noise)
    else:
        return
    answer.converged, answer.degenerate = False, True
    answer.notes.append(sentence)
    if value < LEAST_SUM:  # no law has the scale 0, by which one could not divide
        answer.noise = answer.noise.estimated(**{name: LEAST_SUM})


def _through_all(name: str, noise: str, who: str = "The fit passes") -> str:
    return (
        f"{who} through every point, so that the {name} of the {noise} noise has no estimate: the likelihood "
        f"grows without end. Use fewer columns, or state {name}=...."
    )


def _around(pile: str, name: str, noise: str) -> str:
    return (
        f"There is no maximum of the likelihood: {pile}, and the density of the {noise} noise grows without end where "
        f"its {name} shrinks around them. State {name}=..., or use a noise that has mass there."
    )


def _pile(task: Task) -> str | None:
    """How many rows have the y that most have, of those that say something of the location, if these are many."""
    target = task.in_memory().target
    told = np.isfinite(target.on_location_scale) & (True if target.w is None else target.w > 0)
    y = target.points[told]
    values, counts = np.unique(y, return_counts=True)
    most = int(np.argmax(counts))
    return f"{counts[most]:,} of {len(y):,} targets are {values[most]:.6g}" if counts[most] > PILED * len(y) else None


def _size(task: Task) -> float:
    """The largest y, as it is fitted, of the rows that count; less the offset where that is a part of it."""
    target = task.target
    if isinstance(task, StreamedTask):
        ends = task.sums.extremes
        y = target.transformed(np.array([ends.least, ends.largest]))
    elif task.engine.offset is not None and target.noise.link.name == "identity":
        y = (target.located - task.engine.offset)[slice(None) if target.w is None else target.w > 0]
    else:
        y = target.located if target.w is None else target.located[target.w > 0]
    return float(np.max(np.abs(y), initial=0.0))


def _reaches_all(task: Task) -> bool:
    """Whether some coefficients predict every y; first those of a few rows more than there are columns, which seldom do
    where all of them do not.
    """
    some = task.in_memory()
    engine, target = some.engine, some.target
    if engine.rows < task.engine.rows or engine.loss.classes > 1:
        return False
    counted = np.arange(engine.rows) if target.w is None else np.flatnonzero(target.w)
    few = counted[:: max(1, len(counted) // (engine.width + SPARE))]
    X, wanted = engine.dense_rows(few), _links_of(some, few)
    size = np.sqrt(wanted @ wanted)
    if not np.isfinite(size) or _left(X, wanted, newton_step(X.T @ X, -(X.T @ wanted)).x) > ROUGHLY * size:
        return False
    scale = np.linalg.norm(X, axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    theta = np.linalg.lstsq(X / scale, wanted, rcond=None)[0] / scale
    if _left(X, wanted, theta) > NEARLY * size:
        return False
    whole = engine.with_models(0).with_rows(engine.y, np.ones(engine.rows))
    left = _links_of(some, counted) - whole.predict(theta)[counted]
    return bool(np.max(np.abs(left)) <= NEARLY * size)


def _links_of(task: Task, rows: Numbers) -> Numbers:
    """The raw predictions at which the locations of these rows are their y, less the offset."""
    wanted = np.asarray(task.target.noise.link.forward(task.target.located[rows]), np.float64)
    return wanted if task.engine.offset is None else wanted - task.engine.offset[rows]


def _left(X: Numbers, wanted: Numbers, theta: Numbers) -> float:
    left = wanted - X @ theta
    return float(np.sqrt(left @ left))
