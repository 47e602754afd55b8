"""Intervals of predictions against the delta method by differences: for whatever the registry holds."""

import numpy as np
import pytest
from laws.inference_cases import EXAMPLES, EXTRAS, LINKED, each, estimates
from scipy.stats import norm, t

CASES = EXAMPLES + LINKED
LEVEL = 0.8


def free(noise, mean):
    """The mean on the scale on which its interval is symmetric."""
    if noise.point_is_location:
        return noise.link.forward(mean)
    low, high = noise.bounds
    if np.isfinite(low) and np.isfinite(high):
        share = (mean - low) / (high - low)
        return np.log(share / (1 - share))
    return np.log(mean - low) if np.isfinite(low) else mean


@pytest.mark.parametrize("extras", EXTRAS)
@pytest.mark.parametrize("prior", ["flat", "gaussian"])
@each(CASES)
def test_intervals_of_means_are_those_of_the_delta_method(case, prior, extras):
    rows, names = case.rows(extras), case.noise.unknown
    fit = rows.fit(case.noise, case.prior(prior))
    X, at = rows.X[:7], estimates(fit, names)
    columns = 1 + X.shape[1]
    found = fit.predict(X, interval=LEVEL, offset=0.0)
    np.testing.assert_array_equal(found.estimate, fit.predict(X, offset=0.0))

    def mean(z):
        noise = fit.noise.at_raw(**dict(zip(names, z[columns:].tolist(), strict=True)))
        return free(noise, noise.given(z[0] + X @ z[1:columns]).point())

    covariance = np.asarray(fit.covariance(noise=True))
    steps = np.diag(0.01 * np.sqrt(covariance.diagonal()))
    differences = [8 * (mean(at + h) - mean(at - h)) - (mean(at + 2 * h) - mean(at - 2 * h)) for h in steps]
    moved = np.stack(differences, axis=1) / (12 * steps.diagonal())
    degrees = fit.residual_degrees
    if degrees is not None:
        moved[:, :columns] *= np.sqrt(fit.total_weight / degrees)
    errors = np.sqrt(np.einsum("ij,jk,ik->i", moved, covariance, moved))
    upper = 0.5 + 0.5 * LEVEL
    reach = (norm.ppf(upper) if degrees is None else t.ppf(upper, degrees)) * errors
    ends = np.sort([free(fit.noise, found.lower), free(fit.noise, found.upper)], axis=0)
    middle = free(fit.noise, found.estimate)
    inside = ends[0] > 0 if fit.noise.link.name in ("sqrt", "inverse") else np.ones(len(X), bool)
    np.testing.assert_allclose((ends[1] - middle)[inside], reach[inside], rtol=1e-5)
    np.testing.assert_allclose((middle - ends[0])[inside], reach[inside], rtol=1e-5)


@each([case for case in EXAMPLES if case.truth.smooth and case.number == 0])
def test_intervals_of_y_are_quantiles_of_the_predictive_law(case):
    rows = case.rows()
    fit = rows.fit(case.noise)
    found = fit.predict(rows.X[:5], interval=LEVEL, of="y")
    law = fit.posterior().predictive(rows.X[:5])
    np.testing.assert_array_equal(found.lower, law.icdf(np.full(5, 0.5 - 0.5 * LEVEL)))
    np.testing.assert_array_equal(found.upper, law.icdf(np.full(5, 0.5 + 0.5 * LEVEL)))
    narrow = fit.predict(rows.X[:5], interval=LEVEL)
    assert np.all(found.upper - found.lower >= 0)
    if case.truth.measure == "density":
        assert np.all(found.upper - found.lower > narrow.upper - narrow.lower)
