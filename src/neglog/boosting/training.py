"""Training with any library: start, trees, early stopping in nats, and what the noise left open."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from neglog.boosting.cell_slopes import OfCells
from neglog.boosting.derivatives import Slopes, slopes_of
from neglog.boosting.estimation import Start, calibrated, estimated, start_fit, start_of
from neglog.boosting.laws import open_parameters, suited
from neglog.boosting.model import BoostedModel, Library
from neglog.boosting.nats import mean_nats
from neglog.boosting.observed import zeros_of
from neglog.boosting.rows import Rows, read_rows, read_valid
from neglog.distributions.censored import Cells
from neglog.distributions.noise import Noise
from neglog.typing import Numbers

MANY = 50_000  # rows from which some are left out of the training instead of training again for each fold
LEFT_OUT = 10_000  # of so many rows


@dataclass(frozen=True)
class Part:
    """Rows with the raw predictions they start from."""

    rows: Rows
    scores: Numbers


@dataclass(frozen=True)
class Grown:
    """A booster, and how many of its rounds to use."""

    booster: Any
    rounds: int


class Trainer(Library, Protocol):
    """A library that grows trees from gradients and Hessians."""

    def check(self, params: dict[str, Any]) -> None:
        """Refuse parameters that the noise decides."""
        ...

    def grow(
        self,
        params: dict[str, Any],
        train: Part,
        valid: Part | None,
        slopes: Slopes,
        nats: Callable[[Any, Numbers, Numbers | None], float],
        rounds: int,
        stopping: int | None,
        options: dict[str, Any],
    ) -> Grown:
        """Trees for `train`; with `stopping`, until the nats of `valid` have not fallen for so many rounds."""
        ...


@dataclass(frozen=True)
class Boosting:
    """Everything that two trainings of the same model share."""

    trainer: Trainer
    params: dict[str, Any]
    rounds: int
    options: dict[str, Any]

    def grown(self, start: Start, train: Rows, valid: Rows | None = None, stopping: int | None = None) -> Grown:
        """Trees on these rows."""
        parts = [None if rows is None else Part(rows, start.scores(len(rows), rows.offset)) for rows in (train, valid)]
        assert parts[0] is not None
        slopes: Slopes = OfCells(start.noise) if isinstance(train.y, Cells) else slopes_of(start.noise)
        following = getattr(slopes, "following", None)

        def nats(y: Any, raw: Numbers, weight: Numbers | None) -> float:
            return mean_nats(start.noise if following is None else following.bent(), y, raw, weight)

        return self.trainer.grow(self.params, parts[0], parts[1], slopes, nats, self.rounds, stopping, self.options)

    def raw(self, start: Start, grown: Grown, rows: Rows) -> Numbers:
        """The raw predictions of rows."""
        scores = start.scores(len(rows), rows.offset)
        scores += self.trainer.raw(grown.booster, rows.X, grown.rounds).reshape(scores.shape)
        return scores

    def out_of_fold(self, start: Start, rows: Rows, folds: int, seed: int) -> Numbers:
        """The raw prediction of each row by trees that have not seen it."""
        label = np.random.default_rng(seed).permutation(len(rows)) % folds
        raw = start.scores(len(rows), None)
        for fold in range(folds):
            seen, unseen = rows.take(np.flatnonzero(label != fold)), np.flatnonzero(label == fold)
            begin = start_of(start.noise, seen.y, seen.weight, seen.offset)
            raw[unseen] = self.raw(begin, self.grown(begin, seen), rows.take(unseen))
        return raw


def train(
    trainer: Trainer,
    params: dict[str, Any] | None,
    X: Any,
    y: Any,
    noise: str | Noise,
    *,
    beside: dict[str, Any],
    valid: Any,
    num_boost_round: int,
    early_stopping_rounds: int | None,
    folds: int,
    seed: int,
    options: dict[str, Any],
) -> BoostedModel:
    """Everything but the trees themselves; see `neglog.lightgbm.train`."""
    noise = suited(noise)
    trainer.check(params or {})
    if num_boost_round < 1 or (early_stopping_rounds is not None and early_stopping_rounds < 1):
        raise ValueError(
            "num_boost_round and early_stopping_rounds must be at least 1, but are "
            f"{num_boost_round} and {early_stopping_rounds}"
        )
    if early_stopping_rounds is not None and valid is None:
        raise ValueError("early_stopping_rounds needs rows to look at: valid=(X, y), or valid=0.2 to hold out a fifth")
    rows, features, classes = read_rows(X, y, noise, beside)
    if classes is not None:  # of which training knows the numbers
        noise = noise.with_classes(np.arange(len(classes)))
    if valid is None:
        seen, held = rows, None
    elif isinstance(valid, float):
        seen, held = _divided(rows, _share(valid, len(rows)), seed)
    else:
        seen, held = rows, read_valid(valid, rows, features, noise, classes)
    boosting = Boosting(trainer, dict(params or {}), num_boost_round, options)
    is_open = bool(open_parameters(noise)) or bool(noise.modelled)
    if is_open and held is None and len(rows) >= MANY:
        seen, held = _divided(rows, LEFT_OUT, seed)
    elif is_open and held is None and not 2 <= folds <= len(rows):
        raise ValueError(f"folds must be between 2 and the {len(rows)} rows, but is {folds}")
    start = start_of(noise, seen.y, seen.weight, seen.offset)
    grown = boosting.grown(start, seen, held if early_stopping_rounds else None, early_stopping_rounds)
    found, intercept, stretch, nats = noise, start.intercept.copy(), np.ones(len(start.intercept)), None
    if held is not None or is_open:
        known = seen if held is None else held
        raw = boosting.out_of_fold(start, rows, folds, seed) if held is None else boosting.raw(start, grown, held)
        if noise.modelled:
            after = calibrated(noise, known.y, raw, known.weight, start.intercept)
            raw = after.of(raw, start.intercept)
            found, intercept, stretch = after.noise, intercept + after.shift, after.stretch
        else:
            # what held-out labels cannot tell, those of the training tell
            told = noise.cannot_tell(len(known), zeros_of(known.y)) is None
            told = told and (noise.classes is None or len(np.unique(known.y)) == len(noise.classes))
            found = estimated(noise, known.y, raw, known.weight) if told else _from_start(noise, seen, known, raw)
        nats = mean_nats(found, known.y, raw, known.weight)
    found = found if classes is None else found.with_classes(classes)
    return BoostedModel(trainer, grown.booster, found, intercept, features, grown.rounds, classes, nats, stretch)


def _from_start(noise: Noise, seen: Rows, known: Rows, raw: Numbers) -> Noise:
    """What bends the loss as the intercept-only fit has it, the spread by the rows that are known."""
    null = start_fit(noise, seen.y, seen.weight, seen.offset).noise
    bends = {name: getattr(null, name) for name in open_parameters(noise) if name != noise.spread}
    return estimated(noise.with_(**bends), known.y, raw, known.weight)


def _share(valid: float, rows: int) -> int:
    count = round(valid * rows)
    if not 0 < valid < 1 or not 1 <= count < rows:
        raise ValueError(f"valid as a share must hold out some of the {rows} rows and leave some, but is {valid}")
    return count


def _divided(rows: Rows, held: int, seed: int) -> tuple[Rows, Rows]:
    order = np.random.default_rng(seed).permutation(len(rows))
    return rows.take(np.sort(order[held:])), rows.take(np.sort(order[:held]))
