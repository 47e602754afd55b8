"""What is measured: neglog and its rivals on the same arrays, how far they agree, and the ratio wanted."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
from rivals import memory, scipy_functions, sklearn_loss, tweedie_package

import neglog as nl

THREADS = 2


@dataclass
class Problem:
    """`ours` and each rival are run in turn; `wanted` is the least ratio rival / ours that is good enough."""

    name: str
    ours: Callable[[], object]
    rivals: dict[str, Callable[[], object]]
    wanted: dict[str, float]
    rounds: int = 7
    disagreement: dict[str, float] = field(default_factory=dict)


def relative_difference(a, b):
    """The largest difference, relative where the numbers are large."""
    return float(np.max(np.abs(a - b) / np.maximum(1, np.abs(b))))


def gradients(n: int = 5_000_000) -> Iterator[Problem]:
    """Gradient and Hessian in the raw prediction, into arrays that exist already."""
    rng = np.random.default_rng(0)
    eta = 0.5 * rng.normal(size=n)
    ours, theirs = (np.zeros(n), np.zeros(n)), (np.zeros(n), np.zeros(n))
    noises = {
        "poisson": (nl.Poisson(), rng.poisson(1.0, n).astype(float)),
        "gamma": (nl.Gamma(shape=1.0), rng.gamma(1.0, size=n)),
        "tweedie": (nl.Tweedie(power=1.5, dispersion=1.0), rng.poisson(1.0, n).astype(float)),
        "bernoulli": (nl.Bernoulli(), rng.integers(0, 2, n).astype(float)),
    }
    for family, (noise, y) in noises.items():
        problem = Problem(
            f"gradient and Hessian, {family}, {n:,}",
            lambda noise=noise, y=y: noise.gradient_hessian(y, eta, out=ours, threads=THREADS),
            {
                sklearn_loss.NAME: lambda family=family, y=y: sklearn_loss.gradient_hessian(
                    family, y, eta, *theirs, THREADS
                ),
                memory.NAME: lambda y=y: memory.copy((y, eta), theirs),
            },
            {sklearn_loss.NAME: 2.0},
        )
        problem.ours()
        problem.rivals[sklearn_loss.NAME]()
        problem.disagreement[sklearn_loss.NAME] = max(map(relative_difference, ours, theirs))
        yield problem
    y = rng.normal(size=n)
    yield Problem(
        f"gradient and Hessian, squared error, {n:,}",
        lambda: nl.Gaussian(scale=1.0).gradient_hessian(y, eta, out=ours, threads=THREADS),
        {memory.NAME: lambda: memory.copy((y, eta), theirs)},
        {memory.NAME: 1 / 1.3},
        rounds=15,
    )


def tweedie_density(n: int = 1_000_000) -> Iterator[Problem]:
    """The exact log density of draws: from few jumps, where rivals need few terms, to many."""
    for mean, power, dispersion in ((1.0, 1.5, 1.0), (10.0, 1.7, 2.0), (1000.0, 1.5, 100.0), (1.0, 1.5, 0.1)):
        law = nl.Tweedie(mean, power, dispersion)
        y = law.sample(n, rng=0)
        arguments = (y, mean, power, dispersion)
        rivals = {
            tweedie_package.NAME: lambda arguments=arguments: tweedie_package.log_density(*arguments),
            scipy_functions.WRIGHT: lambda arguments=arguments: scipy_functions.log_density(*arguments),
        }
        problem = Problem(
            f"Tweedie log density, mean {mean:g}, power {power:g}, dispersion {dispersion:g}, {n:,}",
            lambda law=law, y=y: law.nll(y),
            rivals,
            {tweedie_package.NAME: 100.0, scipy_functions.WRIGHT: 5.0},
            rounds=3,
        )
        problem.disagreement = {name: relative_difference(-run(), law.nll(y)) for name, run in rivals.items()}
        yield problem


def rows(n: int = 1_000_000, classes: int = 10) -> Iterator[Problem]:
    """Entropy and divergence of many rows."""
    rng = np.random.default_rng(0)
    p, q = rng.dirichlet(np.ones(classes), n), rng.dirichlet(np.ones(classes), n)
    for name, ours, rivals in (
        (
            "entropy",
            lambda: nl.entropy(p),
            {
                scipy_functions.STATS: lambda: scipy_functions.entropy(p),
                scipy_functions.SPECIAL + ".entr": lambda: scipy_functions.entropy_sum(p),
            },
        ),
        (
            "KL divergence",
            lambda: nl.kl_divergence(p, q),
            {
                scipy_functions.STATS: lambda: scipy_functions.kl(p, q),
                scipy_functions.SPECIAL + ".rel_entr": lambda: scipy_functions.kl_sum(p, q),
            },
        ),
    ):
        problem = Problem(f"{name} of {n:,} × {classes}", ours, rivals, dict.fromkeys(rivals, 1.0), rounds=5)
        problem.disagreement = {rival: relative_difference(run(), ours()) for rival, run in rivals.items()}
        yield problem


def fresh_import(statement: str) -> Callable[[], object]:
    """A new interpreter that does one import."""
    return lambda: subprocess.run([sys.executable, "-c", statement], check=True)


def imports() -> Problem:
    """First use: what `import neglog` costs beyond the libraries it stands on."""
    return Problem(
        "import in a fresh interpreter",
        fresh_import("import neglog"),
        {"import numpy, scipy": fresh_import("import numpy, scipy")},
        {},
        rounds=9,
    )
