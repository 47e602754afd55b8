"""Gradients and Hessians of the nll in the raw predictions, as trainers want them: weighted, positive, in float32.

The Hessian is the observed second derivative where that is positive for every y and every prediction, and else the
Fisher information, its expectation over y: for Laplace noise, whose nll has no curvature at all; for Huber, whose
curvature ends at the threshold; for links other than the natural ones. With either, a leaf's value -G / H is a Newton
step towards the maximum likelihood of its rows.

A noise whose spread divides the loss and is left open is taken in units in which it does not matter, and in which the
built-in objectives are stated: residual and one for Gaussian, 1 - y / mean and y / mean for Gamma. Every other open
parameter bends the loss, or says how long a step is, and follows the predictions: it is estimated anew at those that
there are, a spread in every round, all others in ever fewer.
"""

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from neglog import _core
from neglog.boosting.buffers import Buffers
from neglog.boosting.estimation import estimated
from neglog.boosting.information import Information
from neglog.boosting.laws import open_parameters, slopes_beside
from neglog.boosting.observed import numbers, points_of, zeros_of
from neglog.boosting.team import Team
from neglog.distributions.arrays import as_numbers, thread_count
from neglog.distributions.noise import Noise
from neglog.distributions.support import REALS
from neglog.typing import Numbers

Slopes = Callable[..., tuple[Numbers, Numbers]]  # of y, raw predictions, weights, and the trainer's threads

SMALLEST = 1e-16  # of a Hessian: positive also where the information rounds to nothing
SAMPLE = 10_000  # rows from which a scale is estimated in every round
FEWER = 2_000  # of cells, each of which may take microseconds


def slopes_of(noise: Noise) -> Slopes:
    """The function of (y, raw predictions, weights, threads) that gives gradient and Hessian.

    >>> import numpy as np, neglog as nl
    >>> slopes_of(nl.Poisson())(np.array([0.0, 3.0]), np.array([0.0, 0.0]), np.array([1.0, 2.0]))
    (array([ 1., -4.], dtype=float32), array([1., 2.], dtype=float32))
    """
    if noise.of_classes:
        return Classes()
    return SeveralOutputs(noise) if noise.modelled else OneOutput(noise)


