"""Formulas such as "y ~ s(age) + (1|region) + log(power):fuel", read into terms; others are left to formulaic, where
that is installed.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neglog.design.blocks import Dense
from neglog.design.columns import column
from neglog.design.design import Design, Schema
from neglog.design.functions import FUNCTIONS
from neglog.design.terms import Factor, Group, Interaction, Smooth, Term, Terms

INTERCEPT = "Intercept"
NAME = re.compile(r"[A-Za-z_.][\w.]*")
CALL = re.compile(r"(\w+)\((.*)\)")
SURFACE = 8  # knots each way, of te(a, b)
SIZE = re.compile(r"(?:(?:k|size)\s*=\s*)?(\d+)")


@dataclass(frozen=True)
class Formula:
    """A target and what explains it."""

    target: str
    terms: Terms
    intercept: bool


def read_formula(text: str) -> Formula | None:
    """The formula as terms; None if it has what terms are not."""
    left, _, right = text.partition("~")
    target = _name(left.strip())
    if target is None:
        return None
    items: list[Term] = []
    intercept = True
    for sign, part in _split(right, "+-"):
        if part in ("0", "1"):
            intercept = (part == "1") == (sign == "+")
            continue
        found = _terms(part) if sign == "+" and part else None
        if found is None:
            return None
        items += [item for item in found if str(item) not in map(str, items)]
    return Formula(target, Terms(tuple(items)), intercept)


def _split(text: str, signs: str) -> list[tuple[str, str]]:
    """Parts between signs that stand in no brackets, each with the sign before it."""
    parts: list[tuple[str, str]] = []
    depth, sign, start = 0, "+", 0
    for place, mark in enumerate(text):
        depth += (mark == "(") - (mark == ")")
        if mark in signs and depth == 0:
            if text[start:place].strip() or parts:
                parts.append((sign, text[start:place].strip()))
            sign, start = mark, place + 1
    return [*parts, (sign, text[start:].strip())]


def _terms(part: str) -> list[Term] | None:
    """One summand as terms."""
    if part.startswith("(") and part.endswith(")") and "|" in part:
        return _grouped(part[1:-1])
    crossed = [_atom(one) for _, one in _split(part, "*")]
    if len(crossed) == 2 and None not in crossed:
        first, second = crossed
        return [first, second, Interaction(first, second)]
    both = [_atom(one) for _, one in _split(part, ":")]
    if len(both) == 2 and None not in both:
        return [Interaction(*both)]
    called = CALL.fullmatch(part)
    if called and called[1] in ("te", "ti"):
        names = [_name(one) for _, one in _split(called[2], ",")]
        if len(names) != 2 or None in names:
            return None
        first, second = (str(name) for name in names)
        surface = Interaction(Smooth(first, SURFACE), Smooth(second, SURFACE))
        return [Smooth(first), Smooth(second), surface] if called[1] == "te" else [surface]
    own = _atom(part)
    return None if own is None else [own]


def _grouped(part: str) -> list[Term] | None:
    """What stands in (1 + x|g): the levels of g, and the slopes of x by level."""
    effects, _, name = part.partition("|")
    group = _name(name.strip())
    if group is None:
        return None
    found: list[Term] = []
    levels = True
    for sign, effect in _split(effects, "+-"):
        if effect in ("0", "1"):
            levels = (effect == "1") == (sign == "+")
            continue
        slope = _atom(effect)
        if slope is None or sign == "-":
            return None
        found.append(Interaction(Group(group), slope))
    return [Group(group), *found] if levels else found


def _atom(part: str) -> Any:
    """A column, a function of one, a curve or a factor; None if it is none of these."""
    name = _name(part)
    if name is not None:
        return name
    called = CALL.fullmatch(part)
    if called is None:
        return None
    inside = [one for _, one in _split(called[2], ",")]
    own = _name(inside[0])
    if own is None:
        return None
    if called[1] == "s" and len(inside) <= 2:
        size = SIZE.fullmatch(inside[1]) if len(inside) == 2 else None
        return None if len(inside) == 2 and size is None else Smooth(own) if size is None else Smooth(own, int(size[1]))
    if len(inside) > 1:
        return None
    if called[1] == "C":
        return Factor(own)
    return f"{called[1]}({own})" if called[1] in FUNCTIONS else None


def _name(text: str) -> str | None:
    """The name of a column, also one in backticks."""
    text = text.strip()
    if len(text) > 2 and text[0] == text[-1] == "`":
        return text[1:-1]
    return text if NAME.fullmatch(text) else None


# ---- formulaic -------------------------------------------------------------------------------------------------------


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
        from formulaic import Formula as Formulaic
    except ImportError:
        raise ImportError(
            f"y is the formula {formula!r}, of which neglog knows only a part; the rest needs the package formulaic: "
            "pip install formulaic"
        ) from None
    if missing != "error":
        raise ValueError(f'with a formula missing must be "error", but is {missing!r}; drop or fill the values first')
    if labels:
        raise ValueError(f"classes cannot stand in the formula {formula!r}; give X and the name or the values of y")
    stated = Formulaic(formula)
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
    values = {what: None if value is None else column(X, value, what, numeric=True) for what, value in given.items()}
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
