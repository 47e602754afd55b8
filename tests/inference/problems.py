"""Seeded regression problems, read from the registry, and what every fit of them must satisfy.

The conditions are written in plain NumPy on a dense matrix: none of the code under test but the derivatives of the
distributions is used.
"""

from dataclasses import dataclass

import numpy as np
import pandas
import polars
import pyarrow
import pytest
from families import TESTED
from scipy import optimize, sparse, special

import neglog as nl

ROWS, CLASSES = 160, 3
TIGHT = 1e-10
COLOURS = np.array(["amber", "blue", "cyan"])


# ---- noises ----------------------------------------------------------------------------------------------------------


def stated(family):
    """The family with the parameters of its first example; the location is what a fit predicts."""
    parameters = dict(family.examples[0])
    parameters.pop(family.location)
    return family(**parameters)


FAMILY_OF = TESTED
KNOWN = {name: stated(family) for name, family in FAMILY_OF.items()}
UNKNOWN = {f"{name}-estimated": family() for name, family in FAMILY_OF.items() if family() != KNOWN[name]}
NOISES = KNOWN | UNKNOWN
UNIVARIATE = {name: noise for name, noise in NOISES.items() if not isinstance(noise, nl.Categorical)}


def each(laws, name="noise"):
    """Parametrise a test over a dictionary of laws."""
    return pytest.mark.parametrize(name, list(laws.values()), ids=list(laws))


def estimated(noise):
    """The names of the parameters that a fit has to find beside the coefficients."""
    return [name for name, value in noise.parameters.items() if value is None and name != noise.location]


def of_rows(noise, precision):
    """The noise with the dispersion of each row divided by its precision, as its family declares."""
    if precision is None or noise.traits.repeats:
        return noise
    powers = {own.name: own.precision for own in noise.declared}
    parameters = {k: v if v is None else v * precision ** powers[k] for k, v in noise.parameters.items() if powers[k]}
    return type(noise)(**noise.parameters | parameters, link=noise.link)


# ---- tables ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Problem:
    """A table in every form, with targets drawn from a noise."""

    table: pandas.DataFrame
    levels: bool  # every level of the categorical column has a coefficient, or all but the first

    @property
    def dense(self):
        names = COLOURS if self.levels else COLOURS[1:]
        indicators = [(self.table["colour"] == name).to_numpy(float) for name in names]
        numbers = self.table[["slope", "curve", "flag"]].to_numpy(float)
        return np.ascontiguousarray(np.column_stack([numbers, *indicators]))

    def form(self, name):
        X = self.dense
        return {
            "c": lambda: X,
            "f": lambda: np.asfortranarray(X),
            "strided": lambda: np.repeat(X, 2, axis=1)[:, ::2],
            "csr": lambda: sparse.csr_array(X),
            "csc": lambda: sparse.csc_array(X),
            "csr_matrix": lambda: sparse.csr_matrix(X),
            "pandas": lambda: self.table,
            "pandas_strings": lambda: self.table.astype({"colour": str}),
            "polars": lambda: polars.DataFrame({c: self.table[c].to_list() for c in self.table.columns}),
            "arrow": lambda: pyarrow.table({c: self.table[c].to_list() for c in self.table.columns}),
        }[name]()


FORMS = ["f", "strided", "csr", "csc", "csr_matrix", "pandas", "pandas_strings", "polars", "arrow"]


def problem(prior, rows=ROWS, seed=7):
    """The table; under a flat prior the first level is the reference."""
    rng = np.random.default_rng(seed)
    table = pandas.DataFrame(
        {
            "slope": rng.normal(size=rows),
            "curve": 2 * rng.random(rows) + 0.5,
            "flag": rng.random(rows) < 0.4,
            "colour": pandas.Categorical(COLOURS[np.arange(rows) % 3], categories=COLOURS),
        }
    )
    return Problem(table, levels=not isinstance(prior, nl.Flat))


