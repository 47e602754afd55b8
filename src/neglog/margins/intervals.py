"""Intervals of predictions: of the mean, by the delta method on a scale on which it may be any number, and of y itself,
by the quantiles of its predictive law.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from neglog.belief.predicted_rows import row_chunks, unseen_spread
from neglog.distributions.lazy import special
from neglog.engines.memory import Memory
from neglog.likelihood.row_values import finite_prediction
from neglog.margins.delta import Delta
from neglog.margins.points import points
from neglog.testing.covariance import Spread
from neglog.typing import Numbers

Fit = Any  # of rows, as `nl.fit` gives it: results stand below this room
KINDS = ("mean", "y")


@dataclass(frozen=True)
class Predictions:
    """What is predicted for each row, `estimate`, with the ends of its interval, `lower` and `upper`; of classes, of
    the probability of each. To be taken apart as three arrays; for NumPy they stand along the last axis.

    of  "mean", which the interval holds with probability `level`, or "y"
    """

    estimate: Numbers
    lower: Numbers
    upper: Numbers
    level: float
    of: str

    def __iter__(self) -> Iterator[Numbers]:
        return iter((self.estimate, self.lower, self.upper))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Numbers:
        return np.array(np.stack([self.estimate, self.lower, self.upper], axis=-1), dtype=dtype)

    def __len__(self) -> int:
        return len(self.estimate)


def intervals(fit: Fit, X: Any, level: float, of: str, offset: Any, exposure: Any) -> Predictions:
    """`Fit.predict` with an interval."""
    if of not in KINDS:
        raise ValueError(f'of must be "mean" or "y", but is {of!r}')
    estimate = fit.predict(X, offset=offset, exposure=exposure)
    if of == "mean":
        lower, upper = _of_mean(fit, X, level, offset, exposure)
        return Predictions(estimate, lower.reshape(estimate.shape), upper.reshape(estimate.shape), level, of)
    if fit.noise.labelled:
        raise ValueError('y is one of several classes, which have no order on a line; of="mean" is of their chances')
    law = fit.posterior().predictive(X, offset=offset, exposure=exposure)
    shares = (0.5 - 0.5 * level, 0.5 + 0.5 * level)
    lower, upper = (np.asarray(law.icdf(np.full(len(estimate), share)), float) for share in shares)
    return Predictions(estimate, lower, upper, level, of)


def _of_mean(fit: Fit, X: Any, level: float, offset: Any, exposure: Any) -> tuple[Numbers, Numbers]:
    """The ends for each row, and for each class."""
    spread: Spread = fit._spread("posterior", None)
    engine = fit.prediction_engine(X, offset, exposure, fit._task.engine)
    eta = finite_prediction(engine, fit._answer.theta)
    noise = fit.noise
    with np.errstate(all="ignore"):
        here = points(fit._joint, eta, bends=False)
        if not noise.point_is_location:
            reach = spread.reach(level) * np.sqrt(_variances(fit, engine, here.first, spread))
            return _on_free_scale(noise, here.value, reach)
        own = eta if eta.ndim == 1 else eta[:, 0]  # of one raw prediction, which is what the link makes it from
        first = np.zeros_like(here.first)
        first[:, 0, 0] = 1.0
        reach = spread.reach(level) * np.sqrt(_variances(fit, engine, first, spread))[:, 0]
        ends = [np.asarray(noise.link.inverse(_inside(noise, own + sign * reach, own))) for sign in (-1, 1)]
        return np.minimum(*ends), np.maximum(*ends)


def _inside(noise: Any, ends: Numbers, eta: Numbers) -> Numbers:
    """Ends of raw predictions; where a link takes only positive ones, not beyond 0."""
    domain = noise.parameter(noise.location).domain
    return ends if domain.contains(noise.link.inverse(-1.0)) else np.where(eta > 0, np.maximum(ends, 0.0), ends)


def _on_free_scale(noise: Any, value: Numbers, reach: Numbers) -> tuple[Numbers, Numbers]:
    """The ends of what reaches so far: of the log of a mean that is positive, of the log odds of a share."""
    low, high = (0.0, 1.0) if noise.labelled else noise.bounds
    if low == -np.inf:
        return value - reach, value + reach
    if high == np.inf:
        factor = np.exp(reach / (value - low))
        return low + (value - low) / factor, low + (value - low) * factor
    share = (value - low) / (high - low)
    odds, away = special.logit(share), reach / ((high - low) * share * (1 - share))
    return low + (high - low) * special.expit(odds - away), low + (high - low) * special.expit(odds + away)


def _variances(fit: Fit, engine: Memory, first: Numbers, spread: Spread) -> Numbers:
    """Of functions of the raw predictions and open parameters of each row with these slopes, (rows, q)."""
    delta = Delta(fit, spread)
    outputs, columns = engine.loss.outputs, engine.columns
    m = first.shape[-1] - outputs
    unseen = unseen_spread(engine, fit._joint)
    found = np.empty(first.shape[:2])
    for rows, matrix in row_chunks(engine):
        for q in range(first.shape[1]):
            own = first[rows, q]
            slopes = np.empty((len(rows), outputs * columns + m))
            for a in range(outputs):
                slopes[:, a * columns : (a + 1) * columns] = own[:, a, None] * matrix
            slopes[:, outputs * columns :] = own[:, outputs:]
            found[rows, q] = delta.variances(slopes) + np.sum(own[:, :outputs] ** 2 * unseen[rows], axis=1)
    return found
