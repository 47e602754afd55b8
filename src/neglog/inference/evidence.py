"""Priors whose scale is learned: a Gaussian one by maximum evidence, a Laplace one by leave-one-out.

The prior is on the coefficients of columns of unit variance, unless that is switched off: one scale then fits them all.
"""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from neglog.design.blocks import Codes, Dense
from neglog.distributions import Flat, Gaussian, Laplace
from neglog.distributions.arrays import Numbers
from neglog.distributions.product import Product
from neglog.engines.memory import Memory
from neglog.inference.answer import Answer, Task
from neglog.inference.joint import Joint
from neglog.inference.loo import leave_one_out
from neglog.inference.posterior import whitened
from neglog.inference.solve import solve
from neglog.inference.targets import Absolutes, Squares
from neglog.solvers.penalty import Penalty

STEPS = 200  # of the fixed point
SETTLED = 1e-6  # relative change of a scale that ends the search
SMALLEST = 1e-6  # of the largest scale: a group below it has no part in the answer
STRENGTHS = 40  # of a Laplace prior that are tried
LEAST_STRENGTH = 1e-3  # of the one that leaves no coefficient


def is_open(prior: Any) -> bool:
    """Whether the prior has a scale that is to be learned."""
    factors = prior.factors if isinstance(prior, Product) else (prior,)
    unknown = [
        factor for factor in factors if not isinstance(factor, Flat) and factor.parameters.get("scale", 0) is None
    ]
    if unknown and len(factors) > 1:
        raise ValueError(
            f"only one scale of a prior can be learned, but {prior!r} is a product; state the scales of both factors, "
            "or use one of them alone"
        )
    return bool(unknown)


class Learned(NamedTuple):
    """A fit with the scale of its prior found on the way."""

    task: Task
    answer: Answer
    prior: Any


def learn(task: Task, prior: Any, standardize: bool | None) -> Learned:
    """The fit at the scale that the data support most."""
    engine = task.engine
    if engine.design.columns == 0:
        raise ValueError("the scale of a prior cannot be learned without columns")
    units = column_spreads(engine) if standardize in (None, True) else np.ones(engine.design.columns)
    if isinstance(prior, Laplace):
        return _learn_laplace(task, prior, units)
    groups = _groups(prior, engine)
    problem = _Ridge(task, prior, units, groups)
    squares = isinstance(task.target, Squares) and task.target.noise.link.name == "identity"
    return problem.by_moments() if squares else problem.by_laplace()


def on_unit_variance(prior: Any, engine: Memory) -> Any:
    """The prior for the columns as they are whose scale is stated for columns of unit variance."""
    if isinstance(prior, Flat):
        return prior
    if isinstance(prior, Product):
        first, *others = (on_unit_variance(factor, engine) for factor in prior.factors)
        for other in others:
            first = first * other
        return first
    return type(prior)(prior.loc, prior.scale / column_spreads(engine))


def column_spreads(engine: Memory) -> Numbers:
    """The standard deviation of each column over the rows, each counted by its weight; 1 for constant columns."""
    w = np.ones(engine.rows) if engine.weight is None else engine.weight
    total = w.sum()
    parts = []
    for block in engine.design.blocks:
        if isinstance(block, Dense):
            x = block.values
            middle = np.asarray(x[0], np.float64)
            mean, square = np.zeros(block.columns), np.zeros(block.columns)
            for start in range(0, engine.rows, 8192):
                away, some = x[start : start + 8192] - middle, w[start : start + 8192]
                mean += some @ away
                square += some @ (away * away)
            parts.append(np.sqrt(np.maximum(square / total - (mean / total) ** 2, 0.0)))
        elif isinstance(block, Codes):
            share = np.bincount(block.codes, weights=w, minlength=len(block.levels)) / total
            parts.append(np.sqrt(share * (1 - share))[int(block.reference) :])
        else:
            mean = np.asarray(w @ block.matrix).ravel() / total
            square = np.asarray(w @ block.matrix.multiply(block.matrix)).ravel() / total
            parts.append(np.sqrt(np.maximum(square - mean**2, 0.0)))
    spreads = np.concatenate(parts)
    return np.where(spreads > 1e-12 * spreads.max(), spreads, 1.0)


