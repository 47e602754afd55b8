"""Corners that were wrong once: each line is a case somebody could meet."""

import numpy as np
import pytest

import neglog as nl


def test_a_prediction_that_is_no_number_gives_no_number():
    for law in (nl.Poisson().given(np.nan), nl.Tweedie(power=1.0, dispersion=1.0).given(np.nan)):
        assert np.isnan(law.icdf(0.5))
    assert np.isnan(nl.Poisson().given(np.nan).entropy())
    assert nl.Poisson().given(-800.0).entropy() == 0
    assert np.isnan(nl.Bernoulli(0.3).cdf(np.nan))
    assert np.isnan(nl.Categorical([0.3, 0.7]).cdf(np.nan))


@pytest.mark.parametrize(
    ("p", "q", "nats"),
    [
        (nl.Beta(0.5, 0.01), nl.Laplace(0.0, 1.0), 94.738),
        (nl.Beta(0.5, 0.2), nl.Laplace(0.0, 1.0), 3.1988),
        (nl.Gamma(1.0, 1e-3), nl.Laplace(0.0, 1.0), 987.45),
        (nl.Gamma(1.0, 0.01), nl.Laplace(0.0, 1.0), 92.03),
        (nl.Gamma(1.0, 1.01), nl.Tweedie(1.0, 3.0, 1.0), 49.06),
        (nl.Gamma(1.0, 0.5), nl.Tweedie(1.0, 3.0, 1.0), np.inf),
        (nl.LogNormal(0.0, 20.0), nl.Laplace(0.0, 1.0), 7.2260e86),
        (nl.Beta(1e12, 1e12), nl.Beta(1.3e12, 1.3e12), 0.01881786777),
    ],
    ids=repr,
)
def test_divergences_of_laws_with_poles_and_heavy_tails(p, q, nats):
    assert nl.kl_divergence(p, q) == pytest.approx(nats, rel=1e-4)


def test_quantile_integrals_reach_poles():
    """Against a Huber law, which is no exponential family and lies on the whole line."""
    wide = nl.kl_divergence(nl.Gamma(1.0, 0.01), nl.Huber(0.0, 1.0, 1e-4))
    assert wide == pytest.approx(nl.kl_divergence(nl.Gamma(1.0, 0.01), nl.Laplace(0.0, 1e4)), rel=1e-3)
    assert np.isfinite(nl.kl_divergence(nl.Beta(0.5, 0.01), nl.Huber(0.1, 1.0)))


def test_entropy_of_tweedie_laws_with_mass_below_all_numbers():
    assert nl.Tweedie(1.0, 1.99, 100.0).entropy() == pytest.approx(-41.4103, abs=1e-4)
    assert nl.Tweedie(1.0, 1.999, 1e4).entropy() == pytest.approx(-90.818, abs=1e-3)


def test_divergences_are_never_negative():
    assert nl.kl_divergence(nl.Beta(1e8, 1e8), nl.Gaussian(0.5, 0.5 / np.sqrt(2e8))) >= 0
    assert nl.kl_divergence(nl.Gaussian(1.0, 1.0) * nl.Laplace(0.0, 1e9), nl.Gaussian(1.0, 1.0)) >= 0


def test_powers_in_arrays_are_compared_one_by_one():
    both = nl.kl_divergence(nl.Tweedie(1.0, 3.0, 1.0), nl.Tweedie(1.0, np.array([3.0, 2.0]), 1.0))
    single = nl.kl_divergence(nl.Tweedie(1.0, 3.0, 1.0), nl.Tweedie(1.0, 2.0, 1.0))
    np.testing.assert_allclose(both, [0.0, single], atol=1e-9)


def test_raw_predictions_are_remembered_by_divergence_and_tails():
    assert nl.kl_divergence(nl.Bernoulli().given(0.0), nl.Bernoulli().given(40.0)) == pytest.approx(20 - np.log(2))
    assert nl.kl_divergence(nl.Bernoulli().given(0.0), nl.Bernoulli().given(800.0)) == pytest.approx(400 - np.log(2))
    p, q = nl.Categorical([0.5, 0.5]), nl.Categorical().given([0.0, 800.0])
    assert nl.kl_divergence(p, q) == pytest.approx(400 - np.log(2))
    sure = nl.Bernoulli().given(40.0)
    assert sure.cdf(0) == pytest.approx(np.exp(-40), rel=1e-12)
    assert sure.variance() == pytest.approx(np.exp(-40), rel=1e-12)
    assert sure.entropy() == pytest.approx(41 * np.exp(-40), rel=1e-12)
    assert nl.Gaussian(scale=1.0).given(0.0) == nl.Gaussian(0.0, 1.0)


def test_derivatives_where_factors_overflow():
    assert nl.Bernoulli(link="cloglog").derivatives(1, 720.0)[2] == 0
    assert nl.Bernoulli(link="cloglog").derivatives(1, 800.0, expected=True)[2] == 0
    assert np.isfinite(nl.Laplace(scale=1.0, link="log").derivatives(1.0, 356.0)[2])
    assert nl.Tweedie(power=0.0, dispersion=1.0, link="identity").derivatives(-1.0, 0.0)[1:] == (1.0, 1.0)
    assert nl.Tweedie(power=1.5, dispersion=1.0).gradient_hessian(0.0, -800.0)[0] == pytest.approx(np.exp(-400))


def test_tails_of_links_keep_their_digits():
    _, _, hessian = nl.Bernoulli(link="probit").derivatives(1, np.array([-1e4, -1e8]))
    np.testing.assert_allclose(hessian, 1.0, rtol=2e-8)
    nll = nl.Bernoulli(link="log").derivatives(0, np.array([-30.0, -40.0]))[0]
    np.testing.assert_allclose(nll, np.exp([-30.0, -40.0]), rtol=1e-12)


