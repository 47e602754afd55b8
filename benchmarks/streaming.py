"""Rows in files: how many bare scans a fit costs, how much memory, and what a cluster on the same cores adds.

`python benchmarks/streaming.py [--quick]` prints the tables of this file alone; `run.py files cluster` keeps them.
The files are made once, in the directory for temporary files, and used again by later runs.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path

import numpy as np
from data import AbsentError
from fits import Size

COLUMNS = ("problem", "measured", "allowed")
ROWS = 20_000_000
ROWS_PER_FILE = 2_000_000
ROWS_PER_GROUP = 250_000
NUMBERS, WHOLE, CATEGORIES = 14, 3, 3  # columns of each kind: 20
LEVELS = [f"level {k}" for k in range(12)]
GIB = 1 << 30
TASKS = 40  # of a pass over the files on a cluster

# What a run measures is a process of its own, so that its peak of memory is its own too.
RUN = """
import json, sys, time
import neglog as nl
path, engine, cache, workers = json.loads(sys.argv[1])
client = None
if engine == "dask":
    from dask.distributed import Client
    client = Client(n_workers=workers, threads_per_worker=1, dashboard_address=None, memory_limit="4GB")
options = {"exposure": "exposure", "engine": engine}
if cache:
    options["cache"] = cache
start = time.perf_counter()
fit = nl.fit(path, "claims", nl.Poisson(), nl.Gaussian(scale=1.0), **options)
seconds = time.perf_counter() - start
passes = fit._task.pieces.source.passes
with open("/proc/self/status") as file:  # getrusage would tell the peak of the process that started this one, too
    peak = next(int(line.split()[1]) for line in file if line.startswith("VmHWM")) * 1024
print(json.dumps([seconds, passes, peak, fit.converged, fit.coef.tolist()]))
if client is not None:
    client.shutdown()
"""


# What a pass on a cluster costs beside the rows: one over next to none of them, and a level of the tree that adds up.
OVERHEAD = """
import json, sys, time
import numpy as np
import neglog as nl
from dask.distributed import Client
from neglog.engines.sources import added
client = Client(n_workers=2, threads_per_worker=1, dashboard_address=None, memory_limit="4GB")
path, width, levels = json.loads(sys.argv[1])
best = [float("inf")] * 2
for _ in range(5):
    start = time.perf_counter()
    fit = nl.fit(path, "claims", nl.Poisson(), nl.Gaussian(scale=1.0), exposure="exposure", engine="dask")
    best[0] = min(best[0], (time.perf_counter() - start) / fit._task.pieces.source.passes)
    workers = list(client.scheduler_info()["workers"])
    start = time.perf_counter()
    sums = client.submit(lambda: (1.0, np.ones(width), np.ones((width, width))), workers=workers[0], pure=False)
    for level in range(levels):
        sums = client.submit(added, sums, sums, workers=workers[(level + 1) % 2], pure=False)
    sums.result()
    best[1] = min(best[1], (time.perf_counter() - start) / levels)
