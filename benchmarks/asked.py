"""What is asked of a fit besides its coefficients: errors of how rows pull, and profiles. `python benchmarks/asked.py`
prints them. R measures its own time, without the start of its process.
"""

import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
import timing
from rivals.r_models import installed

import neglog as nl

COLUMNS = ("asked", "neglog ms", "against", "its ms", "ratio", "wanted", "largest difference")
ROUNDS = 5
LEVEL = 0.95
SCRIPT = """
arguments <- commandArgs(trailingOnly = TRUE)
data <- read.csv(arguments[1])
fit <- glm(y ~ ., data = data, family = arguments[2], epsilon = 1e-12)
begin <- proc.time()[["elapsed"]]
times <- sapply(1:3, function(k) system.time(found <<- suppressMessages(confint(fit)))[["elapsed"]])
cat(min(times), found, sep = "\\n")
"""


def rows(noise, n, columns, seed=0):
    """Columns and targets."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, columns))
    return X, noise.given(0.2 + X @ rng.normal(0, 0.5 / np.sqrt(columns), columns)).sample(rng=rng)


def robust(n, columns):
    """A fit alone, and with errors of how rows pull; as a share of the one on top."""
    for name, noise, truth in (
        ("Gaussian", nl.Gaussian(), nl.Gaussian(scale=1.0)),
        ("Poisson", nl.Poisson(), nl.Poisson()),
    ):
        X, y = rows(truth, n, columns)
        clusters = np.arange(n) // 20
        asked = {
            "robust errors": lambda fit: fit.covariance("robust"),
            f"errors by {n // 20:,} clusters": lambda fit, clusters=clusters: fit.covariance("cluster", clusters),
        }
        for what, more in asked.items():
            alone, both, gram = (1e3 * value for value in timed(X, y, noise, more))
            of = f"{what}, {name}, {n:,} × {columns}"
            yield of, both, "the fit alone", alone, both / alone, "≤ 1.2", ""
            yield of, both - alone, "one X'WX by BLAS", gram, (both - alone) / gram, "", ""


def timed(X, y, noise, more):
    """Seconds of a fit, of a fit with more asked of it, and of one product that any such thing takes."""
    candidates = {
        "alone": lambda: nl.fit(X, y, noise),
        "both": lambda: more(nl.fit(X, y, noise)),
        "one X'WX": lambda: X.T @ (X * y[:, None]),
    }
    return timing.best_times(candidates, ROUNDS).values()


def profiles(n, columns):
    """Intervals by the profile against confint of glm."""
    if not installed("MASS"):
        yield f"profiles, {n:,} × {columns}", np.nan, "R confint: MASS is not installed", np.nan, np.nan, "≥ 20", ""
        return
    for name, noise, family in (("Poisson", nl.Poisson(), "poisson"), ("Bernoulli", nl.Bernoulli(), "binomial")):
        X, y = rows(noise, n, columns)
        fit = nl.fit(X, y, noise, tol=1e-9)
        times = timing.best_times({"ours": lambda fit=fit: fit.interval(LEVEL, "profile")}, ROUNDS)
        with tempfile.TemporaryDirectory() as folder:
            pd.DataFrame(X).assign(y=y).to_csv(Path(folder) / "table.csv", index=False, float_format="%.17g")
            script = Path(folder) / "confint.R"
            script.write_text(SCRIPT, encoding="utf-8")
            command = ["Rscript", str(script), str(Path(folder) / "table.csv"), family]
            told = subprocess.run(command, check=True, capture_output=True, text=True, timeout=900).stdout.split()
        theirs, ends = 1e3 * float(told[0]), np.array(told[1:], float).reshape(2, -1).T
        ours = 1e3 * times["ours"]
        apart = np.max(np.abs(np.asarray(fit.interval(LEVEL, "profile"))[: len(ends)] - ends))
        units = np.max(ends[:, 1] - ends[:, 0])
        yield (
            f"profiles of all coefficients, {name}, {n:,} × {columns}",
            ours,
            "R confint of glm",
            theirs,
            theirs / ours,
            "≥ 20",
            f"{apart / units:.0e}",
        )


def table(size, tell):
    """All of them, as lines."""
    large, small = ((100_000, 20), (1_000, 4)) if size.quick else ((1_000_000, 50), (10_000, 8))
    for what, lines in (("robust errors", robust(*large)), ("profiles", profiles(*small))):
        tell(what)
        for line in lines:
            yield tuple(f"{value:.4g}" if isinstance(value, float) else value for value in line)


GROUPS = {"asked": table}

if __name__ == "__main__":
    from types import SimpleNamespace

    begin = time.perf_counter()
    for line in table(SimpleNamespace(quick=False), print):
        print(*line, sep=" | ")
    print(f"{time.perf_counter() - begin:.0f} s")
