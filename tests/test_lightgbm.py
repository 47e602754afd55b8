"""LightGBM: the cases of every trainer, both of its interfaces, and the built-in objectives."""

import subprocess
import sys
from inspect import signature

import numpy as np
import pytest

lgb = pytest.importorskip("lightgbm", reason="LightGBM is not installed")

from boosting.shared_cases import TrainerCases  # noqa: E402
from boosting.trainers import TRUTH, Settings, draws, spread_draws  # noqa: E402

import neglog as nl  # noqa: E402
from neglog import lightgbm  # noqa: E402

PARAMS = {
    "num_leaves": 8,
    "learning_rate": 0.1,
    "min_data_in_leaf": 15,
    "num_threads": 1,
    "deterministic": True,
    "force_col_wise": True,
    "verbosity": -1,
}


@pytest.fixture
def settings():
    return Settings(lightgbm, PARAMS, {"min_data_in_leaf": 0, "min_data_in_bin": 1})


class TestTraining(TrainerCases):
    pass


def raw_scores(objective, X, y, rounds=30, weight=None, init=None, **params):
    """Training by LightGBM itself."""
    data = lgb.Dataset(X, label=y, weight=weight, init_score=init)
    return lgb.train({**PARAMS, "objective": objective, **params}, data, rounds)


# ---- the same as the built-in objectives -----------------------------------------------------------------------------

