"""Fits with a known answer: intercepts alone are familiar statistics, links agree with statsmodels."""

import warnings

import numpy as np
import pytest
from inference.problems import Rows, remainder
from scipy import optimize, special

import neglog as nl

RNG = np.random.default_rng(17)
N = 61
EMPTY = np.empty((N, 0))
REAL = RNG.normal(2.0, 3.0, N)
POSITIVE = RNG.gamma(2.0, 1.5, N)
COUNTS = RNG.poisson(3.0, N).astype(float)
AMOUNTS = np.where(RNG.random(N) < 0.3, 0.0, POSITIVE)
BINARY = (RNG.random(N) < 0.3).astype(float)
WEIGHTS = RNG.random(N) + 0.1
BOTH = pytest.mark.parametrize("weight", [None, WEIGHTS], ids=["plain", "weighted"])


def only_intercept(y, noise, weight=None, **extra):
    fit = nl.fit(EMPTY, y, noise, sample_weight=weight, tol=1e-11, **extra)
    assert fit.converged, fit.message
    return fit, np.ones(N) if weight is None else weight


def weighted_median(y, weight):
    order = np.argsort(y)
    return y[order][np.searchsorted(np.cumsum(weight[order]), weight.sum() / 2)]


# ---- intercepts ------------------------------------------------------------------------------------------------------


@BOTH
def test_gaussian_mean_and_standard_deviation(weight):
    fit, w = only_intercept(REAL, nl.Gaussian(), weight)
    mean = np.average(REAL, weights=w)
    assert fit.intercept == pytest.approx(mean, rel=1e-12)
    assert fit.noise.scale == pytest.approx(np.sqrt(np.average((REAL - mean) ** 2, weights=w)), rel=1e-10)


@BOTH
def test_laplace_median_and_mean_deviation(weight):
    fit, w = only_intercept(REAL, nl.Laplace(), weight)
    assert fit.intercept == weighted_median(REAL, w)
    assert fit.noise.scale == pytest.approx(np.average(np.abs(REAL - fit.intercept), weights=w), rel=1e-12)
    assert 0 <= fit.certificate.gap <= 1e-8 * abs(fit.nll)


@BOTH
def test_huber_location_and_scale(weight):
    fit, w = only_intercept(REAL, nl.Huber(delta=1.0), weight)
    z = (REAL - fit.intercept) / fit.noise.scale
    psi = np.clip(z, -1.0, 1.0)
    assert w @ psi == pytest.approx(0, abs=1e-8)
    assert w @ (z * psi) == pytest.approx(w.sum(), rel=1e-8)  # what maximum likelihood says of the scale


def test_huber_threshold_estimated_from_contaminated_data():
    """delta is a parameter like any other when it is unknown."""
    y = nl.Huber(0.0, 1.0, 1.2).sample(3000, rng=6)
    fit = nl.fit(np.empty((3000, 0)), y, nl.Huber(delta=None), tol=1e-10)
    slopes = fit.noise.given(np.full(3000, fit.intercept)).parameter_gradient(y)
    assert slopes["delta"].sum() / np.sqrt(3000) == pytest.approx(0, abs=1e-6)
    assert slopes["scale"].sum() / np.sqrt(3000) == pytest.approx(0, abs=1e-6)
    assert fit.noise.delta == pytest.approx(1.3, abs=0.1)  # drawn with 1.2


@BOTH
@pytest.mark.parametrize(
    ("noise", "y"),
    [
        (nl.Poisson(), COUNTS),
        (nl.Poisson(link="identity"), COUNTS),
        (nl.Poisson(link="sqrt"), COUNTS),
        (nl.Gamma(), POSITIVE),
        (nl.Gamma(link="inverse"), POSITIVE),
        (nl.Tweedie(), AMOUNTS),
        (nl.Tweedie(power=1.3), AMOUNTS),
        (nl.Tweedie(power=2.0), POSITIVE),
        (nl.Tweedie(power=3.0), POSITIVE),
        (nl.Tweedie(power=0.0, link="identity"), REAL),
        (nl.Gaussian(link="log"), POSITIVE),
        (nl.Bernoulli(), BINARY),
        (nl.Bernoulli(link="probit"), BINARY),
        (nl.Bernoulli(link="cloglog"), BINARY),
    ],
    ids=repr,
)
def test_every_other_family_predicts_the_mean(noise, y, weight):
    fit, w = only_intercept(y, noise, weight)
    mean = np.average(y, weights=w)
    np.testing.assert_allclose(fit.predict(EMPTY), mean, rtol=1e-9)
    assert fit.intercept == pytest.approx(noise.link.forward(mean), abs=1e-8)


