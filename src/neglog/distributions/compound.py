"""The compound Poisson-Gamma law, which is Tweedie between powers 1 and 2: tails, quantiles, entropy, draws.

Y is the sum of N Gamma(nu, gamma) jumps, N ~ Poisson(lam). The density itself is in the native core.
"""

from typing import Any

import numpy as np

from neglog.distributions.lazy import special
from neglog.distributions.poisson import poisson_draw, poisson_tail
from neglog.distributions.quantiles import positive_root
from neglog.distributions.special import half_deviance, incomplete_gamma, stirling_error

NEGLIGIBLE = 50.0  # nats below the largest term
CHUNK = 1 << 20  # terms evaluated at once
ROWS = 4096  # laws at once
MANY = 1e7  # the inverse of phi mean^(p - 2) from which the saddle point is exact to 1e-11
# The tail of a sum of n jumps, as a function of n, goes from 0 to 1 within sqrt(n / nu):
LATTICE = 6.0  # above this the numbers of jumps cannot be told from the sum
SHARP = 60.0  # up to this it is nearly a step
FEW = 128  # terms that are added without a look at which of them matter: finding out costs more


def jumps(mean: Any, power: Any, dispersion: Any) -> tuple[Any, Any, Any]:
    """lam, nu, gamma: the expected number of jumps, and the shape and scale of one."""
    lam = mean ** (2 - power) / (dispersion * (2 - power))
    return lam, (2 - power) / (power - 1), dispersion * (power - 1) * mean ** (power - 1)


def draw(rng: np.random.Generator, mean: Any, power: Any, dispersion: Any) -> Any:
    """Exact draws: first the number of jumps, then their sum."""
    lam, nu, gamma = jumps(mean, power, dispersion)
    return rng.standard_gamma(poisson_draw(rng, lam) * nu) * gamma


def tail(y: Any, mean: Any, power: Any, dispersion: Any, upper: bool) -> Any:
    """P(Y <= y), or P(Y > y): the sum over the number n of jumps of Poisson(n) times the tail of Gamma(n nu)."""
    y, mean, power, dispersion = (np.ravel(x) for x in np.broadcast_arrays(y, mean, power, dispersion))
    with np.errstate(all="ignore"):
        lam, nu, gamma = jumps(mean, power, dispersion)
        around = y ** (2 - power) / (dispersion * (2 - power))
    none = np.exp(-lam)
    at_zero = -np.expm1(-lam) if upper else none
    result = np.where(y < 0, float(upper), np.where(y == 0, at_zero, float(not upper)))
    result[np.isnan(y)] = np.nan
    some = (y > 0) & (y < np.inf)
    smooth = np.sqrt(np.maximum(around, 1.0) / nu)
    many = some & (np.minimum(lam, around) * (2 - power) > MANY) & (smooth > LATTICE)
    sharp = some & ~many & (smooth <= SHARP) & (np.maximum(lam, around) > FEW**2)
    few = some & ~many & ~sharp
    for chosen, function in ((many, _at_saddle_point), (sharp, _over_sharp_jumps), (few, _over_jumps)):
        rows = np.flatnonzero(chosen)
        for start in range(0, rows.size, ROWS):
            part = rows[start : start + ROWS]
            given = (x[part] for x in (y, mean, power, dispersion, lam, nu, gamma, around))
            result[part] = function(*given, upper=upper)
    return result


def _over_jumps(
    y: Any, mean: Any, power: Any, dispersion: Any, lam: Any, nu: Any, gamma: Any, around: Any, *, upper: bool
) -> Any:
    sums = _sum_over_jumps(y / gamma, lam, nu, around, upper)
    return np.minimum(sums if upper else sums + np.exp(-lam), 1.0)


