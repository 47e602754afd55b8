"""What may be wrong with an answer that looks like one: directions left open, likelihoods without a maximum."""

import numpy as np

from neglog.inference.answer import Answer, Task
from neglog.inference.messages import involved_columns, listed
from neglog.inference.open_directions import ask_columns
from neglog.inference.separation import separating_direction
from neglog.solvers.systems import minimum_norm

KINKED = ("huber", "laplace")  # losses whose curvature says little about the columns
MANY = 14  # Newton steps that a maximum hardly ever needs, but a likelihood that rises for ever does


def diagnose(task: Task, answer: Answer) -> None:
    """Completes the answer: the smallest of many solutions, and notes on what has none."""
    if answer.iterations >= MANY or not answer.converged:
        _look_for_separation(task, answer)
    if task.target.family in KINKED:
        ask_columns(task, answer)
    if answer.null is not None:
        _choose_smallest(task, answer)
    if not _leaves_domain(task, answer):
        _look_at_dispersion(task, answer)


def _choose_smallest(task: Task, answer: Answer) -> None:
    assert answer.null is not None
    engine = task.engine
    counted = np.ones(engine.width, bool)
    if engine.intercept:
        counted[:: engine.columns] = False
    answer.theta = minimum_norm(answer.theta, answer.null, counted)


def _look_for_separation(task: Task, answer: Answer) -> None:
    if task.engine.streamed and answer.converged:  # a sample may be separated where all rows are not
        return
    direction = separating_direction(task.in_memory())
    if direction is None:
        return
    answer.converged = False
    columns = involved_columns(task, direction[:, None])
    who = f"the columns {listed(columns)} separate" if columns else "the intercept alone separates"
    what = {
        "poisson": "the zeros from the other counts",
        "tweedie": "the zeros from the amounts",
        "softmax": "the classes",
    }.get(task.target.loss.family, "the zeros from the ones")
    answer.notes.append(
        f"There is no maximum of the likelihood: {who} {what}, so that their coefficients grow without end "
        "(complete or quasi-complete separation). Leave them out, merge levels, or hold them by a prior such as "
        "Gaussian(scale=...)."
    )


def _leaves_domain(task: Task, answer: Answer) -> bool:
    """Whether the search ended at predictions that the link has no means for, which it then says."""
    noise = answer.noise
    if answer.converged and all(np.isfinite(getattr(noise, name)) for name in task.target.open):
        return False
    anywhere = noise._family() in ("gaussian", "huber") or (noise._family() == "tweedie" and noise.power == 0)
    if noise.link.name not in (("sqrt",) if anywhere else ("identity", "inverse", "sqrt")):
        return False
    rows = task.in_memory()
    counted = True if rows.target.w is None else rows.target.w > 0
    outside = np.flatnonzero(~(rows.engine.predict(answer.theta) >= 0) & counted)
    if not len(outside):
        return False
    answer.converged = False
    remedy = "Take another link, such as log" if rows.engine.intercept else "Fit an intercept, or take the log link"
    answer.notes.append(
        f"No coefficients were found whose raw predictions all lie in the domain of the {noise.link.name} link, 0 and "
        f"above: {len(outside)} of {rows.engine.rows} rows are below, the first is row "
        f"{rows.row_number(outside[0])}. {remedy}."
    )
    return True


def _look_at_dispersion(task: Task, answer: Answer) -> None:
    """A fit that passes through all points has no scale."""
    name = next((name for name in task.target.open if name in ("scale", "shape", "dispersion")), None)
    if name is None:
        return
    value = getattr(answer.noise, name)
    size = float(np.max(np.abs(task.target.y), initial=0.0))
    vanished = value > 1e13 if name == "shape" else not value > 1e-14 * max(size, 1e-300)
    if vanished or not np.isfinite(value):
        answer.converged = False
        answer.notes.append(
            f"The fit passes through every point, so that the {name} of the {type(answer.noise).__name__} noise has no "
            f"estimate: the likelihood grows without end. Use fewer columns, state {name}=..., or hold the "
            "coefficients by a prior."
        )
