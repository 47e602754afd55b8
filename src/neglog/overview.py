"""The families at a glance, from the registry: the README's table and `neglog families`."""

from collections.abc import Iterator
from typing import NamedTuple

from rich.table import Table

from neglog.distributions import FAMILIES, Distribution, Flat, Gaussian, Laplace, Noise


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
        yield Row(family.__name__, str(example.support), loss, penalty, link, example)


def markdown() -> str:
    """The README's table."""
    lines = ["| family | y | as noise: the loss | as prior: the penalty | link |", "|---|---|---|---|---|"]
    lines += [
        f"| `{r.family}` | {r.support} | {r.as_noise or '–'} | {r.as_prior or '–'} | {r.link or '–'} |" for r in rows()
    ]
    return "\n".join(lines)


def families() -> Table:
    """Every family with an example: what a typical draw costs in nats, which is its entropy."""
    table = Table(title="Every loss is a −log p", caption="H: the entropy of an example, the nats that one draw costs")
    for column in ("family", "y", "as noise: the loss", "as prior: the penalty", "link"):
        table.add_column(column, no_wrap=column == "family", overflow="fold")
    table.add_column("H", justify="right", no_wrap=True)
    for row in rows():
        nats = "–" if isinstance(row.example, Flat) else f"{float(row.example.entropy()):.4f}"
        table.add_row(row.family, row.support, row.as_noise, row.as_prior, row.link, nats)
    return table


def two_roles() -> Table:
    """The same object as a noise and as a prior."""
    table = Table(title="One object, two roles", caption="both columns are −log p up to a constant, in nats")
    for column in ("object", "as noise, at y − f = 2", "as prior, at θ = (1, −2)"):
        table.add_column(column)
    gaussian, laplace = Gaussian(scale=1.0), Laplace(scale=0.5)
    for law in (gaussian, laplace, gaussian * laplace):
        noise = "–"
        if isinstance(law, Gaussian | Laplace):
            loss, scale = float(law.loss(2.0, 0.0)), float(law.loss_scale)
            noise = f"loss {loss:.2f} / {scale:.2f} = {loss / scale:.2f}"
        table.add_row(repr(law), noise, f"penalty {float(law.penalty([1.0, -2.0])):.2f}")
    return table
