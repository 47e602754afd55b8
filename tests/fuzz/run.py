"""Many random problems: `python tests/fuzz/run.py --count 20000`, or one of them again: `--seed 17`."""

import argparse
import collections
import multiprocessing
import os
import sys
import time
from multiprocessing.connection import wait
from pathlib import Path

for name in ("NEGLOG_NUM_THREADS", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(name, "1")
sys.path.insert(0, str(Path(__file__).parents[1]))

PATIENCE = 120.0  # seconds by the clock after which a problem is given up; processor time decides before that


def serve(pipe):
    """Examine the seeds that come through the pipe."""
    from fuzz.check import examine

    while (seed := pipe.recv()) is not None:
        try:
            pipe.send(examine(seed))
        except Exception as error:
            import traceback

            from fuzz.check import Outcome

            where = traceback.extract_tb(error.__traceback__)[-1]
            pipe.send(
                Outcome(
                    seed, "harness", f"{type(error).__name__} {Path(where.filename).name}:{where.lineno}", str(error)
                )
            )


class Worker:
    """A process that is started again when it takes too long."""

    def __init__(self):
        context = multiprocessing.get_context("spawn")  # table libraries keep threads that a fork would lose
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=serve, args=(theirs,), daemon=True)
        self.process.start()
        theirs.close()
        self.seed, self.since = None, 0.0

    def give(self, seed):
        self.seed, self.since = seed, time.monotonic()
        self.pipe.send(seed)


def outcomes(seeds, workers):
    """The outcome of each seed, as they come."""
    from fuzz.check import Outcome

    seeds = iter(seeds)
    team = [Worker() for _ in range(workers)]
    busy = []
    for worker in team:
        if (seed := next(seeds, None)) is not None:
            worker.give(seed)
            busy.append(worker)
    while busy:
        ready = wait([worker.pipe for worker in busy], timeout=1.0)
        for worker in list(busy):
            if worker.pipe in ready:
                try:
                    yield worker.pipe.recv()
                except EOFError:
                    yield Outcome(worker.seed, "exception", "the process died", f"exit code {worker.process.exitcode}")
                    worker = _replaced(worker, busy)
            elif time.monotonic() - worker.since > PATIENCE:
                yield Outcome(worker.seed, "slow", "given up", seconds=PATIENCE)
                worker = _replaced(worker, busy)
            else:
                continue
            seed = next(seeds, None)
            if seed is None:
                worker.pipe.send(None)
                busy.remove(worker)
            else:
                worker.give(seed)


def _replaced(worker, busy):
    worker.process.kill()
    busy[busy.index(worker)] = other = Worker()
    return other


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, help="only this problem, with everything about it")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--shown", type=int, default=4, help="seeds to show of each cause")
    chosen = parser.parse_args()
    from fuzz.check import SECONDS, examine
    from fuzz.problems import make

    if chosen.seed is not None:
        print(make(chosen.seed))
        print(examine(chosen.seed))
        return 0
    counts, causes, unconverged, with_minimum = collections.Counter(), collections.defaultdict(list), 0, 0
    try:
        for outcome in outcomes(range(chosen.first, chosen.first + chosen.count), chosen.workers):
            kind = "slow" if outcome.seconds > SECONDS else outcome.kind
            counts[kind] += 1
            with_minimum += outcome.kind in ("optimal", "wrong")
            unconverged += outcome.cause.startswith("not converged")
            if kind not in ("optimal", "refused", "degenerate"):
                causes[kind, outcome.cause].append(outcome)
            if sum(counts.values()) % 1000 == 0:
                print(f"{sum(counts.values()):,}: {dict(counts)}", file=sys.stderr, flush=True)
    except KeyboardInterrupt:
        print("interrupted: this is what there was until then")
    for (kind, cause), found in sorted(causes.items(), key=lambda item: -len(item[1])):
        print(f"\n{kind}: {cause} ({len(found)})")
        for outcome in sorted(found, key=lambda o: o.seed)[: chosen.shown]:
            print(f"  --seed {outcome.seed}  {make(outcome.seed)}\n      {outcome.detail[:300]}")
    words = {
        "optimal": "optimal",
        "refused": "refused",
        "degenerate": "named degenerate",
        "wrong": "wrong",
        "exception": "other exceptions",
        "slow": f"over {SECONDS:.0f} s",
        "harness": "faults of the harness",
    }
    print(
        "\n"
        + ", ".join(f"{word} {counts[kind]:,}" for kind, word in words.items() if kind != "harness" or counts[kind])
    )
    print(f"not converged among problems with a minimum: {unconverged / max(with_minimum, 1):.2%}")
    return int(any(counts[kind] for kind in ("wrong", "exception", "slow", "harness")))


if __name__ == "__main__":
    sys.exit(main())
