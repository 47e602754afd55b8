"""Which solver answers which question."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from neglog.distributions.arrays import Numbers
from neglog.engines.columns import Columns
from neglog.engines.memory import Memory
from neglog.engines.moments import GrowingMoments, Moments
from neglog.inference.absolute import solve_absolute
from neglog.inference.answer import Answer, Task, sample_nll
from neglog.inference.compound import Compound, constants_of
from neglog.inference.streamed import StreamedTask
from neglog.inference.streamed_absolute import solve_absolute_pieces
from neglog.inference.targets import Absolutes, HuberTarget, Squares, with_precision
from neglog.solvers import scalar
from neglog.solvers.concomitant import ConcomitantObjective
from neglog.solvers.dispersion import Known
from neglog.solvers.lasso import proximal_newton
from neglog.solvers.newton import newton, polish, with_own_curvature
from neglog.solvers.objective import Objective, Solution
from neglog.solvers.sparse_lasso import SparseLasso
from neglog.solvers.systems import newton_step
from neglog.solvers.working_set import WorkingSet

FEW = 30_000  # numbers in X up to which least squares go through the rows like other losses
MANY = 100  # columns from which a Gram matrix of many rows costs more than some gradients
WIDE = 1500  # coefficients beyond which a lasso works on few columns at a time
# among which Huber's is looked for, in units of the scale; beyond the last the noise is Gaussian to eight digits
THRESHOLDS = (0.01, 0.03, 0.1, 0.2, 0.35, 0.55, 0.8, 1.1, 1.5, 2.1, 3.0, 4.2, 6.0)
SEVERAL_OPTIMA = 10_000  # rows up to which the nll may have several optima in the threshold that matter
POWERS = (1.001, 1.999)  # where the power of a Tweedie noise is looked for
# For whole numbers from here on: below, jumps of 1 would scatter less than numbers that were rounded, by 12 ** -0.5,
# and the density at whole numbers grows without end.
LEAST_POWER_OF_COUNTS = 14 / 13


def solve(task: Task, near: Answer | None = None, curvature: Numbers | None = None) -> Answer:
    """The answer by the solver that fits noise and prior; some of them begin at the answer to a question like this one
    and with its curvature, if these are given.
    """
    target = task.target
    theta = None if near is None else near.theta
    if isinstance(target, Compound) and target.noise.power is None:
        return _solve_power(task, near)
    if isinstance(target, Absolutes):
        return solve_absolute_pieces(task) if isinstance(task, StreamedTask) else solve_absolute(task)
    if isinstance(target, HuberTarget) and target.noise.delta is None:
        return _solve_threshold(task, target, near)
    if isinstance(target, HuberTarget) and target.open:
        return _solve_huber(task, target)
    if isinstance(target, Squares) and target.noise.link.name == "identity":
        return _solve_squares(task)
    return _solve_general(task, theta, curvature)


def _answer(task: Task, solution: Solution) -> Answer:
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
    )


def _without_gauge(task: Task, theta: Numbers) -> Numbers:
    """Classes may all be shifted alike where there is no prior: of these solutions the one that sums to 0."""
    classes = task.engine.loss.classes
    if classes > 1:
        rows = theta.reshape(classes, -1)
        flat = task.penalty.flat.reshape(classes, -1)[0]
        rows[:, flat] -= rows[:, flat].mean(axis=0)
    return theta


# ---- any noise -------------------------------------------------------------------------------------------------------


def _solve_general(task: Task, theta: Numbers | None = None, curvature: Numbers | None = None) -> Answer:
    theta = start(task) if theta is None else theta
    objective = task.objective(task.engine)
    if task.penalty.smooth and curvature is not None:
        return _answer(task, finish(objective, theta, curvature, task.tol, task.max_iter))
    if task.penalty.smooth:
        return _answer(task, _minimise_smooth(task, objective, theta))
    return _answer(task, _minimise_absolute(task, objective, theta))


def _minimise_smooth(task: Task, objective: Objective, theta: Numbers) -> Solution:
    """On a sample of the rows first. Its curvature then serves for all rows, which need gradients only."""
    matrix = None
    rows = task.sample()
    if rows is not None:
        first = newton(task.objective(task.engine.take(rows), rows), theta, 0.3, 25)
        if np.isfinite(first.point.value):
            theta = first.point.theta
            matrix = first.point.hessian if first.null is None else None  # or the sample does not know all columns
    return finish(objective, theta, matrix, task.tol, task.max_iter)


def finish(objective: Objective, theta: Numbers, matrix: Numbers | None, tol: float, max_iter: int) -> Solution:
    """With a borrowed curvature as long as that gains enough, then with the curvature itself."""
    if matrix is None or not len(theta) or newton_step(matrix, np.ones(len(theta))).null is not None:
        return newton(objective, theta, tol, max_iter)
    cheap = getattr(objective.engine, "cheap_curvature", False)
    polished = (with_own_curvature if cheap else polish)(objective, theta, matrix, tol, max_iter)
    if polished.converged:
        return polished
    if np.isfinite(polished.point.value):
        theta = polished.point.theta
    solution = newton(objective, theta, tol, max(max_iter - polished.iterations, 0))
    solution.iterations += polished.iterations
    return solution


def _minimise_absolute(task: Task, objective: Objective, theta: Numbers) -> Solution:
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
    matrix = None
    rows = task.sample()
    if rows is not None:
        first = proximal_newton(task.objective(engine.take(rows), rows), theta, 0.3, 25)
        if np.isfinite(first.point.value):
            theta, matrix = first.point.theta, first.matrix
    return proximal_newton(objective, theta, task.tol, task.max_iter, matrix)


def working_set(task: Task) -> WorkingSet:
    """For lassos over many columns; least squares keep the Gram matrix of the chosen ones instead of their rows."""
    engine = task.engine
    squares = isinstance(task.target, Squares) and task.target.noise.link.name == "identity"
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
                middle = 0.5 / max(target.total(), 1.0) if target.family != "gaussian" else 1.0
            theta[0] = np.log(middle) - base
        else:
            eta = float(link.forward(middle))
            theta[0] = (eta if np.isfinite(eta) else 1.0) - (
                0.0 if engine.offset is None else float(engine.offset.mean())
            )
        return theta
    if link.name in ("identity", "inverse", "sqrt"):
        spread = target.family == "gaussian"  # y near 0 or below says little about the link of its mean
        positive = np.where(target.y > 0, target.y, 0.5 * middle)
        for mean in (middle if spread else positive, middle):
            theta = _regressed(engine, np.broadcast_to(link.forward(mean), engine.rows))
            if (engine.predict(theta) > 0).all():
                break
    return theta


def _regressed(engine: Memory, eta: Numbers) -> Numbers:
    """The coefficients whose raw predictions are nearest to these."""
    rows = Memory(engine.design, np.ascontiguousarray(eta), engine.weight, engine.offset, engine.loss, intercept=False)
    moments = rows.moments()
    return np.asarray(np.linalg.lstsq(moments[:-1, :-1], moments[:-1, -1], rcond=None)[0])


# ---- least squares ---------------------------------------------------------------------------------------------------


def _solve_squares(task: Task) -> Answer:
    engine = task.engine
    theta = task.penalty.centre + task.penalty.kink
    # a few gradients cost less than a Gram matrix
    rough = task.tol >= 1e-3 and engine.columns > MANY and task.sample() is not None
    if not task.penalty.smooth and ((engine.width > WIDE and not engine.streamed) or rough):
        return _answer(task, _minimise_absolute(task, task.objective(engine), theta))
    if engine.rows * engine.columns <= FEW and task.penalty.smooth and not task.target.open:
        return _solve_general(task, theta)  # two passes take less time than what is saved by one
    # About the middle of y: its square would drown the residuals of a y that is far from 0.
    centre = about_middle(engine) if engine.intercept else 0.0
    gram = engine.moments(centre)
    if not np.isfinite(gram).all():
        return Answer(np.full(engine.width, np.nan), task.target.noise, False, 0, np.inf, engine, task.penalty)
    solver = newton if task.penalty.smooth else proximal_newton
    solution = solver(task.objective(Moments(gram)), theta, task.tol, task.max_iter)
    needs_rows = _needs_rows(gram, solution)
    theta = solution.point.theta
    if centre:
        theta[0] += centre
    if needs_rows:
        _refine(task, solution)
    return _answer(task, solution)


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
    return left < 1e-6 * gram[-1, -1] or (solution.null is None and solution.pivot < 1e-4)


def _refine(task: Task, solution: Solution) -> None:
    """A step or two with residuals from the rows themselves, which lose no digits to the squares of the columns."""
    objective = task.objective(task.engine)
    hessian = solution.point.hessian
    if not task.penalty.smooth or solution.null is not None or hessian is None:
        solution.point.dispersion = objective.at(solution.point.theta, False).dispersion
        return
    better = polish(objective, solution.point.theta, hessian, min(task.tol, 1e-9), 3).point
    if np.isfinite(better.value):
        solution.point = better


# ---- Huber with its scale --------------------------------------------------------------------------------------------


def _solve_huber(task: Task, target: HuberTarget) -> Answer:
    if not task.penalty.smooth or target.noise.link.name != "identity":
        return _alternate_scale(task, target)
    wide = task.engine.with_loss(target.response_loss())
    place = wide.response_place
    known = task.in_memory().target.y
    residuals = known if wide.offset is None else known - wide.offset
    some = residuals[:: max(1, len(residuals) // 10_000)]
    centre = float(np.median(some)) if wide.intercept else 0.0
    spread = float(np.median(np.abs(some - centre))) or float(np.std(some)) or 1.0
    tau = 0.6745 / spread
    penalty = task.wide_penalty(wide)
    theta = (penalty.centre) * tau
    theta[place] = -tau
    if wide.intercept:
        theta[0] = centre * tau

    def objective(engine: Memory, part: slice | None) -> ConcomitantObjective:
        count = target.total() if part is None else task.weight_of(part)
        return ConcomitantObjective(engine, penalty, count, place, target.total() / count)

    matrix = None
    rows = task.sample()
    if rows is not None:
        first = newton(objective(wide.take(rows), rows), theta, 0.3, 50)
        theta, matrix = first.point.theta, None if first.null is not None else first.point.hessian
    solution = finish(objective(wide, None), theta, matrix, task.tol, task.max_iter)
    tau = -solution.point.theta[place]
    answer = _answer(task, solution)
    answer.theta = np.delete(solution.point.theta, place) / tau
    answer.noise = target.noise._replaced(_scale=float(1 / tau))
    if answer.null is not None:
        answer.null = np.delete(answer.null, place, axis=0)
    return answer


def _alternate_scale(task: Task, target: HuberTarget) -> Answer:
    """Coefficients at the scale, scale at the coefficients, in turn."""
    theta = start(task)
    scale, delta = 0.0, target.noise.delta
    some = task.in_memory()
    residuals = some.target.y - some.engine.predict(theta)
    following = float(np.median(np.abs(residuals))) * 1.4826 or 1.0
    iterations = 0
    while True:
        scale = following
        known = target.with_noise(target.noise._replaced(_scale=scale))
        engine = task.engine.with_loss(known.loss)
        left = task.max_iter - iterations
        answer = _solve_general(replace(task, target=known, engine=engine, max_iter=left), theta)
        theta, iterations = answer.theta, iterations + max(answer.iterations, 1)
        following = huber_scale(partial(task.total, scale_sums, theta, delta), target.total(), scale)
        answer.engine, answer.noise, answer.iterations = (
            task.engine,
            target.noise._replaced(_scale=following),
            iterations,
        )
        if abs(following / scale - 1) <= 1e-10 or iterations >= task.max_iter:
            answer.converged = answer.converged and abs(following / scale - 1) <= 1e-10
            return answer


def scale_sums(task: Task, theta: Numbers, delta: float, scale: float) -> tuple[float, float]:
    """Sums of z psi(z) and of its derivative in log(1 / scale), z = residual / scale."""
    target = task.target
    location = np.asarray(target.noise.link.inverse(task.engine.predict(theta)))
    z = (target.y - location) * (1.0 if target.p is None else np.sqrt(target.p)) / scale
    inside = np.abs(z) <= delta
    psi = np.where(inside, z, delta * np.sign(z))
    return target.total(z * psi), target.total(z * psi + np.where(inside, z**2, 0.0))


def huber_scale(sums: Callable[[float], tuple[float, float]], total: float, scale: float) -> float:
    """The root of mean(z psi(z)) = 1 in the scale, by Newton's method in 1 / scale."""
    for _ in range(100):
        value, tilt = sums(scale)
        following = scale / max(1 - (value - total) / tilt, 0.1)
        if abs(following / scale - 1) <= 1e-14:
            break
        scale = following
    return float(scale)


