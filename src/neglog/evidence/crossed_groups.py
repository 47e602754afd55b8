"""Groups of many levels that cross: the levels of the largest are eliminated, and the rest is one dense matrix.

Which levels meet is known from the rows, so that sums over pairs of levels are sparse. With the largest group gone, the
others are coupled wherever they share one of its levels; of groups that cross at random these are nearly all pairs, so
that no order of elimination would leave less than the triangle of this matrix, and none is looked for. It is factored
in place, and inverted in place where its inverse is asked for. Levels that no row has are eliminated, too: they are
what their prior says.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from neglog import _core
from neglog.design.parts import Part
from neglog.design.tables import quoted
from neglog.distributions.arrays import available_threads
from neglog.engines.blas import one_blas_thread
from neglog.evidence.arrows import Arrow
from neglog.evidence.groups_in_pieces import GroupInPieces
from neglog.evidence.large_groups import (
    AT_ONCE,
    ByLevel,
    GroupedRows,
    large_groups,
    places_beside,
    without_groups,
)
from neglog.evidence.modelled_groups import one_group
from neglog.evidence.state import State
from neglog.likelihood.task import Task
from neglog.typing import Numbers

MOST = 15_000  # levels of the groups that are left, in all: 1.8 GB, two or three times over
SOME = 2_000  # levels of them, with which a search begins
ROWS_OF_LEVEL = 3  # at least, on average, for that
PROBES = 16  # random signs that show sums of squares of the covariance


def eliminated(task: Task) -> GroupedRows | None:
    """The rows with the levels of the largest group eliminated, if it is large."""
    parts = large_groups(task)
    if not parts:
        return None
    if task.engine.streamed:
        return GroupInPieces(task, parts[0])
    return one_group(task, parts[0]) if len(parts) == 1 else CrossedRows(task, parts)


def some_levels(task: Task) -> Numbers | None:
    """The rows of some levels of each of the groups that cross: scales are nearly the same there. None if it is better
    to take all.
    """
    parts = large_groups(task)
    if len(parts) < 2:
        return None
    groups = without_groups(task, parts)[1]
    seen = [np.unique(group.codes[group.codes >= 0]) for group in groups]
    share = SOME / max(sum(map(len, seen[1:])), 1)
    if share > 0.5:
        return None
    rng = np.random.default_rng(0)
    kept, levels = np.ones(task.engine.rows, bool), 0
    for group, own in zip(groups, seen, strict=True):
        chosen = np.zeros(len(group.places) + 1, bool)
        chosen[rng.choice(own, int(share * len(own)), replace=False)] = True
        chosen[-1] = True  # of code -1
        kept &= chosen[group.codes]
        levels += int(share * len(own))
    return np.flatnonzero(kept) if kept.sum() >= ROWS_OF_LEVEL * levels else None


@dataclass(frozen=True)
class Pattern:
    """Which entries of a sparse matrix there are, by rows and by columns."""

    start: Numbers
    columns: Numbers
    order: Numbers  # of the entries, column after column
    start_of_column: Numbers
    rows: Numbers  # of the entries in that order

    @classmethod
    def of(cls, start: Numbers, columns: Numbers, width: int) -> "Pattern":
        """From row pointers and columns."""
        order = np.argsort(columns, kind="stable")
        rows = np.repeat(np.arange(len(start) - 1, dtype=np.int32), np.diff(start))
        counts = np.bincount(columns, minlength=width)
        return cls(start, columns, order, np.concatenate([[0], np.cumsum(counts)]), rows[order])

    def by_rows(self, values: Numbers) -> tuple[Numbers, Numbers, Numbers]:
        """The matrix as the core takes it."""
        return self.start, self.columns, values

    def by_columns(self, values: Numbers) -> tuple[Numbers, Numbers, Numbers]:
        """Its transpose."""
        return self.start_of_column, self.rows, values[self.order]

    def times(self, values: Numbers, x: Numbers) -> Numbers:
        """The matrix times a vector."""
        rows = np.repeat(np.arange(len(self.start) - 1), np.diff(self.start))
        return np.bincount(rows, values * x[self.columns], minlength=len(self.start) - 1)

    def transposed_times(self, values: Numbers, x: Numbers) -> Numbers:
        """Its transpose times a vector."""
        spread = np.repeat(x, np.diff(self.start))
        return np.bincount(self.columns, values * spread, minlength=len(self.start_of_column) - 1)


@dataclass(frozen=True)
class CrossedArrow(Arrow):
    """The curvature: A is a pattern's lower triangle in the place of a matrix, and B a pattern's values."""

    lower: Pattern
    between: Pattern

    def times(self, x: Numbers) -> Numbers:
        """The matrix times a vector."""
        out, beta, b = np.empty(self.width), x[self.others], x[self.levels]
        own = self.lower.times(self.A, beta) + self.lower.transposed_times(self.A, beta) - self._diagonal * beta
        out[self.others] = own + self.between.transposed_times(self.B, b)
        out[self.levels] = self.between.times(self.B, beta) + self.D * b
        return out

    @property
    def _diagonal(self) -> Numbers:
        return np.asarray(self.A[self.lower.start[1:] - 1])

    def complement(self, bend: Numbers, D: Numbers) -> Numbers:
        """The lower triangle of the others' matrix with the levels eliminated; a prior's precisions are added."""
        n = len(self.others)
        out = np.zeros((n, n))
        rows = np.repeat(np.arange(n), np.diff(self.lower.start))
        out[rows, self.lower.columns] = self.A
        out[np.arange(n), np.arange(n)] += bend
        threads = available_threads()
        _core.subtract_products(
            self.between.by_rows(self.B), self.between.by_columns(self.B), np.ascontiguousarray(1 / D), out, threads
        )
        return out


class CrossedCovariance:
    """The inverse of such a matrix, from the factor of its Schur complement."""

    def __init__(self, arrow: CrossedArrow, D: Numbers, factor: Numbers) -> None:
        self.arrow, self.D, self._factor = arrow, 1 / D, factor
        self.others, self.levels = arrow.others, arrow.levels

    @cached_property
    def inverse(self) -> Numbers:
        """The inverse of the Schur complement: its lower triangle, where its factor was."""
        from scipy.linalg.lapack import dpotri

        with one_blas_thread.lifted():
            dpotri(self._factor.T, lower=0, overwrite_c=1)
        return self._factor

    def _solved(self, right: Numbers) -> Numbers:
        """The inverse of the complement times columns of numbers."""
        from scipy.linalg.blas import dsymm
        from scipy.linalg.lapack import dpotrs

        with one_blas_thread.lifted():
            if "inverse" in self.__dict__:
                return np.asarray(dsymm(1.0, self.inverse.T, right, lower=0))
            return np.asarray(dpotrs(self._factor.T, right, lower=0)[0])

    @cached_property
    def spread(self) -> Numbers:
        """S F', where F is not 0."""
        arrow, out = self.arrow, np.zeros(len(self.arrow.B))
        rows = arrow.between.by_rows(self._paces)
        _core.symmetric_products(rows, self.inverse, len(self.others), out, available_threads())
        return out

    @cached_property
    def _paces(self) -> Numbers:
        """How the levels follow the others: F."""
        return self.arrow.B * np.repeat(self.D, np.diff(self.arrow.between.start))

    @cached_property
    def of_levels(self) -> Numbers:
        """The part of the levels' variances that comes from the others."""
        start = self.arrow.between.start
        rows = np.repeat(np.arange(len(start) - 1), np.diff(start))
        return np.bincount(rows, self._paces * self.spread, minlength=len(start) - 1)

    def part(self, count: int) -> Numbers:
        """Of the first of the others."""
        lower = np.tril(self.inverse[:count, :count])
        return np.asarray(lower + np.tril(lower, -1).T)

    @cached_property
    def _variances(self) -> Numbers:
        out = np.empty(len(self.others) + len(self.levels))
        out[self.others] = self.inverse.diagonal()
        out[self.levels] = self.D + self.of_levels
        return out

    def diagonal(self) -> Numbers:
        """The variances."""
        return self._variances

    def times(self, rows: Numbers) -> Numbers:
        """Rows of numbers, one for each coefficient, times the matrix."""
        between, B = self.arrow.between, self.arrow.B
        scaled = rows[:, self.levels] * self.D
        right = rows[:, self.others] - np.stack([between.transposed_times(B, row) for row in scaled])
        beta = self._solved(np.asfortranarray(right.T)).T
        out = np.empty_like(rows)
        out[:, self.others] = beta
        out[:, self.levels] = scaled - self.D * np.stack([between.times(B, row) for row in beta])
        return out

    def squared(self, rows: Numbers) -> Numbers:
        """Rows times the squares of its entries times the rows again, nearly: by products with random signs, whose
        error falls with the number of levels, too. It bends the way of a search, not where this ends.
        """
        signs = np.random.default_rng(0).choice([-1.0, 1.0], (PROBES, 1, rows.shape[1]))
        size = np.abs(rows)
        moved = self.times((signs * np.sqrt(size)).reshape(-1, rows.shape[1])).reshape(PROBES, len(rows), -1)
        found = np.mean(moved**2, axis=0) @ size.T
        return np.asarray(0.5 * (found + found.T))


