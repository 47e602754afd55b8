"""The formulas of every noise once more, in plain NumPy and SciPy: written from the definitions, not from the library.

`LAWS` says for each registered noise how its y is drawn, what its nll is at a raw prediction, and how that bends. A
noise that is missing here fails `test_fuzz.py`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special

HALF_LOG_TWO_PI = 0.5 * np.log(2 * np.pi)


# ---- links: the mean at eta with its first two derivatives -----------------------------------------------------------


def link_parts(link, eta):
    """mu, dmu/deta and d2mu/deta2."""
    one = np.ones_like(eta)
    match link:
        case "identity":
            return eta, one, 0 * one
        case "log":
            mu = np.exp(eta)
            return mu, mu, mu
        case "inverse":
            return 1 / eta, -1 / eta**2, 2 / eta**3
        case "sqrt":
            return eta**2, 2 * eta, 2 * one
    raise KeyError(link)


def link_of(link, mu):
    """The raw prediction of a mean."""
    match link:
        case "identity":
            return mu
        case "log":
            return np.log(mu)
        case "inverse":
            return 1 / mu
        case "sqrt":
            return np.sqrt(mu)
        case "logit":
            return special.logit(mu)
        case "probit":
            return special.ndtri(mu)
        case "cloglog":
            return np.log(-np.log1p(-mu))
    raise KeyError(link)


# ---- noises with a mean: nll, and its first two derivatives in the mean ----------------------------------------------


def gaussian_rows(y, mu, scale):
    z = (y - mu) / scale
    return np.log(scale) + HALF_LOG_TWO_PI + 0.5 * z**2, -z / scale, 1 / scale**2 + 0 * z


def laplace_rows(y, mu, scale):
    r = y - mu
    return np.log(2 * scale) + np.abs(r) / scale, -np.sign(r) / scale, 0 * r


def huber_rows(y, mu, scale, delta):
    z = (y - mu) / scale
    inside = np.abs(z) <= delta
    rho = np.where(inside, 0.5 * z**2, delta * np.abs(z) - 0.5 * delta**2)
    mass = np.sqrt(2 * np.pi) * special.erf(delta / np.sqrt(2)) + 2 / delta * np.exp(-0.5 * delta**2)
    return np.log(scale) + np.log(mass) + rho, -np.clip(z, -delta, delta) / scale, inside / scale**2


def poisson_rows(y, mu):
    share = np.where(y > 0, y / mu, 0.0)  # a mean of 0 is at the edge for counts of 0
    return mu - special.xlogy(y, mu) + special.gammaln(y + 1), 1 - share, np.where(y > 0, share / mu, 0.0)


def gamma_rows(y, mu, shape):
    ratio = y / mu
    # log Gamma(a) - a log a + a by Stirling's series for large shapes, where the terms cancel
    big = shape > 1e3
    a = np.where(big, shape, 1e3)
    series = HALF_LOG_TWO_PI - 0.5 * np.log(a) + 1 / (12 * a) - 1 / (360 * a**3)
    b = np.where(big, 1.0, shape)
    constant = np.where(big, series, special.gammaln(b) - b * np.log(b) + b)
    nll = shape * (ratio - 1 - np.log(ratio)) + constant + np.log(y)
    return nll, shape * (1 - ratio) / mu, shape * (2 * ratio - 1) / mu**2


def inverse_gaussian_rows(y, mu, phi):
    nll = HALF_LOG_TWO_PI + 0.5 * np.log(phi) + 1.5 * np.log(y) + (y - mu) ** 2 / (2 * phi * mu**2 * y)
    return nll, (mu - y) / (phi * mu**3), (3 * y / mu - 2) / (phi * mu**3)


def tweedie_rows(y, mu, power, phi):
    if power == 0:
        return gaussian_rows(y, mu, np.sqrt(phi))
    if power == 1:
        nll, first, second = poisson_rows(np.round(y / phi), mu / phi)
        return nll, first / phi, second / phi**2
    if power == 2:
        return gamma_rows(y, mu, 1 / phi)
    if power == 3:
        return inverse_gaussian_rows(y, mu, phi)
    phi = np.broadcast_to(np.asarray(phi, float), y.shape)
    kernel = mu ** (2 - power) / (2 - power) + np.where(y > 0, y * mu ** (1 - power) / (power - 1), 0.0)
    nll = kernel / phi + compound_constant(y, power, phi)
    first = np.where(y > 0, (mu - y) / mu**power, mu ** (1 - power)) / phi
    second = ((1 - power) * mu**-power + np.where(y > 0, power * y * mu ** (-power - 1), 0.0)) / phi
    return nll, first, second


def compound_constant(y, power, phi):
    """log y - log W of Dunn and Smyth's series for y > 0, 0 for y = 0."""
    result = np.zeros(len(y))
    positive = np.flatnonzero(y > 0)
    if not len(positive):
        return result
    y, phi = y[positive], phi[positive]
    nu = (2 - power) / (power - 1)
    drift = nu * np.log(y / (power - 1)) - (1 + nu) * np.log(phi) - np.log(2 - power)
    peak = np.maximum(1, np.round(y ** (2 - power) / ((2 - power) * phi)))
    # the terms fall off like a Gaussian of this width about the peak
    if not np.all(np.isfinite(peak + drift)) or peak.max() > 1e12:
        return np.full(len(result), np.nan)
    reach = np.ceil(9 * np.sqrt(peak * (power - 1)) + 12)
    first = np.maximum(1, peak - reach)
    counts = (peak + reach + 1 - first).astype(np.int64)
    if counts.sum() > 1_000_000:
        return np.full(len(result), np.nan)
    begin = np.concatenate([[0], np.cumsum(counts)[:-1]])
    j = np.arange(counts.sum()) + np.repeat(first - begin, counts)
    logs = j * np.repeat(drift, counts) - special.gammaln(j + 1) - special.gammaln(j * nu)
    top = np.maximum.reduceat(logs, begin)
    result[positive] = np.log(y) - top - np.log(np.add.reduceat(np.exp(logs - np.repeat(top, counts)), begin))
    return result


