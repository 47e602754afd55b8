"""Shapes of f that noises are compared under: a constant, the columns as they are, curves and groups, trees."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from neglog.comparison.recipes import law_call
from neglog.design import is_formula
from neglog.design.blocks import Codes, Dense
from neglog.design.design import Design
from neglog.design.tables import as_table
from neglog.design.terms import GROUP_FROM, Group
from neglog.distributions.noise import Noise

CONSTANT, LINEAR, SMOOTH, TREES, STACK = "constant", "linear", "smooth", "trees", "stack"
BY_SIMPLICITY = (CONSTANT, LINEAR, SMOOTH, TREES, STACK)
ASKED = (LINEAR, SMOOTH, TREES)  # what a comparison may be asked for
FEW = 50_000  # rows of which trees are grown without being asked for


@dataclass(frozen=True)
class Candidate:
    """A noise around a prediction of some shape."""

    noise: Noise
    structure: str = LINEAR

    @property
    def law(self) -> str:
        """The family, and what is stated beside the defaults."""
        return law_call(self.noise).removesuffix("()")

    @property
    def name(self) -> str:
        """By which it is told from others."""
        return self.law if self.structure == LINEAR else f"{self.structure} {self.law}"

    @property
    def complexity(self) -> tuple[int, int]:
        """From simple to rich: by shape, then by what the noise leaves open."""
        noise = self.noise
        return BY_SIMPLICITY.index(self.structure), 2 * len(noise.modelled) + len(noise.unknown)

    def with_modelled_spread(self) -> "Candidate | None":
        """The same with a spread that is predicted too; None where there is none that is open."""
        noise = self.noise
        if noise.spread is None or noise.labelled or noise.modelled or noise.as_stated[noise.spread] is not None:
            return None
        return Candidate(noise.modelling(noise.spread), self.structure)


def asked_structures(
    structures: Sequence[str] | str | None, X: Any, y: Any, terms: Any, rows: int, named: bool, columns: int
) -> tuple[str, ...]:
    """Which shapes are tried: those that were asked for, or that suit."""
    simple = not (as_table(X) is None or terms is not None or is_formula(y)) and columns > 0
    if structures is not None:
        asked = tuple(dict.fromkeys([structures] if isinstance(structures, str) else structures))
        wrong = [name for name in asked if name not in ASKED]
        if wrong or not asked:
            raise ValueError(f"structures must be some of {', '.join(ASKED)}, but are {', '.join(asked) or 'none'}")
        if SMOOTH in asked and not simple:
            what = "X is an array without names" if as_table(X) is None else "the terms were stated"
            raise ValueError(f'structures: "smooth" chooses terms of columns with names, but {what}; leave it out')
        return asked
    if named or terms is not None or is_formula(y):
        return (LINEAR,)
    grown = rows < FEW and columns > 0 and find_spec("lightgbm") is not None
    return (LINEAR, *([SMOOTH] if simple else []), *([TREES] if grown else []))


def linear_terms(design: Design) -> list[Any] | None:
    """Columns as they are, but factors of many levels as groups, each with a prior scale of its own: one that all share
    would be that of none. None where there are no such factors.
    """
    table = design.schema.table
    if table is None or design.schema.terms is not None:
        return None
    large = {column.name for column in table if column.levels is not None and len(column.levels) >= GROUP_FROM}
    return [Group(column.name) if column.name in large else column.name for column in table] if large else None


@dataclass(frozen=True)
class Feature:
    """A column of X, as numbers: of a factor the places of its levels."""

    name: str
    values: Any
    levels: tuple[Any, ...] | None = None


def features_of(design: Design) -> list[Feature]:
    """The columns of a design without terms; sparse ones are left out."""
    found, start = [], 0
    for block in design.blocks:
        if isinstance(block, Codes) and block.columns:
            found.append(Feature(design.names[start].partition("[")[0], block.codes, block.levels))
        elif isinstance(block, Dense):
            found += [Feature(design.names[start + j], block.values[:, j]) for j in range(block.columns)]
        start += block.columns
    return found
