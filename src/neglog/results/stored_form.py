"""What a saved fit must look like: checked before anything is made of it."""

from collections.abc import Callable
from typing import Any

import numpy as np

from neglog.design.design import Schema, reference_flags
from neglog.design.functions import FUNCTIONS
from neglog.design.tables import KINDS
from neglog.distributions.parameters import MODEL
from neglog.distributions.registry import FAMILIES, listed

Check = Callable[[Any], bool]


def _is_number(x: Any) -> bool:
    return isinstance(x, int | float) and not isinstance(x, bool)


def _is_count(x: Any) -> bool:
    return isinstance(x, int) and not isinstance(x, bool) and x >= 0


def _is_text(x: Any) -> bool:
    return isinstance(x, str)


def _is_flag(x: Any) -> bool:
    return isinstance(x, bool)


def _is_level(x: Any) -> bool:
    return isinstance(x, str | int | float)


def _list_of(item: Check) -> Check:
    return lambda x: isinstance(x, list) and all(map(item, x))


def _map_to(value: Check) -> Check:
    return lambda x: isinstance(x, dict) and all(map(value, x.values()))


def _or_none(check: Check) -> Check:
    return lambda x: x is None or check(x)


def _is_array(x: Any) -> bool:
    """Numbers in the shape of an array, or labels."""
    if not (isinstance(x, dict) and set(x) == {"array"} and isinstance(x["array"], list)):
        return False
    try:
        return np.array(x["array"]).dtype.kind in "biufU"
    except ValueError:  # rows of different lengths
        return False


def _is_number_or_array(x: Any) -> bool:
    return _is_number(x) or _is_array(x)


PARTS: dict[str, dict[str, tuple[str, Check]]] = {
    "schema": {
        "columns": ("a count", _is_count),
        "names": ("a list of texts or null", _or_none(_list_of(_is_text))),
        "kinds": (f"a list of {', '.join(sorted(KINDS))} or null", _or_none(_list_of(lambda x: x in KINDS))),
        "levels": ("a list of levels or null", _or_none(_list_of(_or_none(_list_of(_is_level))))),
        "fill": ("a list of numbers and nulls, or null", _or_none(_list_of(_or_none(_is_number)))),
        "reference": ("true or false, or a list of these", lambda x: _is_flag(x) or _list_of(_is_flag)(x)),
    },
    "information": {
        "coefficients": ("an array", _is_array),
        "intercepts": ("an array", _is_array),
        "noise": ("numbers by name", _map_to(_is_number)),
        "covariance": ("an array", _is_array),
    },
    "values": {
        "named": ("texts by name", _map_to(_is_text)),
        "notes": ("a list of texts", _list_of(_is_text)),
        "coef": ("an array", _is_array),
        "intercept": ("a number or an array", _is_number_or_array),
        "converged": ("true or false", _is_flag),
        "n_iter": ("a count", _is_count),
        "message": ("text", _is_text),
        "n_rows": ("a count", _is_count),
        "target_summary": ("numbers by name", _map_to(_is_number)),
        "has_intercept": ("true or false", _is_flag),
        "total_weight": ("a number", _is_number),
        "nll": ("a number", _is_number),
        "penalty": ("a number", _is_number),
        "n_parameters": ("a count", _is_count),
        "d2": ("a number", _is_number),
    },
}
OPTIONAL: dict[str, dict[str, tuple[str, Check]]] = {
    "information": {"places": ("an array or null", _or_none(_is_array))},
    "schema": {
        "terms": ("a list of names and objects", _list_of(lambda x: isinstance(x, str | dict))),
        "shares": ("lists of counts by name", _map_to(_list_of(_is_count))),
        "functions": (
            f"a list of {', '.join(FUNCTIONS)} and nulls",
            _list_of(_or_none(lambda x: isinstance(x, str) and x in FUNCTIONS)),
        ),
    },
    "values": {
        "classes": ("an array", _is_array),
        "effective_parameters": ("a number", _is_number),
        "residual_degrees": ("a number or null", _or_none(_is_number)),
        "few_rows": ("a number", _is_number),
    },
    "contrasts": {"noise": ("numbers by name", _map_to(_is_number))},
}
SCALE = (
    "a number, numbers by label, or null",
    _or_none(lambda x: _is_number(x) or _map_to(_is_number)(x)),
)
TERM: dict[str, tuple[str, Check]] = {
    "name": ("text", _is_text),
    "kind": ("text", _is_text),
    "effective": ("a number", _is_number),
    "coefficients": ("a count", _is_count),
    "scale": SCALE,
    "error": SCALE,
}
PART: dict[str, tuple[str, Check]] = {
    "name": ("text", _is_text),
    "kind": ("text", _is_text),
    "variables": ("a list of objects", _list_of(lambda x: isinstance(x, dict))),
    "factors": (
        "a list of names with levels",
        _list_of(lambda x: isinstance(x, list) and len(x) == 2 and _is_text(x[0]) and _list_of(_is_level)(x[1])),
    ),
    "pairs": (
        "a list of pairs of counts, or null",
        _or_none(_list_of(lambda x: _list_of(_is_count)(x) and len(x) == 2)),
    ),
    "scale": ("a number or null", _or_none(_is_number)),
}
NUMBER: dict[str, tuple[str, Check]] = {
    "column": ("text", _is_text),
    "middle": ("a number", _is_number),
    "unit": ("a number", _is_number),
}
CURVE: dict[str, tuple[str, Check]] = {
    "column": ("text", _is_text),
    "knots": ("ascending numbers", lambda x: _list_of(_is_number)(x) and len(x) > 2 and x == sorted(set(x))),
    "turn": ("rows of numbers", _list_of(_list_of(_is_number))),
}
PREDICTOR = {
    "intercept": ("a number", _is_number),
    "coef": ("an array", _is_array),
    "prior": ("an object", lambda x: isinstance(x, dict)),
}
CONTRASTS = dict.fromkeys(("shares", "factors", "coefficients", "intercepts"), ("an array", _is_array))