SAME_TREES = {
    "regression": ("gaussian", nl.Gaussian(), {}),
    "poisson": ("poisson", nl.Poisson(), {"poisson_max_delta_step": 1e-9}),
    "gamma": ("gamma", nl.Gamma(), {}),
    "tweedie": ("tweedie", nl.Tweedie(power=1.5), {"tweedie_variance_power": 1.5}),
    "binary": ("bernoulli", nl.Bernoulli(), {}),
    "multiclass": ("categorical", nl.Categorical(), {"num_class": 3}),
}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("built_in", SAME_TREES)
def test_the_same_trees_as_the_built_in_objective(built_in, weighted):
    family, noise, params = SAME_TREES[built_in]
    X, y, _ = draws(family, 1000)
    weight = np.random.default_rng(1).uniform(0.2, 3, 1000) if weighted else None
    theirs = raw_scores(built_in, X, y, weight=weight, boost_from_average=False, **params)
    own = {"num_class": 3} if family == "categorical" else {}
    ours = raw_scores(lightgbm.objective(noise), X, y, weight=weight, **own)
    np.testing.assert_allclose(ours.predict(X, raw_score=True), theirs.predict(X, raw_score=True), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("built_in", ["regression", "poisson", "gamma", "tweedie", "binary"])
def test_training_starts_where_boost_from_average_does(built_in):
    family, noise, params = SAME_TREES[built_in]
    X, y, _ = draws(family, 1000)
    theirs = raw_scores(built_in, X, y, **params)
    ours = lightgbm.train(PARAMS, X, y, noise, num_boost_round=30, valid=(X, y))
    np.testing.assert_allclose(ours.raw_prediction(X), theirs.predict(X, raw_score=True), rtol=1e-3, atol=1e-3)


def test_an_objective_of_ones_own_starts_at_zero_whatever_boost_from_average_says():
    X, y, _ = draws("poisson", 1000)
    one = raw_scores(lightgbm.objective(nl.Poisson()), X, 50 * y, rounds=1, boost_from_average=True)
    raw = one.predict(X, raw_score=True)
    assert np.abs(raw).max() <= 0.1 * 200  # one step of the trees, from 0
    model = lightgbm.train(PARAMS, X, 50 * y, nl.Poisson(), num_boost_round=1)
    assert model.intercept[0] == pytest.approx(np.log(50 * y.mean()))
    assert abs(model.raw_prediction(X).mean() - np.log(50 * y.mean())) < 0.1


def test_poisson_max_delta_step_halves_the_steps():
    X, y, _ = draws("poisson", 1000)
    start = np.full(1000, np.log(y.mean()))
    ours = raw_scores(lightgbm.objective(nl.Poisson()), X, y, rounds=1, init=start)
    theirs = raw_scores("poisson", X, y, rounds=1, boost_from_average=False, init=start)
    np.testing.assert_allclose(
        theirs.predict(X, raw_score=True), np.exp(-0.7) * ours.predict(X, raw_score=True), rtol=1e-4
    )


def test_huber_is_the_built_in_one_at_another_learning_rate():
    X, y, _ = draws("laplace", 1000)
    noise = nl.Huber(scale=1.0, delta=0.6)
    share = 1 - 2 * noise.given(0.0).cdf(-0.6)  # of the law within the threshold: the Fisher information
    theirs = raw_scores("huber", X, y, alpha=0.6, boost_from_average=False, min_sum_hessian_in_leaf=0)
    ours = raw_scores(lightgbm.objective(noise), X, y, learning_rate=0.1 * float(share), min_sum_hessian_in_leaf=0)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize(
    ("built_in", "family", "noise", "params"),
    [
        ("regression_l1", "laplace", nl.Laplace(), {}),
        ("huber", "laplace", nl.Huber(scale=0.5, delta=1.345), {"alpha": 0.5 * 1.345}),
        ("poisson", "poisson", nl.Poisson(), {}),
    ],
)
def test_the_same_held_out_loss_as_the_built_in_objective(built_in, family, noise, params):
    X, y, _ = draws(family, 20_000)
    X2, y2, _ = draws(family, 20_000, seed=5)
    X3, y3, _ = draws(family, 50_000, seed=9)
    data = lgb.Dataset(X, label=y)
    stop = [lgb.early_stopping(30, verbose=False)]
    settings = {**PARAMS, "objective": built_in, **params}
    theirs = lgb.train(settings, data, 500, [lgb.Dataset(X2, label=y2, reference=data)], callbacks=stop)
    ours = lightgbm.train(PARAMS, X, y, noise, valid=(X2, y2), num_boost_round=500, early_stopping_rounds=30)
    prediction = ours.distribution(X3).median() if family == "laplace" else ours.predict(X3)
    loss = noise.loss(y3, prediction).mean()
    assert loss == pytest.approx(noise.loss(y3, theirs.predict(X3)).mean(), rel=1e-3)


# ---- LightGBM's own interfaces ---------------------------------------------------------------------------------------


def test_both_interfaces_grow_the_same_trees():
    X, y, _ = draws("poisson", 800)
    X2, y2, _ = draws("poisson", 400, seed=5)
    rng = np.random.default_rng(0)
    weight, weight2 = rng.uniform(0.5, 3, 800), rng.uniform(0.5, 3, 400)
    objective, metric = lightgbm.objective("poisson"), lightgbm.metric("poisson")
    data = lgb.Dataset(X, label=y, weight=weight)
    log = {}
    native = lgb.train(
        {**PARAMS, "objective": objective, "metric": "None"},
        data,
        20,
        valid_sets=[lgb.Dataset(X2, label=y2, weight=weight2, reference=data)],
        feval=metric,
        callbacks=[lgb.record_evaluation(log)],
    )
    names = {"num_leaves": 8, "min_child_samples": 15, "n_jobs": 1, "verbosity": -1, "n_estimators": 20}
    estimator = lgb.LGBMRegressor(objective=objective, deterministic=True, force_col_wise=True, **names)
    recent = "eval_X" in signature(estimator.fit).parameters
    held_out = {"eval_X": X2, "eval_y": y2} if recent else {"eval_set": [(X2, y2)]}
    estimator.fit(X, y, sample_weight=weight, **held_out, eval_sample_weight=[weight2], eval_metric=metric)
    np.testing.assert_array_equal(estimator.predict(X), native.predict(X))
    nats = log["valid_0"]["nats"]
    assert len(nats) == 20
    assert nats[-1] < nats[0]
    law = nl.Poisson().given(native.predict(X2, raw_score=True))
    assert nats[-1] == pytest.approx(np.average(law.nll(y2), weights=weight2), rel=1e-6)
    assert estimator.evals_result_["valid_0"]["nats"] == pytest.approx(nats)


def test_classes_in_the_scikit_learn_interface():
    from sklearn.base import clone

    X, y, _ = draws("categorical", 600)
    objective = lightgbm.objective(nl.Categorical())
    estimator = lgb.LGBMClassifier(objective=objective, n_estimators=10, n_jobs=1, verbosity=-1)
    raw = clone(estimator).fit(X, y.astype(int), eval_metric=lightgbm.metric("categorical")).predict(X, raw_score=True)
    assert raw.shape == (600, 3)
    assert nl.Categorical().given(raw).nll(y).mean() < np.log(3) - 0.1


def test_a_modelled_spread_in_the_native_interface():
    X, y, _ = spread_draws("gaussian", 1000)
    noise = nl.Gaussian(scale="model")
    booster = raw_scores(lightgbm.objective(noise), X, y, num_class=2, metric="None")
    assert booster.predict(X, raw_score=True).shape == (1000, 2)
    with pytest.raises(ValueError, match=r"shape \(1000,\) for 1000 rows; .* needs num_class=2"):
        raw_scores(lightgbm.objective(noise), X, y)


def test_bad_labels_are_refused_in_the_native_interface():
    X, y, _ = draws("poisson", 100)
    y[[4, 8]] = 0.5
    with pytest.raises(ValueError, match="2 of 100 rows are not: the first, row 4"):
        raw_scores(lightgbm.objective("poisson"), X, y)
    with pytest.raises(ValueError, match="class numbers 0 to 2, but 2 of 100 labels are not"):
        raw_scores(lightgbm.objective("categorical"), X, np.where(y == 0.5, 0.5, 0), num_class=3)


def test_pickled_objectives_are_the_same():
    import pickle

    again = pickle.loads(pickle.dumps(lightgbm.objective(nl.Gamma(shape=2.0))))
    assert again.noise == nl.Gamma(shape=2.0)


# ---- imports ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("package", ["lightgbm", "xgboost"])
def test_neither_neglog_nor_its_adapters_import_the_packages(package):
    code = f"import sys, neglog, neglog.lightgbm, neglog.xgboost, neglog.boosting; sys.exit({package!r} in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_missing_package_is_named():
    code = (
        "import sys; sys.modules['lightgbm'] = None\n"
        "import numpy as np, neglog as nl, neglog.lightgbm as l\n"
        "try: l.train({}, np.zeros((3, 1)), [1.0, 2.0, 3.0], nl.Gaussian())\n"
        "except ImportError as error: print(error)\n"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert 'pip install "neglog[lightgbm]"' in said


def test_many_rows_leave_some_out_for_the_estimates(monkeypatch):
    monkeypatch.setattr("neglog.boosting.training.MANY", 2000)
    monkeypatch.setattr("neglog.boosting.training.LEFT_OUT", 500)
    X, y, _ = draws("gaussian", 3000)
    model = lightgbm.train(PARAMS, X, y, nl.Gaussian(), num_boost_round=40)
    assert model.noise.scale == pytest.approx(TRUTH["gaussian"].scale, rel=0.15)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("family", ["gaussian", "lognormal"])
def test_squares_are_left_to_lightgbm_without_a_difference(family, weighted):
    X, y, _ = draws(family, 1000)
    offset = 1000 * X[:, 3]
    shifted = y + offset if family == "gaussian" else y * np.exp(X[:, 3])
    offset = offset if family == "gaussian" else X[:, 3]
    weight = np.random.default_rng(1).uniform(0.2, 3, 1000) if weighted else None
    noise = nl.Gaussian() if family == "gaussian" else nl.LogNormal()
    model = lightgbm.train(
        PARAMS,
        X,
        shifted,
        noise,
        sample_weight=weight,
        offset=offset,
        num_boost_round=30,
        valid=(X, shifted, {"offset": offset}),
    )
    init = model.intercept[0] + offset
    own = raw_scores(lightgbm.objective(noise), X, shifted, weight=weight, init=init)
    trees = model.raw_prediction(X) - model.intercept
    np.testing.assert_allclose(trees, own.predict(X, raw_score=True), rtol=1e-4, atol=1e-3)
