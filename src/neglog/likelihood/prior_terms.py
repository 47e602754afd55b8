"""A prior as a solver needs it: terms per coefficient."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from neglog.design.design import Design
from neglog.distributions import Flat, Gaussian, Laplace
from neglog.distributions.base import Prior
from neglog.distributions.product import Product
from neglog.engines.memory import Memory
from neglog.solvers.penalty import Penalty
from neglog.typing import Numbers

LEAST = 1e-153  # scale of a Gaussian prior, whose square is used


def make_penalty(prior: Prior, engine: Memory) -> Penalty:
    """The prior's terms per coefficient, none for the intercept."""
    nothing = np.zeros(engine.width)
    bend = centre = strength = kink = nothing
    for factor in prior.factors if isinstance(prior, Product) else (prior,):
        if isinstance(factor, Flat):
            continue
        if not isinstance(factor, Gaussian | Laplace):
            raise TypeError(
                f"prior must be Flat(), Gaussian(scale=...), Laplace(scale=...) or a product of them, but is {prior!r}"
            )
        if factor.modelled:
            raise ValueError(f"prior {factor!r}: the scale of a prior is a number, or None to learn it")
        scale = _per_column(factor, "scale", engine.design)
        if scale is None:  # it will be learned
            continue
        loc = _per_column(factor, "loc", engine.design)
        if loc is None:
            raise ValueError(f"{type(factor).__name__} prior: loc must be stated; only a scale can be learned")
        centred = isinstance(loc, float) and loc == 0
        middle = nothing if centred else engine.native(np.where(np.isfinite(scale), loc, 0.0))
        if isinstance(factor, Gaussian) and np.min(scale) < LEAST:
            raise ValueError(
                f"Gaussian prior: the scale {np.min(scale):.3g} is below {LEAST:g}, and its square is "
                "beyond the range of numbers; state y or the columns in another unit"
            )
        if isinstance(factor, Gaussian):
            bend, centre = engine.native(1 / (scale * scale)), middle
        else:
            strength, kink = engine.native(1 / scale), middle
    return Penalty(bend, centre, strength, kink)


def penalty_of_each(priors: Sequence[Prior], engine: Memory) -> Penalty:
    """The same of several priors, one for each row of coefficients."""
    parts, columns = [make_penalty(prior, engine) for prior in priors], engine.columns
    places = np.repeat(np.arange(len(parts)), columns)

    def chosen(name: str) -> Numbers:
        return np.choose(places, [getattr(part, name) for part in parts])

    return Penalty(chosen("bend"), chosen("centre"), chosen("strength"), chosen("kink"))


def _per_column(prior: Any, name: str, design: Design) -> Any:
    value = getattr(prior, name)
    if isinstance(value, np.ndarray) and value.shape != (design.columns,):
        raise ValueError(
            f"{type(prior).__name__} prior: {name} must be one number or one per coefficient, {design.columns} of them "
            f"({', '.join(design.names[:3])}, …), but has the shape {np.shape(value)}"
        )
    return value
