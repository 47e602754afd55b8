"""Levels against the mean of their factor, classes against the mean of all: what the data tell.

Under a prior every level has a coefficient, and adding a number to all levels of a factor changes nothing that the
intercept could not undo; nor does adding one to all classes. Such means are known from the prior alone and would blur
every coefficient; the differences from them are known as well as in any other coding.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from neglog.belief.standard_errors import Information, posterior_covariance, shifted_noise_errors
from neglog.design.blocks import Codes
from neglog.likelihood.joint import Joint
from neglog.likelihood.task import Answer, Task
from neglog.typing import Numbers

if TYPE_CHECKING:
    from neglog.results.fit import Fit


@dataclass(frozen=True)
class Contrasts:
    """For each coefficient the share of the rows that its level has in its factor, 0 for what is no level; and the
    standard errors of coefficients (outputs, columns) and intercepts (outputs,) as `shown` has them.
    """

    shares: Numbers
    factors: Numbers  # the number of each coefficient's factor, -1 for what is no level
    coefficients: Numbers
    intercepts: Numbers
    noise: dict[str, float] = field(default_factory=dict)  # of what the noise estimates in the place of an intercept


def contrasts_of(
    task: Task, answer: Answer, information: Information, covariance: Numbers | None = None
) -> Contrasts | None:
    """From the covariance of the coefficients; None where nothing would change: no factor has a coefficient for each
    level beside an intercept, and there are no classes under a prior. `covariance` is that of coefficients and open
    parameters, by default the posterior one.
    """
    engine = task.engine
    classes, outputs, columns = engine.loss.classes, engine.loss.outputs, engine.columns
    by_factor = list(_factors(task))
    if not by_factor and (classes == 1 or task.penalty.flat.all()):
        return None
    blocks = information.covariance.reshape(outputs, columns, outputs, columns)
    raw = np.array(information.coefficients, float)
    held = np.isnan(raw).any(axis=0)  # by the prior, at 0
    shares, factors = np.zeros(engine.design.columns), np.full(engine.design.columns, -1)
    own = blocks[:, engine.places, :, engine.places]  # (columns, outputs, outputs)
    for number, (levels, share) in enumerate(by_factor):
        if held[levels].any():  # which is the reference of the others
            continue
        shares[levels], factors[levels] = share, number
        places = engine.places[levels]
        block = blocks[:, places][:, :, :, places].transpose(0, 2, 1, 3)  # (outputs, outputs, levels, levels)
        along, across = block @ share, share @ block
        own[levels] += (((along @ share)[..., None] - along) - across).transpose(2, 0, 1)
    if classes == 1 and not shares.any():
        return None
    if classes > 1:
        own = own - own.mean(axis=1, keepdims=True)
        own = own - own.mean(axis=2, keepdims=True)
    errors = np.sqrt(np.maximum(own.diagonal(axis1=1, axis2=2).T, 0.0))
    errors[:, held] = raw[:, held]
    intercepts = _intercept_errors(task, information.covariance, shares)
    return Contrasts(shares, factors, errors, intercepts, _noise_errors(task, answer, covariance, shares))


def _noise_errors(task: Task, answer: Answer, covariance: Numbers | None, shares: Numbers) -> dict[str, float]:
    """Of what the noise estimates in the place of an intercept."""
    if task.target.noise.takes_intercept:
        return {}
    joint = Joint(task, answer)
    return shifted_noise_errors(joint, posterior_covariance(joint) if covariance is None else covariance, shares)


def _factors(task: Task) -> Iterator[tuple[Numbers, Numbers]]:
    """Where the coefficients of each factor stand, and the shares of its levels among the rows with a known one."""
    blocks = task.in_memory().engine.design.blocks
    held = task.engine.intercept or not task.target.noise.takes_intercept
    if not held or not any(isinstance(block, Codes) and not block.reference for block in blocks):
        return
    weights, start = task.total(level_weights), 0
    for block in blocks:
        own = weights[start : start + block.columns]
        if isinstance(block, Codes) and not block.reference and own.sum() > 0:
            yield np.arange(start, start + block.columns), own / own.sum()
        start += block.columns


def level_weights(task: Task) -> Numbers:
    """How many rows have each level, counted by their weights; 0 for columns that are no level."""
    parts, w = [np.empty(0)], task.target.w
    for block in task.engine.design.blocks:
        if isinstance(block, Codes) and not block.reference:
            known = block.codes >= 0
            weight = None if w is None else w[known]
            parts.append(np.bincount(block.codes[known], weight, minlength=block.columns).astype(float))
        else:
            parts.append(np.zeros(block.columns))
    return np.concatenate(parts)


def _intercept_errors(task: Task, covariance: Numbers, shares: Numbers) -> Numbers:
    """Of the intercept with the means of the factors in it."""
    engine = task.engine
    outputs, columns = engine.loss.outputs, engine.columns
    if not engine.intercept:
        return np.full(outputs, np.nan)
    rows = np.zeros((outputs, outputs, columns))
    for k in range(outputs):
        rows[k, k, 0] = 1.0
        rows[k, k, engine.places] = shares - engine.centre
    if engine.loss.classes > 1:
        rows -= rows.mean(axis=0)  # of classes only differences count
    fixed = np.isnan(covariance.diagonal())  # coefficients at a kink do not move
    known = np.where(fixed[:, None] | fixed, 0.0, covariance)
    errors = np.empty(outputs)
    for k, row in enumerate(rows.reshape(outputs, -1)):
        used = row != 0
        errors[k] = np.sqrt(row[used] @ known[np.ix_(used, used)] @ row[used])
    return errors


@dataclass(frozen=True)
class Shown:
    """What a summary shows: (outputs,) and (outputs, columns)."""

    intercepts: Numbers
    intercept_errors: Numbers
    coefficients: Numbers
    errors: Numbers
    noise: dict[str, tuple[float, float]]  # estimate and error of each parameter that was estimated


Errors = tuple[Information, Contrasts | None]  # of coefficients as they are, and as differences


def shown(fit: "Fit", contrasts: bool = True, errors: Errors | None = None) -> Shown:
    """Estimates and errors, levels as differences from the mean of their factor and classes from that of all; or as
    they are. The errors are by default those of the posterior.
    """
    information, found = (fit._information, fit._contrasts) if errors is None else errors
    found = found if contrasts else None
    intercepts, coefficients = fit.outputs
    noise = {name: (fit.noise.number(name)[0], error) for name, error in information.noise.items()}
    if found is None:
        return Shown(intercepts, information.intercepts, coefficients, information.coefficients, noise)
    inside = found.factors >= 0
    less, count = coefficients.copy(), int(found.factors.max(initial=-1)) + 1
    if count:
        weighted = (coefficients * found.shares)[:, inside]
        means = np.stack([np.bincount(found.factors[inside], one, count) for one in weighted])
        less[:, inside] -= means[:, found.factors[inside]]
        if found.noise:
            noise = {name: (noise[name][0] - means.sum(), error) for name, error in found.noise.items()}
        else:
            intercepts = intercepts + means.sum(axis=1)
    if fit.noise.of_classes:
        intercepts = intercepts - intercepts.mean()
        free = ~np.isnan(found.coefficients).any(axis=0)
        less[:, free] -= less[:, free].mean(axis=0)
    return Shown(intercepts, found.intercepts, less, found.coefficients, noise)
