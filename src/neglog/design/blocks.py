"""Blocks: columns of a design in the form in which they lie in memory. What is right already is never copied."""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neglog.design.splines import Pieces
from neglog.typing import Array

FAR = 1e3  # times its spread from 0: a sparse column without zeros is centred
ROWS_TO_LOOK_AT = 32  # for such columns
ROWS_PER_SCAN = 1 << 14  # keeps the masks of a scan in cache

# A column that is not finite: its index in the block, the rows with NaN and the rows with an infinity.
NonFinite = tuple[int, NDArray[np.intp], NDArray[np.intp]]


@dataclass(frozen=True, eq=False, slots=True)
class Dense:
    """Columns of numbers: float32 or float64, native, aligned, strides >= 0 in whole items (C, F or a view)."""

    values: Array

    @classmethod
    def of(cls, values: NDArray[Any]) -> "Dense":
        """The block of a two-dimensional array; a view of it wherever its type and strides allow."""
        return cls(laid_out(as_floats(values)))

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(self.values)

    @property
    def columns(self) -> int:
        """The number of coefficients."""
        return int(self.values.shape[1])

    def nonfinite(self) -> Iterator[NonFinite]:
        """The columns that hold NaN or infinities."""
        bad = np.zeros(self.columns, bool)
        for start in range(0, self.rows, ROWS_PER_SCAN):
            finite = np.isfinite(self.values[start : start + ROWS_PER_SCAN])
            if not finite.all():  # which is quicker than column by column
                bad |= ~finite.all(axis=0)
        for column in np.flatnonzero(bad).tolist():
            values = self.values[:, column]
            yield column, np.flatnonzero(np.isnan(values)), np.flatnonzero(np.isinf(values))


@dataclass(frozen=True, eq=False, slots=True)
class Codes:
    """One categorical column as the int32 index of each row's level; never one-hot in memory.

    The code -1 stands for a level that was unknown when the schema was made: its effect is 0. With `reference` the
    first level has no coefficient either, though its code is still 0.
    """

    codes: NDArray[np.int32]
    levels: tuple[Any, ...]
    reference: bool = False

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(self.codes)

    @property
    def columns(self) -> int:
        """The number of coefficients: one per level, or one less with a reference level."""
        return len(self.levels) - self.reference

    def nonfinite(self) -> Iterator[NonFinite]:
        """Nothing: a code is always finite."""
        return iter(())


