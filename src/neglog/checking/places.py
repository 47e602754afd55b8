"""Where y falls in its law, as the quantile of a standard normal: Φ⁻¹(F(y)).

Both tails are kept, each as its logarithm, so that y may lie 40 standard deviations out on either side. A law that has
mass at y, or a cell, has an interval there; the place is a random one in it (Dunn and Smyth 1996, J. Comput. Graph.
Stat. 5, 236-244).
"""

from typing import Any

import numpy as np

from neglog import _core
from neglog.distributions.censored import Cells
from neglog.distributions.lazy import special
from neglog.distributions.noise import Noise
from neglog.typing import Numbers

LEAST = 1e-290  # a tail below this has lost digits, or is 0: its logarithm comes from elsewhere


@np.errstate(all="ignore")
def normal_places(law: Any, y: Any, shares: Numbers) -> Numbers:
    """Of each y, or cell, under the laws of the rows; `shares` between 0 and 1 say where in an interval."""
    lower, upper = (y.lower, y.upper) if isinstance(y, Cells) else (y, y)
    below, above = _log_below(law, lower), _log_above(law, upper)
    held = _log_mass(law, lower)
    below = below + np.log1p(-np.exp(np.minimum(held - below, 0.0)))  # without y itself
    inside = np.where(lower == upper, held, -np.asarray(law.nll(y), float)) if isinstance(y, Cells) else held
    left = np.logaddexp(np.where(np.isnan(below), -np.inf, below), np.log(shares) + inside)
    right = np.logaddexp(above, np.log1p(-shares) + inside)
    left, right = np.minimum(left, 0.0), np.minimum(right, 0.0)
    return np.asarray(np.where(left < right, special.ndtri_exp(left), -special.ndtri_exp(right)))


def has_intervals(law: Any, y: Any) -> bool:
    """Whether places in them are to be drawn."""
    return isinstance(y, Cells) or law.measure != "density"


def _log_mass(law: Any, y: Numbers) -> Numbers:
    """Of the mass at y, -inf where there is none."""
    if law.measure == "density":
        return np.full(len(y), -np.inf)
    nats = -np.asarray(law.nll(y), float)
    return nats if law.measure == "mass" else np.where(y == law.bounds[0], nats, -np.inf)


def _log_below(law: Any, y: Numbers) -> Numbers:
    """log P(Y <= y)."""
    found = np.log(np.asarray(law.cdf(y), float))
    lost = np.flatnonzero((found < np.log(LEAST)) & (y > law.bounds[0]))
    if len(lost):
        found[lost] = np.fmax(found[lost], _of_cells(law, lost, np.full(len(lost), -np.inf), y[lost]))
    return np.asarray(np.fmax(found, _log_mass(law, y)))


def _log_above(law: Any, y: Numbers) -> Numbers:
    """log P(Y > y)."""
    found = np.log(np.asarray(law.sf(y), float))
    lost = np.flatnonzero((found < np.log(LEAST)) & (y < law.bounds[1]))
    if len(lost):
        whole, here = _of_cells(law, lost, y[lost], np.full(len(lost), np.inf)), _log_mass(law, y)[lost]
        found[lost] = np.fmax(found[lost], whole + np.log1p(-np.exp(np.minimum(here - whole, 0.0))))
    return np.asarray(found)


def _of_cells(law: Any, rows: Numbers, lower: Numbers, upper: Numbers) -> Numbers:
    """log P(lower <= Y <= upper) of some rows, where the core has cells of the law; else nothing is known."""
    if not (isinstance(law, Noise) and _core.links(f"cells({law._kernel()})")):
        return np.full(len(rows), -np.inf)
    return -np.asarray(law.of_rows(rows).nll(Cells(lower, upper)), float)
