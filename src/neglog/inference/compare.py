"""Which noise do these data support? Every noise that can explain y, on the same folds, in held-out nats."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from neglog.design import is_formula, row_count
from neglog.design.design import Design
from neglog.design.selection import take_rows
from neglog.distributions import (
    Bernoulli,
    Categorical,
    Flat,
    Gamma,
    Gaussian,
    Huber,
    Laplace,
    LogNormal,
    Poisson,
    Tweedie,
)
from neglog.distributions.base import Noise, Prior
from neglog.distributions.specification import noise_of, prior_of
from neglog.inference.cells import scored
from neglog.inference.comparison import Comparison, Score, shortest_call
from neglog.inference.evidence import is_open
from neglog.inference.facts import Facts, facts_of
from neglog.inference.fit import fit, opened
from neglog.inference.opening import opened_source
from neglog.inference.result import Fit
from neglog.inference.rows import ConvergenceWarning, checked
from neglog.inference.streamed import fold_of
from neglog.inference.streamed_compare import CLASSES, ROWS_TO_LEARN, compare_source, open_for_all
from neglog.inference.watching import tells

NOISES = (Gaussian, Laplace, Huber, LogNormal, Poisson, Gamma, Tweedie, Bernoulli)


@tells
def compare(
    X: Any,
    y: ArrayLike | str,
    noises: Sequence[str | Noise] | None = None,
    prior: str | Prior | None = None,
    *,
    folds: int = 5,
    seed: int = 0,
    sample_weight: ArrayLike | str | None = None,
    offset: ArrayLike | str | None = None,
    exposure: ArrayLike | str | None = None,
    intercept: bool = True,
    missing: str = "error",
    rare: int = 0,
    progress: Any = None,
    engine: str | None = None,
    cache: Any = None,
) -> Comparison:
    """Fit every noise that can explain y on the same folds, and rank them by the nats of the rows left out.

    noises    which to try, as objects or text ("gamma", "tweedie(power=1.5)"); by default all that can explain y
    prior     of the coefficients; by default a Gaussian whose scale is learned in every fold
    missing   and rare say what to do with missing values and rare levels, as in `nl.fit`
    progress  True shows a bar; a function is called before every fit, with a sentence and the share that is done
    engine    and cache are those of `nl.fit`, for files

    The fold of a row is a hash of its number, so that folds are the same wherever the rows are.

    Where y is recorded on a grid, such as whole numbers or cents, every noise is scored by the probability of the
    recorded cell, so that masses and densities can be compared; `resolution` says what was done.

    >>> import numpy as np, neglog as nl
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(400, 2))
    >>> y = rng.poisson(np.exp(0.3 + X @ [0.5, -0.2]))
    >>> nl.compare(X, y, ["gaussian", "poisson"]).best
    Poisson(mean=None)
    """
    prior = Gaussian() if prior is None else prior_of(prior)
    given = {"sample_weight": sample_weight, "offset": offset, "exposure": exposure}
    source = opened_source(X, engine)
    if source is not None:
        settings = {"intercept": intercept, "missing": missing, "rare": rare, "cache": cache}
        return _compared_source(source, y, noises, prior, given, settings, folds, seed, progress)
    labels = not is_formula(y) and _has_labels(X, y)
    number = np.arange(row_count(X), dtype=float) if missing == "drop" else None  # a row's place before others left
    design, values = opened(
        X, y, {**given, "number": number}, labels, isinstance(prior, Flat), missing, rare, intercept
    )
    design, values = _counting(design, values)
    target = values.pop("y")
    assert target is not None
    facts = None if labels else facts_of(target)
    admitted, refused = _admitted(_tried(noises, labels), facts, exposure is not None)
    if isinstance(admitted[0], Categorical) and len(np.unique(target)) < 2:
        raise ValueError("no noise can explain y: it has one class only")
    if not 2 <= folds <= design.rows:
        raise ValueError(f"folds must be between 2 and the number of rows, {design.rows}, but is {folds}")
    found = _compared(design, target, facts, admitted, refused, prior, values, folds, seed, intercept, progress)
    return _named(found, {"y": y, **given})


def _counting(design: Design, values: dict[str, Any]) -> tuple[Design, dict[str, Any]]:
    """The rows that count: those of weight 0 are neither fitted nor scored. Each keeps its fold."""
    weight = checked(values["sample_weight"], "sample_weight", zero=True)
    if weight is None or weight.all() or not weight.any():
        return design, values
    design.check_finite()
    rows = np.flatnonzero(weight)
    number = np.arange(design.rows, dtype=float) if values["number"] is None else values["number"]
    part = {name: None if value is None else value[rows] for name, value in {**values, "number": number}.items()}
    return replace(take_rows(design, rows), notes=design.notes), part


def _named(found: Comparison, given: dict[str, Any]) -> Comparison:
    named = {what: value for what, value in given.items() if isinstance(value, str)}
    found.target = named.get("y", "y").partition("~")[0].strip()
    found.fit.named = {**named, "y": found.target}
    return found


def _compared_source(
    source: Any,
    y: Any,
    noises: Sequence[str | Noise] | None,
    prior: Prior,
    given: dict[str, Any],
    settings: dict[str, Any],
    folds: int,
    seed: int,
    progress: Any,
) -> Comparison:
    """The same for rows that are not in memory."""
    with np.errstate(all="ignore"):
        task, facts = open_for_all(source, y, prior, given, **settings)
        if not 2 <= folds <= task.engine.rows:
            raise ValueError(f"folds must be between 2 and the number of rows, {task.engine.rows}, but is {folds}")
        tried = _tried(noises, facts is None)
        if facts is not None and any(isinstance(noise, Categorical) for noise in tried):
            raise ValueError(
                "where X is not in memory, Categorical noise is compared for a column of text only; y holds numbers: "
                "nl.fit takes them as classes"
            )
        admitted, refused = _admitted(tried, facts, given["exposure"] is not None)
        names = [_name(noise) for noise in admitted]
        scores, resolution, shown, fit = compare_source(task, admitted, names, prior, facts, folds, seed, progress)
    return _named(Comparison(scores, refused, resolution, prior, folds, shown, fit), {"y": y, **given})


# ---- which noises ----------------------------------------------------------------------------------------------------


def _has_labels(X: Any, y: Any) -> bool:
    """Whether y holds labels, not numbers."""
    if isinstance(y, str):
        column = X[y] if hasattr(X, "__getitem__") else None
        kind = np.asarray(column).dtype.kind if column is not None else "f"
    else:
        kind = np.asarray(y).dtype.kind
    return kind in "OUS"


def _tried(noises: Sequence[str | Noise] | None, labels: bool) -> list[Noise]:
    if noises is not None:
        return [noise_of(noise) for noise in noises]
    return [Categorical()] if labels else [family() for family in NOISES]


def _admitted(noises: list[Noise], facts: Facts | None, exposure: bool) -> tuple[list[Noise], dict[str, str]]:
    """The noises that can explain y, and why the others cannot; labels come without facts."""
    admitted, refused = [], {}
    for noise in noises:
        if facts is None:
            reason = None if isinstance(noise, Categorical) else "y holds labels, not numbers"
        else:
            reason = facts.against(noise)
        if reason is None and exposure and noise.link.name != "log":
            reason = f"exposure multiplies the mean, which needs the log link, but its link is {noise.link.name}"
            if "log" in noise._links() and not isinstance(noise, Laplace):  # which is fitted by its identity alone
                reason += f"; to try it nevertheless, name it as {type(noise).__name__.lower()}(link='log')"
        if reason is None:
            admitted.append(noise)
        else:
            refused[type(noise).__name__] = reason
    if not admitted:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in refused.items())
        raise ValueError(f"no noise can explain y. {reasons}")
    return admitted, refused


# ---- scores ----------------------------------------------------------------------------------------------------------


def _compared(
    design: Design,
    y: Any,
    facts: Facts | None,
    noises: list[Noise],
    refused: dict[str, str],
    prior: Prior,
    values: dict[str, Any],
    folds: int,
    seed: int,
    intercept: bool,
    progress: Any,
) -> Comparison:
    rng = np.random.default_rng(seed)
    number = values.pop("number")
    fold = fold_of(np.arange(design.rows) if number is None else number.astype(np.int64), folds, seed)
    if np.bincount(fold, minlength=folds).min() == 0:  # of very few rows
        fold = np.arange(design.rows) % folds
    labels = isinstance(noises[0], Categorical)
    width, resolution = CLASSES if facts is None or labels else facts.cell_width()
    weight = values["sample_weight"]
    weight = np.ones(design.rows) if weight is None else weight
    scores: list[Score] = []
    for noise in noises:
        name = _name(noise)
        nll, transform, predicted = (np.empty(design.rows) for _ in range(3))
        score = Score(name, noise, nll, transform, predicted, weight)
        for k in range(folds):
            if progress is not None:
                progress(f"{name}, fold {k + 1} of {folds}", (len(scores) * folds + k) / (len(noises) * folds + 1))
            train, test = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
            _score_fold(score, design, y, noise, prior, values, train, test, width, intercept, rng)
        scores.append(score)
    scores.sort(key=lambda score: score.mean)
    if progress is not None:
        progress(f"{scores[0].name} on all rows", 1 - 1 / (len(noises) * folds + 1))
    best = scores[0].noise
    final = _quiet_fit(design, y, best, _learned(design, y, best, prior, values, intercept), values, intercept)
    return Comparison(
        scores, refused, resolution, prior, folds, np.asarray(y, float) if not labels else np.asarray(y), final
    )


def _score_fold(
    score: Score,
    design: Design,
    y: Any,
    noise: Noise,
    prior: Prior,
    values: dict[str, Any],
    train: Any,
    test: Any,
    width: float | None,
    intercept: bool,
    rng: np.random.Generator,
) -> None:
    part = {name: None if value is None else value[train] for name, value in values.items()}
    rows = take_rows(design, train)
    fitted = _quiet_fit(rows, y[train], noise, _learned(rows, y[train], noise, prior, part, intercept), part, intercept)
    score.fitted = fitted.noise
    if not fitted.converged:
        score.converged = False
        score.notes.append(fitted.message)
    rest = {name: None if values[name] is None else values[name][test] for name in ("offset", "exposure")}
    law = fitted.distribution(take_rows(design, test), **rest)
    if isinstance(noise, Categorical):
        places = {label: k for k, label in enumerate(fitted.classes.tolist())}
        codes = np.array([places[label] for label in y[test].tolist()])
        score.nll[test], score.predicted[test] = law.nll(codes), law.p.max(axis=1)
        score.transform[test] = np.nan  # classes have no order in which one could be too high
        return
    score.nll[test], score.transform[test] = scored(law, y[test], width, rng)
    score.predicted[test] = law.mean()


def _learned(design: Design, y: Any, noise: Noise, prior: Prior, values: dict[str, Any], intercept: bool) -> Prior:
    """A prior whose scale is learned, from some of the rows where there are many: it depends little on their number."""
    if design.rows <= ROWS_TO_LEARN or not is_open(prior):
        return prior
    some = np.linspace(0, design.rows - 1, ROWS_TO_LEARN).astype(int)
    part = {name: None if value is None else value[some] for name, value in values.items()}
    rows, y = take_rows(design, some), y[some]
    if isinstance(noise, Tweedie) and noise.power is None:  # whose search the scale hardly changes
        power = _quiet_fit(rows, y, noise, Gaussian(scale=1.0), part, intercept).noise.power
        noise = Tweedie(power=power, dispersion=noise.dispersion, link=noise.link.name)
    return _quiet_fit(rows, y, noise, prior, part, intercept).prior


def _quiet_fit(design: Design, y: Any, noise: Noise, prior: Prior, values: dict[str, Any], intercept: bool) -> Fit:
    """A fit whose lack of convergence is told in the comparison, not as a warning."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return fit(design, y, noise, prior, intercept=intercept, tol=1e-3, **values)


def _name(noise: Noise) -> str:
    """The family, and what is stated beside the defaults."""
    return shortest_call(noise).removesuffix("()")
