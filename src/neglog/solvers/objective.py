"""What a solver minimises: the loss of all rows at its best dispersion, plus the penalty."""

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from neglog.solvers.dispersion import Dispersion, Known, Profile
from neglog.solvers.penalty import Penalty
from neglog.solvers.systems import SINGULAR, newton_step, smallest_pivot
from neglog.typing import Numbers

NEARLY_SINGULAR = 1e-8  # pivot at unit diagonal
LEAST_BORROWED = 1e-3  # of the guide, where the curvature is that
LONGEST = 2.0  # step in a raw parameter by a guide
LOST = 1e-13  # of the numbers summed: what the objective may be off by, its best dispersion included


class Engine(Protocol):
    """Where the rows live: whatever can sum the loss over them."""

    width: int

    def evaluate(
        self, theta: Numbers, curvature: bool, expected: bool = False
    ) -> tuple[float, Numbers, Numbers | None]:
        """Sum, gradient and, if wanted, second derivatives of the loss."""
        ...


@dataclass(frozen=True)
class Gauge:
    """Coefficients of classes that no prior holds: all classes may be shifted alike in any of the `flat` columns."""

    classes: int
    flat: Numbers  # a mask over the columns

    def held(self, diagonal: Numbers) -> Numbers:
        """A curvature for the mean over the classes: in each column as large as that of the classes themselves, so that
        the unit of one column says nothing about another.
        """
        each = diagonal.reshape(self.classes, -1).mean(axis=0)
        return np.tile(np.diag(np.where(self.flat, each, 0.0) / self.classes), (self.classes, self.classes))


@dataclass(slots=True)
class Point:
    """The objective at theta: all of it, and the derivatives of its smooth part."""

    theta: Numbers
    value: float
    gradient: Numbers
    hessian: Numbers | None
    dispersion: float
    loss: float = np.nan  # of the rows alone, at dispersion one


@dataclass
class Solution:
    """Where a solver ended."""

    point: Point
    converged: bool
    iterations: int
    decrement: float  # distance to the optimum in posterior standard deviations, as the curvature has it
    null: Numbers | None = None  # directions that the data and the prior say nothing about
    pivot: float = 1.0  # smallest pivot of the last curvature matrix at unit diagonal: small if nearly singular
    stuck: bool = False  # no step along a descent direction lowers the objective
    matrix: Numbers | None = None  # the curvature that the last step was made with
    before: int = 0  # iterations on a sample that led to the start


