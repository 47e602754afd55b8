"""Which noise do these data support? Every noise that can explain y, on the same folds, in held-out nats."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from neglog.comparison.candidates import CELLS, SAMPLE, candidates, lost, of_classes, screened, uncalled_for
from neglog.comparison.cells import scored
from neglog.comparison.compare_in_pieces import (
    CANNOT_FIT,
    CLASSES,
    TOL,
    compare_source,
    no_chance,
    open_for_all,
    why_not,
)
from neglog.comparison.comparison import Comparison, Score, typical
from neglog.comparison.leaks import identifiers, leaks, perfection
from neglog.comparison.recipes import law_call, recipe_of
from neglog.comparison.recognised import looks_like_grades, recognised
from neglog.comparison.recorded import Facts, facts_of
from neglog.comparison.rows import Rows, own_terms_of
from neglog.design import declared_order, is_formula, row_count
from neglog.design.design import Design
from neglog.distributions import Categorical, Flat, Gaussian
from neglog.distributions.base import Prior
from neglog.distributions.censored import Cells, cells_of, ends_of
from neglog.distributions.noise import Noise
from neglog.distributions.specification import noise_of, prior_of
from neglog.engines.blas import one_blas_thread
from neglog.estimation.learned_prior import is_open
from neglog.fitting.fit import explained, fit, opened, with_ends
from neglog.likelihood.row_values import ConvergenceWarning, checked
from neglog.results.fit import Fit
from neglog.streaming.first_pass import opened_source
from neglog.streaming.pieces import fold_of
from neglog.streaming.watching import tells
from neglog.typing import Numbers

SETTINGS = {"intercept": True, "missing": "error", "rare": 0, "terms": None}  # which `nl.fit` has by default
AnyFit = TypeVar("AnyFit", bound=Fit)
PRECISE = 1e-6  # the tol that `nl.fit` has by default


@tells
@one_blas_thread
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
    terms: Any = None,
) -> Comparison:
    """Fit every noise that can explain y on the same folds, and rank them by the nats of the rows left out.

    noises    which to try, as objects or text ("gamma", "tweedie(power=1.5)"); by default all that can explain y
    prior     of the coefficients; by default a Gaussian whose scale is learned in every fold
    missing   and rare say what to do with missing values and rare levels, as in `nl.fit`
    progress  True shows a bar; a function is called before every fit, with a sentence and the share that is done
    engine    and cache are those of `nl.fit`, for files
    terms     what predictions are made of, as in `nl.fit`: curves and groups, or "smooth"

    The fold of a row is a hash of its number, so that folds are the same wherever the rows are. A noise that cannot
    explain y, or cannot be fitted, is listed with the reason. `call` is the call of `nl.fit` that gives the best one.
    Columns that tell the target, alone or as a sum, are named in `leaks`; what looks like an identifier, in `notes`.

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
    given: dict[str, Any] = {"sample_weight": sample_weight, "offset": offset, "exposure": exposure}
    settings: dict[str, Any] = {"intercept": intercept, "missing": missing, "rare": rare, "terms": terms}
    stated = {name: value for name, value in settings.items() if value != SETTINGS[name]}
    places = {name: value for name, value in (("engine", engine), ("cache", cache)) if value is not None}
    recipe = recipe_of(y, prior, given, {**stated, **places})
    asked = y
    y, settings["terms"] = explained(y, terms, intercept)
    source = opened_source(X, engine)
    if source is not None:
        settings["cache"] = cache
        again = partial(fit, X, y, engine=engine, progress=False, **given, **settings)
        found = _compared_source(source, y, noises, prior, given, settings, folds, seed, progress, again)
    else:
        found = _compared_table(X, y, noises, prior, given, settings, folds, seed, progress)
    found.recipe = replace(recipe, prior=found.prior)
    named = {what: value for what, value in {**ends_of(y), **given}.items() if isinstance(value, str)}
    found.target = _target_name(ends_of(asked)["y"])
    found.leaks = found.leaks or perfection(found.scores[0], found.y, found.target)
    found.fit.named = {**named, "y": found.target}
    return found


def _numbers(y: Any) -> Any:
    """y to show and to look at: of cells, a number in each."""
    return y.points if isinstance(y, Cells) else y


def _target_name(y: Any) -> str:
    return y.partition("~")[0].strip() if isinstance(y, str) else "y"


