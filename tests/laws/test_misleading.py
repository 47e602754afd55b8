"""Noises under wrong names have the answers of the honest ones: nothing goes by the name of a parameter."""

import numpy as np
import pytest
from laws.misleading import MISLEADING, MisnamedGaussian, MisnamedPoisson

import neglog as nl
from neglog.belief.nuts import Density
from neglog.boosting.derivatives import slopes_of
from neglog.distributions.expectation import expectation
from neglog.distributions.registry import FAMILIES, register

CASES = [MisnamedGaussian(), MisnamedGaussian(power=0.6), MisnamedPoisson()]
PRIORS = [nl.Flat(), nl.Gaussian(scale=0.2), nl.Laplace(scale=0.05)]
ROWS = 300


@pytest.fixture(autouse=True)
def registered():
    """Known by name while a test runs, as a family of somebody else's is."""
    for family in MISLEADING:
        register(family)
    yield
    for family in MISLEADING:
        del FAMILIES[family.__name__.lower()]


def rows(noise, seed=2):
    """Columns, targets drawn from the honest noise, and what goes with them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(ROWS, 3))
    eta = 0.5 + X @ [0.4, -0.3, 0.0]
    honest = noise.honest()
    filled = honest if honest.spread is None else honest.with_(scale=0.6)
    y = np.asarray(filled.given(eta).sample(rng=rng), float)
    return X, y, {"sample_weight": rng.uniform(0.5, 2, ROWS), "offset": rng.normal(0, 0.1, ROWS)}


def both(noise, prior, **more):
    """The fit of the misleading noise, and that of the honest one."""
    X, y, options = rows(noise)
    return [nl.fit(X, y, one, prior, **options, **{"tol": 1e-10, **more}) for one in (noise, noise.honest())]


def own_values(fit):
    """What was found beside the location, whatever it is called, as long as the kernel knows it."""
    return [fit.noise.parameters[name] for name in fit.noise_standard_errors]


def same(found, wanted, rtol=1e-6):
    np.testing.assert_allclose(found, wanted, rtol=rtol, atol=1e-9)


# ---- laws ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("law", [family(**example) for family in MISLEADING for example in family.examples], ids=repr)
def test_the_law_is_that_of_the_honest_noise(law):
    honest = law.honest()
    y = np.asarray(law.sample(50, rng=1), float)
    same(law.nll(y), honest.nll(y), 1e-12)
    same(law.cdf(y), honest.cdf(y), 1e-12)
    assert law.support.contains(y).all()
    same(expectation(law, law.nll).value, honest.entropy(), 1e-9)
    same(law.entropy(), honest.entropy(), 1e-9)
    same(expectation(law, lambda x: x).value, honest.mean(), 1e-9)
    same(nl.kl_divergence(law, honest), 0.0)
    same(nl.cross_entropy(law, honest), honest.entropy(), 1e-9)
    if law.measure == "mass":  # a lattice of steps of 0.5 would have twice as many points
        assert expectation(law, np.ones_like).value == pytest.approx(1.0, rel=1e-12)
        assert not law.support.contains(np.array([0.5, 1.5])).any()


# ---- fits ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("prior", PRIORS, ids=repr)
@pytest.mark.parametrize("noise", CASES, ids=repr)
def test_fits_and_errors(noise, prior):
    found, wanted = both(noise, prior)
    same(found.coef, wanted.coef)
    same(found.intercept, wanted.intercept)
    same(own_values(found), own_values(wanted))
    same(found.nll, wanted.nll, 1e-9)
    same(found.standard_errors, wanted.standard_errors, 1e-5)
    same(found.intercept_standard_error, wanted.intercept_standard_error, 1e-5)
    same(list(found.noise_standard_errors.values()), list(wanted.noise_standard_errors.values()), 1e-5)
    assert tuple(found.noise_standard_errors) == noise.unknown
    assert found.n_parameters == wanted.n_parameters
    table, honest = found.summary().table, wanted.summary().table
    assert table["name"][-len(noise.unknown) or len(table["name"]) :] == list(noise.unknown)
    for column in ("estimate", "standard error", "lower", "upper"):
        same(table[column], honest[column], 1e-5)


@pytest.mark.parametrize("noise", [noise for noise in CASES if noise.takes_precision()], ids=repr)
def test_precisions(noise):
    precision = np.random.default_rng(6).uniform(0.5, 2, ROWS)
    found, wanted = both(noise, nl.Gaussian(scale=0.2), precision=precision)
    same(found.coef, wanted.coef)
    same(found.nll, wanted.nll, 1e-9)
    same(found.standard_errors, wanted.standard_errors, 1e-5)
    same(own_values(found), own_values(wanted))
    same(found.loo().nll, wanted.loo().nll, 1e-5)


@pytest.mark.parametrize("prior", PRIORS[:2], ids=repr)
@pytest.mark.parametrize("noise", CASES, ids=repr)
def test_posteriors(noise, prior):
    found, wanted = both(noise, prior)
    one, other = found.posterior(), wanted.posterior()
    labels = [f"log {name}" for name in noise.unknown]
    assert one.names == ("intercept", "x0", "x1", "x2", *labels)
    same(one.mean, other.mean)
    np.testing.assert_allclose(one.covariance(), other.covariance(), rtol=1e-5, atol=1e-9)
    assert one.evidence == pytest.approx(other.evidence, abs=1e-6)
    new = rows(noise)[0][:5]
    at = np.asarray(other.predictive(new).icdf(np.full(5, 0.8)), float)
    np.testing.assert_allclose(one.predictive(new).cdf(at), other.predictive(new).cdf(at), atol=1e-4)
    densities = Density(found._joint), Density(wanted._joint)
    for x in np.random.default_rng(4).normal(size=(3, len(one.names))):
        z = densities[1].centre + densities[1].root @ x
        places = [np.linalg.solve(density.root, z - density.centre) for density in densities]
        peaks = [density(np.zeros(len(x)))[0] for density in densities]
        falls = [density(place)[0] - peak for density, place, peak in zip(densities, places, peaks, strict=True)]
        assert falls[0] == pytest.approx(falls[1], rel=1e-5)


@pytest.mark.parametrize("prior", PRIORS, ids=repr)
@pytest.mark.parametrize("noise", CASES, ids=repr)
def test_rows_that_are_left_out(noise, prior):
    found, wanted = (fit.loo() for fit in both(noise, prior))
    same(found.nll, wanted.nll, 1e-5)
    same(found.leverage, wanted.leverage, 1e-4)


@pytest.mark.parametrize("noise", CASES, ids=repr)
def test_other_ways_to_the_fit(noise, tmp_path):
    import pandas as pd

    X, y, options = rows(noise)
    found, wanted = both(noise, nl.Gaussian(scale=0.2))
    found.save(tmp_path / "fit.json")
    again = nl.load(tmp_path / "fit.json")
    assert again.noise == found.noise
    assert again.noise_standard_errors == found.noise_standard_errors
    assert str(again.summary()) == str(found.summary())
    np.testing.assert_array_equal(again.predict(X), found.predict(X))
    same(found.predict(X), wanted.predict(X))
    table = pd.DataFrame(X, columns=["x0", "x1", "x2"]).assign(y=y, **options)
    table.to_parquet(tmp_path / "rows.parquet")
    named = {name: name for name in options}
    streamed = nl.fit(tmp_path / "rows.parquet", "y", noise, nl.Gaussian(scale=0.2), **named, tol=1e-10, progress=False)
    same(streamed.coef, wanted.coef)
    same(own_values(streamed), own_values(wanted))
    path = nl.path(X, y, noise, nl.Laplace(), strengths=[20.0], **options, tol=1e-10)
    same(path.coefs[0], both(noise, nl.Laplace(scale=0.05))[1].coef)
    learned, honest = (nl.fit(X, y, one, nl.Gaussian(), **options, tol=1e-10) for one in (found.noise, wanted.noise))
    same(learned.prior.scale, honest.prior.scale, 1e-3)


@pytest.mark.parametrize(
    ("noise", "prior"),
    [
        (MisnamedGaussian(None, 0.6), nl.Gaussian(0.0, 1.0)),
        (MisnamedGaussian(0.1), nl.Gamma(1.0, 2.0)),
        (MisnamedPoisson(), nl.Gamma(1.0, 2.0)),
    ],
    ids=repr,
)
def test_one_parameter(noise, prior):
    y = rows(noise)[1][:40] - (noise.support.low == -np.inf)
    found, wanted = nl.posterior(y, noise, prior), nl.posterior(y, noise.honest(), prior)
    assert found.evidence == pytest.approx(wanted.evidence, abs=1e-8)
    same([found.mean, found.std], [wanted.mean, wanted.std])
    same(found.interval(), wanted.interval())
    same(found.predictive().cdf(np.array([0.0, 1.0, 2.0])), wanted.predictive().cdf(np.array([0.0, 1.0, 2.0])))


@pytest.mark.parametrize("noise", CASES, ids=repr)
def test_trees(noise):
    X, y, _ = rows(noise)
    eta = np.ascontiguousarray(0.4 + X @ [0.3, -0.2, 0.1])
    pairs = [slopes_of(one)(y, eta, None) for one in (noise, noise.honest())]
    unit = pairs[0][1] / pairs[1][1]
    np.testing.assert_allclose(unit, unit[0], rtol=1e-4)
    np.testing.assert_allclose(pairs[0][0], unit[0] * pairs[1][0], rtol=1e-3, atol=1e-5 * unit[0])


# ---- columns ---------------------------------------------------------------------------------------------------------


def test_columns_may_be_called_like_parameters():
    """A coefficient has the interval of a coefficient, whatever its column is called."""
    import pandas as pd

    X, y, options = rows(MisnamedGaussian())
    names = ["scale", "intercept", "log scale"]
    plain = nl.fit(X, y, nl.Gaussian(), **options)
    named = nl.fit(pd.DataFrame(X, columns=names), y, nl.Gaussian(), **options)
    for column in ("estimate", "standard error", "lower", "upper"):
        np.testing.assert_array_equal(named.summary().table[column], plain.summary().table[column])
