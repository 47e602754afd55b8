"""The families at a glance, from the registry: the README's table and `neglog families`."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from rich.table import Table

from neglog.distributions import FAMILIES, Distribution, Flat, Gaussian, Laplace, Noise
from neglog.distributions.registry import WRAPPERS


class Row(NamedTuple):
    """One family."""

    family: str
    support: str
    as_noise: str
    as_prior: str
    link: str
    example: Distribution


def rows() -> Iterator[Row]:
    """The registered families: noises first, what makes a noise of another, and then those that are only priors, each
    in alphabetical order.
    """
    plain = sorted((f for f in FAMILIES.values() if not hasattr(f, "inside")), key=lambda family: family.__name__)
    yield from _rows(family for family in plain if issubclass(family, Noise))
    for name, wrapper in sorted(WRAPPERS.items()):
        pairs = [family for family in FAMILIES.values() if getattr(family, "around", "").lower() == name]
        supports, links = ({str(getattr(pair, own)): None for pair in pairs} for own in ("support", "default_link"))
        what = f"{wrapper.summary[0]}: {', '.join(wrapper.inner_names())}"
        example = pairs[0](**pairs[0].examples[0])
        yield Row(f"{wrapper.__name__}(…)", ", or ".join(supports), what, "", ", ".join(sorted(links)), example)
    yield from _rows(family for family in plain if not issubclass(family, Noise))


def _rows(families: Iterable[type[Distribution]]) -> Iterator[Row]:
    for family in families:
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
