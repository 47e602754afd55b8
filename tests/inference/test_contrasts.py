"""Levels against the mean of their factor: what summaries show where every level has a coefficient."""

import json
import pickle

import numpy as np
import pytest
from families import TESTED

import neglog as nl
from neglog.results.contrasts import shown
from neglog.results.loading import from_json
from neglog.results.storage import to_json

pandas = pytest.importorskip("pandas", reason="tables with factors")
TRUTHS = {
    "gaussian": lambda eta, rng: eta + rng.normal(size=len(eta)),
    "laplace": lambda eta, rng: eta + rng.laplace(size=len(eta)),
    "huber": lambda eta, rng: eta + rng.standard_t(3, size=len(eta)),
    "lognormal": lambda eta, rng: np.exp(eta + rng.normal(size=len(eta))),
    "poisson": lambda eta, rng: rng.poisson(np.exp(eta)).astype(float),
    "gamma": lambda eta, rng: rng.gamma(2.0, np.exp(eta) / 2),
    "tweedie": lambda eta, rng: rng.poisson(np.exp(eta)) * rng.gamma(2.0, size=len(eta)),
    "bernoulli": lambda eta, rng: (rng.random(len(eta)) < 1 / (1 + np.exp(-eta))).astype(float),
    "categorical": lambda eta, rng: np.where(
        eta + rng.logistic(size=len(eta)) > 0, "u", rng.choice(["v", "w"], len(eta))
    ),
}


def drawn(name, eta, rng):
    """From the family's own law, as its first example has it."""
    family = nl.distributions.FAMILIES[name]
    parameters = {k: v for k, v in family.examples[0].items() if k != family.location}
    return np.asarray(family(**parameters).given(eta).sample(rng=rng), float)


def table(name="poisson", n=600):
    rng = np.random.default_rng(3)
    made = pandas.DataFrame({"x": rng.normal(size=n), "g": rng.choice(list("abc"), n, p=[0.6, 0.3, 0.1])})
    made["h"] = rng.choice(["yes", "no"], n, p=[0.2, 0.8])
    eta = 0.3 * made["x"] + 0.4 * (made["g"] == "b") + 0.5 * (made["h"] == "yes")
    made["y"] = TRUTHS[name](eta.to_numpy(), rng) if name in TRUTHS else drawn(name, eta.to_numpy(), rng)
    made["w"] = rng.integers(1, 4, n)
    return made


def fitted(name="poisson", prior=None, **options):
    made = table(name)
    family = nl.distributions.FAMILIES[name]
    noise = family(power=1.5) if name == "tweedie" else family()
    columns = ["x", "g", "h", "y", *options.values()]
    return nl.fit(made[columns], "y", noise, prior or nl.Gaussian(scale=30.0), **options)


@pytest.mark.parametrize("name", TESTED)
def test_contrasts_do_not_depend_on_a_wide_prior(name):
    """Which is all that is known about the mean of the levels, and of the classes."""
    one, other = (shown(fitted(name, nl.Gaussian(scale=scale))) for scale in (30.0, 300.0))
    np.testing.assert_allclose(other.coefficients, one.coefficients, atol=2e-2)
    np.testing.assert_allclose(other.errors, one.errors, rtol=2e-2)
    np.testing.assert_allclose(other.intercept_errors, one.intercept_errors, rtol=2e-2)
    for parameter, (estimate, error) in one.noise.items():
        assert other.noise[parameter] == pytest.approx((estimate, error), rel=2e-2, abs=2e-2 * abs(error))
    raw = shown(fitted(name, nl.Gaussian(scale=300.0)), contrasts=False)
    assert (raw.errors[:, 1:] > 20 * other.errors[:, 1:]).all()


@pytest.mark.parametrize("name", TESTED)
def test_levels_that_are_shown_predict_the_same(name):
    fit = fitted(name, nl.Gaussian())
    values, made = shown(fit), table(name)
    columns = [made["x"], *(made["g"] == g for g in "abc"), *(made["h"] == h for h in ("no", "yes"))]
    eta = values.intercepts + np.column_stack(columns).astype(float) @ values.coefficients.T
    given = fit.raw_prediction(made[["x", "g", "h"]]).reshape(eta.shape)
    if name == "categorical":  # of classes only differences count
        eta, given = eta - eta.mean(axis=1, keepdims=True), given - given.mean(axis=1, keepdims=True)
    if not fit.noise.traits.intercept:  # edges take the means of the levels
        name = next(iter(values.noise))
        eta = eta + (fit.noise.number(name)[0] - values.noise[name][0])
    np.testing.assert_allclose(eta, given, atol=1e-9)
    shares = [(made["g"] == g).mean() for g in "abc"]
    np.testing.assert_allclose(values.coefficients[:, 1:4] @ shares, 0, atol=1e-12)


@pytest.mark.parametrize("name", ["gaussian", "poisson", "bernoulli"])
def test_contrasts_are_those_of_statsmodels(name):
    sm = pytest.importorskip("statsmodels.api", reason="a rival")
    made = table(name)
    dummies = np.column_stack([np.ones(len(made)), made["x"], *(made["g"] == g for g in "bc"), made["h"] == "yes"])
    family = {"gaussian": sm.families.Gaussian, "poisson": sm.families.Poisson, "bernoulli": sm.families.Binomial}[name]
    there = sm.GLM(made["y"].to_numpy(), dummies.astype(float), family=family()).fit()
    p = np.array([(made["g"] == g).mean() for g in "abc"])
    rows = np.zeros((3, 5))
    rows[:, 2:4] = np.eye(3)[:, 1:] - p[1:]
    wanted = there.t_test(rows)
    here = shown(fitted(name, nl.Gaussian(scale=300.0)))
    free = (len(made) / (len(made) - 5)) ** 0.5 if name == "gaussian" else 1.0  # statsmodels divides by n - p
    np.testing.assert_allclose(here.coefficients[0, 1:4], wanted.effect, atol=1e-4)
    np.testing.assert_allclose(here.errors[0, 1:4] * free, wanted.sd, rtol=1e-3)
    at_mean = np.r_[1.0, 0.0, p[1:], (made["h"] == "yes").mean()]
    assert here.intercept_errors[0] * free == pytest.approx(there.t_test(at_mean).sd.item(), rel=1e-3)


