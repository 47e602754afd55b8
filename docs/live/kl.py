"""Two Gaussians and the divergence in both directions."""

import neglog as nl


def data():
    """Where the densities are drawn."""
    return {"low": -8.0, "high": 8.0, "points": 321}


def expected(mean_p, scale_p, mean_q, scale_q, **_):
    """What the readouts show for these Gaussians."""
    p, q = nl.Gaussian(mean_p, scale_p), nl.Gaussian(mean_q, scale_q)
    return {"forward": float(nl.kl_divergence(p, q)), "reverse": float(nl.kl_divergence(q, p))}
