"""Rows of groups as a design and arrays; groups that lack values are set aside, each with the reason."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neglog.design import Design, Table, column, read, split
from neglog.design.blocks import is_sparse
from neglog.design.columns import MODES, check_target
from neglog.design.faults import missing_rows
from neglog.design.labels import Labels, named_labels, read_labels
from neglog.design.selection import take_rows
from neglog.design.tables import as_table, missing_in, quoted
from neglog.distributions.censored import with_ends


@dataclass
class RowsByGroup:
    """The rows that lack nothing, and the group of each; `failed` has the reason for each group without any."""

    design: Design
    values: dict[str, Any]
    codes: NDArray[np.int64]
    labels: Labels
    sizes: NDArray[np.int64]  # rows of each group, as they were given
    failed: dict[int, str]

    def taken(self, rows: NDArray[np.intp]) -> "RowsByGroup":
        """Some of the rows; groups keep their numbers."""
        values = {what: None if own is None else own[rows] for what, own in self.values.items()}
        return replace(self, design=take_rows(self.design, rows), values=values, codes=self.codes[rows])


def read_by_group(
    X: Any, y: Any, by: Any, given: dict[str, Any], *, missing: str, reference: bool, intercept: bool
) -> RowsByGroup:
    """X without the columns that were called by name, and what goes with its rows."""
    if missing not in MODES:
        raise ValueError(f"missing must be one of {quoted(MODES)}, but is {missing!r}")
    drop = missing == "drop"
    codes, labels = read_labels(X, by, missing=drop)
    sizes = np.bincount(codes[codes >= 0] if drop else codes, minlength=len(labels))
    names = named_labels(X, by)
    if names:
        table = as_table(X)
        assert table is not None
        X = table.without(set(names))
    y, given = with_ends(y, given)
    failed: dict[int, str] = {}
    if drop:
        numbers = np.where(codes >= 0, codes, np.nan)
        rest, values = split(X, {"y": y, **given, "group": numbers}, missing="drop")
        own: Any = values.pop("group")
        codes = own.astype(np.int64)
        for group in np.flatnonzero(np.bincount(codes, minlength=len(labels)) == 0).tolist():
            failed[group] = f"Each of its {sizes[group]:,} rows lacks a value."
    else:
        rest, values, faults = _with_faults(X, {"y": y, **given}, missing)
        failed = _reasons(faults, codes, sizes)
        if len(failed) == len(labels):
            raise ValueError(f"no group has rows that lack nothing; of the first: {failed[0]}")
        if failed:
            lost = np.zeros(len(labels), bool)
            lost[list(failed)] = True
            kept = ~lost[codes]
            rest, codes = _of_rows(rest, kept), codes[kept]
            values = {what: None if array is None else array[kept] for what, array in values.items()}
    weight = values.get("sample_weight")
    kinds: dict[str, Any] = {"reference": reference, "intercept": intercept, "weight": weight}
    design = rest if isinstance(rest, Design) else read(rest, missing=missing, **kinds)
    return RowsByGroup(design, values, codes, labels, sizes, failed)


def _with_faults(
    X: Any, columns: dict[str, Any], missing: str
) -> tuple[Any, dict[str, Any], list[tuple[str, NDArray[np.intp]]]]:
    """X and what goes with its rows, which may lack values, and where they do."""
    check_target(columns)
    named = {name for name in columns.values() if isinstance(name, str)}
    plain = isinstance(X, np.ndarray | list | tuple | Design) or is_sparse(X)
    source = X if plain else as_table(X) or X
    arrays = {
        what: None if values is None else column(source, values, what, complete=False)
        for what, values in columns.items()
    }
    found = [(what, missing_rows(array)) for what, array in arrays.items() if array is not None]
    rest = source.without(named) if named else source
    if isinstance(rest, Table) and missing == "error" and rest.missing(rest.names):
        found += [(f"the column {name!r}", missing_in(rest.series(name))) for name in rest.names]
    return rest, arrays, [(who, rows) for who, rows in found if len(rows)]


def _reasons(faults: list[tuple[str, NDArray[np.intp]]], codes: Any, sizes: Any) -> dict[int, str]:
    """For each group that lacks values: which, and in how many rows."""
    found: dict[int, list[str]] = {}
    for who, rows in faults:
        groups, counts = np.unique(codes[rows], return_counts=True)
        for group, count in zip(groups.tolist(), counts.tolist(), strict=True):
            found.setdefault(group, []).append(f"{who} has no value in {count:,} of its {sizes[group]:,} rows")
    advice = 'drop these rows, as missing="drop" does, or fill the values'
    return {group: f"{'; '.join(own)}; {advice}" for group, own in sorted(found.items())}


def _of_rows(X: Any, kept: NDArray[np.bool_]) -> Any:
    if isinstance(X, Table):
        return X.rows_where(kept)
    if isinstance(X, Design):
        return take_rows(X, np.flatnonzero(kept))
    return np.asarray(X)[kept] if isinstance(X, list | tuple) else X[kept]
