"""How each noise is fitted: what the native pass sees as y, weight and loss, and which of the noise's parameters are
open.

A row counts by its weight w (the row repeated) and has its own dispersion phi / p (p its precision). For most noises
the nll of a row is p loss / phi plus a term free of the prediction, so that the pass sees the weight w p and
dispersion one.
"""

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from neglog.design.faults import first_rows
from neglog.distributions import Bernoulli, Categorical, Gamma, Gaussian, Huber, Laplace, LogNormal, Poisson, Tweedie
from neglog.distributions.arrays import Numbers, all_finite
from neglog.distributions.base import Noise
from neglog.distributions.lazy import special
from neglog.distributions.parameters import MODEL
from neglog.engines.memory import ONE, Loss
from neglog.solvers.dispersion import Dispersion, GammaDispersion, Known, Proportional

ALL = slice(None)
ANYWHERE = (-np.inf, np.inf)
NOTHING = 1e-14  # of the size of y: what is smaller is rounding
LEAST_SUM = 1e-298  # sums of the loss up to this are 0, or beyond the range of numbers
SQUARED = 1e150  # whose square can be summed over many rows
CONVEX = {
    "gaussian": ("identity",),
    "laplace": ("identity",),
    "huber": ("identity",),
    "poisson": ("log", "identity", "sqrt"),
    "gamma": ("log", "inverse"),
    "tweedie": ("log",),
    "bernoulli": ("logit", "probit", "cloglog"),
    "softmax": ("softmax",),
}


class Target:
    """A noise with the y it is to explain. `w` and `p` are None where all ones."""

    family: str
    locations = (0.0, np.inf)  # between which the location of the noise may lie
    bends = True  # whether the loss has second derivatives; else the information says how sure the coefficients are

    def __init__(self, noise: Any, y: Numbers, w: Numbers | None, p: Numbers | None) -> None:
        self.noise, self.raw, self.w, self.p = noise, y, w, p
        self.y = y
        self.check()

    def check(self) -> None:
        """Refuse a y that the noise cannot explain; most explain any."""

    def taken(self, rows: Any) -> Any:
        """The same noise with some of the rows; nothing is checked again."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other.raw, other.y = self.raw[rows], self.y[rows]
        other.w, other.p = (None if v is None else v[rows] for v in (self.w, self.p))
        return other

    def of_rows(self, y: Numbers, w: Numbers | None, p: Numbers | None) -> Any:
        """The same noise with other rows; nothing is checked."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other.raw, other.w, other.p = y, w, p
        other.y = self.transformed(y)
        return other

    def transformed(self, y: Numbers) -> Numbers:
        """What is fitted in the place of y."""
        return y

    def with_noise(self, noise: Any) -> Any:
        """The same rows under another noise of the family; nothing is checked again."""
        other = self.taken(ALL)
        other.noise = noise
        return other

    # ---- what the pass sees ------------------------------------------------------------------------------------------

    @property
    def loss(self) -> Loss:
        """The kernel at dispersion one."""
        return Loss(self.family, self.noise.link.name)

    @property
    def weight(self) -> Numbers | None:
        """The weight of each row in the pass."""
        if self.w is None or self.p is None:
            return self.p if self.w is None else self.w
        return self.w * self.p

    def sharpened(self, loss: Loss) -> Loss:
        """A loss that is stated for precision 1 as it is for these rows."""
        return loss

    @property
    def convex(self) -> bool:
        """Whether the loss is convex in the raw prediction."""
        return self.noise.link.name in CONVEX[self.family]

    def informed(self) -> "Target":
        """The same rows with a loss whose second derivatives, or information, say how sure the coefficients are."""
        return self

    # ---- what is open ------------------------------------------------------------------------------------------------

    open: tuple[str, ...] = ()  # names of the parameters that are to be estimated
    measure = ""  # the parameter that says how far y lies from its prediction, if there is one

    def vanished(self, noise: Any, size: float) -> bool:
        """Whether the dispersion that was found is 0 but for rounding, beside a largest y of this size."""
        return False

    def dispersion(self, rows: Any = ALL) -> Dispersion:
        """What is known about the dispersion, for all or some rows."""
        return Known(1.0)

    def filled(self, dispersion: float) -> Any:
        """The noise with this dispersion."""
        return self.noise

    # ---- start and end -----------------------------------------------------------------------------------------------

    def total(self, values: Any = 1.0, rows: Any = ALL) -> float:
        """The sum over rows, each counted by w."""
        if self.w is None:
            return float(np.sum(values) if np.ndim(values) else values * len(self.y[rows]))
        return float(np.sum(self.w[rows] * values))

    def middle(self) -> float:
        """The mean of y, as a start."""
        weight = self.weight
        return float(np.add.reduce(self.y) / len(self.y) if weight is None else weight @ self.y / weight.sum())

    def rows_nll(self, noise: Any, eta: Numbers, p: Numbers | None, y: Numbers) -> Numbers:
        """-log p of each y at raw prediction eta under the filled noise, every constant included."""
        return np.asarray(with_precision(noise, p).given(eta).nll(y))

    def row_slopes(self, noise: Any, eta: Numbers) -> tuple[Numbers, Numbers]:
        """The first two derivatives of each row's nll in eta under the filled noise."""
        gradient, hessian = with_precision(noise, self.p).gradient_hessian(self.raw, eta)
        return np.asarray(gradient), np.asarray(hessian)


