"""Fits as JSON: what was found, without the data."""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from neglog.atomic import written_whole
from neglog.belief.standard_errors import Information
from neglog.design.design import Schema
from neglog.distributions.product import Product
from neglog.distributions.registry import FAMILIES
from neglog.results.contrasts import Contrasts
from neglog.results.fit import Fit
from neglog.results.stored_form import check

FORMAT = 1


def save(fit: Fit, path: str | os.PathLike[str]) -> None:
    """Write the fit to a file, which appears only when it is complete."""
    text = json.dumps(to_json(fit), indent=1)
    with written_whole(path) as file:
        file.write(text.encode())


def load(path: str | os.PathLike[str]) -> Fit:
    """The fit that `fit.save(path)` wrote. Nothing in the file is run; whatever is not as it should be is refused."""
    try:
        stored = json.loads(Path(path).read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:  # not UTF-8, not JSON, cut short
        raise ValueError(f"{path} is not a saved fit: it is no complete JSON file ({error})") from None
    if not isinstance(stored, dict) or stored.get("neglog fit") != FORMAT:
        found = stored.get("neglog fit") if isinstance(stored, dict) else None
        raise ValueError(f"{path} is not a fit that this version can read (format {found}, wanted {FORMAT})")
    try:
        check(stored)
        return from_json(stored)
    except (ValueError, TypeError, KeyError) as error:
        raise ValueError(f"{path} is not a sound fit: {error}") from None


def to_json(fit: Fit) -> dict[str, Any]:
    """Everything that can be asked of a fit without its data, as plain values."""
    state = fit.__getstate__()
    information, contrasts = state.pop("_information"), state.pop("_contrasts", None)
    parts = {} if contrasts is None else {"contrasts": {name: _plain(value) for name, value in vars(contrasts).items()}}
    return {
        "neglog fit": FORMAT,
        "noise": law_to_json(state.pop("noise")),
        "prior": law_to_json(state.pop("prior")),
        "schema": state.pop("schema").to_json(),
        "information": {name: _plain(value) for name, value in vars(information).items()},
        "values": {name: _plain(value) for name, value in state.items()},
        **parts,
    }


def from_json(stored: dict[str, Any]) -> Fit:
    """The fit that `to_json` described."""
    fit = object.__new__(Fit)
    information = {name: _array(value) for name, value in stored["information"].items()}
    fit.__dict__.update({name: _array(value) for name, value in stored["values"].items()})
    fit.__dict__.update(
        noise=law_from_json(stored["noise"]),
        prior=law_from_json(stored["prior"]),
        schema=Schema.from_json(stored["schema"]),
        _information=Information(**information),
    )
    if "contrasts" in stored:
        fit.__dict__["_contrasts"] = Contrasts(**{name: _array(value) for name, value in stored["contrasts"].items()})
    return fit


def law_to_json(law: Any) -> dict[str, Any]:
    """A distribution as plain values."""
    if isinstance(law, Product):
        return {"product": [law_to_json(factor) for factor in law.factors]}
    link = {"link": law.link.name} if hasattr(law, "link") else {}
    return {"family": type(law).__name__, **{name: _plain(value) for name, value in law.parameters.items()}, **link}


def law_from_json(stored: dict[str, Any]) -> Any:
    """The distribution that `law_to_json` described."""
    if "product" in stored:
        first, second = (law_from_json(factor) for factor in stored["product"])
        return first * second
    values = {name: _array(value) for name, value in stored.items() if name != "family"}
    return FAMILIES[stored["family"].lower()](**values)


def _plain(value: Any) -> Any:
    """Arrays as lists, marked as such; NumPy numbers as numbers. JSON knows NaN and Infinity as Python writes them."""
    if isinstance(value, np.ndarray):
        return {"array": value.tolist()}
    return value.item() if isinstance(value, np.generic) else value


def _array(value: Any) -> Any:
    return np.array(value["array"]) if isinstance(value, dict) and set(value) == {"array"} else value
