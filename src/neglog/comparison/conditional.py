"""Where a law that is right on the whole is wrong: quantile residuals against every column."""

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from neglog.comparison.structures import LINEAR, SMOOTH, Feature
from neglog.distributions.lazy import special
from neglog.typing import Numbers

if TYPE_CHECKING:
    from neglog.comparison.comparison import Score

LEVEL = 0.8  # of the interval whose coverage is looked at
VALUES = 30  # different ones, up to which each has a bin of its own
BINS = 10
ROWS = 30  # that a bin has at least
SURE = 0.01  # what chance would do so often, after all columns were asked
OFF = 0.08  # of the coverage of some bin that is worth a word
SHIFTED = 0.25  # standard deviations of the mean of some bin that are worth a word
SHOWN = 3


@dataclass(frozen=True)
class Bin:
    """Rows that are alike in a column."""

    where: str
    rows: int
    coverage: float


@dataclass(frozen=True)
class Uneven:
    """A column along which the law is wrong, and where most."""

    column: str
    where: str  # the bin, as a sentence has it
    coverage: float  # of 80% intervals there
    shift: float  # of the rows there from their middle, in standard deviations
    of: str  # "location" or "spread"
    p: float  # after all columns were asked
    is_factor: bool
    bins: tuple["Bin", ...] = ()  # of the whole column, to be drawn

    def sentence(self, score: "Score") -> str:
        """What is wrong, and which term would mend it."""
        side = "above" if self.shift > 0 else "below"
        what = (
            f"{self.coverage:.0%} of the rows {self.where} lie inside their {LEVEL:.0%} interval"
            if self.of == "spread" or abs(self.coverage - LEVEL) > OFF
            else f"the rows {self.where} lie {abs(self.shift):.1f} standard deviations {side} the rest"
        )
        return f"{what}: {self._remedy(score)}"

    def _remedy(self, score: "Score") -> str:
        name = repr(self.column)
        term = name if self.is_factor else f"nl.smooth({name})"
        noise = score.noise
        if self.of == "spread" and noise.spread is not None and not noise.modelled:
            return f"a spread that depends on it would mend that, {noise.spread}=nl.terms({term})"
        if score.structure == LINEAR and not self.is_factor:
            return f"a curve would mend that, {term}"
        if score.structure in (LINEAR, SMOOTH):
            return f"an interaction of it with another column may mend that, nl.interaction({term}, ...)"
        return "look for a column that tells these rows apart"


def uneven(features: list[Feature], score: "Score") -> list[Uneven]:
    """The columns along which a noise is surely wrong, the worst first."""
    u = np.asarray(score.transform, float)
    if not np.isfinite(u).all() or len(u) < 2 * ROWS:
        return []
    z = special.ndtri(np.clip(u, 1e-6, 1 - 1e-6))
    z = (z - z.mean()) / max(float(z.std()), 1e-12)  # what is wrong everywhere is told by the distance of the whole
    inside = np.abs(u - 0.5) <= 0.5 * LEVEL
    asked = 2 * max(len(features), 1)
    found = [one for feature in features if (one := _along(feature, z, inside, asked)) is not None]
    return sorted(found, key=lambda one: (one.p, -abs(one.coverage - LEVEL)))[:SHOWN]


def _along(feature: Feature, z: Numbers, inside: Any, asked: int) -> Uneven | None:
    bins, names = _binned(feature)
    counts = np.bincount(bins, minlength=len(names))
    kept = np.flatnonzero(counts >= ROWS)
    if len(kept) < 2:
        return None
    n = counts[kept]
    mean = np.bincount(bins, z, len(names))[kept] / n
    square = np.bincount(bins, z**2, len(names))[kept] / n - mean**2
    covered = np.bincount(bins, inside, len(names))[kept] / n
    of_mean, of_spread = float(np.sum(n * mean**2)), float(np.sum(n / 2 * (square - 1) ** 2))
    p_mean, p_spread = (float(special.chdtrc(len(kept), x)) for x in (of_mean, of_spread))
    wholly = float(np.average(covered, weights=n))
    off = covered - wholly
    by_mean = np.max(np.abs(mean)) >= SHIFTED and asked * p_mean < SURE
    by_spread = np.max(np.abs(off)) >= OFF and asked * p_spread < SURE
    if not (by_mean or by_spread):
        return None
    of = "location" if by_mean and (not by_spread or of_mean >= of_spread) else "spread"
    worst = int(np.argmax(np.abs(mean))) if of == "location" else int(np.argmax(np.abs(off)))
    p = min(1.0, asked * (p_mean if of == "location" else p_spread))
    return Uneven(
        feature.name,
        names[kept[worst]],
        float(covered[worst]),
        float(mean[worst]),
        of,
        p,
        feature.levels is not None,
        tuple(Bin(names[k], int(counts[k]), float(covered[j])) for j, k in enumerate(kept)),
    )


def _binned(feature: Feature) -> tuple[Any, list[str]]:
    """The bin of each row, and what its rows are."""
    name, x = feature.name, feature.values
    if feature.levels is not None:
        places = np.where(x < 0, len(feature.levels), x)
        return places, [*(f"with {name} {level}" for level in feature.levels), f"with an unknown {name}"]
    x = np.asarray(x, float)
    values = np.unique(x)
    if len(values) <= VALUES:
        return np.searchsorted(values, x), [f"with {name} {value:g}" for value in values]
    edges = np.unique(np.quantile(x, np.linspace(0, 1, BINS + 1)))
    bins = np.clip(np.searchsorted(edges, x, side="right") - 1, 0, len(edges) - 2)
    return bins, [f"with {name} from {low:.4g} to {high:.4g}" for low, high in pairwise(edges)]
