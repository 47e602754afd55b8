"""What the vocabulary is asked: data that follow each noise, and its nll once more, by which all are judged."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple

import data
import numpy as np
from scipy import special

import neglog as nl

COLUMNS = 20


class Found(NamedTuple):
    """What a fit found. `others` are the parameters beside the coefficients, in the order of the question."""

    intercept: float
    coef: np.ndarray
    others: tuple[Any, ...]
    seconds: float | None = None  # where the rival must measure its time itself


@dataclass
class Question:
    """Coefficients of X and the other parameters of a noise that make `y` most probable."""

    key: str
    X: np.ndarray
    y: Any  # numbers; of cells (time, event) or (lower, upper)
    target: Callable[[], Any]  # y as neglog takes it
    noise: Callable[[], Any]
    others: tuple[str, ...]  # by which names the fitted noise knows them
    surprise: Callable[..., np.ndarray]  # -log p of y, given the raw prediction and the others
    allowed: float = 4.0  # at most so many times our Poisson fit of that size
    wanted: float | None = 10.0  # at least so many times faster than the fastest rival; None: no rivals are asked
    exact: bool = False  # what a contest asks
    gram: bool = False
    remarks: dict[str, str] = field(default_factory=dict)

    @property
    def n(self) -> int:
        """Rows."""
        return len(self.X)

    @property
    def name(self) -> str:
        """For tables."""
        return f"{TITLES[self.key]}, {self.n:,} × {self.X.shape[1]}"

    def objective(self, found: Found) -> np.ndarray:
        """The sum that everybody minimises, every constant included."""
        eta = self.X @ found.coef + found.intercept
        return np.atleast_1d(np.sum(self.surprise(self.y, eta, *found.others)))


# ---- -log p ----------------------------------------------------------------------------------------------------------


def negative_binomial(y, eta, dispersion):
    """Variance mean + dispersion mean²."""
    r, mean = 1 / dispersion, np.exp(eta)
    ways = special.gammaln(y + r) - special.gammaln(r) - special.gammaln(y + 1)
    return -ways + (y + r) * np.log1p(mean / r) - y * (eta - np.log(r))


def poisson(y, eta):
    return np.exp(eta) - y * eta + special.gammaln(y + 1)


def zero_inflated(y, eta, p):
    return -np.where(y == 0, np.log(p + (1 - p) * np.exp(-np.exp(eta))), np.log1p(-p) - poisson(y, eta))


def hurdle(y, eta, p):
    return -np.where(y == 0, np.log(p), np.log1p(-p) - poisson(y, eta) - np.log(-np.expm1(-np.exp(eta))))


def weibull(y, eta, shape):
    """Of times, some of which are only known to be exceeded."""
    time, event = y
    z = shape * (np.log(time) - eta)
    return np.exp(z) - event * (np.log(shape) + z - np.log(time))


def weibull_cells(y, eta, shape):
    lower, upper = ((end / np.exp(eta)) ** shape for end in y)  # the cumulative hazards
    with np.errstate(divide="ignore"):
        return lower - np.log(-np.expm1(lower - upper))


def ordinal(y, eta, edges):
    ends = np.concatenate([[-np.inf], edges, [np.inf]])
    low, high = ends[y.astype(int)] - eta, ends[y.astype(int) + 1] - eta
    return -special.log_expit(high) - special.log_expit(-low) - np.log(-np.expm1(low - high))


def beta(y, eta, precision):
    a, b = precision * special.expit(eta), precision * special.expit(-eta)
    return special.betaln(a, b) - (a - 1) * np.log(y) - (b - 1) * np.log1p(-y)


# ---- draws -----------------------------------------------------------------------------------------------------------


@cache
def columns(n: int, d: int = COLUMNS) -> np.ndarray:
    """Correlated columns; standardised, because some rivals find nothing otherwise."""
    X = data.columns(n, d, np.random.default_rng(d))
    X -= X.mean(axis=0)
    X /= X.std(axis=0)
    return X


def drawn(n: int, spread: float = 0.5) -> tuple[np.ndarray, np.ndarray, np.random.Generator]:
    """Columns, what they predict, and the randomness that is left."""
    X, rng = columns(n), np.random.default_rng(0)
    return X, data.predictor(X, rng, spread=spread), rng


def by_negative_binomial(n: int) -> Question:
    X, eta, rng = drawn(n)
    y = rng.poisson(np.exp(0.5 + eta) * rng.gamma(1 / 0.7, 0.7, n)).astype(float)
    return Question("nb", X, y, lambda: y, lambda: nl.NegativeBinomial(), ("dispersion",), negative_binomial)


def by_zero_inflated(n: int) -> Question:
    X, eta, rng = drawn(n)
    y = np.where(rng.random(n) < 0.3, 0.0, rng.poisson(np.exp(0.5 + eta)))
    return Question("zip", X, y, lambda: y, lambda: nl.ZeroInflated(nl.Poisson()), ("p",), zero_inflated)


def by_hurdle(n: int) -> Question:
    X, eta, rng = drawn(n)
    mean = np.exp(0.5 + eta)
    # A Poisson process that has its first event at a time before 1 has Poisson many after it.
    first = -np.log1p(rng.random(n) * np.expm1(-mean))
    y = np.where(rng.random(n) < 0.4, 0.0, 1 + rng.poisson(np.maximum(mean - first, 0.0)))
    return Question("hurdle", X, y, lambda: y, lambda: nl.Hurdle(nl.Poisson()), ("p",), hurdle)


def by_weibull(n: int) -> Question:
    """A time to censoring such that 30% of the rows are censored."""
    X, eta, rng = drawn(n)
    time, until = np.exp(1 + eta) * rng.weibull(1.5, n), rng.weibull(1.5, n)
    until *= np.quantile(time / until, 0.7)
    event, seen = (time <= until).astype(float), np.minimum(time, until)
    upper = np.where(event == 1, seen, np.inf)
    return Question(
        "weibull", X, (seen, event), lambda: nl.censored(seen, upper), lambda: nl.Weibull(), ("shape",), weibull
    )


def by_inspections(n: int) -> Question:
    """Times known to lie between two of eight inspections, before the first or after the last."""
    X, eta, rng = drawn(n)
    time = np.exp(1 + eta) * rng.weibull(1.5, n)
    visits = np.concatenate([[0.0], np.quantile(time[:10_000], np.linspace(0.1, 0.9, 8)), [np.inf]])
    place = np.searchsorted(visits, time, side="right")
    cells = visits[place - 1], visits[place]
    return Question(
        "interval",
        X,
        cells,
        lambda: nl.censored(*cells),
        lambda: nl.Weibull(),
        ("shape",),
        weibull_cells,
        allowed=10.0,
        wanted=None,
    )


def by_ordinal(n: int) -> Question:
    X, eta, rng = drawn(n, spread=1.0)
    y = np.digitize(eta + rng.logistic(size=n), [-2.0, -0.5, 0.7, 2.2]).astype(float)
    return Question("ordinal", X, y, lambda: y, lambda: nl.Ordinal(), ("edges",), ordinal, allowed=6.0)


def by_beta(n: int) -> Question:
    X, eta, rng = drawn(n)
    mean = special.expit(eta - 0.5)
    y = np.clip(rng.beta(8 * mean, 8 * (1 - mean)), 1e-12, 1 - 2.0**-40)
    return Question("beta", X, y, lambda: y, lambda: nl.BetaProportion(), ("precision",), beta)


QUESTIONS = {
    "nb": by_negative_binomial,
    "zip": by_zero_inflated,
    "hurdle": by_hurdle,
    "weibull": by_weibull,
    "interval": by_inspections,
    "ordinal": by_ordinal,
    "beta": by_beta,
}
TITLES = {
    "nb": "NegativeBinomial, dispersion open",
    "zip": "ZeroInflated(Poisson), p open",
    "hurdle": "Hurdle(Poisson), p open",
    "weibull": "Weibull, shape open, 30% of the times censored",
    "interval": "Weibull, shape open, times between inspections",
    "ordinal": "Ordinal, 5 classes",
    "beta": "BetaProportion, precision open",
}


def asked(keys: tuple[str, ...], sizes: tuple[int, ...]) -> Iterator[Question]:
    """One after the other, so that only one lies in memory."""
    for n in sizes:
        for key in keys:
            yield QUESTIONS[key](n)
