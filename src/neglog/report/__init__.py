"""A comparison as one HTML file that needs nothing else."""

import os
import platform
from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from neglog.atomic import written_whole
from neglog.comparison.verdict import with_error
from neglog.report import figures
from neglog.results.plot import drawn_terms
from neglog.results.summary import equation
from neglog.results.terms import Term

if TYPE_CHECKING:
    from neglog.comparison.comparison import Comparison

__all__ = ["render", "write_report"]

PACKAGES = ("neglog", "numpy", "scipy", "matplotlib")
LEVELS_SHOWN = 12


@dataclass(frozen=True)
class Section:
    """A figure with its heading, what it shows, and how to read it."""

    title: str
    alt: str
    caption: str
    svg: str


def write_report(comparison: "Comparison", path: str | os.PathLike[str], *, command: str = "") -> None:
    """Write the report; the file appears only when it is complete. `command` is how it can be made again."""
    text = render(comparison, command=command)
    with written_whole(path) as file:
        file.write(text.encode())


def render(comparison: "Comparison", *, command: str = "") -> str:
    """The report as HTML."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("neglog.report", "."), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    return environment.get_template("template.html").render(
        comparison=comparison,
        equation=equation(comparison.fit),
        sections=list(_sections(comparison)),
        columns=list(_columns(comparison)),
        terms=list(_terms(comparison)),
        summary=str(comparison.fit.summary()),
        command=command,
        digits=with_error,
        versions=", ".join(f"{name} {version(name)}" for name in PACKAGES),
        python=platform.python_version(),
    )


def _sections(comparison: "Comparison") -> Any:
    best = comparison.scores[0]
    classes = comparison.best.labelled
    yield Section(
        "The ranking",
        "Points with error bars: how many nats per row each noise is worse than the best",
        "How much worse than the best each noise predicts rows that it has not seen. Blue: as good within the error.",
        figures.ranking_figure(comparison),
    )
    if not classes:
        yield Section(
            "Is the spread right?",
            "Histograms of the probability integral transform of each noise",
            "Where the targets fell between the 0% and the 100% quantile of their predictions. Level bars mean that "
            "the noise is right; a hump in the middle that it is too wide, high ends that it is too narrow.",
            figures.transform_figure(comparison),
        )
        yield Section(
            "Is the mean right?",
            "Mean of the target against the mean prediction in ten groups of rows",
            "Rows that were left out, in ten groups of rising prediction: on the line, the mean is right.",
            figures.decile_figure(comparison),
        )
    if not classes and best.noise._family() != "bernoulli":
        yield Section(
            "The losses",
            "The loss of each noise as a function of the residual",
            "What an error costs under each noise, at the median prediction: the loss that fitting it minimises.",
            figures.loss_figure(comparison),
        )
    yield from _effects(comparison)
    if comparison.fit.coef.size:
        yield Section(
            "The coefficients",
            f"Coefficients of {best.name} with 95% intervals",
            f"Of {best.name}, fitted to all rows; those that differ from 0 by most standard errors. Levels are "
            "differences from the mean of their factor.",
            figures.coefficient_figure(comparison.fit),
        )


def _effects(comparison: "Comparison") -> Any:
    """A figure for the location and for each parameter that is modelled, where they have curves, groups and such."""
    fit, name = comparison.fit, comparison.scores[0].name
    if fit.schema.terms is None or fit.noise.of_classes:
        return
    for of in fit.predictors:
        if not drawn_terms(fit, of):
            continue
        raw = "raw prediction" if of == "location" else f"raw {of}"
        yield Section(
            "The effects" if of == "location" else f"The effects on the {of}",
            f"What each term of {name} adds to the {raw}, with 90% intervals",
            f"Of {name}, fitted to all rows: what each term adds to the {raw}, with 90% intervals. A curve has the "
            "mean 0 over the rows.",
            figures.effects_figure(fit, of),
        )


def _terms(comparison: "Comparison") -> Any:
    """Each term of each predictor, as it is shown; nothing of a fit of columns as they are."""
    fit = comparison.fit
    if fit.schema.terms is None:
        return
    for of, predictor in fit.predictors.items():
        for term in predictor.terms or ():
            yield of, term.name, term.kind, f"{term.effective:.4g}", f"{term.coefficients:,}", _scale(term)


def _scale(term: Term) -> str:
    if term.scale is None:
        return ""
    if isinstance(term.scale, dict):
        return ", ".join(f"{label} {value:.4g}" for label, value in term.scale.items())
    return f"{term.scale:.4g}"


def _columns(comparison: "Comparison") -> Any:
    """Name, kind and levels of each column."""
    for column in comparison.fit.schema.table or ():
        levels = [] if column.levels is None else list(map(str, column.levels))
        shown = ", ".join(levels[:LEVELS_SHOWN])
        more = f" and {len(levels) - LEVELS_SHOWN} more" if len(levels) > LEVELS_SHOWN else ""
        yield column.name, column.kind, shown + more
