"""One group of very many levels beside a few other coefficients: its curvature is a diagonal, and is eliminated.

With b the effects of the levels and beta all other coefficients, the curvature is [[A, B'], [B, D]] with D diagonal.
Its Schur complement S = A - B' D^-1 B is as small as A, and tells everything: log |H| = sum log D + log |S|, and with
F = D^-1 B the covariance is S^-1 for beta, -F S^-1 between, and D^-1 + F S^-1 F' for b. A row of level l has the
leverage (x - F_l)' S^-1 (x - F_l) + 1 / D_l. Time and memory grow with the rows and the levels, not with their squares.
"""

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
from neglog.estimation.evidence import DIFFERENCE, Rows, State, Sums, _bends, _difference, _step
from neglog.estimation.solve import about_middle, solve
from neglog.likelihood.targets import Target
from neglog.likelihood.task import Answer, Task
from neglog.solvers.penalty import Penalty
from neglog.typing import Numbers

LARGE = 1_000  # levels, from which on they are eliminated
CROSSED = 300  # levels, from which on those of another group that crosses it count as many
MOST = 2_500  # coefficients beside them, whose curvature is dense
AT_ONCE = 1 << 16  # rows that are made dense
STEPS = 100
HALVINGS = 30
ENOUGH = 1e-4  # of what the slope promises
SLOW = 0.2  # of the distance before, to which a step with a borrowed curvature should come
FEW = 16  # columns that are summed by level one after the other


def large_groups(task: Task) -> list[Part]:
    """The group that is eliminated, if one is large, the largest; then those that cross it and are large, too."""
    parts = [part for part in task.engine.design.schema.terms or () if isinstance(part, Part) and not part.variables]
    parts.sort(key=lambda part: -part.levels)
    target = task.target
    plain = task.engine.loss.outputs == 1 and target.noise.takes_intercept and not task.engine.streamed
    if not parts or parts[0].levels < LARGE or not (plain and target.bends and target.steady):
        return []
    large = [parts[0], *(part for part in parts[1:] if part.levels >= CROSSED)]
    others = task.engine.width - sum(part.levels for part in large)
    if others > MOST:
        raise ValueError(
            f"beside the group {quoted(large[0].name)} there are {others:,} coefficients, and at most {MOST:,} are "
            "fitted with it at once; leave out the next largest factor, or let its levels of few rows have no effect: "
            "rare=..."
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
    )
    return replace(task, engine=small, whole=None), [found[k] for k in range(len(parts))]


def places_beside(width: int, levels: Numbers) -> Numbers:
    """The places of all coefficients but these."""
    kept = np.ones(width, bool)
    kept[levels] = False
    return np.flatnonzero(kept)


@dataclass(frozen=True)
class Arrow:
    """A matrix of this form, over coefficients in the core's order: `others` and `levels` are their places."""

    A: Numbers
    B: Numbers  # (levels, others)
    D: Numbers
    others: Numbers
    levels: Numbers

    @property
    def width(self) -> int:
        """How many coefficients there are."""
        return len(self.others) + len(self.levels)

    def __rmul__(self, factor: float) -> "Arrow":
        return replace(self, A=factor * self.A, B=factor * self.B, D=factor * self.D)

    def times(self, x: Numbers) -> Numbers:
        """The matrix times a vector."""
        out = np.empty(self.width)
        out[self.others] = self.A @ x[self.others] + x[self.levels] @ self.B
        out[self.levels] = self.B @ x[self.others] + self.D * x[self.levels]
        return out


@dataclass(frozen=True)
class ArrowCovariance:
    """The inverse of such a matrix."""

    S: Numbers  # the inverse of the Schur complement
    F: Numbers
    D: Numbers  # the inverse of the diagonal
    others: Numbers
    levels: Numbers

    @property
    def _spread(self) -> Numbers:
        return self.F @ self.S

    def part(self, count: int) -> Numbers:
        """Of the first of the others."""
        return self.S[:count, :count]

    def diagonal(self) -> Numbers:
        """The variances."""
        out = np.empty(len(self.others) + len(self.levels))
        out[self.others] = self.S.diagonal()
        out[self.levels] = self.D + np.einsum("ij,ij->i", self._spread, self.F)
        return out

    def times(self, rows: Numbers) -> Numbers:
        """Rows of numbers, one for each coefficient, times the matrix."""
        out = np.empty_like(rows)
        beta = (rows[:, self.others] - rows[:, self.levels] @ self.F) @ self.S
        out[:, self.others] = beta
        out[:, self.levels] = rows[:, self.levels] * self.D - beta @ self.F.T
        return out

    def squared(self, rows: Numbers) -> Numbers:
        """Rows times the squares of its entries times the rows again; on the levels a row has one number for all."""
        spread, own = self._spread, rows[:, self.levels[0]]
        if (rows[:, self.levels] != own[:, None]).any():
            raise ValueError("levels of a large group have one prior")
        others = rows[:, self.others]
        between = others @ np.sum(spread**2, axis=0)
        inner = self.F.T @ spread
        of_levels = np.sum(self.D**2) + 2 * self.D @ np.einsum("ij,ij->i", spread, self.F) + np.sum(inner * inner.T)
        cross = np.outer(own, between)
        return np.asarray(others @ self.S**2 @ others.T + cross + cross.T + of_levels * np.outer(own, own))


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
        """Sums of w times each column, (levels, columns)."""
        engine, columns = self.engine, self.engine.columns
        out = np.zeros((self.count, columns))
        if columns <= FEW and all(isinstance(block, Dense) for block in engine.design.blocks):
            out[:, : engine.intercept] = self.of(w)[:, None]
            for j in range(columns - engine.intercept):
                column = engine.dense_columns(np.array([j]))[:, 0]
                out[:, engine.intercept + j] = self.of(w * column)
            return out
        for begin in range(0, len(self.order), AT_ONCE):
            rows = self.order[begin : begin + AT_ONCE]
            codes = self.codes[rows]
            starts = np.flatnonzero(np.append(True, codes[1:] != codes[:-1]))
            out[codes[starts]] += np.add.reduceat(w[rows, None] * engine.dense_rows(rows), starts, axis=0)
        return out

    @cached_property
    def order(self) -> Numbers:
        """The rows with a level, level after level."""
        return np.argsort(self.codes, kind="stable")[len(self.codes) - len(self.places) :]


