"""Columns that tell the target, which a forecast would not have: alone, as a part of it, or as a sum. And columns that
look like names of rows.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from neglog.design.blocks import Codes, Dense
from neglog.design.design import Design
from neglog.design.screening import FEW_ROWS, names_of_rows, numbers_of_rows
from neglog.design.selection import take_rows
from neglog.typing import Numbers

ROWS = 10_000  # that are looked at, evenly spread
ROWS_FOR_NAMES = 100_000  # that are looked at for identifiers
ENTRIES = 20_000_000  # of X that are looked at, at most
ALMOST_ALL = 0.99  # of the variance, by one column
A_PART = 0.9  # of the variance, by one column that is never above the target, or never below
SAME_UNIT = 2.0  # largest slope of the target on such a column, and inverse of the least: others have another unit
FUNCTION = 0.97  # Chatterjee's coefficient, from which on the target is a function of the column
A_SUM = 0.9999  # of the variance, by several columns
EXACT = 1 - 1e-9  # of the variance: all but rounding
TERMS = 8  # of a sum, at most
SPARE = 5  # rows for each thing that is estimated, at least
ADVICE = "leave out what is not known before the target"


def leaks(design: Design, y: Any, target: str, *, numeric: bool) -> list[str]:
    """What tells the target, in sentences without their stop; y are numbers, or labels."""
    if design.rows <= FEW_ROWS or not design.columns:
        return []
    most = min(ROWS, max(ENTRIES // max(design.columns, 1), SPARE * FEW_ROWS))
    some = slice(None, None, -(-design.rows // most))
    design, y = take_rows(design, some), np.asarray(y)[some]
    values = y.astype(float) if numeric else np.unique(y, return_inverse=True)[1].astype(float)
    if not np.isfinite(values).all() or np.ptp(values) == 0:
        return []
    found: dict[str, str] = {}
    for name, block in _blocks(design):
        reason = _of_factor(block, values, numeric) if isinstance(block, Codes) else _of_numbers(block, values, numeric)
        if reason is not None:
            found[name] = reason
    told = [f"{name} alone {reason} of {target}, as a leak does; {ADVICE}" for name, reason in found.items()]
    if numeric and not any(reason.startswith("explains") for reason in found.values()):
        total = _of_sum(design, values, target)
        if total is not None:
            return [total]  # of which the columns that stand out are parts
    return told


def perfection(score: Any, y: Any, target: str) -> list[str]:
    """A sentence about held-out rows that are predicted as if they had been seen, whatever the columns are."""
    if score.noise.labelled:
        shares = np.unique(y, return_counts=True)[1] / len(y)
        share = 1 - score.mean / float(-shares @ np.log(shares))
    else:
        share = explained(score.predicted, np.asarray(y, float)) if np.isfinite(score.predicted).all() else 0.0
    if share < A_SUM or len(y) <= FEW_ROWS:
        return []
    return [
        f"{_percent(share)} of {target} is predicted in rows that were held out, as where columns tell it; look at "
        f"those of the largest effect and {ADVICE}"
    ]


def identifiers(design: Design) -> list[str]:
    """Notes on columns of a table that look like names of rows."""
    if design.schema.table is None:
        return []
    step = -(-design.rows // ROWS_FOR_NAMES)
    notes = []
    for name, block in _blocks(design):
        if isinstance(block, Codes):
            reason = names_of_rows(len(block.levels), design.rows)
        else:
            reason = numbers_of_rows(name, np.asarray(block[::step], float))
        if reason is not None:
            notes.append(f"{name}: {reason}; leave it out unless it means something")
    return notes


def _blocks(design: Design) -> Iterator[tuple[str, Any]]:
    """Each column of numbers, and each factor, by name."""
    start = 0
    for block in design.blocks:
        if isinstance(block, Dense):
            for j in range(block.columns):
                yield design.names[start + j], block.values[:, j]
        elif isinstance(block, Codes):
            yield design.names[start].partition("[")[0] if block.columns else "", block
        start += block.columns


# ---- one column ------------------------------------------------------------------------------------------------------


def _of_numbers(x: Any, y: Numbers, numeric: bool) -> str | None:
    x = np.asarray(x, float)
    if not np.isfinite(x).all() or np.ptp(x) == 0:
        return None
    if numeric:
        share = explained(x, y)
        if share >= ALMOST_ALL:
            return f"explains {_percent(share)}"
        inside = (x >= 0).all() and (y >= 0).all() and 1 / SAME_UNIT <= _slope(x, y) <= SAME_UNIT
        if inside and share >= A_PART and ((x <= y).all() or (x >= y).all()):
            side = "above" if (x <= y).all() else "below"
            return f"is never {side} the target and tells {_percent(share)}"
    if dependence(x, y) >= min(FUNCTION, 1 - 4 / len(y)):
        return "explains almost all"
    return None


def _of_factor(block: Codes, y: Numbers, numeric: bool) -> str | None:
    codes, levels = block.codes.astype(np.int64) + 1, len(block.levels) + 1  # of which the first are unknown
    if len(y) < SPARE * levels:
        return None
    if not numeric:
        table = np.zeros((levels, int(y.max()) + 1))
        np.add.at(table, (codes, y.astype(int)), 1)
        base = table.sum(axis=0).max() / len(y)
        share = (table.max(axis=1).sum() / len(y) - base) / (1 - base)
    else:
        counts = np.bincount(codes, minlength=levels)
        means = np.bincount(codes, y, levels) / np.maximum(counts, 1)
        used = int(np.count_nonzero(counts))
        within = np.sum((y - means[codes]) ** 2) / (len(y) - used)
        share = 1 - within / (np.sum((y - y.mean()) ** 2) / (len(y) - 1))
    return f"explains {_percent(share)}" if share >= ALMOST_ALL else None


def explained(x: Numbers, y: Numbers) -> float:
    """The share of the variance of y that a line through x explains."""
    x, y = x - x.mean(), y - y.mean()
    sizes = np.sqrt(x @ x) * np.sqrt(y @ y)
    return float((x @ y / sizes) ** 2) if sizes > 0 else 0.0


def _slope(x: Numbers, y: Numbers) -> float:
    away = x - x.mean()
    return float(away @ y / (away @ away))


def dependence(x: Numbers, y: Numbers) -> float:
    """Chatterjee's coefficient (2021): 0 for independence, near 1 where y is some function of x, however bent."""
    mixed = np.random.default_rng(0).permutation(len(x))  # among equal x the order must not tell
    y = y[mixed][np.argsort(x[mixed], kind="stable")]
    ordered = np.sort(y)
    below = np.searchsorted(ordered, y, side="right")
    above = len(y) - np.searchsorted(ordered, y, side="left")
    spread = 2 * np.sum(above * (len(y) - above))
    return float(1 - len(y) * np.sum(np.abs(np.diff(below))) / spread) if spread else 0.0


