"""Gradients and Hessians of the nll in the raw predictions, as trainers want them: weighted, positive, in float32.

The Hessian is the observed second derivative where that is positive for every y and every prediction, and else the
Fisher information, its expectation over y: for Laplace noise, whose nll has no curvature at all; for Huber, whose
curvature ends at the threshold; for links other than the natural ones. With either, a leaf's value -G / H is a Newton
step towards the maximum likelihood of its rows.

A noise whose spread is left open is taken in units in which it does not matter, and in which the built-in objectives
are stated: residual and one for Gaussian, 1 - y / mean and y / mean for Gamma. The information of Laplace and Huber
noise depends on the scale, without which a step has no length; so their scale is estimated anew in every round.
"""

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from neglog import _core
from neglog.boosting.buffers import Buffers
from neglog.boosting.estimation import estimated
from neglog.boosting.information import SpreadInformation
from neglog.boosting.laws import open_parameters, with_spread
from neglog.boosting.team import Team
from neglog.distributions import Categorical, Huber, Laplace
from neglog.distributions.arrays import Numbers, as_numbers, thread_count
from neglog.distributions.base import Noise

Slopes = Callable[..., tuple[Numbers, Numbers]]  # of y, raw predictions, weights, and the trainer's threads

SMALLEST = 1e-16  # of a Hessian: positive also where the information rounds to nothing
SAMPLE = 10_000  # rows from which a scale is estimated in every round
POSITIVE_CURVATURE = {
    ("gaussian", "identity"),
    ("lognormal", "identity"),
    ("poisson", "log"),
    ("gamma", "log"),
    ("tweedie", "log"),
    ("bernoulli", "logit"),
    ("bernoulli", "probit"),
    ("bernoulli", "cloglog"),
}


def uses_information(noise: Noise) -> bool:
    """Whether the Fisher information takes the place of the observed second derivative."""
    if noise._family() == "tweedie" and not 1 <= noise.power <= 2:
        return True
    return (noise._family(), noise.link.name) not in POSITIVE_CURVATURE


def slopes_of(noise: Noise) -> Slopes:
    """The function of (y, raw predictions, weights, threads) that gives gradient and Hessian.

    >>> import numpy as np, neglog as nl
    >>> slopes_of(nl.Poisson())(np.array([0.0, 3.0]), np.array([0.0, 0.0]), np.array([1.0, 2.0]))
    (array([ 1., -4.], dtype=float32), array([1., 2.], dtype=float32))
    """
    if isinstance(noise, Categorical):
        return Classes()
    needed = [name for name in open_parameters(noise) if name != noise.spread]
    if needed:
        raise ValueError(
            f"{noise!r}: the gradient depends on {' and '.join(needed)}; state a value, or let `train` estimate it"
        )
    return OneOutput(noise) if noise.modelled is None else TwoOutputs(noise)


class OneOutput:
    """For noises whose only prediction is the location."""

    def __init__(self, noise: Noise) -> None:
        self.expected = uses_information(noise)
        self.open = noise.spread is not None and noise.parameters[noise.spread] is None
        self.follows_scale = self.open and isinstance(noise, Laplace | Huber)
        self.noise = noise if self.follows_scale or not self.open else noise.estimated(**{noise.spread: 1.0})
        self.flat = noise.location == "loc" and noise.link.name == "identity"  # one Hessian for all rows
        self.of_residuals = self.flat and noise._family() != "lognormal"  # nothing but y - raw counts
        self._buffers = Buffers()
        self._hessian = np.empty(0, np.float32)

    def squares(self, y: Numbers) -> Numbers | None:
        """What the raw predictions are to meet, where the nll is half the squared distance from it; else None."""
        if self.noise._family() not in ("gaussian", "lognormal") or not self.flat or self.noise.scale != 1.0:
            return None
        return y if self.noise._family() == "gaussian" else np.log(y)

    def __call__(
        self, y: Numbers, raw: Numbers, weight: Numbers | None, team: Team | None = None
    ) -> tuple[Numbers, Numbers]:
        """Gradient and Hessian of each row, times its weight. A Hessian that is the same for all is read-only."""
        noise, unit = self.noise, 1.0
        if self.follows_scale:
            noise = self.noise.estimated(scale=current_scale(self.noise, y, raw, weight))
            unit = noise.scale**2  # so that the Hessian counts rows, whatever the scale
        gradient = self._buffers.empty(raw.shape)
        if self.flat and weight is None:
            noise._slopes(y, raw, False, gradient, None, weight=unit, team=team)
            return gradient, self._same_for_all(noise, unit, len(raw))
        hessian = self._buffers.empty(raw.shape)
        factor = unit if weight is None else weight if unit == 1.0 else unit * weight
        noise._slopes(y, raw, self.expected, gradient, hessian, weight=factor, least=SMALLEST, team=team)
        return gradient, hessian

    def _same_for_all(self, noise: Noise, unit: float, rows: int) -> Numbers:
        if len(self._hessian) != rows:  # later ones are the same: with the unit, the scale does not matter
            gradient, hessian = np.empty(1, np.float32), np.empty(1, np.float32)
            noise._slopes(0.0, 0.0, self.expected, gradient, hessian, weight=unit, least=SMALLEST)
            self._hessian = np.repeat(hessian, rows)
            self._hessian.flags.writeable = False
        return self._hessian


