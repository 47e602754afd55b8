"""Targets of rows that are not in memory: a few numbers, or a few hundred nodes, that stand for all of them.

What the dispersion of a noise asks about y and the precisions are sums of functions that are smooth in their
logarithms. Such a sum over all rows is one over nodes, the same for every dispersion and power; so a target of nodes
gives the same answers as one of rows.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from neglog.engines.sources import added
from neglog.likelihood.accelerated import Amounts
from neglog.likelihood.censored import Censored
from neglog.likelihood.chebyshev import FROM_SUMS, NODES, in_panels, node_values, polynomials
from neglog.likelihood.targets import Target
from neglog.typing import Numbers

SHIFT = 1 << 20  # between the panels of y and those of the precision, in one number


@dataclass
class Extremes:
    """Least and largest value."""

    least: float
    largest: float

    def __add__(self, other: "Extremes") -> "Extremes":
        return Extremes(min(self.least, other.least), max(self.largest, other.largest))


@dataclass
class TargetSums:
    """What is summed over the rows of a target."""

    rows: int
    weight: float  # sum of w
    precise: float  # sum of w p
    moment: float  # sum of w p y
    plain: float  # sum of y as given
    zeros: int
    extremes: Extremes
    zero_weight: float = 0.0
    zero_precise: float = 0.0
    broken: int = 0  # amounts that are not whole numbers
    classes: dict[Any, int] = field(default_factory=dict)
    nodes: dict[int, Numbers] = field(default_factory=dict)

    def __add__(self, other: "TargetSums") -> "TargetSums":
        return TargetSums(*(added(getattr(self, name), getattr(other, name)) for name in self.__dataclass_fields__))


def sums_of(target: Target) -> TargetSums:
    """Of a target whose rows are in memory."""
    y = np.asarray(target.points if isinstance(target, Censored) else target.y, np.float64)
    w, p, zero = target.w, target.p, target.zeros
    counted = p if w is None else w if p is None else w * p
    classes = {}
    if target.noise.labelled:
        labels = target.classes  # type: ignore[attr-defined]
        counts = np.bincount(y.astype(int), minlength=len(labels))
        classes = dict(zip(labels.tolist(), counts.tolist(), strict=True))
    sums = TargetSums(
        rows=len(y),
        weight=_total(w, len(y)),
        precise=_total(counted, len(y)),
        moment=float(np.sum(y if counted is None else counted * y)),
        plain=float(np.sum(target.points, dtype=np.float64)),
        zeros=int(np.count_nonzero(zero)),
        extremes=Extremes(float(np.min(target.points)), float(np.max(target.points))),
        classes=classes,
    )
    if isinstance(target, Amounts) and target.locations[0] == 0:
        none, some = int(np.count_nonzero(zero)), ~zero
        sums.broken = int(np.count_nonzero(y != np.floor(y)))
        sums.zero_weight, sums.zero_precise = (_total(None if v is None else v[zero], none) for v in (w, counted))
        each = np.ones(len(y) - none) if w is None else w[some]
        sums.nodes = _node_sums(y[some], each, None if p is None else p[some])
    return sums


def _total(values: Numbers | None, count: int) -> float:
    """The sum, of ones where there are none."""
    return float(count if values is None else np.sum(values))


def condensed(target: Target, sums: TargetSums) -> Target:
    """A target of the same noise whose rows are the nodes."""
    precise = target.p is not None
    if not isinstance(target, Amounts) or target.locations[0] < 0:
        mean = sums.moment / sums.precise if sums.precise else 0.0
        return _of(target, np.array([mean]), np.array([sums.weight]), None)
    parts = []
    if sums.zero_weight:
        parts.append([np.zeros(1), np.array([sums.zero_weight]), np.array([sums.zero_precise / sums.zero_weight])])
    for panel, moments in sorted(sums.nodes.items()):
        first, second = divmod(panel, SHIFT)
        own = node_values(first)
        if precise:
            weights = FROM_SUMS @ moments @ FROM_SUMS.T
            precisions = node_values(second - SHIFT // 2)
            parts.append([np.repeat(own, NODES), weights.reshape(-1), np.tile(precisions, NODES)])
        else:
            parts.append([own, FROM_SUMS @ moments, np.ones(NODES)])
    y, w, p = (np.concatenate(values) for values in zip(*parts, strict=True))
    return _of(target, y, w, p if precise else None)


def _of(target: Target, y: Numbers, w: Numbers, p: Numbers | None) -> Target:
    """These values as they are, also where y is a transform of what was given."""
    other: Target = target.of_rows(y, w, p)
    other.y = y
    return other


def _node_sums(y: Numbers, w: Numbers, p: Numbers | None) -> dict[int, Numbers]:
    """By panel, the sums of w T_k(y), or of w T_k(y) T_l(p), over the rows in it; T are Chebyshev's polynomials."""
    if not len(y):
        return {}
    panel, u = in_panels(y)
    key = panel * SHIFT
    second = None
    if p is not None:
        other, v = in_panels(p)
        key = key + other + SHIFT // 2
        second = list(polynomials(v))
    keys, places = np.unique(key, return_inverse=True)
    count = len(keys)
    if second is None:
        sums = np.stack([np.bincount(places, w * one, count) for one in polynomials(u)])
    else:
        sums = np.stack([[np.bincount(places, w * one * two, count) for two in second] for one in polynomials(u)])
    return {int(key): np.ascontiguousarray(sums[..., k]) for k, key in enumerate(keys)}
