"""Laplace noise, symmetric or not: the exact least absolute deviations and quantiles, with their certificate."""

from typing import Any

import numpy as np

from neglog.engines.memory import Memory
from neglog.estimation.open_directions import column_null
from neglog.likelihood.targets import Target
from neglog.likelihood.task import Answer, Task
from neglog.solvers.absolute import AbsoluteSolution, MemoryRows, Rows, Status, least_absolute
from neglog.typing import Numbers

ROUNDS = 200  # of scale and coefficients in turn


class EngineRows(MemoryRows):
    """The rows of an engine as the absolute solver asks for them, and by how much their loss grows above and below a
    prediction; rows of weight 0 are left out by the caller.
    """

    def __init__(self, engine: Memory, slopes: tuple[float, float]) -> None:
        self.engine, self.slopes = engine, slopes
        self.rows, self.columns, self.weights = engine.rows, engine.columns, engine.weight
        shift = engine.offset
        self.y = np.asarray(engine.y if shift is None else engine.y - shift, np.float64)

    def _residuals(self, theta: Numbers) -> Numbers:
        return self.engine.y - self.engine.predict(theta)

    def signed_sum(self, theta: Numbers, skip: Any) -> tuple[Numbers, int]:
        """The sum of w sign(residual) x over the other rows, and their number."""
        signs = np.sign(self.residuals(theta))
        signs[skip] = 0.0
        return self.engine.transposed(signs if self.weights is None else signs * self.weights), self.rows - len(skip)

    def weighted_sum(self) -> Numbers:
        """The sum of w x over all rows."""
        return self.engine.transposed(np.ones(self.rows) if self.weights is None else self.weights)

    def take(self, index: Any) -> Rows:
        """The rows with these numbers."""
        weights = np.ones(len(index)) if self.weights is None else self.weights[index]
        return self.engine.dense_rows(index), self.y[index], weights

    def middle(self) -> float:
        """What a constant prediction would be, were all weights alike."""
        return middle(self.y, self.slopes)

    def loss(self, residuals: Numbers) -> float:
        """The sum of their losses, each counted by its weight."""
        losses = row_losses(residuals, self.slopes)
        return float(losses.sum() if self.weights is None else self.weights @ losses)


def row_losses(residuals: Numbers, slopes: tuple[float, float]) -> Numbers:
    """What each costs: its absolute value, or the pinball loss."""
    above, below = slopes
    if above == below:
        return above * np.abs(residuals)
    return np.where(residuals < 0, -below, above) * residuals


def middle(y: Numbers, slopes: tuple[float, float]) -> float:
    """The constant with the least loss: the median, or another quantile."""
    above, below = slopes
    return float(np.median(y) if above == below else np.quantile(y, above / (above + below)))


def pulls(residuals: Numbers, slopes: tuple[float, float]) -> Numbers:
    """The slope of each loss, of residual 0 the mean of its two: sign(residual) for the absolute loss."""
    above, below = slopes
    return 0.5 * (above + below) * np.sign(residuals) + 0.5 * (above - below)


def counted_rows(engine: Memory) -> Memory:
    """Without the rows of weight 0."""
    return engine if engine.weight is None or engine.weight.all() else engine.take(np.flatnonzero(engine.weight))


def solve_absolute(task: Task, near: Answer | None = None) -> Answer:
    """The exact minimum; with an open scale and a prior, scale and coefficients in turn until neither moves. From the
    answer to a question like this one, if there is one.
    """
    target, engine, penalty = task.target, task.engine, task.penalty
    check_link(target)
    data = EngineRows(counted_rows(engine), target.noise.kink_slopes)
    dispersion = target.dispersion()
    if not engine.width:  # nothing to solve for but the scale
        phi = dispersion.profile(data.loss(data.y)).dispersion
        return Answer(np.empty(0), target.filled(phi), True, 0, 0.0, engine, penalty)
    theta: Numbers | None
    phi = target.noise.scale
    if phi is None and near is not None:
        phi = near.noise.scale
    if phi is None:
        phi = dispersion.profile(data.loss(data.y - data.middle())).dispersion or 1.0
    constant = proven_constant(data, penalty)
    if constant is not None:
        theta = constant.theta
        phi = dispersion.profile(data.loss(data.residuals(theta))).dispersion
        answer = Answer(theta, target.filled(phi), phi > 0, 1, 0.0, engine, penalty)
        answer.certificate = constant
        return answer
    theta = None if near is None else near.theta
    basis = None if near is None or near.certificate is None else near.certificate.basis
    rounds = 0
    while True:
        rounds += 1
        close = theta is not None
        terms = prior_rows(penalty, phi), ridge(penalty, phi)
        solution = least_absolute(data, None, *terms, theta, slopes=data.slopes, close=close, basis=basis)
        basis = solution.basis
        theta = at_kinks(solution, penalty, data.rows)
        following = dispersion.profile(data.loss(data.residuals(theta))).dispersion
        moved = abs(following / phi - 1)
        settled = penalty.flat.all() or moved <= 1e-12
        phi = following
        if settled or rounds == ROUNDS:
            break
    status = solution.status
    answer = Answer(
        theta, target.filled(phi), settled and status <= Status.RANK_DEFICIENT, rounds, 0.0, engine, penalty
    )
    answer.certificate = solution
    if status == Status.RANK_DEFICIENT:
        answer.null = column_null(task)
        if answer.null is None:
            answer.notes.append(solution.message)
    if status > Status.RANK_DEFICIENT:
        answer.notes.append(f"Not converged: {solution.message}")
    elif not settled:
        answer.notes.append(
            f"Not converged: coefficients and scale, found in turn, still move after {rounds} rounds, the scale by "
            f"{moved:.1g} of itself. State scale=..., or take another scale of the prior."
        )
    return answer


