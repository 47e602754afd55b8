"""The question a solver is given and the answer it returns."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from neglog.design.design import Design, Schema
from neglog.engines.memory import Memory
from neglog.likelihood.targets import Target
from neglog.solvers.objective import Gauge, Objective
from neglog.solvers.penalty import Penalty
from neglog.typing import Numbers

SAMPLE_SHARE = 1 / 16  # of the rows, for the start
SAMPLE_PER_COLUMN = 50  # rows, at least
WORTH_SAMPLING = 400_000  # numbers in X, at least


@dataclass(frozen=True)
class TermScale:
    """The scale of a prior that a term has: of the location's coefficients (output 0), or of those of a modelled
    parameter; -1 where classes share it. `error` is that of its logarithm, NaN if it was stated.
    """

    output: int
    term: str
    label: str
    scale: float
    error: float


@dataclass
class Answer:
    """Where the search ended, in the core's order of coefficients, and the noise with its open parameters filled in."""

    theta: Numbers
    noise: Any
    converged: bool
    iterations: int
    decrement: float
    engine: Memory
    penalty: Penalty
    null: Numbers | None = None
    stuck: bool = False
    before: int = 0  # iterations on a sample that led to the start
    degenerate: bool = False  # there is no maximum that could be said to have a curvature
    certificate: Any = None
    at_limit: tuple[str, ...] = ()  # parameters of the noise that make no difference any more
    priors: tuple[Any, ...] = ()  # of the coefficients of each modelled parameter, where these were learned
    scales: tuple[TermScale, ...] = ()  # of the priors of terms
    effective: Numbers | None = None  # what each coefficient counts under the priors of terms
    drift: Numbers | None = None  # directions whose squares add to their covariance, for what scales leave open
    information: Any = None  # standard errors, where they are known from the search
    integrated: str = ""  # coefficients without which the noise was learned: "all", or "groups", those under priors
    told: tuple[str, ...] = ()  # parameters of the noise that are stated here, but were told by the rows
    evidence: tuple[str, float] | None = None  # of the scales of terms: what was integrated, and its log at the maximum
    notes: list[str] = field(default_factory=list)


@dataclass
class Task:
    """One fit: target and rows, prior, and how far to go."""

    target: Target
    engine: Memory
    penalty: Penalty
    tol: float
    max_iter: int
    whole: "Task | None" = field(default=None, kw_only=True)  # the rows as given, where some of them do not count

    def counting(self) -> Self:
        """The same question about the rows that count: those of weight 0 then touch nothing, whatever they hold."""
        w = self.target.w
        if w is None or w.all():
            return self
        self.engine.design.check_finite()  # of all rows: no sum over the others would show what is no number
        rows = np.flatnonzero(w)
        engine = self.engine.take(rows, recentred=True)
        engine.design = replace(engine.design, notes=self.engine.design.notes)
        whole = self.engine.recentred(engine.centre)
        return replace(self, target=self.target.taken(rows), engine=engine, whole=replace(self, engine=whole))

    @property
    def given(self) -> "Task":
        """The same question with all rows that were given."""
        return self if self.whole is None else self.whole

    def row_number(self, row: int) -> int:
        """The number of a row among all that were given."""
        return int(row if self.whole is None else np.flatnonzero(np.asarray(self.whole.target.w))[row])

    def total(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """function(task, *arguments), a sum over rows: where rows come in pieces, of the task of each piece."""
        return function(self, *arguments)

    def weight_of(self, rows: Any) -> float:
        """The number of these rows, each counted by its weight."""
        return self.target.total(rows=rows)

    def objective(self, engine: Any, rows: Any = slice(None), penalty: Penalty | None = None) -> Objective:
        """The objective on these rows, which count as much as all."""
        target = self.target
        factor = 1.0 if rows == slice(None) else target.total() / target.total(rows=rows)
        penalty = self.penalty if penalty is None else penalty
        return Objective(
            engine,
            penalty,
            target.dispersion(rows),
            convex=target.convex if self.engine.loss.open is None else penalty.smooth,
            steady=target.steady,
            gauge=self.gauge(engine, penalty),
            factor=factor,
            rows=self.engine.rows,
            ends=self.ends(),
        )

    def ends(self) -> Numbers | None:
        """Between which raw parameters that are found along with the coefficients have to stay."""
        if self.engine.loss.open is None:
            return None
        own = self.target.opened
        return np.array([(-np.inf, np.inf) if q.within is None else q.within for q in own]).reshape(-1, 2).T

    def gauge(self, engine: Any, penalty: Penalty) -> Gauge | None:
        """For classes: which coefficients have a mean over them that means nothing."""
        classes = self.engine.loss.classes
        return None if classes == 1 else Gauge(classes, penalty.flat[: engine.width // classes])

    def wide_penalty(self, wide: Memory) -> Penalty:
        """The penalty with a place for the response, which has none."""
        terms = (self.penalty.bend, self.penalty.centre, self.penalty.strength, self.penalty.kink)
        return Penalty(*(np.insert(term, wide.response_place, 0.0) for term in terms))

    def taken(self, rows: Any) -> Self:
        """The same question about some of the rows."""
        return replace(self, target=self.target.taken(rows), engine=self.engine.take(rows), whole=None)

    def in_memory(self) -> "Task":
        """The same question about rows that are in memory: all, or a sample."""
        return self

    def has_whole_targets(self) -> bool:
        """Whether every y is a whole number."""
        y = self.target.points
        return bool((y == np.floor(y)).all())

    def varies(self) -> bool:
        """Whether the rows that count have different targets, or offsets."""
        y = self.target.points if self.target.w is None else self.target.points[self.target.w > 0]
        return self.engine.offset is not None or bool((y != y[0]).any())

    def target_summary(self) -> dict[str, Any]:
        """What y is: its mean and range, or how often each class."""
        y = self.target.points
        if self.target.noise.labelled:
            labels = self.target.classes  # type: ignore[attr-defined]
            return dict(zip(map(str, labels), np.bincount(y.astype(int), minlength=len(labels)).tolist(), strict=True))
        zero = float(np.mean(self.target.zeros))
        return {"mean": float(y.mean()), "least": float(y.min()), "largest": float(y.max()), "share of 0": zero}

    def without_columns(self) -> "Task":
        """The same target explained by an intercept alone."""
        engine = self.engine
        design = Design((), engine.rows, 0, Schema(0))
        own = self.target.noise.takes_intercept
        bare = Memory(design, engine.y, engine.weight, engine.offset, engine.loss, intercept=own, centre=np.zeros(0))
        return replace(self, engine=bare, penalty=Penalty.none(bare.width), whole=None)

    def sample(self) -> Any:
        """Evenly spread rows to start on, where there are enough for that to pay."""
        rows, columns = self.engine.rows, self.engine.columns
        if rows * columns < WORTH_SAMPLING:
            return None
        step = rows // max(SAMPLE_PER_COLUMN * columns, int(rows * SAMPLE_SHARE))
        return slice(None, None, step) if step >= 4 else None


def sample_nll(task: Task, noise: Any, theta: Numbers) -> float:
    """-log p of the rows, every constant included."""
    target = task.target
    rows = target.rows_nll(noise, task.engine.predict(theta), target.p, target.raw)
    return target.total(rows if target.w is None else np.where(target.w > 0, rows, 0.0))
