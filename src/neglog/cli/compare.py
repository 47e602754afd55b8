"""`neglog compare`"""

from pathlib import Path
from typing import Annotated, Any

import typer

from neglog.cli.options import (
    MODEL,
    OUTPUT,
    AsJson,
    Cache,
    Debug,
    Event,
    Exposure,
    Group,
    Interaction,
    Keep,
    Lower,
    Missing,
    Offset,
    Rare,
    Smooth,
    TableFile,
    Target,
    Upper,
    Weight,
    Without,
)
from neglog.cli.output import command_line, print_json, progress, show
from neglog.cli.reading import asked, check_directory, listed, opened, terms_of

EXAMPLES = """Examples:

  [bold]neglog compare visits.parquet --target visits[/bold]

  [bold]neglog compare claims.csv --target cost --exposure years --report claims.html[/bold]

  [bold]neglog compare claims.csv --target cost --noise "gamma,lognormal,tweedie(power=1.5)" --json[/bold]

  [bold]neglog compare claims.csv --target cost --smooth age,power --group region[/bold]

  [bold]neglog compare houses.csv --target price --structures linear,smooth,trees --report houses.html[/bold]

  [bold]neglog compare visits.csv --target visits --folds-by group patient[/bold]

  [bold]neglog compare patients.csv --target days --event died[/bold]

  [bold]neglog compare houses.csv --lower at_least --upper at_most[/bold]
"""


def compare(
    table: TableFile,
    target: Target = None,
    event: Event = None,
    lower: Lower = None,
    upper: Upper = None,
    exposure: Exposure = None,
    weight: Weight = None,
    offset: Offset = None,
    without: Without = None,
    keep: Keep = None,
    missing: Missing = "error",
    rare: Rare = 0,
    cache: Cache = None,
    noise: Annotated[
        str | None,
        typer.Option(help="Noises to try: a,b,c; by default all that can explain the target", rich_help_panel=MODEL),
    ] = None,
    prior: Annotated[
        str | None,
        typer.Option(help="Of the coefficients; by default a Gaussian whose scale is learned", rich_help_panel=MODEL),
    ] = None,
    smooth: Smooth = None,
    group: Group = None,
    interaction: Interaction = None,
    structures: Annotated[
        str | None,
        typer.Option(
            help="Shapes of f to try: linear,smooth,trees; by default linear and smooth, and trees of fewer than "
            "50,000 rows where LightGBM is installed; linear alone where noises or terms are named",
            rich_help_panel=MODEL,
        ),
    ] = None,
    folds: Annotated[int, typer.Option(help="Parts of the rows that are left out in turn", rich_help_panel=MODEL)] = 5,
    folds_by: Annotated[
        tuple[str, str] | None,
        typer.Option(
            help="Leave out whole groups, or score what came later: group COL, or time COL",
            metavar="group|time COL",
            rich_help_panel=MODEL,
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the folds", rich_help_panel=MODEL)] = 0,
    report: Annotated[Path | None, typer.Option(help="Write a report, an HTML file", rich_help_panel=OUTPUT)] = None,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Which noise do these data support, and which shape of f? Ranks them by the nats of rows they have not seen."""
    check_directory(report)
    y, ends = asked(target, event, lower, upper)
    data, notes = opened(table, ends["y"], [*list(ends.values())[1:], exposure, weight, offset], without, keep)
    from neglog.comparison.compare import compare as compared
    from neglog.comparison.recipes import fit_command

    with progress() as tell:
        found = compared(
            data,
            y,
            None if noise is None else listed(noise),
            prior,
            structures=None if structures is None else listed(structures),
            folds=folds,
            folds_by=folds_by,
            seed=seed,
            sample_weight=weight,
            offset=offset,
            exposure=exposure,
            missing=missing,
            rare=rare,
            progress=tell,
            cache=cache,
            terms=terms_of(data, ends, [exposure, weight, offset], smooth, group, interaction),
        )
        kept = listed(keep or "")  # of which nobody need be told that they look like identifiers
        found.notes[:] = [*notes, *(note for note in found.notes if note.partition(": it")[0] not in kept)]
        options: dict[str, Any] = {
            "event": event,
            "lower": lower,
            "upper": upper,
            "exposure": exposure,
            "weight": weight,
            "offset": offset,
            "without": without,
            "keep": keep,
            "smooth": smooth,
            "group": group,
            "interaction": interaction,
        }
        options |= {"missing": None if missing == "error" else missing, "rare": rare or None, "cache": cache}
        own = found.readable
        options |= found.recipe.options(own.structure)
        found.command = fit_command(table, target, own.noise, found.prior, options)
        if report is not None:
            tell("Report", 1.0)
            from neglog.report import write_report

            write_report(found, report, command=command_line())
    if as_json:
        print_json(found.to_json())
        return
    show(found)
    print(f"From the shell: {found.command}")  # in one line, to be copied
    if report is not None:
        show(f"Report: {report}")
