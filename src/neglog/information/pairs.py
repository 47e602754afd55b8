"""KL divergence between two distributions: closed forms by pair of families, quadrature for the rest."""

from collections.abc import Callable
from typing import Any

import numpy as np

from neglog.distributions import (
    Bernoulli,
    Beta,
    Categorical,
    Dirichlet,
    Distribution,
    Flat,
    Gamma,
    Gaussian,
    InverseGaussian,
    Laplace,
    LogNormal,
    Poisson,
    Tweedie,
)
from neglog.distributions.expectation import expectation, expectation_by_quantiles, total, trusted
from neglog.distributions.gaussian import HALF_LOG_TWO_PI
from neglog.distributions.lazy import special
from neglog.distributions.special import digamma_minus_log, expm1_excess, half_deviance, stirling_error

Closed = Callable[[Any, Any], Any]
Function = Callable[[Any], Any]
RELATIVE_ERROR = 1e-10


def divergence(p: Any, q: Any) -> Any:
    """D(P || Q) in nats."""
    for law in (p, q):
        if not isinstance(law, Distribution):
            raise TypeError(f"a distribution can only be compared with a distribution, not with {type(law).__name__}")
        if isinstance(law, Flat):
            raise TypeError("Flat is improper: no divergence from or to it is defined")
        law._known(*law.parameters)
    if isinstance(p, Dirichlet) != isinstance(q, Dirichlet):
        raise TypeError(f"{p!r} and {q!r} are not laws of the same number of numbers and cannot be compared")
    p, q = _plain(p), _plain(q)
    if p.measure != q.measure:
        raise TypeError(
            f"{p!r} is a {p.measure} and {q!r} a {q.measure}: a mass and a density cannot be compared; "
            f"compare the probabilities of the same cells instead"
        )
    with np.errstate(all="ignore"):
        if isinstance(q, Tweedie) or isinstance(p, Tweedie):
            return _tweedie(p, q)
        closed = CLOSED.get((type(p), type(q))) or _exponential_family(p, q)
        return np.maximum(closed(p, q), 0.0)[()] if closed else _by_quadrature(p, q)


# ---- pairs of one family ---------------------------------------------------------------------------------------------


def _gaussian(p: Any, q: Any) -> Any:
    ratio, gap = p.scale / q.scale, (p.loc - q.loc) / q.scale
    return 0.5 * half_deviance(np.square(ratio), 1.0, 2.0) + 0.5 * np.square(gap)


def _laplace(p: Any, q: Any) -> Any:
    gap = np.abs(p.loc - q.loc) / p.scale
    return half_deviance(p.scale / q.scale, 1.0, 2.0) + p.scale / q.scale * expm1_excess(gap)


def _poisson(p: Any, q: Any) -> Any:
    return half_deviance(p.mean(), q.mean(), 1.0)


def _gamma(p: Any, q: Any) -> Any:
    shapes = _bregman(
        lambda a: stirling_error(a) - 0.5 * np.log(a),
        digamma_minus_log,
        lambda a: special.polygamma(1, a) - 1 / a,
        p.shape,
        q.shape,
    )
    return shapes + q.shape * half_deviance(p.mean(), q.mean(), 2.0)


def _bregman(f: Function, slope: Function, curvature: Function, a: Any, b: Any) -> Any:
    """f(b) - f(a) - f'(a) (b - a); where a and b are close, the integral of (b - t) f''(t), which does not cancel."""
    a, b = np.broadcast_arrays(np.asarray(a, float), np.asarray(b, float))
    step = b - a
    nodes, weights = np.polynomial.legendre.leggauss(12)
    t = (nodes + 1) / 2
    close = np.abs(step) < 0.1 * a
    inner = np.where(close, step, 0.0)[..., None]
    integral = np.sum(weights / 2 * (1 - t) * curvature(a[..., None] + inner * t), axis=-1) * step**2
    return np.where(close, integral, f(b) - f(a) - slope(a) * step)


def _bernoulli(p: Any, q: Any) -> Any:
    first, second = p._known("p"), q._known("p")
    nats = half_deviance(first, second, 1.0) + half_deviance(np.subtract(1, first), np.subtract(1, second), 1.0)
    link, eta = q._raw()  # a probability that rounds to 0 or 1 is still known by its raw prediction
    return np.where(np.isinf(nats), q._core_nll(link, np.asarray(first, float), eta) - p.entropy(), nats)


def _categorical(p: Any, q: Any) -> Any:
    first, second = p._known("p"), q._known("p")
    if first.shape[-1] != second.shape[-1]:
        raise ValueError(f"the two Categoricals have {first.shape[-1]} and {second.shape[-1]} classes")
    nats = half_deviance(first, second, 1.0).sum(axis=-1)
    if "_made_by" not in q.__dict__:
        return nats
    eta = q._raw()[1]
    return np.where(np.isinf(nats), special.logsumexp(eta, axis=-1) - np.sum(first * eta, axis=-1) - p.entropy(), nats)