def targets(noise, table, seed=11):
    """Draws from the noise at raw predictions of moderate size."""
    eta = 0.4 + 0.5 * table["slope"].to_numpy() - 0.3 * table["curve"].to_numpy() + 0.2 * (table["colour"] == "blue")
    eta = np.asarray(eta, float)
    if isinstance(noise, nl.Categorical):
        eta = np.column_stack([eta, -eta, np.zeros_like(eta)])[:, :CLASSES]
    return np.asarray(KNOWN[noise._family()].given(eta).sample(rng=seed), float)


# ---- priors ----------------------------------------------------------------------------------------------------------

WIDTHS = np.array([np.inf, 0.5, 0.3, 0.4, 0.6, 0.5])
PRIORS = {
    "flat": nl.Flat(),
    "gaussian": nl.Gaussian(scale=0.4),
    "laplace": nl.Laplace(scale=0.1),
    "elastic-net": nl.Gaussian(scale=0.5) * nl.Laplace(scale=0.2),
    "gaussian-by-column": nl.Gaussian(scale=WIDTHS),
    "laplace-by-column": nl.Laplace(scale=WIDTHS / 5),
    "gaussian-around": nl.Gaussian(loc=0.2, scale=0.3),
    "laplace-around": nl.Laplace(loc=-0.1, scale=0.1),
    "elastic-net-around": nl.Gaussian(loc=0.3, scale=0.5) * nl.Laplace(loc=0.1, scale=0.2),
}
FEW_PRIORS = {name: PRIORS[name] for name in ("flat", "gaussian", "elastic-net")}


def split(prior, columns):
    """(precision, centre) of the Gaussian factor and (strength, kink) of the Laplace factor, one per column."""
    parts = np.zeros((4, columns))
    for factor in getattr(prior, "factors", (prior,)):
        if isinstance(factor, nl.Gaussian):
            parts[0], parts[1] = 1 / np.square(factor.scale), factor.loc
        elif isinstance(factor, nl.Laplace):
            parts[2], parts[3] = 1 / np.asarray(factor.scale), factor.loc
    return parts


# ---- what a fit must satisfy -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Rows:
    """Dense rows with everything that may come with them."""

    X: np.ndarray
    y: np.ndarray
    weight: np.ndarray | None = None
    precision: np.ndarray | None = None
    offset: np.ndarray | None = None

    @property
    def weights(self):
        return np.ones(len(self.y)) if self.weight is None else self.weight

    def eta(self, fit):
        shift = 0.0 if self.offset is None else self.offset
        if np.ndim(fit.coef) == 2:
            return self.X @ fit.coef.T + fit.intercept + np.reshape(shift, (-1, 1))
        return self.X @ fit.coef + fit.intercept + shift

    def law(self, fit):
        return of_rows(fit.noise, self.precision).given(self.eta(fit))

    def nll(self, fit):
        """The nats of the whole sample."""
        if self.precision is not None and isinstance(fit.noise, nl.Poisson):
            counts = nl.Poisson(self.precision * self.law(fit).mean())
            return self.weights @ counts.nll(np.round(self.precision * self.y))
        if self.precision is not None and isinstance(fit.noise, nl.Bernoulli):
            n, ones = self.precision, self.precision * self.y
            ways = special.gammaln(n + 1) - special.gammaln(ones + 1) - special.gammaln(n - ones + 1)
            return self.weights @ (n * fit.noise.derivatives(self.y, self.eta(fit))[0] - ways)
        return self.weights @ self.law(fit).nll(self.y)

    def derivatives(self, fit):
        """Gradient and expected curvature in eta, row by row."""
        noise, eta = of_rows(fit.noise, self.precision), self.eta(fit)
        factor = self.weights
        if self.precision is not None and noise is fit.noise:
            factor = factor * self.precision
        gradient, curvature = noise.gradient_hessian(self.y, eta, expected=True)
        if np.ndim(fit.coef) == 2:
            return factor[:, None] * gradient, factor[:, None] * np.einsum("ikk->ik", curvature)
        return factor * gradient, factor * curvature