def _compared_table(
    X: Any,
    y: Any,
    noises: Sequence[str | Noise] | None,
    prior: Prior,
    given: dict[str, Any],
    settings: dict[str, Any],
    folds: int,
    seed: int,
    progress: Any,
) -> Comparison:
    """For rows in memory."""
    name = ends_of(y)["y"]
    labels = not is_formula(name) and _has_labels(X, y)
    order = None if is_formula(name) else declared_order(X, name)
    missing, rare = settings["missing"], settings["rare"]
    number = np.arange(row_count(X), dtype=float) if missing == "drop" else None  # a row's place before others left
    lower, beside = with_ends(y, {**given, "number": number})
    reference = isinstance(prior, Flat)

    def read(modelled: dict[str, Any]) -> tuple[Design, dict[str, Any]]:
        made_of = {"terms": settings["terms"], "modelled": modelled}
        return opened(X, lower, beside, labels, reference, missing, rare, settings["intercept"], made_of)

    design, values = read({})
    target, number = cells_of(values), values["number"]
    values = {name: values[name] for name in given}
    assert target is not None
    weight = checked(values["sample_weight"], "sample_weight", zero=True)
    if weight is not None and not weight.any():
        raise ValueError("sample_weight is zero in every row; at least one row must count")
    facts = None if labels else facts_of(target)  # of all rows: a fit looks at all
    tried = _tried(noises, labels)
    if noises is None and facts is not None and looks_like_grades(facts):
        tried += of_classes()
    if order is not None:
        tried = [noise.with_classes(order) if noise.classes is None else noise for noise in tried]
    admitted, refused = _admitted(tried, facts, given["exposure"] is not None, noises is not None)
    if admitted[0].labelled and len(np.unique(target)) < 2:
        raise ValueError("no noise can explain y: it has one class only")
    designs = {own: read(dict(own))[0] for own in dict.fromkeys(map(own_terms_of, admitted)) if own} | {(): design}
    data = Rows(designs, target, values, settings["intercept"])
    counted = data.counted()
    if not 2 <= folds <= counted.design.rows:
        raise ValueError(f"folds must be between 2 and the number of rows, {counted.design.rows}, but is {folds}")
    where = np.arange(design.rows) if number is None else number.astype(np.int64)
    fold = fold_of(where if counted is data else where[data.values["sample_weight"] > 0], folds, seed)
    if np.bincount(fold, minlength=folds).min() == 0:  # of very few rows
        fold = np.arange(counted.design.rows) % folds
    found = _compared(data, counted, facts, admitted, refused, prior, fold, folds, seed, progress, noises is not None)
    found.leaks = leaks(counted.design, _numbers(counted.y), _target_name(ends_of(y)["y"]), numeric=not labels)
    found.fit.notes += identifiers(design)
    if facts is not None:
        found.fit.notes += recognised(facts, _numbers(counted.y), design, _target_name(ends_of(y)["y"]))
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
    again: Callable[..., Fit],
) -> Comparison:
    """The same for rows that are not in memory; `again` fits a noise under a prior to all of them."""
    with np.errstate(all="ignore"):
        task, facts = open_for_all(source, y, prior, given, **settings)
        if not 2 <= folds <= task.engine.rows:
            raise ValueError(f"folds must be between 2 and the number of rows, {task.engine.rows}, but is {folds}")
        if not task.engine.design.columns and is_open(prior):
            prior = Flat()
        tried = _tried(noises, facts is None)
        if facts is not None and any(noise.labelled for noise in tried):
            name = next(type(noise).__name__ for noise in tried if noise.labelled)
            raise ValueError(
                f"where X is not in memory, {name} noise is compared for a column of text only; y holds numbers: "
                "nl.fit takes them as classes"
            )
        admitted, refused = _admitted(tried, facts, given["exposure"] is not None, noises is not None)
        if noises is None and facts is not None:
            small = task.small
            beside = {"sample_weight": small.target.w, "offset": small.engine.offset, "exposure": None}
            data = Rows({(): small.engine.design}, small.target.raw, beside, settings["intercept"])
            look = _first_look(data, prior, facts.cell_width()[0])
            admitted, hopeless = screened(admitted, small.engine.rows, _name, look)
            refused |= hopeless
        names = [_name(noise) for noise in admitted]
        scores, resolution, shown = compare_source(task, admitted, names, refused, prior, facts, folds, seed, progress)

    def whole(noise: Noise) -> Fit:
        return again(noise, prior)

    final = _final(scores, refused, progress, whole)
    found = _settled(Comparison(scores, refused, resolution, prior, folds, shown, final), whole)
    small = task.small
    design, seen, name = small.engine.design, small.target.points, _target_name(ends_of(y)["y"])
    found.leaks = leaks(design, seen, name, numeric=facts is not None)
    found.fit.notes += identifiers(design)
    if facts is not None:
        found.fit.notes += recognised(facts, seen, design, name)
    return found


