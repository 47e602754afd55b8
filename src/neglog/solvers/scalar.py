"""The root of a function of one number that rises through it: secants inside a bracket."""

from collections.abc import Callable


def root(function: Callable[[float], float], low: float, high: float, start: float, step: float, tol: float) -> float:
    """Where `function`, negative below and positive above, is 0 between low and high, to about `tol`.

    Returns the last point at which the function was asked for; an end of the range if the root lies beyond it.
    """
    x, value = start, function(start)
    before, value_before = x, value
    following = x - step if value > 0 else x + step
    for _ in range(100):
        low, high = (x, high) if value < 0 else (low, x)
        if value == 0 or high - low <= tol or (abs(following - x) <= tol and x != start):
            break
        if not low < following < high:
            following = 0.5 * (low + high)
        before, value_before = x, value
        x, value = following, function(following)
        tilt = (value - value_before) / (x - before)
        following = x - value / tilt if tilt > 0 else 0.5 * (low + high)
    return x
