"""The question a solver is given and the answer it returns."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from neglog.distributions.arrays import Numbers
from neglog.engines.memory import Memory
from neglog.inference.targets import Target
from neglog.solvers.objective import Objective
from neglog.solvers.penalty import Penalty

SAMPLE_SHARE = 1 / 16  # of the rows, for the start
SAMPLE_PER_COLUMN = 50  # rows, at least
WORTH_SAMPLING = 400_000  # numbers in X, at least


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
    certificate: Any = None
    notes: list[str] = field(default_factory=list)


@dataclass
class Task:
    """One fit: target and rows, prior, and how far to go."""

    target: Target
    engine: Memory
    penalty: Penalty
    tol: float
    max_iter: int

    def objective(self, engine: Any, rows: Any = slice(None), penalty: Penalty | None = None) -> Objective:
        """The objective on these rows, which count as much as all."""
        target = self.target
        factor = 1.0 if rows == slice(None) else target.total() / target.total(rows=rows)
        penalty = self.penalty if penalty is None else penalty
        steady = target.family != "huber"  # whose curvature jumps at its threshold
        return Objective(
            engine,
            penalty,
            target.dispersion(rows),
            convex=target.convex,
            steady=steady,
            gauge=self.gauge(engine, penalty),
            factor=factor,
        )

    def gauge(self, engine: Any, penalty: Penalty) -> Numbers | None:
        """For classes: the matrix that averages each unpenalised coefficient over them."""
        classes = self.engine.loss.classes
        if classes == 1:
            return None
        columns = engine.width // classes
        flat = penalty.flat[:columns].astype(float)
        return np.tile(np.diag(flat / classes), (classes, classes))

    def wide_penalty(self, wide: Memory) -> Penalty:
        """The penalty with a place for the response, which has none."""
        terms = (self.penalty.bend, self.penalty.centre, self.penalty.strength, self.penalty.kink)
        return Penalty(*(np.insert(term, wide.response_place, 0.0) for term in terms))

    def taken(self, rows: Numbers) -> "Task":
        """The same question about some of the rows."""
        return replace(self, target=self.target.taken(rows), engine=self.engine.take(rows))

    def sample(self) -> slice | None:
        """Evenly spread rows to start on, where there are enough for that to pay."""
        rows, columns = self.engine.rows, self.engine.columns
        if rows * columns < WORTH_SAMPLING:
            return None
        step = rows // max(SAMPLE_PER_COLUMN * columns, int(rows * SAMPLE_SHARE))
        return slice(None, None, step) if step >= 4 else None
