"""What decides which noises can explain a target, and how finely it was recorded: counts that can be added."""

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from neglog.distributions import Bernoulli, Categorical, Gamma, LogNormal, Poisson, Tweedie
from neglog.distributions.arrays import Numbers
from neglog.distributions.base import Noise

STEPS = (1.0, 0.5, 0.25, 0.1, 0.05, 0.01, 0.005, 0.001)  # in which people record numbers


@dataclass
class Facts:
    """How many targets there are of each sort."""

    rows: int
    negative: int
    zeros: int
    no_counts: int  # negative or not whole
    not_binary: int
    off_grid: Numbers  # for each of STEPS
    nearest: float  # the least absolute value that is not 0

    def __add__(self, other: "Facts") -> "Facts":
        sums = {field.name: getattr(self, field.name) + getattr(other, field.name) for field in fields(self)}
        return Facts(**{**sums, "nearest": min(self.nearest, other.nearest)})

    @property
    def step(self) -> float | None:
        """The coarsest of the usual steps on whose multiples all targets lie; None where they are on no grid."""
        return next((step for step, off in zip(STEPS, self.off_grid, strict=True) if not off), None)

    def cell_width(self) -> tuple[float | None, str]:
        """The width of the cells that y is scored in, and how to say it; None where densities compare as they are."""
        step = self.step
        if step is not None:
            text = f"y is recorded in steps of {step:g}: every noise is scored by the probability of y ± {step / 2:g}"
            return step, text
        if self.zeros > 1:
            width = float(f"{self.nearest:.1g}") if np.isfinite(self.nearest) else 1.0
            return width, (
                f"y has an atom at 0 ({self.zeros:,} rows) and no grid: every noise is scored by the probability of "
                f"y ± {width / 2:g}, half the smallest value that is not 0"
            )
        return None, "y has no grid: every noise is scored by its density"

    def against(self, noise: Noise) -> str | None:
        """Why the noise cannot explain these targets."""
        match noise:
            case Categorical():
                return None
            case Poisson():
                bad, what = self.no_counts, "are no counts 0, 1, 2, …"
            case Bernoulli():
                bad, what = self.not_binary, "are neither 0 nor 1"
            case Gamma() | LogNormal():
                bad, what = self.negative + self.zeros, "are 0 or less" if self.negative else "are 0"
            case Tweedie():
                bad, what = self.negative, "are negative"
                if not bad and noise.power is None and not 0 < self.zeros < self.rows:
                    return (
                        "its power can be estimated only where some targets are 0 and some are not; to try it "
                        "nevertheless, state one, as in tweedie(power=1.5)"
                    )
            case _:
                return None
        return f"{bad:,} of {self.rows:,} targets {what}" if bad else None


def facts_of(y: Any) -> Facts:
    """Of targets in memory."""
    y = np.asarray(y, np.float64)
    size = np.abs(y)
    others = size[size > 0]
    return Facts(
        len(y),
        int(np.count_nonzero(y < 0)),
        int(np.count_nonzero(y == 0)),
        int(np.count_nonzero((y < 0) | (y != np.round(y)))),
        int(np.count_nonzero((y != 0) & (y != 1))),
        _off_grid(y),
        float(others.min()) if len(others) else np.inf,
    )


def _off_grid(y: Numbers) -> Numbers:
    counts = np.zeros(len(STEPS), int)
    for k, step in enumerate(STEPS):
        multiples = y / step
        counts[k] = np.count_nonzero(
            np.abs(multiples - np.round(multiples)) > 1e-9 * np.maximum(np.abs(multiples), 1.0)
        )
        if counts[k] == 0:  # finer steps are not asked for
            break
    return counts
