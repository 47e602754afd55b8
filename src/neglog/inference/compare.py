"""Which noise do these data support? Every noise that can explain y, on the same folds, in held-out nats."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from neglog.design import is_formula
from neglog.design.design import Design
from neglog.design.selection import take_rows
from neglog.distributions import (
    FAMILIES,
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
from neglog.distributions.arrays import Numbers
from neglog.distributions.base import Noise, Prior
from neglog.distributions.specification import noise_of, prior_of
from neglog.inference.cells import cell_width, scored
from neglog.inference.evidence import is_open
from neglog.inference.fit import fit, opened
from neglog.inference.printing import as_text
from neglog.inference.result import Fit
from neglog.inference.rows import ConvergenceWarning

NOISES = (Gaussian, Laplace, Huber, LogNormal, Poisson, Gamma, Tweedie, Bernoulli)
LEVELS = (0.5, 0.8, 0.95)
TIE = 2.0  # standard errors of the paired difference within which nobody is better
DECILES = 10
ROWS_TO_LEARN = 5_000  # from which the scale of a prior is learned, at most: more rows make it little surer


@dataclass
class Score:
    """How one noise did on rows it had not seen."""

    name: str
    noise: Noise
    nll: Numbers  # of each row, nats
    transform: Numbers  # P(Y <= y) of each row, uniform if calibrated
    predicted: Numbers  # mean of each row
    weight: Numbers
    fitted: Any = None  # the noise with its parameters filled in, as the last fold has them
    converged: bool = True
    notes: list[str] = field(default_factory=list)

    @property
    def mean(self) -> float:
        """Held-out nats per row."""
        return float(np.average(self.nll, weights=self.weight))

    @property
    def error(self) -> float:
        """The standard error of the mean."""
        return standard_error(self.nll, self.weight)

    @property
    def ks(self) -> float:
        """The largest gap between the distribution of the transform and the uniform one; NaN for classes."""
        order = np.argsort(self.transform)
        u, w = self.transform[order], self.weight[order] / self.weight.sum()
        upper = np.cumsum(w)
        return float(max(np.max(np.abs(upper - u)), np.max(np.abs(upper - w - u))))

    def coverage(self, level: float) -> float:
        """The share of rows inside their central interval of this level; NaN for classes."""
        inside = np.where(np.isnan(self.transform), np.nan, np.abs(self.transform - 0.5) <= 0.5 * level)
        return float(np.average(inside, weights=self.weight))

    def by_decile(self, y: Numbers) -> tuple[Numbers, Numbers]:
        """Means of y and of the predictions in ten groups of rising prediction."""
        order = np.argsort(self.predicted, kind="stable")
        groups = np.array_split(order, min(DECILES, len(order)))
        observed = np.array([np.average(y[rows], weights=self.weight[rows]) for rows in groups])
        return observed, np.array([np.average(self.predicted[rows], weights=self.weight[rows]) for rows in groups])


def standard_error(values: Numbers, weight: Numbers) -> float:
    """Of the weighted mean of independent values."""
    share = weight / weight.sum()
    mean = share @ values
    return float(np.sqrt(np.sum(share**2 * (values - mean) ** 2)))


@dataclass
class Comparison:
    """The noises from best to worst, in held-out nats per row; prints itself as a table and a sentence."""

    scores: list[Score]
    refused: dict[str, str]  # noises that cannot explain y, and why
    resolution: str
    prior: Prior
    folds: int
    y: Numbers
    fit: Fit  # the best noise on all rows
    target: str = "y"

    @property
    def notes(self) -> list[str]:
        """What was done to columns that could not be used as they were."""
        return self.fit.notes

    @property
    def best(self) -> Noise:
        """The noise with the least held-out nats, its parameters as estimated from all rows."""
        return self.fit.noise

    @cached_property
    def ties(self) -> list[str]:
        """The noises that are not clearly worse than the best, and the best itself."""
        return [score.name for score in self.scores if self._gap(score)[0] <= TIE * self._gap(score)[1]]

    def _gap(self, score: Score) -> tuple[float, float]:
        """How much worse than the best, with the standard error of the paired difference."""
        away = score.nll - self.scores[0].nll
        return float(np.average(away, weights=score.weight)), standard_error(away, score.weight)

    @cached_property
    def table(self) -> list[dict[str, Any]]:
        """One record per noise, the best first."""
        records = []
        for score in self.scores:
            gap, gap_error = self._gap(score)
            records.append(
                {
                    "noise": score.name,
                    "nats": score.mean,
                    "error": score.error,
                    "worse": gap,
                    "worse_error": gap_error,
                    "tied": score.name in self.ties,
                    "ks": score.ks,
                    **{f"coverage_{100 * level:g}": score.coverage(level) for level in LEVELS},
                    "converged": score.converged,
                }
            )
        return records

    def to_json(self) -> dict[str, Any]:
        """All of it as plain values."""
        numeric = not isinstance(self.best, Categorical)
        deciles = {}
        for score in self.scores if numeric else ():
            observed, predicted = score.by_decile(self.y)
            deciles[score.name] = {"observed": observed.tolist(), "predicted": predicted.tolist()}
        return {
            "target": self.target,
            "rows": len(self.y),
            "folds": self.folds,
            "table": self.table,
            "best": repr(self.best),
            "ties": self.ties,
            "refused": self.refused,
            "resolution": self.resolution,
            "deciles": deciles,
            "notes": self.notes,
            "conclusion": self.conclusion,
        }

    @property
    def conclusion(self) -> str:
        """What to use, how sure that is, and what to try if nothing fits."""
        return _sentence(self)

    def __rich_console__(self, console: Any, options: Any) -> Any:
        from rich.table import Table
        from rich.text import Text

        table = Table(title="Held-out nats per row", caption=self.resolution, caption_justify="left")
        for column in ("noise", "nats", "±", "worse by", "±", "KS", *(f"{100 * level:g}%" for level in LEVELS)):
            table.add_column(column, justify="left" if column == "noise" else "right")
        for record in self.table:
            name = f"{record['noise']} (tied)" if record["tied"] and record["worse"] else record["noise"]
            gap = ("", "") if not record["worse"] else (f"{record['worse']:.4f}", f"{record['worse_error']:.4f}")
            judged = [f"{record['ks']:.3f}", *(f"{100 * record[f'coverage_{100 * level:g}']:.1f}%" for level in LEVELS)]
            if np.isnan(record["ks"]):
                judged = ["–"] * len(judged)
            table.add_row(Text(name), f"{record['nats']:.4f}", f"{record['error']:.4f}", *gap, *judged)
        yield table
        for name, reason in self.refused.items():
            yield Text(f"{name}: {reason}")
        yield from map(Text, self.notes)
        yield Text(self.conclusion)

    def __repr__(self) -> str:
        return as_text(self)


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
) -> Comparison:
    """Fit every noise that can explain y on the same folds, and rank them by the nats of the rows left out.

    noises    which to try, as objects or text ("gamma", "tweedie(power=1.5)"); by default all that can explain y
    prior     of the coefficients; by default a Gaussian whose scale is learned in every fold
    missing   and rare say what to do with missing values and rare levels, as in `nl.fit`
    progress  is called before every fit, with a sentence and the share of the work that is done

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
    labels = not is_formula(y) and _has_labels(X, y)
    design, values = opened(X, y, given, labels, isinstance(prior, Flat), missing, rare)
    target = values.pop("y")
    assert target is not None
    tried = [noise_of(noise) for noise in noises] if noises is not None else _default_noises(target, labels)
    admitted, refused = _admitted(tried, target, labels, bool(exposure is not None))
    if not admitted:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in refused.items())
        raise ValueError(f"no noise can explain y. {reasons}")
    if not 2 <= folds <= design.rows:
        raise ValueError(f"folds must be between 2 and the number of rows, {design.rows}, but is {folds}")
    found = _compared(design, target, admitted, refused, prior, values, folds, seed, intercept, progress)
    named = {what: value for what, value in {"y": y, **given}.items() if isinstance(value, str)}
    found.target = named.get("y", "y").partition("~")[0].strip()
    found.fit.named = {**named, "y": found.target}
    return found


