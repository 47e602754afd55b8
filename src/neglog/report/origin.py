"""Where the page comes from: the data, the noises that were left out, and how to make it again."""

import platform
from collections.abc import Iterator
from datetime import datetime
from importlib.metadata import version
from typing import TYPE_CHECKING

from neglog.report.drawing import number
from neglog.report.head import of_call, readable
from neglog.report.page import Section, Table

if TYPE_CHECKING:
    from neglog.comparison.comparison import Comparison

PACKAGES = ("neglog", "numpy", "scipy")
LEVELS = 8  # of a factor that are named
COLUMNS = 30  # that are listed without a click


def data(comparison: "Comparison") -> Iterator[Section]:
    """The columns, and what was done to them."""
    rows = []
    for column in comparison.fit.schema.table or ():
        known = next((one for one in comparison.columns if one.name == column.name), None)
        missing = "" if known is None else f"{known.missing:,}" if known.missing else "none"
        if column.levels is None:
            ends = "" if known is None or known.quantiles is None else " · ".join(map(number, known.quantiles))
            rows.append([column.name, column.kind, ends, "" if known is None else f"{known.distinct:,}", missing])
            continue
        if known is not None:
            total = max(sum(count for _, count in known.levels), 1)
            names = [f"{name} {count / total:.0%}" for name, count in known.levels]
        else:
            names = list(map(str, column.levels))
        more = f" and {len(names) - LEVELS:,} more" if len(names) > LEVELS else ""
        rows.append([column.name, column.kind, ", ".join(names[:LEVELS]) + more, f"{len(names):,}", missing])
    summary = ", ".join(
        f"{name}: {number(value)}" if isinstance(value, float) else f"{name}: {value}"
        for name, value in comparison.fit.target_summary.items()
    )
    words = [
        f"{comparison.rows:,} rows of {comparison.target}: {summary}.",
        f"How y was taken: {comparison.resolution}.",
    ]
    if comparison.scores[0].totals is not None and comparison.columns:
        words.append("Of the columns are told what some of the rows have.")
    heads = ["column", "kind", "least · median · largest, or levels", "different", "missing"]
    folded = f"All {len(rows)} columns" if len(rows) > COLUMNS else ""
    tables = [Table(heads, rows, 3, folded=folded)] if rows else []
    yield Section("The data", words, tables=tables, bullets=[*comparison.leaks, *comparison.notes])


def refused(comparison: "Comparison") -> Iterator[Section]:
    """Noises that are not in the ranking, and why."""
    if comparison.refused:
        yield Section(f"{len(comparison.refused)} laws that were not ranked", bullets=comparison.reasons, folded=True)


def making(comparison: "Comparison", command: str, made: datetime) -> Section:
    """What makes the page again, and with what it was made."""
    code = [("The page", command)] if command else []
    code.append((of_call(comparison), comparison.call))
    score = readable(comparison)
    if score is not comparison.scores[0]:
        code.append(("The best that can be read", comparison.call_of(score)))
    if comparison.command:
        code.append(("The same in the shell", comparison.command))
    versions = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    seed = "" if comparison.seed is None else f", seed {comparison.seed}"
    words = [
        f"{comparison.folds} folds{seed}. {versions}, Python {platform.python_version()}. "
        f"Made {made:%Y-%m-%d %H:%M} {made.tzname() or ''}".rstrip()
        + "."
    ]
    return Section("How this was made", words, code=code)
