"""Noises made of another noise: what ZeroInflated, Hurdle, Log and Logit share.

`ZeroInflated(Poisson(), p=0.2)` is of a class that is made for the pair when it is first asked for. Its parameters are
those of the noise inside and after them the wrapper's own, all in one row, so that whoever fits, samples, stores or
prints a noise reads the same declarations as of any other. Which pairs there are says the wrapper: those for which the
native core has a kernel (kernels/composed.cpp), unless it does without. They are registered like other families.
"""

from abc import abstractmethod
from dataclasses import replace
from importlib import import_module
from typing import Any, ClassVar, Self

from neglog import _core
from neglog.distributions.noise import Noise
from neglog.distributions.parameters import Limit, Parameter
from neglog.distributions.registry import FAMILIES, WRAPPERS, register


class Composed(Noise):
    """A noise around another noise, whose class is `inside`."""

    inside: ClassVar[type[Noise]]
    around: ClassVar[str]  # the name of the wrapper
    further: ClassVar[tuple[Parameter, ...]] = ()  # the wrapper's own parameters
    stated: ClassVar[tuple[dict[str, Any], ...]] = ({},)  # and examples of them

    def __new__(cls, noise: Noise | None = None, *_: Any, **__: Any) -> Self:
        """Of the class for the pair, if a noise is given; the classes of pairs take all parameters by name too."""
        if hasattr(cls, "inside"):
            return object.__new__(cls)
        if not isinstance(noise, Noise):
            raise TypeError(f"{cls.__name__} takes a noise such as nl.{cls.inner_names()[0]}(), but got {noise!r}")
        made = cls.of(type(noise))
        if issubclass(made, Composed):
            return object.__new__(made)  # type: ignore[return-value]
        return made(**noise.as_stated, link=noise.link.name)  # type: ignore[return-value, call-arg]

    def __init__(self, noise: Noise | None = None, *own: Any, link: str | None = None, **named: Any) -> None:
        inside = self.inside() if noise is None else noise
        values = {own.name: None for own in self.further} | inside.as_stated
        link = inside.link.name if link is None else link
        values |= dict(zip((parameter.name for parameter in self.further), own, strict=False)) | named
        unknown = [name for name in values if name not in {parameter.name for parameter in self.declared}]
        if unknown or len(own) > len(self.further):
            raise TypeError(f"{type(self).__name__} takes {self.takes()}, but got {', '.join(unknown) or own}")
        self._state(link=link, **values)

    @classmethod
    def of(cls, inside: type[Noise]) -> type[Noise]:
        """The class of this wrapper around a family."""
        name = f"{cls.__name__}({inside.__name__})"
        known = FAMILIES.get(name.lower())
        if known is not None:
            return known  # type: ignore[return-value]
        same = [family for family in FAMILIES.values() if getattr(family, "also", "") == name]
        if same:
            return same[0]  # type: ignore[return-value]
        raise ValueError(f"{name}: {cls.__name__} can be made of {', '.join(cls.inner_names())}{cls.refusal(inside)}")

    @classmethod
    def takes(cls) -> str:
        return f"a noise and {', '.join(own.name for own in cls.further) or 'no parameter of its own'}"

    @classmethod
    def holds(cls, inside: type[Noise]) -> bool:
        """Whether a family can be inside: if the core has a kernel for the pair."""
        return bool(_core.links(f"{cls.__name__}({inside.__name__})".lower()))

    @classmethod
    def refusal(cls, inside: type[Noise]) -> str:
        """Why a family cannot be inside, if that can be told."""
        return ""

    @classmethod
    def inner_names(cls) -> list[str]:
        """The families that it can be made of."""
        made = [family for family in FAMILIES.values() if issubclass(family, cls)]
        also = [str(getattr(family, "also", "")) for family in FAMILIES.values()]
        same = [name[len(cls.__name__) + 1 : -1] for name in also if name.startswith(f"{cls.__name__}(")]
        return sorted([family.inside.__name__ for family in made] + same)

    @classmethod
    def inner_parameters(cls, inside: type[Noise]) -> tuple[Parameter, ...]:
        """What the family inside declares; at the limit of a parameter, the noise is this wrapper around another."""
        named = {getattr(family, "also", ""): family.__name__ for family in FAMILIES.values()}

        def around(limit: Limit) -> Limit:
            name = f"{cls.__name__}({limit.noise})"
            return replace(limit, noise=named.get(name, name))

        return tuple(
            replace(own, limit=None if own.limit is None else around(own.limit), ways=()) for own in inside.declared
        )

    @classmethod
    @abstractmethod
    def declare(cls, inside: type[Noise]) -> dict[str, Any]:
        """What the class of the pair declares, of what the family inside does."""

    @classmethod
    def _family(cls) -> str:
        return cls.__name__.lower()

    @property
    def noise(self) -> Noise:
        """The noise inside, with its parameters."""
        law = object.__new__(self.inside)
        names = [f"_{own.name}" for own in self.inside.declared]
        law.__dict__.update(
            {name: self.__dict__[name] for name in (*names, "link", "_made_by") if name in self.__dict__}
        )
        modelled = tuple(name for name in self.modelled if f"_{name}" in names)
        if modelled:
            law.__dict__["_modelled"] = modelled
        own_terms = {name: own for name, own in self.own_terms.items() if name in modelled}
        if own_terms:
            law.__dict__["_own_terms"] = own_terms
        return law

    def __repr__(self) -> str:
        own = "".join(f", {q.name}={self.as_stated[q.name]!r}" for q in self.further)
        return f"{self.around}({self.noise!r}{own})"


def wrapper(cls: type[Composed]) -> type[Composed]:
    """Class decorator: makes a wrapper known under its lower-case name."""
    WRAPPERS[cls.__name__.lower()] = cls
    return cls


def compose_all() -> None:
    """Make and register the class of every pair that there is."""
    families = [family for family in FAMILIES.values() if issubclass(family, Noise)]
    named = [getattr(family, "also", "") for family in families]
    while families:
        pairs = [(cls, inside) for cls in WRAPPERS.values() for inside in families]
        families = [
            _pair(cls, inside)
            for cls, inside in pairs
            if cls.holds(inside) and f"{cls.__name__}({inside.__name__})" not in named
        ]


def _pair(cls: type[Composed], inside: type[Noise]) -> type[Noise]:
    shared = {
        "__doc__": cls.__doc__,
        "__module__": cls.__module__,
        "inside": inside,
        "around": cls.__name__,
        "declared": (*cls.inner_parameters(inside), *cls.further),
        "default_link": inside.default_link,
        "examples": tuple(inside.examples[k % len(inside.examples)] | own for k, own in enumerate(cls.stated)),
        "summary": (f"{inside.summary[0]}, {cls.summary[0]}", ""),
    }
    name = f"{cls.__name__}({inside.__name__})"
    made = register(type(name, (cls,), shared | cls.declare(inside)))
    setattr(import_module(cls.__module__), name, made)  # where pickle looks for it
    return made
