"""What the tests of both trainers share: data from a known law, and the trainers with settings that mean the same."""

from dataclasses import dataclass
from types import ModuleType

import numpy as np

import neglog as nl

TRUTH = {
    "gaussian": nl.Gaussian(scale=0.5),
    "laplace": nl.Laplace(scale=0.5),
    "huber": nl.Huber(scale=0.5),
    "lognormal": nl.LogNormal(scale=0.5),
    "poisson": nl.Poisson(),
    "gamma": nl.Gamma(shape=3.0),
    "tweedie": nl.Tweedie(power=1.5, dispersion=0.8),
    "bernoulli": nl.Bernoulli(),
    "categorical": nl.Categorical(),
}
OPEN = {
    "gaussian": nl.Gaussian(),
    "laplace": nl.Laplace(),
    "huber": nl.Huber(),
    "lognormal": nl.LogNormal(),
    "poisson": nl.Poisson(),
    "gamma": nl.Gamma(),
    "tweedie": nl.Tweedie(),
    "bernoulli": nl.Bernoulli(),
    "categorical": nl.Categorical(),
}
MODELLED = {
    "gaussian": nl.Gaussian(scale="model"),
    "laplace": nl.Laplace(scale="model"),
    "huber": nl.Huber(scale="model"),
    "lognormal": nl.LogNormal(scale="model"),
    "gamma": nl.Gamma(shape="model"),
    "tweedie": nl.Tweedie(power=1.5, dispersion="model"),
}
SEVERAL = [  # more than the spread, or something else
    nl.StudentT(scale="model", df=5.0),
    nl.StudentT(scale="model", df="model"),
    nl.NegativeBinomial(dispersion="model"),
    nl.Weibull(shape="model"),
    nl.ZeroInflated(nl.NegativeBinomial(dispersion="model"), p="model"),
    nl.Hurdle(nl.Gamma(shape="model"), p="model"),
    nl.SinhArcsinh(scale="model", skew="model", tail=1.0),
]


@dataclass(frozen=True)
class Settings:
    """A trainer and the parameters that make small, exact, repeatable trees."""

    module: ModuleType
    params: dict
    no_counts: dict  # makes trees that depend on sums of gradients and Hessians only, not on numbers of rows


def signal(X):
    """What the raw prediction really is."""
    return np.sin(3 * X[:, 0]) + 0.8 * (X[:, 1] > 0.2) - 0.5


def features(n, seed=0):
    return np.random.default_rng(seed).uniform(-1, 1, size=(n, 4))


def draws(family, n=1500, seed=0):
    """X, y and the raw predictions that y was drawn at."""
    X = features(n, seed)
    eta = signal(X)
    if family == "categorical":
        eta = np.stack([eta, -eta, np.zeros(n)], axis=1)
    return X, TRUTH[family].given(eta).sample(rng=seed + 1).astype(float), eta


def several_draws(noise, n=3000, seed=0):
    """X, y and the law, of which each modelled parameter changes with a column of its own."""
    X = features(n, seed)
    others = [X[:, 2 + k] * (1.5 if name == "p" else 0.8) for k, name in enumerate(noise.modelled)]
    law = noise.given(np.stack([1 + signal(X), *others], axis=1))
    return X, np.asarray(law.sample(rng=seed + 1), float), law


def spread_draws(family, n=4000, seed=0):
    """X, y and the law, whose spread changes with a column that the location does not depend on."""
    X = features(n, seed)
    (name,) = MODELLED[family].modelled
    log_spread = 0.8 * X[:, 2] - (0.5 if name == "scale" else 0.0)
    noise = MODELLED[family].unmodelled()._replaced(**{f"_{name}": np.exp(log_spread)})
    law = noise.given(signal(X))
    return X, np.asarray(law.sample(rng=seed + 1)), law
