"""Tweedie targets: the exact likelihood in dispersion and power."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from neglog import _core
from neglog.distributions.arrays import thread_count
from neglog.engines.memory import ONE, Loss
from neglog.likelihood.accelerated import Amounts
from neglog.likelihood.chebyshev import collected
from neglog.likelihood.targets import ALL, NOTHING, require_amounts
from neglog.solvers.dispersion import Dispersion, Fitted, Known, Proportional
from neglog.typing import Numbers

DIFFERENCE = 1e-5  # of the power and of the log of the dispersion, for second derivatives
FEW = 512  # positive rows up to which nothing is gained by collecting them at nodes
MOST_VALUES = 4096  # distinct positive y of rows that are not in memory, up to which these values stand for them
SMOOTH_FROM = 1.15  # below this power the density of y has a ridge at each number of jumps, too narrow for the nodes


class Compound(Amounts):
    """Tweedie of any power. While the power is open, fits look at one power at a time."""

    def check(self) -> None:
        noise, y = self.noise, self.raw
        self.power = 1.5 if noise.power is None else float(noise.power)
        if self.power != 0:
            require_amounts(noise, y)

    @property
    def ridged(self) -> bool:
        """Whether the nll may have many valleys in a dispersion that is open, of which none was chosen."""
        chosen = self.__dict__.get("_near") is not None
        return self.noise.dispersion is None and 1 < self.power < SMOOTH_FROM and not chosen

    def at_power(self, power: float, log_dispersion: float | None = None) -> "Compound":
        """The same target with the power stated; what is known about its positive rows is shared. The dispersion is
        looked for near the given one.
        """
        other = self.with_noise(self.noise.estimated(power=power))
        other.__dict__["_near"] = log_dispersion
        return other

    def with_noise(self, noise: Any) -> "Compound":
        """The same rows under another Tweedie noise."""
        other: Compound = super().with_noise(noise)
        other.power = noise.power
        other.__dict__["_positives"] = self.__dict__.setdefault("_positives", {})
        return other

    def of_rows(self, y: Numbers, w: Numbers | None, p: Numbers | None) -> "Compound":
        """The same noise with other rows, whose positive ones are not known yet."""
        other: Compound = super().of_rows(y, w, p)
        other.__dict__.pop("_positives", None)
        return other

    @property
    def distinct(self) -> int:
        """How many different y are above 0, as far as they were told apart."""
        found = self.at_power(1.1).positives(ALL)
        return len(found.y)

    def positives(self, rows: Any) -> "Positives":
        """The positive ones among these rows, which are collected once for all powers."""
        known = self.__dict__.setdefault("_positives", {})
        key = (rows.start, rows.stop, rows.step) if isinstance(rows, slice) else None
        collect = self.power >= SMOOTH_FROM
        if key is None or (key, collect) not in known:
            known[key, collect] = Positives(self, rows, collect)
        found: Positives = known[key, collect]
        return found

    @property
    def loss(self) -> Loss:
        return Loss("tweedie", self.noise.link.name, (np.array([self.power]), ONE))

    def dispersion(self, rows: Any = ALL) -> Dispersion:
        stated = self.noise.dispersion
        if stated is not None:
            return Known(stated)
        if self.power in (0.0, 3.0):
            return Shifted(0.5 * self.total(rows=rows), self.saturated(rows))
        if self.power == 2.0:
            return self._gamma_dispersion(rows)
        return CompoundDispersion(self, rows)

    def saturated(self, rows: Any) -> float:
        if not 1 < self.power < 2:
            return super().saturated(rows)
        above, found = 2 - self.power, self.positives(rows)
        return float(found.w @ (found.p * found.y**above)) / (above * (self.power - 1))

    def saturated_power_slope(self) -> float:
        """The derivative in the power of `saturated`, of all rows."""
        found = self.positives(ALL)
        return float(found.w @ (found.p * self._potential_slope(found.y, np.log(found.y))))

    def power_slope(self, dispersion: float, at_mean: float, constants: "CompoundDispersion") -> float:
        """The derivative in the power of the nll: that of the deviance, of which the predictions' part is given, and
        that of C.
        """
        at_y = self.saturated_power_slope()
        return (at_mean - at_y) / dispersion + float(constants.sums(float(np.log(dispersion)))[2])

    def potential_slope(self, eta: Numbers) -> float:
        """The predictions' part of it, over the rows."""
        log_mean = eta if self.noise.link.name == "log" else np.log(self.noise.link.inverse(eta))
        rows = self._potential_slope(self.y, log_mean)
        return self.total(rows if self.p is None else self.p * rows)

    def _potential_slope(self, y: Numbers, log_mean: Numbers) -> Numbers:
        """The derivative in the power of mu^(2-p) / (2-p) - y mu^(1-p) / (1-p)."""
        a, b = 2 - self.power, 1 - self.power
        below = np.exp(b * log_mean)
        above = below * np.exp(log_mean)
        return np.asarray(above / a * (1 / a - log_mean) - y * below / b * (1 / b - log_mean))

    @property
    def profiled(self) -> bool:  # type: ignore[override]
        """While the power is open too, fits look at one power at a time."""
        return self.noise.power is not None

    has_remainder = True

    @property
    def joint_kernel(self) -> str:
        """The part of the nll that predictions take part in; `remainder` has the rest."""
        return self.kernel

    def remainder(self, v: Numbers, task: Any) -> tuple[float, Numbers, Numbers]:
        """The part of the nll that takes y alone: C less its share of the deviance. Between powers 1 and 2 second
        derivatives are differences of the first, which are exact.
        """
        if not len(v):
            return super().remainder(v, task)
        if self.noise.power is not None and not 1 < self.power < 2:
            known: Any = self.dispersion()
            value, slope, bend = known.constants(float(v[0]))
            share = known.saturated * float(np.exp(-v[0]))
            return value - share, np.array([slope + share]), np.array([[bend - share]])
        value, slopes = self._remainder(v, task)
        shifts = DIFFERENCE * np.eye(len(v))
        ends = [(self._remainder(v + shift, task)[1], self._remainder(v - shift, task)[1]) for shift in shifts]
        bends = np.array([above - below for above, below in ends]) / (2 * DIFFERENCE)
        return value, slopes, 0.5 * (bends + bends.T)

    def _remainder(self, v: Numbers, task: Any) -> tuple[float, Numbers]:
        """Value and slopes at these values of what is open."""
        values = dict(zip(self.open, v.tolist(), strict=True))
        t = values["dispersion"] if "dispersion" in values else float(np.log(self.noise.dispersion))
        here = self.at_power(values.get("power", self.power), t)
        value, in_t, in_power = constants_of(replace(task, target=here)).sums(t)
        weight = float(np.exp(-t))
        at_y = here.saturated(ALL) * weight
        slopes = {"power": in_power - here.saturated_power_slope() * weight, "dispersion": in_t + at_y}
        return float(value - at_y), np.array([slopes[name] for name in values])

    def vanished(self, noise: Any, size: float) -> bool:
        """In the unit of y, which the dispersion has to the power 2 - p."""
        with np.errstate(all="ignore"):
            return not np.log(noise.dispersion) > np.log(100 * NOTHING) + (2 - noise.power) * np.log(size)

    def filled(self, dispersion: float) -> Any:
        noise = self.noise
        return noise if noise.dispersion is not None else noise.estimated(dispersion=float(dispersion))


