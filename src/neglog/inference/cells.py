"""Scores that compare: the probability of what was recorded, so that no mass is set against a density."""

from typing import Any

import numpy as np

from neglog.distributions.arrays import Numbers

STEPS = (1.0, 0.5, 0.25, 0.1, 0.05, 0.01, 0.005, 0.001)  # in which people record numbers
NARROW = 1e-7  # probability of a cell below which its density times its width is more accurate than a difference


def recorded_step(y: Numbers) -> float | None:
    """The coarsest of the usual steps on whose multiples all y lie; None if y is not recorded on a grid."""
    for step in STEPS:
        multiples = y / step
        if np.all(np.abs(multiples - np.round(multiples)) <= 1e-9 * np.maximum(np.abs(multiples), 1.0)):
            return step
    return None


def cell_width(y: Numbers) -> tuple[float | None, str]:
    """The width of the cells that y is scored in, and how to say it; None where densities compare as they are."""
    step = recorded_step(y)
    if step is not None:
        return step, f"y is recorded in steps of {step:g}: every noise is scored by the probability of y ± {step / 2:g}"
    values, counts = np.unique(y, return_counts=True)
    atom = counts[values == 0]
    if atom.size and atom[0] > 1:
        positive = np.abs(values[values != 0])
        width = float(f"{positive.min():.1g}") if positive.size else 1.0
        return width, (
            f"y has an atom at 0 ({atom[0]:,} rows) and no grid: every noise is scored by the probability of "
            f"y ± {width / 2:g}, half the smallest value that is not 0"
        )
    return None, "y has no grid: every noise is scored by its density"


def scored(law: Any, y: Numbers, width: float | None, rng: np.random.Generator) -> tuple[Numbers, Numbers]:
    """What each y costs in nats, and where it falls between the 0% and the 100% quantile of its law.

    The cost is -log of the probability of the cell of y, or of its density where there are no cells. The place is
    P(Y <= y), for a cell a random place in it: evenly spread if the law is right.
    """
    if width is None and law.measure == "density":
        return np.asarray(law.nll(y), float), np.asarray(law.cdf(y), float)
    half = 0.5 if width is None else 0.5 * width
    low, high = np.asarray(law.cdf(y - half), float), np.asarray(law.cdf(y + half), float)
    place = low + rng.random(len(y)) * (high - low)
    nll = np.asarray(law.nll(y), float)
    if width is None or law.measure == "mass":
        return nll, place
    with np.errstate(all="ignore"):
        mass = high - low
        density = np.where(np.isfinite(nll), nll, -np.log(mass / width)) - np.log(width)
        return np.where(mass > NARROW, -np.log(mass), density), place
