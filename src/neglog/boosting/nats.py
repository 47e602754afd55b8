"""The metric: the mean nll of held-out rows, every constant included."""

from typing import Any

import numpy as np

from neglog.boosting.estimation import estimated
from neglog.boosting.laws import law_of
from neglog.distributions.noise import Noise
from neglog.typing import Numbers

NAME = "nats"


def mean_nats(noise: Noise, y: Any, raw: Numbers, weight: Numbers | None) -> float:
    """Nats per unit of weight at the raw predictions. What the noise leaves open is at its best for these rows.

    >>> import numpy as np, neglog as nl
    >>> round(mean_nats(nl.Poisson(), np.array([0.0, 1.0]), np.zeros(2), None), 6)
    1.0
    """
    with np.errstate(all="ignore"):
        filled = estimated(noise, y, raw, weight)
        nats = np.asarray(law_of(filled, raw).nll(y))
    counted = nats if weight is None else np.where(weight > 0, nats, 0.0)
    mean = float(np.average(counted, weights=weight))
    return mean if np.isfinite(mean) else np.inf
