"""The command line: compare noises, fit one, predict with it, check it, explain what was saved, take it elsewhere.

NumPy and all that follows are imported by the commands that need them: help comes at once.
"""

import os
import re
import sys
from typing import Annotated, Any

import typer

from neglog.cli import check, compare, explain, export, fit, predict

app = typer.Typer(
    name="neglog",
    help="Every loss is a −log p: which noise do your data support, and what does it predict?",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command(epilog=compare.EXAMPLES)(compare.compare)
app.command(epilog=fit.EXAMPLES)(fit.fit)
app.command(epilog=predict.EXAMPLES)(predict.predict)
app.command(epilog=check.EXAMPLES)(check.check)
app.command(epilog=explain.EXAMPLES)(explain.explain)
app.command(epilog=export.EXAMPLES)(export.export)
app.command()(explain.families)

OPTIONS = {  # what the library's messages say of its arguments, and what they are here
    r'\bmissing="(\w+)"': r"--missing \1",
    r"\b(exposure|offset)=\.\.\. \([^)]*\)": r"--\1 COLUMN",
    r"\blower rare\b": "lower --rare",
    r"^(missing|folds|rare|exposure|offset|dialect)(?= must\b| is\b| has\b)": r"--\1",
    r"^sample_weight(?= must\b| is\b| has\b)": "--weight",
}


@app.callback(invoke_without_command=True)
def _version(
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit", is_eager=True)] = False,
) -> None:
    if version:
        from neglog import __version__

        print(f"neglog {__version__}")
        raise typer.Exit


def _show_warning(message: Any, *_: Any, **__: Any) -> None:
    print(f"neglog: warning: {_as_options(str(message))}", file=sys.stderr)


def _as_options(text: str) -> str:
    """A message of the library in the words of the command line: missing="drop" is --missing drop."""
    for said, option in OPTIONS.items():
        text = re.sub(said, option, text)
    return text


def main() -> None:
    """Exit codes: 0 done, 1 failed, 2 called wrongly. Errors are one sentence on the standard error."""
    import warnings

    debug = "--debug" in sys.argv
    if not debug:
        warnings.showwarning = _show_warning
    try:
        app()
    except BrokenPipeError:  # whoever read our output has enough of it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except (ValueError, TypeError, KeyError, OSError, ImportError, MemoryError) as error:
        if debug:
            raise
        text = error.args[0] if isinstance(error, KeyError) and error.args else error
        print(f"neglog: {_as_options(str(text))}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        print("neglog: interrupted", file=sys.stderr)
        sys.exit(1)