class Followed:
    """A noise whose open parameters follow the predictions of the trees; estimates that take long, less often."""

    def __init__(self, noise: Noise, names: tuple[str, ...], *, slowly: bool = False) -> None:
        self.stated, self.noise, self.names = noise, noise, names
        self.often = names == (noise.spread,) and not slowly  # a spread alone is found quickly
        self._sample, self._pause = (FEWER, 2.0) if slowly else (SAMPLE, 1.5)
        self._round = self._next = 0

    def at(self, y: Any, raw: Numbers, weight: Numbers | None) -> Any:
        """The noise as these predictions have it; what the rows cannot tell stays as it was."""
        if self.names and (self.often or self._round >= self._next):
            self._estimate(y, raw, weight)
            self._next = max(self._round + 1, int(self._pause * self._round))
        self._round += 1
        return self.noise

    def _estimate(self, y: Any, raw: Numbers, weight: Numbers | None) -> None:
        rare = self.stated.labelled  # a class may have few rows
        some = slice(None, None, 1 if rare else max(1, len(y) // self._sample))
        part = None if weight is None else weight[some]
        if part is not None and not part.any():
            some, part = slice(None), weight
        targets = numbers(y[some])
        if self.stated.cannot_tell(len(targets), zeros_of(targets)) is not None:
            unknown = [name for name in self.names if getattr(self.noise, name) is None]
            self.noise = self.noise.with_(**{name: self.noise.parameter(name).start for name in unknown})
            return
        found = estimated(self.stated, targets, np.asarray(raw[some], np.float64), part)
        values = {name: getattr(found, name) for name in self.names}
        spread = str(self.stated.spread)
        if spread in values and self.stated.locations[0] < 0:  # residuals may all be zero
            values[spread] = max(values[spread], 1e-12 * float(np.max(np.abs(points_of(targets)), initial=1e-30)))
        self.noise = self.noise.estimated(**values)

    def bent(self) -> Noise:
        """As it was stated, but for what bends the loss: that as it was last found."""
        values = {name: getattr(self.noise, name) for name in self.names if name != self.stated.spread}
        return self.stated.estimated(**{name: value for name, value in values.items() if value is not None})


class OneOutput:
    """For noises whose only prediction is the location."""

    def __init__(self, noise: Noise) -> None:
        self.expected = not noise.curved
        unknown = open_parameters(noise)
        if noise.traits.divided and noise.spread in unknown:
            unknown = tuple(name for name in unknown if name != noise.spread)
            self.following = Followed(noise, unknown)
            self.following.noise = noise.with_(**{str(noise.spread): 1.0})
        else:
            self.following = Followed(noise, unknown)
        anywhere = noise.locations[0] < 0
        self.in_units = anywhere and noise.spread in unknown  # of the spread: then a Hessian counts rows
        self.flat = anywhere and noise.link.name == "identity"  # one Hessian for all rows
        self.of_residuals = self.flat and noise.support is REALS  # nothing but y - raw counts
        self._buffers = Buffers()
        self._hessian = np.empty(0, np.float32)

    @property
    def noise(self) -> Any:
        """With its open parameters as they were last followed; a spread that does not matter is 1."""
        return self.following.noise

    def squares(self, y: Numbers) -> Numbers | None:
        """What the raw predictions are to meet, where the nll is half the squared distance from it; else None."""
        if not self.flat or self.noise.parameters.get(str(self.noise.spread)) != 1.0:
            return None
        squared = self.noise.traits.settled_by in ("squares", "squares of logs")
        return np.asarray(self.noise.located(y)) if squared else None

    def __call__(
        self, y: Numbers, raw: Numbers, weight: Numbers | None, team: Team | None = None
    ) -> tuple[Numbers, Numbers]:
        """Gradient and Hessian of each row, times its weight. A Hessian that is the same for all is read-only."""
        noise = self.following.at(y, raw, weight)
        unit = getattr(noise, str(noise.spread)) ** 2 if self.in_units else 1.0
        gradient = self._buffers.empty(raw.shape)
        if self.flat and weight is None:
            noise._slopes(y, raw, False, gradient, None, weight=unit, team=team)
            return gradient, self._same_for_all(noise, unit, len(raw))
        hessian = self._buffers.empty(raw.shape)
        factor = unit if weight is None else weight if unit == 1.0 else unit * weight
        noise._slopes(y, raw, self.expected, gradient, hessian, weight=factor, least=SMALLEST, team=team)
        return gradient, hessian

    def _same_for_all(self, noise: Noise, unit: float, rows: int) -> Numbers:
        if len(self._hessian) != rows or not self.following.often:  # with the unit, the spread does not matter
            gradient, hessian = np.empty(1, np.float32), np.empty(1, np.float32)
            noise._slopes(0.5, 0.0, self.expected, gradient, hessian, weight=unit, least=SMALLEST)
            self._hessian = np.repeat(hessian, rows)
            self._hessian.flags.writeable = False
        return self._hessian


class SeveralOutputs:
    """For noises of which parameters are predicted too: the raw predictions beside the first are theirs.

    Each output makes a step of its own, by the information about it alone: location and spread are orthogonal in all
    families, a shape is nearly so. The information of the location weighs rows by how well they are known, and is taken
    in units of its mean, so that sums of it count rows whatever the unit of y. That of the others is not let fall below
    the gradient, so that one leaf changes a spread by a factor of e at most: a single surprise in a leaf of few rows
    would otherwise ask for many powers of ten.
    """

    def __init__(self, noise: Noise) -> None:
        self.following = Followed(noise, open_parameters(noise))
        self.information = Information(noise)
        self._buffers = Buffers()

    def __call__(
        self, y: Numbers, raw: Numbers, weight: Numbers | None, team: Team | None = None
    ) -> tuple[Numbers, Numbers]:
        """Gradient and Hessian of each row, times its weight: a column for each output."""
        noise, location = self.following.at(y, raw, weight), np.ascontiguousarray(raw[:, 0])
        law = noise.given(raw)
        gradient, hessian = self._buffers.empty(raw.shape, "F"), self._buffers.empty(raw.shape, "F")
        law._slopes(y, location, True, gradient[:, 0], hessian[:, 0], team=team)
        unit = mean_of(hessian[:, 0], weight)
        gradient[:, 0] /= unit
        hessian[:, 0] /= unit
        slopes, informations = slopes_beside(noise, law, y, raw), self.information(noise, law, raw)
        for k, (name, information) in enumerate(zip(noise.modelled, informations, strict=True), 1):
            gradient[:, k] = slopes[name]
            np.maximum(information, np.abs(gradient[:, k]), out=hessian[:, k])
        return finished(gradient, hessian, None if weight is None else weight[:, None])


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


def mean_of(values: Numbers, weight: Numbers | None) -> float:
    """By weight; 1 where that is no size."""
    mean = float(np.average(values, weights=weight))
    return mean if 0 < mean < np.inf else 1.0


def finished(gradient: Numbers, hessian: Numbers, weight: Any) -> tuple[Numbers, Numbers]:
    """Both times the weights, and Hessians positive."""
    if weight is not None:
        factor = np.asarray(weight, np.float32)
        gradient *= factor
        hessian *= factor
    np.maximum(hessian, SMALLEST, out=hessian)
    return gradient, hessian
