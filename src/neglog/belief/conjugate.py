"""The posterior of one unknown parameter of a noise, without covariates: exact for conjugate pairs, else quadrature."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from neglog.belief.posterior import checked_level
from neglog.belief.quadrature_law import GridLaw, grid_law
from neglog.distributions import (
    Bernoulli,
    Beta,
    Categorical,
    Dirichlet,
    Flat,
    Gamma,
    Gaussian,
    Laplace,
    Poisson,
)
from neglog.distributions.arrays import as_numbers
from neglog.distributions.base import Distribution
from neglog.distributions.beta_binomial import BetaBinomial
from neglog.distributions.beta_prime import BetaPrime
from neglog.distributions.inverse_gamma import InverseGamma
from neglog.distributions.lazy import special
from neglog.distributions.mixture import Mixture
from neglog.distributions.negative_binomial import NegativeBinomial
from neglog.distributions.noise import Noise
from neglog.distributions.parameters import LOG, Role
from neglog.distributions.product import Product
from neglog.distributions.student import StudentT
from neglog.distributions.support import REALS
from neglog.likelihood.modelled import refuse_told
from neglog.likelihood.row_values import checked
from neglog.typing import Numbers

PAIRS_AT_ONCE = 2_000_000  # of parameter and value
MANY_KINKS = 500


@dataclass(frozen=True)
class ParameterPosterior:
    """What is believed about one parameter after the data.

    distribution  the law of the parameter: where the prior is conjugate, of the same family
    evidence      the log marginal likelihood in nats, every constant included
    error         a bound on the error of the evidence: 0 for conjugate pairs
    """

    noise: Noise
    prior: Distribution
    parameter: str
    distribution: Any
    evidence: float
    error: float = 0.0
    _next: Any = field(default=None, repr=False)

    @property
    def mean(self) -> Any:
        """The posterior mean."""
        return self.distribution.mean()

    @property
    def std(self) -> Any:
        """The posterior standard deviation."""
        return np.sqrt(self.distribution.variance())

    def interval(self, level: float = 0.9) -> Numbers:
        """The central interval that holds the parameter with probability `level`."""
        tail = 0.5 - 0.5 * checked_level(level)
        return np.array([self.distribution.icdf(tail), self.distribution.isf(tail)])

    def sample(self, n: int = 1000, rng: Any = None) -> Numbers:
        """Draws of the parameter."""
        return np.asarray(self.distribution.sample(n, rng=rng))

    def predictive(self, *, trials: int = 1, exposure: float = 1.0) -> Any:
        """The law of the next y, averaged over the parameter: a distribution.

        For Bernoulli noise `trials` asks for the number of ones in so many; for Poisson noise `exposure` for a longer
        or shorter time.
        """
        if trials != 1 and not isinstance(self.noise, Bernoulli):
            raise ValueError(f"trials are of Bernoulli noise, but the noise is {self.noise!r}")
        if exposure != 1 and not isinstance(self.noise, Poisson):
            raise ValueError(f"exposure is of Poisson noise, but the noise is {self.noise!r}")
        return self._next(trials=trials, exposure=exposure)

    def __repr__(self) -> str:
        accuracy = "" if self.error == 0 else f" ± {self.error:.1g}"
        return f"<posterior of {self.parameter}: {self.distribution!r}, evidence {self.evidence:.6g}{accuracy} nats>"


def posterior(
    y: ArrayLike, noise: Noise, prior: Distribution, *, exposure: ArrayLike | None = None
) -> ParameterPosterior:
    """What the values y say about the unknown parameter of the noise, given a prior for it.

    The parameter that is None is the unknown one; if all are stated, the location (p, mean or loc). Exact for
    Bernoulli with a Beta prior, Categorical with a Dirichlet, Poisson with a Gamma, Gaussian of known scale with a
    Gaussian, Gamma of known shape with an InverseGamma, and Gaussian(loc=None, scale=None) with Flat(). Any other pair
    with one unknown number is integrated numerically. `exposure` multiplies the mean of a Poisson noise, value by
    value.

    >>> import neglog as nl
    >>> found = nl.posterior([3, 1, 4, 1, 5], nl.Poisson(), nl.Gamma(mean=2.0, shape=3.0))
    >>> found.distribution, round(found.evidence, 4)
    (Gamma(mean=2.6153846153846154, shape=17.0), -10.3828)
    """
    if not isinstance(noise, Noise):
        raise TypeError(f"noise must be a noise such as nl.Poisson(), but is {noise!r}")
    refuse_told(noise)
    if not isinstance(prior, Distribution):
        raise TypeError(f"prior must be a distribution such as nl.Gamma(mean=1.0, shape=2.0), but is {prior!r}")
    values = _values(y, noise)
    times = _times(exposure, noise, len(values))
    name, prior = _unknown(noise, prior), _stated(prior)
    if isinstance(noise, Categorical) != isinstance(prior, Dirichlet):
        raise ValueError(
            f"{type(noise).__name__} noise has no posterior under a {type(prior).__name__} prior: "
            "Categorical noise takes a Dirichlet prior, and no other noise does"
        )
    many = [parameter for parameter, value in noise.parameters.items() if np.ndim(value)]
    if many:
        raise ValueError(f"noise must be one law, but its {many[0]} has the shape {noise.parameters[many[0]].shape}")
    match noise, prior:
        case Bernoulli(), Beta():
            return _bernoulli(values, noise, prior)
        case Categorical(), Dirichlet():
            return _categorical(values, noise, prior)
        case Poisson(), Gamma():
            return _poisson(values, noise, prior, times)
        case Gaussian(), Gaussian() if name == "loc":
            return _gaussian(values, noise, prior)
        case Gamma(), InverseGamma() if name == "mean":
            return _gamma(values, noise, prior)
        case Gaussian(), Flat() if name == "loc and scale":
            return _student(values, noise, prior)
    return _numeric(values, noise, prior, name, times)


# ---- arguments -------------------------------------------------------------------------------------------------------


def _values(y: ArrayLike, noise: Noise) -> Numbers:
    values = np.asarray(as_numbers(y, "y"), np.float64)
    if values.ndim != 1:
        raise ValueError(f"y must be a list of values, but has the shape {values.shape}")
    if len(values) == 0:
        return values
    if isinstance(noise, Categorical):
        bad = np.flatnonzero(~((values >= 0) & (values == np.floor(values))))
        what = "class numbers 0, 1, 2, …"
    else:
        stated = noise.parameters.items()
        some = {name: _anywhere(noise, name) if value is None else value for name, value in stated}
        bad = np.flatnonzero(~np.isfinite(type(noise)(**some).nll(values)))
        what = str(noise.support)
    if len(bad):
        raise ValueError(
            f"{type(noise).__name__} noise needs {what}, but {len(bad)} of {len(values)} values are not: "
            f"the first, number {bad[0]}, is {values[bad[0]]:.6g}"
        )
    return values


def _times(exposure: ArrayLike | None, noise: Noise, count: int) -> Numbers:
    if exposure is None:
        return np.ones(count)
    if not isinstance(noise, Poisson):
        raise ValueError(f"exposure multiplies the mean of a Poisson noise, but the noise is {noise!r}")
    times = np.broadcast_to(as_numbers(exposure, "exposure"), (count,))
    return np.asarray(checked(times, "exposure"))


def _unknown(noise: Noise, prior: Distribution) -> str:
    """The name of the parameter that is asked for."""
    if noise.modelled:
        names = ", ".join(noise.modelled)
        raise ValueError(
            f"{noise!r}: here are no columns that could predict the {names}; state {names}=None, which is unknown, or "
            "use nl.fit(...).posterior()"
        )
    unknown = [name for name, value in noise.parameters.items() if value is None]
    if isinstance(noise, Gaussian) and len(unknown) == 2 and isinstance(prior, Flat):
        return "loc and scale"
    if len(unknown) > 1:
        raise ValueError(
            f"{noise!r} has {len(unknown)} unknown parameters, {' and '.join(unknown)}; state all but one, "
            "or use nl.fit(...).posterior(), which finds several at once"
        )
    return unknown[0] if unknown else noise.location


def _stated(prior: Distribution) -> Distribution:
    unknown = [name for name, value in prior.parameters.items() if value is None]
    if unknown:
        raise ValueError(f"prior must have all its parameters stated, but {prior!r} leaves {', '.join(unknown)} open")
    if np.ndim(prior.batch_shape) and any(prior.batch_shape) and not isinstance(prior, Dirichlet):
        raise ValueError(f"prior must be one law, not one of the shape {prior.batch_shape}")
    return prior


# ---- conjugate pairs -------------------------------------------------------------------------------------------------


def _bernoulli(y: Numbers, noise: Any, prior: Any) -> ParameterPosterior:
    ones = float(y.sum())
    after = Beta(prior.a + ones, prior.b + len(y) - ones)
    evidence = float(special.betaln(after.a, after.b) - special.betaln(prior.a, prior.b))

    def following(trials: int, exposure: float) -> Any:
        return Bernoulli(after.mean()) if trials == 1 else BetaBinomial(trials, after.a, after.b)

    return ParameterPosterior(noise, prior, "p", after, evidence, _next=following)


def _categorical(y: Numbers, noise: Any, prior: Any) -> ParameterPosterior:
    classes = len(prior.alpha)
    if len(y) and y.max() >= classes:
        raise ValueError(
            f"the Dirichlet prior has {classes} classes, 0 to {classes - 1}, but y has the class {y.max():g}"
        )
    counts = np.bincount(y.astype(int), minlength=classes)
    after = Dirichlet(prior.alpha + counts)
    evidence = _log_dirichlet(after.alpha) - _log_dirichlet(prior.alpha)
    return ParameterPosterior(noise, prior, "p", after, evidence, _next=lambda **_: Categorical(after.mean()))


def _log_dirichlet(alpha: Numbers) -> float:
    return float(np.sum(special.gammaln(alpha)) - special.gammaln(np.sum(alpha)))


def _poisson(y: Numbers, noise: Any, prior: Any, times: Numbers) -> ParameterPosterior:
    shape, rate = prior.shape, prior.shape / prior.mean()
    total, time = float(y.sum()), float(times.sum())
    after = Gamma((shape + total) / (rate + time), shape + total)
    evidence = float(
        shape * np.log(rate)
        - (shape + total) * np.log(rate + time)
        + special.gammaln(shape + total)
        - special.gammaln(shape)
        + np.sum(special.xlogy(y, times) - special.gammaln(y + 1))
    )

    def following(trials: int, exposure: float) -> Any:
        return NegativeBinomial(exposure * after.mean(), 1 / after.shape)

    return ParameterPosterior(noise, prior, "mean", after, evidence, _next=following)


def _gaussian(y: Numbers, noise: Any, prior: Any) -> ParameterPosterior:
    n, known = len(y), noise.scale**-2.0
    precision = prior.scale**-2.0 + n * known
    mean = float(y.mean()) if n else 0.0
    # about the sample mean, so that nothing large cancels
    loc = mean + (prior.loc - mean) * (prior.scale**-2.0 / precision) if n else prior.loc
    after = Gaussian(loc, precision**-0.5)
    squares = float(np.sum((y - mean) ** 2)) if n else 0.0
    between = (mean - prior.loc) ** 2 / (prior.scale**2 + noise.scale**2 / n) if n else 0.0
    spread = n * np.log(2 * np.pi * noise.scale**2) + np.log1p(n * prior.scale**2 * known)
    evidence = float(-0.5 * (spread + squares * known + between))

    def following(**_: Any) -> Any:
        return Gaussian(loc, np.hypot(after.scale, noise.scale))

    return ParameterPosterior(noise, prior, "loc", after, evidence, _next=following)


def _gamma(y: Numbers, noise: Any, prior: Any) -> ParameterPosterior:
    """The rate shape / mean of each y is Gamma: the mean is InverseGamma, and so it stays."""
    n, k = len(y), noise.shape
    after = InverseGamma(prior.shape + n * k, prior.scale + k * float(y.sum()))
    evidence = float(
        prior.shape * np.log(prior.scale)
        - after.shape * np.log(after.scale)
        + special.gammaln(after.shape)
        - special.gammaln(prior.shape)
        + n * (k * np.log(k) - special.gammaln(k))
        + (k - 1) * np.sum(np.log(y))
    )

    def following(**_: Any) -> Any:
        return BetaPrime(k, after.shape, after.scale / k)

    return ParameterPosterior(noise, prior, "mean", after, evidence, _next=following)


def _student(y: Numbers, noise: Any, prior: Any) -> ParameterPosterior:
    """Flat in loc and in log scale, which has no evidence."""
    n = len(y)
    if n < 2 or np.ptp(y) == 0:
        raise ValueError(
            f"under a flat prior loc and scale need at least two different values, but y has {len(np.unique(y))}"
        )
    mean, spread = float(y.mean()), float(y.std(ddof=1))
    after = StudentT(mean, spread / np.sqrt(n), n - 1.0)

    def following(**_: Any) -> Any:
        return StudentT(mean, spread * np.sqrt(1 + 1 / n), n - 1.0)

    return ParameterPosterior(noise, prior, "loc", after, np.nan, _next=following)


# ---- any other pair --------------------------------------------------------------------------------------------------


def _numeric(y: Numbers, noise: Any, prior: Any, name: str, times: Numbers) -> ParameterPosterior:
    domain = noise.parameter(name).domain

    # equal values count together
    pairs, counts = np.unique(np.stack([y, times]), axis=1, return_counts=True)
    values, spans = pairs

    def minus_log(x: Numbers) -> Numbers:
        """-log of likelihood times prior at each x, a bounded number of pairs at a time."""
        at_once = max(1, PAIRS_AT_ONCE // max(len(values), 1))
        parts = [of_some(x[start : start + at_once]) for start in range(0, len(x), at_once)]
        return np.concatenate(parts) if parts else np.empty(0)

    def of_some(x: Numbers) -> Numbers:
        inside = np.asarray(domain.contains(x))
        safe = np.where(inside, x, _anywhere(noise, name))
        shape = (len(x), len(values))
        scaled = safe[:, None] * spans if isinstance(noise, Poisson) else safe[:, None]
        law = noise.estimated(**{name: np.broadcast_to(scaled, shape)})
        with np.errstate(all="ignore"):
            nats = np.asarray(law.nll(np.broadcast_to(values, shape))) @ counts + prior.nll(safe)
        return np.where(inside, nats, np.inf)

    law: GridLaw = grid_law(
        minus_log,
        _bounds(noise, name, prior),
        _guess(noise, name, y, times),
        _unit(noise, prior),
        name,
        _kinks(name, y, noise, prior),
    )

    def following(trials: int, exposure: float) -> Any:
        nodes, weights = law.nodes(1000 if noise.smooth else 4000)
        location = exposure * nodes if isinstance(noise, Poisson) else nodes
        if isinstance(noise, Bernoulli) and trials == 1:
            return Bernoulli(float(weights @ nodes))
        if trials != 1:
            raise ValueError("the predictive of several trials is known for a Beta prior only")
        fixed = noise.estimated(**{name: location})
        return Mixture(fixed, weights)

    return ParameterPosterior(noise, prior, name, law, law.log_total, law.error, _next=following)


def _guess(noise: Any, name: str, y: Numbers, times: Numbers) -> float:
    """A value of the parameter that is not absurd: where the search begins."""
    own, (low, high) = noise.parameter(name), noise.locations
    if len(y) == 0 or own.role is Role.SHAPE:
        return _anywhere(noise, name)
    if own.role is Role.SPREAD:
        size = float(np.mean(np.abs(y - np.median(y))))
        return size or 1.0 if low < 0 and noise.support is REALS else _anywhere(noise, name)
    if low < 0:
        located = np.asarray(noise.located(y))
        told = located[np.isfinite(located)]
        return float(np.median(told)) if len(told) else _anywhere(noise, name)
    mean = float((y.sum() + 0.5) / (times.sum() + 1))
    return mean if high > 1 else min(max(mean, 0.01), 0.99)


def _unit(noise: Any, prior: Any) -> float:
    """A step that is neither huge nor tiny for a location: the smaller of what noise and prior call one."""
    factors = prior.factors if isinstance(prior, Product) else (prior,)
    scales = [noise.parameters.get(str(noise.spread)) if noise.support is REALS else None]
    scales += [factor.parameters.get("scale") for factor in factors]
    known = [float(scale) for scale in scales if scale is not None and np.isfinite(scale)]
    return min(known) if known else 1.0


def _kinks(name: str, y: Numbers, noise: Any, prior: Any) -> Numbers | None:
    """Where the product of likelihood and prior is not smooth in a location."""
    if name != noise.location or noise.locations[0] == 0:
        return None
    located = np.asarray(noise.located(y))
    places = [] if noise.smooth else [located]
    factors = prior.factors if isinstance(prior, Product) else (prior,)
    places += [np.atleast_1d(float(factor.loc)) for factor in factors if isinstance(factor, Laplace)]
    places += [located + away for away in noise.jumps()]
    kinks = np.unique(np.concatenate(places)) if places else None
    return None if kinks is None or len(kinks) > MANY_KINKS else kinks  # where there are many, each is small


def _anywhere(noise: Any, name: str) -> float:
    """Some value that the parameter may have."""
    own, (low, high) = noise.parameter(name), noise.locations
    if own.role is not Role.LOCATION:
        return float(own.start)
    return 0.5 if high == 1 else 1.0 if low == 0 else 0.0


def _bounds(noise: Any, name: str, prior: Any) -> tuple[float, float]:
    """Where the parameter and the prior may be."""
    own = noise.parameter(name)
    if own.role is Role.LOCATION:
        low, high = noise.locations
    else:
        low, high = own.within or ((0.0, np.inf) if own.raw is LOG else (-np.inf, np.inf))
    return max(low, prior.bounds[0]), min(high, prior.bounds[1])
