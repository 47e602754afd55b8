"""Which noises are tried: all whose support admits y, those made of others where y calls for them, and of many rows
those that neither a sample nor the first fold rules out.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from neglog.comparison.comparison import Score, standard_error
from neglog.comparison.recorded import Facts
from neglog.distributions import FAMILIES
from neglog.distributions.noise import Noise
from neglog.typing import Numbers

FEW = 6  # noises that are all tried on all rows
SAMPLE = 2000  # rows that the noises are fitted to first, and as many on which they are judged
CELLS = 500  # the same where y holds cells, of which each takes an integral
HOPELESS, LOST = 0.05, 0.01  # nats a row, on the sample and on the first fold
SHOWN = 3  # noises that go on however far behind: nobody believes a winner without a rival
SURE = 4.0  # standard errors: beyond both, a noise is not tried any further


def candidates() -> list[Noise]:
    """Every noise of numbers that is registered, with all its parameters open but those that its family states; none
    that answers a question nobody asked.
    """
    families = sorted(FAMILIES.values(), key=lambda family: family.__name__)
    noises = [family(**own) for family in families if issubclass(family, Noise) for own in ({}, *family.variants)]
    return [noise for noise in noises if not noise.labelled and noise.traits.asks is None]


def of_classes() -> list[Noise]:
    """The noises of classes, in an order or not."""
    families = sorted(FAMILIES.values(), key=lambda family: family.__name__)
    return [noise for family in families if issubclass(family, Noise) and (noise := family()).labelled]


def uncalled_for(noise: Noise, facts: Facts | None) -> str | None:
    """Why nobody would try the noise on such targets, although it could explain them."""
    return None if facts is None else noise.uncalled_for(facts.rows, facts.zeros, facts.mean)


def screened(
    noises: list[Noise],
    rows: int,
    name: Callable[[Noise], str],
    held_out: Callable[[Noise, Any, Any], tuple[Numbers, Numbers]],
    sample: int = SAMPLE,
) -> tuple[list[Noise], dict[str, str]]:
    """The noises that are worth a fit to all rows, and why the others are not.

    `held_out` fits a noise to some rows and says what each of some other rows then costs, in nats, and its weight.
    """
    if len(noises) <= FEW or rows < 4 * sample:
        return noises, {}
    step = rows // (2 * sample)
    train, test = (np.arange(first, rows, 2 * step)[:sample] for first in (0, step))
    costs = {}
    for noise in noises:
        nll, weight = held_out(noise, train, test)
        if np.isfinite(nll).all():
            costs[name(noise)] = nll
    if not costs:
        return noises, {}
    refused = _behind(costs, weight, HOPELESS, f"on a sample of {len(test):,} rows, so not tried on all")
    return [noise for noise in noises if name(noise) not in refused], refused


def lost(scores: list[Score], places: Any, folds: int, sample: int = SAMPLE, settled: int = 0) -> dict[str, str]:
    """Which noises need no further fold after the first, whose rows are at these places, and why: others are better,
    or a parameter went to a limit at which it is another that is tried. The last ones are `settled`.
    """
    if not scores or len(scores[0].nll) < 4 * sample:
        return {}
    laws = {(score.law.replace("()", ""), score.structure) for score in scores}
    refused = {
        score.name: f"on the first of {folds} folds it came to {score.limit}, which is tried too"
        for score in scores[: len(scores) - settled]
        if (score.limit, score.structure) in laws
    }
    costs = {score.name: score.nll[places] for score in scores if score.name not in refused}
    refused |= _without_end(scores[: len(scores) - settled], costs, scores[0].weight[places], folds)
    costs = {name: nll for name, nll in costs.items() if name not in refused}
    where = f"on the first of {folds} folds, so not tried on the others"
    behind = _behind(costs, scores[0].weight[places], LOST, where, 1 if settled else SHOWN)
    for score in scores[len(scores) - settled :]:
        behind.pop(score.name, None)
    return refused | behind


def _without_end(scores: list[Score], costs: dict[str, Numbers], weight: Numbers, folds: int) -> dict[str, str]:
    """Those whose fit has no end, and that are surely worse than another."""
    best = min(costs.values(), key=lambda nll: float(np.average(nll, weights=weight)))
    refused = {}
    for score in scores:
        if score.converged or score.name not in costs:
            continue
        away = costs[score.name] - best
        if float(np.average(away, weights=weight)) > SURE * standard_error(away, weight):
            refused[score.name] = f"others are better on the first of {folds} folds, and its fit there has no end"
    return refused


def _behind(costs: dict[str, Numbers], weight: Numbers, least: float, where: str, shown: int = SHOWN) -> dict[str, str]:
    """The noises that cost surely more than the best, and at least so much, with one reason for all of them, which is
    then said once; from the least to the most.
    """
    best = min(costs, key=lambda one: float(np.average(costs[one], weights=weight)))
    gaps = {}
    for name, nll in costs.items():
        away = nll - costs[best]
        gap = float(np.average(away, weights=weight))
        if gap > max(least, SURE * standard_error(away, weight)):
            gaps[name] = gap
    names = sorted(gaps, key=lambda one: gaps[one])[max(shown - len(costs) + len(gaps), 0) :]
    ends = dict.fromkeys(f"{gaps[name]:.2g}" for name in names[:1] + names[-1:])
    return dict.fromkeys(names, f"{' to '.join(ends)} nats a row more than {best} {where}")
