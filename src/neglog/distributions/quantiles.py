"""Quantiles of laws whose distribution function has no explicit inverse."""

from collections.abc import Callable
from typing import Any

import numpy as np

Tail = Callable[..., Any]  # (y, *parameters) -> P(Y <= y), or P(Y > y) for the upper tail


def smallest_integer(tail: Tail, q: Any, upper: bool, start: Any, *parameters: Any) -> Any:
    """The smallest integer k >= 0 with cdf(k) >= q, or with sf(k) <= q for the upper tail, by bisection between integers."""
    q, start, *parameters = np.broadcast_arrays(q, start, *parameters)

    def reached(k: Any) -> Any:
        level = tail(k, *parameters)
        return level <= q if upper else level >= q

    low, high = np.full(q.shape, -1.0), np.ceil(np.maximum(start, 1.0))
    certain = q <= 0 if upper else q >= 1
    searching = ~certain & ~np.isnan(q)
    while np.any(short := searching & ~reached(high)):
        low, high = np.where(short, high, low), np.where(short, 2 * high + 1, high)
    while np.any(open_ := searching & (high - low > np.maximum(1, 2**-52 * high))):
        middle = np.floor((low + high) / 2)
        up = reached(middle)
        high, low = np.where(open_ & up, middle, high), np.where(open_ & ~up, middle, low)
    return np.where(np.isnan(q), np.nan, np.where(certain, np.inf, high))


def positive_root(tail: Tail, q: Any, upper: bool, start: Any, *parameters: Any) -> Any:
    """The y > 0 with tail(y) = q, searched in log y on the log of the tail, where both tails are nearly straight."""
    from scipy.optimize import elementwise

    q, start, *parameters = (np.asarray(x, float) for x in np.broadcast_arrays(q, start, *parameters))

    def gap(log_y: Any, q: Any, *rest: Any) -> Any:
        with np.errstate(all="ignore"):
            level = np.maximum(tail(np.exp(log_y), *rest), 1e-323)
            return np.log(level) - np.log(q)

    inner = (q > 0) & (q < 1)
    safe = np.where(inner, q, 0.5)
    centre = np.log(start)
    low, high = centre - 1.0, centre + 1.0
    bracket = elementwise.bracket_root(gap, low, high, args=(safe, *parameters), maxiter=1100)
    tolerances = {"xatol": 1e-15, "xrtol": 1e-15, "fatol": 0.0, "frtol": 0.0}
    root = elementwise.find_root(gap, bracket.bracket, args=(safe, *parameters), tolerances=tolerances, maxiter=200)
    ends = np.where(np.isnan(q), np.nan, np.where((q <= 0) == upper, np.inf, 0.0))
    return np.where(inner, np.exp(root.x), ends)
