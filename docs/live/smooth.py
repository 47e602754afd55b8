"""A smooth curve through 24 points: its prior's scale, from a straight line to interpolation, and the evidence."""

from functools import cache

import numpy as np
import pyarrow as pa
from scipy.interpolate import CubicSpline

import neglog as nl

SIGMA = 0.5
LEAST = -2.0  # the slider's end, where the scale is 0

# 24 places, and errors drawn once from a Gaussian of scale 0.5
X = np.array([0.02, 0.29, 0.71, 1.13, 1.48, 2.09, 2.34, 2.81, 3.12, 3.68, 4.05, 4.41])
X = np.concatenate([X, [4.93, 5.26, 5.84, 6.11, 6.77, 7.02, 7.45, 8.09, 8.36, 8.95, 9.41, 9.97]])
ERRORS = SIGMA * np.random.default_rng(3).standard_normal(24)
TARGETS = {
    "wave": np.round(1.6 * np.sin(0.95 * X) + 0.1 * X + ERRORS, 2),
    "line": np.round(0.3 * X - 1.0 + ERRORS, 2),
}


@cache
def wiggles():
    """Orthonormal wiggles over the rows, what a row sees of each under a prior of scale 1, and all on a grid."""
    unit = CubicSpline(X, np.eye(24), bc_type="natural")
    left, right = unit(X[:-1], 2), unit(X[1:], 2)
    h = np.diff(X)[:, None]
    bending = (left.T @ (h * left) + right.T @ (h * right)) / 3 + (left.T @ (h * right) + right.T @ (h * left)) / 6
    values, vectors = np.linalg.eigh(bending)
    values, vectors = values[2:], vectors[:, 2:]  # the first two are straight lines
    sizes = 24 / values / np.sum(1 / values)
    grid = np.linspace(X[0], X[-1], 121)
    return sizes, vectors, grid, unit(grid) @ vectors


def data():
    sizes, vectors, grid, on_grid = wiggles()
    return {
        "sigma": SIGMA,
        "least": LEAST,
        "x": X.tolist(),
        "targets": {name: y.tolist() for name, y in TARGETS.items()},
        "sizes": sizes.tolist(),
        "wiggles": vectors.T.tolist(),
        "grid": grid.tolist(),
        "onGrid": on_grid.round(6).tolist(),
    }


@cache
def fitted(target, term):
    table = pa.table({"x": X, "y": TARGETS[target]})
    return nl.fit(table, "y", nl.Gaussian(scale=SIGMA), terms=[term], tol=1e-10)


def expected(target, scale):
    s = 0.0 if scale <= LEAST else 10.0**scale
    fit = fitted(target, nl.smooth("x", size=24, scale=s))
    straight = fitted(target, "x")
    error = TARGETS[target] - fit.predict(pa.table({"x": X}))
    return {
        "effective": fit.terms["x"].effective,
        "gained": fit.posterior().evidence - straight.posterior().evidence if s else 0.0,
        "error": float(np.sqrt(np.mean(error**2))),
        "best": fitted(target, nl.smooth("x", size=24)).terms["x"].scale,
    }
