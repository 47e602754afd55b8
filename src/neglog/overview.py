"""The families at a glance, from the registry: the README's table and `python -m neglog`."""

from collections.abc import Iterator
from typing import NamedTuple

from neglog.distributions import FAMILIES, Distribution, Noise


class Row(NamedTuple):
    """One family."""

    family: str
    support: str
    as_noise: str
    as_prior: str
    link: str
    example: Distribution


def rows() -> Iterator[Row]:
    """The registered families: noises first, then those that are only priors, in alphabetical order."""
    ordered = sorted(FAMILIES.values(), key=lambda family: (not issubclass(family, Noise), family.__name__))
    for family in ordered:
        example = family(**family.examples[0])
        loss, penalty = family.summary
        link = family.default_link if issubclass(family, Noise) else ""
        yield Row(family.__name__, example.support, loss, penalty, link, example)


def markdown() -> str:
    """The README's table."""
    lines = ["| family | y | as noise: the loss | as prior: the penalty | link |", "|---|---|---|---|---|"]
    lines += [
        f"| `{r.family}` | {r.support} | {r.as_noise or '–'} | {r.as_prior or '–'} | {r.link or '–'} |" for r in rows()
    ]
    return "\n".join(lines)
