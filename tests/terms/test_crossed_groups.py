"""Groups that cross, of many levels each: the answer is that of the dense matrix, without a matrix of all of them."""

import numpy as np
import pandas as pd
import pytest

import neglog as nl
from neglog.evidence import crossed_groups, large_groups, learned_terms

COUNTS = {"a": 40, "b": 30, "c": 25}
FIRST, SECOND, THIRD = ([f"{letter}{k:02d}" for k in range(count)] for letter, count in COUNTS.items())
TERMS = ["x", nl.smooth("z", size=8), nl.group("a"), nl.group("b")]
NOISES = [nl.Gaussian(), nl.Gaussian(scale=1.0), nl.Poisson(), nl.NegativeBinomial(), nl.Gamma(), nl.StudentT()]


def table(noise, n=900):
    rng = np.random.default_rng(5)
    data = pd.DataFrame({"x": rng.normal(size=n), "z": rng.uniform(size=n)})
    eta = 0.3 + 0.4 * data.x + np.sin(4 * data.z)
    for name, levels, scale in (("a", FIRST, 0.6), ("b", SECOND, 0.4), ("c", THIRD, 0.5)):
        data[name] = rng.choice(levels, n)
        eta = eta + data[name].map(dict(zip(levels, rng.normal(0, scale, len(levels)), strict=True)))
    stated = {"scale": 0.8, "dispersion": 0.5, "shape": 2.0, "df": 5.0}
    known = noise.with_(**{name: value for name, value in stated.items() if name in noise.unknown})
    return data.assign(y=np.asarray(known.given(eta.to_numpy()).sample(rng=rng), float)), rng.uniform(0.5, 2, n)


def both(monkeypatch, *arguments, **options):
    """The fit with a dense curvature, and with one group eliminated and the others sparse."""
    for least in (10**9, 20):
        monkeypatch.setattr(large_groups, "LARGE", least)
        monkeypatch.setattr(large_groups, "CROSSED", least)
        yield nl.fit(*arguments, **options)


def is_crossed(fit):
    """Whether the errors are those of a fit whose covariance is that of the columns beside the groups alone."""
    return fit._information.places is not None and len(fit._information.places) < 12


def alike(fit, dense):
    """Two fits that are the same but for rounding; the dense one knows in its errors what the noise leaves open."""
    assert is_crossed(fit)
    assert not is_crossed(dense)
    assert fit.converged == dense.converged is True
    np.testing.assert_allclose(fit.coef, dense.coef, atol=1e-4 * np.abs(dense.coef).max())
    assert fit.intercept == pytest.approx(dense.intercept, abs=1e-4)
    found, expected = ([term.effective for term in one.terms] for one in (fit, dense))
    np.testing.assert_allclose(found, expected, atol=1e-3)
    np.testing.assert_allclose(fit.standard_errors, dense.standard_errors, rtol=2e-2)
    assert fit.nll == pytest.approx(dense.nll, rel=1e-6)


@pytest.mark.parametrize("noise", NOISES, ids=repr)
@pytest.mark.parametrize("weighted", [False, True])
def test_it_is_the_same_fit(monkeypatch, noise, weighted):
    data, weight = table(noise)
    dense, fit = both(monkeypatch, data, "y", noise, terms=TERMS, sample_weight=weight if weighted else None)
    alike(fit, dense)
    for name in "ab":
        np.testing.assert_allclose(fit.effect(name).lower, dense.effect(name).lower, atol=0.02)
    np.testing.assert_allclose(fit.effect("z").upper, dense.effect("z").upper, atol=0.02)


@pytest.mark.parametrize("noise", [nl.Gaussian(), nl.Poisson()], ids=repr)
def test_three_of_them(monkeypatch, noise):
    data, _ = table(noise)
    dense, fit = both(monkeypatch, data, "y", noise, terms=[*TERMS, nl.group("c")])
    alike(fit, dense)


def test_one_within_the_other(monkeypatch):
    data, _ = table(nl.Poisson())
    data["b"] = data["a"].map({level: SECOND[k // 2] for k, level in enumerate(FIRST)})
    monkeypatch.setattr(large_groups, "CROSSED", 20)
    dense, fit = both(monkeypatch, data[data.b < "b21"], "y", nl.Poisson(), terms=["x", nl.group("a"), nl.group("b")])
    assert fit.terms["b"].scale == pytest.approx(dense.terms["b"].scale, rel=1e-3, abs=1e-3)
    np.testing.assert_allclose(fit.coef, dense.coef, atol=1e-3)


@pytest.mark.parametrize("noise", [nl.Gaussian(), nl.Poisson()], ids=repr)
def test_levels_without_rows_are_what_their_prior_says(monkeypatch, noise):
    data, _ = table(noise)
    data["b"] = pd.Categorical(data["b"], [*SECOND, "nobody"])
    weight = np.where(data["b"] == SECOND[3], 0.0, 1.0)
    dense, fit = both(monkeypatch, data, "y", noise, terms=TERMS, sample_weight=weight)
    alike(fit, dense)
    effect = fit.effect("b")
    alone = list(effect.x).index(f"b[{SECOND[3]}]")
    assert effect.estimate[alone] == pytest.approx(0.0, abs=1e-9)
    assert (effect.upper - effect.lower)[alone] > (effect.upper - effect.lower)[alone - 1]


@pytest.mark.parametrize("noise", [nl.Gaussian(), nl.Poisson()], ids=repr)
def test_a_search_that_begins_with_some_levels_ends_where_the_other_does(monkeypatch, noise):
    data, _ = table(noise, 4000)
    dense, direct = both(monkeypatch, data, "y", noise, terms=TERMS)
    monkeypatch.setattr(crossed_groups, "SOME", 14)
    taken, some = [], learned_terms.some_levels
    monkeypatch.setattr(learned_terms, "some_levels", lambda task: taken.append(some(task)) or taken[-1])
    fit = nl.fit(data, "y", noise, terms=TERMS)
    assert taken[0] is not None
    assert len(taken[0]) < 2000
    alike(fit, dense)
    alike(direct, dense)


def test_too_many_levels_are_refused_by_name(monkeypatch):
    monkeypatch.setattr(large_groups, "LARGE", 20)
    monkeypatch.setattr(large_groups, "CROSSED", 20)
    monkeypatch.setattr(crossed_groups, "MOST", 25)
    data, _ = table(nl.Poisson())
    with pytest.raises(ValueError, match=r"the levels of .*b.* are 30, and at most 25"):
        nl.fit(data, "y", nl.Poisson(), terms=TERMS)


def test_no_square_of_all_levels_is_made():
    rng = np.random.default_rng(0)
    n, levels = 30_000, 1_500
    first, second = rng.integers(0, levels, n), rng.integers(0, levels, n)
    data = pd.DataFrame({"x": rng.normal(size=n), "a": [f"a{k}" for k in first], "b": [f"b{k}" for k in second]})
    effects = rng.normal(0, 0.5, levels)[first] + rng.normal(0, 0.8, levels)[second]
    data["y"] = 0.2 + 0.3 * data.x + effects + rng.normal(size=n)
    fit = nl.fit(data, "y", nl.Gaussian(), terms=["x", nl.group("a"), nl.group("b")])
    assert fit._information.covariance.shape == (2, 2)
    assert fit.terms["a"].scale == pytest.approx(0.5, rel=0.1)
    assert fit.terms["b"].scale == pytest.approx(0.8, rel=0.1)
    assert abs(fit.coef[0] - 0.3) < 4 * fit.standard_errors[0]
