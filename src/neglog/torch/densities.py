"""-log p(y) of each noise at a raw prediction, every constant included, in torch operations.

The formulas are those of the native core (families.hpp): ratios as differences of logs, factorials by Stirling's error,
so that nothing overflows or cancels that need not. Parameters come as their logs. Every function is for y in the
support and eta in the domain of the link; the caller sees to the rest.
"""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

HALF_LOG_TWO_PI = 0.5 * math.log(2 * math.pi)

# B_2k / (2k (2k-1)): eight terms of Stirling's series are exact to 1e-17 from 10 on
STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156, -3617 / 122400)


# ---- functions -------------------------------------------------------------------------------------------------------


def excess(x: Tensor) -> Tensor:
    """e^x - 1 - x >= 0: with x the log of a ratio r it is r - 1 - log r, what a wrong mean costs."""
    return torch.expm1(x) - x


def stirling_error(x: Tensor) -> Tensor:
    """log Gamma(x + 1) - [(x + 1/2) log x - x + log(2 pi)/2] for x > 0: what Stirling's formula leaves out."""
    small = x < 10  # raised by 10, as the core does: derivatives of lgamma itself have fewer digits
    low, raised = torch.where(small, x, 1.0), torch.where(small, x + 10, x)
    inverse = raised.reciprocal()
    square = inverse * inverse
    series = torch.full_like(inverse, STIRLING[-1])
    for coefficient in STIRLING[-2::-1]:
        series = series * square + coefficient
    product = low + 1
    for k in range(2, 11):
        product = product * (low + k)
    lift = (low + 10.5) * torch.log(low + 10) - 10 - torch.log(product) - (low + 0.5) * torch.log(low)
    return series * inverse + torch.where(small, lift, 0.0)


def log1mexp(u: Tensor) -> Tensor:
    """log(1 - e^-u) for u >= 0, by whichever of two forms keeps its digits."""
    near = u < math.log(2)
    low, high = torch.where(near, u, 0.5), torch.where(near, 1.0, u)
    return torch.where(near, torch.log(-torch.expm1(-low)), torch.log1p(-torch.exp(-high)))


# ---- links -----------------------------------------------------------------------------------------------------------


def location(link: str, eta: Tensor) -> Tensor:
    """The location, of either sign, at a raw prediction."""
    if link == "log":
        return torch.exp(eta)
    if link == "inverse":
        return eta.reciprocal()
    return eta.square() if link == "sqrt" else eta


def log_mean(link: str, eta: Tensor) -> Tensor:
    """The log of a positive mean at a raw prediction; with the log link that is eta itself."""
    if link == "log":
        return eta
    return {"identity": 1.0, "inverse": -1.0, "sqrt": 2.0}[link] * torch.log(eta)


def log_probabilities(link: str, eta: Tensor) -> tuple[Tensor, Tensor]:
    """log p and log(1 - p) of a yes, neither from the other."""
    if link == "logit":
        return functional.logsigmoid(eta), functional.logsigmoid(-eta)
    if link == "probit":
        return torch.special.log_ndtr(eta), torch.special.log_ndtr(-eta)
    if link == "cloglog":
        u = torch.exp(eta)
        small = u < 0.1  # there log((1 - e^-u) / u) by its Taylor series, which u = 0 does not disturb
        low, high = torch.where(small, u, 0.0), torch.where(small, 1.0, u)
        square = low * low
        series = square * (1 / 24 - square * (1 / 2880 - square * (1 / 181440 - square / 9676800))) - 0.5 * low
        return torch.where(small, eta + series, log1mexp(high)), -u
    if link == "log":
        return eta, log1mexp(-eta)
    return torch.log(eta), torch.log1p(-eta)


# ---- noises ----------------------------------------------------------------------------------------------------------


Formula = Callable[..., Tensor]
FORMULAS: dict[str, tuple[Formula, Callable[[str, Tensor], Any]]] = {}


def of(family: str, coordinate: Callable[[str, Tensor], Any]) -> Callable[[Formula], Formula]:
    """Decorator: the formula of a noise, by the name of its kernel, and what it takes of link and raw prediction."""

    def keep(function: Formula) -> Formula:
        FORMULAS[family] = function, coordinate
        return function

    return keep


def itself(link: str, eta: Tensor) -> Tensor:
    """The raw prediction as it is."""
    return eta


@of("gaussian", location)
def gaussian(y: Tensor, centre: Tensor, log_scale: Tensor) -> Tensor:
    """(y - centre)^2 / (2 scale^2) and the constant."""
    z = (y - centre) * torch.exp(-log_scale)
    return 0.5 * z * z + log_scale + HALF_LOG_TWO_PI


