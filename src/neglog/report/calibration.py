"""Whether the laws hold what they promise: on the whole, along columns, and in the mean."""

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from neglog.comparison.comparison import LEVELS
from neglog.comparison.conditional import LEVEL, Uneven
from neglog.comparison.structures import CONSTANT
from neglog.report.drawing import Plot, number
from neglog.report.page import Figure, Section

if TYPE_CHECKING:
    from neglog.comparison.comparison import Comparison, Score

END = 0.16  # of the axis of coverage
SAME = 1e-5  # nats a row between laws that are one
BARS = 20  # of a histogram of places
LARGEST = 3.0  # height of its bars, where even ones have 1
SURE = 1.96  # standard errors of a band in which chance stays 19 of 20 times


def _two(comparison: "Comparison") -> list["Score"]:
    """The best and the runner-up, unless that came to the same."""
    best, *others = comparison.scores
    others = [one for one in others if one.structure != CONSTANT and one.noise.of_classes == best.noise.of_classes]
    different = (one for one in others if comparison.gap(one)[0] > SAME)
    return [best, *islice(different, 1)]


def calibration(comparison: "Comparison") -> Iterator[Section]:
    """Places in the predictive laws, coverage and means."""
    two = _two(comparison)
    if comparison.best.of_classes:
        figures = [_confidence(two)] if np.asarray(comparison.y).dtype.kind not in "fiub" else []
        words = ["Classes have no order, and so no intervals."]
        yield Section("Can its probabilities be trusted?", words, figures, legend=[one.name for one in two])
        return
    promised = ", ".join(f"{level:.0%}" for level in LEVELS)
    words = [
        f"In the {promised} intervals of {one.name} lie {', '.join(f'{one.coverage(level):.1%}' for level in LEVELS)} "
        "of the rows."
        for one in two
    ]
    figures = [_places(one, k) for k, one in enumerate(two)]
    figures.append(_coverage(two))
    if not comparison.best.labelled and np.isfinite(two[0].predicted).all():
        figures.append(_means(comparison, two))
    yield Section("Can its intervals be trusted?", words, figures, legend=[one.name for one in two])


def conditional(comparison: "Comparison") -> Iterator[Section]:
    """Columns along which the best is wrong."""
    if not comparison.uneven:
        return
    best = comparison.scores[0]
    yield Section(
        "Where it is wrong",
        ["Right on the whole is not right everywhere: these columns tell rows whose intervals are off."],
        [_along(one, best.coverage(LEVEL)) for one in comparison.uneven],
        bullets=[f"{one.sentence(best)}." for one in comparison.uneven],
    )


def _places(score: "Score", k: int) -> Figure:
    heights, edges = np.histogram(score.transform, bins=BARS, range=(0, 1), weights=score.weight)
    heights = BARS * heights / score.weight.sum()
    chance = SURE * float(np.sqrt((BARS - 1) / score.counted))
    plot = Plot(
        (0, 1),
        (0, max(1.4, min(LARGEST, 1.1 * float(heights.max())))),
        height=190,
        title=score.name,
        xlabel="place in the predictive law",
    )
    titles = [
        f"{edges[j]:.0%} to {edges[j + 1]:.0%}: {one:.2f} times as many as expected" for j, one in enumerate(heights)
    ]
    plot.bars(edges, heights, titles, f"f{k}")
    plot.rule(y=1.0, kind="mark")
    for y in (1 - chance, 1 + chance):
        plot.rule(y=max(y, 0.0))
    return Figure(
        plot.svg,
        f"Histogram of the probability integral transform of {score.name}, KS distance {score.ks:.3f}",
        f"Level bars: the law is right. A hump in the middle: too wide; high ends: too narrow. KS {score.ks:.3f}.",
    )


def _coverage(two: list["Score"]) -> Figure:
    levels = np.linspace(0.02, 0.98, 49)
    plot = Plot(
        (0, 1),
        (-END, END),
        xlabel="level of the interval",
        ylabel="rows inside, less the level",
        xticks=[(x, f"{x:.0%}") for x in (0, *LEVELS)],
        yticks=[(k / 100, f"{k:+d}%".replace("-", "−")) for k in range(-15, 16, 5)],
    )
    chance = SURE * np.sqrt(levels * (1 - levels) / two[0].counted)
    chance = np.minimum(chance, END)
    plot.band(levels, -chance, chance)
    plot.rule(y=0.0)
    for k, one in reversed(list(enumerate(two))):  # the best on top
        off = np.array([one.coverage(level) - level for level in levels])
        plot.line(levels, np.clip(off, -END, END), f"s{k}", one.name)
        titles = [f"{one.name}: {one.coverage(level):.1%} inside the {level:.0%} interval" for level in LEVELS]
        plot.points(LEVELS, [np.clip(one.coverage(level) - level, -END, END) for level in LEVELS], titles, f"f{k}")
    return Figure(
        plot.svg,
        f"Coverage of intervals of all levels by {' and '.join(one.name for one in two)}",
        "How many more rows than promised are inside central intervals: above 0 too wide, below too narrow. The band "
        "is what chance does.",
    )


