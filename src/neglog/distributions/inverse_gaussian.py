"""The inverse Gaussian, which is Tweedie with power 3: tails, quantiles, entropy."""

from typing import Any

import numpy as np

from neglog.distributions.lazy import special
from neglog.distributions.quantiles import positive_root
from neglog.distributions.special import scaled_exp1


def tail(y: Any, mean: Any, dispersion: Any, upper: bool) -> Any:
    """P(Y <= y), or P(Y > y): two normal tails, the second with a large factor."""
    inside = np.maximum(y, 0)
    root = 1 / np.sqrt(dispersion * inside)
    near, far = root * (inside / mean - 1), root * (inside / mean + 1)
    # exp(2 / (phi mean)) Phi(-far) = exp(-near^2 / 2) erfcx(far / sqrt 2) / 2: the large exponents cancel exactly
    bell, reflected = 0.5 * np.exp(-0.5 * near**2), special.erfcx(far / np.sqrt(2))
    if upper:
        beyond = bell * (special.erfcx(near / np.sqrt(2)) - reflected)
        value = np.where(near > 0, beyond, special.ndtr(-near) - bell * reflected)
        return np.where(y <= 0, 1.0, np.where(y == np.inf, 0.0, value))
    value = special.ndtr(near) + bell * reflected
    return np.where(y <= 0, 0.0, np.where(y == np.inf, 1.0, value))


def quantile(q: Any, mean: Any, dispersion: Any, upper: bool) -> Any:
    """The y at which the tail is q."""
    return positive_root(lambda y, m, phi: tail(y, m, phi, upper), q, upper, mean, mean, dispersion)


def entropy(mean: Any, dispersion: Any) -> Any:
    """log(2 pi phi)/2 + 1/2 + 3/2 E[log y], with E[log y] = log(mean) - e^x E1(x), x = 2 / (phi mean)."""
    return 0.5 * np.log(2 * np.pi * dispersion) + 0.5 + 1.5 * (np.log(mean) - scaled_exp1(2 / (dispersion * mean)))