def remainder(fit, rows, intercept=True):
    """The smallest subgradient of the objective at the fit, in posterior standard deviations of each coefficient."""
    precision, centre, strength, kink = split(fit.prior, rows.X.shape[1])
    A = np.column_stack([np.ones(len(rows.y)), rows.X]) if intercept else rows.X
    padded = [np.concatenate([np.zeros(int(intercept)), part]) for part in (precision, centre, strength, kink)]
    precision, centre, strength, kink = padded
    slopes, curvatures = rows.derivatives(fit)
    theta = np.concatenate([np.atleast_2d(fit.intercept).T, np.atleast_2d(fit.coef)], axis=1)
    theta = theta if intercept else theta[:, 1:]
    slopes, curvatures = (part.reshape(len(rows.y), -1) for part in (slopes, curvatures))
    gradient = slopes.T @ A + precision * (theta - centre)
    units = np.sqrt(curvatures.T @ A**2 + precision)
    bent = (theta == kink) & (strength > 0)
    gradient = gradient + np.where(bent, 0.0, strength * np.sign(theta - kink))
    if fit.noise.smooth:
        slack = np.where(bent, strength, 0.0)
        return np.max(np.maximum(np.abs(gradient) - slack, 0) / units, initial=0.0)
    # rows that are hit exactly may pull with any force between the two slopes of their loss
    law = rows.law(fit)
    above, below = law.kink_slopes
    touching = np.abs(rows.y - law.loc) <= 1e-9 * (law.scale + np.abs(rows.y))
    pull = rows.weights / np.broadcast_to(law.scale, rows.y.shape) * touching
    forces = (0.5 * (above + below) * pull)[:, None] * A
    # what the derivative took at a residual of rounding errors, but for the middle of the two
    loose = (slopes * touching[:, None] + 0.5 * (above - below) * pull[:, None]).T @ A
    free = np.vstack([forces[touching], np.diag(strength)[bent[0]]]).T / units.T
    rest = ((gradient - loose) / units).ravel()
    if free.size == 0:
        return np.max(np.abs(rest), initial=0.0)
    return np.max(np.abs(optimize.lsq_linear(free, -rest, (-1, 1), method="bvls", tol=1e-14).fun))


def parameter_slopes(fit, rows, noise):
    """The derivative of the nll in the log of each estimated parameter, in standard deviations of one row."""
    law = rows.law(fit)
    slopes = law.parameter_gradient(rows.y)
    for name in estimated(noise):
        value, own = np.asarray(law.parameters[name]), law.parameter(name)
        if own.several:
            yield name, np.max(np.abs(rows.weights @ slopes[name])) / np.sqrt(len(rows.y))
            continue
        chain = value if own.within is None else (value - own.within[0]) * (own.within[1] - value)
        yield name, abs(rows.weights @ np.broadcast_to(chain * slopes[name], rows.y.shape)) / np.sqrt(len(rows.y))


def check_optimal(fit, rows, noise, prior, *, intercept=True, atol=1e-8):
    """The fit says the objective it was asked for, and stands at its minimum."""
    assert fit.converged, fit.message
    for name in estimated(noise):
        assert np.isfinite(getattr(fit.noise, name)).all()
    assert fit.prior == prior
    np.testing.assert_allclose(fit.nll, rows.nll(fit), rtol=1e-11, atol=1e-10)
    np.testing.assert_allclose(fit.penalty, prior.penalty(fit.coef), rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(fit.objective, fit.nll + fit.penalty, rtol=1e-13, atol=1e-13)
    assert remainder(fit, rows, intercept) < atol
    for name, slope in parameter_slopes(fit, rows, noise):
        assert slope < 10 * atol, name


def check_same(fit, other, atol=TIGHT):
    """Two fits agree in everything that was estimated."""
    np.testing.assert_allclose(fit.coef, other.coef, atol=atol, rtol=atol)
    np.testing.assert_allclose(fit.intercept, other.intercept, atol=atol, rtol=atol)
    for name, value in other.noise.parameters.items():
        if value is not None and name != other.noise.location:
            np.testing.assert_allclose(getattr(fit.noise, name), value, rtol=max(atol, 1e-9), err_msg=name)
