"""A group of many levels where parameters of the noise are modelled: of each level a few effects, one by prediction.

The arrow has a small block for each level on its diagonal. A prediction that does not have the group holds its effects
at 0 by their prior, so that all levels look alike.
"""

from typing import Any

import numpy as np

from neglog.design.parts import Part
from neglog.evidence.arrows import Arrow, BlockArrow, BlockCovariance
from neglog.evidence.large_groups import AT_ONCE, GroupedRows, places_beside
from neglog.evidence.rows import Rows, third_of_rows
from neglog.likelihood.joint import pair
from neglog.likelihood.modelled import Modelled
from neglog.likelihood.targets import Target
from neglog.likelihood.task import Task
from neglog.typing import Numbers


def one_group(task: Task, part: Part) -> GroupedRows:
    """Rows in memory with the levels of a group eliminated."""
    return (ModelledGroup if task.target.noise.modelled else GroupedRows)(task, part)


class ModelledGroup(GroupedRows):
    """Fits by Newton's method with the levels eliminated. Derivatives of rows are by pairs of their predictions."""

    def __init__(self, task: Task, part: Part) -> None:
        super().__init__(task, part)
        noise, places = task.target.noise, [own.name for own in task.target.noise.beside_location()]
        self.chosen = [0, *(1 + places.index(name) for name in noise.modelled)]  # what is predicted, of all raw values
        self.pairs = [(a, b) for a in range(len(self.chosen)) for b in range(a + 1)]
        self.levels = self.levels[:, None] + task.engine.columns * np.arange(len(self.chosen))
        self.own = self.others = places_beside(task.engine.width, self.levels.ravel())

    def _arrow(self, bends: Numbers) -> Arrow:
        engine, columns, levels = self.small.engine, self.small.engine.columns, len(self.levels)
        outputs = len(self.chosen)
        A = np.empty((outputs, columns, outputs, columns))
        B, D = np.empty((levels, outputs, outputs, columns)), np.empty((levels, outputs, outputs))
        bends = np.ascontiguousarray(bends)
        for (a, b), w, of_columns in zip(self.pairs, bends, self.by_level.of_columns(bends), strict=True):
            A[a, :, b] = A[b, :, a] = engine.with_rows(np.zeros(engine.rows), w).moments()[:columns, :columns]
            B[:, a, b] = B[:, b, a] = of_columns
            D[:, a, b] = D[:, b, a] = self.by_level.of(w)
        width = outputs * columns
        return BlockArrow(A.reshape(width, width), B.reshape(levels, outputs, width), D, self.others, self.levels)

    def _down(self, x: Numbers) -> Numbers:
        """X' x of each prediction, over all coefficients."""
        out, transposed = np.empty(self.task.engine.width), self.small.engine.transposed
        out[self.others] = np.concatenate([transposed(np.ascontiguousarray(own)) for own in x])
        out[self.levels] = np.stack([self.by_level.of(own) for own in x], axis=1)
        return out

    def _row_sums(self, target: Target, theta: Numbers) -> tuple[float, Numbers, Numbers]:
        eta = self.task.engine.predict(theta)
        weight = 1.0 if target.w is None else target.w
        with np.errstate(all="ignore"):
            nll = target.total(target.rows_nll(target.noise, eta, target.p, target.raw))
            slopes, bends = self._joint(target, theta)
        own = [pair(self.chosen[a], self.chosen[b]) for a, b in self.pairs]
        return nll, weight * slopes[self.chosen], weight * bends[own]

    def _joint(self, target: Target, theta: Numbers) -> tuple[Numbers, Numbers]:
        assert isinstance(target, Modelled)
        return target.derivatives(target.noise, self.task.engine.predict(theta))

    def _with_predictions(self, pairs: Numbers, k: int) -> Numbers:
        return pairs[[pair(k, chosen) for chosen in self.chosen]]

    def _positive(self, bends: Numbers) -> Numbers:
        """As if the predictions of a row had nothing to do with each other."""
        return np.stack(
            [np.abs(w) if a == b else np.zeros_like(w) for (a, b), w in zip(self.pairs, bends, strict=True)]
        )

    def inverse(self, curvature: Any, bend: Numbers, basis: Numbers | None) -> tuple[Any, float] | None:
        D = curvature.D + np.einsum("lk,km->lkm", bend[self.levels], np.eye(len(self.chosen)))
        try:
            roots = np.linalg.cholesky(D)
        except np.linalg.LinAlgError:
            return None
        F = np.linalg.solve(D, curvature.B)
        S = curvature.A + np.diag(bend[self.others]) - np.tensordot(curvature.B, F, ((0, 1), (0, 1)))
        found = Rows.inverse(self, S, np.zeros(len(S)), None)
        if found is None:
            return None
        volume = found[1] + 2 * float(np.sum(np.log(np.einsum("lkk->lk", roots))))
        return BlockCovariance(found[0].matrix, F, np.linalg.inv(D), self.others, self.levels), volume

    def third_sums(self, theta: Numbers, v: Numbers, covariance: BlockCovariance) -> tuple[Numbers, Numbers]:
        engine, target = self.small.engine, self.task.target
        eta = self.task.engine.predict(theta)
        along, of_v = np.empty((len(self.chosen), engine.rows)), np.zeros(len(v))
        at_once = max(1, AT_ONCE // len(self.chosen))
        for begin in range(0, engine.rows, at_once):
            rows = np.arange(begin, min(begin + at_once, engine.rows))
            leverages = covariance.of_rows(engine.dense_rows(rows), self.codes[rows])
            found, own = third_of_rows(target.taken(rows), eta[rows], v, leverages)
            along[:, rows], of_v = found, of_v + own
        return self._down(along), of_v
