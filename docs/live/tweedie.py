"""The Tweedie law on a coarse grid of powers, dispersions and means."""

import numpy as np

import neglog as nl

POWERS = np.round(np.arange(1.1, 1.95, 0.1), 10)
DISPERSIONS = np.arange(0.5, 3.1, 0.5)
MEANS = np.arange(1.0, 4.1, 0.5)
Y = np.arange(0.125, 10.1, 0.125)


def data() -> dict:
    law = nl.Tweedie(mean=MEANS[:, None], power=POWERS[:, None, None, None], dispersion=DISPERSIONS[:, None, None])
    return {
        "grid": {
            "powers": POWERS.tolist(),
            "dispersions": DISPERSIONS.tolist(),
            "means": MEANS.tolist(),
            "y": Y.tolist(),
        },
        "nll": np.round(law.nll(Y), 5).tolist(),
    }


def expected(mean: float, dispersion: float, power: float, y: float) -> dict[str, float]:
    law = nl.Tweedie(mean=mean, power=power, dispersion=dispersion)
    return {
        "atom": float(law.pdf(0.0)),
        "variance": float(law.variance()),
        "events": float(law.nll(0.0)),
        "nll": float(law.nll(y)),
    }
