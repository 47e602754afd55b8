"""A noise with the y it is to explain: what the native pass sees as y, weight and loss, and which of the noise's
parameters are open.

A row counts by its weight w (the row repeated) and has its own dispersion phi / p (p its precision). `Target` takes any
noise, by what that declares. The others are accelerators: for most noises of 0.1 the nll of a row is p loss / phi plus
a term free of the prediction, so that the pass sees the weight w p and dispersion one, and the best dispersion is known
from the sum of the loss (solvers/dispersion.py).
"""

from dataclasses import replace
from typing import Any

import numpy as np

from neglog.design.faults import first_rows
from neglog.distributions.lazy import special
from neglog.distributions.noise import Noise
from neglog.distributions.parameters import Parameter
from neglog.engines.memory import ONE, Loss
from neglog.solvers.dispersion import Dispersion, GammaDispersion, Known, Proportional
from neglog.typing import Numbers

ALL = slice(None)
NOTHING = 1e-14  # of the size of y: what is smaller is rounding
LEAST_SUM = 1e-298  # sums of the loss up to this are 0, or beyond the range of numbers
LARGEST_THRESHOLD = 20.0  # the log of a threshold beyond which Huber's law is Gaussian in every digit
SQUARED = 1e150  # whose square can be summed over many rows


