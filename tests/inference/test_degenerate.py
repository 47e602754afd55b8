"""Likelihoods without a maximum are said to have none, and whatever is asked of such a fit is answered or refused."""

import numpy as np
import pandas
import pytest
from inference.problems import UNKNOWN, each

import neglog as nl

N = 12
OPEN = {name: noise for name, noise in UNKNOWN.items() if noise.spread} | {
    "huber-threshold": nl.Huber(delta=None),
    "tweedie-1.5": nl.Tweedie(power=1.5),
    "tweedie-2": nl.Tweedie(power=2.0),
    "tweedie-3": nl.Tweedie(power=3.0),
    "tweedie-0": nl.Tweedie(power=0.0, link="identity"),
    "gamma-identity": nl.Gamma(link="identity"),
}
PRIORS = {"flat": nl.Flat(), "ridge": nl.Gaussian(scale=1.0), "lasso": nl.Laplace(scale=0.1)}
REFUSED = r"needs|can be estimated only|cannot be learned"  # y that the noise cannot have, or says nothing about
rng = np.random.default_rng(3)
X = rng.normal(size=(N, 2))
WIDE = rng.normal(size=(N, 20))
SAME = {
    "all 0": (X, np.zeros(N), {}),
    "all 1": (X, np.ones(N), {}),
    "no columns": (np.empty((N, 0)), np.full(N, 7.0), {}),
    "one row": (X[:1], np.array([3.0]), {}),
    "one row of 0": (X[:1], np.zeros(1), {}),
    "one row that counts": (X, np.arange(1.0, N + 1), {"sample_weight": np.eye(N)[4]}),
    "no intercept": (X, np.zeros(N), {"intercept": False}),
}


def ask_everything(fit):
    """Numbers, NaN, or a refusal that says why; never an error from inside."""
    assert np.isnan(fit.d2) or np.isfinite(fit.d2)
    assert str(fit.summary())
    assert fit.standard_errors.shape == fit.coef.shape
    assert isinstance(fit.nll, float)
    for question in (fit.posterior, fit.loo):
        with pytest.raises(ValueError, match=r"did not end at a maximum|improper|smooth"):
            question()


@pytest.mark.filterwarnings("ignore::neglog.ConvergenceWarning")
@pytest.mark.parametrize("prior", list(PRIORS.values()), ids=list(PRIORS))
@pytest.mark.parametrize("case", list(SAME.values()), ids=list(SAME))
@each(OPEN)
def test_targets_that_do_not_vary_leave_no_dispersion(noise, case, prior):
    X, y, given = case
    try:
        fit = nl.fit(X, y, noise, prior, **given)
    except ValueError as refusal:
        assert pytest.RaisesExc(ValueError, match=REFUSED).matches(refusal)  # noqa: PT017
        return
    assert np.isnan(fit.d2)
    if fit.converged:  # no spread at all may be an answer: that of the noise which its limit is
        assert fit.noise.parameter(fit.noise.spread).limit.noise in fit.message
        return
    assert any(
        said in fit.message
        for said in ("passes through every point", "Every y is 0", "There is no maximum", "threshold ended", "power")
    ), fit.message
    ask_everything(fit)


@pytest.mark.filterwarnings("ignore::neglog.ConvergenceWarning")
@pytest.mark.parametrize("prior", [nl.Flat(), nl.Gaussian(scale=1.0)], ids=["flat", "ridge"])
@pytest.mark.parametrize("rows", [2, 6])
@each(OPEN)
def test_columns_that_reach_every_point_leave_no_dispersion(noise, rows, prior):
    columns = WIDE[:, : rows + 1]
    y = np.array([3.0, 1.0, 2.0, 5.0, 4.0, 7.0])[:rows] / (8.0 if noise.bounds[1] == 1 else 1.0)
    if noise.parameters.get("power", 0) is None:
        y[0] = 0.0  # without a zero the power has no estimate
    fit = nl.fit(columns[:rows], y, noise, prior)
    if fit.converged:  # a zero has no finite raw prediction: the prior then holds the others; or no spread is an answer
        limit = fit.noise.parameter(fit.noise.spread).limit
        assert y[0] == 0 or limit.noise in fit.message
        return
    assert any(
        said in fit.message
        for said in ("passes through every point", "There is no m", "threshold ended", "power", "domain of the")
    ), fit.message
    ask_everything(fit)


def test_a_lasso_of_more_columns_than_rows_still_has_its_optimum():
    fit = nl.fit(WIDE, np.arange(N) ** 0.5, nl.Gaussian(), nl.Laplace(scale=0.1))
    assert fit.converged
    assert 0.1 < fit.noise.scale < 10


def test_a_learned_prior_of_more_columns_than_rows_has_a_scale():
    fit = nl.fit(WIDE, 0.5 * WIDE[:, 0] + np.random.default_rng(3).normal(size=N), nl.Gaussian(), nl.Gaussian())
    assert fit.converged
    assert 0.1 < fit.noise.scale < 10


@pytest.mark.filterwarnings("ignore::neglog.ConvergenceWarning")
@pytest.mark.parametrize("y", [np.eye(N)[3], np.r_[np.zeros(4), np.arange(1.0, N - 3)]], ids=["one count", "some"])
def test_means_at_the_edge_of_their_domain_are_said_to_be_there(y):
    columns = X if y.sum() == 1 else WIDE
    fit = nl.fit(columns, y, nl.Poisson(link="identity"))
    assert fit.converged == np.isfinite(fit.nll)
    assert fit.converged or "at its edge" in fit.message
    if not fit.converged:
        ask_everything(fit)