def check_link(target: Target) -> None:
    """Only the identity makes it a linear programme."""
    if target.noise.link.name != "identity":
        raise ValueError(
            f"{type(target.noise).__name__} noise is fitted with the identity link only, but has "
            f"{target.noise.link.name!r}; fit a function of y, such as log(y): its quantiles are that function of "
            "those of y. Huber(delta=0.1) is close to the median and takes other links"
        )


def proven_constant(data: EngineRows, penalty: Any) -> AbsoluteSolution | None:
    """The solution where one value, such as 0, is that of most targets, and no column moves the median, or the
    quantile, away from it.

    Multipliers u = w (x'v + the mean of the two slopes of the loss) of the rows at that value, with v so that they
    balance all others, prove it if none exceeds its slopes. The solver would have to sort out all these ties.
    """
    engine = data.engine
    theta = penalty.centre + penalty.kink
    if not engine.intercept or theta.any():
        return None
    middle = data.middle()
    tied = data.y == middle
    if np.count_nonzero(tied) <= data.rows // 2:
        return None
    w = np.ones(data.rows) if data.weights is None else data.weights
    others = engine.transposed(pulls(data.y - middle, data.slopes) * w)
    balance = engine.with_rows(np.zeros(data.rows), np.where(tied, w, 0.0))
    gram = balance.moments()[:-1, :-1]
    v, off = balanced(others, gram)
    share = balance.predict(v)[tied]
    if np.max(np.abs(share)) > 0.5 * sum(data.slopes) or off > 1e-9:
        return None
    theta[0] = middle
    rows = np.flatnonzero(tied)
    dual = w[rows] * (share + pulls(np.zeros(1), data.slopes))
    return constant_solution(theta, data.loss(data.y - middle), rows, dual, off)


def balanced(others: Numbers, gram: Numbers) -> tuple[Numbers, float]:
    """v such that the multipliers w x'v of the tied rows, whose Gram matrix is given, balance the signs of the others;
    and what is left of them, relative to what was summed.
    """
    scale = 1 / np.sqrt(np.where(gram.diagonal() > 0, gram.diagonal(), 1.0))
    inverse = np.linalg.pinv(gram * scale * scale[:, None], rcond=1e-12, hermitian=True) * scale * scale[:, None]
    v = -inverse @ others
    v -= inverse @ (others + gram @ v)  # what rounding left
    excess, summed = others + gram @ v, np.abs(others) + np.abs(gram) @ np.abs(v)
    return v, float(np.max(np.abs(excess) / np.maximum(summed, np.finfo(float).tiny), initial=0.0))


def constant_solution(theta: Numbers, objective: float, tied: Any, dual: Numbers, off: float) -> AbsoluteSolution:
    """A solution without a basis: all rows that hold it are tied."""
    nothing = np.empty(0)
    return AbsoluteSolution(theta, objective, nothing.astype(int), nothing, tied, dual, 0.0, off, 1, 0, Status.OPTIMAL)


def prior_rows(penalty: Any, phi: float) -> Rows | None:
    """A Laplace prior is an absolute loss of the coefficients themselves."""
    held = np.flatnonzero(penalty.strength)
    if not len(held):
        return None
    return np.eye(len(penalty.strength))[held], penalty.kink[held], phi * penalty.strength[held]


def at_kinks(solution: Any, penalty: Any, rows: int) -> Numbers:
    """Rounding taken off the coefficients that the prior holds at their kink."""
    theta: Numbers = solution.theta.copy()
    held = np.flatnonzero(penalty.strength)[solution.basis[solution.basis >= rows] - rows]
    theta[held] = penalty.kink[held]
    return theta


def ridge(penalty: Any, phi: float) -> tuple[Numbers, Numbers] | None:
    """A Gaussian prior is a ridge."""
    return (phi * penalty.bend, penalty.centre) if penalty.bend.any() else None
