"""Two fits of the same rows, one of which the other can be: twice the nats that lie between them.

Where the larger fit has d more parameters and the smaller is the truth, that is chi-square with d degrees of freedom
(Wilks 1938). A parameter that the smaller fit holds at the end of its range, such as the scale of a group at 0, can
only go one way: half of the time it stays there and adds nothing (Self and Liang 1987). Under Gaussian noise twice the
nats are a function of F, whose law is exact.

Scales of terms are learned by the evidence, in which coefficients are integrated: there the evidence takes the place of
the likelihood. It depends on the units of the coefficients without a prior, so that both fits must have the same, if in
other coordinates.
"""

from typing import Any

import numpy as np

from neglog.design.parts import Part
from neglog.distributions import FAMILIES, Flat
from neglog.distributions.lazy import special
from neglog.evidence.maximum import Maximum
from neglog.evidence.state import Pulls
from neglog.results.fit import Fit
from neglog.results.fit_of_rows import FitOfRows
from neglog.testing.outcome import Outcome, Test
from neglog.typing import Numbers

SAME = 1e-9  # relative: of what is said of the rows of both
WORSE = 1e-6  # nats a larger fit may lose to where its search ended
FEW = 2000  # rows that tell how columns of one fit follow from those of the other
SPANNED = 1e-6  # of a column: what the others may leave of it


def likelihood_ratio(small: Fit, large: Fit) -> Outcome:
    """Whether the larger of two fits to the same rows is better than chance makes it (a likelihood-ratio test).

    The smaller fit must be one that the larger could have given: with fewer columns or terms, parameters of the noise
    that are stated, or a noise that is a limit of the larger's, such as Poisson of NegativeBinomial. `law` is what the
    statistic has if the smaller is true; "half" of a chi-square stands for a parameter at the end of its range.

    >>> import numpy as np, neglog as nl
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 2))
    >>> y = rng.poisson(np.exp(0.5 + 0.3 * X[:, 0]) * rng.gamma(2.0, 0.5, 300))
    >>> fits = [nl.fit(X, y, noise) for noise in (nl.Poisson(), nl.NegativeBinomial())]
    >>> found = nl.likelihood_ratio(*fits)
    >>> found.law, found.p < 0.001
    ('chi-square(0) or (1), half each', True)
    """
    for name, one in (("small", small), ("large", large)):
        if not isinstance(one, Fit):
            raise TypeError(f"{name} must be a fit, as nl.fit gives it, but is a {type(one).__name__}")
        if not one.converged:
            raise ValueError(f"the {name} fit did not converge, so that its likelihood is none. {one.message}")
    _refuse_other_rows(small, large)
    by_evidence = _learns(small) or _learns(large)
    if not by_evidence:
        _refuse_priors(small, large)
        if small.n_parameters > large.n_parameters:
            raise ValueError(
                f"the small fit comes first, but it has {small.n_parameters} parameters and the large one "
                f"{large.n_parameters}"
            )
    _refuse_strangers(small, large)
    ends = _ends_between(small, large)
    if by_evidence:
        statistic, more, scales, text = _of_evidence(small, large)
        ends += scales
    else:
        statistic = 2 * (small.nll - large.nll)
        more, text = large.n_parameters - small.n_parameters - ends, "Twice the nats between both fits"
    if more < 0 or more + ends == 0:
        raise ValueError(
            f"the large fit must have more parameters than the small one, but there are {large.n_parameters} and "
            f"{small.n_parameters}"
        )
    if statistic < -2 * max(WORSE, WORSE * abs(large.nll)):
        raise ValueError(
            f"the large fit is {-0.5 * statistic:.4g} nats worse than the small one, which it could have been: either "
            "it is no special case, or a search ended at another maximum"
        )
    statistic = max(statistic, 0.0)
    exact = None if by_evidence or ends else _exactly(statistic, more, small, large)
    if exact is not None:
        return Outcome(exact, "By the ratio of likelihoods, whose law is exact under this noise.")
    test = Test("the large fit against the small one", statistic, _law(more, ends), _p(statistic, more, ends))
    if ends:
        at = "a parameter" if ends == 1 else f"{ends} parameters"
        text += f"; the small fit holds {at} at the end of the range, where half of the time nothing is gained"
    return Outcome(test, text + ".")


