"""`nl.compare` for rows that are not in memory: every fit and the scores are passes over the source."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from neglog.comparison.cells import scored
from neglog.comparison.comparison import Score, Totals, typical
from neglog.comparison.recorded import Facts, facts_of
from neglog.distributions import Categorical, Gaussian
from neglog.distributions.base import Prior
from neglog.distributions.noise import Noise
from neglog.engines.files import kind_of_type
from neglog.engines.memory import Loss, Memory
from neglog.estimation.diagnosis import diagnose
from neglog.estimation.learned_prior import is_open, learn
from neglog.estimation.solve import solve
from neglog.evidence.learned_terms import has_priors, learn_terms
from neglog.likelihood.accelerators import make_target
from neglog.likelihood.modelled import check_columns
from neglog.likelihood.prior_terms import make_penalty
from neglog.likelihood.task import Task
from neglog.results.fit_of_rows import FitOfRows
from neglog.solvers.penalty import Penalty
from neglog.streaming.first_pass import on_fold, open_source, streamed_task, task_sums
from neglog.streaming.pieces import Folds, PieceTask, Streamed, StreamedTask, fold_of
from neglog.streaming.target_sums import condensed
from neglog.typing import Numbers

ROWS_TO_SHOW = 100_000  # whose scores are kept, for calibration and figures
TOL = 1e-3
CANNOT_FIT = (ValueError, ArithmeticError, np.linalg.LinAlgError)  # which a fit of one noise may end with
CLASSES = (None, "classes: every noise is scored by the probability of the class")


@dataclass(frozen=True)
class Fitted:
    """One noise, fitted without one fold."""

    noise: Any
    theta: Numbers
    converged: bool
    message: str
    typical: Any  # the noise with what is modelled at its median


def is_labels(source: Any, y: Any) -> bool:
    """Whether y holds labels, not numbers."""
    return isinstance(y, str) and y in source.types and kind_of_type(source.types[y]) == "categorical"


def open_for_all(
    source: Any, y: Any, prior: Prior, given: dict[str, Any], **settings: Any
) -> tuple[StreamedTask, Facts | None]:
    """The rows under a noise that takes any y, and what is known about y; None for labels."""
    labels = is_labels(source, y)
    link = {"link": "log"} if given.get("exposure") is not None else {}
    base: Noise = Categorical() if labels else Gaussian(**link)
    task = open_source(source, y, base, prior, given, tol=TOL, max_iter=100, **settings)
    facts = None if labels else task.pieces.without_columns().total(target_facts, task.target)
    return task, facts


def target_facts(task: Task) -> Facts:
    """Of one piece."""
    return facts_of(task.target.raw)


def under(task: StreamedTask, noise: Noise) -> StreamedTask:
    """The same rows under another noise."""
    small, old = task.small, task.small.target
    if noise.of_classes:
        return task
    if noise.labelled:
        return _ordered(task, noise)
    check_columns(noise, task.engine.design.columns)
    target = make_target(noise, old.raw, old.w, old.p, whole=False)
    small = replace(small, target=target, engine=_reloaded(small.engine, target))
    sums = task.pieces.without_columns().total(task_sums, target)
    whole = condensed(target, sums)
    engine = Streamed(small, task.pieces, whole, sums.rows)
    return replace(task, target=whole, engine=engine, small=small, sums=sums)


def _ordered(task: StreamedTask, noise: Noise) -> StreamedTask:
    """The same classes in order, of which one raw prediction tells."""
    small, old = task.small, task.small.target
    labels = old.classes  # type: ignore[attr-defined]
    if noise.classes is not None and noise.classes != tuple(labels.tolist()):
        raise ValueError("where X is not in memory, classes are compared in the order of their labels only")
    whole = make_target(noise, labels, None, None)
    target, own = whole.of_rows(old.raw, old.w, old.p), noise.takes_intercept
    old_engine = small.engine
    design, offset, centre = old_engine.design, old_engine.offset, old_engine.centre
    engine = Memory(design, target.y, target.weight, offset, target.loss, intercept=own, centre=centre)
    small = replace(small, target=target, engine=engine, penalty=Penalty.none(engine.width))
    return streamed_task(small, replace(task.pieces, intercept=own), task.sums)


def _reloaded(engine: Any, target: Any) -> Any:
    other = engine.with_loss(target.loss)
    other.y, other.weight = target.y, target.weight
    return other


def why_not(refused: dict[str, str]) -> str:
    """Why nothing can be compared: the reasons of all noises, or the one that all share."""
    reasons = set(refused.values())
    if len(refused) > 1 and len(reasons) == 1:
        return f"no noise can explain y: {reasons.pop()}"
    return f"no noise can explain y. {'; '.join(f'{name}: {reason}' for name, reason in refused.items())}"


def no_chance(noise: Noise, count: int, rows: int) -> str:
    """The reason against a noise that gives rows no probability at all."""
    return (
        f"{count:,} of {rows:,} rows that were held out have no probability under it, as where the {noise.link.name} "
        "link leads to means that it cannot have"
    )


def compare_source(
    task: StreamedTask,
    noises: list[Noise],
    names: list[str],
    refused: dict[str, str],
    prior: Prior,
    facts: Facts | None,
    folds: int,
    seed: int,
    progress: Any,
) -> tuple[list[Score], str, Numbers]:
    """Scores from best to worst, how y was scored, and the y of the rows that are kept. Noises that cannot be fitted
    go to `refused`.
    """
    width, resolution = CLASSES if facts is None else facts.cell_width()
    steps = len(noises) * folds + 2
    fitted: list[list[Fitted]] = []
    kept: list[int] = []
    for i, noise in enumerate(noises):
        row = []
        try:
            own = under(task, noise)
            for k in range(folds):
                if progress is not None:
                    progress(f"{names[i]}, fold {k + 1} of {folds}", (i * folds + k) / steps)
                row.append(_fitted(on_fold(own, Folds(folds, k, False, seed)), prior))
        except CANNOT_FIT as error:
            refused[names[i]] = f"it could not be fitted: {error}"
            continue
        fitted.append(row)
        kept.append(i)
    if not kept:
        raise ValueError(why_not(refused))
    if progress is not None:
        progress("scores", (steps - 2) / steps)
    step = max(1, task.engine.rows // ROWS_TO_SHOW)
    sums, impossible, *shown = task.total(score_piece, fitted, folds, seed, width, step)
    y, weight, *arrays = (np.concatenate(part) for part in shown)
    nll, transform, predicted = (part.reshape(-1, len(kept)).T for part in arrays)
    totals = Totals(sums)
    scores = []
    for place, i in enumerate(kept):
        if impossible[place]:
            refused[names[i]] = no_chance(noises[i], int(impossible[place]), task.engine.rows)
            continue
        ends = [fit for fit in fitted[place] if not fit.converged]
        last = fitted[place][-1].typical
        score = Score(names[i], noises[i], nll[place], transform[place], predicted[place], weight, last)
        score.converged, score.notes = not ends, [fit.message for fit in ends]
        score.totals, score.place = totals, place
        scores.append(score)
    scores.sort(key=lambda score: score.mean)
    return scores, resolution, y


def _fitted(task: StreamedTask, prior: Prior) -> Fitted:
    """As `nl.fit` does it."""
    if has_priors(task.engine.design.schema):
        task, answer, prior = learn_terms(task, prior, None)  # type: ignore[assignment]
    elif is_open(prior):
        task, answer, prior = learn(task, prior, None)  # type: ignore[assignment]
    else:
        task = replace(task, penalty=make_penalty(prior, task.engine))
        answer = solve(task)
    diagnose(task, answer)
    fit = FitOfRows(task, answer, prior)
    noise = fit.noise
    if noise.modelled:
        noise = typical(noise, noise.given(task.in_memory().engine.predict(answer.theta)))
    return Fitted(answer.noise, answer.theta, fit.converged, "" if fit.converged else fit.message, noise)


def _predicted(engine: Memory, fitted: Fitted) -> Numbers:
    """Raw predictions; those of ordered classes are single, and have no intercept."""
    if engine.loss.classes > 1 and not fitted.noise.of_classes:
        engine = engine.with_loss(Loss("gaussian", "identity"))
    engine = engine.with_models(len(fitted.noise.modelled))
    return engine.predict(np.append(np.zeros(max(engine.coefficients - len(fitted.theta), 0)), fitted.theta))


def score_piece(
    task: PieceTask, fitted: list[list[Fitted]], folds: int, seed: int, width: float | None, step: int
) -> tuple[Any, ...]:
    """Sums of weights and scores, and of their products under squared weights; and some of the rows as they are."""
    engine, target = task.engine, task.target
    y, count = target.raw, len(fitted)
    w = np.ones(engine.rows) if target.w is None else target.w
    nll, transform, predicted = (np.zeros((engine.rows, count)) for _ in range(3))
    fold = fold_of(task.numbers, folds, seed)
    rng = np.random.default_rng([seed, int(task.numbers[0])])
    for k in range(folds):
        rows = np.flatnonzero((fold == k) & (w > 0))
        if not len(rows):
            continue
        part = engine.take(rows)
        for i, fits in enumerate(fitted):
            law = fits[k].noise.given(_predicted(part, fits[k]))
            if law.labelled:
                nll[rows, i], transform[rows, i] = scored(law, y[rows], None, rng)
                predicted[rows, i] = law.p.max(axis=1)
                if law.of_classes:
                    transform[rows, i] = np.nan
            else:
                nll[rows, i], transform[rows, i] = scored(law, y[rows], width, rng)
                predicted[rows, i] = law.point()
    impossible = np.count_nonzero(~np.isfinite(nll), axis=0)
    ones = np.column_stack([np.ones(engine.rows), np.where(np.isfinite(nll), nll, 0.0)])
    sums = np.stack([np.outer(w @ ones, np.eye(1, count + 1)[0]), (ones * (w**2)[:, None]).T @ ones])
    shown = np.flatnonzero((task.numbers % step == 0) & (w > 0))
    scores = (nll[shown].ravel(), transform[shown].ravel(), predicted[shown].ravel())
    rows_shown = (target.points[shown], w[shown], *scores)
    return sums, impossible, *([part] for part in rows_shown)
