"""`neglog export`: a saved model as SQL or as factor tables."""

from pathlib import Path
from typing import Annotated

import typer

from neglog.cli.options import Debug, ModelFile
from neglog.cli.output import show
from neglog.cli.reading import check_directory, level_of, listed

EXAMPLES = """Examples:

  [bold]neglog export cost.json --sql --table claims --keep id | duckdb claims.db[/bold]

  [bold]neglog export cost.json --sql --dialect postgres --quantiles .05,.95 -o cost.sql[/bold]

  [bold]neglog export cost.json --relativities tariff.csv[/bold]
"""


def export(
    model: ModelFile,
    sql: Annotated[bool, typer.Option("--sql", help="Write a query that predicts in a database")] = False,
    dialect: Annotated[str, typer.Option(help="Of the query: duckdb, postgres or sqlite")] = "duckdb",
    table: Annotated[str, typer.Option(help="The table that the query reads")] = "t",
    quantiles: Annotated[str | None, typer.Option(help="Levels between 0 and 1 beside the mean: .05,.95")] = None,
    keep: Annotated[str | None, typer.Option(help="Columns to copy beside the predictions: id,day")] = None,
    exposure: Annotated[str | None, typer.Option(help="Its column; by default the one of the fit")] = None,
    offset: Annotated[str | None, typer.Option(help="Its column; by default the one of the fit")] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="A file for the query; by default the standard output")
    ] = None,
    relativities: Annotated[
        Path | None, typer.Option(help="Write the tables of factors, or of summands, to this CSV file")
    ] = None,
    debug: Debug = False,
) -> None:
    """Take a saved model elsewhere: a query that predicts in a database, factor tables for a tariff."""
    if not sql and relativities is None:
        raise typer.BadParameter("say what to write: --sql, --relativities FILE.csv, or both")
    check_directory(output)
    check_directory(relativities)
    levels = [level_of(text) for text in listed(quantiles or "")]
    from neglog.results.loading import load

    found = load(model)
    if relativities is not None:
        found.relativities().to_csv(relativities)
        show(f"Relativities: {relativities}", error=sql)  # the standard output is the query
    if sql:
        query = found.to_sql(table, levels, dialect=dialect, keep=listed(keep or ""), offset=offset, exposure=exposure)
        if output is None:
            print(f"{query};")
            return
        from neglog.atomic import written_whole

        with written_whole(output) as file:
            file.write(f"{query};\n".encode())
        show(f"Query: {output}")
