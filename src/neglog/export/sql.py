"""Predictions as a query: what `Fit.predict` and the quantiles of `Fit.distribution` are, in a database's own words."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from neglog.export.dialects import dialect_of, identifier
from neglog.export.expressions import Expression, column, expression, total
from neglog.export.laws import in_order, law_at, point_of, probabilities, quantile_of
from neglog.export.raw_predictions import Rows, raw_terms
from neglog.export.writing import query


def sql_of(
    fit: Any,
    table: str | Sequence[str],
    quantiles: Sequence[float],
    *,
    dialect: str,
    keep: Sequence[str],
    named: Mapping[str, str],
) -> str:
    """`Fit.to_sql`; `named` are the columns of offset and exposure."""
    words = dialect_of(dialect)
    if fit.schema.table is None:
        raise ValueError("the fit was made from an array, whose columns have no names that SQL could call; fit a table")
    levels = _checked(quantiles, fit)
    path = [table] if isinstance(table, str) else list(table)
    rows = Rows(fit.schema, ".".join(map(identifier, path)), words, keep)
    outputs = _outputs(fit, rows, named, levels)
    kept = {name: column(name) for name in keep}
    return query(words, rows.names, rows.tables, rows.source, rows.inputs, kept | outputs)


def _checked(quantiles: Sequence[float], fit: Any) -> list[float]:
    wrong = [level for level in quantiles if not 0 < level < 1]
    if wrong:
        raise ValueError(f"quantiles must be levels between 0 and 1, but one is {wrong[0]!r}")
    if len(quantiles) and fit.noise.labelled:
        raise ValueError("SQL gives the probabilities of classes, which have no quantiles; leave them out")
    if len(quantiles) and fit.noise.batch_shape:
        raise ValueError("the predictions of this fit are quantiles already, those it was fitted for; leave them out")
    return list(quantiles)


def _outputs(fit: Any, rows: Rows, named: Mapping[str, str], levels: Sequence[float]) -> dict[str, Expression]:
    raw = _raw(fit, rows, named)
    noise = fit.noise
    if noise.labelled:
        names = [f"probability of {label}" for label in fit.classes]
        return dict(zip(names, probabilities(noise, raw), strict=True))
    if noise.batch_shape:  # several quantiles
        each = [point_of(law_at(own.noise, [one]), own.noise) for own, one in zip(fit, raw, strict=True)]
        return {f"q{level:g}": one for level, one in zip(fit.quantiles, in_order(each), strict=True)}
    law = law_at(noise, raw)
    points = {"prediction": point_of(law, noise)}
    return points | {f"q{level:g}": quantile_of(law, noise, level) for level in levels}


def _raw(fit: Any, rows: Rows, named: Mapping[str, str]) -> list[Expression]:
    """Each raw prediction: of the location and of what is modelled, or of the classes, or of the quantiles."""
    intercepts, coefficients = fit.outputs
    beside: list[Any] = []
    if "offset" in named:
        beside.append(rows.plain(named["offset"]))
    if "exposure" in named:
        beside.append(np.log(rows.plain(named["exposure"])))
    modelled = fit.noise.modelled
    labels = (
        ["raw location", *(f"raw {name}" for name in modelled)] if modelled else ["raw prediction"] * len(intercepts)
    )
    sums = []
    for k, (label, level, terms) in enumerate(zip(labels, intercepts, raw_terms(rows, coefficients), strict=True)):
        start = Expression("double", expression(level))  # of a double: what else is written may be a decimal
        sums.append(total([start, *([] if modelled and k else beside), *terms], label=label))
    return sums
