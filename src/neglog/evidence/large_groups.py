"""One group of very many levels beside a few other coefficients: its curvature is a diagonal, and is eliminated.

It is an arrow (arrows.py), of which each fit and its evidence need the Schur complement alone. A row of level l has the
leverage (x - F_l)' S^-1 (x - F_l) + 1 / D_l. Time and memory grow with the rows and the levels, not with their squares.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from neglog.belief.standard_errors import Information
from neglog.design.blocks import Codes, Dense
from neglog.design.design import Design, Schema
from neglog.design.parts import Part
from neglog.design.tables import quoted
from neglog.engines.memory import Memory
from neglog.estimation.solve import about_middle, solve
from neglog.evidence.arrows import Arrow, ArrowCovariance
from neglog.evidence.rows import Rows, third_of_rows
from neglog.evidence.state import State, Sums
from neglog.likelihood.joint import pair
from neglog.likelihood.targets import Target
from neglog.likelihood.task import Answer, Task
from neglog.solvers.penalty import Penalty
from neglog.typing import Numbers

LARGE = 1_000  # levels, from which on they are eliminated
CROSSED = 300  # levels, from which on those of another group that crosses it count as many
MOST = 2_500  # coefficients beside them, whose curvature is dense
SUMS = 1 << 26  # of products with them that each piece of rows may have: half a GB
ALONE = "; the levels of further groups count among them, unless rows are in memory and the noise has nothing modelled"
AT_ONCE = 1 << 14  # rows that are made dense: few enough for a cache
STEPS = 100
HALVINGS = 30
ENOUGH = 1e-4  # of what the slope promises
SLOW = 0.2  # of the distance before, to which a step with a borrowed curvature should come
FEW = 16  # columns that are summed by level one after the other


def large_groups(task: Task) -> list[Part]:
    """The group that is eliminated, if one is large, the largest; then those that cross it and are large, too."""
    parts = [part for part in task.engine.design.schema.terms or () if isinstance(part, Part) and not part.variables]
    parts.sort(key=lambda part: -part.levels)
    target, outputs = task.target, task.engine.loss.outputs
    plain = task.engine.loss.classes == 1 and target.noise.takes_intercept and target.bends and target.steady
    if not parts or parts[0].levels < LARGE or not plain:
        return []
    crossing = outputs == 1 and not task.engine.streamed
    large = [parts[0], *(part for part in parts[1:] if crossing and part.levels >= CROSSED)]
    others = task.engine.width - outputs * sum(part.levels for part in large)
    most = MOST if crossing else min(MOST, SUMS // (outputs * parts[0].levels))
    if others > most:
        raise ValueError(
            f"beside the group {quoted(large[0].name)} there are {others:,} coefficients, and at most {most:,} are "
            "fitted with it at once; leave out the next largest factor, or let its levels of few rows have no effect: "
            f"rare=...{'' if crossing else ALONE}"
        )
    return large


@dataclass(frozen=True)
class Group:
    """The level of each row, -1 for none, and where the coefficients of the levels are in the core's order."""

    codes: Numbers
    places: Numbers


def without_groups(task: Task, parts: list[Part]) -> tuple[Task, list[Group]]:
    """The same rows without the columns of some groups, and these."""
    engine, design = task.engine, task.engine.design
    start, blocks, kept, found = 0, [], [np.empty(0, int)], {}
    for block, own in zip(design.blocks, _parts_of_blocks(design), strict=True):
        columns = np.arange(start, start + block.columns)
        which = next((k for k, part in enumerate(parts) if part is own), None)
        if which is None:
            blocks.append(block)
            kept.append(columns)
        else:
            assert isinstance(block, Codes)
            found[which] = Group(block.codes, engine.places[columns])
        start += block.columns
    left = np.concatenate(kept)
    small = Memory(
        Design(tuple(blocks), design.rows, len(left), Schema(len(left))),
        engine.y,
        engine.weight,
        engine.offset,
        engine.loss,
        intercept=engine.intercept,
        centre=engine.centre[left],
    ).beside(engine)
    return replace(task, engine=small, whole=None), [found[k] for k in range(len(parts))]


def places_beside(width: int, levels: Numbers) -> Numbers:
    """The places of all coefficients but these."""
    kept = np.ones(width, bool)
    kept[levels] = False
    return np.flatnonzero(kept)


class ByLevel:
    """Sums over the rows of each level of a group; a row of code -1 has none."""

    def __init__(self, engine: Memory, codes: Numbers, count: int) -> None:
        self.engine, self.codes, self.count = engine, codes, count
        known = codes >= 0
        self.known = None if known.all() else known
        self.places = codes.astype(np.intp) if self.known is None else codes[known].astype(np.intp)

    def of(self, x: Numbers) -> Numbers:
        """Sums of x."""
        values = x if self.known is None else x[self.known]
        return np.bincount(self.places, values, minlength=self.count)

    def of_columns(self, w: Numbers) -> Numbers:
        """Sums of w times each column, (levels, columns); of several w one after the other."""
        if w.ndim == 1:
            return np.asarray(self.of_columns(w[None])[0])
        engine, columns = self.engine, self.engine.columns
        out = np.zeros((len(w), self.count, columns))
        if columns <= FEW and all(isinstance(block, Dense) for block in engine.design.blocks):
            out[..., : engine.intercept] = np.stack([self.of(own) for own in w])[..., None]
            for j in range(columns - engine.intercept):
                column = engine.dense_columns(np.array([j]))[:, 0]
                for own, sums in zip(w, out, strict=True):
                    sums[:, engine.intercept + j] = self.of(own * column)
            return out
        for begin in range(0, len(self.order), AT_ONCE):
            rows = self.order[begin : begin + AT_ONCE]
            codes, dense = self.codes[rows], engine.dense_rows(rows)
            starts = np.flatnonzero(np.append(True, codes[1:] != codes[:-1]))
            for own, sums in zip(w, out, strict=True):
                sums[codes[starts]] += np.add.reduceat(own[rows, None] * dense, starts, axis=0)
        return out

    @cached_property
    def order(self) -> Numbers:
        """The rows with a level, level after level."""
        return np.argsort(self.codes, kind="stable")[len(self.codes) - len(self.places) :]


@dataclass(frozen=True)
class Look:
    """The nll at some coefficients with its slopes, and its curvature for whoever asks; `guide` is a positive one."""

    value: float
    gradient: Numbers
    curvature: Callable[[], Any]
    guide: Callable[[], Any]