# ---- parameters that need a search of their own: Tweedie's power, Huber's threshold ----------------------------------


def at_power(
    task: Task, power: float, theta: Numbers | None = None, matrix: Numbers | None = None
) -> tuple[float, Answer, Numbers | None]:
    """The derivative of the objective's minimum in the power, the answer there, and its curvature for the next
    power.
    """
    assert isinstance(task.target, Compound)
    target = task.target.at_power(power)
    engine = task.engine.with_loss(target.loss)
    here = replace(task, target=target, engine=engine)
    answer = _solve_general(here, theta, matrix)
    if matrix is None and task.penalty.smooth:
        matrix = here.objective(engine).at(answer.theta, True).hessian
    at_mean = float(here.total(potential_slope, answer.theta))
    return target.power_slope(answer.noise.dispersion, at_mean, constants_of(here)), answer, matrix


def potential_slope(task: Task, theta: Numbers) -> float:
    """The derivative in the power of what the deviance of Tweedie targets takes from the predictions."""
    assert isinstance(task.target, Compound)
    return task.target.potential_slope(task.engine.predict(theta))


def _solve_power(task: Task, near: Answer | None = None) -> Answer:
    curvature: list[Numbers | None] = [None]
    rough = replace(task, tol=max(task.tol, 1e-3))  # for the first powers, which are only stepping stones
    tried = 0

    def at(power: float, theta: Numbers | None) -> tuple[float, Answer]:
        nonlocal tried
        tried += 1
        begin = near.theta if near is not None and theta is None else theta
        slope, answer, curvature[0] = at_power(rough if tried <= 2 else task, power, begin, curvature[0])
        return slope, answer

    # From the same power every time: targets that are whole numbers have several optima, the more the nearer to 1.
    first, step = 1.5, 0.1
    if task.engine.streamed:  # where each power costs passes
        first, step = _solve_power(task.in_memory()).noise.power, 0.01
    whole = task.has_whole_targets()
    low, high = LEAST_POWER_OF_COUNTS if whole else POWERS[0], POWERS[1]
    power, answer = _searched(at, low, high, min(max(first, low + step), high - step), step, 0.01 * task.tol)
    if tried <= 2:
        _, answer = at(power, answer.theta)
    if scalar.at_edge(power, low, high):
        answer.converged = False
        answer.notes.append(
            f"The power of the Tweedie noise ended at {power:.3f}, the edge of the range from {low:.2f} to 2. "
            + (
                "y are whole numbers, at which its density grows without end as the power nears 1: state power=..., "
                "or use Poisson noise."
                if whole and power < 1.5
                else "Near 1 the data look like counts, near 2 like Gamma amounts: state power=... or another noise."
            )
        )
    return answer


