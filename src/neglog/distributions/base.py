"""What every distribution can do (Distribution), and what it can do as a prior (Prior); noise.py has the noises."""

from abc import abstractmethod
from collections.abc import Callable
from operator import attrgetter
from types import MethodType
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from neglog.distributions import arrays
from neglog.distributions.parameters import Parameter, checked
from neglog.distributions.support import Support

Measure = Literal["density", "mass", "mixed"]
quiet = np.errstate(all="ignore")  # as a decorator: infinite moments and slopes are answers, not warnings
Generator = int | np.random.Generator | None


def _mark_abstract(cls: type) -> None:
    names = (name for name in dir(cls) if getattr(getattr(cls, name, None), "__isabstractmethod__", False))
    cls.__abstractmethods__ = frozenset(names)  # type: ignore[attr-defined]


def in_base(nats: Any, base: float | None) -> Any:
    """An amount of information in units of log(base): nats for None, bits for 2."""
    if base is None:
        return nats
    if not base > 0 or base == 1:
        raise ValueError(f"base must be positive and not 1, but is {base}")
    return nats / np.log(base)


class _Foremost:
    """A method that a law finds although it keeps a parameter under that name, as `tail` under `_tail`."""

    def __init__(self, method: Callable[..., Any]) -> None:
        self.method = method

    def __get__(self, law: Any, owner: type) -> Any:
        return self.method if law is None else MethodType(self.method, law)

    def __set__(self, law: Any, value: Any) -> None:
        raise AttributeError(f"{self.method.__name__} is a method")


def _kept_at(key: str) -> Callable[[Any], Any]:
    return lambda law: law.__dict__[key]


