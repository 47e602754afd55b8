"""The families by name. Tests, the README's table and the command line read it; a new family only registers itself."""

from typing import Any, TypeVar

from neglog.distributions.base import Distribution

FAMILIES: dict[str, type[Distribution]] = {}
WRAPPERS: dict[str, Any] = {}  # what makes a noise of another noise (composed.py); its pairs are among the families

Family = TypeVar("Family", bound=type[Distribution])


def register(family: Family) -> Family:
    """Class decorator: makes a family known under its lower-case name."""
    FAMILIES[family.__name__.lower()] = family
    return family


def public_names() -> list[str]:
    """The families and wrappers that can be called by a name: not the pairs that wrappers make."""
    pairs = [family for family in FAMILIES.values() if hasattr(family, "inside")]
    return [law.__name__ for law in (*FAMILIES.values(), *WRAPPERS.values()) if law not in pairs]


def listed(kind: type = Distribution) -> str:
    """What can be written where a law of a kind is wanted: families, and wrappers as in "hurdle(...)"."""
    plain = [name for name, family in FAMILIES.items() if issubclass(family, kind) and not hasattr(family, "inside")]
    return ", ".join(sorted(plain + [f"{name}(...)" for name, law in WRAPPERS.items() if issubclass(law, kind)]))
