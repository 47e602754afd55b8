"""A quadratic with absolute terms, by an interior point method: Newton's step where some rows of a loss have kinks.

    min  x'Hx / 2 + g'x + sum of above t+ + below t-,   t = r - A x

Slopes u of the terms lie between -below and above. With t = p - q, p and q positive, a solution has Hx + g = A'u, and
(above - u) p = (u + below) q = 0; the method goes to it along points where both products are the same positive number
(Portnoy and Koenker 1997, Statist. Sci. 12, 279-300).
"""

from dataclasses import dataclass

import numpy as np

from neglog.solvers.systems import newton_step
from neglog.typing import Numbers

STEPS = 60
SHARE = 0.99  # of the way to where a positive number vanishes
ROUNDED = 1e-14  # of the distance between the slopes: nearer to one of them no number tells the distance
CLOSE = 1e-13  # products, of those at the start, that are next to nothing


@dataclass(frozen=True)
class Terms:
    """The absolute terms: A, r, and their slopes above and below."""

    A: Numbers
    r: Numbers
    above: Numbers
    below: Numbers


@dataclass(frozen=True)
class Balance:
    """A solution x and the slopes u of the terms, which tell those that it passes through from the others."""

    x: Numbers
    u: Numbers
    through: Numbers  # a mask


def least(hessian: Numbers, gradient: Numbers, terms: Terms) -> Balance | None:
    """The solution; None where numbers fail."""
    A, r, above, below = terms.A, terms.r, terms.above, terms.below
    if not len(r):
        return Balance(newton_step(hessian, gradient).x, r, r > 0)
    size = float(np.mean(np.abs(r))) or 1.0
    x, u = np.zeros(len(gradient)), 0.5 * (above - below)
    p, q = np.maximum(r, 0.0) + size, np.maximum(-r, 0.0) + size
    first = None
    for _ in range(STEPS):
        a, b = above - u, u + below
        mean = float(a @ p + b @ q) / (2 * len(r))
        first = mean if first is None else first
        if mean <= CLOSE * first or np.any(np.minimum(a, b) <= ROUNDED * (above + below)):
            break
        weight = 1 / (p / a + q / b)
        system = System(hessian + (A * weight[:, None]).T @ A, A, weight, a, b, p, q)
        slopes, left = A.T @ u - gradient - hessian @ x, r - A @ x - p + q
        _, du, dp, dq = system.step(slopes, left, -a * p, -b * q)
        length = min(1.0, system.longest(du, dp, dq))
        after = float((a - length * du) @ (p + length * dp) + (b + length * du) @ (q + length * dq)) / (2 * len(r))
        goal = mean * (after / mean) ** 3
        dx, du, dp, dq = system.step(slopes, left, goal - a * p + du * dp, goal - b * q - du * dq)
        if not np.isfinite(dx).all():
            return None
        length = min(1.0, SHARE * system.longest(du, dp, dq))
        x, u, p, q = x + length * dx, u + length * du, p + length * dp, q + length * dq
    room = np.minimum(above - u, u + below) / (above + below)
    return Balance(x, u, room > np.abs(r - A @ x) / size)


@dataclass(frozen=True)
class System:
    """The equations of one step, but for their right-hand sides."""

    matrix: Numbers
    A: Numbers
    weight: Numbers
    a: Numbers  # above - u
    b: Numbers  # u + below
    p: Numbers
    q: Numbers

    def step(self, slopes: Numbers, left: Numbers, up: Numbers, down: Numbers) -> tuple[Numbers, ...]:
        """In x, u, p and q: it makes up for slopes and residuals that are left, and changes the products by these."""
        rest = left - up / self.a + down / self.b
        dx = newton_step(self.matrix, -slopes - self.A.T @ (self.weight * rest)).x
        du = self.weight * (rest - self.A @ dx)
        return dx, du, (up + self.p * du) / self.a, (down - self.q * du) / self.b

    def longest(self, du: Numbers, dp: Numbers, dq: Numbers) -> float:
        """How long a step may be for all to stay positive."""
        values, steps = np.concatenate([self.a, self.b, self.p, self.q]), np.concatenate([-du, du, dp, dq])
        falls = steps < 0
        return float(np.min(-values[falls] / steps[falls], initial=np.inf))
