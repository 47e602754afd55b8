"""Links whose means do not take every raw prediction: where their domain ends, and how to begin inside it."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from neglog import _core
from neglog.engines.memory import Loss, Memory
from neglog.solvers.interior import Wall
from neglog.typing import Numbers

MOST = 20_000_000  # numbers that a linear programme may have
PROBES = np.array([-1.0, 0.5, 2.0])  # raw predictions that tell the domains of all links apart
SEEN = np.array([[1.0], [0.5]])  # of which every support has one


@dataclass(frozen=True)
class Domain:
    """Raw predictions lie between these two."""

    low: float
    high: float

    def margins(self, eta: Numbers) -> Numbers:
        """How far inside each is; negative outside."""
        return np.asarray(np.minimum(eta - self.low, self.high - eta))

    @property
    def sentence(self) -> str:
        """The range in words."""
        if self.high == np.inf:
            return f"{self.low:g} and above"
        return f"{self.high:g} and below" if self.low == -np.inf else f"from {self.low:g} to {self.high:g}"


def domain_of(loss: Loss) -> Domain | None:
    """The domain of a loss that has one: asked of its kernel, which is infinite outside."""
    if loss.classes > 1 or loss.upper is not None:  # cells go with links that take every prediction
        return None
    own = [values.item(0) for values in loss.parameters]
    for which, (low, high) in zip(loss.modelled, loss.ends, strict=False):  # engines that only predict know no ends
        if high - low < np.inf:
            own[which] = 0.5 * (low + high)
    return _domain(loss.family, loss.link, tuple(own), bool(loss.modelled))


@lru_cache(maxsize=256)
def _domain(family: str, link: str, parameters: tuple[float, ...], are_raw: bool) -> Domain | None:
    y, raw = (np.ascontiguousarray(values).ravel() for values in np.broadcast_arrays(SEEN, PROBES))
    nll, own = np.empty(len(y)), [np.full(len(y), value) for value in parameters]
    if are_raw:
        _core.joint(family, link, y, raw, own, nll, np.empty((1 + len(own), len(y))), None, 1)
    else:
        _core.nll(family, link, y, raw, own, np.zeros(1), nll, 1)
    one, half = np.isposinf(nll.reshape(len(SEEN), -1))
    below, within, above = one & half
    if not (below or within or above):
        return None
    return Domain(0.0 if below else -np.inf, 0.0 if within else 1.0 if above else np.inf)


def counted_rows(engine: Memory) -> Memory:
    """The rows that have a weight."""
    if engine.weight is None or engine.weight.all():
        return engine
    return engine.take(np.flatnonzero(engine.weight))


def is_inside(engine: Memory, domain: Domain, theta: Numbers) -> bool:
    """Whether every row that counts has a mean at these coefficients."""
    margins = domain.margins(engine.predict(theta))
    return bool(((margins > 0) if engine.weight is None else (margins > 0) | (engine.weight == 0)).all())


def inside(engine: Memory, domain: Domain, size: float) -> Numbers | None:
    """Coefficients at which every row that counts is well inside, by up to `size`; None if there are none, or too many
    rows to say.
    """
    from scipy.optimize import linprog

    engine = counted_rows(engine)
    if engine.rows * engine.columns > MOST:
        return None
    X = engine.dense_rows(np.arange(engine.rows))
    unit = np.abs(X).max(axis=0, initial=0.0)
    unit = np.where(unit > 0, unit, 1.0)
    shift = np.zeros(engine.rows) if engine.offset is None else engine.offset
    if domain.high < np.inf and domain.low > -np.inf:
        size = min(size, 0.5 * (domain.high - domain.low))
    sides = []
    for sign, edge in ((1.0, domain.low), (-1.0, domain.high)):
        if np.isfinite(edge):  # sign (X theta + shift - edge) >= margin
            sides.append((np.column_stack([-sign * X / unit, np.ones(engine.rows)]), sign * (shift - edge)))
    bounds = [(None, None)] * engine.columns + [(None, size)]
    cost = np.append(np.zeros(engine.columns), -1.0)
    result = linprog(
        cost,
        A_ub=np.concatenate([side for side, _ in sides]),
        b_ub=np.concatenate([most for _, most in sides]),
        bounds=bounds,
        method="highs",
    )
    if result.status != 0 or not result.x[-1] > 1e-9 * size:
        return None
    theta = np.asarray(result.x[:-1] / unit)
    return theta if is_inside(engine, domain, theta) else None


def walls(engine: Memory, domain: Domain) -> list[Wall]:
    """-log of each row's distance from each edge."""
    engine = counted_rows(engine)
    shift = np.zeros(engine.rows) if engine.offset is None else engine.offset
    found = []
    for sign, edge in ((1.0, domain.low), (-1.0, domain.high)):
        if np.isfinite(edge):
            # Gamma noise at y = 0 with the inverse link: its loss is -log eta
            rows = Memory(
                engine.design,
                np.zeros(engine.rows),
                None,
                np.ascontiguousarray(sign * (shift - edge)),
                Loss("gamma", "inverse"),
                intercept=engine.intercept,
                centre=engine.centre,
            )
            found.append(Wall(rows, sign))
    return found