# ---- yes and no, by the logs of both probabilities -------------------------------------------------------------------


def bernoulli_parts(link, eta):
    """log p and log(1 - p), each with its first two derivatives in eta."""
    match link:
        case "logit":
            p = special.expit(eta)
            bend = -p * special.expit(-eta)
            return (special.log_expit(eta), special.expit(-eta), bend), (special.log_expit(-eta), -p, bend)
        case "probit":
            up, down = _mills(eta), _mills(-eta)
            return (
                (special.log_ndtr(eta), up, -up * (eta + up)),
                (special.log_ndtr(-eta), -down, -down * (down - eta)),
            )
        case "cloglog":
            rate = np.exp(eta)
            rest = np.where(rate < 700, rate / np.expm1(np.minimum(rate, 700)), 0.0)  # rate exp(-rate) / p
            return (np.log(-np.expm1(-rate)), rest, rest * (1 - rate - rest)), (-rate, -rate, -rate)
        case "log":
            odds = 1 / np.expm1(-eta)  # p / (1 - p)
            return (eta, 1 + 0 * eta, 0 * eta), (np.log(-np.expm1(eta)), -odds, -odds * (1 + odds))
        case "identity":
            return (np.log(eta), 1 / eta, -1 / eta**2), (np.log1p(-eta), -1 / (1 - eta), -1 / (1 - eta) ** 2)
    raise KeyError(link)


def _mills(eta):
    """phi(eta) / Phi(eta)."""
    return np.exp(-0.5 * eta**2 - HALF_LOG_TWO_PI - special.log_ndtr(eta))


# ---- rows in eta -----------------------------------------------------------------------------------------------------


def with_mean(rows):
    """The nll and its derivatives in eta, from those in the mean."""

    def in_eta(y, eta, link, parameters, p):
        mu, first, second = link_parts(link, eta)
        nll, slope, bend = rows(y, mu, parameters, p)
        return nll, slope * first, bend * first**2 + slope * second

    return in_eta


def _ones(p):
    return 1.0 if p is None else p


def _gaussian(y, mu, parameters, p):
    return gaussian_rows(y, mu, parameters["scale"] / np.sqrt(_ones(p)))


def _lognormal(y, mu, parameters, p):
    nll, slope, bend = gaussian_rows(np.log(y), mu, parameters["scale"] / np.sqrt(_ones(p)))
    return nll + np.log(y), slope, bend


