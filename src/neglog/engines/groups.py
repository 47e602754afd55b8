"""Rows in memory that belong to groups: one native call for all fits, and sums by group."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neglog import _core
from neglog.design.blocks import Codes, Dense, Sparse
from neglog.design.design import Design
from neglog.distributions.arrays import available_threads
from neglog.engines.memory import ENTRIES_PER_THREAD, Memory
from neglog.typing import Numbers

ARRIVED = 0  # of `Found.ends`, as groups.hpp numbers them


@dataclass
class Found:
    """Where the search of each group ended, (groups, coefficients and what is open) in the core's order."""

    theta: Numbers
    value: Numbers
    decrement: Numbers
    largest: Numbers  # |y|, as the noise is given it
    steps: NDArray[np.int32]
    ends: NDArray[np.uint8]
    held: NDArray[np.bool_]  # columns that do not vary within the group


@dataclass
class Known:
    """What is known there: of the same shape, and one number for each group. `slopes` are those in centres and units,
    (groups, 2, coefficients), if there are units.
    """

    value: Numbers
    variances: Numbers
    log_determinant: Numbers
    slopes: Numbers | None


@dataclass(frozen=True)
class Held:
    """What holds the coefficients: sum of bend (theta - centre)^2 / 2; or theta = centre + unit u, under u^2 / 2."""

    bend: Numbers
    centre: Numbers
    unit: Numbers | None = None

    def widened(self, count: int) -> "Held":
        """With a place for each open parameter, which nothing holds."""
        nothing = np.zeros(count)
        return Held(np.append(self.bend, nothing), np.append(self.centre, nothing), self.unit) if count else self


@dataclass(frozen=True, eq=False)
class Grouping:
    """Which group each row is in, by number."""

    codes: NDArray[np.int64]
    count: int

    @cached_property
    def _sorted(self) -> tuple[NDArray[np.int64] | None, NDArray[np.int64]]:
        """The rows by group, None where they stand so, and where each group begins."""
        starts = np.empty(self.count + 1, np.int64)
        if (self.codes[1:] >= self.codes[:-1]).all():
            starts[:] = np.searchsorted(self.codes, np.arange(self.count + 1))
            return None, starts
        order = np.empty(len(self.codes), np.int64)
        _core.rows_by_group(self.codes.astype(np.int32), starts, order)
        return order, starts

    @property
    def starts(self) -> NDArray[np.int64]:
        """Where the rows of each group begin."""
        return self._sorted[1]

    @property
    def order(self) -> NDArray[np.int64] | None:
        """The rows by group; None if they stand in that order."""
        return self._sorted[0]

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """How many rows each group has."""
        return np.diff(self.starts)

    def rows(self, group: int) -> Any:
        """Those of one group, in the order in which they stand."""
        begin, end = self.starts[group], self.starts[group + 1]
        return np.arange(begin, end) if self.order is None else self.order[begin:end]

    def sums(self, values: Any) -> Numbers:
        """Of one value for each row."""
        return np.bincount(self.codes, values, self.count) if np.ndim(values) else values * self.sizes.astype(float)

    def largest(self, values: Numbers) -> Numbers:
        """Of one value for each row; -inf where there are none."""
        out = np.full(self.count, -np.inf)
        inside = self.sizes > 0
        ordered = values if self.order is None else values[self.order]
        if inside.any():
            out[inside] = np.maximum.reduceat(ordered, self.starts[:-1][inside])
        return out

    def medians(self, values: Numbers, w: Numbers | None = None) -> Numbers:
        """Of one value for each row, which counts by its weight; NaN where there are none."""
        order = np.lexsort((values, self.codes))
        ordered, starts, sizes = values[order], self.starts[:-1], self.sizes
        inside = np.flatnonzero(sizes)
        out = np.full(self.count, np.nan)
        if w is None:
            low, high = (sizes[inside] - 1) // 2, sizes[inside] // 2
            out[inside] = 0.5 * (ordered[starts[inside] + low] + ordered[starts[inside] + high])
            return out
        total = np.concatenate([[0.0], np.cumsum(w[order])])
        ends = self.starts[1:]
        wanted = total[starts[inside]] + 0.5 * (total[ends[inside]] - total[starts[inside]])
        place = np.clip(np.searchsorted(total[1:], wanted), starts[inside], ends[inside] - 1)
        out[inside] = ordered[place]
        return out

    def take(self, kept: Any) -> "Grouping":
        """Some of the rows, in the same groups."""
        return Grouping(self.codes[kept], self.count)


def search(
    engine: Memory,
    grouping: Grouping,
    held: Held,
    theta: Numbers,
    *,
    tol: float,
    most_steps: int,
    factor: float = 1.0,
    within: list[tuple[float, float]] | None = None,
    looked_at: Numbers | None = None,
    shifts: Numbers | None = None,
) -> Found:
    """Newton's method for each group, from theta on. Values of what is open that are `looked_at`, beside the `shifts`
    of each group, are tried first.
    """
    count, width, opened = grouping.count, engine.width, len(engine.loss.open or ())
    theta = np.ascontiguousarray(theta, np.float64).copy()
    found = Found(
        theta,
        np.empty(count),
        np.empty(count),
        np.empty(count),
        np.empty(count, np.int32),
        np.empty(count, np.uint8),
        np.empty((count, width), np.bool_),
    )
    looked_at = np.empty(0) if looked_at is None else np.ascontiguousarray(looked_at)
    shifts = np.zeros(count * opened) if shifts is None else np.ascontiguousarray(shifts)
    within = [(-np.inf, np.inf)] * opened if within is None else within
    engine.problem.search_groups(
        grouping.order,
        grouping.starts,
        held.bend,
        held.centre,
        held.unit,
        factor,
        within,
        tol,
        most_steps,
        looked_at.reshape(-1),
        shifts.reshape(-1),
        theta.reshape(-1),
        found.value,
        found.decrement,
        found.largest,
        found.steps,
        found.ends,
        found.held.view(np.uint8).reshape(-1),
        threads_for(engine, grouping),
    )
    return found


def curvature(
    engine: Memory, grouping: Grouping, held: Held, theta: Numbers, *, factor: float = 1.0, slopes: bool = False
) -> Known:
    """What is known at theta, from a pass over the rows."""
    count, width = grouping.count, engine.width
    known = Known(
        np.empty(count),
        np.empty((count, width)),
        np.empty(count),
        np.empty((count, 2, width)) if slopes else None,
    )
    engine.problem.curvature_of_groups(
        grouping.order,
        grouping.starts,
        held.bend,
        held.centre,
        held.unit,
        factor,
        np.ascontiguousarray(theta, np.float64).reshape(-1),
        known.value,
        known.variances.reshape(-1),
        known.log_determinant,
        None if known.slopes is None else known.slopes.reshape(-1),
        threads_for(engine, grouping),
    )
    return known


def threads_for(engine: Memory, grouping: Grouping) -> int:
    """As many as there is work for: each row is met several times."""
    worth = 8 * len(grouping.codes) * max(engine.width, 1) // ENTRIES_PER_THREAD
    return max(1, min(available_threads(), worth, grouping.count))


def raw_predictions(
    design: Design, groups: NDArray[np.int64], intercept: Numbers, coef: Numbers, offset: Numbers | None
) -> Numbers:
    """eta = offset + intercept + X coef, of the group of each row."""
    eta = intercept[groups]
    if offset is not None:
        eta += offset
    start = 0
    for block in design.blocks:
        own = coef[:, start : start + block.columns]
        start += block.columns
        if isinstance(block, Dense):
            for j in range(block.columns):
                eta += block.values[:, j] * own[groups, j]
        elif isinstance(block, Codes):
            level = block.codes - int(block.reference)
            known = np.flatnonzero(level >= 0)
            eta[known] += own[groups[known], level[known]]
        elif isinstance(block, Sparse):
            entries = block.matrix.tocoo()
            products = entries.data * own[groups[entries.row], entries.col]
            eta += np.bincount(entries.row, products, design.rows)
        else:
            raise TypeError("curves are not fitted by group")
    return eta
