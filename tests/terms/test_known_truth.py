"""Curves, groups and modelled scales of data whose truth is known."""

import numpy as np
import pandas as pd
import pytest

import neglog as nl

N = 500


def curves(rng, rows=N):
    return pd.DataFrame(
        {"x": rng.uniform(size=rows), "z": rng.normal(size=rows), "g": rng.choice(list("abcdefghij"), rows)}
    )


@pytest.mark.parametrize("seed", range(4))
def test_a_modelled_scale_costs_next_to_nothing_where_it_is_constant(seed):
    """Held out, in nats a row: the scales of priors that explain nothing go to 0."""
    rng = np.random.default_rng(seed)
    train, test = (curves(rng, rows) for rows in (N, 20_000))
    for table in (train, test):
        table["y"] = np.sin(6 * table.x) + 0.5 * table.z + 0.5 * rng.normal(size=len(table))
    terms = [nl.smooth("x"), "z"]
    plain = nl.fit(train, "y", terms=terms)
    own = nl.Gaussian(scale=nl.terms(nl.smooth("x"), nl.smooth("z"), nl.group("g")))
    for noise in (own, nl.Gaussian(scale=nl.terms(nl.smooth("x")))):
        fit = nl.fit(train, "y", noise, terms=terms)
        lost = np.mean(fit.distribution(test).nll(test.y)) - np.mean(plain.distribution(test).nll(test.y))
        assert lost < 0.01
        assert fit.converged


@pytest.mark.parametrize("seed", range(3))
def test_a_modelled_scale_is_found_where_it_varies(seed):
    rng = np.random.default_rng(seed)
    train, test = (curves(rng, rows) for rows in (N, 20_000))
    for table in (train, test):
        table["y"] = np.sin(6 * table.x) + np.exp(-1 + np.cos(4 * table.x)) * rng.normal(size=len(table))
    plain = nl.fit(train, "y", terms=[nl.smooth("x")])
    fit = nl.fit(train, "y", nl.Gaussian(scale=nl.terms(nl.smooth("x"))), terms=[nl.smooth("x")])
    gained = np.mean(plain.distribution(test).nll(test.y)) - np.mean(fit.distribution(test).nll(test.y))
    assert gained > 0.2
    truth = -1 + np.cos(4 * test.x)
    assert np.sqrt(np.mean((np.log(fit.distribution(test).scale) - truth) ** 2)) < 0.15


@pytest.mark.parametrize("noise", [nl.Gaussian(), nl.Poisson(), nl.Bernoulli(), nl.Gamma()], ids=str)
def test_a_curve_of_a_straight_line_has_few_parameters(noise):
    effective = []
    for seed in range(15):
        rng = np.random.default_rng(seed)
        table = curves(rng)
        eta = 0.3 + 0.8 * table.x
        truth = type(noise)(
            **{name: 2.0 for name, value in noise.parameters.items() if value is None and name != noise.location}
        )
        table["y"] = truth.given(eta.to_numpy()).sample(rng=rng)
        fit = nl.fit(table, "y", noise, terms=[nl.smooth("x")])
        effective.append(fit.terms["x"].effective)
        if fit.terms["x"].scale == 0.0:
            assert "s(x): a straight line is enough; the scale of its wiggles is 0." in fit.message
    assert np.median(effective) < 1.5
    assert np.mean(effective) < 2
    assert max(effective) < 6


def test_a_group_without_effect_ends_at_0_with_a_sentence():
    gone = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        table = curves(rng)
        table["y"] = table.z + rng.normal(size=N)
        fit = nl.fit(table, "y", terms=["z", nl.group("g")])
        if fit.terms["g"].scale == 0.0:
            gone += 1
            assert fit.converged
            assert "(1|g): the levels do not differ; the scale of their effects is 0." in fit.message
            np.testing.assert_allclose(fit.predict(table), nl.fit(table[["z"]], table.y).predict(table), atol=1e-4)
            assert fit.terms["g"].effective == pytest.approx(0.0, abs=1e-4)
    assert gone >= 2  # about half: a scale of 0 is at the end of what it may be


def test_groups_are_drawn_towards_each_other_by_their_number_of_rows(rng):
    rows = np.array([2, 5, 20, 100, 400])
    table = pd.DataFrame({"g": np.repeat(list("abcde"), rows)})
    table["y"] = np.repeat([1.0, -1.0, 1.0, -1.0, 0.5], rows) + rng.normal(size=len(table))
    fit = nl.fit(table, "y", terms=[nl.group("g")])
    means = table.groupby("g").y.mean().to_numpy() - fit.intercept
    share = fit.effect("g").estimate / means
    weight = rows / (rows + fit.noise.scale**2 / fit.terms["g"].scale ** 2)  # Bühlmann's credibility
    np.testing.assert_allclose(share, weight, rtol=1e-6)


def test_many_levels_of_few_rows(rng):
    table = pd.DataFrame({"g": rng.integers(0, 800, 4000), "z": rng.normal(size=4000)})
    table["y"] = rng.poisson(np.exp(0.5 + 0.3 * table.z + rng.normal(0, 0.6, 800)[table.g]))
    fit = nl.fit(table, "y", nl.Poisson(), terms=["z", nl.group("g")])
    assert fit.converged
    assert fit.terms["g"].scale == pytest.approx(0.6, abs=0.06)
    assert fit.coef[0] == pytest.approx(0.3, abs=0.05)


@pytest.mark.parametrize("kind", ["by level", "surface", "numbers"])
def test_interactions_are_found(kind):
    rng = np.random.default_rng(5)
    table = curves(rng, 3000)
    if kind == "by level":
        shift = table.g.map(dict(zip("abcdefghij", np.linspace(0, 2, 10), strict=True)))
        truth, terms = np.sin(5 * table.x + shift), ["g", nl.smooth("x"), nl.interaction("g", nl.smooth("x", size=8))]
    elif kind == "surface":
        truth = np.sin(3 * table.x * table.z)
        terms = [nl.smooth("x"), nl.smooth("z"), nl.interaction(nl.smooth("x", 8), nl.smooth("z", 10))]
    else:
        truth, terms = table.x * table.z, ["x", "z", nl.interaction("x", "z")]
    table["y"] = truth + 0.3 * rng.normal(size=len(table))
    fit = nl.fit(table, "y", terms=terms)
    assert fit.converged
    assert np.sqrt(np.mean((fit.predict(table) - truth) ** 2)) < 0.1
    assert fit.noise.scale == pytest.approx(0.3, rel=0.05)


@pytest.mark.parametrize("scale", ["model", nl.terms("z"), nl.terms(nl.smooth("z"))], ids=repr)
def test_a_modelled_scale_is_found_under_a_curvature_that_jumps(scale):
    rng = np.random.default_rng(8)
    table = pd.DataFrame({"x": rng.uniform(-1, 1, 4000), "z": rng.normal(size=4000)})
    law = nl.Huber(scale=np.exp(0.4 * table.z.to_numpy())).given(np.sin(3 * table.x.to_numpy()))
    table["y"] = law.sample(rng=rng)
    fit = nl.fit(table, "y", nl.Huber(scale=scale), terms=[nl.smooth("x"), "z"])
    own = fit.predictors["scale"]
    slope = own.coef[own.names.index("z")]
    assert slope == pytest.approx(0.4, abs=0.05)
    assert fit.effect("x", at=[0.5]).estimate[0] == pytest.approx(np.sin(1.5), abs=0.15)
