"""Residuals of counts: what they come from and what is fitted may differ."""

from functools import cache

import numpy as np

import neglog as nl
from neglog.checking.worm import worm_of

ROWS = [50, 100, 200, 400, 800]
DRAWS = np.random.default_rng(7)
X = np.round(DRAWS.uniform(-1.5, 1.5, ROWS[-1]), 3)
MEANS = np.exp(1.0 + 0.6 * X)
TARGETS = {
    "poisson": nl.Poisson(MEANS).sample(rng=8),
    "negativebinomial": nl.NegativeBinomial(MEANS, 0.5).sample(rng=2),
    "zeros": nl.ZeroInflated(nl.Poisson(MEANS), 0.25).sample(rng=3),
}
NOISES = {
    "gaussian": nl.Gaussian(),
    "poisson": nl.Poisson(),
    "negativebinomial": nl.NegativeBinomial(),
    "zeros": nl.ZeroInflated(nl.Poisson()),
}


@cache
def fitted(truth, noise, n):
    return nl.fit(X[:n, None], TARGETS[truth][:n], NOISES[noise], tol=1e-9)


def numbers(truth, noise, n):
    """Intercept, slope, and what the noise has beside its location."""
    fit = fitted(truth, noise, n)
    own = [float(fit.noise.parameters[q.name]) for q in fit.noise.beside_location()]
    return [float(fit.intercept), float(fit.coef[0]), *own]


def band(n):
    """Which of the sorted residuals are drawn, where they should be, and how far chance takes them."""
    found = worm_of(np.arange(1.0, n + 1))
    ranks = np.rint(found.away + found.expected).astype(int)
    ends = {"expected": found.expected, "lower": found.lower, "upper": found.upper}
    return {"ranks": ranks.tolist()} | {name: np.round(value, 5).tolist() for name, value in ends.items()}


def data():
    return {
        "rows": ROWS,
        "x": X.tolist(),
        "targets": {name: y.astype(int).tolist() for name, y in TARGETS.items()},
        "shares": np.random.default_rng(0).random(ROWS[-1]).round(12).tolist(),
        "fits": {truth: {noise: [numbers(truth, noise, n) for n in ROWS] for noise in NOISES} for truth in TARGETS},
        "bands": [band(n) for n in ROWS],
    }


def expected(truth, noise, kind, rows):
    n = ROWS[rows]
    fit = fitted(truth, noise, n)
    z = fit.residuals(kind)
    return {
        "nats": fit.nll / n,
        "spread": float(z.std()),
        "far": float(np.mean(np.abs(z) > 2)),
        "zeros": float(np.mean(TARGETS[truth][:n] == 0)),
        "expected": float(np.mean(fit.distribution(X[:n, None]).cdf(0.0))),
    }
