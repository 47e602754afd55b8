"""The law of y where the rows also tell the scale of Gaussian noise: the scale is integrated, exactly.

With a flat prior on the coefficients and on log scale, y is Student's t about its prediction, with n - k degrees of
freedom (Gosset 1908). Under Gaussian priors the coefficients are Gaussian at each scale; in coordinates in which both
the data and the prior are diagonal all scales are told by the fit at one, so that y is a mixture over scales.
"""

from typing import Any

import numpy as np

from neglog.belief.predicted_rows import row_chunks, unseen_spread
from neglog.distributions import FAMILIES
from neglog.distributions.mixture import Mixture
from neglog.engines.memory import Memory
from neglog.likelihood.joint import Joint
from neglog.typing import Numbers

FEW = 200.0  # degrees of freedom, from which on means of exp(y) are those of a scale that has an end
PLACES = np.arange(-6.0, 9.1, 0.75)  # of log scale about its middle, in standard deviations
NEXT_TO_NOTHING = 1e-12  # shares that are left out


def is_told_by_few(fit: Any) -> bool:
    """Whether the scale has a law that is known in closed form."""
    return bool(fit.noise.sums_squares and fit.residual_degrees is not None and fit.noise.traits.integrated)


def integrated(fit: Any, joint: Joint, engine: Memory, mean: Numbers) -> Any:
    """The law of y for each row, by the means of their predictions."""
    noise, degrees = fit.noise, fit.residual_degrees
    root, shares, pull = _directions(joint)
    if not shares.any() and (degrees < FEW or not noise.traits.of_log):
        law: Any = FAMILIES[noise.traits.integrated.lower()]
        variance = np.concatenate([np.sum((matrix @ root) ** 2, axis=1) for _, matrix in row_chunks(engine)])
        return law(loc=mean, scale=fit.few_rows * np.sqrt(noise.scale**2 + variance), df=degrees)
    log_scale = np.log(fit.few_rows) + PLACES / np.sqrt(2 * degrees)  # less that of the fit
    r = np.exp(-2 * log_scale)[:, None]
    held = (1 - shares) * r + shares  # the curvature along each direction
    move = -(1 - r) * pull / held
    squares = fit.few_rows**2 * degrees - 2 * move @ pull + move**2 @ (1 - shares)  # over the variance of the fit
    cost = fit.total_weight * log_scale + 0.5 * r[:, 0] * squares + 0.5 * np.log(held).sum(axis=1)
    cost += move @ pull + 0.5 * move**2 @ shares
    weights = np.exp(cost.min() - cost)
    kept = weights > NEXT_TO_NOTHING * weights.sum()
    weights = weights[kept] / weights[kept].sum()
    means, variances = np.empty((2, len(weights), engine.rows))
    for rows, matrix in row_chunks(engine):
        along = (matrix @ root).T
        means[:, rows] = mean[rows] + move[kept] @ along
        variances[:, rows] = (1 / held[kept]) @ along**2
    variances += (noise.scale * np.exp(log_scale[kept])[:, None]) ** 2 + unseen_spread(engine, joint)[:, 0]
    return Mixture(type(noise)(means, np.sqrt(variances)), weights)


def of_few_rows(fit: Any, joint: Joint, covariance: Numbers) -> tuple[Numbers, Numbers]:
    """How far the raw parameters of a noise whose scale has no such law lie from their most likely values, when the
    coefficients are integrated, and how much wider they spread: the log of a scale as that of Gaussian noise.
    """
    centre, wider = np.zeros(len(joint.names)), np.ones(len(joint.names))
    if fit.residual_degrees is not None and fit.noise.spread in joint.names:
        place = joint.names.index(fit.noise.spread)
        power = -2 * fit.noise.parameter(fit.noise.spread).precision  # of the scale, which this is
        degrees = 0.5 * power**2 / covariance[place, place] / fit.few_rows**2
        centre[place] = power * (np.log(fit.few_rows) + 0.5 / degrees)
        wider[place] = fit.few_rows
    return centre, wider


def _directions(joint: Joint) -> tuple[Numbers, Numbers, Numbers]:
    """Those in which the curvature of the fit is 1, as columns, the share that the prior has of it, and its pull."""
    theta, penalty = joint.answer.theta, joint.task.penalty
    curvature = joint.curvature().matrix[: len(theta), : len(theta)]
    unit = 1 / np.sqrt(curvature.diagonal())
    values, vectors = np.linalg.eigh(curvature * unit * unit[:, None])
    root = unit[:, None] * vectors / np.sqrt(values)
    shares, turn = np.linalg.eigh((root.T * penalty.bend) @ root)
    root = root @ turn
    return root, np.clip(shares, 0.0, 1.0), root.T @ (penalty.bend * (theta - penalty.centre))