class TwoOutputs:
    """For noises whose spread is predicted too: the second raw prediction is its logarithm.

    Location and spread are orthogonal in all of them, so that the Fisher information has no off-diagonal. That of the
    location weighs rows by how well they are known, and is taken in units of its mean, so that sums of it count rows
    whatever the unit of y. That of the log spread is not let fall below the gradient, so that one leaf changes the
    spread by a factor of e at most: a single surprise in a leaf of few rows would otherwise ask for many powers of ten.
    """

    def __init__(self, noise: Noise) -> None:
        self.noise = noise
        self.information = SpreadInformation(noise)
        self._buffers = Buffers()

    def __call__(
        self, y: Numbers, raw: Numbers, weight: Numbers | None, team: Team | None = None
    ) -> tuple[Numbers, Numbers]:
        """Gradient and Hessian of each row, times its weight: columns for location and log spread."""
        location, log_spread = np.ascontiguousarray(raw[:, 0]), raw[:, 1]
        noise = with_spread(self.noise, log_spread)
        gradient, hessian = self._buffers.empty(raw.shape, "F"), self._buffers.empty(raw.shape, "F")
        noise._slopes(y, location, True, gradient[:, 0], hessian[:, 0], team=team)
        unit = _mean(hessian[:, 0], weight)
        gradient[:, 0] /= unit
        hessian[:, 0] /= unit
        law = noise.given(location)
        name = str(self.noise.modelled)
        spread = law.parameters[name]
        gradient[:, 1] = law.parameter_gradient(y)[name] * spread
        np.maximum(self.information(law), np.abs(gradient[:, 1]), out=hessian[:, 1])
        return _finished(gradient, hessian, None if weight is None else weight[:, None])


class Classes:
    """For K classes: p - 1[y = k], and the diagonal p (1 - p) of the second derivatives times K / (K - 1).

    The factor is what the off-diagonal elements amount to: only differences between classes count, and K trees that
    each make the step of one would together overshoot. It makes two classes step like Bernoulli noise.
    """

    def __init__(self) -> None:
        self._buffers = Buffers()

    def __call__(
        self, y: Numbers, raw: Numbers, weight: Numbers | None, team: Team | None = None
    ) -> tuple[Numbers, Numbers]:
        """Gradient and Hessian of each row and class, times the weight of the row, in the order that raw has."""
        classes = raw.shape[1]
        order: Literal["C", "F"] = "F" if raw.flags.f_contiguous else "C"
        gradient, hessian = self._buffers.empty(raw.shape, order), self._buffers.empty(raw.shape, order)
        _core.class_slopes(
            as_numbers(y, "y"),
            as_numbers(raw, "raw"),
            np.ones(1) if weight is None else as_numbers(weight, "weight"),
            classes / (classes - 1),
            SMALLEST,
            gradient,
            hessian,
            thread_count(raw.size),
            team,
        )
        return gradient, hessian


def _mean(values: Numbers, weight: Numbers | None) -> float:
    mean = float(np.average(values, weights=weight))
    return mean if 0 < mean < np.inf else 1.0


def current_scale(noise: Any, y: Numbers, raw: Numbers, weight: Numbers | None) -> float:
    """The scale that the residuals of some of the rows have now."""
    some = slice(None, None, max(1, len(y) // SAMPLE))
    part = None if weight is None else weight[some]
    if part is not None and not part.any():
        some, part = slice(None), weight
    targets = np.asarray(y[some], np.float64)
    scale = float(estimated(noise, targets, np.asarray(raw[some], np.float64), part).scale)
    return max(scale, 1e-12 * float(np.max(np.abs(targets), initial=1e-30)))  # residuals may all be zero


def _finished(gradient: Numbers, hessian: Numbers, weight: Any) -> tuple[Numbers, Numbers]:
    if weight is not None:
        factor = np.asarray(weight, np.float32)
        gradient *= factor
        hessian *= factor
    np.maximum(hessian, SMALLEST, out=hessian)
    return gradient, hessian
