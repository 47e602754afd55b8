"""The objective of a problem, its derivatives and its minimum, in plain NumPy and SciPy.

Everything is in coordinates of the harness' own: columns centred (where there is an intercept) and of unit spread, and
open parameters of the noise on a scale on which they take any value.
"""

from dataclasses import dataclass

import numpy as np
from fuzz.formulas import LAWS, is_convex, link_of
from scipy import linalg, optimize, special

EPS = np.finfo(float).eps
EITHER = "perfect fit under a lasso"  # whose local minimum, far from the perfect fit, is as good an answer
STEP = 1e-4  # of numerical derivatives in the open parameters


def raw_of(name, value):
    """A parameter of a noise on a scale where it takes any value."""
    return special.logit(value - 1) if name == "power" else np.log(value)


def value_of(name, raw):
    return 1 + special.expit(raw) if name == "power" else np.exp(raw)


@dataclass
class Point:
    """The smooth part of the objective with its derivatives, and the value of all of it."""

    x: np.ndarray
    value: float
    gradient: np.ndarray
    hessian: np.ndarray
    information: np.ndarray  # like the hessian, but never of negative curvature in the coefficients


class Objective:
    """nll + penalty as a function of coefficients (class by class, the intercept first) and open parameters."""

    def __init__(self, problem, terms, parameters):
        """`terms` are (bend, centre, strength, kink) of each column, `parameters` those of the noise, None if open."""
        self.problem, self.parameters, self.terms = problem, parameters, terms
        self.law = LAWS[problem.family]
        self.open = [name for name, value in parameters.items() if value is None]
        weight = np.ones(len(problem.y)) if problem.sample_weight is None else np.asarray(problem.sample_weight, float)
        self.rows = np.flatnonzero(weight > 0)
        self.weight = weight[self.rows]
        self.X = problem.dense[self.rows]
        self.y = np.asarray(problem.y)[self.rows]
        self.p = None if problem.precision is None else problem.precision[self.rows]
        self.shift = np.broadcast_to(problem.shift, len(problem.y))[self.rows]
        columns = self.X.shape[1]
        self.centre = self.weight @ self.X / self.weight.sum() if problem.intercept and columns else np.zeros(columns)
        moved = self.X - self.centre
        still = np.abs(moved) <= 1e-13 * np.abs(self.centre)  # a constant column
        moved = np.where(still.all(axis=0), 0.0, moved)
        self.spread = np.abs(moved).max(axis=0, initial=0.0)
        size = np.abs(self.X).max(axis=0, initial=0.0)
        self.spread = np.where(self.spread > 0, self.spread, np.where(size > 0, size, 1.0))
        self.A = moved / self.spread
        if problem.intercept:
            self.A = np.column_stack([np.ones(len(self.y)), self.A])
        self.classes = len(np.unique(problem.y)) if self.law.rows is None else 1
        if self.classes > 1:
            self.y = np.unique(problem.y, return_inverse=True)[1][self.rows]
        pad = [0.0] if problem.intercept else []
        with np.errstate(all="ignore"):
            bend, middle, strength, kink = terms
            self.public_kink = kink
            scaled = (bend / self.spread**2, middle * self.spread, strength / self.spread, kink * self.spread)
        self.bend, self.middle, self.strength, self.kink = (
            np.tile(np.concatenate([pad, part]), self.classes) for part in scaled
        )
        self.width = self.A.shape[1] * self.classes
        self.domain = self.law.domain(problem.link, parameters)

    # ---- coordinates -------------------------------------------------------------------------------------------------

    def x_of(self, intercept, coef, parameters):
        """From the coefficients of the columns as they are."""
        coef = np.atleast_2d(coef)
        parts = coef * self.spread
        if self.problem.intercept:
            parts = np.column_stack([np.atleast_1d(intercept) + coef @ self.centre, parts])
        raw = [raw_of(name, parameters[name]) for name in self.open]
        return np.concatenate([parts.reshape(-1), raw])

    def at_kink(self, coef):
        """Which coefficients stand exactly where the Laplace prior has its kink."""
        still = np.atleast_2d(coef) == self.public_kink
        if self.problem.intercept:
            still = np.column_stack([np.zeros(self.classes, bool), still])
        return still.reshape(-1) & (self.strength > 0)

    def filled(self, x):
        values = {name: np.float64(value_of(name, raw)) for name, raw in zip(self.open, x[self.width :], strict=True)}
        return self.parameters | values

    def eta(self, x):
        if self.classes > 1:
            return self.A @ x[: self.width].reshape(self.classes, -1).T
        return self.shift + self.A @ x[: self.width]

    # ---- the sum over rows -------------------------------------------------------------------------------------------

    def row_parts(self, x):
        """nll, slope and bend in eta of each row; None outside the domain."""
        eta = self.eta(x)
        if self.classes > 1:
            nll = special.logsumexp(eta, axis=1) - eta[np.arange(len(self.y)), self.y]
            return nll, None, None
        low, high = self.domain
        near = 1e-13 * float(np.max(np.abs(eta), initial=0.0))
        if not (np.all(eta >= low - near) and np.all(eta <= high + near)):
            return None
        eta = np.clip(eta, low, high)
        return self.law.rows(self.y, eta, self.problem.link, self.filled(x), self.p)

    def nll(self, x):
        with np.errstate(all="ignore"):
            parts = self.row_parts(x)
            return np.inf if parts is None else _total(self.weight, parts[0])

    def size(self, x):
        """The sum of the rows' absolute nats: what rounding is relative to."""
        with np.errstate(all="ignore"):
            parts = self.row_parts(x)
            return np.inf if parts is None else float(self.weight @ np.abs(parts[0])) + abs(self.penalty(x))

    def penalty(self, x):
        beta = x[: self.width]
        return float(0.5 * self.bend @ (beta - self.middle) ** 2 + self.strength @ np.abs(beta - self.kink))

    def value(self, x):
        value = self.nll(x) + self.penalty(x)
        return value if np.isfinite(value) else np.inf

    def slopes(self, x):
        """Gradient, Hessian and information of the nll in the coefficients."""
        if self.classes > 1:
            return self._class_slopes(x)
        _, slope, bend = self.row_parts(x)
        if self.domain != (-np.inf, np.inf):  # a slope without end presses a row against the edge, which holds it
            held = np.logical_or(*self.edges(x)) & ~(np.isfinite(slope) & np.isfinite(bend))
            slope, bend = np.where(held, 0.0, slope), np.where(held, 0.0, bend)
        gradient = self.A.T @ (self.weight * slope)
        information = np.where(bend > 0, bend, 0.0)
        if self.problem.family in ("laplace", "huber") or not np.all(bend > 0):
            information = np.maximum(information, self._fisher(x))
        return gradient, (self.A.T * (self.weight * bend)) @ self.A, (self.A.T * (self.weight * information)) @ self.A

    def _fisher(self, x):
        """The square of the slope's unit, where the curvature says nothing."""
        p, parameters = 1.0 if self.p is None else self.p, self.filled(x)
        match self.problem.family:
            case "laplace":
                return np.broadcast_to((p / parameters["scale"]) ** 2, self.y.shape)
            case "huber":
                return np.broadcast_to(p / parameters["scale"] ** 2, self.y.shape)
        return np.zeros(self.y.shape)

    def _class_slopes(self, x):
        share = special.softmax(self.eta(x), axis=1)
        rest = share.copy()
        rest[np.arange(len(self.y)), self.y] -= 1
        gradient = ((self.weight[:, None] * rest).T @ self.A).reshape(-1)
        columns = self.A.shape[1]
        hessian = np.zeros((self.width, self.width))
        for k in range(self.classes):
            for m in range(self.classes):
                bend = share[:, k] * ((k == m) - share[:, m])
                block = (self.A.T * (self.weight * bend)) @ self.A
                hessian[k * columns : (k + 1) * columns, m * columns : (m + 1) * columns] = block
        return gradient, hessian, hessian

    def at(self, x):
        """Everything there; derivatives in the open parameters are numerical."""
        with np.errstate(all="ignore"):
            value = self.value(x)
            n, q = self.width, len(self.open)
            if not np.isfinite(value):
                return Point(x, np.inf, np.full(n + q, np.nan), np.full((n + q, n + q), np.nan), np.eye(n + q))
            gradient, hessian, information = (np.zeros(n + q), np.zeros((n + q, n + q)), np.zeros((n + q, n + q)))
            gradient[:n], hessian[:n, :n], information[:n, :n] = self.slopes(x)
            gradient[:n] += self.bend * (x[:n] - self.middle)
            for matrix in (hessian, information):
                matrix[np.arange(n), np.arange(n)] += self.bend
            here = self.nll(x)
            for i in range(n, n + q):
                step = np.zeros(n + q)
                step[i] = STEP
                above, below = self.nll(x + step), self.nll(x - step)
                gradient[i] = (above - below) / (2 * STEP)
                hessian[i, i] = (above - 2 * here + below) / STEP**2
                cross = (self.slopes(x + step)[0] - self.slopes(x - step)[0]) / (2 * STEP)
                hessian[i, :n] = hessian[:n, i] = cross
                information[i, i] = max(hessian[i, i], 1e-3)
                for j in range(n, i):
                    other = np.zeros(n + q)
                    other[j] = STEP
                    four = [self.nll(x + a * step + b * other) for a, b in ((1, 1), (1, -1), (-1, 1), (-1, -1))]
                    hessian[i, j] = hessian[j, i] = (four[0] - four[1] - four[2] + four[3]) / (4 * STEP**2)
            return Point(x, value, gradient, hessian, information)

    # ---- starts ------------------------------------------------------------------------------------------------------

    def starts(self):
        """The truth, and regressions of the links of y."""
        found = []
        spreads = {"scale": 1.0, "shape": 1.0, "dispersion": 1.0, "power": 1.5, "delta": 1.345}
        if self.problem.truth is not None and len(self.problem.truth[1]) == self.X.shape[1] and self.classes == 1:
            found.append(self.x_of(*self.problem.truth, spreads))
        if self.classes > 1:
            return [np.zeros(self.width)]
        y = np.asarray(self.y, float)
        positive = y[y > 0].mean() if np.any(y > 0) else 1.0
        for blend in (0.1, 0.9):
            with np.errstate(all="ignore"):
                mean = float(np.average(y, weights=self.weight))
                mixed = (1 - blend) * y + blend * (mean if mean > 0 else positive)
                if self.problem.family == "lognormal":
                    mixed = np.log(y)
                elif self.problem.family == "bernoulli":
                    mixed = 0.02 + 0.96 * (0.3 * y + 0.7 * np.clip(mean, 0.05, 0.95))
                elif self.domain[0] == 0 or self.problem.link in ("log", "inverse", "sqrt"):
                    mixed = np.where(mixed > 0, mixed, 0.1 * positive)
                eta = link_of("identity" if self.problem.family == "lognormal" else self.problem.link, mixed)
            if np.all(np.isfinite(eta)) and self.A.shape[1]:
                beta = np.linalg.lstsq(self.A, eta - self.shift, rcond=1e-10)[0]
            else:
                beta = np.zeros(self.width)
            found.append(np.concatenate([beta, np.zeros(len(self.open))]))
            if self.problem.intercept:
                flat = np.zeros(self.width)
                flat[0] = np.median(eta - self.shift)
                found.append(np.concatenate([flat, np.zeros(len(self.open))]))
        return [self._with_spread(x) for x in found]

    def _with_spread(self, x):
        """Open parameters by a look at a few values of each."""
        for i, name in enumerate(self.open):
            grid = {"power": [1.1, 1.3, 1.5, 1.7, 1.9], "delta": [0.3, 1.0, 2.0, 4.0]}.get(name)
            raws = [raw_of(name, v) for v in grid] if grid else np.log(10.0) * np.arange(-16, 17) * 0.5
            trials = []
            for raw in raws:
                trial = x.copy()
                trial[self.width + i] = raw
                trials.append((self.value(trial), raw))
            best = min(trials)
            if np.isfinite(best[0]):
                x[self.width + i] = best[1]
        return x

    # ---- minima ------------------------------------------------------------------------------------------------------

    def minimised(self, x, rounds=80):
        """The end of a damped Newton search (of L-BFGS-B on split coefficients under a Laplace prior)."""
        if self.strength.any():
            return self._split_search(x)
        point = self.at(x)
        damping = 1e-3
        for _ in range(rounds):
            if not (
                np.isfinite(point.value)
                and np.all(np.isfinite(point.hessian))
                and np.abs(point.hessian).max(initial=0.0) < 1e150
            ):
                return point
            matrix = point.hessian
            if matrix.size and np.linalg.eigvalsh(matrix)[0] <= 0:
                matrix = point.information
            unit = np.maximum(
                np.diag(point.information), 1e-12 * max(np.diag(point.information).max(initial=0), 1e-300)
            )
            for _ in range(40):
                step = -np.linalg.lstsq(matrix + damping * np.diag(unit), point.gradient, rcond=None)[0]
                new = self.value(point.x + step)
                if new <= point.value - 1e-4 * max(-(point.gradient @ step), 0):
                    break
                damping = max(4 * damping, 1e-8)
            else:
                return point
            gain = point.value - new
            damping = damping / 10 if damping > 1e-14 else 0.0
            point = self.at(point.x + step)
            if gain <= 1e-14 * (1 + abs(new)):
                return point
        return point

    def _split_search(self, x):
        n, q = self.width, len(self.open)
        split = np.flatnonzero(self.strength > 0)

        def joined(z):
            whole = z[: n + q].copy()
            whole[split] = self.kink[split] + z[split] - z[n + q :]
            return whole

        def function(z):
            x = joined(z)
            with np.errstate(all="ignore"):
                nll = self.nll(x)
                if not np.isfinite(nll):
                    return 1e300, np.zeros(len(z))
                point = self.at_gradient(x)
            smooth = nll + 0.5 * float(self.bend @ (x[:n] - self.middle) ** 2)
            pull = self.strength[split]
            gradient = np.concatenate([point, -point[split]])
            gradient[split] += pull
            gradient[n + q :] += pull
            return smooth + float(pull @ (z[split] + z[n + q :])), gradient

        away = x[split] - self.kink[split]
        z = np.concatenate([x, np.maximum(-away, 0)])
        z[split] = np.maximum(away, 0)
        bounds = [(None, None)] * (n + q) + [(0, None)] * len(split)
        for i in split:
            bounds[i] = (0, None)
        found = optimize.minimize(
            function,
            z,
            jac=True,
            method="L-BFGS-B",
            bounds=bounds,
            options={"maxiter": 500, "ftol": 1e-15, "gtol": 1e-10},
        )
        return self.at(joined(found.x))

    def at_gradient(self, x):
        n, q = self.width, len(self.open)
        gradient = np.zeros(n + q)
        gradient[:n] = self.slopes(x)[0] + self.bend * (x[:n] - self.middle)
        for i in range(n, n + q):
            step = np.zeros(n + q)
            step[i] = STEP
            gradient[i] = (self.nll(x + step) - self.nll(x - step)) / (2 * STEP)
        return gradient

    # ---- how far from a minimum --------------------------------------------------------------------------------------

    def distance(self, point, held, blur=0.0):
        """How many posterior standard deviations a step to the minimum would be, and how many rounding explains.

        `held` are coefficients at the kink of a Laplace prior, which stay there unless something pulls harder than it.
        """
        n = self.width
        gradient = point.gradient.copy()
        gradient[:n] += np.where(held, 0.0, self.strength * np.sign(point.x[:n] - self.kink))
        free = np.append(~held, np.ones(len(self.open), bool))
        rounding = self.rounding(point, blur)
        if self.problem.family == "laplace":
            return self._absolute_distance(point, gradient, held), rounding
        gradient[:n] = self._without_edges(point, gradient[:n])
        metric = point.hessian if _positive(point.hessian[np.ix_(free, free)]) else point.information
        pulled = np.where(held, np.maximum(np.abs(gradient[:n]) - self.strength * (1 + 1e-9), 0.0), 0.0)
        unit = _units(point.information, n)
        return max(
            _decrement(gradient[free], metric[np.ix_(free, free)]), float(np.max(pulled / unit, initial=0))
        ), rounding

    def edges(self, x):
        """The rows whose predictions are at the lower and at the upper end of the domain."""
        eta, (low, high) = self.eta(x), self.domain
        typical = 1.0  # the size of raw predictions at the largest y, where all that were found are nearly 0
        if self.problem.family != "bernoulli" and self.problem.link in ("identity", "sqrt") and np.max(self.y) > 0:
            typical = link_of(self.problem.link, float(np.max(self.y)))
        near = 1e-7 * max(float(np.max(np.abs(eta), initial=0.0)), typical)
        return np.abs(eta - low) < near, np.abs(eta - high) < near

    def _without_edges(self, point, gradient):
        """What is left of the gradient when the edge of the domain holds what leans against it."""
        if self.domain == (-np.inf, np.inf):
            return gradient
        below, above = self.edges(point.x)
        if not (below.any() or above.any()):
            return gradient
        unit = _units(point.information, self.width)
        walls = np.vstack([self.A[below], -self.A[above]]).T / unit[:, None]
        return optimize.nnls(walls, gradient / unit)[0] @ -(walls.T * unit) + gradient

    def rounding(self, point, blur):
        """The same that rounding may make: raw predictions are known to about `blur`."""
        with np.errstate(all="ignore"):
            bend = np.abs(np.diag(point.information)[: self.width])
            return 100 * float(blur * np.sqrt(bend.max(initial=0.0)) + EPS * np.sqrt(len(self.y)))

    def _absolute_distance(self, point, gradient, held):
        """Rows that are hit exactly may pull with any force up to weight / scale."""
        parameters, p = self.filled(point.x), 1.0 if self.p is None else self.p
        eta = self.eta(point.x)
        r = self.y - eta
        touching = np.abs(r) <= 1e-8 * (parameters["scale"] + np.abs(self.y) + np.abs(eta))
        force = self.weight * np.broadcast_to(p / parameters["scale"], self.y.shape)
        n = self.width
        loose = self.A[touching].T @ (-np.sign(r[touching]) * force[touching])
        unit = _units(point.information, n)
        rest = gradient[:n] - loose
        most = np.abs(rest) + np.abs(self.A[touching]).T @ force[touching]  # more than this is never needed of a prior
        ways = np.column_stack(
            [self.A[touching].T * force[touching], np.diag(np.minimum(self.strength, most + unit))[:, held]]
        )
        scale_part = abs(gradient[n]) / np.sqrt(max(point.hessian[n, n], 1.0)) if self.open else 0.0
        if ways.shape[1]:
            found = optimize.lsq_linear(ways / unit[:, None], -rest / unit, (-1, 1), method="bvls", tol=1e-14)
            rest = found.fun * unit
        return max(float(np.max(np.abs(rest / unit), initial=0.0)), scale_part)


