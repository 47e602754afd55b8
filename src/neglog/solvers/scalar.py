"""The minimum of a smooth function of one number: golden section and parabolas (Brent's method)."""

from collections.abc import Callable

GOLDEN = 0.3819660112501051


def minimise(function: Callable[[float], float], low: float, high: float, start: float, tol: float) -> float:
    """A minimum of `function` between low and high to about `tol`, from a start between them."""
    best = second = third = start
    at_best = at_second = at_third = function(start)
    moved = before = 0.0
    for _ in range(100):
        middle = 0.5 * (low + high)
        if abs(best - middle) <= 2 * tol - 0.5 * (high - low):
            break
        golden = True
        if abs(before) > tol:
            # the parabola through the best three
            r = (best - second) * (at_best - at_third)
            q = (best - third) * (at_best - at_second)
            p = (best - third) * q - (best - second) * r
            q = 2 * (q - r)
            p, q = (-p, q) if q > 0 else (p, -q)
            if abs(p) < abs(0.5 * q * before) and q * (low - best) < p < q * (high - best):
                before, moved = moved, p / q
                golden = False
        if golden:
            before = (high if best < middle else low) - best
            moved = GOLDEN * before
        step = moved if abs(moved) >= tol else (tol if moved > 0 else -tol)
        x = best + step
        value = function(x)
        if value <= at_best:
            low, high = (low, best) if x < best else (best, high)
            third, at_third = second, at_second
            second, at_second = best, at_best
            best, at_best = x, value
        else:
            low, high = (x, high) if x < best else (low, x)
            if value <= at_second or second == best:
                third, at_third = second, at_second
                second, at_second = x, value
            elif value <= at_third or third in (best, second):
                third, at_third = x, value
    return best
