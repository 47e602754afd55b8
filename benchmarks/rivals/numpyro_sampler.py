"""NumPyro: NUTS compiled by JAX, its chains side by side. Compilation is not counted."""

import os
import time
from collections.abc import Callable, Iterator

os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=2")

import jax
import numpy as np
import numpyro
from numpyro import distributions as dist
from numpyro.infer import MCMC, NUTS

Sampled = Callable[[], tuple[float, np.ndarray]]


def candidates(X: np.ndarray, y: np.ndarray, draws: int, chains: int) -> Iterator[tuple[str, Sampled]]:
    """Seconds and draws (chains, draws, coefficients), with a diagonal and with a dense metric."""
    jax.config.update("jax_enable_x64", True)
    columns, counts = jax.numpy.asarray(X), jax.numpy.asarray(y)

    def model() -> None:
        intercept = numpyro.sample("intercept", dist.ImproperUniform(dist.constraints.real, (), ()))
        coef = numpyro.sample("coef", dist.Normal(0.0, 1.0).expand([X.shape[1]]).to_event(1))
        numpyro.sample("y", dist.Poisson(jax.numpy.exp(intercept + columns @ coef)), obs=counts)

    for label, dense in (("NumPyro", False), ("NumPyro, dense metric", True)):

        def sample(dense: bool = dense) -> tuple[float, np.ndarray]:
            run = MCMC(
                NUTS(model, dense_mass=dense),
                num_warmup=500,
                num_samples=draws,
                num_chains=chains,
                chain_method="vectorized",
                progress_bar=False,
            )
            run.warmup(jax.random.key(0))  # compiles
            start = time.perf_counter()
            run.post_warmup_state = None
            run.run(jax.random.key(1))
            found = np.asarray(run.get_samples(group_by_chain=True)["coef"])
            return time.perf_counter() - start, found

        yield label, sample
