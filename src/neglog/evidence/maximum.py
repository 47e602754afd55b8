"""The scales of Gaussian priors, and the open parameters of the noise, at the exact maximum of the evidence.

All coefficients theta are integrated by Laplace's method: with bend the prior's precisions, H the curvature of the
objective at its minimum and C its inverse, the log evidence is, up to a constant,

    V = -nll - bend (theta - centre)^2 / 2 + log bend / 2 - log |H| / 2.

It is maximised in u = (log scales, raw parameters of the noise) by Newton's method. Slopes are exact: H depends on u
also through where the minimum lies, which takes third derivatives of the nll of each row, times its leverage (Wood
2011); of very many rows some tell these sums to more digits than a maximum needs. Second derivatives leave out what
these change of them, which costs a step or two.
"""

from dataclasses import replace

import numpy as np

from neglog.distributions.parameters import at_edge
from neglog.evidence.rows import Rows, rows_of
from neglog.evidence.state import Pulls, State
from neglog.likelihood.joint import Joint
from neglog.likelihood.task import Answer, Task
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
MANY = 30_000  # rows, of which a last look costs more than it tells
SETTLED = 1e-3  # nats that it may promise where no step holds what it does, as where a curvature jumps
ENOUGH = 1e-4  # of what the slope promises
HALVINGS = 12
FAINT = (0.1, 0.01)  # effective coefficients of a prior below which its scale may be 0, asked twice
WIDEST = 2.0  # the error of a log scale
NONE = 1e-10  # of an effective coefficient: what a scale of 0 leaves


class Maximum:
    """The search; `steps` counts those it took, and `gain` is what another one promised at its end."""

    def __init__(self, task: Task, pulls: Pulls, rows: Rows | None = None) -> None:
        self.task, self.pulls, self.scales = task, pulls, len(pulls.on)
        self.rows = rows or rows_of(task)
        self.rows.tol = task.tol
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
        some, fine = self.rows.enough()  # rows that show where it goes, as long as it is far, and in the end
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
            if some > fine and self.gain < NEAR:
                some, self.gain = fine, before
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
            if following is None and some > fine:  # some of the rows showed the wrong way
                some, self.gain = fine, before
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