def _law(more: int, ends: int) -> str:
    if not ends:
        return f"chi-square({more})"
    degrees = " or ".join(f"({more + k})" for k in range(ends + 1))
    return f"chi-square{degrees}, half each" if ends == 1 else f"chi-square{degrees}, mixed"


def _p(statistic: float, more: int, ends: int) -> float:
    """Of each number of parameters that left the end of their range, as often as coins fall."""
    counts = np.arange(ends + 1)
    shares = special.binom(ends, counts) / 2.0**ends
    degrees = more + counts
    above = np.where(degrees > 0, special.chdtrc(np.maximum(degrees, 1), statistic), float(statistic <= 0))
    return float(shares @ above)


def _exactly(statistic: float, more: int, small: Fit, large: Fit) -> Test | None:
    """F, where the squares of Gaussian noise say all."""
    if small.residual_degrees is None or large.residual_degrees is None:
        return None
    if not large.noise.sums_squares or type(small.noise) is not type(large.noise):
        return None
    degrees = large.residual_degrees
    f = float(np.expm1(statistic / large.total_weight) * degrees / more)
    law = f"F({more}, {degrees:.4g})"
    return Test("the large fit against the small one", f, law, float(special.fdtrc(more, degrees, f)))


# ---- what can be compared --------------------------------------------------------------------------------------------


def _refuse_other_rows(small: Fit, large: Fit) -> None:
    for what, few, many in (
        ("rows", small.n_rows, large.n_rows),
        ("rows, counted by their weights,", small.total_weight, large.total_weight),
    ):
        if abs(few - many) > SAME * abs(many):
            raise ValueError(f"both fits must be of the same rows, but they have {few:g} and {many:g} {what}")
    one, other = small.target_summary, large.target_summary
    if one.keys() != other.keys() or any(abs(one[key] - other[key]) > SAME * abs(other[key]) for key in one):
        raise ValueError(f"both fits must be of the same y, but of one it is {one}, and of the other {other}")


def _refuse_strangers(small: Fit, large: Fit) -> None:
    """Where the columns of the small fit are not all in the large one."""
    for name, own in small.predictors.items():
        theirs = large.predictors.get(name)
        known = set() if theirs is None else {*theirs.names, *_lines(large)}
        absent = [column for column in {**dict.fromkeys(own.names)} if column not in known]
        if absent and not (_learns(small) or _learns(large)):
            raise ValueError(
                f"the large fit must have all columns of the small one, but has no {absent[0]!r} in its {name}; "
                "fits of which none is a special case of the other are compared by nl.compare, or by loo"
            )
    if small.has_intercept and not large.has_intercept:
        raise ValueError("the large fit must have all parameters of the small one, but has no intercept")


def _lines(fit: Fit) -> list[str]:
    """Columns whose straight lines are in curves."""
    return [part.inputs[0] for part in fit.schema.parts if isinstance(part, Part) and part.kind == "smooth"]


def _refuse_priors(small: Fit, large: Fit) -> None:
    for name, one in (("small", small), ("large", large)):
        if any(not isinstance(own.prior, Flat) for own in one.predictors.values()) and one.names:
            raise ValueError(
                f"the {name} fit has the prior {one.prior!r}: the law of a likelihood ratio is that of fits without a "
                "prior; fit with nl.Flat(), or compare beliefs by posterior().evidence or loo"
            )


def _ends_between(small: Fit, large: Fit) -> int:
    """How many parameters of the larger noise have to be at the end of their range for the smaller one; 0 for the same
    family.
    """
    if type(small.noise) is type(large.noise):
        estimated = {*large.noise_standard_errors, *large.noise.modelled}
        for own in large.noise.beside_location():
            one, other = (getattr(fit.noise, own.name) for fit in (small, large))
            if own.name not in estimated and one is not None and not np.array_equal(one, other):
                raise ValueError(
                    f"the large fit states {own.name}={other:g} where the small one has {one:g}, so that it cannot be "
                    "it; leave the parameter open in the large fit"
                )
        return 0
    steps = _steps(type(small.noise).__name__, type(large.noise), {*large.noise_standard_errors, *large.noise.modelled})
    if steps is None:
        raise ValueError(
            f"{type(small.noise).__name__} noise is no limit of {type(large.noise).__name__} noise as it is fitted, so "
            "that neither is a special case of the other; nl.compare ranks them by held-out nats"
        )
    return steps