class Target:
    """Any noise with its y: the pass sees the loss at known parameters, or, jointly, all that is open. `w` and `p` are
    None where all ones.
    """

    profiled = False  # whether all that is open is a dispersion whose best value the sum of the loss tells

    def __init__(self, noise: Any, y: Numbers, w: Numbers | None, p: Numbers | None) -> None:
        self.noise, self.raw, self.w, self.p = noise, y, w, p
        self.y = y
        self.check()

    def check(self) -> None:
        """Refuse a y that the noise cannot explain."""
        require(self.noise, self.noise.support.contains(self.raw), self.raw, self.noise.support.sentence)
        if self.p is not None and not self.noise.takes_precision():
            name = type(self.noise).__name__
            raise ValueError(f"{name} noise has no dispersion that a precision could divide; use sample_weight")

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

    # ---- what the noise declares -------------------------------------------------------------------------------------

    @property
    def kernel(self) -> str:
        """The name of the native kernel."""
        return str(self.noise._family())

    @property
    def bends(self) -> bool:
        """Whether the loss has second derivatives; else the information says how sure the coefficients are."""
        return bool(self.noise.traits.smooth)

    @property
    def steady(self) -> bool:
        """Whether its curvature changes smoothly."""
        return bool(self.noise.traits.steady)

    @property
    def convex(self) -> bool:
        """Whether the loss is convex in the raw prediction."""
        return bool(self.noise.log_concave)

    @property
    def squares(self) -> bool:
        """Whether it is a sum of squares in the coefficients."""
        return False

    @property
    def locations(self) -> tuple[float, float]:
        """Between which the location of the noise may lie."""
        low, high = self.noise.locations
        return low, high

    @property
    def open(self) -> tuple[str, ...]:
        """Names of the parameters that are to be estimated."""
        return self.noise.unknown  # type: ignore[no-any-return]

    @property
    def measure(self) -> str:
        """The parameter that says how far y lies from its prediction, if there is one."""
        return self.noise.spread or ""

    # ---- what the pass sees ------------------------------------------------------------------------------------------

    @property
    def loss(self) -> Loss:
        """The kernel at known parameters. Where some are open nobody is to ask it but about the link: whoever does is
        told no number.
        """
        return self.sharpened(Loss(self.kernel, self.noise.link.name, self._kernel_parameters(None)))

    def _kernel_parameters(self, p: Numbers | None) -> tuple[Numbers, ...]:
        known = self.noise.estimated(**dict.fromkeys(self.open, np.nan)) if self.open else self.noise
        values = known.with_precision(p)._kernel_parameters()
        return tuple(np.atleast_1d(np.asarray(value, np.float64)) for value in values)

    @property
    def weight(self) -> Numbers | None:
        """The weight of each row in the pass."""
        return self.w

    def sharpened(self, loss: Loss) -> Loss:
        """A loss that is stated for precision 1 as it is for these rows."""
        if self.p is None or loss.response:
            return loss
        if loss.open is None:
            return replace(loss, parameters=self._kernel_parameters(self.p))
        log_p = np.log(self.p)
        values = zip(loss.parameters, self.noise.beside_location(), strict=True)
        raw = tuple(value + own.precision * log_p if own.precision else value for value, own in values)
        return replace(loss, parameters=raw)

    def informed(self) -> "Target":
        """The same rows with a loss whose second derivatives, or information, say how sure the coefficients are."""
        return self

    # ---- all that is open, jointly -----------------------------------------------------------------------------------

    @property
    def opened(self) -> tuple[Parameter, ...]:
        """What the family declares of the open parameters."""
        return tuple(own for own in self.noise.beside_location() if own.name in self.open)

    def joint_loss(self) -> Loss:
        """The kernel in all raw parameters, of which the open ones stand after the coefficients."""
        own = self.noise.beside_location()
        opened = self.open
        values = tuple(np.zeros(1) if q.name in opened else np.full(1, self._raw(q)) for q in own)
        found = tuple(k for k, q in enumerate(own) if q.name in opened)
        loss = Loss(str(self.noise._family()), self.noise.link.name, values, open=found)
        return Target.sharpened(self, loss)

    def _raw(self, own: Parameter) -> float:
        return float(own.raw.raw(getattr(self.noise, own.name)))

    has_remainder = False  # whether there is one

    def remainder(self, v: Numbers, task: Any) -> tuple[float, Numbers, Numbers]:
        """What a joint pass over the rows of a task leaves out, a function of the open raw parameters alone: value,
        slopes, curvatures.
        """
        return 0.0, np.zeros(len(v)), np.zeros((len(v), len(v)))

    def at(self, v: Numbers) -> Any:
        """The noise with its open parameters at raw values; v may have a leading axis of many."""
        values = {own.name: own.raw.value(v[..., k]) for k, own in enumerate(self.opened)}
        plain = {name: float(x) if np.ndim(x) == 0 else x for name, x in values.items()}
        return self.noise.estimated(**plain) if plain else self.noise

    def raw_of(self, noise: Any) -> Numbers:
        """The raw values of the open parameters in a noise that has them filled in."""
        return np.array([float(own.raw.raw(getattr(noise, own.name))) for own in self.opened])

    # ---- a dispersion ------------------------------------------------------------------------------------------------

    def vanished(self, noise: Any, size: float) -> bool:
        """Whether the dispersion that was found is 0 but for rounding, beside a largest y of this size."""
        if self.locations[0] == 0:
            return False
        return not (size > 0 and getattr(noise, self.measure) > max(NOTHING * size, LEAST_SUM))

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
        return np.asarray(noise.with_precision(p).given(eta).nll(y))

    def row_slopes(self, noise: Any, eta: Numbers) -> tuple[Numbers, Numbers]:
        """The first two derivatives of each row's nll in eta under the filled noise."""
        gradient, hessian = noise.with_precision(self.p).gradient_hessian(self.raw, eta)
        return np.asarray(gradient), np.asarray(hessian)


def require(noise: Noise, good: Any, y: Numbers, wanted: str, remedy: str | None = None) -> None:
    """Refuse y unless all are good."""
    if good.all():
        return
    bad = np.flatnonzero(~np.asarray(good))
    remedy = noise.otherwise if remedy is None else remedy
    raise ValueError(
        f"{type(noise).__name__} noise needs {wanted}, but {first_rows(bad, len(y))} {y[bad[0]]:.6g}"
        f"{f'; {remedy}' if remedy else ''}"
    )


def require_amounts(noise: Noise, y: Numbers) -> None:
    """Refuse y below the support of the noise, which begins at 0."""
    least = np.minimum.reduce(y)  # faster than a comparison of each
    if not (least >= 0 if noise.support.ends[0] else least > 0):
        require(noise, noise.support.contains(y), y, noise.support.sentence)


