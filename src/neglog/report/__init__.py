"""A comparison as one HTML file that needs nothing else."""

import os
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from neglog.atomic import written_whole
from neglog.report import calibration, effects, fitted, head, origin, ranking, residuals, target
from neglog.report.drawing import COLOURS
from neglog.report.page import Section

if TYPE_CHECKING:
    from neglog.comparison.comparison import Comparison

__all__ = ["render", "write_report"]

# Each gives no section, or several, of a comparison; the page has them in this order.
SECTIONS = (
    ranking.ranking,
    target.target,
    calibration.calibration,
    calibration.conditional,
    effects.effects,
    ranking.shapes,
    fitted.coefficients,
    residuals.residuals,
    fitted.losses,
    origin.data,
    origin.refused,
)


def write_report(
    comparison: "Comparison", path: str | os.PathLike[str], *, command: str = "", made: datetime | None = None
) -> None:
    """Write the report; the file appears only when it is complete. `command` is how it can be made again, `made` when
    it was: by default now.
    """
    text = render(comparison, command=command, made=made)
    with written_whole(path) as file:
        file.write(text.encode())


def render(comparison: "Comparison", *, command: str = "", made: datetime | None = None) -> str:
    """The report as HTML."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("neglog.report", "."), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    return environment.get_template("template.html").render(
        comparison=comparison,
        answer=head.sentences(comparison),
        badges=head.badges(comparison),
        of_call=head.of_call(comparison),
        sections=list(_sections(comparison, command, made or datetime.now(UTC))),
        colours=COLOURS,
    )


def _sections(comparison: "Comparison", command: str, made: datetime) -> Iterator[Section]:
    for section in SECTIONS:
        yield from section(comparison)
    yield origin.making(comparison, command, made)
