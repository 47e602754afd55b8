"""How much single rows decide: leverage, Cook's distance, and how far each coefficient moves without a row.

With H the second derivatives of the objective in the coefficients, prior included, M = H^-1, and g and C the slope and
second derivatives of a row of weight w in its raw predictions eta = x' theta, one Newton step without the row is

    theta_(i) - theta = M x (I - w C m)^-1 w g,    m = x' M x,

which is exact for least squares, also with a prior. Leverage is the trace of w C m; the leverages add up to the number
of coefficients, each counted by what a prior leaves of it. The parameters of the noise stay where they are.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from neglog.belief.leave_one_out import without_held
from neglog.belief.posterior import refuse_improper
from neglog.belief.predicted_rows import row_chunks
from neglog.belief.row_slopes import row_slopes
from neglog.belief.standard_errors import inverse
from neglog.engines.blas import one_blas_thread
from neglog.engines.memory import Memory
from neglog.likelihood.joint import Joint
from neglog.likelihood.targets import Target
from neglog.likelihood.task import Answer, Task
from neglog.printing import as_text
from neglog.typing import Numbers

Fit = Any  # of rows, as `nl.fit` gives it: results stand below this room
SHOWN = 10  # rows of the table
ALONE = 1e-10  # of 1 - leverage: what the fit would be without such a row, nobody knows


@dataclass(frozen=True)
class Influence:
    """One number for each row, or one for each row and coefficient; NaN for a row without which a coefficient could not
    be told. Prints itself as a table of the rows that move the fit most.

    leverage        how far the prediction of a row follows its own y: from 0 to 1, and below 0 where the loss bends
                    down, as that of StudentT noise does far out
    cooks_distance  how far all coefficients move without the row, squared, in units of their covariance, over their
                    number: 1 is as far as the edge of the region that holds them with about half the probability
    dfbeta          (rows, coefficients): each coefficient less what it is without the row
    dfbetas         the same over the standard errors of the coefficients, as `summary` shows them; 0 for a coefficient
                    that a prior holds at 0
    names           of the coefficients
    coefficients    how many they are, each counted by what a prior leaves of it
    """

    leverage: Numbers
    cooks_distance: Numbers
    names: tuple[str, ...]
    coefficients: float
    standard_errors: Numbers
    _moved: Callable[[Any], Numbers] = field(repr=False)  # of some rows

    @cached_property
    def dfbeta(self) -> Numbers:
        """(rows, coefficients)"""
        return self._moved(np.arange(len(self.leverage)))

    @cached_property
    def dfbetas(self) -> Numbers:
        """(rows, coefficients)"""
        return self._in_errors(self.dfbeta)

    def dfbetas_of(self, row: int) -> Numbers:
        """(coefficients,), of one row."""
        return np.asarray(self._in_errors(self._moved(np.array([row])))[0])

    def _in_errors(self, moved: Numbers) -> Numbers:
        with np.errstate(all="ignore"):
            return np.asarray(np.where(moved == 0, 0.0, moved / self.standard_errors))

    def largest(self, n: int = SHOWN) -> Numbers:
        """The numbers of the rows of the largest Cook's distances, the largest first."""
        far = np.where(np.isnan(self.cooks_distance), np.inf, self.cooks_distance)
        return np.argsort(-far, kind="stable")[:n]

    @property
    def text(self) -> str:
        """What the numbers are about, in a sentence."""
        return (
            f"{len(self.leverage):,} rows, {self.coefficients:.4g} coefficients: the mean leverage is "
            f"{np.mean(self.leverage):.3g}. What a fit without the row would be, by one step of Newton's method"
        )

    def __len__(self) -> int:
        return len(self.leverage)

    def __rich_console__(self, console: Any, options: Any) -> Any:
        from rich.table import Table
        from rich.text import Text

        table = Table(title="Rows that move the fit most", caption=Text(self.text), caption_justify="left")
        for column in ("row", "leverage", "Cook's distance", "moves most", "by standard errors"):
            table.add_column(column, justify="left" if column == "moves most" else "right")
        rows = self.largest()
        for row, moved in zip(rows, self._in_errors(self._moved(rows)), strict=True):
            most = int(np.argmax(np.abs(np.nan_to_num(moved)))) if len(moved) else 0
            cells = [f"{row:,}", f"{self.leverage[row]:.3g}", f"{self.cooks_distance[row]:.3g}"]
            told = [self.names[most], f"{moved[most]:+.2f}"] if len(moved) else ["–", "–"]
            table.add_row(*cells, *(Text(one) for one in told))
        yield table

    def __repr__(self) -> str:
        return as_text(self)


