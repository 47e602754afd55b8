"""statsmodels: ridge by the optimisers of SciPy, robust regression by IRLS, the median by IRLS."""

from collections.abc import Iterator

import numpy as np
import statsmodels.api as sm
from scipy.special import huber
from tasks import Candidate, Fitted, Task

NAME = "statsmodels"
FAMILIES = {
    "poisson": sm.families.Poisson,
    "gamma": lambda: sm.families.Gamma(sm.families.links.Log()),
    "bernoulli": sm.families.Binomial,
}  # its Tweedie has no exact likelihood to minimise
FITS = {
    *((noise, "gaussian", "dense") for noise in (*FAMILIES, "gaussian")),
    ("laplace", "flat", "dense"),
    ("quantile", "flat", "dense"),
    ("huber", "flat", "dense"),
}
PATHS: set[tuple[str, str, str]] = set()
CELLS = 3_000_000  # of X: beyond, its ridge takes minutes
LADDER = (1e-3, 1e-4, 1e-6, 1e-8)


def candidates(task: Task) -> Iterator[Candidate]:
    """A column of ones is added beforehand; its penalty is zero."""
    if task.noise in FAMILIES and task.X.size > CELLS:
        task.remarks[NAME] = f"not run on more than {CELLS:,} cells, where it takes minutes"
        return
    exog = np.column_stack([np.ones(task.n), task.X])
    alpha = np.full(exog.shape[1], task.mean_strength if task.prior == "gaussian" else 0.0)
    alpha[0] = 0
    if task.noise == "gaussian":

        def ridge(_: None) -> Fitted:
            return split(sm.OLS(task.y, exog).fit_regularized(alpha=alpha, L1_wt=0).params)

        yield Candidate(f"{NAME} OLS.fit_regularized", ridge)
    elif task.noise in ("laplace", "quantile"):

        def quantile(tol: float) -> Fitted:
            return split(sm.QuantReg(task.y, exog).fit(q=task.quantile, p_tol=tol, max_iter=5000).params)

        yield Candidate(f"{NAME} QuantReg", quantile, LADDER)
    elif task.noise == "huber":

        def robust(tol: float) -> Fitted:
            model = sm.RLM(task.y, exog, M=sm.robust.norms.HuberT(1.345)).fit(tol=tol, maxiter=1000)
            return split(model.params)._replace(scale=model.scale)

        yield Candidate(f"{NAME} RLM", robust, LADDER, FixedScale(task))
    else:
        for method in ("bfgs", "newton-cg"):

            def penalised(_: None, method=method) -> Fitted:
                model = sm.GLM(task.y, exog, family=FAMILIES[task.noise]())
                return split(model.fit_regularized(alpha=alpha, L1_wt=0, opt_method=method).params)

            yield Candidate(f"{NAME} GLM.fit_regularized {method}", penalised)


def split(params: np.ndarray) -> Fitted:
    """The constant comes first."""
    return Fitted(params[0], params[1:])


class FixedScale:
    """Huber's loss at the scale of the first fit it sees, which is the tightest: what a robust IRLS settles on."""

    def __init__(self, task: Task, delta: float = 1.345):
        self.task, self.delta, self.scale = task, delta, None

    def __call__(self, fitted: Fitted) -> float:
        """The loss of the coefficients."""
        self.scale = self.scale or fitted.scale
        z = (self.task.y - self.task.X @ fitted.coef - fitted.intercept) / self.scale
        return float(np.sum(huber(self.delta, z)))