def require_squares(noise: Noise, y: Numbers) -> None:
    """Refuse y whose squares are beyond the range of numbers."""
    if max(np.maximum.reduce(y), -np.minimum.reduce(y)) > SQUARED:
        limit = f"|y| ≤ {SQUARED:g}, since squares of larger numbers are beyond the range of floats"
        require(noise, np.abs(y) <= SQUARED, y, limit, "measure y in a larger unit")


# ---- accelerators ----------------------------------------------------------------------------------------------------


class Dispersed(Target):
    """Noises whose dispersion divides the loss: the pass has weights w p and dispersion one."""

    profiled = True

    @property
    def loss(self) -> Loss:
        return Loss(self.kernel, self.noise.link.name)

    @property
    def weight(self) -> Numbers | None:
        if self.w is None or self.p is None:
            return self.p if self.w is None else self.w
        return self.w * self.p

    def sharpened(self, loss: Loss) -> Loss:
        return loss if loss.open is None else super().sharpened(loss)


class Squares(Dispersed):
    """Gaussian: the dispersion is scale^2, and least squares for the identity link."""

    kernel = "gaussian"

    @property
    def squares(self) -> bool:
        return bool(self.noise.link.name == "identity")

    def check(self) -> None:
        require_squares(self.noise, self.raw)

    def dispersion(self, rows: Any = ALL) -> Dispersion:
        if self.noise.scale is not None:
            return Known(self.noise.scale**2)
        return Proportional(0.5 * self.total(rows=rows))

    def filled(self, dispersion: float) -> Any:
        return self.noise.estimated(scale=float(np.sqrt(dispersion))) if self.open else self.noise

    def vanished(self, noise: Any, size: float) -> bool:
        return not noise.scale > max(NOTHING * size, LEAST_SUM**0.5)


class LogSquares(Squares):
    """LogNormal: least squares on log y."""

    def check(self) -> None:
        require_amounts(self.noise, self.raw)
        self.y = self.transformed(self.raw)

    def transformed(self, y: Numbers) -> Numbers:
        return np.asarray(np.log(y))


class Absolutes(Dispersed):
    """Laplace: the dispersion is the scale."""

    def dispersion(self, rows: Any = ALL) -> Dispersion:
        return Known(self.noise.scale) if self.noise.scale is not None else Proportional(self.total(rows=rows))

    def filled(self, dispersion: float) -> Any:
        return self.noise.estimated(scale=float(dispersion)) if self.open else self.noise

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
        return self.sharpened(Loss(self.kernel, self.noise.link.name, (np.full(1, 1 / self.noise.scale),)))

    def sharpened(self, loss: Loss) -> Loss:
        if loss.open is not None:
            return super().sharpened(loss)
        return loss if self.p is None else replace(loss, parameters=(loss.parameters[0] * self.p,))

    @property
    def weight(self) -> Numbers | None:
        return self.w

    def dispersion(self, rows: Any = ALL) -> Dispersion:
        return Known(1.0)


class HuberTarget(Target):
    """Huber: the scale is part of the loss. While it is open, 1 / scale is fitted as the coefficient of y."""

    def check(self) -> None:
        require_squares(self.noise, self.raw)

    def at_threshold(self, delta: float) -> "HuberTarget":
        """The same target with the threshold stated."""
        return HuberTarget(self.noise.with_(delta=delta), self.raw, self.w, self.p)

    @property
    def loss(self) -> Loss:
        scale = 1.0 if self.noise.scale is None else self.noise.scale
        delta = 1.345 if self.noise.delta is None else self.noise.delta
        return self.sharpened(Loss("huber", self.noise.link.name, (np.full(1, 1 / scale), np.full(1, float(delta)))))

    def sharpened(self, loss: Loss) -> Loss:
        if loss.open is not None:
            return super().sharpened(loss)
        sharpness, *rest = loss.parameters
        return loss if self.p is None else replace(loss, parameters=(sharpness * np.sqrt(self.p), *rest))

    def is_convex_in_all(self, penalty: Any) -> bool:
        """Whether the objective is convex in the coefficients over the scale and 1 / scale, all that is open."""
        return self.open == ("scale",) and bool(penalty.smooth) and self.noise.link.name == "identity"

    def response_loss(self) -> Loss:
        """With y as a column whose coefficient is -1 / scale."""
        return self.sharpened(Loss("huber", "identity", (ONE, np.full(1, float(self.noise.delta))), response=True))

    def _raw(self, own: Parameter) -> float:
        return min(super()._raw(own), LARGEST_THRESHOLD) if own.name == "delta" else super()._raw(own)


