"""Terms: what a prediction is made of, as data. A smooth curve is a Gaussian prior on its wiggles, a group effect one
on its levels, an interaction one on how levels differ; a scale that is None is learned.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

from neglog.design.splines import LARGEST
from neglog.distributions.parameters import ModelledBy

SMOOTH_FROM = 11  # different numbers, from which on `terms="smooth"` makes a curve of them
GROUP_FROM = 21  # levels, from which on it makes a group of a factor


@dataclass(frozen=True, repr=False)
class Smooth:
    """A smooth curve of a column of numbers: `smooth`."""

    column: str
    size: int = 20
    scale: float | None = None

    def __post_init__(self) -> None:
        _check_name(self.column, "smooth")
        if not (isinstance(self.size, int) and 3 <= self.size <= LARGEST):
            raise ValueError(f"smooth({self.column!r}): size must be from 3 to {LARGEST} knots, but is {self.size!r}")
        _check_scale(self.scale, f"smooth({self.column!r})")

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns it takes."""
        return (self.column,)

    def __str__(self) -> str:
        return f"s({self.column})"

    def __repr__(self) -> str:
        return _call("smooth", [repr(self.column), *([f"size={self.size}"] if self.size != 20 else [])], self.scale)


@dataclass(frozen=True, repr=False)
class Group:
    """Effects of the levels of a factor: `group`."""

    column: str
    scale: float | None = None

    def __post_init__(self) -> None:
        _check_name(self.column, "group")
        _check_scale(self.scale, f"group({self.column!r})")

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns it takes."""
        return (self.column,)

    def __str__(self) -> str:
        return f"(1|{self.column})"

    def __repr__(self) -> str:
        return _call("group", [repr(self.column)], self.scale)


@dataclass(frozen=True)
class Factor:
    """A column whose values are levels, also if they are numbers: C(year) in a formula."""

    column: str

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns it takes."""
        return (self.column,)

    def __str__(self) -> str:
        return self.column


@dataclass(frozen=True, repr=False)
class Interaction:
    """What two terms add together that neither has alone: `interaction`."""

    first: Any
    second: Any
    scale: float | None = None

    def __post_init__(self) -> None:
        for part in (self.first, self.second):
            if not isinstance(part, str | Smooth | Group | Factor):
                raise TypeError(f"interaction takes names of columns, smooth(...) or group(...), but got {part!r}")
        if len(set(self.columns)) < 2:
            raise ValueError(f"interaction needs two different columns, but both are {self.columns[0]!r}")
        _check_scale(self.scale, f"interaction of {self}")

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns it takes."""
        return tuple(part if isinstance(part, str) else part.column for part in (self.first, self.second))

    def __str__(self) -> str:
        return f"{self.first}:{self.second}"

    def __repr__(self) -> str:
        return _call("interaction", [repr(self.first), repr(self.second)], self.scale)


Term = str | Smooth | Group | Factor | Interaction


@dataclass(frozen=True)
class Terms(ModelledBy):
    """A list of terms, such as those that predict one parameter of a noise."""

    items: tuple[Term, ...]

    def __iter__(self) -> Iterator[Term]:
        return iter(self.items)

    def __repr__(self) -> str:
        return f"nl.terms({', '.join(map(repr, self.items))})"

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns that they take, each once."""
        return tuple(dict.fromkeys(name for item in self.items for name in columns_of(item)))

    @property
    def grouped(self) -> set[str]:
        """The columns whose values are levels, whatever they hold."""
        parts = [part for item in self.items for part in _parts_of(item)]
        return {part.column for part in parts if isinstance(part, Group | Factor)}


def smooth(column: str, size: int = 20, scale: float | None = None) -> Smooth:
    """A smooth curve of a column of numbers, as a term.

    size    knots, at quantiles of the column: the most wiggles that there may be, not how many there will be
    scale   how far the curve typically departs from a straight line, in units of the raw prediction, as a standard
            deviation of its Gaussian prior; None learns it by maximum evidence, and 0 means: a straight line

    Beyond the range of the data the curve goes on straight.

    >>> import neglog as nl
    >>> nl.smooth("age")
    nl.smooth('age')
    """
    return Smooth(column, _plain(size), _plain(scale))


def group(column: str, scale: float | None = None) -> Group:
    """Effects of the levels of a column, as a term: each Gaussian about 0 with the same scale, which is learned if it
    is None. Levels with few rows are drawn to 0, and a level that the fit has not seen has the prior.

    >>> import neglog as nl
    >>> nl.group("region")
    nl.group('region')
    """
    return Group(column, _plain(scale))


def interaction(first: Any, second: Any, scale: float | None = None) -> Interaction:
    """What two columns add together beyond what each adds alone, as a term.

    Of two factors an effect for each pair of levels; of a factor and a number a slope for each level; of a factor and a
    curve, `smooth("age")`, a curve for each level; of two curves a surface. All have Gaussian priors whose scales are
    learned if `scale` is None. The terms themselves are to be stated beside it.

    >>> import neglog as nl
    >>> nl.interaction("fuel", nl.smooth("age", size=8))
    nl.interaction('fuel', nl.smooth('age', size=8))
    """
    return Interaction(first, second, _plain(scale))


def terms(*items: Any) -> Terms:
    """Terms that predict one parameter of a noise: names of columns, or of a function of one such as "log(power)", and
    `smooth`, `group` and `interaction`.

    >>> import neglog as nl
    >>> nl.terms("age", nl.smooth("income"))
    nl.terms('age', nl.smooth('income'))
    """
    return checked_terms(items)


def checked_terms(items: Any) -> Terms:
    """A list of terms, each of a kind that is known and stated once."""
    if isinstance(items, Terms):
        return items
    if isinstance(items, str) or not isinstance(items, Sequence):
        raise TypeError(f'terms must be a list of terms, or "smooth", but is {items!r}')
    for item in items:
        if not isinstance(item, str | Smooth | Group | Factor | Interaction):
            raise TypeError(
                "a term is the name of a column, or smooth(...), group(...) or interaction(...) of columns, but one is "
                f"{item!r}"
            )
    texts = [str(item) for item in items]
    twice = sorted({text for text in texts if texts.count(text) > 1})
    if twice:
        raise ValueError(f"each term may be stated once, but {', '.join(twice)} occurs more often")
    return Terms(tuple(items))


def columns_of(item: Term) -> tuple[str, ...]:
    """The columns that a term takes."""
    return (item,) if isinstance(item, str) else item.columns


def _parts_of(item: Term) -> tuple[Any, ...]:
    return (item.first, item.second) if isinstance(item, Interaction) else (item,)


def _call(name: str, arguments: list[str], scale: float | None) -> str:
    """As it would be written."""
    return f"nl.{name}({', '.join([*arguments, *([] if scale is None else [f'scale={scale!r}'])])})"


def _plain(value: Any) -> Any:
    """Numbers of NumPy as Python's, which a file can hold."""
    if isinstance(value, Integral):
        return int(value)
    return float(value) if isinstance(value, Real) else value


def _check_name(column: Any, what: str) -> None:
    if not isinstance(column, str):
        raise TypeError(f"{what} takes the name of a column, but got {column!r}")


def _check_scale(scale: Any, what: str) -> None:
    if scale is not None and not (isinstance(scale, int | float) and scale >= 0):
        raise ValueError(f"{what}: scale must be a number >= 0, or None to learn it, but is {scale!r}")
