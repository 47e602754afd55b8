"""KL divergence: the extra nats paid for believing Q when P is true."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from neglog import _core
from neglog.distributions.base import Distribution, in_base
from neglog.information.probabilities import over_rows, pair


def kl_divergence(
    p: ArrayLike | Distribution,
    q: ArrayLike | Distribution,
    *,
    base: float | None = None,
    axis: int = -1,
    normalize: bool = False,
) -> Any:
    """D(P || Q) = sum p log(p / q) >= 0, zero only for P = Q; +inf where q = 0 < p.

    For two distributions a closed form where there is one, else quadrature or summation with a relative error below
    1e-8.

    >>> round(float(kl_divergence([0.5, 0.5], [0.75, 0.25], base=2)), 4)
    0.2075
    """
    if isinstance(p, Distribution) or isinstance(q, Distribution):
        from neglog.information.pairs import divergence  # only distributions need the closed forms

        return in_base(divergence(p, q), base)
    first, second, dtype = pair(p, q, axis, normalize)
    nats = np.maximum(over_rows(_core.divergence, first, second), 0.0)
    return in_base(nats, base).astype(dtype, copy=False)[()]


def jensen_shannon(
    p: ArrayLike, q: ArrayLike, *, base: float | None = None, axis: int = -1, normalize: bool = False
) -> Any:
    """The mean divergence of P and Q from their mixture: symmetric, finite, at most log 2.

    >>> float(jensen_shannon([1.0, 0.0], [0.0, 1.0], base=2))
    1.0
    """
    first, second, dtype = pair(p, q, axis, normalize)
    middle = (first + second) / 2
    nats = (over_rows(_core.divergence, first, middle) + over_rows(_core.divergence, second, middle)) / 2
    return in_base(nats, base).astype(dtype, copy=False)[()]
