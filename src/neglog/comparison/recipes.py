"""How a fit is asked for again: the call in Python, and the line of the shell."""

import json
import os
import shlex
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from neglog.distributions import Flat
from neglog.distributions.base import Prior
from neglog.distributions.noise import Noise
from neglog.distributions.product import Product


def law_call(law: Any, prefix: str = "", infinity: str = "inf") -> str:
    """The shortest call that makes the law: what it states beside the defaults of its family."""
    if isinstance(law, Product):
        return " * ".join(law_call(factor, prefix, infinity) for factor in law.factors)
    kind = type(law)
    try:
        usual = kind()
    except TypeError:  # a family that has to be told something
        return f"{prefix}{law!r}"
    stated = {name: value for name, value in law.parameters.items() if not _same(value, usual.parameters[name])}
    if getattr(law, "link", None) is not None and law.link.name != usual.link.name:
        stated["link"] = law.link.name
    if law.__dict__.get("groups") is not None:
        stated["groups"] = list(law.groups)
    shown = ", ".join(f"{name}={_literal(value, infinity)}" for name, value in stated.items())
    return f"{prefix}{kind.__name__}({shown})"


def law_text(law: Any) -> str:
    """The law as the command line takes it: gamma, tweedie(power=1.5)."""
    if isinstance(law, Product):
        return " * ".join(law_text(factor) for factor in law.factors)
    name, brackets, rest = law_call(law).partition("(")
    return f"{name.lower()}{brackets}{rest}".removesuffix("()")


def fit_command(table: Any, target: str, noise: Noise, prior: Prior, options: dict[str, Any]) -> str:
    """The line of the shell that gives the fit; options that are None are left out."""
    parts = ["neglog", "fit", str(table), "--target", target, "--noise", law_text(noise)]
    if not isinstance(prior, Flat):
        parts += ["--prior", law_text(prior)]
    for name, value in options.items():
        parts += [f"--{name}", str(value)] if value is not None else []
    return shlex.join(parts)


def _same(one: Any, other: Any) -> bool:
    if one is None or other is None:
        return one is other
    return bool(np.array_equal(np.asarray(one), np.asarray(other)))


def _literal(value: Any, infinity: str) -> str:
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, list | tuple | np.ndarray):
        items = value.tolist() if isinstance(value, np.ndarray) else value
        return f"[{', '.join(_literal(item, infinity) for item in items)}]" if isinstance(items, list) else str(items)
    if isinstance(value, float | np.floating) and np.isinf(value):
        return infinity
    return repr(value.item() if isinstance(value, np.generic) else value)


@dataclass(frozen=True)
class Recipe:
    """What a comparison was asked for, which a fit has to be asked for too."""

    y: str = "y"
    prior: Prior = field(default_factory=Flat)
    others: dict[str, str] = field(default_factory=dict)  # arguments by name, as they are written

    def call(self, noise: Noise) -> str:
        """The call of `nl.fit` that gives the fit of this noise to all rows of the X that was compared."""
        laws = [law_call(noise, "nl.", 'float("inf")')]
        if not isinstance(self.prior, Flat):
            laws.append(law_call(self.prior, "nl.", 'float("inf")'))
        return f"nl.fit({', '.join(['X', self.y, *laws, *(f'{k}={v}' for k, v in self.others.items())])})"


def recipe_of(y: Any, prior: Prior, rows: dict[str, Any], settings: dict[str, Any]) -> Recipe:
    """From the arguments of a comparison: names of columns as they are, arrays by the names of their arguments.

    `settings` are those that differ from the defaults of `nl.fit`.
    """
    others = {
        what: _literal(value, "") if isinstance(value, str) else what
        for what, value in rows.items()
        if value is not None
    }
    for what, value in settings.items():
        others[what] = _literal(os.fspath(value) if isinstance(value, os.PathLike) else value, "")
    return Recipe(_literal(y, "") if isinstance(y, str) else "y", prior, others)
