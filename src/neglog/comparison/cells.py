"""Scores that compare: the probability of what was recorded, so that no mass is set against a density."""

from typing import Any

import numpy as np

from neglog.distributions.censored import Cells
from neglog.typing import Numbers

NARROW = 1e-7  # probability of a cell below which its density times its width is more accurate than a difference


def scored(law: Any, y: Numbers, width: float | None, rng: np.random.Generator) -> tuple[Numbers, Numbers]:
    """What each y costs in nats, and where it falls between the 0% and the 100% quantile of its law.

    The cost is -log of the probability of the cell of y, or of its density where there are no cells. The place is
    P(Y <= y), for a cell a random place in it: evenly spread if the law is right.
    """
    if isinstance(y, Cells):
        return _scored_cells(law, y, width, rng)
    if width is None and law.measure == "density":
        return np.asarray(law.nll(y), float), np.asarray(law.cdf(y), float)
    nll = np.asarray(law.nll(y), float)
    if width is None or law.measure == "mass":
        mass = np.where((law.measure == "mass") | (y == 0), np.exp(-nll), 0.0)  # of amounts, that of zeros
        return nll, np.maximum(np.asarray(law.cdf(y), float) - rng.random(len(y)) * mass, 0.0)
    half = 0.5 * width
    low, high = np.asarray(law.cdf(y - half), float), np.asarray(law.cdf(y + half), float)
    place = low + rng.random(len(y)) * (high - low)
    with np.errstate(all="ignore"):
        mass = high - low
        density = np.where(np.isfinite(nll), nll, -np.log(mass / width)) - np.log(width)
        return np.where(mass > NARROW, -np.log(mass), density), place


def _scored_cells(law: Any, y: Cells, width: float | None, rng: np.random.Generator) -> tuple[Numbers, Numbers]:
    """The same of cells; a value on a grid is one too, but for a law that has mass there."""
    if width is not None and law.measure != "mass":
        half = np.where(y.exact, 0.5 * width, 0.0)
        y = Cells(y.lower - half, y.upper + half)
    before = y.lower if law.measure == "density" else np.nextafter(y.lower, -np.inf)
    low, high = (np.asarray(law.cdf(end), float) for end in (before, y.upper))
    return np.asarray(law.nll(y), float), low + rng.random(len(y)) * (high - low)
