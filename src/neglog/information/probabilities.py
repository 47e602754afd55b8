"""Arrays of probabilities: checked, brought to rows, handed to the native core."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from neglog import _core
from neglog.distributions.arrays import as_numbers, output_type, thread_count
from neglog.distributions.base import Distribution
from neglog.typing import Array


class Rows:
    """Probabilities with the classes last and contiguous, in float64; the shape and type of what comes out."""

    def __init__(self, values: ArrayLike, name: str, axis: int, normalize: bool) -> None:
        if isinstance(values, Distribution):
            raise TypeError(f"{name} must be an array of probabilities here, not a distribution")
        if not isinstance(axis, int):
            raise TypeError(f"axis must be one integer, but is {axis!r}")
        given = as_numbers(values, name)
        if given.ndim == 0:
            raise ValueError(
                f"{name} must be an array of probabilities or a distribution, not the single number {given[()]}"
            )
        self.name, self.dtype = name, output_type(given)
        self.values: Any = np.ascontiguousarray(np.moveaxis(given, axis, -1), np.float64)
        self.sums = row_sums(self.values)
        self._refuse_bad_entries()
        if normalize:
            self._normalise()
        else:
            self._refuse_bad_sums()

    def _refuse_bad_entries(self) -> None:
        # A negative or NaN entry shows in no sum for certain; the least entry shows it in one quick pass.
        if self.values.size and not self.values.min() >= 0:
            bad = np.argwhere(~(self.values >= 0))
            raise ValueError(
                f"{self.name} must hold probabilities, but {len(bad)} of {self.values.size} are negative or NaN; "
                f"the first is {self.values[tuple(bad[0])]} at index {_index(bad[0])}{self._moved()}"
            )

    def _refuse_bad_sums(self) -> None:
        tolerance = 1e-5 if self.dtype == np.float32 else 1e-8
        off = np.abs(self.sums - 1) > tolerance
        if np.any(off):
            bad = np.argwhere(off)
            where = f" at index {_index(bad[0])}{self._moved()}" if self.sums.ndim else ""
            count = f"{len(bad)} of {self.sums.size} rows do not; the first" if self.sums.ndim else "it"
            raise ValueError(
                f"{self.name} must sum to 1, but {count} sums to {self.sums[tuple(bad[0])]:.12g}{where}; "
                f"pass normalize=True to divide by the sum"
            )

    def _normalise(self) -> None:
        bad = np.argwhere(~((self.sums > 0) & np.isfinite(self.sums)))
        if len(bad):
            raise ValueError(
                f"{self.name} cannot be normalised: the sum is {self.sums[tuple(bad[0])]}"
                + (f" at index {_index(bad[0])}{self._moved()}" if self.sums.ndim else "")
            )
        self.values = self.values / self.sums[..., None]

    def _moved(self) -> str:
        return " (classes on the last axis)" if self.values.ndim > 1 else ""


def _index(position: Any) -> Any:
    index = tuple(int(i) for i in position)
    return index[0] if len(index) == 1 else index


def row_sums(values: Array) -> Any:
    """Sums over the last axis."""
    return over_rows(_core.row_sum, values, values)


def over_rows(loop: Callable[..., None], p: Any, q: Any) -> Any:
    """A native loop over rows of the same shape."""
    out = np.empty(p.shape[:-1])
    if p.shape[-1] == 0:
        out[...] = 0.0
    else:
        loop(p, q, out, thread_count(p.size))
    return out


def pair(
    p: ArrayLike, q: ArrayLike, axis: int, normalize: bool, names: tuple[str, str] = ("p", "q")
) -> tuple[Any, Any, np.dtype[Any]]:
    """Two arrays of probabilities over the same classes, broadcast against each other."""
    first, second = Rows(p, names[0], axis, normalize), Rows(q, names[1], axis, normalize)
    if first.values.shape[-1] != second.values.shape[-1]:
        raise ValueError(
            f"{names[0]} and {names[1]} must have the same classes, "
            f"but have {first.values.shape[-1]} and {second.values.shape[-1]}"
        )
    shape = np.broadcast_shapes(first.values.shape, second.values.shape)
    broadcast = [np.ascontiguousarray(np.broadcast_to(x.values, shape)) for x in (first, second)]
    return broadcast[0], broadcast[1], np.result_type(first.dtype, second.dtype)
