"""The scale of a Gaussian prior by maximum evidence: one for all coefficients, or one for each group of them."""

import math
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from neglog import _core
from neglog.belief.posterior import whitened
from neglog.distributions import Gaussian
from neglog.engines.memory import Memory
from neglog.estimation.absolute_evidence import AbsoluteEvidence
from neglog.estimation.scale_search import Evidence, best_scale
from neglog.estimation.solve import about_middle, solve
from neglog.likelihood.accelerated import Absolutes
from neglog.likelihood.joint import Joint
from neglog.likelihood.kinked import KinkedCells
from neglog.likelihood.task import Answer, Task
from neglog.solvers.penalty import Penalty
from neglog.solvers.systems import threads_for
from neglog.typing import Numbers

STEPS = 200  # of the fixed point
SETTLED = 1e-6  # relative change of a scale that ends the search
RANGE = (1e-2, 1e5)  # where a scale is looked for, in standard errors of the coefficients without a prior
CANCELLED = 1e-6  # of the squares of y: what a Gram matrix leaves less of it has lost to rounding
NOTHING = 1e-6  # of the least scale: coefficients of this size are 0 but for rounding


class Learned(NamedTuple):
    """A fit with the scale of its prior found on the way."""

    task: Task
    answer: Answer
    prior: Any


def group_numbers(prior: Any, engine: Memory) -> Numbers:
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