@pytest.mark.filterwarnings("ignore::neglog.ConvergenceWarning")
@pytest.mark.parametrize(
    ("noise", "size"), [(nl.Gaussian(), 1e-300), (nl.Huber(), 1e-300), (nl.Laplace(), 1e-300), (nl.Laplace(), 1e300)]
)
def test_targets_beyond_the_range_of_squares(noise, size):
    y = size * np.random.default_rng(0).random(N)
    fit = nl.fit(X, y, noise)
    if fit.converged:
        assert 0.01 * size < fit.noise.scale < size
    else:
        assert "range of numbers" in fit.message
    assert str(fit.summary())


@pytest.mark.filterwarnings("ignore::neglog.ConvergenceWarning")
@pytest.mark.parametrize("noise", [nl.LogNormal(), nl.Laplace()], ids=str)
def test_noises_of_any_location_have_no_domain_to_leave(noise):
    y = np.array([0.5, 0.2, 0.1, 3.0, 2.0, 0.4, 0.3, 0.2, 0.9, 0.6, 0.7, 0.1])
    fit = nl.fit(WIDE, y, noise, nl.Gaussian(scale=0.5), max_iter=2)
    assert "domain" not in fit.message
    assert "above" not in fit.message


def test_laplace_noise_says_that_its_scale_still_moves(monkeypatch):
    monkeypatch.setattr("neglog.estimation.absolute.ROUNDS", 1)
    y = X @ [1.0, 0.5] + np.random.default_rng(0).laplace(size=N)
    with pytest.warns(nl.ConvergenceWarning, match=r"still move after 1 rounds, the scale by [\d.e-]+ of itself"):
        nl.fit(X, y, nl.Laplace(), nl.Gaussian(scale=0.2))


@pytest.mark.parametrize("noise", [nl.Poisson(), nl.Bernoulli(), nl.Gaussian(scale=2.0)], ids=str)
def test_the_posterior_of_nothing_is_the_likelihood(noise):
    fit = nl.fit(np.empty((4, 0)), np.array([0.0, 1, 1, 0]), noise, intercept=False)
    posterior = fit.posterior()
    assert posterior.names == ()
    assert posterior.std.shape == (0,)
    assert posterior.evidence == pytest.approx(-fit.nll)
    assert posterior.sample(3).shape == (3, 0)
    assert str(posterior)
    np.testing.assert_allclose(posterior.predictive(np.empty((2, 0))).mean(), fit.predict(np.empty((2, 0))))
    with pytest.raises(ValueError, match="nothing to sample"):
        fit.posterior("nuts")


@pytest.mark.parametrize("noise", [nl.Poisson(), nl.Poisson(link="identity"), nl.Gaussian(scale=1.0)], ids=str)
def test_of_targets_that_do_not_vary_nothing_is_to_be_explained(noise):
    fit = nl.fit(X, np.full(N, 3.0), noise)
    assert fit.converged
    assert np.isnan(fit.d2)
    assert "D² –" in str(fit.summary())


def test_the_domain_of_a_bounded_mean_is_said():
    y = (np.arange(100) % 3 == 0).astype(float)
    columns = np.random.default_rng(0).normal(size=(100, 2))
    with pytest.warns(nl.ConvergenceWarning, match=r"domain of the identity link, from 0 to 1: \d+ of 100 rows"):
        nl.fit(columns, y, nl.Bernoulli(link="identity"), intercept=False)


@pytest.mark.filterwarnings("ignore::neglog.ConvergenceWarning")
@pytest.mark.parametrize("value", [0.0, 1.0])
@each(UNKNOWN | {"tweedie-1.5": nl.Tweedie(power=1.5), "poisson": nl.Poisson()})
def test_targets_of_files_that_do_not_vary(noise, value, tmp_path):
    table = pandas.DataFrame(np.random.default_rng(0).normal(size=(300, 2)), columns=["a", "b"])
    table["y"] = value
    table.to_parquet(tmp_path / "rows.parquet")
    try:
        fit = nl.fit(tmp_path / "rows.parquet", "y", noise, progress=False)
    except ValueError as refusal:
        assert pytest.RaisesExc(ValueError, match=REFUSED).matches(refusal)  # noqa: PT017
        return
    without_spread = noise.measure == "mass" and (noise.spread is None or noise.parameter(noise.spread).limit)
    assert fit.converged == (value == 1 and bool(without_spread)), fit.message
    assert np.isnan(fit.d2)
    assert str(fit.summary())


@pytest.mark.filterwarnings("ignore::neglog.ConvergenceWarning")
@pytest.mark.parametrize("prior", [nl.Flat(), nl.Gaussian(scale=0.5), nl.Gaussian()], ids=str)
@pytest.mark.parametrize("noise", [nl.Gaussian(), nl.Huber(), nl.Laplace(), nl.LogNormal(), nl.Gamma()], ids=str)
def test_columns_that_tell_y_exactly_leave_no_scale(noise, prior):
    """As a leak does, with many more rows than columns: also where a prior holds the fit away from it."""
    rng = np.random.default_rng(6)
    columns = rng.integers(1, 9, size=(200, 3)).astype(float)
    y = columns @ [1.0, 1.0, 0.5]
    fit = nl.fit(columns, np.exp(y / 4) if noise.bounds[0] == 0 else y, noise, prior)
    assert not fit.converged
    assert "through every point" in fit.message
    slightly = y + 1e-4 * rng.normal(size=200)
    assert nl.fit(columns, np.exp(slightly / 4) if noise.bounds[0] == 0 else slightly, noise, prior).converged
