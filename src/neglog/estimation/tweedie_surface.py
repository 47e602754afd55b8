"""The nll of Tweedie rows at given predictions, as a function of power and dispersion.

At power p and dispersion e^t it is (M(p) - S(p)) e^-t + C(p, t). M takes the predictions, S and C the positive y; and
each is a sum over few numbers: nodes, or equal y taken together.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from neglog import _core
from neglog.distributions.arrays import thread_count
from neglog.likelihood.chebyshev import FROM_SUMS, node_values, panel_sums
from neglog.likelihood.task import Task
from neglog.likelihood.tweedie import FEW, SMOOTH_FROM, Compound, constants_of
from neglog.typing import Numbers

# among which the surface is looked over; between neighbours one row of ridges does not turn into another
POWERS = (1.001, 1.002, 1.004, 1.008, 1.015, 1.03, 1.05, 1.08, 1.12, 1.18, 1.3, 1.5, 1.7, 1.85, 1.95, 1.999)
LOOKED_AT = 256  # amounts, at most, while looking the surface over
MOST_DISPERSIONS = 600  # of one power
AROUND = (-3.0, 4.5)  # the logarithm of the mean deviance: where dispersions are looked for
COARSE = 0.3  # between logarithms of dispersions where there are no ridges
LONGEST = np.array([0.7, 0.4])  # steps in the logit of power - 1, and in t
DIFFERENCE = 1e-5  # for second derivatives


@dataclass(frozen=True)
class Place:
    """A power, a dispersion (None: any), and the nll there."""

    power: float
    log_dispersion: float | None
    value: float = np.nan

    def is_like(self, other: "Place") -> bool:
        """Whether both are the bottom of the same valley."""
        assert self.log_dispersion is not None
        assert other.log_dispersion is not None
        width = (self.power - 1) * (2 - self.power)
        near = abs(self.log_dispersion - other.log_dispersion) < 1e-3
        return near and abs(self.power - other.power) < 1e-3 * width


class Surface:
    """Of one fit's rows and predictions; `means` are (means, weights) and the same with weights times y."""

    def __init__(self, task: Task, means: tuple[Any, Any, Any, Any]) -> None:
        assert isinstance(task.target, Compound)
        self.task, self.target = task, task.target
        one, weight, other, moment = means
        self._ones, self._weight = np.log(one), weight
        self._others, self._moment = np.log(other), moment
        self.stated = self.target.noise.dispersion is not None
        self.amounts = self.target.distinct

    def _of_means(self, power: float) -> tuple[float, float]:
        """M and its derivative."""
        a, b = 2 - power, 1 - power
        above, below = np.exp(a * self._ones) / a, np.exp(b * self._others) / b
        value = float(self._weight @ above - self._moment @ below)
        slope = float(self._weight @ (above * (1 / a - self._ones)) - self._moment @ (below * (1 / b - self._others)))
        return value, slope

    def deviance(self, power: float) -> tuple[float, float]:
        """M - S and its derivative."""
        value, slope = self._of_means(power)
        target = self.target.at_power(power)
        return value - target.saturated(slice(None)), slope - target.saturated_power_slope()

    # ---- downhill ----------------------------------------------------------------------------------------------------

    def at(self, x: Numbers) -> tuple[float, Numbers]:
        """The nll and its gradient, in x = (logit of power - 1, t)."""
        power, t = float(_power(x[0])), float(x[1])
        half, in_power = self.deviance(power)
        target = self.target.at_power(power)
        value, in_t, constant_in_power = constants_of(replace(self.task, target=target)).sums(t)
        chain, share = (power - 1) * (2 - power), np.exp(-t)
        gradient = [chain * (in_power * share + constant_in_power), 0.0 if self.stated else in_t - half * share]
        return float(half * share + value), np.array(gradient)

    def lowest(self, start: Place, low: float, high: float) -> Place:
        """The bottom of the valley that the start lies in: Newton's method, always downwards."""
        assert start.log_dispersion is not None
        ends = _logit(low), _logit(high)
        x = np.array([np.clip(_logit(start.power), *ends), start.log_dispersion])
        value, gradient = self.at(x)
        bends: Numbers | None = None
        before = np.inf
        for _ in range(60):
            outwards = (x[0] <= ends[0] and gradient[0] > 0) or (x[0] >= ends[1] and gradient[0] < 0)
            free = np.array([not outwards, not self.stated])
            if not free.any():
                break
            if bends is None:
                bends = self._bends(x, gradient, ends)
            step = _newton(bends, gradient, free)
            drop = -float(gradient @ step)
            if not drop > 0 or np.abs(step).max() < 1e-13:
                break
            found = self._down(x, value, gradient, step, drop, ends)
            if found is None:
                break
            moved = np.abs(found[0] - x).max()
            x, value, gradient = found
            if drop > 1e-2 * before or drop > 1e-2:  # the curvature may serve once more where it served well
                bends = None
            before = drop
            if moved < 1e-13:
                break
        return Place(float(_power(x[0])), float(x[1]), value)

    def _bends(self, x: Numbers, gradient: Numbers, ends: tuple[float, float]) -> Numbers:
        """Second derivatives, by differences towards the inside."""
        towards = -DIFFERENCE if x[0] + DIFFERENCE > ends[1] else DIFFERENCE
        shifts = [np.array([towards, 0.0])] + [np.array([0.0, DIFFERENCE])] * (not self.stated)
        columns = [(self.at(x + shift)[1] - gradient) / shift.sum() for shift in shifts]
        matrix = np.eye(2)
        matrix[:, : len(columns)] = np.array(columns).T
        return 0.5 * (matrix + matrix.T)

    def _down(
        self, x: Numbers, value: float, gradient: Numbers, step: Numbers, drop: float, ends: tuple[float, float]
    ) -> tuple[Numbers, float, Numbers] | None:
        """A lower point along the step; where values no longer tell, one with a smaller gradient."""
        for _ in range(40):
            following = x + step
            following[0] = np.clip(following[0], *ends)
            there, slope = self.at(following)
            if drop < 1e-10 * (1 + abs(value)):
                return (following, there, slope) if np.abs(slope).max() < np.abs(gradient).max() else None
            if there < value:
                return following, there, slope
            step, drop = 0.25 * step, 0.25 * drop
        return None

    # ---- the whole of it ---------------------------------------------------------------------------------------------

    def overlook(self, low: float, high: float) -> list[Place]:
        """Places from which to go downhill, the lowest first: the best dispersions at each of some powers."""
        places = []
        for power in (low, *(p for p in POWERS if low < p < high), high):
            places += self._best_along(power, 2)
        places.sort(key=lambda place: place.value)
        best: list[Place] = []
        for place in places:  # neighbouring powers mostly see the same valley
            if len(best) < 4 and not any(abs(place.power - other.power) < 0.3 * (other.power - 1) for other in best):
                best.append(place)
        return best

    def valleys_at(self, power: float) -> list[Place]:
        """The bottoms of the deepest valleys of one power."""
        return [self.lowest(place, power, power) for place in self._best_along(power, 4)]

    def at_place(self, power: float, t: float) -> Place:
        """The nll there."""
        return Place(power, t, self.at(np.array([_logit(power), t]))[0])

    def _best_along(self, power: float, count: int) -> list[Place]:
        """The lowest dispersions of one power."""
        t, values = self._along(power)
        inner = np.concatenate([[np.inf], values, [np.inf]])
        valleys = np.flatnonzero((values <= inner[:-2]) & (values <= inner[2:]))
        chosen = valleys[np.argsort(values[valleys])][:count]
        return [Place(power, float(t[k]), float(values[k])) for k in chosen]

    def _along(self, power: float) -> tuple[Numbers, Numbers]:
        """Some t, close enough to meet every ridge of the density, and the nll there."""
        half, _ = self.deviance(power)
        y, w, p = self._looked_at(power)
        if self.stated:
            t = np.array([np.log(self.target.noise.dispersion)])
        else:
            centre = np.log(max(2 * half, 1e-300) / max(self.target.total(), 1e-300))
            t = _spread(centre + AROUND[0], centre + AROUND[1], power, float(np.median(y ** (2 - power) * p)))
        precision = np.ascontiguousarray(np.exp(-t)[:, None] * p)
        nll = np.empty(precision.shape)
        arguments = np.broadcast_to(y, nll.shape).ravel(), np.broadcast_to(y, nll.shape).ravel()
        _core.nll(
            "tweedie",
            "identity",
            *arguments,
            [np.full(1, power), precision.ravel()],
            np.zeros(1),
            nll.reshape(-1),
            thread_count(nll.size),
        )
        return t, half * np.exp(-t) + nll @ w

    def _looked_at(self, power: float) -> tuple[Numbers, Numbers, Numbers]:
        """The positive rows, or as many of them as stand for all."""
        found = self.target.at_power(power).positives(slice(None))
        y, w, p = found.y, found.w, np.broadcast_to(found.p, found.y.shape)
        if len(y) <= LOOKED_AT or power >= SMOOTH_FROM:
            return y, w, p
        order = np.argsort(y, kind="stable")
        share = np.cumsum(w[order])
        chosen = order[np.searchsorted(share, (np.arange(LOOKED_AT) + 0.5) / LOOKED_AT * share[-1])]
        return y[chosen], np.full(LOOKED_AT, share[-1] / LOOKED_AT), p[chosen]


