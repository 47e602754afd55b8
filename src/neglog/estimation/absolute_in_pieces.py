"""Least absolute deviations, and quantiles, of rows that are not in memory, exact and with their certificate.

The sample says about where the solution is. One pass keeps the rows near it and sums the others by their signs, which
is all they contribute; the rows kept are solved exactly; another pass proves that no other row changed its sign.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from neglog.estimation.absolute import (
    ROUNDS,
    at_kinks,
    balanced,
    check_link,
    constant_solution,
    middle,
    prior_rows,
    pulls,
    ridge,
    row_losses,
    solve_absolute,
)
from neglog.estimation.open_directions import column_null
from neglog.likelihood.task import Answer, Task
from neglog.solvers.absolute import CAUTION, DenseRows, Status, least_absolute
from neglog.solvers.penalty import Penalty
from neglog.streaming.pieces import PieceTask, StreamedTask
from neglog.streaming.target_sums import Extremes
from neglog.typing import Numbers

MOST_CELLS = 30_000_000  # numbers that the rows near the solution may be
BANDS = 12  # that are tried


def solve_absolute_pieces(task: StreamedTask) -> Answer:
    """The exact minimum; with an open scale and a prior, scale and coefficients until neither moves."""
    check_link(task.target)
    small = task.in_memory()
    start = solve_absolute(replace(small, penalty=_shared(task.penalty, small.target.total() / task.target.total())))
    theta, phi = start.theta, start.noise.scale
    if not task.engine.width:
        loss = float(task.total(absolute_loss, theta))
        return _answer(task, theta, task.target.dispersion().profile(loss).dispersion, True, 0, None)
    constant = _constant(task, small)
    if constant is not None:
        loss = constant.objective
        phi = task.target.dispersion().profile(loss).dispersion
        return _answer(task, constant.theta, phi, phi > 0, 1, constant)
    distance = np.abs(small.target.y - small.engine.predict(theta))
    share = CAUTION * np.sqrt(task.engine.columns / len(distance))
    for count in range(1, BANDS + 1):
        level = float(np.quantile(distance, min(share, 1.0)))
        _check_size(task, share)
        near = Near(task, theta, level)
        found, phi, solution, settled = near.solved(theta, phi)
        if solution.status > Status.RANK_DEFICIENT:  # too few rows to hold the others
            share *= 4
            continue
        wrong, loss = task.total(changed_signs, theta, found, level)
        if not wrong:
            answer = _answer(task, found, phi, settled, count, near.certificate(solution, loss))
            if solution.status == Status.RANK_DEFICIENT:
                answer.null = column_null(task)
                if answer.null is None:
                    answer.notes.append(solution.message)
            return answer
        theta = found
        distance = np.abs(small.target.y - small.engine.predict(theta))
    answer = _answer(task, theta, phi, False, BANDS, None)
    answer.notes.append(f"Not converged: after {BANDS} passes {wrong:,} rows still changed their sign.")
    return answer


def _answer(task: Task, theta: Numbers, phi: float, converged: bool, iterations: int, certificate: Any) -> Answer:
    answer = Answer(theta, task.target.filled(phi), converged, iterations, 0.0, task.engine, task.penalty)
    answer.certificate = certificate
    return answer


def _shared(penalty: Penalty, share: float) -> Penalty:
    """For a sample with this share of the rows."""
    return Penalty(penalty.bend * share, penalty.centre, penalty.strength * share, penalty.kink)


def _check_size(task: StreamedTask, share: float) -> None:
    cells = share * task.engine.rows * task.engine.columns
    if cells > MOST_CELLS:
        raise MemoryError(
            f"an exact least absolute fit would keep {share:.1%} of the {task.engine.rows:,} rows in memory; use fewer "
            "rows, or for a median Huber(delta=0.1), which is close to it"
        )


class Near:
    """The rows near the solution, in memory, and the others summed by their signs."""

    def __init__(self, task: StreamedTask, theta: Numbers, level: float) -> None:
        self.task, self.origin, self.slopes = task, theta, _slopes(task)
        self.others, self.far, X, y, w, numbers = task.total(rows_near, theta, level)
        self.rows = DenseRows(np.concatenate(X), np.concatenate(y), np.concatenate(w))
        self.numbers = np.concatenate(numbers)

    def loss(self, theta: Numbers) -> float:
        """Of all rows, as long as the others keep their signs."""
        near = row_losses(self.rows.y - self.rows.X @ theta, self.slopes)
        return float(self.rows.weights @ near + self.far - self.others @ (theta - self.origin))

    def solved(self, theta: Numbers, phi: float) -> tuple[Numbers, float, Any, bool]:
        """Coefficients and scale in turn."""
        penalty, dispersion = self.task.penalty, self.task.target.dispersion()
        for _ in range(ROUNDS):
            terms = -self.others, prior_rows(penalty, phi), ridge(penalty, phi)
            solution = least_absolute(self.rows, *terms, theta, slopes=self.slopes)
            theta = at_kinks(solution, penalty, self.rows.rows)
            following = dispersion.profile(self.loss(theta)).dispersion
            settled = bool(penalty.flat.all() or abs(following / phi - 1) <= 1e-12)
            phi = following
            if settled or solution.status > Status.RANK_DEFICIENT:
                break
        return theta, phi, solution, settled

    def certificate(self, solution: Any, loss: float) -> Any:
        """About all rows, with their own numbers; a prior's rows come after the last."""
        count, everything = self.rows.rows, self.task.engine.rows

        def among_all(rows: Any) -> Any:
            return np.where(rows < count, self.numbers[np.minimum(rows, count - 1)], everything + rows - count)

        return replace(solution, objective=loss, basis=among_all(solution.basis), tied=among_all(solution.tied))


