"""Four pictures of what a fit missed, in one figure, and what they show, in words."""

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from neglog.checking.findings import (
    SHARES,
    Along,
    Bars,
    Promised,
    along,
    bars_of,
    promised_of,
    sentence_along,
    sentence_of_bars,
    sentence_of_order,
    sentence_of_promises,
)
from neglog.checking.influence import Influence
from neglog.checking.residuals import SEED, laws_of, residuals_of
from neglog.checking.worm import Worm, shape_of, worm_of
from neglog.distributions.censored import Cells
from neglog.distributions.lazy import special
from neglog.results.plot import ACCENT, INK, PALE, STYLE
from neglog.typing import Numbers

if TYPE_CHECKING:
    from neglog.results.fit import Fit

ROWS = 50_000  # that are looked at, at most
LAWS = 10_000  # of which frequencies are expected
DRAWN = 2_000  # points
MOST, NAMED = 20, 3  # rows that decide most, which are drawn in any case, and those with their numbers
FAR, SOME = 1.0, 0.1  # Cook's distances that are worth a word
USUAL, RARE = 0.05, 0.002  # shares of samples that are as far out as these residuals
CAPPED = 4.0  # and that beyond which dots do not grow
BINS = 20  # of places


@dataclass(frozen=True)
class Check:
    """`figure` is matplotlib's; `text` says what it shows. Prints the text, and shows the figure in a notebook."""

    figure: Any
    text: str

    def save(self, path: str | os.PathLike[str], **options: Any) -> None:
        """Write the figure, as PNG, SVG or PDF by the ending of the name; options are those of matplotlib's savefig."""
        self.figure.savefig(path, **{"dpi": 150, **options})

    def __repr__(self) -> str:
        return self.text

    def _repr_png_(self) -> bytes:
        from io import BytesIO

        file = BytesIO()
        self.figure.savefig(file, format="png", dpi=110)
        return file.getvalue()


@dataclass(frozen=True)
class Look:
    """The rows that are looked at."""

    z: Numbers  # their quantile residuals
    numbers: Numbers  # theirs among all
    predicted: Numbers
    of_log: bool  # whether predictions differ by factors
    law: Any  # of the first `LAWS` of them, with y under it
    y: Any
    total: int


def check_of(fit: "Fit", rows: tuple[Any, Any, Numbers], influence: Influence | str, rng: Any) -> Check:
    """`Fit.check`, of rows that were read; `influence` may be why there is none."""
    look, deciding = look_at(rows, rng), None
    if not isinstance(influence, str):
        deciding = _deciding_rows(look, influence, rows)
    worm, trend = worm_of(look.z), along(look.z, look.predicted)
    part = _part(look)
    text = " ".join(filter(None, [_of_shape(fit, look, worm), _of_part(part), sentence_along(trend)]))
    text += f" {sentence_of_order(look.z) if isinstance(influence, str) else _of_influence(influence)}"
    return Check(_figure(look, worm, part, trend, deciding), text)


