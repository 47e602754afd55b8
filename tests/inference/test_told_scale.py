"""Huber noise whose scale is told by the residuals: that it settles, what it withstands, and where it is refused."""

from importlib.util import find_spec

import numpy as np
import pandas as pd
import pytest

import neglog as nl

WAYS = ("mad", "proposal2")


def rows(n=200, seed=0, gross=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = 1 + X @ [1.0, -2.0, 0.5] + 0.5 * rng.normal(size=n)
    y[:gross] += 1e6 * rng.uniform(0.5, 1, gross)
    return X, y


def residuals(fit, X, y):
    return np.abs(y - fit.predict(X))


def told(way, r, fit, k, w=None):
    """What the residuals tell, by the definitions."""
    w = np.ones(len(r)) if w is None else w
    if way == "mad":
        return np.median(np.repeat(r, w.astype(int))) / 0.6745
    z = np.random.default_rng(0).standard_normal(4_000_000)
    wanted = np.mean(np.minimum(z**2, fit.noise.delta**2))
    s = fit.noise.scale
    return np.sqrt(w @ np.minimum(r**2, (fit.noise.delta * s) ** 2) / ((w.sum() - k) * wanted))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("delta", [0.7, 1.345, 3.0])
def test_scale_and_coefficients_settle_together(way, delta):
    X, y = rows(gross=10)
    fit = nl.fit(X, y, nl.Huber(scale=way, delta=delta))
    again = nl.fit(X, y, nl.Huber(scale=fit.noise.scale, delta=delta))
    np.testing.assert_allclose(fit.coef, again.coef, rtol=1e-6)
    assert told(way, residuals(again, X, y), fit, 4) == pytest.approx(
        fit.noise.scale, rel=1e-6 if way == "mad" else 1e-3
    )


@pytest.mark.parametrize("way", WAYS)
def test_gross_errors_stretch_the_likelihoods_scale_and_not_this_one(way):
    X, y = rows(gross=20)
    clean = nl.fit(X[20:], y[20:])
    robust, likely = nl.fit(X, y, nl.Huber(scale=way)), nl.fit(X, y, nl.Huber())
    assert likely.noise.scale > 1000
    assert robust.noise.scale == pytest.approx(clean.noise.scale, rel=0.35)
    assert np.abs(robust.coef - clean.coef).max() < 0.1 < np.abs(likely.coef - clean.coef).max()


@pytest.mark.parametrize("way", WAYS)
def test_the_unit_of_y_is_that_of_the_scale(way):
    X, y = rows(gross=5)
    one, other = nl.fit(X, y, nl.Huber(scale=way)), nl.fit(X, 3 + 1e-4 * y, nl.Huber(scale=way))
    assert other.noise.scale == pytest.approx(1e-4 * one.noise.scale, rel=1e-6)
    np.testing.assert_allclose(other.coef, 1e-4 * one.coef, rtol=1e-5)


@pytest.mark.parametrize("way", WAYS)
def test_a_row_of_weight_two_is_the_row_twice(way):
    X, y = rows(gross=5)
    w = np.where(np.arange(len(y)) % 3 == 0, 2.0, np.where(np.arange(len(y)) % 7 == 1, 0.0, 1.0))
    one = nl.fit(X, y, nl.Huber(scale=way), sample_weight=w)
    twice = np.repeat(np.arange(len(y)), w.astype(int))
    other = nl.fit(X[twice], y[twice], nl.Huber(scale=way))
    assert one.noise.scale == pytest.approx(other.noise.scale, rel=1e-7)
    np.testing.assert_allclose(one.coef, other.coef, rtol=1e-5)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("prior", [nl.Gaussian(scale=0.3), nl.Laplace(scale=0.05), nl.Gaussian()])
def test_beside_priors(way, prior):
    X, y = rows(gross=5)
    fit = nl.fit(X, y, nl.Huber(scale=way), prior)
    assert fit.converged
    again = nl.fit(X, y, nl.Huber(scale=fit.noise.scale), prior)
    np.testing.assert_allclose(fit.coef, again.coef, rtol=1e-5, atol=1e-8)
    if way == "mad":
        assert np.median(residuals(fit, X, y)) / 0.6745 == pytest.approx(fit.noise.scale, rel=1e-6)
    else:
        k = fit.effective_parameters
        assert told(way, residuals(fit, X, y), fit, k) == pytest.approx(fit.noise.scale, rel=2e-3)


@pytest.mark.parametrize("way", WAYS)
def test_beside_curves_and_groups(way):
    X, y = rows(gross=10)
    table = pd.DataFrame(X, columns=list("abc")).assign(g=np.arange(200) % 7, y=y + np.sin(2 * X[:, 0]))
    fit = nl.fit(table, "y ~ s(a, 8) + b + (1|g)", nl.Huber(scale=way))
    assert fit.converged
    assert fit.noise.scale < 2
    if way == "mad":
        assert np.median(residuals(fit, table, table.y)) / 0.6745 == pytest.approx(fit.noise.scale, rel=1e-6)


def test_it_is_a_fit_of_a_stated_scale(tmp_path):
    X, y = rows()
    fit = nl.fit(X, y, nl.Huber(scale="mad"))
    stated = nl.fit(X, y, nl.Huber(scale=fit.noise.scale))
    assert fit.noise == stated.noise
    assert fit.n_parameters == stated.n_parameters == 4
    assert fit.nll == pytest.approx(stated.nll, rel=1e-9)
    assert any("by the median absolute residual (mad)" in note and "stated scale" in note for note in fit.notes)
    assert "median absolute residual" in str(fit.summary())
    fit.save(tmp_path / "fit.json")
    again = nl.load(tmp_path / "fit.json")
    assert again.notes == fit.notes
    np.testing.assert_array_equal(again.predict(X), fit.predict(X))


def test_as_text_and_as_an_estimator():
    noise = nl.Huber(scale="mad")
    assert repr(noise) == "Huber(loc=0.0, scale='mad', delta=1.345)"
    assert noise == nl.Huber(scale="mad") != nl.Huber()
    assert noise.with_(scale=2.0).told == {}
    X, y = rows()
    found = nl.Regressor("huber(scale='mad')").fit(X, y)
    assert found.fit_.noise == nl.fit(X, y, noise).noise
    with pytest.raises(TypeError, match="must be a number, None, 'model', 'mad', 'proposal2' or terms"):
        nl.Huber(scale="iqr")
    with pytest.raises(TypeError, match="must be a number, None, 'model' or terms"):
        nl.StudentT(scale="mad")
    with pytest.raises(TypeError, match="not 'mad'"):
        nl.Log(nl.Huber(scale="mad"))


def test_rows_that_the_columns_explain():
    X = np.arange(9.0)[:, None]
    with pytest.raises(ValueError, match="half of them are 0; state a number"):
        nl.fit(X, np.where(X[:, 0] == 8, 5.0, 2.0), nl.Huber(scale="mad"))


def test_held_out_rows_are_scored_at_the_scale_of_each_fold():
    X, y = rows(gross=4)
    found = nl.compare(X, y, [nl.Huber(scale="mad")], nl.Flat(), folds=3)
    assert found.fit.noise == nl.fit(X, y, nl.Huber(scale="mad")).noise
    assert 'scale="mad"' in found.call


def test_where_it_is_refused(tmp_path):
    X, y = rows()
    noise = nl.Huber(scale="mad")
    table = pd.DataFrame(X, columns=list("abc")).assign(y=y)
    table.to_parquet(tmp_path / "rows.parquet")
    sentence = "settled together with the coefficients by nl.fit of rows in memory, but not here"
    with pytest.raises(ValueError, match=sentence):
        nl.fit(tmp_path / "rows.parquet", "y", noise)
    with pytest.raises(ValueError, match=sentence):
        nl.path(X, y, noise)
    with pytest.raises(ValueError, match=sentence):
        nl.posterior(y, noise, nl.Gaussian(scale=1.0))
    with pytest.raises(ValueError, match="residuals, which cells do not have"):
        nl.fit(X, nl.censored(y, y + 0.5), noise)
    with pytest.raises(ValueError, match="state delta, too"):
        nl.fit(X, y, nl.Huber(scale="mad", delta=None))
    with pytest.raises(ValueError, match="state delta, too"):
        nl.fit(X, y, nl.Huber(scale="mad", delta="model"))


def test_where_trees_and_networks_refuse_it():
    X, y = rows()
    lightgbm = pytest.importorskip("lightgbm")
    torch = pytest.importorskip("torch") if find_spec("torch") else None
    import neglog.lightgbm

    with pytest.raises(ValueError, match="but not here"):
        neglog.lightgbm.train({"verbose": -1}, X, y, nl.Huber(scale="mad"))
    with pytest.raises(ValueError, match="but not here"):
        lightgbm.train(
            {"objective": neglog.lightgbm.objective(nl.Huber(scale="mad")), "verbose": -1}, lightgbm.Dataset(X, y)
        )
    if torch is not None:
        from neglog.torch import NLLLoss

        with pytest.raises(ValueError, match="but not here"):
            NLLLoss(nl.Huber(scale="mad"))


def test_scales_may_still_be_arrays():
    law = nl.Huber(scale=np.array([1.0, 2.0]))
    assert law.told == {}
    assert law.nll(0.0).shape == (2,)
