"""The rows that a fit is held against: those that it was made from, or others that are given."""

from typing import Any

import numpy as np

from neglog.design import beside, is_formula, split
from neglog.distributions.censored import cells_of, with_ends
from neglog.likelihood.accelerators import make_target
from neglog.likelihood.row_values import checked
from neglog.likelihood.targets import Target

Fit = Any  # results stand below this room


def refuse_alone(y: Any, given: dict[str, Any]) -> None:
    """Refuse what goes with rows where none are given."""
    found = [name for name, value in {"y": y, **given}.items() if value is not None]
    if found:
        raise TypeError(
            f"{', '.join(found)} without X: without X the rows are those of the fit, with all that it knows"
        )


def read_target(fit: Fit, noise: Any, X: Any, y: Any, given: dict[str, Any]) -> Target:
    """y of given rows with their weights and precisions, as the noise takes them: values, names of columns of X, or
    those that were named at the fit.
    """
    if y is None and is_formula(fit.named.get("y")):
        raise TypeError(f"the fit has y by the formula {fit.named['y']!r}; give y, one value per row")
    own: dict[str, Any] = {name: given[name] for name in ("sample_weight", "precision") if name in given}
    if y is None:
        ends = beside(X, dict.fromkeys(name for name in ("y", "upper", "event") if name in fit.named), fit.named)
        ends = ends or {"y": None}
    else:
        begin, ends = with_ends(y, {})
        ends = {**ends, "y": begin}
    labels = ("y",) if noise.labelled else ()
    values = split(X, ends | beside(X, own, fit.named), labels=labels)[1]
    w, p = (
        checked(values.get("sample_weight"), "sample_weight", zero=True),
        checked(values.get("precision"), "precision"),
    )
    if not noise.of_classes:
        return make_target(noise, cells_of(values), w, p, whole=False)
    target = fit._task.target.with_noise(noise)
    return target.of_rows(_numbers(fit, values["y"]), w, p)  # type: ignore[no-any-return]


def _numbers(fit: Fit, labels: Any) -> Any:
    """Labels as the numbers that the classes have in the fit."""
    known = {label: number for number, label in enumerate(fit.classes.tolist())}
    listed = np.asarray(labels).tolist()
    unknown = [row for row, label in enumerate(listed) if label not in known]
    if unknown:
        raise ValueError(
            f"y must be one of the classes of the fit, {', '.join(map(repr, known))}, but {len(unknown)} of "
            f"{len(listed)} rows are not; the first is row {unknown[0]}, {listed[unknown[0]]!r}"
        )
    return np.array([known[label] for label in listed], float)
