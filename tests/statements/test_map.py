"""Maximum a posteriori: statements that textbooks and lecture notes often get wrong."""

import numpy as np
import pytest
import sympy as sp
from scipy import integrate, special
from sklearn import linear_model

import neglog as nl


def design(n=40, seed=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)) * [1.0, 0.5, 2.0]
    return X, X @ [0.8, -0.5, 0.0] + 0.4, rng


# --- the mode ----------------------------------------------------------------------------------


def test_map_depends_on_the_parametrisation_and_mle_does_not(argmin):
    """3 successes in 10, uniform prior: MAP 0.3 in p, but 1/3 when the same prior is written for logit p."""
    prior = nl.Beta(1.0, 1.0)

    def nll(p):
        return 3 * nl.Bernoulli(p).nll(1) + 7 * nl.Bernoulli(p).nll(0)

    in_p = argmin(lambda p: nll(p) + prior.nll(p), 0.01, 0.99)
    in_logit = argmin(
        lambda z: nll(special.expit(z)) + prior.nll(special.expit(z)) - np.log(special.expit(z) * special.expit(-z)),
        -5,
        5,
    )
    mle_in_logit = argmin(lambda z: nll(special.expit(z)), -5, 5)
    assert in_p == pytest.approx(0.3, abs=1e-6)
    assert special.expit(in_logit) == pytest.approx((3 + 1) / (10 + 2), abs=1e-6)
    assert special.expit(mle_in_logit) == pytest.approx(0.3, abs=1e-6)


def test_map_is_not_the_posterior_mean(argmin):
    """Mode, median and mean of a skewed posterior differ."""
    posterior = nl.Beta(1.0 + 3, 1.0 + 7)
    mode = argmin(posterior.nll, 0.01, 0.99)
    assert mode == pytest.approx(0.3, abs=1e-6)
    assert posterior.mean() == pytest.approx(4 / 12)
    assert mode < posterior.median() < posterior.mean()


# --- the flat prior ----------------------------------------------------------------------------


def test_a_flat_prior_gives_the_mle(argmin):
    """The penalty of a flat prior is zero, so MAP = MLE."""
    y = np.array([1.0, 3.0, 8.0])
    for objective in (
        lambda m: nl.Gaussian(m, 1.0).nll(y).sum(),
        lambda m: nl.Gaussian(m, 1.0).nll(y).sum() + nl.Flat().penalty(np.array([m])),
    ):
        assert argmin(objective, -20, 20) == pytest.approx(4.0, abs=1e-6)


def test_a_flat_prior_that_excludes_the_mle_puts_the_map_on_its_boundary():
    """Uniform on [0, 2] while the mean of the data is 4: the MAP is 2."""
    y = np.array([1.0, 3.0, 8.0])
    inside = np.linspace(0, 2, 201)
    nll = nl.Gaussian(inside[:, None], 1.0).nll(y).sum(axis=1)
    assert inside[nll.argmin()] == 2.0


def test_under_an_improper_flat_prior_the_posterior_may_be_improper():
    """All successes, flat prior on the logit: the mass of the 'posterior' grows without bound."""

    def mass(limit):
        eta = np.linspace(-limit, limit, 20001)
        return np.trapezoid(nl.Bernoulli().given(eta).pdf(1) ** 3, eta)

    assert mass(40) - mass(20) == pytest.approx(20.0, rel=1e-6)


def test_flat_in_the_scale_is_not_flat_in_its_log(argmin):
    """Flat in log sigma gives sigma^2 = RSS/n; flat in sigma, seen in log sigma, gives RSS/(n - 1)."""
    y = np.array([-2.0, 0.5, 1.0, 3.0])
    n, rss = len(y), (y**2).sum()

    def nll(w):
        return nl.Gaussian(0.0, np.exp(w)).nll(y).sum()

    flat_in_log = argmin(nll, -3, 3)
    flat_in_sigma = argmin(lambda w: nll(w) - w, -3, 3)
    assert np.exp(2 * flat_in_log) == pytest.approx(rss / n, rel=1e-6)
    assert np.exp(2 * flat_in_sigma) == pytest.approx(rss / (n - 1), rel=1e-6)