class Shifted(Proportional):
    """C proportional to t, for a loss that is not 0 at predictions equal to y."""

    def __init__(self, degrees: float, saturated: float) -> None:
        super().__init__(degrees)
        self.saturated = saturated

    def profile(self, loss: float) -> Any:
        return super().profile(loss - self.saturated)


class Positives:
    """The positive rows with weights and precisions.

    What is summed over them depends, at one precision, on log y alone, and smoothly: so many rows are collected once
    at a few hundred Chebyshev nodes, and a sum over these costs no more than they are, at every dispersion and power.
    Where it is not smooth, equal rows are still taken together: counts have few values.
    """

    def __init__(self, target: Compound, rows: Any, collect: bool) -> None:
        y = target.y[rows]
        w = np.ones(len(y)) if target.w is None else target.w[rows]
        positive = (y > 0) & (w != 0)  # nodes in place of rows may weigh less than nothing
        self.y, self.w = np.ascontiguousarray(y[positive], float), w[positive]
        self.p: Any = 1.0 if target.p is None else target.p[rows][positive]
        if collect and target.p is None and len(self.y) > FEW:
            self.y, self.w = collected(self.y, self.w)
        elif not collect and len(np.unique(self.y[:: max(1, len(self.y) // 256)])) <= min(128, 0.5 * len(self.y)):
            self.y, self.w, self.p = equal_together(self.y, self.w, self.p)


def equal_together(y: Numbers, w: Numbers, p: Any) -> tuple[Numbers, Numbers, Any]:
    """Rows of the same y and precision as one, with their weight."""
    alike = np.ndim(p) == 0
    keys, places = np.unique(y if alike else y + 1j * p, return_inverse=True)
    return np.ascontiguousarray(keys.real), np.bincount(places, w), p if alike else np.ascontiguousarray(keys.imag)


@dataclass
class Equal:
    """Rows of the same y and precision taken together, unless they are too many: then there are none."""

    weights: dict[tuple[float, float], float]
    too_many: bool = False

    def __add__(self, other: "Equal") -> "Equal":
        if self.too_many or other.too_many:
            return Equal({}, True)
        weights = dict(self.weights)
        for key, w in other.weights.items():
            weights[key] = weights.get(key, 0.0) + w
        return Equal({}, True) if len(weights) > MOST_VALUES else Equal(weights)


def equal_rows(task: Any) -> Equal:
    """Of one piece."""
    found = Positives(task.target, ALL, collect=False)
    if len(found.y) > MOST_VALUES:
        return Equal({}, True)
    y, w, p = equal_together(found.y, found.w, found.p)
    pairs = zip(y.tolist(), np.broadcast_to(p, y.shape).tolist(), strict=True)
    return Equal(dict(zip(pairs, w.tolist(), strict=True)))


def common_step(y: Numbers) -> float | None:
    """The largest step of which all y are multiples, if it is no small part of them: 1 for counts."""
    values = np.unique(y[y > 0])
    if not len(values) or not np.isfinite(values[-1]):
        return None
    least = max(1e-3 * float(np.median(values)), 1e-9 * float(values[-1]))
    step = float(values[0])
    while step >= least:
        multiples = values / step
        off = np.flatnonzero(np.abs(multiples - np.round(multiples)) > 1e-9 * multiples)
        if not len(off):
            return step
        rest = float(values[off[0]] - np.round(multiples[off[0]]) * step)
        step = _common_divisor(step, abs(rest), 1e-7 * least)
    return None


def _common_divisor(a: float, b: float, least: float) -> float:
    while b > least:
        a, b = b, a % b
        b = min(b, a - b)  # a rest that rounding took just below the divisor
    return a


class CompoundDispersion(Fitted):
    """Between powers 1 and 2: C is the exact nll at mean = y, a sum over the positive rows; where these are elsewhere,
    by a pass over them for each t.
    """

    def __init__(self, target: Compound, rows: Any, elsewhere: Callable[[float], Numbers] | None = None) -> None:
        super().__init__(target.saturated(rows))
        self.power = target.power
        self.elsewhere = elsewhere
        found = target.positives(rows)
        self.y, self.w, self.p = found.y, found.w, found.p
        near = target.__dict__.get("_near")
        # else of the order of mean^(2 - power)
        self._t = float(np.log(max(target.middle(), 1e-300)) * (2 - self.power)) if near is None else near
        if near is not None and self.power < SMOOTH_FROM and len(self.y):  # to stay in the valley that was chosen
            self.longest = float(2 * np.sqrt((self.power - 1) * np.exp(near) / np.median(self.y ** (2 - self.power))))
        self._bend = (np.inf, 0.0)  # where the second derivative was last computed, and what it was

    def sums(self, t: float) -> Numbers:
        """C and its derivatives in t and in the power."""
        if self.elsewhere is not None:
            return self.elsewhere(t)
        nll, in_mean, in_power, in_dispersion = (np.empty(len(self.y)) for _ in range(4))
        dispersion = np.broadcast_to(np.exp(t) / self.p, self.y.shape)
        _core.tweedie_slopes(
            self.y,
            self.y,
            np.full(1, self.power),
            np.ascontiguousarray(dispersion),
            nll,
            in_mean,
            in_power,
            in_dispersion,
            thread_count(16 * len(self.y)),
        )
        return np.array([self.w @ nll, self.w @ (dispersion * in_dispersion), self.w @ in_power])

    def constants(self, t: float) -> tuple[float, float, float]:
        value, slope, _ = self.sums(t)
        if abs(t - self._bend[0]) > 0.02:  # it changes slowly, and only the speed of the search depends on it
            step = 1e-4
            self._bend = t, float(self.sums(t + step)[1] - slope) / step
        return float(value), float(slope), self._bend[1]


def constants_of(task: Any) -> CompoundDispersion:
    """C of all rows of a task, whose target may have nodes in place of rows: these stand for them where C is smooth.
    Elsewhere their distinct values do, which one pass collects; and if these are too many, each t takes a pass.
    """
    target = task.target
    if target.power >= SMOOTH_FROM or not task.engine.streamed:
        return CompoundDispersion(target, ALL)
    known = target.__dict__.setdefault("_positives", {})
    if "equal" not in known:
        known["equal"] = task.total_of_targets(equal_rows)
    equal = known["equal"]
    if equal.too_many:
        return CompoundDispersion(target, ALL, partial(task.total_of_targets, constant_sums))
    found = CompoundDispersion(target, ALL)
    pairs = np.array(list(equal.weights)).reshape(-1, 2)
    found.y, found.p = (np.ascontiguousarray(column) for column in pairs.T)
    found.w = np.array(list(equal.weights.values()))
    return found


def constant_sums(task: Any, t: float) -> Numbers:
    """C and its derivatives, of the rows of one piece."""
    return CompoundDispersion(task.target, ALL).sums(t)
