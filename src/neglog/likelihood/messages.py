"""Sentences about how a fit ended."""

import numpy as np

from neglog.likelihood.task import Answer, Task
from neglog.typing import Numbers

SHOWN = 5


def message_of(task: Task, answer: Answer) -> str:
    """How the search ended; where it failed, causes and remedies."""
    sentences = list(answer.notes)
    if answer.converged:
        steps = f"{answer.iterations} iteration{'s' if answer.iterations != 1 else ''}"
        sentences.insert(0, f"Converged after {steps}.")
    elif not answer.notes:
        sentences.append(_failure(task, answer))
    if answer.null is not None:
        sentences.append(_collinear(task, answer.null))
    return " ".join(sentences)


def _failure(task: Task, answer: Answer) -> str:
    distance = f"about {answer.decrement:.2g} posterior standard deviations from the optimum"
    if not np.isfinite(answer.decrement):
        return _beyond_numbers(task, answer)
    if answer.stuck:
        return (
            f"Not converged: after {answer.iterations} iterations no step lowers the objective further, {distance}. "
            "Either rounding is reached (then a larger tol is enough), or the mean is at the edge of its domain "
            "(then another link, or a prior, helps)."
        )
    return (
        f"Not converged: stopped after {answer.iterations} iterations (max_iter={task.max_iter}), {distance}. "
        "Raise max_iter; if that does not help, look for columns that are nearly collinear, for a link whose mean "
        "leaves its domain, or hold the coefficients by a prior such as Gaussian(scale=...)."
    )


def _beyond_numbers(task: Task, answer: Answer) -> str:
    """Where the objective or its curvature is infinite or no number, and no step is to be had."""
    target, link = task.in_memory().target, answer.noise.link.name
    where = "where the search began" if answer.iterations == 0 else f"after {answer.iterations} iterations"
    start = f"The likelihood or its curvature is beyond the range of numbers {where}: "
    size = float(np.max(np.abs(target.located), initial=0.0))
    if size == 0:
        return (
            f"{start}every y is 0, which is not the mean of any raw prediction of the {link} link. Take another link."
        )
    return (
        f"{start}y, of at most {size:.2g}, or a column is too large or too small for the {link} link. State it in "
        "another unit, or take another link."
    )


def _collinear(task: Task, null: Numbers) -> str:
    columns = involved_columns(task, null)
    who = f"The columns {listed(columns)} are collinear or constant, so the" if columns else "The"
    return (
        f"{who} data leave {null.shape[1]} direction{'s' if null.shape[1] > 1 else ''} open; of all best solutions "
        "this is the one with the smallest coefficients."
    )


def involved_columns(task: Task, directions: Numbers) -> list[str]:
    """The names of the columns that take part in these directions (in the core's order)."""
    engine = task.engine
    size = np.abs(directions).reshape(engine.loss.outputs, engine.columns, -1).max(axis=(0, 2))
    spread = size[engine.places] if engine.design.columns else np.empty(0)
    if not spread.size:
        return []
    return [name for name, s in zip(engine.design.names, spread, strict=True) if s > 1e-6 * spread.max()]


def listed(names: list[str]) -> str:
    """Some of the names, and how many more there are."""
    shown = ", ".join(names[:SHOWN])
    return shown if len(names) <= SHOWN else f"{shown} and {len(names) - SHOWN} more"
