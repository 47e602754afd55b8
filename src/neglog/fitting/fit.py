"""`nl.fit`: the most probable coefficients under a noise and a prior."""

import math
import os
import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from neglog.design import check_index, declared_order, is_formula, opened_formula, read, row_count, split
from neglog.design.design import Design, TermsByPredictor
from neglog.design.formula import beside_terms, fault, read_formula
from neglog.design.functions import function_of
from neglog.design.tables import as_table
from neglog.distributions import Flat, Gaussian, Laplace
from neglog.distributions.arrays import all_finite
from neglog.distributions.base import Prior
from neglog.distributions.censored import cells_of, ends_of, with_ends
from neglog.distributions.noise import Noise
from neglog.distributions.parameters import MODEL
from neglog.engines.blas import quiet_blas
from neglog.engines.memory import Memory, centres_of
from neglog.estimation.diagnosis import diagnose
from neglog.estimation.learned_prior import is_open, learn, on_unit_variance
from neglog.estimation.smooth import WIDE
from neglog.estimation.solve import solve
from neglog.estimation.told_scale import note_of, refuse_untold, settled
from neglog.evidence.learned_terms import has_priors, learn_terms
from neglog.fitting.several import fit_several, questions
from neglog.likelihood.accelerators import make_target
from neglog.likelihood.modelled import check_columns, refuse_own_terms, refuse_told
from neglog.likelihood.ordered import order_notes
from neglog.likelihood.prior_terms import make_penalty
from neglog.likelihood.row_values import (
    ConvergenceWarning,
    check_counted_classes,
    checked,
    class_offsets,
    combined_offset,
)
from neglog.likelihood.task import Answer, Task
from neglog.results.fit_of_rows import FitOfRows
from neglog.streaming.first_pass import open_source, opened_source
from neglog.streaming.watching import watched


