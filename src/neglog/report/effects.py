"""What each term does: curves with bands, levels against the average, pairs of columns as colours."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from neglog.design.design import Column, Gap
from neglog.design.parts import Part
from neglog.report.drawing import WIDTH, Plot, factor_ticks, number
from neglog.report.head import nats, readable
from neglog.report.page import Figure, Section
from neglog.results.effects import Effect, contrast_of, names_of_terms
from neglog.typing import Numbers

if TYPE_CHECKING:
    from neglog.comparison.comparison import Comparison
    from neglog.comparison.described import Described
    from neglog.results.fit import Fit

BAND = 0.9  # level of the intervals
SHOWN = 12  # terms, those that move the prediction most
LEVELS = 24  # of a factor that are drawn with their names; of more, the outermost
CURVES = 6  # by level that are told apart
CELLS = 40  # of a heat map of levels, each way
IDLE = 1e-6  # of a term whose prior scale went to 0
SPREAD = 3  # standard deviations of levels that are like the range of a curve
STRAIGHT = 25  # points of a line, for the mouse


@dataclass(frozen=True)
class Drawn:
    """One term, and how far it moves the prediction."""

    name: str
    figure: Figure
    reach: float


def effects(comparison: "Comparison") -> Iterator[Section]:
    """A section for the location, and one for each parameter that is modelled."""
    fit, score = comparison.fit, readable(comparison)
    if fit.schema.table is None or (fit.noise.of_classes and len(fit.classes) > 2):
        return
    described = {one.name: one for one in comparison.columns}
    for of in fit.predictors:
        found = []
        for name in names_of_terms(fit.schema, of):
            part = next(one for one in fit.schema.parts if not isinstance(one, Gap) and one.name == name)
            drawn = _drawn(fit, part, of, described)
            if drawn is not None:
                found.append(drawn)
        if not found:
            continue
        idle = [one.name for one in found if one.reach < IDLE]
        found = sorted((one for one in found if one.reach >= IDLE), key=lambda one: -one.reach)
        words = [_about(fit, of)]
        if idle:
            words.append(f"Without any effect, and not drawn: {', '.join(idle)}.")
        if score is not comparison.scores[0] and of == "location":
            words.insert(
                0,
                f"The best law, {comparison.scores[0].name}, cannot be read term by term. Below is {score.name}, the "
                f"best that can: it costs {nats(comparison.gap(score))} nats a row more.",
            )
        if len(found) > SHOWN:
            words.append(f"The {SHOWN} of {len(found)} terms that move the prediction most.")
        title = "What each column does" if of == "location" else f"What each column does to the {of}"
        yield Section(title, words, [one.figure for one in found[:SHOWN]])


def is_log(fit: "Fit", of: str) -> bool:
    """Whether what is added is the logarithm of a factor."""
    if of != "location":
        return fit.noise.parameter(of).predicted.name == "log"
    return fit.noise.link.name == "log" or (fit.noise.traits.of_log and fit.noise.link.name == "identity")


def _about(fit: "Fit", of: str) -> str:
    if fit.noise.of_classes:
        return f"What each term adds to the log odds of {fit.classes[1]}, all else equal, with {BAND:.0%} intervals."
    target, log = fit.named.get("y", "y"), is_log(fit, of)
    if of != "location":
        what = f"the {of}" if log else f"the raw {of}"
    elif fit.noise.traits.of_log and log:
        what = target
    else:
        what = f"the {fit.noise.traits.predicts.format(y=target, **fit.noise.parameters)}"
        if not log and fit.noise.link.name != "identity":
            what = f"the {fit.noise.link.name} of {what}"
    does = "By what factor each term multiplies" if log else "What each term adds to"
    return f"{does} {what}, all else equal, with {BAND:.0%} intervals."


def _drawn(fit: "Fit", part: Column | Part, of: str, described: dict[str, "Described"]) -> Drawn | None:
    """A figure of a term; None of one that there is no place for."""
    own, log = described.get(part.name if isinstance(part, Column) else part.inputs[0]), is_log(fit, of)
    if isinstance(part, Column) and part.levels is None:
        return _line(fit, part, of, own)
    if isinstance(part, Column) or not (part.variables or len(part.factors) == 2):
        return _factor(fit, part, of, own)
    if not part.variables and part.levels > CELLS**2:
        return None
    effect = contrast_of(fit, part.name, None, None, BAND, of)
    if len(part.inputs) == 1:
        figure = _curve(effect, part.inputs[0], log, own.marks if own else ())
    elif part.variables and part.factors:
        figure = _by_level(effect, part.inputs, log)
    elif part.variables:
        axes = [np.unique(x) for x in effect.x]
        figure = _heat(part.name, part.inputs, [[number(float(x), 2) for x in axis] for axis in axes], effect, log)
    else:
        names = [[str(level) for level in levels] for _, levels in part.factors]
        figure = _heat(part.name, part.inputs, names, effect, log)
    return Drawn(part.name, figure, _spread(effect.estimate))


def _line(fit: "Fit", column: Column, of: str, own: "Described | None") -> Drawn | None:
    """A column as it is, against its median."""
    if own is None or own.quantiles is None:
        return None
    low, middle, high = own.quantiles
    at = np.array([low, high]) if own.distinct == 2 else np.linspace(low, high, STRAIGHT)
    effect = contrast_of(fit, column.name, at, middle, BAND, of)
    figure = _curve(effect, column.name, is_log(fit, of), own.marks, f"against {number(middle)}, the median")
    return Drawn(column.name, figure, _spread(effect.estimate))


def _factor(fit: "Fit", part: Column | Part, of: str, own: "Described | None") -> Drawn:
    """Levels against their average over the rows, or over the levels where it is not known how many rows each has."""
    name, known = (part.name, part.levels or ()) if isinstance(part, Column) else part.factors[0]
    levels = [str(level) for level in known]
    counts = dict(own.levels) if own is not None else {}
    shares = np.array([counts.get(level, 0) for level in levels], float)
    average = "the rows" if shares.sum() else "the levels"
    shares = shares / shares.sum() if shares.sum() else np.full(len(levels), 1 / len(levels))
    effect = contrast_of(fit, part.name, None, shares, BAND, of)
    reach = SPREAD * float(np.sqrt(shares @ effect.estimate**2))
    return Drawn(part.name, _levels(effect, name, levels, average, is_log(fit, of)), reach)


def _spread(values: Numbers) -> float:
    return float(values.max() - values.min())


def worth(value: float, log: bool) -> str:
    """An effect in words: a factor, or what is added."""
    return f"×{number(float(np.exp(value)))}" if log else ("+" if value > 0 else "") + number(float(value))


def _ticks(low: float, high: float, log: bool) -> list[tuple[float, str]] | None:
    if not log:
        return None
    return factor_ticks(low, high)


def _curve(effect: Effect, column: str, log: bool, marks: Sequence[float], base: str = "") -> Figure:
    x = np.asarray(effect.x, float)
    lower, upper = (np.where(np.isfinite(end), end, effect.estimate) for end in (effect.lower, effect.upper))
    reach = 1.5 * max(_spread(effect.estimate), 1e-9)  # a wide band at an end must not flatten the curve
    low = max(float(min(lower.min(), 0)), float(effect.estimate.min()) - reach)
    high = min(float(max(upper.max(), 0)), float(effect.estimate.max()) + reach)
    room = 0.03 * (high - low)
    ends = (low - room, high + room)
    plot = Plot((float(x[0]), float(x[-1])), ends, title=column, xlabel=column, yticks=_ticks(*ends, log))
    plot.rule(y=0.0)
    plot.band(x, np.clip(lower, *ends), np.clip(upper, *ends))
    plot.line(x, effect.estimate)
    plot.rug(marks)
    titles = [
        f"{column} {number(float(a))}: {worth(b, log)} ({worth(c, log)} to {worth(d, log)})"
        for a, b, c, d in zip(x, effect.estimate, lower, upper, strict=True)
    ]
    plot.hover(x, titles)
    lowest, highest = (int(k) for k in (np.argmin(effect.estimate), np.argmax(effect.estimate)))
    said = (
        f"from {worth(effect.estimate[lowest], log)} at {number(float(x[lowest]))} to "
        f"{worth(effect.estimate[highest], log)} at {number(float(x[highest]))}"
    )
    return Figure(
        plot.svg, f"The effect of {column}, {said}", f"{said[0].upper()}{said[1:]}{f', {base}' if base else ''}."
    )


def _levels(effect: Effect, column: str, levels: list[str], average: str, log: bool) -> Figure:
    """From the highest to the lowest, less an average."""
    order = np.argsort(-effect.estimate, kind="stable")
    cut = len(order) > LEVELS
    if cut:
        order = np.concatenate([order[: LEVELS // 2], order[-LEVELS // 2 :]])
    known = np.isfinite(effect.upper)
    lower, upper = (np.where(known, end, effect.estimate) for end in (effect.lower, effect.upper))
    low, high = float(min(lower[order].min(), 0)), float(max(upper[order].max(), 0))
    room = 0.04 * (high - low) or 1.0
    ticks = _ticks(low - room, high + room, log)
    plot = Plot(
        (low - room, high + room),
        (-0.6, len(order) - 0.4),
        title=column,
        rows=[levels[k] for k in order],
        height=18 * len(order) + 62,
        xticks=ticks,
        xlabel=f"against the average of {average}",
        right=64,
    )
    plot.rule(x=0.0)
    for place, k in enumerate(order):
        y = len(order) - 1.0 - place
        said = f"{levels[k]}: {worth(effect.estimate[k], log)} ({worth(lower[k], log)} to {worth(upper[k], log)})"
        plot.reach(lower[k], upper[k], y)
        plot.points([effect.estimate[k]], [y], [said])
        plot.text(WIDTH - 2, float(plot.down(y)) + 4, worth(effect.estimate[k], log), "end")
    first, last = (f"{levels[k]} {worth(effect.estimate[k], log)}" for k in (order[0], order[-1]))
    more = f" The outermost {len(order)} of {len(levels):,} levels." if cut else ""
    return Figure(plot.svg, f"Levels of {column} against their average: {first} to {last}", f"{first} to {last}.{more}")


def _by_level(effect: Effect, inputs: tuple[str, ...], log: bool) -> Figure:
    labels, x = effect.x
    names = list(dict.fromkeys(labels))
    low, high = float(effect.estimate.min()), float(effect.estimate.max())
    room = 0.05 * (high - low) or 1.0
    plot = Plot(
        (float(np.min(x)), float(np.max(x))),
        (low - room, high + room),
        title=effect.name,
        xlabel=" and ".join(inputs),
        yticks=_ticks(low - room, high + room, log),
    )
    plot.rule(y=0.0)
    for k, name in enumerate(names):
        own = labels == name
        plot.line(x[own], effect.estimate[own], f"s{k}" if k < CURVES else "rule", str(name))
    ends = sorted(names, key=lambda name: -float(effect.estimate[labels == name][-1]))
    return Figure(
        plot.svg,
        f"A curve for each of {len(names)} levels: {effect.name}",
        f"At the right end, from top to bottom: {', '.join(ends[:LEVELS])}.",
    )


def _heat(title: str, inputs: tuple[str, ...], names: list[list[str]], effect: Effect, log: bool) -> Figure:
    """Red is more, blue is less; the stronger, the further."""
    grid = effect.estimate.reshape(len(names[0]), len(names[1]))
    (rows, columns), most = grid.shape, float(np.abs(grid).max()) or 1.0
    every = -(-rows * max(map(len, names[0])) // 40)
    up = -(-columns // 10)
    plot = Plot(
        (0, rows),
        (0, columns),
        title=title,
        xlabel=f"{inputs[0]}; up: {inputs[1]}",
        height=270,
        xticks=[(i + 0.5, names[0][i]) for i in range(0, rows, every)],
        yticks=[(j + 0.5, names[1][j][:14]) for j in range(0, columns, up)],
    )
    width = float(plot.across(1) - plot.across(0)) + 0.3
    height = float(plot.down(0) - plot.down(1)) + 0.3
    for i in range(rows):
        for j in range(columns):
            value = float(grid[i, j])
            x, y = float(plot.across(i)), float(plot.down(j + 1))
            plot.parts.append(
                f'<rect class="{"more" if value > 0 else "less"}" fill-opacity="{abs(value) / most:.2f}" x="{x:.1f}" '
                f'y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"><title>{_cell(inputs, names, i, j)}: '
                f"{worth(value, log)}</title></rect>"
            )
    low, high = (worth(float(end), log) for end in (grid.min(), grid.max()))
    return Figure(
        plot.svg,
        f"{inputs[0]} and {inputs[1]} together, from {low} to {high}",
        f"Red: more, up to {high}; blue: less, down to {low}.",
    )


def _cell(inputs: tuple[str, ...], names: list[list[str]], i: int, j: int) -> str:
    return escape(f"{inputs[0]} {names[0][i]}, {inputs[1]} {names[1][j]}")
