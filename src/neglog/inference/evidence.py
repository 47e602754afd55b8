"""Priors whose scale is learned: a Gaussian one by maximum evidence, a Laplace one by leave-one-out.

The prior is on the coefficients of columns of unit variance, unless that is switched off: one scale then fits them all.
"""

import math
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from neglog import _core
from neglog.design.blocks import Codes, Dense
from neglog.distributions import Flat, Gaussian, Laplace
from neglog.distributions.arrays import Numbers
from neglog.distributions.product import Product
from neglog.engines.memory import Memory
from neglog.inference.answer import Answer, Task
from neglog.inference.joint import Joint
from neglog.inference.loo import leave_one_out
from neglog.inference.posterior import whitened
from neglog.inference.prior_terms import make_penalty
from neglog.inference.solve import about_middle, solve
from neglog.inference.streamed import StreamedTask
from neglog.inference.targets import Absolutes, Squares
from neglog.solvers.penalty import Penalty

STEPS = 200  # of the fixed point
SETTLED = 1e-6  # relative change of a scale that ends the search
RANGE = (1e-2, 1e5)  # where a scale is looked for, in standard errors of the coefficients without a prior
NOTHING = 1e-6  # of the least scale: coefficients of this size are 0 but for rounding
ROUGH = 1e-2  # posterior standard deviations from the optimum that do for choosing a strength
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
    if engine.streamed:
        return _learn_from_sample(task, prior, standardize)
    units = column_spreads(engine, task.target.w) if standardize in (None, True) else np.ones(engine.design.columns)
    if isinstance(prior, Laplace):
        return _learn_laplace(task, prior, units)
    groups = _groups(prior, engine)
    problem = _Ridge(task, prior, units, groups)
    squares = isinstance(task.target, Squares) and task.target.noise.link.name == "identity"
    return problem.by_moments() if squares else problem.by_laplace()


def _learn_from_sample(task: Task, prior: Any, standardize: bool | None) -> Learned:
    """The scale from the rows in memory, then the fit of all: more rows make the scale little surer."""
    small = task.in_memory()
    prior = learn(small, prior, standardize).prior
    task = replace(task, penalty=make_penalty(prior, task.engine))
    answer = solve(task)
    answer.notes.append(f"The scale of the prior was learned from a sample of {small.engine.rows:,} rows.")
    return Learned(task, answer, prior)


def on_unit_variance(prior: Any, task: Task) -> Any:
    """The prior for the columns as they are whose scale is stated for columns of unit variance."""
    if task.engine.design.columns == 0:
        return prior
    if isinstance(task, StreamedTask):
        return _in_units(prior, task.column_spreads())
    return _in_units(prior, column_spreads(task.engine, task.target.w))


def _in_units(prior: Any, spreads: Numbers) -> Any:
    if isinstance(prior, Flat):
        return prior
    if isinstance(prior, Product):
        first, *others = (_in_units(factor, spreads) for factor in prior.factors)
        for other in others:
            first = first * other
        return first
    return type(prior)(prior.loc / spreads if np.any(prior.loc) else prior.loc, prior.scale / spreads)


