"""Scores that compare: the probability of what was recorded, so that no mass is set against a density."""

from typing import Any

import numpy as np

from neglog.distributions.arrays import Numbers

STEPS = (1.0, 0.5, 0.25, 0.1, 0.05, 0.01, 0.005, 0.001)  # in which people record numbers
NARROW = 1e-7  # probability of a cell below which its density times its width is the more accurate number


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


def cell_nll(law: Any, y: Numbers, width: float | None) -> Numbers:
    """-log of the probability that the law gives to the cell of each y, or of its density where there are no cells."""
    if width is None or law.measure == "mass":
        return np.asarray(law.nll(y), float)
    low, high = y - 0.5 * width, y + 0.5 * width
    with np.errstate(all="ignore"):
        below = np.asarray(law.cdf(high)) - np.asarray(law.cdf(low))
        above = np.asarray(law.sf(low)) - np.asarray(law.sf(high))
        mass = np.where(np.asarray(law.cdf(y)) < 0.5, below, above)
        density = np.asarray(law.nll(y)) - np.log(width)
        fallback = np.where(np.isfinite(density), density, -np.log(mass))
        return np.asarray(np.where(mass > NARROW, -np.log(mass), fallback))


def probability_transform(law: Any, y: Numbers, width: float | None, rng: np.random.Generator) -> Numbers:
    """P(Y <= y), where y stands for a cell a random place in it: uniform if the law is right."""
    upper = np.asarray(law.cdf(y if width is None else y + 0.5 * width), float)
    if width is None and law.measure == "density":
        return upper
    lower = np.asarray(law.cdf(y - 1.0 if width is None else y - 0.5 * width), float)
    return np.asarray(lower + rng.random(len(y)) * (upper - lower))
