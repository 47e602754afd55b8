"""Fits by group as JSON, and back: nothing in a file is run, and what is not as it should be is refused."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from neglog.design.design import Schema
from neglog.design.labels import Labels
from neglog.results.fit_by import FitBy
from neglog.results.pooled import Pooled
from neglog.results.storage import FORMAT, law_from_json, law_to_json
from neglog.results.stored_form import check_law, check_schema
from neglog.typing import Numbers

KIND = "neglog fit by"
NUMBERS = ("intercept", "nll", "intercept_standard_errors")
TABLES = ("coef", "standard_errors")
COUNTS = ("n_iter", "n_rows")
BY_NAME = ("noise_parameters", "noise_standard_errors")


def groups_to_json(fits: FitBy) -> dict[str, Any]:
    """Everything that can be asked of the fits without their data, as plain values."""
    state = fits.state()
    pooled = fits.pooled
    return {
        KIND: FORMAT,
        "noise": law_to_json(fits.stated_noise),
        "prior": law_to_json(fits.prior),
        "schema": fits.schema.to_json(),
        "labels": fits.labels.to_json(),
        "named": fits.named,
        "notes": fits.notes,
        "has_intercept": fits.has_intercept,
        "converged": fits.converged.tolist(),
        "numbers": {name: state[name].tolist() for name in (*NUMBERS, *TABLES, *COUNTS)},
        **{name: {key: own.tolist() for key, own in state[name].items()} for name in BY_NAME},
        "texts": {str(group): text for group, text in fits.texts.items()},
        "remarks": {str(group): text for group, text in fits.remarks.items()},
        "held": {str(group): list(columns) for group, columns in fits.held.items()},
        "pooled": None if pooled is None else _pooled_to_json(pooled),
    }


def groups_from_json(stored: Mapping[str, Any]) -> FitBy:
    """The fits that `groups_to_json` described."""
    check_schema(stored["schema"])
    check_law(stored["noise"], "noise")
    check_law(stored["prior"], "prior")
    schema, labels = Schema.from_json(stored["schema"]), Labels.from_json(stored["labels"])
    count, columns = len(labels), schema.columns
    state: dict[str, Any] = {name: _array(stored["numbers"][name], (count,), name) for name in (*NUMBERS, *COUNTS)}
    state |= {name: _array(stored["numbers"][name], (count, columns), name) for name in TABLES}
    state |= {name: state[name].astype(np.int64) for name in COUNTS}
    for name in BY_NAME:
        state[name] = {str(key): _array(own, (count,), key) for key, own in stored[name].items()}
    noise = law_from_json(stored["noise"])
    if set(state["noise_parameters"]) != set(noise.unknown):
        raise ValueError(f"noise_parameters must be those that the noise leaves open, {', '.join(noise.unknown)}")
    texts, remarks = (
        {_group(key, count): str(text) for key, text in stored[name].items()} for name in ("texts", "remarks")
    )
    held = {_group(key, count): tuple(int(k) for k in own) for key, own in stored["held"].items()}
    if any(not 0 <= k < columns for own in held.values() for k in own):
        raise ValueError("held has columns that are not there")
    pooled = stored["pooled"]
    state |= {
        "stated_noise": noise,
        "prior": law_from_json(stored["prior"]),
        "schema": schema,
        "labels": labels,
        "named": {str(what): str(name) for what, name in stored["named"].items()},
        "notes": [str(note) for note in stored["notes"]],
        "has_intercept": bool(stored["has_intercept"]),
        "converged": _array(stored["converged"], (count,), "converged").astype(bool),
        "texts": texts,
        "remarks": remarks,
        "held": held,
        "pooled": None if pooled is None else _pooled_from_json(pooled, columns, noise.unknown),
    }
    return FitBy(state)


def _array(values: Any, shape: tuple[int, ...], name: str) -> Numbers:
    array = np.array(values)
    if array.size == 0:
        array = array.reshape(shape).astype(float)
    if array.shape != shape or array.dtype.kind not in "bif":
        raise ValueError(f"{name} must be numbers in the shape {shape}, but has {array.shape}")
    return array if array.dtype.kind == "b" else array.astype(float)


def _group(key: str, count: int) -> int:
    group = int(key)
    if not 0 <= group < count:
        raise ValueError(f"there is no group {group}")
    return group


def _pooled_to_json(pooled: Pooled) -> dict[str, Any]:
    return {name: own.tolist() if isinstance(own, np.ndarray) else own for name, own in vars(pooled).items()}


def _pooled_from_json(stored: Mapping[str, Any], columns: int, unknown: tuple[str, ...]) -> Pooled:
    values: dict[str, Any] = {}
    for name, kind in Pooled.__annotations__.items():
        own = stored[name]
        if kind is Numbers:
            values[name] = _array(own, (columns,), name)
        elif name in ("noise", "noise_errors"):
            if set(own) != set(unknown):
                raise ValueError("pooled must have what the noise leaves open")
            values[name] = {str(key): float(value) for key, value in own.items()}
        else:
            values[name] = tuple(map(str, own)) if name == "names" else kind(own)
    return Pooled(**values)
