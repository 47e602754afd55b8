"""Saved fits, read and checked: nothing in a file is run."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from neglog.belief.standard_errors import Information
from neglog.design.design import Schema
from neglog.results.contrasts import Contrasts
from neglog.results.fit import Fit
from neglog.results.fit_by import FitBy
from neglog.results.predictor import Predictor
from neglog.results.quantile_fit import QuantileFit
from neglog.results.storage import FORMAT, as_array, law_from_json
from neglog.results.stored_form import check, check_several
from neglog.results.stored_groups import KIND, groups_from_json
from neglog.results.terms import Terms


def load(path: str | os.PathLike[str]) -> Any:
    """The fit that `fit.save(path)` wrote: a `Fit`, or a `FitBy` of groups. Nothing in the file is run; whatever is not
    as it should be is refused.
    """
    try:
        stored = json.loads(Path(path).read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:  # not UTF-8, not JSON, cut short
        raise ValueError(f"{path} is not a saved fit: it is no complete JSON file ({error})") from None
    kinds = [name for name in ("neglog fit", "neglog fits", KIND) if isinstance(stored, dict) and name in stored]
    found = stored[kinds[0]] if kinds else None
    if found != FORMAT:
        raise ValueError(f"{path} is not a fit that this version can read (format {found}, wanted {FORMAT})")
    try:
        return _READERS[kinds[0]](stored)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ValueError(f"{path} is not a sound fit: {error}") from None


def _one(stored: dict[str, Any]) -> Fit:
    check(stored)
    return from_json(stored)


def _several(stored: dict[str, Any]) -> QuantileFit:
    """The fits of several quantiles, which must be of the same columns."""
    check_several(stored)
    fits = [_one(part) for part in stored["fits"]]
    asked: list[Any] = [fit.noise.parameters.get(fit.noise.traits.asks or "") for fit in fits]
    if None in asked or sorted(set(asked)) != asked or any(fit.names != fits[0].names for fit in fits):
        raise ValueError("its fits must be of the same columns and of different quantiles, in increasing order")
    return QuantileFit(fits, stored["crossed"])


_READERS: dict[str, Callable[[dict[str, Any]], Fit | FitBy]] = {
    "neglog fit": _one,
    "neglog fits": _several,
    KIND: groups_from_json,
}


def from_json(stored: dict[str, Any]) -> Fit:
    """The fit that `to_json` described."""
    information = {name: as_array(value) for name, value in stored["information"].items()}
    state: dict[str, Any] = {name: as_array(value) for name, value in stored["values"].items()}
    state.update(
        noise=law_from_json(stored["noise"]),
        prior=law_from_json(stored["prior"]),
        schema=Schema.from_json(stored["schema"]),
        _information=Information(**information),
    )
    names = state["schema"].names
    state["_modelled"] = {
        name: Predictor(
            one["intercept"],
            as_array(one["coef"]),
            tuple(np.array(names, object)[state["schema"].kept(name)]),
            law_from_json(one["prior"]),
            Terms.from_json(one["terms"]) if "terms" in one else None,
        )
        for name, one in stored.get("predictors", {}).items()
    }
    if "terms" in stored:
        state["terms"] = Terms.from_json(stored["terms"])
    if "contrasts" in stored:
        state["_contrasts"] = Contrasts(**{name: as_array(value) for name, value in stored["contrasts"].items()})
    return Fit(state)
