"""The exact Tweedie density in torch operations, differentiable in mean, dispersion and power.

Between powers 1 and 2, y > 0 is a Poisson number of Gamma jumps, and the density a sum over their number j (Dunn and
Smyth 2005, Stat. Comput. 15, 267-280). As in the native core (tweedie.hpp) it is written around mean = y, where with
rate = y^(2-p) / (phi (2-p)), nu = (2-p)/(p-1), S Stirling's error and D(j) = j log(j / rate) - j + rate,

    p(y; mean = y) = sqrt(nu) / (2 pi y) * sum_j exp(-S(j) - S(nu j) - (1 + nu) D(j)),

all terms positive and no exponent cancelling. The terms are a bump around j = rate. A narrow one is summed term by
term; a wide one at equal distances, by the trapezoidal rule, which is exact to 1e-16 for smooth bumps. So one fixed
number of terms serves every row, and tensors keep their shapes.
"""

import math

import torch
from torch import Tensor

from neglog.distributions.tweedie import kind_of
from neglog.torch.densities import (
    HALF_LOG_TWO_PI,
    excess,
    gamma,
    gaussian,
    location,
    log_mean,
    of,
    poisson,
    stirling_error,
)

DROPPED = 34.0  # nats below the largest term at which terms no longer count
WIDE, DEEP = 1.5, 36.0  # a bump is smooth from this width on, if it also falls so many nats on its way to j = 0
STRIDE = 0.7  # of the bump's width: the trapezoidal rule then errs by 2 exp(-2 (pi / 0.7)^2) = 6e-18


@of("tweedie", lambda link, eta: (link, eta))
def tweedie(
    y: Tensor,
    at: tuple[str, Tensor],
    log_dispersion: Tensor,
    power: float | None = None,
    logit_power: Tensor | None = None,
) -> Tensor:
    """-log p(y) for a stated power, or for a learned one between 1 and 2."""
    link, eta = at
    if power is not None and (kind := kind_of(power)) != "compound":
        if kind == "gaussian":
            return gaussian(y, location(link, eta), 0.5 * log_dispersion)
        t = log_mean(link, eta)
        if kind == "poisson":
            return poisson(torch.round(y * torch.exp(-log_dispersion)), t - log_dispersion)
        if kind == "gamma":
            return gamma(y, t, -log_dispersion)
        log_y = torch.log(y)
        shape = half_deviance(log_y, t, eta.new_full((), -1.0), eta.new_full((), -2.0)) * torch.exp(-log_dispersion)
        return shape + HALF_LOG_TWO_PI + 0.5 * log_dispersion + 1.5 * log_y
    if power is None:
        assert logit_power is not None
        above, below = torch.sigmoid(-logit_power), torch.sigmoid(logit_power)
    else:
        above, below = eta.new_full((), 2.0 - power), eta.new_full((), power - 1.0)
    return compound(y, log_mean(link, eta), log_dispersion, above, below, most_terms(power))


def half_deviance(log_y: Tensor, t: Tensor, above: Tensor, below: Tensor) -> Tensor:
    """Half the unit deviance of y > 0 at log mean t, with above = 2 - power and below = 1 - power, neither 0."""
    x = t - log_y
    return torch.exp(above * log_y) * (torch.expm1(above * x) / above - torch.expm1(below * x) / below)


def compound(y: Tensor, t: Tensor, log_dispersion: Tensor, above: Tensor, below: Tensor, terms: int) -> Tensor:
    """-log p(y) for above = 2 - power and below = power - 1, both between 0 and 1."""
    positive = y > 0
    log_y = torch.log(torch.where(positive, y, 1.0))
    # at y = 0 the deviance belongs to no branch, and must not overflow in the one that is not taken
    exponent = half_deviance(log_y, torch.where(positive, t, 0.0), above, -below) * torch.exp(-log_dispersion)
    log_rate = above * log_y - log_dispersion - torch.log(above)
    front = 0.5 * torch.log(above / below) - 2 * HALF_LOG_TWO_PI
    nats = exponent + log_y - front - log_sum(log_rate, above, below, terms)
    return torch.where(positive, nats, torch.exp(above * t - log_dispersion - torch.log(above)))


def most_terms(power: float | None) -> int:
    """The number of terms that suffices for every rate.

    A bump that does not fall DEEP nats before j = 0 has a rate below DEEP / steepness and ends before `reach` times
    that, because D(rate (1 + e)) >= rate e^2 / (2 + 2e/3); others have at most 40 nodes. Without a stated power the
    steepness is at least 1.
    """
    steepness = 1.0 if power is None else 1 / (power - 1)
    c = DROPPED / DEEP
    reach = 1 + c / 3 + math.sqrt(c * c / 9 + 2 * c)
    return max(40, math.ceil(reach * DEEP / steepness) + 2)


def log_sum(log_rate: Tensor, above: Tensor, below: Tensor, terms: int) -> Tensor:
    """The log of the sum over the number of jumps.

    Its terms are placed and weighed without a graph, at the rate as a plain number. What moves with the rate is put
    back exactly: with d = log(rate) - log(plain rate), which is 0 but has derivatives,
    D(j) = D_plain(j) + (plain - j) d + plain (e^d - 1 - d).
    """
    steepness, nu = (1 / below).unsqueeze(-1), (above / below).unsqueeze(-1)
    with torch.no_grad():
        plain = log_rate.detach().unsqueeze(-1)
        rate = torch.exp(plain)
        nodes, gap, log_step = placed(rate, steepness.detach(), terms)
        divergence = jump_divergence(plain, rate, nodes, gap)
        fixed = log_step - stirling_error(nodes)
    exponent = fixed - stirling_error(nu * nodes) - steepness * divergence
    moved = (log_rate - log_rate.detach()).unsqueeze(-1)
    peak = exponent.detach().amax(dim=-1, keepdim=True)
    # far below the peak exp would underflow, which processors do slowly
    falls = (exponent - steepness * (gap * moved) - peak).clamp(min=-2 * DROPPED)
    summed = peak + torch.log(torch.exp(falls).sum(dim=-1, keepdim=True))
    return (summed - steepness * (rate * excess(moved))).squeeze(-1)


def placed(rate: Tensor, steepness: Tensor, terms: int) -> tuple[Tensor, Tensor, Tensor]:
    """The nodes j of the sum along a last axis, rate - j without rounding through j, and the log of their distance."""
    width = torch.sqrt(rate / steepness)
    low = rate - math.sqrt(2 * DROPPED) * width
    wide = (width > WIDE) & (steepness * rate > DEEP)
    step = torch.where(wide, STRIDE * width, 1.0)
    first = torch.where(wide, torch.where(low > 0, low, 0.5 * step), torch.floor(low).clamp(min=1.0))
    strides = step * torch.arange(terms, dtype=rate.dtype, device=rate.device)
    return first + strides, (rate - first) - strides, torch.log(step)


def jump_divergence(log_rate: Tensor, rate: Tensor, nodes: Tensor, gap: Tensor) -> Tensor:
    """D(j) = rate - j - j log(rate / j) with gap = rate - j, by a series where the two parts cancel."""
    v = gap / (rate + nodes)
    near = torch.abs(v) < 0.1
    square = torch.where(near, v, 0.0).square()
    series = torch.full_like(square, 1 / 17)
    for k in range(15, 2, -2):
        series = series * square + 1 / k
    close = 2 * nodes * square * (1 / (1 - v) - v * series)
    return torch.where(near, close, gap - nodes * (log_rate - torch.log(nodes)))