def _units(information, n):
    """The standard deviation that each coefficient would have alone, upside down; 1 where the rows say nothing."""
    diagonal = np.diag(information)[:n]
    return np.sqrt(np.where(diagonal > 0, diagonal, 1.0))


def _total(weight, rows):
    return float(np.sum(weight * rows))


def _positive(matrix):
    if not matrix.size or not np.all(np.isfinite(matrix)):
        return False
    return _unit_values(matrix)[0] > 1e-11


def _unit_values(matrix):
    diagonal = np.diag(matrix)
    if np.any(diagonal <= 0):
        return np.array([-1.0, 1.0])
    unit = 1 / np.sqrt(diagonal)
    matrix = matrix * unit * unit[:, None]
    return np.linalg.eigvalsh(matrix) if np.all(np.isfinite(matrix)) else np.array([-1.0, 1.0])


def _decrement(gradient, matrix):
    """sqrt(g' H^-1 g) over the directions that have curvature."""
    if not len(gradient):
        return 0.0
    if not (np.all(np.isfinite(matrix)) and np.all(np.isfinite(gradient))):
        return np.nan
    unit = 1 / np.sqrt(np.where(np.diag(matrix) > 0, np.diag(matrix), 1.0))
    matrix = matrix * unit * unit[:, None]
    if not np.all(np.isfinite(matrix)) or np.abs(matrix).max() > 1e100:
        return np.nan
    values, vectors = np.linalg.eigh(matrix)
    along = vectors.T @ (gradient * unit)
    known = values > 1e-11 * max(values[-1], 1e-300)
    return float(np.sqrt(np.sum(along[known] ** 2 / values[known]) + np.sum(along[~known] ** 2) * 1e4))


