"""Fits of groups that know of each other: coefficients drawn from one law, which is learned."""

from dataclasses import replace
from typing import Any

import numpy as np

from neglog.distributions import Flat
from neglog.engines.memory import centres_of
from neglog.estimation.by_group import is_native
from neglog.estimation.rows_of_groups import Groups, nll_of
from neglog.estimation.solve import solve
from neglog.evidence.pooled_groups import PooledAnswer, pool_groups
from neglog.fitting.fits_of_groups import Asked
from neglog.likelihood.task import Answer, Task
from neglog.results.fit_by import FitBy
from neglog.results.pooled import Pooled
from neglog.solvers.penalty import Penalty


def pooled_fits(asked: Asked, named: dict[str, str]) -> FitBy:
    """The law between groups, and the coefficients of each under it."""
    if not isinstance(asked.prior, Flat):
        raise ValueError(f"pool=True learns the prior of the coefficients; leave prior={asked.prior!r} out")
    asked.set_aside_infinite()
    task = asked.task()
    noise = asked.noise
    if not is_native(task.target, task.engine.design, task.penalty):
        raise ValueError(
            f"pool=True takes noises that are smooth in the prediction and in what is open, and columns of numbers and "
            f"levels; not {noise!r} with these. State what is open of the noise, or leave pool out"
        )
    answer = pool_groups(task, _of_all(task))
    return FitBy(_state(asked, named, task, answer))


def _of_all(task: Groups) -> Answer:
    """The fit of all rows as one group."""
    engine = task.engine.recentred(centres_of(task.engine.design) if task.engine.intercept else task.engine.centre)
    found = solve(Task(task.target, engine, Penalty.none(engine.width), task.tol, task.max_iter).counting())
    intercepts, coefs = engine.public(found.theta)
    return replace(found, theta=task.engine.native(coefs[0], intercepts[0]))


def _state(asked: Asked, named: dict[str, str], task: Groups, answer: PooledAnswer) -> dict[str, Any]:
    engine, width, count = task.engine, task.engine.width, task.grouping.count
    theta = answer.mean + answer.scale * answer.u
    errors = answer.scale * np.sqrt(answer.variances)
    nats = nll_of(task, theta, np.tile(answer.raw, (count, 1)))
    inside = task.grouping.sizes > 0
    noise_values = {own.name: float(own.raw.value(v)) for own, v in zip(task.target.opened, answer.raw, strict=True)}
    noise_errors = {
        own.name: float(abs(own.raw.slope(noise_values[own.name])) * error)
        for own, error in zip(task.target.opened, answer.errors[2 * width :], strict=True)
    }
    own = engine.intercept
    mean_errors, scale_errors = answer.errors[:width], answer.errors[width : 2 * width]
    pooled = Pooled(
        names=engine.design.names,
        mean=answer.mean[engine.where],
        scale=answer.scale[engine.where],
        mean_errors=mean_errors[engine.where],
        scale_errors=scale_errors[engine.where],
        intercept=float(answer.mean[0]) if own else 0.0,
        intercept_scale=float(answer.scale[0]) if own else 0.0,
        intercept_error=float(mean_errors[0]) if own else np.nan,
        intercept_scale_error=float(scale_errors[0]) if own else np.nan,
        has_intercept=own,
        noise=noise_values,
        noise_errors=noise_errors,
        log_evidence=-float(np.sum(nats[inside])) - answer.volume,
    )
    texts = {**asked.rows.failed}
    for group in np.flatnonzero(~inside).tolist():
        if group not in texts:
            texts[group] = asked.refusal(group)
    for group in np.flatnonzero(inside & ~(answer.arrived & answer.converged)).tolist():
        texts[group] = (
            "No best coefficients were found under the law between groups; leave the group out."
            if answer.converged
            else f"The law between groups was not found: after {answer.steps} passes it is about {answer.distance:.2g} "
            "standard deviations from the maximum of the evidence. Leave out columns that are nearly collinear."
        )
    lost = ~inside[:, None]
    return asked.stated(named) | {
        "coef": np.where(lost, np.nan, theta[:, engine.where]),
        "intercept": np.where(~inside, np.nan, theta[:, 0]) if own else np.where(~inside, np.nan, 0.0),
        "noise_parameters": {name: np.where(inside, value, np.nan) for name, value in noise_values.items()},
        "converged": inside & answer.arrived & answer.converged,
        "n_iter": np.full(count, answer.steps),
        "texts": texts,
        "remarks": {},
        "held": {},
        "pooled": pooled,
        "nll": np.where(inside, nats, np.nan),
        "standard_errors": np.where(lost, np.nan, errors[:, engine.where]),
        "intercept_standard_errors": np.where(~inside, np.nan, errors[:, 0]) if own else np.full(count, np.nan),
        "noise_standard_errors": {name: np.where(inside, error, np.nan) for name, error in noise_errors.items()},
    }
