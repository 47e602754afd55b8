"""Quantiles of laws whose distribution function has no explicit inverse."""

from collections.abc import Callable
from typing import Any

import numpy as np

Tail = Callable[..., Any]  # (y, *parameters) -> P(Y <= y), or P(Y > y) for the upper tail


def smallest_integer(tail: Tail, q: Any, upper: bool, start: Any, *parameters: Any) -> Any:
    """The smallest integer k >= 0 with cdf(k) >= q, or with sf(k) <= q for the upper tail, by bisection."""
    q, start, *rest = np.broadcast_arrays(q, start, *parameters)

    def reached(k: Any) -> Any:
        level = tail(k, *rest)
        return level <= q if upper else level >= q

    low, high = np.full(q.shape, -1.0), np.ceil(np.maximum(start, 1.0))
    certain = q <= 0 if upper else q >= 1
    undefined = np.isnan(q) | ~np.isfinite(start)
    searching = ~certain & ~undefined
    while np.any(short := searching & ~reached(high)):
        low, high = np.where(short, high, low), np.where(short, 2 * high + 1, high)
    while np.any(open_ := searching & (high - low > np.maximum(1, 2**-52 * high))):
        middle = np.floor((low + high) / 2)
        up = reached(middle)
        high, low = np.where(open_ & up, middle, high), np.where(open_ & ~up, middle, low)
    return np.where(undefined, np.nan, np.where(certain, np.inf, high))


def positive_root(tail: Tail, q: Any, upper: bool, start: Any, *parameters: Any) -> Any:
    """The y > 0 with tail(y) = q, searched in log y on the log of the tail, where both tails are nearly straight."""
    from scipy.optimize import elementwise

    q, start, *rest = (np.asarray(x, float) for x in np.broadcast_arrays(q, start, *parameters))
    undefined = np.isnan(q) | ~((start > 0) & (start < np.inf))
    out = np.where(undefined, np.nan, np.where((q <= 0) == upper, np.inf, 0.0))
    inner = (q > 0) & (q < 1) & ~undefined
    if not inner.any():
        return out

    def gap(log_y: Any, q: Any, *rest: Any) -> Any:
        with np.errstate(all="ignore"):
            return np.log(np.maximum(tail(np.exp(log_y), *rest), 1e-323)) - np.log(q)

    centre, arguments = np.log(start[inner]), (q[inner], *(x[inner] for x in rest))
    bracket = elementwise.bracket_root(gap, centre - 1.0, centre + 1.0, args=arguments, maxiter=1100)
    tolerances = {"xatol": 1e-15, "xrtol": 1e-15, "fatol": 1e-15, "frtol": 0.0}
    out[inner] = np.exp(elementwise.find_root(gap, bracket.bracket, args=arguments, tolerances=tolerances).x)
    return out
