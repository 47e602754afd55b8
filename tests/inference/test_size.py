"""Factors of thousands of levels are refused with a sentence before they take all memory; lassos are not."""

import numpy as np
import pandas
import pytest
from inference.problems import FAMILY_OF, each
from scipy import sparse

import neglog as nl
from neglog.estimation import separation, size
from neglog.fitting.fit import prepare

GIVEN = ("sample_weight", "precision", "offset", "exposure")


@pytest.fixture
def flights():
    """As many levels as there are planes in New York's flights."""
    rng = np.random.default_rng(0)
    codes = np.append(np.arange(6000), rng.integers(0, 6000, size=2000))
    table = pandas.DataFrame({"distance": rng.random(8000), "tailnum": [f"N{code}" for code in codes]})
    return table.assign(delay=rng.integers(0, 2, size=8000) + 1.0)


@each(FAMILY_OF, "family")
@each({"learned": nl.Gaussian(), "stated": nl.Gaussian(scale=1.0), "flat": nl.Flat()}, "prior")
def test_a_factor_of_thousands_of_levels_is_named(family, prior, flights):
    y = flights.pop("delay")
    if family.examples and family(**family.examples[0]).bounds == (0.0, 1.0) and family.measure == "density":
        y = y / (1 + y.max())  # shares
    if family().piled(y.to_numpy()) is not None:
        y = y + np.arange(len(y)) / len(y)  # no two alike
    y = y.astype(str) if family is nl.Categorical else y - 1 if family in (nl.Bernoulli, nl.Tweedie) else y
    with pytest.raises(ValueError, match=r"the column 'tailnum' alone has 6,000 levels.* rare=.*--without"):
        nl.fit(flights, y, family(), prior)


def test_rare_levels_make_it_small_enough(flights):
    fit = nl.fit(flights, "delay", nl.Poisson(), nl.Gaussian(), rare=4)
    assert fit.converged
    assert 1 < len(fit.coef) < 300


def test_a_learned_prior_is_refused_earlier_than_a_stated_one(monkeypatch):
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(200, 120)), rng.poisson(1.0, size=200)
    monkeypatch.setattr(size, "LEARNED", 100)
    assert nl.fit(X, y, nl.Poisson(), nl.Gaussian(scale=0.1)).converged
    with pytest.raises(ValueError, match=r"121 coefficients are too many to learn .* at most 100: leave columns out"):
        nl.fit(X, y, nl.Poisson(), nl.Gaussian())


def test_a_lasso_takes_any_number_of_columns():
    rng = np.random.default_rng(2)
    X = sparse.random_array((400, 8000), density=0.002, rng=rng, format="csr")
    y = rng.poisson(1.0, size=400)
    assert nl.fit(X, y, nl.Poisson(), nl.Laplace(scale=0.2)).converged
    assert len(nl.path(X, y, nl.Poisson(), n=3, ratio=0.5)) == 3


def test_laplace_noise_says_when_an_exact_fit_would_take_too_long(monkeypatch):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(500, 110))
    y = X[:, 0] + rng.laplace(size=500)
    assert nl.fit(X, y, nl.Laplace(), nl.Gaussian()).converged
    monkeypatch.setattr(size, "EXACT_LEARNED", 1e6)
    with pytest.raises(ValueError, match=r"fitted exactly, and 500 rows of 111 coefficients .* learned prior.*Huber"):
        nl.fit(X, y, nl.Laplace(), nl.Gaussian())
    assert nl.fit(X, y, nl.Laplace(), nl.Gaussian(scale=1.0)).converged


def test_whether_classes_are_separated_is_asked_of_as_many_numbers_as_it_takes(monkeypatch):
    """A row has a condition for each other class, with a coefficient for each class."""
    seen = []
    monkeypatch.setattr(separation, "_programme", lambda gains, fixed: seen.append(gains.size + fixed.size))
    monkeypatch.setattr(separation, "MOST", 40_000)
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(400, 3)), np.arange(400) % 8
    task = prepare(X, y, nl.Categorical(), nl.Flat(), dict.fromkeys(GIVEN), True, 1e-6, 100)
    assert separation.separating_direction(task) is None
    assert len(seen) == 1
    assert 0 < seen[0] <= 40_000
