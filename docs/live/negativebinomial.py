"""One count, a mean and a dispersion: the negative binomial loss beside the Poisson loss."""

import numpy as np
from scipy import stats


def data() -> dict:
    return {}


def expected(mean: float, dispersion: float, y: float, power: float) -> dict[str, float]:
    size = mean ** (2 - power) / dispersion
    law, poisson = stats.nbinom(size, size / (size + mean)), stats.poisson(mean)
    return {
        "nll": float(-law.logpmf(y)),
        "poisson": float(-poisson.logpmf(y)),
        "zero": float(law.pmf(0)),
        "poisson_zero": float(np.exp(-mean)),
        "variance": float(law.var()),
    }