def surface_of(task: Task, theta: Numbers) -> Surface:
    """At the predictions of these coefficients: one pass over the rows."""
    if task.engine.rows <= FEW and not task.engine.streamed:
        mean, weight, y = counted_means(task, theta)
        return Surface(task, (mean, weight, mean, weight * y))
    plain, moments = task.total(mean_sums, theta)
    return Surface(task, (*_nodes(plain), *_nodes(moments)))


def counted_means(task: Task, theta: Numbers) -> tuple[Numbers, Numbers, Numbers]:
    """Predicted means, weights times precisions, and y of the rows that count."""
    target = task.target
    mean = np.asarray(target.noise.link.inverse(task.engine.predict(theta)))
    weight = np.ones(len(mean)) if target.w is None else target.w
    weight = weight if target.p is None else weight * target.p
    some = weight > 0
    return (mean, weight, target.y) if some.all() else (mean[some], weight[some], target.y[some])


def mean_sums(task: Task, theta: Numbers) -> tuple[dict[int, Numbers], dict[int, Numbers]]:
    """By panel of the predicted mean, what makes nodes of the rows: counted by their weights, and by weights times
    y.
    """
    mean, weight, y = counted_means(task, theta)
    plain, moments = panel_sums(mean, weight, weight * y)
    return plain, moments


