"""Noises of which parameters are predicted for each row: a row has several raw predictions, that of the location first.

Each modelled parameter has coefficients of its own over the columns of the location, and what they give is its value on
its raw scale.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from neglog.distributions.noise import Noise
from neglog.distributions.parameters import MODEL
from neglog.engines.memory import Loss
from neglog.likelihood.censored import Censored
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

    def row_slopes(self, noise: Any, eta: Numbers) -> tuple[Numbers, Numbers]:
        law = noise.given(eta).with_precision(self.p)
        gradient, hessian = law.gradient_hessian(self.raw, np.ascontiguousarray(eta[:, 0]))
        return np.asarray(gradient), np.asarray(hessian)


class ModelledCells(Modelled, Censored):
    """The same of y in cells."""

    def row_slopes(self, noise: Any, eta: Numbers) -> tuple[Numbers, Numbers]:
        law = noise.given(eta).with_precision(self.p)
        _, slopes, bends = law.joint(self.raw, np.ascontiguousarray(eta[:, 0]), curvature=True)
        return slopes[0], bends[0]


def check_modelled(noise: Noise, whole_nll: bool) -> None:
    """Refuse parameters that no columns can predict; `whole_nll` says whether the joint pass has all of the nll."""
    for name in noise.modelled:
        asked = f"{noise!r}: {name}={MODEL!r} asks for a prediction of the {name} for each row"
        within = noise.parameter(name).within
        if within is not None:
            raise ValueError(
                f"{asked}, which may be any number, but the {name} lies between {within[0]:g} and {within[1]:g}; state "
                f"{name}=None to estimate one for all rows"
            )
        if not noise.traits.smooth:
            raise ValueError(
                f"{asked}, which takes the curvature of the loss, and that of {type(noise).__name__} noise has a kink; "
                f"state {name}=None to estimate one for all rows, or take StudentT or Huber noise"
            )
        if not whole_nll:
            raise ValueError(
                f"{asked}, which neglog.lightgbm.train and neglog.xgboost.train give; a fit of {type(noise).__name__} "
                f"noise takes a number, or None to estimate one for all rows"
            )


def refuse_own_terms(noise: Any, where: str) -> None:
    """Refuse terms of a parameter where nobody reads them."""
    if isinstance(noise, Noise) and noise.own_terms:
        name, own = next(iter(noise.own_terms.items()))
        raise ValueError(f"{name}={own!r} states terms of the {name}, which {where}; state {name}={MODEL!r}")


def check_columns(noise: Noise, columns: int) -> None:
    """Refuse a model of a parameter by no columns at all."""
    if noise.modelled and columns == 0:
        names = ", ".join(noise.modelled)
        raise ValueError(
            f"{noise!r}: {names}={MODEL!r} asks for a prediction of the {names} by the columns of X, but X has none; "
            f"state {names}=None to estimate one for all rows"
        )
