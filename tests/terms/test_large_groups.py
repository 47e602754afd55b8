"""A group of many levels is eliminated: the answer is that of the dense matrix, in time and memory that grow with the
rows.
"""

import numpy as np
import pandas as pd
import pytest

import neglog as nl
from neglog.evidence import large_groups

LEVELS = [f"l{k:02d}" for k in range(40)]
TERMS = ["x", nl.smooth("z", size=8), nl.group("g"), nl.group("h")]
NOISES = [
    nl.Gaussian(),
    nl.Gaussian(scale=1.0),
    nl.Poisson(),
    nl.NegativeBinomial(),
    nl.Gamma(),
    nl.Bernoulli(),
    nl.StudentT(),
    nl.Weibull(),
    nl.LogNormal(),
    nl.Tweedie(power=1.5),
]


def table(noise, n=600):
    rng = np.random.default_rng(3)
    data = pd.DataFrame({"x": rng.normal(size=n), "z": rng.uniform(size=n)})
    data["g"], data["h"] = rng.choice(LEVELS, n), rng.choice(list("abc"), n)
    effects = dict(zip(LEVELS, rng.normal(0, 0.6, len(LEVELS)), strict=True))
    eta = 0.3 + 0.4 * data.x + np.sin(4 * data.z) + data.g.map(effects)
    stated = {"scale": 0.8, "dispersion": 0.5, "shape": 2.0, "df": 5.0}
    known = noise.with_(**{name: value for name, value in stated.items() if name in noise.unknown})
    return data.assign(y=np.asarray(known.given(eta.to_numpy()).sample(rng=rng), float)), rng.uniform(0.5, 2, n)


def both(monkeypatch, *arguments, **options):
    """The fit with a dense curvature, and with the levels eliminated."""
    for least in (10**9, 20):
        monkeypatch.setattr(large_groups, "LARGE", least)
        yield nl.fit(*arguments, terms=TERMS, **options)


@pytest.mark.parametrize("noise", NOISES, ids=repr)
@pytest.mark.parametrize("weighted", [False, True])
def test_it_is_the_same_fit(monkeypatch, noise, weighted):
    data, weight = table(noise)
    dense, fit = both(monkeypatch, data, "y", noise, sample_weight=weight if weighted else None)
    assert fit._answer.information is not None
    assert fit.converged == dense.converged is True
    np.testing.assert_allclose(fit.coef, dense.coef, atol=1e-4 * np.abs(dense.coef).max())
    found, expected = ([term.effective for term in one.terms] for one in (fit, dense))
    np.testing.assert_allclose(found, expected, atol=1e-3)
    # those of the dense fit know the noise; where a scale is 0 they are what is left of it
    np.testing.assert_allclose(fit.standard_errors, dense.standard_errors, rtol=2e-2, atol=1e-6)
    np.testing.assert_allclose(fit.effect("g").lower, dense.effect("g").lower, atol=0.02)
    np.testing.assert_allclose(fit.effect("z").upper, dense.effect("z").upper, atol=0.02)
    assert fit.nll == pytest.approx(dense.nll, rel=1e-6)


def test_it_is_saved_and_loaded(monkeypatch, tmp_path):
    data, _ = table(nl.Poisson())
    _, fit = both(monkeypatch, data, "y", nl.Poisson())
    fit.save(tmp_path / "fit.json")
    loaded = nl.load(tmp_path / "fit.json")
    np.testing.assert_array_equal(loaded.predict(data), fit.predict(data))
    np.testing.assert_array_equal(loaded.effect("g").upper, fit.effect("g").upper)
    np.testing.assert_array_equal(loaded.effect("z").upper, fit.effect("z").upper)


def test_what_needs_the_covariance_of_all_is_refused(monkeypatch):
    data, _ = table(nl.Poisson())
    _, fit = both(monkeypatch, data, "y", nl.Poisson())
    for ask in (fit.posterior, fit.loo):
        with pytest.raises(ValueError, match="of so many levels"):
            ask()


def test_two_thousand_levels_take_no_square():
    rng = np.random.default_rng(0)
    n, levels = 20_000, 2_000
    codes, effects = rng.integers(0, levels, n), rng.normal(0, 0.5, levels)
    data = pd.DataFrame({"x": rng.normal(size=n), "g": [f"l{k}" for k in codes]})
    data["y"] = rng.poisson(np.exp(0.2 + 0.3 * data.x + effects[codes]))
    fit = nl.fit(data, "y", nl.Poisson(), terms=["x", nl.group("g")])
    assert fit._information.covariance.shape == (2, 2)
    assert fit.terms["g"].scale == pytest.approx(0.5, rel=0.1)
    assert abs(fit.coef[0] - 0.3) < 4 * fit.standard_errors[0]


def test_too_many_other_columns_are_refused(monkeypatch):
    monkeypatch.setattr(large_groups, "MOST", 5)
    monkeypatch.setattr(large_groups, "LARGE", 20)
    data, _ = table(nl.Poisson())
    with pytest.raises(ValueError, match=r"beside the group .*g.* there are"):
        nl.fit(data, "y", nl.Poisson(), terms=TERMS)
