"""Intervals and predictive laws where rows are few and also tell the spread of the noise."""

import numpy as np
import pyarrow as pa
import pytest
import statsmodels.api as sm
from scipy.stats import norm

import neglog as nl

ROWS = 20


def drawn(seed=0, rows=ROWS):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 3))
    return X, 1 + X @ [0.5, 0.2, 0.0] + rng.normal(size=rows)


CHANGED = [
    (nl.Gaussian(), lambda y: y),
    (nl.LogNormal(), np.exp),
    (nl.Logit(nl.Gaussian()), lambda y: 1 / (1 + np.exp(-y))),
]


@pytest.mark.parametrize(("noise", "change"), CHANGED)
def test_intervals_and_predictions_are_those_of_least_squares(noise, change):
    X, y = drawn()
    wanted = sm.OLS(y, sm.add_constant(X)).fit()
    fit = nl.fit(X, change(y), noise)
    table = fit.summary(0.9, tests=True).table
    np.testing.assert_allclose(table["standard error"][:4], wanted.bse, rtol=1e-8)
    np.testing.assert_allclose(np.stack([table["lower"], table["upper"]], 1)[:4], wanted.conf_int(0.1), rtol=1e-7)
    np.testing.assert_allclose(table["t(16)"][:4], wanted.tvalues, rtol=1e-7)
    np.testing.assert_allclose(table["p"][:4], wanted.pvalues, rtol=1e-7)
    frame = wanted.get_prediction(sm.add_constant(X)).summary_frame(0.1)
    law = fit.posterior().predictive(X)
    for p, column in ((0.05, "obs_ci_lower"), (0.95, "obs_ci_upper")):
        np.testing.assert_allclose(law.icdf(np.full(ROWS, p)), change(frame[column].to_numpy()), rtol=1e-8)


def of_scales(X, y, bend, points, at):
    """P(y <= at) at some rows, by a fine grid over log scale, at each of which all is Gaussian."""
    A = np.column_stack([np.ones(len(X)), X])
    B = np.diag(np.append(0.0, bend))
    costs, below = [], []
    for log_scale in np.linspace(-3, 3, 6001):
        scale = np.exp(log_scale)
        H = A.T @ A / scale**2 + B
        theta = np.linalg.solve(H, A.T @ y / scale**2)
        left = y - A @ theta
        costs.append(
            len(y) * log_scale + 0.5 * left @ left / scale**2 + 0.5 * theta @ B @ theta + 0.5 * np.linalg.slogdet(H)[1]
        )
        variance = scale**2 + np.einsum("ij,jk,ik->i", A[points], np.linalg.inv(H), A[points])
        below.append(norm.cdf(at, A[points] @ theta, np.sqrt(variance)))
    weights = np.exp(min(costs) - np.array(costs))
    return weights @ np.array(below) / weights.sum()


@pytest.mark.parametrize("prior", [nl.Gaussian(scale=0.5), nl.Gaussian(scale=[0.1, 1.0, np.inf]), nl.Gaussian()])
def test_under_a_prior_the_scale_is_integrated_too(prior):
    X, y = drawn()
    fit = nl.fit(X, y, nl.Gaussian(), prior)
    bend = np.broadcast_to(fit.prior.scale, 3) ** -2.0
    at = np.array([-1.5, 0.3, 2.5])
    found = fit.posterior().predictive(X[:3]).cdf(at)
    np.testing.assert_allclose(found, of_scales(X, y, bend, slice(0, 3), at), rtol=1e-6)


TABLE = pa.table({"x": drawn()[0][:, 0], "g": [f"g{i % 5}" for i in range(ROWS)]})
FITS = {
    "flat": lambda y: nl.fit(TABLE, y),
    "stated": lambda y: nl.fit(TABLE, y, prior=nl.Gaussian(scale=1.0)),
    "learned": lambda y: nl.fit(TABLE, y, prior=nl.Gaussian()),
    "curve": lambda y: nl.fit(TABLE, y, terms=[nl.smooth("x", size=5), nl.group("g")]),
    "groups": lambda y: nl.fit(TABLE, y, terms=["x", nl.group("g")], evidence="groups"),
}


