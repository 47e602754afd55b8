"""Laplace noise, symmetric or not, with y in cells: the exact minimum, its certificate, and what a fit gives."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize

import neglog as nl
from neglog.solvers.kinked_quadratic import Terms, least

INF = np.inf
NOISES = [
    nl.Laplace(),
    nl.Laplace(scale=0.7),
    nl.AsymmetricLaplace(quantile=0.1),
    nl.AsymmetricLaplace(quantile=0.9),
    nl.AsymmetricLaplace(quantile=0.9, scale=0.3),
]
each_noise = pytest.mark.parametrize("noise", NOISES, ids=repr)


def observed(kind, rows=150, columns=2, seed=4):
    """Columns, and cells with Laplace errors around them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, columns))
    y = 2 + X @ np.linspace(1, -1, columns) + rng.laplace(size=rows)
    if kind == "censored on the right":
        end = 3 + rng.exponential(2, rows)
        return X, nl.censored(np.minimum(y, end), np.where(y <= end, y, INF))
    if kind == "rounded":
        return X, nl.censored(np.floor(y), np.floor(y) + 1)
    if kind == "tied":
        return np.round(X), nl.censored(np.round(y), np.where(rng.random(rows) < 0.3, INF, np.round(y)))
    which, a, b = rng.integers(0, 4, rows), rng.random(rows), rng.random(rows)
    lower = np.choose(which, [y, np.floor(y), y - a, np.full(rows, -INF)])
    return X, nl.censored(lower, np.choose(which, [y, np.floor(y) + 1, np.full(rows, INF), y + b]))


KINDS = ["censored on the right", "rounded", "tied", "mixed"]
each_kind = pytest.mark.parametrize("kind", KINDS)


def objective(X, y, noise, prior, w=1.0, offset=0.0, precision=None):
    """Minus the log posterior in intercept, coefficients and, if it is open, the log of the scale."""

    def at(z):
        n = X.shape[1]
        law = noise.with_(scale=noise.scale or np.exp(z[-1])).with_precision(precision)
        nats = law.given(offset + z[0] + X @ z[1 : n + 1]).nll(y)
        return float(np.sum(w * nats) + prior.penalty(z[1 : n + 1]))

    return at


def assert_least(fit, at):
    """No search from here, or from near here, finds anything better."""
    assert fit.converged, fit.message
    scale = [] if "scale" not in fit._task.target.open else [np.log(fit.noise.scale)]
    here = np.concatenate([[fit.intercept], fit.coef, scale])
    least_nats = at(here)
    assert fit.objective == pytest.approx(least_nats, rel=1e-12)
    rng = np.random.default_rng(0)
    for size in (0.1, 1e-3, 1e-6):
        begin = here + size * rng.normal(size=len(here))
        for method in ("Nelder-Mead", "Powell"):
            found = minimize(at, begin, method=method, options={"maxiter": 600})
            assert found.fun >= least_nats - 1e-9 * abs(least_nats)


@each_kind
@each_noise
def test_nothing_is_better(kind, noise):
    X, y = observed(kind)
    assert_least(nl.fit(X, y, noise), objective(X, y, noise, nl.Flat()))


@pytest.mark.parametrize(
    "prior",
    [nl.Gaussian(scale=0.1), nl.Laplace(scale=0.03), nl.Laplace(scale=0.1) * nl.Gaussian(scale=0.5)],
    ids=["ridge", "lasso", "both"],
)
@each_noise
def test_priors(noise, prior):
    X, y = observed("mixed")
    fit = nl.fit(X, y, noise, prior)
    assert_least(fit, objective(X, y, noise, prior))