# ---- which noises ----------------------------------------------------------------------------------------------------


def _has_labels(X: Any, y: Any) -> bool:
    """Whether y holds labels, not numbers."""
    if isinstance(y, str):
        column = X[y] if hasattr(X, "__getitem__") else None
        kind = np.asarray(column).dtype.kind if column is not None else "f"
    else:
        kind = np.asarray(y).dtype.kind
    return kind in "OUS"


def _default_noises(y: Any, labels: bool) -> list[Noise]:
    return [Categorical()] if labels else [family() for family in NOISES]


def _admitted(noises: list[Noise], y: Any, labels: bool, exposure: bool) -> tuple[list[Noise], dict[str, str]]:
    """The noises that can explain y, and why the others cannot."""
    admitted, refused = [], {}
    for noise in noises:
        reason = _reason(noise, y, labels)
        if reason is None and exposure and noise.link.name != "log":
            reason = f"exposure multiplies the mean, which needs the log link, but its link is {noise.link.name}"
            if "log" in noise._links() and not isinstance(noise, Laplace):  # which is fitted by its identity alone
                reason += f"; to try it nevertheless, name it as {type(noise).__name__.lower()}(link='log')"
        if reason is None:
            admitted.append(noise)
        else:
            refused[type(noise).__name__] = reason
    return admitted, refused