def with_precision(noise: Any, p: Numbers | None) -> Any:
    """The noise whose dispersion is divided by p, row by row."""
    if p is None:
        return noise
    match noise:
        case Gaussian() | LogNormal() | Huber():
            return noise._replaced(_scale=noise.scale / np.sqrt(p))
        case Laplace():
            return noise._replaced(_scale=noise.scale / p)
        case Gamma():
            return noise._replaced(_shape=noise.shape * p)
        case Tweedie():
            return noise._replaced(_dispersion=noise.dispersion / p)
    raise TypeError(f"{type(noise).__name__} has no dispersion")


def _require(noise: Any, good: Any, y: Numbers, wanted: str, remedy: str = "") -> None:
    """Refuse y unless all are good."""
    if good.all():
        return
    bad = np.flatnonzero(~np.asarray(good))
    raise ValueError(
        f"{type(noise).__name__} noise needs {wanted}, but {first_rows(bad, len(y))} {y[bad[0]]:.6g}{remedy}"
    )


def require_amounts(noise: Any, y: Numbers, *, zero: bool = False, remedy: str = "") -> None:
    """Refuse y below zero, and zeros unless they are welcome."""
    least = np.minimum.reduce(y)  # faster than a comparison of each
    if not (least >= 0 if zero else least > 0):
        _require(noise, y >= 0 if zero else y > 0, y, "y ≥ 0" if zero else "y > 0", remedy)


def require_squares(noise: Any, y: Numbers) -> None:
    """Refuse y whose squares are beyond the range of numbers."""
    if max(np.maximum.reduce(y), -np.minimum.reduce(y)) > SQUARED:
        limit = f"|y| ≤ {SQUARED:g}, since squares of larger numbers are beyond the range of floats"
        _require(noise, np.abs(y) <= SQUARED, y, limit, "; measure y in a larger unit")


class Squares(Target):
    """Gaussian: the dispersion is scale^2, and least squares for the identity link."""

    family = "gaussian"
    measure = "scale"
    locations = ANYWHERE

    def check(self) -> None:
        require_squares(self.noise, self.raw)

    @property
    def open(self) -> tuple[str, ...]:  # type: ignore[override]
        return ("scale",) if self.noise.scale is None else ()

    def dispersion(self, rows: Any = ALL) -> Dispersion:
        if self.noise.scale is not None:
            return Known(self.noise.scale**2)
        return Proportional(0.5 * self.total(rows=rows))

    def filled(self, dispersion: float) -> Any:
        return self.noise._replaced(_scale=float(np.sqrt(dispersion))) if self.open else self.noise

    def vanished(self, noise: Any, size: float) -> bool:
        return not noise.scale > max(NOTHING * size, LEAST_SUM**0.5)


class LogSquares(Squares):
    """LogNormal: least squares on log y."""

    def check(self) -> None:
        require_amounts(self.noise, self.raw, remedy="; a Tweedie noise takes zeros, a Gaussian any number")
        self.y = self.transformed(self.raw)

    def transformed(self, y: Numbers) -> Numbers:
        return np.asarray(np.log(y))


class Absolutes(Target):
    """Laplace: the dispersion is the scale."""

    family = "laplace"
    measure = "scale"
    locations = ANYWHERE
    bends = False

    @property
    def open(self) -> tuple[str, ...]:  # type: ignore[override]
        return ("scale",) if self.noise.scale is None else ()

    def dispersion(self, rows: Any = ALL) -> Dispersion:
        return Known(self.noise.scale) if self.noise.scale is not None else Proportional(self.total(rows=rows))

    def filled(self, dispersion: float) -> Any:
        return self.noise._replaced(_scale=float(dispersion)) if self.open else self.noise

    def vanished(self, noise: Any, size: float) -> bool:
        return not noise.scale > max(NOTHING * size, LEAST_SUM)

    def informed(self) -> "InformedAbsolutes":
        """The same rows with the scale, which must be known, as part of the loss."""
        other = object.__new__(InformedAbsolutes)
        other.__dict__.update(self.__dict__)
        return other


