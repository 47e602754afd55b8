"""How the rows tell fits and their derivatives to a search of the evidence: any noise by passes, Gaussian noise by one
Gram matrix, noises whose curvature jumps by their information.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from neglog.distributions.lazy import special
from neglog.estimation.solve import about_middle, solve
from neglog.evidence.state import Covariance, State, Sums, inverse_of
from neglog.likelihood.joint import Joint, by_pairs, joint_sums
from neglog.likelihood.modelled import Modelled
from neglog.likelihood.targets import Target
from neglog.likelihood.task import Answer, Task, sample_nll
from neglog.solvers.penalty import Penalty
from neglog.typing import Numbers

ROUGHLY = 10_000  # rows that show third derivatives well enough before
FINELY = 100_000  # rows that do so at the end: the slopes of log scales are then right to a hundredth
AT_ONCE = 1 << 16  # rows
DIFFERENCE = 0.02  # standard deviations of a row, for third derivatives as differences of second ones


def rows_of(task: Task) -> "Rows":
    """How fits at one u after the other are made."""
    if task.target.squares and not task.target.noise.modelled:
        return Squares(task)
    if not task.target.bends:
        return Kinked(task)
    steady = task.target.steady or bool(
        task.target.noise.modelled
    )  # then the information is not of one prediction alone
    return Rows(task) if steady else Jumping(task)


class Rows:
    """Any noise: a fit at each u, and one more pass for its derivatives."""

    expected = False  # whether the information of a row takes the place of its curvature
    dear = True  # whether a pass over the rows costs more than algebra with its sums
    tol: float  # how far from its minimum a fit may be, which a search asks for as it needs it

    def __init__(self, task: Task) -> None:
        self.task = task

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
        found = inverse_of(curvature + np.diag(bend), basis) if np.isfinite(curvature).all() else None
        return None if found is None else (Covariance(found[0]), found[1])

    def grown(self, near: State) -> State:
        """The fit of a part of the rows, with a curvature as of all."""
        factor = self.task.target.total() / near.total
        return replace(near, sums=replace(near.sums, curvature=factor * near.sums.curvature), of_some=True)

    def enough(self) -> tuple[int, int]:
        """The distances of rows that show third derivatives well enough, while the maximum is far and where it ends."""
        rows = 0 if self.task.engine.streamed else self.task.engine.rows
        return max(1, rows // ROUGHLY), max(1, rows // FINELY)

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

    def enough(self) -> tuple[int, int]:
        return 1, 1

    def third(self, state: State, some: int) -> tuple[Numbers, Numbers]:
        """The curvature knows the scale alone."""
        trace = float(np.sum(state.covariance.matrix * state.sums.curvature))
        return np.zeros(len(state.bend)), np.full(len(state.sums.slopes), -2 * trace)
