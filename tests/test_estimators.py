"""scikit-learn estimators: its own checks, and what they add."""

import numpy as np
import pytest
from families import TESTED
from inference.problems import KNOWN, targets
from inference.problems import problem as made
from sklearn import config_context
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.linear_model import LogisticRegression, PoissonRegressor
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import neglog as nl
from neglog.comparison.recipes import law_text
from neglog.distributions.parameters import Role

# scikit-learn's y are real numbers or positive ones, no counts or shares, and too few to tell a shape: that is stated
NOISES = {
    name: family
    for name, family in TESTED.items()
    if family.measure != "mass" and family(**family.examples[0]).bounds[1] == np.inf
}
SHAPES = {name: [own for own in family.declared if own.role is Role.SHAPE] for name, family in NOISES.items()}
SUPPLIED = [law_text(family(**{own.name: own.start for own in SHAPES[name]})) for name, family in NOISES.items()]
ESTIMATORS = [
    *(nl.Regressor(noise) for noise in SUPPLIED),
    *(nl.Regressor(noise) for noise in ("laplace(scale=1)", "huber(scale=1)")),
    nl.Regressor("gaussian(scale=1)", "gaussian(scale=1)"),
    nl.Regressor("tweedie(power=1.5)", "gaussian(scale=1)"),
    nl.Classifier(),
    nl.Classifier("gaussian(scale=1)"),
    nl.Classifier(ordered=True),
]


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(ESTIMATORS)
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


def counts(n=400, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, rng.poisson(np.exp(0.3 + X @ [0.5, -0.3, 0.0])).astype(float), rng


def test_the_same_as_poisson_regressor():
    X, y, _ = counts()
    ours = nl.Regressor("poisson", nl.Gaussian(scale=(400 * 0.1) ** -0.5)).fit(X, y)
    theirs = PoissonRegressor(alpha=0.1, tol=1e-10, solver="newton-cholesky").fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-6)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-6)


def test_the_same_as_logistic_regression():
    X, y, _ = counts()
    labels = np.array(["a", "b", "c"])[np.minimum(y, 2).astype(int)]
    ours = nl.Classifier("gaussian(scale=1)").fit(X, labels)
    theirs = LogisticRegression(C=1.0, tol=1e-10, max_iter=1000).fit(X, labels)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-5)
    two = nl.Classifier("gaussian(scale=1)").fit(X, labels == "a")
    assert two.coef_.shape == (1, 3)
    np.testing.assert_allclose(two.predict_proba(X).sum(axis=1), 1.0)
    assert ours.log_score(X, labels) < 0


def test_laws_quantiles_and_intervals():
    X, y, _ = counts()
    model = nl.Regressor("poisson").fit(X, y)
    law = model.predict_distribution(X)
    np.testing.assert_allclose(law.mean(), model.predict(X))
    quantiles = model.predict_quantiles(X, [0.1, 0.5, 0.9])
    assert quantiles.shape == (400, 3)
    inside = (y >= model.predict_interval(X, 0.9)[:, 0]) & (y <= model.predict_interval(X, 0.9)[:, 1])
    assert inside.mean() > 0.88
    assert model.score(X, y) == pytest.approx(-np.mean(law.nll(y)))
    assert 0 < model.d2(X, y) < 1
    with pytest.raises(ValueError, match="level must be between 0 and 1"):
        model.predict_interval(X, 90)