def fit(
    X: Any,
    y: ArrayLike | str,
    noise: Noise = Gaussian(),  # noqa: B008
    prior: Prior = Flat(),  # noqa: B008
    *,
    sample_weight: ArrayLike | str | None = None,
    precision: ArrayLike | str | None = None,
    offset: ArrayLike | str | None = None,
    exposure: ArrayLike | str | None = None,
    intercept: bool = True,
    standardize: bool | None = None,
    missing: str = "error",
    rare: int = 0,
    tol: float = 1e-6,
    max_iter: int = 100,
    engine: str | None = None,
    cache: str | os.PathLike[str] | None = None,
    progress: bool | Callable[[str], None] | None = None,
    terms: Any = None,
    evidence: str = "all",
) -> FitOfRows:
    """The most probable coefficients of eta = offset + intercept + X coef, and the open parameters of the noise with
    them.

    X              NumPy array (float32 or float64, C or F order, not copied), SciPy sparse matrix, or a dataframe of
                   pandas, polars or Arrow, whose strings and categories become one coefficient per level and whose
                   dates become days; or what `neglog.design.read` made of it, for several fits of the same table. Or
                   data that need not fit in memory: a path, a glob or a directory of Parquet, CSV or Arrow files, or a
                   Dask or Spark dataframe; y and the next four are then names of columns
    y              one value per row, or the name of a column of X, or a formula such as "y ~ s(age) + (1|region) +
                   log(power):fuel + offset(start)", which states the terms, all other columns by a dot, and by 0 +
                   that there is no intercept; the next four are values or names, too
    noise          what y does around the prediction; parameters that are None are estimated, and those that are "model"
                   are predicted for each row by the same columns, with coefficients and a prior like the location's:
                   `fit.predictors`. Several quantiles, AsymmetricLaplace(quantile=[0.1, 0.5, 0.9]), are as many fits,
                   each exact, and come back as one `QuantileFit`; its predictions are put in order row by row, so that
                   they do not cross
    prior          Flat(), Gaussian(scale=...), Laplace(scale=...) or their product; one scale or one per coefficient,
                   inf for none. The intercept has none. A scale that is None is learned: of Gaussian() by maximum
                   evidence (and with it the scale of a Gaussian noise, if that is open), for each of its `groups` if
                   it has some; of Laplace() by leave-one-out
    sample_weight  counts a row as so many
    precision      divides the row's dispersion
    offset         is added to eta; exposure multiplies the mean (log links)
    standardize    whether the prior is on the coefficients of columns of unit variance; by default if its scale is
                   learned. Coefficients are always those of the columns as they are
    missing        values of a table: "error" refuses them, "drop" leaves their rows out, "impute" puts the mean in
                   their place and adds a column that says where (for categories, a level); `fit.notes` says what was
                   done
    rare           levels of fewer rows than this have the effect 0
    tol            stop when the optimum is less than this many posterior standard deviations away
    engine         "dask" reads files on the cluster of the current Dask client
    cache          a directory for decoded copies of files, from which further passes read faster
    progress       of fits of files: True shows a bar, a function is told each step; None shows one on a terminal
    terms          what the prediction is made of, if not every column as it is: a list of names of columns and of
                   `smooth`, `group` and `interaction` of some, each with a Gaussian prior whose scale is learned by
                   maximum evidence unless it is stated; or "smooth", which makes curves of numbers with more than ten
                   values and groups of factors with more than 20 levels. `prior` is then that of the columns as they
                   are; `fit.terms`, `fit.effect` and `fit.plot` show what was found
    evidence       of the scales of terms: "all" integrates all coefficients (what mgcv calls REML); "groups" only those
                   that have a prior, and the others are where that evidence is largest (ML, as lme4's glmer has it)

    A fit that did not reach the optimum warns and says why in `message`.

    >>> import numpy as np, neglog as nl
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), [1, 2, 7, 11]
    >>> fit = nl.fit(X, y, nl.Poisson())
    >>> fit.coef.round(4), round(fit.intercept, 4)
    (array([0.7736]), 0.1513)
    """
    given = {"sample_weight": sample_weight, "precision": precision, "offset": offset, "exposure": exposure}
    if evidence not in ("all", "groups"):
        raise ValueError(f'evidence must be "all" or "groups", but is {evidence!r}')
    y, terms, intercept, given = explained(X, y, terms, intercept, given, engine, noise)
    modelled = terms_of_modelled(noise)
    if modelled:
        noise = noise.modelled_alike()
    several = questions(noise)
    if several is not None:
        rows: dict[str, Any] = {**given, "missing": missing, "rare": rare, "intercept": intercept, "terms": terms}
        rows["evidence"] = evidence
        search: dict[str, Any] = {"standardize": standardize, "tol": tol, "max_iter": max_iter}
        places: dict[str, Any] = {"engine": engine, "cache": cache, "progress": progress}
        one = partial(fit, X, y, prior=prior, **rows, **search, **places)
        return fit_several(several, lambda own: one(noise=own))  # type: ignore[return-value]  # but reads like one
    source, stated, told = opened_source(X, engine), prior, _told(noise)
    if source is not None:
        check_settings(prior, tol, max_iter)
        refuse_told(noise)
        with watched(source, progress), np.errstate(all="ignore"):
            settings: dict[str, Any] = {
                "intercept": intercept,
                "tol": tol,
                "max_iter": max_iter,
                "missing": missing,
                "rare": rare,
                "terms": terms,
                "modelled": modelled,
            }
            task: Task = open_source(source, y, noise, prior, given, cache=cache, **settings)
            task.penalty = make_penalty(Flat() if has_priors(task.engine.design.schema) else prior, task.engine)
            with quiet_blas(task.engine):
                task, answer, prior = _solved(task, prior, standardize, evidence)
                diagnose(task, answer, learned=is_open(stated) or bool(answer.scales))
    else:
        with np.errstate(all="ignore"):  # a step too far may overflow; the line search sees it
            if told:
                refuse_untold(noise)
                noise = noise.estimated(**{told[0]: 1.0})
            task = prepare(X, y, noise, prior, given, intercept, tol, max_iter, missing, rare, terms, modelled)
            with quiet_blas(task.engine):
                if told:
                    again = partial(_solved, prior=prior, standardize=standardize, evidence=evidence)
                    task, answer, prior = settled(task, *told, again)
                else:
                    task, answer, prior = _solved(task, prior, standardize, evidence)
                if not (math.isfinite(answer.decrement) and all_finite(answer.theta)):
                    task.engine.design.check_finite()
                diagnose(task, answer, learned=is_open(stated) or bool(answer.scales))
    named = {what: value for what, value in {**ends_of(y), **given}.items() if isinstance(value, str)}
    result = FitOfRows(task, answer, prior, named, X if source is None and hasattr(X, "__getitem__") else None)
    if told:
        result.notes.append(note_of(result.noise, *told))
    if not result.converged:
        warnings.warn(result.message, ConvergenceWarning, stacklevel=2)
    return result


