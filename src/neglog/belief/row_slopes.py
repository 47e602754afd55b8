"""How each row pulls at a fit: its gradient and second derivatives in its raw predictions and in the open parameters
of the noise.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from neglog.distributions.lazy import special
from neglog.likelihood.accelerated import Classes
from neglog.likelihood.joint import Joint, by_pairs
from neglog.likelihood.modelled import Modelled
from neglog.likelihood.targets import Target
from neglog.typing import Numbers


@dataclass(frozen=True)
class RowSlopes:
    """Gradient and second derivatives of each row in (eta, v), and its nll there as a function of the two."""

    eta: Numbers  # (rows, r), r = 1, the number of classes, or one more than what is modelled
    gradient: Numbers  # (rows, r + m)
    curvature: Numbers  # (rows, r + m, r + m)
    nll: Any  # of (eta, v), both with a row per row
    bend: Any  # the curvature in eta there, or None for classes


def row_slopes(joint: Joint, target: Target) -> RowSlopes:
    """Of all rows at the fit, in one pass; the gradients are of one copy of each row, whatever its weight."""
    return _of_classes(joint, target) if isinstance(target, Classes) else _of_values(joint, target)


def _of_values(joint: Joint, target: Target) -> RowSlopes:
    eta, m = joint.eta(joint.answer.theta), len(joint.names)
    several = eta.ndim > 1
    if m or several:
        first, second = _jointly(joint, target, eta)
    else:
        gradient, hessian = target.row_slopes(target.noise, eta)
        first, second = gradient[:, None], hessian[:, None, None]

    def nll(at: Numbers, values: Numbers) -> Numbers:
        noise = joint.noise(values) if m else target.noise
        return target.rows_nll(noise, at if several else at[:, 0], target.p, target.raw)

    def bend(at: Numbers) -> Numbers:
        return target.row_slopes(target.noise, at if several else at[:, 0])[1]

    return RowSlopes(eta if several else eta[:, None], first, second, nll, bend)


def _jointly(joint: Joint, target: Target, eta: Numbers) -> tuple[Numbers, Numbers]:
    """Slopes and second derivatives of each row in (eta, v)."""
    noise, modelled = target.noise, target.noise.modelled
    if isinstance(target, Modelled):
        slopes, pairs = target.derivatives(noise, eta)
    else:
        _, slopes, pairs = noise.with_precision(target.p).joint(target.raw, eta, curvature=True)
    places = [own.name for own in noise.beside_location()]
    found = [*(places.index(name) for name in modelled), *joint.task.target.places()]
    chosen = [0, *(1 + place for place in found)]
    first = np.stack([slopes[k] for k in chosen], axis=-1)
    return first, by_pairs(pairs, chosen)


def _of_classes(joint: Joint, target: Target) -> RowSlopes:
    eta = joint.eta(joint.answer.theta)
    p = special.softmax(eta, axis=1)
    hits = target.y.astype(int)[:, None] == np.arange(eta.shape[1])
    second = p[:, :, None] * (np.eye(eta.shape[1]) - p[:, None, :])
    return RowSlopes(eta, p - hits, second, lambda at, _: target.rows_nll(target.noise, at, None, target.y), None)