class Objective:
    """Loss, dispersion and penalty over one engine.

    `convex=False` steps by the Fisher information at first; `factor` makes a sample count as much as all rows;
    `steady=False` says that curvature jumps, so that one step says little about the next; `rows` is how many terms
    are summed, whose rounding errors remain where the sum itself is near 0. The last coefficients may be raw parameters
    of the noise: `ends` are two rows, between which each of them has to stay.
    """

    def __init__(
        self,
        engine: Engine,
        penalty: Penalty,
        dispersion: Dispersion,
        *,
        convex: bool = True,
        gauge: Gauge | None = None,
        factor: float = 1.0,
        steady: bool = True,
        rows: float = 0.0,
        ends: Numbers | None = None,
    ) -> None:
        self.engine, self.penalty, self.dispersion, self.factor = engine, penalty, dispersion, factor
        self.rows, self.ends = rows, ends
        self.expected = not convex
        self.tried_curvature = False
        self.gauge = gauge
        self.steady = steady

    @property
    def plain(self) -> bool:
        """Whether steps are Newton's in all that is open, of a curvature that changes smoothly."""
        return isinstance(self.dispersion, Known) and not self.expected and self.steady

    borrowed = 1.0  # of the guide, added to a curvature that is singular
    filled = False  # whether the last curvature was

    def borrow(self, length: float) -> None:
        """Less of the guide after steps that could be longer, more after steps that had to be cut short."""
        factor = 3.0 if length < 0.9 else 0.3 if length > 1.1 else 1.0
        self.borrowed = min(max(self.borrowed * factor, LEAST_BORROWED), 1.0)

    def settle(self, *, expected: bool) -> bool:
        """Change to the information or back to the curvature; back only once, and False if that was tried before."""
        if not expected and self.tried_curvature:
            return False
        self.tried_curvature |= not expected
        self.expected = expected
        return True

    def quick_newton(self, theta: Numbers, tol: float, max_iter: int) -> Solution | None:
        """Newton's method inside the engine, if it has that and the objective is of the plain kind."""
        if self.gauge is not None or not isinstance(self.dispersion, Known) or self.expected:
            return None
        search = getattr(self.engine, "newton", None)
        if search is None or not self.penalty.smooth:
            return None
        phi = self.dispersion.dispersion
        found = search(theta, self.penalty.bend, self.penalty.centre, self.factor / phi, tol, max_iter)
        theta, gradient, hessian, converged, steps, value, decrement, pivot = found
        if not self._within(theta):
            return None
        return Solution(Point(theta, value, gradient, hessian, phi), converged, steps, decrement, None, pivot)

    def _within(self, theta: Numbers) -> bool:
        """Whether the parameters of the noise are where they have to stay."""
        if self.ends is None:
            return True
        v = theta[len(theta) - self.ends.shape[1] :]
        return bool(np.all((v > self.ends[0]) & (v < self.ends[1])))

    def tells_columns_apart(self) -> bool:
        """Whether the columns themselves leave no direction open, whatever the loss makes of their rows: one pass."""
        moments = getattr(self.engine, "moments", None)
        return moments is not None and self.gauge is None and smallest_pivot(moments()[:-1, :-1]) > SINGULAR

    def summed(self, point: Point) -> float:
        """The size of what was summed, even where the sum itself is near 0."""
        loss = abs(point.loss / point.dispersion)  # which the constants of a small dispersion may nearly cancel
        return abs(point.value) + self.rows + (loss if np.isfinite(loss) else 0.0)

    def lost(self, point: Point) -> float:
        """What the objective may be off by."""
        return LOST * self.summed(point)

    def at(self, theta: Numbers, curvature: bool) -> Point:
        """One pass over the rows."""
        if not self._within(theta):
            return Point(theta, np.inf, np.full(len(theta), np.nan), None, np.nan)
        loss, gradient, gram = self.engine.evaluate(theta, curvature, self.expected)
        if gram is not None and self.expected and self.ends is not None:
            self._turn_upwards(gram, gradient)
        if not np.isfinite(loss):  # a mean outside its domain, or beyond the numbers
            return Point(theta, np.inf, gradient, gram, np.nan)
        profile = self.dispersion.profile(loss)
        if self.factor != 1.0:
            f = self.factor
            profile = Profile(f * profile.value, f * profile.slope, f * profile.bend, profile.dispersion)
        extra, pull = self.penalty.quadratic(theta)
        value = profile.value + extra + (0.0 if self.penalty.smooth else self.penalty.absolute(theta))
        hessian = None
        if gram is not None:
            if not (self.steady or self.penalty.smooth):
                self.filled = False
                self._fill(gram, theta)
            hessian = self.hessian(gram, gradient, profile)
        slope = gradient if profile.slope == 1.0 else profile.slope * gradient
        return Point(theta, value, slope + pull, hessian, profile.dispersion, loss)

    def _turn_upwards(self, gram: Numbers, gradient: Numbers) -> None:
        """A guide in the parameters of the noise: the size of their curvature, whichever way that bends, and never so
        small that a step leaves the part of the world that it was seen from.
        """
        assert self.ends is not None
        own = slice(len(gradient) - self.ends.shape[1], None)
        if not self.ends.size or not (np.isfinite(gram[own, own]).all() and np.isfinite(gradient[own]).all()):
            return
        values, vectors = np.linalg.eigh(gram[own, own])
        pull = np.abs(vectors.T @ gradient[own])
        values = np.maximum(np.abs(values), np.maximum(pull / LONGEST, 1e-12 * (1.0 + np.abs(values).max())))
        gram[own, own] = (vectors * values) @ vectors.T

    def _fill(self, gram: Numbers, theta: Numbers) -> None:
        """Add some of the guide in directions that have no curvature, as where few rows are within Huber's threshold:
        a lasso would conclude that there is nothing to gain, or go on for ever. Directions that the columns leave open
        have no guide either.
        """
        if smallest_pivot(gram) > NEARLY_SINGULAR:
            return
        guide = self.engine.evaluate(theta, True, True)[2]
        assert guide is not None
        if not (np.isfinite(gram).all() and np.isfinite(guide).all()):
            return
        unit = np.sqrt(np.where(guide.diagonal() > 0, guide.diagonal(), 1.0))
        values, vectors = np.linalg.eigh(gram / unit / unit[:, None])
        straight = vectors[:, values <= NEARLY_SINGULAR * max(values[-1], NEARLY_SINGULAR)]
        missing = straight.T @ (guide / unit / unit[:, None]) @ straight
        if missing.size and np.abs(missing).max() > NEARLY_SINGULAR:
            gram += self.borrowed * (straight @ missing @ straight.T) * unit * unit[:, None]
            self.filled = True

    def after(self, point: Point, step: Numbers, gain: float) -> Point:
        """The point after a last, small step, without a pass over the rows: the dispersion follows to first order."""
        phi = point.dispersion
        if not isinstance(self.dispersion, Known):
            pull = self.penalty.quadratic(point.theta)[1]
            change = float((point.gradient - pull) @ step) * phi / self.factor
            phi = self.dispersion.profile(point.loss + change).dispersion
        return replace(point, theta=point.theta + step, value=point.value - gain, dispersion=phi)

    def hessian(self, gram: Numbers, gradient: Numbers, profile: Profile) -> Numbers:
        """Second derivatives of the smooth part, without the concave term of the dispersion where that spoils them."""
        hessian = gram
        if profile.slope != 1.0:
            hessian = gram * profile.slope
        diagonal = hessian.reshape(-1)[:: len(hessian) + 1]
        if self.gauge is not None:  # classes may all be shifted alike: hold their mean where it is
            hessian += self.gauge.held(diagonal)
        diagonal += self.penalty.bend
        if profile.bend and not self.penalty.flat.all():
            # -r r', concave: left out where it would outweigh the rest, which far from the optimum it may
            r = (-profile.bend) ** 0.5 * gradient
            step = newton_step(hessian, r)
            if step.decrement**2 < 0.99 and step.null is None:
                hessian -= np.outer(r, r)
        return hessian
