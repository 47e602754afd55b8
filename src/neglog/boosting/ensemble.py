"""Several models of the same table, each grown on other rows: their laws are mixed, not their predictions averaged."""

from typing import Any

import numpy as np

from neglog.boosting.model import Boosted, BoostedModel
from neglog.distributions import Categorical
from neglog.distributions.mixture import Mixture
from neglog.distributions.noise import Noise
from neglog.typing import Numbers


class BoostedEnsemble(Boosted):
    """Models that each left out other rows of the training, and a law of y that gives all of them the same say.

    Where they disagree the mixture is wider than each of them: what they do not know is part of what is predicted.

    members   the models, each with the noise that the rows it had left out asked for
    noise     that of the first; what was estimated differs a little from one to the next
    classes   the labels of a target of classes; else None
    held_out  mean nats of the rows, each by the model that had not seen it: those of the mixture are lower
    """

    def __init__(self, members: tuple[BoostedModel, ...], held_out: float | None) -> None:
        self.members, self.held_out = members, held_out
        self.library, self.noise = members[0].library, members[0].noise
        self.features, self.classes = members[0].features, members[0].classes

    def distribution(self, X: Any, *, offset: Any = None, exposure: Any = None) -> Any:
        raw = np.stack([one.raw_prediction(X, offset=offset, exposure=exposure) for one in self.members])
        law: Any = _together([one.noise for one in self.members]).given(raw)
        if law.labelled:
            return Categorical(p=law.p.mean(axis=0))
        return Mixture(law, np.full(len(self.members), 1 / len(self.members)))

    def predict(self, X: Any, *, offset: Any = None, exposure: Any = None) -> Numbers:
        """One number for each row of X: the mean of y, or of the centres of laws that have none; for classes, their
        probabilities.
        """
        each = [one.predict(X, offset=offset, exposure=exposure) for one in self.members]
        return np.asarray(np.mean(each, axis=0))

    def __repr__(self) -> str:
        seen = "" if self.held_out is None else f", {self.held_out:.5g} nats a row held out"
        return f"<BoostedEnsemble of {len(self.members)} by {self.library.name}: {self.noise!r}{seen}>"


def _together(noises: list[Noise]) -> Noise:
    """The noises as one, whose parameters beside the location have them along a leading axis before the rows."""
    first, values = noises[0], {}
    for own in first.beside_location():
        if own.name not in first.modelled:
            stated = np.stack([np.atleast_1d(noise.parameters[own.name]) for noise in noises])
            values[own.name] = stated[:, None] if own.several else stated
    return first.estimated(**values)
