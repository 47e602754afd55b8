"""The figures of the report as SVG text, drawn without a display."""

import io
from typing import TYPE_CHECKING, Any

import numpy as np

from neglog.results.contrasts import shown
from neglog.results.plot import plot_effects
from neglog.typing import Numbers

if TYPE_CHECKING:
    from neglog.comparison.comparison import Comparison, Score
    from neglog.results.fit import Fit

INK, ACCENT, PALE = "#4f7cc4", "#d1603f", "#98a3af"  # readable on white and on black
COLOURS = (INK, ACCENT, "#5f9e4a", "#b9922a", "#8f6bb3", PALE)
ACROSS = 2  # effects side by side
SHOWN = 30  # coefficients, those of most standard errors
STYLE = {
    "svg.fonttype": "none",  # text stays text
    "font.size": 9,
    "font.family": "sans-serif",
    "axes.spines.top": False,
    "axes.spines.right": False,
}


class Drawing:
    """One figure with its axes; `svg` is what the page takes in."""

    def __init__(self, name: str, width: float, height: float, rows: int = 1, columns: int = 1) -> None:
        import matplotlib
        from matplotlib.figure import Figure

        self.style = {**STYLE, "svg.hashsalt": name}  # its parts get names that no other figure has
        with matplotlib.rc_context(self.style):
            self.figure = Figure(figsize=(width, height), layout="constrained")
            self.grid = self.figure.subplots(rows, columns, squeeze=False)

    @property
    def axes(self) -> Any:
        """Of the only plot."""
        return self.grid[0, 0]

    def svg(self) -> str:
        """The figure as the page takes it in."""
        return _svg(self.figure, self.style)


def _svg(figure: Any, style: dict[str, Any]) -> str:
    """A figure as SVG whose black is the colour of the page's text."""
    import matplotlib

    text = io.StringIO()
    with matplotlib.rc_context(style):
        figure.savefig(text, format="svg", transparent=True, metadata={"Date": None})
    whole = text.getvalue()
    return whole[whole.index("<svg") :].replace("#000000", "currentColor")


def ranking_figure(comparison: "Comparison") -> str:
    """Nats above the best, with twice the standard error of the paired difference."""
    drawing = Drawing("ranking", 7, 0.36 * len(comparison.scores) + 0.9)
    records = comparison.table[::-1]
    places = np.arange(len(records))
    for place, record in zip(places, records, strict=True):
        colour = INK if record["tied"] else ACCENT
        reach = 2 * record["worse_error"]
        drawing.axes.errorbar(record["worse"], place, xerr=reach, fmt="o", color=colour, capsize=3)
    drawing.axes.axvline(0.0, color=PALE, linewidth=1, zorder=0)
    drawing.axes.set_ylim(-0.6, len(records) - 0.4)
    drawing.axes.set(yticks=places, xlabel="nats per row worse than the best, ± two standard errors")
    drawing.axes.set_yticklabels([record["noise"] for record in records])
    return drawing.svg()


