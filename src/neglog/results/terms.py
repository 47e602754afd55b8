"""The terms of a fit: what each counts, and how far its prior lets it go."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, overload

import numpy as np

from neglog.design.design import Column, Gap, Schema
from neglog.design.parts import Part
from neglog.likelihood.task import TermScale
from neglog.printing import as_text, did_you_mean
from neglog.typing import Numbers


@dataclass(frozen=True)
class Term:
    """One term of a fit.

    effective     the effective number of parameters: how many coefficients the data determine
    coefficients  how many there are
    scale         of the Gaussian prior: a number; one for each of several by label; None for a term without
    error         the standard error of the logarithm of a learned scale, in the same form; NaN for a stated one
    """

    name: str
    kind: str
    effective: float
    coefficients: int
    scale: Any = None
    error: Any = None


class Terms(Sequence[Term]):
    """The terms in their order, also by name; prints itself as a table."""

    def __init__(self, terms: Iterable[Term]) -> None:
        self._terms = tuple(terms)

    @overload
    def __getitem__(self, key: int | str) -> Term: ...
    @overload
    def __getitem__(self, key: slice) -> "Terms": ...
    def __getitem__(self, key: int | str | slice) -> "Term | Terms":
        if isinstance(key, slice):
            return Terms(self._terms[key])
        if not isinstance(key, str):
            return self._terms[key]
        for term in self._terms:
            if key in (term.name, f"s({term.name})") or term.name in (f"s({key})", f"(1|{key})"):
                return term
        names = [term.name for term in self._terms]
        raise KeyError(f"there is no term {key!r}; there are {', '.join(names)}{did_you_mean([key], names)}")

    def __len__(self) -> int:
        return len(self._terms)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Terms) and repr(self.to_json()) == repr(other.to_json())  # in which NaN is NaN

    __hash__ = None  # type: ignore[assignment]

    def to_json(self) -> list[dict[str, Any]]:
        """As plain values."""
        return [asdict(term) for term in self._terms]

    @classmethod
    def from_json(cls, stored: Iterable[dict[str, Any]]) -> "Terms":
        """What `to_json` described."""
        return cls(Term(**one) for one in stored)

    def __rich_console__(self, console: Any, options: Any) -> Any:
        from rich.table import Table
        from rich.text import Text

        table = Table()
        table.add_column("term")
        table.add_column("kind")
        for column in ("effective", "of", "scale", "of its log ±"):
            table.add_column(column, justify="right")
        for term in self._terms:
            table.add_row(
                Text(term.name),
                term.kind,
                f"{term.effective:.4g}",
                f"{term.coefficients:,}",
                Text(_text(term.scale)),
                Text(_text(term.error)),
            )
        yield table

    def __str__(self) -> str:
        return as_text(self)

    def __repr__(self) -> str:
        return str(self)


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, dict):
        return ", ".join(f"{label} {_text(own)}" for label, own in value.items())
    return "" if np.isnan(value) else f"{value:.4g}"


def terms_of(schema: Schema, effective: Numbers, scales: Iterable[TermScale], predictor: str) -> Terms:
    """From what each coefficient of one row of them counts, and the scales of its priors."""
    scales = list(scales)
    out, start = [], 0
    for number, part in enumerate(schema.parts):
        count = len(part.coefficients)
        if schema.shares is not None and number not in schema.shares[predictor]:
            start += count
            continue
        own = [one for one in scales if one.term == _name(part)]
        out.append(
            Term(
                _name(part),
                _kind(part),
                float(np.sum(effective[start : start + count])),
                count,
                *(_by_label(own, field) for field in ("scale", "error")),
            )
        )
        start += count
    if schema.table is None:
        out = [Term(name, "linear", float(one), 1) for name, one in zip(schema.names, effective, strict=True)]
    return Terms(out)


def _name(part: Column | Gap | Part) -> str:
    return part.coefficients[0] if isinstance(part, Gap) else part.name


def _kind(part: Column | Gap | Part) -> str:
    if isinstance(part, Part):
        return part.kind
    return "factor" if isinstance(part, Column) and part.levels is not None else "linear"


def _by_label(scales: list[TermScale], field: str) -> Any:
    if not scales:
        return None
    if len(scales) == 1:
        return float(getattr(scales[0], field))
    return {one.label: float(getattr(one, field)) for one in scales}