def skewed(n=300, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, np.exp(1.0 + X @ [0.5, -0.3] + 0.5 * rng.normal(size=n))


class Predicting(RegressorMixin, BaseEstimator):
    """Somebody else's model, of which only the predictions are known."""

    def __init__(self, predictions):
        self.predictions = predictions

    def predict(self, X):
        return self.predictions


def test_scorers_take_predictions_for_means():
    X, y = skewed()
    mean = nl.fit(X, y, nl.LogNormal(scale=0.5))

    truth = -np.mean(mean.distribution(X).nll(y))
    assert nl.neg_nll_scorer("lognormal(scale=0.5)")(Predicting(mean.predict(X)), X, y) == pytest.approx(
        truth, rel=1e-12
    )


@pytest.mark.parametrize("noise", [name for name, noise in KNOWN.items() if not noise.labelled])
def test_every_noise_scores_its_own_means(noise):
    law = KNOWN[noise].given(np.linspace(-1, 1, 7) if noise != "gamma" else np.linspace(0.5, 1, 7))
    y = np.asarray(law.sample(rng=np.random.default_rng(0)))

    assert nl.neg_nll_scorer(KNOWN[noise])(
        Predicting(np.where(np.isfinite(law.mean()), law.mean(), law.point())), y, y
    ) == pytest.approx(-np.mean(law.nll(y)), rel=1e-9)


def test_a_scorer_refuses_means_that_cannot_be():
    X, y = skewed()

    below = Predicting(np.where(np.arange(len(y)) == 7, -1.0, 1.0))
    for noise in ("lognormal(scale=0.5)", "gamma(shape=2)"):
        with pytest.raises(ValueError, match="1 of 300 rows are not: the first, row 7, is -1"):
            nl.neg_nll_scorer(noise)(below, X, y)


@pytest.mark.parametrize("noise", [name for name, noise in KNOWN.items() if not noise.labelled and name != "bernoulli"])
def test_d2_is_that_of_the_fit(noise):
    problem = made(nl.Flat())
    X, y = problem.dense, targets(KNOWN[noise], problem.table)
    rng = np.random.default_rng(1)
    w, offset = rng.integers(0, 3, len(y)).astype(float), 0.3 * rng.normal(size=len(y))
    model = nl.Regressor(KNOWN[noise]).fit(X, y, sample_weight=w, offset=offset)
    assert model.d2(X, y, w, offset=offset) == pytest.approx(model.fit_.d2, rel=1e-4, abs=1e-6)


def test_d2_counts_exposure():
    X, _, rng = counts()
    years = rng.uniform(0.2, 5.0, 400)
    y = rng.poisson(years * np.exp(0.3 + X @ [0.5, -0.3, 0.0])).astype(float)
    model = nl.Regressor("poisson").fit(X, y, exposure=years)
    assert model.d2(X, y, exposure=years) == pytest.approx(model.fit_.d2, rel=1e-6)
    rate = np.full(400, y.sum() / years.sum())
    loss = [nl.Poisson().loss(y, mean).sum() for mean in (model.predict(X, exposure=years), years * rate)]
    assert model.d2(X, y, exposure=years) == pytest.approx(1 - loss[0] / loss[1], rel=1e-6)


def test_separated_classes_have_a_fit_by_default():
    X = np.arange(8.0)[:, None]
    model = nl.Classifier().fit(X, X[:, 0] > 3.5)
    assert model.fit_.converged
    assert model.predict(X).tolist() == (X[:, 0] > 3.5).tolist()
    X, _, rng = counts()
    labels = rng.random(400) < 1 / (1 + np.exp(-X[:, 0]))
    weak, none = nl.Classifier().fit(X, labels), nl.Classifier(prior=None).fit(X, labels)
    assert isinstance(none.prior_, nl.Flat)
    np.testing.assert_allclose(weak.coef_, none.coef_, atol=0.01 * none.fit_.standard_errors.max())
    in_grams = nl.Classifier().fit(1000 * X, labels)
    np.testing.assert_allclose(1000 * in_grams.coef_, weak.coef_, rtol=1e-6)


def test_labels_that_the_fit_does_not_know_have_no_score():
    X, y, _ = counts()
    labels = np.array(["a", "b"])[np.minimum(y, 1).astype(int)]
    model = nl.Classifier().fit(X, labels)
    labels[3] = "c"
    with pytest.raises(ValueError, match="among the 2 classes of the fit, but 1 of 400 rows are not: the first, row 3"):
        model.log_score(X, labels)


def test_in_searches_and_pipelines():
    X, y, _ = counts()
    pipeline = make_pipeline(StandardScaler(), nl.Regressor("poisson", "gaussian(scale=1)"))
    assert cross_val_score(pipeline, X, y).shape == (5,)
    grid = {
        "prior": ["gaussian(scale=0.1)", "gaussian(scale=1)", nl.Flat(), None],
        "noise": ["poisson", nl.Tweedie(power=1.2)],
    }
    search = GridSearchCV(nl.Regressor(), grid, cv=3).fit(X, y)
    assert search.best_params_["noise"] == "poisson"
    assert clone(search.best_estimator_).get_params()["tol"] == 1e-6
    scores = cross_val_score(PoissonRegressor(), X, y, scoring=nl.neg_nll_scorer("poisson"))
    assert np.all(scores < 0)


def test_tables_keep_their_categories():
    pandas = pytest.importorskip("pandas", reason="a table to fit")
    rng = np.random.default_rng(0)
    table = pandas.DataFrame({"x": rng.normal(size=200), "level": rng.choice(list("abc"), 200)})
    y = table["x"] + (table["level"] == "b") + rng.normal(size=200)
    model = nl.Regressor("gaussian", "gaussian").fit(table, y)
    assert list(model.feature_names_in_) == ["x", "level"]
    assert model.predict(table).shape == (200,)
    assert model.prior_.scale is not None


def test_exposure():
    X, _, rng = counts()
    years = rng.uniform(0.5, 2.0, 400)
    y = rng.poisson(years * np.exp(0.3 + X @ [0.5, -0.3, 0.0]))
    model = nl.Regressor("poisson").fit(X, y, exposure=years)
    np.testing.assert_allclose(model.predict(X, exposure=years), years * model.predict(X), rtol=1e-10)


def test_errors():
    X, y, _ = counts()
    with pytest.raises(ValueError, match=r"use nl\.Classifier"):
        nl.Regressor("bernoulli").fit(X, y)
    with pytest.raises(ValueError, match="there is no distribution 'gama'"):
        nl.Regressor("gama").fit(X, y)
    with pytest.raises(ValueError, match="at least two classes"):
        nl.Classifier().fit(X, np.zeros(400))


def test_offsets_and_exposures_are_routed():
    X, y, rng = counts()
    exposure = rng.uniform(0.5, 2.0, len(y))
    with config_context(enable_metadata_routing=True):
        model = nl.Regressor("poisson").set_fit_request(exposure=True, sample_weight=True)
        model = model.set_score_request(exposure=True, sample_weight=True).set_predict_request(exposure=True)
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        pipeline = make_pipeline(scaler, model)
        pipeline.fit(X, y, exposure=exposure, sample_weight=np.full(len(y), 2.0))
        plain = nl.fit(StandardScaler().fit_transform(X), y, nl.Poisson(), exposure=exposure)
        np.testing.assert_allclose(pipeline[-1].coef_, plain.coef, atol=1e-8)
        np.testing.assert_allclose(
            pipeline.predict(X, exposure=exposure), pipeline.predict(X, exposure=1 + 0 * y) * exposure
        )
        scores = cross_val_score(pipeline, X, y, params={"exposure": exposure, "sample_weight": np.ones(len(y))})
        assert scores.shape == (5,)
        search = GridSearchCV(pipeline, {"regressor__prior": [None, "gaussian(scale=0.1)"]})
        search.fit(X, y, exposure=exposure, sample_weight=np.ones(len(y)))
        assert search.best_params_["regressor__prior"] is None


def test_tables_travel_through_pipelines():
    pandas = pytest.importorskip("pandas", reason="tables")
    X, y, _ = counts()
    frame = pandas.DataFrame(X, columns=["u", "v", "w"])
    pipeline = make_pipeline(StandardScaler(), nl.Regressor("poisson")).set_output(transform="pandas").fit(frame, y)
    assert pipeline[-1].fit_.names == ("u", "v", "w")
    assert pipeline[-1].feature_names_in_.tolist() == ["u", "v", "w"]
    np.testing.assert_allclose(
        pipeline.predict(frame), make_pipeline(StandardScaler(), nl.Regressor("poisson")).fit(X, y).predict(X)
    )