@of("laplace", location)
def laplace(y: Tensor, centre: Tensor, log_scale: Tensor) -> Tensor:
    """|y - centre| / scale + log(2 scale)."""
    return torch.abs(y - centre) * torch.exp(-log_scale) + log_scale + math.log(2)


@of("huber", location)
def huber(y: Tensor, centre: Tensor, log_scale: Tensor, log_delta: Tensor) -> Tensor:
    """Huber's loss of z = (y - centre) / scale, normalised.

    Written with z cut off at +-delta, so that no |z| puts a kink at 0 into the second derivative.
    """
    delta = torch.exp(log_delta)
    z = (y - centre) * torch.exp(-log_scale)
    cut = torch.clamp(z, -delta, delta)
    tails = 2 * torch.exp(-0.5 * delta * delta) / delta
    normaliser = math.sqrt(2 * math.pi) * torch.erf(delta * math.sqrt(0.5)) + tails
    return cut * (z - 0.5 * cut) + log_scale + torch.log(normaliser)


@of("studentt", location)
def student_t(y: Tensor, centre: Tensor, log_scale: Tensor, log_df: Tensor) -> Tensor:
    """(df + 1) / 2 log(1 + z^2 / df) and the constant, that of the Gaussian and what is left of two log Gammas."""
    df = torch.exp(log_df)
    z = (y - centre) * torch.exp(-log_scale)
    half = 0.5 * df
    rest = 0.5 - half * torch.log1p(1 / df) + stirling_error(half) - stirling_error(half + 0.5)
    return (half + 0.5) * torch.log1p(z * z / df) + log_scale + HALF_LOG_TWO_PI + rest


@of("lognormal", itself)
def lognormal(y: Tensor, centre: Tensor, log_scale: Tensor) -> Tensor:
    """The Gaussian of log y, and log y from the change of variables."""
    log_y = torch.log(y)
    return gaussian(log_y, centre, log_scale) + log_y


@of("poisson", log_mean)
def poisson(y: Tensor, t: Tensor) -> Tensor:
    """mean - y log(mean) + log(y!) with t = log(mean), arranged around y = mean, where large counts cancel."""
    some = y > 0
    count = torch.where(some, y, 1.0)
    log_count = torch.log(count)
    nats = count * excess(t - log_count) + stirling_error(count) + 0.5 * log_count + HALF_LOG_TWO_PI
    return torch.where(some, nats, torch.exp(t))


@of("negativebinomial", log_mean)
def negative_binomial(y: Tensor, t: Tensor, log_dispersion: Tensor, power: Tensor | float) -> Tensor:
    """The deviance, and what Stirling's formula leaves out: r is the shape of the mixture. Near y = mean of large r by
    Poisson's deviance less that of r + y, because there logarithms cancel.
    """
    r, mean = torch.exp((2 - power) * t - log_dispersion), torch.exp(t)
    some = y > 0
    count = torch.where(some, y, 1.0)
    log_count = torch.log(count)
    u = (mean - y) / (r + y)
    small = torch.abs(u) < 0.5
    x = torch.where(small, torch.log1p(torch.where(small, u, 0.0)), torch.log((r + mean) / (r + y)))
    away = torch.abs(t - log_count)
    near = some & (away < 1) & ((r > y) | (y * away < r))
    close = count * excess(t - log_count) - (r + y) * excess(x)
    deviance = torch.where(near, close, r * x + y * (torch.log1p(r / mean) - torch.log1p(r / count)))
    factorial = torch.where(some, stirling_error(count) + 0.5 * log_count + HALF_LOG_TWO_PI, 0.0)
    return deviance + 0.5 * torch.log1p(y / r) + stirling_error(r) - stirling_error(r + y) + factorial


@of("gamma", log_mean)
def gamma(y: Tensor, t: Tensor, log_shape: Tensor) -> Tensor:
    """shape (y/mean - 1 - log(y/mean)) with t = log(mean), log y, and the constant of the shape."""
    log_y, shape = torch.log(y), torch.exp(log_shape)
    return log_y + shape * excess(log_y - t) + HALF_LOG_TWO_PI - 0.5 * log_shape + stirling_error(shape)


@of("bernoulli", log_probabilities)
def bernoulli(y: Tensor, logs: tuple[Tensor, Tensor]) -> Tensor:
    """-y log p - (1 - y) log(1 - p); a y between 0 and 1 is a share of yeses."""
    yes, no = logs
    return -torch.where(y == 0, 0.0, y * yes) - torch.where(y == 1, 0.0, (1 - y) * no)


def categorical(y: Tensor, eta: Tensor) -> Tensor:
    """Minus the log-softmax of the class y, over the last axis of eta."""
    return -functional.log_softmax(eta, dim=-1).gather(-1, y.unsqueeze(-1)).squeeze(-1)
