"""Times measured side by side: the machine may be noisy, but all candidates see the same noise."""

import time
from collections.abc import Callable
from typing import Any

SLOW = 20.0  # seconds: whoever takes longer is run once
BUDGET = 3.0  # seconds spent on the rounds of one candidate
ROUNDS = (3, 200)


def best_times(candidates: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """The best time of each candidate in seconds, over rounds in which every one runs once, in turn."""
    best = dict.fromkeys(candidates, float("inf"))
    for _ in range(rounds):
        for name, run in candidates.items():
            start = time.perf_counter()
            run()
            best[name] = min(best[name], time.perf_counter() - start)
    return best


def timed(run: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds and the result; a result that carries its own time is believed."""
    start = time.perf_counter()
    result = run()
    seconds = time.perf_counter() - start
    own = getattr(result, "seconds", None)
    return (seconds if own is None else own), result


def first_times(run: Callable[[], Any]) -> tuple[float, Any]:
    """Like `timed`; where it costs little, the best of a few, so that one hiccup does not count against anyone."""
    seconds, result = timed(run)
    for _ in range(4 if seconds < 0.05 else 2 if seconds < 0.5 else 0):
        seconds = min(seconds, timed(run)[0])
    return seconds, result


def adaptive_times(candidates: dict[Any, Callable[[], Any]], costs: dict[Any, float]) -> dict[Any, float]:
    """The best times over interleaved rounds, more of them for the cheap; the first costs are known already."""
    rounds = {
        name: 0 if cost > SLOW else min(max(int(BUDGET / max(cost, 1e-9)), ROUNDS[0]), ROUNDS[1])
        for name, cost in costs.items()
    }
    best = dict(costs)
    for turn in range(max(rounds.values(), default=0)):
        for name, run in candidates.items():
            if turn < rounds[name]:
                best[name] = min(best[name], timed(run)[0])
    return best
