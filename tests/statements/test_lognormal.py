"""Log-normal loss: statements that textbooks and lecture notes often get wrong."""

import numpy as np
import pytest
from sklearn.metrics import mean_squared_log_error

import neglog as nl

Y = np.array([0.5, 1.2, 2.0, 3.5, 11.0])


def test_lognormal_noise_multiplies():
    """y = e^f eps with log eps ~ N(0, sigma^2): scaling y shifts f, and the law keeps its relative spread."""
    f, scale = 1.1, 0.6
    np.testing.assert_allclose(nl.LogNormal(f, scale).cdf(Y * np.exp(f)), nl.LogNormal(0.0, scale).cdf(Y), rtol=1e-12)
    spread = np.sqrt(nl.LogNormal(f, scale).variance()) / nl.LogNormal(f, scale).mean()
    assert spread == pytest.approx(np.sqrt(nl.LogNormal(0.0, scale).variance()) / nl.LogNormal(0.0, scale).mean())
    assert np.max(np.abs(nl.LogNormal(f, scale).cdf(Y + f) - nl.LogNormal(0.0, scale).cdf(Y))) > 0.1


def test_the_parameters_are_mean_and_variance_of_log_y():
    """Not of y itself: E log y = loc and Var log y = scale^2, while E y = exp(loc + scale^2 / 2)."""
    law = nl.LogNormal(0.7, 0.9)
    z = np.linspace(-9, 9, 4001) * 0.9 + 0.7
    density = law.pdf(np.exp(z)) * np.exp(z)  # of log y
    assert np.trapezoid(z * density, z) == pytest.approx(0.7, rel=1e-9)
    assert np.trapezoid((z - 0.7) ** 2 * density, z) == pytest.approx(0.81, rel=1e-9)
    assert abs(law.mean() - 0.7) > 1
    assert abs(law.variance() - 0.81) > 1


def test_the_model_output_is_the_mean_of_log_y():
    """m_i = f(x_i): the raw prediction is on the log scale."""
    eta = np.array([-1.0, 0.0, 2.0])
    np.testing.assert_allclose(nl.LogNormal(scale=0.5).given(eta).nll(2.0), nl.LogNormal(eta, 0.5).nll(2.0), rtol=1e-14)


def test_the_nll_has_three_terms():
    """log y + log(2 pi sigma^2)/2 + (log y - m)^2 / 2 sigma^2."""
    m, scale = 0.4, 0.8
    expected = np.log(Y) + 0.5 * np.log(2 * np.pi * scale**2) + (np.log(Y) - m) ** 2 / (2 * scale**2)
    np.testing.assert_allclose(nl.LogNormal(m, scale).nll(Y), expected, rtol=1e-13)


def test_the_estimate_is_least_squares_on_the_logs(argmin):
    """argmin NLL = argmin sum (log y - f)^2, and sigma^2-hat is the mean squared log residual."""
    m = argmin(lambda m: nl.LogNormal(m, 0.8).nll(Y).sum(), -5, 5)
    least_squares = argmin(lambda m: nl.LogNormal().loss(Y, np.exp(m)).sum(), -5, 5)
    assert m == pytest.approx(np.log(Y).mean(), abs=1e-6)
    assert least_squares == pytest.approx(m, abs=1e-6)
    scale = np.exp(argmin(lambda w: nl.LogNormal(m, np.exp(w)).nll(Y).sum(), -4, 4))
    assert scale**2 == pytest.approx(np.log(Y).var(), rel=1e-6)


def test_the_jacobian_must_be_kept_to_compare_with_other_families():
    """sum log y is what a Gaussian on log y lacks; leaving it out changes which family seems better."""
    y = 10.0 + np.array([-2.0, -1.0, 0.0, 1.0, 2.0])
    gaussian = nl.Gaussian(y.mean(), y.std()).nll(y).sum()
    lognormal = nl.LogNormal(np.log(y).mean(), np.log(y).std()).nll(y).sum()
    on_the_logs = nl.Gaussian(np.log(y).mean(), np.log(y).std()).nll(np.log(y)).sum()
    assert lognormal - on_the_logs == pytest.approx(np.log(y).sum(), rel=1e-12)
    assert gaussian < lognormal
    assert on_the_logs < gaussian - 5


def test_exp_of_the_fit_is_the_median_and_not_the_mean(argmin):
    """Median e^m, mean e^(m + s^2/2), mode e^(m - s^2)."""
    m, scale = 0.4, 0.8
    law = nl.LogNormal(m, scale)
    assert law.median() == pytest.approx(np.exp(m), rel=1e-12)
    assert law.mean() == pytest.approx(np.exp(m + scale**2 / 2), rel=1e-12)
    assert argmin(law.nll, 0.01, 5) == pytest.approx(np.exp(m - scale**2), rel=1e-6)
    assert np.exp(np.log(Y).mean()) == pytest.approx(np.prod(Y) ** (1 / len(Y)), rel=1e-12)


def test_naive_back_transformation_underpredicts_the_mean():
    """By the factor e^(-s^2/2); e^(s^2/2) or Duan's smearing factor repairs it."""
    m, scale = 0.4, 0.8
    law = nl.LogNormal(m, scale)
    assert np.exp(m) / law.mean() == pytest.approx(np.exp(-(scale**2) / 2), rel=1e-12)
    q = (np.arange(20000) + 0.5) / 20000
    y = law.icdf(q)
    residual = np.log(y) - np.log(y).mean()
    smearing = np.mean(np.exp(residual))
    assert smearing == pytest.approx(np.exp(scale**2 / 2), rel=1e-3)
    assert np.exp(np.log(y).mean()) * smearing == pytest.approx(y.mean(), rel=1e-12)
    assert np.exp(np.log(y).mean()) < 0.75 * y.mean()


def test_mean_squared_log_error_is_the_lognormal_model_of_one_plus_y():
    """The usual MSLE metric uses log(1 + y): the loss of the law of 1 + y, not of y."""
    f = np.array([0.7, 1.0, 2.5, 3.0, 8.0])
    msle = mean_squared_log_error(Y, f)
    assert nl.LogNormal().loss(1 + Y, 1 + f).mean() == pytest.approx(msle, rel=1e-12)
    assert abs(nl.LogNormal().loss(Y, f).mean() - msle) > 0.01
