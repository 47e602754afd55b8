"""The families by name. Tests, the README's table and the command line read it; a new family only registers itself."""

from typing import TypeVar

from neglog.distributions.base import Distribution

FAMILIES: dict[str, type[Distribution]] = {}

Family = TypeVar("Family", bound=type[Distribution])


def register(family: Family) -> Family:
    """Class decorator: makes a family known under its lower-case name."""
    FAMILIES[family.__name__.lower()] = family
    return family