def check(stored: dict[str, Any]) -> None:
    """Refuse what is not as `to_json` writes it."""
    for part, wanted in PARTS.items():
        _check_part(part, stored.get(part), wanted, OPTIONAL.get(part, {}))
    if "contrasts" in stored:
        _check_part("contrasts", stored["contrasts"], CONTRASTS, OPTIONAL["contrasts"])
    predictors = stored.get("predictors", {})
    if not isinstance(predictors, dict):
        raise ValueError(f"'predictors' must be an object, but is {_short(predictors)}")
    for name, one in predictors.items():
        _check_part(f"predictors.{name}", one, PREDICTOR, {"terms": ("a list", lambda x: isinstance(x, list))})
        for term in one.get("terms", []):
            _check_part(f"predictors.{name}.terms", term, TERM, {})
        check_law(one["prior"], f"predictors.{name}.prior")
    for term in _listed(stored.get("terms", []), "terms"):
        _check_part("terms", term, TERM, {})
    for part in _listed(stored["schema"].get("terms", []), "schema.terms"):
        _check_term(part, stored["schema"])
    unknown = set(stored) - {"neglog fit", "noise", "prior", "contrasts", "predictors", "terms", *PARTS}
    if unknown:
        raise ValueError(f"it has unknown parts: {', '.join(sorted(unknown))}")
    for law in ("noise", "prior"):
        check_law(stored.get(law), law)
    modelled = [name for name, value in stored["noise"].items() if name not in ("family", "link") and value == MODEL]
    if sorted(modelled) != sorted(predictors):
        raise ValueError(
            f"predictors must be those of the modelled parameters of the noise, {', '.join(modelled) or 'none'}, but "
            f"are of {', '.join(predictors) or 'none'}"
        )
    _check_sizes(stored)


def _listed(given: Any, what: str) -> list[Any]:
    if not isinstance(given, list):
        raise ValueError(f"{what!r} must be a list, but is {_short(given)}")
    return given


def _check_term(part: Any, schema: dict[str, Any]) -> None:
    """A term of the schema: a column, where one lacks values, or what is made of some."""
    names = schema["names"] or []
    if isinstance(part, str) or "gap" in part:
        own = [part if isinstance(part, str) else part["gap"]]
    else:
        _check_part("schema.terms", part, PART, {})
        for variable in part["variables"]:
            _check_part("schema.terms", variable, CURVE if "knots" in variable else NUMBER, {})
            if "knots" in variable:
                size = len(variable["knots"])
                if len(variable["turn"]) != size + 2 or any(len(row) != size - 1 for row in variable["turn"]):
                    raise ValueError(f"the curve of {variable['column']!r} has a turn that does not fit its knots")
        if not 0 < len(part["variables"]) + len(part["factors"]) <= 2:
            raise ValueError(f"the term {part['name']!r} must be of one or two columns")
        sizes = [len(levels) for _, levels in part["factors"]]
        pairs = part["pairs"] or []
        if (part["pairs"] is None) != (len(sizes) < 2) or any(i >= sizes[0] or j >= sizes[1] for i, j in pairs):
            raise ValueError(f"the term {part['name']!r} has pairs that do not fit its levels")
        own = [*(variable["column"] for variable in part["variables"]), *(name for name, _ in part["factors"])]
    absent = [name for name in own if name not in names]
    if absent:
        raise ValueError(f"schema.terms has columns that the schema lacks: {', '.join(map(str, absent))}")


