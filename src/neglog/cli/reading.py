"""What the command line was given, as the library takes it."""

from pathlib import Path
from typing import Any

import typer


def asked(target: str | None, event: str | None, lower: str | None, upper: str | None) -> tuple[Any, dict[str, str]]:
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


def opened(
    path: Path, target: str, named: list[str | None], without: str | None, keep: str | None
) -> tuple[Any, list[str]]:
    """The table of a file without what is not to be used, and notes about what was left out for being useless.

    Many files, or a large one, are opened to be read piece by piece; whether their columns are useful is not looked at.
    Nor is it where the target is a formula, which says itself what is used.
    """
    from neglog.design import is_formula
    from neglog.design.files import is_large, open_table
    from neglog.design.screening import useless_columns
    from neglog.design.tables import quoted
    from neglog.printing import did_you_mean

    stated = is_formula(target)
    used = [*([] if stated else [target]), *(name for name in named if name)]
    left_out, kept = listed(without or ""), listed(keep or "")

    def check(names: Any) -> None:
        absent = [name for name in [*used, *left_out, *kept] if name not in names]
        if absent:
            raise ValueError(
                f"{path} has no column {quoted(absent)}; it has {quoted(names)}{did_you_mean(absent, names)}"
            )

    if not path.is_file() or is_large(path):
        from neglog.engines.files import Files

        source = Files(path)
        check(source.types)
        return source.without(set(left_out) - set(used)), []
    table = open_table(path)
    check(table.column_names)
    table = table.drop_columns([name for name in left_out if name not in used])
    if stated:
        return table, []
    useless = useless_columns(table.drop_columns(list(dict.fromkeys([*used, *(k for k in kept if k not in used)]))))
    notes = [f"{name}: left out, since {reason}; --keep {name} uses it" for name, reason in useless.items()]
    return table.drop_columns(list(useless)), notes


def terms_of(
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

    pairs = [tuple(pair.split(":")) for pair in listed(interaction or "")]
    wrong = [pair for pair in pairs if len(pair) != 2]
    if wrong:
        raise ValueError(f"--interaction takes pairs such as age:fuel, but one is {':'.join(wrong[0])!r}")
    if smooth == "auto" and not (group or interaction):
        return "smooth"
    if smooth == "auto":
        raise ValueError("--smooth auto chooses all terms; name the curves where groups or interactions are stated too")
    curves, groups = listed(smooth or ""), listed(group or "")
    used = {*ends.values(), *named}
    columns = [name for name in (getattr(data, "types", None) or data.column_names) if name not in used]
    stated: list[Any] = [Smooth(name) for name in curves] + [Group(name) for name in groups]
    rest = [name for name in columns if name not in {*curves, *groups}]
    parts = [[Smooth(one) if one in curves else one for one in pair] for pair in pairs]
    both = [Interaction(first, second) for first, second in parts]
    return [*rest, *stated, *both]


def listed(text: str) -> list[str]:
    """Items between commas that are not inside parentheses."""
    items, depth, start = [], 0, 0
    for i, letter in enumerate(text):
        depth += (letter in "([") - (letter in ")]")
        if letter == "," and depth == 0:
            items.append(text[start:i])
            start = i + 1
    return [item.strip() for item in [*items, text[start:]] if item.strip()]


def level_of(text: str) -> float:
    try:
        level = float(text)
    except ValueError:
        level = -1.0
    if not 0 < level < 1:
        raise typer.BadParameter(f"quantiles must be levels between 0 and 1, but one is {text!r}")
    return level


def check_directory(path: Path | None) -> None:
    """Before hours of work, not after."""
    if path is not None and not path.parent.is_dir():
        raise FileNotFoundError(f"there is no directory {path.parent} to write {path.name} to")
