"""Which noise do these data support, and which shape of f? Every noise that can explain y, on the same folds, in
held-out nats.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from neglog.comparison.candidates import CELLS, SAMPLE, candidates, of_classes, screened, uncalled_for
from neglog.comparison.compare_in_pieces import (
    CANNOT_FIT,
    CLASSES,
    compare_source,
    open_for_all,
    why_not,
)
from neglog.comparison.comparison import Comparison, Score
from neglog.comparison.conditional import uneven
from neglog.comparison.described import described
from neglog.comparison.leaks import identifiers, leaks, perfection
from neglog.comparison.recipes import Recipe, recipe_of
from neglog.comparison.recognised import looks_like_grades, recognised
from neglog.comparison.recorded import Facts, facts_of
from neglog.comparison.rows import COLUMNS, Key, Rows
from neglog.comparison.search import Search, first_look, quiet
from neglog.comparison.splits import Splits, at_random, checked_by, doubts, split_by
from neglog.comparison.stacking import Stack
from neglog.comparison.structures import (
    CONSTANT,
    LINEAR,
    SMOOTH,
    STACK,
    TREES,
    Candidate,
    asked_structures,
    features_of,
    linear_terms,
)
from neglog.design import declared_order, is_formula, row_count
from neglog.design.columns import column
from neglog.design.design import Design, Schema
from neglog.design.selection import take_rows
from neglog.distributions import Categorical, Flat, Gaussian
from neglog.distributions.base import Prior
from neglog.distributions.censored import Cells, cells_of, ends_of, with_ends
from neglog.distributions.noise import Noise
from neglog.distributions.specification import noise_of, prior_of
from neglog.engines.blas import one_blas_thread
from neglog.estimation.learned_prior import is_open
from neglog.fitting.fit import explained, fit, opened
from neglog.likelihood.row_values import checked
from neglog.results.fit import Fit
from neglog.streaming.first_pass import opened_source
from neglog.streaming.watching import tells

SETTINGS = {"intercept": True, "missing": "error", "rare": 0, "terms": None}  # which `nl.fit` has by default
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
    structures: Sequence[str] | str | None = None,
    folds_by: tuple[str, Any] | None = None,
) -> Comparison:
    """Fit every noise that can explain y on the same folds, and rank them by the nats of the rows left out.

    structures  shapes of f: "linear" takes the columns as they are, "smooth" makes curves of numbers and groups of
                large factors and lets the spread depend on them where that pays, "trees" grows LightGBM's. By default
                linear and smooth, and trees of fewer than 50,000 rows where LightGBM is installed; linear alone where
                noises or terms were named. All noises are tried on the first, the best few go on
    folds_by    ("group", column) leaves out whole groups, ("time", column) scores each part of the rows by fits to what
                came before; by default rows are left out at random

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
    y, settings["terms"], settings["intercept"], given = explained(X, y, terms, intercept, given, engine)
    source = opened_source(X, engine)
    by = checked_by(folds_by)
    if source is not None:
        if folds_by is not None or (structures is not None and structures not in ("linear", ["linear"], ("linear",))):
            raise ValueError(
                "where X is not in memory, noises are compared on the columns as they are and with folds at random: "
                "leave structures and folds_by out, or read a sample of the rows into a table"
            )
        settings["cache"] = cache
        again = partial(fit, X, y, engine=engine, progress=False, **given, **settings)
        found = _compared_source(source, y, noises, prior, given, settings, folds, seed, progress, again)
    else:
        asked_for = (asked, structures, by)
        found = _compared_table(X, y, noises, prior, given, settings, folds, seed, progress, asked_for)
    found.seed = seed
    found.recipe = replace(recipe, prior=found.prior, linear=found.recipe.linear)
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
    asked: tuple[Any, Any, tuple[str, Any] | None],
) -> Comparison:
    """For rows in memory."""
    name = ends_of(y)["y"]
    labels = not is_formula(name) and _has_labels(X, y)
    order = None if is_formula(name) else declared_order(X, name)
    missing, rare = settings["missing"], settings["rare"]
    number = np.arange(row_count(X), dtype=float) if missing == "drop" else None  # a row's place before others left
    lower, beside = with_ends(y, {**given, "number": number})
    reference = isinstance(prior, Flat)

    def read(terms: Any, modelled: dict[str, Any]) -> tuple[Design, dict[str, Any]]:
        made_of = {"terms": terms, "modelled": modelled}
        return opened(X, lower, beside, labels, reference, missing, rare, settings["intercept"], made_of)

    design, values = read(settings["terms"], {})
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
    whole_y, wanted, by = asked
    structures = asked_structures(
        wanted, X, ends_of(whole_y)["y"], settings["terms"], design.rows, noises is not None, design.columns
    )
    linear = linear_terms(design) if wanted is not None or noises is None else None
    if settings["terms"] is not None or not isinstance(prior, Flat | Gaussian):
        linear = None

    def make(key: Key) -> Design:
        structure, own = key
        if structure == CONSTANT:
            return Design((), design.rows, 0, Schema(0))
        if structure == COLUMNS or (structure == LINEAR and not own and linear is None):
            return design
        terms = "smooth" if structure == SMOOTH else settings["terms"] if linear is None else linear
        return read(terms, dict(own))[0]

    data = Rows(make, target, values, settings["intercept"], design.rows)
    for noise in admitted:
        if noise.own_terms:  # which cannot be, or are
            data.design_of(Candidate(noise))
    counted = data.counted()
    if not 2 <= folds <= counted.count:
        raise ValueError(f"folds must be between 2 and the number of rows, {counted.count}, but is {folds}")
    kept = np.arange(design.rows) if number is None else number.astype(np.int64)
    where = kept if counted is data else kept[data.values["sample_weight"] > 0]
    if by is None:
        splits = at_random(where, folds, seed)
    else:
        splits = split_by(by[0], column(X, by[1], "folds_by", numeric=False)[where], folds, seed)
    found = _compared(
        data, counted, facts, admitted, refused, prior, splits, seed, progress, noises is not None, structures
    )
    found.recipe = Recipe(linear=linear)
    target_name = _target_name(ends_of(y)["y"])
    found.leaks = leaks(counted.design, _numbers(counted.y), target_name, numeric=not labels)
    if not is_formula(name):
        found.columns = described(features_of(design if design.schema.terms is None else read(None, {})[0]))
    found.fit.notes += identifiers(design)
    if design.schema.terms is None:
        found.fit.notes += doubts(counted.design, _numbers(counted.y), by=by)
        features = features_of(take_rows(counted.design, splits.tested))
        found.uneven = uneven(features, found.scores[0])
    if facts is not None:
        found.fit.notes += recognised(facts, _numbers(counted.y), design, target_name)
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
            small_design = small.engine.design
            data = Rows(lambda _: small_design, small.target.raw, beside, settings["intercept"], small.engine.rows)
            look = first_look(data, prior, facts.cell_width()[0])
            admitted, hopeless = screened(admitted, small.engine.rows, _name, look)
            refused |= hopeless
        names = [_name(noise) for noise in admitted]
        scores, resolution, shown = compare_source(task, admitted, names, refused, prior, facts, folds, seed, progress)

    def whole(score: Score) -> Fit:
        return again(score.noise, prior)

    final = _final(scores, refused, progress, whole)
    found = _settled(Comparison(scores, refused, resolution, prior, folds, shown, final), whole)
    small = task.small
    design, seen, name = small.engine.design, small.target.points, _target_name(ends_of(y)["y"])
    found.leaks = leaks(design, seen, name, numeric=facts is not None)
    found.columns = described(features_of(design)) if design.schema.terms is None else []
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
    splits: Splits,
    seed: int,
    progress: Any,
    named: bool,
    structures: Sequence[str],
) -> Comparison:
    labels = all(noise.labelled for noise in noises)
    sample = CELLS if isinstance(counted.y, Cells) else SAMPLE
    width, resolution = CLASSES if facts is None or labels else facts.cell_width()
    if not named and structures[0] == LINEAR:
        look = first_look(counted, prior, width)
        noises, hopeless = screened(noises, counted.count, _name, look, sample)
        refused |= hopeless
    search = Search(counted, prior, width, splits, seed, progress, refused, sample)
    scores = search.run(noises, structures, named=named)

    def whole(score: Score) -> Fit:
        return data.fit(Candidate(score.noise, score.structure), prior, PRECISE)

    final = _final(scores, refused, progress, whole)
    y = np.asarray(_numbers(counted.y), None if labels else float)[splits.tested]
    found = _settled(Comparison(scores, refused, resolution, prior, len(splits), y, final), whole)
    own = found.readable
    found = replace(found, prior=data.prior_of(Candidate(own.noise, own.structure), prior))
    if found.structure in (TREES, STACK):
        best = found.scores[0]
        found.made = partial(_model, best, data, prior, seed)
    return found


