"""What pictures of residuals show, in numbers and in sentences: along the prediction, in their order, and by counts."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from neglog.distributions.lazy import special
from neglog.typing import Numbers

GROUPS = 20  # of rows of like predictions, at most
FEW = 25  # rows of a group, at least
SHARES = (0.1, 0.5, 0.9)  # of them that are shown
SURE = 1e-3  # probability that chance does as much, from which on it is said
BARS = 26  # of a rootogram
ENOUGH = 5.0  # rows that are expected in a bar that is spoken of
CLEAR = 3.5  # standard deviations of a bar


# ---- along the prediction --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Along:
    """Groups of rows of rising prediction: where each is, and the 10%, 50% and 90% quantiles of its residuals. `drifts`
    and `differs` say whether they lie elsewhere, or spread otherwise, from group to group, by more than chance.
    """

    places: Numbers
    levels: Numbers  # (3, groups)
    rows: Numbers
    drifts: bool
    differs: bool

    @property
    def spreads(self) -> Numbers:
        """Those of a normal with the same outer quantiles."""
        return np.asarray((self.levels[2] - self.levels[0]) / (2 * float(special.ndtri(SHARES[2]))))


def along(z: Numbers, predicted: Numbers) -> Along | None:
    """Groups of as many rows each; None where predictions hardly differ, or rows are few."""
    count = min(GROUPS, len(z) // FEW)
    if count < 2 or not np.ptp(predicted) > 0:
        return None
    order = np.argsort(predicted, kind="stable")
    edges = np.unique(np.searchsorted(predicted[order], np.quantile(predicted, np.linspace(0, 1, count + 1)[1:-1])))
    groups = [rows for rows in np.split(order, edges) if len(rows) >= FEW // 2]
    if len(groups) < 2:
        return None
    levels = np.array([np.quantile(z[rows], SHARES) for rows in groups]).T
    away = [np.abs(z[rows] - middle) for rows, middle in zip(groups, levels[1], strict=True)]
    return Along(
        np.array([np.median(predicted[rows]) for rows in groups]),
        levels,
        np.array([len(rows) for rows in groups], float),
        _chance([z[rows] for rows in groups]) < SURE,
        _chance(away) < SURE,
    )


def _chance(groups: list[Numbers]) -> float:
    """The probability of ranks so unlike from group to group, if all are from one law (Kruskal and Wallis)."""
    values = np.concatenate(groups)
    ranks = np.empty(len(values))
    ranks[np.argsort(values, kind="stable")] = np.arange(1.0, len(values) + 1)
    n, parts = len(values), np.split(ranks, np.cumsum([len(one) for one in groups])[:-1])
    away = sum(len(one) * (one.mean() - 0.5 * (n + 1)) ** 2 for one in parts)
    return float(special.chdtrc(len(groups) - 1, 12 * away / (n * (n + 1))))


def sentence_along(found: Along | None) -> str:
    """Whether residuals are alike whatever was predicted."""
    if found is None:
        return ""
    said, middle = [], found.levels[1]
    if found.drifts:
        worst = int(np.argmax(np.abs(middle) * np.sqrt(found.rows)))
        side = "high" if middle[worst] > 0 else "low"
        said.append(
            f"about {found.places[worst]:.3g} y is mostly too {side}, their median there is {middle[worst]:+.2f}"
        )
    if found.differs:
        low, high = int(np.argmin(found.spreads)), int(np.argmax(found.spreads))
        said.append(
            f"they spread by {found.spreads[low]:.2f} about {found.places[low]:.3g} and by {found.spreads[high]:.2f} "
            f"about {found.places[high]:.3g}"
        )
    if not said:
        return "Along the prediction they are alike, as they should be."
    return f"They change along the prediction: {'; '.join(said)}."


# ---- in their order --------------------------------------------------------------------------------------------------


def sentence_of_order(z: Numbers) -> str:
    """Whether rows that follow each other are alike."""
    after = float(np.corrcoef(z[1:], z[:-1])[0, 1]) if len(z) > 3 and z.std() > 0 else 0.0
    if abs(after) * np.sqrt(len(z)) > CLEAR:
        return (
            f"Rows that follow each other have alike residuals, correlation {after:.2f}: errors that take them as "
            "independent are too small."
        )
    return f"Rows that follow each other have the correlation {after:.2f}: nothing to see."


# ---- counts ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Bars:
    """How often y is in each bin, and how often the laws expect it; `deviations` are those of chance, `classes` the
    labels of what has numbers only here.
    """

    edges: Numbers
    counted: Numbers
    expected: Numbers
    deviations: Numbers
    classes: tuple[Any, ...] | None = None

    def labels(self) -> list[str]:
        """The counts of each bin, or its class."""
        if self.classes is not None:
            return [str(self.classes[int(edge + 0.5)]) for edge in self.edges[:-1]]
        ends = zip(self.edges[:-1], self.edges[1:], strict=True)
        return [f"{a + 0.5:.0f}" if b - a == 1 else f"{a + 0.5:.0f}–{b - 0.5:.0f}" for a, b in ends]


def bars_of(law: Any, y: Numbers) -> Bars:
    """Of counts, each by itself where they are few."""
    least, most = float(y.min()), float(y.max())
    top = max(float(np.quantile(y, 0.995)), least + 1)
    wide = int(np.ceil((top - least + 1) / BARS))
    edges = least - 0.5 + wide * np.arange(int(np.ceil((top - least + 1) / wide)) + 1)
    edges = edges[edges < most + 0.5 + wide]
    counted, _ = np.histogram(y, edges)
    rows = len(y)
    if wide == 1:
        shares = (np.asarray(law.pdf(np.full(rows, edge + 0.5))) for edge in edges[:-1])
    else:
        below = [np.asarray(law.cdf(np.full(rows, edge))) for edge in edges]
        shares = (after - before for before, after in pairwise(below))
    sums = np.array([(p.sum(), np.sum(p * (1 - p))) for p in shares])
    classes = law.classes if law.labelled else None
    return Bars(edges, counted, sums[:, 0], np.sqrt(sums[:, 1]), classes)


def sentence_of_bars(found: Bars) -> str:
    """The bin that is farthest from what was expected, if chance does not do that."""
    away = np.where(
        found.expected >= ENOUGH, (found.counted - found.expected) / np.maximum(found.deviations, 1e-9), 0.0
    )
    worst = int(np.argmax(np.abs(away)))
    if not abs(away[worst]) > CLEAR:
        return f"Each {'count' if found.classes is None else 'class'} occurs about as often as it should."
    return (
        f"{found.labels()[worst]} occurs {found.counted[worst]:,} times, where {found.expected[worst]:,.0f} were "
        "expected."
    )


# ---- probabilities ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Promised:
    """Groups of rows of rising probability: what was promised, how often it came, and what chance does."""

    promised: Numbers
    came: Numbers
    deviations: Numbers


def promised_of(p: Numbers, y: Numbers) -> Promised:
    """Of as many rows each."""
    count = int(np.clip(len(y) // FEW, 1, GROUPS // 2))
    groups = [rows for rows in np.array_split(np.argsort(p, kind="stable"), count) if len(rows)]
    return Promised(
        np.array([p[rows].mean() for rows in groups]),
        np.array([y[rows].mean() for rows in groups]),
        np.array([np.sqrt(np.sum(p[rows] * (1 - p[rows]))) / len(rows) for rows in groups]),
    )


def sentence_of_promises(found: Promised) -> str:
    """The group that is farthest off, if chance does not do that."""
    away = (found.came - found.promised) / np.maximum(found.deviations, 1e-300)
    worst = int(np.argmax(np.abs(away)))
    if not abs(away[worst]) > CLEAR:
        return "What was promised came about as often as it should."
    return f"Where {found.promised[worst]:.1%} was promised, {found.came[worst]:.1%} came."
