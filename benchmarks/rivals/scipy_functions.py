"""SciPy: Wright's Bessel function for the Tweedie density, entropy and relative entropy for rows."""

import numpy as np
from scipy import special, stats

WRIGHT = "SciPy log_wright_bessel"
STATS = "scipy.stats.entropy"
SPECIAL = "scipy.special"


def log_density(y, mean, power, dispersion):
    """log f(y) for 1 < power < 2; at 0 the log of the mass."""
    alpha = (2 - power) / (1 - power)
    exponent = (y * mean ** (1 - power) / (1 - power) - mean ** (2 - power) / (2 - power)) / dispersion
    with np.errstate(divide="ignore", invalid="ignore"):
        t = (power - 1) ** alpha * y**-alpha / (dispersion ** (1 - alpha) * (2 - power))
        return np.where(y == 0, exponent, special.log_wright_bessel(-alpha, 0.0, t) - np.log(y) + exponent)


def entropy(p):
    """Rows, by the function people call."""
    return stats.entropy(p, axis=-1)


def entropy_sum(p):
    """Rows, by the elementary function."""
    return special.entr(p).sum(axis=-1)


def kl(p, q):
    """Rows, by the function people call."""
    return stats.entropy(p, q, axis=-1)


def kl_sum(p, q):
    """Rows, by the elementary function."""
    return special.rel_entr(p, q).sum(axis=-1)
