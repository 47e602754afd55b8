"""Options that several commands have."""

from pathlib import Path
from typing import Annotated

import typer

DATA, MODEL, OUTPUT = "The data", "The model", "The output"
TableFile = Annotated[
    Path,
    typer.Argument(
        help="A table: .parquet, .csv, .tsv (also .gz), .arrow. A directory of such files, or a pattern in quotes such "
        "as 'claims/*.parquet', is read piece by piece and need not fit in memory",
        show_default=False,
    ),
]
ModelFile = Annotated[Path, typer.Argument(help="A model that `neglog fit --save` wrote", show_default=False)]
Target = Annotated[
    str | None,
    typer.Option(
        help="The column to explain, or a formula: 'y ~ s(age) + .'; or --lower and --upper",
        show_default=False,
        rich_help_panel=DATA,
    ),
]
Event = Annotated[
    str | None,
    typer.Option(help="The column that is 1 where the target was observed, 0 where it is more", rich_help_panel=DATA),
]
Lower = Annotated[
    str | None, typer.Option(help="The column with the lower ends of what is known of y", rich_help_panel=DATA)
]
Upper = Annotated[
    str | None, typer.Option(help="The column with the upper ends; the same where y was observed", rich_help_panel=DATA)
]
Exposure = Annotated[str | None, typer.Option(help="The column that multiplies the mean", rich_help_panel=DATA)]
Weight = Annotated[str | None, typer.Option(help="The column that counts each row so often", rich_help_panel=DATA)]
Offset = Annotated[
    str | None, typer.Option(help="The column that is added to the raw prediction", rich_help_panel=DATA)
]
Without = Annotated[str | None, typer.Option(help="Columns to leave out: a,b,c", rich_help_panel=DATA)]
Keep = Annotated[str | None, typer.Option(help="Columns to use although they look useless: a,b", rich_help_panel=DATA)]
Missing = Annotated[
    str,
    typer.Option(
        help="Missing values: error, drop (their rows) or impute (mean or own level, and a column that says where)",
        rich_help_panel=DATA,
    ),
]
Rare = Annotated[int, typer.Option(help="Levels of fewer rows than this have no effect", rich_help_panel=DATA)]
Cache = Annotated[
    Path | None,
    typer.Option(help="A directory for decoded copies of many files: passes then read faster", rich_help_panel=DATA),
]
Smooth = Annotated[
    str | None,
    typer.Option(help="Columns that become smooth curves: age,income; or auto, which chooses", rich_help_panel=MODEL),
]
Group = Annotated[
    str | None, typer.Option(help="Columns whose levels are drawn to their mean: region,shop", rich_help_panel=MODEL)
]
Interaction = Annotated[
    str | None, typer.Option(help="Pairs of columns that act together: age:fuel,power:region", rich_help_panel=MODEL)
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for machines", rich_help_panel=OUTPUT)]
Raw = Annotated[
    bool,
    typer.Option("--raw", help="Show levels as they are, not less the mean of their factor", rich_help_panel=OUTPUT),
]
Debug = Annotated[bool, typer.Option("--debug", help="Show where an error came from", rich_help_panel=OUTPUT)]
