"""Two versions of neglog on the same problems, fit by fit in turn: `python benchmarks/versions.py PYTHON PATH` measures
the one that this interpreter imports (after) against the one that PYTHON imports with PYTHONPATH=PATH (before).

Each version has a process of its own, which keeps the data; the best of several fits counts, and ratios above 1 mean
that the present version takes longer.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

FOLDER = Path(__file__).parent
ROUNDS, SECONDS = 15, 12.0  # fits of each version at most, and the time that one problem may take


def problems():
    """Names, and what makes each: data, noise, prior, options."""
    smooth = ("poisson", "gamma", "tweedie", "bernoulli", "gaussian")
    for noise in smooth:
        yield f"latency: L2 {noise}, 1,000 × 10", noise, 1000, 10, "gaussian"
    for n, d in ((100_000, 20), (1_000_000, 50), (300_000, 200)):
        for noise in smooth:
            yield f"fits: L2 {noise}, {n:,} × {d}", noise, n, d, "gaussian"
    for noise in ("gaussian", "poisson", "bernoulli"):
        yield f"lasso: L1 {noise}, 100,000 × 200", noise, 100_000, 200, "laplace"
        yield f"lasso: L1 {noise}, 1,000 × 5,000", noise, 1000, 5000, "laplace"
    yield "motor: L2 poisson, French motor claims", "motor", 0, 0, "gaussian"
    yield "motor: L1 poisson, French motor claims", "motor", 0, 0, "laplace"
    for n, d in ((1000, 5), (200_000, 20)):
        yield f"huber: scale open, {n:,} × {d}", "huber", n, d, "flat"
        yield f"absolute: {n:,} × {d}", "laplace", n, d, "flat"
    yield "softmax: 5 classes, 100,000 × 20", "categorical", 100_000, 20, "gaussian"
    yield "tweedie: known, 100,000 × 20", "tweedie", 100_000, 20, "flat"
    yield "tweedie: power and dispersion open, 100,000 × 20", "tweedie_open", 100_000, 20, "flat"


def made(noise, n, d, prior):
    """The fit as a function of nothing."""
    import data
    import numpy as np

    import neglog as nl

    laws = {
        "poisson": nl.Poisson(),
        "motor": nl.Poisson(),
        "gamma": nl.Gamma(shape=1.0),
        "tweedie": nl.Tweedie(power=1.5, dispersion=1.0),
        "tweedie_open": nl.Tweedie(),
        "bernoulli": nl.Bernoulli(),
        "gaussian": nl.Gaussian(scale=1.0),
        "laplace": nl.Laplace(),
        "huber": nl.Huber(),
        "categorical": nl.Categorical(),
    }
    options = {}
    if noise == "motor":
        X, y, years = data.motor()
        options["exposure"] = years
    elif noise == "categorical":
        rng = np.random.default_rng(0)
        X = rng.normal(size=(n, d))
        y = np.argmax(X @ rng.normal(size=(d, 5)) * 0.3 + rng.gumbel(size=(n, 5)), axis=1)
    else:
        X, y = data.dense(
            "tweedie" if noise == "tweedie_open" else noise,
            n,
            d,
            **({"nonzero": 20} if d >= 200 and prior == "laplace" else {}),
        )
    if prior == "laplace":
        scale = 0.05 if noise == "motor" else 100 / float(np.max(np.abs((X - X.mean(0)).T @ (y - y.mean()))))
        belief = nl.Laplace(scale=scale)
    else:
        belief = nl.Gaussian(scale=1.0) if prior == "gaussian" else nl.Flat()
    return lambda: nl.fit(X, y, laws[noise], belief, **options)


def work():
    """A version at work: told a problem, or to fit; answers in seconds."""
    fitted = None
    for line in sys.stdin:
        told = json.loads(line)
        if told is None:
            begin = time.perf_counter()
            fitted()
            print(json.dumps(time.perf_counter() - begin), flush=True)
        else:
            fitted = made(*told)
            fitted()  # imports, caches
            print(json.dumps(0.0), flush=True)


def started(python, path):
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([*([path] if path else []), str(FOLDER)]),
        "OMP_WAIT_POLICY": "passive",
    }
    command = [python, str(FOLDER / "versions.py"), "--work"]
    return subprocess.Popen(
        command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )


def ask(worker, what):
    worker.stdin.write(json.dumps(what) + "\n")
    worker.stdin.flush()
    return json.loads(worker.stdout.readline())


def main(python, path, wanted):
    print("| problem | before ms | after ms | after / before |\n|---|---|---|---|")
    for name, *what in problems():
        if wanted and not name.startswith(tuple(wanted)):
            continue
        workers = [started(python, path), started(sys.executable, "")]
        try:
            for worker in workers:
                ask(worker, what)
            times = [[], []]
            begin = time.perf_counter()
            while len(times[0]) < (200 if what[1] <= 1000 else ROUNDS) and (
                len(times[0]) < 3 or time.perf_counter() - begin < SECONDS
            ):
                for worker, own in zip(workers, times, strict=True):
                    own.append(ask(worker, None))
            before, after = (1000 * min(own) for own in times)
            print(f"| {name} | {before:.3g} | {after:.3g} | {after / before:.2f} |", flush=True)
        except (json.JSONDecodeError, BrokenPipeError):
            print(f"| {name} | failed | | |", flush=True)
        for worker in workers:
            worker.kill()


if __name__ == "__main__":
    work() if sys.argv[1:] == ["--work"] else main(sys.argv[1], sys.argv[2], sys.argv[3:])
