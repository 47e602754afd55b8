"""Which target fits which noise: the one that its family declares in `traits.settled_by`; any other, the joint pass."""

from dataclasses import replace
from typing import Any

import numpy as np

from neglog.design.faults import first_rows
from neglog.distributions.arrays import all_finite
from neglog.distributions.censored import Cells
from neglog.distributions.noise import Noise
from neglog.likelihood.accelerated import Absolutes, Amounts, Binary, Classes, Counts, HuberTarget, LogSquares, Squares
from neglog.likelihood.censored import Censored, refuse_one_sided, refuse_untold
from neglog.likelihood.kinked import KinkedCells
from neglog.likelihood.modelled import Modelled, ModelledCells, check_modelled, refuse_told
from neglog.likelihood.ordered import OrderedClasses
from neglog.likelihood.targets import Target
from neglog.likelihood.task import Task
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
    "ordered classes": OrderedClasses,  # a row has two of the edges, which are found along with the coefficients
}


def merely_open(task: Task) -> Task:
    """The same question about rows in memory, with one value for all rows of each parameter that is modelled."""
    target = make_target(task.target.noise.unmodelled(), task.target.raw, task.target.w, task.target.p, whole=False)
    engine = task.engine.under(target.loss, target.y, target.weight)
    return replace(task, target=target, engine=engine, penalty=task.penalty.subset(slice(0, engine.width)), whole=None)


def make_target(noise: Any, y: Any, w: Numbers | None, p: Numbers | None, *, whole: bool = True) -> Target:
    """The target of a noise; what can be told from all rows only is not asked of a part of them."""
    if not isinstance(noise, Noise):
        raise TypeError(f"noise must be a noise such as nl.Gaussian() or nl.Poisson(), but is {noise!r}")
    check_modelled(noise)
    refuse_told(noise)
    if isinstance(y, Cells):
        if whole:
            refuse_one_sided(y if w is None else y[w > 0])
            refuse_untold(noise, y)
        if whole and not noise.smooth and y.exact.all():  # which have a solver of their own
            return make_target(noise, y.lower, w, p)
        of_cells = ModelledCells if noise.modelled else Censored if noise.smooth else KinkedCells
        return of_cells(_single(noise), y, w, p)  # type: ignore[arg-type]
    if not noise.labelled and not all_finite(y):
        bad = np.flatnonzero(~np.isfinite(y))
        raise ValueError(f"y must be finite, but {first_rows(bad, len(y))} {y[bad[0]]}")
    target = (Modelled if noise.modelled else ACCELERATORS[_single(noise).traits.settled_by])(_single(noise), y, w, p)
    objection = None
    if whole and noise.in_doubt:
        objection = noise.cannot_tell(len(y), int(np.count_nonzero(y == 0))) or noise.piled(y)
    if objection is not None:
        raise ValueError(objection)
    return target


def _single(noise: Noise) -> Noise:
    """The noise, unless a parameter beside its location has several values."""
    for name, value in noise.parameters.items():
        if isinstance(value, np.ndarray) and name != noise.location and value.ndim > noise.parameter(name).several:
            remedy = (
                "nl.fit takes several" if name == noise.traits.asks else "rows of different dispersion take precision="
            )
            raise ValueError(
                f"{type(noise).__name__}: {name} must be one number in a fit, not an array of shape {np.shape(value)}; "
                f"{remedy}"
            )
    return noise
