"""The fits that are measured: what is asked, of which data, how much faster than the rivals it has to be."""

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import data
import numpy as np
from contest import Contestant, Outcome, Trial, contest, quietly
from rivals import models
from tasks import Candidate, Fitted, Task, largest_strength

import neglog as nl
from neglog.design import read

LADDER = (1e0, 1e-1, 1e-2, 1e-3, 1e-6)
NOISES = {
    "poisson": nl.Poisson,
    "gamma": lambda: nl.Gamma(shape=1.0),
    "tweedie": lambda: nl.Tweedie(power=1.5, dispersion=1.0),
    "bernoulli": nl.Bernoulli,
    "gaussian": lambda: nl.Gaussian(scale=1.0),
    "laplace": lambda: nl.Laplace(scale=1.0),
    "huber": nl.Huber,
    "categorical": nl.Categorical,
}
SMOOTH = ("poisson", "gamma", "tweedie", "bernoulli", "gaussian")
SPARSE = ("gaussian", "poisson", "bernoulli")
COLUMNS = ("problem", "neglog ms", "best rival", "its ms", "ratio", "wanted", "× X'X", "allowed", "objective gap")
RIVAL_COLUMNS = ("problem", "rival", "tolerance", "rival ms", "objective gap", "remark")


@dataclass
class Size:
    """Rows of a problem; a quick run takes fewer."""

    quick: bool = False

    def __call__(self, n: int) -> int:
        """At most 2,000 rows when quick."""
        return min(n, 2000) if self.quick else n


def fits(size: Size) -> Iterator[Task]:
    """Ridge on dense columns."""
    for n, d, large in ((100_000, 20, False), (1_000_000, 50, True), (300_000, 200, True)):
        for noise in SMOOTH:
            X, y = data.dense(noise, size(n), d)
            ratio, grams = (2.0, 1.5) if noise == "gaussian" else (5.0, 4.0)
            name = f"L2 {noise}, {size(n):,} × {d}"
            yield Task(name, noise, "gaussian", X, y, wanted=ratio, grams=grams if large else None, gram=True)


def latency(size: Size) -> Iterator[Task]:
    """Small fits, where everything but arithmetic counts."""
    for noise in SMOOTH:
        X, y = data.dense(noise, 1000, 10)
        ratio = 3.0 if noise == "gaussian" else 10.0
        yield Task(f"L2 {noise}, 1,000 × 10", noise, "gaussian", X, y, wanted=ratio, below=0.3, gram=True)


def motor(size: Size) -> Iterator[Task]:
    """French motor claims: mostly categorical columns, with exposure."""
    table, claims, years = data.motor()
    rows = np.linspace(0, len(table) - 1, size(len(table))).astype(int)
    table, claims, years = table.iloc[rows].reset_index(drop=True), claims[rows], years[rows]
    for prior, label, scale in (("gaussian", "L2", 1.0), ("laplace", "L1", 0.05)):
        name = f"{label} poisson, French motor claims, {len(rows):,}"
        yield Task(name, "poisson", prior, table, claims, scale, years, wanted=5.0)


def lasso(size: Size) -> Iterator[Task]:
    """One strength of the lasso, a hundredth of the largest."""
    for n, d in ((100_000, 200), (1000, 5000)):
        for noise in SPARSE:
            X, y = data.dense(noise, size(n), d, nonzero=20)
            scale = 100 / largest_strength(X, y)
            yield Task(f"L1 {noise}, {size(n):,} × {d:,}", noise, "laplace", X, y, scale, wanted=2.0)


def paths(size: Size) -> Iterator[Task]:
    """A hundred strengths; neglog chooses them, and the rivals get the same."""
    for task in lasso(size):
        strengths = nl.path(task.X, task.y, noise=NOISES[task.noise](), prior=nl.Laplace(), n=100).strengths
        task.name = task.name.replace("L1", "path of 100,")
        task.scale = 1 / np.asarray(strengths)
        yield task


def sparse(size: Size) -> Iterator[Task]:
    """The logistic lasso on sparse columns."""
    n = size(100_000)
    X, y = data.scattered(n, n, 1e-3)
    scale = 5 / largest_strength(X, y)
    yield Task(f"L1 bernoulli, sparse {n:,} × {n:,}", "bernoulli", "laplace", X, y, scale, wanted=1.5)
    X, y = data.w8a()
    X, y = X[: size(X.shape[0])], y[: size(X.shape[0])]
    scale = 100 / largest_strength(X, y)
    yield Task(f"L1 bernoulli, w8a, {X.shape[0]:,} × {X.shape[1]}", "bernoulli", "laplace", X, y, scale, wanted=1.5)


def absolute(size: Size) -> Iterator[Task]:
    """Least absolute deviations, to the very vertex."""
    for n in (20_000, 200_000):
        X, y = data.dense("laplace", size(n), 20)
        yield Task(f"absolute error, {size(n):,} × 20", "laplace", "flat", X, y, wanted=3.0, exact=True)


def quantiles(size: Size) -> Iterator[Task]:
    """Other quantiles than the median, to the very vertex."""
    X, y = data.dense("laplace", size(200_000), 20)
    for quantile in (0.1, 0.75):
        name = f"quantile {quantile:g}, {size(200_000):,} × 20"
        yield Task(name, "quantile", "flat", X, y, wanted=3.0, exact=True, quantile=quantile)


