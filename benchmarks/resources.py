"""What a fit costs as the data grow, in time and in memory; these have no rival but the arithmetic."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import data
import numpy as np
from fits import Size
from tasks import Candidate, Fitted
from timing import adaptive_times, timed

import neglog as nl

COLUMNS = ("problem", "measured", "allowed")
FIGURE = Path(__file__).with_name("growth.png")
ROWS = (1000, 3000, 10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000)
WIDTHS = (5, 10, 20, 50, 100, 200, 500)
PEAK = """
import sys
import numpy as np
import data, neglog as nl

def status(name):
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(name)) * 1024

def fit(X, y):
    nl.fit(X, y, noise=nl.Poisson(), prior=nl.Gaussian(scale=1.0))

n, d = int(sys.argv[1]), int(sys.argv[2])
X, y = data.dense("poisson", n, d)
fit(X[:5000].copy(), y[:5000].copy())
with open("/proc/self/clear_refs", "w") as file:
    file.write("5")  # the peak starts again from what is in use now
before = status("VmHWM")
fit(X, y)
print(status("VmHWM") - before, X.nbytes)
"""


def poisson(X: np.ndarray, y: np.ndarray) -> Fitted:
    """The fit whose growth is measured."""
    found = nl.fit(X, y, noise=nl.Poisson(), prior=nl.Gaussian(scale=1.0))
    return Fitted(found.intercept, found.coef)


def growth(size: Size, tell: Callable[[str], None]) -> Iterator[tuple[str, ...]]:
    """Times against rows and against columns, the slopes of their logarithms, and a figure."""
    by_rows = [(n, seconds(n, 20, tell)) for n in sorted({size(n) for n in ROWS})]
    by_width = [(d, seconds(size(100_000), d, tell)) for d in WIDTHS]
    yield ("slope of log time in log rows, L2 poisson, 20 columns", f"{slope(by_rows):.2f}", "≤ 1")
    yield (f"slope of log time in log columns, L2 poisson, {size(100_000):,} rows", f"{slope(by_width):.2f}", "")
    if not size.quick:
        draw(by_rows, by_width, f"{size(100_000):,}")


def seconds(n: int, d: int, tell: Callable[[str], None]) -> float:
    """The best of some runs."""
    tell(f"growth: {n:,} × {d}")
    X, y = data.dense("poisson", n, d)
    known = {"neglog": timed(lambda: poisson(X, y))[0]}
    return adaptive_times({"neglog": lambda: poisson(X, y)}, known, known)["neglog"]


def slope(points: list[tuple[int, float]]) -> float:
    """Of the least-squares line through the logarithms."""
    sizes, times = np.log(np.array(points, dtype=float)).T
    return float(np.polyfit(sizes, times, 1)[0])


def draw(by_rows, by_width, rows: str) -> None:
    """Both curves, logarithmic axes."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.6), layout="constrained")
    for axes, points, label, fixed in zip(
        figure.subplots(1, 2), (by_rows, by_width), ("rows", "columns"), ("20 columns", f"{rows} rows"), strict=True
    ):
        sizes, times = np.array(points, dtype=float).T
        axes.loglog(sizes, 1e3 * times, "o-", label="neglog")
        axes.loglog(sizes, 1e3 * times[-1] * sizes / sizes[-1], "--", color="gray", label="slope 1")
        axes.set(xlabel=label, ylabel="milliseconds", title=f"L2 Poisson, {fixed}: slope {slope(points):.2f}")
        axes.legend()
    figure.savefig(FIGURE, dpi=120)


def memory(size: Size, tell: Callable[[str], None]) -> Iterator[tuple[str, ...]]:
    """The peak of a dense fit above what the data take, in a process of its own."""
    n, d = size(1_000_000), 50
    tell(f"memory: {n:,} × {d}")
    command = [sys.executable, "-c", PEAK, str(n), str(d)]
    result = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parent, check=False)
    if result.returncode:
        yield (f"peak extra memory of a fit, {n:,} × {d}", result.stderr.strip().splitlines()[-1][:90], "")
        return
    extra, whole = map(int, result.stdout.split())
    allowed = 0.1 * whole + 100 * 8 * d * d
    measured = f"{extra / 1e6:.1f} MB ({extra / whole:.1%} of X)"
    yield (f"peak extra memory of a fit, {n:,} × {d}", measured, f"< {allowed / 1e6:.1f} MB")


def tweedie_power(size: Size, tell: Callable[[str], None]) -> Iterator[tuple[str, ...]]:
    """Estimating power and dispersion too, as a multiple of the fit that knows both."""
    X, y = data.dense("tweedie", size(100_000), 20)
    noises = {"known": nl.Tweedie(power=1.5, dispersion=1.0), "unknown": nl.Tweedie()}
    runs = {}
    for name, noise in noises.items():
        tell(f"Tweedie, power and dispersion {name}")
        runs[name] = Candidate(name, lambda tol, noise=noise: nl.fit(X, y, noise=noise, prior=nl.Gaussian(scale=1.0)))
    calls = {name: lambda run=run: run.fit(None) for name, run in runs.items()}
    known = {name: timed(call)[0] for name, call in calls.items()}
    times = adaptive_times(calls, known, known)
    measured = f"{times['unknown'] / times['known']:.1f} × ({1e3 * times['unknown']:.1f} ms)"
    yield (f"Tweedie, power and dispersion unknown against known, {size(100_000):,} × 20", measured, "≤ 10 ×")


GROUPS = {"tweedie_power": tweedie_power, "growth": growth, "memory": memory}