def _steps(wanted: str, family: Any, estimated: set[str]) -> int | None:
    """How many parameters go to their limits on the way from one family to another."""
    found = []
    for own in family.declared:
        if own.limit is None or own.name not in estimated:
            continue
        if own.limit.noise == wanted:
            return 1
        there = FAMILIES.get(own.limit.noise.lower())
        further = None if there is None else _steps(wanted, there, estimated - {own.name})
        if further is not None:
            found.append(1 + further)
    return min(found, default=None)


# ---- by the evidence -------------------------------------------------------------------------------------------------


def _learns(fit: Fit) -> bool:
    """Whether it has terms whose scale was learned."""
    return isinstance(fit, FitOfRows) and fit._answer.evidence is not None


def _of_evidence(small: Fit, large: Fit) -> tuple[float, int, int, str]:
    """The statistic, how many parameters are free, how many scales are at 0, and what it is in words."""
    if not (isinstance(small, FitOfRows) and isinstance(large, FitOfRows)):
        raise ValueError("scales that were learned are tested by the evidence, which a fit without its rows cannot say")
    kinds = {fit._answer.evidence[0] for fit in (small, large) if fit._answer.evidence is not None}
    if len(kinds) > 1:
        raise ValueError('both fits must learn their scales by the same evidence, "all" or "groups"; refit one of them')
    kind = kinds.pop()
    values = [_evidence(fit, kind) for fit in (small, large)]
    scales = len(large._answer.scales) - len(small._answer.scales)
    if scales < 0:
        raise ValueError("the large fit must have all terms of the small one, but has fewer scales that were learned")
    if kind == "groups":
        flat = [int(np.sum(fit._task.penalty.flat)) for fit in (small, large)]
        opened = [len(fit._task.target.open) for fit in (small, large)]
        more, text = flat[1] - flat[0] + opened[1] - opened[0], "groups integrated"
    else:
        values[0] += _change_of_units(small, large)
        more, text = len(large._task.target.open) - len(small._task.target.open), "coefficients integrated"
    ends = _ends_between(small, large)
    return 2 * (values[1] - values[0]), more - ends, scales, f"Twice the nats between the evidence of both, {text}"


def _evidence(fit: FitOfRows, kind: str) -> float:
    """Of a fit that has learned scales; or of one that has none, its coefficients integrated in the same way."""
    task, answer = fit._task, fit._answer
    if answer.evidence is not None:
        return float(answer.evidence[1])
    _refuse_priors(fit, fit)
    if kind == "groups":
        return -fit.nll
    nothing = np.zeros(task.engine.width)
    search = Maximum(task, Pulls(nothing, np.zeros((0, task.engine.width)), nothing))
    return float(search.find(task.target.raw_of(answer.noise)).value)


def _change_of_units(small: FitOfRows, large: FitOfRows) -> float:
    """What the log evidence of the smaller fit gains in the coordinates in which the other has its coefficients."""
    if small._task.engine.streamed or large._task.engine.streamed:
        raise ValueError(
            'where rows are not in memory, take evidence="groups", which does not depend on the coordinates of columns'
        )
    one, other = (_flat_columns(fit) for fit in (small, large))
    if one.shape[1] == other.shape[1]:
        turn, *_ = np.linalg.lstsq(other, one, rcond=None)
        left = np.linalg.norm(one - other @ turn, axis=0)
        if np.all(left <= SPANNED * np.linalg.norm(one, axis=0)):
            outputs = len(small._task.penalty.flat) // small._task.engine.columns
            return float(outputs * np.linalg.slogdet(turn)[1])
    raise ValueError(
        'evidence="all" integrates the coefficients without a prior too, so that both fits must have the same of them; '
        'take evidence="groups" in both, or test the columns by fit.test'
    )


def _flat_columns(fit: FitOfRows) -> Numbers:
    """Those that no prior holds, of some of the rows."""
    task = fit._task
    rows = np.unique(np.linspace(0, task.engine.rows - 1, min(FEW, task.engine.rows)).astype(int))
    return np.asarray(task.engine.dense_rows(rows)[:, task.penalty.flat[: task.engine.columns]])
