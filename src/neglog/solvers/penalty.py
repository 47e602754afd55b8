"""The -log prior of the coefficients as a solver needs it: one quadratic and one absolute term per coefficient."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from neglog.typing import Numbers


@dataclass(frozen=True)
class Penalty:
    """sum of bend (theta - centre)^2 / 2 + strength |theta - kink|; zero where there is no prior."""

    bend: Numbers
    centre: Numbers
    strength: Numbers
    kink: Numbers

    @classmethod
    def none(cls, width: int) -> "Penalty":
        """No prior at all."""
        zero = np.zeros(width)
        return cls(zero, zero, zero, zero)

    @cached_property
    def smooth(self) -> bool:
        """Whether there is no absolute term."""
        return not np.count_nonzero(self.strength)

    @cached_property
    def flat(self) -> Numbers:
        """Which coefficients have no prior."""
        return np.asarray((self.bend == 0) & (self.strength == 0))

    def quadratic(self, theta: Numbers) -> tuple[float, Numbers]:
        """Value and gradient of the quadratic part."""
        away = theta - self.centre
        slope = self.bend * away
        return 0.5 * float(slope @ away), slope

    def absolute(self, theta: Numbers) -> float:
        """Value of the absolute part."""
        return float(self.strength @ np.abs(theta - self.kink))

    def absolute_change(self, theta: Numbers, to: Numbers) -> float:
        """Of the absolute part from theta to another point; where no kink lies between, without cancellation."""
        before, after = theta - self.kink, to - self.kink
        straight = np.sign(before + after) * (to - theta)
        return float(self.strength @ np.where(before * after >= 0, straight, np.abs(after) - np.abs(before)))

    def subset(self, chosen: Any) -> "Penalty":
        """The terms of some coefficients."""
        return Penalty(self.bend[chosen], self.centre[chosen], self.strength[chosen], self.kink[chosen])
