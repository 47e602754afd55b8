"""Minima of any smooth loss under any prior: where to begin, and which solver goes on from there."""

from typing import Any

import numpy as np

from neglog.engines.columns import Columns
from neglog.engines.memory import Memory
from neglog.engines.moments import GrowingMoments, Moments
from neglog.likelihood.link_domain import Domain, domain_of, inside, is_inside, walls
from neglog.likelihood.task import Answer, Task
from neglog.solvers.dispersion import Known
from neglog.solvers.interior import between_walls
from neglog.solvers.lasso import proximal_newton
from neglog.solvers.newton import newton, polish, with_own_curvature
from neglog.solvers.objective import Objective, Solution
from neglog.solvers.sparse_lasso import SparseLasso
from neglog.solvers.systems import newton_step
from neglog.solvers.working_set import WorkingSet
from neglog.typing import Numbers

TOUCHING = 1e-5  # of the mean raw prediction, or of the domain's width: nearer to the edge of its domain a row is at it
WIDE = 1500  # coefficients beyond which a lasso works on few columns at a time


def solve_general(
    task: Task, theta: Numbers | None = None, curvature: Numbers | None = None, of_some: bool = False
) -> Answer:
    """From some coefficients on, with a curvature like that there, if these are given."""
    given = theta is not None
    theta = start(task) if theta is None else theta
    objective = task.objective(task.engine)
    if task.penalty.smooth and curvature is not None:
        solution = finish(objective, theta, curvature, task.tol, task.max_iter, of_some)
    elif task.penalty.smooth:
        solution = minimise_smooth(task, objective, theta)
    else:
        solution = minimise_absolute(task, objective, theta)
    if given and not np.isfinite(solution.point.value):  # some row has no mean where it was to begin
        return solve_general(task)
    domain = domain_of(task.engine.loss)
    if domain is None or task.engine.streamed or not np.isfinite(solution.point.value):
        return answer_of(task, solution)
    return _within(task, solution, domain)


def _within(task: Task, solution: Solution, domain: Domain) -> Answer:
    """Where the search got no further, or made its last step too far, the optimum may lie at the edge of the domain."""
    engine = task.engine
    if not (solution.converged and is_inside(engine, domain, solution.point.theta)):
        objective, begin = task.objective(engine), start(task)
        barred = between_walls(objective, walls(engine, domain), engine.rows, begin, task.tol)
        if solution.converged or barred.point.value <= solution.point.value + objective.lost(solution.point):
            barred.iterations += solution.iterations
            barred.null = solution.null
            solution = barred
    answer = answer_of(task, solution)
    eta = engine.predict(answer.theta)
    counted = np.ones(engine.rows, bool) if engine.weight is None else engine.weight > 0
    size = min(domain.high - domain.low, max(float(np.mean(np.abs(eta))), 1e-300))
    touching = np.flatnonzero(counted & (domain.margins(eta) <= TOUCHING * size))
    if len(touching):
        answer.notes.append(
            f"The optimum {'lies' if answer.converged else 'seems to lie'} at the edge of what the {engine.loss.link} "
            "link allows, raw predictions "
            f"{domain.sentence}: {len(touching)} of {engine.rows} rows are there, the first is row {touching[0]}. "
            "Standard errors do not hold at an edge; another link may have none."
        )
    return answer


def minimise_smooth(task: Task, objective: Objective, theta: Numbers) -> Solution:
    """Smooth priors: on a sample of the rows first. Its curvature then serves for all rows, which need gradients."""
    matrix, before, begin = None, 0, theta
    rows = task.sample()
    if rows is not None:
        first = newton(task.objective(task.engine.take(rows), rows), theta, 0.3, 25)
        if np.isfinite(first.point.value):
            theta = first.point.theta
            matrix = first.point.hessian if first.null is None else None  # or the sample does not know all columns
        before = first.iterations
    solution = finish(objective, theta, matrix, task.tol, task.max_iter)
    if before and not np.isfinite(solution.point.value):  # other rows may have no mean where those of the sample have
        solution = newton(objective, begin, task.tol, task.max_iter)
    solution.before = before
    return solution


def finish(
    objective: Objective, theta: Numbers, matrix: Numbers | None, tol: float, max_iter: int, of_some: bool = False
) -> Solution:
    """With a borrowed curvature as long as that gains enough, if it is `of_some` rows for one step, then with the
    curvature itself.
    """
    if matrix is None or not len(theta) or not _is_metric(matrix):
        return newton(objective, theta, tol, max_iter)
    own = of_some or getattr(objective.engine, "cheap_curvature", False)
    polished = (with_own_curvature if own else polish)(objective, theta, matrix, tol, max_iter)
    if polished.converged:
        return polished
    if np.isfinite(polished.point.value):
        theta = polished.point.theta
    solution = newton(objective, theta, tol, max(max_iter - polished.iterations, 0))
    solution.iterations += polished.iterations
    return solution


def _is_metric(matrix: Numbers) -> bool:
    """Whether steps can be measured by it in every direction."""
    step = newton_step(matrix, np.ones(len(matrix)))
    return step.definite and step.null is None


