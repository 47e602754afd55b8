"""What is predicted for a row, as a function of its raw predictions and of what the noise leaves open, with slopes.

It is the mean of y, or the centre of a law that has none; for classes their probabilities. Where it is the location
itself, or a softmax, the derivatives are formulas; elsewhere, as for zero inflation and laws of log y, central
differences of the fourth order in the raw predictions and parameters, on whose scales a step of 0.002 is small.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from neglog.distributions.lazy import special
from neglog.likelihood.joint import Joint
from neglog.typing import Numbers

STEP = 2e-3  # of what is of order one, as logs and log odds are
FAR = 1e3  # raw predictions beyond this are no logs: their steps grow with them
INSIDE = 0.1  # of the way to the end of what a parameter may be


@dataclass(frozen=True)
class Points:
    """`value` (rows, q), q = 1 or the number of classes; `first` (rows, q, r + m) by the r raw predictions and the m
    open parameters; `second` (rows, q, r, r + m).
    """

    value: Numbers
    first: Numbers
    second: Numbers


def predicted(noise: Any, eta: Numbers) -> Numbers:
    """A number for each row, or one for each class, (rows, q)."""
    law = noise.given(eta)
    values = np.asarray(law.p if law.labelled else law.point(), float)
    return values if law.labelled else np.broadcast_to(values, np.shape(eta)[:1])[:, None]


def points(joint: Joint, eta: Numbers, bends: bool = True) -> Points:
    """At the raw predictions of rows, (rows,) or (rows, r), and at the parameters of the fit; second derivatives only
    if they are asked for.
    """
    v, noise = joint.start, joint.noise(joint.start)
    with np.errstate(all="ignore"):
        if noise.of_classes:
            return _of_classes(eta)
        if noise.point_is_location:
            return _of_location(noise, eta, len(v))
        return _by_differences(joint, v, eta, bends)


def _of_location(noise: Any, eta: Numbers, open_ones: int) -> Points:
    wide = eta[:, None] if eta.ndim == 1 else eta
    rows, r = wide.shape
    first, second = np.zeros((rows, 1, r + open_ones)), np.zeros((rows, 1, r, r + open_ones))
    first[:, 0, 0], second[:, 0, 0, 0] = noise.link.slopes(wide[:, 0])
    return Points(np.asarray(noise.link.inverse(wide[:, 0]))[:, None], first, second)


def _of_classes(eta: Numbers) -> Points:
    p = special.softmax(eta, axis=1)
    same = np.eye(p.shape[1])
    away = same - p[:, None, :]  # of the classes (k) in raw predictions (a)
    first = p[:, :, None] * away
    between = p[:, :, None] * (same - p[:, None, :])
    second = p[:, :, None, None] * (away[:, :, :, None] * away[:, :, None, :] - between[:, None])
    return Points(p, first, second)


def _by_differences(joint: Joint, v: Numbers, eta: Numbers, bends: bool) -> Points:
    wide = eta[:, None] if eta.ndim == 1 else eta
    r, m = wide.shape[1], len(v)
    steps: list[Any] = [*_steps(joint, wide), *_parameter_steps(joint, v)]

    def at(*moves: tuple[int, float]) -> Numbers:
        """So many steps away in some of the variables."""
        raw, own = wide, v
        for k, count in moves:
            if k < r:
                raw = raw.copy()
                raw[:, k] += count * steps[k]
            else:
                own = own.copy()
                own[k - r] += count * steps[k]
        return predicted(joint.noise(own), np.ascontiguousarray(raw[:, 0] if eta.ndim == 1 else raw))

    value = at()
    first = np.empty((*value.shape, r + m))
    second = np.zeros((*value.shape, r, r + m))
    for k in range(r + m):
        near, far = (at((k, 1)), at((k, -1))), (at((k, 2)), at((k, -2)))
        step = np.reshape(steps[k], (-1, 1))
        first[..., k] = (8 * (near[0] - near[1]) - (far[0] - far[1])) / (12 * step)
        if bends and k < r:
            second[..., k, k] = (16 * (near[0] + near[1]) - (far[0] + far[1]) - 30 * value) / (12 * step**2)
    for a in range(r if bends else 0):
        for b in range(a + 1, r + m):
            corners = at((a, 1), (b, 1)) - at((a, 1), (b, -1)) - at((a, -1), (b, 1)) + at((a, -1), (b, -1))
            second[..., a, b] = corners / (4 * np.reshape(steps[a], (-1, 1)) * np.reshape(steps[b], (-1, 1)))
            if b < r:
                second[..., b, a] = second[..., a, b]
    return Points(value, first, second)


def _steps(joint: Joint, eta: Numbers) -> list[Numbers]:
    """In each raw prediction, for each row; a share of it where the link does not take every number."""
    noise = joint.noise(joint.start)
    domain = noise.parameter(noise.location).domain
    taken = bool(domain.contains(noise.link.inverse(-1.0)))
    whole = STEP * np.maximum(1.0, np.abs(eta) / FAR)
    whole[:, 0] = whole[:, 0] if taken else STEP * np.abs(eta[:, 0])
    return list(whole.T)


def _parameter_steps(joint: Joint, v: Numbers) -> list[float]:
    ends = [(-np.inf, np.inf) if own.within is None else own.within for own in joint.opened]
    if len(ends) != len(v):  # several numbers of one parameter
        return [STEP] * len(v)
    return [
        float(min(STEP, INSIDE * (value - low), INSIDE * (high - value)))
        for value, (low, high) in zip(v, ends, strict=True)
    ]
