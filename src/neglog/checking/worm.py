"""Quantile residuals beside the quantiles of a standard normal, and how far chance alone takes them."""

from dataclasses import dataclass

import numpy as np

from neglog.distributions.lazy import special
from neglog.typing import Numbers

POINTS = 80  # of the curve, evenly spaced for the eye
DRAWN = 2000  # samples that tell where chance goes
LEVEL = 0.95  # of them stay inside everywhere
TAIL = 2.326348  # beyond which 1 row of 100 lies on either side
LARGE = 3.0  # standard errors that are worth a word
FAR = 4.0  # and this, of which there should be hardly any
RARE = 1e-3  # probability of so many


@dataclass(frozen=True)
class Worm:
    """The quantiles of residuals less those of a normal, where the latter are `expected`; 19 of 20 samples of so many
    rows from a normal stay between `lower` and `upper` everywhere (van Buuren and Fredriks 2001, Stat. Med. 20, 1259).
    `chance` is the share of such samples that go as far out at some place.
    """

    expected: Numbers
    away: Numbers
    lower: Numbers
    upper: Numbers
    chance: float

    @property
    def inside(self) -> bool:
        """Whether the whole curve is."""
        return bool(np.all((self.away >= self.lower) & (self.away <= self.upper)))

    @property
    def farthest(self) -> float:
        """The quantile of a normal at which the curve is farthest out, for the width of the band there."""
        half = 0.5 * (self.upper - self.lower)
        return float(self.expected[np.argmax(np.abs(self.away - 0.5 * (self.upper + self.lower)) / half)])


def worm_of(residuals: Numbers) -> Worm:
    """Of residuals that are standard normal if the noise is right."""
    z = np.sort(residuals)
    n = len(z)
    reach = -float(special.ndtri(0.6 / (n + 1)))
    ranks = np.unique(np.clip(np.rint((n + 1) * special.ndtr(np.linspace(-reach, reach, POINTS))), 1, n)).astype(int)
    above = n + 1 - ranks
    expected = special.ndtri(special.betaincinv(ranks, above, 0.5))
    least = _least_tails(ranks, n)
    level = np.quantile(least, 1 - LEVEL)
    lower, upper = (special.ndtri(special.betaincinv(ranks, above, one)) for one in (level, 1 - level))
    places = special.ndtr(z[ranks - 1])
    own = np.minimum(
        special.betainc(ranks, above, places), special.betainc(above, ranks, special.ndtr(-z[ranks - 1]))
    ).min()
    chance = float(np.mean(least <= own))
    return Worm(expected, z[ranks - 1] - expected, lower - expected, upper - expected, chance)


def _least_tails(ranks: Numbers, n: int) -> Numbers:
    """For samples from a normal, how far in a tail of its law that order statistic is which is farthest."""
    rng = np.random.default_rng(0)
    gaps = rng.standard_gamma(np.diff(ranks, prepend=0, append=n + 1), (DRAWN, len(ranks) + 1))
    sums = np.cumsum(gaps, axis=1)
    places = special.betainc(ranks, n + 1 - ranks, sums[:, :-1] / sums[:, -1:])
    return np.asarray(np.minimum(places, 1 - places).min(axis=1))


def shape_of(z: Numbers) -> list[str]:
    """What is unlike a standard normal, in words: where its middle is, how wide it is, how heavy its tails are."""
    n = len(z)
    low, middle, high = np.quantile(z, (0.25, 0.5, 0.75))
    width = (high - low) / 1.348980
    found = []
    if abs(middle) * np.sqrt(n) / 1.2533 > LARGE:
        found.append(f"half lie {'above' if middle > 0 else 'below'} {middle:+.2f}")
    if abs(width - 1) * np.sqrt(n) / 1.1664 > LARGE:
        found.append(f"the middle half is {width:.2f} times as wide as it should be")
    return found + _tails(z) + _far(z)


def _tails(z: Numbers) -> list[str]:
    counts = np.array([np.count_nonzero(z < -TAIL), np.count_nonzero(z > TAIL)])
    expected = 0.01 * len(z)
    odd = np.abs(counts - expected) > LARGE * np.sqrt(expected)
    more = counts > expected
    if odd.all() and more[0] == more[1]:
        return [f"{100 * counts.sum() / len(z):.2g}% are beyond ±{TAIL:.2f}, where 2% should be"]
    sides = zip(counts, odd, ("below -", "above "), strict=True)
    return [
        f"{100 * count / len(z):.2g}% are {side}{TAIL:.2f}, where 1% should be" for count, own, side in sides if own
    ]


def _far(z: Numbers) -> list[str]:
    count, expected = int(np.count_nonzero(np.abs(z) > FAR)), 2 * float(special.ndtr(-FAR)) * len(z)
    if not count or special.pdtrc(count - 1, expected) > RARE:
        return []
    verb = "row is" if count == 1 else "rows are"
    return [f"{count:,} {verb} beyond ±{FAR:g}, where {expected:.2g} should be"]
