"""Maximum likelihood: statements that textbooks and lecture notes often get wrong."""

import numpy as np
import pytest
import sympy as sp
from scipy import stats

import neglog as nl

Y = np.array([1.0, 2.0, 2.5, 4.0, 7.0])

LOCATION = [nl.Gaussian(scale=1.3), nl.Laplace(scale=1.3), nl.Huber(scale=1.3, delta=1.0)]
NOT_LOCATION = [
    nl.Poisson(),
    nl.Gamma(shape=2.0),
    nl.Tweedie(power=1.5, dispersion=0.8),
    nl.LogNormal(scale=0.5),
]


def named(noise):
    return type(noise).__name__


@pytest.mark.parametrize("noise", LOCATION, ids=named)
def test_gaussian_laplace_and_huber_are_laws_of_the_residual(noise):
    """For additive noise -log p(y | f) depends on y and f only through y - f."""
    np.testing.assert_allclose(noise.given(3.0).nll(Y), noise.given(0.0).nll(Y - 3.0), rtol=1e-13)


@pytest.mark.parametrize("noise", NOT_LOCATION, ids=named)
def test_poisson_gamma_tweedie_and_lognormal_are_not_laws_of_a_residual(noise):
    """Moving y and the mean by the same amount changes -log p: these are laws of y, not of y - f."""
    y = np.array([1.0, 2.0])
    here, moved = noise.given(np.log(2.0)), noise.given(np.log(5.0))
    assert np.all(np.abs(moved.nll(y + 3.0) - here.nll(y)) > 0.05)


@pytest.mark.parametrize("noise", [nl.Bernoulli(), *NOT_LOCATION[:3]], ids=named)
def test_the_model_output_is_the_mean_of_y_through_the_link(noise):
    """y | x follows p(. | mu) with mu = g^-1(f(x)); for the log-normal exp(f) is the median instead."""
    eta = np.array([-1.0, 0.2, 1.4])
    np.testing.assert_allclose(noise.given(eta).mean(), noise.link.inverse(eta), rtol=1e-13)
    np.testing.assert_allclose(nl.LogNormal(scale=0.5).given(eta).median(), np.exp(eta), rtol=1e-13)


def test_argmin_ignores_a_positive_factor_and_a_constant_and_is_not_proportional_to_anything(argmin):
    """argmin [c1 L + c2] equals argmin L for c1 > 0; it is not c1 times it."""
    mean = Y.mean()

    def loss(m):
        return nl.Gaussian().loss(Y, m).sum()

    assert argmin(loss, -20, 20) == pytest.approx(mean, abs=1e-6)
    assert argmin(lambda m: 3.0 * loss(m) + 11.0, -20, 20) == pytest.approx(mean, abs=1e-6)
    assert argmin(lambda m: nl.Gaussian(m, 0.7).nll(Y).sum(), -20, 20) == pytest.approx(mean, abs=1e-6)


def test_a_factor_or_a_term_that_depends_on_the_parameter_moves_the_argmin(argmin):
    """c1 and c2 may be dropped only when they do not depend on the parameter."""
    mean = argmin(lambda m: nl.Gaussian(m, m / 2).nll(Y).sum(), 0.5, 20)
    assert abs(mean - Y.mean()) > 0.2


def test_nll_is_minus_the_log_of_the_likelihood_and_the_estimator_is_its_argmin():
    """Log-likelihood, its negative and the estimator are three different things."""
    law = nl.Gaussian(2.0, 1.5)
    np.testing.assert_allclose(law.nll(Y), -np.log(law.pdf(Y)), rtol=1e-13)
    grid = np.linspace(0, 8, 801)
    nll = nl.Gaussian(grid[:, None], 1.5).nll(Y).sum(axis=1)
    assert grid[nll.argmin()] == pytest.approx(Y.mean(), abs=0.006)
    assert grid[(-nll).argmin()] in (0.0, 8.0)


def test_a_density_is_not_a_probability():
    """For continuous data the likelihood is a density: it may exceed one and its -log may be negative."""
    law = nl.Gaussian(0.0, 0.01)
    assert law.pdf(0.0) == pytest.approx(39.894228, rel=1e-7)
    assert law.nll(0.0) < 0
    width = 1e-5
    assert law.cdf(width / 2) - law.cdf(-width / 2) == pytest.approx(law.pdf(0.0) * width, rel=1e-6)


def test_the_maximum_of_the_likelihood_need_not_exist():
    """A Gaussian mixture with free variances has NLL -> -inf when one scale shrinks at a data point."""
    scale = np.array([1e-1, 1e-4, 1e-8, 1e-16])[:, None]
    mixture = 0.5 * nl.Gaussian(Y[0], scale).pdf(Y) + 0.5 * nl.Gaussian(4.0, 2.0).pdf(Y)
    nll = -np.log(mixture).sum(axis=1)
    assert np.all(np.diff(nll[1:]) < -9.0)


def test_the_maximum_of_the_likelihood_need_not_be_unique():
    """With Laplace noise and an even number of rows every point between the middle two is an MLE."""
    y = np.array([1.0, 2.0, 5.0, 9.0])
    inside = nl.Laplace(np.array([2.0, 3.0, 4.9])[:, None], 1.0).nll(y).sum(axis=1)
    outside = nl.Laplace(np.array([1.9, 5.1])[:, None], 1.0).nll(y).sum(axis=1)
    np.testing.assert_allclose(inside, inside[0], rtol=1e-14)
    assert np.all(outside > inside[0] + 0.1)


