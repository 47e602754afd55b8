"""Several questions of the same rows: one fit for each value of the parameter that asks."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from neglog.distributions.noise import Noise
from neglog.likelihood.row_values import ConvergenceWarning
from neglog.likelihood.task import Task
from neglog.results.fit_of_rows import FitOfRows
from neglog.results.quantile_fit import QuantileFit
from neglog.typing import Numbers

ROUNDING = 1e-12  # of the largest prediction: lines that cross by less meet there


def questions(noise: Any) -> list[Noise] | None:
    """The noises with one value each, if the noise asks about several, in increasing order."""
    name = noise.traits.asks if isinstance(noise, Noise) else None
    values = None if name is None else noise.parameters[name]
    if not isinstance(values, np.ndarray):
        return None
    if values.ndim != 1 or not len(values) or len(np.unique(values)) < len(values):
        raise ValueError(
            f"{type(noise).__name__}: {name} must be one number or a list of different ones, such as [0.1, 0.5, 0.9], "
            f"but is {noise.parameters[name].tolist()}"
        )
    each = {name: value for name, value in noise.parameters.items() if np.shape(value) == values.shape}
    return [noise.with_(**{name: float(own[k]) for name, own in each.items()}) for k in np.argsort(values)]


def fit_several(noises: list[Noise], fit: Callable[[Noise], FitOfRows]) -> QuantileFit:
    """One fit for each noise, and in how many rows they cross."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of all at once, below
        fits = [fit(noise) for noise in noises]
    found = QuantileFit(fits, int(fits[0]._task.total(crossed_rows, [one._answer.theta for one in fits])))
    if not found.converged:
        warnings.warn(found.message, ConvergenceWarning, stacklevel=3)
    return found


def crossed_rows(task: Task, thetas: list[Numbers]) -> int:
    """How many rows have a prediction above that of the next quantile."""
    lines = np.column_stack([task.engine.predict(theta) for theta in thetas])
    falls = lines[:, :-1] - lines[:, 1:] > ROUNDING * np.max(np.abs(lines), initial=0.0)
    return int(np.count_nonzero(falls.any(axis=1)))