def _lognormal(p: Any, q: Any) -> Any:
    return _gaussian(p, q)  # the log is one to one, and a divergence does not see it


def _dirichlet(p: Any, q: Any) -> Any:
    return _dirichlet_alphas(p.alpha, q.alpha)


def _beta(p: Any, q: Any) -> Any:
    return _dirichlet_alphas(p._pair(), q._pair())


def _dirichlet_alphas(a: Any, b: Any) -> Any:
    """log B is the cumulant function of the log probabilities: a Bregman divergence along the line from a to b."""
    if a.shape[-1] != b.shape[-1]:
        raise ValueError(f"the two Dirichlets have {a.shape[-1]} and {b.shape[-1]} classes")
    a, b = np.broadcast_arrays(a, b)
    step = b - a
    far = _far_dirichlets(a, b)
    nodes, weights = np.polynomial.legendre.leggauss(12)
    close = np.all(np.abs(step) < 0.1 * a, axis=-1)
    near = np.zeros(close.shape)
    for t, weight in zip((nodes + 1) / 2, weights / 2, strict=True):
        at = a + np.where(close[..., None], step, 0.0) * t
        curvature = np.sum(step**2 * special.polygamma(1, at), axis=-1)
        curvature -= np.sum(step, axis=-1) ** 2 * special.polygamma(1, at.sum(axis=-1))
        near += weight * (1 - t) * curvature
    return np.where(close, near, far)


def _far_dirichlets(a: Any, b: Any) -> Any:
    """The expected difference of two dirichlet_nll: deviances and Stirling errors, none larger than the result."""
    n_a, n_b = a.sum(axis=-1), b.sum(axis=-1)
    slack = digamma_minus_log(a) - digamma_minus_log(n_a)[..., None]
    parts = (
        half_deviance(b, n_b[..., None] * (a / n_a[..., None]), 1.0)
        - (b - a) * slack
        + stirling_error(b)
        - stirling_error(a)
        - 0.5 * np.log(b / a)
    )
    return parts.sum(axis=-1) + 0.5 * np.log(n_b / n_a) - stirling_error(n_b) + stirling_error(n_a)


# ---- mixed pairs -----------------------------------------------------------------------------------------------------


def _gaussian_laplace(p: Any, q: Any) -> Any:
    """E|y - c| of a Gaussian is closed: the folded normal."""
    gap = (p.loc - q.loc) / p.scale
    mean_distance = p.scale * (np.sqrt(2 / np.pi) * np.exp(-0.5 * np.square(gap)) + gap * special.erf(gap / np.sqrt(2)))
    return np.log(2 * q.scale) + mean_distance / q.scale - p.entropy()


def _to_gaussian(p: Any, q: Any) -> Any:
    spread = p.variance() + np.square(p.mean() - q.loc)
    return np.log(q.scale) + HALF_LOG_TWO_PI + 0.5 * spread / np.square(q.scale) - p.entropy()


def _to_gamma(p: Any, q: Any) -> Any:
    deviance = p.mean() / q.mean() - 1 - (p.mean_log() - np.log(q.mean()))
    return p.mean_log() + q.shape * deviance + q._constant() - p.entropy()


def _to_lognormal(p: Any, q: Any) -> Any:
    spread = p.variance_log() + np.square(p.mean_log() - q.loc)
    return p.mean_log() + np.log(q.scale) + HALF_LOG_TWO_PI + 0.5 * spread / np.square(q.scale) - p.entropy()


def _to_laplace(p: Any, q: Any) -> Any:
    """Everything lies above the kink: E|y - c| = E y - c."""
    return np.log(2 * q.scale) + (p.mean() - q.loc) / q.scale - p.entropy()


def _to_inverse_gaussian(p: Any, q: Any) -> Any:
    mean, _, dispersion = q._known("mean", "power", "dispersion")
    deviance = (p.mean() / np.square(mean) - 2 / mean + p.mean_inverse()) / (2 * dispersion)
    return 0.5 * np.log(2 * np.pi * dispersion) + 1.5 * p.mean_log() + deviance - p.entropy()


def _bernoulli_poisson(p: Any, q: Any) -> Any:
    return q.mean() - p.mean() * np.log(q.mean()) - p.entropy()  # neither 0! nor 1! costs anything


def _exponential_family(p: Any, q: Any) -> Closed | None:
    """The cross-entropy to an exponential family needs only the expectations of its statistics under P."""
    if isinstance(q, Gaussian):
        return _to_gaussian
    has_logs = hasattr(p, "mean_log")
    if isinstance(q, Gamma) and has_logs:
        return _to_gamma
    if isinstance(q, LogNormal) and has_logs and hasattr(p, "variance_log"):
        return _to_lognormal
    if isinstance(q, Tweedie) and np.all(q.power == 3) and hasattr(p, "mean_inverse"):
        return _to_inverse_gaussian
    if isinstance(q, Laplace) and p.bounds[0] >= 0 and np.all(np.asarray(q.loc) <= 0):
        return _to_laplace
    return None


