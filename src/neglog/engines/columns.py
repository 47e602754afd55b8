"""Sparse columns in memory, for solvers that move few coefficients at a time."""

from typing import NamedTuple

import numpy as np

from neglog import _core
from neglog.design.blocks import Sparse
from neglog.distributions.arrays import available_threads
from neglog.engines.memory import Memory
from neglog.typing import Numbers

SWEEPS = 300  # in which descent should be done, unless columns are nearly dependent


class Model(NamedTuple):
    """A quadratic with absolute terms: weights of the rows, then slope, bend, strength and kink of each column."""

    weight: Numbers
    slope: Numbers
    bend: Numbers
    strength: Numbers
    kink: Numbers


class Columns:
    """The rows of an engine whose only block is sparse, by columns. Coefficients do not include the intercept."""

    def __init__(self, engine: Memory) -> None:
        block = engine.design.blocks[0]
        assert isinstance(block, Sparse)
        matrix = block.less(engine.centre).by_columns
        self.engine, self.count, self.threads = engine, block.columns, available_threads()
        self.starts, self.indices = matrix.indptr, matrix.indices
        self.values = np.ascontiguousarray(matrix.data, np.float64)

    @staticmethod
    def fits(engine: Memory) -> bool:
        """Whether the engine's rows can be seen this way."""
        blocks = engine.design.blocks
        return (
            len(blocks) == 1 and isinstance(blocks[0], Sparse) and engine.loss.classes == 1 and engine.loss.open is None
        )

    def predict(self, intercept: float, coef: Numbers) -> Numbers:
        """The raw predictions, from the columns whose coefficients are not 0."""
        eta = np.full(self.engine.rows, intercept)
        for j in np.flatnonzero(coef):
            here = slice(self.starts[j], self.starts[j + 1])
            eta[self.indices[here]] += coef[j] * self.values[here]
        return eta if self.engine.offset is None else eta + self.engine.offset

    def losses(self, eta: Numbers) -> tuple[float, Numbers, Numbers]:
        """The sum of the loss, and the derivatives of each row's in its raw prediction."""
        engine, gradient, hessian = self.engine, np.empty(len(eta)), np.empty(len(eta))
        loss = engine.loss
        value = _core.row_losses(
            loss.family, loss.link, engine.y, eta, engine.weight, loss.parameters, gradient, hessian, self.threads
        )
        return value, gradient, hessian

    def products(self, rows: Numbers, chosen: Numbers | None = None) -> Numbers:
        """X' rows, for the chosen columns or all."""
        out = np.empty(self.count if chosen is None else len(chosen))
        _core.column_products(self.starts, self.indices, self.values, chosen, rows, out, self.threads)
        return out

    def descend(
        self, chosen: Numbers, model: Model, slope0: float | None, tolerance: float, x: Numbers
    ) -> tuple[float, float, Numbers]:
        """A lasso step over the chosen columns, x in place: gain, step of the intercept, change of the predictions.

        The gain is infinite where the descent did not end.
        """
        change = np.empty(self.engine.rows)
        columns = (self.starts, self.indices, self.values, chosen)
        gain, step0, sweeps = _core.sparse_descent(*columns, *model, slope0, tolerance, SWEEPS, x, change)
        return gain if sweeps < SWEEPS else np.inf, step0, change
