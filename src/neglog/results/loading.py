"""Saved fits, read and checked: nothing in a file is run."""

import json
import os
from pathlib import Path
from typing import Any

from neglog.belief.standard_errors import Information
from neglog.design.design import Schema
from neglog.results.contrasts import Contrasts
from neglog.results.fit import Fit
from neglog.results.storage import FORMAT, as_array, law_from_json
from neglog.results.stored_form import check


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
    if "contrasts" in stored:
        state["_contrasts"] = Contrasts(**{name: as_array(value) for name, value in stored["contrasts"].items()})
    return Fit(state)
