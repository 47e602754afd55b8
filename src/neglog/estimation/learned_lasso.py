"""The scale of a Laplace prior by leave-one-out."""

from dataclasses import replace
from typing import Any

import numpy as np

from neglog.belief.leave_one_out import leave_one_out
from neglog.distributions import Laplace
from neglog.estimation.learned_ridge import Learned, finite, one_if_equal
from neglog.estimation.solve import solve
from neglog.likelihood.joint import Joint
from neglog.likelihood.task import Answer, Task
from neglog.solvers.penalty import Penalty
from neglog.typing import Numbers

ROUGH = 1e-2  # posterior standard deviations from the optimum that do for choosing a strength
STRENGTHS = 40  # of a Laplace prior that are tried
LEAST_STRENGTH = 1e-3  # of the one that leaves no coefficient


def learn_laplace(task: Task, prior: Any, units: Numbers) -> Learned:
    """The strength on the path from no coefficients on whose held-out nats are least."""
    if not task.target.bends:
        raise ValueError(
            "the scale of a Laplace prior is chosen by leave-one-out, which needs a smooth loss; state scale=..., "
            "use Huber noise, or let nl.path(..., cv=5) choose it"
        )
    engine = task.engine
    loc = np.broadcast_to(np.asarray(prior.loc, float), units.shape) / units
    kink, unit = engine.native(loc), engine.native(units)
    nothing = np.zeros(engine.width)
    rough = replace(task, tol=max(task.tol, 1e-4))
    largest = _largest_strength(task, unit, kink)
    answer: Answer | None = None
    tried: list[tuple[float, float]] = []  # held-out nats and strength
    for strength in largest * np.geomspace(1.0, LEAST_STRENGTH, STRENGTHS):
        here = replace(rough, penalty=Penalty(nothing, nothing, float(strength) * unit, kink))
        answer = solve(here, answer)
        if not (answer.converged or answer.decrement < ROUGH):
            continue
        nats = leave_one_out(Joint(here, replace(answer, converged=True))).total
        tried.append((nats, float(strength)))
        if nats > min(tried)[0] + 0.02 * abs(min(tried)[0]) + 20:
            break  # far beyond the minimum
    if not tried or not np.isfinite(min(tried)[0]):
        raise ValueError("no strength of the Laplace prior led to a converged fit; state its scale")
    best = min(tried)[1]
    final = replace(task, penalty=Penalty(nothing, nothing, best * unit, kink))
    answer = solve(final, answer)
    if best == largest:
        answer.notes.append("The data support no effect of the columns: leave-one-out prefers all coefficients at 0.")
    elif best <= 1.001 * largest * LEAST_STRENGTH:
        answer.notes.append(
            "Leave-one-out prefers the weakest prior that was tried: the columns may need none, or another one."
        )
    return Learned(final, answer, Laplace(loc if loc.any() else 0.0, one_if_equal(1 / (best * units))))


def _largest_strength(task: Task, unit: Numbers, kink: Numbers) -> float:
    """From which on all coefficients stay at their kink."""
    held = unit > 0
    nothing = np.zeros(len(unit))
    hard = replace(task, penalty=Penalty(nothing, nothing, 1e12 * np.where(held, unit, 0.0), kink))
    joint = Joint(hard, finite(hard, solve(hard)))
    gradient = joint.objective(joint.target(joint.start)).at(joint.answer.theta, False).gradient
    return float(np.max(np.abs(gradient[held]) / unit[held])) or 1.0
