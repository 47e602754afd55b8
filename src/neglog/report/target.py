"""The target: what it looks like, and what good laws expect of it as a whole."""

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from neglog.comparison.described import bins_of
from neglog.comparison.structures import CONSTANT
from neglog.report.drawing import Plot, number
from neglog.report.page import Figure, Section
from neglog.typing import Numbers

if TYPE_CHECKING:
    from neglog.comparison.comparison import Comparison, Score

LAWS = 3  # that are drawn
ALIKE = 0.001  # of the rows in each bin
ROWS = 1500  # whose laws are asked where those held out were not kept
CLASSES = 20  # that are drawn with their names


def target(comparison: "Comparison") -> Iterator[Section]:
    """A histogram, and the laws over it."""
    y, title = comparison.y, f"What {comparison.target} looks like"
    weight = comparison.scores[0].weight
    if np.asarray(y).dtype.kind not in "fiub" or comparison.scores[0].noise.labelled:
        yield Section(title, figures=[_classes(y, weight)])
        return
    y = np.asarray(y, float)
    edges = comparison.scores[0].edges
    kept = edges is not None
    edges = bins_of(y) if edges is None else edges
    if edges is None:
        return
    order = np.searchsorted(edges, y, side="left")  # 0 is what is not above the first edge
    shares = np.bincount(order, weight, len(edges) + 1) / weight.sum()
    first = int(shares[0] == 0)  # a bin for what is at the first edge, where there is any
    cells = not kept and comparison.scores[0].totals is None  # points in them are not what laws are about
    laws = [] if cells else _good(comparison)
    expected = [np.diff(_below(score, edges), prepend=0.0) for score in laws]
    labels = _labels(edges, first)
    heights = shares[first : len(edges)]
    drawn = [one[first:] for one in expected]
    zeros = float(weight[y == 0].sum() / weight.sum())
    quantiles = ", ".join(number(float(one)) for one in np.quantile(y, (0, 0.25, 0.5, 0.75, 1)))
    words = [
        f"{len(y):,} rows: least, quartiles and largest are {quantiles}; the mean is "
        f"{number(float(np.average(y, weights=weight)))}.{f' {zeros:.1%} are zero.' if zeros else ''}"
    ]
    if cells:
        words.append("The target holds cells: a point in each is drawn.")
    if zeros and y.min() >= 0 and laws:
        said = ", ".join(
            f"{float(_below(one, np.zeros(1))[0]) if not kept else _at_zero(one, edges):.1%} by {one.name}"
            for one in laws
        )
        words.append(f"At or below zero are expected {said}.")
    what = "rows that were left out, on average under the laws that were fitted without them"
    if any(one.expected is None for one in laws):
        what = "rows that were left out, under each noise with its usual spread around what was predicted for them"
    rest = shares[len(edges)]
    beyond = f" {rest:.1%} of the rows are larger than the last bin." if rest > 0 else ""
    figures = [
        Figure(
            _histogram(comparison.target, heights, drawn, labels),
            f"Histogram of {comparison.target}, and the frequencies that {', '.join(one.name for one in laws)} expect",
            f"Bars: share of the rows in each bin.{f' Lines: the shares expected in {what}.' if laws else ''}{beyond}",
        )
    ]
    if laws:
        alt = "Rootogram: the square root of the counted less that of the expected rows in each bin"
        figures.append(
            Figure(
                _rootogram(heights, drawn, labels, float(weight.sum() ** 2 / np.sum(weight**2))),
                alt,
                "The same as a rootogram: √counted − √expected. Chance stays within the grey lines; below 0 more is "
                "expected than there is.",
            )
        )
    yield Section(title, words, figures, legend=[one.name for one in laws])


def _good(comparison: "Comparison") -> list["Score"]:
    """The best, and the next of other noises."""
    best, *others = [one for one in comparison.scores if one.structure != CONSTANT and not one.noise.labelled] or [
        comparison.scores[0]
    ]
    chosen, laws = [best], {best.law}
    for one in others:
        if one.law not in laws and len(chosen) < LAWS and not any(_alike(one, other) for other in chosen):
            chosen.append(one)
            laws.add(one.law)
    return chosen


def _alike(one: "Score", other: "Score") -> bool:
    """Whether nobody would tell their lines apart."""
    if one.expected is None or other.expected is None:
        return False
    return bool(np.max(np.abs(np.diff(one.expected - other.expected))) < ALIKE)


