"""Curvatures whose levels stand beside each other, and meet the other coefficients alone: arrows, and their inverses.

With b the effects of the levels and beta all other coefficients, the curvature is [[A, B'], [B, D]] with D diagonal.
Its Schur complement S = A - B' D^-1 B is as small as A, and tells everything: log |H| = sum log D + log |S|, and with
F = D^-1 B the covariance is S^-1 for beta, -F S^-1 between, and D^-1 + F S^-1 F' for b. Where a level has several
effects, one for each prediction of a row, D has a block for it.
"""

from dataclasses import dataclass, replace

import numpy as np

from neglog.typing import Numbers


@dataclass(frozen=True)
class Arrow:
    """A matrix of this form, over coefficients in the core's order: `others` and `levels` are their places."""

    A: Numbers
    B: Numbers  # (levels, others)
    D: Numbers
    others: Numbers
    levels: Numbers

    @property
    def width(self) -> int:
        """How many coefficients there are."""
        return len(self.others) + len(self.levels)

    def __rmul__(self, factor: float) -> "Arrow":
        return replace(self, A=factor * self.A, B=factor * self.B, D=factor * self.D)

    def __add__(self, other: "Arrow") -> "Arrow":
        return replace(self, A=self.A + other.A, B=self.B + other.B, D=self.D + other.D)

    def times(self, x: Numbers) -> Numbers:
        """The matrix times a vector."""
        out = np.empty(self.width)
        out[self.others] = self.A @ x[self.others] + x[self.levels] @ self.B
        out[self.levels] = self.B @ x[self.others] + self.D * x[self.levels]
        return out


@dataclass(frozen=True)
class ArrowCovariance:
    """The inverse of such a matrix."""

    S: Numbers  # the inverse of the Schur complement
    F: Numbers
    D: Numbers  # the inverse of the diagonal
    others: Numbers
    levels: Numbers

    @property
    def _spread(self) -> Numbers:
        return self.F @ self.S

    def part(self, count: int) -> Numbers:
        """Of the first of the others."""
        return self.S[:count, :count]

    def diagonal(self) -> Numbers:
        """The variances."""
        out = np.empty(len(self.others) + len(self.levels))
        out[self.others] = self.S.diagonal()
        out[self.levels] = self.D + np.einsum("ij,ij->i", self._spread, self.F)
        return out

    def times(self, rows: Numbers) -> Numbers:
        """Rows of numbers, one for each coefficient, times the matrix."""
        out = np.empty_like(rows)
        beta = (rows[:, self.others] - rows[:, self.levels] @ self.F) @ self.S
        out[:, self.others] = beta
        out[:, self.levels] = rows[:, self.levels] * self.D - beta @ self.F.T
        return out

    def squared(self, rows: Numbers) -> Numbers:
        """Rows times the squares of its entries times the rows again; on the levels a row has one number for all."""
        spread, own = self._spread, rows[:, self.levels[0]]
        if (rows[:, self.levels] != own[:, None]).any():
            raise ValueError("levels of a large group have one prior")
        others = rows[:, self.others]
        between = others @ np.sum(spread**2, axis=0)
        inner = self.F.T @ spread
        of_levels = np.sum(self.D**2) + 2 * self.D @ np.einsum("ij,ij->i", spread, self.F) + np.sum(inner * inner.T)
        cross = np.outer(own, between)
        return np.asarray(others @ self.S**2 @ others.T + cross + cross.T + of_levels * np.outer(own, own))


class BlockArrow(Arrow):
    """B is (levels, predictions, others), D (levels, predictions, predictions), and `levels` (levels, predictions)."""


class BlockCovariance(ArrowCovariance):
    """The inverse of such a matrix: D holds the inverses of the blocks."""

    @property
    def _spread(self) -> Numbers:
        return np.tensordot(self.F, self.S, 1)  # at once, where @ multiplies level by level

    def diagonal(self) -> Numbers:
        """The variances."""
        out = np.empty(len(self.others) + self.levels.size)
        out[self.others] = self.S.diagonal()
        out[self.levels] = np.einsum("lkk->lk", self.D) + np.einsum("lki,lki->lk", self._spread, self.F)
        return out

    def times(self, rows: Numbers) -> Numbers:
        """Rows of numbers, one for each coefficient, times the matrix."""
        out, of_levels = np.empty_like(rows), rows[:, self.levels]
        beta = (rows[:, self.others] - np.tensordot(of_levels, self.F, 2)) @ self.S
        out[:, self.others] = beta
        out[:, self.levels] = np.einsum("lkm,rlm->rlk", self.D, of_levels) - np.tensordot(beta, self.F, (1, 2))
        return out

    def squared(self, rows: Numbers) -> Numbers:
        """Rows times the squares of its entries times the rows again; on all levels a row has the same numbers."""
        spread, own = self._spread, rows[:, self.levels[0]]
        if (rows[:, self.levels] != own[:, None]).any():
            raise ValueError("levels of a large group have one prior")
        others = rows[:, self.others]
        cross = others @ np.sum(spread**2, axis=0).T @ own.T
        inner = np.einsum("lki,lkj->kij", self.F, spread)
        of_levels = np.sum(self.D**2, axis=0) + 2 * np.einsum("lkm,lki,lmi->km", self.D, spread, self.F)
        of_levels += np.einsum("kij,mji->km", inner, inner)
        return np.asarray(others @ self.S**2 @ others.T + cross + cross.T + own @ of_levels @ own.T)

    def of_rows(self, columns: Numbers, codes: Numbers) -> Numbers:
        """The covariances of the predictions of rows with these columns and levels, -1 for none."""
        outputs, known = self.levels.shape[1], codes >= 0
        away = np.where(known[:, None, None], -self.F[codes], 0.0)
        for k in range(outputs):
            away[:, k, k * columns.shape[1] : (k + 1) * columns.shape[1]] += columns
        found = np.tensordot(away, self.S, 1) @ away.transpose(0, 2, 1)
        return np.asarray(found + np.where(known[:, None, None], self.D[codes], 0.0))