def _over_sharp_jumps(
    y: Any, mean: Any, power: Any, dispersion: Any, lam: Any, nu: Any, gamma: Any, around: Any, *, upper: bool
) -> Any:
    """Near power 1 n jumps sum up to nearly n times one: the tail of the Gamma law goes from 0 to 1 within a few n, and
    what is left are whole tails of the Poisson law.

    Where the Poisson factor still grows, by lam / n from each n to the next, terms of the falling side are followed as
    far as they can outweigh that.
    """
    centre = np.floor(around)
    width = np.sqrt(np.maximum(around, 1.0) / nu)
    growth = np.clip(np.abs(np.log(lam / np.maximum(centre, 1.0))), 0.0, 30.0)
    certain, falling = np.ceil(10 * width + 10), np.ceil(40 * width + growth * width**2 + 10)
    first = np.maximum(1.0, centre - np.where(upper, falling, certain))
    last = np.maximum(1.0, centre + np.where(upper, certain, falling))
    x, sums = y / gamma, np.empty(y.shape)
    for k in range(y.size):
        n = np.arange(first[k], last[k] + 1)
        sums[k] = np.exp(_log_term(n, x[k], lam[k], nu[k], upper)).sum()
    rest = poisson_tail(last, lam, True) if upper else poisson_tail(first - 1, lam, False)
    return np.minimum(sums + rest, 1.0)


def _at_saddle_point(
    y: Any, mean: Any, power: Any, dispersion: Any, lam: Any, nu: Any, gamma: Any, around: Any, *, upper: bool
) -> Any:
    """Lugannani and Rice's formula in Barndorff-Nielsen's form; its relative error is about 0.1 (phi y^(p - 2))^(3/2).

    Here r is the signed root of the deviance over phi, u the distance of the natural parameters times the spread at y.
    """
    with np.errstate(all="ignore"):
        ratio = (y - mean) / mean
        log_ratio = np.where(np.abs(ratio) < 0.5, np.log1p(np.clip(ratio, -0.5, 0.5)), np.log(y) - np.log(mean))
        b = 1 - power
        r = np.sign(ratio) * np.sqrt(2 * half_deviance(y, mean, power) / dispersion)
        spread = np.sqrt(dispersion) * np.exp((0.5 * power - 1) * np.log(y))  # of log y
        u = np.exp(b * (np.log(mean) - np.log(y))) * np.expm1(b * log_ratio) / b / spread
        better = np.where(np.abs(r) < 1e-3, power * spread / 6, np.log(u / r) / r)
        z = np.where(np.isfinite(better), r + better, r)
        return special.ndtr(-z if upper else z)


