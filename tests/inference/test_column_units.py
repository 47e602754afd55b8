"""The unit of a column says nothing about the column, nor about others: results follow it, whatever it is."""

import numpy as np
import pytest
from inference import problems
from inference.problems import NOISES, each
from scipy import sparse

import neglog as nl

COLUMNS = 3
UNITS = {
    "one large": [1e8, 1.0, 1.0],
    "both ways": [1e-8, 1.0, 1e8],
    "far apart": [1e150, 1.0, 1e-150],
}
PRIORS = {
    "flat": lambda units: nl.Flat(),
    "gaussian": lambda units: nl.Gaussian(scale=0.7 / units),
    "laplace": lambda units: nl.Laplace(scale=0.05 / units),
}


def rows_of(noise, count=240):
    """Columns of unit size with targets of the noise."""
    table = problems.problem(nl.Flat(), rows=count).table
    return table[["slope", "curve", "flag"]].to_numpy(float), problems.targets(noise, table)


@each(NOISES)
@pytest.mark.parametrize("units", list(UNITS.values()), ids=list(UNITS))
@pytest.mark.parametrize("prior", list(PRIORS.values()), ids=list(PRIORS))
def test_coefficients_follow_the_units_of_their_columns(noise, units, prior):
    (X, y), units = rows_of(noise), np.array(units)
    fit, scaled = (nl.fit(X * by, y, noise, prior(by)) for by in (np.ones(COLUMNS), units))
    assert scaled.converged
    np.testing.assert_allclose(scaled.coef * units, fit.coef, atol=1e-5)
    np.testing.assert_allclose(scaled.intercept, fit.intercept, atol=1e-5)
    np.testing.assert_allclose(scaled.objective, fit.objective, rtol=1e-8)


@each(NOISES)
@pytest.mark.parametrize("units", list(UNITS.values()), ids=list(UNITS))
def test_errors_and_posteriors_follow_the_units_of_their_columns(noise, units):
    (X, y), units = rows_of(noise), np.array(units)
    fit, scaled = (nl.fit(X * by, y, noise) for by in (np.ones(COLUMNS), units))
    np.testing.assert_allclose(scaled.standard_errors * units, fit.standard_errors, rtol=1e-4)
    one, other = fit.posterior(), scaled.posterior()
    places = [[name.endswith(f"x{j}") for name in one.names].index(True) for j in range(COLUMNS)]
    np.testing.assert_allclose(other.std[places] * units, one.std[places], rtol=1e-4)


@each(NOISES)
@pytest.mark.parametrize("prior", list(PRIORS.values()), ids=list(PRIORS))
def test_sparse_columns_may_be_far_from_zero(noise, prior):
    """Beside the square of its middle, how a column varies would be rounding, and the column taken for a constant."""
    X, y = rows_of(noise)
    X[:, 0] += 1e6
    dense = nl.fit(X, y, noise, prior(np.ones(COLUMNS)))
    for form in (sparse.csr_array, sparse.csc_array):
        fit = nl.fit(form(X), y, noise, prior(np.ones(COLUMNS)))
        assert fit.converged
        np.testing.assert_allclose(fit.coef, dense.coef, atol=1e-8)
        np.testing.assert_allclose(fit.predict(form(X[:5])), dense.predict(X[:5]), rtol=1e-6)
        np.testing.assert_allclose(fit.standard_errors, dense.standard_errors, rtol=1e-6)


@each({name: noise for name, noise in NOISES.items() if isinstance(noise, nl.Bernoulli | nl.Categorical)})
def test_one_huge_number_separates_nothing_and_hides_no_column(noise):
    """Of a column with one huge number the others must not look constant."""
    X, y = rows_of(noise)
    usual = nl.fit(X[1:], y[1:], noise)
    if isinstance(noise, nl.Categorical):  # a row that the others predict already costs and moves nothing
        X[0, 0], y[0] = 1e10, np.argmax(usual.coef[:, 0])
    else:
        X[0, 0], y[0] = 1e10 * np.sign(usual.coef[0]), 1.0
    fit = nl.fit(X, y, noise)
    assert fit.converged, fit.message
    np.testing.assert_allclose(fit.coef, usual.coef, atol=1e-5)
