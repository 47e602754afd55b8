"""Bayes' rule for finitely many hypotheses, in log space."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from neglog.distributions.lazy import special
from neglog.printing import as_text
from neglog.typing import Numbers

WHOLE = 1e-9  # how far from 1 the sum of a prior may be


class Belief:
    """How probable each of some hypotheses is. They exclude each other and one of them is true.

    `probability` and `odds` are mappings if the prior was one, else arrays. `evidence` is the probability (or density)
    of everything that has been observed. A belief prints itself as a table and never changes: `update` gives a new one.
    """

    def __init__(self, names: tuple[Any, ...] | None, log_prior: Numbers, log_likelihood: Numbers) -> None:
        self._names, self._log_prior, self._log_likelihood = names, log_prior, log_likelihood
        joint = log_prior + log_likelihood
        self.log_evidence = float(special.logsumexp(joint))
        if self.log_evidence == -np.inf:
            raise ValueError(
                "the evidence is zero: no hypothesis that the prior holds possible can explain what was observed; "
                "give some prior probability to a hypothesis that can, or check the likelihoods"
            )
        self._log_probability = joint - self.log_evidence

    @property
    def probability(self) -> Any:
        """The probability of each hypothesis, given all that was observed."""
        return self._named(np.exp(self._log_probability))

    @property
    def log_probability(self) -> Any:
        """Its logarithm, which does not underflow."""
        return self._named(self._log_probability)

    @property
    def odds(self) -> Any:
        """Each hypothesis against all others: p / (1 - p)."""
        logs = self._log_probability
        with np.errstate(all="ignore"):
            before = np.append(-np.inf, np.logaddexp.accumulate(logs)[:-1])
            after = np.append(np.logaddexp.accumulate(logs[::-1])[:-1][::-1], -np.inf)
            return self._named(np.exp(logs - np.logaddexp(before, after)))

    @property
    def evidence(self) -> float:
        """The probability (or density) of everything observed so far, averaged over the prior."""
        return float(np.exp(self.log_evidence))

    def update(self, likelihood: Any, *, log: bool = False) -> "Belief":
        """The belief after more observations; see `nl.bayes`."""
        more = _log_likelihood(likelihood, self._names, len(self._log_prior), log)
        return Belief(self._names, self._log_prior, self._log_likelihood + more)

    def _named(self, values: Numbers) -> Any:
        return values if self._names is None else dict(zip(self._names, values.tolist(), strict=True))

    def __rich_console__(self, console: Any, options: Any) -> Any:
        from rich.table import Table
        from rich.text import Text

        table = Table(caption=f"evidence {self.evidence:.5g}, {self.log_evidence:.5g} nats", caption_justify="left")
        table.add_column("")
        for column in ("prior", "probability", "odds"):
            table.add_column(column, justify="right")
        odds = self.odds if self._names is None else list(self.odds.values())
        names = range(len(self._log_prior)) if self._names is None else self._names
        for line in zip(names, np.exp(self._log_prior), np.exp(self._log_probability), odds, strict=True):
            table.add_row(Text(str(line[0])), *(f"{value:.5g}" for value in line[1:]))
        yield table

    def __repr__(self) -> str:
        return as_text(self)


def bayes(prior: Mapping[Any, float] | ArrayLike, likelihood: Any, *, log: bool = False) -> Belief:
    """The probability of each hypothesis after an observation: prior times likelihood, over their sum.

    prior       the probability of each hypothesis: a mapping, or an array
    likelihood  the probability (or density) of the observation under each hypothesis, keyed or ordered like the prior.
                Several independent observations: under each key a sequence, or an array with one row per observation
    log         whether `likelihood` holds logarithms

    >>> import neglog as nl
    >>> test = nl.bayes({"sick": 0.01, "well": 0.99}, {"sick": 0.8, "well": 0.096})
    >>> round(test.probability["sick"], 4), round(test.evidence, 5)
    (0.0776, 0.10304)
    >>> round(test.update({"sick": 0.8, "well": 0.096}).probability["sick"], 4)
    0.4123
    """
    names = tuple(prior) if isinstance(prior, Mapping) else None
    values = _numbers(list(prior.values()) if isinstance(prior, Mapping) else prior, "prior")
    if values.ndim != 1 or len(values) == 0:
        raise ValueError(f"prior must have one probability per hypothesis, but has the shape {values.shape}")
    bad = np.flatnonzero(~(values >= 0))
    if len(bad):
        raise ValueError(
            f"prior must be probabilities ≥ 0, but {len(bad)} of {len(values)} are not: the first, "
            f"{_label(names, bad[0])}, is {values[bad[0]]:.6g}"
        )
    if abs(values.sum() - 1) > WHOLE:
        raise ValueError(f"prior must sum to 1, but sums to {values.sum():.10g}; divide by that sum if it is meant so")
    with np.errstate(divide="ignore"):
        log_prior = np.log(values)
    return Belief(names, log_prior, _log_likelihood(likelihood, names, len(values), log))


def _log_likelihood(likelihood: Any, names: tuple[Any, ...] | None, count: int, log: bool) -> Numbers:
    """The log likelihood of each hypothesis, summed over the observations."""
    if isinstance(likelihood, Mapping) != (names is not None):
        wanted, given = ("a mapping", "an array") if names is not None else ("an array", "a mapping")
        raise TypeError(f"likelihood must be {wanted} like the prior, but is {given}")
    if names is not None:
        missing = [name for name in names if name not in likelihood]
        unknown = [name for name in likelihood if name not in names]
        if missing or unknown:
            what = f"lacks {_listed(missing)}" if missing else f"has {_listed(unknown)}, which the prior has not"
            raise ValueError(f"likelihood must have the hypotheses of the prior, {_listed(names)}, but {what}")
        columns = [_numbers(likelihood[name], f"likelihood of {name!r}") for name in names]
        lengths = {np.size(column) for column in columns}
        if len(lengths) > 1 or any(column.ndim > 1 for column in columns):
            raise ValueError(
                "likelihood must have the same number of observations under every hypothesis, but has "
                + ", ".join(f"{np.size(column)} under {name!r}" for name, column in zip(names, columns, strict=True))
            )
        values = np.stack([np.atleast_1d(column) for column in columns], axis=-1)
    else:
        values = np.atleast_2d(_numbers(likelihood, "likelihood"))
        if values.ndim != 2 or values.shape[1] != count:
            raise ValueError(
                f"likelihood must have one value for each of the {count} hypotheses, or one row of them per "
                f"observation, but has the shape {np.shape(likelihood)}"
            )
    good = values < np.inf if log else (values >= 0) & (values < np.inf)
    if not good.all():
        row, column = np.argwhere(~good)[0]
        wanted = "logarithms below infinity" if log else "finite and ≥ 0"
        raise ValueError(
            f"likelihood must be {wanted}, but observation {row} has {values[row, column]:.6g} under hypothesis "
            f"{_label(names, column)}"
        )
    with np.errstate(divide="ignore"):
        return np.asarray((values if log else np.log(values)).sum(axis=0))


def _numbers(values: Any, what: str) -> Numbers:
    try:
        return np.asarray(values, np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"{what} must be numbers, but is {values!r}") from None


def _label(names: tuple[Any, ...] | None, place: Any) -> str:
    return f"number {place}" if names is None else repr(names[place])


def _listed(names: Any) -> str:
    return ", ".join(repr(name) for name in names)
