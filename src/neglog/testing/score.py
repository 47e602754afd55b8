"""Tests of columns that are not in a fit, without fitting them: by how steeply the likelihood would rise (Rao 1948).

With z the new columns, g the slopes of the rows in their predictions and W what each row says about its own, the slope
of the log likelihood is U = -z' g, and chance makes of it V = z' W z - z' W x C x' W z, with C the covariance of what
the fit has already. U' V^-1 U is chi-square where the columns say nothing.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from neglog.belief.predicted_rows import row_chunks
from neglog.belief.row_slopes import row_slopes
from neglog.belief.sandwich import refuse_kinks
from neglog.belief.standard_errors import posterior_covariance
from neglog.design.columns import column
from neglog.distributions.censored import Cells
from neglog.distributions.lazy import special
from neglog.likelihood.joint import Joint
from neglog.printing import did_you_mean
from neglog.testing.outcome import Outcome, Test, holm
from neglog.typing import Numbers

KINDS = ("posterior", "robust")
NOTHING = 1e-10  # of a column's square: what the columns of the fit leave of it
LOOKS = 2001  # quantiles at which a noise is asked whether its parameters say anything of the prediction
APART = 1e-2  # correlation below which they do not
MANY_LEVELS = 500


@dataclass(frozen=True)
class Asked:
    """Columns that are to be tested together, (rows, columns), under one name."""

    name: str
    matrix: Numbers


def score(fit: Any, columns: tuple[Any, ...], of: str, errors: str) -> Outcome:
    """All of them at once, and each by itself."""
    if not columns:
        raise TypeError("score_test needs columns: names in the table that was fitted, or arrays with a value per row")
    if errors not in KINDS:
        raise ValueError(f"errors must be one of {', '.join(map(repr, KINDS))}, but is {errors!r}")
    fit._need_rows("a score test looks at every row", "fit the columns too and take nl.likelihood_ratio, or ")
    fit._refuse_many("a score test")
    joint = fit._joint
    refuse_kinks(joint)
    if not joint.answer.converged or joint.answer.degenerate:
        raise ValueError(f"there is no slope at a fit that has no optimum. {fit.message}")
    outputs = _outputs(fit, of)
    asked = [_asked(fit, one, k) for k, one in enumerate(columns)]
    slope, spread = _slopes(joint, np.hstack([one.matrix for one in asked]), outputs, errors)
    ends = np.cumsum([0, *(one.matrix.shape[1] for one in asked)])
    total = ends[-1]
    parts = []
    for one, begin, end in zip(asked, ends[:-1], ends[1:], strict=True):
        own = np.concatenate([np.arange(begin, end) + k * total for k in range(len(outputs))])
        parts.append(_tested(fit, one.name, slope[own], spread[np.ix_(own, own)], errors))
    whose = "by how the rows pull" if errors == "robust" else "by what the noise says of it"
    text = f"By the slope of the log likelihood at the fit without them, its error {whose}"
    if len(parts) == 1:
        return Outcome(parts[0], f"{text}.")
    return Outcome(
        _tested(fit, "all of them", slope, spread, errors),
        f"{text}; p of several by Holm.",
        tuple(parts),
        holm([part.p for part in parts]),
    )


def _tested(fit: Any, name: str, slope: Numbers, spread: Numbers, errors: str) -> Test:
    scale = np.sqrt(np.maximum(spread.diagonal(), 0.0))
    held = scale > 0
    if not held.any():
        raise ValueError(f"{name} says nothing that the columns of the fit do not say already")
    unit = scale[held]
    values, vectors = np.linalg.eigh(spread[np.ix_(held, held)] / np.outer(unit, unit))
    known = values > NOTHING * values[-1]
    statistic = float(np.sum((vectors[:, known].T @ (slope[held] / unit)) ** 2 / values[known]))
    degrees, left = int(known.sum()), fit.residual_degrees
    if left is not None and left > degrees and errors == "posterior" and fit.noise.sums_squares:
        left -= degrees
        f = statistic / degrees * left / max(fit.total_weight - statistic, 0.0)
        return Test(name, f, f"F({degrees}, {left:.4g})", float(special.fdtrc(degrees, left, f)))
    return Test(name, statistic, f"chi-square({degrees})", float(special.chdtrc(degrees, statistic)))


# ---- which columns ---------------------------------------------------------------------------------------------------


def _outputs(fit: Any, of: str) -> list[int]:
    if fit.noise.of_classes:
        return list(range(fit._task.target.loss.classes))
    names = ["location", *fit.noise.modelled]
    if of not in names:
        raise ValueError(f"of must be one of {', '.join(names)}, but is {of!r}{did_you_mean([of], names)}")
    return [names.index(of)]


def _asked(fit: Any, one: Any, k: int) -> Asked:
    """The columns of a name, or of an array; labels have one for each but the first."""
    task = fit._task
    rows = fit.n_rows
    if isinstance(one, str):
        if fit.table is None:
            raise ValueError(
                f"{one!r} is a name, but the rows of the fit were no table with named columns; give its values"
            )
        if one in fit.names or any(part.name == one for part in fit.schema.parts):
            raise ValueError(f"{one!r} is in the fit already: fit.test tests it")
        name, values = one, column(fit.table, one, "what is tested", numeric=False)
    else:
        name = getattr(one, "name", None) or f"column {k + 1}"
        values = np.asarray(one)
    if len(values) != rows or values.ndim > 2:
        raise ValueError(f"{name} must have a value for each of the {rows} rows of the fit, but has {values.shape}")
    if task.whole is not None:
        values = values[np.flatnonzero(np.asarray(task.whole.target.w))]
    if values.dtype.kind not in "buif":
        values = _indicators(values, name)
    matrix = np.asarray(values, float).reshape(len(values), -1)
    wrong = np.flatnonzero(~np.isfinite(matrix).all(axis=1))
    if len(wrong):
        raise ValueError(f"{name} must hold finite numbers, but {len(wrong)} rows do not; the first is row {wrong[0]}")
    return Asked(name, matrix - matrix.mean(axis=0) if task.engine.intercept else matrix)


def _indicators(values: Numbers, name: str) -> Numbers:
    labels, codes = np.unique(values.astype(str), return_inverse=True)
    if len(labels) > MANY_LEVELS:
        raise ValueError(
            f"{name} has {len(labels)} levels; fit it as a group, nl.group({name!r}), and compare the fits"
        )
    return np.asarray(codes.reshape(-1)[:, None] == np.arange(1, len(labels)), float)


# ---- sums ------------------------------------------------------------------------------------------------------------


def _slopes(joint: Joint, z: Numbers, outputs: list[int], errors: str) -> tuple[Numbers, Numbers]:
    """Of the log likelihood in the coefficients that the columns would have, and the covariance of that by chance."""
    target = joint.target(joint.start)
    rows = row_slopes(joint, target)
    w = np.ones(len(z)) if target.w is None else np.asarray(target.w, float)
    curvature, inverse = rows.curvature, np.nan_to_num(posterior_covariance(joint))
    expected = _expected(joint, target, rows)
    if expected is not None:
        curvature, inverse = expected
    slope = np.concatenate([-z.T @ (w * rows.gradient[:, a]) for a in outputs])
    columns = joint.task.engine.columns
    several, count = rows.eta.shape[1], curvature.shape[1]
    inside = [np.concatenate([_between(z, w * curvature[:, a, b], z) for b in outputs], axis=1) for a in outputs]
    across = np.zeros((len(outputs) * z.shape[1], len(inverse)))
    for start, matrix in row_chunks(joint.task.engine):
        for k, a in enumerate(outputs):
            own = slice(k * z.shape[1], (k + 1) * z.shape[1])
            for b in range(several):
                there = slice(b * columns, (b + 1) * columns)
                across[own, there] += _between(z[start], w[start] * curvature[start, a, b], matrix)
    for k, a in enumerate(outputs):
        own = slice(k * z.shape[1], (k + 1) * z.shape[1])
        for b in range(several, count):
            across[own, several * columns + b - several] = z.T @ (w * curvature[:, a, b])
    follow = across @ inverse  # how the slope follows what is fitted
    if errors == "posterior":
        spread = np.concatenate(inside) - follow @ across.T
    else:
        spread = _of_rows(joint, z, rows, w, outputs, follow)
    alone = np.concatenate(inside).diagonal()
    known = np.concatenate(inside).diagonal() - np.einsum("ij,ij->i", follow, across) > NOTHING * np.abs(alone)
    return slope, np.where(known[:, None] & known, spread, 0.0)


def _between(left: Numbers, weight: Numbers, right: Numbers) -> Numbers:
    return np.asarray(left.T @ (weight[:, None] * right))


def _of_rows(joint: Joint, z: Numbers, rows: Any, w: Numbers, outputs: list[int], follow: Numbers) -> Numbers:
    """The squares of what each row adds to the slope, less what the fit makes of it."""
    columns, several = joint.task.engine.columns, rows.eta.shape[1]
    total = np.zeros((len(follow), len(follow)))
    for start, matrix in row_chunks(joint.task.engine):
        g = rows.gradient[start]
        pulls = np.hstack([z[start] * g[:, a, None] for a in outputs])
        own = np.hstack([matrix * g[:, b, None] for b in range(several)] + [g[:, several:]])
        assert own.shape[1] == several * columns + g.shape[1] - several
        left = pulls - own @ follow.T
        total += left.T @ (w[start][:, None] * left)
    return total


def _expected(joint: Joint, target: Any, rows: Any) -> tuple[Numbers, Numbers] | None:
    """What each row is expected to say about its prediction, and the covariance that belongs to it; None where only
    what rows do say is known.
    """
    noise, task = target.noise, joint.task
    if rows.eta.shape[1] > 1 or isinstance(target.raw, Cells) or not _apart(joint, noise, float(np.median(rows.eta))):
        return None
    with np.errstate(all="ignore"):
        information = target.row_slopes(noise, rows.eta[:, 0], expected=True)[1]
    information = np.broadcast_to(np.asarray(information, float), (len(rows.eta),))
    if not (np.isfinite(information).all() and (information > 0).any()):
        return None
    w = 1.0 if target.w is None else np.asarray(target.w, float)
    matrix = task.engine.gram(w * information)
    matrix[np.diag_indices(len(matrix))] += task.penalty.bend
    count = rows.curvature.shape[1]
    curvature = np.zeros((len(rows.eta), count, count))
    curvature[:, 0, 0] = information
    inverse = np.zeros((len(matrix) + count - 1,) * 2)
    inverse[: len(matrix), : len(matrix)] = np.linalg.pinv(matrix, hermitian=True)
    return curvature, inverse


def _apart(joint: Joint, noise: Any, eta: float) -> bool:
    """Whether what is open in the noise is expected to say nothing of the prediction."""
    if not joint.names:
        return True
    law = noise.given(np.full(LOOKS, eta))
    with np.errstate(all="ignore"):
        y = law.icdf((np.arange(LOOKS) + 0.5) / LOOKS)
        slopes = noise.joint(np.asarray(y, float), np.full(LOOKS, eta))[1]
    own = [own.name for own in noise.beside_location()]
    first = np.asarray(slopes[0])
    for name in joint.names:
        other = np.asarray(slopes[1 + own.index(name)])
        size = np.sqrt(np.mean(first**2) * np.mean(other**2))
        if not abs(np.mean(first * other)) < APART * size:
            return False
    return True
