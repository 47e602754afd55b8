"""Tweedie laws with 1 < power < 2 in mpmath: the compound Poisson series, summed with its derivatives.

    Y = X_1 + ... + X_N,  N ~ Poisson(rate),  X_i ~ Gamma(shape nu, scale gam)
    rate = mean^(2-p) / (phi (2-p)),  nu = (2-p) / (p-1),  gam = phi (p-1) mean^(p-1)

For y > 0, conditioning on N = j gives

    -log f(y) = log y - log W + (kappa - y theta) / phi,      W = sum over j >= 1 of W_j,
    log W_j = j L - log Gamma(j+1) - log Gamma(j nu),
    L = nu log(y / (p-1)) - (1 + nu) log phi - log(2-p),
    theta = mean^(1-p) / (1-p),  kappa = mean^(2-p) / (2-p).

All W_j are positive, and d log W / d(parameter) is the mean of d log W_j / d(parameter) under weights W_j.
"""

from functools import cache, lru_cache

from mpmath import digamma, exp, log, loggamma, mpf, sqrt
from oracle_sums import climb, gamma_tails, sum_over_integers


def compound(mean, power, dispersion):
    """(rate, nu, gam) of the compound Poisson representation."""
    rate = mean ** (2 - power) / (dispersion * (2 - power))
    return rate, (2 - power) / (power - 1), dispersion * (power - 1) * mean ** (power - 1)


@lru_cache(maxsize=4)
def series(y, power, dispersion, every_term=False):
    """log W, and under the weights W_j the means of j and of j * digamma(j nu)."""
    nu = (2 - power) / (power - 1)
    drift = nu * log(y / (power - 1)) - (1 + nu) * log(dispersion) - log(2 - power)

    def log_term(j):
        return j * drift - loggamma(j + 1) - loggamma(j * nu)

    peak = max(1, int(y ** (2 - power) / (dispersion * (2 - power))))
    top = log_term(peak)

    def term(j):
        weight = exp(log_term(j) - top)
        return weight, weight * j, weight * j * digamma(j * nu)

    width = 1 if every_term else sqrt((power - 1) * peak)
    total, first, second = sum_over_integers(term, peak, width, first=1)
    return top + log(total), first / total, second / total


def nll(y, mean, power, dispersion):
    if y == 0:
        return compound(mean, power, dispersion)[0]
    theta, kappa = mean ** (1 - power) / (1 - power), mean ** (2 - power) / (2 - power)
    return log(y) - series(y, power, dispersion)[0] + (kappa - y * theta) / dispersion


def gradient(y, mean, power, dispersion):
    """Partial derivatives of -log p in (mean, dispersion, power)."""
    p, phi = power, dispersion
    theta, kappa = mean ** (1 - p) / (1 - p), mean ** (2 - p) / (2 - p)
    d_mean = (mean - y) / (phi * mean**p)
    d_theta = theta * (1 / (1 - p) - log(mean))
    d_kappa = kappa * (1 / (2 - p) - log(mean))
    d_phi = (y * theta - kappa) / phi**2
    d_power = (d_kappa - y * d_theta) / phi
    if y > 0:
        _, mean_j, mean_j_digamma = series(y, p, phi)
        nu, d_nu = (2 - p) / (p - 1), -1 / (p - 1) ** 2
        d_drift = d_nu * log(y / ((p - 1) * phi)) - nu / (p - 1) + 1 / (2 - p)
        d_phi += (1 + nu) / phi * mean_j
        d_power -= d_drift * mean_j - d_nu * mean_j_digamma
    return d_mean, d_phi, d_power


def tails(y, mean, power, dispersion):
    """(cdf, sf): Poisson mixtures of incomplete gamma functions, both sums of positive terms."""
    rate, nu, gam = compound(mean, power, dispersion)
    zero = exp(-rate)
    if y == 0:
        return zero, 1 - zero
    sums = []
    for side in (0, 1):

        @cache
        def term(n, side=side):
            chance = exp(n * log(rate) - rate - loggamma(n + 1))
            return (chance * gamma_tails(n * nu, y / gam)[side],)

        peak = climb(lambda n: term(n)[0], first=1, guess=rate)
        width = sqrt(min(peak, peak / nu))  # of the Poisson weight, and of the gamma tail as a function of n
        sums += sum_over_integers(term, peak, width, first=1)
    lower, upper = sums
    lower += zero
    assert abs(lower + upper - 1) < mpf(10) ** -30
    return lower, upper
