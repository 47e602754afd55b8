"""Parameters of a distribution: their domains, how they are checked and kept."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

# What a caller may pass: a number, an array, or None for "unknown". Kept as a float, a read-only array, or None.
Parameter = Any
MODEL = "model"  # in place of a number: the parameter is predicted for each row, as by neglog.lightgbm.train


@dataclass(frozen=True)
class Domain:
    """A set of admissible values and how to say it."""

    text: str
    contains: Callable[[Any], Any]


REAL = Domain("a finite number", np.isfinite)
POSITIVE = Domain("> 0 and finite", lambda x: (x > 0) & np.isfinite(x))
POSITIVE_OR_INFINITE = Domain("> 0", lambda x: x > 0)
PROBABILITY = Domain("between 0 and 1", lambda x: (x >= 0) & (x <= 1))


def checked(owner: str, name: str, value: ArrayLike | None, domain: Domain) -> Parameter:
    """The value as it is kept, or an error that names the parameter and the first value outside its domain."""
    if value is None:
        return None
    if type(value) is float and domain.contains(value):  # most often, and much faster than as an array
        return value
    array = np.asarray(value)
    if array.dtype.kind not in "buif":
        raise TypeError(f"{owner}: {name} must be a number or an array of numbers, not {value!r}")
    inside = domain.contains(array)
    if not inside.all():
        if array.ndim == 0:
            raise ValueError(f"{owner}: {name} must be {domain.text}, but is {array[()]!s}")
        outside = np.argwhere(~inside)
        first = tuple(int(i) for i in outside[0])
        raise ValueError(
            f"{owner}: {name} must be {domain.text}, but {len(outside)} of {array.size} values are not; "
            f"the first is {array[first]!s} at index {first[0] if len(first) == 1 else first}"
        )
    return kept(array)


def kept(array: Any) -> Parameter:
    """A float for a single number, otherwise a read-only copy: nobody can change a distribution from outside."""
    array = np.asarray(array)
    if array.ndim == 0:
        return float(array)
    copy = array.astype(np.float32 if array.dtype in (np.float32, np.float16) else np.float64)
    copy.flags.writeable = False
    return copy