def explained(
    X: Any,
    y: Any,
    terms: Any,
    intercept: bool,
    given: dict[str, Any],
    engine: str | None,
    noise: Any = None,
) -> tuple[Any, Any, bool, dict[str, Any]]:
    """The target, the terms, whether there is an intercept, and what goes with the rows, by a formula if y is one; one
    that terms cannot say stays a formula.
    """
    if not is_formula(y):
        return y, terms, intercept, given
    formula = read_formula(y)
    if formula is None:
        text, own, beside = beside_terms(y)
        return text, terms, intercept and own, _with_offset(y, given, beside, noise)
    if terms is not None:
        raise ValueError(f"the formula {y!r} states the terms; leave terms={terms!r} out")
    named = {"offset": formula.offset, "exposure": formula.exposure}
    given = _with_offset(y, given, {what: name for what, name in named.items() if name is not None}, noise)
    taken = [value for value in given.values() if isinstance(value, str)]
    found = formula.terms_among(lambda: _names_of(X, y, engine), taken)
    return formula.target, found, intercept and formula.intercept, given


def _with_offset(formula: str, given: dict[str, Any], beside: dict[str, str], noise: Any) -> dict[str, Any]:
    """What goes with the rows, with the offset that a formula states."""
    for what, name in beside.items():
        if what == "exposure" and isinstance(noise, Noise) and noise.link.name != "log":
            why = (
                f"the log of a column is taken beside the log link, not beside {noise.link.name!r}; make a column of it"
            )
            raise fault(formula, f"offset(log({name}))", why)
        if given.get(what) is not None:
            part = f"offset({name})" if what == "offset" else f"offset(log({name}))"
            raise fault(formula, part, f"{what}={given[what]!r} says another; make one column of both")
    return {**given, **beside}


def _names_of(X: Any, formula: str, engine: str | None) -> list[str]:
    """The columns among which a formula may mean all others."""
    source = opened_source(X, engine)
    if source is not None:
        return list(source.types)
    table = as_table(X)
    if table is None:
        raise fault(formula, ".", "all other columns have no names where X is an array; make a table of it")
    return table.names


def terms_of_modelled(noise: Any) -> dict[str, Any]:
    """The terms of each modelled parameter, None for those of the location, if any has its own; else nothing."""
    if not (isinstance(noise, Noise) and noise.own_terms):
        return {}
    return {name: noise.own_terms.get(name) for name in noise.modelled}


def _told(noise: Any) -> tuple[str, str] | None:
    """The parameter that something else than the likelihood tells, and what."""
    return next(iter(noise.told.items()), None) if isinstance(noise, Noise) else None


