"""Priors whose scale is learned: a Gaussian one by maximum evidence, a Laplace one by leave-one-out.

The prior is on the coefficients of columns of unit variance, unless that is switched off: one scale then fits them all.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from neglog.design.blocks import Basis, Codes, Dense
from neglog.distributions import Flat, Laplace
from neglog.distributions.product import Product
from neglog.engines.memory import Memory
from neglog.estimation.learned_lasso import learn_laplace
from neglog.estimation.learned_ridge import Learned, Ridge, group_numbers, natural_scale
from neglog.estimation.size import refuse_too_many
from neglog.estimation.solve import solve
from neglog.likelihood.accelerated import HuberTarget
from neglog.likelihood.prior_terms import make_penalty, penalty_of_each
from neglog.likelihood.targets import Target
from neglog.likelihood.task import Task
from neglog.likelihood.tweedie import Compound
from neglog.streaming.pieces import StreamedTask
from neglog.typing import Numbers


def is_open(prior: Any) -> bool:
    """Whether the prior has a scale that is to be learned."""
    factors = prior.factors if isinstance(prior, Product) else (prior,)
    unknown = [
        factor for factor in factors if not isinstance(factor, Flat) and factor.parameters.get("scale", 0) is None
    ]
    if unknown and len(factors) > 1:
        raise ValueError(
            f"only one scale of a prior can be learned, but {prior!r} is a product; state the scales of both factors, "
            "or use one of them alone"
        )
    return bool(unknown)


def learn(task: Task, prior: Any, standardize: bool | None) -> Learned:
    """The fit at the scale that the data support most."""
    engine = task.engine
    if engine.design.columns == 0:
        raise ValueError("the scale of a prior cannot be learned without columns")
    if engine.streamed:
        return _learn_from_sample(task, prior, standardize)
    units = column_spreads(engine, task.target.w) if standardize in (None, True) else np.ones(engine.design.columns)
    if isinstance(prior, Laplace) and task.target.noise.modelled:
        raise ValueError(
            f"{task.target.noise!r}: the scale of a Laplace prior is not learned where parameters are modelled, whose "
            "coefficients have another unit; state scale=..., or take Gaussian(), of which each learns its own"
        )
    if not isinstance(prior, Laplace):
        refuse_too_many(task, learned=True)
    held = _holding(task, prior, units)
    if held is None:
        return _learned(task, prior, units)
    found = _learned(held, prior, units)
    task = replace(task, penalty=found.task.penalty)
    answer = solve(task, found.answer)
    answer.notes += [note for note in found.answer.notes if note not in answer.notes]
    return Learned(task, answer, found.prior)


def _learned(task: Task, prior: Any, units: Numbers) -> Learned:
    if isinstance(prior, Laplace):
        return learn_laplace(task, prior, units)
    problem = Ridge(task, prior, units, group_numbers(prior, task.engine))
    return problem.by_moments() if task.target.squares else problem.by_laplace()


def _holding(task: Task, prior: Any, units: Numbers) -> Task | None:
    """The task with a parameter of the noise that takes a search of its own held where a weak prior has it: the scale
    of the prior hardly changes it, and each scale would need a search. None if there is no such parameter.
    """
    target = task.target
    compound = isinstance(target, Compound) and target.noise.power is None
    if not compound and not (isinstance(target, HuberTarget) and target.noise.delta is None):
        return None
    engine = task.engine
    weak = Ridge(task, prior, units, np.zeros(len(units), int)).penalty(np.full(1, natural_scale(task)))
    noise = solve(replace(task, penalty=weak)).noise
    stated: Target
    if isinstance(target, Compound):
        known = np.isfinite(noise.dispersion) and noise.dispersion > 0
        stated = target.at_power(noise.power, float(np.log(noise.dispersion)) if known else None)
    else:
        assert isinstance(target, HuberTarget)
        stated = target.at_threshold(noise.delta)
    return replace(task, target=stated, engine=engine.with_loss(stated.loss))


def _learn_from_sample(task: Task, prior: Any, standardize: bool | None) -> Learned:
    """The scale from the rows in memory, then the fit of all: more rows make the scale little surer."""
    small = task.in_memory()
    learned = learn(small, prior, standardize)
    prior, others = learned.prior, learned.answer.priors
    penalty = penalty_of_each([prior, *others], task.engine) if others else make_penalty(prior, task.engine)
    task = replace(task, penalty=penalty)
    answer = solve(task)
    answer.priors = others
    answer.notes.append(f"The scale of the prior was learned from a sample of {small.engine.rows:,} rows.")
    return Learned(task, answer, prior)


def on_unit_variance(prior: Any, task: Task) -> Any:
    """The prior for the columns as they are whose scale is stated for columns of unit variance."""
    if task.engine.design.columns == 0:
        return prior
    return _in_units(prior, spreads_of(task))


def spreads_of(task: Task) -> Numbers:
    """The standard deviation of each column, wherever the rows are."""
    return task.column_spreads() if isinstance(task, StreamedTask) else column_spreads(task.engine, task.target.w)


def _in_units(prior: Any, spreads: Numbers) -> Any:
    if isinstance(prior, Flat):
        return prior
    if isinstance(prior, Product):
        first, *others = (_in_units(factor, spreads) for factor in prior.factors)
        for other in others:
            first = first * other
        return first
    return type(prior)(prior.loc / spreads if np.any(prior.loc) else prior.loc, prior.scale / spreads)


def column_spreads(engine: Memory, w: Numbers | None) -> Numbers:
    """The standard deviation of each column over the rows, each counted by its weight w; 1 for constant columns."""
    w = np.ones(engine.rows) if w is None else w
    total = w.sum()
    parts, sizes = [], []
    for block in engine.design.blocks:
        if isinstance(block, Dense):
            x = block.values
            middle = np.asarray(x[0], np.float64)
            mean, square = np.zeros(block.columns), np.zeros(block.columns)
            for start in range(0, engine.rows, 8192):
                away, some = x[start : start + 8192] - middle, w[start : start + 8192]
                mean += some @ away
                square += some @ np.multiply(away, away, out=away)
            mean, square = mean / total, square / total
            parts.append(np.sqrt(np.maximum(square - mean * mean, 0.0)))
            sizes.append(np.abs(middle) + np.sqrt(square))
        elif isinstance(block, Codes):
            # rare levels have the code -1
            share = np.bincount(block.codes + 1, weights=w, minlength=len(block.levels) + 1)[1:] / total
            parts.append(np.sqrt(share * (1 - share))[int(block.reference) :])
            sizes.append(np.ones(block.columns))
        elif isinstance(block, Basis):  # in units of its own
            parts.append(np.ones(block.columns))
            sizes.append(np.ones(block.columns))
        else:
            far = block.far_middles()
            matrix = block.less(far).matrix
            mean = np.asarray(w @ matrix).ravel() / total
            square = np.asarray(w @ matrix.multiply(matrix)).ravel() / total
            parts.append(np.sqrt(np.maximum(square - mean**2, 0.0)))
            sizes.append(np.abs(far) + np.sqrt(square))
    spreads, typical = (parts[0], sizes[0]) if len(parts) == 1 else (np.concatenate(parts), np.concatenate(sizes))
    return np.where(spreads > 1e-12 * typical, spreads, 1.0)
