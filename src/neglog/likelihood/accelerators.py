"""Which target fits which noise: the one that its family declares in `traits.settled_by`; any other, the joint pass."""

from typing import Any

import numpy as np

from neglog.design.faults import first_rows
from neglog.distributions.arrays import all_finite
from neglog.distributions.noise import Noise
from neglog.distributions.parameters import MODEL
from neglog.likelihood.accelerated import Absolutes, Amounts, Binary, Classes, Counts, HuberTarget, LogSquares, Squares
from neglog.likelihood.targets import Target
from neglog.likelihood.tweedie import Compound
from neglog.typing import Numbers

ACCELERATORS: dict[str | None, type[Target]] = {
    None: Target,  # coefficients and all that is open at once, by Newton's method
    "squares": Squares,  # normal equations; the scale in closed form
    "squares of logs": LogSquares,
    "absolute": Absolutes,  # the exact absolute loss with its certificate
    "huber": HuberTarget,  # convex in the coefficients over the scale and 1 / scale
    "counts": Counts,
    "binary": Binary,
    "gamma": Amounts,  # the shape by one equation in the sum of the loss
    "tweedie": Compound,  # dispersion and power by sums that few numbers give for all rows
    "classes": Classes,
}


def make_target(noise: Any, y: Any, w: Numbers | None, p: Numbers | None, *, whole: bool = True) -> Target:
    """The target of a noise; what can be told from all rows only is not asked of a part of them."""
    if not isinstance(noise, Noise):
        raise TypeError(f"noise must be a noise such as nl.Gaussian() or nl.Poisson(), but is {noise!r}")
    if noise.modelled:
        raise ValueError(
            f"{noise!r}: {noise.modelled}={MODEL!r} asks for a prediction of the {noise.modelled} for each row, which "
            "neglog.lightgbm.train and neglog.xgboost.train give; a fit takes a number, or None to estimate one"
        )
    if not noise.of_classes and not all_finite(y):
        bad = np.flatnonzero(~np.isfinite(y))
        raise ValueError(f"y must be finite, but {first_rows(bad, len(y))} {y[bad[0]]}")
    for name, value in noise.parameters.items():
        if isinstance(value, np.ndarray) and name != noise.location:
            raise ValueError(
                f"{type(noise).__name__}: {name} must be one number in a fit, not an array of shape {np.shape(value)}; "
                f"rows of different dispersion take precision="
            )
    target = ACCELERATORS[noise.traits.settled_by](noise, y, w, p)
    objection = noise.cannot_tell(len(y), int(np.count_nonzero(y == 0))) if whole and noise.unknown else None
    if objection is not None:
        raise ValueError(objection)
    return target