@each_noise
def test_weights_offsets_and_precisions(noise):
    X, y = observed("mixed")
    rng = np.random.default_rng(1)
    w, offset, p = rng.integers(0, 4, len(y)).astype(float), rng.normal(size=len(y)), rng.uniform(0.3, 3, len(y))
    fit = nl.fit(X, y, noise, sample_weight=w, offset=offset, precision=p)
    assert_least(fit, objective(X, y, noise, nl.Flat(), w, offset, p))
    again = np.repeat(np.arange(len(y)), w.astype(int))
    repeated = nl.fit(X[again], y[again], noise, offset=offset[again], precision=p[again])
    assert repeated.nll == pytest.approx(fit.nll, rel=1e-10)
    np.testing.assert_allclose(repeated.coef, fit.coef, atol=1e-7)


@each_noise
def test_the_certificate_holds_for_the_rows_as_they_are(noise):
    X, y = observed("mixed", rows=400)
    fit = nl.fit(X, y, noise)
    tied, u = fit.certificate.tied, fit.certificate.tied_dual
    eta = fit.intercept + X @ fit.coef
    np.testing.assert_allclose(eta[tied], y.lower[tied], atol=1e-12)
    above, below = fit.noise.kink_slopes
    assert np.all((u >= -below) & (u <= above))
    slopes = fit.noise.joint(y, eta)[1][0]
    slopes[tied] = -u / fit.noise.scale
    columns = np.column_stack([np.ones(len(y)), X])
    np.testing.assert_allclose(columns.T @ slopes, 0, atol=1e-8 * len(y))
    assert fit.certificate.infeasibility <= 1e-8


def test_cells_that_are_all_values_have_the_fit_of_values():
    X, y = observed("censored on the right")
    values, cells = nl.fit(X, y.lower, nl.Laplace()), nl.fit(X, nl.censored(y.lower, y.lower), nl.Laplace())
    np.testing.assert_array_equal(cells.coef, values.coef)
    np.testing.assert_array_equal(cells.standard_errors, values.standard_errors)


@pytest.mark.parametrize("kind", ["censored on the right", "rounded"])
def test_the_truth_is_found(kind):
    X, y = observed(kind, rows=20_000)
    fit = nl.fit(X, y, nl.Laplace())
    assert np.all(np.abs(fit.coef - [1, -1]) < 4 * fit.standard_errors)
    assert abs(fit.noise.scale - 1) < 4 * fit.noise_standard_errors["scale"]


def test_values_that_are_censored_have_the_errors_that_draws_show():
    rng, found, errors = np.random.default_rng(0), [], []
    for _ in range(200):
        X = rng.normal(size=(200, 1))
        y = X[:, 0] + rng.laplace(size=200)
        end = 0.5 + rng.exponential(2, 200)
        fit = nl.fit(X, nl.censored(np.minimum(y, end), np.where(y <= end, y, INF)), nl.Laplace())
        found.append(fit.coef[0])
        errors.append(fit.standard_errors[0])
    assert np.mean(errors) == pytest.approx(np.std(found), rel=0.25)


def test_the_information_is_that_of_values_and_the_curvature_of_cells():
    X, y = observed("mixed", rows=300)
    fit = nl.fit(X, y, nl.Laplace(scale=1.0))
    columns = np.column_stack([np.ones(len(y)), X])
    bends = np.where(y.exact, 1.0, fit.noise.joint(y, fit.intercept + X @ fit.coef, curvature=True)[2][0])
    covariance = np.linalg.inv((columns * bends[:, None]).T @ columns)
    np.testing.assert_allclose(fit.standard_errors, np.sqrt(covariance.diagonal())[1:], rtol=1e-9)


