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


def log_odds(link: str, eta: Tensor) -> Tensor:
    """The log odds of a share at a raw prediction; with the logit link that is eta itself."""
    if link == "logit":
        return eta
    yes, no = log_probabilities(link, eta)
    return yes - no


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


@of("asymmetriclaplace", location)
def asymmetric_laplace(y: Tensor, centre: Tensor, log_scale: Tensor, quantile: Tensor | float) -> Tensor:
    """The pinball loss of z = (y - centre) / scale, normalised; at the kink the middle of the subgradients."""
    z = (y - centre) * torch.exp(-log_scale)
    share = torch.as_tensor(quantile, dtype=z.dtype, device=z.device)
    return z * (share - (0.5 - 0.5 * torch.sign(z))) + log_scale - torch.log(share) - torch.log1p(-share)


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


@of("weibull", log_mean)
def weibull(y: Tensor, t: Tensor, log_shape: Tensor) -> Tensor:
    """(y / scale)^shape is exponential; t = log(scale)."""
    log_y = torch.log(y)
    return excess(torch.exp(log_shape) * (log_y - t)) + log_y + 1 - log_shape


@of("inversegaussian", log_mean)
def inverse_gaussian(y: Tensor, t: Tensor, log_dispersion: Tensor) -> Tensor:
    """(y/mean - 1)^2 / (2 dispersion y) with t = log(mean), and the constants."""
    log_y = torch.log(y)
    z = torch.expm1(log_y - t) * torch.exp(-0.5 * (log_dispersion + log_y))
    return 0.5 * z * z + 1.5 * log_y + 0.5 * log_dispersion + HALF_LOG_TWO_PI


@of("betaproportion", log_odds)
def beta_proportion(y: Tensor, odds: Tensor, log_precision: Tensor) -> Tensor:
    """The precision times the divergence of y from the mean, and what Stirling's formula leaves out."""
    precision = torch.exp(log_precision)
    log_p, log_q = functional.logsigmoid(odds), functional.logsigmoid(-odds)
    p, q = torch.exp(log_p), torch.exp(log_q)

    def part(share: Tensor, log_share: Tensor, mean: Tensor, log_mean: Tensor) -> Tensor:
        x = log_share - log_mean
        near = torch.abs(x) < 1
        return torch.where(near, mean * excess(torch.where(near, x, 0.0)), share - mean - mean * x)

    log_y, log_rest = torch.log(y), torch.log1p(-y)
    divergence = part(y, log_y, p, log_p) + part(1 - y, log_rest, q, log_q)
    left = stirling_error(precision * p) + stirling_error(precision * q) - stirling_error(precision)
    return precision * divergence + left + log_y + log_rest + HALF_LOG_TWO_PI - 0.5 * (log_precision + log_p + log_q)


@of("sinharcsinh", location)
def sinh_arcsinh(y: Tensor, centre: Tensor, log_scale: Tensor, skew: Tensor | float, log_tail: Tensor) -> Tensor:
    """sinh(u)^2 / 2 - log cosh(u) + log(1 + z^2) / 2 with u = tail asinh(z) - skew, and the constants."""
    z = (y - centre) * torch.exp(-log_scale)
    u = torch.exp(log_tail) * torch.asinh(z) - skew
    s = torch.sinh(u)
    bell = 0.5 * s * s - torch.logaddexp(u, -u) + math.log(2)
    return bell + 0.5 * torch.log1p(z * z) + log_scale - log_tail + HALF_LOG_TWO_PI


def categorical(y: Tensor, eta: Tensor) -> Tensor:
    """Minus the log-softmax of the class y, over the last axis of eta."""
    return -functional.log_softmax(eta, dim=-1).gather(-1, y.unsqueeze(-1)).squeeze(-1)


# ---- ordered classes -------------------------------------------------------------------------------------------------

# Gauss and Legendre's twelve points and weights
NODES = (
    0.1252334085114689,
    0.3678314989981802,
    0.5873179542866175,
    0.7699026741943047,
    0.9041172563704749,
    0.9815606342467192,
)
WEIGHTS = (
    0.2491470458134028,
    0.2334925365383548,
    0.2031674267230659,
    0.1600783285433462,
    0.1069393259953184,
    0.0471753363865118,
)


def latent(link: str, eta: Tensor) -> tuple[str, Tensor]:
    """The raw prediction, and the link, which says what law is around it."""
    return link, eta


def in_order(raw: Tensor) -> Tensor:
    """Numbers that increase: the first, and the logs of the gaps between them."""
    return torch.cumsum(torch.cat([raw[..., :1], torch.exp(raw[..., 1:])], dim=-1), dim=-1)


def log_gaussian_cell(low: Tensor, high: Tensor) -> Tensor:
    """log(Phi(high) - Phi(low)): from the nearer tail, and by quadrature of the density where the cell is narrow."""
    mirrored = low + high > 0
    b, a = torch.where(mirrored, -high, low), torch.where(mirrored, -low, high)  # |a| <= |b|, b below 0
    width = a - b
    narrow = width * torch.clamp(-b, min=1.0) < 2
    far_a, far_b = torch.where(narrow, 0.0, a), torch.where(narrow, -2.0, b)
    top = torch.special.log_ndtr(far_a)
    wide = top + log1mexp(top - torch.special.log_ndtr(far_b))
    middle, half = torch.where(narrow, 0.5 * (a + b), 0.0), torch.where(narrow, 0.5 * width, 1.0)
    x = low.new_tensor([*(-node for node in NODES), *NODES]) * half.unsqueeze(-1)
    shares = low.new_tensor([*WEIGHTS, *WEIGHTS]) * torch.exp(-x * (middle.unsqueeze(-1) + 0.5 * x))
    near = torch.log(half) - 0.5 * middle * middle - HALF_LOG_TWO_PI + torch.log(shares.sum(-1))
    return torch.where(narrow, near, wide)


@of("ordinal", latent)
def ordinal(y: Tensor, at: tuple[str, Tensor], order_edges: Tensor) -> Tensor:
    """-log(F(high - eta) - F(low - eta)), with the two edges of the class; the outer classes have one."""
    (link, eta), edges = at, in_order(order_edges)
    last, own = edges.shape[-1], y.long()
    below, above = own > 0, own < last
    low, high = edges[torch.clamp(own - 1, min=0)] - eta, edges[torch.clamp(own, max=last - 1)] - eta
    inner = below & above
    if link == "logit":
        ends = torch.where(above, functional.logsigmoid(high), 0.0) + torch.where(
            below, functional.logsigmoid(-low), 0.0
        )
        return -ends - torch.where(inner, log1mexp(torch.where(inner, high - low, 1.0)), 0.0)
    end = torch.special.log_ndtr(torch.where(above, high, -low))
    safe_low, safe_high = torch.where(inner, low, -1.0), torch.where(inner, high, 1.0)
    return -torch.where(inner, log_gaussian_cell(safe_low, safe_high), end)
