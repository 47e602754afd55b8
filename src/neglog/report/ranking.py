"""Who predicts best: noises and shapes of f in held-out nats, and what the shapes are worth."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from neglog.comparison.comparison import LEVELS, Score, standard_error
from neglog.comparison.structures import CONSTANT, LINEAR, SMOOTH, STACK
from neglog.comparison.verdict import in_words, with_error
from neglog.report.drawing import LETTER, WIDTH, Plot, number, round_ticks, shortened
from neglog.report.head import SHAPES, nats, readable
from neglog.report.page import Figure, Section, Table

if TYPE_CHECKING:
    from neglog.comparison.comparison import Comparison

FAR = 3.0  # times the median gap, where the axis ends
LISTED = 12  # rows of a table that is not folded
ROW = 31  # height of one
DRAWN = 14  # of many, beside the constant
BENT = 1.5  # effective parameters of a curve that is no straight line


def ranking(comparison: "Comparison") -> Iterator[Section]:
    """All scores, drawn and as a table."""
    records = comparison.table
    heads = ["noise", "shape of f", "nats", "±", "worse by", "±", "KS", *(f"{100 * level:g}%" for level in LEVELS)]
    rows = []
    for one in records:
        more = ("", "") if one["worse"] <= 0 else with_error(one["worse"], one["worse_error"])
        name = (
            one["noise"] + " (tied)" * bool(one["tied"] and one["worse"]) + " (not converged)" * (not one["converged"])
        )
        covered = [_percent(one[f"coverage_{100 * level:g}"]) for level in LEVELS]
        rows.append(
            [name, one["structure"], *with_error(one["nats"], one["error"]), *more, number(one["ks"]), *covered]
        )
    words = (
        "Fewer are better: nats are −log of the probability that was given to what then happened, in rows left out of "
        "the fit."
    )
    if _has_constant(comparison):
        words += " “Constant” knows no column, and is what all others have to beat."
    yield Section(
        "Held-out nats per row",
        [words],
        [_ranking_figure(comparison)],
        [
            Table(
                heads,
                rows,
                2,
                "KS is the distance of the probability integral transform from an even spread; the last "
                "columns are the percentages of rows inside their 50%, 80% and 95% intervals.",
                folded=f"All {len(rows)} as a table" if len(rows) > LISTED else "",
            )
        ],
        bullets=comparison.cautions,
    )


def _percent(share: float) -> str:
    return "–" if np.isnan(share) else f"{100 * share:.1f}"


def _has_constant(comparison: "Comparison") -> bool:
    return any(one.structure == CONSTANT for one in comparison.scores)


def _ranking_figure(comparison: "Comparison") -> Figure:
    """The name of each above its place, since names are long and phones are narrow."""
    records = [one for k, one in enumerate(comparison.table) if k < DRAWN or one["structure"] == CONSTANT]
    gaps = np.array([one["worse"] for one in records])
    reach = gaps + 2 * np.array([one["worse_error"] for one in records])
    end = float(reach.max()) or 1.0
    far = FAR * float(np.median(gaps[gaps > 0])) if (gaps > 0).any() else end
    if end > 1.5 * far:
        end = max(far, float(reach[gaps <= far].max()))
    beyond = gaps > end
    plot = Plot(
        (-0.03 * end, end),
        (-0.6, len(records) - 0.1),
        height=ROW * len(records) + 50,
        right=64,
        xlabel="nats a row worse than the best, ± two errors",
        xticks=[(float(tick), f"{tick:.4g}") for tick in round_ticks(0.0, end, 4)],
        yticks=(),
    )
    plot.rule(x=0.0)
    for k, one in enumerate(records):
        y, text = len(records) - 1.0 - k, _more(one)
        name = _name(one)
        kind = "2" if one["structure"] == CONSTANT else "0" if one["tied"] else "1"
        down = float(plot.down(y))
        plot.text(plot.left + 8, down - 8, shortened(name, int(WIDTH / LETTER) - 4), more="name")
        if beyond[k]:
            plot.text(plot.right, down + 4, "▸", "end")
        else:
            plot.reach(gaps[k] - 2 * one["worse_error"], float(reach[k]), y, f"s{kind}")
            plot.points([gaps[k]], [y], [f"{name}: {one['nats']:.4f} nats, {text}"], f"f{kind}")
        plot.text(WIDTH - 2, down + 4, text, "end")
    cut = f" The axis is cut off: {int(beyond.sum())} of them (▸) are further away, by the number at the edge."
    green = " Green: no column at all." * _has_constant(comparison)
    count = len(comparison.scores)
    rest = f" The best {DRAWN} of {count}; all are in the table." if len(records) < count else ""
    return Figure(
        plot.svg,
        f"Points with intervals: how many nats a row each of {len(records)} laws is worse than {_name(records[0])}",
        f"Blue: as good as the best within the error.{green}{rest}{cut * bool(beyond.any())}",
    )


def _name(record: dict[str, Any]) -> str:
    """With the shape of f, where that is not in the name and not the usual one."""
    return record["noise"] if record["structure"] in (LINEAR, STACK) else f"{record['structure']} {record['noise']}"


def _more(record: dict[str, Any]) -> str:
    """What it costs beside the best."""
    worse = record["worse"]
    if not worse:
        return "best"
    return "<0.0001" if 0 <= worse < 1e-4 else f"+{with_error(worse, record['worse_error'])[0]}"


def shapes(comparison: "Comparison") -> Iterator[Section]:
    """What each shape of f gains, and which curves bend."""
    if len(comparison.structures) < 2 and comparison.fit.schema.terms is None:
        return
    words = []
    pair = _pair(comparison)
    if pair is not None:
        straight, curved = pair
        away = straight.nll - curved.nll
        gap = float(np.average(away, weights=straight.weight))
        error = standard_error(away, straight.weight) * float(np.sqrt(comparison.folds / (comparison.folds - 1)))
        sure = "" if abs(gap) > 2 * error else ", which may be chance"
        verb = "saves" if gap > 0 else "costs"
        words.append(
            f"Under {straight.law} noise, to let columns bend {verb} {nats((abs(gap), error))} nats a row{sure}: "
            f"{in_words(abs(gap))}."
        )
    fit, tables = comparison.fit, []
    if len(comparison.structures) > 1:
        rows = []
        for name in comparison.structures:
            first = next(one for one in comparison.scores if one.structure == name)
            gap, error = comparison.gap(first)
            price = with_error(gap, error)[0] if gap > 0 else ""
            words_for = in_words(gap) if gap > 0 else ""
            cost = with_error(first.mean, first.error)[0]
            rows.append([f"{name}: {SHAPES[name]}", first.law, words_for, cost, price])
        tables.append(Table(["shape", "best noise", "more cost, in words", "nats", "more"], rows, 3))
    if fit.schema.terms is not None:
        rows = []
        for of, predictor in fit.predictors.items():
            for term in predictor.terms or ():
                counts = number(term.effective), f"{term.coefficients:,}"
                rows.append([of, term.name, term.kind, *counts, _scale(term.scale)])
        curves = [
            (term.name if of == "location" else f"{term.name} of the {of}", term.effective)
            for of, one in fit.predictors.items()
            for term in one.terms or ()
            if term.kind == "smooth"
        ]
        bent = sorted((one for one in curves if one[1] > BENT), key=lambda one: -one[1])
        if curves:
            listed = ", ".join(dict.fromkeys(f"{name} ({number(count, 2)})" for name, count in bent))
            words.append(
                f"{len(bent)} of {len(curves)} curves bend; in brackets the effective parameters; a straight "
                f"line has 1: {listed}."
                if bent
                else "No curve bends: straight lines would do."
            )
        tables.append(
            Table(
                ["predictor", "term", "kind", "effective", "coefficients", "scale"],
                rows,
                3,
                "How many coefficients the data determine, of how many there are, and how far the Gaussian prior of a "
                f"term lets it go, in units of the raw prediction. The fit is that of {readable(comparison).name}.",
                folded=f"All {len(rows)} terms",
            )
        )
    yield Section(
        "From constant to linear to smooth" if len(comparison.structures) > 1 else "The terms", words, tables=tables
    )


def _scale(scale: Any) -> str:
    """Of a prior, or of several by label."""
    if not isinstance(scale, dict):
        return "" if scale is None else number(scale)
    return ", ".join(f"{label} {number(value)}" for label, value in scale.items())


def _pair(comparison: "Comparison") -> tuple[Score, Score] | None:
    """The best noise that was scored on the columns as they are and with curves."""
    for one in comparison.scores:
        if one.structure in (LINEAR, SMOOTH) and one.totals is None:
            both = {other.structure: other for other in comparison.scores if other.law == one.law}
            if LINEAR in both and SMOOTH in both:
                return both[LINEAR], both[SMOOTH]
    return None
