"""What a comparison says in sentences: what to use, how sure that is, and what to try if nothing fits."""

from typing import TYPE_CHECKING, Any

import numpy as np

from neglog.distributions import FAMILIES
from neglog.distributions.noise import Noise

if TYPE_CHECKING:
    from neglog.comparison.comparison import Comparison, Score

UNEVEN = 0.02  # distance of the transform from an even spread that is worth a word, beside what chance makes
TOO_MANY_OUTSIDE = 0.08  # of the rows beyond their 95% interval
FEW_VALUES = 10  # of y that may be grades
MORE_ZEROS = 1.05  # times as many as expected that are worth a word


def with_error(value: float, error: float) -> tuple[str, str]:
    """Both as text, to the second digit of the error: more say nothing."""
    if not (np.isfinite(error) and error > 0):
        return f"{value:.4f}", f"{error:.4f}"
    places = int(min(max(1 - np.floor(np.log10(error)), 0), 6))
    if float(f"{error:.{places}f}") >= 10.0 ** (2 - places):  # 0.0996 is 0.10
        places = max(places - 1, 0)
    return f"{value:,.{places}f}", f"{error:,.{places}f}"


def sentence(comparison: "Comparison") -> str:
    """The conclusion."""
    best = comparison.scores[0]
    loss = FAMILIES[type(best.noise).__name__.lower()].summary[0]
    article = "" if "'s " in loss else "the "
    parts = [f"Beware: {leak}." for leak in comparison.leaks]
    parts.append(f"{_ranking(comparison)}. The loss of {_law(best)} is {article}{loss}; the call is {comparison.call}.")
    if best.parts:
        mixed = ", ".join(f"{share:.1%} {part.name}" for part, share in best.parts)
        parts.append(f"The mixture is {mixed}; that call gives the first, `model` all of them.")
    if not comparison.fit.converged:
        parts.append(f"But its fit to all rows has to be looked at: {comparison.fit.message}")
    parts += _expected(comparison)
    parts += _prices(comparison)
    if is_uneven(best) and not comparison.leaks:  # which would have to go first
        parts.append(f"But it is not well calibrated (KS distance {best.ks:.3f}): {_hint(comparison)}.")
    elif is_left(best) and not comparison.leaks:
        parts.append(f"A little is left to explain (KS distance {best.ks:.3f}): {_hint(comparison)}.")
    if comparison.uneven and not comparison.leaks:
        parts.append(f"Right on the whole is not right everywhere: {comparison.uneven[0].sentence(best)}.")
    return " ".join(parts)


def _law(score: "Score") -> str:
    return score.parts[0][0].law if score.parts else score.law


def _expected(comparison: "Comparison") -> list[str]:
    """What to expect of a prediction, where that is told by a number."""
    best, y = comparison.scores[0], comparison.y
    if best.noise.labelled or not np.isfinite(best.predicted).all() or len(comparison.structures) < 2:
        return []
    away = np.abs(np.asarray(y, float) - best.predicted)
    order = np.argsort(away)
    share = np.cumsum(best.weight[order]) / best.weight.sum()
    middle = float(away[order[int(np.searchsorted(share, 0.5))]])
    return [f"Half of the rows lie within ±{middle:.3g} of their prediction."]


def _prices(comparison: "Comparison") -> list[str]:
    """What the simpler ones cost, in nats and in words."""
    best, simple = comparison.scores[0], comparison.simplest
    if len(comparison.structures) < 2:
        return []
    parts = []
    if simple is not best:
        near = _nats(comparison.gap(simple))
        parts.append(f"{simple.name} is simpler and not worse by more than one standard error ({near} nats a row).")
    shown = {best.structure, simple.structure}
    for structure in ("linear", "constant"):
        others = [score for score in comparison.scores if score.structure == structure]
        if structure in shown or not others:
            continue
        gap, error = comparison.gap(others[0])
        what = f"The {structure} {others[0].law}" if structure != "constant" else "No column at all"
        parts.append(f"{what} costs {_nats((gap, error))} nats a row more, {in_words(gap)}.")
    return parts


