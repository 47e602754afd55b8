"""How noises did on rows they had not seen: scores, their table, and what they say in a sentence."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from neglog.comparison.conditional import Uneven
from neglog.comparison.described import Described
from neglog.comparison.recipes import Recipe
from neglog.comparison.structures import LINEAR, STACK, TREES, Candidate
from neglog.comparison.verdict import sentence, with_error
from neglog.distributions.base import Prior
from neglog.distributions.noise import Noise
from neglog.printing import as_text
from neglog.results.fit import Fit
from neglog.typing import Numbers

LEVELS = (0.5, 0.8, 0.95)
TIE = 2.0  # standard errors of the paired difference within which nobody is better
SAME = 1.0  # nats over all rows: a likelihood ratio of e, below which nobody is better, however sure the difference
DECILES = 10


class Totals:
    """Exact means and errors of rows that are not kept: sums over all of them of w (1, scores), and of the products of
    (1, scores) under squared weights.
    """

    def __init__(self, sums: Numbers) -> None:
        self.first, self.second = sums[0][:, 0], sums[1]

    @property
    def counted(self) -> float:
        """How many rows of equal weight would say as much."""
        return float(self.first[0] ** 2 / self.second[0, 0])

    def mean(self, i: int) -> float:
        """Of one noise."""
        return float(self.first[1 + i] / self.first[0])

    def gap(self, i: int, j: int | None = None) -> tuple[float, float]:
        """How much more one noise costs than another, or than nothing, with the standard error."""
        direction = np.zeros(len(self.first))
        direction[1 + i] += 1
        if j is not None:
            direction[1 + j] -= 1
        gap = float(direction @ self.first / self.first[0])
        direction[0] -= gap
        return gap, float(np.sqrt(max(direction @ self.second @ direction, 0.0)) / self.first[0])


def typical(noise: Any, law: Any) -> Any:
    """The noise with what is modelled at its median over the rows of a law."""
    values = {name: float(np.median(getattr(law, name))) for name in noise.modelled}
    return noise.unmodelled().estimated(**values) if values else noise


@dataclass
class Score:
    """How one noise did on rows it had not seen."""

    name: str
    noise: Noise
    nll: Numbers  # of each row, nats
    transform: Numbers  # P(Y <= y) of each row, uniform if calibrated
    predicted: Numbers  # mean of each row
    weight: Numbers
    fitted: Any = None  # the noise with its parameters filled in, as the last fold has them
    converged: bool = True
    notes: list[str] = field(default_factory=list)
    totals: Totals | None = None  # of all rows, where only some are kept
    place: int = 0  # in the totals
    limit: str | None = None  # the noise that a fit came to, where a parameter went to its limit
    structure: str = LINEAR  # the shape of its prediction
    parts: list[tuple["Score", float]] = field(default_factory=list)  # of a mixture, with their shares
    edges: Numbers | None = None  # of bins of y
    expected: Numbers | None = None  # P(Y <= edge) under the laws of rows held out, on average

    @property
    def law(self) -> str:
        """The noise without the structure."""
        return self.name.removeprefix(f"{self.structure} ")

    @property
    def complexity(self) -> tuple[int, int]:
        """From simple to rich."""
        return Candidate(self.noise, self.structure).complexity

    @property
    def mean(self) -> float:
        """Held-out nats per row."""
        if self.totals is not None:
            return self.totals.mean(self.place)
        return float(np.average(self.nll, weights=self.weight))

    @property
    def error(self) -> float:
        """The standard error of the mean."""
        if self.totals is not None:
            return self.totals.gap(self.place)[1]
        return standard_error(self.nll, self.weight)

    @property
    def counted(self) -> float:
        """How many rows of equal weight would say as much."""
        if self.totals is not None:
            return self.totals.counted
        return float(self.weight.sum() ** 2 / np.sum(self.weight**2))

    @property
    def ks(self) -> float:
        """The largest gap between the distribution of the transform and the uniform one; NaN for classes."""
        order = np.argsort(self.transform)
        u, w = self.transform[order], self.weight[order] / self.weight.sum()
        upper = np.cumsum(w)
        return float(max(np.max(np.abs(upper - u)), np.max(np.abs(upper - w - u))))

    def coverage(self, level: float) -> float:
        """The share of rows inside their central interval of this level; NaN for classes."""
        inside = np.where(np.isnan(self.transform), np.nan, np.abs(self.transform - 0.5) <= 0.5 * level)
        return float(np.average(inside, weights=self.weight))

    def by_decile(self, y: Numbers) -> tuple[Numbers, Numbers]:
        """Means of y and of the predictions in ten groups of rising prediction."""
        order = np.argsort(self.predicted, kind="stable")
        groups = np.array_split(order, min(DECILES, len(order)))
        observed = np.array([np.average(y[rows], weights=self.weight[rows]) for rows in groups])
        return observed, np.array([np.average(self.predicted[rows], weights=self.weight[rows]) for rows in groups])


def standard_error(values: Numbers, weight: Numbers) -> float:
    """Of the weighted mean of independent values."""
    share = weight / weight.sum()
    mean = share @ values
    return float(np.sqrt(np.sum(share**2 * (values - mean) ** 2)))


@dataclass
class Comparison:
    """The noises from best to worst, in held-out nats per row; prints itself as a table and a sentence."""

    scores: list[Score]
    refused: dict[str, str]  # noises that cannot explain y or cannot be fitted, and why
    resolution: str
    prior: Prior
    folds: int
    y: Numbers
    fit: Fit  # the best noise on all rows
    target: str = "y"
    leaks: list[str] = field(default_factory=list)  # columns that tell the target
    recipe: Recipe = field(default_factory=Recipe)
    command: str = ""  # of the command line, that gives `fit`
    uneven: list[Uneven] = field(default_factory=list)  # columns along which the best is wrong
    made: Callable[[], Any] | None = field(default=None, repr=False)  # the model, where that takes more fits
    columns: list[Described] = field(default_factory=list)
    seed: int | None = None

    @property
    def rows(self) -> int:
        """How many there are; of many, `y` and the scores keep some."""
        return self.fit.n_rows

    @property
    def notes(self) -> list[str]:
        """What was done to columns that could not be used as they were."""
        return self.fit.notes

    @property
    def best(self) -> Noise:
        """The noise with the least held-out nats, its parameters as estimated from all rows."""
        return self.fit.noise

    @cached_property
    def model(self) -> Any:
        """What gives the best law for new rows: `fit`, trees, or several of them mixed, made when first asked for."""
        return self.fit if self.made is None else self.made()

    @property
    def structure(self) -> str:
        """The shape of f under which the best noise predicts best."""
        return self.scores[0].structure

    @property
    def readable(self) -> Score:
        """The best that is a fit, whose terms and coefficients can be read: that of `fit`."""
        return next(score for score in self.scores if score.structure not in (TREES, STACK))

    @property
    def structures(self) -> list[str]:
        """All that were scored."""
        return list(dict.fromkeys(score.structure for score in self.scores))

    @property
    def call(self) -> str:
        """The call that gives the best law, with the arguments that the comparison was given."""
        return self.call_of(self.scores[0])

    def call_of(self, score: Score) -> str:
        """The call that gives the law of one of the scores; of a mixture, that of its largest part."""
        if score.structure == STACK:
            return self.call_of(score.parts[0][0])
        return self.recipe.call(score.noise, score.structure)

    @cached_property
    def simplest(self) -> Score:
        """The simplest that is not worse than the best by more than one standard error of the difference."""
        near = [score for score in self.scores if (gap := self.gap(score))[0] <= gap[1]]
        return min(near, key=lambda score: (score.complexity, score.mean))

    @cached_property
    def ties(self) -> list[str]:
        """The noises that are not clearly worse than the best, and the best itself."""
        return [score.name for score in self.scores if self._is_tied(score)]

    def _is_tied(self, score: Score) -> bool:
        gap, error = self.gap(score)
        return gap <= TIE * error or gap * score.counted <= SAME

    def gap(self, score: Score) -> tuple[float, float]:
        """How much worse than the best, with the standard error of the paired difference.

        Rows that were scored by fits to the same rows are not independent: as Nadeau and Bengio (2003) do for splits,
        the variance of their mean is raised by the ratio of rows left out to rows fitted, 1 / (folds - 1).
        """
        best = self.scores[0]
        if score.totals is not None:
            gap, error = score.totals.gap(score.place, best.place)
        else:
            away = score.nll - best.nll
            gap, error = float(np.average(away, weights=score.weight)), standard_error(away, score.weight)
        return gap, error * float(np.sqrt(self.folds / (self.folds - 1)))

    @property
    def cautions(self) -> list[str]:
        """Noises whose fits without some fold have to be looked at, and why."""
        return [
            f"{score.name}: {len(score.notes)} of {self.folds} fits have to be looked at. {score.notes[0]}"
            for score in self.scores
            if score.notes
        ]

    @cached_property
    def table(self) -> list[dict[str, Any]]:
        """One record per noise, the best first."""
        records = []
        for score in self.scores:
            gap, gap_error = self.gap(score)
            records.append(
                {
                    "noise": score.law,
                    "structure": score.structure,
                    "nats": score.mean,
                    "error": score.error,
                    "worse": gap,
                    "worse_error": gap_error,
                    "tied": score.name in self.ties,
                    "simplest": score is self.simplest,
                    "ks": score.ks,
                    **{f"coverage_{100 * level:g}": score.coverage(level) for level in LEVELS},
                    "converged": score.converged,
                }
            )
        return records

    def to_json(self) -> dict[str, Any]:
        """All of it as plain values."""
        numeric = not self.best.labelled
        deciles = {}
        for score in self.scores if numeric else ():
            observed, predicted = score.by_decile(self.y)
            deciles[score.name] = {"observed": observed.tolist(), "predicted": predicted.tolist()}
        return {
            "target": self.target,
            "rows": self.rows,
            "folds": self.folds,
            "table": self.table,
            "best": repr(self.best),
            "ties": self.ties,
            "refused": self.refused,
            "resolution": self.resolution,
            "deciles": deciles,
            "notes": self.notes,
            "leaks": self.leaks,
            "cautions": self.cautions,
            "call": self.call,
            "command": self.command,
            "structure": self.structure,
            "simplest": self.simplest.name,
            "uneven": [one.sentence(self.scores[0]) for one in self.uneven],
            "conclusion": self.conclusion,
        }

    @property
    def reasons(self) -> list[str]:
        """What was refused and why, noises with the same reason together."""
        together: dict[str, list[str]] = {}
        for name, reason in self.refused.items():
            together.setdefault(reason, []).append(name)
        return [f"{', '.join(names)}: {reason}" for reason, names in together.items()]

    @property
    def conclusion(self) -> str:
        """What to use, how sure that is, and what to try if nothing fits."""
        return sentence(self)

    def __rich_console__(self, console: Any, options: Any) -> Any:
        from rich.table import Table
        from rich.text import Text

        table = Table(title="Held-out nats per row", caption=self.resolution, caption_justify="left")
        several = len(self.structures) > 1
        first = ("noise", "structure") if several else ("noise",)
        for column in (*first, "nats", "±", "worse by", "±", "KS", *(f"{100 * level:g}%" for level in LEVELS)):
            table.add_column(column, justify="left" if column in first else "right")
        for record in self.table:
            name = f"{record['noise']} (tied)" if record["tied"] and record["worse"] else record["noise"]
            gap = ("", "") if not record["worse"] else with_error(record["worse"], record["worse_error"])
            judged = [f"{record['ks']:.3f}", *(f"{100 * record[f'coverage_{100 * level:g}']:.1f}%" for level in LEVELS)]
            if np.isnan(record["ks"]):
                judged = ["–"] * len(judged)
            names = [Text(name), *([record["structure"]] if several else [])]
            table.add_row(*names, *with_error(record["nats"], record["error"]), *gap, *judged)
        yield table
        yield from map(Text, self.reasons)
        yield from map(Text, self.cautions)
        yield from map(Text, self.notes)
        yield Text(self.conclusion)

    def __repr__(self) -> str:
        return as_text(self)