class GroupedRows(Rows):
    """Fits by Newton's method with the levels eliminated."""

    borrows = True  # whether slopes alone cost less than with a curvature, so that an older one is worth a try

    def __init__(self, task: Task, part: Part) -> None:
        super().__init__(task)
        self.small, (group,) = without_groups(task, [part])
        self.codes, self.levels = group.codes, group.places
        self.own = self.others = places_beside(task.engine.width, self.levels)
        self.by_level = ByLevel(self.small.engine, self.codes, len(self.levels))

    # ---- sums over rows ----------------------------------------------------------------------------------------------

    def _arrow(self, w: Numbers) -> Any:
        """Sums of w times products of columns."""
        engine, columns = self.small.engine, self.small.engine.columns
        A = engine.with_rows(np.zeros(engine.rows), np.ascontiguousarray(w)).moments()[:columns, :columns]
        return Arrow(A, self.by_level.of_columns(w), self.by_level.of(w), self.others, self.levels)

    def _down(self, x: Numbers) -> Numbers:
        """X' x over all coefficients."""
        out = np.empty(self.task.engine.width)
        out[self.others], out[self.levels] = self.small.engine.transposed(np.ascontiguousarray(x)), self.by_level.of(x)
        return out

    # ---- fits --------------------------------------------------------------------------------------------------------

    @cached_property
    def squares(self) -> "_Squares | None":
        """What Gaussian noise needs, and nothing else."""
        return _Squares(self) if self.task.target.squares else None

    @property
    def dear(self) -> bool:  # type: ignore[override]
        return self.squares is None

    def _row_sums(self, target: Target, theta: Numbers) -> tuple[float, Numbers, Numbers]:
        """The nll, and slopes and curvatures of each row in its prediction, times its weight."""
        eta = self.task.engine.predict(theta)
        with np.errstate(all="ignore"):
            nll = target.total(target.rows_nll(target.noise, eta, target.p, target.raw))
            slopes, bends = target.row_slopes(target.noise, eta)
        return (nll, slopes, bends) if target.w is None else (nll, slopes * target.w, bends * target.w)

    def look(self, theta: Numbers, v: Numbers) -> Look:
        """The nll at these coefficients."""
        nll, slopes, bends = self._row_sums(self.target(v), theta)
        return Look(nll, self._down(slopes), lambda: self._arrow(bends), lambda: self._arrow(self._positive(bends)))

    def minimum(self, penalty: Penalty, v: Numbers, near: State | None) -> Answer:
        """By Newton's method; of squares, at once."""
        target = self.target(v)
        if self.squares is not None:
            return self.squares.minimum(penalty, target)
        theta = self._start(penalty, target) if near is None else near.answer.theta
        here = self.look(theta, v)
        value = here.value + penalty.quadratic(theta)[0]
        converged, decrement = False, np.inf
        known = near.sums.curvature if near is not None and self.borrows else None
        found = None if known is None else self.inverse(known, penalty.bend, None)
        for _ in range(STEPS):
            borrowed = found is not None and self.borrows
            if not borrowed:
                found = self.inverse(here.curvature(), penalty.bend, None)
                found = found or self.inverse(here.guide(), penalty.bend, None)
            gradient = here.gradient + penalty.quadratic(theta)[1]
            if found is None or not np.isfinite(value):
                break
            step = -found[0].times(gradient[None])[0]
            before, decrement = decrement, float(np.sqrt(max(-step @ gradient, 0.0)))
            if borrowed and decrement > SLOW * before:
                found = None
                continue
            if decrement <= self.tol:
                theta, converged = theta + step, True
                break
            length = 1.0
            for _ in range(HALVINGS):
                there = theta + length * step
                following = self.look(there, v)
                value_there = following.value + penalty.quadratic(there)[0]
                if value_there <= value - ENOUGH * length * decrement**2 + 1e-12 * abs(value):
                    break
                length *= 0.5
            theta, value, here = there, value_there, following
        return Answer(theta, target.noise, converged, 1, decrement, self.task.engine.with_target(target), penalty)

    def without(self, penalty: Penalty, target: Target) -> Answer:
        """The fit without the group, roughly."""
        target = self.small.target.with_noise(target.noise)
        engine = self.small.engine.with_target(target)
        terms = (getattr(penalty, name)[self.own] for name in ("bend", "centre", "strength", "kink"))
        return solve(replace(self.small, target=target, engine=engine, penalty=Penalty(*terms), tol=1e-2))

    def _start(self, penalty: Penalty, target: Target) -> Numbers:
        found = self.without(penalty, target)
        theta = np.zeros(self.task.engine.width)
        theta[self.own] = np.where(np.isfinite(found.theta), found.theta, 0.0)
        return theta

    def fit(self, penalty: Penalty, v: Numbers, near: State | None) -> Sums:
        """The fit, with what the rows say of it and of v."""
        answer = self.minimum(penalty, v, near)
        if self.squares is not None:
            return self.squares.sums(answer, len(v))
        return Sums(answer, *self.sums(answer.theta, v)[1])

    def squares_about(self, middle: float) -> tuple[Any, Numbers, float]:
        """Sums of squares and products of all columns and y, this less its offset and its middle."""
        engine = self.task.engine
        w = np.ones(engine.rows) if engine.weight is None else engine.weight
        y = engine.y - middle - (0.0 if engine.offset is None else engine.offset)
        return self._arrow(w), self._down(w * y), float(w @ y**2)

    def sums(self, theta: Numbers, v: Numbers) -> tuple[Numbers, tuple[float, Numbers, Any, Numbers, Numbers]]:
        """The slopes of the nll in theta; itself, its slopes in v, and its second derivatives: in theta, in v and
        theta, and in v.
        """
        target = self.target(v)
        nll, slopes, bends = self._row_sums(target, theta)
        down, arrow = self._down(slopes), self._arrow(bends)
        if not len(v):
            return down, (nll, np.empty(0), arrow, np.empty((0, len(theta))), np.empty((0, 0)))
        weight = 1.0 if target.w is None else target.w
        own, pairs = self._joint(target, theta)
        places = [1 + place for place in self.task.target.places()]
        border = np.stack([self._down(weight * self._with_predictions(pairs, k)) for k in places])
        corner = np.array([[np.sum(weight * pairs[pair(a, b)]) for b in places] for a in places])
        return down, (nll, np.array([np.sum(weight * own[k]) for k in places]), arrow, border, corner)

    def _joint(self, target: Target, theta: Numbers) -> tuple[Numbers, Numbers]:
        """Slopes of each row in its predictions and all raw parameters, and second derivatives by pairs."""
        eta = self.task.engine.predict(theta)
        _, slopes, pairs = target.noise.with_precision(target.p).joint(target.raw, eta, curvature=True)
        return slopes, pairs

    def _with_predictions(self, pairs: Numbers, k: int) -> Numbers:
        """Of these those of a raw parameter and what the columns predict."""
        return np.asarray(pairs[pair(k, 0)])

    def _positive(self, bends: Numbers) -> Numbers:
        """Curvatures of rows as a guide to where these have none."""
        return np.abs(bends)

    def guide(self, theta: Numbers, v: Numbers) -> Any:
        """Their sums."""
        return self._arrow(self._positive(self._row_sums(self.target(v), theta)[2]))

    def inverse(self, curvature: Any, bend: Numbers, basis: Numbers | None) -> tuple[Any, float] | None:
        """With the levels eliminated."""
        D = curvature.D + bend[self.levels]
        F = curvature.B / D[:, None]
        S = curvature.A + np.diag(bend[self.others]) - curvature.B.T @ F
        found = super().inverse(S, np.zeros(len(S)), None)
        if found is None or not (D > 0).all():
            return None
        return ArrowCovariance(found[0].matrix, F, 1 / D, self.others, self.levels), found[1] + float(np.sum(np.log(D)))

    def third(self, state: State, some: int) -> tuple[Numbers, Numbers]:
        """Third derivatives of the rows times their leverages."""
        theta, v = state.answer.theta, state.u[len(state.u) - len(self.task.target.open) :]
        if self.task.target.squares:
            trace = len(theta) - float(state.bend @ state.covariance.diagonal())
            return np.zeros(len(theta)), np.full(len(v), -2 * trace)
        return self.third_sums(theta, v, state.covariance)

    def third_sums(self, theta: Numbers, v: Numbers, covariance: Any) -> tuple[Numbers, Numbers]:
        """Over the rows."""
        leverages = self._leverages(covariance)[:, None, None]
        along, of_noise = third_of_rows(self.task.target, self.task.engine.predict(theta)[:, None], v, leverages)
        return self._down(along[0]), of_noise

    def _leverages(self, covariance: ArrowCovariance) -> Numbers:
        engine = self.small.engine
        out = np.empty(engine.rows)
        F, D = (
            np.concatenate([x, np.zeros_like(x[:1])]) for x in (covariance.F, covariance.D)
        )  # the last is of code -1
        for begin in range(0, engine.rows, AT_ONCE):
            rows = np.arange(begin, min(begin + AT_ONCE, engine.rows))
            codes = self.codes[rows]
            away = engine.dense_rows(rows) - F[codes]
            out[rows] = np.einsum("ij,ij->i", away @ covariance.S, away) + D[codes]
        return out

    def enough(self) -> tuple[int, int]:
        return 1, 1