def test_a_real_effect_shows():
    fit = fitted("poisson", nl.Gaussian())
    table = fit.summary().table
    place = table["name"].index("h[yes]")
    assert table["estimate"][place] > 4 * table["standard error"][place]
    assert table["lower"][place] > 0
    raw = fit.summary(contrasts=False)
    assert raw.table["estimate"][place] == fit.coef[fit.names.index("h[yes]")]
    assert raw.table["standard error"][place] == fit.standard_errors[fit.names.index("h[yes]")]
    assert "differences from the mean of their factor" in str(fit.summary())
    assert "differences" not in str(raw)


def test_weights_count_rows():
    made = table()
    twice = made.loc[made.index.repeat(made["w"])]
    one = nl.fit(made, "y", nl.Poisson(), nl.Gaussian(scale=1.0), sample_weight="w")
    other = nl.fit(twice.drop(columns="w"), "y", nl.Poisson(), nl.Gaussian(scale=1.0))
    assert_same(shown(one), shown(other), rtol=1e-6, atol=1e-9)


def assert_same(one, other, **close):
    for name in ("intercepts", "intercept_errors", "coefficients", "errors"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), **close)


@pytest.mark.parametrize("name", ["poisson", "categorical", "ordinal"])
def test_saved_and_pickled_fits_show_the_same(name, tmp_path):
    fit = fitted(name, nl.Gaussian())
    fit.save(tmp_path / "fit.json")
    for kept in (nl.load(tmp_path / "fit.json"), pickle.loads(pickle.dumps(fit))):
        assert str(kept.summary()) == str(fit.summary())
        assert str(kept.summary(contrasts=False)) == str(fit.summary(contrasts=False))
    stored = json.loads((tmp_path / "fit.json").read_text())
    stored["contrasts"]["shares"]["array"].pop()
    (tmp_path / "bad.json").write_text(json.dumps(stored))
    with pytest.raises(ValueError, match="contrasts must have the shapes"):
        nl.load(tmp_path / "bad.json")


def test_fits_saved_without_contrasts_show_coefficients():
    fit = fitted("poisson", nl.Gaussian())
    stored = to_json(fit)
    del stored["contrasts"]
    assert str(from_json(stored).summary()) == str(fit.summary(contrasts=False))


def test_rows_elsewhere_show_the_same(tmp_path):
    made = table()[["x", "g", "h", "y"]]
    made.to_parquet(tmp_path / "a.parquet")
    here = nl.fit(made, "y", nl.Poisson(), nl.Gaussian(scale=1.0))
    there = nl.fit(str(tmp_path / "a.parquet"), "y", nl.Poisson(), nl.Gaussian(scale=1.0))
    assert_same(shown(here), shown(there), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize(
    ("prior", "options"),
    [(nl.Flat(), {}), (nl.Laplace(scale=0.005), {}), (nl.Gaussian(scale=1.0), {"intercept": False})],
)
def test_what_is_known_as_it_is_stays_as_it_is(prior, options):
    """References, levels that a prior holds at 0, and levels beside no intercept."""
    made = table()[["g", "y"]]
    fit = nl.fit(made, "y", nl.Poisson(), prior, **options)
    assert str(fit.summary()) == str(fit.summary(contrasts=False))


def test_rare_levels_have_no_share():
    fit = nl.fit(table()[["x", "g", "y"]], "y", nl.Poisson(), nl.Gaussian(scale=1.0), rare=100)
    assert len(fit.names) == 3
    shares = fit._contrasts.shares
    assert shares.sum() == pytest.approx(1.0)
    assert np.isfinite(shown(fit).errors).all()


def test_edges_take_the_means_of_the_levels():
    """As where levels are coded as differences from their mean, which needs no prior."""
    made = table("ordinal")
    there = nl.fit(coded(made), made["y"].to_numpy(), nl.Ordinal())
    here = shown(nl.fit(made[["x", "g", "h"]], made["y"].to_numpy(), nl.Ordinal(), nl.Gaussian(scale=300.0)))
    places = [0, 2, 3, 5]  # x, g[b], g[c], h[yes]
    np.testing.assert_allclose(here.coefficients[0, places], there.coef, atol=1e-4)
    np.testing.assert_allclose(here.errors[0, places], there.standard_errors, rtol=1e-3)
    edges, errors = np.array(list(here.noise.values())).T
    np.testing.assert_allclose(edges, there.noise.edges, atol=1e-4)
    np.testing.assert_allclose(errors, list(there.noise_standard_errors.values()), rtol=1e-3)


def coded(made):
    """x, and each level but the first of g and h less what the first makes of it."""
    columns = [made["x"]]
    for name, first, others in (("g", "a", "bc"), ("h", "no", ("yes",))):
        for level in others:
            ratio = (made[name] == level).mean() / (made[name] == first).mean()
            columns.append((made[name] == level) - ratio * (made[name] == first))
    return np.column_stack(columns).astype(float)