# ---- functions of a piece --------------------------------------------------------------------------------------------


def _weights(task: Task) -> Numbers:
    return np.ones(task.engine.rows) if task.engine.weight is None else np.asarray(task.engine.weight)


def _slopes(task: Task) -> tuple[float, float]:
    """By how much the loss grows above and below a prediction."""
    above, below = task.target.noise.kink_slopes
    return above, below


def absolute_loss(task: Task, theta: Numbers) -> float:
    """The weighted sum of the losses."""
    return float(_weights(task) @ row_losses(task.engine.y - task.engine.predict(theta), _slopes(task)))


def rows_near(task: PieceTask, theta: Numbers, level: float) -> tuple[Any, ...]:
    """Rows with small residuals as they are; of the others the sums of slope x and of the loss, each times w."""
    engine, w = task.engine, _weights(task)
    residuals = engine.y - engine.predict(theta)
    far = np.abs(residuals) > level
    slopes = np.where(far, pulls(residuals, _slopes(task)) * w, 0.0)
    near = np.flatnonzero(~far & (w > 0))
    y = engine.y if engine.offset is None else engine.y - engine.offset
    numbers = [task.numbers[near]]
    sums = engine.transposed(slopes), float(slopes @ residuals)
    return *sums, [engine.dense_rows(near)], [y[near]], [w[near]], numbers


def changed_signs(task: Task, before: Numbers, after: Numbers, level: float) -> tuple[int, float]:
    """How many of the rows that were far have changed their sign; and the loss of all."""
    engine, w = task.engine, _weights(task)
    old, new = engine.y - engine.predict(before), engine.y - engine.predict(after)
    wrong = (np.abs(old) > level) & (np.sign(new) != np.sign(old)) & (w > 0)
    return int(np.count_nonzero(wrong)), float(w @ row_losses(new, _slopes(task)))


def tied_sums(task: Task, value: float) -> tuple[Numbers, Numbers, int, float]:
    """Sums for the proof that this value, the median or another quantile, is the solution: see `balanced`."""
    engine, w, slopes = task.engine, _weights(task), _slopes(task)
    y = engine.y if engine.offset is None else engine.y - engine.offset
    tied = y == value
    gram = engine.with_rows(np.zeros(engine.rows), np.where(tied, w, 0.0)).on_one_thread().moments()[:-1, :-1]
    others, loss = engine.transposed(pulls(y - value, slopes) * w), float(w @ row_losses(y - value, slopes))
    return others, gram, int(np.count_nonzero(tied)), loss


def largest_share(task: Task, value: float, v: Numbers) -> Extremes:
    """The multipliers of the tied rows."""
    engine = task.engine
    y = engine.y if engine.offset is None else engine.y - engine.offset
    balance = engine.with_rows(np.zeros(engine.rows), np.ones(engine.rows)).on_one_thread()
    share = balance.predict(v)[y == value]
    return Extremes(float(np.min(share, initial=0.0)), float(np.max(share, initial=0.0)))


def _constant(task: StreamedTask, small: Task) -> Any:
    """The solution where most targets have one value, if no column moves the median, or the quantile, away from it."""
    theta = task.penalty.centre + task.penalty.kink
    y = small.target.y if small.engine.offset is None else small.target.y - small.engine.offset
    slopes = _slopes(task)
    value = middle(y, slopes)
    if not task.engine.intercept or theta.any() or np.count_nonzero(y == value) <= len(y) // 2:
        return None
    others, gram, tied, loss = task.total(tied_sums, value)
    v, off = balanced(others, gram)
    ends = task.total(largest_share, value, v)
    if max(-ends.least, ends.largest) > 0.5 * sum(slopes) or off > 1e-9 or 2 * tied <= task.engine.rows:
        return None
    theta[0] = value
    nothing = np.empty(0)
    return constant_solution(theta, loss, nothing.astype(int), nothing, off)