# ---- is there a minimum? ---------------------------------------------------------------------------------------------


def degenerate(objective):
    """Why there is no minimum: a reason, None if there is one, or "unsure"."""
    problem = objective.problem
    if objective.open:
        reason = _perfect(objective)
        if reason and objective.strength.any():
            return reason if reason == "unsure" else EITHER
        if reason:
            return reason
    if {"delta", "power"} & set(objective.open):
        return "unsure"  # the best may be at the edge, where the noise is another one
    flat = (objective.bend == 0) & (objective.strength == 0)
    sure = is_convex(problem.family, problem.link, problem.parameters)
    if sure and flat.any() and objective.classes > 1:
        return _separated_classes(objective, flat)
    if sure and flat.any():
        down, up = objective.law.bounded(np.asarray(objective.y), problem.link)
        if np.any(down) or np.any(up):
            return _separated(objective, flat, down, up)
    return None if sure else "unsure"


def _perfect(objective):
    """A likelihood that grows without end as the spread vanishes."""
    problem, y = objective.problem, np.asarray(objective.y, float)
    spread = objective.law.spread
    if spread not in objective.open:
        return None
    if problem.family == "tweedie" and not np.any(y):
        return "zeros only"
    power = problem.parameters.get("power", 0)
    if power is None:
        power = 1.5
    if problem.family == "tweedie" and 1 < power < 2 and np.any(y == 0):
        positive = y > 0
        target, A = link_of(problem.link, y[positive]), objective.A[positive]
        left = _left_over(A, target - objective.shift[positive])
        return "unsure" if left < 1e-9 else None
    with np.errstate(all="ignore"):
        target = np.log(y) if problem.family == "lognormal" else link_of(problem.link, y)
    if not np.all(np.isfinite(target)):
        return None
    left = _left_over(objective.A, target - objective.shift)
    return "perfect fit" if left < 1e-11 else "unsure" if left < 1e-7 else None


