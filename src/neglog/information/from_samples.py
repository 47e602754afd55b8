"""Entropy and divergence from samples alone, by distances to nearest neighbours, in any dimension.

`neglog.from_samples.entropy(x)` and `neglog.from_samples.kl_divergence(x, y)`.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from neglog.distributions.arrays import as_numbers
from neglog.distributions.base import Generator, in_base
from neglog.distributions.lazy import special


@dataclass(frozen=True)
class Estimate:
    """A number with its standard error; usable as a float."""

    value: float
    standard_error: float
    samples: int
    neighbours: int

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        return f"{self.value:.6g} ± {self.standard_error:.2g}"


def entropy(
    x: ArrayLike, *, k: int = 3, base: float | None = None, jitter: float | None = None, rng: Generator = None
) -> Estimate:
    """The differential entropy of the law behind the rows of x (Kozachenko & Leonenko 1987, with k neighbours).

    The standard error is that of a mean of n local terms; the bias falls like n^(-2/d) and is not in it.
    """
    points = _points(x, "x", k, jitter, rng)
    n, d = points.shape
    log_distance = np.log(_kth_distance(points, points, k, skip_self=True, name="x"))
    terms = d * log_distance + _log_ball(d) + special.digamma(n) - special.digamma(k)
    return _estimate(terms, base, n, k)


def kl_divergence(
    x: ArrayLike,
    y: ArrayLike,
    *,
    k: int = 3,
    base: float | None = None,
    jitter: float | None = None,
    rng: Generator = None,
) -> Estimate:
    """D(P || Q) from rows x of P and rows y of Q (Wang, Kulkarni & Verdu 2009, with k neighbours).

    The standard error is that of a mean of local terms. The estimate may be negative when P and Q are close.
    """
    generator = np.random.default_rng(rng)
    first, second = _points(x, "x", k, jitter, generator), _points(y, "y", k, jitter, generator)
    if first.shape[1] != second.shape[1]:
        raise ValueError(f"x and y must have the same columns, but have {first.shape[1]} and {second.shape[1]}")
    (n, d), m = first.shape, len(second)
    within = np.log(_kth_distance(first, first, k, skip_self=True, name="x"))
    across = np.log(_kth_distance(second, first, k, skip_self=False, name="y at points of x"))
    return _estimate(d * (across - within) + np.log(m / (n - 1)), base, n, k)


def _points(x: ArrayLike, name: str, k: int, jitter: float | None, rng: Generator) -> Any:
    if k != int(k) or k < 1:
        raise ValueError(f"k must be a number of neighbours, 1 or more, but is {k}")
    points = np.array(as_numbers(x, name), np.float64)
    if points.ndim == 1:
        points = points[:, None]
    if points.ndim != 2 or len(points) <= k:
        raise ValueError(f"{name} must be rows of numbers, more than k = {k} of them, but has the shape {np.shape(x)}")
    bad = np.flatnonzero(~np.isfinite(points).all(axis=1))
    if len(bad):
        raise ValueError(
            f"{name} must be finite, but {len(bad)} of {len(points)} rows are not; the first is row {bad[0]}"
        )
    if jitter is not None:
        points += np.random.default_rng(rng).uniform(-jitter / 2, jitter / 2, points.shape)
    return points


def _kth_distance(points: Any, queries: Any, k: int, *, skip_self: bool, name: str) -> Any:
    from scipy.spatial import cKDTree

    nearest = 2 if skip_self else 1
    distances = cKDTree(points).query(queries, k=[nearest, nearest + k - 1])[0]
    tied = np.flatnonzero(distances[:, 0] == 0)
    if len(tied):
        raise ValueError(
            f"{name}: {len(tied)} of {len(queries)} rows coincide with another (the first is row {tied[0]}), "
            f"so the data are not from a density; pass jitter=the step to which they were rounded"
        )
    return distances[:, 1]


def _log_ball(d: int) -> float:
    """log volume of the unit ball in d dimensions."""
    return float(0.5 * d * np.log(np.pi) - special.gammaln(0.5 * d + 1))


def _estimate(terms: Any, base: float | None, n: int, k: int) -> Estimate:
    value, error = terms.mean(), terms.std(ddof=1) / np.sqrt(n)
    return Estimate(float(in_base(value, base)), float(in_base(error, base)), n, k)