@pytest.mark.parametrize("noise", [nl.Laplace(), nl.AsymmetricLaplace(quantile=0.8)], ids=repr)
@pytest.mark.parametrize("prior", [nl.Flat(), nl.Gaussian(scale=0.3), nl.Laplace(scale=0.1), nl.Gaussian()], ids=repr)
def test_files_give_the_fit_of_memory(noise, prior, tmp_path):
    X, y = observed("mixed", rows=600)
    table = pd.DataFrame(X, columns=["a", "b"]).assign(low=y.lower, high=y.upper)
    table.to_parquet(tmp_path / "rows.parquet", row_group_size=100)
    named = nl.censored("low", "high")
    memory = nl.fit(table, named, noise, prior)
    files = nl.fit(tmp_path / "rows.parquet", named, noise, prior, progress=False)
    assert files.converged
    np.testing.assert_allclose(files.coef, memory.coef, atol=1e-9)
    np.testing.assert_allclose(files.standard_errors, memory.standard_errors, rtol=1e-9)
    assert files.nll == pytest.approx(memory.nll, rel=1e-12)


def test_several_quantiles():
    X, y = observed("mixed", rows=400)
    fit = nl.fit(X, y, nl.AsymmetricLaplace(quantile=[0.1, 0.5, 0.9]))
    assert fit.converged
    median = nl.fit(X, y, nl.Laplace())
    np.testing.assert_allclose(fit.coef[1], median.coef, atol=1e-8)


def test_a_learned_prior_and_a_path():
    X, y = observed("mixed", rows=400)
    learned = nl.fit(X, y, nl.Laplace(), nl.Gaussian())
    assert learned.converged
    assert 0.2 < learned.prior.scale.min() < 5
    path = nl.path(X, y, nl.Laplace(), n=10)
    assert np.count_nonzero(path.coefs[0]) == 0
    np.testing.assert_allclose(path.coefs[-1], nl.fit(X, y, nl.Laplace()).coef, atol=0.05)


def test_a_comparison_finds_laplace_noise():
    X, y = observed("censored on the right", rows=1500)
    found = nl.compare(X, y, ["gaussian", "laplace", "studentt"])
    assert found.table[0]["noise"] == "Laplace"
    assert not found.refused


def test_one_value_says_less_than_the_scale_needs():
    """Cells that agree with any scale, and values that the columns reach: there is no maximum."""
    X, y = observed("censored on the right", rows=4, columns=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", nl.ConvergenceWarning)
        fit = nl.fit(X, nl.censored(y.lower, np.append(y.lower[:3], INF)), nl.Laplace())
    assert not fit.converged
    assert "passes through every point" in fit.message


def test_what_is_refused_has_a_sentence():
    X, y = observed("mixed")
    with pytest.raises(ValueError, match="quantile is the question that is asked"):
        nl.fit(X, y, nl.AsymmetricLaplace(quantile=None))
    with pytest.raises(ValueError, match="has a kink"):
        nl.fit(X, y, nl.Laplace(scale="model"))
    with pytest.raises(ValueError, match="takes cells with the link 'identity' only"):
        nl.fit(X, y, nl.Laplace(link="log"))
    with pytest.raises(ValueError, match="leave-one-out needs a smooth loss"):
        nl.fit(X, y, nl.Laplace()).loo()
    with pytest.raises(ValueError, match="leave-one-out, which needs a smooth loss"):
        nl.fit(X, y, nl.Laplace(), nl.Laplace())
    X, y = observed("rounded")
    assert np.isfinite(nl.fit(X, y, nl.Laplace()).loo().nll).all()  # all rows are smooth


@pytest.mark.parametrize("bend", [0.0, 1.0, 100.0])
def test_a_quadratic_with_absolute_terms(bend):
    rng = np.random.default_rng(0)
    A, g = rng.normal(size=(200, 4)), 2 * rng.normal(size=4)
    r = A @ np.ones(4) + rng.laplace(size=200)
    above, below = np.full(200, 0.7), np.full(200, 0.3)
    found = least(bend * np.eye(4), g, Terms(A, r, above, below))
    assert found is not None
    np.testing.assert_allclose(bend * found.x + g, A.T @ found.u, atol=1e-10)
    left = r - A @ found.x
    np.testing.assert_allclose(left[found.through], 0, atol=1e-7)
    np.testing.assert_allclose(found.u[~found.through], np.where(left > 0, 0.7, -0.3)[~found.through], atol=1e-9)
