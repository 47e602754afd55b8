"""The root of a function of one number that rises through it: secants inside a bracket."""

from collections.abc import Callable

EDGE = 1e-3  # from an end of the range: nearer, the root is taken to lie beyond it


def root(function: Callable[[float], float], low: float, high: float, start: float, step: float, tol: float) -> float:
    """Where `function`, negative below and positive above, is 0 between low and high, to about `tol`.

    Returns the last point at which the function was asked for; one near an end of the range if the root lies beyond it.
    """
    ends = low, high
    x, value = start, function(start)
    tilt, halved = 0.0, False
    for tried in range(100):
        low, high = (x, high) if value < 0 else (low, x)
        end, unseen = (low, low == ends[0]) if value > 0 else (high, high == ends[1])  # on whose side the root lies
        if value == 0 or high - low <= tol or (unseen and abs(x - end) < EDGE):
            break
        if tried == 0:
            following = x - step if value > 0 else x + step
        else:
            following = x - value / tilt if tilt > 0 else 0.5 * (low + high)
            if abs(following - x) <= tol:
                break
        if not low < following < high:
            following = 0.5 * (low + high)
        halved_before, halved = halved, following == 0.5 * (low + high)
        if halved and halved_before and unseen:  # perhaps it lies beyond the end
            following = end + (0.5 * EDGE if value > 0 else -0.5 * EDGE)
        before, value_before = x, value
        x, value = following, function(following)
        tilt = (value - value_before) / (x - before)
    return float(x)


def at_edge(x: float, low: float, high: float) -> bool:
    """Whether x is as good as at an end of the range."""
    return min(x - low, high - x) < EDGE
