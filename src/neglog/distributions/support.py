"""Supports: which y a law gives any probability, asked by fits, comparisons, trees and networks alike."""

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Support:
    """An interval, of which a lattice may be all that counts.

    text    how it is written: "y > 0"
    wanted  what is asked for where a y is refused: "counts 0, 1, 2, …"
    others  what is said of y outside: "are 0 or less"
    step    of the lattice whose points alone have mass; None for all numbers
    """

    text: str
    low: float = -np.inf
    high: float = np.inf
    ends: tuple[bool, bool] = (False, False)  # whether low and high belong to it
    step: float | None = None
    wanted: str = ""
    others: str = ""

    def contains(self, y: Any) -> Any:
        """Which y are inside; none that is infinite or no number."""
        if self.step is not None and self.high - self.low == self.step:  # the two ends are all there is
            return (y == self.low) | (y == self.high)
        low, high = (
            (y >= self.low) if self.ends[0] else (y > self.low),
            (y <= self.high) if self.ends[1] else (y < self.high),
        )
        inside = low & high
        if self.step is None:
            return inside
        steps = y / self.step
        return inside & (np.abs(y - np.round(steps) * self.step) <= 4e-16 * np.abs(y))

    @property
    def sentence(self) -> str:
        """What y must be."""
        return self.wanted or self.text

    def __str__(self) -> str:
        return self.text


REALS = Support("y real", others="are not finite")
POSITIVE_NUMBERS = Support("y > 0", 0.0, others="are 0 or less")
AMOUNTS = Support("y ≥ 0", 0.0, ends=(True, False), others="are negative")
COUNTS = Support(
    "y = 0, 1, 2, …", 0.0, ends=(True, False), step=1.0, wanted="counts 0, 1, 2, …", others="are no counts 0, 1, 2, …"
)
BINARY = Support("y = 0, 1", 0.0, 1.0, ends=(True, True), step=1.0, wanted="y = 0 or 1", others="are neither 0 nor 1")
PROPORTIONS = Support(
    "0 < y < 1", 0.0, 1.0, wanted="0 < y < 1, without the ends", others="are not strictly between 0 and 1"
)
SHARES = Support("0 ≤ p ≤ 1", 0.0, 1.0, ends=(True, True), others="are not between 0 and 1")


def lattice(step: float) -> Support:
    """The multiples of a step, from 0 on."""
    return Support("y = 0, φ, 2φ, …", 0.0, ends=(True, False), step=step, others=f"are no multiples of {step:g}")