@BOTH
def test_gamma_shape(weight):
    """log(shape) - digamma(shape) = log of the mean minus mean of the logs."""
    fit, w = only_intercept(POSITIVE, nl.Gamma(), weight)
    gap = np.log(np.average(POSITIVE, weights=w)) - np.average(np.log(POSITIVE), weights=w)
    shape = optimize.brentq(lambda a: np.log(a) - special.digamma(a) - gap, 0.1, 100, xtol=1e-14)
    assert fit.noise.shape == pytest.approx(shape, rel=1e-8)


@BOTH
def test_inverse_gaussian_dispersion(weight):
    """The mean of 1 / y minus 1 over the mean."""
    fit, w = only_intercept(POSITIVE, nl.Tweedie(power=3.0), weight)
    expected = np.average(1 / POSITIVE, weights=w) - 1 / np.average(POSITIVE, weights=w)
    assert fit.noise.dispersion == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("power", [1.02, 1.1, 1.15, 1.2, 1.35, 1.5])
def test_tweedie_dispersion_of_counts_is_the_best_of_many(power):
    """The likelihood of whole numbers has hills and valleys in the dispersion where jumps fit them or do not."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(1500, 1))
    y = rng.poisson(np.exp(0.2 - 0.3 * x[:, 0]))
    found = nl.fit(x, y, nl.Tweedie(power=power))
    best = min(nl.fit(x, y, nl.Tweedie(power=power, dispersion=d)).nll for d in np.geomspace(0.4, 4.0, 47))
    assert found.converged
    assert found.nll <= best + 1e-6


def test_tweedie_power_of_jumps_that_hardly_differ():
    """The search begins far from here, and the slope of the likelihood falls before it rises."""
    rng = np.random.default_rng(5)
    jumps = rng.poisson(1.2, 3000)
    y = np.where(jumps > 0, rng.gamma(10.0 * np.maximum(jumps, 1), 0.1), 0.0)
    fit = nl.fit(np.empty((3000, 0)), y, nl.Tweedie())
    nearby = [nl.fit(np.empty((3000, 0)), y, nl.Tweedie(power=fit.noise.power + d)).nll for d in (-0.02, 0.02, 0.1)]
    assert fit.nll < min(nearby)
    assert fit.noise.power == pytest.approx(1 + 1 / 11, abs=0.01)


@BOTH
def test_lognormal_mean_of_logs(weight):
    fit, w = only_intercept(POSITIVE, nl.LogNormal(), weight)
    logs = np.log(POSITIVE)
    mean = np.average(logs, weights=w)
    scale = np.sqrt(np.average((logs - mean) ** 2, weights=w))
    assert fit.intercept == pytest.approx(mean, rel=1e-12)
    assert fit.noise.scale == pytest.approx(scale, rel=1e-10)
    np.testing.assert_allclose(fit.predict(EMPTY), np.exp(mean + scale**2 / 2), rtol=1e-9)  # the mean, not the median


@BOTH
def test_categorical_frequencies(weight):
    labels = np.array(["no", "perhaps", "yes"])[np.arange(N) * 7 % 5 % 3]
    fit, w = only_intercept(labels, nl.Categorical(), weight)
    shares = np.array([w[labels == name].sum() for name in ("no", "perhaps", "yes")]) / w.sum()
    assert fit.coef.shape == (3, 0)
    np.testing.assert_allclose(fit.intercept, np.log(shares) - np.log(shares).mean(), atol=1e-9)
    np.testing.assert_allclose(fit.predict(EMPTY), np.tile(shares, (N, 1)), atol=1e-10)


@pytest.mark.parametrize("noise", [nl.Gaussian(), nl.Gamma(), nl.LogNormal()], ids=repr)
def test_precisions_weight_the_mean_and_scale_the_dispersion(noise):
    """Variance weights: the mean is weighted; the dispersion has the number of rows as its divisor, not their sum."""
    y = POSITIVE
    fit = nl.fit(EMPTY, y, noise, precision=WEIGHTS, tol=1e-11)
    z = np.log(y) if isinstance(noise, nl.LogNormal) else y
    mean = np.average(z, weights=WEIGHTS)
    centre = np.exp(fit.intercept) if isinstance(noise, nl.Gamma) else fit.intercept
    assert centre == pytest.approx(mean, rel=1e-9)
    if not isinstance(noise, nl.Gamma):
        assert fit.noise.scale == pytest.approx(np.sqrt(WEIGHTS @ (z - mean) ** 2 / N), rel=1e-9)


def test_means_of_groups_are_the_coefficients_of_levels():
    """A column of levels alone: each level's prediction is its mean, and the first level is in the intercept."""
    levels = np.array(["a", "b", "c"])[np.arange(N) % 3]
    pandas = pytest.importorskip("pandas", reason="tables")
    fit = nl.fit(pandas.DataFrame({"level": levels}), COUNTS, nl.Poisson(), tol=1e-11)
    means = np.array([COUNTS[levels == name].mean() for name in "abc"])
    assert fit.intercept == pytest.approx(np.log(means[0]), abs=1e-9)
    np.testing.assert_allclose(fit.coef, np.log(means[1:] / means[0]), atol=1e-9)


