"""Neglog and its rivals on one task: first the cheapest tolerance of each at equal accuracy, then the times."""

import signal
import warnings
from collections.abc import Callable, Iterable
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
from tasks import Candidate, Fitted, Task
from timing import adaptive_times, first_times, timed

ACCURACY = 1e-6  # relative, of the objective, to the best that anyone found
EXACT = 1e-12
OUTCLASSED = 2.0  # a rival this many times slower than the fastest is not measured further
HOPELESS = 10.0  # nor is one that is this many times slower than neglog before it is accurate,
PATIENCE = 1.0  # seconds, once it takes longer than this
LONGEST = 90  # seconds that one fit may take


@dataclass
class Trial:
    """One fit at one tolerance."""

    tolerance: object
    objective: np.ndarray
    seconds: float
    waited: float  # with the handing over that is not counted


@dataclass
class Contestant:
    """A candidate and what it has shown so far."""

    candidate: Candidate
    accuracy: float = ACCURACY
    trials: list[Trial] = field(default_factory=list)
    rung: int = 0
    failure: str = ""

    def step(self, task: Task, position: int | None = None) -> np.ndarray | None:
        """Fit at the next tolerance of the ladder, or at the given position of it."""
        tolerance = self.candidate.ladder[self.rung if position is None else position]
        if position is None:
            self.rung += 1
        trial = self.tried(task, tolerance)
        if trial is None:
            return None
        if position is None:
            self.trials.append(trial)
        return trial.objective

    def half_step_back(self, task: Task, best: np.ndarray) -> None:
        """Between the tolerance that was accurate enough and the one before it, for a ladder is coarse."""
        at = next((i for i, trial in enumerate(self.trials) if gap(trial.objective, best) <= self.accuracy), 0)
        if at > 0:
            trial = self.tried(task, float(np.sqrt(self.trials[at - 1].tolerance * self.trials[at].tolerance)))
            if trial is not None:
                self.trials.insert(at, trial)

    def tried(self, task: Task, tolerance: object) -> Trial | None:
        """The fit at this tolerance, unless it fails."""
        try:
            with at_most(LONGEST):
                seconds, waited, fitted = quietly(lambda: first_times(lambda: self.candidate.fit(tolerance)))
        except Exception as error:  # a rival may fail in its own way; the table then says how
            self.failure = f"{type(error).__name__}: {str(error).strip().splitlines()[0] if str(error) else ''}"[:90]
            self.rung = len(self.candidate.ladder)
            return None
        objective = np.atleast_1d((self.candidate.ruler or task.objective)(fitted))
        return Trial(tolerance, objective, seconds, waited)

    @property
    def ended(self) -> bool:
        """Whether no tolerance is left to try."""
        return self.rung >= len(self.candidate.ladder)

    def chosen(self, best: np.ndarray) -> Trial | None:
        """The cheapest trial that is accurate enough."""
        return next((trial for trial in self.trials if gap(trial.objective, best) <= self.accuracy), None)


@dataclass
class Outcome:
    """What came out of a task: `ours` is None while neglog did not reach the accuracy."""

    task: Task
    contestants: list[Contestant]  # neglog first
    gaps: list[float]
    chosen: list[Trial | None]
    seconds: list[float | None]
    gram: float | None

    @property
    def best_rival(self) -> int | None:
        """The index of the fastest rival that reached the accuracy."""
        timed = [i for i in range(1, len(self.contestants)) if self.seconds[i] is not None]
        return min(timed, key=lambda i: self.seconds[i], default=None)