def _nodes(sums: dict[int, Numbers]) -> tuple[Numbers, Numbers]:
    panels = np.array(sorted(sums), np.int64)
    return node_values(panels).reshape(-1), (FROM_SUMS @ np.stack([sums[k] for k in panels.tolist()]).T).T.reshape(-1)


def _logit(power: float) -> float:
    return float(np.log((power - 1) / (2 - power)))


def _power(logit: Any) -> Any:
    return 1 + 1 / (1 + np.exp(-logit))


def _newton(bends: Numbers, gradient: Numbers, free: Numbers) -> Numbers:
    """The step to the lowest point of a parabola, which is made one if the surface bends downwards."""
    values, vectors = np.linalg.eigh(bends[np.ix_(free, free)])
    values = np.maximum(np.abs(values), 1e-10 * np.abs(values).max() + 1e-300)
    step = np.zeros(2)
    step[free] = -vectors @ ((vectors.T @ gradient[free]) / values)
    return np.asarray(step / max(1.0, float(np.max(np.abs(step) / LONGEST))))


def _spread(low: float, high: float, power: float, middle: float) -> Numbers:
    """t from low to high, at a distance of a ridge's width at the middle amount."""
    if power >= SMOOTH_FROM:
        return np.linspace(low, high, int((high - low) / COARSE) + 2)
    # the density of y has a ridge of the relative width sqrt((p - 1) e^t / y^(2 - p)) at each number of jumps
    per_unit = 1.5 * np.sqrt(middle / (power - 1))
    t = np.linspace(low, high, 512)
    density = np.clip(per_unit * np.exp(-0.5 * t), 1 / COARSE, None)
    reached = np.concatenate([[0.0], np.cumsum(0.5 * (density[1:] + density[:-1]) * np.diff(t))])
    count = int(min(MOST_DISPERSIONS, reached[-1] + 2))
    return np.interp(np.linspace(0, reached[-1], count), reached, t)
