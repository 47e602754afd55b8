"""glum: IRLS with least squares (L2) or coordinate descent (L1), on its own matrices."""

from collections.abc import Iterator

import numpy as np
import tabmat
from glum import GeneralizedLinearRegressor, TweedieDistribution
from tasks import Candidate, Fitted, Task

NAME = "glum"
FAMILIES = {
    "poisson": "poisson",
    "gamma": "gamma",
    "tweedie": TweedieDistribution(1.5),
    "bernoulli": "binomial",
    "gaussian": "normal",
}
LINKS = {"bernoulli": "logit", "gaussian": "identity"}
FITS = {
    (noise, prior, kind)
    for noise in FAMILIES
    for prior in ("gaussian", "laplace")
    for kind in ("dense", "sparse", "table")
}
PATHS = {(noise, "laplace", "dense") for noise in FAMILIES}
WIDE = 2000
LADDER = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8)


def candidates(task: Task) -> Iterator[Candidate]:
    """Both orders of dense columns; a table as glum's matrix of categories, made beforehand."""
    y, weight = task.rates
    if task.matrix.shape[1] > WIDE:
        task.remarks[NAME] = f"not run beyond {WIDE:,} columns: it forms their whole Hessian in every step"
        return
    if task.kind == "table":
        layouts = {"categories": tabmat.from_pandas(task.X, cat_threshold=0)}
    elif task.kind == "sparse":
        layouts = {"by columns": task.columnwise}
    else:
        layouts = {"by columns": task.columnwise, "by rows": np.ascontiguousarray(task.X)}
    for layout, X in layouts.items():
        yield Candidate(f"{NAME}, {layout}", lambda tol, X=X: fit(task, X, y, weight, tol), LADDER)


def fit(task: Task, X, y, weight, tol: float) -> Fitted:
    """The mean half deviance with elastic-net weights."""
    lasso = task.prior == "laplace"
    strengths = {"alpha_search": True, "alphas": task.mean_strength} if task.path else {"alpha": task.mean_strength}
    model = GeneralizedLinearRegressor(
        family=FAMILIES[task.noise],
        link=LINKS.get(task.noise, "log"),
        l1_ratio=1 if lasso else 0,
        solver="irls-cd" if lasso else "irls-ls",
        gradient_tol=tol,
        max_iter=200,
        **strengths,
    ).fit(X, y, sample_weight=weight)
    if task.path:
        return Fitted(np.asarray(model.intercept_path_), np.asarray(model.coef_path_))
    return Fitted(model.intercept_, model.coef_)