@pytest.mark.parametrize("how", FITS)
def test_errors_are_enlarged_once(how):
    """By what is left of the squares over the rows that are left, whatever scale the fit was made with."""
    _, y = drawn()
    y = y + np.tile([2.0, -1.0, 0.0, 0.5, -1.5], ROWS // 5)
    fit = FITS[how](y)
    squares = np.sum((y - fit.predict(TABLE)) ** 2)
    assert (fit.few_rows * fit.noise.scale) ** 2 == pytest.approx(squares / fit.residual_degrees, rel=1e-8)


@pytest.mark.parametrize(
    ("noise", "change"), [(nl.Gaussian(scale="reml"), lambda y: y), (nl.LogNormal(scale="reml"), np.exp)]
)
def test_squares_over_the_rows_that_are_left(noise, change):
    X, y = drawn()
    wanted = sm.OLS(y, sm.add_constant(X)).fit()
    fit, usual = nl.fit(X, change(y), noise), nl.fit(X, change(y), noise.with_(scale=None))
    assert fit.noise.scale**2 == pytest.approx(wanted.mse_resid, rel=1e-9)
    np.testing.assert_allclose(fit.standard_errors, wanted.bse[1:], rtol=1e-8)
    found, other = fit.summary(0.9).table, usual.summary(0.9).table
    for column in ("standard error", "lower", "upper"):
        np.testing.assert_allclose(found[column], other[column][:4], rtol=1e-7)
    assert fit.n_parameters == usual.n_parameters
    assert fit.nll > usual.nll
    assert any("by the squares over the rows less the coefficients (reml)" in note for note in fit.notes)
    law, same = fit.posterior().predictive(X), usual.posterior().predictive(X)
    np.testing.assert_allclose(law.icdf(np.full(ROWS, 0.1)), same.icdf(np.full(ROWS, 0.1)), rtol=1e-8)


def test_squares_under_a_prior_count_what_is_left_of_the_coefficients():
    X, y = drawn()
    fit = nl.fit(X, y, nl.Gaussian(scale="reml"), nl.Gaussian(scale=0.5))
    squares = np.sum((y - fit.predict(X)) ** 2)
    assert fit.noise.scale**2 == pytest.approx(squares / fit.residual_degrees, rel=1e-6)
    with pytest.raises(ValueError, match="as a prior: residuals tell nothing about it"):
        nl.fit(X, y, nl.Gaussian(), nl.Gaussian(scale="reml"))


def test_without_rows_intervals_stay_what_they_were(tmp_path):
    X, y = drawn()
    fit = nl.fit(X, y)
    fit.save(tmp_path / "fit.json")
    again = nl.load(tmp_path / "fit.json")
    assert again.summary(0.9).table["lower"].tolist() == fit.summary(0.9).table["lower"].tolist()
    assert again.reach(0.9) == fit.reach(0.9) > 1.7


@pytest.mark.parametrize(("noise", "change"), CHANGED[:2])
def test_so_many_intervals_hold_the_truth(noise, change):
    """The small version of `benchmarks/run.py few_rows`."""
    inside, ahead = [], []
    for seed in range(400):
        X, y = drawn(seed)
        fit = nl.fit(X, change(y), noise)
        table = fit.summary(0.9).table
        truth = [1.0, 0.5, 0.2, 0.0, 1.0]
        inside.append((table["lower"] <= truth) & (table["upper"] >= truth))
        new, there = drawn(seed + 10_000)
        u = fit.posterior().predictive(new).cdf(change(there))
        ahead.append(np.abs(u - 0.5) < 0.45)
    assert 0.88 <= np.mean(inside) <= 0.92
    assert 0.88 <= np.mean(ahead) <= 0.92
