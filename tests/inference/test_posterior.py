"""Laplace's approximation: exact where it should be, against quadrature where not, refused where there is none."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import integrate, stats

import neglog as nl


def regression(n=60, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * [1.0, 5.0, 0.2][:d] + 2
    return X, X @ np.array([0.5, -0.1, 2.0])[:d], rng


def closed_form(X, y, sigma, tau):
    """Mean, covariance and log evidence of ridge regression without an intercept."""
    covariance = np.linalg.inv(X.T @ X / sigma**2 + np.eye(X.shape[1]) / tau**2)
    marginal = stats.multivariate_normal(np.zeros(len(y)), sigma**2 * np.eye(len(y)) + tau**2 * X @ X.T)
    return covariance @ X.T @ y / sigma**2, covariance, marginal.logpdf(y)


def test_gaussian_noise_and_prior_are_exact():
    X, eta, rng = regression()
    y = eta + 0.7 * rng.normal(size=len(eta))
    fit = nl.fit(X, y, nl.Gaussian(scale=0.7), nl.Gaussian(scale=1.3), intercept=False)
    posterior = fit.posterior()
    mean, covariance, evidence = closed_form(X, y, 0.7, 1.3)
    np.testing.assert_allclose(posterior.mean, mean, rtol=1e-10)
    np.testing.assert_allclose(posterior.covariance(), covariance, rtol=1e-9)
    np.testing.assert_allclose(posterior.std, np.sqrt(np.diag(covariance)), rtol=1e-10)
    assert posterior.evidence == pytest.approx(evidence, rel=1e-11)
    np.testing.assert_allclose(
        posterior.interval(0.9), stats.norm(mean[:, None], posterior.std[:, None]).ppf([0.05, 0.95]), rtol=1e-8
    )
    new = X[:5] + 1
    law = posterior.predictive(new)
    np.testing.assert_allclose(law.mean(), new @ mean, rtol=1e-10)
    np.testing.assert_allclose(law.variance(), np.einsum("ij,jk,ik->i", new, covariance, new) + 0.49, rtol=1e-9)
    assert law.nll(law.mean()).shape == (5,)


def test_a_flat_intercept_counts_with_density_one():
    X, eta, rng = regression(20, 1)
    y = eta + 0.5 * rng.normal(size=20)
    posterior = nl.fit(X, y, nl.Gaussian(scale=0.5), nl.Gaussian(scale=1.0)).posterior()

    def of_intercept(a):
        return np.exp(closed_form(X, y - a, 0.5, 1.0)[2] - posterior.evidence)

    middle = posterior.mean[0]
    total, _ = integrate.quad(of_intercept, middle - 8, middle + 8, epsrel=1e-10)
    assert total == pytest.approx(1.0, rel=1e-8)
    assert posterior.names == ("intercept", "x0")


@pytest.mark.parametrize("noise", [nl.Poisson(), nl.Bernoulli(), nl.Gamma(shape=3.0), nl.Huber(scale=0.5)], ids=repr)
def test_evidence_against_quadrature_in_two_dimensions(noise):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(400, 2))
    y = noise.given(X @ [0.4, -0.3]).sample(rng=rng).astype(float)
    fit = nl.fit(X, y, noise, nl.Gaussian(scale=1.0), intercept=False)
    posterior = fit.posterior()
    prior = nl.Gaussian(0.0, 1.0)
    steps = np.linspace(-7, 7, 61)
    root = np.linalg.cholesky(posterior.covariance())
    grid = posterior.mean + np.stack(np.meshgrid(steps, steps), -1).reshape(-1, 2) @ root.T
    nats = np.array([noise.given(X @ theta).nll(y).sum() + prior.nll(theta).sum() for theta in grid])
    cell = (steps[1] - steps[0]) ** 2 * np.linalg.det(root)
    exact = np.log(np.sum(np.exp(nats.min() - nats)) * cell) - nats.min()
    assert posterior.evidence == pytest.approx(exact, abs=0.02)
    weights = np.exp(nats.min() - nats)
    mean = weights @ grid / weights.sum()
    assert np.all(np.abs(mean - posterior.mean) < 0.15 * posterior.std)
    spread = np.sqrt(weights @ (grid - mean) ** 2 / weights.sum())
    np.testing.assert_allclose(spread, posterior.std, rtol=0.05)


@pytest.mark.parametrize("noise", [nl.Poisson(), nl.Bernoulli(), nl.Gamma(shape=3.0)], ids=repr)
@pytest.mark.parametrize(("n", "close"), [(50, 0.05), (2000, 0.001)])
def test_evidence_against_quadrature_in_one_dimension(noise, n, close):
    """The error falls with the number of rows, as it should: in proportion to 1 / n."""
    rng = np.random.default_rng(4)
    x = rng.normal(size=n)
    y = np.asarray(noise.given(0.5 * x).sample(rng=rng), float)
    posterior = nl.fit(x[:, None], y, noise, nl.Gaussian(scale=1.0), intercept=False).posterior()

    def density(theta):
        nats = noise.given(theta * x).nll(y).sum() + nl.Gaussian(0.0, 1.0).nll(theta)
        return np.exp(-nats - posterior.evidence)

    reach = 10 * posterior.std[0]
    total, _ = integrate.quad(density, posterior.mean[0] - reach, posterior.mean[0] + reach, epsrel=1e-10)
    assert np.log(total) == pytest.approx(0.0, abs=close)


@pytest.mark.parametrize(
    ("noise", "label"),
    [
        (nl.Gaussian(), "log scale"),
        (nl.LogNormal(), "log scale"),
        (nl.Gamma(), "log shape"),
        (nl.Tweedie(power=1.5), "log dispersion"),
        (nl.Huber(), "log scale"),
        (nl.Laplace(), "log scale"),
    ],
    ids=repr,
)
def test_the_parameters_of_the_noise_are_part_of_it(noise, label):
    """Against the curvature of the stated objective by differences, coefficients and parameter together."""
    X, eta, rng = regression(300, 2)
    eta = eta / 4
    truth = {
        "gaussian": lambda: eta + 0.5 * rng.normal(size=300),
        "huber": lambda: eta + 0.5 * rng.standard_t(3, size=300),
        "laplace": lambda: eta + 0.5 * rng.laplace(size=300),
        "lognormal": lambda: np.exp(eta + 0.5 * rng.normal(size=300)),
        "gamma": lambda: rng.gamma(2.0, np.exp(eta) / 2),
        "tweedie": lambda: nl.Tweedie(np.exp(eta), 1.5, 0.8).sample(rng=rng),
    }
    y = truth[noise._family()]()
    fit = nl.fit(X, y, noise, nl.Gaussian(scale=2.0), tol=1e-9)
    posterior = fit.posterior()
    assert posterior.names == ("intercept", "x0", "x1", label)
    name = label.split()[-1]
    assert posterior.mean[-1] == pytest.approx(np.log(getattr(fit.noise, name)), rel=1e-12)
    if noise._family() in ("laplace", "huber"):  # no second derivatives to compare with
        return

    def objective(z):
        law = fit.noise._replaced(**{f"_{name}": float(np.exp(z[3]))})
        return law.given(z[0] + X @ z[1:3]).nll(y).sum() + fit.prior.penalty(z[1:3])

    precision = np.linalg.inv(posterior.covariance())
    h = 1e-3 * posterior.std
    numeric = np.empty((4, 4))
    for i in range(4):
        for j in range(4):
            a, b = h[i] * np.eye(4)[i], h[j] * np.eye(4)[j]
            at = posterior.mean
            corners = objective(at + a + b) - objective(at + a - b) - objective(at - a + b) + objective(at - a - b)
            numeric[i, j] = corners / (4 * h[i] * h[j])
    scale = np.sqrt(np.outer(np.diag(precision), np.diag(precision)))
    np.testing.assert_allclose(precision / scale, numeric / scale, atol=2e-3)


def test_standard_errors_agree_with_the_summary():
    X, eta, rng = regression(200, 3)
    y = rng.gamma(2.0, np.exp(eta / 8) / 2)
    fit = nl.fit(X, y, nl.Gamma(), nl.Gaussian(scale=1.0))
    posterior = fit.posterior()
    np.testing.assert_allclose(posterior.std[1:4], fit.standard_errors, rtol=1e-6)
    assert posterior.std[0] == pytest.approx(fit.intercept_standard_error, rel=1e-6)
    assert posterior.std[-1] == pytest.approx(fit.noise_standard_errors["shape"] / fit.noise.shape, rel=1e-4)


def test_tweedie_power_and_dispersion():
    X, eta, rng = regression(3000, 2)
    y = nl.Tweedie(np.exp(eta / 4), 1.4, 0.8).sample(rng=rng)
    fit = nl.fit(X, y, nl.Tweedie())
    posterior = fit.posterior()
    assert posterior.names[-2:] == ("power", "log dispersion")
    assert abs(posterior.mean[-2] - 1.4) < 4 * posterior.std[-2]
    assert posterior.std[-2] == pytest.approx(fit.noise_standard_errors["power"], rel=0.02)
    law = posterior.predictive(X[:3])
    np.testing.assert_allclose(law.mean(), fit.predict(X[:3]), rtol=0.02)


def test_draws_have_the_moments():
    X, eta, rng = regression(80)
    fit = nl.fit(X, rng.poisson(np.exp(eta / 8)), nl.Poisson(), nl.Gaussian(scale=1.0))
    posterior = fit.posterior()
    draws = posterior.sample(20_000, rng=1)
    assert draws.shape == (20_000, 4)
    assert np.all(np.abs(draws.mean(axis=0) - posterior.mean) < 5 * posterior.std / np.sqrt(20_000))
    np.testing.assert_allclose(np.cov(draws.T), posterior.covariance(), atol=0.05 * np.max(posterior.std) ** 2)
    np.testing.assert_array_equal(posterior.sample(3, rng=2), posterior.sample(3, rng=2))


@pytest.mark.parametrize(
    "noise",
    [nl.Gaussian(), nl.Poisson(), nl.Gamma(), nl.Bernoulli(), nl.Huber(), nl.Laplace(scale=0.5), nl.LogNormal()],
    ids=repr,
)
def test_predictive_laws_average_over_draws(noise):
    """Against the average over many draws of the parameters, at which the law is known."""
    X, eta, rng = regression(50, 2)
    eta = eta / 4
    y = noise._replaced(**{f"_{k}": 0.6 for k, v in noise.parameters.items() if v is None}).given(eta).sample(rng=rng)
    fit = nl.fit(X, y, noise, nl.Gaussian(scale=1.0))
    posterior = fit.posterior()
    new = X[:4] * 1.5
    law = posterior.predictive(new)
    draws = posterior.sample(40_000, rng=5)
    if fit.residual_degrees is not None and not noise.sums_squares:  # whose exact law test_few_rows.py has
        draws = posterior.mean + fit.few_rows * (draws - posterior.mean)
        power = -2 * noise.parameter(noise.spread).precision
        degrees = 0.5 * power**2 / posterior.std[3] ** 2 / fit.few_rows**2
        draws[:, 3] += power * (np.log(fit.few_rows) + 0.5 / degrees)
    raw = draws[:, :1] + draws[:, 1:3] @ new.T
    open_ = {f"_{name}": np.exp(draws[:, 3:]) for name in fit.noise_standard_errors}
    laws = fit.noise._replaced(**open_).given(raw)
    at = np.asarray(law.icdf(np.full(4, 0.7)), float)
    np.testing.assert_allclose(law.cdf(at), np.mean(laws.cdf(at), axis=0), atol=0.01)
    np.testing.assert_allclose(law.pdf(at), np.mean(laws.pdf(at), axis=0), rtol=0.03)
    np.testing.assert_allclose(law.mean(), np.mean(laws.mean(), axis=0), rtol=0.02, atol=0.02)
    assert law.sample(rng=0).shape == (4,)
    assert law.sample((100, 4), rng=0).shape == (100, 4)


def test_predictions_outside_the_domain_of_the_link_are_refused():
    rng = np.random.default_rng(0)
    X = rng.uniform(1, 3, size=(60, 1))
    y = rng.poisson(2 * X[:, 0])
    posterior = nl.fit(X, y, nl.Poisson(link="identity")).posterior()
    with pytest.raises(ValueError, match="'identity' gives no mean of Poisson noise"):
        posterior.predictive(np.array([[-2.0]]))


def test_classes():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(150, 2))
    y = np.array(["a", "b", "c"])[(X[:, 0] + rng.logistic(size=150) > 0).astype(int) + (rng.random(150) < 0.2)]
    fit = nl.fit(X, y, nl.Categorical(), nl.Gaussian(scale=1.0))
    posterior = fit.posterior()
    assert len(posterior.names) == 9
    np.testing.assert_allclose(posterior.mean.reshape(3, 3)[:, 1:], fit.coef, rtol=1e-8)
    np.testing.assert_allclose(posterior.mean.reshape(3, 3)[:, 0], fit.intercept, atol=1e-8)
    law = posterior.predictive(X[:5])
    np.testing.assert_allclose(law.p.sum(axis=1), 1.0)
    assert np.all(law.p.max(axis=1) <= fit.predict(X[:5]).max(axis=1) + 0.01)  # averaging makes less sure


def test_shifting_all_classes_alike_has_no_volume():
    """The evidence of two classes is that of Bernoulli noise with the difference of the two intercepts, whose flat
    prior stretches by the square root of 2.
    """
    rng = np.random.default_rng(2)
    for share in (0.5, 0.9):
        y = (rng.random(60) < share).astype(int)
        softmax = nl.fit(np.empty((60, 0)), y, nl.Categorical()).posterior()
        logistic = nl.fit(np.empty((60, 0)), y.astype(float), nl.Bernoulli()).posterior()
        assert softmax.evidence == pytest.approx(logistic.evidence - 0.5 * np.log(2), rel=1e-9)


def test_weights_offsets_and_precisions_count():
    X, eta, rng = regression(40, 2)
    eta = eta / 4
    y = rng.poisson(np.exp(eta)).astype(float)
    weight, offset = rng.integers(1, 4, 40), rng.normal(size=40) / 5
    weighted = nl.fit(X, y, nl.Poisson(), nl.Gaussian(scale=1.0), sample_weight=weight, offset=offset).posterior()
    rows = np.repeat(np.arange(40), weight)
    repeated = nl.fit(X[rows], y[rows], nl.Poisson(), nl.Gaussian(scale=1.0), offset=offset[rows]).posterior()
    np.testing.assert_allclose(weighted.mean, repeated.mean, atol=1e-8)
    np.testing.assert_allclose(weighted.covariance(), repeated.covariance(), rtol=1e-7, atol=1e-12)
    assert weighted.evidence == pytest.approx(repeated.evidence, rel=1e-10)


def test_improper_posteriors_are_refused():
    X, eta, rng = regression(30, 2)
    y = eta + rng.normal(size=30)
    with pytest.raises(ValueError, match=r"improper: the data say nothing about 1 direction .* of x0, x2"):
        nl.fit(np.column_stack([X, X[:, 0]]), y, nl.Gaussian(scale=1.0)).posterior()
    with pytest.raises(ValueError, match="improper"):
        nl.fit(X[:2], y[:2], nl.Gaussian(scale=1.0)).posterior()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        separated = nl.fit(X, (X[:, 0] > 2).astype(float), nl.Bernoulli())
    for method in ("laplace", "nuts"):
        with pytest.raises(ValueError, match="no maximum of the likelihood"):
            separated.posterior(method)
    held = nl.fit(X, (X[:, 0] > 2).astype(float), nl.Bernoulli(), nl.Gaussian(scale=1.0)).posterior()
    assert np.isfinite(held.evidence)


def test_errors(tmp_path):
    X, eta, rng = regression(30, 2)
    y = eta + rng.normal(size=30)
    fit = nl.fit(X, y, nl.Gaussian(scale=1.0), nl.Laplace(scale=1.0))
    with pytest.raises(ValueError, match="which a Laplace prior does not give"):
        fit.posterior()
    with pytest.raises(ValueError, match='must be "laplace" or "nuts"'):
        fit.posterior("advi")
    with pytest.raises(TypeError, match="takes no options, but got draws"):
        fit.posterior(draws=3)
    fit.save(tmp_path / "fit.json")
    with pytest.raises(ValueError, match="has no data"):
        nl.load(tmp_path / "fit.json").posterior()
    smooth = nl.fit(X, y, nl.Gaussian(scale=1.0))
    with pytest.raises(ValueError, match="level must be between 0 and 1"):
        smooth.posterior().interval(90)
    with pytest.raises(ValueError, match="missing values"):
        smooth.posterior().predictive(np.full((2, 2), np.nan))


def test_it_prints_a_table():
    X, eta, rng = regression(30, 2)
    posterior = nl.fit(X, eta + rng.normal(size=30), nl.Gaussian()).posterior()
    text = repr(posterior)
    assert "log scale" in text
    assert "log evidence" in text


def test_an_unseen_level_beside_an_interaction_has_its_own_prior_only():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"a": rng.uniform(size=120), "g": rng.choice(list("pqrst"), 120), "h": ["u", "v"] * 60})
    y = 2 * table["a"] + table["g"].map(dict(zip("pqrst", [-1.0, 0.3, 0.8, -0.4, 0.6], strict=True)))
    y += 0.1 * rng.normal(size=120)
    terms = ["a", nl.group("g", scale=0.7), nl.interaction("h", nl.smooth("a", size=5), scale=0.2)]
    belief = nl.fit(table, y, nl.Gaussian(scale=0.1), terms=terms).posterior()
    unseen = belief.predictive(table.head(1).assign(g="new")).variance()[0] - 0.1**2
    assert 0.7**2 < unseen < 1.5 * 0.7**2  # the level's, and what is not known of the intercept


def test_predictive_laws_keep_parameters_between_their_ends():
    """Of few rows the power of Tweedie noise is known so badly that a Gaussian about it leaves (1, 2)."""
    beyond = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(40, 3))
        y = nl.Tweedie(power=1.5, dispersion=1.0).given(X @ [0.3, -0.2, 0.1]).sample(rng=rng)
        fit = nl.fit(X, y, nl.Tweedie())
        if not fit.converged or not 1.01 < fit.noise.power < 1.99:
            continue
        law = fit.posterior().predictive(X)
        assert np.isfinite(law.cdf(y)).all()
        assert np.isfinite(law.nll(y)).all()
        at = fit.posterior().names.index("power")
        away = 4 * fit.posterior().std[at]  # nodes lie as far, and farther
        beyond += not 1 < fit.noise.power - away < fit.noise.power + away < 2
    assert beyond
