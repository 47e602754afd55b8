"""The delta method: how sure a function of coefficients and open parameters is, by its gradient g and their
covariance V: g' V g.
"""

from typing import Any

import numpy as np

from neglog.belief.standard_errors import free_coefficients, posterior_covariance, with_drift
from neglog.testing.covariance import Spread
from neglog.typing import Numbers

Fit = Any  # of rows, as `nl.fit` gives it: results stand below this room
NOTHING = 1e-12  # of the largest slope of a function: a slope that is rounding
OPEN = 1e-6  # of it: a slope along a direction that the data say nothing about


class Delta:
    """Of functions whose gradients are rows in the core's order, coefficients before open parameters."""

    def __init__(self, fit: Fit, spread: Spread) -> None:
        task, answer, whole = fit._task, fit._answer, np.asarray(spread.covariance)
        self._coefficients = len(answer.theta)
        self._widened = spread.widened
        held = ~free_coefficients(task, answer)  # which do not move
        self._held = np.append(held, np.zeros(len(whole) - len(held), bool))
        self._lost = np.isinf(whole.diagonal())
        self._null: Any = None
        if self._lost.any() and spread.of_posterior and answer.null is not None:
            whole = with_drift(answer, posterior_covariance(fit._joint, pseudo=True))
            self._null = answer.null / np.linalg.norm(answer.null, axis=0)
        self._known = np.isfinite(whole.diagonal())
        self._whole = np.where(self._known[:, None] & self._known, whole, 0.0)

    def covariance(self, slopes: Numbers) -> Numbers:
        """Of all of them: NaN for what is unknown, infinite variances for what the data say nothing about."""
        wide = self._wide(slopes)
        found: Numbers = wide @ self._whole @ wide.T
        unknown, unsure, still = self._marks(slopes, found.diagonal())
        nothing = unknown | unsure
        found[nothing[:, None] | nothing] = np.nan
        found[unsure, unsure] = np.inf
        found[still, still] = np.nan
        return found

    def variances(self, slopes: Numbers) -> Numbers:
        """Of each of them, which may be many."""
        wide = self._wide(slopes)
        found = np.einsum("ij,ij->i", wide @ self._whole, wide)
        unknown, unsure, still = self._marks(slopes, found)
        found[unsure] = np.inf
        found[unknown | still] = np.nan
        return np.asarray(found)

    def _wide(self, slopes: Numbers) -> Numbers:
        """Coefficients are less sure than the covariance says where few rows also tell the spread of the noise."""
        wide = slopes.copy()
        wide[:, : self._coefficients] *= self._widened
        return wide

    def _marks(self, slopes: Numbers, variances: Numbers) -> tuple[Numbers, Numbers, Numbers]:
        """What is unknown; what is open; and what only coefficients that a prior holds at 0 tell."""
        size = np.abs(slopes).max(axis=1, initial=0.0)
        strange = ~self._known & ~self._held & ~self._lost
        unknown = np.abs(slopes[:, strange]).max(axis=1, initial=0.0) > NOTHING * size
        if self._null is None:
            unsure = np.abs(slopes[:, self._lost]).max(axis=1, initial=0.0) > NOTHING * size
        else:  # what is not along these directions is known
            unsure = np.abs(slopes[:, : len(self._null)] @ self._null).max(axis=1) > OPEN * size
        still = (variances == 0) & slopes[:, : self._coefficients].any(axis=1) & self._held.any()
        return unknown, unsure, still
