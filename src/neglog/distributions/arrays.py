"""Arrays on their way to the native core and back: types, broadcasting, threads."""

import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from neglog import _core
from neglog.typing import Array

ROWS_PER_THREAD = 1 << 15  # below this a thread costs more than it saves


def thread_count(rows: int, threads: int | None = None) -> int:
    """The number of threads for a loop over `rows`: what was asked for, else what pays."""
    if threads is not None:
        return max(1, threads)
    return max(1, min(available_threads(), rows // ROWS_PER_THREAD))


def available_threads() -> int:
    """NEGLOG_NUM_THREADS, else the processors this process may use."""
    stated = stated_threads()
    if stated is not None:
        return stated
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def stated_threads() -> int | None:
    """NEGLOG_NUM_THREADS, or None where it is not set."""
    text = os.environ.get("NEGLOG_NUM_THREADS", "").strip()
    if not text:
        return None
    if not text.isdecimal() or int(text) < 1:
        raise ValueError(
            f"the environment variable NEGLOG_NUM_THREADS must be a whole number of threads, 1 or more, but is {text!r}"
            "; unset it to use all processors"
        )
    return int(text)


def as_numbers(values: ArrayLike, name: str) -> Array:
    """`values` as a float array, without a copy where it is one already."""
    array = np.asarray(values)
    if array.dtype.kind not in "buif":
        raise TypeError(f"{name} must hold numbers, but has the type {array.dtype}")
    single = array.dtype.kind == "f" and array.dtype.itemsize <= 4
    return array.astype(np.float32 if single else np.float64, copy=False)


def output_type(*values: Any) -> np.dtype[Any]:
    """float32 if every array among the values is; single numbers do not count beside arrays."""
    arrays = [value for value in values if np.ndim(value)]
    joined = np.result_type(*(arrays or values), 1.0)
    return np.dtype(np.float32) if joined in (np.float32, np.float16) else np.dtype(np.float64)


def in_output_type(compute: Callable[..., Any], values: Sequence[Array], *parameters: Any) -> Any:
    """`compute(*values)` in float64 without floating-point warnings, returned in the type of values and parameters."""
    with np.errstate(all="ignore"):
        result = compute(*(value.astype(np.float64, copy=False) for value in values))
    return np.asarray(result).astype(output_type(*values, *parameters), copy=False)[()]


def elementwise_loss(compute: Callable[[Any, Any], Any], y: ArrayLike, prediction: ArrayLike) -> Any:
    """A loss written in NumPy, in the type of its arguments."""
    return in_output_type(compute, (as_numbers(y, "y"), as_numbers(prediction, "prediction")))


def all_finite(values: Array) -> bool:
    """Whether all numbers are finite.

    A product with themselves would tell as well, but BLAS starts threads for it, which go on spinning for a while on
    the cores that a trainer needs; and it warns where it overflows.
    """
    return bool(np.isfinite(values).all())


def broadcast_shape(*values: Any) -> tuple[int, ...]:
    """The common shape, or an error that lists the shapes that do not fit."""
    try:
        return np.broadcast_shapes(*(np.shape(value) for value in values))
    except ValueError:
        shapes = ", ".join(str(np.shape(value)) for value in values)
        raise ValueError(f"the shapes {shapes} cannot be broadcast together") from None


def native(value: Any, shape: tuple[int, ...]) -> Array:
    """`value` as the core wants it: one number, or contiguous in the full shape."""
    array: Array = np.asarray(value)
    if array.size == 1:
        return array.reshape(1)
    if array.shape != shape:
        array = np.broadcast_to(array, shape)
    return np.ascontiguousarray(array)


def core_nll(
    family: str,
    link: str,
    y: Array,
    eta: Any,
    parameters: Sequence[Any],
    constant: Any,
    dtype: np.dtype[Any],
) -> Any:
    """The nll of `family` at raw prediction `eta`, broadcast over everything."""
    shape = broadcast_shape(y, eta, *parameters, constant)
    out = np.empty(shape, dtype)
    _core.nll(
        family,
        link,
        native(y, shape),
        native(eta, shape),
        [native(value, shape) for value in parameters],
        native(np.asarray(constant, float), shape),
        out,
        thread_count(out.size),
    )
    return out[()]