def _laplace(y, mu, parameters, p):
    return laplace_rows(y, mu, parameters["scale"] / _ones(p))


def _huber(y, mu, parameters, p):
    return huber_rows(y, mu, parameters["scale"] / np.sqrt(_ones(p)), parameters["delta"])


def _poisson(y, mu, parameters, p):
    if p is None:
        return poisson_rows(y, mu)
    nll, slope, bend = poisson_rows(np.round(p * y), p * mu)
    return nll, p * slope, p**2 * bend


def _gamma(y, mu, parameters, p):
    return gamma_rows(y, mu, parameters["shape"] * _ones(p))


def _tweedie(y, mu, parameters, p):
    return tweedie_rows(y, mu, parameters["power"], parameters["dispersion"] / _ones(p))


def bernoulli_in_eta(y, eta, link, parameters, p):
    trials = np.ones_like(y) if p is None else np.round(p)
    ones = np.round(trials * y)
    yes, no = bernoulli_parts(link, eta)
    ways = special.gammaln(trials + 1) - special.gammaln(ones + 1) - special.gammaln(trials - ones + 1)
    weighed = [-_times(ones, a) - _times(trials - ones, b) for a, b in zip(yes, no, strict=True)]
    return weighed[0] - ways, weighed[1], weighed[2]


def _times(count, value):
    return np.where(count > 0, count * value, 0.0)


# ---- the table -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Law:
    """How the harness writes a noise."""

    rows: Callable[..., Any] | None  # (y, eta, link, parameters, precision) -> nll, slope, bend; None: by class
    draw: Callable[..., Any]  # (rng, mu, parameters) -> y
    stated: Callable[..., dict[str, Any]]  # (rng) -> values of the parameters beside the location
    mean: Callable[..., Any] = lambda eta, link, parameters: link_parts(link, eta)[0]
    spread: str | None = None  # the parameter that is 0 or infinite at a perfect fit
    unit: dict[str, Any] | None = None  # how the parameters grow with the unit of y; None: y has no unit
    unfitted: tuple[str, ...] = ()  # links that a fit refuses
    convex: tuple[str, ...] = ()  # links under which the nll is convex in eta
    bounded: Callable[..., Any] = lambda y, link: (False & (y == y), False & (y == y))
    # (y, link) -> whether the nll of each row stays bounded as eta falls, and as it rises, for ever
    domain: Callable[..., Any] = lambda link, parameters: (-np.inf, np.inf)  # of eta
    takes: tuple[str, ...] = ("sample_weight", "precision", "offset")
    outside: tuple[float, ...] = ()  # values that y cannot be
    whole: bool = False  # y are counts


def _positive(link, parameters):
    return (0.0, np.inf) if link in ("identity", "inverse", "sqrt") else (-np.inf, np.inf)


def _real_domain(link, parameters):
    return (0.0, np.inf) if link == "sqrt" else (-np.inf, np.inf)


def _draw_huber(rng, mu, parameters):
    tails = rng.random(np.shape(mu)) < 0.15
    return mu + parameters["scale"] * np.where(tails, 4.0, 1.0) * rng.normal(size=np.shape(mu))


def draw_tweedie(rng, mu, parameters):
    power, phi = parameters["power"], parameters["dispersion"]
    if power == 0:
        return rng.normal(mu, np.sqrt(phi))
    if power == 1:
        return phi * rng.poisson(mu / phi)
    if power == 2:
        return rng.gamma(1 / phi, mu * phi)
    if power == 3:
        return rng.wald(np.maximum(mu, 1e-300), 1 / phi)  # e^-800 is 0
    number = rng.poisson(mu ** (2 - power) / (phi * (2 - power)))
    jumps = rng.gamma(np.maximum(number, 1) * (2 - power) / (power - 1))
    return np.where(number > 0, jumps * phi * (power - 1) * mu ** (power - 1), 0.0)


def _stated_tweedie(rng):
    power = float(rng.choice([1.2, 1.5, 1.5, 1.8, 0.0, 1.0, 2.0, 3.0]))
    return {"power": power, "dispersion": float(rng.choice([0.3, 1.0, 2.0]))}