def _means(comparison: "Comparison", two: list["Score"]) -> Figure:
    groups = [one.by_decile(comparison.y) for one in two]
    ends = np.concatenate([part for pair in groups for part in pair])
    low, high = float(ends.min()), float(ends.max())
    room = 0.05 * (high - low)
    span = (low - room, high + room)
    plot = Plot(span, span, xlabel="mean prediction of the group", ylabel="mean of the target")
    plot.line(span, span, "rule")
    for k, (one, (observed, predicted)) in enumerate(zip(two, groups, strict=True)):
        titles = [
            f"{one.name}: predicted {number(a)}, was {number(b)}" for a, b in zip(predicted, observed, strict=True)
        ]
        plot.line(predicted, observed, f"s{k} thin")
        plot.points(predicted, observed, titles, f"f{k}")
    return Figure(
        plot.svg,
        f"Mean of {comparison.target} against the mean prediction in ten groups of rows",
        "Rows that were left out, in ten groups of rising prediction: on the line, what is predicted is right.",
    )


def _confidence(two: list["Score"]) -> Figure:
    """Of classes: how often the most probable one came, against its probability."""
    plot = Plot((0, 1), (0, 1), xlabel="probability of the most probable class", ylabel="how often it came")
    plot.line((0, 1), (0, 1), "rule")
    for k, one in enumerate(two):
        right = np.isclose(np.exp(-one.nll), one.predicted, rtol=1e-9)
        for rows in np.array_split(np.argsort(one.predicted, kind="stable"), 10):
            if len(rows):
                a = float(np.average(one.predicted[rows], weights=one.weight[rows]))
                b = float(np.average(right[rows], weights=one.weight[rows]))
                plot.points([a], [b], [f"{one.name}: probability {a:.1%}, came {b:.1%}"], f"f{k}")
    return Figure(
        plot.svg,
        "How often the most probable class came, against its probability",
        "Rows that were left out, in ten groups: on the line, the probabilities are right.",
    )


def _along(one: Uneven, whole: float) -> Figure:
    """Coverage in the bins of a column."""
    bins = one.bins
    shares = np.array([each.coverage for each in bins])
    errors = SURE * np.sqrt(LEVEL * (1 - LEVEL) / np.array([each.rows for each in bins]))
    low = min(0.5, float(shares.min()) - 0.05)
    names = [_short(each.where, one.column) for each in bins]
    every = -(-len(bins) * max(map(len, names)) // 45)
    plot = Plot(
        (-0.6, len(bins) - 0.4),
        (low, 1.0),
        title=one.column,
        xlabel=one.column,
        ylabel=f"inside {LEVEL:.0%} intervals",
        xticks=[(k, names[k]) for k in range(0, len(bins), every)],
        yticks=[(y, f"{y:.0%}") for y in np.arange(1.0, low, -0.1)],
    )
    plot.rule(y=LEVEL, kind="mark")
    for k, (each, error) in enumerate(zip(bins, errors, strict=True)):
        x = float(plot.across(k))
        top, foot = (float(plot.down(np.clip(y, low, 1.0))) for y in (LEVEL + error, LEVEL - error))
        plot.line_between(x, top, x, foot, "chance")
        kind = "f1" if abs(each.coverage - LEVEL) > error else "f0"
        plot.points([k], [each.coverage], [f"{each.where}: {each.coverage:.1%} of {each.rows:,} rows"], kind)
    return Figure(
        plot.svg,
        f"Share of rows inside their {LEVEL:.0%} interval along {one.column}; {whole:.1%} on the whole",
        f"Bars: what chance makes of {LEVEL:.0%}. Red: rows whose intervals are off.",
    )


def _short(where: str, column: str) -> str:
    """The value, or where a bin begins."""
    text = where.removeprefix(f"with {column} ").removeprefix("with ")
    return text.removeprefix("from ").partition(" to ")[0] if text.startswith("from ") else text
