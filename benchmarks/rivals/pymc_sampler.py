"""PyMC: its own sampler, and nutpie on its compiled model. Compilation is not counted."""

import time
import warnings
from collections.abc import Callable, Iterator

import numpy as np
import nutpie
import pymc as pm

Sampled = Callable[[], tuple[float, np.ndarray]]


def candidates(X: np.ndarray, y: np.ndarray, draws: int, chains: int) -> Iterator[tuple[str, Sampled]]:
    """Each gives seconds and draws (chains, draws, coefficients)."""
    with pm.Model() as model:
        intercept = pm.Flat("intercept")
        coef = pm.Normal("coef", 0.0, 1.0, shape=X.shape[1])
        pm.Poisson("y", pm.math.exp(intercept + pm.math.dot(X, coef)), observed=y)

    def own() -> tuple[float, np.ndarray]:
        with model, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            settings = {"chains": chains, "cores": 2, "progressbar": False, "compute_convergence_checks": False}
            pm.sample(2, tune=2, random_seed=0, **settings)  # compiles
            start = time.perf_counter()
            trace = pm.sample(draws, tune=1000, random_seed=1, **settings)
        return time.perf_counter() - start, np.asarray(trace.posterior["coef"])

    def through_nutpie() -> tuple[float, np.ndarray]:
        compiled = nutpie.compile_pymc_model(model)
        nutpie.sample(compiled, draws=2, tune=20, chains=1, progress_bar=False)
        start = time.perf_counter()
        trace = nutpie.sample(compiled, draws=draws, tune=400, chains=chains, seed=1, progress_bar=False)
        return time.perf_counter() - start, np.asarray(trace.posterior["coef"])

    yield "PyMC", own
    yield "PyMC through nutpie", through_nutpie
