"""R: glmnet, quantreg and MASS, in a process of their own. R measures the time; handing over data does not count."""

import shutil
import subprocess
import tempfile
import weakref
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
from scipy import sparse
from tasks import Candidate, Fitted, Task

from rivals.statsmodels_models import FixedScale

NAME = "R"
SCRIPT = Path(__file__).with_name("models.R")
FAMILIES = {"gaussian": "gaussian", "poisson": "poisson", "bernoulli": "binomial"}
FITS = {
    *((noise, "laplace", kind) for noise in FAMILIES for kind in ("dense", "sparse")),
    ("laplace", "flat", "dense"),
    ("quantile", "flat", "dense"),
    ("huber", "flat", "dense"),
}
PATHS = {(noise, "laplace", "dense") for noise in FAMILIES}
THRESHOLDS = tuple(10.0**-k for k in (4, 5, 6, 7, 8, 9, 10, 12, 14, 16))
PATIENCE = 60  # seconds that one call of R may take
SIMPLEX_ROWS = 20_000  # Barrodale and Roberts take time of order n² beyond


@cache
def installed(package: str) -> bool:
    """Whether R is here and has the package."""
    if not shutil.which("Rscript"):
        return False
    question = f"quit(status = !requireNamespace('{package}', quietly = TRUE))"
    return subprocess.run(["Rscript", "-e", question], capture_output=True, check=False).returncode == 0


def candidates(task: Task) -> Iterator[Candidate]:
    """What the packages that are here can do."""
    package = {"laplace": "quantreg", "quantile": "quantreg", "huber": "MASS"}.get(task.noise, "glmnet")
    if not installed(package):
        task.remarks[f"R {package}"] = "not installed"
        return
    folder = handed_over(task)
    if package == "quantreg":
        for method in ("fn", "pfn", "sfn", "br"):
            if method == "br" and task.n > SIMPLEX_ROWS:
                task.remarks["R quantreg br"] = f"not run beyond {SIMPLEX_ROWS:,} rows, where it takes minutes"
                continue
            ladder = (None,) if method == "br" else (1e-4, 1e-6, 1e-8, 1e-10)
            yield Candidate(f"R quantreg {method}", lambda tol, m=method: run(folder, task, package, m, tol), ladder)
    elif package == "MASS":
        for method in ("MAD", "proposal 2"):
            yield Candidate(
                f"R MASS rlm, {method}",
                lambda tol, m=method: run(folder, task, package, m, tol),
                (1e-3, 1e-4, 1e-6, 1e-8),
                FixedScale(task),
            )
    else:
        np.atleast_1d(task.mean_strength).astype(float).tofile(folder / "lambda")
        options = {"gaussian": ("covariance", "naive"), "bernoulli": ("Newton", "modified.Newton"), "poisson": ("",)}
        for option in options[task.noise]:
            for route in ("",) if task.path else ("", "warm"):
                label = ", ".join(filter(None, ("R glmnet", option, "by a path of 20" if route else "")))
                method = f"{FAMILIES[task.noise]}/{option}/{route}"
                yield Candidate(label, lambda tol, m=method: run(folder, task, package, m, tol), THRESHOLDS)


def handed_over(task: Task) -> Path:
    """The data as raw numbers in files that live as long as the task."""
    folder = Path(tempfile.mkdtemp(prefix="neglog-bench-"))
    weakref.finalize(task, shutil.rmtree, folder, ignore_errors=True)
    X = task.columnwise
    if sparse.issparse(X):
        X.indices.astype(np.int32).tofile(folder / "i")
        X.indptr.astype(np.int32).tofile(folder / "p")
        X.data.astype(float).tofile(folder / "x")
    else:
        X.T.tofile(folder / "X")
    task.y.astype(float).tofile(folder / "y")
    return folder


def run(folder: Path, task: Task, package: str, method: str, tol: float | None) -> Fitted:
    """One process: some repetitions, the least time."""
    d = task.X.shape[1]
    arguments = [str(folder), str(task.n), str(d), package, method, str(tol or 0), str(task.quantile)]
    try:
        subprocess.run(["Rscript", str(SCRIPT), *arguments], check=True, capture_output=True, timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        raise TimeoutError(f"more than {PATIENCE} s") from None
    except subprocess.CalledProcessError as error:
        raise RuntimeError(error.stderr.decode().strip().splitlines()[-1]) from None
    seconds, scale, *numbers = np.fromfile(folder / "answer")
    table = np.reshape(numbers, (-1, d + 1))
    if not task.path:
        table = table[-1]
    return Fitted(table[..., 0], table[..., 1:], seconds=seconds, scale=scale)
