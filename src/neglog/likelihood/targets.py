"""A noise with the y it is to explain: what the native pass sees as y, weight and loss, and which of the noise's
parameters are open.

A row counts by its weight w (the row repeated) and has its own dispersion phi / p (p its precision). `Target` takes any
noise, by what that declares; accelerated.py has faster ones for some.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from neglog.design.faults import first_rows
from neglog.distributions.noise import Noise
from neglog.distributions.parameters import Parameter
from neglog.distributions.support import REALS
from neglog.engines.memory import Loss
from neglog.solvers.dispersion import Dispersion, Known
from neglog.typing import Numbers

ALL = slice(None)
NOTHING = 1e-14  # of the size of y: what is smaller is rounding
LEAST_SUM = 1e-298  # sums of the loss up to this are 0, or beyond the range of numbers
SQUARED = 1e150  # whose square can be summed over many rows


class Target:
    """Any noise with its y: the pass sees the loss at known parameters, or, jointly, all that is open. `w` and `p` are
    None where all ones.
    """

    cheap = True  # whether the nll of a row takes nanoseconds, not microseconds
    profiled = False  # whether all that is open is a dispersion whose best value the sum of the loss tells

    def __init__(self, noise: Any, y: Numbers, w: Numbers | None, p: Numbers | None) -> None:
        self.noise, self.raw, self.w, self.p = noise, y, w, p
        self.y = y
        self.check()
        self.y = self.transformed(y)

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

    @property
    def points(self) -> Numbers:
        """A number for each y as it was given: of a cell, one that lies in it."""
        return np.asarray(self.raw)

    @property
    def zeros(self) -> Any:
        """Which y are 0, or may be."""
        return self.points == 0

    @property
    def located(self) -> Numbers:
        """Where each y lies, as it is fitted: of a cell, whose ends may be infinite, a number in it."""
        return self.y

    @property
    def joint_y(self) -> Numbers:
        """What the joint pass sees as y."""
        return np.asarray(self.noise._for_kernel(self.raw))

    def transformed(self, y: Numbers) -> Numbers:
        """What is fitted in the place of y."""
        return np.asarray(self.noise._for_kernel(y))

    @property
    def on_location_scale(self) -> Numbers:
        """y on the scale of the location, where searches begin; NaN where it says nothing about that."""
        return np.asarray(self.noise.located(self.points))

    def with_noise(self, noise: Any) -> Any:
        """The same rows under another noise of the family; nothing is checked again."""
        other = self.taken(ALL)
        other.noise = noise
        return other

    # ---- what the noise declares -------------------------------------------------------------------------------------

    @property
    def kernel(self) -> str:
        """The name of the native kernel."""
        return str(self.noise._kernel())

    @property
    def joint_kernel(self) -> str:
        """The name of that in all raw parameters."""
        return str(self.noise._joint_kernel())

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

    def places(self) -> list[int]:
        """Where what is open stands among the raw parameters that `Noise.joint` knows."""
        return [k for k, own in enumerate(self.noise.beside_location()) if own.name in self.open]

    def joint_loss(self) -> Loss:
        """The kernel in all raw parameters, of which the open ones stand after the coefficients, those of modelled ones
        among these.
        """
        own = self.noise.beside_location()
        opened, modelled = self.open, self.noise.modelled
        found = (*opened, *modelled)
        values = tuple(np.zeros(1) if q.name in found else np.full(1, self._raw(q)) for q in own)
        places = [tuple(k for k, q in enumerate(own) if q.name in names) for names in (opened, modelled)]
        ends = tuple(own[k].within or (-np.inf, np.inf) for k in places[1])
        kernel, link = self.joint_kernel, self.noise.link.name
        return Target.sharpened(self, Loss(kernel, link, values, open=places[0], modelled=places[1], ends=ends))

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

    def values_at(self, v: Numbers) -> dict[str, Numbers]:
        """What is open at raw values, by the names that standard errors have; v may have a leading axis of many."""
        noise = self.at(v)
        return {own.name: np.asarray(getattr(noise, own.name)) for own in self.opened}

    def errors(self, noise: Any, covariance: Numbers) -> dict[str, float]:
        """Standard errors of what is open in a filled noise, by name, from the covariance of the raw values."""
        slopes = [own.raw.slope(getattr(noise, own.name)) for own in self.opened]
        errors = np.sqrt(covariance.diagonal())
        return {own.name: float(slope * error) for own, slope, error in zip(self.opened, slopes, errors, strict=True)}

    def uncentred(self, noise: Any, shift: float) -> Any:
        """The filled noise as it belongs to predictions that are larger by this, which centred columns leave out."""
        return noise

    def begin(self, eta: Numbers) -> Numbers | None:
        """Where a search for the open raw values begins at these raw predictions, if there is a way to tell."""
        return None

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
        weight, y = self.weight, self.on_location_scale
        mean = float(np.add.reduce(y) / len(y) if weight is None else weight @ y / weight.sum())
        if not np.isnan(mean):
            return mean
        told = np.isfinite(y)
        if not told.any():
            return 1.0
        return float(np.average(y[told], weights=None if weight is None else weight[told]))

    def rows_nll(self, noise: Any, eta: Numbers, p: Numbers | None, y: Numbers) -> Numbers:
        """-log p of each y at raw prediction eta under the filled noise, every constant included."""
        return np.asarray(noise.with_precision(p).given(eta).nll(y))

    def row_slopes(self, noise: Any, eta: Numbers, expected: bool = False) -> tuple[Numbers, Numbers]:
        """The first two derivatives of each row's nll in eta under the filled noise; the second may be that which the
        noise expects.
        """
        gradient, hessian = noise.with_precision(self.p).gradient_hessian(self.raw, eta, expected=expected)
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


def require_inside(noise: Noise, y: Numbers) -> None:
    """Refuse y outside the support of the noise, unless that is every number."""
    if noise.support is not REALS:
        require(noise, noise.support.contains(y), y, noise.support.sentence)


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