def test_float32_lattice_and_float32_beside_python_numbers():
    step = np.float32(0.1)
    y = step * np.arange(1, 8, dtype=np.float32)
    assert np.isfinite(nl.Tweedie(1.0, 1.0, np.array([step])).nll(y)).all()
    assert np.isfinite(nl.Tweedie(1.0, 1.0, step).nll(y)).all()
    for result in (
        nl.Gaussian().loss(y, 0.5),
        nl.Laplace().loss(y, 0.5),
        nl.Huber().loss(y, 0.5),
        nl.LogNormal().loss(y, 0.5),
        nl.Poisson().loss(y, 0.5),
        nl.Poisson().deviance(y, 0.5),
        *nl.Gaussian(scale=1.0).derivatives(y, 0.5),
        nl.Gaussian(scale=1.0).nll(y.astype(">f4")),
    ):
        assert result.dtype == np.float32


def test_tiny_probabilities():
    assert nl.kl_divergence([0.5, 0.5], [1e-320, 1.0]) == pytest.approx(0.5 * (320 * np.log(10)) - np.log(2), rel=1e-3)


def test_sizes_may_be_numpy_integers_and_single_draws_are_scalars():
    assert nl.Poisson(3.0).sample(np.int64(3), rng=0).shape == (3,)
    assert nl.Gaussian(0.0, 1.0).sample((2, np.int64(2)), rng=0).shape == (2, 2)
    assert isinstance(nl.Gaussian(0.0, 1.0).sample(rng=0), np.float64)


def test_draws_at_the_ends():
    assert nl.Poisson(1e19).sample(rng=0) == pytest.approx(1e19, rel=1e-8)
    assert np.isfinite(nl.Dirichlet([1e-5, 1e-5]).sample(5, rng=0)).all()
    assert np.isfinite(nl.Huber(0.0, 1.0, np.inf).sample(3, rng=0)).all()


def test_infinite_moments_are_answers():
    assert nl.LogNormal(0.0, 100.0).mean() == np.inf
    assert nl.Gaussian(scale=1e200).variance() == np.inf
    assert nl.Gamma(1e200, 1.0).variance() == np.inf
    assert nl.Gaussian(scale=1e-200).strength == np.inf
    assert nl.Bernoulli(0.0).parameter_gradient(1)["p"] == -np.inf
    wide = nl.Gaussian(scale=np.inf)
    assert (wide * wide).scale == np.inf
    assert (wide * nl.Laplace(scale=0.1)).nll(0.0) == nl.Laplace(scale=0.1).nll(0.0)


def test_losses_at_the_edge():
    assert nl.Gamma().loss(1.0, 0.0) == np.inf
    assert nl.Tweedie(power=3.0).loss(1.0, 0.0) == np.inf


def test_every_tie_counts():
    x = np.random.default_rng(0).normal(size=200)
    with pytest.raises(ValueError, match="400 of 400 rows coincide"):
        nl.from_samples.entropy(np.repeat(x, 2))
    with pytest.raises(ValueError, match="k must be a number of neighbours"):
        nl.from_samples.entropy(x, k=0)


def test_lattices_within_lattices():
    finer = nl.Tweedie(2.0, 1.0, 0.5)
    assert np.isfinite(nl.kl_divergence(nl.Poisson(2.0), finer))
    assert nl.kl_divergence(finer, nl.Poisson(2.0)) == np.inf
    assert nl.kl_divergence(nl.Tweedie(3.0, 1.0, [1.0, 1.0]), nl.Poisson(2.0)).shape == (2,)


def test_laws_of_different_dimensions_are_not_compared():
    for p, q in ((nl.Dirichlet([2.0, 2.0]), nl.Gaussian(0.0, 1.0)), (nl.Beta(1.0, 1.0), nl.Dirichlet([1.0, 1.0]))):
        with pytest.raises(TypeError, match="cannot be compared"):
            nl.kl_divergence(p, q)


def test_decompose_takes_float32_and_surprises():
    p = np.array([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8], [0.0, 0.5, 0.5]])
    parts = nl.decompose([0, 1, 2, 0], p)
    assert parts.log_loss == parts.miscalibration == np.inf
    assert parts.irreducible == pytest.approx(parts.uncertainty)
    soft = np.random.default_rng(0).dirichlet(np.ones(5), 100).astype(np.float32)
    assert np.isfinite(nl.decompose(np.zeros(100), soft).log_loss)
    assert "-0.0" not in str(nl.decompose([0, 1], [0.0, 1.0]))


def test_errors_say_what_is_missing():
    with pytest.raises(ValueError, match="Gaussian: scale is unknown"):
        nl.kl_divergence(nl.Gaussian(), nl.Gaussian(0.0, 1.0))
    with pytest.raises(ValueError, match="Gaussian: loc is unknown"):
        nl.Gaussian(None, 1.0).penalty(1.0)
    with pytest.raises(ValueError, match="eta must hold the classes"):
        nl.Categorical().derivatives(0, 3.0)
    with pytest.raises(TypeError, match="axis must be one integer"):
        nl.entropy([0.5, 0.5], axis=None)
    with pytest.raises(TypeError, match="not a distribution"):
        nl.jensen_shannon(nl.Gaussian(0.0, 1.0), nl.Gaussian(0.0, 1.0))


def test_a_quadrature_that_stopped_early_says_so():
    with pytest.warns(RuntimeWarning, match=r"divergence of .* the quadrature gave .* with an error of up to"):
        nl.kl_divergence(nl.Huber(0.0, 1.0), nl.Huber(1e-11, 1.0))