print(json.dumps(best))
client.shutdown()
"""


def make(rows: int, tell: Callable[[str], None], rows_per_file: int = ROWS_PER_FILE) -> Path:
    """A table of claims in several Parquet files."""
    import pyarrow as pa
    from pyarrow import parquet

    folder = Path(tempfile.gettempdir()) / f"neglog-claims-{rows}"
    if (folder / "_complete").exists():
        return folder
    folder.mkdir(exist_ok=True)
    rng = np.random.default_rng(0)
    mixing = rng.normal(size=(NUMBERS, NUMBERS)) / NUMBERS**0.5 + np.eye(NUMBERS)
    slopes = rng.normal(size=NUMBERS) * 0.1
    for number, first in enumerate(range(0, rows, rows_per_file)):
        n = min(rows_per_file, rows - first)
        tell(f"making rows {first:,} to {first + n:,}")
        X = rng.normal(size=(n, NUMBERS)) @ mixing
        whole = rng.integers(0, 10, (n, WHOLE))
        codes = rng.integers(0, len(LEVELS), (n, CATEGORIES))
        exposure = rng.uniform(0.05, 1.0, n)
        eta = -2.0 + X @ slopes + 0.03 * whole.sum(axis=1) + 0.05 * codes[:, 0] - 0.02 * codes[:, 1]
        columns = {f"x{j}": X[:, j] for j in range(NUMBERS)}
        columns |= {f"k{j}": whole[:, j].astype(np.int32) for j in range(WHOLE)}
        columns |= {
            f"c{j}": pa.DictionaryArray.from_arrays(codes[:, j].astype(np.int32), LEVELS) for j in range(CATEGORIES)
        }
        table = pa.table({**columns, "exposure": exposure, "claims": rng.poisson(exposure * np.exp(eta))})
        parquet.write_table(table, folder / f"claims-{number:03d}.parquet", row_group_size=ROWS_PER_GROUP)
    (folder / "_complete").touch()
    return folder


def bare_scan(folder: Path) -> float:
    """Seconds in which pyarrow reads all columns and does nothing with them."""
    from pyarrow import dataset

    start = time.perf_counter()
    for _ in dataset.dataset(str(folder), format="parquet").scanner(batch_size=1 << 17).to_batches():
        pass
    return time.perf_counter() - start


def run(folder: Path, engine: str | None = None, cache: str | None = None, workers: int = 2) -> list:
    """Seconds, passes, peak of memory, convergence and coefficients of one fit."""
    return answer_of(RUN, [str(folder / "*.parquet"), engine, cache, workers])


def answer_of(program: str, given: list) -> list:
    """What a process of its own prints."""
    command = [sys.executable, "-c", program, json.dumps(given)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr.strip().splitlines()[-1])
    return json.loads(done.stdout.strip().splitlines()[-1])


def files(size: Size, tell: Callable[[str], None]) -> Iterator[tuple[str, ...]]:
    """One process."""
    rows = size(ROWS)
    folder = make(rows, tell)
    name = f"L2 poisson, {rows:,} × {NUMBERS + WHOLE + CATEGORIES} in Parquet files"
    scan = seconds = float("inf")
    for _ in range(1 if size.quick else 4):  # in turn, so that both see the same noise of the machine
        tell(f"{name}: bare scan")
        scan = min(scan, bare_scan(folder), bare_scan(folder))
        tell(name)
        own, passes, peak, converged, plain = run(folder)
        seconds = min(seconds, own)
        assert converged
    yield name, f"{passes} passes, {seconds:.1f} s", ""
    yield f"{name}: seconds of a bare scan by pyarrow", f"{scan:.2f}", ""
    yield f"{name}: bare scans of the same time", f"{seconds / scan:.2f}", "≤ 8"
    yield f"{name}: peak memory, GiB", f"{peak / GIB:.2f}", "< 1"
    with tempfile.TemporaryDirectory() as cache:
        tell(f"{name}: cache")
        first, second = (run(folder, cache=cache) for _ in range(2))
    np.testing.assert_allclose(second[-1], plain, atol=1e-10)
    yield f"{name}: with a cache, first fit", f"{first[1]} passes, {first[0]:.1f} s", ""
    yield (
        f"{name}: with a cache, second fit",
        f"{second[1]} passes, {second[0]:.1f} s, {second[0] / scan:.2f} scans",
        "",
    )


def cluster(size: Size, tell: Callable[[str], None]) -> Iterator[tuple[str, ...]]:
    """Two worker processes on the same cores, interleaved with the plain fit."""
    try:
        import_module("distributed")
    except ImportError as error:
        raise AbsentError(f"Dask is not installed ({error})") from None
    rows = size(ROWS)
    folder = make(rows, tell)
    name = f"L2 poisson, {rows:,} × {NUMBERS + WHOLE + CATEGORIES}, Dask with 2 workers"
    best = {"files": float("inf"), "dask": float("inf")}
    coefs = {}
    for _ in range(1 if size.quick else 2):
        for engine in best:
            tell(f"{name}: {engine}")
            seconds, passes, _, converged, coefs[engine] = run(folder, None if engine == "files" else engine)
            assert converged
            best[engine] = min(best[engine], seconds)
    np.testing.assert_allclose(coefs["dask"], coefs["files"], atol=1e-10)
    yield name, f"{passes} passes, {best['dask']:.1f} s", ""
    yield f"{name}: time / that of one process with as many threads", f"{best['dask'] / best['files']:.2f}", "≤ 1.5"
    tell("Dask with 2 workers: overhead")
    few = make(TASKS * 10, tell, 10)
    a_pass, a_level = answer_of(OVERHEAD, [str(few / "*.parquet"), len(coefs["dask"]) + 1, 40])
    yield f"Dask with 2 workers: a pass over {TASKS} tasks with next to no rows, s", f"{a_pass:.3f}", ""
    yield "Dask with 2 workers: a level of the tree that adds up, ms", f"{1e3 * a_level:.1f}", ""


GROUPS = {"files": files, "cluster": cluster}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="few rows, to see that everything runs")
    parser.add_argument("group", nargs="*", help=", ".join(GROUPS))
    arguments = parser.parse_args()
    for group in arguments.group or GROUPS:
        for line in GROUPS[group](Size(arguments.quick), lambda text: print(f"  {text}", file=sys.stderr)):
            print(*line, sep="  |  ")
