"""Average marginal effects against differences of what is predicted: for whatever the registry holds."""

import numpy as np
import pytest
from laws.inference_cases import EXAMPLES, EXTRAS, LINKED, each, estimates, slope

import neglog as nl
from neglog.distributions.link import LINKS
from neglog.distributions.registry import FAMILIES

CASES = EXAMPLES + LINKED


def averages(fit, rows, names):
    """The mean derivative of the prediction in each column, as a function of all that was estimated."""
    spread = np.std(rows.X, axis=0)

    def at(z):
        coef = z[1 : 1 + rows.X.shape[1]]
        noise = fit.noise.at_raw(**dict(zip(names, z[1 + len(coef) :].tolist(), strict=True)))

        def mean(k):
            def along(step):
                eta = rows.eta(z[0], coef) + step * coef[k]
                return np.average(noise.given(eta).point(), weights=rows.weight)

            return along

        return np.array([slope(mean(k), 0.0, 1e-2 * spread[k]) for k in range(len(coef))])

    return at


def jacobian(function, at, steps):
    """Of several values, by central differences of the fourth order."""
    ways = np.diag(steps)
    return np.stack(
        [(8 * (function(at + h) - function(at - h)) - (function(at + 2 * h) - function(at - 2 * h))) for h in ways],
        axis=1,
    ) / (12 * steps)


@pytest.mark.parametrize("extras", EXTRAS)
@pytest.mark.parametrize("prior", ["flat", "gaussian"])
@each(CASES)
def test_effects_are_differences_of_predictions_and_their_errors_those_of_the_delta_method(case, prior, extras):
    rows, names = case.rows(extras), case.noise.unknown
    fit = rows.fit(case.noise, case.prior(prior))
    found = fit.effects()
    function, at = averages(fit, rows, names), estimates(fit, names)
    wanted = function(at)
    size = np.abs(wanted).max()
    np.testing.assert_allclose(found.estimate, wanted, atol=1e-6 * size)
    covariance = np.asarray(fit.covariance(noise=True))
    widened = 1.0 if fit.residual_degrees is None else np.sqrt(fit.total_weight / fit.residual_degrees)
    moved = jacobian(function, at, 0.03 * np.sqrt(covariance.diagonal()))
    moved[:, : 1 + rows.X.shape[1]] *= widened
    errors = np.sqrt(np.einsum("ij,jk,ik->i", moved, covariance, moved))
    np.testing.assert_allclose(found.standard_errors, errors, rtol=2e-5)


@each([case for case in CASES if case.number == 0])
def test_rows_that_are_given_again_have_the_same_effects(case):
    rows = case.rows("weighted")
    fit = rows.fit(case.noise)
    again = fit.effects(rows.X, sample_weight=rows.weight, offset=rows.offset)
    np.testing.assert_allclose(again.estimate, fit.effects().estimate, rtol=1e-10)
    np.testing.assert_allclose(again.covariance, fit.effects().covariance, rtol=1e-10)


@each([case for case in CASES if case.truth.smooth and case.number == 0])
def test_robust_errors_stand_in_the_place_of_the_posterior(case):
    rows = case.rows()
    fit = rows.fit(case.noise)
    found = fit.effects(errors="HC1", level=0.8, tests=True)
    assert "HC1" in found.text
    ends = found["x1"]
    assert ends[0] < found.estimate[1] < ends[1]
    clustered = fit.effects(errors="cluster", cluster=np.arange(len(rows.y)) % 20)
    assert clustered.law == "t(19)"


@pytest.mark.parametrize("family", [own for own in FAMILIES.values() if issubclass(own, nl.distributions.Noise)])
def test_the_point_is_the_location_where_a_family_says_so(family):
    for example in family.examples:
        law = family(**example)
        if law.point_is_location:
            location = law.parameters[law.location]
            np.testing.assert_array_equal(law.point(), location)


@pytest.mark.parametrize("link", [link for link in LINKS.values() if link.name != "softmax"], ids=repr)
def test_slopes_of_links_are_differences(link):
    eta = np.array([-1.7, -0.3, 0.4, 1.9])
    first, second = link.slopes(eta)
    np.testing.assert_allclose(first, slope(link.inverse, eta, 1e-3), rtol=1e-9)
    np.testing.assert_allclose(second, slope(lambda x: link.slopes(x)[0], eta, 1e-3), rtol=1e-8, atol=1e-12)
