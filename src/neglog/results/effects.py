"""Effects: what one term adds to the raw prediction, over its range, and how sure that is."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from neglog.design.blocks import Basis, Block, Codes, Dense
from neglog.design.design import Column, Gap, Schema
from neglog.design.parts import Curve, Part
from neglog.design.tables import quoted
from neglog.printing import did_you_mean
from neglog.testing.together import together
from neglog.typing import Numbers

if TYPE_CHECKING:
    from neglog.results.fit import Fit

POINTS = 100  # of a curve
SQUARE = 30  # points of a surface, each way
TOGETHER = 1000  # levels whose covariance is looked at as a whole


@dataclass(frozen=True)
class Effect:
    """What a term adds to the raw prediction.

    x         where: numbers of a curve; names of levels; of a term of two columns a pair of arrays, one for each
    estimate  what it adds there; a curve has the mean 0 over the rows of the fit
    lower     the ends of its credible interval: of each point by itself, or of all at once
    upper
    """

    name: str
    kind: str
    x: Any
    estimate: Numbers
    lower: Numbers
    upper: Numbers
    level: float


def effect_of(fit: "Fit", name: str, at: Any, level: float, simultaneous: bool, of: str) -> Effect:
    """`Fit.effect`."""
    if not 0 < level < 1:
        raise ValueError(f"level must be between 0 and 1, but is {level}")
    if fit.noise.of_classes:
        raise ValueError("a target of classes has as many effects of a term as classes; ask the coefficients")
    part, places = _part(fit.schema, name)
    outputs = ["location", *fit.noise.modelled]
    if of not in outputs:
        raise ValueError(f"of must be one of {', '.join(outputs)}, but is {of!r}")
    if not fit.schema.kept(of)[places].all():
        raise ValueError(f"{name} is no term of the {of}; its terms are {', '.join(names_of_terms(fit.schema, of))}")
    x, base = _points(part, at)
    matrix = _matrix(fit.schema, part, base)
    coef = np.asarray(fit.outputs[1][outputs.index(of)])[places]
    covariance = _covariance(fit, places, outputs.index(of), len(outputs))
    estimate = matrix @ coef
    spread = np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", matrix, covariance, matrix), 0.0))
    reach = fit.reach(level)
    if simultaneous:
        reach = fit.few_rows * together(matrix, covariance, level, fit.residual_degrees)
    kind = part.kind
    return Effect(name, kind, x, estimate, estimate - reach * spread, estimate + reach * spread, level)


def _part(schema: Schema, name: str) -> tuple[Column | Part, Numbers]:
    """The term of a name, or of the only term of a column, and where its coefficients are."""
    start, found = 0, []
    for part in schema.parts:
        count = len(part.coefficients)
        if not isinstance(part, Gap):
            known = {part.name, *((part.inputs[0],) if isinstance(part, Part) and len(part.inputs) == 1 else ())}
            if name in known:
                found.append((part, np.arange(start, start + count)))
        start += count
    if schema.table is None:
        raise ValueError("effects are of terms of a table; the columns of an array are its coefficients")
    if not found:
        names = [part.name for part in schema.parts if not isinstance(part, Gap)]
        raise KeyError(f"there is no term {name!r}; there are {', '.join(names)}{did_you_mean([name], names)}")
    exact = [one for one in found if one[0].name == name]
    return (exact or found)[0]


def names_of_terms(schema: Schema, predictor: str) -> list[str]:
    """The names of the terms of the location, or of a parameter that is modelled."""
    own = range(len(schema.parts)) if schema.shares is None else schema.shares[predictor]
    return [part.name for k, part in enumerate(schema.parts) if k in own and not isinstance(part, Gap)]


def _points(part: Column | Part, at: Any) -> tuple[Any, dict[str, list[Block]]]:
    """Where to look, and the columns of the table there."""
    if isinstance(part, Column):
        if part.levels is not None:
            chosen = _chosen(part.name, part.levels, at)
            return [part.levels[k] for k in chosen], {part.name: [Codes(chosen, part.levels)]}
        if at is None:
            raise ValueError(f"the effect of {part.name} is a straight line; say at=..., where to look")
        x = np.atleast_1d(np.asarray(at, float))
        return x, {part.name: [Dense.of(x[:, None])]}
    if not part.variables:
        levels = part.factors[0][1] if len(part.factors) == 1 else part.level_names
        chosen = _chosen(part.name, levels, at)
        return [part.level_names[k] for k in chosen], {"": [Codes(chosen, part.level_names)]}
    if len(part.variables) == 2:
        one, other = (_grid(variable, SQUARE) for variable in part.variables) if at is None else _pair(part, at)
        if at is None:
            one, other = (axis.ravel() for axis in np.meshgrid(one, other, indexing="ij"))
        one, other = (np.atleast_1d(np.asarray(axis, float)) for axis in (one, other))
        base = {v.column: [Dense.of(x[:, None])] for v, x in zip(part.variables, (one, other), strict=True)}
        return (one, other), base  # type: ignore[return-value]
    variable = part.variables[0]
    if not part.factors:
        x = _grid(variable, POINTS) if at is None else np.atleast_1d(np.asarray(at, float))
        return x, {variable.column: [Dense.of(x[:, None])]}
    name, levels = part.factors[0]
    if at is None:
        x = _grid(variable, POINTS)
        codes, whole = np.repeat(np.arange(len(levels), dtype=np.int32), len(x)), np.tile(x, len(levels))
    else:
        asked, x = _pair(part, at)
        codes, whole = _chosen(name, levels, asked), np.atleast_1d(np.asarray(x, float))
    labels = np.array(part.level_names, object)[codes]
    return (labels, whole), {variable.column: [Dense.of(whole[:, None])], name: [Codes(codes, levels)]}


def _chosen(name: str, levels: Any, at: Any) -> Any:
    """The numbers of these levels, or of all."""
    if at is None:
        return np.arange(len(levels), dtype=np.int32)
    place = {level: k for k, level in enumerate(levels)}
    asked = [at] if isinstance(at, str) else list(np.atleast_1d(np.asarray(at, object)))
    unknown = [level for level in asked if level not in place]
    if unknown:
        raise ValueError(
            f"{name} has no level {quoted(unknown)}; it has {quoted(levels)}{did_you_mean(unknown, levels)}"
        )
    return np.array([place[level] for level in asked], np.int32)


def _pair(part: Part, at: Any) -> tuple[Any, Any]:
    """What `at` says of each of two columns, in the order of `Part.inputs`."""
    if not (isinstance(at, tuple | list) and len(at) == 2 and np.size(at[0]) == np.size(at[1])):
        raise ValueError(
            f"{part.name} takes at=(values of {part.inputs[0]}, values of {part.inputs[1]}), as many of each"
        )
    return at[0], at[1]


def _grid(variable: Any, count: int) -> Numbers:
    if isinstance(variable, Curve):
        return np.linspace(variable.spline.knots[0], variable.spline.knots[-1], count)
    return np.asarray(variable.middle + variable.unit * np.linspace(-2, 2, count))


def _matrix(schema: Schema, part: Column | Part, base: dict[str, list[Block]]) -> Numbers:
    """The columns of the term at these points."""
    if isinstance(part, Part) and part.variables:
        block = part.block(base)
        assert isinstance(block, Basis)
        return block.values()
    own = next(iter(base.values()))[0]
    if isinstance(own, Codes):
        return np.eye(len(own.levels))[own.codes, int(isinstance(part, Column) and part.reference) :]
    assert isinstance(own, Dense)
    return own.values


def _covariance(fit: "Fit", places: Numbers, output: int, outputs: int) -> Numbers:
    """Of these coefficients of one row of them."""
    whole, known = np.asarray(fit._information.covariance), fit._information.places
    if known is not None:
        columns = fit.schema.columns + fit.has_intercept
        own = output * columns + core_places(fit.schema, fit.has_intercept)[places]
        if not np.isin(own, known).all():  # levels, of which each has an error
            return np.diag(fit._information.coefficients[output][places] ** 2)
        inside = np.searchsorted(known, own)
        return np.asarray(whole[np.ix_(inside, inside)])
    columns = len(whole) // outputs
    own = output * columns + core_places(fit.schema, fit.has_intercept)[places]
    return np.asarray(whole[np.ix_(own, own)])


def core_places(schema: Schema, intercept: bool) -> Numbers:
    """For each coefficient its place in the core's order: numbers, levels, curves."""
    kinds = np.concatenate([np.empty(0, int), *(np.full(len(part.coefficients), _rank(part)) for part in schema.parts)])
    places = np.empty(len(kinds), int)
    places[np.argsort(kinds, kind="stable")] = np.arange(len(kinds)) + intercept
    return places


