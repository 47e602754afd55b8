"""Small plots as SVG text, that take their colours from the page and are legible on a phone.

Each mark has a <title>, which browsers show where the mouse rests and screen readers read.
"""

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np

from neglog.typing import Numbers

WIDTH = 360  # about that of a phone, on which letters then have their own size
LETTER = 6.5  # width of one, on average, at the size of the labels
RIGHT, TOP, BOTTOM = 12, 10, 36
COLOURS = 6  # that the page has for lines


def number(x: float, digits: int = 3) -> str:
    """For people."""
    if not np.isfinite(x):
        return "–" if np.isnan(x) else "∞" if x > 0 else "−∞"
    if x != 0 and not 1e-4 <= abs(x) < 1e7:
        return f"{x:.{digits - 1}e}".replace("-", "−")
    if x == round(x):
        return f"{x:,.0f}".replace("-", "−")
    places = digits - 1 - int(np.floor(np.log10(abs(x)))) if x else 0
    text = f"{x:,.{max(places, 0)}f}"
    return text.replace("-", "−")


def shortened(text: str, letters: int) -> str:
    """What fits."""
    return text if len(text) <= letters else f"{text[: letters - 1]}…"


def round_ticks(low: float, high: float, count: int = 5) -> Numbers:
    """Round numbers between two ends."""
    if not high > low:
        return np.array([low])
    raw = (high - low) / count
    unit = 10.0 ** np.floor(np.log10(raw))
    step = next(k * unit for k in (1, 2, 2.5, 5, 10) if k * unit >= raw * 0.999)
    ticks = np.arange(np.ceil(low / step - 1e-9), np.floor(high / step + 1e-9) + 1) * step
    return np.asarray(ticks + 0.0)  # no -0