def minimise_absolute(task: Task, objective: Objective, theta: Numbers) -> Solution:
    """Laplace priors: by proximal steps, on a sample of the rows first, or on few columns at a time."""
    engine = task.engine
    known = objective.dispersion
    wide = engine.width > WIDE and not engine.streamed
    if wide and Columns.fits(engine) and objective.plain and isinstance(known, Known):
        lasso = SparseLasso(Columns(engine), task.penalty, known.dispersion)
        solution = lasso.solve(theta, task.tol, task.max_iter)
        if solution.converged or solution.iterations >= task.max_iter or not np.isfinite(solution.point.gradient).all():
            return solution
        theta = solution.point.theta  # columns that are nearly dependent need their Gram matrix
    if wide:
        return working_set(task).solve(task.penalty, objective.at(theta, False), task.tol, task.max_iter)
    matrix, before, begin = None, 0, theta
    rows = task.sample()
    if rows is not None:
        first = proximal_newton(task.objective(engine.take(rows), rows), theta, 0.3, 25)
        if np.isfinite(first.point.value):
            theta, matrix = first.point.theta, first.matrix
        before = first.iterations
    solution = proximal_newton(objective, theta, task.tol, task.max_iter, matrix)
    if before and not np.isfinite(solution.point.value):
        solution = proximal_newton(objective, begin, task.tol, task.max_iter, None)
    solution.before = before
    return solution


def working_set(task: Task) -> WorkingSet:
    """For lassos over many columns; least squares keep the Gram matrix of the chosen ones instead of their rows."""
    engine = task.engine
    squares = task.target.squares
    moments = (
        GrowingMoments(engine) if squares and GrowingMoments.fits(engine) and not task.penalty.kink.any() else None
    )

    def restricted(chosen: Numbers, kink: Numbers) -> tuple[Any, Numbers]:
        if moments is not None:
            return moments.of(chosen)
        part, inside = engine.subset(chosen, rest=kink)
        return Moments(part.moments()) if squares else part, inside

    return WorkingSet(engine, lambda part, penalty: task.objective(part, penalty=penalty), restricted)


def start(task: Task) -> Numbers:
    """The intercept-only fit, roughly; without an intercept a regression of the links of y."""
    task = task.in_memory()
    target, engine = task.target, task.engine
    theta = task.penalty.centre + task.penalty.kink
    if engine.loss.classes > 1:
        return theta
    link = target.noise.link
    middle = target.middle()
    if engine.intercept:
        if link.name == "log":
            offset = engine.offset
            base = 0.0
            if offset is not None:
                some = slice(None, None, max(1, engine.rows // 10_000))
                offset, weight = offset[some], None if engine.weight is None else engine.weight[some]
                top = offset.max()
                total = 1.0 if weight is None or not weight.any() else weight / weight.mean()
                base = top + float(np.log(np.mean(total * np.exp(offset - top))))
            if middle <= 0:
                middle = 0.5 / max(target.total(), 1.0) if target.locations[0] == 0 else 1.0
            theta[0] = np.log(middle) - base
        else:
            eta = float(link.forward(middle))
            theta[0] = (eta if np.isfinite(eta) else 1.0) - (
                0.0 if engine.offset is None else float(engine.offset.mean())
            )
        return _begun_inside(task, _nearer(task, theta))
    anywhere = target.locations[0] < 0
    if link.name in ("inverse", "sqrt") or (link.name == "identity" and not anywhere):
        spread = anywhere  # y near 0 or below says little about the link of its mean
        positive = np.where(target.y > 0, target.y, 0.5 * middle)
        for mean in (middle if spread else positive, middle):
            theta = _regressed(engine, np.broadcast_to(link.forward(mean), engine.rows))
            if (engine.predict(theta) > 0).all():
                break
    return _begun_inside(task, theta)


def _nearer(task: Task, theta: Numbers) -> Numbers:
    """These coefficients, at which the prior is centred, or none at all, if the rows like these better: means of e^200
    are far to come back from.
    """
    bare = np.zeros(len(theta))
    bare[0] = theta[0]
    if not (theta != bare).any():
        return theta
    objective = task.objective(task.engine)
    with np.errstate(all="ignore"):
        here, there = objective.at(theta, False).value, objective.at(bare, False).value
    return bare if there < here else theta


def _begun_inside(task: Task, theta: Numbers) -> Numbers:
    """These coefficients, unless some row has no mean there and at others all rows have."""
    engine = task.engine
    domain = domain_of(engine.loss)
    if domain is None or is_inside(engine, domain, theta):
        return theta
    middle = abs(float(task.target.noise.link.forward(task.target.middle())))
    found = inside(engine, domain, middle if 0 < middle < np.inf else 1.0)
    return theta if found is None else found


def _regressed(engine: Memory, eta: Numbers) -> Numbers:
    """The coefficients whose raw predictions are nearest to these."""
    rows = Memory(engine.design, np.ascontiguousarray(eta), engine.weight, engine.offset, engine.loss, intercept=False)
    moments = rows.moments()
    if not np.isfinite(moments).all():  # of which LAPACK would complain on its own
        engine.design.check_finite()
        return np.zeros(engine.columns)
    return np.asarray(np.linalg.lstsq(moments[:-1, :-1], moments[:-1, -1], rcond=None)[0])


def answer_of(task: Task, solution: Solution) -> Answer:
    """What a solver found, with the noise completed."""
    point = solution.point
    return Answer(
        _without_gauge(task, point.theta),
        task.target.filled(point.dispersion),
        solution.converged,
        solution.iterations,
        solution.decrement,
        task.engine,
        task.penalty,
        solution.null,
        solution.stuck,
        solution.before,
    )


def _without_gauge(task: Task, theta: Numbers) -> Numbers:
    """Classes may all be shifted alike where there is no prior: of these solutions the one that sums to 0."""
    classes = task.engine.loss.classes
    if classes > 1:
        rows = theta.reshape(classes, -1)
        flat = task.penalty.flat.reshape(classes, -1)[0]
        rows[:, flat] -= rows[:, flat].mean(axis=0)
    return theta
