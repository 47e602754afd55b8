"""celer: dual extrapolation and working sets. Its logistic regression has no intercept: only least squares compare."""

from collections.abc import Iterator

import numpy as np
from celer import Lasso, celer_path
from tasks import Candidate, Fitted, Task

NAME = "celer"
FITS = {("gaussian", "laplace", "dense")}
PATHS = {("gaussian", "laplace", "dense")}
LADDER = tuple(10.0**-k for k in range(2, 10))


def candidates(task: Task) -> Iterator[Candidate]:
    """One solver."""
    wide = task.path and task.X.shape[1] > task.n  # where tighter tolerances take minutes of compiled code
    yield Candidate(NAME, lambda tol: (path if task.path else single)(task, tol), LADDER[:2] if wide else LADDER)


def single(task: Task, tol: float) -> Fitted:
    """Its estimator centres the columns."""
    model = Lasso(alpha=task.mean_strength, tol=tol, max_iter=200).fit(task.columnwise, task.y)
    return Fitted(model.intercept_, model.coef_)


def path(task: Task, tol: float) -> Fitted:
    """Columns are centred here, because `celer_path` knows no intercept."""
    means, mean = task.X.mean(axis=0), task.y.mean()
    centred = np.asfortranarray(task.X - means)
    _, coefs, _ = celer_path(centred, task.y - mean, "lasso", alphas=task.mean_strength, tol=tol, max_iter=200)
    return Fitted(mean - means @ coefs, coefs.T)