def transform_figure(comparison: "Comparison") -> str:
    """Where the targets fell in their predictive laws: evenly spread if these are right."""
    scores = comparison.scores[:6]
    columns = min(3, len(scores))
    rows = -(-len(scores) // columns)
    drawing = Drawing("transform", 7.2, 1.8 * rows, rows, columns)
    for axes, score in zip(drawing.grid.ravel(), scores, strict=False):
        heights, edges = np.histogram(score.transform, bins=20, range=(0, 1), weights=score.weight)
        axes.bar(edges[:-1], 20 * heights / score.weight.sum(), width=0.05, align="edge", color=INK)
        axes.axhline(1.0, color=ACCENT, linewidth=1)
        axes.set(xlim=(0, 1), xticks=(0, 0.5, 1))
        axes.set_title(f"{score.name.replace('()', '')}\nKS {score.ks:.3f}", fontsize=9)
    for axes in drawing.grid.ravel()[len(scores) :]:
        axes.set_visible(False)
    return drawing.svg()


def decile_figure(comparison: "Comparison") -> str:
    """Means observed against means predicted, in ten groups of rising prediction."""
    drawing = Drawing("deciles", 5.6, 3.6)
    ends: list[float] = []
    for score, colour in zip(comparison.scores[:4], COLOURS, strict=False):
        observed, predicted = score.by_decile(comparison.y)
        ends += [observed.min(), predicted.min(), observed.max(), predicted.max()]
        drawing.axes.plot(predicted, observed, "o-", color=colour, markersize=4, linewidth=0.8, label=score.name)
    drawing.axes.plot([min(ends), max(ends)], [min(ends), max(ends)], color=PALE, linewidth=1, zorder=0)
    drawing.axes.set(xlabel="mean prediction of the group", ylabel=f"mean {comparison.target} of the group")
    drawing.axes.legend(frameon=False)
    return drawing.svg()


def loss_figure(comparison: "Comparison") -> str:
    """-log p of each noise about a typical prediction, less its least: the loss as a function of the residual."""
    drawing = Drawing("losses", 6.4, 3.6)
    middle = float(np.median(comparison.scores[0].predicted))
    low, high = np.quantile(comparison.y, [0.005, 0.995])
    reach = max(high - middle, middle - low, 1e-300)
    points = np.linspace(middle - reach, middle + reach, 401)
    for score, colour in zip(comparison.scores, COLOURS, strict=False):
        residual, nats = loss_curve(score, middle, points)
        drawing.axes.plot(residual, nats, color=colour, label=score.name)
    drawing.axes.set(
        xlabel=f"residual, {comparison.target} − {middle:.4g}", ylabel="loss in nats above its least", ylim=(0, 15)
    )
    drawing.axes.legend(frameon=False)
    return drawing.svg()


def loss_curve(score: "Score", middle: float, points: Numbers) -> tuple[Numbers, Numbers]:
    """Residuals and losses of a noise around a prediction; counts only where there are counts."""
    noise = score.fitted
    eta = float(noise.link.forward(noise.location_at(middle)))
    law = noise.given(np.array([eta]))
    if law.measure == "mass":
        points = np.unique(np.round(points))
    with np.errstate(all="ignore"):
        nats = np.array([float(law.nll(np.array([point]))[0]) for point in points])
    inside = np.isfinite(nats) & ((points != 0) | (law.measure != "mixed"))
    return points[inside] - middle, nats[inside] - np.min(nats[inside], initial=np.inf)


def coefficient_figure(fit: "Fit") -> str:
    """The coefficients of most standard errors, with 95% intervals; levels less the mean of their factor."""
    values = shown(fit)
    coef, errors = values.coefficients, values.errors
    with np.errstate(all="ignore"):
        strength = np.nan_to_num(np.abs(coef / errors).max(axis=0), posinf=0.0)
    chosen = np.argsort(-strength, kind="stable")[:SHOWN][::-1]
    drawing = Drawing("coefficients", 7, 0.22 * len(chosen) + 0.9)
    places = np.arange(len(chosen))
    labels = list(map(str, fit.classes)) if fit.noise.of_classes else ["location", *fit.noise.modelled]
    for k, label in enumerate(labels):
        shift = 0.0 if len(coef) == 1 else 0.6 * (k / (len(coef) - 1) - 0.5)
        drawing.axes.errorbar(
            coef[k, chosen],
            places + shift,
            xerr=1.96 * np.nan_to_num(errors[k, chosen], posinf=0.0),
            fmt="o",
            markersize=3,
            linewidth=1.2,
            color=COLOURS[k % len(COLOURS)],
            label=label,
        )
    if len(coef) > 1:
        drawing.axes.legend(frameon=False)
    drawing.axes.axvline(0.0, color=PALE, linewidth=1, zorder=0)
    drawing.axes.set(yticks=places, xlabel="coefficient, with its 95% interval")
    drawing.axes.set_yticklabels([fit.schema.names[j] for j in chosen])
    return drawing.svg()


def effects_figure(fit: "Fit", of: str) -> str:
    """What each term adds to the raw prediction of the location, or of a parameter that is modelled."""
    return _svg(plot_effects(fit, 0.9, of, ACROSS), {**STYLE, "svg.hashsalt": f"effects of {of}"})
