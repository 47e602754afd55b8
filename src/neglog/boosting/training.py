"""Training with any library: start, trees, early stopping in nats, and what the noise left open."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from neglog.boosting.cell_slopes import OfCells
from neglog.boosting.derivatives import Slopes, slopes_of
from neglog.boosting.ensemble import BoostedEnsemble
from neglog.boosting.estimation import Start, calibrated, estimated, start_fit, start_of
from neglog.boosting.laws import open_parameters, suited
from neglog.boosting.model import Boosted, BoostedModel, Library
from neglog.boosting.nats import mean_nats
from neglog.boosting.observed import zeros_of
from neglog.boosting.rows import Features, Rows, read_rows, read_valid
from neglog.distributions.censored import Cells
from neglog.distributions.noise import Noise
from neglog.typing import Numbers

MANY = 50_000  # rows from which some are left out of the training instead of training again for each fold
LEFT_OUT = 10_000  # of so many rows
FEW = 20  # different values of y: up to so many each part of the rows has its share of each


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
    stopping: int | None
    folds: int
    seed: int
    options: dict[str, Any]

    def model(
        self, noise: Noise, rows: Rows, held: Rows | None, features: Features, classes: Numbers | None
    ) -> BoostedModel:
        """Trees on these rows, and what those that are held out, or else folds, make of the noise."""
        seen, is_open = rows, bool(open_parameters(noise)) or bool(noise.modelled)
        if is_open and held is None and len(rows) >= MANY:
            seen, held = divided(rows, LEFT_OUT, self.seed)
        elif is_open and held is None and not 2 <= self.folds <= len(rows):
            raise ValueError(f"folds must be between 2 and the {len(rows)} rows, but is {self.folds}")
        start = start_of(noise, seen.y, seen.weight, seen.offset)
        grown = self.grown(start, seen, held if self.stopping else None)
        found, intercept, nats = noise, start.intercept.copy(), None
        if held is not None or is_open:
            known = rows if held is None else held
            raw = self.out_of_fold(start, rows) if held is None else self.raw(start, grown, held)
            if noise.modelled:
                found, levels = calibrated(noise, known.y, raw, known.weight)
                raw[:, 1:] += levels
                intercept[1:] += levels
            else:
                # what held-out labels cannot tell, those of the training tell
                told = noise.cannot_tell(len(known), zeros_of(known.y)) is None
                told = told and (noise.classes is None or len(np.unique(known.y)) == len(noise.classes))
                found = estimated(noise, known.y, raw, known.weight) if told else _from_start(noise, seen, known, raw)
            nats = mean_nats(found, known.y, raw, known.weight)
        found = found if classes is None else found.with_classes(classes)
        return BoostedModel(self.trainer, grown.booster, found, intercept, features, grown.rounds, classes, nats)

    def grown(self, start: Start, train: Rows, valid: Rows | None = None) -> Grown:
        """Trees on these rows; with `valid`, as many as these ask for."""
        parts = [None if rows is None else Part(rows, start.scores(len(rows), rows.offset)) for rows in (train, valid)]
        assert parts[0] is not None
        slopes: Slopes = OfCells(start.noise) if isinstance(train.y, Cells) else slopes_of(start.noise)
        following = getattr(slopes, "following", None)

        def nats(y: Any, raw: Numbers, weight: Numbers | None) -> float:
            return mean_nats(start.noise if following is None else following.bent(), y, raw, weight)

        stopping = None if valid is None else self.stopping
        return self.trainer.grow(self.params, parts[0], parts[1], slopes, nats, self.rounds, stopping, self.options)

    def raw(self, start: Start, grown: Grown, rows: Rows) -> Numbers:
        """The raw predictions of rows."""
        scores = start.scores(len(rows), rows.offset)
        scores += self.trainer.raw(grown.booster, rows.X, grown.rounds).reshape(scores.shape)
        return scores

    def out_of_fold(self, start: Start, rows: Rows) -> Numbers:
        """The raw prediction of each row by trees that have not seen it."""
        raw = start.scores(len(rows), None)
        for train, unseen in parted(rows.y, self.folds, self.seed):
            seen = rows.take(train)
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
    ensemble: int | None,
    options: dict[str, Any],
) -> Boosted:
    """Everything but the trees themselves; see `neglog.lightgbm.train`."""
    noise = suited(noise)
    trainer.check(params or {})
    if num_boost_round < 1 or (early_stopping_rounds is not None and early_stopping_rounds < 1):
        raise ValueError(
            "num_boost_round and early_stopping_rounds must be at least 1, but are "
            f"{num_boost_round} and {early_stopping_rounds}"
        )
    if ensemble is not None and valid is not None:
        raise ValueError("each model of an ensemble leaves out other rows of X by itself; leave out valid")
    if early_stopping_rounds is not None and valid is None and ensemble is None:
        raise ValueError("early_stopping_rounds needs rows to look at: valid=(X, y), or valid=0.2 to hold out a fifth")
    rows, features, classes = read_rows(X, y, noise, beside)
    if classes is not None:  # of which training knows the numbers
        noise = noise.with_classes(np.arange(len(classes)))
    boosting = Boosting(
        trainer, dict(params or {}), num_boost_round, early_stopping_rounds, folds=folds, seed=seed, options=options
    )
    if ensemble is not None:
        if not 2 <= ensemble <= len(rows):
            raise ValueError(f"ensemble must be between 2 and the {len(rows)} rows, but is {ensemble}")
        parts = [(rows.take(some), rows.take(others)) for some, others in parted(rows.y, ensemble, seed)]
        members = tuple(boosting.model(noise, some, held, features, classes) for some, held in parts)
        shares = [len(held) if held.weight is None else held.weight.sum() for _, held in parts]
        return BoostedEnsemble(members, float(np.average([one.held_out for one in members], weights=shares)))
    if valid is None:
        seen, held = rows, None
    elif isinstance(valid, float):
        seen, held = divided(rows, _share(valid, len(rows)), seed)
    else:
        seen, held = rows, read_valid(valid, rows, features, noise, classes)
    return boosting.model(noise, seen, held, features, classes)


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


def divided(rows: Rows, held: int, seed: int) -> tuple[Rows, Rows]:
    """Rows of which so many are held out, and these."""
    order = np.random.default_rng(seed).permutation(len(rows))
    return rows.take(np.sort(order[held:])), rows.take(np.sort(order[:held]))


def parted(y: Any, parts: int, seed: int) -> Iterator[tuple[Numbers, Numbers]]:
    """For each part, the rows outside of it and those inside. Classes, and other few values, are dealt evenly."""
    order = np.random.default_rng(seed).permutation(len(y))
    if not isinstance(y, Cells) and len(np.unique(y)) <= FEW:
        order = order[np.argsort(y[order], kind="stable")]
    label = np.empty(len(y), np.intp)
    label[order] = np.arange(len(y)) % parts
    for part in range(parts):
        yield np.flatnonzero(label != part), np.flatnonzero(label == part)
