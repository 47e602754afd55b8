"""H(P, Q) as a sum: the entropy of P, and the divergence of Q that continues it."""

import numpy as np

import neglog as nl

TRUTHS = {"skewed": [0.5, 0.3, 0.2], "even": [1 / 3, 1 / 3, 1 / 3], "label": [1.0, 0.0, 0.0]}
BASES = {"nats": float(np.e), "bits": 2.0}


def data():
    """The truths with their entropies, and the bases of the two units."""
    return {"truths": TRUTHS, "entropies": {name: float(nl.entropy(p)) for name, p in TRUTHS.items()}, "bases": BASES}


def expected(truth, unit, a, b, c):
    """What the readouts show for this truth and these weights of Q."""
    p, base = TRUTHS[truth], BASES[unit]
    q = np.array([a, b, c]) / (a + b + c)
    return {
        "entropy": float(nl.entropy(p, base=base)),
        "divergence": float(nl.kl_divergence(p, q, base=base)),
        "cross": float(nl.cross_entropy(p, q, base=base)),
    }
