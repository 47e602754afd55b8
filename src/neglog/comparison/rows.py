"""Rows in memory that several noises are fitted to, each with the design that its structure and its terms make."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from neglog.comparison.structures import CONSTANT, LINEAR, SMOOTH, TREES, Candidate
from neglog.comparison.trees import TreesOfRows, grown
from neglog.design.design import Design
from neglog.design.selection import take_rows
from neglog.distributions import Flat
from neglog.distributions.base import Prior
from neglog.distributions.noise import Noise
from neglog.estimation.learned_prior import is_open
from neglog.fitting.fit import fit, terms_of_modelled
from neglog.results.fit_of_rows import FitOfRows

COLUMNS = "columns"  # a design of the columns as they are, whatever the linear structure makes of them
OwnTerms = tuple[tuple[str, Any], ...]  # what predicts each modelled parameter, if any has terms of its own
Key = tuple[str, OwnTerms]


def own_terms_of(noise: Noise) -> OwnTerms:
    """By which noises that need a design of their own are told apart; empty for those that take every one's."""
    return tuple(terms_of_modelled(noise).items())


@dataclass
class Rows:
    """Rows with their target and what goes with them; designs are made when they are first needed."""

    make: Callable[[Key], Design]
    y: Any
    values: dict[str, Any]
    intercept: bool
    count: int
    _made: dict[Key, Design] = field(default_factory=dict)

    def _at(self, key: Key) -> Design:
        if key not in self._made:
            self._made[key] = self.make(key)
        return self._made[key]

    @property
    def design(self) -> Design:
        """The columns as they are."""
        return self._at((COLUMNS, ()))

    def design_of(self, candidate: Candidate) -> Design:
        """The one that it takes."""
        structure = COLUMNS if candidate.structure == TREES else candidate.structure
        return self._at((structure, own_terms_of(candidate.noise) if structure in (LINEAR, SMOOTH) else ()))

    def prior_of(self, candidate: Candidate, prior: Prior) -> Prior:
        """The prior of its coefficients: without columns there is nothing to hold back."""
        return prior if self.design_of(candidate).columns or not is_open(prior) else Flat()

    def taken(self, rows: Any) -> "Rows":
        """Some of the rows."""
        values = {name: None if value is None else value[rows] for name, value in self.values.items()}
        count = len(np.arange(self.count)[rows])
        return Rows(lambda key: take_rows(self._at(key), rows), self.y[rows], values, self.intercept, count)

    def counted(self) -> "Rows":
        """Those that have a weight: the others may hold what no noise could explain."""
        weight = self.values["sample_weight"]
        return self if weight is None or (weight > 0).all() else self.taken(np.flatnonzero(weight > 0))

    def fit(self, candidate: Candidate, prior: Prior, tol: float) -> FitOfRows:
        """The fit of a noise to all of them."""
        design, prior, noise = self.design_of(candidate), self.prior_of(candidate, prior), candidate.noise
        if noise.own_terms:
            noise = noise.modelled_alike()  # the design has them
        intercept = self.intercept or candidate.structure == CONSTANT
        return fit(design, self.y, noise, prior, intercept=intercept, tol=tol, **self.values)

    def grow(self, candidate: Candidate, seed: int) -> TreesOfRows:
        """Trees for all of them."""
        return grown(self.design_of(candidate), self.y, candidate.noise, self.values, seed)
