"""Rows in memory that several noises are fitted to, each with the design that its terms make of them."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from neglog.design.design import Design
from neglog.design.selection import take_rows
from neglog.distributions import Flat
from neglog.distributions.base import Prior
from neglog.distributions.noise import Noise
from neglog.estimation.learned_prior import is_open
from neglog.fitting.fit import fit, terms_of_modelled
from neglog.results.fit_of_rows import FitOfRows

OwnTerms = tuple[tuple[str, Any], ...]  # what predicts each modelled parameter, if any has terms of its own


def own_terms_of(noise: Noise) -> OwnTerms:
    """By which noises that need a design of their own are told apart; empty for those that take every one's."""
    return tuple(terms_of_modelled(noise).items())


@dataclass(frozen=True)
class Rows:
    """Rows with their target and what goes with them: the design of all noises, and of each that has terms of its own
    for a parameter another one.
    """

    designs: dict[OwnTerms, Design]
    y: Any
    values: dict[str, Any]
    intercept: bool

    @property
    def design(self) -> Design:
        """That of the noises without terms of their own."""
        return self.designs[()]

    def design_of(self, noise: Noise) -> Design:
        """The one that the noise takes."""
        return self.designs[own_terms_of(noise)]

    def prior_of(self, noise: Noise, prior: Prior) -> Prior:
        """The prior of its coefficients: without columns there is nothing to hold back."""
        return prior if self.design_of(noise).columns or not is_open(prior) else Flat()

    def taken(self, rows: Any) -> "Rows":
        """Some of the rows."""
        values = {name: None if value is None else value[rows] for name, value in self.values.items()}
        designs = {own: take_rows(design, rows) for own, design in self.designs.items()}
        return Rows(designs, self.y[rows], values, self.intercept)

    def counted(self) -> "Rows":
        """Those that have a weight: the others may hold what no noise could explain."""
        weight = self.values["sample_weight"]
        return self if weight is None or (weight > 0).all() else self.taken(np.flatnonzero(weight > 0))

    def fit(self, noise: Noise, prior: Prior, tol: float) -> FitOfRows:
        """The fit of a noise to all of them."""
        design, prior = self.design_of(noise), self.prior_of(noise, prior)
        if noise.own_terms:
            noise = noise.modelled_alike()  # the design has them
        return fit(design, self.y, noise, prior, intercept=self.intercept, tol=tol, **self.values)
