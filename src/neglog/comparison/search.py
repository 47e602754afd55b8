"""The search for a noise and a shape of f, which spends its time where nats are: all noises on the columns as they are,
the best few of them with curves, with a spread that is predicted too, and with trees; and what several are worth
together.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from neglog.comparison.candidates import SAMPLE, lost
from neglog.comparison.cells import scored
from neglog.comparison.compare_in_pieces import CANNOT_FIT, TOL, no_chance, why_not
from neglog.comparison.comparison import Score, standard_error, typical
from neglog.comparison.described import bins_of
from neglog.comparison.rows import Rows
from neglog.comparison.splits import Splits
from neglog.comparison.stacking import SMALL, shares_of, stacked
from neglog.comparison.structures import CONSTANT, LINEAR, SMOOTH, STACK, TREES, Candidate
from neglog.distributions.base import Prior
from neglog.distributions.noise import Noise
from neglog.likelihood.row_values import ConvergenceWarning
from neglog.typing import Numbers

CARRIED = 4  # noises that go on to curves
MANY = 100_000  # rows, of which only half as many do
RICH = 2  # that go on to a modelled spread, and to trees
STACKED = 4  # laws that are mixed
DRAWN = 1000  # rows of each fold whose laws say what they expect of y as a whole
CLEAR = 2.0  # standard errors by which a mixture has to be better than the best of its parts
WORTH = 0.002  # nats a row by which it has to be, too: it is several fits in the place of one
WORDS = {SMOOTH: "with curves", TREES: "with trees"}
Anything = TypeVar("Anything")


class Search:
    """Rows with their folds, and what came of each candidate; those that cannot be fitted go to `refused`."""

    def __init__(
        self,
        rows: Rows,
        prior: Prior,
        width: float | None,
        splits: Splits,
        seed: int,
        progress: Any,
        refused: dict[str, str],
        sample: int = SAMPLE,
    ) -> None:
        self.rows, self.prior, self.width, self.splits = rows, prior, width, splits
        self.seed, self.progress, self.refused, self.sample = seed, progress, refused, sample
        weight = rows.values["sample_weight"]
        self.weight = (np.ones(rows.count) if weight is None else weight)[splits.tested]
        self.edges = bins_of(rows.y)
        self.scores: list[Score] = []
        self.stage, self.stages = 0, 1

    def run(self, noises: list[Noise], structures: Sequence[str], *, named: bool) -> list[Score]:
        """All scores, from the best to the worst."""
        self.stages = 1 + 2 * (SMOOTH in structures) + (TREES in structures)
        first = [Candidate(noise) for noise in noises]
        if LINEAR in structures:
            self._race(first, named=named)
        elif SMOOTH in structures:
            self._race([Candidate(noise, SMOOTH) for noise in noises], named=named)
        if not self.scores and tuple(structures) != (TREES,):  # trees would take what no fit can
            self.rows.design.check_finite()
            raise ValueError(why_not(self.refused))
        if LINEAR in structures and SMOOTH in structures:
            self._race(self._carried(SMOOTH, CARRIED if self.rows.count < MANY else CARRIED // 2), among=self.scores)
        if SMOOTH in structures:
            self._race(self._with_spread(), among=self.scores, richer=True)
        if TREES in structures:
            candidates = self._carried(TREES, RICH) if self.scores else [Candidate(noise, TREES) for noise in noises]
            self._race([self._for_trees(one) for one in candidates], among=self.scores)
        alone = all(score.structure == TREES for score in self.scores)  # of which no fit could tell anything
        if self.scores and (alone or (len(structures) > 1 and not named and self.rows.design.columns)):
            plain = self.scores[0].noise
            self._race([Candidate(plain.unmodelled() if plain.modelled else plain, CONSTANT)], named=True)
        if len(structures) > 1:
            self._stack()
        return self.scores

    # ---- who goes on -------------------------------------------------------------------------------------------------

    def _carried(self, structure: str, count: int) -> list[Candidate]:
        """The noises that are best so far under another structure; the others are listed."""
        best: dict[Any, Score] = {}
        for score in self.scores:
            if not score.noise.modelled:
                best.setdefault(_family(score.noise) if structure == TREES else score.law, score)
        chosen = list(best.values())
        for score in chosen[count:]:
            self.refused[Candidate(score.noise, structure).name] = (
                f"not tried {WORDS[structure]}, since {count} noises explain y better so far"
            )
        return [Candidate(score.noise, structure) for score in chosen[:count]]

    def _with_spread(self) -> list[Candidate]:
        """The best few families with a spread that is predicted too."""
        found: dict[Any, Candidate] = {}
        for score in self.scores:
            richer = Candidate(score.noise, score.structure).with_modelled_spread()
            if richer is not None:
                found.setdefault(_family(score.noise), richer)
        return list(found.values())[:RICH]

    def _for_trees(self, candidate: Candidate) -> Candidate:
        """With a spread that trees predict, too, and what else is open as the best fit so far has it: to estimate it
        anew in every round takes long.
        """
        richer = candidate.with_modelled_spread() or candidate
        noise = richer.noise
        fitted = next((score.fitted for score in self.scores if score.noise == candidate.noise), None)
        if fitted is None or noise.labelled:
            return richer
        known = {name: float(f"{getattr(fitted, name):.3g}") for name in noise.unknown}
        return replace(richer, noise=noise.estimated(**known))

    # ---- scores ------------------------------------------------------------------------------------------------------

    def _race(
        self,
        candidates: list[Candidate],
        *,
        named: bool = False,
        among: Sequence[Score] = (),
        richer: bool = False,
    ) -> None:
        """Scores on the rows that each fold leaves out; after the first fold those that are surely behind stop, and of
        noises that are `richer` than others of the same shape those that gain nothing.
        """
        places = self.splits.tested
        count = len(places)
        scores = []
        for one in candidates:
            score = Score(one.name, one.noise, np.empty(count), np.empty(count), np.empty(count), self.weight)
            score.structure, score.edges = one.structure, self.edges
            scores.append(score)
        for k, (train, test) in enumerate(self.splits.pairs):
            if not scores:
                break
            seen, unseen = self.rows.taken(train), self.rows.taken(test)
            where = np.searchsorted(places, test)
            for i, score in enumerate(scores):
                self._tell(
                    f"{score.name}, fold {k + 1} of {len(self.splits)}", (k + i / len(scores)) / len(self.splits)
                )
                try:
                    rng = np.random.default_rng([self.seed, k])
                    score_fold(score, seen, unseen, where, self.prior, self.width, rng, self.seed)
                except CANNOT_FIT as error:
                    self.refused[score.name] = f"it could not be fitted: {error}"
                    continue
                impossible = int(np.count_nonzero(~np.isfinite(score.nll[where])))
                if impossible:
                    self.refused[score.name] = no_chance(score.noise, impossible, len(where))
            scores = [score for score in scores if score.name not in self.refused]
            if k == 0 and not named:
                self.refused |= (behind := lost([*scores, *among], where, len(self.splits), self.sample, len(among)))
                scores = [score for score in scores if score.name not in behind]
                scores = self._paying(scores, where) if richer else scores
        self.scores = sorted([*self.scores, *scores], key=lambda score: score.mean)
        self.stage += 1

    def _paying(self, scores: list[Score], where: Any) -> list[Score]:
        """Those that are better than the best so far, as far as the first fold of many rows can tell."""
        if len(self.weight) < 4 * self.sample:
            return scores
        best, weight = self.scores[0], self.weight[where]
        kept = []
        for score in scores:
            away = best.nll[where] - score.nll[where]
            if np.average(away, weights=weight) > CLEAR * standard_error(away, weight):
                kept.append(score)
            else:
                self.refused[score.name] = f"no better than {best.name} on the first of {len(self.splits)} folds"
        return kept

    def _tell(self, text: str, share: float) -> None:
        if self.progress is None:
            return
        best = self.scores[0] if self.scores else None
        so_far = "" if best is None else f"; so far {best.name} with {best.mean:.4g} nats"
        self.progress(text + so_far, 0.98 * min((self.stage + share) / self.stages, 1.0))

    def _stack(self) -> None:
        """The best few mixed, if that is clearly better than the best."""
        parts = [score for score in self.scores[:STACKED] if score.structure != CONSTANT and not score.noise.labelled]
        if len(parts) < 2:
            return
        nll = np.stack([score.nll for score in parts])
        mixed, shares = stacked(nll, self.weight, self.splits.fold)
        away = parts[0].nll - mixed
        if not float(np.average(away, weights=self.weight)) > max(WORTH, CLEAR * standard_error(away, self.weight)):
            return
        whole = shares_of(nll, self.weight)
        kept = [k for k in np.argsort(-whole) if whole[k] > SMALL]
        if len(kept) < 2:
            return
        score = Score(
            f"mixture of {len(kept)}",
            parts[0].noise,
            mixed,
            np.sum(shares * np.stack([one.transform for one in parts]), axis=0),
            np.sum(shares * np.stack([one.predicted for one in parts]), axis=0),
            self.weight,
            parts[0].fitted,
            structure=STACK,
        )
        score.parts = [(parts[k], float(whole[k] / whole[kept].sum())) for k in kept]
        score.edges = self.edges
        if self.edges is not None:
            score.expected = np.sum([share * np.asarray(part.expected) for part, share in score.parts], axis=0)
        self.scores.insert(0, score)


def _family(noise: Noise) -> Any:
    """What noises have in common that differ in what is stated."""
    return type(noise)


def first_look(data: Rows, prior: Prior, width: float | None) -> Callable[..., tuple[Numbers, Numbers]]:
    """What rows cost under a fit to others; infinitely much where there is none."""

    def held_out(noise: Noise, train: Any, test: Any) -> tuple[Numbers, Numbers]:
        other = data.taken(test)
        weight = other.values["sample_weight"]
        nothing = np.full((3, len(test)), np.inf)
        score = Score("", noise, nothing[0], nothing[1], nothing[2], np.ones(len(test)))
        with suppress(*CANNOT_FIT):
            score_fold(score, data.taken(train), other, slice(None), prior, width, np.random.default_rng(0), 0)
        return score.nll, score.weight if weight is None else weight

    return held_out


def score_fold(
    score: Score,
    train: Rows,
    test: Rows,
    places: Any,
    prior: Prior,
    width: float | None,
    rng: np.random.Generator,
    seed: int,
) -> None:
    """Fit to some rows, and what others cost."""
    candidate = Candidate(score.noise, score.structure)
    fitted: Any = quiet(
        lambda: train.grow(candidate, seed) if score.structure == TREES else train.fit(candidate, prior, TOL)
    )
    if not fitted.converged:
        score.converged = False
        score.notes.append(fitted.message)
    score.limit = fitted.limit
    beside = {name: test.values[name] for name in ("offset", "exposure")}
    law = fitted.distribution(test.design_of(candidate), **beside)
    score.fitted = typical(fitted.noise, law)
    if score.noise.labelled:
        known = {label: k for k, label in enumerate(fitted.classes.tolist())}
        absent = sorted({str(label) for label in test.y.tolist() if label not in known})
        if absent:
            raise ValueError(f"the class {', '.join(absent)} is in one fold only; merge classes, or take fewer folds")
        codes = np.array([known[label] for label in test.y.tolist()])
        score.nll[places], score.transform[places] = scored(law, codes, None, rng)
        labels = np.asarray(fitted.classes)
        score.predicted[places] = law.p @ labels if labels.dtype.kind in "iuf" else law.p.max(axis=1)
        if law.of_classes:  # which have no order in which one could be too high
            score.transform[places] = np.nan
        return
    score.nll[places], score.transform[places] = scored(law, test.y, width, rng)
    score.predicted[places] = law.point()
    if score.edges is not None:
        few = test.taken(slice(None, None, -(-test.count // DRAWN)))
        beside = {name: few.values[name] for name in ("offset", "exposure")}
        law = fitted.distribution(few.design_of(candidate), **beside)
        weight = few.values["sample_weight"]
        below = np.array([np.average(law.cdf(np.full(few.count, edge)), weights=weight) for edge in score.edges])
        share = test.count / len(score.nll)
        score.expected = share * below + (0.0 if score.expected is None else score.expected)


def quiet(fitted: Callable[[], Anything]) -> Anything:
    """A fit whose lack of convergence is told in the comparison, not as a warning."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return fitted()
