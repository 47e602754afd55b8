"""`neglog explain`: a saved model, or a family; `neglog families`: all of them."""

from pathlib import Path
from typing import Annotated

import typer

from neglog.cli.options import AsJson, Debug, Raw
from neglog.cli.output import print_json, show

EXAMPLES = """Examples:

  [bold]neglog explain visits.json[/bold]

  [bold]neglog explain gamma[/bold]
"""


def explain(
    what: Annotated[
        str,
        typer.Argument(help="A model that `neglog fit --save` wrote, or the name of a family", show_default=False),
    ],
    raw: Raw = False,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Print a saved model: its formula, noise, prior, coefficients and what they come to, and the data it was fitted
    to. Or a family of noises or priors: its density and loss, what it predicts, when to use it and when not.
    """
    if not Path(what).exists() and _is_name(what):
        from neglog.overview import described

        show(described(what))
        return
    from neglog.results.loading import load
    from neglog.results.storage import to_json
    from neglog.results.summary import equation

    found = load(what)
    if as_json:
        print_json(to_json(found))
        return
    show(equation(found))
    show(found.summary(contrasts=not raw))
    facts = ", ".join(f"{name} {value:,.6g}" for name, value in found.target_summary.items())
    show(f"Fitted to {found.n_rows:,} rows of {found.named.get('y', 'y')}: {facts}")
    for column in found.schema.table or ():
        levels = "" if column.levels is None else f": {', '.join(map(str, column.levels))}"
        show(f"  {column.name}, {column.kind}{levels}")
    if found.noise.of_classes or found.noise.batch_shape:  # whose terms have an effect for each class or quantile
        return
    for term in found.relativities().values():
        show(f"{term.name}{', as factors' if 'factor' in term.table else ''}, against {term.against}")
        for line in term.lines:
            show(f"  {line}")


def _is_name(text: str) -> bool:
    """Whether a text can be no file of a model, but a family: student-t."""
    return all(letter.isalnum() or letter in "-_ ()" for letter in text)


def families() -> None:
    """List the noises and priors with what they are for, their losses, penalties and links."""
    from neglog.overview import families

    show(families())
    show("neglog explain gamma says more of one.")