def _model(best: Score, data: Rows, prior: Prior, seed: int) -> Any:
    """Trees for all rows, or all parts of a mixture."""

    def fitted(score: Score) -> Any:
        candidate = Candidate(score.noise, score.structure)
        if score.structure == TREES:
            return data.grow(candidate, seed).model
        return quiet(lambda: data.fit(candidate, prior, PRECISE))

    if best.structure == TREES:
        return fitted(best)
    return Stack(tuple(fitted(score) for score, _ in best.parts), tuple(share for _, share in best.parts))


def _final(scores: list[Score], refused: dict[str, str], progress: Any, fitted: Callable[[Score], Fit]) -> Fit:
    """The best fit on all rows, by the call that the conclusion names; what fails there is refused like the rest."""
    while scores:
        score = next((one for one in scores if one.structure not in (TREES, STACK)), None)
        if score is None:
            break
        if progress is not None:
            progress(f"{score.name} on all rows", 1.0)
        try:
            return quiet(partial(fitted, score))
        except CANNOT_FIT as error:
            scores.remove(score)
            refused[score.name] = f"it could not be fitted to all rows: {error}"
    raise ValueError(why_not(refused))


def _settled(found: Comparison, fitted: Callable[[Score], Fit]) -> Comparison:
    """Where the best noise has no end on all rows, as a Tweedie whose power runs to its edge on plain counts, and one
    that is as good has, the latter is the best and the former is refused with what its fit says.
    """
    if found.scores[0].structure in (TREES, STACK):
        return found
    ended = {found.scores[0].name: found.fit}
    for place, score in enumerate(found.scores):
        if score.name not in found.ties or score.structure in (TREES, STACK):
            return found
        final = ended[score.name] if score.name in ended else quiet(partial(fitted, score))
        if not final.converged:
            ended[score.name] = final
            continue
        for other in found.scores[:place]:
            found.refused[other.name] = (
                f"no better than {score.name}, and its fit to all rows did not converge. {ended[other.name].message}"
            )
        return replace(found, scores=found.scores[place:], fit=final)
    return found


def _name(noise: Noise) -> str:
    """The family, and what is stated beside the defaults."""
    return Candidate(noise).name
