"""skglm: working sets with accelerated coordinate descent, or with prox-Newton; compiled before it is timed."""

from collections.abc import Iterator

import numpy as np
from scipy import sparse
from skglm.datafits import Logistic, Poisson, Quadratic
from skglm.penalties import L1
from skglm.solvers import AndersonCD, ProxNewton
from skglm.utils.jit_compilation import compiled_clone
from tasks import Candidate, Fitted, Task, largest_strength

NAME = "skglm"
DATAFITS = {"gaussian": Quadratic, "bernoulli": Logistic, "poisson": Poisson}
SOLVERS = {"gaussian": (AndersonCD,), "bernoulli": (ProxNewton, AndersonCD), "poisson": (ProxNewton,)}
FITS = {(noise, "laplace", kind) for noise in DATAFITS for kind in ("dense", "sparse")}
PATHS = {(noise, "laplace", "dense") for noise in DATAFITS}
LADDER = tuple(10.0**-k for k in range(1, 8))


def candidates(task: Task) -> Iterator[Candidate]:
    """Columns are stored in the order it prefers; a small fit makes Numba compile."""
    X = task.columnwise
    if sparse.issparse(X):
        X = sparse.csc_matrix((X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), shape=X.shape)
    y = 2 * task.y - 1 if task.noise == "bernoulli" else task.y
    alphas = np.atleast_1d(task.mean_strength)
    for solver in SOLVERS[task.noise][: 1 if task.path else None]:  # along a path the second is far slower
        rows = np.linspace(0, task.n - 1, min(task.n, 300)).astype(int)
        head = sparse.csc_matrix(X[rows][:, :5]) if sparse.issparse(X) else np.asfortranarray(X[rows, :5])
        few = np.ascontiguousarray(y[rows])
        # Some coefficients have to move, or the inner loops are not compiled.
        fit(task.noise, solver, head, few, np.full(1, 0.1 * largest_strength(head, few) / few.size), 1e-3)

        def run(tol: float, solver=solver) -> Fitted:
            intercepts, coefs = fit(task.noise, solver, X, y, alphas, tol)
            return Fitted(intercepts, coefs) if task.path else Fitted(intercepts[0], coefs[0])

        yield Candidate(f"{NAME} {solver.__name__}", run, LADDER[:4] if X.shape[1] > X.shape[0] else LADDER)


def fit(noise: str, kind: type, X, y: np.ndarray, alphas: np.ndarray, tol: float):
    """The strengths in turn, each from the answer before."""
    datafit, penalty = compiled_clone(DATAFITS[noise]()), compiled_clone(L1(1.0))
    if sparse.issparse(X):
        datafit.initialize_sparse(X.data, X.indptr, X.indices, y)
    else:
        datafit.initialize(X, y)
    solver = kind(tol=tol, fit_intercept=True, max_iter=200, warm_start=True)
    w = np.zeros(X.shape[1] + 1)
    if noise == "poisson":
        w[-1] = np.log(y.mean())
    found = np.empty((alphas.size, w.size))
    for i, alpha in enumerate(alphas):
        penalty.alpha = alpha
        w = solver.solve(X, y, datafit, penalty, w.copy(), X @ w[:-1] + w[-1])[0]
        found[i] = w
    return found[:, -1], found[:, :-1]
