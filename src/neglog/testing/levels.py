"""Differences between levels of a factor, with intervals that hold all of them at once."""

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from neglog.design.design import Column
from neglog.design.parts import Part
from neglog.printing import as_text, did_you_mean
from neglog.testing.covariance import Spread, spread_of, turned
from neglog.testing.together import largest
from neglog.typing import Numbers

MANY = 500  # differences, beyond which nobody reads them


@dataclass(frozen=True)
class Differences:
    """A line for each: `names` such as "b - a", estimates with standard errors, intervals that hold all of them at once
    with the probability `level`, and p values that know how many were asked. Prints itself.
    """

    names: tuple[str, ...]
    estimate: Numbers
    error: Numbers
    lower: Numbers
    upper: Numbers
    p: Numbers
    level: float
    text: str

    def __len__(self) -> int:
        return len(self.names)

    def __getitem__(self, name: str) -> tuple[float, float, float]:
        """Estimate and interval of one."""
        if name not in self.names:
            raise KeyError(f"there is no difference {name!r}{did_you_mean([name], self.names)}")
        k = self.names.index(name)
        return float(self.estimate[k]), float(self.lower[k]), float(self.upper[k])

    def __rich_console__(self, console: Any, options: Any) -> Any:
        from rich.table import Table
        from rich.text import Text

        table = Table(caption=Text(self.text), caption_justify="left")
        table.add_column("")
        for column in ("estimate", "std. error", f"{100 * self.level:g}% from", "to", "p of several"):
            table.add_column(column, justify="right")
        for name, *values, p in zip(self.names, self.estimate, self.error, self.lower, self.upper, self.p, strict=True):
            table.add_row(Text(name), *(f"{value:.5g}" for value in values), f"{p:.3g}")
        yield table

    def __repr__(self) -> str:
        return as_text(self)


def differences(fit: Any, factor: str, against: Any, level: float, errors: str, cluster: Any, of: str) -> Differences:
    """Between levels of a factor that has coefficients, in the location or in a parameter that is modelled."""
    if not 0 < level < 1:
        raise ValueError(f"level must be between 0 and 1, but is {level}")
    if fit.noise.of_classes:
        raise ValueError("of classes each level has as many differences as there are classes; fit.test compares them")
    levels, places = _levels(fit, factor, of)
    spread: Spread = spread_of(fit, errors, cluster)
    covariance = turned(fit, spread, noise=False)
    values = fit._joint.public_matrix()[: len(covariance.names)] @ np.append(fit._answer.theta, fit._joint.start)
    own, matrix = values[places], covariance.matrix[np.ix_(places, places)] * spread.widened**2
    names, rows = _pairs(fit, levels, against)
    rows = rows[:, len(levels) - len(places) :]  # a reference level has no coefficient
    estimate = rows @ own
    error = np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", rows, matrix, rows), 0.0))
    draws = np.sort(largest(rows, matrix, spread.degrees))
    reach = float(np.quantile(draws, level))
    with np.errstate(all="ignore"):
        away = np.abs(estimate) / error
    alone = np.asarray(spread.p_value(away), float)
    together = 1 - np.searchsorted(draws, away) / len(draws)
    p = np.where(np.isnan(away), np.nan, np.clip(together, alone, len(names) * alone))  # draws end before small p do
    law = "the normal law" if spread.degrees is None else f"Student's {spread.law}"
    text = (
        f"Intervals hold all {len(names)} at once, by draws of {law} of all, {reach:.3g} standard errors each way; "
        f"standard errors {spread.text}."
    )
    return Differences(
        names, estimate, error, estimate - reach * error, estimate + reach * error, np.minimum(p, 1.0), level, text
    )


def _levels(fit: Any, factor: str, of: str) -> tuple[list[Any], Numbers]:
    """The levels of a factor, and where their coefficients are; of a reference level there is none."""
    outputs = ["location", *fit.noise.modelled]
    if of not in outputs:
        raise ValueError(f"of must be one of {', '.join(outputs)}, but is {of!r}{did_you_mean([of], outputs)}")
    start, known = 0, []
    engine = fit._task.engine
    for part in fit.schema.parts:
        count = len(part.coefficients)
        own: list[Any] | None = None
        if isinstance(part, Column) and part.levels is not None:
            own = list(part.levels)
        elif isinstance(part, Part) and part.factors and not part.variables:
            own = list(part.factors[0][1]) if part.pairs is None else list(part.level_names)
        if own is not None:
            known.append(part.name)
            if part.name == factor or (isinstance(part, Part) and part.inputs == (factor,)):
                first = outputs.index(of) * engine.columns + int(engine.intercept)
                return own, first + np.arange(start, start + count)
        start += count
    if not known:
        raise ValueError("there are no factors in the fit whose levels could differ")
    raise ValueError(f"there is no factor {factor!r}, but {', '.join(known)}{did_you_mean([factor], known)}")


def _pairs(fit: Any, levels: list[Any], against: Any) -> tuple[tuple[str, ...], Numbers]:
    """What is taken from what, as names and as rows over the levels."""
    count = len(levels)
    if count < 2:
        raise ValueError(f"there is one level only, {levels[0]!r}, so that nothing differs")
    if against is None:
        if count * (count - 1) // 2 > MANY:
            raise ValueError(
                f"{count} levels differ in {count * (count - 1) // 2:,} pairs; name one to compare the others with, "
                'against="..." , or take against="mean"'
            )
        pairs = list(combinations(range(count), 2))
        rows = np.zeros((len(pairs), count))
        for row, (low, high) in zip(rows, pairs, strict=True):
            row[low], row[high] = -1.0, 1.0
        return tuple(f"{levels[high]} - {levels[low]}" for low, high in pairs), rows
    if isinstance(against, str) and against == "mean" and "mean" not in levels:
        return tuple(f"{level} - mean" for level in levels), np.eye(count) - 1 / count
    if against not in levels:
        raise ValueError(
            f'against must be "mean" or one of the levels, but is {against!r}'
            f"{did_you_mean([str(against)], [*map(str, levels)])}"
        )
    base = levels.index(against)
    others = [k for k in range(count) if k != base]
    rows = np.eye(count)[others]
    rows[:, base] = -1.0
    return tuple(f"{levels[k]} - {against}" for k in others), rows