class CrossedRows(GroupedRows):
    """Fits by Newton's method with the levels of the largest group eliminated, and those of the others sparse."""

    dear = False  # than the inverse of what is left

    def __init__(self, task: Task, parts: list[Part]) -> None:
        super(GroupedRows, self).__init__(task)
        self.small, (largest, *further) = without_groups(task, parts)
        columns = self.small.engine.columns
        every = [largest.places, *(group.places for group in further)]
        self.own = places_beside(task.engine.width, np.concatenate(every))
        self.codes = largest.codes
        others, absent, self.further = [self.own], [], []
        begin = columns
        for group in further:
            seen = np.bincount(group.codes[group.codes >= 0], minlength=len(group.places)) > 0
            others.append(group.places[seen])
            absent.append(group.places[~seen])
            numbers = np.append(np.where(seen, begin + np.cumsum(seen) - 1, -1), -1)
            self.further.append(numbers[group.codes])  # places among the others, -1 for none
            begin += int(seen.sum())
        if begin - columns > MOST:
            names = ", ".join(quoted(part.name) for part in parts[1:])
            raise ValueError(
                f"beside the group {quoted(parts[0].name)} the levels of {names} are {begin - columns:,}, and at most "
                f"{MOST:,} are fitted with it at once; leave a group out, or let levels of few rows have no effect: "
                "rare=..."
            )
        self.others = np.concatenate(others)
        self.levels = np.concatenate([largest.places, *absent])
        self.by_level = ByLevel(self.small.engine, self.codes, len(self.levels))
        self.by_other = [ByLevel(self.small.engine, codes, len(self.others)) for codes in self.further]
        self._find_patterns(columns, len(largest.places))
        self._found: tuple[CrossedArrow, Numbers, tuple[Any, float]] | None = None

    def _find_patterns(self, columns: int, levels: int) -> None:
        """Which sums of products there are, and to which of them a row adds."""
        n, count = len(self.others), len(self.levels)
        keys = [
            np.where((self.codes >= 0) & (codes >= 0), self.codes.astype(np.int64) * n + codes, -1)
            for codes in self.further
        ]
        found, where = np.unique(np.concatenate(keys), return_inverse=True)
        none = int(found[0] < 0)
        found = found[none:]
        row = found // n
        # every level of the largest group has an entry for each column, before those for levels of the others
        start = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=count))]).astype(np.int64)
        start += columns * np.minimum(np.arange(count + 1), levels)
        entries = np.empty(start[-1], np.int32)
        self.of_columns = start[:levels, None] + np.arange(columns)
        entries[self.of_columns] = np.arange(columns)
        place = np.arange(len(found)) + columns * (row + 1)
        entries[place] = found % n
        place = np.append(place, -1)
        self.entries = np.split(np.where(where < none, -1, place[where - none]), len(self.further))
        self.between = Pattern.of(start, entries, n)
        pairs = [np.tile(np.arange(n, dtype=np.int64)[:, None] * n, columns) + np.arange(columns)]
        pairs.append(np.arange(n, dtype=np.int64) * (n + 1))
        crossing = []
        for k, codes in enumerate(self.further):
            for other in self.further[:k]:
                crossing.append(np.where((codes >= 0) & (other >= 0), codes.astype(np.int64) * n + other, -1))
        whole = np.unique(np.concatenate([pair.ravel() for pair in (*pairs, *crossing)]))
        whole = whole[(whole >= 0) & (whole % n <= whole // n)]
        own_start = np.searchsorted(whole, np.arange(n + 1, dtype=np.int64) * n)
        self.lower = Pattern.of(own_start.astype(np.int64), (whole % n).astype(np.int32), n)
        self.crossing = [np.where(key < 0, -1, np.searchsorted(whole, key)) for key in crossing]

    # ---- sums over rows ----------------------------------------------------------------------------------------------

    def _arrow(self, w: Numbers) -> CrossedArrow:
        engine, columns = self.small.engine, self.small.engine.columns
        n = len(self.others)
        dense = np.zeros((n, columns))
        dense[:columns] = engine.with_rows(np.zeros(engine.rows), np.ascontiguousarray(w)).moments()[:columns, :columns]
        diagonal = np.zeros(n)
        for own in self.by_other:
            dense += own.of_columns(w)
            diagonal += own.of(w)
        start, entries = self.lower.start, self.lower.columns
        rows = np.repeat(np.arange(n), np.diff(start))
        A = np.zeros(len(entries))
        of_columns = entries < columns
        A[of_columns] = dense[rows[of_columns], entries[of_columns]]
        A[start[1:][columns:] - 1] = diagonal[columns:]
        for places in self.crossing:
            A += _summed(places, w, len(A))
        B = np.zeros(len(self.between.columns))
        B[self.of_columns] = self.by_level.of_columns(w)[: len(self.of_columns)]
        for places in self.entries:
            B += _summed(places, w, len(B))
        return CrossedArrow(A, B, self.by_level.of(w), self.others, self.levels, self.lower, self.between)

    def _down(self, x: Numbers) -> Numbers:
        out = np.empty(self.task.engine.width)
        out[self.levels] = self.by_level.of(x)
        others = np.sum([own.of(x) for own in self.by_other], axis=0)
        others[: len(self.own)] += self.small.engine.transposed(np.ascontiguousarray(x))
        out[self.others] = others
        return out

    # ---- fits --------------------------------------------------------------------------------------------------------

    def grown(self, near: State) -> State:
        """The fit of some levels, whose curvature has another pattern."""
        return replace(near, sums=replace(near.sums, curvature=None))

    def inverse(self, curvature: Any, bend: Numbers, basis: Numbers | None) -> tuple[Any, float] | None:
        """By factoring the Schur complement; the last answer is kept, since a fit and its evidence ask for the same."""
        from scipy.linalg.lapack import dpotrf

        if self._found is not None:
            arrow, own, last = self._found
            same = (np.array_equal(a, b) for a, b in ((own, bend), (arrow.D, curvature.D), (arrow.B, curvature.B)))
            if all(same) and np.array_equal(arrow.A, curvature.A):
                return last
        D = curvature.D + bend[self.levels]
        if not ((D > 0).all() and np.isfinite(curvature.A).all()):
            return None
        complement = curvature.complement(bend[self.others], D)
        with one_blas_thread.lifted():
            factor, failed = dpotrf(complement.T, lower=0, clean=0, overwrite_a=1)
        if failed:
            return None
        volume = 2 * float(np.sum(np.log(factor.diagonal()))) + float(np.sum(np.log(D)))
        found = CrossedCovariance(curvature, D, complement), volume
        self._found = curvature, bend, found
        return found

    def _leverages(self, covariance: Any) -> Numbers:
        """x' C x of each row, from the covariance of its level with what it meets."""
        engine, S, spread = self.small.engine, covariance.inverse, covariance.spread
        columns = engine.columns
        out = np.empty(engine.rows)
        own = covariance.part(columns)
        of_columns = np.concatenate([spread[self.of_columns], np.zeros((1, columns))])  # the last is of code -1
        of_level = np.append((covariance.D + covariance.of_levels)[: len(self.of_columns)], 0.0)
        for begin in range(0, engine.rows, AT_ONCE):
            rows = np.arange(begin, min(begin + AT_ONCE, engine.rows))
            u, codes = engine.dense_rows(rows), self.codes[rows]
            found = np.einsum("ij,ij->i", u @ own - 2 * of_columns[codes], u) + of_level[codes]
            for k, (numbers, entries) in enumerate(zip(self.further, self.entries, strict=True)):
                met = np.flatnonzero(numbers[rows] >= 0)
                z = numbers[rows[met]]
                with_columns = 2 * np.einsum("ij,ij->i", S[z, :columns], u[met]) + S[z, z]
                with_level = np.where(entries[rows[met]] >= 0, spread[entries[rows[met]]], 0.0)
                found[met] += with_columns - 2 * with_level
                for other in self.further[:k]:
                    both = other[rows[met]] >= 0
                    found[met[both]] += 2 * S[z[both], other[rows[met[both]]]]
            out[rows] = found
        return out


def _summed(places: Numbers, w: Numbers, count: int) -> Numbers:
    """Sums of w by place; -1 is none."""
    known = places >= 0
    return np.bincount(places[known], w[known], minlength=count)
