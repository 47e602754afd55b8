"""The families at a glance, from the registry: the README's table and `neglog families`."""

import inspect
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from rich.console import Group
from rich.table import Table
from rich.text import Text

from neglog.distributions import FAMILIES, Distribution, Noise
from neglog.distributions.registry import WRAPPERS, public_names
from neglog.printing import did_you_mean


class Row(NamedTuple):
    """One family."""

    family: str
    support: str
    as_noise: str
    as_prior: str
    link: str
    law: type[Distribution]


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
        yield Row(f"{wrapper.__name__}(…)", ", or ".join(supports), what, "", ", ".join(sorted(links)), wrapper)
    yield from _rows(family for family in plain if not issubclass(family, Noise))


def _rows(families: Iterable[type[Distribution]]) -> Iterator[Row]:
    for family in families:
        loss, penalty = family.summary
        link = family.default_link if issubclass(family, Noise) else ""
        yield Row(family.__name__, str(family(**family.examples[0]).support), loss, penalty, link, family)


def markdown() -> str:
    """The README's table."""
    lines = ["| family | y | as noise: the loss | as prior: the penalty | link |", "|---|---|---|---|---|"]
    lines += [
        f"| `{r.family}` | {r.support} | {r.as_noise or '–'} | {r.as_prior or '–'} | {r.link or '–'} |" for r in rows()
    ]
    return "\n".join(lines)


def families() -> Table:
    """Every family with what it is for."""
    table = Table(title="Every loss is a −log p")
    for column, width in (("family", 17), ("y", 12), ("use it where", 42), ("loss", 20), ("penalty as a prior", 12)):
        table.add_column(column, width=width, overflow="fold")
    for row in rows():
        table.add_row(row.family, row.support, entries(row.law)["Use"], row.as_noise, row.as_prior)
    return table


# ---- one family ------------------------------------------------------------------------------------------------------

LABEL = 12  # letters that the name of an entry takes in a docstring


def described(name: str) -> Group:
    """What a family is, by its docstring and its declarations."""
    law = family_of(name)
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column()
    lines = entries(law)
    page = lines.pop("Page")
    if issubclass(law, Noise) and hasattr(law, "default_link"):  # a wrapper predicts what the noise inside does
        lines["Predicts"] = law.traits.predicts.format(y="y", **{own.name: own.name for own in law.declared})
        lines["Links"] = ", ".join([law.default_link, *(link for link in law._links() if link != law.default_link)])
    for own in law.declared or getattr(law, "further", ()):
        role = f", {own.role.value}" if own.role is not None else ""
        lines[own.name] = f"{own.domain.text}{role}"
    lines["Handbook"] = f"docs/{page}.md"
    for label, text in lines.items():
        table.add_row(label, Text(text))
    return Group(Text(f"{law.__name__}: {(inspect.getdoc(law) or '').partition(chr(10) * 2)[0]}"), Text(), table)


def family_of(name: str) -> type[Distribution]:
    """A family or wrapper by its name, however it is written: student-t."""
    known: dict[str, type[Distribution]] = {
        law.__name__.lower(): law for law in (*FAMILIES.values(), *WRAPPERS.values())
    }
    plain = "".join(letter for letter in name.lower() if letter.isalnum() or letter in "()")
    if plain not in known:
        public = public_names()
        raise ValueError(
            f"there is no file and no family {name!r}; the families are {', '.join(sorted(public))}"
            f"{did_you_mean([name], public)}"
        )
    return known[plain]


def entries(law: type[Distribution]) -> dict[str, str]:
    """The entries of a family's docstring by name: Density, Domain, Link, Loss, Use, Not, Page and others."""
    paragraphs = (inspect.getdoc(law) or "").split("\n\n")
    found: dict[str, str] = {}
    latest = ""
    for line in next(one for one in paragraphs if one.startswith("Density")).split("\n"):
        label, text = line[:LABEL].strip(), line[LABEL:].strip()
        latest = label or latest
        found[latest] = text if label else f"{found[latest]} {text}"
    return found
