"""Fits of rows that are not in memory: every sum over rows is one pass over the pieces of a source.

A piece, once decoded, is a task like any other: its own target and engine, in memory. What solvers and results ask of
all rows are sums of what they ask of a piece. Starts, and whatever else need not be exact, come from a sample that
stays in memory.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from neglog.design.arrow import CLUSTERS, Encoder
from neglog.design.selection import take_rows
from neglog.distributions.censored import cells_of
from neglog.engines.blas import one_blas_thread
from neglog.engines.memory import Loss, Memory
from neglog.engines.sources import Source
from neglog.likelihood.row_values import known_offset
from neglog.likelihood.targets import Target
from neglog.likelihood.task import Task
from neglog.likelihood.tweedie import CompoundDispersion, constants_of
from neglog.solvers.objective import Objective
from neglog.solvers.penalty import Penalty
from neglog.streaming.target_sums import TargetSums
from neglog.typing import Numbers

SAMPLE: Any = "sample"  # in the place of rows: those that are in memory
NARROW = 100  # coefficients up to which second derivatives cost less than the decoding of the rows


@dataclass(frozen=True)
class Folds:
    """Rows by a hash of their number, the same wherever they are: one fold of several, or all others."""

    count: int
    which: int
    inside: bool
    seed: int = 0

    def __call__(self, numbers: Any) -> Numbers:
        return np.asarray((fold_of(numbers, self.count, self.seed) == self.which) == self.inside)


def fold_of(numbers: Any, count: int, seed: int = 0) -> Numbers:
    """The fold of each row: its number, mixed so that neighbours and multiples fall apart (splitmix64)."""
    x = np.asarray(numbers, np.uint64) + np.uint64(0x9E3779B97F4A7C15 * (seed + 1) % (1 << 64))
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray((x ^ (x >> np.uint64(31))) % np.uint64(count), np.int64)


@dataclass
class PieceTask(Task):
    """The rows of one piece, with their numbers among all rows, and what clusters they are in if anybody asks."""

    numbers: Any
    labels: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Piecework:
    """A function of a task, applied to the rows of one table: what a worker is sent."""

    encoder: Encoder
    target: Target
    intercept: bool
    centre: Numbers
    keep: Folds | None
    function: Callable[..., Any]
    arguments: tuple[Any, ...]

    @one_blas_thread
    def __call__(self, table: Any, first: int) -> Any:
        task = self.task(table, first)
        with np.errstate(all="ignore"):
            return None if task is None else self.function(task, *self.arguments)

    def task(self, table: Any, first: int) -> "PieceTask | None":
        """The rows as a task of their own, on one thread: other pieces are at work on the others."""
        design, values, numbers = self.encoder(table, first)
        chosen = self._chosen(numbers, values.get("sample_weight"))
        if not chosen.all():
            rows = np.flatnonzero(chosen)
            design, numbers = take_rows(design, rows), numbers[rows]
            values = {name: value[rows] for name, value in values.items()}
        if not design.rows:
            return None
        # the first pass has looked at all of them
        target = self.target.of_rows(cells_of(values), values.get("sample_weight"), values.get("precision"))
        shift = known_offset(values.get("offset"), values.get("exposure"))
        engine = Memory(
            design, target.y, target.weight, shift, target.loss, intercept=self.intercept, centre=self.centre
        ).on_one_thread()
        labels = tuple(values[what] for what in CLUSTERS if what in values)
        return PieceTask(target, engine, Penalty.none(engine.width), 1.0, 1, numbers, labels)

    def _chosen(self, numbers: Any, weight: Numbers | None) -> Numbers:
        """Which rows are of the fold, and count: those of weight 0 touch nothing, whatever they hold."""
        chosen = np.ones(len(numbers), bool) if self.keep is None else self.keep(numbers)
        return chosen if weight is None else chosen & (weight > 0)


# ---- functions of a piece --------------------------------------------------------------------------------------------


def evaluate(task: Task, loss: Loss, theta: Numbers, curvature: bool, expected: bool) -> Any:
    """Loss, gradient and second derivatives."""
    return task.engine.with_loss(task.target.sharpened(loss)).evaluate(theta, curvature, expected)


def moments(task: Task, centre: float) -> Numbers:
    """The Gram matrix of all columns and y."""
    return task.engine.moments(centre)


def spreads(task: Task) -> tuple[Numbers, Numbers, float]:
    """Sums of w x and of w x², about the centre, and of w."""
    engine, w = task.engine, task.target.w
    gram = Memory(
        engine.design,
        np.zeros(engine.rows),
        w,
        None,
        Loss("gaussian", "identity"),
        intercept=True,
        centre=engine.centre,
    ).on_one_thread()
    products = gram.moments()
    return products[0, 1:-1], products.diagonal()[1:-1].copy(), float(products[0, 0])


# ---- engine and task -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Pieces:
    """A source with all that makes tasks of its pieces."""

    source: Source
    encoder: Encoder
    intercept: bool
    centre: Numbers
    keep: Folds | None = None

    def without_columns(self) -> "Pieces":
        """Targets alone: a pass then reads little."""
        return replace(self, encoder=self.encoder.without_columns(), centre=np.zeros(0))

    def with_clusters(self, names: Sequence[str]) -> "Pieces":
        """With the labels in these columns beside each row."""
        lost = [name for name in names if name not in self.source.types]
        if lost:
            cached = "; a cache holds only what the fit needs, so fit without one" if self.encoder.encoded else ""
            raise ValueError(f"the rows have no column {', '.join(map(repr, lost))} that could tell clusters{cached}")
        named = self.encoder.named | dict(zip(CLUSTERS, names, strict=False))
        return replace(self, encoder=replace(self.encoder, named=named))

    def total(self, function: Callable[..., Any], target: Target, *arguments: Any) -> Any:
        """The sum of the function over all pieces: one pass."""
        work = Piecework(self.encoder, target, self.intercept, self.centre, self.keep, function, arguments)
        return self.source.total(work, self.encoder.columns)


class Streamed(Memory):
    """The engine of rows elsewhere. What needs no pass, it has from the sample."""

    streamed = True
    newton: Any = None  # which would go through the rows of the sample

    def __init__(self, small: PieceTask, pieces: Pieces, target: Target, rows: int) -> None:
        sample = small.engine
        # the loss without the precisions of the sample: each piece of rows has its own
        super().__init__(
            sample.design,
            sample.y,
            sample.weight,
            sample.offset,
            target.loss,
            intercept=sample.intercept,
            centre=sample.centre,
        )
        self.small, self.pieces, self.target, self.rows = small, pieces, target, rows

    @property
    def cheap_curvature(self) -> bool:  # type: ignore[override]
        """Whether second derivatives may come with every pass."""
        return self.width <= NARROW

    def evaluate(
        self, theta: Numbers, curvature: bool, expected: bool = False
    ) -> tuple[float, Numbers, Numbers | None]:
        loss, gradient, gram = self.pieces.total(evaluate, self.target, self.loss, theta, curvature, expected)
        source: Any = self.pieces.source
        if getattr(source, "watch", None) is not None and not self.loss.response:
            source.nats = None
            with suppress(Exception):  # a noise with open parameters has no nats yet; what is shown ends no fit
                source.nats = self._nats_of_sample(theta)
        return float(loss), gradient, gram

    def _nats_of_sample(self, theta: Numbers) -> float:
        """Per row: near enough for somebody who waits, without another pass."""
        target, engine = self.small.target.with_noise(self.target.noise), self.take(SAMPLE)
        noise = target.filled(target.dispersion().profile(engine.evaluate(theta, False)[0]).dispersion)
        rows = target.rows_nll(noise, engine.predict(theta), target.p, target.raw)
        return float(target.total(rows) / target.total())

    def with_target(self, target: Target) -> Self:
        other = self.with_loss(target.loss)
        other.target = target
        return other

    def moments(self, centre: float = 0.0) -> Numbers:
        return np.asarray(self.pieces.total(moments, self.target, centre))

    def predict(self, theta: Numbers) -> Numbers:
        raise TypeError("these rows are not in memory: predict for them with fit.predict, or the command line")

    def take(self, rows: Any, *, recentred: bool = False) -> Memory:
        """The sample, under the same loss."""
        assert rows is SAMPLE
        assert not recentred
        return self.small.engine.with_loss(self.small.target.sharpened(self.loss))


@dataclass
class StreamedTask(Task):
    """One fit of rows elsewhere. `target` is condensed, `small` the same fit of the sample."""

    small: PieceTask
    sums: TargetSums

    @property
    def pieces(self) -> Pieces:
        """Where the rows are."""
        assert isinstance(self.engine, Streamed)
        return self.engine.pieces

    def total(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """One pass."""
        return self.pieces.total(function, self.target, *arguments)

    def total_of_targets(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """One pass that reads no columns but those of the target."""
        return self.pieces.without_columns().total(function, self.target, *arguments)

    def sample(self) -> Any:
        return SAMPLE

    def in_memory(self) -> PieceTask:
        """The same question about the sample."""
        target = self.small.target.with_noise(self.target.noise)
        return replace(self.small, target=target, penalty=self.penalty, tol=self.tol, max_iter=self.max_iter)

    def weight_of(self, rows: Any) -> float:
        return self.small.target.total() if rows is SAMPLE else self.target.total()

    def objective(self, engine: Any, rows: Any = slice(None), penalty: Penalty | None = None) -> Objective:
        if rows is not SAMPLE:
            objective = super().objective(engine, rows, penalty)
            if isinstance(objective.dispersion, CompoundDispersion):
                objective.dispersion = constants_of(self)
            return objective
        objective = self.in_memory().objective(engine, penalty=penalty)
        objective.factor = self.target.total() / self.small.target.total()
        return objective

    def has_whole_targets(self) -> bool:
        return self.sums.broken == 0

    def varies(self) -> bool:
        ends, classes = self.sums.extremes, self.sums.classes
        return self.engine.offset is not None or (len(classes) > 1 if classes else ends.least < ends.largest)

    def target_summary(self) -> dict[str, Any]:
        sums = self.sums
        if sums.classes:
            return {str(label): count for label, count in sums.classes.items()}
        ends = sums.extremes
        share = sums.zeros / sums.rows
        return {"mean": sums.plain / sums.rows, "least": ends.least, "largest": ends.largest, "share of 0": share}

    def column_spreads(self) -> Numbers:
        mean, square, total = self.total(spreads)
        variance = np.maximum(square / total - (mean / total) ** 2, 0.0)
        order = self.engine.places - self.engine.intercept
        spread, size = np.sqrt(variance)[order], np.abs(self.engine.centre) + np.sqrt(square / total)[order]
        return np.where(spread > 1e-12 * size, spread, 1.0)

    def without_columns(self) -> "StreamedTask":
        pieces = replace(self.pieces.without_columns(), intercept=self.target.noise.takes_intercept)
        small = self.in_memory().without_columns()
        assert isinstance(small, PieceTask)
        engine = Streamed(small, pieces, self.target, self.engine.rows)
        return replace(self, engine=engine, small=small, penalty=Penalty.none(engine.width))