def _nats(gap: tuple[float, float]) -> str:
    return with_error(*gap)[0]


def in_words(gap: float) -> str:
    """What so many nats a row are like: a law that gives a share of its probability to what never happens costs
    -log(1 - share) more.
    """
    if gap >= np.log(2):
        return f"as if each row had been one of {np.exp(gap):.2g} that are as likely"
    lost = -np.expm1(-max(gap, 0.0))
    if lost < 1e-4:
        return "next to nothing"
    return f"as if 1 row in {float(f'{1 / lost:.2g}'):g} came from nowhere"


def _ranking(comparison: "Comparison") -> str:
    best = comparison.scores[0]
    nats = with_error(best.mean, best.error)[0]
    *others, last = comparison.ties
    if others:
        return (
            f"{', '.join(others)} and {last} explain {comparison.target} equally well within the error, {nats} nats "
            "per row held out"
        )
    text = f"{best.name} explains {comparison.target} best, {nats} nats per row held out"
    if len(comparison.scores) > 1:
        gap, error = with_error(*comparison.gap(comparison.scores[1]))
        text += f", {gap} ± {error} better than {comparison.scores[1].name}"
    return text


def is_uneven(best: "Score") -> bool:
    """Whether the spread is so uneven that intervals are wrong."""
    return not best.noise.of_classes and best.ks > 1.63 / np.sqrt(len(best.transform)) + UNEVEN


def is_left(best: "Score") -> bool:
    """Whether the spread is uneven by more than chance makes, and by enough to be seen."""
    return not best.noise.of_classes and best.ks > max(UNEVEN, 1.63 / np.sqrt(len(best.transform)))


def _hint(comparison: "Comparison") -> str:
    best, y = comparison.scores[0], comparison.y
    if best.noise.labelled:
        return "no one latent value orders the classes: Categorical noise gives each class its own coefficients"
    zeros, extremes = has_excess_zeros(best, y), 1 - best.coverage(0.95) > TOO_MANY_OUTSIDE
    if zeros or extremes:
        what = " and ".join(["more zeros"] * zeros + ["more extreme values"] * extremes)
        advice = ["rows that can only be 0 may be mixed with others"] * zeros
        if extremes:
            advice.append(_against_extremes(best.noise, {type(score.noise).__name__ for score in comparison.scores}, y))
        return f"there are {what} than it expects: {'; '.join(advice)}"
    values = np.unique(y)
    if 2 < len(values) <= FEW_VALUES and (values == np.round(values)).all():
        return (
            f"the shape differs in the middle: {comparison.target} has only {len(values)} different values, as grades "
            "have, which Ordinal and Categorical noise take as classes"
        )
    return "the shape differs in the middle: look for several groups in one, or a missing column"


def _against_extremes(noise: Noise, compared: set[str], y: Any) -> str:
    """What has not been tried yet and could help."""
    advice = []
    if noise.link.name != "log" and "log" in noise._links() and np.min(y) >= 0:
        advice.append("a log link")
    others = [name for name in ("Huber", "Laplace") if name not in compared]
    if np.min(y) >= 0 and np.min(y) == np.round(np.min(y)) and "Tweedie" not in compared and (y == 0).any():
        others.append("Tweedie")
    if others:
        advice.append(f"{' or '.join(others)} noise")
    tries = f"try {', or '.join(advice)}; " if advice else ""
    return f"{tries}look for outliers, a missing column, or groups of rows that differ"


def has_excess_zeros(best: "Score", y: Any) -> bool:
    """Whether more rows are 0 than the noise expects, where 0 is the least that y can be.

    Where y is 0 its place was drawn evenly below P(Y = 0), so that twice the mean place is the mean of that
    probability over the rows that are 0, which is not less than its mean over all rows.
    """
    zero = y == 0
    if best.noise.measure == "density" or np.min(y) < 0 or not zero.any():
        return False
    weight = best.weight
    share = weight[zero].sum() / weight.sum()
    return bool(share > MORE_ZEROS * 2 * np.average(best.transform[zero], weights=weight[zero]))