def check_settings(prior: Prior, tol: float, max_iter: int) -> None:
    if not isinstance(prior, Prior):
        raise TypeError(f"prior must be a prior such as nl.Gaussian(scale=1.0) or nl.Flat(), but is {prior!r}")
    if getattr(prior, "told", None):
        raise ValueError(f"{prior!r} as a prior: residuals tell nothing about it; state its scale, or leave it None")
    if not (tol > 0 and max_iter > 0):
        raise ValueError(f"tol and max_iter must be > 0, but they are {tol} and {max_iter}")


def _answered(task: Task, prior: Prior, standardize: bool | None, evidence: str) -> tuple[Task, Answer, Prior]:
    """The answer, and the prior with its scale filled in, on the coefficients as they are."""
    if has_priors(task.engine.design.schema):
        return learn_terms(task, prior, standardize, evidence)
    if evidence != "all":
        raise ValueError(f"evidence={evidence!r} is of terms with priors, such as group(...), but there are none")
    if is_open(prior):
        return learn(task, prior, standardize)
    if standardize:
        prior = on_unit_variance(prior, task)
        task.penalty = make_penalty(prior, task.engine)
    return task, solve(task), prior


def _solved(task: Task, prior: Prior, standardize: bool | None, evidence: str) -> tuple[Task, Answer, Prior]:
    """The answer; where a solver fails for what is no number in X, the error that says where that is."""
    try:
        return _answered(task, prior, standardize, evidence)
    except (ValueError, ArithmeticError):
        task.engine.design.check_finite()
        raise


def prepare(
    X: Any,
    y: Any,
    noise: Any,
    prior: Prior,
    given: dict[str, Any],
    intercept: bool,
    tol: float,
    max_iter: int,
    missing: str = "error",
    rare: int = 0,
    terms: Any = None,
    modelled: dict[str, Any] | None = None,
) -> Task:
    """Arguments, checked, as a task for a solver."""
    check_settings(prior, tol, max_iter)
    refuse_own_terms(noise, "nl.fit takes, but a path does not")
    labels, classes = isinstance(noise, Noise) and noise.labelled, isinstance(noise, Noise) and noise.of_classes
    if labels and noise.classes is None:
        noise = noise.with_classes(order) if (order := declared_order(X, y)) is not None else noise
    by_class = given["offset"] if classes else None
    if isinstance(by_class, str):
        raise ValueError(f"for classes an offset has one column per class, but is the name {by_class!r}; give an array")
    if by_class is not None:
        check_index(X, by_class, "offset")
    given = {**given, "offset": None if classes else given["offset"]}
    y, given = with_ends(y, given)
    own = not isinstance(noise, Noise) or noise.takes_intercept
    made_of: dict[str, Any] = {"terms": terms, "modelled": modelled}
    design, values = opened(X, y, given, labels, isinstance(prior, Flat), missing, rare, intercept or not own, made_of)
    intercept = intercept and own
    if isinstance(noise, Noise):
        check_columns(noise, design.columns)
    weight = checked(values["sample_weight"], "sample_weight", zero=True)
    if weight is not None and not weight.any():
        raise ValueError("sample_weight is zero in every row; at least one row must count")
    target = make_target(noise, cells_of(values), weight, checked(values["precision"], "precision"))
    shift = combined_offset(noise, values["offset"], values["exposure"])
    loss = target.loss
    if labels:
        notes = order_notes(noise, target.classes.tolist())  # type: ignore[attr-defined]
        design = replace(design, notes=(*design.notes, *notes)) if notes else design
    if labels and weight is not None:
        check_counted_classes(np.unique(np.asarray(values["y"])[weight > 0]).tolist(), len(target.classes))  # type: ignore[attr-defined]
    if by_class is not None:
        shift = class_offsets(by_class, design.rows, loss.classes)
    centre = None if own else centres_of(design)  # the noise takes up what they add
    engine = Memory(design, target.y, target.weight, shift, loss, intercept=intercept, centre=centre)
    penalty = make_penalty(Flat() if has_priors(design.schema) else prior, engine)
    if engine.width > WIDE and (isinstance(prior, Laplace) or not penalty.smooth):
        design.check_finite()  # a lasso over many columns looks at few of them, and may never meet what is no number
    return Task(target, engine, penalty, tol, max_iter).counting()


