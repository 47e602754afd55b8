"""The inverse Gaussian, which is Tweedie with power 3: tails, quantiles, entropy."""

from typing import Any

import numpy as np
from scipy import special

from neglog.distributions.quantiles import positive_root


def tail(y: Any, mean: Any, dispersion: Any, upper: bool) -> Any:
    """P(Y <= y), or P(Y > y): two normal tails, the second with a large factor that stays in the exponent."""
    inside = np.maximum(y, 0)
    root = 1 / np.sqrt(dispersion * inside)
    gap = root * (inside / mean - 1)
    reflected = 2 / (dispersion * mean) + special.log_ndtr(-root * (inside / mean + 1))
    if upper:
        first = special.log_ndtr(-gap)
        value = -np.exp(first) * np.expm1(reflected - first)
        return np.where(y <= 0, 1.0, np.where(y == np.inf, 0.0, value))
    value = np.exp(np.logaddexp(special.log_ndtr(gap), reflected))
    return np.where(y <= 0, 0.0, np.where(y == np.inf, 1.0, value))


def quantile(q: Any, mean: Any, dispersion: Any, upper: bool) -> Any:
    """The y at which the tail is q."""
    return positive_root(lambda y, m, phi: tail(y, m, phi, upper), q, upper, mean, mean, dispersion)


def entropy(mean: Any, dispersion: Any) -> Any:
    """log(2 pi phi)/2 + 1/2 + 3/2 E[log y], with E[log y] = log(mean) - e^x E1(x), x = 2 / (phi mean)."""
    return 0.5 * np.log(2 * np.pi * dispersion) + 0.5 + 1.5 * (np.log(mean) - scaled_exp1(2 / (dispersion * mean)))


def scaled_exp1(x: Any) -> Any:
    """e^x E1(x); beyond 50 by its asymptotic series, whose terms still fall at k = 20."""
    x = np.asarray(x, float)
    small = np.minimum(x, 50.0)
    series = np.ones_like(x)
    for k in range(20, 0, -1):
        series = 1 - k / np.maximum(x, 50.0) * series
    return np.where(x < 50, np.exp(small) * special.exp1(small), series / x)[()]