# --- the constants of a prior --------------------------------------------------------------------


def test_the_prior_of_a_vector_has_one_constant_per_coordinate():
    """-log p = |theta|^2 / 2 tau^2 + d/2 log 2 pi tau^2, and |theta|_1 / b + d log 2b."""
    theta, tau, b = np.array([0.3, -2.0, 1.1]), 0.7, 0.4
    gauss, laplace = nl.Gaussian(scale=tau), nl.Laplace(scale=b)
    assert gauss.penalty(theta) == pytest.approx(np.sum(theta**2) / (2 * tau**2), rel=1e-14)
    assert laplace.penalty(theta) == pytest.approx(np.sum(np.abs(theta)) / b, rel=1e-14)
    constant = 3 / 2 * np.log(2 * np.pi * tau**2)
    assert gauss.nll(theta).sum() == pytest.approx(gauss.penalty(theta) + constant, rel=1e-13)
    assert laplace.nll(theta).sum() == pytest.approx(laplace.penalty(theta) + 3 * np.log(2 * b), rel=1e-13)


def test_the_prior_variance_is_not_the_noise_variance(argmin):
    """Two scales, two symbols: only their ratio sigma^2 / tau^2 enters the ridge solution."""
    y = np.array([1.0, 2.0, 6.0])

    def shrunk(sigma, tau):
        prior = nl.Gaussian(scale=tau)
        return argmin(lambda m: nl.Gaussian(m, sigma).nll(y).sum() + prior.penalty(np.array([m])), -10, 10)

    assert shrunk(1.0, 0.5) == pytest.approx(3 * 3 / (3 + 4), abs=1e-6)
    assert shrunk(2.0, 1.0) == pytest.approx(shrunk(1.0, 0.5), abs=1e-6)
    assert abs(shrunk(0.5, 1.0) - shrunk(1.0, 0.5)) > 1.0


def test_the_constants_matter_once_the_prior_scale_is_estimated(argmin):
    """With its constant the prior scale has a maximum, tau^2 = mean theta^2; without it tau runs away."""
    theta = np.array([0.3, -2.0, 1.1])
    best = argmin(lambda w: nl.Gaussian(scale=np.exp(w)).nll(theta).sum(), -5, 5)
    assert np.exp(2 * best) == pytest.approx(np.mean(theta**2), rel=1e-6)
    best = argmin(lambda w: nl.Laplace(scale=np.exp(w)).nll(theta).sum(), -5, 5)
    assert np.exp(best) == pytest.approx(np.mean(np.abs(theta)), rel=1e-6)
    penalties = [nl.Gaussian(scale=tau).penalty(theta) for tau in (1.0, 10.0, 100.0)]
    assert penalties == sorted(penalties, reverse=True)


def test_a_product_of_priors_adds_their_penalties_and_is_normalised():
    """The elastic net prior is a density; its constant is not the sum of the two constants."""
    tau, b = 1.0, 0.5
    gauss, laplace = nl.Gaussian(scale=tau), nl.Laplace(scale=b)
    prior, theta = gauss * laplace, np.array([0.3, -2.0])
    assert prior.penalty(theta) == pytest.approx(gauss.penalty(theta) + laplace.penalty(theta), rel=1e-14)
    t = np.linspace(0, 9, 9001)
    assert 2 * np.trapezoid(np.exp(-prior.nll(t)), t) == pytest.approx(1.0, abs=1e-5)
    norm = 2 * tau * np.sqrt(2 * np.pi) * np.exp(tau**2 / (2 * b**2)) * special.ndtr(-tau / b)
    assert prior.nll(0.0) == pytest.approx(np.log(norm), rel=1e-10)


# --- the value of lambda ---------------------------------------------------------------------------


