"""The exact minimum of a weighted absolute loss, with the proof that it is one.

    minimise over theta   sum_i w_i |y_i - x_i' theta|  +  g' theta

The minimum is a vertex: as many rows as there are independent columns have residual zero. Where it lies is decided by the
few rows near zero; every other row acts through its sign alone. So the solution of a sample says which rows may still change
sign, the others are summed into the linear term, the rest is solved exactly, and one pass over all rows shows whether a sign
was wrong (Portnoy and Koenker 1997). Whatever the sample suggested, the certificate is about all rows: multipliers
|u_i| <= w_i with sum_i u_i x_i = g prove that no theta does better than sum_i u_i y_i.
"""

from dataclasses import dataclass
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

    def take(self, index: Integers) -> Rows:
        """The rows with these numbers: X, y, w."""


class DenseRows:
    """Rows in memory."""

    def __init__(self, X: Any, y: Any, w: Any = None) -> None:
        self.X, self.y = np.ascontiguousarray(X, float), np.ascontiguousarray(y, float)
        self.weights: Doubles | None = None if w is None else np.ascontiguousarray(w, float)
        self.rows, self.columns = self.X.shape
        self._last: tuple[bytes, Doubles] = (b"", self.y)

    def sample(self, count: int) -> Rows:
        """About `count` rows, evenly spaced."""
        stride = max(1, self.rows // max(count, 1))
        return self.take(np.arange(stride // 2, self.rows, stride))

    def residuals(self, theta: Doubles) -> Doubles:
        """y - X theta; remembered until the next theta."""
        if self._last[0] != theta.tobytes():
            self._last = theta.tobytes(), self.y - self.X @ theta
        return self._last[1]

    def signed_sum(self, theta: Doubles, skip: Integers) -> tuple[Doubles, int]:
        """The sum of w sign(residual) x over the other rows, and their number."""
        signs = np.sign(self.residuals(theta))
        signs[skip] = 0.0
        return (signs if self.weights is None else signs * self.weights) @ self.X, self.rows - len(skip)

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
    """Their multipliers u. Any other row has u = w sign(residual)."""
    gap: float
    """Objective minus its proven lower bound, relative to the objective."""
    infeasibility: float
    """The largest |sum u x - g| of a column, relative to what was summed there."""
    rounds: int
    """How often a band of rows was solved."""
    pivots: int
    status: Status

    @property
    def message(self) -> str:
        """The outcome in a sentence."""
        return MESSAGES[self.status]


def least_absolute(
    data: AbsoluteData, linear: Doubles | None = None, extra_rows: Rows | None = None, start: Doubles | None = None
) -> AbsoluteSolution:
    """Minimises the absolute loss of `data` and of a few extra rows (a Laplace prior is some), plus linear' theta."""
    d = data.columns
    g = np.zeros(d) if linear is None else np.asarray(linear, float)
    X, y, w = extra_rows or (np.empty((0, d)), np.empty(0), np.empty(0))
    extra = np.asarray(X, float), np.asarray(y, float), np.asarray(w, float)
    if data.rows <= max(DIRECT, 10 * d):
        return _Search(data, g, extra).all_rows(start)
    if start is None:
        start = _from_sample(data, g, extra)
    return _Search(data, g, extra).in_bands(start)


def _from_sample(data: AbsoluteData, g: Doubles, extra: Rows) -> Doubles:
    """A theta whose predictions have the standard error of a sample's."""
    X, y, w = data.sample(max(data.rows // THINNING, DIRECT // 2, 5 * data.columns))
    share = len(y) / data.rows
    sample, g, extra = DenseRows(X, y, w), g * share, (extra[0], extra[1], extra[2] * share)
    search = _Search(sample, g, extra)
    if len(y) <= max(DIRECT, 10 * data.columns):
        return search.all_rows(None).theta
    return search.one_band(_from_sample(sample, g, extra))


class _Search:
    """The state of one search: the band of rows that are solved, and the sum over all others."""

    def __init__(self, data: AbsoluteData, g: Doubles, extra: Rows) -> None:
        self.data, self.g, self.extra = data, g, extra
        self.rounds = self.pivots = 0

    def all_rows(self, start: Doubles | None) -> AbsoluteSolution:
        self._set_band(np.arange(self.data.rows), np.zeros(self.data.columns))
        theta, status = self._solve_band(start)
        return self._solution(theta, self.data.residuals(theta), status)

    def one_band(self, start: Doubles) -> Doubles:
        """An approximation: the band is solved, the signs of other rows are taken from the start."""
        self._open_band(self.data.residuals(start), start, self._band_size(ROUGH_CAUTION))
        theta, status = self._solve_band(start)
        return theta if status == Status.OPTIMAL else start

    def in_bands(self, theta: Doubles) -> AbsoluteSolution:
        """The band is solved, and widened until no other row has changed its sign."""
        size, residuals = self._band_size(CAUTION), self.data.residuals(theta)
        self._open_band(residuals, theta, size)
        signs = np.sign(residuals)
        while len(self.band) < self.data.rows:
            previous = theta
            theta, status = self._solve_band(theta)
            if status > Status.RANK_DEFICIENT:  # too few rows to hold the others
                theta, size = previous, 4 * size
                if size > self.data.rows // 2:
                    break
                self._open_band(residuals, theta, size)
                continue
            now = self.data.residuals(theta)
            wrong = (np.sign(now) != signs) & (np.abs(now) > self._rounding(theta))
            wrong[self.band] = False
            count = int(np.count_nonzero(wrong))
            if count == 0:
                return self._solution(theta, now, status)
            if count > size // 4:  # far from the start of the band: a new band, no smaller, from here
                size = min(2 * size, self.data.rows)
                if size > self.data.rows // 2:
                    break
                residuals = now
                self._open_band(residuals, theta, size)
                signs = np.sign(residuals)
            else:
                near = np.abs(now) <= np.max(np.abs(now[wrong]))
                near[self.band] = False
                if np.count_nonzero(near) > size:
                    near = wrong
                self._widen_band(np.flatnonzero(near | wrong), signs)
        return self.all_rows(theta)

    def _band_size(self, caution: float) -> int:
        """A prediction of the sample is off by sqrt(d / sample) / (2 f), and 2 f of all rows are within one of zero."""
        share = caution * np.sqrt(THINNING * self.data.columns / self.data.rows)
        return min(self.data.rows, int(self.data.rows * share) + 20 * self.data.columns)

    def _open_band(self, residuals: Doubles, theta: Doubles, size: int) -> None:
        distance = np.abs(residuals)
        stride = max(1, len(distance) // 20_000)
        level = np.quantile(distance[::stride], size / len(distance))
        band = np.flatnonzero(distance <= level)
        if len(band) > 2 * size:  # ties
            band = np.sort(np.argpartition(distance, size)[:size])
        self._set_band(band, self.data.signed_sum(theta, band)[0])

    def _set_band(self, band: Integers, others: Doubles) -> None:
        X, y, w = self.data.take(band)
        self.band, self.others = band, others
        self.X, self.y, self.w = (np.concatenate(pair) for pair in zip((X, y, w), self.extra, strict=True))

    def _widen_band(self, index: Integers, signs: Doubles) -> None:
        X, _, w = self.data.take(index)
        others = self.others - (signs[index] * w) @ X
        self._set_band(np.sort(np.concatenate([self.band, index])), others)

    def _solve_band(self, start: Doubles | None) -> tuple[Doubles, Status]:
        theta, basis, dual, pivots, status = _core.absolute_vertex(self.X, self.y, self.w, self.g - self.others, start)
        self.basis, self.dual = basis, dual
        self.rounds, self.pivots = self.rounds + 1, self.pivots + pivots
        return theta, Status(status)

    def _rounding(self, theta: Doubles) -> float:
        """How large a residual that should be zero can come out."""
        return float(4e-16 * np.sqrt(len(theta)) * np.max(np.abs(self.y) + np.abs(self.X) @ np.abs(theta), initial=0.0))

    def _solution(self, theta: Doubles, residuals: Doubles, status: Status) -> AbsoluteSolution:
        """Puts the certificate together, from all rows."""
        weights = self.data.weights
        losses = np.abs(residuals) if weights is None else np.abs(residuals) * weights
        near = self.y - self.X @ theta
        first_extra = len(self.band)
        objective = float(losses.sum() + self.w[first_extra:] @ np.abs(near[first_extra:]) + self.g @ theta)
        excess = self.others + self.dual @ self.X - self.g
        summed = np.abs(self.others) + self.w @ np.abs(self.X) + np.abs(self.g)
        # Outside the band multipliers are w sign(residual), which loses nothing.
        loss = float(np.sum(self.w * np.abs(near) - self.dual * near)) + abs(float(excess @ theta))
        rows = np.concatenate([self.band, self.data.rows + np.arange(len(self.extra[1]))])
        return AbsoluteSolution(
            theta=theta,
            objective=objective,
            basis=rows[self.basis],
            dual=self.dual[self.basis],
            gap=loss / max(abs(objective), np.finfo(float).tiny) if loss else 0.0,
            infeasibility=float(np.max(np.abs(excess) / np.maximum(summed, np.finfo(float).tiny), initial=0.0)),
            rounds=self.rounds,
            pivots=self.pivots,
            status=status,
        )