def column_spreads(engine: Memory, w: Numbers | None) -> Numbers:
    """The standard deviation of each column over the rows, each counted by its weight w; 1 for constant columns."""
    w = np.ones(engine.rows) if w is None else w
    total = w.sum()
    parts, sizes = [], []
    for block in engine.design.blocks:
        if isinstance(block, Dense):
            x = block.values
            middle = np.asarray(x[0], np.float64)
            mean, square = np.zeros(block.columns), np.zeros(block.columns)
            for start in range(0, engine.rows, 8192):
                away, some = x[start : start + 8192] - middle, w[start : start + 8192]
                mean += some @ away
                square += some @ np.multiply(away, away, out=away)
            mean, square = mean / total, square / total
            parts.append(np.sqrt(np.maximum(square - mean * mean, 0.0)))
            sizes.append(np.abs(middle) + np.sqrt(square))
        elif isinstance(block, Codes):
            # rare levels have the code -1
            share = np.bincount(block.codes + 1, weights=w, minlength=len(block.levels) + 1)[1:] / total
            parts.append(np.sqrt(share * (1 - share))[int(block.reference) :])
            sizes.append(np.ones(block.columns))
        else:
            mean = np.asarray(w @ block.matrix).ravel() / total
            square = np.asarray(w @ block.matrix.multiply(block.matrix)).ravel() / total
            parts.append(np.sqrt(np.maximum(square - mean**2, 0.0)))
            sizes.append(np.sqrt(square))
    spreads, typical = (parts[0], sizes[0]) if len(parts) == 1 else (np.concatenate(parts), np.concatenate(sizes))
    return np.where(spreads > 1e-12 * typical, spreads, 1.0)


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
        self.loc = np.broadcast_to(np.asarray(prior.loc, float), units.shape) / units
        self.information: Numbers | None = None  # the curvature of the rows at the last fit

    def penalty(self, scales: Numbers) -> Penalty:
        """The prior at these scales of unit-variance coefficients."""
        engine = self.task.engine
        per_column = (self.units / scales[self.groups]) ** 2
        nothing = np.zeros(engine.width)
        return Penalty(engine.native(per_column), engine.native(self.loc), nothing, nothing)

    def finished(self, scales: Numbers, answer: Answer, task: Task) -> Learned:
        """With the prior on the coefficients as they are."""
        own = scales[self.groups] / self.units
        return Learned(task, answer, Gaussian(self.loc if self.loc.any() else 0.0, _one_if_equal(own)))

    def note(self, answer: Answer, scales: Numbers, low: float, high: float) -> None:
        """Say so where the search ended at an edge."""
        if scales.max() <= 1.01 * low:
            answer.notes.append(
                "The data support no effect of the columns: the scale of the prior ended at its lower edge, where all "
                "coefficients are nearly 0."
            )
        if scales.max() >= 0.99 * high:
            answer.notes.append(
                "The scale of the prior ended at its upper edge: the data hold no coefficient back, as where columns "
                "separate the target; state a scale."
            )

    # ---- least squares: everything from one Gram matrix ----------------------------------------------------------

    def by_moments(self) -> Learned:
        """With the scale of the noise, if that is unknown too: the evidence is known in closed form."""
        task, engine = self.task, self.task.engine
        gram = engine.moments(about_middle(engine) if engine.intercept else 0.0)
        if not math.isfinite(gram.sum()):
            engine.design.check_finite()
        rows = task.target.total() - engine.intercept
        if not rows > 0:
            raise ValueError(f"the scale of a prior cannot be learned from {task.target.total():g} rows; state it")
        if engine.intercept:
            gram = gram[1:, 1:] - gram[1:, :1] * (gram[0, 1:] / gram[0, 0])
        if not isinstance(engine.where, slice):  # the core has the columns in another order
            order = np.append(engine.places - engine.intercept, len(gram) - 1)
            gram = gram[np.ix_(order, order)]
        matrix = gram[:-1, :-1] / (self.units[:, None] * self.units)
        shifted = self.loc * self.units
        right = gram[:-1, -1] / self.units - matrix @ shifted
        rest = float(gram[-1, -1] - 2 * shifted @ (gram[:-1, -1] / self.units) + shifted @ matrix @ shifted)
        known = task.target.noise.scale
        if not np.any(matrix.diagonal() > 1e-12 * np.maximum(gram[:-1, :-1].diagonal() / self.units**2, rows)):
            raise ValueError("the scale of a prior cannot be learned where all columns are constant; state it")
        spread = np.sqrt(max(rest, 0.0) / rows) if known is None else known
        low, high = np.array(RANGE) * max(spread, 1e-150) / np.sqrt(matrix.diagonal().max())
        if self.count == 1:
            scale, sigma = _ridge_by_eigenvalues(matrix, right, rest, rows, known)
            scales = np.array([min(max(scale, low), high)])
        else:
            scales, sigma = self._relevance(matrix, right, rest, rows, known, low, high)
        stated = task.target.with_noise(task.target.noise._replaced(_scale=sigma))
        fixed = replace(task, target=stated, penalty=self.penalty(scales))
        answer = solve(fixed)
        self.note(answer, scales, low, high)
        return self.finished(scales, answer, replace(task, penalty=fixed.penalty))

    def _relevance(
        self, matrix: Numbers, right: Numbers, rest: float, rows: float, known: float | None, low: float, high: float
    ) -> tuple[Numbers, float]:
        """MacKay's fixed point: scale² = sum of squares / effective number of coefficients, group by group."""
        sigma = float(np.sqrt(rest / rows)) if known is None else known
        scales = np.full(self.count, np.sqrt(low * high))
        for _ in range(20 * STEPS):
            strength = (sigma / scales[self.groups]) ** 2
            inverse = np.linalg.inv(matrix + np.diag(strength))
            theta = inverse @ right
            effective = np.bincount(self.groups, 1 - strength * inverse.diagonal(), self.count)
            squares = np.bincount(self.groups, theta**2, self.count)
            following = np.clip(np.sqrt(squares / np.maximum(effective, 1e-300)), low, high)
            if known is None:
                left = rest - 2 * theta @ right + theta @ matrix @ theta
                sigma = float(np.sqrt(left / max(rows - effective.sum(), 1e-12)))
            change = np.max(np.abs(np.log(following / scales)))
            scales = following
            if change < SETTLED:
                break
        return scales, sigma

    # ---- any other noise: Laplace's approximation of the evidence ------------------------------------------------

    def by_laplace(self) -> Learned:
        """The fixed point first; with one scale then the maximum itself, which also sees the curvature change."""
        answer, _, following = self._step(np.ones(self.count), None)
        low, high = self._range(answer)
        if np.all(following <= NOTHING * low):  # and so under any stronger prior
            task = replace(self.task, penalty=self.penalty(np.full(self.count, low)))
            answer = replace(answer, penalty=task.penalty)
            self.note(answer, np.full(self.count, low), low, high)
            return self.finished(np.full(self.count, low), answer, task)
        scales = np.clip(following, low, high)
        for _ in range(STEPS):
            answer, _, following = self._step(scales, answer, only_next=True)
            following = np.clip(following, low, high)
            change = np.max(np.abs(np.log(following / scales)))
            scales = following
            if change < (1e-2 if self.count == 1 else 1e-4):
                break
        if self.count == 1:
            scales = np.array([self._maximum(float(scales[0]), low, high, answer)])
        task = replace(self.task, penalty=self.penalty(scales))
        answer = self._solved(task, answer)
        self.note(answer, scales, low, high)
        return self.finished(scales, answer, task)

    def _range(self, answer: Answer) -> tuple[float, float]:
        """Where scales are looked for: about the standard error of a coefficient that only the data hold."""
        engine = self.task.engine
        joint = Joint(replace(self.task, penalty=Penalty.none(engine.width)), answer)
        hessian = joint.objective(joint.target(joint.start)).at(answer.theta, True).hessian
        assert hessian is not None
        unit = engine.native(self.units)
        information = hessian.diagonal()[unit > 0] / unit[unit > 0] ** 2
        if not np.max(information, initial=0.0) > 0:
            raise ValueError("the scale of a prior cannot be learned where the data say nothing; state it")
        low, high = np.array(RANGE) / np.sqrt(np.max(information))
        return float(low), float(high)

    def _step(
        self, scales: Numbers, answer: Answer | None, *, only_next: bool = False
    ) -> tuple[Answer, float, Numbers]:
        """The fit at these scales, its log evidence (up to a constant) and the scales that MacKay's rule gives next."""
        task = replace(self.task, penalty=self.penalty(scales))
        answer = _finite(task, self._solved(task, answer))
        joint = Joint(task, answer)
        point = joint.objective(joint.target(joint.start)).at(answer.theta, True)
        assert point.hessian is not None
        self.information = point.hessian - np.diag(task.penalty.bend)
        root, volume = whitened(point.hessian, joint)
        covariance = np.sum(root**2, axis=1)
        held = task.penalty.bend > 0
        nll = 0.0 if only_next else joint.nll(answer.theta, joint.target(joint.start))
        value = nll + task.penalty.quadratic(answer.theta)[0]
        evidence = -value + 0.5 * volume + 0.5 * float(np.sum(np.log(task.penalty.bend[held])))
        classes, columns = task.engine.loss.classes, task.engine.columns
        native = np.zeros((classes, columns), int)
        native[:, task.engine.places] = self.groups + 1
        group = native.reshape(-1)
        effective = np.bincount(group, 1 - task.penalty.bend * covariance, self.count + 1)[1:]
        units = task.engine.native(self.units)
        squares = np.bincount(group, (units * (answer.theta - task.penalty.centre)) ** 2, self.count + 1)[1:]
        return answer, evidence, np.sqrt(squares / np.maximum(effective, 1e-300))

    def _solved(self, task: Task, near: Answer | None) -> Answer:
        """The fit from one at another scale, whose curvature differs from this one's by the prior's in the main."""
        if near is None or self.information is None:
            return solve(task, near)
        return solve(task, near, self.information + np.diag(task.penalty.bend))

    def _maximum(self, near: float, low: float, high: float, answer: Answer) -> float:
        """The scale of maximal evidence near one."""
        from scipy.optimize import minimize_scalar

        def lack(log_scale: float) -> float:
            return -self._step(np.exp([log_scale]), answer)[1]

        for reach in (1.2, 5.0):
            bounds = np.log([max(low, near / reach), min(high, near * reach)])
            found = minimize_scalar(lack, bounds=bounds, method="bounded", options={"xatol": 1e-4})
            if min(found.x - bounds[0], bounds[1] - found.x) > 1e-3:
                break
        return float(np.exp(found.x))