class Distribution:
    """An immutable law of y. Parameters broadcast against each other and against y; None means unknown.

    A family declares its parameters, its support and its measure, and implements the abstract methods; `_tail` and
    `_quantile` give the distribution function from both ends. All public methods take array-likes, keep float32, and
    return NumPy scalars for single values. A parameter is read as an attribute (`law.scale`); only `mean` is a method,
    `law.mean()`.
    """

    declared: ClassVar[tuple[Parameter, ...]] = ()
    support: Support
    measure: Measure = "density"
    examples: ClassVar[tuple[dict[str, Any], ...]]  # parameters for tests and docs
    summary: ClassVar[tuple[str, str]] = ("", "")  # what it is as a noise, and as a prior: the README's table

    # ---- parameters ----------------------------------------------------------------------------------------------

    def _state(self, **values: Any) -> None:
        """Check and keep the parameters: the whole work of a constructor."""
        for own in self.declared:
            self.__dict__[f"_{own.name}"] = checked(type(self).__name__, own.name, values[own.name], own.domain)
        stated = self._stated()
        if sum(isinstance(value, np.ndarray) for value in stated) > 1:
            arrays.broadcast_shape(*stated)

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters by name; None where unknown."""
        return {own.name: self.__dict__[f"_{own.name}"] for own in self.declared}

    @classmethod
    def parameter(cls, name: str) -> Parameter:
        """What the family declares of a parameter."""
        return next(own for own in cls.declared if own.name == name)

    @classmethod
    def takes(cls) -> str:
        """What a law of the family is made of, in words."""
        return ", ".join(own.name for own in cls.declared) or "no parameters"

    @property
    def bounds(self) -> tuple[float, float]:
        """The ends of the support."""
        return self.support.low, self.support.high

    def __init_subclass__(cls) -> None:
        """Each parameter becomes a property, but for one that has the name of a method.

        A law that lacks a method cannot be made, as in an ABC; but asking what a law is costs less, and fits ask often.
        """
        _mark_abstract(cls)
        for own in cls.__dict__.get("declared", ()):
            key = f"_{own.name}"
            method = getattr(cls, key, None)
            if method is not None:
                setattr(cls, key, _Foremost(method))
            if not hasattr(cls, own.name):
                setattr(cls, own.name, property(attrgetter(key) if method is None else _kept_at(key)))

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(
            f"distributions are immutable; make another {type(self).__name__} instead of setting {name}"
        )

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """The common shape of the parameters: () for a single law."""
        return np.broadcast_shapes(*(np.shape(value) for value in self._stated()))

    def _stated(self) -> list[Any]:
        return [value for value in self.parameters.values() if value is not None]

    def _known(self, *names: str) -> Any:
        """The values of these parameters, all of which are needed now."""
        values = [self.__dict__[f"_{name}"] for name in names]
        for name, value in zip(names, values, strict=True):
            if value is None:
                owner = type(self).__name__
                raise ValueError(
                    f"{owner}: {name} is unknown (None), but is needed here; state it, as in {owner}({name}=...), "
                    f"or let a fit estimate it"
                )
        return values[0] if len(values) == 1 else values

    def with_(self, **values: Any) -> Self:
        """The same law with other values of some parameters: `law.with_(scale=2.0)`."""
        known = {own.name: own.domain for own in self.declared}
        unknown = ", ".join(name for name in values if name not in known)
        if unknown:
            raise TypeError(f"{type(self).__name__} has no parameter {unknown}; it has {', '.join(known) or 'none'}")
        owner = type(self).__name__
        return self.estimated(**{name: checked(owner, name, value, known[name]) for name, value in values.items()})

    def estimated(self, **values: Any) -> Self:
        """The same with values that nobody has to check, as a fit found them: also NaN, where there is none."""
        return self._replaced(**{f"_{name}": value for name, value in values.items()})

    def _replaced(self, **changes: Any) -> Self:
        """A copy with other contents that are known to be right."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__ | changes)
        return other

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        mine, theirs = self.__dict__, other.__dict__
        return mine.keys() == theirs.keys() and all(_same(mine[name], theirs[name]) for name in mine)

    def __hash__(self) -> int:
        return hash(repr(self))

    def __repr__(self) -> str:
        shown = (f"{name}={_short(value)}" for name, value in self.parameters.items())
        return f"{type(self).__name__}({', '.join(shown)})"

    # ---- density ---------------------------------------------------------------------------------------------------

    @abstractmethod
    def nll(self, y: ArrayLike) -> Any:
        """-log p(y) in nats, every constant included; +inf outside the support."""

    def pdf(self, y: ArrayLike) -> Any:
        """The density at y, or the mass where the law is discrete."""
        return np.exp(-self.nll(y))

    # ---- distribution function -------------------------------------------------------------------------------------

    def cdf(self, y: ArrayLike) -> Any:
        """P(Y <= y), with full relative accuracy in the lower tail."""
        return self._elementwise(lambda x: self._tail(x, upper=False), y, "y")

    def sf(self, y: ArrayLike) -> Any:
        """P(Y > y) = 1 - cdf(y), with full relative accuracy in the upper tail."""
        return self._elementwise(lambda x: self._tail(x, upper=True), y, "y")

    def icdf(self, q: ArrayLike) -> Any:
        """The quantile: the smallest y with cdf(y) >= q; NaN for q outside [0, 1]."""
        return self._elementwise(lambda x: self._quantile(_probabilities(x), upper=False), q, "q")

    def isf(self, q: ArrayLike) -> Any:
        """The upper quantile: the smallest y with sf(y) <= q; for q far below the spacing of numbers near 1."""
        return self._elementwise(lambda x: self._quantile(_probabilities(x), upper=True), q, "q")

    def quantile_formula(self, q: float) -> Any:
        """icdf at one level, of parameters that need not be numbers but take NumPy's functions: expressions of SQL."""
        return self._quantile(np.float64(q), upper=False)

    def tail_formula(self, y: float, upper: bool) -> Any:
        """The same of cdf and sf."""
        return self._tail(np.float64(y), upper)

    def _elementwise(self, compute: Any, values: ArrayLike, name: str) -> Any:
        return arrays.in_output_type(compute, (arrays.as_numbers(values, name),), *self._stated())

    def _tail(self, y: Any, upper: bool) -> Any:
        raise TypeError(f"{type(self).__name__} has no distribution function")

    def _quantile(self, q: Any, upper: bool) -> Any:
        raise TypeError(f"{type(self).__name__} has no quantiles")

    # ---- sampling and moments --------------------------------------------------------------------------------------

    def sample(self, size: int | tuple[int, ...] | None = None, rng: Generator = None) -> Any:
        """Independent draws in the shape `size` (default: that of the parameters); `rng` is a seed or a Generator."""
        shape = self.batch_shape if size is None else tuple(np.atleast_1d(size).tolist())
        with np.errstate(all="ignore"):
            return np.asarray(self._draw(np.random.default_rng(rng), shape))[()]

    @abstractmethod
    def _draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Any: ...

    @abstractmethod
    def mean(self) -> Any:
        """The expectation of y."""

    def point(self) -> Any:
        """What is predicted where one number is asked for: the mean, or the centre of a law that has none."""
        return self.mean()

    def median(self) -> Any:
        """The smallest y with cdf(y) >= 1/2."""
        return self.icdf(np.full(self.batch_shape, 0.5))

    @abstractmethod
    def variance(self) -> Any:
        """The expectation of (y - mean)^2."""

    def entropy(self, base: float | None = None) -> Any:
        """The expectation of nll(y) in nats, or in units of log(base). That of a density may be negative."""
        with np.errstate(all="ignore"):
            return in_base(self._entropy(), base)

    @abstractmethod
    def _entropy(self) -> Any: ...

    def _over_shape(self, value: Any) -> Any:
        return np.broadcast_to(value, self.batch_shape)[()]


_mark_abstract(Distribution)


class Prior(Distribution):
    """A law of parameters: what makes a penalty."""

    @abstractmethod
    def penalty(self, theta: ArrayLike) -> Any:
        """-log p(theta) summed over theta, without the terms that do not depend on theta."""

    @property
    @abstractmethod
    def strength(self) -> Any:
        """The factor in front of the penalty's norm: lambda."""

    def __mul__(self, other: "Prior") -> "Prior":
        """The prior whose density is proportional to the product: penalties add."""
        from neglog.distributions.product import multiply  # which knows the priors that this module does not

        return multiply(self, other)


def _probabilities(q: Any) -> Any:
    return np.where((q >= 0) & (q <= 1), q, np.nan)


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, tuple):
        return isinstance(b, tuple) and len(a) == len(b) and all(map(_same, a, b))
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return a is not None and b is not None and np.array_equal(a, b, equal_nan=True)
    return bool(a == b)


def _short(value: Any) -> str:
    if not isinstance(value, np.ndarray):
        return repr(value)
    return np.array2string(value, separator=", ", threshold=6) if value.ndim == 1 else f"array of shape {value.shape}"
