"""The Fisher information about the logarithm of a noise's spread: what the gradient in it is measured by."""

from typing import Any

import numpy as np

from neglog.distributions.noise import Noise
from neglog.typing import Numbers

DRAWS = 16_000  # per node: an error of a few percent, in what only sets the length of a step
NODES = 7  # along the location and along the log of the spread
MARGIN = 1.0  # beyond what was seen, so that not every round needs a new table


class SpreadInformation:
    """E[(d nll / d log spread)^2] under the law itself; a number, or one per row.

    By the family's formula where it has one. Else it is a function of the raw prediction and the log of the spread,
    tabulated from draws over the range that they have.
    """

    def __init__(self, noise: Noise) -> None:
        self.noise = noise
        self._ends: Numbers | None = None  # of the table, by axis

    def __call__(self, law: Any, eta: Numbers, log_spread: Numbers) -> Numbers | float:
        """The information at each row of the law, which these raw predictions make."""
        known = law.log_spread_information()
        if known is not None:
            return known  # type: ignore[no-any-return]
        at = np.stack([np.zeros_like(eta) if self.noise.locations[0] < 0 else eta, log_spread])
        low, high = at.min(axis=1), at.max(axis=1)
        if self._ends is None or np.any(low < self._ends[0]) or np.any(high > self._ends[1]):
            self._tabulate(law, low - MARGIN, high + MARGIN)
        return self._interpolated(at)

    def _tabulate(self, law: Any, low: Numbers, high: Numbers) -> None:
        self._ends = np.stack([low, high])
        axes = np.linspace(low, high, NODES).T
        eta, log_spread = (axis[..., None] for axis in np.meshgrid(*axes, indexing="ij"))
        name = str(self.noise.spread)
        law = law.estimated(**{name: np.exp(log_spread)}).given(eta)
        y = law.sample((NODES, NODES, DRAWS), rng=0)
        with np.errstate(all="ignore"):
            squares = np.square(law.parameter_gradient(y)[name] * law.parameters[name])
        self._logs = np.log(np.maximum(np.nanmean(squares, axis=-1), 1e-30))

    def _interpolated(self, at: Numbers) -> Numbers:
        assert self._ends is not None
        low, high = self._ends
        place = (at - low[:, None]) / (high - low)[:, None] * (NODES - 1)
        cell = np.clip(place.astype(int), 0, NODES - 2)
        (a, b), (i, j) = place - cell, cell
        near = (1 - b) * self._logs[i, j] + b * self._logs[i, j + 1]
        far = (1 - b) * self._logs[i + 1, j] + b * self._logs[i + 1, j + 1]
        return np.asarray(np.exp((1 - a) * near + a * far))