# ---- links -----------------------------------------------------------------------------------------------------------

X = RNG.random((150, 2))
LINKS = {
    "gaussian-log": (nl.Gaussian(scale=0.3, link="log"), "Gaussian", "Log"),
    "gaussian-inverse": (nl.Gaussian(scale=0.05, link="inverse"), "Gaussian", "InversePower"),
    "poisson-identity": (nl.Poisson(link="identity"), "Poisson", "Identity"),
    "poisson-sqrt": (nl.Poisson(link="sqrt"), "Poisson", "Sqrt"),
    "bernoulli-probit": (nl.Bernoulli(link="probit"), "Binomial", "Probit"),
    "bernoulli-cloglog": (nl.Bernoulli(link="cloglog"), "Binomial", "CLogLog"),
    "gamma-inverse": (nl.Gamma(shape=4.0, link="inverse"), "Gamma", "InversePower"),
    "gamma-identity": (nl.Gamma(shape=4.0, link="identity"), "Gamma", "Identity"),
    "tweedie-inverse": (nl.Tweedie(power=1.5, dispersion=0.5, link="inverse"), "Tweedie", "InversePower"),
    "tweedie-identity": (nl.Tweedie(power=1.5, dispersion=0.5, link="identity"), "Tweedie", "Identity"),
    "inverse-gaussian-log": (nl.Tweedie(power=3.0, dispersion=0.2), "InverseGaussian", "Log"),
}


@pytest.mark.parametrize("name", LINKS)
def test_links_agree_with_statsmodels(name):
    api = pytest.importorskip("statsmodels.api", reason="the peer")
    noise, family, link = LINKS[name]
    eta = 1.2 + X @ [0.9, 0.5] if not isinstance(noise, nl.Bernoulli) else -0.4 + X @ [0.9, -0.5]
    y = np.asarray(noise.given(eta).sample(rng=4), float)
    arguments = {"var_power": 1.5} if family == "Tweedie" else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        law = getattr(api.families, family)(link=getattr(api.families.links, link)(), **arguments)
        peer = api.GLM(y, api.add_constant(X), family=law).fit(tol=1e-13, maxiter=500, tol_criterion="params")
    fit = nl.fit(X, y, noise, tol=1e-10)
    assert fit.converged, fit.message
    assert remainder(fit, Rows(X, y)) < 1e-7
    np.testing.assert_allclose([fit.intercept, *fit.coef], peer.params, rtol=1e-6, atol=1e-8)
    assert fit.deviance == pytest.approx(peer.deviance, rel=1e-10)
    assert fit.d2 == pytest.approx(1 - peer.deviance / peer.null_deviance, abs=1e-9)


@pytest.mark.parametrize("link", ["log", "inverse", "sqrt"])
@pytest.mark.parametrize("family", [nl.Huber, nl.Gaussian], ids=["huber", "gaussian"])
def test_links_of_real_noises(family, link):
    """At a minimum the gradient vanishes, and no start nearby finds less."""
    noise = family(scale=0.2, link=link)
    y = np.asarray(noise.given(1.5 + X @ [0.9, 0.5]).sample(rng=4), float)
    fit = nl.fit(X, y, noise, tol=1e-10)
    assert remainder(fit, Rows(X, y)) < 1e-7

    def objective(theta):
        return noise.given(theta[0] + X @ theta[1:]).nll(y).sum()

    best = optimize.minimize(objective, [1.5, 0.9, 0.5], method="Nelder-Mead", options={"fatol": 1e-9, "xatol": 1e-8})
    assert fit.nll <= best.fun + 1e-6
