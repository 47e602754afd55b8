"""One count and a mean: the Poisson loss in its two forms."""

import neglog as nl


def data() -> dict:
    return {}


def expected(mean: float, y: float) -> dict[str, float]:
    law = nl.Poisson(mean)
    nll, loss = float(law.nll(y)), float(law.loss(y, mean))
    return {"mass": float(law.pdf(y)), "nll": nll, "loss": loss, "rest": nll - loss}