@contextmanager
def at_most(seconds: int):
    """Give up whoever takes longer; compiled code that never returns to Python is waited for."""

    def stop(*_):
        raise TimeoutError(f"more than {seconds} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def quietly(run: Callable[[], object]):
    """Convergence warnings are expected: loose tolerances are tried on purpose."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return run()


def gap(objective: np.ndarray, best: np.ndarray) -> float:
    """How far above the best, relative; along a path the largest."""
    value = np.max((objective - best) / np.abs(best))
    return float(value) if np.isfinite(value) else np.inf


def contest(task: Task, ours: Candidate, rivals: Iterable[Candidate], tell: Callable[[str], None]) -> Outcome:
    """Find equal accuracy, then measure interleaved."""
    contestants = [Contestant(ours, EXACT if task.exact else ACCURACY), *map(Contestant, rivals)]
    best: dict[int, np.ndarray] = {}

    def common(index: int) -> int:
        return -1 if contestants[index].candidate.ruler is None else index

    def note(index: int, objective: np.ndarray | None) -> None:
        if objective is not None:
            known = best.get(common(index), np.full_like(objective, contestants[index].candidate.least))
            best[common(index)] = np.fmin(known, objective)

    def hopeless(index: int) -> bool:
        reached = [c.chosen(best[common(i)]) for i, c in enumerate(contestants) if i > 0 and common(i) in best]
        fastest = min((trial.seconds for trial in reached if trial), default=np.inf)
        mine = contestants[0].chosen(best[common(0)]) if common(0) in best else None
        limit = max(PATIENCE, HOPELESS * mine.seconds) if mine else np.inf
        tried = contestants[index].trials
        return index > 0 and bool(tried) and tried[-1].seconds > min(OUTCLASSED * fastest, limit)

    for index, contestant in enumerate(contestants):  # the references, where the tightest tolerance comes first
        if index == 0 or (contestant.candidate.ruler and np.isinf(contestant.candidate.least)):
            tell(f"{task.name}: reference, {contestant.candidate.name}")
            note(index, contestant.step(task, -1))
    moved = True
    while moved:
        moved = False
        for index, contestant in enumerate(contestants):
            while not contestant.ended and not hopeless(index):
                if common(index) in best and contestant.chosen(best[common(index)]):
                    break
                tell(f"{task.name}: {contestant.candidate.name}, {contestant.candidate.ladder[contestant.rung]}")
                note(index, contestant.step(task))
                moved = True
    chosen = [c.chosen(best[common(i)]) if common(i) in best else None for i, c in enumerate(contestants)]
    fastest = min((trial.seconds for trial in chosen[1:] if trial), default=np.inf)
    for i, trial in enumerate(chosen):
        if trial and (i == 0 or trial.seconds <= OUTCLASSED * fastest):
            contestants[i].half_step_back(task, best[common(i)])
            chosen[i] = contestants[i].chosen(best[common(i)])
    gaps = [
        min((gap(trial.objective, best[common(i)]) for trial in c.trials), default=np.inf)
        if chosen[i] is None
        else gap(chosen[i].objective, best[common(i)])
        for i, c in enumerate(contestants)
    ]
    tell(f"{task.name}: times")
    seconds, gram = measured(task, contestants, chosen)
    return Outcome(task, contestants, gaps, chosen, seconds, gram)


def measured(task: Task, contestants: list[Contestant], chosen: list[Trial | None]):
    """The best times of neglog, of the rivals near the fastest, and of one X'X; of the others, their trial's time."""
    fastest = min((trial.seconds for trial in chosen[1:] if trial), default=np.inf)
    runs: dict[object, Callable[[], object]] = {}
    known: dict[object, float] = {}
    waits: dict[object, float] = {}
    for index, (contestant, trial) in enumerate(zip(contestants, chosen, strict=True)):
        if trial and (index == 0 or trial.seconds <= OUTCLASSED * fastest):
            runs[index] = lambda fit=contestant.candidate.fit, tolerance=trial.tolerance: fit(tolerance)
            known[index], waits[index] = trial.seconds, trial.waited
    if task.gram:
        runs["gram"] = lambda: Fitted(None, task.X.T @ task.X)
        known["gram"] = waits["gram"] = timed(runs["gram"])[0]
    times = quietly(lambda: adaptive_times(runs, known, waits))
    seconds = [times.get(index, trial.seconds if trial else None) for index, trial in enumerate(chosen)]
    return seconds, times.get("gram")