def test_lambda_is_one_over_two_tau_squared_and_one_over_b():
    """With the NLL as a sum: lambda_2 = 1 / (2 tau^2) times |theta|^2, lambda_1 = 1 / b times |theta|_1."""
    assert nl.Gaussian(scale=0.5).strength == pytest.approx(2.0)
    assert nl.Laplace(scale=0.5).strength == pytest.approx(2.0)
    theta = np.array([1.0, -3.0])
    assert nl.Gaussian(scale=0.5).penalty(theta) == pytest.approx(2.0 * 10)
    assert nl.Laplace(scale=0.5).penalty(theta) == pytest.approx(2.0 * 4)


# data term, its factor relative to the NLL, coefficient of |theta|^2, coefficient of |theta|_1
CONVENTIONS = {
    "NLL": lambda s2, t2, b, n: (1, 1 / (2 * t2), 1 / b),
    "NLL/n": lambda s2, t2, b, n: (1 / n, 1 / (2 * n * t2), 1 / (n * b)),
    "RSS": lambda s2, t2, b, n: (2 * s2, s2 / t2, 2 * s2 / b),
    "RSS/2": lambda s2, t2, b, n: (s2, s2 / (2 * t2), s2 / b),
    "MSE": lambda s2, t2, b, n: (2 * s2 / n, s2 / (n * t2), 2 * s2 / (n * b)),
    "RSS/2n": lambda s2, t2, b, n: (s2 / n, s2 / (2 * n * t2), s2 / (n * b)),
}


def data_term(name, X, y, sigma, theta):
    nll = nl.Gaussian(X @ theta, sigma).nll(y).sum()
    rss = nl.Gaussian().loss(y, X @ theta).sum()
    n = len(y)
    return {
        "NLL": nll,
        "NLL/n": nll / n,
        "RSS": rss,
        "RSS/2": rss / 2,
        "MSE": rss / n,
        "RSS/2n": rss / (2 * n),
    }[name]


@pytest.mark.parametrize("name", CONVENTIONS)
def test_lambda_depends_on_how_the_data_term_is_scaled(name):
    """Each scaling of the data term, with its own lambda, is the same objective up to factor and constant."""
    X, eta, rng = design()
    sigma, tau, b = 0.6, 0.8, 0.3
    y = eta + sigma * rng.normal(size=len(eta))
    prior = nl.Gaussian(scale=tau) * nl.Laplace(scale=b)
    factor, l2, l1 = CONVENTIONS[name](sigma**2, tau**2, b, len(y))

    def difference(theta):
        map_objective = nl.Gaussian(X @ theta, sigma).nll(y).sum() + prior.penalty(theta)
        penalised = data_term(name, X, y, sigma, theta) + l2 * np.sum(theta**2) + l1 * np.sum(np.abs(theta))
        return penalised - factor * map_objective

    values = [difference(theta) for theta in rng.normal(size=(5, 3))]
    np.testing.assert_allclose(values, values[0], atol=1e-11)


@pytest.mark.parametrize("name", CONVENTIONS)
def test_every_convention_has_the_same_ridge_solution(name):
    """The six rows of the table give one minimiser."""
    X, eta, rng = design()
    sigma, tau = 0.6, 0.8
    y = eta + sigma * rng.normal(size=len(eta))
    factor, l2, _ = CONVENTIONS[name](sigma**2, tau**2, 1.0, len(y))
    scale = factor / (2 * sigma**2)  # the data term is scale * RSS + constant
    solution = np.linalg.solve(X.T @ X + l2 / scale * np.eye(3), X.T @ y)
    stationary = nl.Gaussian(scale=sigma).derivatives(y, X @ solution)[1] @ X + solution / tau**2
    np.testing.assert_allclose(stationary, 0, atol=1e-11)