def _counts_bounded(y, link):
    zero = y == 0
    return (zero if link == "log" else zero & False, zero if link == "inverse" else zero & False)


def _bernoulli_bounded(y, link):
    return y == 0, y == 1


def _bernoulli_domain(link, parameters):
    return {"log": (-np.inf, 0.0), "identity": (0.0, 1.0)}.get(link, (-np.inf, np.inf))


def _tweedie_domain(link, parameters):
    return _real_domain(link, parameters) if parameters.get("power") == 0 else _positive(link, parameters)


def _scale(rng):
    return {"scale": float(rng.choice([0.2, 0.7, 1.5]))}


LAWS = {
    "gaussian": Law(
        with_mean(_gaussian),
        lambda rng, mu, parameters: rng.normal(mu, parameters["scale"]),
        _scale,
        spread="scale",
        unit={"scale": 1.0},
        convex=("identity",),
        domain=_real_domain,
    ),
    "lognormal": Law(
        with_mean(_lognormal),
        lambda rng, mu, parameters: np.exp(rng.normal(mu, parameters["scale"])),
        _scale,
        mean=lambda eta, link, parameters: np.exp(eta + 0.5 * parameters["scale"] ** 2),
        spread="scale",
        convex=("identity",),
        outside=(0.0, -1.0),
    ),
    "laplace": Law(
        with_mean(_laplace),
        lambda rng, mu, parameters: rng.laplace(mu, parameters["scale"]),
        _scale,
        spread="scale",
        unit={"scale": 1.0},
        unfitted=("log", "inverse", "sqrt"),
        convex=("identity",),
        domain=_real_domain,
    ),
    "huber": Law(
        with_mean(_huber),
        _draw_huber,
        lambda rng: _scale(rng) | {"delta": float(rng.choice([0.5, 1.345, 1.345, 3.0]))},
        spread="scale",
        unit={"scale": 1.0, "delta": 0.0},
        convex=("identity",),
        domain=_real_domain,
    ),
    "poisson": Law(
        with_mean(_poisson),
        lambda rng, mu, parameters: rng.poisson(mu).astype(float),
        lambda rng: {},
        convex=("log",),
        bounded=_counts_bounded,
        domain=_positive,
        takes=("sample_weight", "precision", "offset", "exposure"),
        outside=(-1.0, 1.5),
        whole=True,
    ),
    "gamma": Law(
        with_mean(_gamma),
        lambda rng, mu, parameters: rng.gamma(parameters["shape"], mu / parameters["shape"]),
        lambda rng: {"shape": float(rng.choice([0.6, 2.0, 8.0]))},
        spread="shape",
        unit={"shape": 0.0},
        convex=("log",),
        domain=_positive,
        takes=("sample_weight", "precision", "offset", "exposure"),
        outside=(0.0, -1.0),
    ),
    "tweedie": Law(
        with_mean(_tweedie),
        draw_tweedie,
        _stated_tweedie,
        spread="dispersion",
        unit={"power": 0.0, "dispersion": "2 - power"},
        convex=(),  # by power, see `is_convex`
        bounded=_counts_bounded,
        domain=_tweedie_domain,
        takes=("sample_weight", "precision", "offset", "exposure"),
        outside=(-1.0,),
    ),
    "bernoulli": Law(
        bernoulli_in_eta,
        lambda rng, mu, parameters: (rng.random(np.shape(mu)) < mu).astype(float),
        lambda rng: {},
        mean=lambda eta, link, parameters: np.exp(bernoulli_parts(link, eta)[0][0]),
        convex=("logit", "probit", "cloglog"),
        bounded=_bernoulli_bounded,
        domain=_bernoulli_domain,
        takes=("sample_weight", "precision", "offset"),
        outside=(2.0, -1.0, 0.5),
    ),
    "categorical": Law(
        None,
        lambda rng, mu, parameters: np.array([rng.choice(len(row), p=row) for row in mu]),
        lambda rng: {},
        convex=("softmax",),
        takes=("sample_weight", "offset"),
    ),
}


def is_convex(family, link, parameters):
    """Whether the nll is convex in eta."""
    if family != "tweedie":
        return link in LAWS[family].convex
    power = parameters["power"]
    if power is None:
        return False
    return (power == 0 and link == "identity") or (1 <= power <= 2 and link == "log")
