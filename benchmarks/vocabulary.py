"""The noises for counts, zeros, times, ranks and proportions: each against our Poisson fit of that size and against the
fastest rival that finds as good a maximum. `python benchmarks/vocabulary.py --only zip --size 1e5` asks one of them.

A rival that takes longer than the patience is ended; the ratio is then a lower bound. Everybody gets the same
standardised columns. Times are the best of interleaved runs, but for those who take more than 20 seconds.
"""

import argparse
import os
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from types import ModuleType

# Threads of OpenMP that spin after their work would take a core from whoever is measured next.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

import contest
import data
import timing
from contest import Contestant, Outcome, Trial, quietly
from fits import milliseconds
from questions import QUESTIONS, Found, Question, asked, drawn
from tasks import Candidate

import neglog as nl

COLUMNS = (
    "problem",
    "neglog ms",
    "Poisson ms",
    "× Poisson",
    "allowed",
    "best rival",
    "its ms",
    "ratio",
    "wanted",
    "objective gap",
    "all rivals, ms",
)
SIZES = (100_000, 1_000_000)
PATIENCE = 100  # seconds that one fit of a rival may take
RIVALS = ("statsmodels_vocabulary", "lifelines_vocabulary", "r_vocabulary")


def rivals() -> tuple[list[ModuleType], dict[str, str]]:
    """Those that are here, and why the others are missing."""
    present, missing = [], {}
    for name in RIVALS:
        try:
            present.append(import_module(f"rivals.{name}"))
        except ImportError as error:
            missing[name.removesuffix("_vocabulary")] = f"not installed ({error})"
    return present, missing


def ours(question: Question) -> Candidate:
    """Neglog as a user calls it, y given as it wants it."""
    target = question.target()

    def fit(_: None) -> Found:
        found = nl.fit(question.X, target, question.noise())
        return Found(found.intercept, found.coef, tuple(getattr(found.noise, name) for name in question.others))

    return Candidate("neglog", fit)


def beside_poisson(question: Question) -> tuple[float, float]:
    """Our best time, and that of our Poisson fit to Poisson counts on the same columns, in turn."""
    X, eta, rng = drawn(question.n)
    y = data.response("poisson", eta, rng)
    target, noise, known = question.target(), question.noise(), nl.Poisson()
    runs = {"own": lambda: nl.fit(X, target, noise), "poisson": lambda: nl.fit(X, y, known)}
    waits = {name: timing.timed(run)[0] for name, run in runs.items()}
    times = timing.adaptive_times(runs, waits, waits)
    return times["own"], times["poisson"]


def answered(question: Question, tell: Callable[[str], None], against_rivals: bool) -> Outcome:
    """Neglog and, if wanted, all rivals that know the noise."""
    found: list[Candidate] = []
    if against_rivals and question.wanted:
        present, missing = rivals()
        question.remarks |= missing
        for rival in present:
            found += quietly(lambda rival=rival: list(rival.candidates(question)))
    return contest.contest(question, ours(question), found, tell)


def line(question: Question, outcome: Outcome) -> tuple[str, ...]:
    """One line of the table."""
    own, poisson = quietly(lambda: beside_poisson(question))
    times = list(zip(outcome.contestants[1:], outcome.chosen[1:], outcome.seconds[1:], outcome.gaps[1:], strict=True))
    known = [(seconds, rival.candidate.name) for rival, trial, seconds, _ in times if trial]
    # Who was ended or did not come near enough would have taken longer than it did.
    longer = [least_time(rival) for rival, trial, _, _ in times if not trial and least_time(rival)]
    bound = min(longer, default=None)
    rival, ratio = "", ""
    best = min(known, default=None)
    if best:
        rival, ratio = best[1], f"{best[0] / own:.1f}"
    elif bound:
        rival, ratio = "none reached it", f"> {bound / own:.1f}"
    gap = outcome.contestants[0].failure or f"{outcome.gaps[0]:.0e}"
    return (
        question.name,
        milliseconds(own),
        milliseconds(poisson),
        f"{own / poisson:.2f}",
        f"≤ {question.allowed:g}",
        rival,
        milliseconds(best[0]) if best else "",
        ratio,
        f"≥ {question.wanted:g}" if question.wanted else "",
        gap,
        "; ".join([*map(told, *zip(*times, strict=True))] if times else []) + told_missing(question),
    )


def least_time(rival: Contestant) -> float | None:
    """How long a rival took at least, that did not reach the accuracy; None if it failed otherwise."""
    if "TimeoutError" in rival.failure:
        return float(contest.LONGEST)
    return None if rival.failure or not rival.trials else rival.trials[-1].seconds


def told(rival: Contestant, trial: Trial | None, seconds: float | None, gap: float) -> str:
    """The time of a rival, or what became of it."""
    name = rival.candidate.name
    if trial and seconds is not None:
        return f"{name} {milliseconds(seconds)}"
    if rival.failure:
        return f"{name} {rival.failure}"
    return f"{name} {milliseconds(rival.trials[-1].seconds)}, but {gap:.0e} above the best"


def told_missing(question: Question) -> str:
    """Who could not take part."""
    return "".join(f"; {name} {reason}" for name, reason in question.remarks.items())


def lines(
    keys: tuple[str, ...], sizes: tuple[int, ...], tell: Callable[[str], None], against_rivals: bool = True
) -> Iterator[tuple[str, ...]]:
    """Each question at each size."""
    contest.LONGEST, before = PATIENCE, contest.LONGEST
    try:
        for question in asked(keys, sizes):
            yield line(question, answered(question, tell, against_rivals))
    finally:
        contest.LONGEST = before


def table(size: Callable[[int], int], tell: Callable[[str], None]) -> Iterator[tuple[str, ...]]:
    """For run.py, which keeps each line as it comes: some rivals take minutes."""
    return lines(tuple(QUESTIONS), tuple(dict.fromkeys(map(size, SIZES))), tell)


GROUPS = {"vocabulary": table}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=QUESTIONS, nargs="+", default=list(QUESTIONS))
    parser.add_argument("--size", type=float, nargs="+", default=list(SIZES), help="rows")
    parser.add_argument("--patience", type=int, default=PATIENCE, help="seconds for one fit of a rival")
    parser.add_argument("--alone", action="store_true", help="without rivals: only beside our Poisson fit")
    arguments = parser.parse_args()
    PATIENCE = arguments.patience
    shown = lines(
        tuple(arguments.only),
        tuple(map(int, arguments.size)),
        lambda text: print(text, file=sys.stderr, flush=True),
        not arguments.alone,
    )
    print(" | ".join(COLUMNS))
    for found in shown:
        print(" | ".join(found), flush=True)
