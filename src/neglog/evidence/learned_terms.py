"""Fits of terms: the prior of each curve and group with its scale, stated or learned by maximum evidence."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from neglog.design.blocks import Dense
from neglog.design.design import Schema
from neglog.design.parts import Part
from neglog.distributions import Flat, Gaussian
from neglog.distributions.base import Prior
from neglog.distributions.parameters import Parameter
from neglog.engines.blas import one_blas_thread
from neglog.engines.memory import Memory
from neglog.estimation.joint_newton import SAME, at_limit_note, edge_note, inside_of, is_far
from neglog.estimation.learned_prior import column_spreads, is_open, spreads_of
from neglog.estimation.learned_ridge import Learned, finite, natural_scale, one_if_equal
from neglog.estimation.solve import solve
from neglog.evidence.crossed_groups import eliminated, some_levels
from neglog.evidence.large_groups import GroupedRows, information_of_groups
from neglog.evidence.maximum import Maximum
from neglog.evidence.of_groups import MaximumOfGroups
from neglog.evidence.redundant_columns import redundancy_note, redundant_columns
from neglog.evidence.state import Pulls, State
from neglog.likelihood.joint import Joint
from neglog.likelihood.task import Answer, Task, TermScale
from neglog.typing import Numbers

STRAIGHT = 1e-6  # of what a coefficient may be: the scale of one that is stated as 0
ABSENT = 1e30  # the precision of a coefficient that an output does not have: it is 0
ZERO = 1e-4  # effective coefficients that count as none
SAMPLE = 5_000  # rows to begin with, at least, or
PER_COLUMN = 30  # for each column
STEP = 12  # one row of so many, of which one of so many, and so on
LEAST_STEP = 4  # for that to pay
MOST = 60_000  # rows to begin with, whose copies take memory
FEWER = 30.0  # times less than where the search in the sample began, a scale may begin
ROUGH = 1e-2  # nats that a start may be short of its maximum
LOOSE = 1.0  # of the spread of y on the link's scale, a prior that holds what some of the rows do not show


@dataclass(frozen=True)
class Owned:
    """A prior of one term, over the coefficients of one row of them, in the order of the columns."""

    output: int
    name: str  # of the term; empty for the columns as they are
    label: str
    on: Numbers
    scale: float | None


def has_priors(schema: Schema) -> bool:
    """Whether a design has terms with priors of their own, or of some predictors only."""
    return schema.shares is not None or any(isinstance(part, Part) and part.pulls for part in schema.terms or ())


def learn_terms(task: Task, prior: Prior, standardize: bool | None, integrated: str = "all") -> Learned:
    """The fit at the scales that are stated, and at the most evident ones of the others."""
    import scipy.linalg  # noqa: F401  (whose BLAS can be told to take one thread only when it is there)

    with one_blas_thread:
        return _learn_terms(task, prior, standardize, integrated)


def _learn_terms(task: Task, prior: Prior, standardize: bool | None, integrated: str) -> Learned:
    owned = list(_owned(task, prior, standardize))
    engine = task.engine
    unknown = [one for one in owned if one.scale is None]
    least = STRAIGHT * natural_scale(task.in_memory())
    fixed = sum(
        (_native(engine, one) / max(float(one.scale), least) ** 2 for one in owned if one.scale is not None),
        np.zeros(engine.width),
    )
    on = np.array([_native(engine, one) for one in unknown]).reshape(len(unknown), engine.width)
    absent = engine.native(~_kept(task))
    fixed = np.where(absent > 0, ABSENT, fixed)
    if unknown:
        redundant = _redundant(task, (fixed == 0) & ~on.any(axis=0))
        fixed = np.where(redundant, ABSENT, fixed)
    pulls = Pulls(np.asarray(fixed), on, np.zeros(engine.width))
    if not unknown:
        task = replace(task, penalty=pulls.penalty(np.empty(0)))
        answer = finite(task, solve(task))
        hessian = Joint(task, answer).curvature().matrix[: engine.width, : engine.width]
        answer.effective = 1 - task.penalty.bend * np.linalg.pinv(hessian, hermitian=True).diagonal()
        return _finished(task, answer, owned, [])
    search = {"all": Maximum, "groups": MaximumOfGroups}[integrated]
    found, value = _learned(task, pulls, owned, unknown, search)
    found.answer.evidence, found.answer.integrated = (integrated, value), integrated
    if redundant.any():
        found.answer.notes.append(redundancy_note(task, redundant))
    return found


def _redundant(task: Task, free: Numbers) -> Numbers:
    """Which of the coefficients that no prior holds the others can do without."""
    rows = eliminated(task)
    if rows is None:
        return redundant_columns(_some(task), task, free)
    out = np.zeros(len(free), bool)
    out[rows.own] = redundant_columns(rows.small, rows.small, free[rows.own])
    return out


def _learned(
    task: Task, pulls: Pulls, owned: list[Owned], unknown: list[Owned], kind: type[Maximum]
) -> tuple[Learned, float]:
    """The fit at the maximum of the evidence, and that maximum."""
    search = _search(task, pulls, kind)
    begin, near = _start(task, pulls, unknown)
    state = search.find(begin, near=near)
    answer = state.answer
    if task.target.open:
        answer.noise = task.target.at(search.parameters(state))
    for own in task.target.opened:
        if own.limit is not None and is_far(own, getattr(answer.noise, own.name)):
            found = _held(task, own, pulls, owned, unknown, answer, kind)
            if found[1] >= state.value - SAME:
                return found
    answer.effective, answer.drift = search.counted(state), search.drift(state)
    answer.iterations = search.steps
    if isinstance(search.rows, GroupedRows):
        answer.information = information_of_groups(search.rows, task, state, answer.drift)
    errors = np.sqrt(np.maximum(np.linalg.pinv(-search.curvature(state), hermitian=True).diagonal(), 0.0))
    scales = []
    for k, (one, count) in enumerate(zip(unknown, search.effective(state), strict=True)):
        if count < ZERO:
            answer.notes.append(_nothing(one, task))
        scale, error = (0.0, np.nan) if count < ZERO else (float(np.exp(state.u[k])), float(errors[k]))
        scales.append(TermScale(one.output, one.name, one.label, scale, error))
    if not search.arrived:
        answer.converged = False
        edges = [note for own in task.target.opened if (note := edge_note(own, answer.noise)) is not None]
        answer.notes += edges or [
            f"Not converged: the evidence of the scales could still grow by {search.gain:.2g} nats after "
            f"{search.steps} steps. State the scale of a term, or leave out terms that say the same."
        ]
    task = replace(task, penalty=pulls.penalty(state.u[: len(unknown)]))
    return _finished(task, answer, owned, scales), state.value


def _search(task: Task, pulls: Pulls, kind: type[Maximum] = Maximum) -> Maximum:
    """For the scales of all priors; the levels of large groups are eliminated."""
    rows = eliminated(task)
    if rows is None:
        return kind(task, pulls)
    if kind is not Maximum:
        raise ValueError(
            f'evidence="groups" takes the covariance of all levels, and there are {len(rows.levels):,} of one group; '
            'take evidence="all"'
        )
    return Maximum(task, pulls, rows)


def _held(
    task: Task,
    own: Parameter,
    pulls: Pulls,
    owned: list[Owned],
    unknown: list[Owned],
    answer: Answer,
    kind: type[Maximum],
) -> tuple[Learned, float]:
    """The same with a parameter of the noise at its limit."""
    assert own.limit is not None
    target = task.target.with_noise(task.target.noise.with_(**{own.name: own.limit.value}))
    here = replace(task, target=target, engine=task.engine.with_target(target))
    found, value = _learned(here, pulls, owned, unknown, kind)
    found.answer.at_limit = (*found.answer.at_limit, own.name)
    found.answer.notes.append(at_limit_note(own, answer.noise))
    return Learned(replace(task, penalty=found.task.penalty), found.answer, found.prior), value


def _nothing(one: Owned, task: Task) -> str:
    """What a scale of 0 means."""
    on = f" for the {task.target.noise.modelled[one.output - 1]}" if one.output > 0 else ""
    if not one.name:
        return f"The data support no effect of the columns as they are{on}: the scale of their prior is 0."
    what = f"{one.name}, {one.label}" if one.label else one.name
    part = next(part for part in task.engine.design.schema.parts if isinstance(part, Part) and part.name == one.name)
    if part.kind == "smooth":
        return f"{what}: a straight line is enough{on}; the scale of its wiggles is 0."
    if part.kind == "group":
        return f"{what}: the levels do not differ{on}; the scale of their effects is 0."
    return f"{what}: the data show no interaction{on}; its scale is 0."


def _owned(task: Task, prior: Prior, standardize: bool | None) -> Iterator[Owned]:
    """All priors, by row of coefficients; classes share them, as output -1."""
    engine = task.engine
    outputs = [-1] if engine.loss.classes > 1 else list(range(engine.loss.outputs))
    plain = _plain_columns(engine)
    kept = _kept(task)
    for output in outputs:
        yield from _of_columns(task, prior, standardize, plain & kept[output], output)
        start = 0
        for part in engine.design.schema.parts:
            count = len(part.coefficients)
            if isinstance(part, Part):
                for pull in part.pulls if kept[output, start] else ():
                    on = np.zeros(engine.design.columns)
                    on[start : start + count] = pull.on
                    yield Owned(output, part.name, pull.label, on, pull.scale)
            start += count


def _of_columns(task: Task, prior: Any, standardize: bool | None, plain: Numbers, output: int) -> Iterator[Owned]:
    """The prior that was stated for the coefficients of columns as they are."""
    if isinstance(prior, Flat) or not plain.any():
        return
    if not isinstance(prior, Gaussian) or np.any(prior.loc):
        raise ValueError(
            f"beside smooth, group and interaction the prior of the other columns is Flat() or Gaussian(scale=...), "
            f"about 0, but is {prior!r}"
        )
    units = plain.astype(float)
    if standardize or (standardize is None and is_open(prior)):
        units = plain * spreads_of(task)
    if is_open(prior):
        yield Owned(output, "", "", units**2, None)
        return
    scale = np.asarray(prior.scale, float)
    if scale.ndim and len(scale) != int(plain.sum()):
        raise ValueError(
            f"the prior must have one scale, or one for each of the {int(plain.sum())} coefficients of columns as they "
            f"are, but has {len(scale)}"
        )
    on = np.zeros(len(plain))
    on[plain] = (units[plain] / scale) ** 2
    yield Owned(output, "", "", on, 1.0)


def _kept(task: Task) -> Numbers:
    """Which coefficients each output has, (outputs, columns)."""
    schema, engine = task.engine.design.schema, task.engine
    if schema.shares is None:
        return np.ones((engine.loss.outputs, engine.design.columns), bool)
    return np.stack([schema.kept(name) for name in ("location", *task.target.noise.modelled)])


def _plain_columns(engine: Memory) -> Numbers:
    """Which coefficients are of columns as they are."""
    return np.concatenate(
        [
            np.empty(0, bool),
            *(np.full(len(part.coefficients), not isinstance(part, Part)) for part in engine.design.schema.parts),
        ]
    )


def _native(engine: Memory, one: Owned) -> Numbers:
    """Its precisions in the core's order."""
    rows = np.zeros((engine.loss.outputs, engine.design.columns))
    rows[slice(None) if one.output < 0 else one.output] = one.on
    return engine.native(rows)


