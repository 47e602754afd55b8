"""Groups in which a parameter of the noise runs to its limit, all of them in a few native calls: what joint_newton.py
does for one.
"""

from dataclasses import replace

import numpy as np

from neglog.distributions.parameters import Parameter
from neglog.estimation.by_group import GroupAnswers, answer_groups, from_there
from neglog.estimation.joint_newton import SAME, inside_of
from neglog.estimation.rows_of_groups import Groups, nll_of, of_rows, raw_predictions_of
from neglog.typing import Numbers


def solve_groups(task: Groups) -> list[GroupAnswers]:
    """All groups at once. The answers are sure of different groups, and have their own parameters at limits."""
    with np.errstate(all="ignore"):
        return _solved(task)


def _solved(task: Groups) -> list[GroupAnswers]:
    answers = answer_groups(task)
    found = [answers]
    for k, own in enumerate(task.target.opened):
        asked = answers.far[:, k] & (answers.far.sum(axis=1) == 1)
        if own.limit is not None and asked.any():
            found += _at_limit(answers, k, own, asked)
    return found


def _at_limit(answers: GroupAnswers, k: int, own: Parameter, asked: Numbers) -> list[GroupAnswers]:
    """The answers of some groups with the parameter held at its limit, unless those that were found are better."""
    assert own.limit is not None
    some = of_rows(answers.task, asked[answers.task.grouping.codes])
    target = some.target.with_noise(some.target.noise.with_(**{own.name: own.limit.value}))
    stated = replace(some, target=target, engine=some.engine.with_target(target))
    before = _objective(some, answers.theta, answers.raw)
    first, last = (float(own.raw.raw(x)) for x in (own.start, own.limit.value))
    found: list[GroupAnswers] = []
    for held in _solved(stated):
        sure = held.sure & asked
        if not sure.any():
            continue
        raw = held.raw if held.at_limit else np.insert(held.raw, k, last, axis=1)
        nats = _objective(held.task, held.theta, held.raw)
        better = sure & answers.arrived & (before < nats - SAME) & _on_the_way(answers.raw[:, k], first, last)
        own_answers = replace(answers, task=some, sure=better)
        if not held.at_limit:
            back = sure & (_slope(some, held.theta, raw, k) * (last - first) > 0)
            if back.any():  # so far out all is flat, and a search that came from there saw no slope
                raw[:, k] = float(own.raw.raw(inside_of(own)))
                again = from_there(of_rows(some, back[some.grouping.codes]), held.theta, raw)
                value = _objective(again.task, again.theta, again.raw)
                settled = again.arrived & (value < nats - SAME) & _on_the_way(again.raw[:, k], first, last)
                better = np.where(back, False, better)
                own_answers.sure = better
                found.append(replace(again, sure=back & settled))
                better = better | (back & settled)
        found += [own_answers, replace(held, sure=sure & ~better, at_limit=(own, *held.at_limit))]
    return found


def _on_the_way(v: Numbers, first: float, last: float) -> Numbers:
    """Which have not arrived at the limit."""
    return (v - first) / (last - first) < 1.0


def _slope(task: Groups, theta: Numbers, raw: Numbers, k: int) -> Numbers:
    """Of the nll in one of the open parameters, by group."""
    target, codes = task.target, task.grouping.codes
    noise = target.at(raw[codes]).with_precision(target.p)
    slopes = noise.joint(target.raw, raw_predictions_of(task, theta))[1][1 + target.places()[k]]
    return task.grouping.sums(slopes if target.w is None else target.w * slopes)


def _objective(task: Groups, theta: Numbers, raw: Numbers) -> Numbers:
    """-log p of the rows of each group and of its coefficients."""
    away = theta - task.penalty.centre
    total = nll_of(task, theta, raw) + 0.5 * (away * away) @ task.penalty.bend
    return np.where(np.isfinite(total), total, np.inf)
