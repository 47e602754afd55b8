"""The families in mpmath: -log p, both tails, and derivatives in the raw predictor.

Formulas are the textbook ones. Nothing here is written for speed or for double precision:
cancellation is paid for with digits. The compound Poisson case of Tweedie has its own file.
"""

import oracle_tweedie as tweedie
from mpmath import erf, erfc, exp, expm1, log, log1p, loggamma, mp, mpf, ncdf, npdf, pi, sign, sqrt
from oracle_sums import beta_tails, gamma_tails

# ---- -log p --------------------------------------------------------------------------------------


def huber_constant(delta):
    return sqrt(2 * pi) * erf(delta / sqrt(2)) + 2 / delta * exp(-(delta**2) / 2)


def gaussian_nll(y, loc, scale):
    return log(2 * pi * scale**2) / 2 + ((y - loc) / scale) ** 2 / 2


def laplace_nll(y, loc, scale):
    return log(2 * scale) + abs(y - loc) / scale


def huber_nll(y, loc, scale, delta):
    z = abs(y - loc) / scale
    return log(scale * huber_constant(delta)) + (z**2 / 2 if z <= delta else delta * z - delta**2 / 2)


def poisson_nll(y, mean):
    return mean - y * log(mean) + loggamma(y + 1)


def gamma_nll(y, mean, shape):
    return shape * (log(mean) + y / mean) - shape * log(shape) - (shape - 1) * log(y) + loggamma(shape)


def lognormal_nll(y, loc, scale):
    return log(y) + gaussian_nll(log(y), loc, scale)


def bernoulli_nll(y, p):
    return -log(p) if y == 1 else -log1p(-p)


def beta_nll(y, a, b):
    return -(a - 1) * log(y) - (b - 1) * log1p(-y) + loggamma(a) + loggamma(b) - loggamma(a + b)


def dirichlet_nll(y, alpha):
    constant = sum(map(loggamma, alpha)) - loggamma(sum(alpha))
    return constant - sum((a - 1) * log(x) for a, x in zip(alpha, y, strict=True))


def categorical_nll(y, p):
    return -log(p[int(y)])


def tweedie_nll(y, mean, power, dispersion):
    if power == 0:
        return gaussian_nll(y, mean, sqrt(dispersion))
    if power == 1:  # dispersion * Poisson: the mass is that of the count
        return poisson_nll(mp.nint(y / dispersion), mean / dispersion)
    if power == 2:
        return gamma_nll(y, mean, 1 / dispersion)
    if power == 3:
        return log(2 * pi * dispersion * y**3) / 2 + (y - mean) ** 2 / (2 * dispersion * mean**2 * y)
    return tweedie.nll(y, mean, power, dispersion)


NLL = {
    "Gaussian": gaussian_nll,
    "Laplace": laplace_nll,
    "Huber": huber_nll,
    "Poisson": poisson_nll,
    "Gamma": gamma_nll,
    "LogNormal": lognormal_nll,
    "Bernoulli": bernoulli_nll,
    "Beta": beta_nll,
    "Dirichlet": dirichlet_nll,
    "Categorical": categorical_nll,
    "Tweedie": tweedie_nll,
}

# ---- (cdf, sf), each to full relative precision ------------------------------------------------------


def gaussian_tails(y, loc, scale):
    z = (y - loc) / scale / sqrt(2)
    return erfc(-z) / 2, erfc(z) / 2


def symmetric_tails(z, lower_tail):
    small = lower_tail(-abs(z))
    return (small, 1 - small) if z < 0 else (1 - small, small)


def laplace_tails(y, loc, scale):
    return symmetric_tails((y - loc) / scale, lambda z: exp(z) / 2)


def huber_tails(y, loc, scale, delta):
    constant = huber_constant(delta)

    def lower(z):
        if z <= -delta:
            return exp(delta**2 / 2 + delta * z) / (delta * constant)
        return exp(-(delta**2) / 2) / (delta * constant) + sqrt(2 * pi) * (ncdf(z) - ncdf(-delta)) / constant

    return symmetric_tails((y - loc) / scale, lower)


def poisson_tails(y, mean):
    upper, lower = gamma_tails(y + 1, mean)
    return lower, upper


def gamma_law_tails(y, mean, shape):
    return gamma_tails(shape, shape * y / mean)


def lognormal_tails(y, loc, scale):
    return gaussian_tails(log(y), loc, scale)


def bernoulli_tails(y, p):
    return (1 - p, p) if y == 0 else (mpf(1), mpf(0))


def beta_law_tails(y, a, b):
    return beta_tails(a, b, y)


def inverse_gaussian_tails(y, mean, dispersion):
    # The upper tail is a difference of two nearly equal terms: work at twice the digits it can lose.
    with mp.workdps(mp.dps + 700):
        root = sqrt(1 / (dispersion * y))
        z, w = root * (y / mean - 1), -root * (y / mean + 1)
        reflected = exp(2 / (dispersion * mean)) * ncdf(w)
        return +(ncdf(z) + reflected), +(ncdf(-z) - reflected)


