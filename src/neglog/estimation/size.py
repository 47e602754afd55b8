"""How many coefficients a fit may have: those whose curvature is one dense matrix take memory with the square of their
number and time with its cube.
"""

import math

from neglog.design.blocks import Codes
from neglog.likelihood.task import Task

DENSE = 5_000  # coefficients whose curvature is held: 200 MB, several times over
LEARNED = 2_000  # the same where a prior's scale is learned, from a fit and an inverse for each scale that is tried
EXACT = 1e11  # operations of an exact absolute loss: about a minute
EXACT_LEARNED = 1e10  # the same where a prior's scale is learned, and where folds are to be fitted


def refuse_too_many(task: Task, *, learned: bool = False) -> None:
    """Refuse a fit that would take more memory or time than anyone has; names the factor with the most levels."""
    engine = task.engine
    most = LEARNED if learned else DENSE
    wide = task.penalty.smooth or engine.streamed or learned  # a lasso in memory looks at few columns at a time
    if wide and engine.width > most:
        what = "to learn the scale of their prior" if learned else "to fit at once"
        remedy = "" if learned else "; a Laplace prior looks at few of them at a time"
        raise ValueError(f"{engine.width:,} coefficients are too many {what}, at most {most:,}{_factor(task)}{remedy}")
    if not task.target.bends and _operations(engine.rows, engine.width) > (EXACT_LEARNED if learned else EXACT):
        what = "a learned prior, which needs several fits" if learned else "that"
        raise ValueError(
            f"{type(task.target.noise).__name__} noise is fitted exactly, and {engine.rows:,} rows of "
            f"{engine.width:,} coefficients are too many for {what}{_factor(task)}; a smooth loss such as Huber's "
            "takes more columns"
        )


def _operations(rows: int, columns: int) -> float:
    """Of the exact absolute loss, roughly: a few steps for each column, in each of them the rows that may decide; and
    some inverses.
    """
    deciding = min(float(rows), 3.5 * math.sqrt(6.0 * columns * rows))
    return 3.0 * columns * (deciding * columns + 100.0 * columns * columns)


def _factor(task: Task) -> str:
    """What to do about them."""
    design = task.engine.design
    factors = [block for block in design.blocks if isinstance(block, Codes)]
    if not factors:
        return ": leave columns out"
    largest = max(factors, key=lambda block: block.columns)
    start = 0
    for block in design.blocks:
        if block is largest:
            break
        start += block.columns
    name = design.names[start].rpartition("[")[0] or design.names[start]
    return (
        f": the column {name!r} alone has {len(largest.levels):,} levels. Let those of few rows have no effect of "
        "their own with rare=... (--rare on the command line), or leave the column out (--without)"
    )