# ---- several columns -------------------------------------------------------------------------------------------------


def _of_sum(design: Design, y: Numbers, target: str) -> str | None:
    """Few columns whose weighted sum is the target: the one that explains most, then what explains most of the rest."""
    named = [(name, np.asarray(x, float)) for name, x in _blocks(design) if not isinstance(x, Codes)]
    named = [(name, x) for name, x in named if np.isfinite(x).all() and np.ptp(x) > 0]
    if len(named) < 2:
        return None
    names = [name for name, _ in named]
    columns = np.column_stack([x for _, x in named])
    columns = columns - columns.mean(axis=0)
    sizes = np.sqrt(np.sum(columns**2, axis=0))
    unit, rest = columns / sizes, y - y.mean()
    whole = float(rest @ rest)
    chosen: list[int] = []
    share = 0.0
    while share < EXACT and len(chosen) < min(TERMS, len(names)) and len(y) >= SPARE * (len(chosen) + 2):
        gain = np.abs(unit.T @ rest)
        gain[chosen] = -1.0
        chosen.append(int(np.argmax(gain)))
        rest, share = _left(unit[:, chosen], y - y.mean(), whole)
    if share < A_SUM:
        return None
    for j in list(chosen):
        others = [k for k in chosen if k != j]
        if others and _left(unit[:, others], y - y.mean(), whole)[1] >= min(share, EXACT):
            chosen = others
    coefficients = np.linalg.lstsq(columns[:, chosen], y - y.mean(), rcond=None)[0]
    terms = " ".join(
        _term(c, names[j], first=k == 0) for k, (c, j) in enumerate(zip(coefficients, chosen, strict=True))
    )
    if share < EXACT:
        return f"{terms} explains {_percent(share)} of {target}, as a leak does; {ADVICE}"
    shift = float(y.mean() - np.mean([x for _, x in named], axis=1)[chosen] @ coefficients)
    if abs(shift) > 1e-6 * np.sqrt(whole / len(y)):
        terms += f" {'+' if shift > 0 else '−'} {abs(shift):.6g}"
    return f"{terms} is {target} in every row, a leak; {ADVICE}"


def _left(columns: Numbers, y: Numbers, whole: float) -> tuple[Numbers, float]:
    """What the columns do not explain, and the share that they do."""
    rest = y - columns @ np.linalg.lstsq(columns, y, rcond=None)[0]
    return rest, 1 - float(rest @ rest) / whole


def _term(coefficient: float, name: str, *, first: bool) -> str:
    size = "" if abs(abs(coefficient) - 1) < 1e-4 else f"{abs(coefficient):.4g} "
    sign = "−" if coefficient < 0 else "" if first else "+"
    return f"{sign}{'' if first else ' '}{size}{name}"


def _percent(share: float) -> str:
    """As many nines as there are."""
    if share >= EXACT:
        return "all"
    places = int(max(0, -np.floor(np.log10(1 - share)) - 2))
    return f"{100 * share:.{places}f}%"