def _start(task: Task, pulls: Pulls, unknown: list[Owned]) -> tuple[Numbers, State | None]:
    """The best of some of the rows, where there are many, with their fit; else scales like the spread of y, and the
    noise that goes with a fit under these.
    """
    some = _some(task)
    if some is not task:
        begin, near = _start(some, pulls, unknown)
        state = _search(some, _held_loosely(some, pulls)).find(begin, ROUGH, near)
        least = begin[: len(unknown)] - np.log(FEWER)  # what some rows do not show, all may
        begin = np.append(np.maximum(state.u[: len(unknown)], least), _inside(task, state.u[len(unknown) :]))
        return begin, state.without_rows()
    usual = natural_scale(task)
    sizes = np.array([usual if one.output <= 0 else 1.0 for one in unknown])
    units = np.array([float(np.sqrt(np.median(row[row > 0]))) for row in pulls.on])
    scales = np.log(sizes * np.where(units > 0, units, 1.0))
    if not (task.target.open or task.target.noise.modelled):
        return np.asarray(scales), None
    rows = eliminated(task)
    if rows is not None:
        answer = rows.without(pulls.penalty(scales), task.target)
        return np.append(scales, _inside(task, task.target.raw_of(answer.noise))), None
    for _ in range(4):  # a prior so weak may leave a fit without an end
        answer = solve(replace(task, penalty=pulls.penalty(scales)))
        if answer.converged:
            break
        scales = scales - np.log(10)
    return np.append(scales, _inside(task, task.target.raw_of(answer.noise)) if task.target.open else ()), None


