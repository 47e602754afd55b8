"""Which noises are tried: all whose support admits y, those made of others where y calls for them, and of many those
that a sample of the rows does not rule out.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from neglog.comparison.comparison import standard_error
from neglog.comparison.recorded import Facts
from neglog.distributions import FAMILIES
from neglog.distributions.noise import Noise
from neglog.typing import Numbers

FEW = 6  # noises that are all tried on all rows
SAMPLE = 2000  # rows that the noises are fitted to first, and as many on which they are judged
HOPELESS = 0.05  # nats a row
SURE = 4.0  # standard errors: beyond both, a noise is not tried on all rows


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
) -> tuple[list[Noise], dict[str, str]]:
    """The noises that are worth a fit to all rows, and why the others are not.

    `held_out` fits a noise to some rows and says what each of some other rows then costs, in nats, and its weight.
    """
    if len(noises) <= FEW or rows < 4 * SAMPLE:
        return noises, {}
    step = rows // (2 * SAMPLE)
    train, test = (np.arange(first, rows, 2 * step)[:SAMPLE] for first in (0, step))
    costs = {}
    for noise in noises:
        nll, weight = held_out(noise, train, test)
        if np.isfinite(nll).all():
            costs[name(noise)] = nll
    if not costs:
        return noises, {}
    best = min(costs, key=lambda one: float(np.average(costs[one], weights=weight)))
    kept, gaps = [], {}
    for noise in noises:
        own = name(noise)
        away = costs[own] - costs[best] if own in costs else np.zeros(len(test))
        gap = float(np.average(away, weights=weight))
        if own in costs and gap > max(HOPELESS, SURE * standard_error(away, weight)):
            gaps[own] = gap
        else:
            kept.append(noise)
    return kept, _hopeless(gaps, best, len(test))


def _hopeless(gaps: dict[str, float], best: str, rows: int) -> dict[str, str]:
    """One reason for all of them, which is then said once, from the least to the most hopeless."""
    names = sorted(gaps, key=lambda one: gaps[one])
    if not names:
        return {}
    ends = dict.fromkeys(f"{gaps[own]:.2g}" for own in (names[0], names[-1]))
    reason = f"{' to '.join(ends)} nats a row more than {best} on a sample of {rows:,} rows, so not tried on all"
    return dict.fromkeys(names, reason)
