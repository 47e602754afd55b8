"""The top of the page: what to use, in few and plain words, and what there is to say against it."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from neglog.comparison.structures import CONSTANT, LINEAR, SMOOTH, STACK, TREES
from neglog.comparison.verdict import in_words, is_left, is_uneven, with_error

if TYPE_CHECKING:
    from neglog.comparison.comparison import Comparison, Score

GOOD, FAIR, POOR = "good", "fair", "poor"
NAMED = 3  # of those that are as good
SHAPES = {
    CONSTANT: "no column at all",
    LINEAR: "the columns as they are",
    SMOOTH: "curves and groups",
    TREES: "boosted trees",
    STACK: "a mixture",
}


@dataclass(frozen=True)
class Badge:
    """A question that everyone asks, and its answer."""

    text: str
    state: str  # GOOD, FAIR or POOR
    why: str


def readable(comparison: "Comparison") -> "Score":
    """The score of `comparison.fit`: the best whose terms and coefficients can be read."""
    return next((one for one in comparison.scores if one.structure not in (TREES, STACK)), comparison.scores[0])


def nats(gap: tuple[float, float]) -> str:
    """A difference with its error."""
    return " ± ".join(with_error(*gap))


def sentences(comparison: "Comparison") -> list[str]:
    """The verdict; what is wrong stands in the badges, and all of it in the conclusion."""
    best, target = comparison.scores[0], comparison.target
    mean = with_error(best.mean, best.error)[0]
    most = best.parts[0][0].name if best.parts else ""
    what = {
        TREES: f"Boosted trees with {best.law} noise predict {target} best",
        STACK: f"Several laws mixed predict {target} best, of which {most} is most",
        SMOOTH: f"Curves and groups with {best.law} noise predict {target} best",
        CONSTANT: f"{best.law} noise explains {target} best, and no column helps",
    }.get(best.structure, f"{best.law} noise explains {target} best")
    said = [f"{what}: {mean} nats for a row that it has not seen."]
    base = next((one for one in comparison.scores if one.structure == CONSTANT), None)
    if base is not None and base is not best:
        gap = comparison.gap(base)
        said.append(f"Without any column a row costs {nats(gap)} nats more, {in_words(gap[0])}.")
    simple = comparison.simplest
    if simple is not best:
        said.append(f"{simple.name} is simpler, and not worse by more than the error.")
    elif (fitted := readable(comparison)) is not best:
        said.append(f"{fitted.name} is the best that can be read; it costs {nats(comparison.gap(fitted))} nats more.")
    return said


def of_call(comparison: "Comparison") -> str:
    """What the call gives: of a mixture only a part."""
    parts = comparison.scores[0].parts
    if not parts:
        return "The best law"
    return f"{parts[0][1]:.0%} of the mixture; the comparison has all of it as its model"


def badges(comparison: "Comparison") -> list[Badge]:
    """Calibrated? A leak? A tie? Converged?"""
    best = comparison.scores[0]
    found = []
    held = f"its 80% intervals hold {best.coverage(0.8):.1%} of the rows, KS distance {best.ks:.3f}"
    if best.noise.of_classes:
        pass
    elif is_uneven(best):
        found.append(Badge("not calibrated", POOR, held))
    elif comparison.uneven:
        found.append(Badge("calibrated on the whole", FAIR, f"{held}; not so along {comparison.uneven[0].column}"))
    elif is_left(best):
        found.append(Badge("nearly calibrated", FAIR, held))
    else:
        found.append(Badge("calibrated", GOOD, held))
    if comparison.leaks:
        found.append(Badge("leak", POOR, comparison.leaks[0]))
    else:
        found.append(Badge("no leak seen", GOOD, "no column tells the target by itself"))
    others = [name for name in comparison.ties if name != best.name]
    if others:
        listed = ", ".join(others[:NAMED]) + f" and {len(others) - NAMED} more" * (len(others) > NAMED)
        found.append(Badge(f"tie of {len(others) + 1}", FAIR, f"as good within the error: {listed}"))
    elif len(comparison.scores) > 1:
        runner = comparison.scores[1]
        found.append(Badge("clear winner", GOOD, f"{runner.name} costs {nats(comparison.gap(runner))} nats more"))
    bad = [score.name for score in comparison.scores if not score.converged]
    if not comparison.fit.converged:
        found.append(Badge("fit not converged", POOR, comparison.fit.message))
    elif bad:
        found.append(Badge("not all converged", FAIR, f"fits to look at: {', '.join(bad)}"))
    else:
        found.append(Badge("converged", GOOD, "all fits that were compared came to an end"))
    return found