class Sparse:
    """Columns of a SciPy sparse array without duplicate entries; float32 or float64. Never made dense, and centred only
    where a column has no zeros and is far from 0, whose squares would drown how it varies.

    It is kept as it came, by rows or by columns; the other form is made when a solver first asks for it.
    """

    def __init__(self, given: Any) -> None:
        self._given = given

    @classmethod
    def of(cls, matrix: Any) -> "Sparse":
        """The block of any SciPy sparse matrix; it shares the buffers of a CSR or CSC matrix of sorted floats."""
        if matrix.dtype.kind not in "buif":
            raise TypeError(f"X must hold numbers, but is a sparse matrix of the type {matrix.dtype}")
        from scipy.sparse import csc_array, csr_array

        by_columns = matrix.format == "csc"
        kept = matrix if by_columns else matrix.tocsr()
        data, indices, indptr = as_floats(kept.data), kept.indices, kept.indptr
        _check_pointers(indices, indptr, kept.shape, kept.shape[0 if by_columns else 1])
        # A new array around the same buffers: flags and sums below are its own, not those of the caller's matrix.
        buffers = tuple(map(np.ascontiguousarray, (data, indices, indptr)))
        own = (csc_array if by_columns else csr_array)(buffers, shape=kept.shape)
        if not own.has_canonical_format:
            own = own.copy()
            own.sum_duplicates()
        return cls(own)

    @cached_property
    def matrix(self) -> Any:
        """By rows."""
        return self._given.tocsr()

    @cached_property
    def by_columns(self) -> Any:
        """By columns."""
        return self._given.tocsc()

    def far_middles(self) -> Array:
        """About the middle of each column that has no zeros and is far from 0, as some rows show; 0 for all others."""
        middles = np.zeros(self.columns)
        some = self.matrix[:: max(1, self.rows // ROWS_TO_LOOK_AT)]
        full = np.flatnonzero(np.bincount(some.indices, minlength=self.columns) == some.shape[0])
        if not (len(full) and some.shape[0]):
            return middles
        values = some[:, full].toarray().astype(np.float64)
        middle = np.median(values, axis=0)
        spread = np.median(np.abs(values - middle), axis=0)
        far = (spread > 0) & (np.abs(middle) > FAR * spread) & np.isfinite(middle)
        middles[full[far]] = middle[far]
        return middles

    def less(self, centre: Array) -> "Sparse":
        """The columns less these numbers, of which few are not 0."""
        moved = np.flatnonzero(centre)
        if not len(moved):
            return self
        from scipy.sparse import csr_array

        shifted = csr_array(self.matrix[:, moved].toarray().astype(np.float64) - centre[moved])
        place = csr_array((np.ones(len(moved)), (np.arange(len(moved)), moved)), shape=(len(moved), self.columns))
        others = self.matrix.astype(np.float64)
        others.data[np.isin(others.indices, moved)] = 0.0
        found = (others + shifted @ place).tocsr()
        found.sort_indices()
        return Sparse(found)

    @property
    def rows(self) -> int:
        """The number of rows."""
        return int(self._given.shape[0])

    @property
    def columns(self) -> int:
        """The number of coefficients."""
        return int(self._given.shape[1])

    def nonfinite(self) -> Iterator[NonFinite]:
        """The columns that hold NaN or infinities."""
        if np.isfinite(self._given.data).all():  # then it need not be stored by rows
            return
        bad = np.flatnonzero(~np.isfinite(self.matrix.data))
        columns, values = self.matrix.indices[bad], self.matrix.data[bad]
        rows = np.searchsorted(self.matrix.indptr, bad, side="right") - 1
        for column in np.unique(columns).tolist():
            here = columns == column
            yield column, rows[here & np.isnan(values)], rows[here & np.isinf(values)]


@dataclass(frozen=True, eq=False, slots=True)
class Variable:
    """A column of numbers and the functions of it, of which a row meets few."""

    x: Array
    pieces: Pieces
    found: NDArray[np.uint8]  # the piece of each row

    @classmethod
    def of(cls, x: Array, pieces: Pieces) -> "Variable":
        """With the piece of each row looked up."""
        return cls(x, pieces, pieces.find(x))


@dataclass(frozen=True, eq=False, slots=True)
class Basis:
    """Curves and surfaces, and numbers and curves by level: products of functions of up to two variables, for each
    level if there are some. `turn` makes the columns of a level of its functions. The code -1 has no functions.
    """

    variables: tuple[Variable, ...]
    codes: NDArray[np.int32] | None
    levels: int
    turn: Array

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(self.variables[0].x)

    @property
    def columns(self) -> int:
        """The number of coefficients."""
        return self.levels * int(self.turn.shape[1])

    def values(self, rows: Any = slice(None)) -> Array:
        """The columns of some rows as a dense matrix: for few rows only."""
        some = self.rows_of(rows)
        own = some.values_of_level()
        if some.codes is None:
            return own
        out = np.zeros((some.rows, self.levels, own.shape[1]))
        known = np.flatnonzero(some.codes >= 0)
        out[known, some.codes[known]] = own[known]
        return out.reshape(some.rows, -1)

    def values_of_level(self) -> Array:
        """The columns that each row has of its own level, whichever that is."""
        functions = np.ones((self.rows, 1))
        for variable in self.variables:
            both = functions[:, :, None] * _values_of(variable)[:, None, :]
            functions = both.reshape(self.rows, both.shape[1] * both.shape[2])  # -1 does not say it of no rows
        return np.asarray(functions @ self.turn)

    def rows_of(self, rows: Any) -> "Basis":
        """The block of some rows, copied."""
        variables = tuple(
            Variable(np.ascontiguousarray(one.x[rows]), one.pieces, np.ascontiguousarray(one.found[rows]))
            for one in self.variables
        )
        codes = None if self.codes is None else np.ascontiguousarray(self.codes[rows])
        return Basis(variables, codes, self.levels, self.turn)

    def nonfinite(self) -> Iterator[NonFinite]:
        """The first column, for each variable that holds NaN or infinities."""
        for variable in self.variables:
            missing, infinite = np.flatnonzero(np.isnan(variable.x)), np.flatnonzero(np.isinf(variable.x))
            if len(missing) or len(infinite):
                yield 0, missing, infinite


def _values_of(variable: Variable) -> Array:
    """All functions of one variable, as a dense matrix."""
    pieces, rows = variable.pieces, np.arange(len(variable.x))
    t = variable.x - pieces.origins[variable.found]
    powers = t[:, None] ** np.arange(4)
    met = np.einsum("ip,ipk->ik", powers, pieces.polynomials[variable.found])
    out = np.zeros((len(t), pieces.functions))
    for k in range(met.shape[1]):
        out[rows, pieces.firsts[variable.found] + k] = met[:, k]
    return out


Block = Dense | Codes | Sparse | Basis


def rows_of(block: Block, rows: Any) -> Block:
    """Some rows of a block, copied."""
    if isinstance(block, Dense):
        return Dense(np.ascontiguousarray(block.values[rows]))
    if isinstance(block, Codes):
        return Codes(np.ascontiguousarray(block.codes[rows]), block.levels, block.reference)
    return block.rows_of(rows) if isinstance(block, Basis) else Sparse(block.matrix[rows])


def is_sparse(X: Any) -> bool:
    """Whether X is a SciPy sparse matrix or array; SciPy is asked only if something has imported it already."""
    module = sys.modules.get("scipy.sparse")
    return module is not None and bool(module.issparse(X))


def as_floats(values: NDArray[Any]) -> Array:
    """The same numbers in native float32 or float64; half precision, integers and booleans become float64."""
    dtype = values.dtype
    if dtype.char in "fd" and dtype.isnative:
        return values
    single = dtype.kind == "f" and dtype.itemsize == 4
    return values.astype(np.float32 if single else np.float64)


def laid_out(values: Array) -> Array:
    """`values`, copied only if it is not aligned or runs backwards or across parts of items."""
    item = values.itemsize
    if values.flags.aligned and all(stride >= 0 and stride % item == 0 for stride in values.strides):
        return values
    return values.copy()


def _check_pointers(indices: NDArray[Any], indptr: NDArray[Any], shape: tuple[int, int], most: int) -> None:
    """SciPy does not look at the indices it is given; native loops trust them, so a wrong one must end here."""
    entries = int(indptr[-1])
    wrong = indptr[0] != 0 or entries > len(indices) or bool(np.any(indptr[1:] < indptr[:-1]))
    if not wrong and entries:
        used = indices[:entries]
        wrong = used.min() < 0 or used.max() >= most
    if wrong:
        raise ValueError(
            f"X is a sparse matrix of shape {shape} whose indices or pointers lie outside it; "
            "rebuild it, or look at it with X.check_format()"
        )