def _solve_threshold(task: Task, target: HuberTarget, near: Answer | None = None) -> Answer:
    def at_threshold(log_delta: float, _: Numbers | None) -> tuple[float, Answer]:
        delta = float(np.exp(log_delta))
        known = target.at_threshold(delta)
        answer = solve(replace(task, target=known, engine=task.engine.with_loss(known.loss)))
        return delta * float(task.total(threshold_slope, answer.noise, answer.theta)), answer

    def nats(answer: Answer) -> float:
        penalty = answer.penalty.quadratic(answer.theta)[0] + answer.penalty.absolute(answer.theta)
        return float(task.total(sample_nll, answer.noise, answer.theta)) + penalty

    ends = low, high = float(np.log(THRESHOLDS[0])), float(np.log(THRESHOLDS[-1]))
    first, step = float(np.log(1.345)), 0.3
    if task.engine.streamed:
        small = task.in_memory()
        assert isinstance(small.target, HuberTarget)
        first, step = float(np.log(_solve_threshold(small, small.target).noise.delta)), 0.03
    elif near is not None:
        first, step = float(np.log(near.noise.delta)), 0.1
        low, high = max(low, first - 1), min(high, first + 1)
        first = min(max(first, low + step), high - step)
    elif task.engine.rows <= SEVERAL_OPTIMA:
        low, first, high = _best_of(np.log(THRESHOLDS), lambda x: nats(at_threshold(x, None)[1]))
    log_delta, answer = _searched(at_threshold, low, high, first, step, 0.01 * task.tol)
    if scalar.at_edge(log_delta, *ends):
        answer.converged = False
        answer.notes.append(
            f"Huber's threshold ended at {np.exp(log_delta):.3g}, the edge of the range in which it is looked for: "
            f"the noise looks {'Laplace' if log_delta < 0 else 'Gaussian'}; use that noise, or state delta=...."
        )
    elif near is not None and scalar.at_edge(log_delta, low, high):  # it is not near
        return _solve_threshold(task, target)
    return answer