class Repeated(Dispersed):
    """Noises whose precision p says how many times a row was observed: its nll counts p times."""

    profiled = False

    def row_slopes(self, noise: Any, eta: Numbers) -> tuple[Numbers, Numbers]:
        gradient, hessian = noise.gradient_hessian(self.raw, eta)
        p = 1.0 if self.p is None else self.p
        return p * gradient, p * hessian


class Counts(Repeated):
    """Poisson. A row of precision p states y as a rate: p y is the count, with mean p mu."""

    def check(self) -> None:
        y = self.raw if self.p is None else self.raw * self.p
        whole = np.rint(y)
        close = y == whole if self.p is None else np.abs(y - whole) <= 1e-9 * np.maximum(whole, 1)
        what = "counts 0, 1, 2, …" if self.p is None else "y * precision to be counts 0, 1, 2, …"
        require(self.noise, close & (y >= 0), y, what)

    def rows_nll(self, noise: Any, eta: Numbers, p: Numbers | None, y: Numbers) -> Numbers:
        if p is None:
            return np.asarray(noise.given(eta).nll(y))
        return np.asarray(noise.with_(mean=p * noise.link.inverse(eta)).nll(np.round(y * p)))


class Amounts(Dispersed):
    """Gamma: the dispersion is 1 / shape."""

    power = 2.0

    def check(self) -> None:
        require_amounts(self.noise, self.raw)

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
        return self.noise.estimated(shape=float(1 / dispersion)) if self.open else self.noise

    def vanished(self, noise: Any, size: float) -> bool:
        return not noise.shape < 0.01 / NOTHING  # sums over many rows have lost two digits


class Binary(Repeated):
    """Bernoulli. A row of precision p states y as the share of ones among p trials."""

    def check(self) -> None:
        y = self.raw
        if self.p is None:
            require(self.noise, self.noise.support.contains(y), y, self.noise.support.sentence)
            return
        require(self.noise, (y >= 0) & (y <= 1), y, "y between 0 and 1, the share of ones", "")
        for values, what in (
            (self.p, "precision to be a number of trials"),
            (y * self.p, "y * precision to be a number of ones"),
        ):
            require(self.noise, np.abs(values - np.round(values)) <= 1e-9 * np.maximum(values, 1), values, what, "")

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

    kernel = "softmax"

    @property
    def locations(self) -> tuple[float, float]:
        return -np.inf, np.inf

    def __init__(self, noise: Any, y: Any, w: Numbers | None, p: Numbers | None) -> None:
        if p is not None:
            raise ValueError("Categorical noise has no dispersion that a precision could divide; use sample_weight")
        self.classes, codes = np.unique(y, return_inverse=True)
        if len(self.classes) < 2:
            raise ValueError(
                f"Categorical noise needs at least two classes, but y is {self.classes.tolist()[0]!r} throughout"
            )
        super().__init__(noise, codes.astype(np.float64).reshape(-1), w, p)

    def check(self) -> None:
        """Labels are whatever they are."""

    @property
    def loss(self) -> Loss:
        return Loss("softmax", "softmax", classes=len(self.classes))

    def rows_nll(self, noise: Any, eta: Numbers, p: Numbers | None, y: Numbers) -> Numbers:
        return np.asarray(noise.given(eta).nll(y))
