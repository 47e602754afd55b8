"""One count, a mean and a dispersion: the negative binomial loss beside the Poisson loss."""

import neglog as nl


def data() -> dict:
    return {}


def expected(mean: float, dispersion: float, y: float, power: float) -> dict[str, float]:
    law, poisson = nl.NegativeBinomial(mean, dispersion, power), nl.Poisson(mean)
    return {
        "nll": float(law.nll(y)),
        "poisson": float(poisson.nll(y)),
        "zero": float(law.pdf(0)),
        "poisson_zero": float(poisson.pdf(0)),
        "variance": float(law.variance()),
    }