class GroupedRows(Rows):
    """Fits by Newton's method with the levels eliminated."""

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

    def minimum(self, penalty: Penalty, v: Numbers, near: State | None) -> Answer:
        """By Newton's method; of squares, at once."""
        target = self.target(v)
        if self.squares is not None:
            return self.squares.minimum(penalty, target)
        theta = self._start(penalty, target) if near is None else near.answer.theta
        value, slopes, bends = self._row_sums(target, theta)
        value += penalty.quadratic(theta)[0]
        converged, decrement = False, np.inf
        known = None if near is None else near.sums.curvature
        found = None if known is None else self.inverse(known, penalty.bend, None)
        for _ in range(STEPS):
            borrowed = found is not None
            if not borrowed:
                found = self.inverse(self._arrow(bends), penalty.bend, None)
            gradient = self._down(slopes) + penalty.quadratic(theta)[1]
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
                found_there = self._row_sums(target, there)
                following = found_there[0] + penalty.quadratic(there)[0]
                if following <= value - ENOUGH * length * decrement**2 + 1e-12 * abs(value):
                    break
                length *= 0.5
            theta, value, (_, slopes, bends) = there, following, found_there
        return Answer(theta, target.noise, converged, 1, decrement, self.task.engine.with_target(target), penalty)

    def without(self, penalty: Penalty, target: Target) -> Answer:
        """The fit without the group, roughly."""
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
        answer, target = self.minimum(penalty, v, near), self.target(v)
        if self.squares is not None:
            return self.squares.sums(answer, len(v))
        nll, _, bends = self._row_sums(target, answer.theta)
        arrow = self._arrow(bends)
        m, width = len(v), len(answer.theta)
        if not m:
            return Sums(answer, nll, np.empty(0), arrow, np.empty((0, width)), np.empty((0, 0)))
        weight = 1.0 if target.w is None else target.w
        _, slopes, pairs = target.noise.with_precision(target.p).joint(
            target.raw, self.task.engine.predict(answer.theta), curvature=True
        )
        places = [1 + place for place in self.task.target.places()]
        border = np.stack([self._down(weight * pairs[k * (k + 1) // 2]) for k in places])
        corner = np.array(
            [[np.sum(weight * pairs[max(a, b) * (max(a, b) + 1) // 2 + min(a, b)]) for b in places] for a in places]
        )
        own = np.array([np.sum(weight * slopes[k]) for k in places])
        return Sums(answer, nll, own, arrow, border, corner)

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
        task, theta = self.task, state.answer.theta
        target, v = task.target, state.u[len(state.u) - len(task.target.open) :]
        if target.squares:
            trace = len(theta) - float(state.bend @ state.covariance.diagonal())
            return np.zeros(len(theta)), np.full(len(v), -2 * trace)
        eta = self.task.engine.predict(theta)[:, None]
        weighted = self._leverages(state.covariance) * (1.0 if target.w is None else target.w)
        step = _step(_bends(target, eta, v)[:, 0, 0], target.noise.link.name)
        change = _difference(lambda t: _bends(target, eta + t * step, v))[:, 0, 0] / step
        of_noise = np.empty(len(v))
        for k in range(len(v)):
            way = DIFFERENCE * (np.arange(len(v)) == k)
            bent = _difference(lambda t, way=way: _bends(target, eta, v + t * way))[:, 0, 0] / DIFFERENCE
            of_noise[k] = float(weighted @ bent)
        return self._down(weighted * change), of_noise

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

    def enough(self) -> int:
        return 1


class _Squares:
    """Gaussian noise: everything from sums that are made once."""

    def __init__(self, rows: GroupedRows) -> None:
        task, engine = rows.task, rows.task.engine
        self.rows = rows
        self.middle = about_middle(engine) if engine.intercept else 0.0
        w = np.ones(engine.rows) if engine.weight is None else engine.weight
        y = engine.y - self.middle - (0.0 if engine.offset is None else engine.offset)
        self.gram, self.right, self.square = rows._arrow(w), rows._down(w * y), float(w @ y**2)
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
    intercept = np.nan
    if engine.intercept:
        row = np.zeros((1, engine.width))
        row[0, 0] = 1.0
        row[0, engine.places] = -engine.centre
        intercept = float(np.sqrt(covariance.times(row)[0] @ row[0] + np.sum((row[0] @ drift) ** 2)))
    noise = {}
    if task.target.open:
        spread = np.linalg.pinv(state.sums.corner, hermitian=True)
        noise = task.target.errors(state.answer.noise, spread)
    return Information(errors[engine.places][None], np.array([intercept]), noise, others, own)


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
