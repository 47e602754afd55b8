"""`neglog check`: a saved model against rows."""

from pathlib import Path
from typing import Annotated

import typer

from neglog.cli.options import Debug, ModelFile
from neglog.cli.output import show
from neglog.cli.reading import check_directory

EXAMPLES = """Examples:

  [bold]neglog check visits.json visits.parquet -o check.png[/bold]

  [bold]neglog check visits.json new.csv --target seen[/bold]
"""


def check(
    model: ModelFile,
    table: Annotated[
        Path, typer.Argument(help="Rows with the target: .parquet, .csv, .tsv, .arrow", show_default=False)
    ],
    target: Annotated[str | None, typer.Option(help="Its column; by default the one of the fit")] = None,
    precision: Annotated[str | None, typer.Option(help="Its column; by default the one of the fit")] = None,
    exposure: Annotated[str | None, typer.Option(help="Its column; by default the one of the fit")] = None,
    offset: Annotated[str | None, typer.Option(help="Its column; by default the one of the fit")] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="A file for the four pictures: .png, .svg or .pdf")
    ] = None,
    debug: Debug = False,
) -> None:
    """Say what a saved model misses of these rows, and draw it: whether its noise fits, how often each count occurs,
    whether residuals change along the prediction.
    """
    check_directory(output)
    from neglog.design.files import open_table
    from neglog.results.loading import load

    if not table.is_file():
        raise ValueError(f"{table} is no file; a check looks at rows of one table, of many a part will do")
    rows = open_table(table)
    found = load(model).check(rows, target, precision=precision, offset=offset, exposure=exposure)
    show(found.text)
    if output is not None:
        found.save(output)
        show(f"Pictures: {output}")
