"""Quantiles of laws whose distribution function has no explicit inverse."""

from collections.abc import Callable
from typing import Any

import numpy as np

LEAST, LARGEST = 5e-324, 1.7976931348623157e308  # positive numbers
CLOSE = 1e-10  # of a probability: where a tail is as near as this to what was asked for, it is taken for that

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
    """The y > 0 with tail(y) = q, searched in log(y / start) on the log of the tail: both tails are nearly straight."""
    from scipy.optimize import elementwise

    q, start, *rest = (np.asarray(x, float) for x in np.broadcast_arrays(q, start, *parameters))
    undefined = np.isnan(q) | ~((start > 0) & (start < np.inf))
    out = np.where(undefined, np.nan, np.where((q <= 0) == upper, np.inf, 0.0))
    inner = (q > 0) & (q < 1) & ~undefined
    for end, beyond in ((LEAST, 0.0), (LARGEST, np.inf)):  # a root smaller than any number, or larger
        with np.errstate(all="ignore"):
            level = tail(np.full(q.shape, end), *rest)
        outside = inner & ((level > q) == (upper == (beyond > 0))) & ~np.isnan(level)
        out[outside], inner = beyond, inner & ~outside
    if not inner.any():
        return out

    def gap(log_ratio: Any, q: Any, start: Any, *rest: Any) -> Any:
        with np.errstate(all="ignore"):
            return np.log(np.maximum(tail(start * np.exp(log_ratio), *rest), 1e-323)) - np.log(q)

    arguments = (q[inner], start[inner], *(x[inner] for x in rest))
    one = np.ones(inner.sum())
    bracket = elementwise.bracket_root(gap, -one, one, args=arguments, maxiter=1100)
    tolerances = {"xatol": 1e-17, "xrtol": 1e-15, "fatol": 1e-15, "frtol": 0.0}
    found = elementwise.find_root(gap, bracket.bracket, args=arguments, tolerances=tolerances).x
    with np.errstate(over="ignore", under="ignore"):
        out[inner] = start[inner] * np.exp(found)
    return out


def checked_root(tail: Tail, found: Any, q: Any, upper: bool, *parameters: Any) -> Any:
    """Quantiles y > 0 from elsewhere, where the tail at them is q; the others are searched for."""
    found, q, *rest = (np.asarray(x, float) for x in np.broadcast_arrays(found, q, *parameters))
    with np.errstate(all="ignore"):
        wrong = (q > 0) & (q < 1) & ~(np.abs(np.log(tail(found, *rest) / q)) <= CLOSE)
    if not wrong.any():
        return found
    start = np.where((found > 1e-300) & (found < 1e300), found, 1.0)[wrong]
    out = found.copy()
    out[wrong] = positive_root(tail, q[wrong], upper, start, *(x[wrong] for x in rest))
    return out
