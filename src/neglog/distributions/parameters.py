"""Parameters of a distribution: what a family declares of each, how values are checked and kept."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from neglog.distributions.lazy import special

# What a caller may pass for a parameter: a number, an array, or None for "unknown". Kept as a float, a read-only array,
# or None.
Value = Any
EDGE = 1e-3  # of the interval of a parameter: nearer to its end it has run there
MODEL = "model"  # in place of a number: the parameter is predicted for each row, as the location is


class ModelledBy:
    """In the place of "model": what says by which columns a parameter is predicted."""


@dataclass(frozen=True)
class Domain:
    """A set of admissible values and how to say it."""

    text: str
    contains: Callable[[Any], Any]


REAL = Domain("a finite number", np.isfinite)
POSITIVE = Domain("> 0 and finite", lambda x: (x > 0) & np.isfinite(x))
POSITIVE_OR_INFINITE = Domain("> 0", lambda x: x > 0)
SHARE = Domain("between 0 and 1, neither of them", lambda x: (x > 0) & (x < 1))
PROBABILITY = Domain("between 0 and 1", lambda x: (x >= 0) & (x <= 1))
INCREASING = Domain(
    "finite and increasing",
    lambda x: np.isfinite(x) & (np.diff(np.atleast_1d(x), prepend=-np.inf) > 0).reshape(np.shape(x)),
)


class Role(Enum):
    """What a parameter does to a noise."""

    LOCATION = "where y lies: what a prediction sets, through the link"
    SPREAD = "how far y lies from there"
    SHAPE = "what else bends the loss"


class RawScale:
    """The scale on which solvers, samplers and networks know a parameter."""

    def __init__(
        self, name: str, forward: Callable[[Any], Any], inverse: Callable[[Any], Any], slope: Callable[[Any], Any]
    ) -> None:
        self.name, self._forward, self._inverse, self._slope = name, forward, inverse, slope

    def raw(self, value: Any) -> Any:
        """The raw value of a parameter."""
        with np.errstate(all="ignore"):
            return self._forward(value)

    def value(self, raw: Any) -> Any:
        """The parameter at a raw value."""
        with np.errstate(all="ignore"):
            return self._inverse(raw)

    def slope(self, value: Any) -> Any:
        """How fast the parameter changes with its raw value, there."""
        return self._slope(value)

    def of(self, name: str) -> str:
        """How the raw value of a parameter is written."""
        return f"{self.name}({name})" if self.name else name

    def __repr__(self) -> str:
        return f"<raw scale {self.name or 'itself'}>"

    def __reduce__(self) -> Any:  # its functions are not picklable, its name is
        return _raw_scale, (self.name,)


def _logit(p: Any) -> Any:
    return special.logit(p)


def _expit(raw: Any) -> Any:
    return special.expit(raw)


def _gaps(values: Any) -> Any:
    return np.concatenate([values[..., :1], np.log(np.diff(values, axis=-1))], axis=-1)


def _from_gaps(raw: Any) -> Any:
    return np.cumsum(np.concatenate([raw[..., :1], np.exp(raw[..., 1:])], axis=-1), axis=-1)


def _slopes_of_gaps(values: Any) -> Any:
    """A row for each number: the first and every gap move all numbers after them."""
    pace = np.append(1.0, np.diff(values))
    return np.tril(np.tile(pace, (len(pace), 1)))


LOG = RawScale("log", np.log, np.exp, np.positive)
LOGIT = RawScale("logit", _logit, _expit, lambda p: p * (1 - p))
ITSELF = RawScale("", np.positive, np.positive, lambda x: np.ones_like(x, float)[()])
ORDER = RawScale(  # numbers that increase: the first, and the logs of the gaps between them
    "order", _gaps, _from_gaps, _slopes_of_gaps
)


def _raw_scale(name: str) -> RawScale:
    return next(scale for scale in (LOG, LOGIT, ITSELF, ORDER) if scale.name == name)


class Between(RawScale):
    """The log odds of a place between two ends, at which no number of it ever arrives."""

    def __init__(self, low: float, high: float) -> None:
        super().__init__("logit", self._odds, self._place, lambda x: (x - low) * (high - x) / (high - low))
        self.low, self.high = low, high

    def _odds(self, value: Any) -> Any:
        return np.log((value - self.low) / (self.high - value))

    def _place(self, raw: Any) -> Any:
        from_end = (self.high - self.low) * _expit(-np.abs(raw))  # the nearer one, beside which the other would round
        place = np.where(np.less(raw, 0), self.low + from_end, self.high - from_end)
        return np.clip(place, np.nextafter(self.low, self.high), np.nextafter(self.high, self.low))[()]

    def bend(self, value: Any) -> Any:
        """How fast the slope changes with the raw value, there."""
        return self.slope(value) * (self.low + self.high - 2 * value) / (self.high - self.low)

    def of(self, name: str) -> str:
        above = name if self.low == 0 else f"{name} - {self.low:g}"
        if self.high - self.low == 1:
            return f"logit({above})"
        return f"logit({above if self.low == 0 else f'({above})'} / {self.high - self.low:g})"

    def __reduce__(self) -> Any:
        return between, (self.low, self.high)


@lru_cache
def between(low: float, high: float) -> Between:
    """The scale on which what lies between two ends is any number."""
    return Between(low, high)


@dataclass(frozen=True)
class Limit:
    """A value beyond which a parameter makes no difference, and the noise that it then is."""

    value: float
    noise: str


@dataclass(frozen=True)
class Parameter:
    """What a family declares of a parameter. Whoever fits, samples, prints, trains or stores reads it here.

    raw        the scale on which its prior is flat: the logarithm of what is positive
    precision  a row of precision p has the parameter times p to this power
    start      where a search begins that knows nothing else
    search     the ends between which a first look goes for an unknown value
    limit      the end that is no failure: as good as another noise, which is then said
    within     the open interval that the raw value lies in, where that is not every number
    several    it is several numbers, along its last axis
    ways       what may stand in the place of its number to have it told by something else than the likelihood
    """

    name: str
    domain: Domain
    role: Role | None = None
    raw: RawScale = LOG
    precision: float = 0.0
    start: float = 1.0
    search: tuple[float, float] | None = None
    limit: Limit | None = None
    within: tuple[float, float] | None = None
    several: bool = False
    ways: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """How its raw value is called in posteriors: "log scale"."""
        return f"{self.raw.name} {self.name}".strip()

    @property
    def predicted(self) -> RawScale:
        """The scale on which columns predict it, where it is any number: the raw one, unless that has ends."""
        if self.within is None:
            return self.raw
        assert self.raw is ITSELF, f"{self.name} has ends on a scale of its own"
        return between(*self.within)


def checked(owner: str, name: str, value: ArrayLike | None, domain: Domain) -> Value:
    """The value as it is kept, or an error that names the parameter and the first value outside its domain."""
    if value is None:
        return None
    if type(value) is float and domain.contains(value):  # most often, and much faster than as an array
        return value
    array = np.asarray(value)
    if array.dtype.kind not in "buif":
        raise TypeError(f"{owner}: {name} must be a number or an array of numbers, not {value!r}")
    inside = domain.contains(array)
    if not inside.all():
        if array.ndim == 0:
            raise ValueError(f"{owner}: {name} must be {domain.text}, but is {array[()]!s}")
        outside = np.argwhere(~inside)
        first = tuple(int(i) for i in outside[0])
        raise ValueError(
            f"{owner}: {name} must be {domain.text}, but {len(outside)} of {array.size} values are not; "
            f"the first is {array[first]!s} at index {first[0] if len(first) == 1 else first}"
        )
    return kept(array)


def kept(array: Any) -> Value:
    """A float for a single number, otherwise a read-only copy: nobody can change a distribution from outside."""
    array = np.asarray(array)
    if array.ndim == 0:
        return float(array)
    copy = array.astype(np.float32 if array.dtype in (np.float32, np.float16) else np.float64)
    copy.flags.writeable = False
    return copy


def at_edge(own: Parameter, raw: float) -> float | None:
    """The end of its interval to which a raw parameter ran, if it did."""
    if own.within is None:
        return None
    low, high = own.within
    end = low if raw - low < high - raw else high
    return end if abs(raw - end) <= EDGE * (high - low) else None
