"""A law of one number that is known only as a function: normalised and inverted by Gauss-Legendre panels."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from neglog.distributions.base import Distribution
from neglog.distributions.support import Support
from neglog.typing import Numbers

POINTS, SHARES = np.polynomial.legendre.leggauss(20)
DEEP = 60.0  # nats below the peak at which the law is taken to end
FARTHEST = 600.0  # on a logarithmic line: beyond, numbers end before the law does
PANELS = (32, 64, 128, 256, 512, 1024)
ACCURATE = 1e-12

MinusLog = Callable[[Numbers], Numbers]


class Scale:
    """The real line for a parameter that lives between two bounds; without bounds, in units about a middle."""

    def __init__(self, low: float, high: float, middle: float = 0.0, unit: float = 1.0) -> None:
        self.low, self.high, self.middle, self.unit = low, high, middle, unit

    @property
    def kind(self) -> str:
        """How the line is bent."""
        return "plain" if not np.isfinite(self.low) else "both" if np.isfinite(self.high) else "positive"

    def inside(self, u: Numbers) -> Numbers:
        """The parameter at u."""
        if self.kind == "plain":
            return self.middle + self.unit * u
        return self.low + (np.exp(u) if self.kind == "positive" else (self.high - self.low) / (1 + np.exp(-u)))

    def outside(self, x: Any) -> Any:
        """The u of a parameter."""
        if self.kind == "plain":
            return (x - self.middle) / self.unit
        with np.errstate(all="ignore"):
            return np.log(x - self.low) - (np.log(self.high - x) if self.kind == "both" else 0.0)

    def log_slope(self, u: Numbers) -> Numbers:
        """log dx / du."""
        if self.kind == "plain":
            return np.full_like(u, np.log(self.unit))
        if self.kind == "positive":
            return u
        return np.asarray(np.log(self.high - self.low) - np.logaddexp(0, u) - np.logaddexp(0, -u))


class GridLaw(Distribution):
    """The law with density exp(-minus_log(x)) / total; `log_total` is the log of that total and `error` its error."""

    log_total: float
    error: float
    _minus_log: MinusLog
    _scale: Scale
    _edges: Numbers
    _peak: float
    _name: str
    _below: Numbers
    _above: Numbers

    def __init__(self, minus_log: MinusLog, scale: Scale, edges: Numbers, peak: float, name: str) -> None:
        self.__dict__.update(_minus_log=minus_log, _scale=scale, _edges=edges, _peak=peak, _name=name)
        self.__dict__["support"] = Support(f"{scale.low:g} < {name} < {scale.high:g}", scale.low, scale.high)
        masses = self._masses(edges[:-1], edges[1:])
        middle = 0.5 * (edges[1:] + edges[:-1])
        fine = self._masses(edges[:-1], middle) + self._masses(middle, edges[1:])
        total = masses.sum()
        self.__dict__.update(
            _below=np.concatenate([[0.0], np.cumsum(masses)]) / total,
            _above=np.concatenate([np.cumsum(masses[::-1])[::-1], [0.0]]) / total,
            log_total=float(np.log(total) - peak),
            error=float(np.abs(fine - masses).sum() / total + 1e-14),
        )

    def _weights(self, u: Numbers) -> Numbers:
        """The density in u, relative to the peak."""
        shape = u.shape
        flat = u.reshape(-1)
        nats = self._minus_log(self._scale.inside(flat)) - self._scale.log_slope(flat)
        return np.asarray(np.exp(-(nats - self._peak))).reshape(shape)

    def _masses(self, low: Numbers, high: Numbers) -> Numbers:
        """The integral of each panel."""
        half = 0.5 * (high - low)
        u = 0.5 * (high + low)[..., None] + half[..., None] * POINTS
        return half * (self._weights(u) @ SHARES)

    def nodes(self, count: int) -> tuple[Numbers, Numbers]:
        """About `count` points and their shares: what averages over the law need."""
        edges = self._edges
        some = np.linspace(edges[0], edges[-1], max(2, count // len(POINTS)) + 1)
        half = 0.5 * np.diff(some)
        u = 0.5 * (some[1:] + some[:-1])[:, None] + half[:, None] * POINTS
        weights = (half[:, None] * SHARES * self._weights(u)).reshape(-1)
        return self._scale.inside(u.reshape(-1)), weights / weights.sum()

    def nll(self, y: ArrayLike) -> Any:
        """-log of the normalised density."""
        y = np.asarray(y, np.float64)
        inside = (y > self.bounds[0]) & (y < self.bounds[1])
        middle = float(self._scale.inside(np.array(0.0)))
        nats = self._minus_log(np.where(inside, y, middle).reshape(-1)).reshape(y.shape)
        return np.where(inside, nats + self.log_total, np.inf)[()]

    def _tail(self, y: Any, upper: bool) -> Any:
        y = np.asarray(y, np.float64)
        edges = self._edges
        u = np.clip(self._scale.outside(np.clip(y, *self.bounds)), edges[0], edges[-1])
        place = np.clip(np.searchsorted(edges, u, side="right") - 1, 0, len(edges) - 2)
        total = np.exp(self.log_total + self._peak)
        if upper:
            return self._above[place + 1] + self._masses(u, edges[place + 1]) / total
        return self._below[place] + self._masses(edges[place], u) / total

    def _quantile(self, q: Any, upper: bool) -> Any:
        q = np.asarray(q, np.float64)
        edges, known = self._edges, self._above if upper else self._below
        if upper:
            place = len(edges) - 1 - np.searchsorted(known[::-1], q, side="left")
        else:
            place = np.searchsorted(known, q, side="left") - 1
        place = np.clip(np.where(np.isnan(q), 0, place), 0, len(edges) - 2).astype(int)
        low, high = edges[place], edges[place + 1]
        for _ in range(60):
            middle = 0.5 * (low + high)
            level = self._tail(self._scale.inside(middle), upper)
            up = level <= q if upper else level >= q
            low, high = np.where(up, low, middle), np.where(up, middle, high)
        x = self._scale.inside(high)
        ends = self.bounds[::-1] if upper else self.bounds
        x = np.where(q == 0, ends[0], np.where(q == 1, ends[1], x))
        return np.where(np.isnan(q), np.nan, x)

    def _draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
        edges = self._edges
        fine = np.linspace(edges[0], edges[-1], 4001)
        middles = 0.5 * (fine[1:] + fine[:-1])
        below = np.append(0.0, np.cumsum(self._weights(middles)))
        return self._scale.inside(np.interp(rng.random(shape) * below[-1], below, fine))

    def _average(self, g: Callable[[Numbers], Numbers]) -> float:
        edges = self._edges
        half = 0.5 * np.diff(edges)
        u = 0.5 * (edges[1:] + edges[:-1])[:, None] + half[:, None] * POINTS
        weights = half[:, None] * SHARES * self._weights(u)
        return float(np.sum(weights * g(self._scale.inside(u))) / weights.sum())

    def mean(self) -> Any:
        return self._average(lambda x: x)

    def variance(self) -> Any:
        mean = self.mean()
        return self._average(lambda x: (x - mean) ** 2)

    def _entropy(self) -> Any:
        return self._average(lambda x: np.asarray(self.nll(x)))

    def __repr__(self) -> str:
        return f"<law of {self._name} by quadrature, mean {self.mean():.5g}, std {self.variance() ** 0.5:.3g}>"


def grid_law(
    minus_log: MinusLog,
    bounds: tuple[float, float],
    start: float,
    unit: float,
    name: str,
    kinks: Numbers | None = None,
) -> GridLaw:
    """The law whose density is proportional to exp(-minus_log), searched from `start` inside the bounds.

    Without bounds the search goes in steps of the order of `unit`.

    Panels end at the `kinks`, so that the function is smooth inside each.
    """
    from scipy.optimize import minimize_scalar

    scale = Scale(*bounds, start, unit)

    def nats(u: float) -> float:
        at = np.array([u])
        with np.errstate(over="ignore"):
            value = float((minus_log(scale.inside(at)) - scale.log_slope(at))[0])
        return value if np.isfinite(value) else 1e300

    first = float(scale.outside(start))
    found = minimize_scalar(nats, bracket=(first, first + 0.1), tol=1e-9)
    centre, peak = float(found.x), float(found.fun)
    if not np.isfinite(peak) or peak >= 1e300:
        raise ValueError(f"no value of {name} explains y under this noise and prior: their product is 0 everywhere")
    ends = [_end(nats, centre, peak, sign) for sign in (-1.0, 1.0)]
    if scale.kind != "plain" and max(map(abs, ends)) > FARTHEST:
        raise improper()
    for panels in PANELS:
        edges = np.linspace(ends[0], ends[1], panels + 1)
        if kinks is not None:
            bends = scale.outside(kinks)
            edges = np.unique(np.concatenate([edges, bends[(bends > ends[0]) & (bends < ends[1])]]))
        law = GridLaw(minus_log, scale, edges, peak, name)
        if law.error < ACCURATE:
            break
    return law


def _end(nats: Callable[[float], float], centre: float, peak: float, sign: float) -> float:
    """Where the law is DEEP below its peak, on one side."""
    reach = 1.0
    while nats(centre + sign * reach) - peak > DEEP and reach > 1e-14 * max(1.0, abs(centre)):
        reach *= 0.5
    for _ in range(200):
        if nats(centre + sign * reach) - peak >= DEEP:
            break
        reach *= 2
    else:
        raise improper()
    near, far = 0.5 * reach, reach
    for _ in range(20):
        middle = 0.5 * (near + far)
        near, far = (middle, far) if nats(centre + sign * middle) - peak < DEEP else (near, middle)
    return centre + sign * far


def improper() -> ValueError:
    """There is no law."""
    return ValueError(
        "the posterior is improper: likelihood times prior does not fall off; use a prior that has a finite integral"
    )