def look_at(rows: tuple[Any, Any, Numbers], rng: Any = None) -> Look:
    """Those that count; of many a part."""
    target, noise, eta = rows
    counted = np.arange(len(eta)) if target.w is None else np.flatnonzero(target.w > 0)
    numbers = counted
    if len(counted) > ROWS:
        draws = np.random.default_rng(SEED).choice(counted, ROWS, replace=False)
        numbers = np.sort(draws)
    target, eta = target.taken(numbers), eta[numbers]
    z = residuals_of(target, noise, eta, "quantile", rng)
    few = slice(None, None, -(-len(numbers) // LAWS))
    law, y = laws_of(target.taken(few), noise, eta[few], target.raw[few])
    raw = noise.labelled
    with np.errstate(all="ignore"):
        predicted = eta if raw else np.asarray(noise.given(eta).point(), float)
    predicted = np.broadcast_to(predicted, z.shape)
    of_log = not raw and noise.link.name == "log" and bool((predicted > 0).all())
    return Look(z, numbers, predicted, of_log, law, y, len(counted))


@dataclass(frozen=True)
class Deciding:
    """Rows with how much they decide: those that do most, the first first, and others."""

    numbers: Numbers
    leverage: Numbers
    cooks: Numbers
    z: Numbers


def _deciding_rows(look: Look, found: Influence, rows: tuple[Any, Any, Numbers]) -> Deciding:
    target, noise, eta = rows
    first = found.largest(MOST)
    few = _thin(len(look.z))
    rest = np.setdiff1d(look.numbers[few], first)
    own = look.z[np.searchsorted(look.numbers, rest)]
    z = residuals_of(target.taken(first), noise, eta[first], "quantile", SEED)
    numbers = np.concatenate([first, rest])
    cooks = np.nan_to_num(found.cooks_distance[numbers], nan=np.inf)
    return Deciding(numbers, found.leverage[numbers], cooks, np.concatenate([z, own]))


Part = Bars | Promised | None


def _part(look: Look) -> Part:
    """The law beside the data: frequencies of counts, promises of probabilities; else places, as residuals have."""
    step = look.law.support.step
    if isinstance(look.y, Cells) or look.law.measure != "mass" or step != 1.0:
        return None
    if not np.all(look.y == np.round(look.y)):  # on a lattice that is another one in each row
        return None
    if look.law.support.high - look.law.support.low == step:
        return promised_of(np.broadcast_to(look.law.mean(), look.y.shape), look.y)
    return bars_of(look.law, look.y)


# ---- words -----------------------------------------------------------------------------------------------------------


def _of_shape(fit: "Fit", look: Look, worm: Worm) -> str:
    name = type(fit.noise).__name__
    seen = f"{len(look.z):,} rows" if len(look.z) == look.total else f"{len(look.z):,} of {look.total:,} rows, drawn"
    if worm.chance > USUAL:
        return f"{seen}: nothing in the residuals as a whole speaks against {name} noise."
    if worm.chance > RARE:
        return (
            f"{seen}: little speaks against {name} noise; the residuals leave the band where a normal has "
            f"{worm.farthest:+.1f}, as 1 of {1 / worm.chance:.0f} samples of it do somewhere."
        )
    found = "; ".join(shape_of(look.z)) or f"the curve leaves the band where a normal has {worm.farthest:+.1f}"
    return f"{seen}: {name} noise does not fit. Of the quantile residuals, {found}."


def _of_part(part: Part) -> str:
    if part is None:
        return ""
    return sentence_of_bars(part) if isinstance(part, Bars) else sentence_of_promises(part)


def _of_influence(found: Influence) -> str:
    row = int(found.largest(1)[0])
    most = found.cooks_distance[row]
    if np.isnan(most):
        return f"Without row {row:,} some coefficient could not be told."
    what = f"Cook's distance {most:.2g}, leverage {found.leverage[row]:.2g}"
    if most >= FAR:
        return f"Row {row:,} alone decides much: without it the coefficients are elsewhere ({what})."
    if most >= SOME:
        return f"Row {row:,} decides most, and not little ({what})."
    return f"No row decides much: the most has row {row:,} ({what})."


# ---- pictures --------------------------------------------------------------------------------------------------------


def _figure(look: Look, worm: Worm, part: Part, trend: Along | None, deciding: Deciding | None) -> Any:
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(8.4, 6.4), layout="constrained")
        grid = figure.subplots(2, 2)
        _worm(grid[0, 0], worm)
        draw_part(grid[0, 1], look, part)
        _along(grid[1, 0], look, trend)
        if deciding is None:
            _in_order(grid[1, 1], look)
        else:
            _deciding(grid[1, 1], deciding)
    return figure


def _worm(axes: Any, worm: Worm) -> None:
    axes.fill_between(worm.expected, worm.lower, worm.upper, color=PALE, alpha=0.25, linewidth=0)
    axes.axhline(0.0, color=PALE, linewidth=0.8)
    out = (worm.away < worm.lower) | (worm.away > worm.upper)
    axes.plot(worm.expected, worm.away, color=INK, linewidth=0.8, alpha=0.6)
    axes.scatter(worm.expected, worm.away, s=9, color=np.where(out, ACCENT, INK), zorder=3, linewidths=0)
    reach = max(1.15 * float(np.max(np.abs(worm.away))), 0.3, 0.9 * float(np.median(worm.upper)))
    ends = 1.2 * float(np.max(np.abs([worm.lower[1:-1], worm.upper[1:-1]]))) if len(worm.away) > 4 else reach
    axes.set_ylim(-max(reach, ends), max(reach, ends))
    axes.set_title("Is it the noise? Chance stays in the band", fontsize=9)
    axes.set_xlabel("quantile of a standard normal")
    axes.set_ylabel("quantile of the residuals, less that")


def draw_part(axes: Any, look: Look, part: Part) -> None:
    """The law beside the data."""
    if isinstance(part, Bars):
        _rootogram(axes, part)
    elif isinstance(part, Promised):
        _promises(axes, part)
    else:
        _places(axes, look)


def _rootogram(axes: Any, part: Bars) -> None:
    middle, tops = 0.5 * (part.edges[1:] + part.edges[:-1]), np.sqrt(part.expected)
    wide, heights = 0.9 * np.diff(part.edges), np.sqrt(part.counted)
    axes.bar(middle, heights, wide, bottom=tops - heights, color=INK, alpha=0.55, linewidth=0)
    axes.plot(middle, tops, color=ACCENT, marker="o", markersize=3, linewidth=1.3)
    axes.fill_between([part.edges[0], part.edges[-1]], -1, 1, color=PALE, alpha=0.25, linewidth=0, zorder=0)
    axes.axhline(0.0, color=PALE, linewidth=0.8)
    axes.set_xlim(part.edges[0], part.edges[-1])
    if part.classes is None:
        axes.xaxis.get_major_locator().set_params(integer=True)
    else:
        axes.set_xticks(middle, part.labels(), fontsize=7)
    axes.set_title("Counts hang from what was expected, to 0", fontsize=9)
    axes.set_xlabel("count" if part.classes is None else "class")
    axes.set_ylabel("√ rows")


def _promises(axes: Any, part: Promised) -> None:
    high = min(1.0, 1.1 * float(max(part.promised.max(), part.came.max(), 1e-9)))
    axes.plot([0, high], [0, high], color=PALE, linewidth=0.8)
    ends = 2 * part.deviations
    axes.errorbar(part.promised, part.promised, yerr=ends, fmt="none", ecolor=PALE, elinewidth=5, alpha=0.35)
    away = np.abs(part.came - part.promised) > ends
    axes.scatter(part.promised, part.came, s=18, color=np.where(away, ACCENT, INK), zorder=3, linewidths=0)
    axes.set_xlim(0, high)
    axes.set_ylim(0, min(1.0, 1.05 * float(max(part.came.max(), (part.promised + ends).max()))))
    axes.set_title("What was promised, and how often it came", fontsize=9)
    axes.set_xlabel("probability")
    axes.set_ylabel("share of ones")


def _places(axes: Any, look: Look) -> None:
    bins = int(np.clip(len(look.z) // 20, 4, BINS))
    heights, edges = np.histogram(special.ndtr(look.z), bins, (0.0, 1.0))
    even = len(look.z) / bins
    chance = 2 * np.sqrt(even * (1 - 1 / bins))
    axes.bar(0.5 * (edges[1:] + edges[:-1]), heights / even, 0.94 / bins, color=INK, alpha=0.55, linewidth=0)
    axes.axhline(1.0, color=ACCENT, linewidth=1.3)
    axes.fill_between(
        [0, 1], max(1 - chance / even, 0.0), 1 + chance / even, color=PALE, alpha=0.3, linewidth=0, zorder=3
    )
    axes.set_xlim(0, 1)
    axes.set_title("Places of y in its law: even, if it is right", fontsize=9)
    axes.set_xlabel("P(Y ≤ y)")
    axes.set_ylabel("rows over what was expected")


def _thin(count: int) -> slice:
    return slice(None, None, -(-count // DRAWN))


def _dots(axes: Any, x: Numbers, y: Numbers) -> None:
    many = len(x) > 300
    axes.scatter(x, y, s=5 if many else 12, color=INK, alpha=0.25 if many else 0.6, linewidths=0)


def _along(axes: Any, look: Look, trend: Along | None) -> None:
    few = _thin(len(look.z))
    _dots(axes, look.predicted[few], look.z[few])
    for share in SHARES:
        axes.axhline(float(special.ndtri(share)), color=PALE, linewidth=0.8, linestyle="-" if share == 0.5 else "--")
    if trend is not None:
        for row, share in zip(trend.levels, SHARES, strict=True):
            axes.plot(trend.places, row, color=ACCENT, linewidth=1.6 if share == 0.5 else 1.0)
        if look.of_log and look.predicted.max() > 5 * look.predicted.min():
            axes.set_xscale("log")
    axes.set_title("Along the prediction: median, 10% and 90%", fontsize=9)
    axes.set_xlabel("prediction")
    axes.set_ylabel("quantile residual")


def _in_order(axes: Any, look: Look) -> None:
    few = _thin(len(look.z))
    _dots(axes, look.numbers[few], look.z[few])
    axes.axhline(0.0, color=PALE, linewidth=0.8)
    trend = along(look.z, look.numbers.astype(float))
    if trend is not None:
        axes.plot(trend.places, trend.levels[1], color=ACCENT, linewidth=1.6)
    axes.set_title("In the order of the rows, and their median", fontsize=9)
    axes.set_xlabel("row")
    axes.set_ylabel("quantile residual")


def _deciding(axes: Any, found: Deciding) -> None:
    """Leverage and residual of each row; the area of a dot is Cook's distance."""
    least = 4 if len(found.z) > 300 else 10
    sizes = least + 250 * np.minimum(found.cooks, CAPPED) / np.clip(found.cooks.max(), SOME, CAPPED)
    colours = np.where(found.cooks >= FAR, ACCENT, INK)
    axes.scatter(found.leverage, found.z, s=sizes, color=colours, alpha=0.4, linewidths=0)
    axes.axhline(0.0, color=PALE, linewidth=0.8)
    for row, *place in list(zip(found.numbers, found.leverage, found.z, strict=True))[:NAMED]:
        axes.annotate(f"{row:,}", place, xytext=(5, 4), textcoords="offset points", fontsize=7, annotation_clip=False)
    axes.locator_params(axis="x", nbins=5)
    axes.ticklabel_format(axis="x", scilimits=(-3, 4))
    axes.set_title("Which rows decide: the area is Cook's distance", fontsize=9)
    axes.set_xlabel("leverage")
    axes.set_ylabel("quantile residual")