def _inside(task: Task, v: Numbers) -> Numbers:
    """Raw parameters of the noise, those at a limit put back to where they make a difference: a search that began at
    the limit would see no slope.
    """
    noise = task.target.at(v)
    for own in task.target.opened:
        if own.limit is not None and is_far(own, getattr(noise, own.name)):
            noise = noise.estimated(**{own.name: inside_of(own)})
    return np.asarray(task.target.raw_of(noise))


def _held_loosely(task: Task, pulls: Pulls) -> Pulls:
    """With a weak prior where there is none: a level that few of the rows have would run away, far from all of them."""
    engine = task.engine
    blocks = engine.design.blocks
    units = np.concatenate([np.ones(block.columns) * (not isinstance(block, Dense)) for block in blocks])
    units = np.where(units > 0, 1.0, column_spreads(engine, task.target.w)) / (LOOSE * natural_scale(task))
    free = (pulls.fixed == 0) & ~pulls.on.any(axis=0)
    loose = np.where(free, engine.native(np.tile(units**2, (engine.loss.outputs, 1))), 0.0)
    return replace(pulls, fixed=pulls.fixed + loose)


def _some(task: Task) -> Task:
    """A part of the rows, whose scales are nearly what all rows say; all if they are few."""
    if task.engine.streamed:
        return task.in_memory()
    crossed = some_levels(task)
    if crossed is not None:
        return task.taken(crossed)
    rows = task.engine.rows
    least = max(SAMPLE, PER_COLUMN * task.engine.columns)
    step = max(min(STEP, rows // least), rows // max(MOST, least))
    return task if rows < LEAST_STEP * least else task.taken(np.arange(0, rows, step))


def _finished(task: Task, answer: Answer, owned: list[Owned], found: list[TermScale]) -> Learned:
    """With the prior on the coefficients as they are."""
    engine, bend = task.engine, task.penalty.bend
    answer.penalty = task.penalty
    answer.theta[bend >= ABSENT] = 0.0
    rows = bend[: engine.coefficients].reshape(engine.loss.outputs, engine.columns)[:, engine.places]
    with np.errstate(divide="ignore"):
        priors = [_as_prior(1 / np.sqrt(row[own])) for row, own in zip(rows, _kept(task), strict=True)]
    answer.priors = () if engine.loss.classes > 1 else tuple(priors[1:])
    learned = iter(found)
    answer.scales = tuple(
        next(learned) if one.scale is None else TermScale(one.output, one.name, one.label, one.scale, np.nan)
        for one in owned
    )
    return Learned(task, answer, priors[0])


def _as_prior(scales: Numbers) -> Prior:
    if np.isinf(scales).all():
        return Flat()
    return Gaussian(0.0, one_if_equal(scales) if np.isfinite(scales).all() else scales)