class _Squares:
    """Gaussian noise: everything from sums that are made once."""

    def __init__(self, rows: GroupedRows) -> None:
        task, engine = rows.task, rows.task.engine
        self.rows = rows
        self.middle = about_middle(engine) if engine.intercept else 0.0
        self.gram, self.right, self.square = rows.squares_about(self.middle)
        self.total = task.target.total()
        self.constant = 0.5 * self.total * np.log(2 * np.pi)
        if task.target.p is not None:
            self.constant -= 0.5 * task.target.total(np.log(task.target.p))

    def minimum(self, penalty: Penalty, target: Target) -> Answer:
        """The minimum of a quadratic."""
        variance = target.noise.scale**2
        found = self.rows.inverse((1 / variance) * self.gram, penalty.bend, None)
        theta = np.full(len(self.right), np.nan)
        if found is not None:
            theta = found[0].times((self.right / variance + penalty.bend * penalty.centre)[None])[0]
            theta[: int(self.rows.task.engine.intercept)] += self.middle
        return Answer(theta, target.noise, found is not None, 1, 0.0, self.rows.task.engine, penalty)

    def sums(self, answer: Answer, m: int) -> Sums:
        """The nll and its derivatives in the coefficients and, if that is open, in the log of the scale."""
        scale, theta = answer.noise.scale, answer.theta.copy()
        theta[: int(self.rows.task.engine.intercept)] -= self.middle
        pulled = self.gram.times(theta)
        squares = (self.square - 2 * float(theta @ self.right) + float(theta @ pulled)) / scale**2
        nll = self.constant + self.total * float(np.log(scale)) + 0.5 * squares
        border = -2 * (pulled - self.right)[None] / scale**2
        corner = np.full((1, 1), 2 * squares)
        return Sums(
            answer, nll, np.full(1, self.total - squares)[:m], (1 / scale**2) * self.gram, border[:m], corner[:m, :m]
        )


