"""`nl.fit`: the most probable coefficients under a noise and a prior."""

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from neglog.design import read, split
from neglog.design.design import Design
from neglog.distributions import Flat, Gaussian, Laplace
from neglog.distributions.base import Noise, Prior
from neglog.distributions.categorical import Categorical
from neglog.distributions.product import Product
from neglog.engines.memory import Memory
from neglog.inference.answer import Task
from neglog.inference.diagnosis import diagnose
from neglog.inference.result import Fit
from neglog.inference.rows import ConvergenceWarning, checked, combined_offset
from neglog.inference.solve import solve
from neglog.inference.targets import make_target
from neglog.solvers.penalty import Penalty


def fit(
    X: Any,
    y: ArrayLike | str,
    noise: Noise = Gaussian(),  # noqa: B008
    prior: Prior = Flat(),  # noqa: B008
    *,
    sample_weight: ArrayLike | str | None = None,
    precision: ArrayLike | str | None = None,
    offset: ArrayLike | str | None = None,
    exposure: ArrayLike | str | None = None,
    intercept: bool = True,
    tol: float = 1e-6,
    max_iter: int = 100,
) -> Fit:
    """Fit."""
    labels = ("y",) if isinstance(noise, Categorical) else ()
    given = {"y": y, "sample_weight": sample_weight, "precision": precision, "offset": offset, "exposure": exposure}
    X, values = split(X, given, labels=labels)
    design = read(X, reference=isinstance(prior, Flat))
    weight = checked(values["sample_weight"], "sample_weight", zero=True)
    target = make_target(noise, values["y"], weight, checked(values["precision"], "precision"))
    shift = combined_offset(noise, values["offset"], values["exposure"])
    engine = Memory(design, target.y, target.weight, shift, target.loss, intercept=intercept)
    task = Task(target, engine, make_penalty(prior, engine), tol, max_iter)
    with np.errstate(all="ignore"):  # a step too far may overflow; the line search sees it
        answer = solve(task)
    if not np.isfinite(answer.theta).all() or not np.isfinite(answer.decrement):
        design.check_finite()
    diagnose(task, answer)
    result = Fit(task, answer, prior)
    if not result.converged:
        warnings.warn(result.message, ConvergenceWarning, stacklevel=2)
    return result


def make_penalty(prior: Prior, engine: Memory) -> Penalty:
    """The prior's terms per coefficient, none for the intercept."""
    factors = prior.factors if isinstance(prior, Product) else (prior,)
    bend = centre = strength = kink = 0.0
    for factor in factors:
        if isinstance(factor, Gaussian):
            scale, loc = _per_column(factor, "scale", engine.design), _per_column(factor, "loc", engine.design)
            bend, centre = 1 / np.square(scale), np.where(np.isinf(scale), 0.0, loc)
        elif isinstance(factor, Laplace):
            scale, loc = _per_column(factor, "scale", engine.design), _per_column(factor, "loc", engine.design)
            strength, kink = 1 / scale, np.where(np.isinf(scale), 0.0, loc)
        elif not isinstance(factor, Flat):
            raise TypeError(
                f"prior must be Flat(), Gaussian(scale=...), Laplace(scale=...) or a product of them, but is {prior!r}"
            )
    return Penalty(*(engine.native(value) for value in (bend, centre, strength, kink)))


def _per_column(prior: Any, name: str, design: Design) -> Any:
    value = prior._known(name)
    if np.ndim(value) and np.shape(value) != (design.columns,):
        raise ValueError(
            f"{type(prior).__name__} prior: {name} must be one number or one per coefficient, {design.columns} of them "
            f"({', '.join(design.names[:3])}, …), but has the shape {np.shape(value)}"
        )
    return np.asarray(value, float)
