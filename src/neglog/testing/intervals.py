"""Intervals of coefficients and of the parameters of the noise, as a table for people."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from neglog.printing import as_text, did_you_mean
from neglog.typing import Numbers


@dataclass(frozen=True)
class Intervals:
    """`lower` and `upper` for each of `names`, about `estimate`; by name a pair, for NumPy a matrix (names, 2). `text`
    says how they were found. Prints itself.
    """

    names: tuple[str, ...]
    estimate: Numbers
    lower: Numbers
    upper: Numbers
    level: float
    text: str

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Numbers:
        return np.array(np.stack([self.lower, self.upper], axis=-1), dtype=dtype)

    def __len__(self) -> int:
        return len(self.names)

    def __iter__(self) -> Iterator[tuple[float, float]]:
        return iter(zip(self.lower.tolist(), self.upper.tolist(), strict=True))

    def __getitem__(self, name: str | int) -> tuple[float, float]:
        """The interval of one parameter, by name or by place."""
        if isinstance(name, str) and name not in self.names:
            raise KeyError(f"there is no parameter {name!r}{did_you_mean([name], self.names)}")
        k = self.names.index(name) if isinstance(name, str) else name
        return float(self.lower[k]), float(self.upper[k])

    def __rich_console__(self, console: Any, options: Any) -> Any:
        from rich.table import Table
        from rich.text import Text

        table = Table(caption=Text(self.text), caption_justify="left")
        table.add_column("")
        for column in ("estimate", f"{100 * self.level:g}% from", "to"):
            table.add_column(column, justify="right")
        for name, *values in zip(self.names, self.estimate, self.lower, self.upper, strict=True):
            table.add_row(Text(name), *("–" if np.isnan(value) else f"{value:.5g}" for value in values))
        yield table

    def __repr__(self) -> str:
        return as_text(self)
