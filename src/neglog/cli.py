"""The command line: compare noises, fit one, predict with it, explain what was saved.

NumPy and all that follows are imported by the commands that need them: help comes at once.
"""

import json
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

app = typer.Typer(
    name="neglog",
    help="Every loss is a −log p: which noise do your data support, and what does it predict?",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)

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
    typer.Option(help="The column to explain; or --lower and --upper", show_default=False, rich_help_panel=DATA),
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

OPTIONS = {  # what the library's messages say of its arguments, and what they are here
    r'\bmissing="(\w+)"': r"--missing \1",
    r"\b(exposure|offset)=\.\.\. \([^)]*\)": r"--\1 COLUMN",
    r"\blower rare\b": "lower --rare",
    r"^(missing|folds|rare|exposure|offset)(?= must\b| is\b| has\b)": r"--\1",
    r"^sample_weight(?= must\b| is\b| has\b)": "--weight",
}

COMPARE = """Examples:

  [bold]neglog compare visits.parquet --target visits[/bold]

  [bold]neglog compare claims.csv --target cost --exposure years --report claims.html[/bold]

  [bold]neglog compare claims.csv --target cost --noise "gamma,lognormal,tweedie(power=1.5)" --json[/bold]

  [bold]neglog compare patients.csv --target days --event died[/bold]
"""
FIT = """Examples:

  [bold]neglog fit visits.parquet --target visits --noise poisson --save visits.json[/bold]

  [bold]neglog fit claims.csv --target cost --noise "tweedie(power=1.5)" --prior "laplace(scale=0.1)"[/bold]

  [bold]neglog fit claims.csv --target cost --noise gamma --smooth age,power --group region --model shape[/bold]

A noise or prior leaves open what is not stated: a prior that is just [bold]gaussian[/bold] learns its scale.
"""
PREDICT = """Examples:

  [bold]neglog predict visits.json new.parquet -o predictions.parquet --quantiles .05,.5,.95[/bold]

  [bold]neglog predict visits.json new.csv --keep id | head[/bold]
"""


@app.command(epilog=COMPARE)
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
    folds: Annotated[int, typer.Option(help="Parts of the rows that are left out in turn", rich_help_panel=MODEL)] = 5,
    seed: Annotated[int, typer.Option(help="Of the folds", rich_help_panel=MODEL)] = 0,
    report: Annotated[Path | None, typer.Option(help="Write a report, an HTML file", rich_help_panel=OUTPUT)] = None,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Which noise do these data support? Ranks them by the nats of rows they have not seen."""
    _check_directory(report)
    y, ends = _asked(target, event, lower, upper)
    data, notes = _opened(table, ends["y"], [*list(ends.values())[1:], exposure, weight, offset], without, keep)
    from neglog.comparison.compare import compare as compared
    from neglog.comparison.recipes import fit_command

    with _progress() as tell:
        found = compared(
            data,
            y,
            None if noise is None else _listed(noise),
            prior,
            folds=folds,
            seed=seed,
            sample_weight=weight,
            offset=offset,
            exposure=exposure,
            missing=missing,
            rare=rare,
            progress=tell,
            cache=cache,
            terms=_terms(data, ends, [exposure, weight, offset], smooth, group, interaction),
        )
        kept = _listed(keep or "")  # of which nobody need be told that they look like identifiers
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
        found.command = fit_command(table, target, found.scores[0].noise, found.prior, options)
        if report is not None:
            tell("Report", 1.0)
            from neglog.report import write_report

            write_report(found, report, command=_command())
    if as_json:
        _print_json(found.to_json())
        return
    _print(found)
    print(f"From the shell: {found.command}")  # in one line, to be copied
    if report is not None:
        _print(f"Report: {report}")


@app.command(epilog=FIT)
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
    raw: Raw = False,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Fit one noise and print its coefficients."""
    _check_directory(save)
    from neglog.distributions.specification import noise_of, prior_of

    law, belief = noise_of(noise).modelling(*_listed(model or "")), prior_of(prior)
    y, ends = _asked(target, event, lower, upper)
    data, notes = _opened(table, ends["y"], [*list(ends.values())[1:], exposure, weight, offset], without, keep)
    from neglog.fitting.fit import fit as fitted
    from neglog.results.storage import to_json

    with _progress() as tell:
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
            terms=_terms(data, ends, [exposure, weight, offset], smooth, group, interaction),
        )
        found.notes[:0] = notes
        if save is not None:
            found.save(save)
        stored = to_json(found) if as_json else None
    if as_json:
        _print_json(stored)
        return
    _print(found.summary(contrasts=not raw))
    if save is not None:
        _print(f"Model: {save}")


@app.command(epilog=PREDICT)
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
    _check_directory(output)
    levels = [_level(text) for text in _listed(quantiles or "")]
    from neglog.results.loading import load
    from neglog.results.prediction_files import predict_file, predict_source

    found = load(model)
    named = found.named_beside(offset, exposure)
    done = 0
    with _progress() as tell:

        def count(rows: int) -> None:
            nonlocal done
            done += rows
            tell(f"{done:,} rows", None)

        if not table.is_file():
            from neglog.engines.files import Files

            if output is None:
                raise ValueError("predictions for many files go to a directory; name it with --output")
            source = Files(table, watch=lambda rows, _: tell(f"{rows:,} rows", None))
            done = predict_source(found, source, output, levels, named=named, keep=_listed(keep or ""))
        else:
            predict_file(found, table, output, levels, named=named, keep=_listed(keep or ""), tell=count)
    if output is not None:
        _print(f"{done:,} predictions: {output}")


@app.command(epilog="Example: [bold]neglog explain visits.json[/bold]")
def explain(model: ModelFile, raw: Raw = False, as_json: AsJson = False, debug: Debug = False) -> None:
    """Print a saved model: its formula, noise, prior and coefficients, and the data it was fitted to."""
    from neglog.results.effects import effect_table, level_terms
    from neglog.results.loading import load
    from neglog.results.storage import to_json
    from neglog.results.summary import equation

    found = load(model)
    if as_json:
        _print_json(to_json(found))
        return
    _print(equation(found))
    _print(found.summary(contrasts=not raw))
    facts = ", ".join(f"{name} {value:,.6g}" for name, value in found.target_summary.items())
    _print(f"Fitted to {found.n_rows:,} rows of {found.named.get('y', 'y')}: {facts}")
    for column in found.schema.table or ():
        levels = "" if column.levels is None else f": {', '.join(map(str, column.levels))}"
        _print(f"  {column.name}, {column.kind}{levels}")
    for name in level_terms(found):
        _print(effect_table(found, name))


@app.command()
def families() -> None:
    """List the noises and priors with their losses, penalties and links."""
    from neglog.overview import families, two_roles

    _print(families())
    _print(two_roles())


@app.callback(invoke_without_command=True)
def _version(
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit", is_eager=True)] = False,
) -> None:
    if version:
        from neglog import __version__

        print(f"neglog {__version__}")
        raise typer.Exit


# ---- reading ---------------------------------------------------------------------------------------------------------


def _asked(target: str | None, event: str | None, lower: str | None, upper: str | None) -> tuple[Any, dict[str, str]]:
    """What is explained, as the library takes it, and the columns that tell it."""
    from neglog.distributions.censored import NamedCells, ends_of

    begin = target if lower is None else lower
    if begin is None:
        raise typer.BadParameter(
            "name the column to explain with --target, or the ends of what is known of it: --lower and --upper"
        )
    if target is not None and lower is not None:
        raise typer.BadParameter("--target and --lower are two names for the same: give one of them")
    if event is not None and upper is not None:
        raise typer.BadParameter("--event and --upper both say what was observed: give one of them")
    if lower is not None and upper is None:
        raise typer.BadParameter("--lower needs --upper: the columns with the two ends of what is known")
    beside = {"event": event, "upper": upper}
    told = {what: name for what, name in beside.items() if name is not None}
    y: Any = NamedCells({"y": begin, **told}) if told else begin
    return y, ends_of(y)