def check_several(stored: dict[str, Any]) -> None:
    """Refuse what is not as `to_json` writes several quantiles; each of their fits is checked on its own."""
    if set(stored) != {"neglog fits", "crossed", "fits"}:
        raise ValueError(f"it must have crossed and fits, but has {_short(sorted(set(stored) - {'neglog fits'}))}")
    if not (
        _is_count(stored["crossed"]) and stored["fits"] and _list_of(lambda x: isinstance(x, dict))(stored["fits"])
    ):
        raise ValueError("crossed must be a count and fits a list of fits")


def _check_part(part: str, given: Any, wanted: dict[str, Any], optional: dict[str, Any]) -> None:
    if not isinstance(given, dict):
        raise ValueError(f"{part!r} must be an object, but is {_short(given)}")
    absent, unknown = wanted.keys() - given.keys(), given.keys() - wanted.keys() - optional.keys()
    if absent or unknown:
        what = f"lacks {', '.join(sorted(absent))}" if absent else f"has unknown entries {', '.join(sorted(unknown))}"
        raise ValueError(f"{part!r} {what}")
    for name, (words, good) in {**wanted, **optional}.items():
        if name in given and not good(given[name]):
            raise ValueError(f"{part}.{name} must be {words}, but is {_short(given[name])}")


def check_law(given: Any, what: str) -> None:
    """Refuse what is no distribution as `law_to_json` writes it."""
    if not isinstance(given, dict):
        raise ValueError(f"{what!r} must be an object, but is {_short(given)}")
    if set(given) == {"product"}:
        factors = given["product"]
        if not (isinstance(factors, list) and len(factors) == 2):
            raise ValueError(f"{what}.product must be two distributions, but is {_short(factors)}")
        for factor in factors:
            check_law(factor, what)
        return
    family = given.get("family")
    if not (isinstance(family, str) and family.lower() in FAMILIES):
        raise ValueError(f"{what}.family must be one of {listed()}, but is {_short(family)}")
    for name, value in given.items():
        if name != "family" and not (value is None or _is_text(value) or _is_number_or_array(value)):
            raise ValueError(f"{what}.{name} must be a number, an array or null, but is {_short(value)}")


def check_schema(given: Any) -> None:
    """Refuse what is no schema as `Schema.to_json` writes it."""
    _check_part("schema", given, PARTS["schema"], OPTIONAL["schema"])
    for part in _listed(given.get("terms", []), "schema.terms"):
        _check_term(part, given)
    _columns_of(given)


def _columns_of(schema: dict[str, Any]) -> int:
    """How many coefficients a schema has, whose lists must be of its columns."""
    if schema["names"] is None:
        return int(schema["columns"])
    lists = [schema[name] for name in ("names", "kinds", "levels", "fill")]
    if any(one is None or len(one) != schema["columns"] for one in lists):
        raise ValueError("schema.names, kinds, levels and fill must have one entry for each of its columns")
    referred = reference_flags(schema)
    if len(referred) != schema["columns"]:
        raise ValueError("schema.reference must be one flag, or one for each of its columns")
    return Schema.from_json(schema).columns


def _check_sizes(stored: dict[str, Any]) -> None:
    """One coefficient and one standard error per column of the schema."""
    schema, values = stored["schema"], stored["values"]
    columns = _columns_of(schema)
    coef, errors = (np.array(x["array"], float) for x in (values["coef"], stored["information"]["coefficients"]))
    kept = _kept_counts(schema, columns, stored.get("predictors", {}))
    others = {name: np.array(one["coef"]["array"], float).shape for name, one in stored.get("predictors", {}).items()}
    if any(shape != (kept[name],) for name, shape in others.items()):
        wanted = columns if "shares" not in schema else ", ".join(f"{kept[name]} ({name})" for name in others)
        raise ValueError(f"predictors must have one coefficient for each of {wanted} columns, but have {others}")
    if coef.shape[-1:] != (kept["location"],) or errors.shape[-1:] != (columns,):
        raise ValueError(
            f"it has {coef.shape[-1] if coef.ndim else 0} coefficients and {errors.shape[-1] if errors.ndim else 0} "
            f"standard errors for {columns} columns"
        )
    if "contrasts" in stored:
        shapes = {name: np.array(stored["contrasts"][name]["array"]).shape for name in CONTRASTS}
        sizes = {"shares": (columns,), "factors": (columns,), "coefficients": errors.shape}
        if shapes != {**sizes, "intercepts": errors.shape[:1]}:
            raise ValueError(f"contrasts must have the shapes of the {columns} coefficients, but have {shapes}")


def _kept_counts(schema: dict[str, Any], columns: int, predictors: dict[str, Any]) -> dict[str, int]:
    """How many coefficients the location and each modelled parameter have."""
    names = ["location", *predictors]
    if "shares" not in schema:
        return dict.fromkeys(names, columns)
    if sorted(schema["shares"]) != sorted(names):
        raise ValueError(f"schema.shares must be of {', '.join(names)}, but are of {', '.join(schema['shares'])}")
    whole = Schema.from_json(schema)
    return {name: int(whole.kept(name).sum()) for name in names}


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
