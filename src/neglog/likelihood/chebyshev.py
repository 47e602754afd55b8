"""Few Chebyshev nodes that stand for many rows.

A sum of w f(y) over rows, where f is smooth in log y, is one over the nodes of panels of log y, whatever f is. The
weights of the nodes come from the sums of w T_k(y) over the rows of each panel, where T_k are Chebyshev's polynomials;
and these sums may be added up piece by piece.
"""

from collections.abc import Iterator

import numpy as np

from neglog.typing import Numbers

NODES = 12  # of a panel
PANEL = 0.5  # of a logarithm
_ANGLES = np.pi * (np.arange(NODES) + 0.5) / NODES
FROM_SUMS = 2 / NODES * np.cos(np.arange(NODES)[:, None] * _ANGLES).T  # weights of the nodes from sums of polynomials
FROM_SUMS[:, 0] *= 0.5


def in_panels(values: Numbers) -> tuple[Numbers, Numbers]:
    """The panel of each value, and its place there, from -1 to 1."""
    place = np.log(values) / PANEL
    panel = np.floor(place).astype(np.int64)
    return panel, 2 * (place - panel) - 1


def polynomials(u: Numbers) -> Iterator[Numbers]:
    """Chebyshev's polynomials of the degrees below NODES."""
    before, now = np.ones_like(u), u
    yield before
    for _ in range(NODES - 1):
        yield now
        before, now = now, 2 * u * now - before


def node_values(panel: Numbers | int) -> Numbers:
    """The values at the nodes of each panel, in rows."""
    return np.exp(PANEL * (np.asarray(panel)[..., None] + 0.5 * (np.cos(_ANGLES) + 1)))


def panel_sums(y: Numbers, *weights: Numbers) -> tuple[dict[int, Numbers], ...]:
    """By panel, the sums of w T_k(y) over the rows in it, for each of some weights; they may be added up piece by
    piece.
    """
    if not len(y):
        return tuple({} for _ in weights)
    panel, u = in_panels(y)
    first = int(panel.min())
    panel -= first
    order = np.argsort(panel.astype(np.int16), kind="stable")  # few panels: short numbers are sorted in one go
    panels, starts = np.unique(panel[order], return_index=True)
    u, sorted_weights = u[order], [w[order] for w in weights]
    sums: list[list[Numbers]] = [[] for _ in weights]
    for polynomial in polynomials(u):
        for w, own in zip(sorted_weights, sums, strict=True):
            own.append(np.add.reduceat(w * polynomial, starts))
    return tuple(dict(zip((first + panels).tolist(), np.stack(own, axis=-1), strict=True)) for own in sums)


def collected(y: Numbers, w: Numbers) -> tuple[Numbers, Numbers]:
    """Nodes and their weights, for the sums over these rows."""
    panel, u = in_panels(y)
    first = panel.min()
    panel -= first
    sums = np.stack([np.bincount(panel, w * polynomial) for polynomial in polynomials(u)])
    used = sums.any(axis=0)
    return node_values(first + np.flatnonzero(used)).reshape(-1), (FROM_SUMS @ sums[:, used]).T.reshape(-1)
