"""Links that do not take every raw prediction: fits begin inside their domain, and end at its edge if need be.

Every noise with every link, read from the registry.
"""

import warnings

import numpy as np
import pytest
from inference.problems import KNOWN
from scipy import optimize

import neglog as nl
from neglog.fitting.fit import prepare
from neglog.likelihood.link_domain import domain_of

PAIRS = {
    f"{name}-{link}": type(noise)(
        **{key: value for key, value in noise.parameters.items() if key != noise.location}, link=link
    )
    for name, noise in KNOWN.items()
    if name != "categorical"
    for link in type(noise)._links()
}
MANY = {name: noise for name, noise in PAIRS.items() if noise.smooth}
GIVEN = dict.fromkeys(("sample_weight", "precision", "offset", "exposure"))


def domain(noise):
    y = np.array([y for y in (1.0, 2.0, 0.5, 0.25, 0.0) if noise.support.contains(y)][:2])
    return domain_of(prepare(np.zeros((2, 1)), y, noise, nl.Flat(), GIVEN, True, 1e-6, 10).target.loss)


BOUNDED = {name: noise for name, noise in MANY.items() if domain(noise) is not None}


def drawn(noise, eta, seed):
    """Targets whose raw predictions are eta, which lies in the noise's domain."""
    y = np.asarray(noise.given(eta).sample(rng=seed), float)
    return np.maximum(y, 1e-3) if isinstance(noise, nl.Gamma) else y


def inside(noise, shape, seed):
    """Rows whose predictions x'b + offset lie inside, b = 1, although those of other b do not."""
    rng = np.random.default_rng(seed)
    edges = domain(noise)
    low = 0.0 if edges is None or edges.low > -np.inf else -1.0
    X = low + rng.random(shape)
    X[:, 0] = low + 0.1 + 0.8 * rng.random(shape[0]) - (X[:, 1:].sum(axis=1))
    return X


def quiet_fit(*arguments, **named):
    """A fit whose warning is looked at in its message."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", nl.ConvergenceWarning)
        return nl.fit(*arguments, **named)


@pytest.mark.parametrize("noise", list(MANY.values()), ids=list(MANY))
def test_a_fit_without_an_intercept_begins_where_all_rows_have_means(noise):
    X = inside(noise, (60, 3), 1)
    fit = quiet_fit(X, drawn(noise, X.sum(axis=1), 2), noise, intercept=False)
    assert fit.converged or "seems to lie at the edge" in fit.message, fit.message
    assert np.isfinite(fit.objective)


@pytest.mark.parametrize("noise", list(BOUNDED.values()), ids=list(BOUNDED))
def test_an_offset_that_leaves_the_domain_is_made_up_for(noise):
    rng = np.random.default_rng(3)
    X, edges = inside(noise, (60, 2), 4), domain(noise)
    offset = np.where(rng.random(60) < 0.5, 3.0, -3.0)  # far outside, either side
    columns = np.column_stack([X, offset])
    fit = quiet_fit(columns, drawn(noise, X.sum(axis=1), 5), noise, offset=offset)
    assert fit.converged or "seems to lie at the edge" in fit.message, fit.message
    rounding = (
        4 * np.finfo(float).eps * 3.0
    )  # of sums of terms as large as the offsets, in another order than the fit's
    assert (edges.margins(columns @ fit.coef + fit.intercept + offset) >= -rounding).all()


@pytest.mark.parametrize("noise", list(BOUNDED.values()), ids=list(BOUNDED))
def test_what_no_coefficients_can_do_is_said(noise):
    y = drawn(noise, inside(noise, (40, 2), 6).sum(axis=1), 7)
    X = np.tile([[1.0], [-1.0]], (20, 1))
    with pytest.warns(nl.ConvergenceWarning, match=r"No coefficients were found .* \d+ of 40 rows are outside"):
        nl.fit(X, y, noise, intercept=False)


PRIORS = {"flat": nl.Flat(), "gaussian": nl.Gaussian(scale=2.0), "laplace": nl.Laplace(scale=2.0)}
EDGED = {
    "poisson-identity": (nl.Poisson(link="identity"), [0, 0, 3, 1, 6, 4, 9, 7, 12, 10], [0, np.inf]),
    "poisson-sqrt": (nl.Poisson(link="sqrt"), [0, 0, 3, 1, 6, 4, 9, 7, 22, 40], [0, np.inf]),
    "bernoulli-log": (nl.Bernoulli(link="log"), [0, 0, 0, 1, 0, 1, 1, 1, 1, 1], [-np.inf, 0]),
    "bernoulli-identity": (nl.Bernoulli(link="identity"), [0, 0, 0, 1, 0, 1, 1, 1, 1, 1], [0, 1]),
    "gaussian-sqrt": (nl.Gaussian(scale=1.0, link="sqrt"), [-4, -3, -3, 1, 0, 2, 5, 7, 12, 16], [0, np.inf]),
}


@pytest.mark.parametrize("prior", list(PRIORS.values()), ids=list(PRIORS))
@pytest.mark.parametrize(("noise", "y", "edges"), list(EDGED.values()), ids=list(EDGED))
def test_an_optimum_at_the_edge_is_found_and_said(noise, y, edges, prior):
    x, y = np.arange(10.0), np.array(y, float)
    fit = nl.fit(x[:, None], y, noise, prior)
    assert fit.converged, fit.message
    assert "at the edge" in fit.message

    def objective(theta):
        eta = np.clip(theta[0] + theta[1] * x, edges[0] + 1e-12, edges[1] - 1e-12)
        return np.sum(noise.derivatives(y, eta)[0]) + prior.penalty(theta[1:])

    A = np.column_stack([np.ones(10), x])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        other = optimize.minimize(
            objective,
            [np.clip(y.mean(), edges[0] + 0.3, edges[1] - 0.3), 0.0],
            method="trust-constr",
            constraints=optimize.LinearConstraint(A, edges[0] + 1e-9, edges[1] - 1e-9, keep_feasible=True),
            options={"maxiter": 3000, "gtol": 1e-9, "xtol": 1e-12},
        )
    assert fit.objective <= other.fun + 1e-6


def test_more_rows_at_the_edge_than_inside_are_said_too():
    X = np.eye(4)
    fit = quiet_fit(X, [0.0, 0.0, 0.0, 1.0], nl.Bernoulli(link="identity"), intercept=False)
    assert "at the edge" in fit.message
    np.testing.assert_allclose(fit.coef, [0, 0, 0, 1], atol=1e-6)


def test_a_narrow_threshold_leads_nowhere_outside_the_domain():
    """On the way to a small threshold Huber's wider ones may have their optimum outside."""
    X = 0.2 + np.random.default_rng(0).random((50, 1))
    y = np.random.default_rng(1).normal(-0.5, 1.0, 50)
    fit = quiet_fit(X, y, nl.Huber(scale=0.7, delta=0.5, link="sqrt"), nl.Gaussian(scale=0.9), intercept=False)
    assert fit.converged
    np.testing.assert_allclose(fit.coef, 0.0, atol=1e-3)


def test_what_is_beyond_the_range_of_numbers_is_named():
    X = np.random.default_rng(0).random((12, 2))
    fit = quiet_fit(X, 1e199 * (1 + X[:, 0]), nl.Gamma(shape=8.0, link="inverse"))
    assert "beyond the range of numbers" in fit.message
    fit = quiet_fit(X, np.zeros(12), nl.Gaussian(link="inverse"), intercept=False)
    assert "every y is 0, which is not the mean of any raw prediction" in fit.message