# ---- which noises ----------------------------------------------------------------------------------------------------


def _has_labels(X: Any, y: Any) -> bool:
    """Whether y holds labels, not numbers."""
    y = ends_of(y)["y"]
    if isinstance(y, Cells):
        return False
    if isinstance(y, str):
        column = X[y] if hasattr(X, "__getitem__") else None
        kind = np.asarray(column).dtype.kind if column is not None else "f"
    else:
        kind = np.asarray(y).dtype.kind
    return kind in "OUS"


def _tried(noises: Sequence[str | Noise] | None, labels: bool) -> list[Noise]:
    if noises is not None:
        return [noise_of(noise) for noise in noises]
    return [Categorical()] if labels else candidates()


def _admitted(
    noises: list[Noise], facts: Facts | None, exposure: bool, named: bool = True
) -> tuple[list[Noise], dict[str, str]]:
    """The noises that can explain y, and why the others cannot; labels come without facts. Of noises that nobody named
    only those that y calls for.
    """
    admitted, refused = [], {}
    for noise in noises:
        if facts is not None:
            reason = facts.against(noise)
        else:
            reason = None if noise.labelled else "y holds labels, not numbers"
        if reason is None and not named:
            reason = uncalled_for(noise, facts)
        if reason is None and exposure and noise.link.name != "log":
            reason = f"exposure multiplies the mean, which needs the log link, but its link is {noise.link.name}"
            if "log" in noise._links() and noise.smooth:  # or it is fitted by its identity alone
                reason += f"; to try it nevertheless, name it as {type(noise).__name__.lower()}(link='log')"
        if reason is None:
            admitted.append(noise)
        else:
            refused[_name(noise)] = reason
    if not admitted:
        raise ValueError(why_not(refused))
    return admitted, refused


# ---- scores ----------------------------------------------------------------------------------------------------------


def _compared(
    data: Rows,
    counted: Rows,
    facts: Facts | None,
    noises: list[Noise],
    refused: dict[str, str],
    prior: Prior,
    fold: Any,
    folds: int,
    seed: int,
    progress: Any,
    named: bool,
) -> Comparison:
    labels = all(noise.labelled for noise in noises)
    sample = CELLS if isinstance(counted.y, Cells) else SAMPLE
    width, resolution = CLASSES if facts is None or labels else facts.cell_width()
    rows, weight = counted.design.rows, counted.values["sample_weight"]
    weight = np.ones(rows) if weight is None else weight
    if not named:
        noises, hopeless = screened(noises, rows, _name, _first_look(counted, prior, width), sample)
        refused |= hopeless
    scores = [_unscored(noise, rows, weight) for noise in noises]
    for k in range(folds):
        places = np.flatnonzero(fold == k)
        train, test = counted.taken(np.flatnonzero(fold != k)), counted.taken(places)
        for i, score in enumerate(scores):
            if progress is not None:
                progress(f"{score.name}, fold {k + 1} of {folds}", (k + i / len(scores)) / (folds + 0.2))
            try:
                _score_fold(score, train, test, places, prior, width, np.random.default_rng([seed, k]))
            except CANNOT_FIT as error:
                refused[score.name] = f"it could not be fitted: {error}"
                continue
            impossible = int(np.count_nonzero(~np.isfinite(score.nll[places])))
            if impossible:
                refused[score.name] = no_chance(score.noise, impossible, len(places))
        scores = [score for score in scores if score.name not in refused]
        if k == 0 and not named:
            refused |= (behind := lost(scores, places, folds, sample))
            scores = [score for score in scores if score.name not in behind]
    scores.sort(key=lambda score: score.mean)

    def whole(noise: Noise) -> Fit:
        return data.fit(noise, prior, PRECISE)

    final = _final(scores, refused, progress, whole)
    y = np.asarray(_numbers(counted.y), None if labels else float)
    found = _settled(Comparison(scores, refused, resolution, prior, folds, y, final), whole)
    return replace(found, prior=data.prior_of(found.scores[0].noise, prior))


