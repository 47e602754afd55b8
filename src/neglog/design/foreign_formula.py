"""Formulas with functions that neglog does not know, left to formulaic, where that is installed."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neglog.design import tables
from neglog.design.blocks import Dense
from neglog.design.columns import column
from neglog.design.design import Design, Schema
from neglog.design.faults import missing_rows
from neglog.design.functions import FUNCTIONS
from neglog.design.tables import as_table

INTERCEPT = "Intercept"


@dataclass(frozen=True)
class FormulaSchema(Schema):
    """What a formula made of a table, to make the same of new data."""

    spec: Any = field(default=None, compare=False)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the coefficients, in formulaic's words."""
        return tuple(name for name in self.spec.column_names if name != INTERCEPT)

    @property
    def by_name(self) -> bool:
        """Formulas are of names."""
        return True

    @property
    def columns(self) -> int:
        """The number of coefficients."""
        return self.inputs

    def read(self, X: Any) -> Design:
        """New data as a design with the coefficients of this formula."""
        return _design(self.spec.get_model_matrix(X, output="numpy", na_action="raise"), self)

    def to_json(self) -> dict[str, Any]:
        """Refused: a formula may call anything, and a file must run nothing when it is loaded."""
        raise ValueError(
            "a fit of a formula with functions that neglog does not know cannot be saved, since such a formula is "
            f"code; it knows {', '.join(FUNCTIONS)}, s(), C() and (1|group). Make other columns yourself and fit "
            "those, or pickle the fit, if whoever loads it trusts you"
        )


def opened_formula(
    X: Any, formula: str, given: Mapping[str, Any], labels: bool, missing: str, intercept: bool = True
) -> tuple[Design, dict[str, NDArray[Any] | None]]:
    """The right side as a design, and the left side and what goes with the rows as arrays.

    Without an intercept the first category of the formula keeps all its levels, as formulaic has it.
    """
    try:
        from formulaic import Formula as Formulaic
    except ImportError:
        raise ImportError(
            f"y is the formula {formula!r}, of which neglog knows only a part; the rest needs the package formulaic: "
            "pip install formulaic"
        ) from None
    if missing not in ("error", "drop"):
        raise ValueError(
            f'with the formula {formula!r}, which has functions that neglog does not know, missing must be "error" or '
            f'"drop", but is {missing!r}; fill the values first'
        )
    if labels:
        raise ValueError(f"classes cannot stand in the formula {formula!r}; give X and the name or the values of y")
    stated = Formulaic(formula)
    rows = slice(None)
    if missing == "drop":
        X, rows = _complete(X, {str(name) for name in stated.required_variables}, given)
    if not intercept:
        stated = Formulaic(lhs=stated.lhs, rhs=[term for term in stated.rhs if str(term) != "1"])
    sides = stated.get_model_matrix(X, output="numpy", na_action="raise")
    y = np.asarray(sides.lhs, float)
    if y.ndim != 2 or y.shape[1] != 1:
        raise ValueError(f"the left side of {formula!r} must be one column of numbers, but is {y.shape[1]} columns")
    spec = sides.rhs.model_spec
    if intercept and INTERCEPT not in spec.column_names:
        raise without_intercept(formula)
    schema = FormulaSchema(len(spec.column_names) - intercept, spec=spec)
    values = {what: _beside(X, value, what, rows) for what, value in given.items()}
    return _design(sides.rhs, schema), {"y": np.ascontiguousarray(y[:, 0]), **values}


def without_intercept(formula: str) -> ValueError:
    """The error for a formula that leaves out what an argument asks for."""
    return ValueError(
        f"the formula {formula!r} leaves the intercept out, which is an argument here: say intercept=False"
    )


def _design(matrix: Any, schema: FormulaSchema) -> Design:
    values = np.asarray(matrix, float)
    kept = [i for i, name in enumerate(schema.spec.column_names) if name != INTERCEPT]
    block = Dense.of(np.asfortranarray(values[:, kept]))
    return Design((block,), block.rows, block.columns, schema)


def _beside(X: Any, value: Any, what: str, rows: Any) -> NDArray[Any] | None:
    """What goes with the rows that are left: a column of theirs, or values of all rows."""
    if value is None:
        return None
    if isinstance(value, str) or isinstance(rows, slice):
        return column(X, value, what, numeric=True)
    return column(X, np.asarray(value)[rows], what, numeric=True)


def _complete(X: Any, names: set[str], given: Mapping[str, Any]) -> tuple[Any, Any]:
    """The table without the rows that lack a value of these columns or of what goes with them, and which are left."""
    table = as_table(X)
    if table is None:
        return X, slice(None)
    lost = np.zeros(table.rows, bool)
    for name in names & set(table.names):
        lost[tables.missing_in(table.series(name))] = True
    for what, value in given.items():
        if value is not None:
            lost[missing_rows(column(X, value, what, complete=False))] = True
    if not lost.any():
        return X, slice(None)
    if lost.all():
        raise ValueError(f"each of the {len(lost)} rows lacks a value; leave out the columns that are mostly empty")
    return table.rows_where(~lost).native, np.flatnonzero(~lost)
