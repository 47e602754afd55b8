"""Coefficients of groups that are drawn from one Gaussian law, at the maximum of the evidence of that law.

The coefficients of a group are b = mean + scale u, with u standard normal and each by itself; what the noise leaves
open is the same in all groups. All u are integrated by Laplace's method, in one native call for all groups, which gives
minus the log evidence with its exact slopes in means and scales: the curvature depends on these also through where the
best u lies. Those in the noise are differences. In u a scale of 0 is a place like any other, so that 0 can be the
answer.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neglog.engines.groups import ARRIVED, Held, Known, curvature, search
from neglog.engines.memory import Memory
from neglog.estimation.rows_of_groups import Groups, known_loss
from neglog.likelihood.task import Answer
from neglog.typing import Numbers

INNER = 1e-9  # posterior standard deviations that the u of a group may be off by
DIFFERENCE = 1e-4  # of raw parameters, and of what one does not know of the others, for differences
FAINT = 1e-3  # of its own uncertainty in one group: a scale that is so small is taken for 0
WARMING = 6  # steps of expectation and maximisation, which come near from anywhere
SETTLED = 1e-4  # standard deviations, of what is found, from the maximum
STEPS = 200
POLISHED = 6  # Newton steps at most


@dataclass
class PooledAnswer:
    """What was found, in the core's order; `errors` are those of means, scales and raw parameters, one after the
    other, infinite for a scale of 0.
    """

    mean: Numbers
    scale: Numbers
    raw: Numbers
    u: Numbers  # (groups, coefficients)
    variances: Numbers  # of u
    volume: float  # what minus the log evidence has beside the nll of the rows
    errors: Numbers
    arrived: NDArray[np.bool_]  # groups
    converged: bool
    distance: float
    steps: int


@dataclass
class _Point:
    """A place in means, scales and raw parameters."""

    x: Numbers
    u: Numbers
    known: Known
    value: float
    slope: Numbers
    arrived: NDArray[np.bool_]


class _Search:
    def __init__(self, task: Groups) -> None:
        self.task, self.width, self.opened = task, task.engine.width, len(task.target.open)
        self.inside = task.grouping.sizes > 0
        self.evaluations = 0

    # ---- the evidence ------------------------------------------------------------------------------------------------

    def rows(self, v: Numbers) -> tuple[Memory, float]:
        """The rows under the noise at raw values, with every constant if some of it is open."""
        if not self.opened:
            return known_loss(self.task)
        target = self.task.target.with_noise(self.task.target.at(v))
        return self.task.engine.under(target.joint_loss(), target.joint_y, target.w), 1.0

    def value(self, x: Numbers, u: Numbers, *, slopes: bool) -> tuple[Numbers, Known, float, NDArray[np.bool_]]:
        """Minus the log evidence, and the best u."""
        self.evaluations += 1
        mean, scale, v = np.split(x, [self.width, 2 * self.width])
        engine, factor = self.rows(v)
        held = Held(np.ones(self.width), np.ascontiguousarray(mean), np.ascontiguousarray(scale))
        own: dict[str, Any] = {"tol": INNER, "most_steps": 100, "factor": factor}
        found = search(engine, self.task.grouping, held, u, **own)
        known = curvature(engine, self.task.grouping, held, found.theta, factor=factor, slopes=slopes)
        nats = known.value + 0.5 * known.log_determinant
        return found.theta, known, float(np.sum(nats[self.inside])), found.ends == ARRIVED

    def at(self, x: Numbers, u: Numbers) -> _Point:
        """With its slopes."""
        u, known, value, arrived = self.value(x, u, slopes=True)
        assert known.slopes is not None
        slope = np.concatenate([np.sum(known.slopes, axis=0).reshape(-1), np.empty(self.opened)])
        for k in range(self.opened):
            place, way = 2 * self.width + k, np.zeros(len(x))
            way[place] = DIFFERENCE
            above, below = (self.value(x + sign * way, u, slopes=False)[2] for sign in (1, -1))
            slope[place] = (above - below) / (2 * DIFFERENCE)
        return _Point(x, u, known, value, slope, arrived)

    # ---- the search --------------------------------------------------------------------------------------------------

    def begin(self, whole: Answer) -> tuple[Numbers, Numbers, Numbers]:
        """Means from one fit of all rows, scales like what one group alone does not know of its own, and these."""
        count = self.task.grouping.count
        v = self.task.target.raw_of(whole.noise) if self.opened else np.empty(0)
        mean = np.array(whole.theta[: self.width])
        u = np.zeros((count, self.width))
        engine, factor = self.rows(v)
        near = Held(np.full(self.width, 1e-12), mean)
        known = curvature(engine, self.task.grouping, near, np.tile(mean, (count, 1)), factor=factor)
        own = np.where(np.isfinite(known.variances) & (known.variances < 1e10), known.variances, np.nan)[self.inside]
        told = np.isfinite(own).any(axis=0)
        scale = np.ones(self.width)
        scale[told] = np.sqrt(np.nanmedian(own[:, told], axis=0))
        x = np.concatenate([mean, scale, v])
        for _ in range(WARMING):
            found, known, value, _ = self.value(x, u, slopes=False)
            if not np.isfinite(value):
                break
            u = found
            b = x[: self.width] + x[self.width : 2 * self.width] * u[self.inside]
            spread = known.variances[self.inside] * x[self.width : 2 * self.width] ** 2
            mean = b.mean(axis=0)
            x = np.concatenate([mean, np.sqrt(np.mean((b - mean) ** 2 + spread, axis=0)), v])
        return x, u, scale

    def run(self, whole: Answer) -> PooledAnswer:
        """The maximum of the evidence."""
        x, u, uncertain = self.begin(whole)
        free = np.ones(len(x), bool)
        units = self._units(x, uncertain)
        for _ in range(self.width + 1):
            least = FAINT * uncertain
            x, u = self._descended(x, u, free, units, least)
            scale = x[self.width : 2 * self.width]
            zero = free[self.width : 2 * self.width] & (scale <= 1.01 * least)
            if not zero.any():
                break
            scale[zero] = 0.0
            free[self.width : 2 * self.width] &= ~zero
        return self._polished(x, u, free, units)

    def _units(self, x: Numbers, uncertain: Numbers) -> Numbers:
        """About how far each may be from its maximum."""
        count, rows = int(self.inside.sum()), float(self.task.weight.sum())
        scale = np.hypot(x[self.width : 2 * self.width], uncertain)
        return np.concatenate([scale / count**0.5, scale / (2 * count) ** 0.5, np.full(self.opened, rows**-0.5)])

    def _descended(
        self, x: Numbers, u: Numbers, free: Numbers, units: Numbers, least: Numbers
    ) -> tuple[Numbers, Numbers]:
        """By quasi-Newton steps, over what is free."""
        from scipy.optimize import minimize

        near, worst = u, np.inf

        def evaluated(moved: Numbers) -> tuple[float, Numbers]:
            nonlocal near, worst
            there = x.copy()
            there[free] = moved * units[free]
            point = self.at(there, near)
            if not (np.isfinite(point.value) and np.isfinite(point.slope).all()):
                return worst + 1e6, np.zeros(len(moved))
            near, worst = point.u, max(point.value, worst if np.isfinite(worst) else point.value)
            return point.value, (point.slope * units)[free]

        low = np.full(len(x), -np.inf)
        high = np.full(len(x), np.inf)
        low[self.width : 2 * self.width] = least
        for k, own in enumerate(self.task.target.opened):
            if own.within is not None:
                low[2 * self.width + k], high[2 * self.width + k] = own.within
        bounds = list(zip((low / units)[free], (high / units)[free], strict=True))
        options = {"maxiter": STEPS, "gtol": SETTLED, "ftol": 1e-14, "maxcor": 20}
        begin = np.clip(x, low, high)
        found = minimize(evaluated, (begin / units)[free], jac=True, method="L-BFGS-B", bounds=bounds, options=options)
        x = x.copy()
        x[free] = found.x * units[free]
        return x, near

    def _polished(self, x: Numbers, u: Numbers, free: Numbers, units: Numbers) -> PooledAnswer:
        """By Newton's method, whose curvature says how far it is, and how sure."""
        point, places = self.at(x, u), np.flatnonzero(free)
        distance, inverse = np.inf, np.full((len(places), len(places)), np.nan)
        for _ in range(POLISHED):
            hessian = np.empty((len(places), len(places)))
            for row, place in enumerate(places):
                there = point.x.copy()
                there[place] += DIFFERENCE * units[place]
                hessian[row] = (self.at(there, point.u).slope - point.slope)[free] / DIFFERENCE * units[free]
            hessian = 0.5 * (hessian + hessian.T)
            try:
                np.linalg.cholesky(hessian)
            except np.linalg.LinAlgError:
                break
            inverse = np.linalg.inv(hessian)
            step = inverse @ (point.slope * units)[free]
            distance = float(np.sqrt(max(step @ (point.slope * units)[free], 0.0)))
            there = point.x.copy()
            there[free] -= step * units[free]
            following = self.at(there, point.u)
            good = following.value <= point.value + 1e-9 * (1 + abs(point.value))
            if good and (there[self.width : 2 * self.width] >= 0).all():
                point = following
            if distance < SETTLED or not good:
                break
        errors = np.full(len(x), np.inf)
        errors[places] = np.sqrt(np.diag(inverse)) * units[places]
        mean, scale, v = np.split(point.x, [self.width, 2 * self.width])
        return PooledAnswer(
            mean,
            scale,
            v,
            point.u,
            point.known.variances,
            float(np.sum((0.5 * np.sum(point.u**2, axis=1) + 0.5 * point.known.log_determinant)[self.inside])),
            errors,
            point.arrived & self.inside,
            bool(distance < 10 * SETTLED),
            distance,
            self.evaluations,
        )


def pool_groups(task: Groups, whole: Answer) -> PooledAnswer:
    """The law of the coefficients, and those of each group under it; `whole` is the fit of all rows as one group."""
    flat = replace(task, tol=INNER)
    with np.errstate(all="ignore"):
        return _Search(flat).run(whole)