def _groups(prior: Any, engine: Memory) -> Numbers:
    """For each coefficient the number of its group."""
    labels = prior.__dict__.get("groups")
    if labels is None:
        return np.zeros(engine.design.columns, int)
    if len(labels) != engine.design.columns:
        raise ValueError(
            f"groups must have one label per coefficient, {engine.design.columns} of them "
            f"({', '.join(engine.design.names[:3])}, …), but has {len(labels)}"
        )
    return np.unique(np.asarray(labels), return_inverse=True)[1]


class _Ridge:
    """A Gaussian prior of unknown scale, one for each group."""

    def __init__(self, task: Task, prior: Any, units: Numbers, groups: Numbers) -> None:
        self.task, self.prior, self.units, self.groups = task, prior, units, groups
        self.count = int(groups.max()) + 1
        self.loc = np.broadcast_to(np.asarray(prior.loc, float), units.shape)

    def penalty(self, scales: Numbers) -> Penalty:
        """The prior at these scales of unit-variance coefficients."""
        engine = self.task.engine
        per_column = (self.units / scales[self.groups]) ** 2
        nothing = np.zeros(engine.width)
        return Penalty(engine.native(per_column), engine.native(self.loc), nothing, nothing)

    def finished(self, scales: Numbers, answer: Answer, task: Task) -> Learned:
        """With the prior on the coefficients as they are."""
        own = scales[self.groups] / self.units
        scale: Any = float(own[0]) if np.ptp(own) <= 1e-12 * own[0] else own
        return Learned(task, answer, Gaussian(self.prior.loc, scale))

    # ---- least squares: everything from one Gram matrix ----------------------------------------------------------

    def by_moments(self) -> Learned:
        """With the scale of the noise, if that is unknown too: the evidence is known in closed form."""
        task, engine = self.task, self.task.engine
        some = slice(None, None, max(1, engine.rows // 256))
        middle = float(engine.y[some].mean()) if engine.intercept else 0.0
        gram = engine.moments(middle)
        rows = task.target.total() - engine.intercept
        if engine.intercept:
            gram = gram[1:, 1:] - np.outer(gram[1:, 0], gram[0, 1:]) / gram[0, 0]
        native = engine.places - engine.intercept
        order = np.append(native, len(gram) - 1)
        gram = gram[np.ix_(order, order)]
        matrix = gram[:-1, :-1] / np.outer(self.units, self.units)
        shifted = self.loc * self.units
        right = gram[:-1, -1] / self.units - matrix @ shifted
        rest = float(gram[-1, -1] - 2 * shifted @ (gram[:-1, -1] / self.units) + shifted @ matrix @ shifted)
        known = task.target.noise.scale
        if self.count == 1:
            scale, sigma = _ridge_by_eigenvalues(matrix, right, rest, rows, known)
            scales = np.array([scale])
        else:
            scales, sigma = self._relevance(matrix, right, rest, rows, known)
        stated = task.target.with_noise(task.target.noise._replaced(_scale=sigma))
        fixed = replace(task, target=stated, penalty=self.penalty(scales))
        answer = solve(fixed)
        return self.finished(scales, answer, replace(task, penalty=fixed.penalty))

    def _relevance(
        self, matrix: Numbers, right: Numbers, rest: float, rows: float, known: float | None
    ) -> tuple[Numbers, float]:
        """MacKay's fixed point: scale² = sum of squares / effective number of coefficients, group by group."""
        sigma = np.sqrt(rest / rows) if known is None else known
        scales = np.full(self.count, np.sqrt(max(rest / rows, 1e-300)) if known is None else known)
        for _ in range(20 * STEPS):
            active = scales[self.groups] > SMALLEST * scales.max()
            strength = (sigma / scales[self.groups][active]) ** 2
            inverse = np.linalg.inv(matrix[np.ix_(active, active)] + np.diag(strength))
            theta = inverse @ right[active]
            effective = np.bincount(self.groups[active], 1 - strength * inverse.diagonal(), self.count)
            squares = np.bincount(self.groups[active], theta**2, self.count)
            with np.errstate(all="ignore"):
                following = np.where(effective > 1e-12, np.sqrt(squares / effective), 0.0)
            following = np.maximum(np.nan_to_num(following), 0.1 * SMALLEST * following.max())
            if known is None:
                left = rest - 2 * theta @ right[active] + theta @ matrix[np.ix_(active, active)] @ theta
                sigma = float(np.sqrt(left / max(rows - effective.sum(), 1e-12)))
            used = following > SMALLEST * following.max()
            change = np.max(np.abs(np.log(following[used] / scales[used])), initial=0.0)
            scales = following
            if change < SETTLED:
                break
        return scales, sigma

    # ---- any other noise: Laplace's approximation of the evidence ------------------------------------------------

    def by_laplace(self) -> Learned:
        """The fixed point first; with one scale then the maximum itself, which also sees the curvature change."""
        scales = np.ones(self.count)
        answer: Answer | None = None
        for _ in range(STEPS):
            answer, _, following = self._step(scales, answer)
            following = np.clip(following, 0.02 * scales, 50 * scales)
            change = np.max(np.abs(np.log(following / scales))[following > SMALLEST * following.max()], initial=0.0)
            scales = following
            if change < (1e-2 if self.count == 1 else 1e-4):
                break
        if self.count == 1:
            scales = np.exp([self._maximum(float(np.log(scales[0])), answer)])
        task = replace(self.task, penalty=self.penalty(scales))
        return self.finished(scales, solve(task, None if answer is None else answer.theta), task)

    def _step(self, scales: Numbers, answer: Answer | None) -> tuple[Answer, float, Numbers]:
        """The fit at these scales, its log evidence (up to a constant) and the scales that MacKay's rule gives next."""
        task = replace(self.task, penalty=self.penalty(scales))
        answer = solve(task, None if answer is None else answer.theta)
        joint = Joint(task, answer)
        point = joint.objective(joint.target(joint.start)).at(answer.theta, True)
        assert point.hessian is not None
        root, _ = whitened(point.hessian)
        covariance = np.sum(root**2, axis=1)
        volume = float(np.linalg.slogdet(root.T @ root)[1])
        held = task.penalty.bend > 0
        value = joint.nll(answer.theta, joint.target(joint.start)) + task.penalty.quadratic(answer.theta)[0]
        evidence = -value + 0.5 * volume + 0.5 * float(np.sum(np.log(task.penalty.bend[held])))
        classes, columns = task.engine.loss.classes, task.engine.columns
        native = np.zeros((classes, columns), int)
        native[:, task.engine.places] = self.groups + 1
        group = native.reshape(-1)
        effective = np.bincount(group, 1 - task.penalty.bend * covariance, self.count + 1)[1:]
        units = task.engine.native(self.units)
        squares = np.bincount(group, (units * (answer.theta - task.penalty.centre)) ** 2, self.count + 1)[1:]
        following = np.sqrt(squares / np.maximum(effective, 1e-12))
        return answer, evidence, np.maximum(following, 0.1 * SMALLEST * max(following.max(), 1e-300))

    def _maximum(self, start: float, answer: Answer | None) -> float:
        """The log scale of maximal evidence near `start`."""
        from scipy.optimize import minimize_scalar

        def lack(log_scale: float) -> float:
            return -self._step(np.exp([log_scale]), answer)[1]

        found = minimize_scalar(lack, bracket=(start - 0.2, start + 0.2), tol=1e-5)
        return float(found.x)


def _ridge_by_eigenvalues(
    matrix: Numbers, right: Numbers, rest: float, rows: float, known: float | None
) -> tuple[float, float]:
    """Scale of the prior and of the noise that maximise the evidence of least squares, from one decomposition."""
    from scipy.optimize import minimize_scalar

    values, vectors = np.linalg.eigh(matrix)
    values = np.maximum(values, 0.0)
    squares = (vectors.T @ right) ** 2

    def variance(alpha: float) -> float:
        return max(rest - float(np.sum(squares / (values + alpha))), 1e-300) / rows

    def lack(log_alpha: float) -> float:
        """Minus the log evidence at the ridge strength alpha = sigma² / scale²."""
        alpha = np.exp(log_alpha)
        spread = float(np.sum(np.log1p(values / alpha)))
        if known is None:
            return 0.5 * (rows * float(np.log(variance(alpha))) + spread)
        return 0.5 * (rows * variance(alpha) / known**2 + spread)

    low, high = np.log(max(values[-1], 1e-300)) + np.log([1e-12, 1e6])
    grid = np.linspace(low, high, 121)
    best = int(np.argmin([lack(at) for at in grid]))
    near = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
    log_alpha = float(minimize_scalar(lack, bounds=near, method="bounded", options={"xatol": 1e-10}).x)
    sigma = float(np.sqrt(variance(np.exp(log_alpha)))) if known is None else known
    return float(sigma * np.exp(-0.5 * log_alpha)), sigma


# ---- Laplace priors --------------------------------------------------------------------------------------------------


def _learn_laplace(task: Task, prior: Any, units: Numbers) -> Learned:
    """The strength on the path from no coefficients on whose held-out nats are least."""
    if isinstance(task.target, Absolutes):
        raise ValueError(
            "the scale of a Laplace prior is chosen by leave-one-out, which needs a smooth loss; state scale=..., "
            "use Huber noise, or let nl.path(..., cv=5) choose it"
        )
    engine = task.engine
    kink = engine.native(np.broadcast_to(np.asarray(prior.loc, float), units.shape))
    unit = engine.native(units)
    nothing = np.zeros(engine.width)

    def at(strength: float, theta: Numbers | None) -> tuple[Task, Answer]:
        here = replace(task, penalty=Penalty(nothing, nothing, strength * unit, kink))
        return here, solve(here, theta)

    largest = _largest_strength(task, unit, kink)
    theta: Numbers | None = None
    best: tuple[float, float, Task, Answer] | None = None
    for strength in largest * np.geomspace(1.0, LEAST_STRENGTH, STRENGTHS):
        here, answer = at(float(strength), theta)
        theta = answer.theta
        if not answer.converged:
            break
        nats = leave_one_out(Joint(here, answer)).total
        if best is None or nats < best[0]:
            best = nats, float(strength), here, answer
        elif nats > best[0] + 0.02 * abs(best[0]) + 20:
            break  # far beyond the minimum
    if best is None:
        raise ValueError("no strength of the Laplace prior led to a converged fit; state its scale")
    own = 1 / (best[1] * units)
    scale: Any = float(own[0]) if np.ptp(own) <= 1e-12 * own[0] else own
    return Learned(best[2], best[3], Laplace(prior.loc, scale))


def _largest_strength(task: Task, unit: Numbers, kink: Numbers) -> float:
    """From which on all coefficients stay at their kink."""
    held = unit > 0
    nothing = np.zeros(len(unit))
    hard = replace(task, penalty=Penalty(nothing, nothing, 1e12 * np.where(held, unit, 0.0), kink))
    joint = Joint(hard, solve(hard))
    gradient = joint.gradient(joint.answer.theta, joint.start)[0]
    return float(np.max(np.abs(gradient[held]) / unit[held])) or 1.0