def test_the_density_of_y_is_the_density_of_the_noise_times_the_jacobian():
    """Additive noise has Jacobian 1; multiplicative noise y = e^f eps has e^-f, which depends on theta."""
    y, f = sp.symbols("y f", positive=True)
    assert sp.diff(y - f, y) == 1
    assert sp.simplify(sp.diff(y * sp.exp(-f), y) - sp.exp(-f)) == 0

    noise, f = nl.LogNormal(0.0, 0.5), 1.2
    np.testing.assert_allclose(nl.LogNormal(f, 0.5).nll(Y), noise.nll(Y * np.exp(-f)) + f, rtol=1e-13)
    np.testing.assert_allclose(nl.Gaussian(f, 0.5).nll(Y), nl.Gaussian(0.0, 0.5).nll(Y - f), rtol=1e-13)


def test_without_its_jacobian_multiplicative_noise_gives_a_wrong_estimate(argmin):
    """The shortcut p(y | x) = p(eps) is not harmless: it shifts the estimate of f by the variance."""
    right = argmin(lambda f: nl.LogNormal(f, 0.5).nll(Y).sum(), -3, 4)
    wrong = argmin(lambda f: nl.LogNormal(0.0, 0.5).nll(Y * np.exp(-f)).sum(), -3, 4)
    assert right == pytest.approx(np.log(Y).mean(), abs=1e-6)
    assert wrong == pytest.approx(np.log(Y).mean() + 0.5**2, abs=1e-6)


def test_the_noise_is_the_only_randomness_given_x():
    """Var(y | x) is the noise variance; the unconditional variance of y adds that of f(x)."""
    f, scale = np.array([0.0, 3.0]), 1.0
    np.testing.assert_allclose(nl.Gaussian(f, scale).variance() * np.ones(2), scale**2)
    y = np.linspace(-12, 15, 20001)
    marginal = nl.Gaussian(f[:, None], scale).pdf(y).mean(axis=0)
    mean = np.trapezoid(y * marginal, y)
    assert np.trapezoid((y - mean) ** 2 * marginal, y) == pytest.approx(scale**2 + f.var(), rel=1e-9)


def test_minimising_the_nll_is_always_the_same_as_maximising_the_likelihood():
    """-log is strictly decreasing: same optimum for every family, not 'usually'."""
    grid = np.linspace(0.1, 9, 500)[:, None]
    for laws in (nl.Gaussian(grid, 2.0), nl.Laplace(grid, 2.0), nl.Gamma(grid, 2.0)):
        assert laws.pdf(Y).prod(axis=1).argmax() == laws.nll(Y).sum(axis=1).argmin()


def test_the_sum_over_rows_needs_independence():
    """For dependent rows the joint -log p is not the sum of the rows' -log p."""
    y = np.array([1.0, 1.2])
    rows = nl.Gaussian(0.0, 1.0).nll(y).sum()

    def joint(rho):
        return -stats.multivariate_normal([0, 0], [[1, rho], [rho, 1]]).logpdf(y)

    assert joint(0.0) == pytest.approx(rows, rel=1e-13)
    assert joint(0.9) < rows - 0.5


def test_a_product_of_many_probabilities_underflows_and_the_sum_of_their_logs_does_not():
    """0.5^1100 is 0.0 in double precision; its log is -762.46."""
    nll = nl.Bernoulli(0.5).nll(np.ones(1100))
    assert np.prod(np.exp(-nll)) == 0.0
    assert -nll.sum() == pytest.approx(-762.46, abs=0.005)


def test_a_minibatch_gradient_must_be_rescaled_by_n_over_the_batch_size():
    """Averaged over all batches, (n/|B|) sum_B is the gradient of the NLL; the plain batch sum is not."""
    y, theta = Y[:4], 1.0
    batches = np.array([[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]])
    gradient = nl.Gaussian(scale=1.0).derivatives(y, np.full(4, theta))[1]
    batch_sums = gradient[batches].sum(axis=1)
    assert (4 / 2 * batch_sums).mean() == pytest.approx(gradient.sum(), rel=1e-13)
    assert batch_sums.mean() == pytest.approx(gradient.sum() / 2, rel=1e-13)


def test_without_that_rescaling_the_prior_counts_too_much(argmin):
    """Batch sum + whole penalty is the MAP of a prior whose variance is |B|/n times the stated one."""
    share = 1 / len(Y)  # batches of one row

    def mode(factor, prior):
        return argmin(lambda m: factor * nl.Gaussian(m, 1.0).nll(Y).sum() + prior.penalty(np.array([m])), -10, 10)

    prior, stronger = nl.Gaussian(scale=2.0), nl.Gaussian(scale=2.0 * np.sqrt(share))
    assert mode(share, prior) == pytest.approx(mode(1.0, stronger), abs=1e-6)
    assert mode(share, prior) < mode(1.0, prior) - 0.3


def test_the_mean_nll_is_an_empirical_cross_entropy():
    """NLL / n is the cross-entropy of the empirical distribution to the model."""
    y = np.array([0, 0, 1, 2, 2, 2])
    empirical, model = np.bincount(y) / len(y), np.array([0.2, 0.3, 0.5])
    assert nl.Categorical(model).nll(y).mean() == pytest.approx(nl.cross_entropy(empirical, model), rel=1e-13)