class InformedAbsolutes(Absolutes):
    """Laplace with the scale as part of the loss. The information of a row is (p / scale)^2, where the loss goes with
    p / scale: neither the scale nor the precision can be taken out of the sum over rows as it can for the loss.
    """

    @property
    def loss(self) -> Loss:
        return self.sharpened(Loss(self.family, self.noise.link.name, (np.full(1, 1 / self.noise.scale),)))

    def sharpened(self, loss: Loss) -> Loss:
        return loss if self.p is None else replace(loss, parameters=(loss.parameters[0] * self.p,))

    @property
    def weight(self) -> Numbers | None:
        return self.w

    def dispersion(self, rows: Any = ALL) -> Dispersion:
        return Known(1.0)


class HuberTarget(Target):
    """Huber: the scale is part of the loss. While it is open, 1 / scale is fitted as the coefficient of y."""

    family = "huber"
    measure = "scale"
    locations = ANYWHERE

    def vanished(self, noise: Any, size: float) -> bool:
        return not (size > 0 and noise.scale > max(NOTHING * size, LEAST_SUM))

    def check(self) -> None:
        require_squares(self.noise, self.raw)

    @property
    def open(self) -> tuple[str, ...]:  # type: ignore[override]
        return tuple(name for name in ("scale", "delta") if self.noise.parameters[name] is None)

    def at_threshold(self, delta: float) -> "HuberTarget":
        """The same target with the threshold stated."""
        return HuberTarget(self.noise._replaced(_delta=delta), self.raw, self.w, self.p)

    @property
    def loss(self) -> Loss:
        scale = 1.0 if self.noise.scale is None else self.noise.scale
        delta = 1.345 if self.noise.delta is None else self.noise.delta
        return self.sharpened(Loss("huber", self.noise.link.name, (np.full(1, 1 / scale), np.full(1, float(delta)))))

    def sharpened(self, loss: Loss) -> Loss:
        sharpness, *rest = loss.parameters
        return loss if self.p is None else replace(loss, parameters=(sharpness * np.sqrt(self.p), *rest))

    def response_loss(self) -> Loss:
        """With y as a column whose coefficient is -1 / scale."""
        return self.sharpened(Loss("huber", "identity", (ONE, np.full(1, float(self.noise.delta))), response=True))

    @property
    def weight(self) -> Numbers | None:
        return self.w


class Repeated(Target):
    """Noises whose precision p says how many times a row was observed: its nll counts p times."""

    def row_slopes(self, noise: Any, eta: Numbers) -> tuple[Numbers, Numbers]:
        gradient, hessian = noise.gradient_hessian(self.raw, eta)
        p = 1.0 if self.p is None else self.p
        return p * gradient, p * hessian


class Counts(Repeated):
    """Poisson. A row of precision p states y as a rate: p y is the count, with mean p mu."""

    family = "poisson"

    def check(self) -> None:
        y = self.raw if self.p is None else self.raw * self.p
        whole = np.rint(y)
        close = y == whole if self.p is None else np.abs(y - whole) <= 1e-9 * np.maximum(whole, 1)
        what = "counts 0, 1, 2, …" if self.p is None else "y * precision to be counts 0, 1, 2, …"
        _require(self.noise, close & (y >= 0), y, what, "; amounts that are not counts may be Gamma or Tweedie")

    def rows_nll(self, noise: Any, eta: Numbers, p: Numbers | None, y: Numbers) -> Numbers:
        if p is None:
            return np.asarray(noise.given(eta).nll(y))
        return np.asarray(Poisson(p * noise.link.inverse(eta)).nll(np.round(y * p)))


class Amounts(Target):
    """Gamma: the dispersion is 1 / shape."""

    family = "gamma"
    measure = "shape"
    power = 2.0

    def check(self) -> None:
        require_amounts(self.noise, self.raw, remedy="; a Tweedie noise takes zeros")

    @property
    def open(self) -> tuple[str, ...]:  # type: ignore[override]
        return ("shape",) if self.noise.shape is None else ()

    def dispersion(self, rows: Any = ALL) -> Dispersion:
        return Known(1 / self.noise.shape) if self.noise.shape is not None else self._gamma_dispersion(rows)

    def _gamma_dispersion(self, rows: Any) -> Dispersion:
        saturated = self.saturated(rows)
        if self.p is None:
            return GammaDispersion(saturated, np.full(1, self.total(rows=rows)), ONE)
        w = np.ones(len(self.y)) if self.w is None else self.w
        return GammaDispersion(saturated, np.ascontiguousarray(w[rows]), np.ascontiguousarray(self.p[rows]))

    def saturated(self, rows: Any) -> float:
        """What the pass's loss is at predictions equal to y: the integral of A - B (families.hpp) at mu = y."""
        y, power = self.y[rows], self.power
        above = 2 - power
        values = 1 + np.log(y) if power == 2 else np.power(y, above) / (above * (power - 1))
        return self.total(values if self.p is None else self.p[rows] * values, rows)

    def filled(self, dispersion: float) -> Any:
        return self.noise._replaced(_shape=float(1 / dispersion)) if self.open else self.noise

    def vanished(self, noise: Any, size: float) -> bool:
        return not noise.shape < 0.01 / NOTHING  # sums over many rows have lost two digits


