"""The package `tweedie` of PyPI: Dunn and Smyth's series in NumPy."""

import tweedie

NAME = "PyPI tweedie"


def log_density(y, mean, power, dispersion):
    """log f(y)."""
    return tweedie.tweedie(mu=mean, p=power, phi=dispersion).logpdf(y)