CLOSED: dict[tuple[type, type], Closed] = {
    (Gaussian, Gaussian): _gaussian,
    (Laplace, Laplace): _laplace,
    (Poisson, Poisson): _poisson,
    (Gamma, Gamma): _gamma,
    (LogNormal, LogNormal): _lognormal,
    (Bernoulli, Bernoulli): _bernoulli,
    (Categorical, Categorical): _categorical,
    (Beta, Beta): _beta,
    (Dirichlet, Dirichlet): _dirichlet,
    (Gaussian, Laplace): _gaussian_laplace,
    (Bernoulli, Poisson): _bernoulli_poisson,
}


# ---- Tweedie ---------------------------------------------------------------------------------------------------------


def _plain(law: Distribution) -> Distribution:
    """A Tweedie law with power 0 or 2 (or 1 with unit dispersion) as the family it is; the inverse Gaussian as Tweedie
    of power 3, whose closed forms are below.
    """
    if isinstance(law, InverseGaussian):
        mean, dispersion = law._known("mean", "dispersion")
        return Tweedie(mean, 3.0, dispersion)
    if isinstance(law, Tweedie) and np.ndim(law.power) == 0:
        mean, power, dispersion = law._known("mean", "power", "dispersion")
        if power == 0:
            return Gaussian(mean, np.sqrt(dispersion))
        if power == 2:
            return Gamma(mean, 1 / np.asarray(dispersion))
        if power == 1 and np.all(dispersion == 1):
            return Poisson(np.broadcast_to(mean, law.batch_shape))
    return law


def _tweedie(p: Any, q: Any) -> Any:
    if not (isinstance(p, Tweedie) and isinstance(q, Tweedie)):
        closed = _exponential_family(p, q)
        return np.maximum(closed(p, q), 0.0)[()] if closed else _by_quadrature(p, q)
    same = np.all(p.power == q.power) and np.all(p.dispersion == q.dispersion)
    if same:  # the divergence of an exponential dispersion model is its deviance
        return half_deviance(p.mean(), q.mean(), p.power) / p.dispersion
    if np.all(p.power == 3) and np.all(q.power == 3):
        shapes = 0.5 * half_deviance(p.dispersion, q.dispersion, 2.0)
        return shapes + half_deviance(p.mean(), q.mean(), 3.0) / q.dispersion
    return _by_quadrature(p, q)


# ---- everything else -------------------------------------------------------------------------------------------------


def _by_quadrature(p: Distribution, q: Distribution) -> Any:
    """One integral or sum for each pair of laws."""
    shape = np.broadcast_shapes(p.batch_shape, q.batch_shape)
    out = np.empty(shape)
    for index in np.ndindex(shape):
        out[index] = _one_by_quadrature(_single(p, index, shape), _single(q, index, shape))
    return out[()]


def _one_by_quadrature(p: Distribution, q: Distribution) -> float:
    if p.bounds[0] < q.bounds[0] or p.bounds[1] > q.bounds[1]:
        return np.inf

    what = f"divergence of {p!r} from {q!r}"

    def extra(y: Any) -> Any:
        return q.nll(y) - p.nll(y)

    if p.bounds != q.bounds:
        if isinstance(p, Gamma | LogNormal | Beta):  # whose quantiles are cheap, and whose entropy is closed
            total_nats = trusted(expectation_by_quantiles(p, q.nll, RELATIVE_ERROR), what)
            return float(np.maximum(total_nats - p.entropy(), 0.0))
        return float(np.maximum(trusted(expectation(p, extra, RELATIVE_ERROR), what), 0.0))

    def never_negative(y: Any) -> Any:
        """p log(p/q) - p + q: the last two integrate to nothing, and keep nearly equal laws from cancelling."""
        mass, nats = p.pdf(y), extra(y)
        near = mass * expm1_excess(np.where(np.abs(nats) < 1, nats, 0.0))
        far = np.where(mass > 0, mass * nats, 0.0) - mass + q.pdf(y)
        return np.where(np.abs(nats) < 1, near, far)

    return trusted(total(never_negative, (p, q), RELATIVE_ERROR), what)


def _single(law: Distribution, index: tuple[int, ...], shape: tuple[int, ...]) -> Any:
    if not shape:
        return law
    if isinstance(law, Categorical | Dirichlet):
        raise TypeError(f"no divergence is known between {type(law).__name__} and a law of another family")
    values = {name: np.broadcast_to(value, shape)[index] for name, value in law.parameters.items()}
    return type(law)(**values)
