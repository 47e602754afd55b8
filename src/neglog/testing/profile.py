"""Intervals by the profile: how far a parameter can go, while all others follow, until so many nats are lost.

With z all coefficients and raw parameters of the noise, F minus the log of their posterior density and c = r z the
parameter in question, the profile is P(c) = min F(z) over r z = c. Newton's method finds it on the plane r z = c; its
slope there is the multiplier of that constraint, P'(c), so that the end of an interval, P(c) = F + q, is a root with a
known slope. That of sqrt(2 (P - F)), which is nearly straight, takes two or three steps.

Where scales of priors were learned, so were the parameters of the noise, with the coefficients integrated, and F is not
least there. What integrating adds to its slope is added here too: for the log of a scale minus the number of the
coefficients, each counted by the share that the data have in it.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from neglog.distributions.lazy import special
from neglog.engines.blas import one_blas_thread
from neglog.likelihood.joint import Joint, joint_sums
from neglog.printing import did_you_mean
from neglog.testing.intervals import Intervals
from neglog.typing import Numbers

CLOSE = 1e-7  # of the root of what is to be lost, which an end may be off by
ON_PLANE = 1e-5  # posterior standard deviations: what a search on a plane may leave, whose nats are the square
FARTHEST = 1e4  # standard errors, at which nothing more is lost
DOUBLED = 3.0  # times farther than where all nats are lost a step may go
STEPS = 60  # of each search
HALVINGS = 30
ENOUGH = 1e-4  # of what a slope promises
LEAST = 1e-13  # of a unit eigenvalue


class Profile:
    """Of one fit."""

    @one_blas_thread
    def __init__(self, fit: Any) -> None:
        self.joint: Joint = fit._joint
        joint, task = self.joint, self.joint.task
        if not task.penalty.smooth:
            raise ValueError(
                "a profile needs a posterior with a smooth peak, which a Laplace prior does not give; "
                'fit.posterior("nuts") samples it'
            )
        if not task.target.bends:
            name = type(joint.answer.noise).__name__
            raise ValueError(
                f"a profile takes the curvature of the loss, and that of {name} noise has a kink; take Huber or "
                'StudentT noise, or fit.posterior("nuts")'
            )
        if not joint.answer.converged or joint.answer.degenerate or joint.answer.null is not None:
            raise ValueError(f"there is no profile of a fit that has no single optimum. {fit.message}")
        basis = joint.basis()
        self.basis = None if basis is None else _grown(basis, len(joint.names))
        turn = joint.public_matrix()
        self.turn = turn if self.basis is None else turn @ self.basis
        self.origin = np.append(joint.answer.theta, joint.start)
        self.ends = self._ends()
        self.best = np.zeros(self.turn.shape[1])
        self.integrated = np.zeros(len(joint.names))
        if joint.answer.integrated and joint.names:
            self.integrated = -self.at(self.best, False)[1][-len(joint.names) :]
        self.least, self.matrix = self._minimum()

    def _ends(self) -> Numbers:
        """Between which the raw parameters of the noise have to stay, (2, parameters)."""
        own = [(-np.inf, np.inf) if q.within is None else q.within for q in self.joint.opened]
        return np.array(own, float).reshape(-1, 2).T

    def _minimum(self) -> tuple[float, Numbers]:
        """What the fit costs, to the last digits, and its curvature."""
        value, gradient, matrix = self.at(self.best, True)
        assert matrix is not None
        step = -_solved(matrix, gradient)
        better = self.at(self.best + step, True)
        if better[0] <= value and better[2] is not None:
            self.best, (value, _, matrix) = self.best + step, better
        assert matrix is not None
        return value, matrix

    def at(self, u: Numbers, curvature: bool) -> tuple[float, Numbers, Numbers | None]:
        """F with its derivatives, so far from the fit, in directions that mean something."""
        joint, basis = self.joint, self.basis
        z = self.origin + (u if basis is None else basis @ u)
        n = len(joint.answer.theta)
        theta, v = z[:n], z[n:]
        if ((v <= self.ends[0]) | (v >= self.ends[1])).any():
            return np.inf, u, None
        with np.errstate(all="ignore"):
            if len(v):
                value, gradient, matrix = joint.task.total(joint_sums, theta, v, curvature)
                extra, pull = joint.task.penalty.quadratic(theta)
                value, gradient = value + extra, gradient.copy()
                gradient[:n] += pull
                own = joint.task.target.remainder(v, joint.task)
                value += own[0] + self.integrated @ (v - joint.start)
                gradient[n:] += own[1] + self.integrated
                if matrix is not None:
                    matrix = matrix.copy()
                    matrix[np.diag_indices(n)] += joint.task.penalty.bend
                    matrix[n:, n:] += own[2]
            else:
                point = joint.objective(joint.target(joint.start)).at(theta, curvature)
                value, gradient, matrix = point.value, point.gradient, point.hessian
        if basis is not None:
            gradient = basis.T @ gradient
            matrix = None if matrix is None else basis.T @ matrix @ basis
        return (float(value) if np.isfinite(value) else np.inf), gradient, matrix

    # ---- one parameter -----------------------------------------------------------------------------------------------

    @one_blas_thread
    def interval(self, row: Numbers, loss: float) -> tuple[float, float]:
        """How far from the fit the parameter goes to either side until so many nats are lost."""
        lower, upper = (self._end(row, sign, np.sqrt(2 * loss)) for sign in (-1.0, 1.0))
        return lower, upper

    def _end(self, row: Numbers, sign: float, wanted: float) -> float:
        towards = _solved(self.matrix, row)
        error = np.sqrt(row @ towards)
        u, matrix = self.best, self.matrix
        c, near, far = 0.0, 0.0, np.inf  # distances from the fit: near loses too little, far too much
        ahead = wanted * error
        for _ in range(STEPS):
            try_c = c + ahead
            if not near < try_c < far:
                try_c = 0.5 * (near + far) if np.isfinite(far) else DOUBLED * max(near, error)
            if try_c > FARTHEST * wanted * error:
                return float(sign * np.inf)
            along = _solved(matrix, row)
            found = self._on_plane(u + along * (sign * try_c - row @ (u - self.best)) / (row @ along), row)
            if found is None:
                far = try_c
            else:
                u, value, slope, matrix = found
                c, lost = try_c, np.sqrt(2 * max(value - self.least, 0.0))
                if abs(lost - wanted) <= CLOSE * wanted:
                    return float(sign * c)
                near, far = (c, far) if lost < wanted else (near, c)
                ahead = (wanted - lost) * lost / (sign * slope) if sign * slope > 0 else np.inf
            if np.isfinite(far) and far - near <= CLOSE * far:
                return float(sign * near)  # the end of what the parameter may be
        return float("nan")

    def _on_plane(self, u: Numbers, row: Numbers) -> tuple[Numbers, float, float, Numbers] | None:
        """The least F on the plane row u = constant through a point, its slope across planes, and its curvature; None
        where nothing on it costs a number.
        """
        value, gradient, matrix = self.at(u, True)
        for _ in range(STEPS):
            if not np.isfinite(value) or matrix is None:
                return None
            free, along = _solved(matrix, np.stack([gradient, row], axis=1)).T
            slope = float((row @ free) / (row @ along))
            step = slope * along - free
            decrement = float(step @ matrix @ step)
            if not decrement > ON_PLANE**2:
                return u + step, value - 0.5 * max(decrement, 0.0), slope, matrix
            length, descent = 1.0, float(gradient @ step)
            for _ in range(HALVINGS):
                there = self.at(u + length * step, True)
                if there[0] <= value + ENOUGH * length * descent + LEAST * abs(value):
                    break
                length *= 0.5
            else:
                return u, value, slope, matrix
            u, (value, gradient, matrix) = u + length * step, there
        return None


def profile_intervals(
    fit: Any, level: float, which: Sequence[str] | None, degrees: float | None, shown: Numbers
) -> Intervals:
    """Of the coefficients that are shown and all parameters, or of those that are named; by Student's t with so many
    degrees of freedom where rows are few and also tell the spread of the noise.
    """
    fit._refuse_many("a profile")
    profile = Profile(fit)
    joint, opened = profile.joint, profile.joint.opened
    first = len(profile.turn) - len(opened)
    names = (*joint.public_names()[:first], *(own.name for own in opened))
    if which is None:
        chosen = np.flatnonzero(np.append(shown, np.ones(len(opened), bool))).tolist()
    else:
        chosen = [_place(name, names) for name in which]
    values = joint.public_matrix() @ profile.origin
    bounds = np.empty((len(chosen), 3))
    for line, k in zip(bounds, chosen, strict=True):
        known = profile.turn[k].any()
        loss = _nats(fit, level, degrees if k < first else None)
        lower, upper = profile.interval(profile.turn[k], loss) if known else (0.0, 0.0)
        line[:] = values[k] + np.array([0.0, lower, upper])
        if k >= first:
            line[:] = opened[k - first].raw.value(line)
    held = " at the scales that were learned" if joint.answer.scales or joint.answer.integrated else ""
    text = f"By the profile: all other parameters were fitted again{held}"
    text += "." if degrees is None else f", and compared by Student's t({degrees:.4g})."
    return Intervals(tuple(names[k] for k in chosen), bounds[:, 0], bounds[:, 1], bounds[:, 2], level, text)


def _place(name: str, names: tuple[str, ...]) -> int:
    if name not in names:
        raise ValueError(f"there is no parameter {name!r} to be profiled{did_you_mean([name], names)}")
    return names.index(name)


def _nats(fit: Any, level: float, degrees: float | None) -> float:
    """How many may be lost: of the normal law, or as many as the best spread of the noise makes of Student's t."""
    upper = 0.5 + 0.5 * level
    if degrees is None:
        return float(0.5 * special.ndtri(upper) ** 2)
    squares = fit.few_rows**2 * degrees  # over those of the fit's own spread: n, less what was integrated
    return float(0.5 * squares * np.log1p(special.stdtrit(degrees, upper) ** 2 / degrees))


def _solved(matrix: Numbers, right: Numbers) -> Numbers:
    """matrix^-1 right; where the matrix is not positive, by the sizes of its curvatures."""
    diagonal = np.abs(matrix.diagonal())
    scale = 1 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    scaled = matrix * scale * scale[:, None]
    wide = scale if right.ndim == 1 else scale[:, None]
    try:
        np.linalg.cholesky(scaled)
        return np.asarray(wide * np.linalg.solve(scaled, wide * right))
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(scaled)
        sizes = np.maximum(np.abs(values), 1e-8)
        along = vectors.T @ (wide * right)
        return np.asarray(wide * (vectors @ (along / (sizes if right.ndim == 1 else sizes[:, None]))))


def _grown(basis: Numbers, count: int) -> Numbers:
    """With the parameters of the noise as they are."""
    rows, columns = basis.shape
    out = np.zeros((rows + count, columns + count))
    out[:rows, :columns] = basis
    out[rows:, columns:] = np.eye(count)
    return out
