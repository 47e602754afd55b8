"""How sure the power of a Tweedie noise is, and its dispersion with it."""

from dataclasses import replace

import numpy as np

from neglog.distributions.arrays import Numbers
from neglog.likelihood.task import Answer, Task
from neglog.likelihood.tweedie import Compound, constants_of


def power_errors(task: Task, answer: Answer, covariance: Numbers, dispersion_error: float | None) -> dict[str, float]:
    """Standard errors of the power and, where one is given at this power, of the dispersion, from the curvature in all
    that is open; `covariance` is that of the coefficients at this power.
    """
    assert isinstance(task.target, Compound)
    power, t = answer.noise.power, float(np.log(answer.noise.dispersion))
    h = 1e-3 * (power - 1) * (2 - power)
    tasks = []
    for shift in (-h, 0.0, h):
        target = task.target.at_power(power + shift, t)
        tasks.append((replace(task, target=target, engine=task.engine.with_loss(target.loss)), target))
    phi = answer.noise.dispersion
    (low, _), (at, target), (high, _) = tasks
    below, here, above = (float(one.total(potential_slope, answer.theta)) for one, _ in tasks)
    down, up = (one.engine.evaluate(answer.theta, False)[1] / phi for one in (low, high))
    pull = at.engine.evaluate(answer.theta, False)[1] / phi
    first, _, last = (
        own.power_slope(phi, slope, constants_of(one))
        for (one, own), slope in zip(tasks, (below, here, above), strict=True)
    )
    bend, cross = (last - first) / (2 * h), (up - down) / (2 * h)
    known = np.nan_to_num(covariance, nan=0.0, posinf=0.0)
    if dispersion_error is None:
        bend -= float(cross @ known @ cross)
        return {"power": bend**-0.5 if bend > 0 else np.nan}
    k, constants = 1e-4, constants_of(at)
    (_, slope_down, mixed_down), (_, slope_up, mixed_up) = (constants.sums(t + shift) for shift in (-k, k))
    in_t = (slope_up - slope_down) / (2 * k) + 0.5 * (slope_up + slope_down)  # U / phi is the derivative of C
    mixed = (mixed_up - mixed_down) / (2 * k) - (here - target.saturated_power_slope()) / phi
    # how coefficients and t follow the power; the covariance has t at its best for given coefficients
    theta_follows = -known @ (cross + pull * mixed / in_t)
    t_follows = -(mixed - float(pull @ theta_follows)) / in_t
    bend += float(cross @ theta_follows) + mixed * t_follows
    error = bend**-0.5 if bend > 0 else np.nan
    return {"power": error, "dispersion": float(np.hypot(dispersion_error, phi * t_follows * error))}


def potential_slope(task: Task, theta: Numbers) -> float:
    """The derivative in the power of what the deviance of Tweedie targets takes from the predictions."""
    assert isinstance(task.target, Compound)
    return task.target.potential_slope(task.engine.predict(theta))
