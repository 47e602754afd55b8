"""Entropy of four outcomes whose weights are set by sliders."""

import numpy as np

import neglog as nl


def data():
    """The largest entropy that four outcomes can have."""
    return {"bound": float(np.log(4))}


def expected(a, b, c, d):
    """What the readouts show for these weights."""
    nats = nl.entropy([a, b, c, d], normalize=True)
    bits = nl.entropy([a, b, c, d], base=2, normalize=True)
    return {"nats": float(nats), "bits": float(bits), "bound": float(np.log(4)), "outcomes": float(np.exp(nats))}
