"""Boosted trees as scikit-learn estimators: its own checks, and what they add."""

import numpy as np
import pytest
from boosting.trainers import SEVERAL, draws, several_draws
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.utils.estimator_checks import parametrize_with_checks

import neglog as nl

pytest.importorskip("lightgbm", reason="trees need LightGBM")

SMALL = {"ensemble": 2, "learning_rate": 0.3, "patience": 5}
# A row twice and a row of weight two are dealt to parts of the ensemble in different ways.
DEALT = {
    "check_sample_weight_equivalence_on_dense_data": "rows are dealt at random",
    "check_sample_weight_equivalence_on_sparse_data": "rows are dealt at random",
}


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(
    [nl.BoostedRegressor(**SMALL), nl.BoostedRegressor("gamma", **SMALL), nl.BoostedClassifier(**SMALL)],
    expected_failed_checks=lambda _: DEALT,
)
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("library", ["lightgbm", "xgboost"])
def test_laws_quantiles_and_intervals(library):
    pytest.importorskip(library)
    X, y, _ = several_draws(SEVERAL[0], 1500)
    X2, y2, law2 = several_draws(SEVERAL[0], 3000, 5)
    model = nl.BoostedRegressor(library=library).fit(X, y)
    low, high = model.predict_interval(X2, 0.9).T
    assert np.mean((y2 >= low) & (y2 <= high)) == pytest.approx(0.9, abs=0.03)
    assert model.predict_quantiles(X2, [0.1, 0.5]).shape == (3000, 2)
    plain = nl.fit(X, y, nl.StudentT())
    score = model.score(X2, y2)
    assert -law2.nll(y2).mean() > score > -plain.distribution(X2).nll(y2).mean()
    assert score == pytest.approx(-model.predict_distribution(X2).nll(y2).mean())
    assert len(model.model_.members) == 5


def test_the_default_is_hard_to_beat():
    """Trees of a Gaussian without a modelled spread, and one model alone, are worse in nats of rows not seen."""
    X, y, _ = several_draws(SEVERAL[0], 1500)
    scores = [
        cross_val_score(nl.BoostedRegressor(noise, ensemble=count), X, y, cv=3).mean()
        for noise, count in (("studentt(scale='model')", 5), ("studentt(scale='model')", 1), ("gaussian", 5))
    ]
    assert scores[0] > scores[1]
    assert scores[0] > scores[2]


def test_counts_with_exposure():
    X, _, eta = draws("poisson", 1200)
    rng = np.random.default_rng(0)
    years = rng.uniform(0.2, 5.0, len(eta))
    y = rng.poisson(years * np.exp(eta)).astype(float)
    model = nl.BoostedRegressor("poisson", ensemble=3).fit(X, y, exposure=years)
    np.testing.assert_allclose(model.predict(X, exposure=years), years * model.predict(X), rtol=1e-9)
    assert np.corrcoef(np.log(model.predict(X)), eta)[0, 1] > 0.95


@pytest.mark.parametrize("ordered", [False, True])
def test_classes(ordered):
    X, y, _ = draws("categorical", 900)
    labels = np.array(["a", "b", "c"])[y.astype(int)]
    model = nl.BoostedClassifier(ensemble=3, ordered=ordered).fit(X, labels)
    p = model.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    assert model.classes_.tolist() == ["a", "b", "c"]
    assert (model.predict(X) == model.classes_[p.argmax(axis=1)]).all()
    assert model.log_score(X, labels) > -np.log(3)


def test_parts_of_an_ensemble_have_their_share_of_rare_classes():
    X, y, _ = draws("bernoulli", 300)
    rare = np.where(np.arange(300) < 6, "rare", np.where(y > 0, "one", "other"))
    model = nl.BoostedClassifier(ensemble=3).fit(X, rare)
    assert model.predict_proba(X).shape == (300, 3)


def test_the_same_again():
    X, y, _ = draws("gaussian", 400)
    model = nl.BoostedRegressor(ensemble=2)
    np.testing.assert_array_equal(model.fit(X, y).predict(X), clone(model).fit(X, y).predict(X))


def test_what_cannot_be_is_refused():
    X, y, _ = draws("gaussian", 60)
    with pytest.raises(ValueError, match="library must be one of lightgbm, xgboost, but is 'catboost'"):
        nl.BoostedRegressor(library="catboost").fit(X, y)
    with pytest.raises(ValueError, match=r"is of classes; use nl\.BoostedClassifier"):
        nl.BoostedRegressor("categorical").fit(X, y)
    with pytest.raises(ValueError, match="at least two classes, but y is one class"):
        nl.BoostedClassifier().fit(X, np.full(60, "a"))


def test_tables_keep_their_categories():
    pd = pytest.importorskip("pandas", reason="pandas dataframes")
    X, y, _ = draws("gaussian", 500)
    table = pd.DataFrame({"x": X[:, 0], "sort": pd.Categorical(np.where(X[:, 1] > 0.2, "high", "low"))})
    model = nl.BoostedRegressor(ensemble=2).fit(table, y)
    high, low = (table.assign(sort=pd.Categorical([s] * 500, categories=["high", "low"])) for s in ("high", "low"))
    assert (model.predict(high) - model.predict(low)).mean() == pytest.approx(0.8, abs=0.3)
