"""Labels of groups: which rows belong together, by columns of a table or by values beside X."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neglog.design import tables
from neglog.design.columns import check_index, row_count
from neglog.design.faults import missing_rows
from neglog.design.tables import Table, as_table, quoted
from neglog.printing import did_you_mean

SPREAD = 4  # whole numbers whose range is at most so many times their count are told apart without sorting
LABEL = "group"  # what labels without a name are called

Coded = tuple[NDArray[np.int64], list[Any]]


@dataclass(frozen=True, eq=False)
class Labels:
    """The groups, in the order of their labels. `names` are those of the columns that tell them, none for labels that
    were given as values; `keys` has the label of each group, by name.
    """

    names: tuple[str, ...]
    keys: Mapping[str, tuple[Any, ...]]

    def __len__(self) -> int:
        return len(next(iter(self.keys.values())))

    @cached_property
    def groups(self) -> tuple[Any, ...]:
        """The label of each group; of several columns, a tuple of theirs."""
        keys = tuple(self.keys.values())
        return keys[0] if len(keys) == 1 else tuple(zip(*keys, strict=True))

    @cached_property
    def place(self) -> dict[Any, int]:
        """The number of each group by its label."""
        return {label: place for place, label in enumerate(self.groups)}

    def codes(self, X: Any, by: Any = None) -> tuple[NDArray[np.int64], list[Any]]:
        """The number of each row's group, -1 for one that is not known; and the labels of these, as they come first."""
        if by is None and not self.names:
            raise ValueError("the groups of the fit were given as values: say by=..., one label for each row of X")
        parts = _parts(X, self.names if by is None else by)
        _refuse_missing(parts)
        if len(parts) != len(self.keys):
            raise ValueError(f"the groups of the fit have {len(self.keys)} labels each, but by has {len(parts)}")
        code, labels = _together(list(parts.values()))
        known = np.array([self.place.get(label, -1) for label in labels], np.int64)
        found = known[code]
        lost = np.flatnonzero(found < 0)
        first = dict.fromkeys(code[lost].tolist())
        return found, [labels[own] for own in first]

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {"names": list(self.names), "keys": {name: list(own) for name, own in self.keys.items()}}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> "Labels":
        """What `to_json` described."""
        keys = {str(name): tuple(own) for name, own in stored["keys"].items()}
        sizes = {len(own) for own in keys.values()}
        plain = all(isinstance(label, str | int | float) for own in keys.values() for label in own)
        if len(sizes) != 1 or not plain or not all(isinstance(name, str) for name in stored["names"]):
            raise ValueError("groups must have one label each, texts or numbers")
        return cls(tuple(stored["names"]), keys)


def read_labels(X: Any, by: Any, *, missing: bool = False) -> tuple[NDArray[np.int64], Labels]:
    """The number of each row's group, and the groups: `by` is the name of a column of X, several, or one label for each
    row. Labels that are missing have the number -1, where they may be.
    """
    parts = _parts(X, by)
    if not missing:
        _refuse_missing(parts)
    code, labels = _together(list(parts.values()))
    if not labels:
        raise ValueError("by has no value in any row")
    order = _order(labels)
    place = np.empty(len(labels) + 1, np.int64)
    place[order] = np.arange(len(labels))
    place[-1] = -1  # which the code -1 stands for
    ordered = [labels[k] for k in order]
    columns = list(zip(*ordered, strict=True)) if len(parts) > 1 else [tuple(ordered)]
    return place[code], Labels(_names(X, by), dict(zip(parts, columns, strict=True)))


def _names(X: Any, by: Any) -> tuple[str, ...]:
    """The columns that by names, none where it has values."""
    if isinstance(by, str):
        return (by,)
    if isinstance(by, list | tuple) and by and all(isinstance(name, str) for name in by):
        table = None if isinstance(X, np.ndarray | list | tuple) else as_table(X)
        if table is not None and (len(by) != table.rows or set(by) <= set(table.names)):
            return tuple(by)
    return ()


def named_labels(X: Any, by: Any) -> tuple[str, ...]:
    """The columns of X that `by` names."""
    return _names(X, by)


def _parts(X: Any, by: Any) -> dict[str, Coded]:
    names = _names(X, by)
    if not names:
        return {LABEL: _coded_values(X, by)}
    table: Table | None = None if isinstance(X, np.ndarray | list | tuple) else as_table(X)
    if table is None:
        raise TypeError(f"by names {quoted(names)}, but X is not a table with named columns; give one label per row")
    absent = [name for name in names if name not in table.names]
    if absent:
        raise ValueError(
            f"by names {quoted(absent)}, but X has no such column; it has {quoted(table.names)}"
            f"{did_you_mean(absent, table.names)}"
        )
    return {name: _coded_series(table.series(name)) for name in names}