def nearly_perfect(objective):
    """Whether some coefficients leave less than a millionth of the squares: under a lasso with an open spread the
    optimum there is as good as that of a perfect fit, and one far from it is what is asked for.
    """
    problem = objective.problem
    if objective.law.spread not in objective.open or not objective.strength.any():
        return False
    with np.errstate(all="ignore"):
        y = np.asarray(objective.y, float)
        target = np.log(y) if problem.family == "lognormal" else link_of(problem.link, y)
    return bool(np.all(np.isfinite(target)) and _left_over(objective.A, target - objective.shift) < 1e-3)


def _left_over(A, target):
    """The largest residual of a regression, relative to what there was."""
    size = np.max(np.abs(target), initial=0.0)
    if size == 0:
        return 0.0
    target = target / size
    if not A.shape[1]:
        return 1.0
    beta = linalg.lstsq(A, target, cond=1e-12)[0]
    return float(np.max(np.abs(target - A @ beta), initial=0.0))


def _separated(objective, flat, down, up):
    """A direction along which no row gets less likely for ever, and some row more so."""
    A = objective.A[:, flat]
    both = down & up
    one = (down | up) & ~both
    gains = np.where(down[one], -1.0, 1.0)[:, None] * A[one]
    return _programme(gains, A[~(down | up)])


def _separated_classes(objective, flat):
    A = objective.A
    columns, y = A.shape[1], objective.y
    parts = []
    for k in range(objective.classes):
        others = np.flatnonzero(y != k)
        block = np.zeros((len(others), objective.classes, columns))
        block[np.arange(len(others)), y[others]] = A[others]
        block[np.arange(len(others)), k] -= A[others]
        parts.append(block.reshape(len(others), -1)[:, flat])
    return _programme(np.vstack(parts), np.empty((0, int(flat.sum()))))


def _programme(gains, fixed):
    if not len(gains):
        return None
    found = optimize.linprog(
        -gains.mean(axis=0),
        A_ub=-gains,
        b_ub=np.zeros(len(gains)),
        A_eq=fixed if len(fixed) else None,
        b_eq=np.zeros(len(fixed)) if len(fixed) else None,
        bounds=(-1, 1),
    )
    if found.status != 0:
        return "unsure"
    return "separation" if found.fun < -1e-7 else None if found.fun > -1e-10 else "unsure"
