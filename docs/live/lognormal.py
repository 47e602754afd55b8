"""One amount under a log-normal law: its three centres and the parts of its loss."""

import numpy as np

import neglog as nl


def data() -> dict:
    return {}


def expected(loc: float, scale: float, y: float) -> dict[str, float]:
    law = nl.LogNormal(loc, scale)
    gaussian = float(nl.Gaussian(loc, scale).nll(np.log(y)))
    return {
        "mode": float(np.exp(loc - scale**2)),
        "median": float(law.median()),
        "mean": float(law.mean()),
        "jacobian": float(law.nll(y)) - gaussian,
        "gaussian": gaussian,
        "nll": float(law.nll(y)),
    }
