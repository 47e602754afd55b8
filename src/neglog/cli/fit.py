"""`neglog fit`"""

from pathlib import Path
from typing import Annotated

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
    Raw,
    Smooth,
    TableFile,
    Target,
    Upper,
    Weight,
    Without,
)
from neglog.cli.output import print_json, progress, show
from neglog.cli.reading import asked, check_directory, listed, opened, terms_of

EXAMPLES = """Examples:

  [bold]neglog fit visits.parquet --target visits --noise poisson --save visits.json[/bold]

  [bold]neglog fit claims.csv --target cost --noise "tweedie(power=1.5)" --prior "laplace(scale=0.1)"[/bold]

  [bold]neglog fit claims.csv --target cost --noise gamma --smooth age,power --group region[/bold]

  [bold]neglog fit claims.csv --target cost --noise gamma --model shape --exposure years[/bold]

  [bold]neglog fit patients.csv --target days --event died --noise weibull[/bold]

  [bold]neglog fit houses.csv --lower at_least --upper at_most --noise lognormal[/bold]

A noise or prior leaves open what is not stated: a prior that is just [bold]gaussian[/bold] learns its scale.
"""


def fit(
    table: TableFile,
    noise: Annotated[
        str, typer.Option(help='As in gamma or "tweedie(power=1.5)"', show_default=False, rich_help_panel=MODEL)
    ],
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
    prior: Annotated[
        str | None, typer.Option(help='As in "gaussian(scale=1)"; by default none', rich_help_panel=MODEL)
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(help="Parameters of the noise that the columns predict too: scale,df", rich_help_panel=MODEL),
    ] = None,
    smooth: Smooth = None,
    group: Group = None,
    interaction: Interaction = None,
    save: Annotated[Path | None, typer.Option(help="Write the model, a JSON file", rich_help_panel=OUTPUT)] = None,
    relativities: Annotated[
        Path | None, typer.Option(help="Write the tables of factors, a CSV file", rich_help_panel=OUTPUT)
    ] = None,
    raw: Raw = False,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Fit one noise and print its coefficients."""
    check_directory(save)
    check_directory(relativities)
    from neglog.distributions.specification import noise_of, prior_of

    law, belief = noise_of(noise).modelling(*listed(model or "")), prior_of(prior)
    y, ends = asked(target, event, lower, upper)
    data, notes = opened(table, ends["y"], [*list(ends.values())[1:], exposure, weight, offset], without, keep)
    from neglog.fitting.fit import fit as fitted
    from neglog.results.storage import to_json

    with progress() as tell:
        tell("Fitting", None)
        found = fitted(
            data,
            y,
            law,
            belief,
            sample_weight=weight,
            offset=offset,
            exposure=exposure,
            missing=missing,
            rare=rare,
            cache=cache,
            progress=lambda text: tell(text, None),
            terms=terms_of(data, ends, [exposure, weight, offset], smooth, group, interaction),
        )
        found.notes[:0] = notes
        if save is not None:
            found.save(save)
        if relativities is not None:
            found.relativities().to_csv(relativities)
        stored = to_json(found) if as_json else None
    if as_json:
        print_json(stored)
        return
    show(found.summary(contrasts=not raw))
    if save is not None:
        show(f"Model: {save}")
    if relativities is not None:
        show(f"Relativities: {relativities}")
