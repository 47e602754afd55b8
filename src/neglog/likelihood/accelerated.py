"""Targets of noises that have a shorter way than the joint pass.

For most of them the nll of a row is p loss / phi plus a term free of the prediction, so that the pass sees the weight
w p and dispersion one, and the best dispersion is known from the sum of the loss (solvers/dispersion.py).
"""

from dataclasses import replace
from typing import Any

import numpy as np

from neglog.distributions.lazy import special
from neglog.distributions.parameters import Parameter
from neglog.engines.memory import ONE, Loss
from neglog.likelihood.targets import (
    ALL,
    LEAST_SUM,
    NOTHING,
    Target,
    require,
    require_amounts,
    require_inside,
    require_squares,
)
from neglog.solvers.dispersion import Dispersion, GammaDispersion, Known, Proportional
from neglog.typing import Numbers

LARGEST_THRESHOLD = 20.0  # the log of a threshold beyond which Huber's law is Gaussian in every digit


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
        require_inside(self.noise, self.raw)

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

    def transformed(self, y: Numbers) -> Numbers:
        return np.asarray(np.log(y))

    @property
    def on_location_scale(self) -> Numbers:
        return self.y


class Absolutes(Dispersed):
    """Laplace, symmetric or not: the dispersion is the scale."""

    @property
    def loss(self) -> Loss:
        return Loss(self.kernel, self.noise.link.name, self._at_scale(1.0))

    def _at_scale(self, scale: float) -> tuple[Numbers, ...]:
        return tuple(np.full(1, value) for value in self.noise.estimated(scale=scale)._kernel_parameters())

    def check(self) -> None:
        require_inside(self.noise, self.raw)

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
    """Laplace with the scale as part of the loss. The information of a row goes with (p / scale)^2, where the loss goes
    with p / scale: neither the scale nor the precision can be taken out of the sum over rows as it can for the loss.
    """

    @property
    def loss(self) -> Loss:
        return self.sharpened(Loss(self.kernel, self.noise.link.name, self._at_scale(self.noise.scale)))

    def sharpened(self, loss: Loss) -> Loss:
        if loss.open is not None:
            return super().sharpened(loss)
        sharpness, *rest = loss.parameters
        return loss if self.p is None else replace(loss, parameters=(sharpness * self.p, *rest))

    @property
    def weight(self) -> Numbers | None:
        return self.w

    def dispersion(self, rows: Any = ALL) -> Dispersion:
        return Known(1.0)


class HuberTarget(Target):
    """Huber: the scale is part of the loss. While it is open, 1 / scale is fitted as the coefficient of y."""

    def check(self) -> None:
        require_squares(self.noise, self.raw)
        require_inside(self.noise, self.raw)

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

    def row_slopes(self, noise: Any, eta: Numbers, expected: bool = False) -> tuple[Numbers, Numbers]:
        gradient, hessian = noise.gradient_hessian(self.raw, eta, expected=expected)
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