def _unscored(noise: Noise, rows: int, weight: Numbers) -> Score:
    """With a place for every row."""
    return Score(_name(noise), noise, np.empty(rows), np.empty(rows), np.empty(rows), weight)


def _first_look(data: Rows, prior: Prior, width: float | None) -> Callable[..., tuple[Numbers, Numbers]]:
    """What rows cost under a fit to others; infinitely much where there is none."""

    def held_out(noise: Noise, train: Any, test: Any) -> tuple[Numbers, Numbers]:
        other = data.taken(test)
        weight = other.values["sample_weight"]
        nothing = np.full((3, len(test)), np.inf)
        score = Score("", noise, nothing[0], nothing[1], nothing[2], np.ones(len(test)))
        with suppress(*CANNOT_FIT):
            _score_fold(score, data.taken(train), other, slice(None), prior, width, np.random.default_rng(0))
        return score.nll, score.weight if weight is None else weight

    return held_out


def _score_fold(
    score: Score, train: Rows, test: Rows, places: Any, prior: Prior, width: float | None, rng: np.random.Generator
) -> None:
    fitted = _quiet(lambda: train.fit(score.noise, prior, TOL))
    if not fitted.converged:
        score.converged = False
        score.notes.append(fitted.message)
    score.limit = fitted.limit
    beside = {name: test.values[name] for name in ("offset", "exposure")}
    law = fitted.distribution(test.design_of(score.noise), **beside)
    score.fitted = typical(fitted.noise, law)
    if score.noise.labelled:
        known = {label: k for k, label in enumerate(fitted.classes.tolist())}
        absent = sorted({str(label) for label in test.y.tolist() if label not in known})
        if absent:
            raise ValueError(f"the class {', '.join(absent)} is in one fold only; merge classes, or take fewer folds")
        codes = np.array([known[label] for label in test.y.tolist()])
        score.nll[places], score.transform[places] = scored(law, codes, None, rng)
        labels = np.asarray(fitted.classes)
        score.predicted[places] = law.p @ labels if labels.dtype.kind in "iuf" else law.p.max(axis=1)
        if law.of_classes:  # which have no order in which one could be too high
            score.transform[places] = np.nan
        return
    score.nll[places], score.transform[places] = scored(law, test.y, width, rng)
    score.predicted[places] = law.point()


def _final(scores: list[Score], refused: dict[str, str], progress: Any, fitted: Callable[[Noise], Fit]) -> Fit:
    """The best noise on all rows, by the call that the conclusion names; what fails there is refused like the rest."""
    while scores:
        if progress is not None:
            progress(f"{scores[0].name} on all rows", 1.0)
        try:
            return _quiet(partial(fitted, scores[0].noise))
        except CANNOT_FIT as error:
            refused[scores.pop(0).name] = f"it could not be fitted to all rows: {error}"
    raise ValueError(why_not(refused))


def _settled(found: Comparison, fitted: Callable[[Noise], Fit]) -> Comparison:
    """Where the best noise has no end on all rows, as a Tweedie whose power runs to its edge on plain counts, and one
    that is as good has, the latter is the best and the former is refused with what its fit says.
    """
    ended = {found.scores[0].name: found.fit}
    for place, score in enumerate(found.scores):
        if score.name not in found.ties:
            return found
        final = ended[score.name] if score.name in ended else _quiet(partial(fitted, score.noise))
        if not final.converged:
            ended[score.name] = final
            continue
        for other in found.scores[:place]:
            found.refused[other.name] = (
                f"no better than {score.name}, and its fit to all rows did not converge. {ended[other.name].message}"
            )
        return replace(found, scores=found.scores[place:], fit=final)
    return found


def _quiet(fitted: Callable[[], AnyFit]) -> AnyFit:
    """A fit whose lack of convergence is told in the comparison, not as a warning."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return fitted()


def _name(noise: Noise) -> str:
    """The family, and what is stated beside the defaults."""
    return law_call(noise).removesuffix("()")
