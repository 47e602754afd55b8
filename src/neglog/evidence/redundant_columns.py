"""Columns that say nothing of their own: constants, and what others without a prior say already. Where the scales of
terms are learned they are held at 0, so that the evidence is that of the columns that remain.
"""

import numpy as np

from neglog.likelihood.messages import listed
from neglog.likelihood.task import Task
from neglog.solvers.systems import SINGULAR, smallest_pivot
from neglog.typing import Numbers


def redundant_columns(some: Task, task: Task, free: Numbers) -> Numbers:
    """Which of the coefficients that no prior holds the others can do without, a mask over all. All rows are asked only
    if some of them cannot tell.
    """
    found = _redundant(some, free)
    return found if some is task or not found.any() else _redundant(task, free)


def _redundant(task: Task, free: Numbers) -> Numbers:
    engine = task.engine
    gram, out = engine.moments()[:-1, :-1], np.zeros(len(free), bool)
    if not np.isfinite(gram).all():
        engine.design.check_finite()
    for output in range(engine.loss.outputs):
        start = output * engine.columns
        own = np.flatnonzero(free[start : start + engine.columns])
        out[start + own[_dependent(gram[np.ix_(own, own)])]] = True
    return out


def _dependent(gram: Numbers) -> Numbers:
    """The numbers of the columns that are sums of those before them."""
    size = gram.diagonal()
    if not len(gram) or (np.all(size > 0) and smallest_pivot(np.ascontiguousarray(gram)) > SINGULAR):
        return np.empty(0, int)
    unit = 1 / np.sqrt(np.where(size > 0, size, 1.0))
    left, lost = gram * unit * unit[:, None], []
    for k in range(len(left)):  # what is left of each when those before it are taken out
        pivot = left[k, k]
        if pivot <= SINGULAR:
            lost.append(k)
            continue
        left[k + 1 :, k + 1 :] -= np.outer(left[k + 1 :, k], left[k, k + 1 :]) / pivot
    return np.array(lost, int)


def redundancy_note(task: Task, redundant: Numbers) -> str:
    """What was done to them, in a sentence."""
    engine = task.engine
    rows = redundant[: engine.coefficients].reshape(engine.loss.outputs, engine.columns)[:, engine.places]
    names = list(dict.fromkeys(engine.design.names[column] for column in np.flatnonzero(rows.any(axis=0))))
    one = len(names) == 1
    return (
        f"The column{'' if one else 's'} {listed(names)} {'is' if one else 'are'} constant, or the sum of others; "
        f"{'its coefficient is' if one else 'their coefficients are'} 0."
    )