def huber(size: Size) -> Iterator[Task]:
    """Huber with unknown scale: the rivals minimise other sums, so each is held to its own."""
    X, y = data.dense("huber", size(200_000), 20)
    yield Task(f"huber, scale unknown, {size(200_000):,} × 20", "huber", "flat", X, y, wanted=5.0)


def softmax(size: Size) -> Iterator[Task]:
    """Ten classes."""
    X, y = data.classes(size(100_000), 50, 10)
    yield Task(
        f"L2 softmax, {size(100_000):,} × 50, 10 classes", "categorical", "gaussian", X, y, wanted=5.0, gram=True
    )


GROUPS = {
    group.__name__: group for group in (fits, latency, motor, lasso, paths, sparse, absolute, quantiles, huber, softmax)
}


def ours(task: Task) -> Candidate:
    """Neglog on the task, as a user calls it."""
    noise = NOISES[task.noise]() if task.noise in NOISES else nl.AsymmetricLaplace(scale=1.0, quantile=task.quantile)
    if task.path:
        takes_tolerance = "tol" in inspect.signature(nl.path).parameters

        def path(tol: float) -> Fitted:
            tolerance = {"tol": tol} if takes_tolerance else {}
            found = nl.path(task.X, task.y, noise=noise, prior=nl.Laplace(), n=len(task.scale), **tolerance)
            return Fitted(found.intercepts, found.coefs)

        return Candidate("neglog", path, LADDER if takes_tolerance else (None,))
    priors = {"gaussian": nl.Gaussian, "laplace": nl.Laplace}
    prior = priors[task.prior](scale=float(task.scale)) if task.prior in priors else nl.Flat()
    exposure = {} if task.exposure is None else {"exposure": task.exposure}
    # a table is read beforehand, and sparse columns stored as they are wanted, as the matrices of the rivals are
    X = read(task.X) if task.kind == "table" else task.X
    if task.kind == "sparse" and task.X.shape[1] > task.X.shape[0] // 2:
        X = task.columnwise

    def fit(tol: float) -> Fitted:
        found = nl.fit(X, task.y, noise=noise, prior=prior, tol=tol, **exposure)
        return Fitted(found.intercept, found.coef, scale=getattr(found.noise, "scale", None))

    def nats(fitted: Fitted) -> float:
        eta = task.X @ fitted.coef + fitted.intercept
        return float(np.sum(nl.Huber(eta, fitted.scale).nll(task.y)))

    return Candidate("neglog", fit, LADDER, nats if task.noise == "huber" else None)


def outcomes(tasks: Iterator[Task], tell: Callable[[str], None]) -> Iterator[Outcome]:
    """Each task against all rivals that can do it; those that cannot are remembered with the reason."""
    present, missing = models()
    for task in tasks:
        task.remarks |= missing
        rivals = []
        for rival in present:
            if (task.noise, task.prior, task.kind) in (rival.PATHS if task.path else rival.FITS):
                tell(f"{task.name}: {rival.NAME} gets ready")
                rivals += quietly(lambda rival=rival, task=task: list(rival.candidates(task)))
        yield contest(task, ours(task), rivals, tell)


def line(outcome: Outcome) -> tuple[str, ...]:
    """One line of the table: neglog and the fastest rival."""
    task, (mine, *_), best = outcome.task, outcome.seconds, outcome.best_rival
    rival = outcome.seconds[best] if best else None
    asked = [f"≥ {task.wanted:g}"] if task.wanted else []
    asked += [f"< {task.below:g} ms"] if task.below else []
    return (
        task.name,
        milliseconds(mine) if mine is not None else "not reached",
        outcome.contestants[best].candidate.name if best else "none reached it",
        milliseconds(rival) if best else "",
        f"{rival / mine:.2f}" if best and mine is not None else "",
        ", ".join(asked),
        f"{mine / outcome.gram:.2f}" if outcome.gram and mine is not None else "",
        f"≤ {task.grams:g}" if task.grams else "",
        outcome.contestants[0].failure or f"{outcome.gaps[0]:.1e}",
    )


def rival_lines(outcome: Outcome) -> Iterator[tuple[str, ...]]:
    """Every contestant at the cheapest tolerance that is accurate enough, or why there is none."""
    for contestant, trial, gap, seconds in zip(
        outcome.contestants, outcome.chosen, outcome.gaps, outcome.seconds, strict=True
    ):
        tried = contestant.trials[-1] if contestant.trials else None
        shown = trial or tried
        yield (
            outcome.task.name,
            contestant.candidate.name,
            f"{shown.tolerance:.0e}" if shown and shown.tolerance else "",
            milliseconds(seconds if trial else shown.seconds) if shown else "",
            f"{gap:.1e}",
            contestant.failure or remark(contestant, trial, gap),
        )
    for name, reason in outcome.task.remarks.items():
        yield (outcome.task.name, name, "", "", "", reason)


def remark(contestant: Contestant, trial: Trial | None, gap: float) -> str:
    """What the numbers do not say."""
    if trial:
        return ""
    if contestant.ended:
        return f"not reached, {gap:.0e}"
    return f"not reached, {gap:.0e}; slower already, so not tried further"


def milliseconds(seconds: float) -> str:
    """Three digits or so."""
    return f"{1e3 * seconds:.3g}" if seconds < 0.1 else f"{1e3 * seconds:,.0f}"
