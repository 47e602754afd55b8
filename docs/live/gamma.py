"""One amount, a mean and a shape: the Gamma loss."""

import numpy as np

import neglog as nl


def data() -> dict:
    return {}


def expected(mean: float, shape: float, y: float) -> dict[str, float]:
    law = nl.Gamma(mean, shape)
    _, gradient, _ = nl.Gamma(shape=shape).derivatives(y, np.log(mean))
    return {
        "nll": float(law.nll(y)),
        "loss": float(law.loss(y, mean)),
        "gradient": float(gradient),
        "variation": float(np.sqrt(law.variance()) / law.mean()),
    }
