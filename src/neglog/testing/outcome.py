"""What a test found, as a table for people."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from neglog.printing import as_text
from neglog.typing import Numbers


@dataclass(frozen=True)
class Test:
    """One statistic with its law where there is nothing: `p` is the probability of one as large or larger."""

    what: str
    statistic: float
    law: str
    p: float

    __test__ = False  # pytest takes it for one of its own


@dataclass(frozen=True)
class Outcome:
    """`statistic`, `law` and `p` of the whole question, and of each part of it in `parts`, whose p values `adjusted`
    holds as they are where several are asked at once (Holm). `text` says it in a sentence. Prints itself.
    """

    whole: Test
    text: str
    parts: tuple[Test, ...] = ()
    adjusted: Numbers = field(default_factory=lambda: np.empty(0))

    @property
    def statistic(self) -> float:
        """Of the whole question."""
        return self.whole.statistic

    @property
    def law(self) -> str:
        """Which the statistic has where there is nothing to find."""
        return self.whole.law

    @property
    def p(self) -> float:
        """The probability of a statistic as large or larger where there is nothing to find."""
        return self.whole.p

    def __rich_console__(self, console: Any, options: Any) -> Any:
        from rich.table import Table
        from rich.text import Text

        table = Table(caption=Text(self.text), caption_justify="left")
        for column in ("", "statistic", "law", "p", *(["p of several"] if self.parts else [])):
            table.add_column(column, justify="left" if column in ("", "law") else "right")
        for k, part in enumerate(self.parts):
            table.add_row(*_cells(part), short_p(self.adjusted[k]))
        table.add_row(*_cells(self.whole))
        yield table

    def __repr__(self) -> str:
        return as_text(self)


def _cells(test: Test) -> tuple[Any, ...]:
    from rich.text import Text

    return Text(test.what), f"{test.statistic:.4g}", test.law, short_p(test.p)


def short_p(p: float) -> str:
    """As many digits as say something."""
    return "–" if np.isnan(p) else f"{p:.3g}"


def holm(p: Sequence[float]) -> Numbers:
    """p values of several tests, each as large as it is while the probability of any false alarm is (Holm 1979)."""
    values = np.asarray(p, float)
    order = np.argsort(values)
    steps = values[order] * np.arange(len(values), 0, -1)
    adjusted = np.empty_like(values)
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted
