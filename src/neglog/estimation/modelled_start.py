"""Where a search begins whose noise has modelled parameters: each is the same in all rows, as if it were open."""

import numpy as np

from neglog.distributions.noise import Noise
from neglog.distributions.parameters import Parameter
from neglog.engines.memory import Memory
from neglog.likelihood.task import Answer, Task
from neglog.solvers.systems import newton_step
from neglog.typing import Numbers

NEAR = 0.125  # of the way to a limit, on the raw scale, from which rows still tell where to go
INSIDE = 3.0  # log odds of the place between two ends, up to which they do


def as_predicted(task: Task, flat: Task, theta: Numbers, noise: Noise) -> Answer:
    """An answer to the task from one to the same with nothing modelled: coefficients of the location and the noise."""
    engine, target = task.engine, task.target
    columns = engine.columns
    begun = np.zeros(engine.coefficients)
    begun[:columns] = theta
    for k, name in enumerate(target.noise.modelled, 1):
        raw = value_to_begin(noise.parameter(name), getattr(noise, name))
        begun[k * columns : (k + 1) * columns] = _constant(flat.engine, raw)
    filled = {name: getattr(noise, name) for name in target.open}
    return Answer(begun, target.noise.estimated(**filled), False, 0, np.inf, engine, task.penalty)


def value_to_begin(own: Parameter, value: float) -> float:
    """What is to be predicted of a parameter, well before its limit or its ends: so far out all is flat."""
    first, raw = float(own.predicted.raw(own.start)), float(own.predicted.raw(value))
    if own.within is not None:
        raw = min(max(raw, -INSIDE), INSIDE)
    if own.limit is not None:
        reach = NEAR * (float(own.raw.raw(own.limit.value)) - first)
        if not (raw - first) / reach < 1:
            raw = first + reach
    return raw if np.isfinite(raw) else first


def _constant(engine: Memory, raw: float) -> Numbers:
    """The coefficients that predict this for every row, as nearly as the columns can."""
    theta = np.zeros(engine.columns)
    if engine.intercept:
        theta[0] = raw
    elif engine.columns:
        rows = engine.with_rows(np.full(engine.rows, raw), np.ones(engine.rows))
        gram = rows.moments()
        if np.isfinite(gram).all():
            theta = newton_step(gram[:-1, :-1], -gram[:-1, -1]).x
    return theta