def tweedie_tails(y, mean, power, dispersion):
    if power == 0:
        return gaussian_tails(y, mean, sqrt(dispersion))
    if power == 1:
        return poisson_tails(mp.nint(y / dispersion), mean / dispersion)
    if power == 2:
        return gamma_law_tails(y, mean, 1 / dispersion)
    if power == 3:
        return inverse_gaussian_tails(y, mean, dispersion)
    return tweedie.tails(y, mean, power, dispersion)


TAILS = {
    "Gaussian": gaussian_tails,
    "Laplace": laplace_tails,
    "Huber": huber_tails,
    "Poisson": poisson_tails,
    "Gamma": gamma_law_tails,
    "LogNormal": lognormal_tails,
    "Bernoulli": bernoulli_tails,
    "Beta": beta_law_tails,
    "Tweedie": tweedie_tails,
}

# ---- derivatives in eta ------------------------------------------------------------------------------

# Each link gives the location and its first two derivatives in eta.
LINKS = {
    "identity": lambda eta: (eta, mpf(1), mpf(0)),
    "log": lambda eta: (exp(eta), exp(eta), exp(eta)),
    "inverse": lambda eta: (1 / eta, -1 / eta**2, 2 / eta**3),
    "sqrt": lambda eta: (eta**2, 2 * eta, mpf(2)),
}


def location_derivatives(family, y, m, scale=None, delta=None, shape=None, power=None, dispersion=None):
    """(first, second derivative of -log p, Fisher information) in the location m."""
    if family in ("Gaussian", "LogNormal"):
        residual = m - (log(y) if family == "LogNormal" else y)
        return residual / scale**2, 1 / scale**2, 1 / scale**2
    if family == "Laplace":  # the Fisher information is E[s^2]; the second derivative vanishes almost everywhere
        return sign(m - y) / scale, mpf(0), 1 / scale**2
    if family == "Huber":
        z = (m - y) / scale
        tail = exp(-(delta**2) / 2) / (delta * huber_constant(delta))
        inside = abs(z) < delta
        return (z if inside else delta * sign(z)) / scale, inside / scale**2, (1 - 2 * tail) / scale**2
    power, dispersion = {"Poisson": (1, 1), "Gamma": (2, 1 / shape if shape else None)}.get(family, (power, dispersion))
    variance = dispersion * m**power
    return (m - y) / variance, (1 - power * (m - y) / m) / variance, 1 / variance


LOCATION_NAME = {"Poisson": "mean", "Gamma": "mean", "Tweedie": "mean"}


def in_eta(family, parameters, link, y, eta):
    """(nll, gradient, hessian, expected hessian) of -log p in the raw predictor."""
    # Terms as large as exp(800) cancel in some Hessians: carry 800 digits.
    with mp.workdps(800):
        if family == "Bernoulli":
            result = bernoulli_in_eta(link, y, eta)
        else:
            m, m1, m2 = LINKS[link](eta)
            first, second, fisher = location_derivatives(family, y, m, **parameters)
            hessian, expected = second * m1**2 + first * m2, fisher * m1**2
            if abs(hessian) < expected * mpf(10) ** -700:
                hessian = mpf(0)  # the two terms cancel exactly, e.g. y = 0 where the deviance is linear in eta
            result = [m, first * m1, hessian, expected]
    value = result[0]
    if family != "Bernoulli":
        value = NLL[family](y, **{LOCATION_NAME.get(family, "loc"): +value}, **parameters)
    return [value, *(+r for r in result[1:])]


def bernoulli_in_eta(link, y, eta):
    p, q, p1, p2 = BERNOULLI_LINKS[link](eta)
    chance, slope, bend = (p, p1, p2) if y == 1 else (q, -p1, -p2)
    ratio = slope / chance
    surprise = -log(chance) if chance < 0.5 else -log1p(-(q if y == 1 else p))
    return [surprise, -ratio, ratio**2 - bend / chance, p1**2 / (p * q)]


def _logit(eta):
    p, q = 1 / (1 + exp(-eta)), 1 / (1 + exp(eta))
    return p, q, p * q, p * q * (q - p)


def _cloglog(eta):
    rate = exp(eta)
    q = exp(-rate)
    return -expm1(-rate), q, rate * q, rate * (1 - rate) * q


BERNOULLI_LINKS = {
    "logit": _logit,
    "probit": lambda eta: (ncdf(eta), ncdf(-eta), npdf(eta), -eta * npdf(eta)),
    "cloglog": _cloglog,
    "log": lambda eta: (exp(eta), -expm1(eta), exp(eta), exp(eta)),
    "identity": lambda eta: (eta, 1 - eta, mpf(1), mpf(0)),
}


def exact(parameters):
    """Doubles, alone or in lists, as the exact numbers they are."""
    return {k: [mpf(x) for x in v] if isinstance(v, list) else mpf(v) for k, v in parameters.items()}