def test_a_fixed_lambda_with_a_mean_loss_is_a_prior_that_gets_stronger_with_n(argmin):
    """Repeating the data leaves mean loss + lambda |theta|^2 unmoved: prior variance 1 / (2 n lambda)."""
    y, lam = np.array([1.0, 2.0, 6.0]), 0.2

    def mean_loss(y):
        return argmin(lambda m: nl.Gaussian(m, 1.0).nll(y).mean() + lam * m**2, -10, 10)

    def posterior_mode(y, tau):
        prior = nl.Gaussian(scale=tau)
        return argmin(lambda m: nl.Gaussian(m, 1.0).nll(y).sum() + prior.penalty(np.array([m])), -10, 10)

    many = np.tile(y, 100)
    assert mean_loss(many) == pytest.approx(mean_loss(y), abs=1e-6)
    for data in (y, many):
        tau = np.sqrt(1 / (2 * len(data) * lam))
        assert posterior_mode(data, tau) == pytest.approx(mean_loss(data), abs=1e-6)
    fixed = np.sqrt(1 / (2 * len(y) * lam))
    assert posterior_mode(many, fixed) == pytest.approx(3.0, abs=0.02)
    assert mean_loss(many) < 2.5


# --- scikit-learn's conventions: its answers are stationary points of NLL + penalty ----------------


def slope(noise, X, y, model):
    """Gradient of the NLL at a scikit-learn fit: (coefficients, intercept)."""
    coef, intercept = np.ravel(model.coef_), float(np.squeeze(model.intercept_))
    gradient = noise.derivatives(y, X @ coef + intercept)[1]
    return gradient @ X, gradient.sum(), coef


def assert_lasso_optimal(gradient, coef, l1, atol):
    """Zero coefficients: |gradient| <= 1/b. Others: gradient = -sign/b."""
    zero = coef == 0
    assert zero.any()
    assert not zero.all()
    np.testing.assert_allclose(gradient[~zero], -l1 * np.sign(coef[~zero]), atol=atol)
    assert np.all(np.abs(gradient[zero]) <= l1 + atol)


def gaussian_rows(sigma=0.6):
    X, eta, rng = design()
    return X, eta + sigma * rng.normal(size=len(eta)), len(eta)


def test_sklearn_ridge_alpha_is_sigma2_over_tau2():
    """Ridge(alpha) minimises RSS + alpha |w|^2."""
    X, y, _ = gaussian_rows()
    sigma, tau = 0.6, 0.2
    model = linear_model.Ridge(alpha=sigma**2 / tau**2).fit(X, y)
    gradient, intercept, coef = slope(nl.Gaussian(scale=sigma), X, y, model)
    np.testing.assert_allclose(gradient + coef / tau**2, 0, atol=1e-9)
    assert intercept == pytest.approx(0, abs=1e-9)


def test_sklearn_lasso_alpha_is_sigma2_over_n_b():
    """Lasso(alpha) minimises RSS / 2n + alpha |w|_1."""
    X, y, n = gaussian_rows()
    sigma, b = 0.6, 0.03
    model = linear_model.Lasso(alpha=sigma**2 / (n * b), tol=1e-12).fit(X, y)
    gradient, intercept, coef = slope(nl.Gaussian(scale=sigma), X, y, model)
    assert_lasso_optimal(gradient, coef, 1 / b, atol=1e-5)
    assert intercept == pytest.approx(0, abs=1e-9)


def test_sklearn_elastic_net_alpha_and_ratio_are_both_prior_scales():
    """ElasticNet: alpha = sigma^2/n (1/b + 1/tau^2), l1_ratio = (1/b) / (1/b + 1/tau^2)."""
    X, y, n = gaussian_rows()
    sigma, tau, b = 0.6, 0.3, 0.04
    total = 1 / b + 1 / tau**2
    model = linear_model.ElasticNet(alpha=sigma**2 / n * total, l1_ratio=1 / b / total, tol=1e-12).fit(X, y)
    gradient, _, coef = slope(nl.Gaussian(scale=sigma), X, y, model)
    assert_lasso_optimal(gradient + coef / tau**2, coef, 1 / b, atol=1e-5)


