"""The fit that can be read: its coefficients, what its losses are, and what a prediction of each noise is."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from neglog.report.drawing import COLOURS, Plot, number
from neglog.report.effects import is_log, worth
from neglog.report.head import readable
from neglog.report.page import Figure, Section, Table
from neglog.results.contrasts import shown
from neglog.results.summary import equation, shown_coefficients
from neglog.typing import Numbers

if TYPE_CHECKING:
    from neglog.comparison.comparison import Comparison, Score
    from neglog.results.fit import Fit

STRONGEST = 30  # coefficients that are drawn, those of most standard errors
LISTED = 40  # lines of a table that is not folded
HIGHEST = 15.0  # nats of a loss that are drawn
ENDS = (0.005, 0.995)  # of the target, between which losses are drawn


def coefficients(comparison: "Comparison") -> Iterator[Section]:
    """The equation and the table of its coefficients, levels as contrasts."""
    fit, score = comparison.fit, readable(comparison)
    table = fit.summary().table
    lines = list(zip(*table.values(), strict=True))
    of_noise = len(lines) - len(fit.noise_standard_errors)
    log = is_log(fit, "location") and not fit.noise.of_classes
    heads = ["", "estimate", "std. error", "95% from", "to", *(["as a factor"] if log else [])]
    rows = []
    for k, (name, *values) in enumerate(lines):
        own = log and k < of_noise and not any(name.startswith(f"{one}: ") for one in fit.noise.modelled)
        rows.append([name, *map(number, values), *([worth(values[0], log=True) if own else ""] if log else [])])
    facts = ", ".join(
        f"{name} {value:,}" if isinstance(value, int) else f"{name} {number(value, 5)}"
        for name, value in fit.summary().facts.items()
    )
    note = (
        facts
        + "."
        + " Levels are differences from the mean of their factor over the rows." * (fit._contrasts is not None)
    )
    words = [f"{score.name}, fitted to all rows: {equation(fit).replace(chr(10), '; ')}."]
    if fit.schema.terms is not None:
        words.append(
            "Of curves only the straight part has a line here; curves, groups and interactions are drawn above."
        )
    folded = f"All {len(rows)} coefficients" if len(rows) > LISTED else ""
    drawn = fit.coef.size and (
        fit.schema.table is None or (fit.noise.of_classes and len(fit.classes) > 2)
    )  # what no effect shows
    figures = [coefficient_figure(fit)] if drawn else []
    legend = list(map(str, fit.classes[:COLOURS])) if drawn and fit.noise.of_classes else []
    yield Section("The coefficients", words, figures, [Table(heads, rows, 1, note, folded)], legend=legend)


def coefficient_figure(fit: "Fit") -> Figure:
    """The coefficients of most standard errors, with 95% intervals; levels less the mean of their factor."""
    values = shown(fit)
    coef, errors = values.coefficients, values.errors
    with np.errstate(all="ignore"):
        strength = np.nan_to_num(np.abs(coef / errors).max(axis=0), posinf=0.0)
    strength[~np.any([shown_coefficients(fit, k) for k in range(len(coef))], axis=0)] = -1.0
    chosen = np.argsort(-strength, kind="stable")[: min(STRONGEST, int(np.sum(strength >= 0)))]
    names = [fit.schema.names[j] for j in chosen]
    reach = 1.96 * np.nan_to_num(errors[:, chosen], posinf=0.0)
    ends = float((coef[:, chosen] - reach).min()), float((coef[:, chosen] + reach).max())
    labels = list(map(str, fit.classes)) if fit.noise.of_classes else ["location", *fit.noise.modelled]
    step = 9 * len(labels) + 8
    plot = Plot(
        (min(ends[0], 0), max(ends[1], 0)),
        (-0.6, len(chosen) - 0.4),
        rows=names,
        height=step * len(chosen) + 50,
        xlabel="coefficient, with its 95% interval",
    )
    plot.rule(x=0.0)
    for k, label in enumerate(labels):
        shift = 0.0 if len(labels) == 1 else 0.6 * (0.5 - k / (len(labels) - 1))
        for place, j in enumerate(chosen):
            y = len(chosen) - 1.0 - place + shift
            plot.reach(coef[k, j] - reach[k, place], coef[k, j] + reach[k, place], y, f"s{k % COLOURS}")
            said = f"{fit.schema.names[j]} of {label}: {number(coef[k, j])} ± {number(errors[k, j])}"
            plot.points([coef[k, j]], [y], [said], f"f{k % COLOURS}")
    return Figure(
        plot.svg,
        f"The {len(chosen)} coefficients of most standard errors, with 95% intervals",
        f"For each of {', '.join(labels)}, from top to bottom." if len(labels) > 1 else "",
    )


def losses(comparison: "Comparison") -> Iterator[Section]:
    """What an error costs, and what is predicted."""
    best = comparison.scores[0]
    meant: dict[str, list[str]] = {}
    for score in comparison.scores:
        if not score.noise.labelled:
            what = score.noise.traits.predicts.format(y=comparison.target, **score.noise.parameters)
            meant.setdefault(what, []).append(type(score.noise).__name__)
    labelled = best.noise.labelled or best.noise._family() == "bernoulli"
    words = []
    if len(meant) > 1 and not labelled:
        words.append(
            "The noises do not predict the same thing, as the list below says. Where rows are skewed, a median or "
            "centre lies below the mean, and the sum of what is predicted below that of the rows. Nats compare whole "
            "laws, and stay fair."
        )
    figures = [] if labelled else [loss_figure(comparison)]
    if words or figures:
        legend = [] if labelled else [one.name for one in _drawn(comparison)]
        listed = [f"The {what}: {', '.join(dict.fromkeys(names))}" for what, names in meant.items()] if words else []
        yield Section("What an error costs", words, figures, legend=legend, bullets=listed)


def _drawn(comparison: "Comparison") -> list["Score"]:
    """The best score of each noise."""
    found: dict[str, Score] = {}
    for score in comparison.scores:
        found.setdefault(score.law, score)
    return list(found.values())[: COLOURS - 1]


def loss_figure(comparison: "Comparison") -> Figure:
    """-log p of each noise about a typical prediction, less its least: the loss as a function of the residual."""
    middle = float(np.median(comparison.scores[0].predicted))
    low, high = np.quantile(comparison.y, ENDS)
    points = np.linspace(min(low, middle), max(high, middle, low + 1e-300), 201)
    curves = [loss_curve(score, middle, points) for score in _drawn(comparison)]
    top = min(HIGHEST, 1.1 * max((float(nats.max()) for _, nats in curves if len(nats)), default=1.0))
    plot = Plot(
        (float(points[0] - middle), float(points[-1] - middle)),
        (0, top),
        ylabel="nats above the least",
        xlabel=f"residual, {comparison.target} − {number(middle)}",
    )
    for k, (score, (residual, nats)) in enumerate(zip(_drawn(comparison), curves, strict=True)):
        low_enough = nats <= top
        plot.line(residual[low_enough], nats[low_enough], f"s{k}", score.name)
    return Figure(
        plot.svg,
        "The loss of each noise as a function of the residual",
        f"What an error costs around the median prediction, {number(middle)}: the loss that a fit minimises.",
    )


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
