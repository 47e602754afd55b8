"""The evidence in which only coefficients that have a prior are integrated: levels, wiggles. The others, beta, are no
beliefs but parameters, and are where it is largest, together with the scales and what the noise leaves open (the
maximum likelihood of mixed models; by Laplace's method as in lme4, Bates et al. 2015). With g those that have a prior,

    V = -nll - bend (g - centre)^2 / 2 + log bend / 2 - log |H_gg| / 2   at the minimum in g,

in u = (log scales, beta, raw parameters of the noise). Slopes are exact, and second derivatives leave out the same as
those of the evidence of all (evidence.py).
"""

from typing import Any

import numpy as np

from neglog.evidence.maximum import FINEST, Maximum
from neglog.evidence.rows import Jumping, Kinked
from neglog.evidence.state import Covariance, Pulls, State, Sums, inverse_of
from neglog.likelihood.task import Answer, Task
from neglog.typing import Numbers

ROUGH = 1e-2  # nats that the start may be short of its maximum
STEPS = 50  # of Newton's method for g
DONE = 1e-14  # nats that another step for g promises
HALVINGS = 30


class MaximumOfGroups(Maximum):
    """The search."""

    def __init__(self, task: Task, pulls: Pulls) -> None:
        super().__init__(task, pulls)
        if task.target.loss.classes > 1 or isinstance(self.rows, Kinked | Jumping):
            raise ValueError(
                'evidence="groups" needs a loss of one prediction with second derivatives, unlike '
                f'{task.target.noise!r}; take evidence="all"'
            )
        own = (pulls.fixed > 0) | pulls.on.any(axis=0)
        self.held, self.free = np.flatnonzero(own), np.flatnonzero(~own)

    def find(self, u: Numbers, enough: float = FINEST, near: State | None = None) -> State:
        """The maximum: from that of the evidence of all on, which is near."""
        of_all = Maximum(self.task, self.pulls).find(u, ROUGH, near)
        self.theta = of_all.answer.theta
        begin = [of_all.u[: self.scales], self.theta[self.free], of_all.u[self.scales :]]
        return super().find(np.concatenate(begin), enough)

    def at(self, u: Numbers, near: State | None) -> State | None:
        v = self._noise(u)
        ends = [own.within or (-np.inf, np.inf) for own in self.task.target.opened]
        if any(not low < value < high for value, (low, high) in zip(v, ends, strict=True)):
            return None
        bend = self.pulls.bend(u[: self.scales])
        theta = (self.theta if near is None else near.answer.theta).copy()
        theta[self.free] = u[self.scales : self.scales + len(self.free)]
        found = self._minimum(theta, v, bend)
        if found is None:
            return None
        theta, (nll, gradient, slopes, matrix) = found
        inner = inverse_of((matrix[: self.width, : self.width] + np.diag(bend))[np.ix_(self.held, self.held)], None)
        if inner is None:
            return None
        covariance = np.zeros((self.width, self.width))
        covariance[np.ix_(self.held, self.held)] = inner[0]
        away, held = theta - self.pulls.centre, bend > 0
        value = -nll - 0.5 * float(bend @ away**2) + 0.5 * float(np.sum(np.log(bend[held]))) - 0.5 * inner[1]
        answer = Answer(
            theta, self.task.target.at(v), True, 1, 0.0, self.task.engine, self.pulls.penalty(u[: self.scales])
        )
        sums, spread = Sums.of(answer, nll, slopes, matrix), Covariance(covariance)
        return State(u, sums, bend, spread, spread, None, value, self.task.target.total(), gradient)

    def _noise(self, u: Numbers) -> Numbers:
        return u[self.scales + len(self.free) :]

    def _minimum(self, theta: Numbers, v: Numbers, bend: Numbers) -> tuple[Numbers, Any] | None:
        """The objective at its minimum in g, by Newton's method."""
        n, held = self.width, self.held

        def objective(theta: Numbers) -> tuple[float, Any]:
            found = self.rows.derivatives(theta, v)
            return found[0] + 0.5 * float(bend @ (theta - self.pulls.centre) ** 2), found

        value, found = objective(theta)
        for _ in range(STEPS):
            if not (np.isfinite(value) and np.isfinite(found[3]).all()):
                return None
            slope = (found[1] + bend * (theta - self.pulls.centre))[held]
            inverse = inverse_of((found[3][:n, :n] + np.diag(bend))[np.ix_(held, held)], None)
            if inverse is None:
                return None
            step = -inverse[0] @ slope
            gain = -float(slope @ step)
            if gain < DONE:
                break
            length = 1.0
            for _ in range(HALVINGS):
                there = theta.copy()
                there[held] += length * step
                following = objective(there)
                if following[0] <= value - 1e-4 * length * gain or gain < 1e-9 * max(1.0, abs(value)):
                    break
                length *= 0.5
            else:
                break
            theta, (value, found) = there, following
        return theta, found

    def slopes(self, state: State, third: tuple[Numbers, Numbers]) -> Numbers:
        assert state.gradient is not None
        direct = [self._changes(state) @ self._cost(state), -state.gradient[self.free]]
        direct += [-state.sums.slopes - 0.5 * third[1]]
        return np.asarray(np.concatenate(direct) - 0.5 * self._moves(state) @ third[0])

    def imagined(self, state: State, u: Numbers, third: tuple[Numbers, Numbers]) -> State | None:
        return None  # coefficients that no prior holds are of u: all is asked of the rows

    def curvature(self, state: State) -> Numbers:
        k, sums = self.scales, state.sums
        changes, pulled, moves = self._changes(state), self._pulled(state), self._moves(state)
        matrix = -pulled[:, self.held] @ moves[:, self.held].T
        held = np.where(state.bend > 0, state.bend, np.inf)
        matrix[:k, :k] -= 0.5 * (changes / held) @ (changes / held).T
        matrix[:k, :k] += 0.5 * state.covariance.squared(changes)
        matrix[:k, :k] += np.diag(-2 * changes @ self._cost(state))
        border = sums.border[:, self.free]
        matrix[k:, k:] -= np.block([[sums.curvature[np.ix_(self.free, self.free)], border.T], [border, sums.corner]])
        return np.asarray(0.5 * (matrix + matrix.T))

    def _pulled(self, state: State) -> Numbers:
        """Of the slopes in theta with each of u, theta held."""
        away = state.answer.theta - self.pulls.centre
        return np.vstack([self._changes(state) * away, state.sums.curvature[self.free], state.sums.border])

    def _moves(self, state: State) -> Numbers:
        """Of theta with each of u: g follows, and beta is of u."""
        moves = -state.covariance.times(self._pulled(state))
        moves[self.scales + np.arange(len(self.free)), self.free] = 1.0
        return np.asarray(moves)

    def counted(self, state: State) -> Numbers:
        """As if all were beliefs."""
        whole = inverse_of(state.sums.curvature + np.diag(state.bend), None)
        return np.asarray(1 - state.bend * (state.covariance if whole is None else whole[0]).diagonal())

    def _last(self, state: State, u: Numbers) -> State:
        return self.at(u, state) or state