def _coded_values(X: Any, by: Any) -> Coded:
    if by is None:
        raise TypeError("by must be the name of a column of X, several, or one label for each row, but is None")
    check_index(X, by, "by")
    series = None if isinstance(by, np.ndarray | list | tuple) else tables.as_series(by)
    coded = _coded_array(np.asarray(by)) if series is None else _coded_series(series)
    rows = row_count(X)
    if len(coded[0]) != rows:
        raise ValueError(f"by must have one label per row of X, but has {len(coded[0])} for {rows} rows")
    return coded


def _coded_series(series: Any) -> Coded:
    kind = tables.kind_of(series)
    if kind == "categorical":
        if len(tables.missing_in(series)):
            return _coded_array(np.asarray(series.to_numpy(), object))
        codes, values = tables.codes_of(series)
        place = np.full(max(values) + 1, -1, np.int64)
        place[list(values)] = np.arange(len(values))
        return place[codes], [tables.level(value) for value in values.values()]
    return _coded_array(np.asarray(series.to_numpy()))


def _coded_array(values: NDArray[Any]) -> Coded:
    """Small integers, and the label behind each."""
    if values.ndim != 1:
        raise ValueError(f"by must have one label per row, but has the shape {values.shape}")
    if values.dtype.kind in "iu" and len(values):
        low = int(values.min())
        if int(values.max()) - low <= SPREAD * len(values):
            wide = values if values.dtype.itemsize == 8 else values.astype(np.int64)
            above = (wide - wide.dtype.type(low)).astype(np.int64, copy=False)
            counts = np.bincount(above)
            place = np.cumsum(counts > 0) - 1
            return place[above], [low + own for own in np.flatnonzero(counts).tolist()]
    lost = missing_rows(values)
    codes = np.full(len(values), -1, np.int64)
    known = np.ones(len(values), bool)
    known[lost] = False
    own = values[known]
    if own.dtype.kind == "O":
        place_of: dict[Any, int] = {}
        codes[known] = [place_of.setdefault(tables.level(value), len(place_of)) for value in own.tolist()]
        return codes, list(place_of)
    distinct, inverse = np.unique(own, return_inverse=True)
    codes[known] = inverse.reshape(-1)
    return codes, [tables.number_level(value) for value in distinct]


def _together(parts: list[Coded]) -> Coded:
    """Labels of several columns as tuples, of those that occur together."""
    if len(parts) == 1:
        return parts[0]
    code = np.zeros(len(parts[0][0]), np.int64)
    lost = np.zeros(len(code), bool)
    for own, labels in parts:
        code = code * max(len(labels), 1) + np.maximum(own, 0)
        lost |= own < 0
    inside, distinct = _coded_array(code[~lost])
    codes = np.full(len(code), -1, np.int64)
    codes[~lost] = inside
    found = []
    for whole in distinct:
        label, rest = [], whole
        for _, labels in reversed(parts):
            rest, own = divmod(rest, max(len(labels), 1))
            label.append(labels[own])
        found.append(tuple(reversed(label)))
    return codes, found


def _order(labels: list[Any]) -> Any:
    """The places of the labels in the order of these."""
    kinds = set(map(type, labels))
    if kinds <= {int, float} and max(map(abs, labels)) < tables.EXACT:
        return np.argsort(np.array(labels), kind="stable")
    key = labels.__getitem__ if kinds == {str} else lambda k: _sorted_among(labels[k])
    return sorted(range(len(labels)), key=key)


def _sorted_among(label: Any) -> Any:
    """Numbers before texts."""
    if isinstance(label, tuple):
        return tuple(map(_sorted_among, label))
    return (1, 0.0, label) if isinstance(label, str) else (0, float(label), "")


def _refuse_missing(parts: Mapping[str, Coded]) -> None:
    for name, (codes, _) in parts.items():
        lost = np.flatnonzero(codes < 0)
        if len(lost):
            who = "by" if name == LABEL else f"the column {name!r} of by"
            raise ValueError(
                f"{who} has no value in {len(lost)} of {len(codes)} rows, the first is row {lost[0]}; "
                'drop these rows, as missing="drop" does, or give them a label'
            )
