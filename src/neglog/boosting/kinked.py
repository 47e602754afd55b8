"""Cells under a noise with a kink, such as Laplace's: its level and its start.

Fits leave these to the exact solver of values. Around given predictions, or one for all rows, there are two numbers at
most to find, and the nll, convex in location / spread and 1 / spread, has one minimum.
"""

from typing import Any

import numpy as np

from neglog.boosting.laws import with_spread
from neglog.distributions.censored import Cells
from neglog.distributions.noise import Noise
from neglog.likelihood.censored import refuse_one_sided
from neglog.solvers.scalar import root
from neglog.typing import Numbers

FARTHEST = 30.0  # in logs of spreads, and in spreads beyond the farthest y
TOLERANCE = 1e-7


def log_spread_around(noise: Noise, y: Cells, raw: Numbers, weight: Numbers | None) -> float:
    """What is to be added to the log of the spread in raw[:, 1], of which raw[:, 0] is the location, to fit best."""
    _refuse_one_sided(y, weight)

    def slope(level: float) -> float:
        return _slopes(noise, y, raw[:, 0], raw[:, 1] + level, weight)[1]

    begin = float(np.log(_distance(noise, y, raw[:, 0], weight)) - np.median(raw[:, 1]))
    return root(slope, begin - FARTHEST, begin + FARTHEST, begin, 0.5, TOLERANCE)


def best_start(noise: Noise, y: Cells, weight: Numbers | None, offset: Numbers | None) -> tuple[float, float]:
    """The intercept and the log of the spread of the maximum likelihood with the offset."""
    _refuse_one_sided(y, weight)
    shift = np.zeros(len(y)) if offset is None else np.asarray(offset)
    goals = np.asarray(noise.located(y.points)) - shift
    told = np.isfinite(goals) & (True if weight is None else weight > 0)
    middle, size = float(np.median(goals[told])), float(np.ptp(goals[told]))
    known = noise.parameters[str(noise.spread)]
    found = middle

    def slope(log_spread: float) -> float:
        nonlocal found
        spread = float(np.exp(log_spread))
        far = FARTHEST + size / spread

        def across(away: float) -> float:
            return _slopes(noise, y, shift + middle + spread * away, log_spread, weight)[0] * spread

        begin = float(np.clip((found - middle) / spread, -0.5 * far, 0.5 * far))
        found = middle + spread * root(across, -far, far, begin, 0.5, TOLERANCE)
        return _slopes(noise, y, shift + found, log_spread, weight)[1]

    if known is not None:
        slope(float(np.log(known)))
        return found, float(np.log(known))
    begin = float(np.log(_distance(noise, y, shift + middle, weight)))
    log_spread = root(slope, begin - FARTHEST, begin + FARTHEST, begin, 0.5, TOLERANCE)
    return found, log_spread


def _refuse_one_sided(y: Cells, weight: Numbers | None) -> None:
    refuse_one_sided(y if weight is None else y[weight > 0])


def _slopes(noise: Noise, y: Cells, location: Any, log_spread: Any, weight: Numbers | None) -> tuple[float, float]:
    """Of the mean nll, in the location and in the log of the spread."""
    _, slopes, _ = with_spread(noise, log_spread).joint(y, location)
    k = 1 + [own.name for own in noise.beside_location()].index(str(noise.spread))
    along, across = (float(np.average(slopes[i], weights=weight)) for i in (k, 0))
    return across, along


def _distance(noise: Noise, y: Cells, location: Any, weight: Numbers | None) -> float:
    """How far a point of each cell lies from the location, in the mean: about the spread."""
    away = np.abs(np.asarray(noise.located(y.points)) - location)
    told = np.isfinite(away)
    mean = float(np.average(away[told], weights=None if weight is None else weight[told])) if told.any() else 1.0
    return mean if 0 < mean < np.inf else 1.0
