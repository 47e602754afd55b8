"""Noises of which parameters are predicted for each row: a row has several raw predictions, that of the location first.

Each modelled parameter has coefficients of its own over the columns of the location, and what they give is its value on
the scale on which it is any number (`Parameter.predicted`).
"""

from dataclasses import replace
from typing import Any

import numpy as np

from neglog.distributions.noise import Noise
from neglog.distributions.parameters import MODEL, Between
from neglog.engines.memory import Loss
from neglog.likelihood.censored import Censored, refuse_expected
from neglog.likelihood.targets import Target
from neglog.typing import Numbers


class Modelled(Target):
    """Raw predictions are (rows, outputs). The pass is joint, also where nothing is open."""

    @property
    def loss(self) -> Loss:
        joint = self.joint_loss()
        unknown = joint.open or ()
        values = (np.full(1, np.nan) if k in unknown else value for k, value in enumerate(joint.parameters))
        return replace(joint, parameters=tuple(values), open=())

    def rows_nll(self, noise: Any, eta: Numbers, p: Numbers | None, y: Numbers) -> Numbers:
        return np.asarray(noise.given(eta).with_precision(p).nll(y))

    def row_slopes(self, noise: Any, eta: Numbers, expected: bool = False) -> tuple[Numbers, Numbers]:
        law = noise.given(eta).with_precision(self.p)
        gradient, hessian = law.gradient_hessian(self.raw, np.ascontiguousarray(eta[:, 0]), expected=expected)
        return np.asarray(gradient), np.asarray(hessian)

    def derivatives(self, noise: Any, eta: Numbers) -> tuple[Numbers, Numbers]:
        """Slopes of each row in all that `Noise.joint` knows, and second derivatives by pairs, but in what the columns
        predict in the place of raw parameters.
        """
        law = noise.given(eta).with_precision(self.p)
        _, slopes, pairs = law.joint(self.raw, np.ascontiguousarray(eta[:, 0]), curvature=True)
        through_ends(noise, law, slopes, pairs)
        return slopes, pairs


def through_ends(noise: Noise, law: Any, slopes: Numbers, pairs: Numbers) -> None:
    """From the derivatives in raw parameters to those in what is predicted of them, where these have ends."""
    for k, own in enumerate(noise.beside_location(), 1):
        if own.name in noise.modelled and isinstance(own.predicted, Between):
            _through(own.predicted, getattr(law, own.name), k, slopes, pairs)


def _through(scale: Between, value: Numbers, k: int, slopes: Numbers, pairs: Numbers) -> None:
    """The chain rule from a parameter that has ends, the k-th variable, to what is predicted of it."""
    pace, down = scale.slope(value), slopes[k].copy()
    slopes[k] *= pace
    for other in range(len(slopes)):
        high, low = max(k, other), min(k, other)
        pairs[high * (high + 1) // 2 + low] *= pace**2 if other == k else pace
    pairs[k * (k + 1) // 2 + k] += down * scale.bend(value)


class ModelledCells(Modelled, Censored):
    """The same of y in cells."""

    def row_slopes(self, noise: Any, eta: Numbers, expected: bool = False) -> tuple[Numbers, Numbers]:
        refuse_expected(expected)
        law = noise.given(eta).with_precision(self.p)
        _, slopes, bends = law.joint(self.raw, np.ascontiguousarray(eta[:, 0]), curvature=True)
        return slopes[0], bends[0]


def check_modelled(noise: Noise) -> None:
    """Refuse parameters that no columns can predict."""
    for name in noise.modelled:
        if not noise.traits.smooth:
            raise ValueError(
                f"{noise!r}: {name}={MODEL!r} asks for a prediction of the {name} for each row, which takes the "
                f"curvature of the loss, and that of {type(noise).__name__} noise has a kink; state {name}=None to "
                "estimate one for all rows, or take StudentT or Huber noise"
            )


def refuse_own_terms(noise: Any, where: str) -> None:
    """Refuse terms of a parameter where nobody reads them."""
    if isinstance(noise, Noise) and noise.own_terms:
        name, own = next(iter(noise.own_terms.items()))
        raise ValueError(f"{name}={own!r} states terms of the {name}, which {where}; state {name}={MODEL!r}")


def refuse_told(noise: Any) -> None:
    """Refuse what a noise leaves to something else than its likelihood, where that is not asked."""
    if not isinstance(noise, Noise):
        return
    for name, way in noise.told.items():
        raise ValueError(
            f"{noise!r}: {name}={way!r} is settled together with the coefficients by nl.fit of rows in memory, but not "
            f"here; state a number, such as that of such a fit, or {name}=None for the most probable one"
        )


def check_columns(noise: Noise, columns: int) -> None:
    """Refuse a model of a parameter by no columns at all."""
    if noise.modelled and columns == 0:
        names = ", ".join(noise.modelled)
        raise ValueError(
            f"{noise!r}: {names}={MODEL!r} asks for a prediction of the {names} by the columns of X, but X has none; "
            f"state {names}=None to estimate one for all rows"
        )
