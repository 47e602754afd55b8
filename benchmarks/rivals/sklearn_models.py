"""scikit-learn: every solver that can do the task."""

from collections.abc import Iterator

import numpy as np
from scipy.special import huber
from sklearn.linear_model import (
    HuberRegressor,
    Lasso,
    LogisticRegression,
    QuantileRegressor,
    Ridge,
    TweedieRegressor,
    lasso_path,
)
from tasks import Candidate, Fitted, Task

NAME = "scikit-learn"
POWERS = {"poisson": 1, "gamma": 2, "tweedie": 1.5}
FITS = {
    *((noise, "gaussian", kind) for noise in POWERS for kind in ("dense", "sparse", "table")),
    *((noise, prior, "dense") for noise in ("bernoulli", "gaussian") for prior in ("gaussian", "laplace")),
    ("bernoulli", "laplace", "sparse"),
    ("laplace", "flat", "dense"),
    ("quantile", "flat", "dense"),
    ("huber", "flat", "dense"),
    ("categorical", "gaussian", "dense"),
}
PATHS = {("gaussian", "laplace", "dense")}
LADDER = tuple(10.0**-k for k in range(2, 11))
EPSILON = 1.345
MULTIPLICATIONS = 2e9  # for a first order solver, which may otherwise go on for many minutes
LIBLINEAR_CELLS = 2e7
QUANTILE_ROWS = 20_000  # HiGHS takes minutes beyond


def candidates(task: Task) -> Iterator[Candidate]:
    """The solvers, those that are usually fastest first."""
    if task.path:
        for label, gram in (("Gram matrix", True), ("residuals", False)):
            yield Candidate(f"{NAME} lasso_path, {label}", lambda tol, gram=gram: path(task, tol, gram), LADDER)
        return
    yield from {
        "categorical": softmax,
        "laplace": quantile,
        "quantile": quantile,
        "huber": concomitant,
        "bernoulli": logistic,
        "gaussian": least_squares,
    }.get(task.noise, half_deviance)(task)


def patience(task: Task) -> int:
    """Iterations for a first order solver; at least the default of scikit-learn."""
    return int(np.clip(MULTIPLICATIONS / task.matrix.size, 100, 3000))


def half_deviance(task: Task) -> Iterator[Candidate]:
    """Poisson, Gamma and Tweedie share one estimator."""
    y, weight = task.rates
    for solver in ("newton-cholesky", "lbfgs"):

        def fit(tol: float, solver=solver) -> Fitted:
            model = TweedieRegressor(
                power=POWERS[task.noise],
                link="log",
                alpha=task.mean_strength,
                solver=solver,
                tol=tol,
                max_iter=patience(task),
            ).fit(task.matrix, y, sample_weight=weight)
            return Fitted(model.intercept_, model.coef_)

        yield Candidate(f"{NAME} {solver}", fit, LADDER)


def classified(
    task: Task, solver: str, tol: float, max_iter: int, intercept_scaling: float = 1.0
) -> LogisticRegression:
    """A logistic or softmax regression; C multiplies the sum over rows."""
    return LogisticRegression(
        C=1 / task.strength,
        l1_ratio=float(task.prior == "laplace"),
        solver=solver,
        tol=tol,
        max_iter=max_iter,
        intercept_scaling=intercept_scaling,
        random_state=0,
    ).fit(task.matrix, task.y)


def logistic(task: Task) -> Iterator[Candidate]:
    """Second order solvers for L2; liblinear, which penalises the intercept a little, and saga for L1."""
    smooth = (("newton-cholesky", 100), ("lbfgs", patience(task)), ("newton-cg", 20), ("liblinear", 100))
    if task.matrix.size > LIBLINEAR_CELLS and task.prior != "laplace":
        smooth = smooth[:3]
        task.remarks[f"{NAME} liblinear"] = f"not run on more than {LIBLINEAR_CELLS:,.0f} cells, where it takes minutes"
    for solver, iterations in (("liblinear", 100), ("saga", 50)) if task.prior == "laplace" else smooth:

        def fit(tol: float, solver=solver, iterations=iterations) -> Fitted:
            model = classified(task, solver, tol, iterations, intercept_scaling=100.0)
            return Fitted(model.intercept_[0], model.coef_[0])

        yield Candidate(f"{NAME} {solver}", fit, LADDER[:3] if solver == "saga" else LADDER)


