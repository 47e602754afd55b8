"""Which rows are left out together: at random, group by group, or what came later; and what speaks against chance."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from neglog.comparison.structures import features_of
from neglog.design.design import Design
from neglog.streaming.pieces import fold_of
from neglog.typing import Numbers

BY = ("time", "group")
MANY = 20  # different values that a column of time has at least
COPIES = 0.01  # of the rows that are worth a word
CONTINUOUS = 0.5  # of the rows that have different values of a column, without which rows repeat as they should


@dataclass(frozen=True)
class Splits:
    """For each fold the rows to fit and the rows to score; `tested` are all that are scored, in order."""

    pairs: list[tuple[Numbers, Numbers]]
    tested: Numbers

    def __len__(self) -> int:
        return len(self.pairs)

    @property
    def fold(self) -> Numbers:
        """The fold in which each of the tested rows is scored."""
        out = np.empty(len(self.tested), int)
        for k, (_, test) in enumerate(self.pairs):
            out[np.searchsorted(self.tested, test)] = k
        return out


def at_random(where: Numbers, folds: int, seed: int) -> Splits:
    """By a hash of where a row stands, so that folds are the same wherever the rows are."""
    fold = fold_of(where, folds, seed)
    if np.bincount(fold, minlength=folds).min() == 0:  # of very few rows
        fold = np.arange(len(where)) % folds
    return _of(fold, folds)


def split_by(kind: str, values: Any, folds: int, seed: int) -> Splits:
    """Groups that are left out whole, or rows that are scored by fits to what came before them."""
    if kind == "time":
        moments, place = np.unique(np.asarray(values), return_inverse=True)
        if len(moments) <= folds:
            raise ValueError(f"folds_by time needs more than {folds} moments, but the column has {len(moments)}")
        ends = np.quantile(place, np.linspace(0, 1, folds + 2)[1:-1], method="higher")
        block = np.searchsorted(ends, place, side="right")  # rows of one moment stay together
        blocks = [k for k in np.unique(block) if k > 0]
        pairs = [(np.flatnonzero(block < k), np.flatnonzero(block == k)) for k in blocks]
        return Splits(pairs, np.flatnonzero(block > 0))
    groups, place = np.unique(np.asarray(values), return_inverse=True)
    if len(groups) < folds:
        raise ValueError(f"folds_by group needs at least {folds} groups, but the column has {len(groups)}")
    order = np.random.default_rng(seed).permutation(len(groups))
    counts = np.bincount(place)[order]
    of_group = np.empty(len(groups), int)
    sizes = np.zeros(folds)
    for group, count in sorted(zip(order, counts, strict=True), key=lambda one: -one[1]):  # the largest first
        of_group[group] = int(np.argmin(sizes))
        sizes[of_group[group]] += count
    return _of(of_group[place], folds)


def _of(fold: Numbers, folds: int) -> Splits:
    pairs = [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(folds)]
    return Splits(pairs, np.arange(len(fold)))


def checked_by(folds_by: Any) -> tuple[str, Any] | None:
    """What folds are made by, and the column."""
    if folds_by is None:
        return None
    if not isinstance(folds_by, tuple | list) or len(folds_by) != 2 or folds_by[0] not in BY:
        raise ValueError(f'folds_by must be ("time", column) or ("group", column), but is {folds_by!r}')
    return folds_by[0], folds_by[1]


def doubts(design: Design, y: Any, *, by: tuple[str, Any] | None) -> list[str]:
    """Why folds at random may promise too much: columns that look like time, and rows that are there twice."""
    notes = []
    if by is None:
        notes += [
            f"{name} looks like time: folds at random may flatter, for rows of the same days tell of each other; "
            f'folds_by=("time", {name!r}) (--folds-by time {name}) scores what came later'
            for name in _times(design)
        ]
    copies = _copies(design, y)
    if copies >= max(COPIES * design.rows, 2):
        notes.append(
            f"{copies:,} of {design.rows:,} rows repeat others in every column and in the target: if they are copies, "
            "drop them, for what is left out is then not unseen"
        )
    return notes


def _times(design: Design) -> list[str]:
    """Dates, and numbers that never fall from one row to the next."""
    dates = {column.name for column in design.schema.table or () if column.dates}
    found = []
    for feature in features_of(design) if design.schema.table is not None else ():
        if feature.levels is not None:
            continue
        x = np.asarray(feature.values, float)
        change = np.diff(x)
        rises = bool((change >= 0).all()) and MANY <= np.count_nonzero(change) + 1 < design.rows
        if feature.name in dates or rises:
            found.append(feature.name)
    return found


def _copies(design: Design, y: Any) -> int:
    """How many rows are there before, where some column tells most rows apart."""
    features = features_of(design)
    if not any(len(np.unique(np.asarray(one.values))) > CONTINUOUS * design.rows for one in features):
        return 0
    if np.asarray(y).dtype.kind not in "fiub":
        y = np.unique(np.asarray(y), return_inverse=True)[1]
    rng = np.random.default_rng(0)
    mixed = rng.normal() * np.asarray(y, float)
    for one in features:
        mixed = mixed + rng.normal() * np.asarray(one.values, float)
    return int(design.rows - len(np.unique(mixed)))
