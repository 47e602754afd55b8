"""Rows in memory: one additive pass of the native core over all blocks of columns."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from neglog import _core
from neglog.design.blocks import Basis, Codes, Dense, Sparse
from neglog.design.design import Design
from neglog.design.selection import take_columns, take_rows
from neglog.distributions.arrays import all_finite, available_threads
from neglog.typing import Numbers

ENTRIES_PER_THREAD = 100_000  # below this a thread costs more than it saves
ROWS_FOR_CENTRES = 32  # centres only keep numbers small, so the median of a few rows is enough
ONE = np.ones(1)


@dataclass(frozen=True)
class Loss:
    """The native kernel of a noise, and its parameters as that takes them (families.hpp); by default at dispersion one.

    With `open` the pass is joint: `parameters` are raw (formulas.hpp), all of them, and those whose numbers are in
    `open` are found along with the coefficients. They stand after these, and are added to what is given here: the
    logarithms of the rows' precisions, or nothing. So is what the columns predict of those that are `modelled`, which
    have a row of coefficients each, after that of the location. Of one that lies between two `ends`, that is the log
    odds of its place there.
    """

    family: str
    link: str
    parameters: tuple[Numbers, ...] = (ONE, ONE)
    classes: int = 1
    response: bool = (
        False  # y itself is the last dense column and the loss that of 0: for a scale that is fitted as 1 / scale
    )
    open: tuple[int, ...] | None = None
    modelled: tuple[int, ...] = ()
    ends: tuple[tuple[float, float], ...] = ()  # of each that is modelled
    upper: Numbers | None = None  # y are the lower ends of cells, and these the upper ones
    ordered: bool = False  # what is open are the edges of ordered classes, of which a row has two (passes.hpp)

    @property
    def outputs(self) -> int:
        """How many raw predictions a row has, each with a row of coefficients."""
        return self.classes + len(self.modelled)

    def of_rows(self, rows: Any) -> "Loss":
        """The same for some of the rows."""
        if self.upper is None and all(np.size(values) == 1 for values in self.parameters):
            return self
        own = tuple(values if np.size(values) == 1 else values[rows] for values in self.parameters)
        return replace(
            self, parameters=own, upper=None if self.upper is None else np.ascontiguousarray(self.upper[rows])
        )

    @property
    def arrays(self) -> tuple[Numbers, ...]:
        """All that goes with the rows beside y and the prediction."""
        return self.parameters if self.upper is None else (*self.parameters, self.upper)

    def shifted(self, raw: Numbers) -> "Loss":
        """With these raw values, (rows, modelled), added to those of what is modelled."""
        own = list(self.parameters)
        for k, which in enumerate(self.modelled):
            own[which] = np.ascontiguousarray(own[which] + raw[:, k])
        return replace(self, parameters=tuple(own))


class Memory:
    """A design with a target, row weights and offsets, all in memory.

    Coefficients are kept in the core's order: intercept, dense columns (less their centres), response, levels, sparse
    columns, curves; for classes and for modelled parameters, one such row after the other; last the raw parameters of
    the noise that are open. `public` and `native` translate. An offset is the location's.
    """

    streamed = False  # whether each pass has to read the rows again
    cheap_curvature = False  # whether second derivatives cost little beside the rest of a pass

    def __init__(
        self,
        design: Design,
        y: Numbers,
        weight: Numbers | None,
        offset: Numbers | None,
        loss: Loss,
        *,
        intercept: bool = True,
        centre: Numbers | None = None,
    ) -> None:
        self.design, self.y, self.weight, self.offset, self.loss = design, y, weight, offset, loss
        self.intercept = intercept
        self.rows = design.rows
        self.most_threads = 0  # no limit
        if centre is None:  # without an intercept nothing takes the difference up, unless the caller knows better
            centre = centres_of(design) if intercept else np.zeros(design.columns)
        self.centre = centre
        self.places = _places(design, intercept, loss.response)
        self._set_up()

    @cached_property
    def table(self) -> Any:
        """The columns as the core sees them. Made when first needed: sparse columns may have to be stored by rows."""
        table = _core.Table(self.design.rows, self.intercept)
        start = 0
        for block in self.design.blocks:
            if isinstance(block, Dense):
                table.add_dense(block.values, self.centre[start : start + block.columns])
            elif isinstance(block, Codes):
                table.add_codes(block.codes, int(block.reference), block.columns)
            elif isinstance(block, Basis):
                factors = [one.pieces.factor(one.x, one.found) for one in block.variables]
                table.add_basis(factors, block.codes, block.levels, block.turn)
            else:
                matrix = block.less(self.centre[start : start + block.columns]).matrix
                table.add_sparse(matrix.indptr, matrix.indices, matrix.data, block.columns)
            start += block.columns
        return table

    @cached_property
    def problem(self) -> Any:
        """The columns with the loss."""
        loss = self.loss
        return _core.Problem(
            self.table,
            loss.family,
            loss.link,
            self.y,
            self.weight,
            self.offset,
            loss.arrays,
            loss.open,
            loss.response,
            0.0,
            loss.classes,
            loss.modelled,
            loss.ends,
            loss.ordered,
        )

    def _set_up(self) -> None:
        loss = self.loss
        self.columns = self.design.columns + self.intercept + loss.response
        self.coefficients = self.columns * loss.outputs
        self.width = self.coefficients + len(loss.open or ())
        # a slice where the columns stand in a row, which is faster
        plain = len(self.design.blocks) == 1 and not (loss.response and not isinstance(self.design.blocks[0], Dense))
        self.where: Any = slice(int(self.intercept), self.intercept + self.design.columns) if plain else self.places
        worth = self.rows * max(self.width, 1) // ENTRIES_PER_THREAD
        self.threads = min(self.most_threads or available_threads(), worth) if worth > 1 else 1

    @property
    def response_place(self) -> int:
        """Where the response stands among the columns, if it is one: after what is dense."""
        return self.intercept + sum(block.columns for block in self.design.blocks if isinstance(block, Dense))

    # ---- passes ------------------------------------------------------------------------------------------------------

    def evaluate(
        self, theta: Numbers, curvature: bool, expected: bool = False
    ) -> tuple[float, Numbers, Numbers | None]:
        """The sum of the loss over the rows, its gradient and, if wanted, its matrix of second derivatives."""
        gradient = np.empty(self.width)
        gram = np.empty((self.width, self.width)) if curvature else None
        return self.problem.evaluate(theta, gradient, gram, expected, self.threads), gradient, gram

    def newton(
        self, theta: Numbers, bend: Numbers, centre: Numbers, factor: float, tol: float, max_iter: int
    ) -> tuple[Numbers, Numbers, Numbers, bool, int, float, float, float]:
        """Newton's method for factor * loss + quadratic penalty, all in the core: for small data, whose passes take
        less time than the Python between them. Where it does not converge, where it got to.

        Returns theta, the last gradient and second derivatives, and (converged, steps, value, decrement, pivot).
        """
        theta, gradient, hessian = theta.copy(), np.empty(self.width), np.empty((self.width, self.width))
        end = self.problem.newton(bend, centre, factor, tol, max_iter, theta, gradient, hessian, self.threads)
        return theta, gradient, hessian, *end

    def predict(self, theta: Numbers) -> Numbers:
        """The raw predictions, (rows,), or (rows, outputs) for classes and modelled parameters."""
        outputs = self.loss.outputs
        eta = np.empty((self.rows, outputs) if outputs > 1 else self.rows)
        offset = None if outputs > 1 else self.offset
        _core.predict_rows(self.table, theta[: self.coefficients], outputs, offset, eta, self.threads)
        if outputs > 1 and self.offset is not None:
            eta[:, : self.loss.classes] += self.offset.reshape(self.loss.classes, -1).T
        return eta

    def predict_location(self, theta: Numbers) -> Numbers:
        """Those of the location alone, (rows,)."""
        eta = self.predict(theta)
        return eta if eta.ndim == 1 else np.ascontiguousarray(eta[:, 0])

    def predict_modelled(self, theta: Numbers) -> Numbers:
        """Those of the modelled parameters alone, (rows, parameters)."""
        outputs = self.loss.outputs - 1
        eta = np.empty((self.rows, outputs))
        _core.predict_rows(self.table, theta[self.columns : self.coefficients], outputs, None, eta, self.threads)
        return eta

    def moments(self, centre: float = 0.0) -> Numbers:
        """The Gram matrix of all columns and, last, y - offset - centre, under the row weights."""
        width = self.columns + 1
        gram = np.empty((width, width))
        problem = _core.Problem(self.table, "", "", self.y, self.weight, self.offset, (), None, True, centre, 1)
        problem.evaluate(np.zeros(width), None, gram, False, self.threads)
        if self.response_place == width - 1:
            return gram
        order = np.append(np.delete(np.arange(width), self.response_place), self.response_place)
        return np.ascontiguousarray(gram[np.ix_(order, order)])

    def transposed(self, x: Numbers) -> Numbers:
        """X' x, in the core's order."""
        squares = _core.Problem(self.table, "gaussian", "identity", -x, None, None, (ONE,), None, False, 0.0, 1)
        gradient = np.empty(self.columns)
        squares.evaluate(np.zeros(self.columns), gradient, None, False, self.threads)
        return gradient

    def gram(self, weight: Numbers) -> Numbers:
        """X' diag(weight) X, in the core's order; weights may be negative."""
        nothing = np.zeros(self.rows)
        squares = _core.Problem(
            self.table, "gaussian", "identity", nothing, np.ascontiguousarray(weight), None, (ONE,), None, False, 0.0, 1
        )
        gradient, gram = np.empty(self.columns), np.empty((self.columns, self.columns))
        squares.evaluate(np.zeros(self.columns), gradient, gram, False, self.threads)
        return gram

    def dense_columns(self, columns: Numbers) -> Numbers:
        """Some columns of a design whose blocks are all dense, less their centres."""
        blocks = [block.values for block in take_columns(self.design, columns).blocks if isinstance(block, Dense)]
        return np.asarray(np.concatenate([np.empty((self.rows, 0)), *blocks], axis=1) - self.centre[columns])

    def dense_rows(self, index: Any) -> Numbers:
        """Some rows as a dense matrix in the core's order: for few rows only."""
        rows = np.zeros((len(index), self.columns))
        rows[:, : self.intercept] = 1.0
        start = 0
        for block in self.design.blocks:
            places = self.places[start : start + block.columns]
            if isinstance(block, Dense):
                rows[:, places] = block.values[index] - self.centre[start : start + block.columns]
            elif isinstance(block, Codes):
                level = block.codes[index] - block.reference
                known = level >= 0
                rows[np.flatnonzero(known), places[level[known]]] = 1.0
            elif isinstance(block, Basis):
                rows[:, places] = block.values(index)
            else:
                rows[:, places] = block.matrix[index].toarray() - self.centre[start : start + block.columns]
            start += block.columns
        return rows

    def forms(self, matrix: Numbers) -> Numbers:
        """x' matrix x of each row, for a symmetric matrix in the core's order."""
        out = np.empty(self.rows)
        _core.row_forms(self.table, np.ascontiguousarray(matrix), out, self.threads)
        return out

    # ---- other views of the same rows --------------------------------------------------------------------------------

    def with_loss(self, loss: Loss) -> Self:
        """The same rows under another loss."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other.__dict__.pop("problem", None)
        other.loss = loss
        other.places = _places(self.design, self.intercept, loss.response)
        other._set_up()
        return other

    def with_models(self, count: int) -> Self:
        """The same rows to predict for, with rows of coefficients for so many parameters beside the location."""
        modelled = tuple(range(count))
        same = self.loss.modelled == modelled
        return self if same else self.with_loss(replace(self.loss, modelled=modelled, ends=()))

    def with_target(self, target: Any) -> Self:
        """The same rows under the loss and the weights that another target of them has."""
        other = self.with_loss(target.loss)
        other.weight = target.weight
        return other

    def under(self, loss: Loss, y: Numbers, weight: Numbers | None) -> Self:
        """The same rows under another loss, with the targets and weights that go with it."""
        other = self.with_loss(loss)
        other.y, other.weight = y, weight
        return other

    def with_rows(self, y: Numbers, weight: Numbers) -> "Memory":
        """The same columns with other targets and weights, and without an offset."""
        other = Memory(self.design, y, weight, None, self.loss, intercept=self.intercept, centre=self.centre)
        return other.beside(self)

    def recentred(self, centre: Numbers) -> "Memory":
        """The same rows in other coordinates."""
        return Memory(self.design, self.y, self.weight, self.offset, self.loss, intercept=self.intercept, centre=centre)

    def on_one_thread(self) -> Self:
        """The same rows, for callers that run several at once."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other.threads = other.most_threads = 1
        return other

    def beside(self, other: "Memory") -> "Memory":
        """On no more threads than another view of the same rows."""
        return self.on_one_thread() if other.most_threads == 1 else self

    def take(self, rows: Any, *, recentred: bool = False) -> "Memory":
        """Some of the rows (a slice or row numbers), copied, in the same coordinates or with centres of their own."""
        loss, design = self.loss.of_rows(rows), take_rows(self.design, rows)
        centre = self.centre
        if recentred:
            centre = centres_of(design) if self.intercept or centre.any() else np.zeros(design.columns)
        offset = self.offset
        if offset is not None:
            offset = np.ascontiguousarray(offset.reshape(loss.classes, -1)[:, rows]).reshape(-1)
        return Memory(
            design,
            np.ascontiguousarray(self.y[rows]),
            None if self.weight is None else np.ascontiguousarray(self.weight[rows]),
            offset,
            loss,
            intercept=self.intercept,
            centre=centre,
        )

    def sample(self, count: int) -> "Memory":
        """About `count` rows, evenly spread."""
        return self.take(slice(None, None, max(1, self.rows // count)))

    def subset(self, chosen: Numbers, rest: Numbers | None = None) -> tuple["Memory", Numbers]:
        """The same rows with some columns, copied, in the same coordinates; and where its coefficients are among all.

        `chosen` is a mask over the coefficients; a column counts as chosen if it is for any class or parameter. The
        others stay where `rest` says, by default at 0: what they contribute becomes part of the offset, or of the raw
        values of what is modelled.
        """
        chosen = chosen[: self.coefficients]
        outputs, loss = self.loss.outputs, self.loss
        kept = np.asarray(chosen.reshape(outputs, self.columns).any(axis=0))
        kept[: self.intercept] = True
        columns = np.flatnonzero(kept[self.places])
        offset = self.offset
        if rest is not None and rest.any():
            held = np.where(np.tile(kept, outputs), 0.0, rest[: self.coefficients])
            if held.any():
                eta = self.predict(held).reshape(self.rows, -1)
                offset = np.ascontiguousarray(eta[:, : loss.classes].T).reshape(-1)
                loss = loss.shifted(eta[:, loss.classes :])
        part = Memory(
            take_columns(self.design, columns),
            self.y,
            self.weight,
            offset,
            loss,
            intercept=self.intercept,
            centre=self.centre[columns],
        )
        inside = np.flatnonzero(kept)
        inside = (np.arange(outputs)[:, None] * self.columns + inside).reshape(-1)
        return part, np.append(inside, np.arange(self.coefficients, self.width))

    def total_weight(self) -> float:
        """The number of rows, each counted by its weight."""
        return float(self.rows) if self.weight is None else float(self.weight.sum())

    # ---- coefficients ------------------------------------------------------------------------------------------------

    def native(self, coef: Any, intercept: Any = 0.0) -> Numbers:
        """Values per column of the design (by output, if by output), and one for the intercept, in the core's order."""
        theta = np.zeros(self.width)
        rows = theta[: self.coefficients].reshape(self.loss.outputs, self.columns)
        rows[:, self.where] = coef
        if self.intercept:
            rows[:, 0] = intercept
        return theta

    def public(self, theta: Numbers) -> tuple[Numbers, Numbers]:
        """Intercepts (outputs,) and coefficients (outputs, columns) of the columns as they are, not centred."""
        rows = theta[: self.coefficients].reshape(self.loss.outputs, self.columns)
        coef = rows[:, self.where]
        if not self.intercept:
            return np.zeros(len(rows)), coef
        intercepts = rows[:, 0] - coef @ self.centre
        return (
            intercepts - intercepts.mean() if self.loss.classes > 1 else intercepts
        ), coef  # of classes only differences count


def _places(design: Design, intercept: bool, response: bool) -> Any:
    """For each column of the design its place in the core's order, which begins with what is dense."""
    if len(design.blocks) == 1 and (not response or isinstance(design.blocks[0], Dense)):
        return np.arange(intercept, intercept + design.columns)
    places = [np.empty(0, int)] * len(design.blocks)
    place = int(intercept)
    for kind in (Dense, Codes, Sparse, Basis):
        place += response and kind is Codes
        for i, block in enumerate(design.blocks):
            if isinstance(block, kind):
                places[i] = np.arange(place, place + block.columns)
                place += block.columns
    return np.concatenate(places) if places else np.empty(0, int)


def _middle(block: Dense) -> Numbers:
    """The median of some rows: a single huge number would take a mean far from all others."""
    some = np.array(block.values[:: max(1, block.rows // ROWS_FOR_CENTRES)].T, np.float64, order="C")
    some.partition(some.shape[1] // 2)
    return np.ascontiguousarray(some[:, some.shape[1] // 2])


def centres_of(design: Design) -> Numbers:
    """About the middle of each dense column, and of sparse ones that have no zeros and are far from 0."""
    if len(design.blocks) == 1 and isinstance(design.blocks[0], Dense):
        centre = _middle(design.blocks[0])
        return centre if all_finite(centre) else np.where(np.isfinite(centre), centre, 0.0)
    centre = np.zeros(design.columns)
    start = 0
    for block in design.blocks:
        if isinstance(block, Dense):
            centre[start : start + block.columns] = _middle(block)
        elif isinstance(block, Sparse):
            centre[start : start + block.columns] = block.far_middles()
        start += block.columns
    return centre if all_finite(centre) else np.where(np.isfinite(centre), centre, 0.0)
