"""What a page is made of: sections with words, figures and tables, whatever they are about."""

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Figure:
    """A drawing, what it shows to those who do not see it, and how to read it."""

    svg: str
    alt: str
    caption: str = ""


@dataclass(frozen=True)
class Table:
    """Rows under heads, of which the first `text` columns are words; the others are numbers."""

    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    text: int = 1
    note: str = ""
    folded: str = ""  # what stands over it where it opens at a click only


@dataclass(frozen=True)
class Section:
    """A heading and what is under it: words, figures with what belongs to them, tables, and words again."""

    title: str
    words: Sequence[str] = ()
    figures: Sequence[Figure] = ()
    tables: Sequence[Table] = ()
    code: Sequence[tuple[str, str]] = ()  # what it is, and what can be copied
    folded: bool = False
    legend: Sequence[str] = field(default=())  # of the figures, names in the order of their colours
    bullets: Sequence[str] = ()
