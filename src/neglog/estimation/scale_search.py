"""The scale of a Gaussian prior with the most evidence, in few fits.

At a scale s the evidence rises with log s by  A - g  plus what the curvature of the rows changes on the way, where
A = sum of squared coefficients / s^2 and g is the effective number of coefficients (MacKay 1992). The first two are
known from each fit, the last from the difference of two evidences. Secants on log(A / g) / 2, which is nearly linear in
log s, find where they balance.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from neglog.likelihood.task import Answer

SETTLED = 1e-4  # change of the log scale that ends the search; what is left after a secant is far less
APART = 0.05  # of two log scales whose evidences show how the curvature changes
SMALL = 1e-3  # of the effective number of coefficients: a drift that hardly moves the maximum
FITS = 30  # at most
PATIENCE = 8  # fits after which each makes the search twice as easy to settle: curvatures that jump never quite do
FAINT = 0.3  # effective coefficients, of all together, below which the prior holds all and the least scale is tried
FARTHEST = 4.0  # step of the log scale
SLOPES = (-4.0, -0.02)  # of log(A / g) / 2 in the log scale that are believed; -1 where the data know the coefficients


@dataclass(frozen=True)
class Evidence:
    """The fit at one scale: its log evidence, up to a constant, and what it says about other scales."""

    place: float  # where the search asked
    log_scale: float
    value: float
    pull: float  # A
    effective: float  # g
    answer: Answer

    def balance(self, drift: float) -> float:
        """Positive where a larger scale has more evidence; the distance in log scale, if nothing else changed."""
        return 0.5 * float(np.log(max(self.pull, 1e-300) / max(self.effective - drift, 0.1 * self.effective, 1e-300)))


def drift_between(one: Evidence, other: Evidence) -> float:
    """How fast the evidence rises between two scales beyond A - g: A falls as a power of the scale, g hardly."""
    ratio = np.log(max(other.pull, 1e-300) / max(one.pull, 1e-300))
    pull = (other.pull - one.pull) / ratio if abs(ratio) > 1e-9 else one.pull
    mean = pull - 0.5 * (one.effective + other.effective)
    return float((other.value - one.value) / (other.log_scale - one.log_scale) - mean)


def best_scale(at: Callable[[float], Evidence], first: Evidence, low: float, high: float) -> tuple[Evidence, float]:
    """The last fit, and the place between low and high with the most evidence, as far as it can be told from there."""
    here = first
    tried = [here]
    for _ in range(FITS):
        drift, sure = _drift(tried, here)
        following = _following(tried, here, drift, low, high)
        if following == here.place:
            break
        settled = abs(following - here.place) < SETTLED * 2.0 ** max(0, len(tried) - PATIENCE)
        if not sure and abs(following - here.place) < APART:
            aside = here.place + (APART if following > here.place else -APART)
            following = aside if low < aside < high else 2 * here.place - aside
        elif settled:
            return here, following
        here = at(following)
        tried.append(here)
    return here, here.place


def _drift(tried: list[Evidence], here: Evidence) -> tuple[float, bool]:
    """From the pair of fits about here that are near, but not so near that rounding drowns the difference; and whether
    that is near enough, which matters little for a drift that is small.
    """
    others = [one for one in tried if 0.2 * APART < abs(one.log_scale - here.log_scale) < 20 * APART]
    if not others:
        return 0.0, False
    near = min(others, key=lambda one: abs(abs(one.log_scale - here.log_scale) - APART))
    found = drift_between(here, near)
    if not np.isfinite(found):
        return 0.0, True
    return found, abs(near.log_scale - here.log_scale) < 3 * APART or abs(found) < SMALL * here.effective


def _following(tried: list[Evidence], here: Evidence, drift: float, low: float, high: float) -> float:
    """By the secant through the nearest other fit, within the bracket that the signs give."""
    value = here.balance(drift)
    if value < 0 and here.effective < FAINT and all(one.place > low for one in tried):
        return low
    slope = -1.0
    if len(tried) > 1:
        near = min((one for one in tried if one is not here), key=lambda one: abs(one.place - here.place))
        gap = near.place - here.place
        slope = (near.balance(drift) - value) / gap if gap else slope
        slope = min(max(slope, SLOPES[0]), SLOPES[1])
    step = min(max(-value / slope, -FARTHEST), FARTHEST)
    below = [one.place for one in tried if one.place < here.place and one.balance(drift) > 0]
    above = [one.place for one in tried if one.place > here.place and one.balance(drift) < 0]
    following = here.place + step
    if value > 0 and above and following >= min(above):
        following = 0.5 * (here.place + min(above))
    if value < 0 and below and following <= max(below):
        following = 0.5 * (here.place + max(below))
    return float(min(max(following, low), high))
