"""How a fit is asked for again: the call in Python, and the line of the shell."""

import json
import os
import re
import shlex
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from neglog.distributions import Flat
from neglog.distributions.base import Prior
from neglog.distributions.censored import NamedCells
from neglog.distributions.composed import Composed
from neglog.distributions.noise import Noise
from neglog.distributions.product import Product

BESIDE_TREES = ("sample_weight", "offset", "exposure")
TREES = {"learning_rate": 0.1, "num_leaves": 15, "min_child_samples": 20}
ROUNDS, STOPPING, HELD = 1000, 20, 0.15  # of trees: the most, those without a gain, and the share of rows that tells it


def trees_call(noise: str, y: str, beside: dict[str, str]) -> str:
    """The call that grows trees."""
    params = ", ".join(f'"{name}": {value}' for name, value in TREES.items())
    settings = f"valid={HELD}, num_boost_round={ROUNDS}, early_stopping_rounds={STOPPING}"
    others = "".join(f", {name}={value}" for name, value in beside.items())
    return f"neglog.lightgbm.train({{{params}}}, X, {y}, {noise}, {settings}{others})"


def law_call(law: Any, prefix: str = "", infinity: str = "inf") -> str:
    """The shortest call that makes the law: what it states beside the defaults of its family."""
    if isinstance(law, Product):
        return " * ".join(law_call(factor, prefix, infinity) for factor in law.factors)
    kind = type(law)
    if isinstance(law, Composed):
        stated = {q.name: law.as_stated[q.name] for q in law.further if law.as_stated[q.name] is not None}
        own = [f"{name}={_literal(value, infinity)}" for name, value in stated.items()]
        return f"{prefix}{law.around}({', '.join([law_call(law.noise, prefix, infinity), *own])})"
    try:
        usual = kind()
    except TypeError:  # a family that has to be told something
        return f"{prefix}{law!r}"
    given = law.as_stated | law.extras if isinstance(law, Noise) else law.parameters
    others = usual.parameters | (usual.extras if isinstance(usual, Noise) else {})
    stated = {name: value for name, value in given.items() if not _same(value, others[name])}
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
    return re.sub(r"(\w+)\(", lambda call: call[0].lower(), law_call(law)).replace("()", "")


def fit_command(table: Any, target: str | None, noise: Noise, prior: Prior, options: dict[str, Any]) -> str:
    """The line of the shell that gives the fit; options that are None are left out."""
    asked = [] if target is None else ["--target", target]  # or the ends of what is known of it, among the options
    parts = ["neglog", "fit", str(table), *asked, "--noise", law_text(noise)]
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
    linear: list[Any] | None = None  # the terms of the columns as they are, where these are not just that

    def options(self, structure: str) -> dict[str, str]:
        """Those of the command line that make such terms."""
        if structure == "smooth":
            return {"smooth": "auto"}
        groups = [one.column for one in self.linear or () if not isinstance(one, str)]
        return {"group": ",".join(groups)} if structure == "linear" and groups else {}

    def call(self, noise: Noise, structure: str = "linear") -> str:
        """The call that gives the fit of this noise to all rows of the X that was compared."""
        if structure == "trees":
            beside = {name: value for name, value in self.others.items() if name in BESIDE_TREES}
            return trees_call(law_call(noise, "nl.", 'float("inf")'), self.y, beside)
        terms = {"linear": None if self.linear is None else repr(self.linear), "smooth": '"smooth"', "constant": "[]"}[
            structure
        ]
        others = {**({} if terms is None else {"terms": terms}), **self.others}
        laws = [law_call(noise, "nl.", 'float("inf")')]
        if not isinstance(self.prior, Flat):
            laws.append(law_call(self.prior, "nl.", 'float("inf")'))
        return f"nl.fit({', '.join(['X', self.y, *laws, *(f'{k}={v}' for k, v in others.items())])})"


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
    return Recipe(_target_text(y), prior, others)


def _target_text(y: Any) -> str:
    """The target as it is written in a call: by the names of its columns, else by that of its argument."""
    if isinstance(y, NamedCells):
        lower, (what, name) = y.ends["y"], next(item for item in y.ends.items() if item[0] != "y")
        end = _literal(name, "") if what == "upper" else f"{what}={_literal(name, '')}"
        return f"nl.censored({_literal(lower, '')}, {end})"
    return _literal(y, "") if isinstance(y, str) else "y"