def _below(score: "Score", edges: Numbers) -> Numbers:
    """P(Y <= edge), on average over rows."""
    if score.expected is not None and score.edges is not None and len(edges) == len(score.edges):
        return score.expected
    few = slice(None, None, -(-len(score.predicted) // ROWS))
    noise = score.fitted
    with np.errstate(all="ignore"):
        law = noise.given(noise.link.forward(noise.location_at(score.predicted[few])))
        found = [np.average(law.cdf(np.full(law.batch_shape, edge)), weights=score.weight[few]) for edge in edges]
    return np.array(found)


def _at_zero(score: "Score", edges: Numbers) -> float:
    """The same at 0, which lies between the first two edges of counts and at the first of amounts."""
    return float(_below(score, edges)[int(np.searchsorted(edges, 0.0))])


def _labels(edges: Numbers, first: int) -> list[str]:
    """Of each bin; of counts the counts themselves."""
    if np.all(np.abs(edges % 1) == 0.5):
        ends = [(a + 0.5, b - 0.5) for a, b in pairwise(edges)]
        names = [f"{a:g}" if a == b else f"{a:g} to {b:g}" for a, b in ends]
    else:
        names = [f"{number(a)} to {number(b)}" for a, b in pairwise(edges)]
    return names if first else [f"{number(float(edges[0]))} or less", *names]


def _axes(count: int, labels: list[str]) -> list[tuple[float, str]]:
    every = -(-count // 6)
    return [(k + 0.5, labels[k].split(" ")[0]) for k in range(0, count, every)]


def _histogram(name: str, heights: Numbers, drawn: list[Numbers], labels: list[str]) -> str:
    count = len(heights)
    top = 1.08 * max(float(np.nanmax(one)) for one in (heights, *drawn))
    top = min(top, 1.6 * float(heights.max()))  # where a law expects all rows in one bin
    plot = Plot((0, count), (0, top), xlabel=name, ylabel="share of the rows", xticks=_axes(count, labels))
    places = np.arange(count) + 0.5
    plot.bars(np.arange(count + 1.0), heights, ["" for _ in labels], "fq")
    for k, one in reversed(list(enumerate(drawn))):  # the best on top
        plot.line(places, np.minimum(one, top), f"s{k}")
    plot.hover(
        places,
        [
            _said(label, share, [one[j] for one in drawn])
            for j, (label, share) in enumerate(zip(labels, heights, strict=True))
        ],
    )
    return plot.svg


def _said(label: str, share: float, expected: list[Any]) -> str:
    shares = ", ".join(f"{one:.2%}" for one in expected)
    return f"{label}: {share:.2%} of the rows{f', expected {shares}' if expected else ''}"


def _rootogram(heights: Numbers, drawn: list[Numbers], labels: list[str], rows: float) -> str:
    away = [np.sqrt(rows * heights) - np.sqrt(np.maximum(rows * one, 0)) for one in drawn]
    reach = max(
        2.0, 1.1 * float(np.max(np.abs(away[0]))), *(1.1 * float(np.quantile(np.abs(one), 0.9)) for one in away)
    )
    count = len(heights)
    plot = Plot(
        (0, count), (-reach, reach), xlabel="the same bins", ylabel="√counted − √expected", xticks=_axes(count, labels)
    )
    for y in (-1.0, 0.0, 1.0):
        plot.rule(y=y)
    places = np.arange(count) + 0.5
    for k, one in reversed(list(enumerate(away))):
        plot.line(places, np.clip(one, -reach, reach), f"s{k}")
    plot.hover(places, [f"{label}: {', '.join(f'{one[j]:+.2f}' for one in away)}" for j, label in enumerate(labels)])
    return plot.svg


def _classes(y: Any, weight: Numbers) -> Figure:
    """How often each class is there."""
    numeric = np.asarray(y).dtype.kind in "fiu"  # whose order says something
    names, codes = np.unique(np.asarray(y) if numeric else np.asarray(y).astype(str), return_inverse=True)
    shares = np.bincount(codes, weight) / weight.sum()
    order = np.arange(len(names))[:CLASSES] if numeric else np.argsort(-shares)[:CLASSES]
    rows = [f"{names[k]:g}" if numeric else str(names[k]) for k in order]
    plot = Plot(
        (0, float(shares.max()) * 1.15),
        (-0.6, len(rows) - 0.4),
        rows=rows,
        height=20 * len(rows) + 50,
        xlabel="share of the rows",
    )
    for place, k in enumerate(order):
        y0 = len(rows) - 1.0 - place
        plot.line([0, shares[k]], [y0, y0], "thick", f"{names[k]}: {shares[k]:.1%}")
        plot.text(float(plot.across(shares[k])) + 4, float(plot.down(y0)) + 4, f"{shares[k]:.1%}")
    return Figure(
        plot.svg, f"How often each of {len(names)} classes is there", f"{len(y):,} rows in {len(names)} classes."
    )