def _sum_over_jumps(x: Any, lam: Any, nu: Any, around: Any, upper: bool) -> Any:
    first, count, step = _window(x, lam, nu, around, upper)
    sums = np.zeros(x.shape)
    order = np.argsort(count)
    while order.size:
        rows = order[: max(1, CHUNK // int(count[order[min(order.size, CHUNK) - 1]]))]
        nodes = np.arange(count[rows].max())
        n = first[rows, None] + step[rows, None] * nodes
        terms = np.exp(_log_term(n, x[rows, None], lam[rows, None], nu[rows, None], upper))
        sums[rows] = step[rows] * np.where(nodes < count[rows, None], terms, 0.0).sum(axis=1)
        order = order[rows.size :]
    return sums


def _log_term(n: Any, x: Any, lam: Any, nu: Any, upper: bool) -> Any:
    with np.errstate(all="ignore"):
        poisson = half_deviance(n, lam, 1.0) + stirling_error(n) + 0.5 * np.log(2 * np.pi * n)  # n need not be whole
        return np.log(incomplete_gamma(n * nu, np.broadcast_to(x, n.shape), upper)) - poisson


def _window(x: Any, lam: Any, nu: Any, around: Any, upper: bool) -> tuple[Any, Any, Any]:
    """The first node, the number of nodes and their distance that hold all terms worth adding.

    The terms peak between lam and `around`, where the density at y has its peak, and never so far out that the Poisson
    factor alone is below 1e-300. A coarse scan finds where they matter. All integers are taken unless they are many and
    the Gamma tail, which falls over sqrt(n / nu) of them, is smooth on the longer step too.
    """
    width = np.sqrt(lam)
    if upper:
        low = lam - 12 * width - 40
        high = _beyond(np.clip(around, lam, lam + 60 * width + 200))
    else:
        low = np.clip(around, lam - 60 * width - 200, lam) - 12 * width - 40
        high = _beyond(lam)
    low, high = np.maximum(1.0, np.floor(low)), np.ceil(high)
    few = high - low <= FEW
    if few.all():
        return low, (high - low).astype(int) + 1, np.ones(len(low))
    whole = low, high
    for _ in range(2):
        step = (high - low) / 128
        grid = low[:, None] + step[:, None] * np.arange(129)
        heights = _log_term(grid, x[:, None], lam[:, None], nu[:, None], upper)
        top = heights.max(axis=1, keepdims=True)
        matter = (heights > top - NEGLIGIBLE) & np.isfinite(top)
        left, right = np.argmax(matter, axis=1), 128 - np.argmax(matter[:, ::-1], axis=1)
        right = np.where(matter.any(axis=1), right, left)  # nothing matters: all terms underflow
        low, high = np.maximum(1.0, np.floor(low + (left - 1) * step)), np.ceil(low + (right + 1) * step)
    low, high = np.where(few, whole[0], low), np.where(few, whole[1], high)
    span = high - low
    smooth = np.sqrt(np.maximum(around, 1.0) / nu)
    step = np.where((span > 400) & (smooth > 6), np.minimum(span / 400, smooth / 3), 1.0)
    return low, (span / step).astype(int) + 1, step


def _beyond(lam: Any) -> Any:
    """What a Poisson(lam) number exceeds with a probability that is negligible, by Bernstein's inequality."""
    third = NEGLIGIBLE / 3
    return lam + third + np.sqrt(third**2 + 2 * NEGLIGIBLE * lam)


def quantile(q: Any, mean: Any, power: Any, dispersion: Any, upper: bool) -> Any:
    """The y at which the tail is q; 0 while the probability of no jump covers it."""
    lam, _, _ = jumps(mean, power, dispersion)
    zero = q >= -np.expm1(-lam) if upper else q <= np.exp(-lam)
    rest = np.where(zero, np.nan, q)
    root = positive_root(lambda y, m, p, phi: tail(y, m, p, phi, upper), rest, upper, mean, mean, power, dispersion)
    return np.where(np.isnan(q), np.nan, np.where(zero, 0.0, root))


def entropy(mean: Any, power: Any, dispersion: Any) -> Any:
    """-P0 log P0 - integral of f log f, by adaptive quadrature to a relative error of 1e-11."""
    from neglog.distributions.expectation import NEAREST_ZERO, expectation, trusted
    from neglog.distributions.tweedie import Tweedie

    def one(m: float, p: float, phi: float) -> float:
        law = Tweedie(m, p, phi)
        return trusted(expectation(law, law.nll), f"entropy of {law!r}") + _entropy_near_zero(
            m, p, phi, np.log(NEAREST_ZERO * m)
        )

    distinct, where = np.unique(np.stack([mean, power, dispersion], axis=-1), axis=0, return_inverse=True)
    return np.array([one(*parameters) for parameters in distinct])[where.ravel()]


def _entropy_near_zero(mean: float, power: float, dispersion: float, log_end: float) -> float:
    """The part of the integral below exp(log_end), where y may be smaller than any number but its logarithm is not.

    There each number of jumps j contributes a pure power of y, and the density varies with nu log y.
    """
    from neglog.distributions.expectation import adaptive

    lam, nu, gamma = jumps(mean, power, dispersion)
    if lam > 750:  # so many jumps do not sum up to so little
        return 0.0
    j = np.arange(1.0, np.ceil(lam + 12 * np.sqrt(lam) + 60))
    log_weight = -half_deviance(j, lam, 1.0) - stirling_error(j) - 0.5 * np.log(2 * np.pi * j) - special.gammaln(j * nu)

    def integrand(w: Any) -> Any:
        log_y = log_end + w / nu
        terms = log_weight + j * nu * (log_y[..., None] - np.log(gamma))
        log_density_of_log = special.logsumexp(terms, axis=-1)
        return np.exp(log_density_of_log) / nu * (log_y - log_density_of_log)

    with np.errstate(all="ignore"):
        return adaptive(integrand, np.array([-80.0, -40, -20, -10, -4, -1, 0]), 1e-11).value
