"""Quantiles of y: one or several, from memory and from files, with every prior, and without crossing."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest

import neglog as nl
from neglog.distributions import Flat

LEVELS = [0.1, 0.37, 0.9]


def rows(n=2000, seed=2):
    """Columns with targets whose spread follows the first of them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, 1 + X @ [1.0, -0.5, 0.0] + np.exp(0.3 * X[:, 0]) * rng.gumbel(size=n)


def crossing(n=60):
    """So few rows, and quantiles so close, that fits of them cross."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(n, 6))
    return X, rng.standard_t(2, n), np.linspace(0.3, 0.7, 9)


def pinball(y, prediction, quantile):
    return nl.AsymmetricLaplace(quantile=quantile).loss(y, prediction)


# ---- one quantile ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("quantile", [0.02, 0.25, 0.5, 0.81])
def test_as_many_rows_lie_below_as_the_quantile_says(quantile):
    X, y = rows()
    fit = nl.fit(X, y, nl.AsymmetricLaplace(quantile=quantile))
    below, at = np.mean(y < fit.predict(X) - 1e-9), np.mean(np.abs(y - fit.predict(X)) < 1e-9)
    assert below <= quantile <= below + at
    assert fit.noise.scale == pytest.approx(np.mean(pinball(y, fit.predict(X), quantile)), rel=1e-12)
    assert fit.certificate.gap < 1e-12


PRIORS = {
    "flat": nl.Flat(),
    "gaussian": nl.Gaussian(scale=0.05),
    "laplace": nl.Laplace(scale=0.02),
    "both": nl.Gaussian(scale=0.1) * nl.Laplace(scale=0.05),
}


@pytest.mark.parametrize("prior", [*PRIORS.values(), nl.Gaussian()], ids=[*PRIORS, "learned"])
def test_the_middle_quantile_is_laplace_of_twice_the_scale(prior):
    X, y = rows(700)
    beside = {"sample_weight": 1 + np.arange(700) % 3, "precision": 0.5 + np.arange(700) % 2, "offset": X[:, 1]}
    half, whole = (nl.fit(X, y, noise, prior, **beside) for noise in (nl.AsymmetricLaplace(), nl.Laplace()))
    assert half.coef.tobytes() == whole.coef.tobytes()
    assert half.intercept == whole.intercept
    assert 2 * half.noise.scale == whole.noise.scale
    np.testing.assert_allclose(half.standard_errors, whole.standard_errors, rtol=1e-13)
    assert half.objective == pytest.approx(whole.objective, rel=1e-14)
    if isinstance(prior, nl.Flat | nl.Gaussian):  # whose posterior has a smooth peak
        assert half.posterior().evidence == pytest.approx(whole.posterior().evidence, rel=1e-12)


@pytest.mark.parametrize("prior", [*PRIORS.values(), nl.Gaussian()], ids=[*PRIORS, "learned"])
@pytest.mark.parametrize("quantile", [0.15, 0.9])
@pytest.mark.parametrize("scale", [None, 0.4])
def test_rows_in_files_have_the_same_fit(tmp_path, prior, quantile, scale):
    X, y = rows(12_000)
    table = pd.DataFrame(X, columns=["a", "b", "c"]).assign(y=y, w=1 + np.arange(len(y)) % 3, p=0.5 + X[:, 2] ** 2)
    table.to_parquet(tmp_path / "rows.parquet", row_group_size=2500)
    noise, beside = nl.AsymmetricLaplace(scale=scale, quantile=quantile), {"sample_weight": "w", "precision": "p"}
    memory, files = (nl.fit(where, "y", noise, prior, **beside) for where in (table, tmp_path))
    rough = 1e-5 if getattr(prior, "scale", 0.0) is None else 1e-9  # a learned scale is searched for
    np.testing.assert_allclose(files.coef, memory.coef, rtol=rough, atol=rough)
    assert files.intercept == pytest.approx(memory.intercept, rel=rough)
    assert files.noise.scale == pytest.approx(memory.noise.scale, rel=rough)
    assert files.nll == pytest.approx(memory.nll, rel=1e-9)
    np.testing.assert_allclose(files.standard_errors, memory.standard_errors, rtol=1e-4)
    assert files.certificate.gap < 1e-12


@pytest.mark.parametrize("quantile", [0.1, 0.75])
def test_a_learned_prior_has_the_most_evidence(quantile):
    X, y = rows(600)
    learned = nl.fit(X, y, nl.AsymmetricLaplace(quantile=quantile), nl.Gaussian(), standardize=False)
    around = [
        nl.fit(X, y, nl.AsymmetricLaplace(quantile=quantile), nl.Gaussian(scale=learned.prior.scale * factor))
        for factor in (0.8, 1.0, 1.25)
    ]
    below, best, above = (fit.posterior().evidence for fit in around)
    assert best > max(below, above)
    np.testing.assert_allclose(around[1].coef, learned.coef, rtol=1e-6)


def test_errors_are_those_of_draws_from_the_law():
    rng, quantile = np.random.default_rng(8), 0.8
    X = rng.normal(size=(500, 2))
    law = nl.AsymmetricLaplace(1 + X @ [0.5, -1.0], 0.4, quantile)
    fits = [nl.fit(X, law.sample(rng=rng), nl.AsymmetricLaplace(quantile=quantile)) for _ in range(300)]
    spread = np.std([[*fit.coef, fit.intercept, fit.noise.scale] for fit in fits], axis=0)
    said = np.mean(
        [[*f.standard_errors, f.intercept_standard_error, f.noise_standard_errors["scale"]] for f in fits], 0
    )
    np.testing.assert_allclose(said, spread, rtol=0.15)


@pytest.mark.parametrize("quantile", [0.2, 0.5, 0.7])
def test_ties_at_the_quantile_are_proven(quantile):
    rng = np.random.default_rng(1)
    X, weight = rng.normal(size=(3000, 2)), rng.integers(1, 4, 3000).astype(float)
    y = np.where(rng.random(3000) < 0.9, 0.0, rng.normal(size=3000))
    fit = nl.fit(X, y, nl.AsymmetricLaplace(quantile=quantile), sample_weight=weight)
    assert not fit.coef.any()
    u = weight * np.where(y < 0, quantile - 1, quantile)
    u[fit.certificate.tied] = fit.certificate.tied_dual
    assert np.all((u >= weight * (quantile - 1) * (1 + 1e-12)) & (u <= weight * quantile * (1 + 1e-12)))
    columns = np.column_stack([np.ones(3000), X])
    np.testing.assert_allclose(u @ columns / (weight @ np.abs(columns)), 0.0, atol=1e-12)
    assert fit.certificate.objective == pytest.approx(weight @ pinball(y, 0.0, quantile), rel=1e-12)


def test_what_cannot_be_fitted_is_said():
    X, y = rows(50)
    noise = nl.AsymmetricLaplace
    with pytest.raises(ValueError, match="quantile is the question that is asked, not an unknown"):
        nl.fit(X, y, noise(quantile=None))
    with pytest.raises(ValueError, match=r"quantile must be > 0 and < 1, but is 1\.0"):
        noise(quantile=1.0)
    for wrong in ([], [0.5, 0.5], [[0.1, 0.9]]):
        with pytest.raises(ValueError, match="one number or a list of different ones"):
            nl.fit(X, y, noise(quantile=wrong))
    with pytest.raises(ValueError, match="AsymmetricLaplace noise is fitted with the identity link only"):
        nl.fit(X, np.exp(y), noise(link="log"))
    with pytest.raises(ValueError, match="leave-one-out needs a smooth loss"):
        nl.fit(X, y, noise(quantile=0.3)).loo()
    with pytest.raises(ValueError, match=r"quantile must be one number in a fit.*nl\.fit takes several"):
        nl.path(X, y, noise(quantile=[0.1, 0.9]))
    with pytest.warns(nl.ConvergenceWarning, match="passes through every point"):
        assert not nl.fit(X, np.ones(50), noise(quantile=0.3)).converged
    twice = nl.fit(np.column_stack([X, X[:, 0]]), y, noise(quantile=0.3))
    assert "collinear" in twice.message


def test_compare_does_not_ask_what_nobody_asked():
    X, y = rows(300)
    assert "AsymmetricLaplace" not in {score["noise"] for score in nl.compare(X, y).table}
    asked = nl.compare(X, y, ["laplace", "asymmetriclaplace(quantile=0.3)"])
    assert asked.table[0]["noise"] == "AsymmetricLaplace(quantile=0.3)"


# ---- several quantiles -----------------------------------------------------------------------------------------------


def test_several_quantiles_are_the_fits_one_by_one():
    X, y = rows()
    fit = nl.fit(X, y, nl.AsymmetricLaplace(quantile=[0.9, 0.1, 0.37]))  # in any order
    np.testing.assert_array_equal(fit.quantiles, LEVELS)
    assert fit.coef.shape == (3, 3)
    assert fit.intercept.shape == fit.nll.shape == (3,)
    assert fit.converged
    for k, quantile in enumerate(LEVELS):
        one = nl.fit(X, y, nl.AsymmetricLaplace(quantile=quantile))
        assert fit[quantile].coef.tobytes() == one.coef.tobytes() == fit.coef[k].tobytes()
        assert (fit.intercept[k], fit.nll[k], fit.noise.scale[k]) == (one.intercept, one.nll, one.noise.scale)
        np.testing.assert_array_equal(fit.standard_errors[k], one.standard_errors)
    assert fit.crossed == 0
    assert "do not cross in any of the 2,000 rows" in fit.message
    np.testing.assert_allclose(np.mean(y[:, None] < fit.predict(X), axis=0), LEVELS, atol=0.003)
    with pytest.raises(KeyError, match=r"no fit of the quantile 0\.5; there are 0\.1, 0\.37, 0\.9"):
        fit[0.5]
    with pytest.raises(ValueError, match=r"fit\[0\.5\]\.posterior"):
        fit.posterior()


def test_predictions_do_not_cross_and_cost_no_more():
    X, y, levels = crossing()
    fit = nl.fit(X, y, nl.AsymmetricLaplace(quantile=levels))
    raw, found = fit.raw_prediction(X), fit.predict(X)
    assert fit.crossed == np.count_nonzero(np.any(np.diff(raw, axis=1) < -1e-12, axis=1)) > 0
    assert f"They cross in {fit.crossed} of 60 rows" in fit.message
    assert np.all(np.diff(found, axis=1) >= 0)
    assert np.all(np.diff(fit.predict(10 * X), axis=1) >= 0)  # nor elsewhere
    before, after = (sum(pinball(y, p[:, k], q) for k, q in enumerate(levels)) for p in (raw, found))
    assert np.all(after <= before + 1e-12)  # row by row
    np.testing.assert_array_equal(fit.distribution(X).loc, found)


def test_several_quantiles_of_tables_files_and_text(tmp_path):
    X, y = rows(900)
    table = pd.DataFrame(X, columns=["a", "b", "c"]).assign(y=y, e=X[:, 0])
    table.to_parquet(tmp_path / "rows.parquet")
    noise = nl.AsymmetricLaplace(quantile=LEVELS)
    memory, files = (nl.fit(where, "y", noise, nl.Gaussian(scale=0.3), offset="e") for where in (table, tmp_path))
    np.testing.assert_allclose(files.coef, memory.coef, rtol=1e-9)
    assert files.crossed == memory.crossed
    np.testing.assert_allclose(files.predict(table), memory.predict(table), rtol=1e-9)
    assert memory.predict_to(tmp_path / "predictions", tmp_path / "rows.parquet") == 900
    written = pd.read_parquet(tmp_path / "predictions")
    np.testing.assert_allclose(written[["q0.1", "q0.37", "q0.9"]], memory.predict(table), rtol=1e-12)
    with pytest.raises(ValueError, match="are quantiles already"):
        memory.predict_to(tmp_path / "again", tmp_path / "rows.parquet", quantiles=[0.5])


@pytest.mark.parametrize("prior", [Flat(), nl.Gaussian()], ids=["flat", "learned"])
def test_several_quantiles_are_kept(tmp_path, prior):
    X, y = rows(300)
    fit = nl.fit(X, y, nl.AsymmetricLaplace(quantile=LEVELS), prior)
    fit.save(tmp_path / "fit.json")
    for other in (nl.load(tmp_path / "fit.json"), pickle.loads(pickle.dumps(fit))):
        np.testing.assert_array_equal(other.predict(X), fit.predict(X))
        np.testing.assert_array_equal(other.nll, fit.nll)
        assert other.message == fit.message
        assert str(other.summary()) == str(fit.summary())
        assert repr(other) == repr(fit)
        assert other.noise == fit.noise
        np.testing.assert_array_equal(other.bic, fit.bic)
        np.testing.assert_array_equal(other.noise_standard_errors["scale"], fit.noise_standard_errors["scale"])


def test_several_quantiles_that_were_tampered_with_are_refused(tmp_path):
    X, y = rows(61)
    path = tmp_path / "fit.json"
    nl.fit(X, y, nl.AsymmetricLaplace(quantile=LEVELS)).save(path)
    text = path.read_text()
    for old, new in (
        ('"crossed": ', '"crossed": -'),
        ('"quantile": 0.37', '"quantile": 0.97'),
        ('"fits": [', '"f": ['),
    ):
        path.write_text(text.replace(old, new))
        with pytest.raises(ValueError, match="not a sound fit"):
            nl.load(path)


def test_a_fit_among_several_that_fails_is_named():
    X = np.eye(4)
    with pytest.warns(nl.ConvergenceWarning, match=r"Quantile 0\.1: The fit passes through every point") as told:
        fit = nl.fit(X, np.arange(4.0), nl.AsymmetricLaplace(quantile=[0.1, 0.9]))
    assert len(told) == 1
    assert told[0].filename == __file__
    assert not fit.converged


def test_several_quantiles_in_an_estimator():
    X, y = rows(500)
    model = nl.Regressor("asymmetriclaplace(quantile=[0.1, 0.5, 0.9])").fit(X, y)
    assert model.predict(X).shape == (500, 3)
    each = [nl.Regressor(nl.AsymmetricLaplace(quantile=q)).fit(X, y) for q in (0.1, 0.5, 0.9)]
    alone = np.mean([one.score(X, y) for one in each])
    assert model.score(X, y) == pytest.approx(alone, abs=1e-3)  # but for rows that cross
    losses = [np.mean(pinball(y, one.predict(X), q)) for one, q in zip(each, (0.1, 0.5, 0.9), strict=True)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        share = model.d2(X, y)
    constant = [np.mean(pinball(y, np.quantile(y, q), q)) for q in (0.1, 0.5, 0.9)]
    assert share == pytest.approx(1 - np.sum(losses) / np.sum(constant), abs=1e-4)