def opened(
    X: Any,
    y: Any,
    given: dict[str, Any],
    labels: bool,
    reference: bool,
    missing: str,
    rare: int,
    intercept: bool = True,
    made_of: dict[str, Any] | None = None,
) -> tuple[Design, dict[str, Any]]:
    """X as a design and y and what goes with the rows as arrays, of the rows that are used."""
    if is_formula(y):
        _refuse_terms_beside(y, made_of or {})
        return opened_formula(X, y, given, labels, missing, intercept)
    if missing == "drop":
        X = _needed(X, y, given, made_of or {})
    rest, values = split(X, {"y": y, **given}, labels=("y",) if labels else (), missing=missing)
    if isinstance(rest, Design):
        _refuse_terms(made_of or {})
        design = rest if intercept else _noting_references(rest)
    else:
        weight = checked(values.get("sample_weight"), "sample_weight", zero=True)  # by which curves are made
        kinds: dict[str, Any] = {"reference": reference, "intercept": intercept, **(made_of or {})}
        design = read(rest, missing=missing, rare=rare, weight=weight, **kinds)
    before = row_count(X)
    if design.rows < before:
        note = f"{before - design.rows:,} of {before:,} rows were left out: they lack values"
        design = replace(design, notes=(note, *design.notes))
    return design, values


def _needed(X: Any, y: Any, given: dict[str, Any], made_of: dict[str, Any]) -> Any:
    """A table without columns that no term takes: what they lack is no reason to leave rows out."""
    table = as_table(X) if not isinstance(X, np.ndarray | list | tuple | Design) else None
    if table is None:
        return X
    named = {value for value in (y, *given.values()) if isinstance(value, str)}
    names = [name for name in table.names if name not in named]
    stated = TermsByPredictor.of(made_of.get("terms"), made_of.get("modelled"), names)
    if stated is None or stated.columns is None:
        return X
    of = {name: function_of(name, table.names) for name in stated.columns}
    kept = named | {name if found is None else found[1] for name, found in of.items()}
    return table.without(set(table.names) - kept)


def _refuse_terms(made_of: dict[str, Any]) -> None:
    """Terms are made of a table: what was read of one before has its own."""
    if made_of.get("terms") is not None or any(made_of.get("modelled") or {}):
        raise ValueError(
            "terms are of the columns of a table, but X has been read already; give terms where it is read"
        )


def _refuse_terms_beside(formula: str, made_of: dict[str, Any]) -> None:
    """A formula that is formulaic's makes all columns itself: terms beside it would stand for nothing."""
    if made_of.get("terms") is not None:
        raise ValueError(f"the formula {formula!r} states the terms; leave terms={made_of['terms']!r} out")
    own = next(((name, one) for name, one in (made_of.get("modelled") or {}).items() if one is not None), None)
    if own is not None:
        raise ValueError(
            f"{own[0]}={own[1]!r} states terms of the {own[0]}, which the formula {formula!r} cannot have beside it, "
            f"for it has functions that neglog does not know; make columns of these, or state {own[0]}={MODEL!r}"
        )


def _noting_references(design: Design) -> Design:
    """A design that was read for fits with an intercept, in one without: said, since it then holds levels at 0."""
    held = [column for column in design.schema.table or () if column.levels and column.reference]
    categories = design.schema.categorical
    if not held or len(held) < len(categories):
        return design
    levels = ", ".join(f"{column.name}[{column.levels[0]}]" for column in held if column.levels)
    note = f"without an intercept the effect of {levels} is 0; read X with intercept=False to give it one"
    return replace(design, notes=(*design.notes, note))