class Binary(Repeated):
    """Bernoulli. A row of precision p states y as the share of ones among p trials."""

    family = "bernoulli"
    locations = (0.0, 1.0)

    def check(self) -> None:
        y = self.raw
        if self.p is None:
            _require(
                self.noise, (y == 0) | (y == 1), y, "y = 0 or 1", "; shares of several trials take precision=trials"
            )
            return
        _require(self.noise, (y >= 0) & (y <= 1), y, "y between 0 and 1, the share of ones")
        for values, what in (
            (self.p, "precision to be a number of trials"),
            (y * self.p, "y * precision to be a number of ones"),
        ):
            _require(self.noise, np.abs(values - np.round(values)) <= 1e-9 * np.maximum(values, 1), values, what)

    def middle(self) -> float:
        mean = super().middle()
        margin = 0.5 / (self.total() + 1)
        return min(max(mean, margin), 1 - margin)  # all alike has no finite raw prediction

    def rows_nll(self, noise: Any, eta: Numbers, p: Numbers | None, y: Numbers) -> Numbers:
        if p is None:
            return np.asarray(noise.given(eta).nll(y))
        trials, ones = np.round(p), np.round(p * y)
        choices = special.gammaln(trials + 1) - special.gammaln(ones + 1) - special.gammaln(trials - ones + 1)
        return np.asarray(ones * noise.given(eta).nll(1.0) + (trials - ones) * noise.given(eta).nll(0.0) - choices)


class Classes(Target):
    """Categorical: y holds class numbers; `classes` their labels."""

    family = "softmax"
    locations = ANYWHERE

    def __init__(self, noise: Any, y: Any, w: Numbers | None, p: Numbers | None) -> None:
        if p is not None:
            raise ValueError("Categorical noise has no dispersion that a precision could divide; use sample_weight")
        self.classes, codes = np.unique(y, return_inverse=True)
        if len(self.classes) < 2:
            raise ValueError(
                f"Categorical noise needs at least two classes, but y is {self.classes.tolist()[0]!r} throughout"
            )
        super().__init__(noise, codes.astype(np.float64).reshape(-1), w, p)

    @property
    def loss(self) -> Loss:
        return Loss("softmax", "softmax", classes=len(self.classes))

    def rows_nll(self, noise: Any, eta: Numbers, p: Numbers | None, y: Numbers) -> Numbers:
        return np.asarray(noise.given(eta).nll(y))


def make_target(noise: Any, y: Any, w: Numbers | None, p: Numbers | None) -> Target:
    """The target of a noise."""
    if not isinstance(noise, Noise):
        raise TypeError(f"noise must be a noise such as nl.Gaussian() or nl.Poisson(), but is {noise!r}")
    if noise.modelled:
        raise ValueError(
            f"{noise!r}: {noise.modelled}={MODEL!r} asks for a prediction of the {noise.modelled} for each row, which "
            "neglog.lightgbm.train and neglog.xgboost.train give; a fit takes a number, or None to estimate one"
        )
    if not isinstance(noise, Categorical) and not all_finite(y):
        bad = np.flatnonzero(~np.isfinite(y))
        raise ValueError(f"y must be finite, but {first_rows(bad, len(y))} {y[bad[0]]}")
    for name, value in noise.parameters.items():
        if isinstance(value, np.ndarray) and name != noise.location:
            raise ValueError(
                f"{type(noise).__name__}: {name} must be one number in a fit, not an array of shape {np.shape(value)}; "
                f"rows of different dispersion take precision="
            )
    kind = _targets().get(type(noise))
    if kind is None:
        raise TypeError(f"{type(noise).__name__} cannot be fitted yet")
    return kind(noise, y, w, p)


@cache
def _targets() -> dict[type, type[Target]]:
    """A new noise that can be fitted adds its line here."""
    from neglog.likelihood.tweedie import Compound

    return {
        Gaussian: Squares,
        LogNormal: LogSquares,
        Laplace: Absolutes,
        Huber: HuberTarget,
        Poisson: Counts,
        Gamma: Amounts,
        Tweedie: Compound,
        Bernoulli: Binary,
        Categorical: Classes,
    }
