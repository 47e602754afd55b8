"""Trained trees with their noise: means, laws and nats of new rows."""

import os
from abc import ABC, abstractmethod
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from neglog.boosting.estimation import Start
from neglog.boosting.laws import law_of, outputs_of
from neglog.boosting.rows import Features, codes_of, labels_of, read_new
from neglog.distributions.noise import Noise
from neglog.typing import Numbers


class Library(Protocol):
    """What a model asks of the package that grew its trees."""

    name: str

    def raw(self, booster: Any, X: Any, rounds: int) -> Numbers:
        """The sum of the trees of so many rounds for each row: (n,) or (n, outputs)."""
        ...

    def to_text(self, booster: Any, rounds: int) -> str:
        """The trees as text."""
        ...

    def from_text(self, text: str) -> Any:
        """The trees of that text."""
        ...


class Boosted(ABC):
    """What one model and several have in common: predictions, laws and nats of rows, and a file."""

    library: Library
    noise: Noise
    features: Features
    classes: Numbers | None
    held_out: float | None

    @abstractmethod
    def distribution(self, X: Any, *, offset: Any = None, exposure: Any = None) -> Any:
        """The law of y for each row of X: nll, cdf, icdf, sample and the rest. Of classes, that of their number."""

    def predict(self, X: Any, *, offset: Any = None, exposure: Any = None) -> Numbers:
        """One number for each row of X: the mean of y, or the centre of a law that has none; for classes, their
        probabilities.
        """
        law = self.distribution(X, offset=offset, exposure=exposure)
        return np.asarray(law.p if law.labelled else law.point())

    def nll(self, X: Any, y: ArrayLike | str, *, offset: Any = None, exposure: Any = None) -> Numbers:
        """-log p of each y at its row of X in nats, every constant included; +inf outside the support."""
        labels = labels_of(X, y, self.noise)
        codes = labels if self.classes is None else codes_of(labels, self.classes)
        return np.asarray(self.distribution(X, offset=offset, exposure=exposure).nll(codes))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it as JSON, the trees as the trainer's own text in it; `load` reads it."""
        from neglog.boosting.storage import save  # which builds models, and so comes after this module

        save(self, path)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> "Boosted":
        """What `save` wrote."""
        from neglog.boosting.storage import load

        model: Boosted = load(path)
        return model


class BoostedModel(Boosted):
    """Trees, the intercept they started from, and the noise with everything that was estimated.

    booster    the trainer's own, which knows the trees only: its raw prediction lacks intercept and offset
    noise      every parameter filled in, but for one that is predicted for each row
    intercept  one number per output: the intercept-only maximum likelihood, at which boosting began; that of a
               modelled parameter with what held-out rows added to it
    classes    the labels of a target of classes, in the order of their probabilities; else None
    rounds     how many rounds of trees are used: all, or up to the best of early stopping
    held_out   mean nats of the rows that were not trained on (valid, or out-of-fold); None if there were none
    """

    def __init__(
        self,
        library: Library,
        booster: Any,
        noise: Noise,
        intercept: Numbers,
        features: Features,
        rounds: int,
        classes: Numbers | None = None,
        held_out: float | None = None,
    ) -> None:
        self.library, self.booster, self.noise, self.intercept = library, booster, noise, intercept
        self.features, self.rounds, self.classes, self.held_out = features, rounds, classes, held_out

    @property
    def outputs(self) -> int:
        """How many raw predictions a row has: one, one more for each modelled parameter, or one per class."""
        return outputs_of(self.noise, 0 if self.classes is None else len(self.classes))

    def raw_prediction(self, X: Any, *, offset: Any = None, exposure: Any = None) -> Numbers:
        """offset + intercept + trees, before the link; beside it those of modelled parameters."""
        rows, shift = read_new(X, self.noise, self.features, self.classes, offset=offset, exposure=exposure)
        scores = Start(self.intercept, self.noise).scores(rows.shape[0], shift)
        scores += self.library.raw(self.booster, rows, self.rounds).reshape(scores.shape)
        return scores

    def distribution(self, X: Any, *, offset: Any = None, exposure: Any = None) -> Any:
        return law_of(self.noise, self.raw_prediction(X, offset=offset, exposure=exposure))

    def __repr__(self) -> str:
        seen = "" if self.held_out is None else f", {self.held_out:.5g} nats a row held out"
        return f"<BoostedModel by {self.library.name}: {self.rounds} rounds, {self.noise!r}{seen}>"
