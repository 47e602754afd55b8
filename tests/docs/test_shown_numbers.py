"""Pages that print two numbers side by side say that they are the same: here that is asserted."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from scipy.special import betaln, expit

import neglog as nl

close = np.testing.assert_allclose


def live_figure(name):
    path = Path(__file__).parents[2] / "docs" / "live" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"shown_{name}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def rng():
    return np.random.default_rng(5)


@pytest.fixture(name="X")
def columns(rng):
    return rng.normal(size=(800, 2))


def test_asymmetric_laplace():
    y = np.array([1.0, 2.0, 2.5, 4.0, 17.0])
    close(nl.AsymmetricLaplace(3.0, 1.6, 0.5).nll(y), nl.Laplace(3.0, 3.2).nll(y))
    _, gradient, curvature = nl.AsymmetricLaplace(scale=0.5, quantile=0.8).derivatives(np.array([-1.0, 0.0, 1.0]), 0.0)
    close(gradient, [0.4, -0.6, -1.6])
    close(curvature, 0.0)


def test_the_certificate_of_a_quantile(rng):
    X, y, tau = rng.normal(size=(235, 1)), rng.standard_t(3, 235), 0.75
    fit = nl.fit(X, y, nl.AsymmetricLaplace(quantile=tau))
    residual = y - fit.predict(X)
    u = np.where(residual < 0, tau - 1, tau)
    u[fit.certificate.tied] = fit.certificate.tied_dual
    u[fit.certificate.basis] = fit.certificate.dual
    assert np.all((u >= tau - 1 - 1e-12) & (u <= tau + 1e-12))
    close(u @ np.column_stack([np.ones(235), X]), 0, atol=1e-11)
    loss = np.where(residual < 0, tau - 1, tau) * residual
    close(u @ y, loss.sum())
    close(fit.noise.scale, loss.mean())


def test_beta_proportion():
    y, a, b = np.array([1e-6, 0.2, 0.35, 0.9]), 0.3 * 12, 0.7 * 12
    law = nl.BetaProportion(mean=0.3, precision=12.0)
    close(law.nll(y), betaln(a, b) - (a - 1) * np.log(y) - (b - 1) * np.log1p(-y))
    close(law.variance(), 0.3 * 0.7 / 13)
    close(nl.BetaProportion(0.3, 1e12).nll(0.3), np.log(0.21) - 0.5 * np.log(1e12 * 0.21 / (2 * np.pi)))


def test_change_of_variables(X, rng):
    inside, y, share = nl.StudentT(0.5, 0.8, df=4.0), np.array([0.2, 1.0, 7.0]), np.array([0.01, 0.4, 0.98])
    logit = np.log(share) - np.log1p(-share)
    close(nl.Log(inside).nll(y), inside.nll(np.log(y)) + np.log(y))
    close(nl.Logit(inside).nll(share), inside.nll(logit) + np.log(share) + np.log1p(-share))
    assert nl.Log(nl.Gaussian(0.5, 0.8)) == nl.LogNormal(0.5, 0.8)

    cost = np.exp(3 + X @ [0.5, -0.2] + 0.4 * rng.standard_t(3, 800))
    of_logs = nl.fit(X, np.log(cost), nl.StudentT(), tol=1e-9)
    fit = nl.fit(X, cost, nl.Log(nl.StudentT()), tol=1e-9)
    close(fit.coef, of_logs.coef)
    close(fit.nll, of_logs.nll + np.log(cost).sum())


def test_inverse_gaussian(X, rng):
    y, law = np.array([0.2, 0.9, 2.5, 14.0]), nl.InverseGaussian(mean=2.0, dispersion=0.3)
    close(law.nll(y), (y - 2) ** 2 / (2 * 0.3 * 4 * y) + np.log(2 * np.pi * 0.3 * y**3) / 2)
    close(law.nll(y), nl.Tweedie(2.0, 3.0, 0.3).nll(y))
    close(law.variance(), 0.3 * 2**3)

    y = nl.InverseGaussian(np.exp(1 + X @ [0.5, -0.3]), 0.2).sample(rng=rng)
    fit = nl.fit(X, y, nl.InverseGaussian())
    mean = fit.predict(X)
    close(fit.noise.dispersion, np.mean((y - mean) ** 2 / (mean**2 * y)), rtol=1e-4)


def test_ordinal(X, rng):
    y, f, edges = np.arange(4), 0.3, np.array([-1.0, 0.2, 1.5])
    ends = expit(np.array([-np.inf, *edges, np.inf]) - f)
    close(nl.Ordinal(edges=edges).given(f).nll(y), -np.log(np.diff(ends)))
    _, gradient, curvature = nl.Ordinal(edges=edges).derivatives(1.0, f)
    close(gradient, 1 - ends[1] - ends[2])
    close(curvature, ends[1] * (1 - ends[1]) + ends[2] * (1 - ends[2]))
    far = 60 - np.log(np.exp(1.0) - np.exp(-0.2))  # the survival of both edges is an exponential there
    close(nl.Ordinal(edges=edges).given(-60.0).nll(1), far)

    classes = (X @ [1.0, -0.5] + rng.logistic(size=800) > 0.4).astype(int)
    two = nl.fit(X, classes, nl.Ordinal(), tol=1e-9)
    logistic = nl.fit(X, classes.astype(float), nl.Bernoulli(), tol=1e-9)
    close(two.coef, logistic.coef, atol=1e-7)
    close(two.noise.edges, [-logistic.intercept], atol=1e-6)


def test_sinh_arcsinh():
    y = np.array([-4.0, 0.2, 1.0, 2.9, 9.0])
    z = (y - 1) / 0.8
    u = 0.7 * np.arcsinh(z) - 0.4
    nll = np.sinh(u) ** 2 / 2 - np.log(np.cosh(u)) + np.log1p(z**2) / 2 + np.log(0.8 / 0.7) + np.log(2 * np.pi) / 2
    law = nl.SinhArcsinh(loc=1.0, scale=0.8, skew=0.4, tail=0.7)
    close(law.nll(y), nll)
    close(law.median(), 1 + 0.8 * np.sinh(0.4 / 0.7))
    close(nl.SinhArcsinh(1.0, 0.8, 0.0, 1.0).nll(y), nl.Gaussian(1.0, 0.8).nll(y))


def test_weibull():
    y, law = np.array([0.01, 0.7, 3.0, 11.0]), nl.Weibull(scale=4.0, shape=1.7)
    w = 1.7 * np.log(y / 4)
    close(law.nll(y), np.exp(w) - w - np.log(1.7) + np.log(y))
    close(nl.Weibull(4.0, 1.0).nll(y), nl.Gamma(4.0, 1.0).nll(y))
    close(law.cdf(4.0), 1 - np.exp(-1))


def test_zeros(X, rng):
    y, mu, p = np.array([0.0, 0.0, 1.0, 4.0]), np.array([0.5, 2.0, 1.0, 3.0]), 0.3
    inside, zero = nl.Poisson(mu), np.exp(-mu)
    close(nl.ZeroInflated(inside, p).nll(y), -np.log(np.where(y == 0, p, 0) + (1 - p) * inside.pdf(y)))
    close(nl.Hurdle(inside, p).nll(y), -np.log(np.where(y == 0, p, (1 - p) * inside.pdf(y) / (1 - zero))))
    close(nl.Hurdle(inside, p).mean(), (1 - p) * mu / (1 - zero))

    cost = rng.gamma(2.0, np.exp(6 + X @ [0.4, 0.2]) / 2) * (rng.random(800) < 0.3)
    fit, some = nl.fit(X, cost, nl.Hurdle(nl.Gamma()), tol=1e-9), cost > 0
    close(fit.noise.p, np.mean(~some), rtol=1e-6)
    close(fit.coef, nl.fit(X[some], cost[some], nl.Gamma(), tol=1e-9).coef, rtol=1e-5)


def test_choosing(rng):
    X = rng.normal(size=(600, 2))
    y = nl.Tweedie(mean=np.exp(1.0 + X @ [0.5, -0.4]), power=1.5, dispersion=2.0).sample(rng=rng)
    found = nl.compare(X, y, ["tweedie", "gaussian", "gamma", "hurdle(gamma)"])
    assert type(found.best) is nl.Tweedie
    assert set(found.refused) == {"Gamma"}


def test_censored(rng):
    """Both ways to do without cells find lives too short, and cells find them."""
    X = rng.normal(size=(2000, 2))
    life = nl.Weibull(shape=1.7).given(1.0 + X @ [0.5, -0.3]).sample(rng=rng)
    age = rng.uniform(0, 5, size=2000)
    known, failed = np.minimum(life, age), life <= age
    fit = nl.fit(X, nl.censored(known, event=failed), nl.Weibull())
    truth = np.array([0.5, -0.3])
    close(fit.coef, truth, atol=0.1)
    for naive in (nl.fit(X, known, nl.Weibull()), nl.fit(X[failed], life[failed], nl.Weibull())):
        assert naive.intercept < fit.intercept - 0.3
        assert np.all(np.abs(naive.coef) < np.abs(truth))
    close(nl.Gaussian(0.0, 1.0).nll(nl.censored(40.0, np.inf)), 804.608442, atol=1e-6)


def test_how_sure():
    """What the page says of its figure, whose formulas are those of neglog."""
    figure = live_figure("howsure")

    def held(*settings):
        return {kind: 1000 * found.mean() for kind, found in figure.intervals(*settings)[2].items()}

    right = held(80, 0, 0, "whole")
    close(list(right.values()), 900, atol=25)
    persons = held(80, 0.8, 0, "whole")
    close([persons["posterior"], persons["profile"]], 730, atol=15)
    close(persons["robust"], 900, atol=25)
    clinics = held(80, 0, 0.8, "whole")
    close(clinics["posterior"], 500, atol=50)
    assert clinics["robust"] < 700 < 850 < clinics["clustered"]
    mixed = held(80, 0, 0.8, "half")
    close([mixed["posterior"], mixed["clustered"]], 900, atol=25)
    assert mixed["robust"] > 950
    assert held(24, 0, 0, "whole")["clustered"] < 870  # six clinics are not quite enough
    assert held(24, 0, 0.5, "half")["clustered"] > 870


@pytest.mark.parametrize("design", ["whole", "half"])
@pytest.mark.parametrize("settings", [(24, 0.8, 0.8), (40, 0.0, 0.5), (80, 0.3, 0.0)])
def test_the_figure_counts_what_neglog_would(settings, design):
    figure = live_figure("howsure")
    y, treated = figure.drawn(*settings, design)
    assert min(y[:, treated == k].sum(axis=1).min() for k in (0, 1)) > 0
    _, errors, holds = figure.intervals(*settings, design)
    clinic = np.arange(settings[0]) // figure.CLINIC
    for one in range(20):
        fit = nl.fit(treated[:, None].astype(float), y[one], nl.Poisson(), tol=1e-10)
        own = {
            "posterior": fit.covariance(),
            "robust": fit.covariance("HC3"),
            "clustered": fit.covariance("cluster", clinic),
        }
        close([errors[kind][one] for kind in own], [found.standard_errors[1] for found in own.values()], rtol=1e-6)
        intervals = {
            "posterior": fit.interval(0.9),
            "profile": fit.interval(0.9, "profile"),
            "robust": fit.interval(0.9, errors="HC3"),
            "clustered": fit.interval(0.9, errors="cluster", cluster=clinic),
        }
        for kind, found in intervals.items():
            lower, upper = found["x0"]
            assert holds[kind][one] == (lower <= figure.TRUTH <= upper), kind


def test_the_guide_to_errors(X, rng):
    y = rng.poisson(np.exp(0.3 * X[:, 0]))
    fit = nl.fit(X, y, nl.Poisson())
    close(fit.covariance("robust"), fit.covariance("HC0"))
    with pytest.raises(ValueError, match="has a kink"):
        nl.fit(X, y, nl.Laplace()).covariance("robust")