def information_of_groups(rows: GroupedRows, task: Task, state: State, drift: Numbers) -> Information:
    """Standard errors of all coefficients, and the covariance of those that are no level of a large group; the
    parameters of the noise taken as known.
    """
    engine, covariance = task.engine, state.covariance
    errors = np.sqrt(np.maximum(covariance.diagonal() + np.sum(drift**2, axis=1), 0.0))
    own = rows.own
    others = covariance.part(len(own)) + drift[own] @ drift[own].T
    outputs, columns = engine.loss.outputs, engine.columns
    intercepts = np.full(outputs, np.nan)
    if engine.intercept:
        rows_of = np.zeros((outputs, engine.width))
        for k, row in enumerate(rows_of):
            row[k * columns] = 1.0
            row[k * columns + engine.places] = -engine.centre
        of_centres = np.sum(covariance.times(rows_of) * rows_of, axis=1) + np.sum((rows_of @ drift) ** 2, axis=1)
        intercepts = np.sqrt(of_centres)
    noise = {}
    if task.target.open:
        spread = np.linalg.pinv(state.sums.corner, hermitian=True)
        noise = task.target.errors(state.answer.noise, spread)
    return Information(errors.reshape(outputs, columns)[:, engine.places], intercepts, noise, others, own)


def _parts_of_blocks(design: Design) -> list[Any]:
    """For each block the part that it belongs to."""
    out: list[Any] = []
    blocks = iter(design.blocks)
    for part in design.schema.parts:
        count = len(part.coefficients)
        while count > 0:
            count -= next(blocks).columns
            out.append(part)
    return out