def softmax(task: Task) -> Iterator[Candidate]:
    """All classes at once."""
    for solver, iterations in (("newton-cholesky", 100), ("lbfgs", patience(task)), ("newton-cg", 20), ("saga", 30)):

        def fit(tol: float, solver=solver, iterations=iterations) -> Fitted:
            model = classified(task, solver, tol, iterations)
            return Fitted(model.intercept_, model.coef_)

        yield Candidate(f"{NAME} {solver}", fit, LADDER[:3] if solver == "saga" else LADDER)


def least_squares(task: Task) -> Iterator[Candidate]:
    """Ridge by its direct and iterative solvers, the lasso on the Gram matrix or on residuals."""
    if task.prior == "gaussian":
        for solver in ("cholesky", "lsqr", "svd"):

            def fit(tol: float, solver=solver) -> Fitted:
                model = Ridge(alpha=task.strength, solver=solver, tol=tol or 1e-4, max_iter=3000).fit(task.X, task.y)
                return Fitted(model.intercept_, model.coef_)

            yield Candidate(f"{NAME} Ridge {solver}", fit, LADDER if solver == "lsqr" else (None,))
        return
    for label, gram in (("Gram matrix", True), ("residuals", False)):

        def fit(tol: float, gram=gram) -> Fitted:
            model = Lasso(alpha=task.mean_strength, precompute=gram, tol=tol, max_iter=1000)
            model.fit(task.columnwise, task.y)
            return Fitted(model.intercept_, model.coef_)

        if not gram or task.X.shape[1] <= task.n:
            yield Candidate(f"{NAME} Lasso, {label}", fit, LADDER)


def path(task: Task, tol: float, gram: bool) -> Fitted:
    """Columns are centred here, because `lasso_path` knows no intercept."""
    means, mean = task.X.mean(axis=0), task.y.mean()
    _, coefs, _ = lasso_path(
        np.asfortranarray(task.X - means),
        task.y - mean,
        alphas=task.mean_strength,
        precompute=gram,
        tol=tol,
        max_iter=1000,
        copy_X=False,
    )
    return Fitted(mean - means @ coefs, coefs.T)


def quantile(task: Task) -> Iterator[Candidate]:
    """The linear programme of a quantile."""
    if task.n > QUANTILE_ROWS:
        task.remarks[f"{NAME} QuantileRegressor"] = f"not run beyond {QUANTILE_ROWS:,} rows, where it takes minutes"
        return

    def fit(_: None) -> Fitted:
        model = QuantileRegressor(quantile=task.quantile, alpha=0.0).fit(task.X, task.y)
        return Fitted(model.intercept_, model.coef_)

    yield Candidate(f"{NAME} QuantileRegressor", fit)


def concomitant(task: Task) -> Iterator[Candidate]:
    """HuberRegressor minimises n σ + Σ σ H((y - η) / σ) over η and σ."""

    def fit(tol: float, X=task.X) -> Fitted:
        model = HuberRegressor(epsilon=EPSILON, alpha=0.0, tol=tol, max_iter=patience(task)).fit(X, task.y)
        return Fitted(model.intercept_, model.coef_, scale=model.scale_)

    def own(fitted: Fitted, X=task.X) -> float:
        z = (task.y - X @ fitted.coef - fitted.intercept) / fitted.scale
        return fitted.scale * np.sum(1 + 2 * huber(EPSILON, z))

    # On badly scaled columns its L-BFGS stalls; with unit variance it shows where the minimum is.
    even = (task.X - task.X.mean(axis=0)) / task.X.std(axis=0)
    yield Candidate(f"{NAME} HuberRegressor", fit, LADDER, own, own(fit(1e-8, even), even))
