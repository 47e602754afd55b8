"""Trees as a structure of comparisons: LightGBM with early stopping, on the columns as they are."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from neglog.comparison.recipes import HELD, ROUNDS, STOPPING, TREES
from neglog.comparison.structures import features_of
from neglog.design.design import Design
from neglog.distributions.arrays import available_threads
from neglog.distributions.noise import Noise
from neglog.typing import Numbers

MANY = 100_000  # rows from which on threads gain more than their waiting for each other costs on a busy machine


@dataclass(frozen=True)
class TreesOfRows:
    """A trained model as the comparison asks a fit."""

    model: Any
    converged: bool = True
    message: str = ""
    limit: None = None

    @property
    def noise(self) -> Noise:
        """With what is the same in all rows."""
        noise: Noise = self.model.noise
        return noise

    @property
    def classes(self) -> Any:
        """The labels of a target of classes."""
        return self.model.classes

    def distribution(self, design: Design, offset: Any = None, exposure: Any = None) -> Any:
        """The law of y of each row."""
        return self.model.distribution(_matrix(design)[0], offset=offset, exposure=exposure)


def grown(design: Design, y: Any, noise: Noise, values: dict[str, Any], seed: int) -> TreesOfRows:
    """Trees for some rows, with as many rounds as rows that are left out of the training ask for."""
    from neglog.lightgbm import train

    least = int(np.ceil(2 * TREES["min_child_samples"] / (1 - HELD)))
    if design.rows < least:
        raise ValueError(
            f"trees that leave some rows out to tell when to stop take {least} at least, not {design.rows}"
        )
    X, factors = _matrix(design)
    threads = {
        "num_threads": available_threads() if design.rows >= MANY else 1,
        "force_row_wise": True,
        "seed": seed,
        "deterministic": True,
    }
    with np.errstate(all="ignore"):  # a spread that runs away is a law that costs more, and no fault of the call
        model = train(
            TREES | threads,
            X,
            y,
            noise,
            **values,
            valid=HELD,
            num_boost_round=ROUNDS,
            early_stopping_rounds=STOPPING,
            seed=seed,
            categorical_feature=factors,
        )
    return TreesOfRows(model)


def _matrix(design: Design) -> tuple[Numbers, list[int]]:
    """The columns of X side by side, levels as numbers, and which columns are levels; a level not known is missing."""
    features = features_of(design)
    X = np.empty((design.rows, len(features)))
    for j, feature in enumerate(features):
        X[:, j] = feature.values if feature.levels is None else np.where(feature.values < 0, np.nan, feature.values)
    return X, [j for j, feature in enumerate(features) if feature.levels is not None]
