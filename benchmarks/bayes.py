"""Posteriors: effective draws per second, learned prior scales against cross-validation, and what loo saves."""

import time
import warnings
from collections.abc import Callable, Iterator
from importlib import import_module

import data
import numpy as np
from fits import Size
from timing import best_times, timed

import neglog as nl

COLUMNS = ("problem", "neglog", "rival", "its", "ratio", "wanted", "remark")
SAMPLERS = ("pymc_sampler", "numpyro_sampler")
DRAWS, CHAINS = 1000, 4
STRENGTHS = np.geomspace(1e-6, 1e2, 41)
FOLDS = 10


def samplers(size: Size, tell: Callable[[str], None]) -> Iterator[tuple[str, ...]]:
    """Poisson with log link, coefficients standard normal, the intercept flat: least effective draws per second."""
    n = size(10_000)
    X, y = data.dense("poisson", n, 20)
    X = (X - X.mean(axis=0)) / X.std(axis=0)  # the rivals' metrics are diagonal: spare them the bad scales
    draws = 100 if size.quick else DRAWS
    name = f"NUTS, poisson, {n:,} × 20, {CHAINS} chains of {draws} draws"
    tell(f"{name}: neglog")

    def ours() -> tuple[float, np.ndarray]:
        start = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fit = nl.fit(X, y, nl.Poisson(), nl.Gaussian(scale=1.0))
            found = fit.posterior("nuts", draws=draws, chains=CHAINS, rng=0, progress=False)
        return time.perf_counter() - start, found.draws[..., 1:]

    repeats = 1 if size.quick else 3  # the best of as many runs for everybody
    mine = max(rate(*ours()) for _ in range(repeats))
    for rival in SAMPLERS:
        try:
            module = import_module(f"rivals.{rival}")
        except ImportError as error:
            yield (
                name,
                f"{mine:,.0f} / s",
                rival.removesuffix("_sampler"),
                "",
                "",
                "≥ 5",
                f"not installed ({error.name})",
            )
            continue
        for label, sample in module.candidates(X, y, draws, CHAINS):
            tell(f"{name}: {label}")
            theirs = max(rate(*sample()) for _ in range(repeats))
            yield name, f"{mine:,.0f} / s", label, f"{theirs:,.0f} / s", f"{mine / theirs:.1f}", "≥ 5", ""


def rate(seconds: float, draws: np.ndarray) -> float:
    """Effective draws per second of the coefficient that has fewest; draws are (chains, draws, coefficients)."""
    import arviz

    least = min(float(arviz.ess(np.ascontiguousarray(draws[..., j]))) for j in range(draws.shape[-1]))
    return least / seconds


def learned(size: Size, tell: Callable[[str], None]) -> Iterator[tuple[str, ...]]:
    """Fits that learn the strength of a ridge against those that cross-validate it, with held-out nats."""
    for problem in learning_problems(size):
        tell(problem[0])
        yield learned_line(*problem)


def learned_line(name: str, X: np.ndarray, y: np.ndarray, noise, rival: Callable, label: str) -> tuple[str, ...]:
    """Times on nine tenths of the rows; nats of each tenth, held out in turn."""
    fold = np.random.default_rng(0).permutation(len(y)) % FOLDS
    X_train, y_train = X[fold != 0], y[fold != 0]

    def ours():
        return nl.fit(X_train, y_train, noise, nl.Gaussian())

    def theirs():
        return rival(X_train, y_train)

    rounds = min(max(int(2.0 / timed(theirs)[0]), 3), 100)
    times = best_times({"ours": ours, "theirs": theirs}, rounds)
    nats = [held_out(X, y, fold == k, noise, rival) for k in range(FOLDS)]
    mine, others = (np.concatenate(rows) for rows in zip(*nats, strict=True))
    gain, error = np.mean(others - mine), np.std(others - mine) / np.sqrt(len(y))
    return (
        name,
        f"{1e3 * times['ours']:.3g} ms",
        label,
        f"{1e3 * times['theirs']:.3g} ms",
        f"{times['theirs'] / times['ours']:.1f}",
        "≥ 10",
        f"{np.mean(mine):.4f} nats a held-out row, {gain:.4f} ± {error:.4f} better",
    )


def held_out(X: np.ndarray, y: np.ndarray, out: np.ndarray, noise, rival: Callable) -> tuple[np.ndarray, np.ndarray]:
    """Nats of the rows that are out under both fits of the others; the rival's noise is as wide as its residuals."""
    model = rival(X[~out], y[~out])
    at = model.predict(X[out])
    spread = np.sqrt(np.mean((y[~out] - model.predict(X[~out])) ** 2))
    law = nl.Gaussian(at, spread) if isinstance(noise, nl.Gaussian) else nl.Poisson(at)
    mine = nl.fit(X[~out], y[~out], noise, nl.Gaussian()).distribution(X[out])
    return mine.nll(y[out]), law.nll(y[out])


def learning_problems(size: Size) -> Iterator[tuple]:
    """Data, noise and the rival that cross-validates."""
    from sklearn.datasets import load_diabetes
    from sklearn.linear_model import PoissonRegressor, RidgeCV
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    def ridge(X, y):
        return make_pipeline(StandardScaler(), RidgeCV(len(y) * STRENGTHS, cv=5)).fit(X, y)

    def ridge_loo(X, y):
        return make_pipeline(StandardScaler(), RidgeCV(len(y) * STRENGTHS)).fit(X, y)

    def poisson(X, y):
        grid = {"poissonregressor__alpha": STRENGTHS[::4]}
        model = make_pipeline(StandardScaler(), PoissonRegressor(solver="newton-cholesky", max_iter=300))
        return GridSearchCV(model, grid, cv=5).fit(X, y)

    X, y = load_diabetes(return_X_y=True)
    yield "learned ridge, diabetes", X, y, nl.Gaussian(), ridge, "RidgeCV, 5 folds"
    yield "learned ridge, diabetes", X, y, nl.Gaussian(), ridge_loo, "RidgeCV, leave-one-out"
    try:
        X, y = data.bikes(size(17_379))
    except data.AbsentError:
        return
    yield "learned ridge, bike hire by the hour", X, y, nl.Poisson(), poisson, "PoissonRegressor, 5 folds"
    yield "learned ridge, log of bike hire", X, np.log(y), nl.Gaussian(), ridge, "RidgeCV, 5 folds"


def left_out(size: Size, tell: Callable[[str], None]) -> Iterator[tuple[str, ...]]:
    """Approximate leave-one-out against refits without each row."""
    n = 300
    X, y = data.dense("poisson", n, 5)
    tell("leave-one-out")
    fit = nl.fit(X, y, nl.Poisson(), nl.Gaussian(scale=1.0))

    def refits() -> float:
        total = 0.0
        for i in range(n):
            rest = np.arange(n) != i
            without = nl.fit(X[rest], y[rest], nl.Poisson(), nl.Gaussian(scale=1.0))
            total += float(without.distribution(X[i : i + 1]).nll(y[i : i + 1])[0])
        return total

    times = best_times({"loo": lambda: fit.loo(), "refits": refits}, 3)
    yield (
        f"leave-one-out, poisson, {n} × 5",
        f"{1e3 * times['loo']:.3g} ms",
        "neglog, refitted",
        f"{1e3 * times['refits']:.3g} ms",
        f"{times['refits'] / times['loo']:.1f}",
        "",
        f"{fit.loo().total:.4f} against {refits():.4f} nats",
    )


GROUPS = {"samplers": samplers, "learned": learned, "left_out": left_out}
