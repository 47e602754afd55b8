"""Entropy: the expected -log p of one draw."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from neglog import _core
from neglog.distributions.base import Distribution, in_base
from neglog.information.probabilities import Rows, over_rows


def entropy(p: ArrayLike | Distribution, *, base: float | None = None, axis: int = -1, normalize: bool = False) -> Any:
    """H(P) = -sum p log p of probabilities along `axis`, or of a distribution, in nats (or units of log base).

    0 log 0 counts as 0. For a density this is the differential entropy, which may be negative.

    >>> float(entropy([0.5, 0.25, 0.25], base=2))
    1.5
    """
    if isinstance(p, Distribution):
        return p.entropy(base)
    rows = Rows(p, "p", axis, normalize)
    return in_base(over_rows(_core.entropy, rows.values, rows.values), base).astype(rows.dtype, copy=False)[()]


def mutual_information(joint: ArrayLike, *, base: float | None = None, normalize: bool = False) -> Any:
    """I(X; Y) of a joint table of probabilities, the last two axes: the divergence of the joint law from independence.

    >>> float(mutual_information([[0.25, 0.25], [0.25, 0.25]]))
    0.0
    """
    table = np.asarray(joint)
    if table.ndim < 2:
        raise ValueError(f"joint must be a table with at least two axes, but has the shape {table.shape}")
    flat = Rows(table.reshape(*table.shape[:-2], -1), "joint", -1, normalize)
    cells = flat.values.reshape(table.shape)
    independent = cells.sum(axis=-1, keepdims=True) * cells.sum(axis=-2, keepdims=True)
    nats = over_rows(_core.divergence, flat.values, np.ascontiguousarray(independent.reshape(flat.values.shape)))
    return in_base(nats, base).astype(flat.dtype, copy=False)[()]