def _one_if_equal(scales: Numbers) -> Any:
    return float(scales[0]) if scales.max() - scales.min() <= 1e-12 * scales[0] else scales


def _finite(task: Task, answer: Answer) -> Answer:
    """The answer, unless numbers in X that are none have spoilt it."""
    if not (np.isfinite(answer.theta).all() and np.isfinite(answer.decrement)):
        task.engine.design.check_finite()
    return answer


def _ridge_by_eigenvalues(
    matrix: Numbers, right: Numbers, rest: float, rows: float, known: float | None
) -> tuple[float, float]:
    """Scale of the prior and of the noise that maximise the evidence of least squares, from one decomposition."""
    values, vectors = np.linalg.eigh(matrix)
    solid = values > 1e-12 * max(values[-1], 0.0)  # directions in which the columns do not vary say nothing
    values, squares = values[solid], (right @ vectors)[solid] ** 2
    log_alpha, variance = _core.ridge(values, squares, rest, rows, 0.0 if known is None else known**2)
    sigma = math.sqrt(variance) if known is None else known
    return sigma * math.exp(-0.5 * log_alpha), sigma


# ---- Laplace priors --------------------------------------------------------------------------------------------------


def _learn_laplace(task: Task, prior: Any, units: Numbers) -> Learned:
    """The strength on the path from no coefficients on whose held-out nats are least."""
    if isinstance(task.target, Absolutes):
        raise ValueError(
            "the scale of a Laplace prior is chosen by leave-one-out, which needs a smooth loss; state scale=..., "
            "use Huber noise, or let nl.path(..., cv=5) choose it"
        )
    engine = task.engine
    loc = np.broadcast_to(np.asarray(prior.loc, float), units.shape) / units
    kink, unit = engine.native(loc), engine.native(units)
    nothing = np.zeros(engine.width)
    rough = replace(task, tol=max(task.tol, 1e-4))
    largest = _largest_strength(task, unit, kink)
    answer: Answer | None = None
    tried: list[tuple[float, float]] = []  # held-out nats and strength
    for strength in largest * np.geomspace(1.0, LEAST_STRENGTH, STRENGTHS):
        here = replace(rough, penalty=Penalty(nothing, nothing, float(strength) * unit, kink))
        answer = solve(here, answer)
        if not (answer.converged or answer.decrement < ROUGH):
            continue
        nats = leave_one_out(Joint(here, replace(answer, converged=True))).total
        tried.append((nats, float(strength)))
        if nats > min(tried)[0] + 0.02 * abs(min(tried)[0]) + 20:
            break  # far beyond the minimum
    if not tried or not np.isfinite(min(tried)[0]):
        raise ValueError("no strength of the Laplace prior led to a converged fit; state its scale")
    best = min(tried)[1]
    final = replace(task, penalty=Penalty(nothing, nothing, best * unit, kink))
    answer = solve(final, answer)
    if best == largest:
        answer.notes.append("The data support no effect of the columns: leave-one-out prefers all coefficients at 0.")
    elif best <= 1.001 * largest * LEAST_STRENGTH:
        answer.notes.append(
            "Leave-one-out prefers the weakest prior that was tried: the columns may need none, or another one."
        )
    return Learned(final, answer, Laplace(loc if loc.any() else 0.0, _one_if_equal(1 / (best * units))))


def _largest_strength(task: Task, unit: Numbers, kink: Numbers) -> float:
    """From which on all coefficients stay at their kink."""
    held = unit > 0
    nothing = np.zeros(len(unit))
    hard = replace(task, penalty=Penalty(nothing, nothing, 1e12 * np.where(held, unit, 0.0), kink))
    joint = Joint(hard, _finite(hard, solve(hard)))
    gradient = joint.gradient(joint.answer.theta, joint.start)[0]
    return float(np.max(np.abs(gradient[held]) / unit[held])) or 1.0
