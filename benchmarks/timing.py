"""Times measured side by side: the machine may be noisy, but all candidates see the same noise."""

import time
from collections.abc import Callable
from typing import Any

SLOW = 20.0  # seconds: whoever takes longer is run once
BUDGET = 3.0  # seconds spent on the rounds of one candidate
ROUNDS = (3, 60)
TURN = 0.02  # seconds: whoever takes less runs several times in its turn, so that nobody is measured with cold caches


def best_times(candidates: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """The best time of each candidate in seconds, over rounds in which every one has its turn."""
    best = dict.fromkeys(candidates, float("inf"))
    for _ in range(rounds):
        for name, run in candidates.items():
            turn = end = time.perf_counter()
            while end == turn or end - turn < TURN:
                start = time.perf_counter()
                run()
                end = time.perf_counter()
                best[name] = min(best[name], end - start)
    return best


def timed(run: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds and the result; a result that carries its own time is believed."""
    start = time.perf_counter()
    result = run()
    seconds = time.perf_counter() - start
    own = getattr(result, "seconds", None)
    return (seconds if own is None else own), result


def first_times(run: Callable[[], Any]) -> tuple[float, float, Any]:
    """Seconds, the seconds we waited, and the result.

    Where it costs little, the best of a few, so that one hiccup does not count against anyone.
    """
    start = time.perf_counter()
    seconds, result = timed(run)
    waited = time.perf_counter() - start
    for _ in range(4 if waited < 0.05 else 2 if waited < 0.5 else 0):
        seconds = min(seconds, timed(run)[0])
    return seconds, waited, result


def adaptive_times(
    candidates: dict[Any, Callable[[], Any]], known: dict[Any, float], waits: dict[Any, float]
) -> dict[Any, float]:
    """The best times over interleaved rounds, more of them for those who do not keep us waiting; some are known."""
    rounds = {
        name: 0 if wait > SLOW else min(max(int(BUDGET / max(wait, 1e-9)), ROUNDS[0]), ROUNDS[1])
        for name, wait in waits.items()
    }
    best = dict(known)
    for turn in range(max(rounds.values(), default=0)):
        for name, run in candidates.items():
            if turn < rounds[name]:
                for _ in range(max(1, min(int(TURN / max(waits[name], 1e-9)), 50))):
                    best[name] = min(best[name], timed(run)[0])
    return best
