"""Comparing noises: the true one wins, masses and densities meet in cells, and everything is said."""

import numpy as np
import pytest

import neglog as nl
from neglog.comparison.cells import scored
from neglog.comparison.recorded import facts_of


def columns(n=2000, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, 0.4 + X @ [0.5, -0.3], rng


TRUTHS = {
    "Gaussian": lambda eta, rng: eta + 0.7 * rng.normal(size=len(eta)),
    "Laplace": lambda eta, rng: eta + rng.laplace(scale=0.7, size=len(eta)),
    "Huber": lambda eta, rng: nl.Huber(eta, 0.7, 1.0).sample(rng=rng),
    "LogNormal": lambda eta, rng: np.exp(eta + 0.8 * rng.normal(size=len(eta))),
    "Poisson": lambda eta, rng: rng.poisson(np.exp(eta)).astype(float),
    "Gamma": lambda eta, rng: rng.gamma(3.0, np.exp(eta) / 3),
    "Tweedie": lambda eta, rng: nl.Tweedie(np.exp(eta), 1.5, 0.8).sample(rng=rng),
    "Bernoulli": lambda eta, rng: (rng.random(len(eta)) < 1 / (1 + np.exp(-eta))).astype(float),
}
CONTAINED = {
    "Gaussian": {"Huber", "StudentT", "SinhArcsinh"},
    "Laplace": {"Huber"},
    "Huber": {"StudentT", "SinhArcsinh"},
    "Poisson": {"NegativeBinomial"},
}


@pytest.mark.parametrize("truth", TRUTHS)
def test_the_true_noise_is_best_or_tied(truth):
    X, eta, rng = columns()
    found = nl.compare(X, TRUTHS[truth](eta, rng))
    best = found.scores[0].name
    assert best in {truth} | CONTAINED.get(truth, set())
    assert truth in found.ties
    score = next(score for score in found.scores if score.name == truth)
    assert score.ks < 0.05
    for level in (0.5, 0.8, 0.95):
        assert abs(score.coverage(level) - level) < 0.05
    assert best in found.conclusion


def test_refusals_say_how_many_and_why():
    X, eta, rng = columns(300)
    found = nl.compare(X, rng.poisson(np.exp(eta)))
    assert "of 300 targets are 0" in found.refused["Gamma"]
    assert "neither 0 nor 1" in found.refused["Bernoulli"]
    assert "Poisson" in repr(found)
    with pytest.raises(ValueError, match=r"no noise can explain y\. Poisson: 300 of 300 targets are no counts"):
        nl.compare(X, rng.normal(size=300), ["poisson"])


def test_the_grid_of_y():
    assert facts_of(np.array([1.0, 5.0, 1e6])).step == 1.0
    assert facts_of(np.array([1.25, 3.75])).step == 0.25
    assert facts_of(np.array([0.01, 19.99, 3.0])).step == 0.01
    assert facts_of(np.random.default_rng(0).normal(size=20)).step is None
    width, text = facts_of(np.array([0.0, 0.0, 0.123456789, 2.3456789])).cell_width()
    assert width == 0.1
    assert "atom at 0" in text


def cost(law, y, width):
    return scored(law, y, width, np.random.default_rng(0))[0]


def test_cells_add_up_to_one():
    for law in (nl.Gaussian(3.0, 2.0), nl.Laplace(3.0, 2.0), nl.Gamma(3.0, 2.0), nl.Tweedie(3.0, 1.5, 1.0)):
        grid = np.arange(-200.0, 400.0)
        assert np.exp(-cost(law, grid, 1.0)).sum() == pytest.approx(1.0, abs=1e-6)
    assert np.exp(-cost(nl.Poisson(3.0), np.arange(60.0), 1.0)).sum() == pytest.approx(1.0, abs=1e-12)


def test_far_cells_keep_their_digits():
    law = nl.Gaussian(0.0, 1.0)
    far = cost(law, np.array([-30.0, 30.0]), 0.01)
    np.testing.assert_allclose(far, law.nll([-30.0, 30.0]) - np.log(0.01), rtol=1e-3)


def test_the_transform_of_the_truth_is_uniform(rng):
    y = rng.poisson(2.5, size=4000).astype(float)
    u = scored(nl.Poisson(np.full(4000, 2.5)), y, 1.0, rng)[1]
    assert abs(np.mean(u) - 0.5) < 0.03
    assert abs(np.std(u) - 12**-0.5) < 0.02


def test_exposure_weights_and_stated_priors():
    X, eta, rng = columns(600)
    years = rng.uniform(0.2, 2.0, size=600)
    y = rng.poisson(years * np.exp(eta))
    found = nl.compare(X, y, ["poisson", "gaussian", "tweedie"], "gaussian(scale=1)", exposure=years)
    assert found.scores[0].name == "Poisson"
    assert "log link" in found.refused["Gaussian"]
    weighted = nl.compare(X, y, ["poisson"], sample_weight=np.full(600, 2.0))
    assert weighted.scores[0].mean == pytest.approx(nl.compare(X, y, ["poisson"]).scores[0].mean, rel=0.01)


def test_classes_and_tables():
    pandas = pytest.importorskip("pandas", reason="a table to fit")
    rng = np.random.default_rng(1)
    table = pandas.DataFrame({"x": rng.normal(size=300), "level": rng.choice(list("ab"), 300)})
    table["kind"] = np.where(
        table["x"] + rng.logistic(size=300) > 0, "yes", np.where(rng.random(300) < 0.5, "no", "maybe")
    )
    found = nl.compare(table, "kind", structures="linear")
    assert found.scores[0].name == "Categorical"
    assert len(found.fit.names) == 3
    assert np.isnan(found.table[0]["ks"])  # nothing is said about what cannot be judged
    assert "–" in repr(found)


def test_the_same_seed_gives_the_same_folds():
    X, eta, rng = columns(300)
    y = rng.poisson(np.exp(eta))
    first, second = (nl.compare(X, y, ["poisson", "gaussian"], seed=3) for _ in range(2))
    np.testing.assert_array_equal(first.scores[0].nll, second.scores[0].nll)
    with pytest.raises(ValueError, match="folds must be between 2"):
        nl.compare(X, y, folds=1)


@pytest.mark.parametrize(
    ("text", "law"),
    [
        ("gamma", nl.Gamma()),
        ("Tweedie(power=1.5)", nl.Tweedie(power=1.5)),
        ("laplace(scale=0.1)", nl.Laplace(scale=0.1)),
        ("gaussian(0, 2) * laplace(scale=0.1)", nl.Gaussian(0.0, 2.0) * nl.Laplace(scale=0.1)),
        ("bernoulli(link='probit')", nl.Bernoulli(link="probit")),
        ("gaussian(scale=[1, 2, inf])", nl.Gaussian(scale=[1.0, 2.0, np.inf])),
        ("gaussian(-1.5, 2)", nl.Gaussian(-1.5, 2.0)),
        ("zeroinflated(poisson)", nl.ZeroInflated(nl.Poisson())),
        ("hurdle(gamma(shape=2), p=0.5)", nl.Hurdle(nl.Gamma(shape=2.0), p=0.5)),
        ("zero_inflated(negative_binomial(power=1), 0.1)", nl.ZeroInflated(nl.NegativeBinomial(power=1.0), 0.1)),
        ("log(studentt(df=4))", nl.Log(nl.StudentT(df=4.0))),
        ("log(gaussian)", nl.LogNormal()),
        ("hurdle(log(studentt))", nl.Hurdle(nl.Log(nl.StudentT()))),
    ],
)
def test_distributions_as_text(text, law):
    from neglog.distributions.specification import parsed

    assert parsed(text) == law


@pytest.mark.parametrize(
    "noise",
    [nl.Hurdle(nl.Gamma(shape=2.0), p=0.5), nl.Log(nl.StudentT()), nl.Hurdle(nl.Poisson(link="identity")), nl.Gamma()],
    ids=repr,
)
def test_the_text_of_a_noise_is_read_as_that_noise(noise):
    from neglog.comparison.recipes import law_call, law_text
    from neglog.distributions.specification import parsed

    assert parsed(law_text(noise)) == noise
    assert eval(law_call(noise, "nl."), {"nl": nl}) == noise


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("gama", "there is no distribution 'gama'"),
        ("gamma(", "is not a distribution"),
        ("__import__('os').system('true')", "is not a distribution"),
        ("gamma(shape=open('x'))", "must be numbers"),
        ("gamma(power=2)", "Gamma takes mean, shape"),
        ("gamma + poisson", "is not a distribution"),
        ("hurdle", "Hurdle takes a noise and p"),
        ("hurdle(gama)", r"there is no distribution 'gama'; there are .*hurdle\(...\)"),
        ("hurdle(gamma, q=1)", "takes a noise and p, but got q"),
        ("zeroinflated(gamma)", r"amounts that may be 0 are Hurdle\(Gamma\(\)\)"),
        ("log(poisson)", "Log can be made of"),
    ],
)
def test_text_that_is_no_distribution(text, message):
    from neglog.distributions.specification import parsed

    with pytest.raises(ValueError, match=message):
        parsed(text)


def test_of_many_rows_only_the_promising_see_every_fold():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(9000, 2))
    y = nl.NegativeBinomial(dispersion=0.8).given(0.7 + X @ [0.5, -0.3]).sample(rng=rng)
    found = nl.compare(X, y, structures="linear")
    assert isinstance(found.best, nl.NegativeBinomial)
    assert len(found.scores) >= 3
    behind = [name for name, reason in found.refused.items() if "on the first of 5 folds" in reason]
    assert behind
    assert "it came to NegativeBinomial, which is tried too" in found.refused["ZeroInflated(NegativeBinomial())"]
    named = nl.compare(X, y, [*(score.noise for score in found.scores), "poisson"])
    assert len(named.scores) == len(found.scores) + 1, "what is named is tried on all folds"
    nats = {score.name: score.mean for score in named.scores}
    for score in found.scores:
        assert score.mean == pytest.approx(nats[score.name], rel=1e-9)
