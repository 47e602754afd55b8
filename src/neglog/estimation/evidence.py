"""The scales of Gaussian priors, and the open parameters of the noise, at the exact maximum of the evidence.

All coefficients theta are integrated by Laplace's method: with bend the prior's precisions, H the curvature of the
objective at its minimum and C its inverse, the log evidence is, up to a constant,

    V = -nll - bend (theta - centre)^2 / 2 + log bend / 2 - log |H| / 2.

It is maximised in u = (log scales, raw parameters of the noise) by Newton's method. Slopes are exact: H depends on u
also through where the minimum lies, which takes third derivatives of the nll of each row, times its leverage (Wood
2011). Second derivatives leave out what these change of them, which costs a step or two.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from neglog.distributions.lazy import special
from neglog.distributions.parameters import at_edge
from neglog.estimation.solve import about_middle, solve
from neglog.likelihood.joint import Joint, by_pairs, joint_sums
from neglog.likelihood.modelled import Modelled
from neglog.likelihood.targets import Target
from neglog.likelihood.task import Answer, Task, sample_nll
from neglog.solvers.penalty import Penalty
from neglog.typing import Numbers

STEPS = 60  # of Newton's method
STRONGER = 6  # times, by a factor of ten, priors become where a fit has no end
FARTHEST = 3.0  # step of a log scale or a raw parameter
LOOSE = 0.02  # posterior standard deviations that a fit of many rows may be off by, where a step of u promises a nat
AHEAD = 8  # such steps that are tried out before the rows are asked
FINEST = 1e-8  # nats that another step promises, which are not worth it
LAST = 1e-2  # nats that a step of many rows promises, after which no other is needed if it was so much less
SHRUNK = 1e-2  # than the step before promised
NEAR = 0.05  # nats, from which on slopes are exact
ROUGHLY = 10_000  # rows that show third derivatives well enough before
AT_ONCE = 1 << 16  # rows
MANY = 30_000  # rows, of which a last look costs more than it tells
SETTLED = 1e-3  # nats that it may promise where no step holds what it does, as where a curvature jumps
ENOUGH = 1e-4  # of what the slope promises
HALVINGS = 12
DIFFERENCE = 0.02  # standard deviations of a row, for third derivatives as differences of second ones
FAINT = (0.1, 0.01)  # effective coefficients of a prior below which its scale may be 0, asked twice
WIDEST = 2.0  # the error of a log scale
NONE = 1e-10  # of an effective coefficient: what a scale of 0 leaves


@dataclass(frozen=True)
class Pulls:
    """The Gaussian priors: the precision of coefficient j is fixed_j + the sum over k of on_kj / scale_k^2."""

    fixed: Numbers
    on: Numbers  # (scales, width), in the core's order
    centre: Numbers

    def bend(self, log_scales: Numbers) -> Numbers:
        """The precisions."""
        return np.asarray(self.fixed + np.exp(-2 * log_scales) @ self.on)

    def penalty(self, log_scales: Numbers) -> Penalty:
        """The prior at these scales."""
        nothing = np.zeros(len(self.fixed))
        return Penalty(self.bend(log_scales), self.centre, nothing, nothing)


@dataclass(frozen=True)
class Covariance:
    """Of all coefficients, as one matrix."""

    matrix: Numbers

    def diagonal(self) -> Numbers:
        """The variances."""
        return np.asarray(self.matrix.diagonal())

    def times(self, rows: Numbers) -> Numbers:
        """Rows of numbers, one for each coefficient, times the matrix."""
        return np.asarray(rows @ self.matrix)

    def squared(self, rows: Numbers) -> Numbers:
        """Rows times the squares of its entries times the rows again."""
        return np.asarray(rows @ self.matrix**2 @ rows.T)


@dataclass
class Sums:
    """The fit at some u, and the nll there with its derivatives in the coefficients theta and in v."""

    answer: Answer
    nll: float
    slopes: Numbers  # in v
    curvature: Any  # in theta, without the prior
    border: Numbers  # in v and theta
    corner: Numbers  # in v

    @classmethod
    def of(cls, answer: Answer, nll: float, slopes: Numbers, joint: Numbers) -> "Sums":
        """From the second derivatives in (theta, v)."""
        n = len(answer.theta)
        return cls(answer, nll, slopes, joint[:n, :n], joint[n:, :n], joint[n:, n:])


@dataclass
class State:
    """The fit at some u, with its evidence."""

    u: Numbers
    sums: Sums
    bend: Numbers
    covariance: Any
    paces: Any  # how the minimum moves where its slopes change: the covariance, but for a curvature that jumps
    information: Any  # what takes the place of the curvature, where that jumps
    value: float  # the log evidence
    total: float  # of the weights of the rows
    gradient: Numbers | None = None  # of the nll in theta, where not all of theta is at its minimum
    of_some: bool = False  # of the rows

    @property
    def answer(self) -> Answer:
        """The fit."""
        return self.sums.answer

    def without_rows(self) -> "State":
        """What the rows said, without keeping them in memory."""
        return replace(self, sums=replace(self.sums, answer=replace(self.answer, engine=None)))  # type: ignore[arg-type]


class Maximum:
    """The search; `steps` counts those it took, and `gain` is what another one promised at its end."""

    def __init__(self, task: Task, pulls: Pulls, rows: "Rows | None" = None) -> None:
        self.task, self.pulls, self.scales = task, pulls, len(pulls.on)
        self.rows = rows or _rows_of(task)
        self.width = len(pulls.fixed)
        self.basis = _basis(replace(task, penalty=pulls.penalty(np.zeros(self.scales))))
        self.steps, self.gain = 0, np.inf

    # ---- the evidence ------------------------------------------------------------------------------------------------

    def at(self, u: Numbers, near: State | None) -> State | None:
        """The fit and its evidence; None where there is none."""
        ends = [own.within or (-np.inf, np.inf) for own in self.task.target.opened]
        if any(not low < value < high for value, (low, high) in zip(u[self.scales :], ends, strict=True)):
            return None
        bend = self.pulls.bend(u[: self.scales])
        v = u[self.scales :]
        sums = self.rows.fit(self.pulls.penalty(u[: self.scales]), v, near)
        if not np.isfinite(sums.nll):
            return None
        information = self.rows.information(sums.answer.theta, v)
        found = self.rows.inverse(sums.curvature if information is None else information, bend, self.basis)
        if found is None:
            return None
        covariance, volume = found
        paces = covariance
        if information is not None and self.task.target.noise.link.name != "identity":
            own = self.rows.inverse(sums.curvature, bend, self.basis)
            paces = covariance if own is None else own[0]
        value = self._value(sums.nll, bend, sums.answer.theta, volume)
        return State(u, sums, bend, covariance, paces, information, value, self.task.target.total())

    def _value(self, nll: float, bend: Numbers, theta: Numbers, volume: float) -> float:
        """The log evidence."""
        away = theta - self.pulls.centre
        return -nll - 0.5 * float(bend @ away**2) + 0.5 * float(np.sum(np.log(bend[bend > 0]))) - 0.5 * volume

    def slopes(self, state: State, third: tuple[Numbers, Numbers]) -> Numbers:
        """Of the evidence, given third derivatives of the rows."""
        direct = self._changes(state) @ self._cost(state)
        beside = np.append(direct, -state.sums.slopes - 0.5 * third[1])
        return np.asarray(beside - 0.5 * self._moves(state) @ third[0])

    def curvature(self, state: State) -> Numbers:
        """Its second derivatives, but for what third derivatives of the nll add."""
        k = self.scales
        moves, changes = self._moves(state), self._changes(state)
        away = state.answer.theta - self.pulls.centre
        held = np.where(state.bend > 0, state.bend, np.inf)
        matrix = np.empty((len(moves), len(moves)))
        matrix[:k, :k] = -(changes * away) @ moves[:k].T - 0.5 * (changes / held) @ (changes / held).T
        matrix[:k, :k] += 0.5 * state.covariance.squared(changes)
        matrix[:k, :k] += np.diag(-2 * changes @ self._cost(state))
        matrix[:k, k:] = -(changes * away) @ moves[k:].T
        matrix[k:, :k] = matrix[:k, k:].T
        matrix[k:, k:] = -(state.sums.corner + state.sums.border @ moves[k:].T)
        return 0.5 * (matrix + matrix.T)

    def _changes(self, state: State) -> Numbers:
        """Of the precisions with each log scale."""
        return np.asarray(-2 * np.exp(-2 * state.u[: self.scales])[:, None] * self.pulls.on)

    def _cost(self, state: State) -> Numbers:
        """How the evidence changes with each precision, the minimum held."""
        away = state.answer.theta - self.pulls.centre
        inverse = np.where(state.bend > 0, 1 / np.where(state.bend > 0, state.bend, 1.0), 0.0)
        return np.asarray(0.5 * (inverse - away**2 - state.covariance.diagonal()))

    def _moves(self, state: State) -> Numbers:
        """Of the minimum with each of u."""
        away = state.answer.theta - self.pulls.centre
        return np.asarray(-state.paces.times(np.vstack([self._changes(state) * away, state.sums.border])))

    def effective(self, state: State) -> Numbers:
        """The effective number of coefficients under each prior."""
        return np.asarray((self.pulls.on > 0) @ self.counted(state))

    # ---- the search --------------------------------------------------------------------------------------------------

    def find(self, u: Numbers, enough: float = FINEST, near: State | None = None) -> State:
        """The maximum, from a start on, to so many nats; `near` is a fit of a part of the rows, if there is one."""
        many = self.task.engine.rows > MANY
        self.rows.tol = max(self.task.tol, LOOSE if many else 0.0)
        state = self.at(u, None if near is None else self.rows.grown(near))
        for _ in range(STRONGER):  # priors so weak may leave a fit without a maximum
            if state is not None:
                break
            u = np.append(u[: self.scales] - np.log(10), u[self.scales :])
            state = self.at(u, None)
        if state is None:
            raise ValueError(
                "the scales of priors cannot be learned, because there is no fit to begin with: the data say nothing "
                "of some term, or terms meet rows so well that their spread has no least value; state a scale, or "
                "leave terms out"
            )
        gone = np.zeros(len(u), bool)  # scales that are 0
        faint = np.full(self.scales, FAINT[0])
        some = self.rows.enough()  # rows that show where it goes, as long as it is far
        while self.steps < STEPS:
            third = self.rows.third(state, some)
            slopes = self.slopes(state, third)
            small = np.flatnonzero((self.effective(state) < faint) & (slopes[: self.scales] < 0) & ~gone[: self.scales])
            if len(small):
                following = self._without(state, small, some)
                if following is None:  # there is a maximum on the way, unless this was the last time to ask
                    gone[small] |= faint[small] <= FAINT[1]
                    faint[small] = FAINT[1]
                else:
                    state, gone[small] = following, True
                continue
            free, before = np.flatnonzero(~gone), self.gain
            step, self.gain = _newton(self.curvature(state)[np.ix_(free, free)], slopes[free])
            if some > 1 and self.gain < NEAR:
                some, self.gain = 1, before
                continue
            if self.gain < enough:
                break
            if many and self.gain < min(LAST, SHRUNK * before):  # what a last step leaves is of second order
                u = state.u.copy()
                u[free] += step
                state = self._last(state, u)
                self.gain *= self.gain
                self.steps += 1
                break
            ahead, gain = self._ahead(state, third, free, step)
            if many:
                self.rows.tol = max(self.task.tol, LOOSE * min(1.0, gain**0.5))
            following = self._along(state, ahead, gain, third, AHEAD // 2)
            if following is None and some > 1:  # some of the rows showed the wrong way
                some, self.gain = 1, before
                continue
            if following is None:  # or only as far as second derivatives say
                ahead = np.zeros(len(u))
                ahead[free] = step
                following = self._along(state, ahead, self.gain, third, HALVINGS)
            if following is None:
                break
            state = following
            self.steps += 1
            if self._at_edge(state):  # where there is no maximum
                self.gain = np.inf
                break
        self.rows.tol = self.task.tol
        if state.answer.decrement > self.task.tol:
            answer = self.rows.minimum(self.pulls.penalty(state.u[: self.scales]), state.u[self.scales :], state)
            state = replace(state, sums=replace(state.sums, answer=answer))
        return state

    def _last(self, state: State, u: Numbers) -> State:
        """The fit after a step so small that the curvature of the rows stays what it was."""
        self.rows.tol = self.task.tol
        bend = self.pulls.bend(u[: self.scales])
        answer = self.rows.minimum(self.pulls.penalty(u[: self.scales]), u[self.scales :], state)
        information = state.sums.curvature if state.information is None else state.information
        found = self.rows.inverse(information, bend, self.basis)
        if found is None or not answer.converged:
            return self.at(u, state) or state
        return replace(state, u=u, sums=replace(state.sums, answer=answer), bend=bend, covariance=found[0])

    def _at_edge(self, state: State) -> bool:
        """Whether a raw parameter of the noise ran to an end of its interval."""
        opened = zip(self.task.target.opened, self.parameters(state), strict=True)
        return any(own.within is not None and at_edge(own, value) is not None for own, value in opened)

    def parameters(self, state: State) -> Numbers:
        """The raw parameters of the noise."""
        return state.u[len(state.u) - len(self.task.target.open) :]

    def counted(self, state: State) -> Numbers:
        """What each coefficient counts: the share of it that the data determine."""
        return np.asarray(1 - state.bend * state.covariance.diagonal())

    def drift(self, state: State) -> Numbers:
        """What is not known about the scales, as directions (width, scales) whose squares add to the covariance of the
        coefficients: how these move with the logarithms of the scales, times the errors of those (Wood, Pya and
        Säfken 2016). Of a scale that is 0 nothing more is known.
        """
        known = np.flatnonzero(self.effective(state) > FAINT[1])
        used = np.append(known, np.arange(self.scales, len(state.u)))
        errors = np.linalg.pinv(-self.curvature(state)[np.ix_(used, used)], hermitian=True)
        values, vectors = np.linalg.eigh(errors[: len(known), : len(known)])
        seen = values > 0
        values, vectors = values[seen], vectors[:, seen]
        along = self._moves(state)[used].T @ errors[:, : len(known)]
        return np.asarray(along @ (vectors * (np.sqrt(np.minimum(values, WIDEST**2)) / values)))

    @property
    def arrived(self) -> bool:
        """Whether it ended at the maximum, or where the evidence is flat to rounding."""
        return self.gain < SETTLED

    def _without(self, state: State, small: Numbers, some: int) -> State | None:
        """With scales that do next to nothing at 0, if the evidence is larger there and falls on the way back."""
        u = state.u.copy()
        u[small] += 0.5 * np.log(NONE / np.maximum(self.effective(state)[small], NONE))
        following = self.at(u, state)
        if (
            following is None
            or following.value < state.value
            or (self.slopes(following, self.rows.third(following, some))[small] > 0).any()
        ):
            return None
        return following

    def _ahead(
        self, state: State, third: tuple[Numbers, Numbers], free: Numbers, step: Numbers
    ) -> tuple[Numbers, float]:
        """How far to go, and what that promises: where the evidence would be largest if second and third derivatives of
        the rows stayed what they are. That takes no pass, and a log scale is not what the evidence is quadratic in.
        """
        whole = np.zeros(len(state.u))
        whole[free] = step
        here = self.imagined(state, state.u, third) if self.rows.dear else None
        if here is None:
            return whole, self.gain
        begin, first = here.value, whole
        for _ in range(AHEAD):
            following = self.imagined(state, here.u + whole, third)
            while following is not None and following.value < here.value and np.abs(whole).max() > FINEST:
                whole = 0.5 * whole
                following = self.imagined(state, here.u + whole, third)
            if following is None or np.max(np.abs(following.u - state.u)[self.scales :], initial=0.0) > FARTHEST:
                break
            here = following
            slopes = self.slopes(here, third)
            step, gain = _newton(self.curvature(here)[np.ix_(free, free)], slopes[free])
            if gain < ENOUGH * self.gain:
                break
            whole = np.zeros(len(state.u))
            whole[free] = step
        if not here.value > begin:
            return first, self.gain
        return here.u - state.u, here.value - begin

    def imagined(self, state: State, u: Numbers, third: tuple[Numbers, Numbers]) -> State | None:
        """The fit and its evidence at u, from second and third derivatives of the rows at a state."""
        bend, more = self.pulls.bend(u[: self.scales]), u[self.scales :] - state.u[self.scales :]
        found = self.rows.inverse(state.sums.curvature, bend, self.basis)
        if found is None or not np.isfinite(bend).all():
            return None
        (covariance, volume), sums = found, state.sums
        away = state.answer.theta - self.pulls.centre
        pull = (state.bend - bend) * away - more @ sums.border
        move = covariance.times(pull[None])[0]
        slopes = sums.slopes + sums.border @ move + sums.corner @ more
        nll = sums.nll - float((state.bend * away) @ move) + float(sums.slopes @ more)
        nll += (
            0.5 * float((pull - bend * move) @ move)
            + float(more @ sums.border @ move)
            + 0.5 * float(more @ sums.corner @ more)
        )
        answer = replace(state.answer, theta=state.answer.theta + move)
        value = self._value(nll, bend, answer.theta, volume) - 0.5 * float(third[0] @ move + third[1] @ more)
        sums = replace(sums, answer=answer, nll=nll, slopes=slopes)
        return replace(state, u=u, sums=sums, bend=bend, covariance=covariance, paces=covariance, value=value)

    def _along(
        self, state: State, step: Numbers, gain: float, third: tuple[Numbers, Numbers], halvings: int
    ) -> State | None:
        length = 1.0
        for _ in range(halvings):
            u = state.u + length * step
            near = self.imagined(state, u, third) if self.rows.dear else None
            following = self.at(u, state if near is None else near)
            if following is not None and following.value >= state.value + ENOUGH * length * gain:
                return following
            length *= 0.5
        return None


def _basis(task: Task) -> Numbers | None:
    """The directions that mean something, if not all do."""
    nowhere = Answer(np.zeros(task.engine.width), None, True, 0, 0.0, task.engine, task.penalty)
    return Joint(task, nowhere).basis()


def _newton(curvature: Numbers, slopes: Numbers) -> tuple[Numbers, float]:
    """A step uphill, and what it promises; nothing goes farther than `FARTHEST`."""
    if not len(slopes):
        return slopes, 0.0
    values, vectors = np.linalg.eigh(-curvature)
    values = np.maximum(np.abs(values), 1e-10 * max(float(np.abs(values).max()), 1e-300))
    step = vectors @ ((vectors.T @ slopes) / values)
    longest = float(np.max(np.abs(step)))
    if longest > FARTHEST:
        step = step * (FARTHEST / longest)
    return step, float(slopes @ step)


def _inverse(hessian: Numbers, basis: Numbers | None) -> tuple[Numbers, float] | None:
    """The inverse of a positive matrix, along the directions that mean something, and the log of its determinant; None
    if it is none.
    """
    inside = hessian if basis is None else basis.T @ hessian @ basis
    unit = 1 / np.sqrt(np.maximum(inside.diagonal(), 1e-300))
    try:
        factor = np.linalg.cholesky(inside * unit * unit[:, None])
    except np.linalg.LinAlgError:
        return None
    from scipy.linalg import solve_triangular

    root = solve_triangular(factor, np.diag(unit), lower=True, check_finite=False)
    root = root if basis is None else root @ basis.T
    return root.T @ root, 2 * float(np.sum(np.log(factor.diagonal())) - np.sum(np.log(unit)))


# ---- where the rows come in ------------------------------------------------------------------------------------------


def _rows_of(task: Task) -> "Rows":
    """How fits at one u after the other are made."""
    if task.target.squares and not task.target.noise.modelled:
        return Squares(task)
    if not task.target.bends:
        return Kinked(task)
    return Rows(task) if task.target.steady else Jumping(task)


class Rows:
    """Any noise: a fit at each u, and one more pass for its derivatives."""

    expected = False  # whether the information of a row takes the place of its curvature
    dear = True  # whether a pass over the rows costs more than algebra with its sums

    def __init__(self, task: Task) -> None:
        self.task, self.tol = task, task.tol

    def target(self, v: Numbers) -> Target:
        """The target with its open parameters stated."""
        target: Target = self.task.target.with_noise(self.task.target.at(v))
        return target

    def fit(self, penalty: Penalty, v: Numbers, near: State | None) -> Sums:
        """The fit, with one more pass for second derivatives."""
        answer = self.minimum(penalty, v, near)
        nll, _, slopes, matrix = self.derivatives(answer.theta, v)
        return Sums.of(answer, nll, slopes, matrix)

    def derivatives(self, theta: Numbers, v: Numbers) -> tuple[float, Numbers, Numbers, Numbers]:
        """The nll, its slopes in theta and in v, and second derivatives in (theta, v)."""
        task, n = self.task, len(theta)
        if not task.target.open and not task.target.noise.modelled:  # constants make no difference
            target = self.target(v)
            phi = getattr(target.dispersion(), "dispersion", 1.0)
            value, gradient, matrix = task.engine.with_target(target).evaluate(theta, True)
            assert matrix is not None
            return value / phi, gradient / phi, np.empty(0), matrix / phi
        value, gradient, matrix = task.total(joint_sums, theta, v, True)
        more, slopes, bends = task.target.remainder(v, task)
        matrix = matrix.copy()
        matrix[n:, n:] += bends
        return value + more, gradient[:n], gradient[n:] + slopes, matrix

    def minimum(self, penalty: Penalty, v: Numbers, near: State | None) -> Answer:
        """The fit, from one nearby if there is one."""
        task, target = self.task, self.target(v)
        engine = task.engine.with_target(target)
        stated = replace(task, target=target, engine=engine, penalty=penalty, tol=self.tol)
        if near is None:
            return solve(stated)
        return solve(stated, near.answer, near.sums.curvature + np.diag(penalty.bend), of_some=near.of_some)

    def inverse(self, curvature: Any, bend: Numbers, basis: Numbers | None) -> tuple[Any, float] | None:
        """The inverse of a curvature with the prior's, and the log of its determinant."""
        found = _inverse(curvature + np.diag(bend), basis) if np.isfinite(curvature).all() else None
        return None if found is None else (Covariance(found[0]), found[1])

    def grown(self, near: State) -> State:
        """The fit of a part of the rows, with a curvature as of all."""
        factor = self.task.target.total() / near.total
        return replace(near, sums=replace(near.sums, curvature=factor * near.sums.curvature), of_some=True)

    def enough(self) -> int:
        """The distance of rows that show third derivatives well enough, while the maximum is far."""
        return 1 if self.task.engine.streamed else max(1, self.task.engine.rows // ROUGHLY)

    def information(self, theta: Numbers, v: Numbers) -> Numbers | None:
        """What takes the place of a curvature that jumps, in the evidence."""
        return None

    def third(self, state: State, some: int) -> tuple[Numbers, Numbers]:
        """Of tr(C H): its slope along each coefficient, and along each of v."""
        task, factor = self.task, 1.0
        v = state.u[len(state.u) - len(task.target.open) :]
        if some > 1:
            task = task.taken(np.arange(0, task.engine.rows, some))
            factor = self.task.target.total() / task.target.total()
        asked = (state.answer.theta, v, state.covariance.matrix, self.expected)
        if task.engine.streamed or task.engine.rows <= AT_ONCE:
            found = factor * task.total(third_sums, *asked)
        else:  # numbers of each row take memory
            parts = (slice(begin, begin + AT_ONCE) for begin in range(0, task.engine.rows, AT_ONCE))
            found = factor * sum(third_sums(task.taken(part), *asked) for part in parts)
        return found[: len(state.bend)], found[len(state.bend) :]


def third_sums(task: Task, theta: Numbers, v: Numbers, covariance: Numbers, expected: bool) -> Numbers:
    """The slopes of tr(C H) along the coefficients and along v, over the rows of a task: third derivatives of each
    row's nll times the covariance of its predictions.
    """
    engine = task.engine
    eta = engine.predict(theta).reshape(engine.rows, -1)
    leverage = _leverages(engine, covariance, engine.loss.outputs)
    along, of_v = third_of_rows(task.target, eta, v, leverage, expected)
    return np.concatenate([*map(engine.transposed, along), of_v])


def third_of_rows(
    target: Target, eta: Numbers, v: Numbers, leverage: Numbers, expected: bool = False
) -> tuple[list[Numbers], Numbers]:
    """Third derivatives of each row's nll times the covariance of its predictions: along each of these for each row,
    and along v over all of them.
    """
    weight = 1.0 if target.w is None else target.w
    bends = _bends(target, eta, v, expected)
    along, of_v = [], np.empty(len(v))
    for k in range(eta.shape[1]):
        step = np.zeros(eta.shape[1])
        step[k] = _step(bends[:, k, k], target.noise.link.name)
        change = _difference(lambda t, step=step: _bends(target, eta + t * step, v, expected)) / step[k]
        along.append(np.asarray(weight * np.einsum("ikl,ikl->i", leverage, change)))
    for k in range(len(v)):
        step = np.zeros(len(v))
        step[k] = DIFFERENCE
        change = _difference(lambda t, step=step: _bends(target, eta, v + t * step, expected)) / DIFFERENCE
        of_v[k] = np.sum(weight * np.einsum("ikl,ikl->i", leverage, change))
    return along, of_v


def _leverages(engine: Any, covariance: Numbers, outputs: int) -> Numbers:
    """The covariance of each row's predictions, (rows, outputs, outputs)."""
    columns = engine.columns
    out = np.empty((engine.rows, outputs, outputs))
    for k in range(outputs):
        for m in range(k + 1):
            own = covariance[k * columns : (k + 1) * columns, m * columns : (m + 1) * columns]
            out[:, k, m] = out[:, m, k] = engine.forms(0.5 * (own + own.T))
    return out


def _bends(target: Target, eta: Numbers, v: Numbers, expected: bool = False) -> Numbers:
    """Second derivatives of each row's nll in its predictions, (rows, outputs, outputs); or their expectation."""
    noise, modelled = target.at(v), target.noise.modelled
    if noise.of_classes:
        p = special.softmax(eta, axis=1)
        return np.asarray(p[:, :, None] * (np.eye(eta.shape[1]) - p[:, None, :]))
    if expected:
        location = np.ascontiguousarray(eta[:, 0])
        return np.asarray(_information(target, noise, location))[:, None, None]
    if not modelled:
        return np.asarray(target.row_slopes(noise, np.ascontiguousarray(eta[:, 0]))[1])[:, None, None]
    assert isinstance(target, Modelled)
    places = [own.name for own in noise.beside_location()]
    return by_pairs(target.derivatives(noise, eta)[1], [0, *(1 + places.index(name) for name in modelled)])


def _information(target: Target, noise: Any, eta: Numbers) -> Numbers:
    """What each row is expected to say about its prediction."""
    return np.asarray(noise.with_precision(target.p).gradient_hessian(target.raw, eta, expected=True)[1])


def _step(bends: Numbers, link: str) -> float:
    """A step that is small for most rows: on a scale without a unit, small as such."""
    typical = float(np.mean(np.abs(bends)))
    own = DIFFERENCE / np.sqrt(typical) if typical > 0 else DIFFERENCE
    return own if link == "identity" else min(own, DIFFERENCE)


def _difference(function: Any) -> Numbers:
    """The slope at 0, right to the fourth order."""
    near, far = function(1.0) - function(-1.0), function(2.0) - function(-2.0)
    return np.asarray((8 * near - far) / 12)


class Jumping(Rows):
    """Huber's noise, whose curvature jumps with the coefficients: its expectation does not."""

    expected = True
    dear = False

    def information(self, theta: Numbers, v: Numbers) -> Numbers | None:
        return np.asarray(self.task.total(information_sums, theta, v))


def information_sums(task: Task, theta: Numbers, v: Numbers) -> Numbers:
    """The information of the rows about the coefficients."""
    target, engine = task.target, task.engine
    own = _information(target, target.at(v), engine.predict(theta))
    weight = np.ascontiguousarray(own if target.w is None else own * target.w)
    return engine.with_rows(np.zeros(engine.rows), weight).moments()[:-1, :-1]


class Kinked(Rows):
    """Laplace noise, symmetric or not: exact fits, and the information of the rows in the place of a curvature."""

    expected = True
    dear = False

    def fit(self, penalty: Penalty, v: Numbers, near: State | None) -> Sums:
        """The fit, its nll, and slopes and information."""
        task, target, answer = self.task, self.target(v), self.minimum(penalty, v, near)
        filled = replace(answer, noise=target.noise)
        joint = Joint(replace(task, penalty=penalty), filled)
        matrix, n = joint.curvature().matrix.copy(), len(answer.theta)
        matrix[:n, :n] -= np.diag(penalty.bend)
        nll = float(task.total(sample_nll, target.noise, answer.theta))
        loss = float(matrix[n, n]) if len(v) else 0.0
        return Sums.of(filled, nll, np.full(len(v), target.total() - loss), matrix)


class Squares(Rows):
    """Gaussian noise: everything from one Gram matrix."""

    dear = False

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        engine = task.engine
        self.middle = about_middle(engine) if engine.intercept else 0.0
        self.gram = engine.moments(self.middle)
        if not np.isfinite(self.gram).all():
            engine.design.check_finite()
        self.total = task.target.total()
        p = task.target.p
        self.constant = 0.5 * self.total * np.log(2 * np.pi)
        if p is not None:
            self.constant -= 0.5 * task.target.total(np.log(p))

    def fit(self, penalty: Penalty, v: Numbers, near: State | None) -> Sums:
        """The minimum of a quadratic."""
        noise = self.task.target.at(v)
        variance = noise.scale**2
        n = len(penalty.bend)
        matrix, right = self.gram[:n, :n] / variance, self.gram[:n, n] / variance
        hessian = matrix + np.diag(penalty.bend)
        unit = 1 / np.sqrt(np.maximum(hessian.diagonal(), 1e-300))
        theta = unit * np.linalg.solve(hessian * unit * unit[:, None], unit * (right + penalty.bend * penalty.centre))
        nll, _, slopes, joint = self._about(theta, v)
        theta[: self.task.engine.intercept] += self.middle
        return Sums.of(Answer(theta, noise, True, 1, 0.0, self.task.engine, penalty), nll, slopes, joint)

    def derivatives(self, theta: Numbers, v: Numbers) -> tuple[float, Numbers, Numbers, Numbers]:
        theta = theta.copy()
        theta[: self.task.engine.intercept] -= self.middle
        return self._about(theta, v)

    def _about(self, theta: Numbers, v: Numbers) -> tuple[float, Numbers, Numbers, Numbers]:
        """The same of y less its middle."""
        noise, n = self.task.target.at(v), len(theta)
        variance = noise.scale**2
        whole = np.append(theta, -1.0)
        pulls = self.gram @ whole / variance
        squares, matrix = float(whole @ pulls), self.gram[:n, :n] / variance
        nll = self.constant + self.total * float(np.log(noise.scale)) + 0.5 * squares
        if not len(v):
            return nll, pulls[:n], np.empty(0), matrix
        border = -2 * pulls[:n, None]
        joint = np.block([[matrix, border], [border.T, np.full((1, 1), 2 * squares)]])
        return nll, pulls[:n], np.array([self.total - squares]), joint

    def minimum(self, penalty: Penalty, v: Numbers, near: State | None) -> Answer:
        return self.fit(penalty, v, near).answer

    def enough(self) -> int:
        return 1

    def third(self, state: State, some: int) -> tuple[Numbers, Numbers]:
        """The curvature knows the scale alone."""
        trace = float(np.sum(state.covariance.matrix * state.sums.curvature))
        return np.zeros(len(state.bend)), np.full(len(state.sums.slopes), -2 * trace)