def _best_of(points: Numbers, value: Callable[[float], float]) -> tuple[float, float, float]:
    """The point with the least value, or one near it if it is the first or the last, between its neighbours."""
    best = int(np.argmin([value(float(x)) for x in points]))
    low, high = points[max(best - 1, 0)], points[min(best + 1, len(points) - 1)]
    inside = points[best] if low < points[best] < high else 0.5 * (low + high)
    return float(low), float(inside), float(high)


def threshold_slope(task: Task, noise: Any, theta: Numbers) -> float:
    """The derivative of the nll in Huber's threshold."""
    law = with_precision(noise, task.target.p).given(task.engine.predict(theta))
    return task.target.total(law.parameter_gradient(task.target.raw)["delta"])


def _searched(
    at: Callable[[float, Numbers | None], tuple[float, Answer]],
    low: float,
    high: float,
    first: float,
    step: float,
    tol: float,
) -> tuple[float, Answer]:
    """The answer at the root of the slope; each fit starts from the one before."""
    answers: list[Answer] = []

    def slope(x: float) -> float:
        value, answer = at(x, answers[-1].theta if answers else None)
        answers.append(answer)
        return value

    found = scalar.root(slope, low, high, first, step, max(tol, 1e-10))
    answers[-1].iterations = len(answers)
    return found, answers[-1]