def _opened(
    path: Path, target: str, named: list[str | None], without: str | None, keep: str | None
) -> tuple[Any, list[str]]:
    """The table of a file without what is not to be used, and notes about what was left out for being useless.

    Many files, or a large one, are opened to be read piece by piece; whether their columns are useful is not looked at.
    """
    from neglog.design.files import is_large, open_table
    from neglog.design.screening import useless_columns
    from neglog.design.tables import quoted

    used = [target, *(name for name in named if name)]
    left_out, kept = _listed(without or ""), _listed(keep or "")

    def check(names: Any) -> None:
        absent = [name for name in [*used, *left_out, *kept] if name not in names]
        if absent:
            raise ValueError(f"{path} has no column {quoted(absent)}; it has {quoted(names)}")

    if not path.is_file() or is_large(path):
        from neglog.engines.files import Files

        source = Files(path)
        check(source.types)
        return source.without(set(left_out) - set(used)), []
    table = open_table(path)
    check(table.column_names)
    table = table.drop_columns([name for name in left_out if name not in used])
    useless = useless_columns(table.drop_columns(list(dict.fromkeys([*used, *(k for k in kept if k not in used)]))))
    notes = [f"{name}: left out, since {reason}; --keep {name} uses it" for name, reason in useless.items()]
    return table.drop_columns(list(useless)), notes


def _terms(
    data: Any,
    ends: dict[str, str],
    named: list[str | None],
    smooth: str | None,
    group: str | None,
    interaction: str | None,
) -> Any:
    """What predictions are made of: the columns as they are, but for those that are to be curves or groups."""
    if smooth is None and group is None and interaction is None:
        return None
    from neglog.design.terms import Group, Interaction, Smooth

    pairs = [tuple(pair.split(":")) for pair in _listed(interaction or "")]
    wrong = [pair for pair in pairs if len(pair) != 2]
    if wrong:
        raise ValueError(f"--interaction takes pairs such as age:fuel, but one is {':'.join(wrong[0])!r}")
    if smooth == "auto" and not (group or interaction):
        return "smooth"
    if smooth == "auto":
        raise ValueError("--smooth auto chooses all terms; name the curves where groups or interactions are stated too")
    curves, groups = _listed(smooth or ""), _listed(group or "")
    used = {*ends.values(), *named}
    columns = [name for name in (getattr(data, "types", None) or data.column_names) if name not in used]
    stated: list[Any] = [Smooth(name) for name in curves] + [Group(name) for name in groups]
    rest = [name for name in columns if name not in {*curves, *groups}]
    parts = [[Smooth(one) if one in curves else one for one in pair] for pair in pairs]
    both = [Interaction(first, second) for first, second in parts]
    return [*rest, *stated, *both]


def _listed(text: str) -> list[str]:
    """Items between commas that are not inside parentheses."""
    items, depth, start = [], 0, 0
    for i, letter in enumerate(text):
        depth += (letter in "([") - (letter in ")]")
        if letter == "," and depth == 0:
            items.append(text[start:i])
            start = i + 1
    return [item.strip() for item in [*items, text[start:]] if item.strip()]


def _level(text: str) -> float:
    try:
        level = float(text)
    except ValueError:
        level = -1.0
    if not 0 < level < 1:
        raise typer.BadParameter(f"quantiles must be levels between 0 and 1, but one is {text!r}")
    return level


def _check_directory(path: Path | None) -> None:
    """Before hours of work, not after."""
    if path is not None and not path.parent.is_dir():
        raise FileNotFoundError(f"there is no directory {path.parent} to write {path.name} to")


# ---- printing --------------------------------------------------------------------------------------------------------


def _print(what: Any) -> None:
    from rich.console import Console

    console = Console(highlight=False, markup=False)  # brackets are names of levels, not markup
    if not console.is_terminal:
        console.width = 120  # pipes and files have none
    console.print(what)


def _print_json(value: Any) -> None:
    print(json.dumps(_plain(value), indent=1, ensure_ascii=False))


def _plain(value: Any) -> Any:
    """Without NumPy's types, and null for what is no number: JSON has no NaN."""
    if isinstance(value, dict):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, float) and not abs(value) < float("inf"):
        return None
    return value


@contextmanager
def _progress() -> Iterator[Callable[[str, float | None], None]]:
    """A bar on the standard error while a person looks at it; it is told a sentence and the share that is done."""
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda *_: None
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (BarColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=None)

        def tell(text: str, share: float | None) -> None:
            bar.update(task, description=text, completed=share or 0.0, total=None if share is None else 1.0)

        yield tell


def _command() -> str:
    import shlex

    return shlex.join(["neglog", *sys.argv[1:]])


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
