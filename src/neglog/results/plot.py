"""All effects of a fit in one figure: curves with bands, levels with intervals, surfaces as colours."""

from typing import TYPE_CHECKING, Any

import numpy as np

from neglog.design.design import Column, Gap
from neglog.design.parts import Part
from neglog.results.effects import Effect, effect_of, names_of_terms

if TYPE_CHECKING:
    from neglog.results.fit import Fit

INK, ACCENT, PALE = "#4f7cc4", "#d1603f", "#98a3af"
LEVELS = 40  # of a factor that are drawn with their names; of more, the outermost
CURVES = 8  # by level that are told apart
ACROSS = 3  # plots in a row
STYLE = {"font.size": 9, "font.family": "sans-serif", "axes.spines.top": False, "axes.spines.right": False}


def plot_effects(fit: "Fit", level: float, of: str, most: int = ACROSS) -> Any:
    """`Fit.plot`, with at most so many plots in a row."""
    import matplotlib
    from matplotlib.figure import Figure

    effects = [effect_of(fit, name, None, level, False, of) for name in drawn_terms(fit, of)]
    if not effects:
        raise ValueError(
            "this fit has no term that could be drawn: curves, groups, interactions or factors; its columns are "
            "straight lines"
        )
    rows = -(-len(effects) // most)
    with matplotlib.rc_context(STYLE):
        across = min(most, len(effects))
        figure = Figure(figsize=(3.4 * across, 2.8 * rows), layout="constrained")
        grid = figure.subplots(rows, across, squeeze=False)
        for axes, effect in zip(grid.ravel(), effects, strict=False):
            draw(axes, effect)
        for axes in grid.ravel()[len(effects) :]:
            axes.set_axis_off()
        what = "raw prediction" if of == "location" else f"raw {of}"
        figure.supylabel(f"added to the {what}, {100 * level:g}% intervals", fontsize=9)
    return figure


def drawn_terms(fit: "Fit", of: str = "location") -> list[str]:
    """The terms of a predictor that a figure shows: not straight lines."""
    own = names_of_terms(fit.schema, of)
    return [
        part.name
        for part in fit.schema.parts
        if not isinstance(part, Gap)
        and part.name in own
        and not (isinstance(part, Column) and part.levels is None)
        and not (isinstance(part, Part) and len(part.factors) == 2 and part.levels > LEVELS**2)
    ]


def draw(axes: Any, effect: Effect) -> None:
    """One effect."""
    axes.set_title(effect.name, fontsize=9)
    if isinstance(effect.x, list):
        _levels(axes, effect)
    elif not isinstance(effect.x, tuple):
        axes.axhline(0.0, color=PALE, linewidth=0.8)
        axes.fill_between(effect.x, effect.lower, effect.upper, color=INK, alpha=0.25, linewidth=0)
        axes.plot(effect.x, effect.estimate, color=INK)
    elif effect.x[0].dtype == object:
        _by_level(axes, effect)
    else:
        _surface(axes, effect)


def _levels(axes: Any, effect: Effect) -> None:
    """From the lowest to the highest; of many the outermost."""
    order = np.argsort(effect.estimate)
    if len(order) > LEVELS:
        axes.plot(effect.estimate[order], np.arange(len(order)), ".", color=INK, markersize=2)
        axes.fill_betweenx(np.arange(len(order)), effect.lower[order], effect.upper[order], color=INK, alpha=0.2)
        axes.set_ylabel(f"{len(order):,} levels, sorted")
    else:
        places = np.arange(len(order))
        reach = [effect.estimate[order] - effect.lower[order], effect.upper[order] - effect.estimate[order]]
        axes.errorbar(effect.estimate[order], places, xerr=reach, fmt="o", color=INK, markersize=3, linewidth=1)
        axes.set_yticks(places, [_inner(effect.x[k]) for k in order], fontsize=7)
    axes.axvline(0.0, color=PALE, linewidth=0.8)


def _inner(name: Any) -> str:
    """north of region[north], but both of a pair."""
    text = str(name)
    return text[text.index("[") + 1 : -1] if text.endswith("]") and text.count("[") == 1 else text


def _by_level(axes: Any, effect: Effect) -> None:
    labels, x = effect.x
    names = list(dict.fromkeys(labels))
    for k, name in enumerate(names):
        own = labels == name
        shown = k < CURVES
        axes.plot(x[own], effect.estimate[own], linewidth=1.2 if shown else 0.5, label=_inner(name) if shown else None)
    axes.axhline(0.0, color=PALE, linewidth=0.8)
    axes.legend(fontsize=6, frameon=False)


def _surface(axes: Any, effect: Effect) -> None:
    first, second = (np.unique(x) for x in effect.x)
    values = effect.estimate.reshape(len(first), len(second))
    most = float(np.abs(values).max()) or 1.0
    ends = {"vmin": -most, "vmax": most}
    drawn = axes.pcolormesh(first, second, values.T, cmap="RdBu_r", shading="nearest", rasterized=True, **ends)
    axes.figure.colorbar(drawn, ax=axes)
