"""The Fisher information about what trees predict beside the location: what gradients in it are measured by."""

from itertools import product
from typing import Any

import numpy as np

from neglog.boosting.laws import slopes_beside
from neglog.distributions.noise import Noise
from neglog.typing import Numbers

DRAWS = 800_000  # of a table: an error of a few percent, in what only sets the length of a step
NODES = 7  # along each axis, if these are one or two; fewer along more
MARGIN = 1.0  # beyond what was seen, so that not every round needs a new table


class Information:
    """E[(d nll / d raw)^2] under the law itself, of each modelled parameter on the scale it is predicted on.

    By the family's formula where it has one. Else it is a function of the raw predictions, tabulated from draws over
    the range that they have.
    """

    def __init__(self, noise: Noise) -> None:
        self.noise = noise
        # What moves and stretches the law changes no such information, where nothing but they say where y lies.
        kept = noise.locations == (-np.inf, np.inf)
        self._axes = [k for k, name in enumerate(("", *noise.modelled)) if not (kept and name in ("", noise.spread))]
        self._ends: Numbers | None = None  # of the table, by axis
        self._bent_by: Any = None  # the open parameters that it was made with

    def __call__(self, noise: Any, law: Any, raw: Numbers) -> list[Any]:
        """For each modelled parameter a number, or one per row: of the law that `noise` gives at these predictions."""
        known = law.log_spread_information() if self.noise.spread in self.noise.modelled else None
        if self.noise.modelled == (self.noise.spread,) and known is not None:
            return [known]
        tabulated = self._tabulated(noise, raw)
        spread = self.noise.modelled.index(self.noise.spread) if known is not None else None
        return [known if k == spread else values for k, values in enumerate(tabulated)]

    def _tabulated(self, noise: Any, raw: Numbers) -> Numbers:
        at = raw[:, self._axes].T
        low, high = at.min(axis=1, initial=np.inf), at.max(axis=1, initial=-np.inf)
        outside = self._ends is None or np.any(low < self._ends[0]) or np.any(high > self._ends[1])
        if outside or noise.parameters != self._bent_by:
            self._tabulate(noise, low - MARGIN, high + MARGIN, raw[0])
        return self._interpolated(at)

    def _tabulate(self, noise: Any, low: Numbers, high: Numbers, anywhere: Numbers) -> None:
        """Between these ends of the axes; what makes no difference is as it is in one row."""
        self._ends, self._bent_by = np.stack([low, high]), noise.parameters
        nodes = max(NODES if len(low) < 3 else NODES - len(low), 3)
        draws = max(DRAWS // nodes ** len(low), 1000)
        grid = np.meshgrid(*np.linspace(low, high, nodes).T, indexing="ij")
        raw = np.empty((*(nodes,) * len(low), 1, len(anywhere)))
        raw[...] = anywhere
        for axis, values in zip(self._axes, grid, strict=True):
            raw[..., 0, axis] = values
        law = noise.given(raw)
        y = law.sample((*raw.shape[:-2], draws), rng=0)
        with np.errstate(all="ignore"):
            slopes = slopes_beside(noise, law, y, raw)
            squares = [np.nanmean(np.square(slopes[name]), axis=-1) for name in noise.modelled]
            self._logs = [np.log(np.maximum(square, 1e-30)) for square in squares]

    def _interpolated(self, at: Numbers) -> Numbers:
        """Linear between the nodes, of logarithms."""
        assert self._ends is not None
        nodes = max(self._logs[0].shape, default=1)
        low, high = self._ends[:, :, None]
        place = (at - low) / (high - low) * (nodes - 1)
        cell = np.clip(place.astype(int), 0, nodes - 2)
        share = place - cell
        out = np.zeros((len(self._logs), at.shape[1]))
        for corner in product((0, 1), repeat=len(at)):
            side = np.array(corner, int)[:, None]
            weight = np.prod(np.where(side, share, 1 - share), axis=0)
            for k, logs in enumerate(self._logs):
                out[k] += weight * logs[tuple(cell + side)]
        return np.exp(out)
