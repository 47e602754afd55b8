"""Cross-entropy of a softmax prediction to a label, or to the shares of three classes."""

import numpy as np

import neglog as nl

TRUTHS = {"label": [0.0, 1.0, 0.0], "shares": [0.2, 0.5, 0.3]}


def data():
    """The two truths and their entropies."""
    return {"truths": TRUTHS, "floors": {name: float(nl.entropy(p)) for name, p in TRUTHS.items()}}


def expected(truth, eta_a, eta_b, eta_c):
    """What the readouts show for these raw predictions."""
    law = nl.Categorical().given([eta_a, eta_b, eta_c])
    p = np.array(TRUTHS[truth])
    nats = float(nl.cross_entropy(nl.Categorical(p), law))
    return {
        "nats": nats,
        "bits": nats / np.log(2),
        "perplexity": float(np.exp(nats)),
        "floor": float(nl.entropy(p)),
        "loss_b": float(law.nll(1)),
    }