def _rank(part: Column | Gap | Part) -> int:
    if isinstance(part, Part):
        return 2 if part.variables else 1
    return int(isinstance(part, Column) and part.levels is not None)


def contrast_of(fit: "Fit", name: str, at: Any, base: Any, level: float, of: str) -> Effect:
    """An effect less that at a base: of numbers another value, of levels their shares, which make an average, or
    nothing. Of two classes it is that on the log odds of the second.
    """
    part, places = _part(fit.schema, name)
    x, points = _points(part, at)
    if isinstance(x, list) and len(x) > TOGETHER:
        return _apart(fit, part, x, places, base, level, of)
    matrix = _matrix(fit.schema, part, points)
    places = places[: matrix.shape[1]]  # without that of where a column has no value
    if base is not None and isinstance(x, list):
        matrix = matrix - np.asarray(base, float) @ matrix
    elif base is not None:
        matrix = matrix - _matrix(fit.schema, part, _points(part, base)[1])[0]
    coef, covariance = _log_odds(fit, places) if fit.noise.of_classes else _predicted(fit, places, of)
    estimate = matrix @ coef
    spread = np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", matrix, covariance, matrix), 0.0))
    reach = fit.reach(level) * spread
    return Effect(name, part.kind, x, estimate, estimate - reach, estimate + reach, level)


