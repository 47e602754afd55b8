"""What is special about Weibull, inverse Gaussian, Beta and sinh-arcsinh noises."""

import pickle

import numpy as np
import pytest

import neglog as nl


def test_weibull_of_shape_one_is_exponential():
    y = np.array([1e-8, 0.3, 2.0, 40.0])
    np.testing.assert_allclose(nl.Weibull(3.0, 1.0).nll(y), nl.Gamma(3.0, 1.0).nll(y), rtol=1e-13)


def test_a_weibull_fit_predicts_the_mean_though_its_location_is_the_scale(rng):
    y = nl.Weibull(4.0, 0.6).sample(20_000, rng=rng)
    fit = nl.fit(np.empty((len(y), 0)), y, nl.Weibull())
    assert float(fit.predict(np.empty((1, 0)))[0]) == pytest.approx(y.mean(), rel=0.03)
    assert np.exp(fit.intercept) == pytest.approx(4.0, rel=0.05)
    law = nl.Weibull(shape=0.6)
    assert law.with_(scale=law.location_at(7.0)).mean() == pytest.approx(7.0, rel=1e-14)


def test_inverse_gaussian_is_tweedie_of_power_three(rng):
    y = np.array([1e-3, 0.4, 1.5, 90.0])
    own, other = nl.InverseGaussian(1.5, 0.3), nl.Tweedie(1.5, 3.0, 0.3)
    np.testing.assert_allclose(own.nll(y), other.nll(y), rtol=1e-13)
    np.testing.assert_array_equal([own.cdf(y), own.sf(y)], [other.cdf(y), other.sf(y)])
    X = rng.normal(size=(300, 2))
    y = nl.InverseGaussian(np.exp(X @ [0.5, -0.3]), 0.4).sample(rng=rng)
    fits = [nl.fit(X, y, noise, tol=1e-10) for noise in (nl.InverseGaussian(), nl.Tweedie(power=3.0))]
    assert fits[0].nll == pytest.approx(fits[1].nll, rel=1e-9)
    assert fits[0].noise.dispersion == pytest.approx(fits[1].noise.dispersion, rel=1e-5)
    one, two = nl.InverseGaussian(2.0, 0.3), nl.InverseGaussian(2.5, 0.4)
    assert nl.kl_divergence(one, two) == nl.kl_divergence(nl.Tweedie(2.0, 3.0, 0.3), nl.Tweedie(2.5, 3.0, 0.4))


@pytest.mark.parametrize("unit", [1e-200, 1e-6, 1e9, 1e200])
def test_the_dispersion_of_inverse_gaussian_noise_is_found_in_any_unit(unit, rng):
    X = rng.normal(size=(200, 1))
    y = nl.InverseGaussian(np.exp(0.4 * X[:, 0]), 0.5).sample(rng=rng)
    plain, other = (nl.fit(X, size * y, nl.InverseGaussian(), tol=1e-10) for size in (1.0, unit))
    assert other.converged, other.message
    assert other.noise.dispersion * unit == pytest.approx(plain.noise.dispersion, rel=1e-5)


@pytest.mark.parametrize("end", [0.0, 1.0])
def test_shares_that_are_nothing_or_all_are_refused(end):
    with pytest.raises(
        ValueError, match=rf"BetaProportion noise needs 0 < y < 1, .* row 2, is {end:g}; .*precision=tri"
    ):
        nl.fit(np.arange(4.0)[:, None], [0.2, 0.4, end, 0.7], nl.BetaProportion())


def test_a_share_near_one_keeps_what_it_lacks():
    law = nl.BetaProportion(precision=1e25).given(45.0)  # 1 - mean is 3e-20
    assert law.mean() == 1.0
    assert law.variance() == pytest.approx(np.exp(-45) / 1e25, rel=1e-12)


def test_a_parameter_may_have_the_name_of_a_method():
    law = nl.SinhArcsinh(0.0, 1.0, 0.3, 0.7)
    assert law.tail == law.parameters["tail"] == 0.7
    assert law.cdf(0.3) + law.sf(0.3) == pytest.approx(1)
    assert pickle.loads(pickle.dumps(law)).with_(tail=0.9).tail == 0.9
    with pytest.raises(AttributeError, match="immutable"):
        law.tail = 2.0


def test_a_density_that_may_shrink_to_what_many_rows_share_has_no_maximum(rng):
    X = rng.normal(size=(400, 1))
    y = X[:, 0] + rng.normal(size=400)
    y[:160] = 2.5
    for noise, given in (
        (nl.SinhArcsinh(), y),
        (nl.Log(nl.SinhArcsinh()), np.exp(y)),
        (nl.Logit(nl.SinhArcsinh()), 1 / (1 + np.exp(-y))),
    ):
        with pytest.raises(ValueError, match=r"160 of 400 are .*, around which its density grows"):
            nl.fit(X, given, noise)
    zeros = np.where(np.arange(400) % 2, 0.0, np.exp(y))
    with pytest.raises(ValueError, match=r"80 of 200 are 12\.1825, around which its density grows"):
        nl.fit(X, zeros, nl.Hurdle(nl.Log(nl.SinhArcsinh())))
    assert nl.fit(X, y, nl.SinhArcsinh(tail=1.0)).converged


def test_a_spread_that_shrinks_around_equal_targets_is_named(rng):
    X = rng.normal(size=(400, 1))
    y = X[:, 0] + rng.normal(size=400)
    y[:240] = 2.5
    with pytest.warns(nl.ConvergenceWarning):
        fit = nl.fit(X, y, nl.StudentT(df=0.5))
    assert not fit.converged
    assert "no maximum of the likelihood: 240 of 400 targets are 2.5" in fit.message
    zeros = np.where(np.arange(400) % 2, 0.0, np.exp(y))
    with pytest.warns(nl.ConvergenceWarning, match=r"120 of 200 targets are 12\.1825"):
        nl.fit(X, zeros, nl.Hurdle(nl.Log(nl.StudentT(df=0.5))))


@pytest.mark.parametrize(
    "truth",
    [
        nl.Weibull(shape=2.5),
        nl.InverseGaussian(dispersion=0.8),
        nl.BetaProportion(precision=6.0),
        nl.SinhArcsinh(scale=1.0, skew=0.6, tail=0.6),
    ],
    ids=lambda truth: type(truth).__name__,
)
def test_a_comparison_recognises_its_own_draws(truth):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(2000, 2))
    y = truth.given(X @ [0.4, -0.3]).sample(rng=rng)
    assert isinstance(nl.compare(X, y).best, type(truth))
