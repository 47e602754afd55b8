"""scikit-learn estimators: its own checks, and what they add."""

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, PoissonRegressor
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import neglog as nl

ESTIMATORS = [
    nl.Regressor(),
    nl.Regressor("gaussian(scale=1)", "gaussian(scale=1)"),
    nl.Regressor("tweedie(power=1.5)", "gaussian(scale=1)"),
    nl.Classifier("gaussian(scale=1)"),
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
