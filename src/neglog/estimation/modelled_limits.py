"""Modelled parameters that run away: what a search that has no end, or none but a limit, is to say of them."""

import numpy as np

from neglog.distributions.parameters import Parameter
from neglog.likelihood.joint import Joint
from neglog.likelihood.task import Answer, Task
from neglog.typing import Numbers

ASKED = 2000  # rows, at most
FAR = 15.0  # on the raw scale, from the middle of the rows or from what one value for all rows would be: e^15
APART = 50.0  # between two rows: where a search without an end gets, but also a steep model of what stops to matter


Raw = list[tuple[Parameter, Numbers]]


def note_limits(answer: Answer, values: Raw) -> None:
    """Say so where a parameter is beyond the limit of its family in every row: it makes no difference any more."""
    for own, raw in values:
        if own.limit is None:
            continue
        first, last = (float(own.raw.raw(x)) for x in (own.start, own.limit.value))
        if np.all((raw - first) / (last - first) >= 1):
            noise = type(answer.noise).__name__
            answer.notes.append(
                f"The {own.name} of the {noise} noise went beyond its limit, {own.limit.value:g}, in every row: to "
                f"these data it is as good as {own.limit.noise} noise, and its coefficients mean nothing."
            )


def is_endless(task: Task, answer: Answer, values: Raw) -> bool:
    """Whether a search that found no slope any more had left some rows so far behind that they have none: nothing then
    says how far, whereas of a steep model the rows in between do.
    """
    for k, (_, raw) in enumerate(values, 1):
        if np.isnan(raw).any():
            return True
        if np.ptp(raw) >= APART and not _is_held(task, answer, k, float(np.ptp(raw))):
            return True
    return False


def _is_held(task: Task, answer: Answer, output: int, apart: float) -> bool:
    """Whether the rows tell the coefficients of a modelled parameter: a step of the curvature's own size would move no
    row by more than rows lie apart.
    """
    if answer.information is not None:  # a curvature of so many levels is not held
        return True
    engine = task.engine
    matrix = Joint(task, answer).curvature().matrix
    places = slice(output * engine.columns, (output + 1) * engine.columns)
    unit = np.sqrt(np.maximum(matrix.diagonal(), 1e-300))
    try:
        spread = np.linalg.inv(matrix / np.outer(unit, unit)) / np.outer(unit, unit)
    except np.linalg.LinAlgError:
        return False
    some = task.in_memory().engine
    rows = np.arange(0, some.rows, max(1, some.rows // ASKED))
    X = some.dense_rows(rows)
    variance = np.einsum("ij,jk,ik->i", X, spread[places, places], X)
    return bool(np.all(variance >= 0) and np.sqrt(variance.max()) < apart)


def note_runaways(task: Task, answer: Answer, level: dict[str, float], values: Raw) -> None:
    """Say so where a search without an end took a parameter of some rows far from its raw level in all rows."""
    some = task.in_memory()
    for own, raw in values:
        middle = np.median(raw)
        if abs(middle - level[own.name]) > FAR:
            middle = level[own.name]
        gone = np.flatnonzero(~(np.abs(raw - middle) < FAR))
        if not len(gone):
            continue
        which = f"{len(gone)} of {some.engine.rows} rows, the first is row {some.row_number(gone[0])}"
        answer.notes.append(
            f"There is no maximum of the likelihood: the model of the {own.name} sends it to an end of its range in "
            f"{which}, as where columns single out rows that one {own.name} fits best, or whose prediction passes "
            "through their y. Leave such columns out, hold the coefficients by a prior such as Gaussian(scale=...), "
            f"or state {own.name}=None."
        )


def raw_values(task: Task, answer: Answer) -> Raw:
    """What the family declares of each modelled parameter, and its raw values in the rows in memory that count."""
    eta = task.in_memory().engine.predict_modelled(answer.theta)
    return [(answer.noise.parameter(name), eta[:, k]) for k, name in enumerate(answer.noise.modelled)]