class Ridge:
    """A Gaussian prior of unknown scale, one for each group, and of these again for each parameter that is modelled."""

    def __init__(self, task: Task, prior: Any, units: Numbers, groups: Numbers) -> None:
        modelled = task.target.noise.modelled
        if modelled:
            groups = groups + (int(groups.max()) + 1) * np.arange(1 + len(modelled))[:, None]
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
        own = np.atleast_2d(scales[self.groups] / self.units)
        first, *others = (Gaussian(self.loc if self.loc.any() else 0.0, one_if_equal(row)) for row in own)
        answer.priors = tuple(others)
        return Learned(task, answer, first)

    def note(self, answer: Answer, scales: Numbers, low: Any, high: Any) -> None:
        """Say so where the search ended at an edge."""
        small, large = scales <= 1.01 * low, scales >= 0.99 * high
        modelled = self.task.target.noise.modelled
        for name, own in zip(("", *modelled), np.atleast_2d(self.groups), strict=True):
            on, of = (f" on the {name}" if name else "", f" of the {name}" if name else "")
            if small[own].all():
                answer.notes.append(
                    f"The data support no effect of the columns{on}: the scale of the prior ended at its lower edge, "
                    f"where all coefficients{of} are nearly 0."
                )
            if large[own].any():
                answer.notes.append(
                    f"The scale of the prior{of} ended at its upper edge: the data hold no coefficient back, as where "
                    "columns separate the target; state a scale."
                )

    # ---- least squares: everything from one Gram matrix ----------------------------------------------------------

    def by_moments(self) -> Learned:
        """With the scale of the noise, if that is unknown too: the evidence is known in closed form."""
        task, engine = self.task, self.task.engine
        gram = engine.moments(about_middle(engine) if engine.intercept else 0.0)
        if not math.isfinite(gram.sum()):
            engine.design.check_finite()
            raise ValueError("y or a column is so large that its squares are beyond the range of numbers; scale it")
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
        values, vectors = np.linalg.eigh(matrix)
        solid = values > 1e-12 * max(values[-1], 0.0)  # directions in which the columns do not vary say nothing
        values, along = values[solid], (right @ vectors)[solid]
        least = vectors[:, solid] @ (along / values)
        left = rest - float(right @ least)
        if left < CANCELLED * rest:
            left = self._left_over(least)
        if self.count == 1:
            log_alpha, variance = _core.ridge(values, along**2, left, rows, 0.0 if known is None else known**2)
            sigma = math.sqrt(variance) if known is None else known
            scales = np.array([min(max(sigma * math.exp(-0.5 * log_alpha), low), high)])
        else:
            scales, sigma = self._relevance(matrix, right, least, left, rows, known, low, high)
        stated = task.target.with_noise(task.target.noise.estimated(scale=sigma))
        fixed = replace(task, target=stated, penalty=self.penalty(scales))
        answer = solve(fixed)
        answer.integrated = "all"
        self.note(answer, scales, low, high)
        return self.finished(scales, answer, replace(task, penalty=fixed.penalty))

    def _left_over(self, least: Numbers) -> float:
        """The sum of squares that least squares leave of y, from the rows: in the Gram matrix it may be rounding."""
        engine = self.task.engine
        left = engine.y - engine.predict(engine.native(self.loc + least / self.units))
        weight = np.ones(engine.rows) if engine.weight is None else engine.weight
        if engine.intercept:
            left = left - weight @ left / weight.sum()
        return float(weight @ left**2)

    def _relevance(
        self,
        matrix: Numbers,
        right: Numbers,
        least: Numbers,
        left: float,
        rows: float,
        known: float | None,
        low: float,
        high: float,
    ) -> tuple[Numbers, float]:
        """MacKay's fixed point: scale² = sum of squares / effective number of coefficients, group by group."""
        sigma = float(np.sqrt((left + least @ matrix @ least) / rows)) if known is None else known
        scales = np.full(self.count, np.sqrt(low * high))
        for _ in range(20 * STEPS):
            strength = (sigma / scales[self.groups]) ** 2
            inverse = np.linalg.inv(matrix + np.diag(strength))
            theta = inverse @ right
            effective = np.bincount(self.groups, 1 - strength * inverse.diagonal(), self.count)
            squares = np.bincount(self.groups, theta**2, self.count)
            following = np.clip(np.sqrt(squares / np.maximum(effective, 1e-300)), low, high)
            if known is None:
                away = theta - least
                sigma = float(np.sqrt((left + away @ matrix @ away) / max(rows - effective.sum(), 1e-12)))
            change = np.max(np.abs(np.log(following / scales)))
            scales = following
            if change < SETTLED:
                break
        return scales, sigma

    # ---- any other noise: Laplace's approximation of the evidence ------------------------------------------------

    def by_laplace(self) -> Learned:
        """One scale at the maximum of the evidence; several by the fixed point."""
        if self.count == 1 and isinstance(self.task.target, Absolutes):
            return self._by_exact_fits()
        start = np.full(self.count, natural_scale(self.task))
        if self.task.target.noise.modelled:
            start[self.groups[1:].ravel()] = 1.0  # in units of a logarithm, or whatever the raw scale has
        for factor in (1.0, 0.1, 0.1):  # a prior so weak may leave a fit without an end
            start *= factor
            task = replace(self.task, penalty=self.penalty(start))
            answer = finite(task, solve(task))
            if answer.converged:
                break
        first, following = self._evidence(task, answer, start)
        low, high = self._range()
        if answer.converged:  # the noise may be next to nothing beside the effects
            most = following if np.ndim(high) else float(following.max())
            high = np.maximum(high, 10 * most)
        if np.all(following <= NOTHING * low):
            return self._without_effects(answer, low, high)
        if self.count == 1:
            answer, scales = self._maximum(first, answer, float(low), float(high))
        else:
            answer, scales = self._fixed_point(np.clip(following, low, high), answer, low, high)
        task = replace(self.task, penalty=self.penalty(scales))
        answer = self._solved(task, answer)
        self.note(answer, scales, low, high)
        return self.finished(scales, answer, task)

    def _without_effects(self, answer: Answer, low: Any, high: Any) -> Learned:
        """All coefficients are at 0, and so under any stronger prior."""
        scales = np.zeros(self.count) + low
        task = replace(self.task, penalty=self.penalty(scales))
        answer = replace(answer, penalty=task.penalty)
        self.note(answer, scales, low, high)
        return self.finished(scales, answer, task)

    def _by_exact_fits(self) -> Learned:
        """Laplace noise, whose fits cost most."""
        task, engine = self.task, self.task.engine
        search = AbsoluteEvidence(task, engine.native(self.units), engine.native(self.loc))
        if search.constant:
            low, high = np.exp(search.range_of(*RANGE))
            return self._without_effects(solve(replace(task, penalty=self.penalty(np.full(1, low)))), low, high)
        # In standard errors, of which natural_scale is the square root of the number of rows.
        first = search.at(search.range_of(math.sqrt(search.total), RANGE[1])[0])
        places = search.range_of(*RANGE)
        found, place = best_scale(search.at, first, *places)
        if place != found.place:
            found = search.at(place)
        scales = np.exp([found.log_scale])
        task = replace(task, penalty=self.penalty(scales))
        answer = solve(task, found.answer)
        low, high = np.exp(np.array(places) + found.log_scale - found.place)
        self.note(answer, scales, float(low), float(high))
        return self.finished(scales, answer, task)

    def _range(self) -> tuple[Any, Any]:
        """Where scales are looked for: about the standard error of a coefficient that only the data hold; where
        parameters are modelled, for each group by the coefficients of its own.
        """
        assert self.information is not None
        engine = self.task.engine
        unit = engine.native(self.units)
        information = np.where(unit > 0, self.information.diagonal() / np.where(unit > 0, unit, 1.0) ** 2, 0.0)
        most: Any = np.max(information, initial=0.0)
        if self.task.target.noise.modelled:
            of_rows = information.reshape(-1, engine.columns).max(axis=1)
            most = np.repeat(of_rows, self.count // len(of_rows))
        if not np.all(most > 0):
            raise ValueError("the scale of a prior cannot be learned where the data say nothing; state it")
        return RANGE[0] / np.sqrt(most), RANGE[1] / np.sqrt(most)

    def _step(self, scales: Numbers, near: Answer | None) -> tuple[Answer, Evidence, Numbers]:
        """The fit at these scales, its evidence, and the scales that MacKay's rule gives next."""
        task = replace(self.task, penalty=self.penalty(scales))
        answer = finite(task, self._solved(task, near))
        return answer, *self._evidence(task, answer, scales)

    def _evidence(self, task: Task, answer: Answer, scales: Numbers) -> tuple[Evidence, Numbers]:
        joint = Joint(task, answer)
        target = joint.target(joint.start)
        objective = joint.objective(target)
        if not task.objective(task.engine).steady:  # a curvature that jumps says little; its expectation does not
            objective.expected = True
        n = len(answer.theta)
        if isinstance(target, KinkedCells):
            hessian: Numbers | None = joint.curvature().matrix[:n, :n]
        elif task.target.noise.takes_intercept:
            hessian = objective.at(answer.theta, True).hessian
        else:  # what takes its place is integrated as an intercept would be
            hessian = joint.curvature().matrix
        assert hessian is not None
        self.information = hessian[:n, :n] - np.diag(task.penalty.bend)
        variances, volume = _variances(hessian, joint)
        covariance = variances[:n]
        held = task.penalty.bend > 0
        nll = joint.nll(answer.theta, target) if self.count == 1 else 0.0
        value = nll + task.penalty.quadratic(answer.theta)[0]
        evidence = -value + 0.5 * volume + 0.5 * float(np.sum(np.log(task.penalty.bend[held])))
        outputs, columns = task.engine.loss.outputs, task.engine.columns
        native = np.zeros((outputs, columns), int)
        native[:, task.engine.places] = self.groups + 1
        group = native.reshape(-1)
        effective = np.bincount(group, 1 - task.penalty.bend * covariance, self.count + 1)[1:]
        units = task.engine.native(self.units)
        squares = np.bincount(group, (units * (answer.theta - task.penalty.centre)) ** 2, self.count + 1)[1:]
        place = float(np.log(scales[0]))
        found = Evidence(place, place, evidence, float(squares[0] / scales[0] ** 2), float(effective[0]), answer)
        return found, np.sqrt(squares / np.maximum(effective, 1e-300))

    def _solved(self, task: Task, near: Answer | None) -> Answer:
        """The fit from one at another scale, whose curvature differs from this one's by the prior's in the main."""
        if near is None or self.information is None:
            return solve(task, near)
        return solve(task, near, self.information + np.diag(task.penalty.bend))

    def _maximum(self, first: Evidence, answer: Answer, low: float, high: float) -> tuple[Answer, Numbers]:
        """The scale of most evidence."""

        def at(place: float) -> Evidence:
            nonlocal answer
            answer, found, _ = self._step(np.exp([place]), answer)
            return found

        found, place = best_scale(at, first, math.log(low), math.log(high))
        return found.answer, np.exp([place])

    def _fixed_point(self, scales: Numbers, answer: Answer, low: Any, high: Any) -> tuple[Answer, Numbers]:
        """MacKay's rule until no scale moves."""
        for _ in range(STEPS):
            answer, _, following = self._step(scales, answer)
            following = np.clip(following, low, high)
            change = np.max(np.abs(np.log(following / scales)))
            scales = following
            if change < 1e-4:
                break
        return answer, scales


def natural_scale(task: Task) -> float:
    """The spread of y as the raw prediction counts it: what a coefficient of a column of unit variance may be at most,
    in the units of y.
    """
    target, link = task.target, task.target.noise.link
    if task.engine.loss.classes > 1:
        return 1.0
    y = target.y if task.engine.offset is None or link.name != "identity" else target.y - task.engine.offset
    w = target.weight
    middle = float(np.average(y, weights=w))
    spread = float(np.average((y - middle) ** 2, weights=w)) ** 0.5
    slope = (link.forward(middle + 1e-4 * spread) - link.forward(middle - 1e-4 * spread)) / 2e-4
    return float(abs(slope)) if 0 < abs(slope) < np.inf else 1.0


def _variances(hessian: Numbers, joint: Joint) -> tuple[Numbers, float]:
    """Of the coefficients, and the log determinant of their covariance."""
    found = None if joint.task.engine.loss.classes > 1 else _by_cholesky(hessian)
    if found is not None:
        return found
    if joint.task.target.noise.modelled and not np.linalg.eigvalsh(hessian)[0] > 0:
        raise ValueError(
            f"{joint.answer.noise!r}: the scale of the prior cannot be learned, because under a weak one the fit has "
            "no maximum: the columns predict rows so well that their spread has none. State scale=..., or model fewer"
        )
    root, volume = whitened(hessian, joint)  # which leaves directions out, or names them
    return np.sum(root**2, axis=1), volume


def _by_cholesky(hessian: Numbers) -> tuple[Numbers, float] | None:
    """The same in a tenth of the time, where the curvature is far from singular."""
    if not np.all(np.isfinite(hessian.diagonal())):
        return None
    factor = _core.Factor(hessian, len(hessian), threads_for(len(hessian)))
    if not factor.smallest_pivot > 1e-8:
        return None
    variances = np.empty(len(hessian))
    return variances, factor.inverse_diagonal(variances)


def one_if_equal(scales: Numbers) -> Any:
    """One number where all are the same."""
    return float(scales[0]) if scales.max() - scales.min() <= 1e-12 * scales[0] else scales


def finite(task: Task, answer: Answer) -> Answer:
    """The answer, unless numbers in X that are none have spoilt it."""
    if not (np.isfinite(answer.theta).all() and np.isfinite(answer.decrement)):
        task.engine.design.check_finite()
    return answer