@one_blas_thread
def influence_of(fit: Fit, given: tuple[Memory, Target] | None, expected: bool) -> Influence:
    """Of the rows of a fit; or of rows that are given, each as one of those that were fitted."""
    joint: Joint = fit._joint
    task, answer = joint.task, joint.answer
    if not task.target.bends:
        raise ValueError(
            f"influence takes the curvature of the loss, and that of {type(answer.noise).__name__} noise has a kink: "
            "such a fit passes through some rows, and moves by jumps; take Huber or StudentT noise"
        )
    if answer.null is None or not answer.converged:
        refuse_improper(joint)
    fit._refuse_many("influence")
    names, turn = joint.public_names(), joint.public_matrix()
    size = len(names) - len(joint.names)
    joint, inside = without_held(joint)
    turn = turn[:size, : len(answer.theta)][:, inside]
    small = joint.answer.engine
    bread, counted = _bread(joint, expected)
    factor = 1.0 if fit.residual_degrees is None else fit.total_weight / fit.residual_degrees
    engine, target = (small, joint.task.target) if given is None else (given[0], given[1])
    if given is not None and small.columns != engine.columns:
        engine = engine.subset(_moving(task, answer), rest=task.penalty.kink)[0]
    leverage, cooks, pull = _of_rows(joint, engine, target, bread, expected)
    whole = task.whole if given is None else None
    places = np.arange(engine.rows) if whole is None else np.flatnonzero(np.asarray(whole.target.w))
    rows = engine.rows if whole is None else whole.engine.rows

    def moved(chosen: Numbers) -> Numbers:
        out = np.zeros((len(chosen), size))
        at = np.full(rows, -1)
        at[places] = np.arange(len(places))
        counted = np.flatnonzero(at[chosen] >= 0)
        out[counted] = -_moved(engine, at[chosen][counted], pull, bread @ turn.T)
        return out

    variances = np.einsum("ij,jk,ik->i", turn, bread, turn)
    errors = np.sqrt(factor * np.where(variances > 0, variances, np.nan))
    cooks = cooks / (factor * max(counted, 1e-300))
    leverage, cooks = _placed(leverage, places, rows), _placed(cooks, places, rows)
    return Influence(leverage, cooks, names[:size], counted, errors, moved)


def _placed(values: Numbers, places: Numbers, rows: int) -> Numbers:
    """With a 0 for each row of weight 0, which decides nothing."""
    out = np.zeros(rows)
    out[places] = values
    return out


def _moving(task: Task, answer: Answer) -> Numbers:
    return np.asarray((task.penalty.strength == 0) | (answer.theta != task.penalty.kink))


def _bread(joint: Joint, expected: bool) -> tuple[Numbers, float]:
    """The covariance of the coefficients at the parameters of the noise, and how many coefficients there are."""
    answer, n = joint.answer, len(joint.answer.theta)
    bend = joint.task.penalty.bend[:n]
    if expected:
        if answer.engine.loss.outputs > 1:
            raise ValueError(
                "expected=True is of noises with one raw prediction for each row; classes and modelled parameters have "
                "several, of which the observed second derivatives tell"
            )
        bare = replace(answer, engine=None, penalty=None, information=None, certificate=None)  # type: ignore[arg-type]
        matrix = joint.task.total(expected_curvature, bare) + np.diag(bend)
    else:
        matrix = joint.curvature().matrix[:n, :n]
    bread = np.nan_to_num(inverse(matrix, np.ones(n, bool), pseudo=True), nan=0.0)
    return bread, float(np.sum(bread * matrix.T) - bend @ bread.diagonal())


def expected_curvature(task: Task, answer: Answer) -> Numbers:
    """The sum over the rows of what the noise expects of their second derivatives."""
    target = task.target.with_noise(answer.noise)
    bend = target.row_slopes(answer.noise, task.engine.predict(answer.theta), True)[1]
    return task.engine.gram(bend if target.w is None else target.w * bend)


def _of_rows(
    joint: Joint, engine: Memory, target: Target, bread: Numbers, expected: bool
) -> tuple[Numbers, Numbers, Numbers]:
    """Leverage, the squared way over the covariance, and what the raw predictions of each row are pulled by: w g over
    what is left of the leverage.
    """
    target = target.with_noise(joint.noise(joint.start))
    own = Joint(replace(joint.task, target=target, engine=engine, whole=None), replace(joint.answer, engine=engine))
    rows = row_slopes(own, target)
    outputs, w = rows.eta.shape[1], np.ones(engine.rows) if target.w is None else np.asarray(target.w, float)
    gradient, bend = w[:, None] * rows.gradient[:, :outputs], rows.curvature[:, :outputs, :outputs]
    if expected:
        bend = target.row_slopes(target.noise, rows.eta[:, 0], True)[1][:, None, None]
    bend = w[:, None, None] * bend
    with np.errstate(all="ignore"):
        if outputs == 1:
            spread = engine.forms(np.ascontiguousarray(bread[: engine.columns, : engine.columns]))[:, None, None]
        else:
            spread = _spreads(engine, bread, outputs)
        share = bend @ spread
        left = np.eye(outputs) - share
        alone = np.abs(np.linalg.det(left)) < ALONE
        left[alone] = np.eye(outputs)
        pull = np.linalg.solve(left, gradient[..., None])[..., 0]
        pull[alone] = np.nan
        cooks = np.einsum("ij,ijk,ik->i", pull, spread, pull)
    return np.trace(share, axis1=1, axis2=2), cooks, pull


def _spreads(engine: Memory, bread: Numbers, outputs: int) -> Numbers:
    """The covariance of the raw predictions of each row, (rows, outputs, outputs)."""
    columns, out = engine.columns, np.empty((engine.rows, outputs, outputs))
    for rows, matrix in row_chunks(engine):
        for a in range(outputs):
            left = matrix @ bread[a * columns : (a + 1) * columns, : outputs * columns]
            for b in range(outputs):
                out[rows, a, b] = np.einsum("ij,ij->i", left[:, b * columns : (b + 1) * columns], matrix)
    return out


def _moved(engine: Memory, rows: Numbers, pull: Numbers, turned: Numbers) -> Numbers:
    """How far the coefficients move without each of these rows: (rows, coefficients)."""
    out = np.empty((len(rows), turned.shape[1]))
    step = max(1, 2**22 // max(engine.width, 1))
    for start in range(0, len(rows), step):
        chosen = rows[start : start + step]
        matrix = engine.dense_rows(chosen)
        whole = (pull[chosen][:, :, None] * matrix[:, None, :]).reshape(len(chosen), -1)
        out[start : start + step] = whole @ turned
    return out
