"""Least squares needs the rows only once: afterwards their Gram matrix answers every question."""

import numpy as np

from neglog import _core
from neglog.design.blocks import Dense
from neglog.engines.memory import Memory
from neglog.typing import Numbers


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
        self.engine = engine
        self.root = None if engine.weight is None else np.sqrt(engine.weight)
        y = engine.y if engine.offset is None else engine.y - engine.offset
        self.known = np.full(engine.columns, -1)  # the place of each column among those kept
        self.columns = self._weighted(np.asarray(y, np.float64)[:, None])  # one after the other
        self.gram = self._products(self.columns, self.columns)

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
        engine, before = self.engine, len(self.columns)
        values = np.ones((engine.rows, len(new)))
        ordinary = new >= engine.intercept
        values[:, ordinary] = engine.dense_columns(new[ordinary] - engine.intercept)
        added = self._weighted(values)
        cross = self._products(self.columns, added)
        self.gram = np.block([[self.gram, cross], [cross.T, self._products(added, added)]])
        self.columns = np.concatenate([self.columns, added])
        self.known[new] = before + np.arange(len(new))

    def _weighted(self, values: Numbers) -> Numbers:
        """Columns as rows, times the roots of the weights; with zeros up to the length that the core asks for."""
        rows = np.zeros((values.shape[1], -(-len(values) // 8) * 8))
        rows[:, : len(values)] = values.T if self.root is None else values.T * self.root
        return rows

    def _products(self, one: Numbers, other: Numbers) -> Numbers:
        out = np.zeros((len(one), len(other)))
        _core.add_row_products(one, other, out, self.engine.threads)
        return out