@pytest.mark.parametrize(
    ("noise", "estimator", "dispersion"),
    [
        (nl.Poisson(), linear_model.PoissonRegressor, 1.0),
        (nl.Gamma(shape=2.0), linear_model.GammaRegressor, 0.5),
        (nl.Tweedie(power=1.5, dispersion=0.7), linear_model.TweedieRegressor, 0.7),
    ],
    ids=["poisson", "gamma", "tweedie"],
)
def test_sklearn_glm_alpha_is_dispersion_over_n_tau2(noise, estimator, dispersion):
    """Poisson-, Gamma- and TweedieRegressor minimise half the mean deviance + alpha/2 |w|^2."""
    X, eta, rng = design()
    y = rng.poisson(np.exp(eta)) + (0.5 if isinstance(noise, nl.Gamma) else 0.0)
    tau, n = 0.4, len(y)
    extra = {"power": 1.5, "link": "log"} if estimator is linear_model.TweedieRegressor else {}
    model = estimator(alpha=dispersion / (n * tau**2), tol=1e-10, solver="newton-cholesky", **extra).fit(X, y)
    gradient, intercept, coef = slope(noise, X, y, model)
    np.testing.assert_allclose(gradient + coef / tau**2, 0, atol=1e-5)
    assert intercept == pytest.approx(0, abs=1e-5)


def test_sklearn_logistic_c_is_tau2_or_b():
    """LogisticRegression(C) minimises C * NLL + |w|^2 / 2 or |w|_1: C is tau^2, respectively b."""
    X, eta, rng = design(80)
    y = (rng.random(len(eta)) < special.expit(eta)).astype(float)
    tau, b = 0.7, 0.12
    model = linear_model.LogisticRegression(C=tau**2, tol=1e-10, solver="newton-cholesky").fit(X, y)
    gradient, intercept, coef = slope(nl.Bernoulli(), X, y, model)
    np.testing.assert_allclose(gradient + coef / tau**2, 0, atol=1e-5)
    assert intercept == pytest.approx(0, abs=1e-5)

    model = linear_model.LogisticRegression(C=b, l1_ratio=1.0, tol=1e-8, solver="saga", max_iter=20000, random_state=0)
    gradient, intercept, coef = slope(nl.Bernoulli(), X, y, model.fit(X, y))
    assert_lasso_optimal(gradient, coef, 1 / b, atol=1e-3)


def test_sklearn_huber_alpha_is_scale_over_tau2():
    """HuberRegressor at its own scale: alpha = sigma / tau^2."""
    X, y, _ = gaussian_rows()
    y[::9] += 5.0
    alpha = 3.0
    model = linear_model.HuberRegressor(epsilon=1.345, alpha=alpha, tol=1e-9, max_iter=2000).fit(X, y)
    tau2 = model.scale_ / alpha
    gradient, intercept, coef = slope(nl.Huber(scale=model.scale_, delta=1.345), X, y, model)
    np.testing.assert_allclose(gradient + coef / tau2, 0, atol=1e-3)
    assert intercept == pytest.approx(0, abs=1e-3)


def test_sklearn_bayesian_ridge_alpha_and_lambda_are_precisions():
    """BayesianRidge: alpha_ = 1 / sigma^2, lambda_ = 1 / tau^2; the ridge alpha is their ratio."""
    X, y, _ = gaussian_rows()
    model = linear_model.BayesianRidge(tol=1e-12, max_iter=1000).fit(X, y)
    gradient, _, coef = slope(nl.Gaussian(scale=model.alpha_**-0.5), X, y, model)
    np.testing.assert_allclose(gradient + model.lambda_ * coef, 0, atol=1e-5)
    ridge = linear_model.Ridge(alpha=model.lambda_ / model.alpha_).fit(X, y)
    np.testing.assert_allclose(coef, ridge.coef_, rtol=1e-6)


# --- ridge, lasso and what is not a prior ----------------------------------------------------------


def test_a_gaussian_prior_is_ridge_only_under_a_gaussian_likelihood(argmin):
    """With Poisson noise the same prior is an L2-penalised likelihood, not ridge on y or on log y."""
    x, y = np.array([-1.0, 0.0, 1.0, 2.0]), np.array([1.0, 1.0, 4.0, 9.0])
    prior = nl.Gaussian(scale=0.5)
    poisson = argmin(lambda t: nl.Poisson(np.exp(t * x)).nll(y).sum() + prior.penalty(np.array([t])), -3, 3)
    ridge = argmin(lambda t: nl.Gaussian(t * x, 1.0).nll(y).sum() + prior.penalty(np.array([t])), -9, 9)
    assert ridge == pytest.approx(x @ y / (x @ x + 4), abs=1e-6)
    assert abs(poisson - ridge) > 0.5
    assert abs(poisson - x @ np.log(y) / (x @ x + 4)) > 0.1