def _apart(fit: "Fit", part: Any, x: Any, places: Numbers, base: Any, level: float, of: str) -> Effect:
    """Of levels so many that their average is known far better than each, by their own errors."""
    output = ["location", *fit.noise.modelled].index(of)
    coef = np.asarray(fit.outputs[1][output])[places]
    own = coef, fit._information.coefficients[output][places]
    coef, errors = (np.append(np.zeros(len(x) - len(values)), values) for values in own)  # 0 of the reference
    estimate = coef - (0.0 if base is None else np.asarray(base, float) @ coef)
    reach = fit.reach(level) * errors
    return Effect(part.name, part.kind, x, estimate, estimate - reach, estimate + reach, level)


def _predicted(fit: "Fit", places: Numbers, of: str) -> tuple[Numbers, Numbers]:
    """Coefficients of a predictor with their covariance."""
    outputs = ["location", *fit.noise.modelled]
    output = outputs.index(of)
    return np.asarray(fit.outputs[1][output])[places], _covariance(fit, places, output, len(outputs))


def _log_odds(fit: "Fit", places: Numbers) -> tuple[Numbers, Numbers]:
    """The coefficients of the second class less those of the first, with their covariance."""
    whole = np.asarray(fit._information.covariance)
    own = core_places(fit.schema, fit.has_intercept)[places]
    first, second = own, own + len(whole) // 2
    covariance = whole[np.ix_(first, first)] + whole[np.ix_(second, second)]
    covariance = covariance - whole[np.ix_(first, second)] - whole[np.ix_(second, first)]
    return fit.outputs[1][1][places] - fit.outputs[1][0][places], covariance