def _reason(noise: Noise, y: Any, labels: bool) -> str | None:
    """Why the noise cannot explain y."""
    if isinstance(noise, Categorical):
        classes = len(np.unique(y))
        return None if classes >= 2 else "y has one class only"
    if labels:
        return "y holds labels, not numbers"
    n = f"{len(y):,}"
    bad: Numbers
    match noise:
        case Poisson():
            bad = (y < 0) | (y != np.round(y))
            what = "are no counts 0, 1, 2, …"
        case Bernoulli():
            bad = (y != 0) & (y != 1)
            what = "are neither 0 nor 1"
        case Gamma() | LogNormal():
            bad = y <= 0
            what = "are 0" if np.all(y[bad] == 0) else "are 0 or less"
        case Tweedie():
            bad = y < 0
            what = "are negative"
            if not bad.any() and noise.power is None and not (np.any(y == 0) and np.any(y > 0)):
                return "its power can be estimated only where some targets are 0 and some are not"
        case _:
            return None
    count = int(np.count_nonzero(bad))
    return f"{count:,} of {n} targets {what}" if count else None


# ---- scores ----------------------------------------------------------------------------------------------------------


def _compared(
    design: Design,
    y: Any,
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
    fold = np.empty(design.rows, int)
    fold[rng.permutation(design.rows)] = np.arange(design.rows) % folds
    labels = isinstance(noises[0], Categorical)
    width, resolution = (
        (None, "classes: every noise is scored by the probability of the class") if labels else cell_width(y)
    )
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
    return _code(noise).removesuffix("()")


def _code(law: Any) -> str:
    """The shortest call that makes the law."""
    kind = type(law)
    return f"{kind.__name__}()" if kind in (*NOISES, Categorical, Flat) and law == kind() else repr(law)


# ---- words -----------------------------------------------------------------------------------------------------------


def _sentence(comparison: Comparison) -> str:
    best = comparison.scores[0]
    tied = [name for name in comparison.ties if name != best.name]
    sure = (
        f"{best.name} explains {comparison.target} best, {best.mean:.4f} nats per row held out"
        if not tied
        else f"{best.name} and {', '.join(tied)} explain {comparison.target} equally well within the error, "
        f"{best.mean:.4f} nats per row held out"
    )
    if len(comparison.scores) > 1 and not tied:
        gap, error = comparison._gap(comparison.scores[1])
        sure += f", {gap:.4f} ± {error:.4f} better than {comparison.scores[1].name}"
    classes = isinstance(best.noise, Categorical | Bernoulli)
    noise = "" if classes else f"nl.{_code(best.noise)}, "
    call = f"nl.{'Classifier' if classes else 'Regressor'}({noise}prior=nl.{_code(comparison.prior)}).fit(X, y)"
    loss = FAMILIES[type(best.noise).__name__.lower()].summary[0]
    text = f"{sure}. Its loss is the {loss}; the call is {call}."
    limit = 1.63 / np.sqrt(len(best.transform)) + 0.02
    if not isinstance(best.noise, Categorical) and best.ks > limit:
        outside = 1 - best.coverage(0.95)
        hint = (
            "there are more extreme values than it expects: try Huber or Laplace noise, or a log link"
            if outside > 0.08
            else "the shape differs in the middle: look for excess zeros, several groups in one, or a missing column"
        )
        text += f" But it is not well calibrated (KS distance {best.ks:.3f}): {hint}."
    return text
