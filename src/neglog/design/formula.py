"""Formulas such as "y ~ a + log(b) + C(c)", read by formulaic where that is installed."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neglog.design.blocks import Dense
from neglog.design.columns import column
from neglog.design.design import Design, Schema

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
            "a fit of a formula cannot be saved, since a formula is code; make the columns yourself and fit those, "
            "or pickle it, if whoever loads it trusts you"
        )


def is_formula(y: Any) -> bool:
    """Whether the target is a formula."""
    return isinstance(y, str) and "~" in y


def opened_formula(
    X: Any, formula: str, given: Mapping[str, Any], labels: bool, missing: str, intercept: bool = True
) -> tuple[Design, dict[str, NDArray[Any] | None]]:
    """The right side as a design, and the left side and what goes with the rows as arrays.

    Without an intercept the first category of the formula keeps all its levels, as formulaic has it.
    """
    try:
        from formulaic import Formula
    except ImportError:
        raise ImportError(
            f"y is the formula {formula!r}, which needs the package formulaic: pip install formulaic"
        ) from None
    if missing != "error":
        raise ValueError(f'with a formula missing must be "error", but is {missing!r}; drop or fill the values first')
    if labels:
        raise ValueError(f"classes cannot stand in the formula {formula!r}; give X and the name or the values of y")
    stated = Formula(formula)
    if not intercept:
        stated = Formula(lhs=stated.lhs, rhs=[term for term in stated.rhs if str(term) != "1"])
    sides = stated.get_model_matrix(X, output="numpy", na_action="raise")
    y = np.asarray(sides.lhs, float)
    if y.ndim != 2 or y.shape[1] != 1:
        raise ValueError(f"the left side of {formula!r} must be one column of numbers, but is {y.shape[1]} columns")
    spec = sides.rhs.model_spec
    if intercept and INTERCEPT not in spec.column_names:
        raise ValueError(
            f"the formula {formula!r} leaves the intercept out, which is an argument here: say intercept=False"
        )
    schema = FormulaSchema(len(spec.column_names) - intercept, spec=spec)
    values = {what: None if value is None else column(X, value, what, numeric=True) for what, value in given.items()}
    return _design(sides.rhs, schema), {"y": np.ascontiguousarray(y[:, 0]), **values}


def _design(matrix: Any, schema: FormulaSchema) -> Design:
    values = np.asarray(matrix, float)
    kept = [i for i, name in enumerate(schema.spec.column_names) if name != INTERCEPT]
    block = Dense.of(np.asfortranarray(values[:, kept]))
    return Design((block,), block.rows, block.columns, schema)