class Plot:
    """Axes from one corner to the other, on which marks are put; `svg` is what the page takes in."""

    def __init__(
        self,
        x: tuple[float, float],
        y: tuple[float, float],
        *,
        xlabel: str = "",
        ylabel: str = "",
        title: str = "",
        rows: Sequence[str] = (),
        height: float = 230,
        right: float = RIGHT,
        xticks: Sequence[tuple[float, str]] | None = None,
        yticks: Sequence[tuple[float, str]] | None = None,
        log: bool = False,
    ) -> None:
        self.x, self.y, self.height = _widened(x), _widened(y), height
        if rows:  # names in the place of an axis, the first on top
            yticks = [(len(rows) - 1.0 - k, shortened(name, 24)) for k, name in enumerate(rows)]
        self.xticks = _labelled(self.x, 5) if xticks is None else xticks
        self.yticks = _labelled(self.y, 4) if yticks is None else yticks
        self.left = 10 + LETTER * max((len(text) for _, text in self.yticks), default=0) + (16 if ylabel else 0)
        self.right, self.top = WIDTH - right, TOP + (18 if title else 0)
        self.bottom = height - (BOTTOM if xlabel else BOTTOM - 14)
        self.parts: list[str] = []
        self._frame(xlabel, ylabel, title, grid=not rows)
        if rows:
            for name, (place, text) in zip(rows, self.yticks, strict=True):
                if text != name:
                    self.parts.append(
                        f'<rect class="quiet" x="0" y="{self.down(place) - 8:.1f}" width="{self.left:.1f}" height="16">'
                        f"<title>{escape(name)}</title></rect>"
                    )

    # ---- places ------------------------------------------------------------------------------------------------------

    def across(self, x: Any) -> Any:
        """From a value to units of the drawing."""
        low, high = self.x
        return self.left + (np.asarray(x, float) - low) / (high - low) * (self.right - self.left)

    def down(self, y: Any) -> Any:
        """The same, up is down."""
        low, high = self.y
        return self.bottom - (np.asarray(y, float) - low) / (high - low) * (self.bottom - self.top)

    def _frame(self, xlabel: str, ylabel: str, title: str, grid: bool) -> None:
        for value, text in self.xticks:
            x = float(self.across(value))
            anchor = "end" if x + LETTER * len(text) / 2 > WIDTH else "middle"
            self.parts.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{self.top}" y2="{self.bottom}"/>')
            self.text(min(x, WIDTH), self.bottom + 14, text, anchor)
        for value, text in self.yticks:
            y = float(self.down(value))
            if grid:
                self.parts.append(
                    f'<line class="grid" x1="{self.left:.1f}" x2="{self.right}" y1="{y:.1f}" y2="{y:.1f}"/>'
                )
            self.text(self.left - 5, y + 4, text, "end")
        if title:
            self.text(WIDTH / 2, 13, shortened(title, int(WIDTH / LETTER) - 4), "middle", "title")
        if xlabel:
            whole = shortened(xlabel, int(WIDTH / LETTER))
            half = LETTER * len(whole) / 2
            middle = min(max((self.left + self.right) / 2, half), WIDTH - half)
            self.text(middle, self.height - 5, whole, "middle")
        if ylabel:
            middle = (self.top + self.bottom) / 2
            fits = shortened(ylabel, int((self.height - 10) / LETTER))
            self.parts.append(
                f'<text class="middle" transform="translate(10 {middle:.1f}) rotate(-90)">{escape(fits)}</text>'
            )

    # ---- marks -------------------------------------------------------------------------------------------------------

    def text(self, x: float, y: float, text: str, anchor: str = "start", more: str = "") -> None:
        """Words at a place of the drawing."""
        self.parts.append(f'<text class="{anchor} {more}" x="{x:.1f}" y="{y:.1f}">{escape(text)}</text>')

    def bars(self, edges: Numbers, heights: Numbers, titles: Sequence[str], kind: str = "f0") -> None:
        """From the foot up."""
        for k, (height, title) in enumerate(zip(heights, titles, strict=True)):
            one, other = float(self.across(edges[k])), float(self.across(edges[k + 1]))
            y = float(self.down(min(height, self.y[1])))
            self.parts.append(
                f'<rect class="{kind}" x="{one + 0.4:.2f}" y="{y:.2f}" width="{max(other - one - 0.8, 0.5):.2f}" '
                f'height="{max(self.bottom - y, 0):.2f}"><title>{escape(title)}</title></rect>'
            )

    def line(self, x: Any, y: Any, kind: str = "s0", title: str = "") -> None:
        """Through the points that are numbers."""
        x, y = np.asarray(x, float), np.asarray(y, float)
        seen = np.isfinite(x) & np.isfinite(y)
        points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(self.across(x[seen]), self.down(y[seen]), strict=True))
        self.parts.append(f'<polyline class="{kind}" points="{points}"><title>{escape(title)}</title></polyline>')

    def band(self, x: Numbers, lower: Numbers, upper: Numbers) -> None:
        """Between two lines."""
        ends = [*zip(self.across(x), self.down(lower), strict=True)]
        ends += [*zip(self.across(x), self.down(upper), strict=True)][::-1]
        self.parts.append(f'<polygon class="band" points="{" ".join(f"{a:.1f},{b:.1f}" for a, b in ends)}"/>')

    def points(self, x: Any, y: Any, titles: Sequence[str], kind: str = "f0", radius: float = 3) -> None:
        """One dot each."""
        for a, b, title in zip(self.across(x), self.down(y), titles, strict=True):
            self.parts.append(
                f'<circle class="{kind}" cx="{a:.1f}" cy="{b:.1f}" r="{radius}"><title>{escape(title)}</title></circle>'
            )

    def reach(self, lower: float, upper: float, y: float, kind: str = "s0") -> None:
        """An interval along x, cut off at the ends of the axis."""
        one, other = (float(np.clip(self.across(end), self.left, self.right)) for end in (lower, upper))
        self.line_between(one, float(self.down(y)), other, float(self.down(y)), kind)

    def line_between(self, x1: float, y1: float, x2: float, y2: float, kind: str) -> None:
        """In units of the drawing."""
        self.parts.append(f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>')

    def rule(self, x: float | None = None, y: float | None = None, kind: str = "rule") -> None:
        """A line through the whole plot."""
        if x is not None:
            place = float(self.across(x))
            self.line_between(place, self.top, place, self.bottom, kind)
        if y is not None:
            place = float(self.down(y))
            self.line_between(self.left, place, self.right, place, kind)

    def rug(self, x: Sequence[float]) -> None:
        """Where the data are, along the foot."""
        for place in self.across(np.array([one for one in x if self.x[0] <= one <= self.x[1]])):
            self.line_between(float(place), self.bottom, float(place), self.bottom - 5, "mark")

    def hover(self, x: Numbers, titles: Sequence[str]) -> None:
        """What is said where the mouse is above or below a point."""
        ends = np.concatenate([x[:1], 0.5 * (x[1:] + x[:-1]), x[-1:]])
        for k, title in enumerate(titles):
            one, other = (float(self.across(end)) for end in ends[k : k + 2])
            self.parts.append(
                f'<rect class="quiet" x="{one:.1f}" y="{self.top}" width="{max(other - one, 0.1):.1f}" '
                f'height="{self.bottom - self.top:.1f}"><title>{escape(title)}</title></rect>'
            )

    @property
    def svg(self) -> str:
        """As text."""
        return f'<svg viewBox="0 0 {WIDTH} {self.height:g}" width="{WIDTH}">{"".join(self.parts)}</svg>'


def factor_ticks(low: float, high: float) -> list[tuple[float, str]]:
    """Round factors between two logarithms."""
    if high - low < np.log(6):
        factors = round_ticks(float(np.exp(low)), float(np.exp(high)), 4)
    else:
        powers = 10.0 ** np.arange(np.floor(low / np.log(10)), np.ceil(high / np.log(10)) + 1)
        steps = (1, 2, 5) if high - low < np.log(300) else (1,)
        factors = np.sort([k * power for k in steps for power in powers])
    return [(float(np.log(x)), f"×{x:.3g}") for x in factors if x > 0 and low <= np.log(x) <= high]


def _widened(ends: tuple[float, float]) -> tuple[float, float]:
    low, high = ends
    return (low, high) if high > low else (low - 0.5 - abs(low) / 100, high + 0.5 + abs(high) / 100)


def _labelled(ends: tuple[float, float], count: int) -> list[tuple[float, str]]:
    ticks = round_ticks(*ends, count)
    step = ticks[1] - ticks[0] if len(ticks) > 1 else 1.0
    places = int(max(0, -np.floor(np.log10(step) + 1e-9)))
    if abs(step * 10**places - round(step * 10**places)) > 1e-6:  # 2.5
        places += 1
    large = max(abs(ends[0]), abs(ends[1])) >= 1e6 or places > 5
    return [(float(x), f"{x:.3g}" if large else f"{x:,.{places}f}".replace("-", "−")) for x in ticks]
