"""What the best missed: residuals of rows that were left out, and the rows that decide the fit that can be read."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from neglog.checking.influence import Influence
from neglog.checking.worm import shape_of, worm_of
from neglog.distributions.lazy import special
from neglog.report.drawing import Plot, number
from neglog.report.head import readable
from neglog.report.page import Figure, Section, Table
from neglog.typing import Numbers

if TYPE_CHECKING:
    from neglog.comparison.comparison import Comparison

FEW = 200  # rows, of which residuals say little
USUAL = 0.05  # share of samples that are as far out by chance
DOTS = 150  # rows that are drawn beside those that decide most
MOST, NAMED = 30, 5  # rows that decide most, which are drawn, and which are listed


def residuals(comparison: "Comparison") -> Iterator[Section]:
    """Quantile residuals of the best, which are Gaussian if it is right; and what single rows decide."""
    best = comparison.scores[0]
    words, figures, tables = [], [], []
    u = best.transform
    if np.isfinite(u).all() and len(u) >= FEW:
        z = special.ndtri(np.clip(u, 1e-6, 1 - 1e-6))
        words = [f"Quantile residuals of {best.name}: the place of each row in its law, as a standard Gaussian number."]
        words += [_of_shape(z), _of_order(z)]
        figures = [_worm(z)]
        if np.isfinite(best.predicted).all() and not best.noise.labelled:
            figures.append(_by_prediction(z, best.predicted))
    found = _influence(comparison)
    if found is not None:
        words.append(_of_rows(comparison, found))
        figures.append(_deciding(found))
        tables.append(_most(found))
    if words:
        yield Section("Residual checks", words, figures, tables)


def _of_shape(z: Numbers) -> str:
    worm = worm_of(z)
    if worm.chance > USUAL:
        return "As a whole they are as a Gaussian has them."
    found = "; ".join(shape_of(z)) or f"they leave the band where a Gaussian has {worm.farthest:+.1f}"
    return f"They are not Gaussian: {found}."


def _of_order(z: Numbers) -> str:
    after = float(np.corrcoef(z[1:], z[:-1])[0, 1]) if z.std() > 0 else 0.0
    if abs(after) > max(0.05, 3 / np.sqrt(len(z))):
        return (
            f"Beware: rows that follow each other have alike residuals, correlation {number(after, 2)}. The errors and "
            "intervals of this page take rows as independent, and are then too small."
        )
    return f"Rows that follow each other have the correlation {number(after, 2)}: nothing to see."


def _worm(z: Numbers) -> Figure:
    worm = worm_of(z)
    reach = max(0.5, 1.1 * float(np.abs(worm.away).max()))
    ends = 1.05 * float(np.abs(worm.expected).max())
    plot = Plot((-ends, ends), (-reach, reach), xlabel="quantile of a standard Gaussian", ylabel="residuals, less that")
    plot.band(worm.expected, np.maximum(worm.lower, -reach), np.minimum(worm.upper, reach))
    plot.rule(y=0.0)
    out = (worm.away < worm.lower) | (worm.away > worm.upper)
    for kind, chosen in (("f0", ~out), ("f1", out)):
        titles = [
            f"{a + b:+.2f}, expected {a:+.2f}" for a, b in zip(worm.expected[chosen], worm.away[chosen], strict=True)
        ]
        plot.points(worm.expected[chosen], worm.away[chosen], titles, kind, 1.8)
    return Figure(
        plot.svg,
        "Quantiles of the residuals less those of a Gaussian, with the band that chance keeps to",
        "If the law is right, 19 of 20 such curves stay in the band as a whole. Red: outside.",
    )


def _by_prediction(z: Numbers, predicted: Numbers) -> Figure:
    groups = np.array_split(np.argsort(predicted, kind="stable"), 10)
    levels = (0.1, 0.5, 0.9)
    ends = np.array([np.quantile(z[rows], levels) for rows in groups]).T
    places = np.arange(1.0, 11.0)
    reach = max(2.0, 1.1 * float(np.abs(ends).max()))
    plot = Plot(
        (0.6, 10.4),
        (-reach, reach),
        xlabel="rows in ten groups of rising prediction",
        ylabel="residuals: 10%, 50%, 90%",
        xticks=[(x, f"{x:.0f}") for x in places],
    )
    for level, row in zip(levels, ends, strict=True):
        plot.rule(y=float(special.ndtri(level)))
        plot.line(places, row, "s0 thin")
        plot.points(
            places,
            row,
            [
                f"{level:.0%} of group {x:.0f}: {one:.2f}, expected {special.ndtri(level):.2f}"
                for x, one in zip(places, row, strict=True)
            ],
            "f0",
        )
    return Figure(
        plot.svg,
        "Three quantiles of the residuals in ten groups of rising prediction",
        "On the grey lines, the law is as wide as it should be everywhere.",
    )


# ---- rows that decide ------------------------------------------------------------------------------------------------


def _influence(comparison: "Comparison") -> Influence | None:
    """Of the fit that can be read, where its loss has a curvature and its rows are at hand."""
    try:
        return comparison.fit.influence()
    except ValueError:
        return None


def _of_rows(comparison: "Comparison", found: Influence) -> str:
    row = int(found.largest(1)[0])
    most = found.cooks_distance[row]
    name = readable(comparison).name
    if np.isnan(most):
        return f"Without row {row:,} some coefficient of {name} could not be told."
    verdict = "which is much" if most >= 1 else "which is not little" if most >= 0.1 else "which is little"
    return f"Of {name}, row {row:,} decides most, Cook's distance {number(float(most), 2)}, {verdict}."


def _deciding(found: Influence) -> Figure:
    first = found.largest(MOST)
    rest = np.setdiff1d(np.arange(len(found))[:: -(-len(found) // DOTS)], first)
    rows = np.concatenate([first, rest])
    leverage, cooks = found.leverage[rows], np.nan_to_num(found.cooks_distance[rows], nan=1.0)
    low, high = min(float(leverage.min()), 0.0), float(leverage.max())
    plot = Plot((low, 1.05 * high), (0, 1.1 * float(cooks.max())), xlabel="leverage", ylabel="Cook's distance")
    titles = [
        f"row {row:,}: leverage {number(a)}, Cook's distance {number(b)}"
        for row, a, b in zip(rows, leverage, cooks, strict=True)
    ]
    plot.points(leverage, cooks, titles, "f0", 2.5)
    return Figure(
        plot.svg,
        f"Leverage and Cook's distance of the {len(first)} rows that decide most, and of some others",
        "How far a row holds its own prediction, and how far the coefficients would move without it: from 1 on as far "
        "as they are uncertain.",
    )


def _most(found: Influence) -> Table:
    lines = []
    for row in found.largest(NAMED):
        moved = np.nan_to_num(found.dfbetas_of(row))
        at = int(np.argmax(np.abs(moved))) if len(moved) else 0
        most = f"{found.names[at]}, {moved[at]:+.2f}" if len(moved) else "–"
        lines.append([f"{row:,}", number(float(found.leverage[row])), number(float(found.cooks_distance[row])), most])
    heads = ["row", "leverage", "Cook's distance", "moves most, by standard errors"]
    return Table(heads, lines, 1, "Rows are numbered from 0, in the order of those that were fitted.")
