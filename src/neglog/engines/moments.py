"""Least squares needs the rows only once: afterwards their Gram matrix answers every question."""

import numpy as np

from neglog.design.blocks import Dense
from neglog.distributions.arrays import Numbers
from neglog.engines.memory import Memory


class Moments:
    """Half the weighted sum of squared residuals as a function of theta, from the Gram matrix of [columns, y]."""

    def __init__(self, gram: Numbers) -> None:
        self.gram = gram
        self.width = len(gram) - 1

    def evaluate(
        self, theta: Numbers, curvature: bool, expected: bool = False
    ) -> tuple[float, Numbers, Numbers | None]:
        """Value, gradient and matrix of second derivatives, as of an engine that holds rows."""
        slopes = self.gram[:, :-1] @ theta - self.gram[:, -1]
        value = 0.5 * (theta @ slopes[:-1] - slopes[-1])
        return max(value, 0.0), slopes[:-1], self.gram[:-1, :-1].copy() if curvature else None


class GrowingMoments:
    """The Gram matrix of the columns that were ever asked for, of many: what is known is not computed again."""

    def __init__(self, engine: Memory) -> None:
        weight = np.ones(engine.rows) if engine.weight is None else engine.weight
        self.engine, self.root = engine, np.sqrt(weight)
        y = engine.y if engine.offset is None else engine.y - engine.offset
        self.known = np.full(engine.columns, -1)  # the place of each column among those kept
        self.columns = self._weighted(np.asarray(y, np.float64)[:, None])
        self.gram = self.columns.T @ self.columns

    @staticmethod
    def fits(engine: Memory) -> bool:
        """Whether all columns are dense."""
        return engine.loss.classes == 1 and all(isinstance(block, Dense) for block in engine.design.blocks)

    def of(self, chosen: Numbers) -> tuple[Moments, Numbers]:
        """The moments of the columns of a mask, the intercept among them, and the places of these columns."""
        chosen = chosen.copy()
        chosen[: self.engine.intercept] = True
        inside = np.flatnonzero(chosen)
        new = inside[self.known[inside] < 0]
        if len(new):
            self._add(new)
        order = np.append(self.known[inside], 0)  # y was there first
        return Moments(np.ascontiguousarray(self.gram[np.ix_(order, order)])), inside

    def _add(self, new: Numbers) -> None:
        engine, before = self.engine, self.columns.shape[1]
        values = np.ones((engine.rows, len(new)))
        ordinary = new >= engine.intercept
        values[:, ordinary] = engine.dense_columns(new[ordinary] - engine.intercept)
        added = self._weighted(values)
        cross = self.columns.T @ added
        self.gram = np.block([[self.gram, cross], [cross.T, added.T @ added]])
        self.columns = np.concatenate([self.columns, added], axis=1)
        self.known[new] = before + np.arange(len(new))

    def _weighted(self, values: Numbers) -> Numbers:
        return values if self.engine.weight is None else values * self.root[:, None]
