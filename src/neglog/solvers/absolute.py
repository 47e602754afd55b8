"""The exact minimum of a weighted absolute loss, with the proof that it is one.

    minimise over theta   sum_i w_i L(y_i - x_i' theta)  +  g' theta  [ +  1/2 sum_j q_j (theta_j - m_j)^2 ]
    L(r) = a r for r >= 0, -b r for r < 0:   |r| for a = b = 1, the pinball loss of a quantile for a, b = it, 1 - it

Without the ridge the minimum is a vertex: as many rows as there are independent columns have residual zero. With it
there may be fewer. Where it lies is decided by the few rows near zero; every other row acts through its sign alone. So
the solution of a sample says which rows may still change sign, the others are summed into the linear term, the rest is
solved exactly, and one pass over all rows shows whether a sign was wrong (Portnoy and Koenker 1997). Whatever the
sample suggested, the certificate is about all rows: multipliers -b w_i <= u_i <= a w_i with sum_i u_i x_i = g + q
(theta - m) prove that no theta does better.

L(r) is (a + b) / 2 times |r| + t r with the tilt t = (a - b) / (a + b): all but the absolute value is linear in theta,
so that one search finds every quantile.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from neglog import _core

Doubles = NDArray[np.float64]
Integers = NDArray[np.int64]
Rows = tuple[Doubles, Doubles, Doubles]  # X, y, w

DIRECT = 6000  # rows that are solved at once
THINNING = 6  # rows for each row of the sample
CAUTION = 3.5  # half-width of the band, in standard errors of the sample's predictions
NARROW = 6  # rows for each parameter that a band has at first where the start is close
ROUGH_CAUTION = 2.0  # the same where a wrong sign does no harm


class AbsoluteData(Protocol):
    """What the solver asks of the rows. An intercept counts among the columns."""

    @property
    def rows(self) -> int:
        """How many there are."""

    @property
    def columns(self) -> int:
        """How many parameters."""

    @property
    def weights(self) -> Doubles | None:
        """One positive number per row; None if all are one."""

    def sample(self, count: int) -> Rows:
        """About `count` rows, evenly spaced: X, y, w."""

    def residuals(self, theta: Doubles) -> Doubles:
        """y - X theta."""

    def signed_sum(self, theta: Doubles, skip: Integers) -> tuple[Doubles, int]:
        """The sum of w sign(residual) x over all rows but those to skip, and their number. The sign of 0 is 0."""

    def weighted_sum(self) -> Doubles:
        """The sum of w x over all rows."""

    def take(self, index: Integers) -> Rows:
        """The rows with these numbers: X, y, w."""


class MemoryRows(ABC):
    """Rows in memory, of whatever form: samples are taken from them, and the last residuals are remembered."""

    rows: int
    _last: tuple[bytes, Doubles] = (b"", np.empty(0))

    def sample(self, count: int) -> Rows:
        """About `count` rows, evenly spaced."""
        stride = max(1, self.rows // max(count, 1))
        return self.take(np.arange(stride // 2, self.rows, stride))

    def residuals(self, theta: Doubles) -> Doubles:
        """y - X theta; remembered until the next theta."""
        if self._last[0] != theta.tobytes():
            self._last = theta.tobytes(), self._residuals(theta)
        return self._last[1]

    @abstractmethod
    def _residuals(self, theta: Doubles) -> Doubles: ...

    @abstractmethod
    def take(self, index: Integers) -> Rows:
        """The rows with these numbers."""


class DenseRows(MemoryRows):
    """Rows of one dense matrix."""

    def __init__(self, X: Any, y: Any, w: Any = None) -> None:
        self.X, self.y = np.ascontiguousarray(X, float), np.ascontiguousarray(y, float)
        self.weights: Doubles | None = None if w is None else np.ascontiguousarray(w, float)
        self.rows, self.columns = self.X.shape

    def _residuals(self, theta: Doubles) -> Doubles:
        return self.y - self.X @ theta

    def signed_sum(self, theta: Doubles, skip: Integers) -> tuple[Doubles, int]:
        """The sum of w sign(residual) x over the other rows, and their number."""
        signs = np.sign(self.residuals(theta))
        signs[skip] = 0.0
        return (signs if self.weights is None else signs * self.weights) @ self.X, self.rows - len(skip)

    def weighted_sum(self) -> Doubles:
        """The sum of w x over all rows."""
        return np.asarray(self.X.sum(axis=0) if self.weights is None else self.weights @ self.X)

    def take(self, index: Integers) -> Rows:
        """The rows with these numbers."""
        w = np.ones(len(index)) if self.weights is None else self.weights[index]
        return self.X[index], self.y[index], w


class Status(IntEnum):
    """How the search ended; the numbers are those of the native solver."""

    OPTIMAL = 0
    RANK_DEFICIENT = 1
    UNBOUNDED = 2
    PIVOT_LIMIT = 3


MESSAGES = {
    Status.OPTIMAL: "The minimum was found, and the multipliers prove it.",
    Status.RANK_DEFICIENT: (
        "A minimum was found, but it is not the only one: the columns are linearly dependent in the rows that decide, "
        "so some parameters were set to 0. Drop the dependent columns, or put a prior on the parameters."
    ),
    Status.UNBOUNDED: (
        "The loss falls without end: the linear term outweighs all rows in some direction. Make it smaller, or put a "
        "prior on the parameters."
    ),
    Status.PIVOT_LIMIT: (
        "The search was stopped because rounding kept it from finishing; `gap` says how far from the minimum it is at "
        "most. Columns that nearly depend on each other are the likely cause: drop or combine them."
    ),
}


@dataclass(frozen=True)
class AbsoluteSolution:
    """The minimum and its certificate."""

    theta: Doubles
    objective: float
    basis: Integers
    """Rows with residual zero that fix theta. Extra rows are numbered after the last row of the data."""
    dual: Doubles
    """Their multipliers u."""
    tied: Integers
    """Other rows whose residual is zero, but for rounding."""
    tied_dual: Doubles
    """Their multipliers. Any row that is not named here has u = a w where its residual is positive, else -b w."""
    gap: float
    """Objective minus its proven lower bound, relative to the objective."""
    infeasibility: float
    """The largest |sum u x - g - q (theta - m)| of a column, relative to what was summed there."""
    rounds: int
    """How often a band of rows was solved."""
    pivots: int
    status: Status

    @property
    def message(self) -> str:
        """The outcome in a sentence."""
        return MESSAGES[self.status]


def least_absolute(
    data: AbsoluteData,
    linear: Doubles | None = None,
    extra_rows: Rows | None = None,
    ridge: tuple[Doubles, Doubles] | None = None,
    start: Doubles | None = None,
    *,
    slopes: tuple[float, float] = (1.0, 1.0),
    close: bool = False,
    basis: Integers | None = None,
) -> AbsoluteSolution:
    """Minimises the loss of `data`, which grows with these slopes above and below zero, and the absolute loss of a few
    extra rows, plus linear' theta, plus a ridge (q, m).

    A Laplace prior on theta_j is an extra row: target its centre, weight its rate. A Gaussian prior is a ridge. A
    start that is `close`, as the minimum at another strength of the prior, is looked about in a narrow band first;
    of a solution under another ridge, `basis` may be given too.
    """
    d = data.columns
    X, y, w = extra_rows or (np.empty((0, d)), np.empty(0), np.empty(0))
    q, m = ridge or (np.zeros(d), np.zeros(d))
    unit = 0.5 * (slopes[0] + slopes[1])
    terms = _Terms(
        linear=np.zeros(d) if linear is None else np.array(linear, float) / unit,
        extra=(np.array(X, float), np.array(y, float), np.array(w, float) / unit),
        strength=np.array(q, float) / unit,
        centre=np.array(m, float),
        unit=unit,
        tilt=0.5 * (slopes[0] - slopes[1]) / unit,
    )
    narrow = NARROW * (d + len(y)) + 200
    if close and start is not None and 2 * narrow <= data.rows:
        return _Search(data, terms, basis).in_bands(start, narrow)
    if data.rows <= max(DIRECT, 10 * d):
        return _Search(data, terms, basis).all_rows(start)
    return _Search(data, terms).in_bands(_from_sample(data, terms) if start is None else start)


@dataclass(frozen=True)
class _Terms:
    """All of the objective that is not about the rows of the data, and the tilt of their loss; in units of the mean of
    its two slopes.
    """

    linear: Doubles
    extra: Rows
    strength: Doubles
    centre: Doubles
    unit: float
    tilt: float

    def share(self, share: float) -> "_Terms":
        """For a sample with this share of the rows."""
        X, y, w = self.extra
        return replace(self, linear=self.linear * share, extra=(X, y, w * share), strength=self.strength * share)


def _from_sample(data: AbsoluteData, terms: _Terms) -> Doubles:
    """A theta whose predictions have the standard error of a sample's."""
    X, y, w = data.sample(max(data.rows // THINNING, DIRECT // 2, 5 * data.columns))
    sample, terms = DenseRows(X, y, w), terms.share(len(y) / data.rows)
    if len(y) <= max(DIRECT, 10 * data.columns):
        return _Search(sample, terms).all_rows(None).theta
    return _Search(sample, terms).one_band(_from_sample(sample, terms))


class _Search:
    """The state of one search: the band of rows that are solved, and the sum over all others."""

    def __init__(self, data: AbsoluteData, terms: _Terms, held: Integers | None = None) -> None:
        self.data, self.terms = data, terms
        self.linear = terms.linear - terms.tilt * data.weighted_sum() if terms.tilt else terms.linear
        self.held = held  # rows that were at zero in the last solution
        self.rounds = self.pivots = 0

    def all_rows(self, start: Doubles | None) -> AbsoluteSolution:
        """Every row is in the band."""
        self.signs = np.zeros(self.data.rows)
        self._set_band(np.arange(self.data.rows), np.zeros(self.data.columns))
        theta, status = self._solve_band(start)
        return self._solution(theta, self.data.residuals(theta), status)

    def one_band(self, start: Doubles) -> Doubles:
        """An approximation: the band is solved, the signs of other rows are taken from the start."""
        self._open_band(self.data.residuals(start), start, self._band_size(ROUGH_CAUTION))
        theta, status = self._solve_band(start)
        return theta if status == Status.OPTIMAL else start

    def in_bands(self, theta: Doubles, size: int | None = None) -> AbsoluteSolution:
        """The band is solved, and widened until no other row has changed its sign."""
        size = size or self._band_size(CAUTION)
        value = self._value(theta)
        while size <= self.data.rows // 2:
            self._open_band(self.data.residuals(theta), theta, size)
            found = theta
            while True:
                found, status = self._solve_band(found)
                if status > Status.RANK_DEFICIENT:  # too few rows to hold the others
                    size *= 4
                    break
                residuals = self.data.residuals(found)
                wrong = (np.sign(residuals) != self.signs) & (np.abs(residuals) > self._rounding(found))
                wrong[self.band] = False
                count = int(np.count_nonzero(wrong))
                if count == 0:
                    return self._solution(found, residuals, status)
                if count > size // 4:  # far from where the band was opened: a wider one, about the better of the two
                    size *= 2
                    following = self._value(found)
                    if following < value:
                        theta, value = found, following
                    break
                self._widen_band(wrong, residuals, size)
        return self.all_rows(theta)

    def _value(self, theta: Doubles) -> float:
        """The objective at theta."""
        losses, away = self._losses(self.data.residuals(theta)), theta - self.terms.centre
        X, y, w = self.terms.extra
        value = losses.sum() if self.data.weights is None else self.data.weights @ losses
        return float(
            value + w @ np.abs(y - X @ theta) + self.terms.linear @ theta + 0.5 * self.terms.strength @ away**2
        )

    def _losses(self, residuals: Doubles) -> Doubles:
        """Of the rows of the data, but for their weights."""
        return np.abs(residuals) + self.terms.tilt * residuals if self.terms.tilt else np.abs(residuals)

    def _band_size(self, caution: float) -> int:
        """A prediction of the sample is off by sqrt((1 - t^2) d / sample) / (2 f) at the tilt t, where 2 f of all rows
        are within one of zero.
        """
        share = caution * np.sqrt((1 - self.terms.tilt**2) * THINNING * self.data.columns / self.data.rows)
        return min(self.data.rows, int(self.data.rows * share) + 20 * self.data.columns)

    def _open_band(self, residuals: Doubles, theta: Doubles, size: int) -> None:
        """A new band: about this many rows with the smallest residuals."""
        distance = np.abs(residuals)
        stride = max(1, len(distance) // 20_000)
        level = np.quantile(distance[::stride], min(1.0, size / len(distance)))
        band = np.flatnonzero(distance <= level)
        if len(band) > 2 * size:  # ties
            band = np.sort(np.argpartition(distance, size)[:size])
        self.signs = np.sign(residuals)
        self._set_band(band, self.data.signed_sum(theta, band)[0])

    def _widen_band(self, wrong: NDArray[np.bool_], residuals: Doubles, most: int) -> None:
        """Adds the rows with wrong signs, and those as near to zero unless they are too many."""
        near = np.abs(residuals) <= np.max(np.abs(residuals[wrong]))
        near[self.band] = False
        index = np.flatnonzero(near if np.count_nonzero(near) <= most else wrong)
        X, _, w = self.data.take(index)
        others = self.others - (self.signs[index] * w) @ X
        self._set_band(np.sort(np.concatenate([self.band, index])), others)

    def _set_band(self, band: Integers, others: Doubles) -> None:
        X, y, w = self.data.take(band)
        self.band, self.others = band, others
        self.X, self.y, self.w = (np.concatenate(pair) for pair in zip((X, y, w), self.terms.extra, strict=True))

    def _solve_band(self, start: Doubles | None) -> tuple[Doubles, Status]:
        terms, linear = self.terms, self.linear - self.others
        if not np.any(terms.strength):
            theta, self.basis, self.dual, pivots, status = _core.absolute_vertex(self.X, self.y, self.w, linear, start)
        else:
            active = None if start is None else self._held_in_band()
            solved = _with_ridge(self.X, self.y, self.w, linear, start, terms, active)
            theta, self.basis, self.dual, pivots, status = solved
            self.held = self._numbers()[self.basis]
        self.rounds, self.pivots = self.rounds + 1, self.pivots + pivots
        return theta, Status(status)

    def _numbers(self) -> Integers:
        """Of the rows that are solved: those of the band, then the extra ones."""
        return np.concatenate([self.band, self.data.rows + np.arange(len(self.terms.extra[1]))])

    def _held_in_band(self) -> Integers | None:
        """Where the rows that were held at zero are now."""
        if self.held is None or not len(self.held):
            return None
        numbers = self._numbers()
        places = np.minimum(np.searchsorted(numbers, self.held), len(numbers) - 1)
        found: Integers = places[numbers[places] == self.held]
        return found

    def _rounding(self, theta: Doubles) -> float:
        """How large a residual that should be zero can come out."""
        return float(1e-15 * np.sqrt(len(theta)) * np.max(np.abs(self.y) + np.abs(self.X) @ np.abs(theta), initial=0.0))

    def _solution(self, theta: Doubles, residuals: Doubles, status: Status) -> AbsoluteSolution:
        """Puts the certificate together, from all rows."""
        q, away, tiny = self.terms.strength, theta - self.terms.centre, np.finfo(float).tiny
        weights = np.ones(1) if self.data.weights is None else self.data.weights
        near, level, first_extra = self.y - self.X @ theta, self._rounding(theta), len(self.band)
        objective = float(np.sum(weights * self._losses(residuals)) + self.w[first_extra:] @ np.abs(near[first_extra:]))
        objective += float(self.terms.linear @ theta + 0.5 * q @ away**2)

        excess = self.others + self.dual @ self.X - self.linear - q * away
        summed = np.abs(self.others) + self.w @ np.abs(self.X) + np.abs(self.linear)
        summed += q * (np.abs(theta) + np.abs(self.terms.centre))
        far = np.abs(residuals) <= level
        far[self.band] = False
        outside = np.flatnonzero(far)
        weight = np.broadcast_to(weights, residuals.shape)[outside]
        outside_dual = weight * self.signs[outside]
        # Elsewhere multipliers are w sign(residual), which loses nothing.
        loss = float(np.sum(self.w * np.abs(near) - self.dual * near))
        loss += float(np.sum(weight * np.abs(residuals[outside]) - outside_dual * residuals[outside]))
        loss += float(np.sum(np.where(q > 0, 0.5 * excess**2 / np.where(q > 0, q, 1.0), np.abs(excess * theta))))

        rows = self._numbers()
        ties = (np.abs(near) <= level) | (self.dual != self.w * np.sign(near))
        ties[self.basis] = False
        unit, tilt = self.terms.unit, self.terms.tilt
        own = np.where(np.arange(len(self.w)) < first_extra, tilt * self.w, 0.0)  # what the linear term had of a row
        dual, outside_dual = unit * (self.dual + own), unit * (outside_dual + tilt * weight)
        return AbsoluteSolution(
            theta=theta,
            objective=unit * objective,
            basis=rows[self.basis],
            dual=dual[self.basis],
            tied=np.concatenate([rows[ties], outside]),
            tied_dual=np.concatenate([dual[ties], outside_dual]),
            gap=loss / max(abs(objective), tiny) if loss else 0.0,
            infeasibility=float(np.max(np.abs(excess) / np.maximum(summed, tiny), initial=0.0)),
            rounds=self.rounds,
            pivots=self.pivots,
            status=status,
        )


def _with_ridge(
    X: Doubles,
    y: Doubles,
    w: Doubles,
    linear: Doubles,
    start: Doubles | None,
    terms: _Terms,
    active: Integers | None = None,
) -> tuple[Doubles, Integers, Doubles, int, int]:
    """As the native solver; where columns without ridge are linearly dependent, some get theta = 0."""
    solved = _core.absolute_ridge(X, y, w, linear, start, terms.strength, terms.centre, active)
    if solved[-1] != Status.RANK_DEFICIENT:
        return solved
    from scipy.linalg import qr

    free = np.flatnonzero(terms.strength == 0)
    size = np.max(np.abs(X[:, free]), axis=0, initial=0.0)
    triangle, order = qr(X[:, free] / np.where(size > 0, size, 1.0), mode="r", pivoting=True)
    diagonal = np.abs(np.diag(triangle))
    rank = int(np.count_nonzero(diagonal > 1e-9 * max(diagonal[0], np.finfo(float).tiny))) if len(diagonal) else 0
    keep = np.setdiff1d(np.arange(X.shape[1]), free[order[rank:]])
    kept, basis, dual, pivots, status = _core.absolute_ridge(
        np.ascontiguousarray(X[:, keep]),
        y,
        w,
        linear[keep],
        None if start is None else start[keep],
        terms.strength[keep],
        terms.centre[keep],
    )
    theta = np.zeros(X.shape[1])
    theta[keep] = kept
    if status == Status.OPTIMAL:
        excess = np.abs(dual @ X - linear)[free]
        bounded = np.all(excess <= 1e-8 * (w @ np.abs(X) + np.abs(linear))[free])
        status = Status.RANK_DEFICIENT if bounded else Status.UNBOUNDED
    elif status == Status.RANK_DEFICIENT:  # the two solvers do not agree on what is dependent
        status = Status.PIVOT_LIMIT
    return theta, basis, dual, pivots, status
