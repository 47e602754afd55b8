"""Fits as JSON: what was found, without the data; `loading` reads it."""

import json
import os
from typing import Any

import numpy as np

from neglog.atomic import written_whole
from neglog.distributions.noise import Noise
from neglog.distributions.product import Product
from neglog.distributions.registry import FAMILIES

FORMAT = 1


def save(fit: Any, path: str | os.PathLike[str]) -> None:
    """Write the fit to a file, which appears only when it is complete."""
    write(to_json(fit), path)


def write(stored: dict[str, Any], path: str | os.PathLike[str]) -> None:
    """Write plain values to a file, which appears only when it is complete."""
    text = json.dumps(stored, indent=1)
    with written_whole(path) as file:
        file.write(text.encode())


def to_json(fit: Any) -> dict[str, Any]:
    """Everything that can be asked of a fit without its data, as plain values."""
    state = dict(fit.state())
    if "fits" in state:  # of several quantiles
        return {"neglog fits": FORMAT, "crossed": state["crossed"], "fits": [to_json(one) for one in state["fits"]]}
    information, contrasts = state.pop("_information"), state.pop("_contrasts", None)
    parts: dict[str, Any] = {}
    if contrasts is not None:
        parts["contrasts"] = {name: _plain(value) for name, value in vars(contrasts).items()}
    terms = state.pop("terms", None)
    if terms is not None:
        parts["terms"] = terms.to_json()
    modelled = state.pop("_modelled")
    if modelled:
        parts["predictors"] = {
            name: {
                "intercept": one.intercept,
                "coef": _plain(one.coef),
                "prior": law_to_json(one.prior),
                **({} if one.terms is None else {"terms": one.terms.to_json()}),
            }
            for name, one in modelled.items()
        }
    return {
        "neglog fit": FORMAT,
        "noise": law_to_json(state.pop("noise")),
        "prior": law_to_json(state.pop("prior")),
        "schema": state.pop("schema").to_json(),
        "information": {name: _plain(value) for name, value in vars(information).items()},
        "values": {name: _plain(value) for name, value in state.items()},
        **parts,
    }


def law_to_json(law: Any) -> dict[str, Any]:
    """A distribution as plain values."""
    if isinstance(law, Product):
        return {"product": [law_to_json(factor) for factor in law.factors]}
    stated = law.as_stated | law.extras | {"link": law.link.name} if isinstance(law, Noise) else law.parameters
    return {"family": type(law).__name__, **{name: _plain(value) for name, value in stated.items()}}


def law_from_json(stored: dict[str, Any]) -> Any:
    """The distribution that `law_to_json` described."""
    if "product" in stored:
        first, second = (law_from_json(factor) for factor in stored["product"])
        return first * second
    values = {name: as_array(value) for name, value in stored.items() if name != "family"}
    return FAMILIES[stored["family"].lower()](**values)


def _plain(value: Any) -> Any:
    """Arrays as lists, marked as such; NumPy numbers as numbers. JSON knows NaN and Infinity as Python writes them."""
    if isinstance(value, np.ndarray):
        return {"array": value.tolist()}
    return value.item() if isinstance(value, np.generic) else value


def as_array(value: Any) -> Any:
    return np.array(value["array"]) if isinstance(value, dict) and set(value) == {"array"} else value