def test_the_intercept_has_a_flat_prior():
    """Otherwise the fit depends on the origin of y; with it a shift of y only shifts the intercept."""
    X, y, _ = gaussian_rows()
    ones = np.column_stack([X, np.ones(len(y))])

    def ridge(y, penalised):
        return np.linalg.solve(ones.T @ ones + np.diag([5.0, 5.0, 5.0, penalised]), ones.T @ y)

    np.testing.assert_allclose(ridge(y + 100, 0.0)[:3], ridge(y, 0.0)[:3], atol=1e-9)
    assert np.max(np.abs(ridge(y + 100, 5.0)[:3] - ridge(y, 5.0)[:3])) > 0.1
    solution = ridge(y, 0.0)
    gradient = nl.Gaussian(scale=1.0).derivatives(y, ones @ solution)[1] @ ones
    np.testing.assert_allclose(gradient + np.array([5.0, 5.0, 5.0, 0.0]) * solution, 0, atol=1e-9)


def test_not_every_penalty_is_a_prior():
    """exp(-R) must be integrable: true for L2 and L1, false for MCP and SCAD, whose tails are flat."""
    t = sp.Symbol("t", positive=True)
    assert sp.integrate(2 * sp.exp(-(t**2) / 2), (t, 0, sp.oo)) == sp.sqrt(2 * sp.pi)
    assert sp.integrate(2 * sp.exp(-t), (t, 0, sp.oo)) == 2
    lam, gamma = 1.0, 3.0

    def mcp(t):
        return np.where(t <= gamma * lam, lam * t - t**2 / (2 * gamma), gamma * lam**2 / 2)

    def scad(t):
        middle = (2 * gamma * lam * t - t**2 - lam**2) / (2 * (gamma - 1))
        return np.where(t <= lam, lam * t, np.where(t <= gamma * lam, middle, lam**2 * (gamma + 1) / 2))

    for penalty in (mcp, scad):
        mass = [2 * integrate.quad(lambda t, p=penalty: np.exp(-p(t)), 0, top, points=[1, 3])[0] for top in (50, 100)]
        assert mass[1] - mass[0] == pytest.approx(100 * np.exp(-penalty(100.0)), rel=1e-6)
    proper = [2 * integrate.quad(lambda t: np.exp(-nl.Laplace(scale=1.0).penalty(t)), 0, top)[0] for top in (50, 100)]
    assert proper[1] == pytest.approx(proper[0], rel=1e-9)


def test_early_stopping_is_not_a_gaussian_prior():
    """Gradient descent stopped at step t shrinks each direction as no single lambda does."""
    curvature, step, t = np.array([1.0, 0.05]), 0.5, 5
    kept = 1 - (1 - step * curvature) ** t
    lam = curvature * (1 / kept - 1)  # the ridge strength that would keep the same share
    assert lam[1] > 10 * lam[0]


def test_the_laplace_prior_shares_its_mode_with_the_lasso_and_not_its_mean():
    """Where the MAP is exactly zero the posterior is a continuous density with a mean that is not zero."""
    y, prior = np.array([0.9, -0.2, 0.5]), nl.Laplace(scale=0.5)

    def objective(m):
        return nl.Gaussian(np.asarray(m)[..., None], 1.0).nll(y).sum(axis=-1) + prior.nll(m)

    m = np.linspace(-6, 6, 24001)
    density = np.exp(-objective(m))
    density /= np.trapezoid(density, m)
    assert m[density.argmax()] == pytest.approx(0.0, abs=1e-9)
    assert np.trapezoid(m * density, m) > 0.1
    around_zero = np.abs(m) < 0.01
    assert np.trapezoid(density[around_zero], m[around_zero]) < 0.05
