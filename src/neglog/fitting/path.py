"""`nl.path`: the lasso at many strengths, from the first that lets a coefficient in to nearly none."""

import warnings
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from neglog.design import is_formula
from neglog.design.design import Design
from neglog.design.formula import read_formula
from neglog.design.terms import Group, Interaction, Smooth
from neglog.distributions import Gaussian, Laplace
from neglog.distributions.base import Prior
from neglog.distributions.noise import Noise
from neglog.distributions.product import Product, multiply
from neglog.engines.blas import one_blas_thread
from neglog.engines.moments import Moments
from neglog.estimation.smooth import WIDE, start, working_set
from neglog.estimation.solve import about_middle, solve
from neglog.fitting.fit import prepare
from neglog.likelihood.row_values import ConvergenceWarning
from neglog.likelihood.task import Answer, Task
from neglog.results.fit_of_rows import FitOfRows
from neglog.solvers.lasso import proximal_newton
from neglog.solvers.objective import Point
from neglog.solvers.penalty import Penalty
from neglog.typing import Numbers


class Path:
    """Fits at descending strengths; `strengths` are 1 / scale of the Laplace prior."""

    def __init__(self, task: Task, prior: Prior, strengths: Numbers, answers: list[Answer]) -> None:
        self._task, self._prior, self.strengths, self._answers = task, prior, strengths, answers
        public = [answer.engine.public(answer.theta) for answer in answers]
        single = task.engine.loss.classes == 1
        self.coefs = np.array([coef[0] if single else coef for _, coef in public])
        self.intercepts = np.array([intercept[0] if single else intercept for intercept, _ in public])
        self.converged = all(answer.converged for answer in answers)
        self.held_out: Numbers | None = None
        self.held_out_error: Numbers | None = None

    @property
    def scales(self) -> Numbers:
        """The scales of the Laplace prior."""
        return 1 / self.strengths

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the coefficients."""
        return self._task.engine.design.names

    def __len__(self) -> int:
        return len(self.strengths)

    def __getitem__(self, index: int) -> FitOfRows:
        """The fit at one strength."""
        prior = _at_strength(self._prior, float(self.strengths[index]))
        task = replace(self._task, penalty=self._answers[index].penalty)
        return FitOfRows(task, self._answers[index], prior)

    @cached_property
    def nlls(self) -> Numbers:
        """-log p of the sample at each strength."""
        return np.array([self[i].nll for i in range(len(self))])

    @property
    def best(self) -> int | None:
        """The place of the strength with the fewest held-out nats per row; None without cross-validation."""
        return None if self.held_out is None else int(np.argmin(self.held_out))

    @property
    def fit(self) -> FitOfRows:
        """The fit at the best strength."""
        if self.best is None:
            raise ValueError("the path was not cross-validated; ask for it with nl.path(..., cv=5)")
        return self[self.best]

    def __repr__(self) -> str:
        return f"<Path of {len(self)} fits, strengths {self.strengths[0]:.4g} to {self.strengths[-1]:.4g}>"


@one_blas_thread
def path(
    X: Any,
    y: ArrayLike | str,
    noise: Noise = Gaussian(),  # noqa: B008
    prior: Prior = Laplace(),  # noqa: B008
    *,
    n: int = 100,
    ratio: float | None = None,
    strengths: ArrayLike | None = None,
    cv: int | None = None,
    seed: int = 0,
    sample_weight: ArrayLike | str | None = None,
    precision: ArrayLike | str | None = None,
    offset: ArrayLike | str | None = None,
    exposure: ArrayLike | str | None = None,
    intercept: bool = True,
    tol: float = 1e-6,
    max_iter: int = 100,
) -> Path:
    """Fits along `n` strengths of a Laplace prior, from the least that holds all coefficients at 0 down to `ratio` of
    it.

    The prior is Laplace() or Gaussian(scale=...) * Laplace(), the Laplace scale left open. Each fit starts from the
    one before; strong rules choose the columns to look at, and the gradient of all columns shows that none was missed.
    With `cv` the same strengths are fitted without each fold in turn: `held_out` is the mean nats per held-out row,
    `best` its least, `fit` the fit there.
    """
    given = {"sample_weight": sample_weight, "precision": precision, "offset": offset, "exposure": exposure}
    _refuse_terms(X, y, noise)
    open_prior = _open_laplace(prior)
    if n < 1 or (ratio is not None and not 0 < ratio <= 1):
        raise ValueError(f"n must be at least 1 and ratio above 0 and at most 1, but they are {n} and {ratio}")
    with np.errstate(all="ignore"):
        task = prepare(X, y, noise, _at_strength(open_prior, 1.0), given, intercept, tol, max_iter)
        grid, answers = _answers(task, None if strengths is None else _descending(strengths), n, ratio)
    if not np.isfinite(grid).all():
        task.engine.design.check_finite()
    result = Path(task, open_prior, grid, answers)
    if not result.converged:
        warnings.warn(
            f"{sum(not a.converged for a in answers)} of {len(answers)} fits of the path did not converge; "
            "raise max_iter or tol",
            ConvergenceWarning,
            stacklevel=2,
        )
    if cv is not None:
        _cross_validate(result, task, grid, cv, seed)
    return result


def _refuse_terms(X: Any, y: Any, noise: Any) -> None:
    """Curves and groups have Gaussian priors of their own, of which a path has none."""
    formula = read_formula(y) if is_formula(y) else None
    stated: list[Any] = []
    if formula is not None:
        stated = [item for item in formula.terms if isinstance(item, Smooth | Group | Interaction)]
        beside = {"offset": formula.offset, "exposure": formula.exposure}
        what, own = next(((what, own) for what, own in beside.items() if own is not None), ("", None))
        if own is not None:
            raise ValueError(f"a path takes {what}={own!r} as an argument, not in the formula {y!r}")
    if stated:
        raise ValueError(f"a path is of columns as they are, but the formula has {', '.join(map(str, stated))}")
    if isinstance(X, Design) and X.schema.terms is not None:
        raise ValueError("a path is of columns as they are, but X was read with terms")
    if isinstance(noise, Noise) and noise.own_terms:
        raise ValueError(
            f"a path is of columns as they are, but {', '.join(noise.own_terms)} has terms of its own; with "
            '"model" it has all columns'
        )


def _open_laplace(prior: Prior) -> Prior:
    factors = prior.factors if isinstance(prior, Product) else (prior,)
    laplace = [factor for factor in factors if isinstance(factor, Laplace)]
    if len(laplace) != 1 or laplace[0].scale is not None:
        raise ValueError(
            "a path needs a prior with an open Laplace scale, Laplace() or Gaussian(scale=...) * Laplace(), "
            f"but got {prior!r}"
        )
    return prior


def _at_strength(prior: Any, strength: float) -> Prior:
    if isinstance(prior, Product):
        return multiply(prior.factors[0], _at_strength(prior.factors[1], strength))
    return Laplace(prior.loc, 1 / strength)


def _descending(strengths: ArrayLike) -> Numbers:
    values = np.sort(np.asarray(strengths, float))[::-1]
    if not len(values) or not np.all((values > 0) & np.isfinite(values)):
        raise ValueError("strengths must be positive finite numbers")
    return values


def _with_strength(penalty: Penalty, unit: Numbers, strength: float) -> Penalty:
    return replace(penalty, strength=strength * unit)


def _answers(task: Task, grid: Numbers | None, n: int, ratio: float | None) -> tuple[Numbers, list[Answer]]:
    """The fits; the grid is made from the gradient where all penalised coefficients are at their kinks."""
    unit = (task.penalty.strength > 0).astype(float)
    target = task.target
    if not target.bends or target.noise.modelled or (target.open and not target.profiled):
        return _one_by_one(task, unit, grid, n, ratio)
    squares = target.squares
    wide = task.engine.width > WIDE
    # About the middle of y, as least squares are: its square would drown the residuals of a y that is far from 0.
    centre = about_middle(task.engine) if squares and not wide and task.engine.intercept else 0.0
    engine: Any = Moments(task.engine.moments(centre)) if squares and not wide else task.engine
    point = _null_point(task, unit, engine, centre)
    if grid is None:
        grid = _grid(point, unit, task, n, ratio)
    answers = []
    chosen = working_set(task) if wide else None
    matrix = None
    before = grid[0]
    for strength in grid:
        penalty = _with_strength(task.penalty, unit, strength)
        if chosen is not None:
            likely = (unit > 0) & (np.abs(point.gradient) >= 2 * strength - before)  # the strong rule
            solution = chosen.solve(penalty, point, task.tol, task.max_iter, likely)
        else:
            objective = task.objective(engine, penalty=penalty)
            gone = penalty.absolute(point.theta) * (1 - before / strength)  # what the change of strength alone does
            guess = replace(point, value=point.value + gone)
            solution = proximal_newton(objective, point.theta, task.tol, task.max_iter, matrix, guess)
            matrix = None if squares else solution.matrix
        point, before = solution.point, strength
        theta = point.theta.copy()
        if centre:
            theta[0] += centre
        answers.append(
            Answer(
                theta,
                target.filled(point.dispersion),
                solution.converged,
                solution.iterations,
                solution.decrement,
                task.engine,
                penalty,
            )
        )
    return grid, answers


def _null_point(task: Task, unit: Numbers, engine: Any, centre: float) -> Point:
    """The best with all penalised coefficients at their kinks, with the gradient of all; of y less a centre."""
    held = unit > 0
    part, inside = task.engine.subset(~held, rest=task.penalty.kink * unit)
    small = Task(task.target, part, task.penalty.subset(inside), task.tol, task.max_iter)
    free = solve(small).theta if not small.penalty.flat.all() or part.width else start(small)
    theta = task.penalty.kink * unit + task.penalty.centre * ~held
    theta[inside] = free
    if centre:
        theta[0] -= centre
    return task.objective(engine, penalty=_with_strength(task.penalty, unit, 0.0)).at(theta, False)


def _grid(point: Point, unit: Numbers, task: Task, n: int, ratio: float | None) -> Numbers:
    top = float(np.max(np.abs(point.gradient) * unit, initial=0.0))
    if ratio is None:
        ratio = 1e-4 if task.engine.rows > task.engine.columns else 1e-2
    return top * (1 + 1e-10) * np.geomspace(1.0, ratio, n)  # the first just holds all of them


def _one_by_one(
    task: Task, unit: Numbers, grid: Numbers | None, n: int, ratio: float | None
) -> tuple[Numbers, list[Answer]]:
    """Noises that have solvers of their own: one fit after the other."""
    if grid is None:
        grid = _bisected_grid(task, unit, n, ratio)
    answers: list[Answer] = []
    for strength in grid:
        here = replace(task, penalty=_with_strength(task.penalty, unit, strength))
        answers.append(solve(here, answers[-1] if answers else None))
    return grid, answers


def _bisected_grid(task: Task, unit: Numbers, n: int, ratio: float | None) -> Numbers:
    """From the least strength (to 1%) at which all penalised coefficients are at their kinks."""
    answer: Answer | None = None

    def empty(strength: float) -> bool:
        nonlocal answer
        answer = solve(replace(task, penalty=_with_strength(task.penalty, unit, strength)), answer)
        return bool(np.all((answer.theta == task.penalty.kink) | (unit == 0)))

    high = 1.0
    while not empty(high):
        high *= 10
    low = high / 10
    while empty(low):
        high, low = low, low / 10
    while high / low > 1.01:
        middle = (high * low) ** 0.5
        high, low = (middle, low) if empty(middle) else (high, middle)
    return high * np.geomspace(1.0, 1e-3 if ratio is None else ratio, n)


def _cross_validate(result: Path, task: Task, grid: Numbers, folds: int, seed: int) -> None:
    """Mean nats per held-out row at each strength; folds are the same for the same seed."""
    rows = task.engine.rows
    if not 2 <= folds <= rows:
        raise ValueError(f"cv must be a number of folds between 2 and {rows}, but is {folds}")
    fold = np.random.default_rng(seed).permutation(rows) % folds
    nats = np.zeros((len(grid), rows))
    for k in range(folds):
        inside, outside = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
        part = task.taken(inside)
        # the same prior on fewer rows: strengths are those of the prior, not per row
        _, answers = _answers(part, grid, len(grid), None)
        engine = task.engine.take(outside)
        target = task.target
        p = None if target.p is None else target.p[outside]
        for i, answer in enumerate(answers):
            nats[i, outside] = target.rows_nll(answer.noise, engine.predict(answer.theta), p, target.raw[outside])
    weight = np.ones(rows) if task.target.w is None else task.target.w
    result.held_out = nats @ weight / weight.sum()
    spread = (nats - result.held_out[:, None]) ** 2 @ weight / weight.sum()
    result.held_out_error = np.sqrt(spread / rows)
