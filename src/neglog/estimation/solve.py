"""Which solver answers which question."""

from collections.abc import Callable

import numpy as np

from neglog.engines.memory import Memory
from neglog.engines.moments import Moments
from neglog.estimation.absolute import solve_absolute
from neglog.estimation.absolute_in_pieces import solve_absolute_pieces
from neglog.estimation.huber import solve_huber, solve_stated
from neglog.estimation.joint_newton import solve_joint
from neglog.estimation.kinked_cells import solve_kinked_cells
from neglog.estimation.modelled_start import as_predicted
from neglog.estimation.size import refuse_too_many
from neglog.estimation.smooth import WIDE, answer_of, solve_general
from neglog.estimation.threshold import solve_threshold
from neglog.estimation.tweedie_power import solve_power, solve_ridged
from neglog.likelihood.accelerated import Absolutes, HuberTarget
from neglog.likelihood.accelerators import merely_open
from neglog.likelihood.kinked import KinkedCells
from neglog.likelihood.task import Answer, Task
from neglog.likelihood.tweedie import Compound
from neglog.solvers.lasso import proximal_newton
from neglog.solvers.newton import newton, polish
from neglog.solvers.objective import Solution
from neglog.solvers.systems import newton_step
from neglog.streaming.pieces import StreamedTask
from neglog.typing import Numbers

FEW_COLUMNS = 100  # coefficients that are never too many
FEW = 30_000  # numbers in X up to which least squares go through the rows like other losses
LOST = 1e-6  # of the squares of y: squares of residuals below this have lost digits
ROUGH = 1e-2  # posterior standard deviations from the optimum that do for a start
MANY = 100  # columns from which a Gram matrix of many rows costs more than some gradients


def solve(task: Task, near: Answer | None = None, curvature: Numbers | None = None, *, of_some: bool = False) -> Answer:
    """The answer by the solver that fits noise and prior; some of them begin at the answer to a question like this one
    and with its curvature, which may be `of_some` of the rows, if these are given.
    """
    target = task.target
    if task.engine.width > FEW_COLUMNS:
        refuse_too_many(task)
    theta = None if near is None else near.theta
    if target.noise.modelled:
        return solve_joint(task, _unmodelled(task) if near is None else near, curvature, of_some)
    if isinstance(target, Compound) and target.noise.power is None:
        return solve_power(task, near)
    if isinstance(target, Compound) and target.ridged:
        return solve_ridged(task, theta, curvature)
    if isinstance(target, Absolutes):
        return solve_absolute_pieces(task) if isinstance(task, StreamedTask) else solve_absolute(task, near)
    if isinstance(target, KinkedCells):
        return solve_kinked_cells(task, near)
    if isinstance(target, HuberTarget) and target.noise.delta is None:
        return solve_threshold(task, target, near)
    if isinstance(target, HuberTarget) and not target.open:
        return solve_stated(task, target, theta)
    if isinstance(target, HuberTarget) and target.is_convex_in_all(task.penalty):
        return solve_huber(task, target, near)
    if target.squares:
        return _solve_squares(task)
    if target.open and not target.profiled:
        return solve_joint(task, near)
    return solve_general(task, theta, curvature, of_some)


def _unmodelled(task: Task) -> Answer:
    """The answer where what is modelled is the same in all rows, or in some of them: where to begin."""
    some, rows = task.in_memory(), None if task.engine.streamed else task.sample()
    flat = merely_open(some if rows is None else some.taken(rows))
    flat.tol = max(flat.tol, ROUGH)
    found = solve(flat)
    return as_predicted(task, flat, found.theta, found.noise)


# ---- least squares ---------------------------------------------------------------------------------------------------


def _solve_squares(task: Task) -> Answer:
    engine = task.engine
    theta = task.penalty.centre + task.penalty.kink
    # a few gradients cost less than a Gram matrix
    rough = task.tol >= 1e-3 and engine.columns > MANY and task.sample() is not None
    if not task.penalty.smooth and ((engine.width > WIDE and not engine.streamed) or rough):
        return solve_general(task, theta)
    if engine.rows * engine.columns <= FEW and task.penalty.smooth and not task.target.open:
        return solve_general(task, theta)  # two passes take less time than what is saved by one
    # About the middle of y: its square would drown the residuals of a y that is far from 0.
    centre = about_middle(engine) if engine.intercept else 0.0
    gram = engine.moments(centre)
    if not np.isfinite(gram).all():
        return Answer(np.full(engine.width, np.nan), task.target.filled(np.nan), False, 0, np.inf, engine, task.penalty)
    solver = newton if task.penalty.smooth else proximal_newton
    solution = solver(task.objective(Moments(gram)), theta, task.tol, task.max_iter)
    if task.target.open and not task.penalty.flat.all():
        other = _from_least_squares(task, gram, solver)
        least = solution.point.value - 1e-9 * (1 + abs(solution.point.value))  # or they are the same, but for rounding
        if other is not None and other.converged and other.point.value < least:
            solution = other
    needs_rows = _needs_rows(gram, solution)
    theta = solution.point.theta
    if centre:
        theta[0] += centre
    if needs_rows:
        _refine(task, solution)
    return answer_of(task, solution)


def _from_least_squares(task: Task, gram: Numbers, solver: Callable[..., Solution]) -> Solution | None:
    """The optimum on the other side: with an open scale the posterior of coefficients may have two, one near the prior
    with a large scale, one near least squares with a small one. None where these pass through every point, whose scale
    is no optimum.
    """
    theta = newton_step(gram[:-1, :-1], -gram[:-1, -1]).x
    theta = np.where(gram.diagonal()[:-1] > 0, theta, task.penalty.centre + task.penalty.kink)
    whole = np.append(theta, -1.0)
    if not float(whole @ gram @ whole) > LOST * gram[-1, -1]:
        return None
    return solver(task.objective(Moments(gram)), theta, task.tol, task.max_iter)


def about_middle(engine: Memory) -> float:
    """The mean of y - offset over a few rows: near enough for sums about it to keep their digits."""
    some = slice(None, None, max(1, len(engine.y) // 256))
    return float(
        (engine.y[some] if engine.offset is None else engine.y[some] - engine.offset[some]).mean(dtype=np.float64)
    )


def _needs_rows(gram: Numbers, solution: Solution) -> bool:
    """Whether rounding in the Gram matrix may show: a nearly exact fit, or columns that are nearly collinear."""
    theta = np.append(solution.point.theta, -1.0)
    left = float(theta @ gram @ theta)
    return left < LOST * gram[-1, -1] or (solution.null is None and solution.pivot < 1e-4)


def _refine(task: Task, solution: Solution) -> None:
    """A step or two with residuals from the rows themselves, which lose no digits to the squares of the columns."""
    objective = task.objective(task.engine)
    hessian = solution.point.hessian
    if not task.penalty.smooth or solution.null is not None or hessian is None:
        solution.point.dispersion = objective.at(solution.point.theta, False).dispersion
        return
    better = polish(objective, solution.point.theta, hessian, min(task.tol, 1e-9), 3)
    if np.isfinite(better.point.value):
        solution.point = better.point
    if better.converged:  # what the Gram matrix has lost may have stopped the search on it
        solution.converged, solution.stuck, solution.decrement = True, False, better.decrement
