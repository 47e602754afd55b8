"""`neglog predict`"""

from pathlib import Path
from typing import Annotated

import typer

from neglog.cli.options import Debug, ModelFile, TableFile
from neglog.cli.output import progress, show
from neglog.cli.reading import check_directory, level_of, listed

EXAMPLES = """Examples:

  [bold]neglog predict visits.json new.parquet -o predictions.parquet --quantiles .05,.5,.95[/bold]

  [bold]neglog predict visits.json new.csv --keep id | head[/bold]
"""


def predict(
    model: ModelFile,
    table: TableFile,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            help="A .parquet or .csv file, for a directory or pattern a new directory; by default CSV on the standard "
            "output",
        ),
    ] = None,
    quantiles: Annotated[str | None, typer.Option(help="Levels between 0 and 1: .05,.5,.95")] = None,
    exposure: Annotated[str | None, typer.Option(help="Its column; by default the one of the fit")] = None,
    offset: Annotated[str | None, typer.Option(help="Its column; by default the one of the fit")] = None,
    keep: Annotated[str | None, typer.Option(help="Columns to copy beside the predictions: a,b")] = None,
    debug: Debug = False,
) -> None:
    """Predict the mean of every row, and quantiles if asked for. Tables may be larger than memory."""
    check_directory(output)
    levels = [level_of(text) for text in listed(quantiles or "")]
    from neglog.results.loading import load
    from neglog.results.prediction_files import predict_file, predict_source

    found = load(model)
    named = found.named_beside(offset, exposure)
    done = 0
    with progress() as tell:

        def count(rows: int) -> None:
            nonlocal done
            done += rows
            tell(f"{done:,} rows", None)

        if not table.is_file():
            from neglog.engines.files import Files

            if output is None:
                raise ValueError("predictions for many files go to a directory; name it with --output")
            source = Files(table, watch=lambda rows, _: tell(f"{rows:,} rows", None))
            done = predict_source(found, source, output, levels, named=named, keep=listed(keep or ""))
        else:
            predict_file(found, table, output, levels, named=named, keep=listed(keep or ""), tell=count)
    if output is not None:
        show(f"{done:,} predictions: {output}")
