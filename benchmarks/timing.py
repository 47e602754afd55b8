"""Times measured side by side: the machine may be noisy, but all candidates see the same noise."""

import time
from collections.abc import Callable


def best_times(candidates: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """The best time of each candidate in seconds, over rounds in which every one runs once, in turn."""
    best = dict.fromkeys(candidates, float("inf"))
    for _ in range(rounds):
        for name, run in candidates.items():
            start = time.perf_counter()
            run()
            best[name] = min(best[name], time.perf_counter() - start)
    return best
