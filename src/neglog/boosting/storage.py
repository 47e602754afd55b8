"""Boosted models as one JSON file: what neglog knows about them, and the trainer's own text."""

import json
import os
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from neglog.atomic import written_whole
from neglog.boosting.ensemble import BoostedEnsemble
from neglog.boosting.model import Boosted, BoostedModel
from neglog.boosting.rows import Features
from neglog.distributions.noise import Noise
from neglog.distributions.registry import FAMILIES
from neglog.results.storage import law_from_json, law_to_json

KEY = "neglog boosted model"
FORMAT = 1
TRAINERS = ("lightgbm", "xgboost")
KINDS: dict[str, Any] = {
    "trainer": str,
    "noise": dict,
    "intercept": list,
    "classes": list | None,
    "columns": int,
    "names": list | None,
    "named": dict,
    "rounds": int,
    "held out": float | int | None,
    "booster": str,
}


def save(model: Boosted, path: str | os.PathLike[str]) -> None:
    """Write the model to a file, which appears only when it is complete."""
    if isinstance(model, BoostedEnsemble):
        stored = {KEY: FORMAT, "members": [_stored(one) for one in model.members], "held out": model.held_out}
    else:
        assert isinstance(model, BoostedModel)
        stored = {KEY: FORMAT, **_stored(model)}
    with written_whole(path) as file:
        file.write(json.dumps(stored, indent=1).encode())


def _stored(model: BoostedModel) -> dict[str, Any]:
    return {
        "trainer": model.library.name,
        "noise": law_to_json(model.noise),
        "intercept": model.intercept.tolist(),
        "classes": None if model.classes is None else model.classes.tolist(),
        "columns": model.features.count,
        "names": None if model.features.names is None else list(model.features.names),
        "named": dict(model.features.named),
        "rounds": model.rounds,
        "held out": model.held_out,
        "booster": model.library.to_text(model.booster, model.rounds),
    }


def load(path: str | os.PathLike[str]) -> Any:
    """The model that `model.save(path)` wrote. The file is read, never run; what does not fit together is refused."""
    try:
        stored = json.loads(Path(path).read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:  # not UTF-8, not JSON, cut short
        raise ValueError(f"{path} is not a boosted model: it is no JSON ({error})") from None
    found = stored.get(KEY) if isinstance(stored, dict) else None
    if found != FORMAT:
        raise ValueError(f"{path} is not a boosted model that this version can read (format {found}, wanted {FORMAT})")
    if "members" not in stored:
        return _model(stored, path)
    held_out, several = stored.get("held out"), stored["members"]
    alike = isinstance(several, list) and several and all(isinstance(one, dict) for one in several)
    if not alike or not isinstance(held_out, float | int | None):
        raise ValueError(f"{path} is damaged: members or held out is not what it should be")
    members = tuple(_model(one, path) for one in several)
    if len({(one.library.name, type(one.noise), one.noise.modelled, one.features.count) for one in members}) > 1:
        raise ValueError(f"{path} is damaged: its members are not models of the same kind")
    return BoostedEnsemble(members, held_out)


def _model(stored: dict[str, Any], path: Any) -> BoostedModel:
    stored.setdefault("named", {})  # which older files lack
    wrong = [name for name, kind in KINDS.items() if name not in stored or not isinstance(stored[name], kind)]
    if wrong or stored["trainer"] not in TRAINERS:
        raise ValueError(f"{path} is damaged: {', '.join(wrong) or 'trainer'} is missing or not what it should be")
    family = FAMILIES.get(str(stored["noise"].get("family")).lower())
    if family is None or not issubclass(family, Noise):
        raise ValueError(f"{path} is damaged: there is no noise {stored['noise'].get('family')!r}")
    library = import_module(f"neglog.{stored['trainer']}").TRAINER
    noise = law_from_json(stored["noise"])
    model = BoostedModel(
        library,
        library.from_text(stored["booster"]),
        noise,
        np.array(stored["intercept"], np.float64),
        Features(stored["columns"], None if stored["names"] is None else tuple(stored["names"]), stored["named"]),
        stored["rounds"],
        None if stored["classes"] is None else np.array(stored["classes"]),
        stored["held out"],
    )
    if model.intercept.shape != (model.outputs,):
        raise ValueError(
            f"{path} is damaged: {noise!r} has {model.outputs} raw predictions, but there are {len(model.intercept)} "
            "intercepts"
        )
    return model
