"""The covariance of the coefficients: by the curvature of the posterior, or by how the rows themselves pull."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from neglog.belief.sandwich import (
    ENLARGED,
    bare,
    cluster_sums,
    clustered_covariance,
    labelled,
    refuse_kinks,
    robust_covariance,
    sums_by_label,
)
from neglog.belief.standard_errors import posterior_covariance, with_drift
from neglog.design.columns import column
from neglog.distributions.lazy import special
from neglog.likelihood.task import Task
from neglog.printing import as_text, did_you_mean
from neglog.typing import Numbers

Fit = Any  # of rows, as `nl.fit` gives it: results stand below this room
ROBUST = {"robust": "HC0", **{kind: kind for kind in ENLARGED}}
NONE = 5e-4  # of a factor that is 1
WIDE = 8  # coefficients: of more, standard errors are shown
KINDS = ("posterior", *ROBUST, "cluster", "quasi")


@dataclass(frozen=True)
class Spread:
    """A covariance in the core's order of coefficients and open parameters, and what it is.

    degrees  of freedom of Student's t, None for the normal law
    widened  what standard errors are to be multiplied by in intervals and tests, for rows are few
    """

    covariance: Any
    text: str
    degrees: float | None = None
    widened: float = 1.0
    of_posterior: bool = False

    def reach(self, level: float) -> float:
        """How many standard errors, as they are shown, an interval goes to each side."""
        upper = 0.5 + 0.5 * level
        return float(special.ndtri(upper) if self.degrees is None else special.stdtrit(self.degrees, upper))

    def p_value(self, statistic: Any) -> Any:
        """The probability of an estimate so many standard errors, as they are shown, from 0 or farther."""
        away = -np.abs(statistic)
        return 2.0 * np.asarray(special.ndtr(away) if self.degrees is None else special.stdtr(self.degrees, away))

    @property
    def law(self) -> str:
        """The law of an estimate over its error: "z", or "t" with its degrees of freedom."""
        return "z" if self.degrees is None else f"t({self.degrees:.4g})"


@dataclass(frozen=True)
class Covariance:
    """A matrix with a name for each row and column; NumPy takes it for one. `text` says whose it is."""

    names: tuple[str, ...]
    matrix: Numbers
    text: str

    @property
    def standard_errors(self) -> Numbers:
        """The square roots of the diagonal, in the order of `names`."""
        return np.sqrt(self.matrix.diagonal())

    @property
    def shape(self) -> tuple[int, ...]:
        """(names, names)."""
        return self.matrix.shape

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Numbers:
        return np.array(self.matrix, dtype=dtype, copy=copy)

    def __getitem__(self, place: Any) -> Any:
        """By numbers as of a matrix, or by names: covariance["age", "income"]."""
        if isinstance(place, str):
            place = (place, place)
        if isinstance(place, tuple) and all(isinstance(one, str) for one in place):
            lost = [one for one in place if one not in self.names]
            if lost:
                raise KeyError(f"there is no coefficient {lost[0]!r}{did_you_mean(lost[:1], self.names)}")
            place = tuple(self.names.index(one) for one in place)
        return self.matrix[place]

    def __rich_console__(self, console: Any, options: Any) -> Any:
        from rich.table import Table
        from rich.text import Text

        if len(self.names) > WIDE:
            yield self._errors_alone()
            return
        table = Table(title="Covariance of the coefficients", caption=Text(self.text), caption_justify="left")
        table.add_column("")
        for name in self.names:
            table.add_column(Text(name), justify="right")
        for name, row in zip(self.names, self.matrix, strict=True):
            table.add_row(Text(name), *(f"{value:.4g}" for value in row))
        yield table

    def _errors_alone(self) -> Any:
        """Where nobody could read the whole."""
        from rich.table import Table
        from rich.text import Text

        size = len(self.names)
        table = Table(caption=Text(f"{self.text}; a matrix of {size:,} by {size:,}"), caption_justify="left")
        table.add_column("")
        table.add_column("std. error", justify="right")
        for name, error in zip(self.names, self.standard_errors, strict=True):
            table.add_row(Text(name), f"{error:.5g}")
        return table

    def __repr__(self) -> str:
        return as_text(self)


def covariance_of(fit: Fit, kind: str, cluster: Any, noise: bool) -> Covariance:
    """Of the coefficients as they are, and if wanted of the raw parameters of the noise that were estimated."""
    return turned(fit, spread_of(fit, kind, cluster), noise)


def turned(fit: Fit, found: Spread, noise: bool) -> Covariance:
    """From the core's order and centred columns to people's."""
    joint = fit._joint
    turn = joint.public_matrix()
    size = len(turn) if noise else len(turn) - len(joint.names)
    turn, whole = turn[:size], found.covariance
    known = np.isfinite(whole.diagonal())
    matrix = turn @ np.where(known[:, None] & known, whole, 0.0) @ turn.T
    touched = (turn[:, ~known] != 0).any(axis=1)
    matrix[touched[:, None] | touched] = np.nan
    return Covariance(joint.public_names()[:size], matrix, found.text)


def spread_of(fit: Fit, kind: str, cluster: Any) -> Spread:
    """The covariance of this kind, with what it is in words."""
    if kind not in KINDS:
        raise ValueError(f"kind must be one of {', '.join(map(repr, KINDS))}, but is {kind!r}")
    if kind == "cluster" and cluster is None:
        raise ValueError('kind="cluster" needs cluster=..., labels of the rows or the names of columns that have them')
    if kind != "cluster" and cluster is not None:
        raise ValueError(f'cluster is for kind="cluster", but kind is {kind!r}')
    fit._refuse_many("a covariance")
    if kind == "cluster":
        return _clustered(fit, cluster)
    if kind in ROBUST:
        return _robust(fit, ROBUST[kind])
    with np.errstate(all="ignore"):
        own = with_drift(fit._answer, posterior_covariance(fit._joint))
    return _quasi(fit, own) if kind == "quasi" else of_posterior(fit, own)


def of_posterior(fit: Fit, covariance: Any = None) -> Spread:
    """The posterior's; where rows also tell the spread of the noise, their number is what Student's t is about."""
    degrees, text = fit.residual_degrees, "by the curvature of the posterior"
    if degrees is None:
        return Spread(covariance, text, of_posterior=True)
    factor = fit.few_rows**2
    times = "" if abs(factor - 1) < NONE else f", times {factor:.4g}"
    text += f"{times}, since {fit.total_weight:g} rows also tell the {fit.noise.spread}"
    return Spread(covariance, text, degrees, fit.few_rows, of_posterior=True)


def _coefficients(fit: Fit) -> float:
    """How many coefficients and intercepts were estimated."""
    return float(fit.effective_parameters - len(fit._task.target.open) - len(fit._answer.told))


def _robust(fit: Fit, kind: str) -> Spread:
    n, k = fit.total_weight, _coefficients(fit)
    factor = n / (n - k) if kind == "HC1" else 1.0
    texts = {
        "HC0": "as the rows pull",
        "HC1": f"as the rows pull, times n / (n - k) with {n:g} rows and {k:.4g} coefficients",
        "HC2": "as the rows pull, each enlarged by its leverage",
        "HC3": "as the rows pull, each enlarged as if it had been left out",
    }
    covariance = robust_covariance(fit._joint, kind)
    if np.isnan(covariance.diagonal()).all():
        raise ValueError(
            f"{kind} errors leave out one row after the other, but some rows alone decide their own prediction "
            '(leverage 1); kind="HC1" does without'
        )
    return Spread(factor * covariance, f"robust ({kind}): {texts[kind]}", fit.residual_degrees)


def _quasi(fit: Fit, own: Numbers) -> Spread:
    """The covariance of a noise whose variance may be another one by a factor for all rows."""
    noise = fit.noise
    if noise.spread is not None or noise.of_classes or noise.modelled:
        raise ValueError(
            f'kind="quasi" multiplies the variance of a noise that has no spread of its own, such as Poisson; '
            f"{type(noise).__name__} noise has one, or no variance: take the posterior or robust errors"
        )
    left = fit.total_weight - _coefficients(fit)
    factor = fit._task.total(pearson, noise, fit._answer.theta) / left
    text = (
        f"quasi-{type(noise).__name__}: the posterior's times Pearson's chi-square over {left:.4g} rows, {factor:.4g}. "
        "No law has this as its likelihood: nats, quantiles and predictive laws stay those of "
        f"{type(noise).__name__} noise"
    )
    return Spread(factor * own, text, left)


def pearson(task: Task, noise: Any, theta: Numbers) -> float:
    """The sum of the squared distances from the mean over the variance."""
    target = task.target
    law = noise.given(task.engine.predict(theta)).with_precision(target.p)
    with np.errstate(all="ignore"):
        rows = (target.raw - np.asarray(law.mean())) ** 2 / np.asarray(law.variance())
    return float(target.total(rows))


# ---- clusters --------------------------------------------------------------------------------------------------------


def _clustered(fit: Fit, cluster: Any) -> Spread:
    refuse_kinks(fit._joint)
    asked = _asked(fit, cluster)
    sets = [asked] if len(asked) == 1 else [asked[:1], asked[1:], asked]
    total: Any = 0.0
    counts = []
    for which in sets:
        sums = _sums(fit, which)
        counts.append(len(sums))
        if len(sums) < 2:
            raise ValueError("cluster must name two clusters at least, but all rows are in one")
        one = _factor(fit, len(sums)) * clustered_covariance(fit._joint, sums)
        total = total + one if len(which) == 1 else total - one
    text = f"by cluster ({counts[0]:,})" if len(asked) == 1 else f"by cluster ({counts[0]:,} and {counts[1]:,})"
    return Spread(total, f"robust {text}: as they pull together", float(min(counts) - 1))


def _factor(fit: Fit, clusters: int) -> float:
    """For few clusters; and for few rows, where they also tell the spread of the noise."""
    n = fit.total_weight
    few = 1.0 if fit.residual_degrees is None else (n - 1) / (n - _coefficients(fit))
    return clusters / (clusters - 1) * few


def _asked(fit: Fit, cluster: Any) -> list[Any]:
    """One or two: names of columns, or labels for each row."""
    if isinstance(cluster, str):
        return [cluster]
    rows = fit.n_rows
    if isinstance(cluster, list | tuple) and len(cluster) == 2 and len(cluster) != rows:
        return list(cluster)
    values = cluster if hasattr(cluster, "__array__") or not hasattr(cluster, "to_numpy") else cluster.to_numpy()
    shape = np.shape(values)
    if len(shape) == 2 and shape[1] in (1, 2):
        return list(np.asarray(values).T)
    if len(shape) != 1:
        raise ValueError(
            f"cluster must have a label for each row, or two, but has the shape {shape}; "
            "errors cluster in two ways at most"
        )
    return [values]


def _sums(fit: Fit, which: list[Any]) -> Numbers:
    """The sums of the slopes over each cluster."""
    task, answer = fit._task, bare(fit._answer)
    if task.engine.streamed:
        return _sums_elsewhere(task, answer, which)
    labels = [_labels(fit, one) for one in which]
    if task.whole is not None:
        counted = np.flatnonzero(np.asarray(task.whole.target.w))
        labels = [one[counted] for one in labels]
    found, codes = labelled(labels)
    with np.errstate(all="ignore"):
        return cluster_sums(task, answer, codes, len(found))


def _labels(fit: Fit, one: Any) -> Any:
    """A label for each row that was given."""
    if isinstance(one, str) and fit.table is None:
        raise ValueError(
            f"cluster is the name {one!r}, but the rows of the fit were no table with named columns; give the labels "
            "themselves, one per row"
        )
    values = column(fit.table, one, "cluster", numeric=False) if isinstance(one, str) else np.asarray(one)
    if len(values) != fit.n_rows:
        raise ValueError(
            f"cluster has {len(values)} labels, but {fit.n_rows} rows were fitted; give one for each of them"
        )
    return values


def _sums_elsewhere(task: Any, answer: Any, which: Sequence[Any]) -> Numbers:
    if not all(isinstance(name, str) for name in which):
        raise ValueError("where the rows are not in memory, cluster must name columns of theirs")
    pieces = task.pieces.with_clusters(which)
    found = pieces.total(sums_by_label, task.target, answer)
    return np.stack(list(found.values()))
