"""XGBoost: the cases of every trainer, both of its interfaces, and the built-in objectives."""

import subprocess
import sys

import numpy as np
import pytest

xgb = pytest.importorskip("xgboost", reason="XGBoost is not installed")

from boosting.shared_cases import TrainerCases  # noqa: E402
from boosting.trainers import Settings, draws, spread_draws  # noqa: E402

import neglog as nl  # noqa: E402
from neglog import xgboost  # noqa: E402

PARAMS = {"max_depth": 3, "eta": 0.1, "nthread": 1, "tree_method": "hist"}


@pytest.fixture
def settings():
    return Settings(xgboost, PARAMS, {})


class TestTraining(TrainerCases):
    pass


def raw_scores(objective, X, y, rounds=30, weight=None, margin=None, **params):
    """Raw predictions of a training by XGBoost itself."""
    data = xgb.DMatrix(X, label=y, weight=weight, base_margin=margin)
    own = callable(objective)
    settings = {**PARAMS, **params} if own else {**PARAMS, "objective": objective, **params}
    booster = xgb.train(settings, data, rounds, obj=objective if own else None, verbose_eval=False)
    return booster.predict(data, output_margin=True)


# base_score is on the scale of the mean for the built-in objectives, and raw for one's own
SAME_TREES = {
    "reg:squarederror": ("gaussian", nl.Gaussian(), {}, 0.0),
    "count:poisson": ("poisson", nl.Poisson(), {"max_delta_step": 0}, 1.0),
    "reg:gamma": ("gamma", nl.Gamma(), {}, 1.0),
    "reg:tweedie": ("tweedie", nl.Tweedie(power=1.5), {"tweedie_variance_power": 1.5}, 1.0),
    "binary:logistic": ("bernoulli", nl.Bernoulli(), {}, 0.5),
}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("built_in", SAME_TREES)
def test_the_same_trees_as_the_built_in_objective(built_in, weighted):
    family, noise, params, base = SAME_TREES[built_in]
    X, y, _ = draws(family, 1000)
    weight = np.random.default_rng(1).uniform(0.2, 3, 1000) if weighted else None
    theirs = raw_scores(built_in, X, y, weight=weight, base_score=base, **params)
    ours = raw_scores(xgboost.objective(noise), X, y, weight=weight, base_score=0.0)
    np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-4)


def test_labels_and_weights_are_those_the_matrix_has_now():
    rng = np.random.default_rng(0)
    y, raw, weight = rng.normal(size=100), rng.normal(size=100).astype(np.float32), rng.uniform(1, 2, 100)
    matrix, objective, metric = (
        xgb.DMatrix(raw[:, None], label=y),
        xgboost.objective("gaussian"),
        xgboost.metric("poisson"),
    )
    np.testing.assert_allclose(objective(raw, matrix)[0], raw - y, atol=1e-6)
    matrix.set_label(y + 1)
    matrix.set_weight(weight)
    gradient, hessian = objective(raw, matrix)
    np.testing.assert_allclose(gradient, weight * (raw - y - 1), atol=1e-6)
    np.testing.assert_allclose(hessian, weight, rtol=1e-6)
    matrix.set_label(np.round(np.abs(y)))
    nats = nl.Poisson(np.exp(raw)).nll(np.round(np.abs(y)))
    assert metric(raw, matrix)[1] == pytest.approx(np.average(nats, weights=weight), rel=1e-6)
    np.testing.assert_array_equal(matrix.get_label(), np.round(np.abs(y)).astype(np.float32))


def test_classes_are_the_built_in_ones_at_another_learning_rate():
    X, y, _ = draws("categorical", 1000)
    free = {"num_class": 3, "lambda": 0, "min_child_weight": 0, "base_score": 0.0}
    theirs = raw_scores("multi:softprob", X, y, **{**free, "base_score": 0.5})
    ours = raw_scores(xgboost.objective("categorical"), X, y, eta=0.1 * 1.5 / 2, **free)
    differences = [raw - raw.mean(axis=1, keepdims=True) for raw in (ours, theirs)]
    np.testing.assert_allclose(*differences, rtol=1e-3, atol=1e-3)


def test_poisson_max_delta_step_halves_the_steps():
    X, y, _ = draws("poisson", 1000)
    free = {"lambda": 0, "min_child_weight": 0, "max_depth": 1}  # leaves large enough not to be bounded by 0.7
    ours = raw_scores(xgboost.objective("poisson"), X, y, rounds=1, base_score=0.0, **free)
    theirs = raw_scores("count:poisson", X, y, rounds=1, base_score=1.0, **free)
    np.testing.assert_allclose(theirs, np.exp(-0.7) * ours, rtol=1e-3)
    assert np.abs(theirs).max() < 0.07


def test_an_objective_of_ones_own_starts_at_base_score():
    X, y, _ = draws("poisson", 1000)
    many = 50 * y
    start = raw_scores(xgboost.objective("poisson"), X, many, rounds=1, eta=1e-9)
    np.testing.assert_allclose(start, start[0], rtol=1e-6)
    assert abs(start[0] - np.log(many.mean())) > 1  # half, or the mean of the labels: not a raw prediction of counts
    model = xgboost.train(PARAMS, X, many, nl.Poisson(), num_boost_round=1)
    assert model.intercept[0] == pytest.approx(np.log(many.mean()))


@pytest.mark.parametrize(
    ("built_in", "family", "noise", "params"),
    [
        ("reg:absoluteerror", "laplace", nl.Laplace(), {}),
        ("count:poisson", "poisson", nl.Poisson(), {}),
        ("multi:softprob", "categorical", nl.Categorical(), {"num_class": 3}),
    ],
)
def test_the_same_held_out_loss_as_the_built_in_objective(built_in, family, noise, params):
    X, y, _ = draws(family, 20_000)
    X2, y2, _ = draws(family, 20_000, seed=5)
    X3, y3, _ = draws(family, 50_000, seed=9)
    theirs = xgb.train(
        {**PARAMS, "objective": built_in, **params},
        xgb.DMatrix(X, label=y),
        500,
        evals=[(xgb.DMatrix(X2, label=y2), "valid")],
        early_stopping_rounds=30,
        verbose_eval=False,
    )
    used = (0, theirs.best_iteration + 1)
    ours = xgboost.train(PARAMS, X, y, noise, valid=(X2, y2), num_boost_round=500, early_stopping_rounds=30)
    prediction = ours.distribution(X3).median() if family == "laplace" else ours.predict(X3)
    loss = noise.loss(y3, prediction).mean()
    built_in_loss = noise.loss(y3, theirs.predict(xgb.DMatrix(X3), iteration_range=used)).mean()
    assert loss == pytest.approx(built_in_loss, rel=1e-3)


# ---- XGBoost's own interfaces ----------------------------------------------------------------------------------------


def test_both_interfaces_grow_the_same_trees():
    X, y, _ = draws("poisson", 800)
    X2, y2, _ = draws("poisson", 400, seed=5)
    rng = np.random.default_rng(0)
    weight, weight2 = rng.uniform(0.5, 3, 800), rng.uniform(0.5, 3, 400)
    objective, metric = xgboost.objective("poisson"), xgboost.metric("poisson")
    log = {}
    native = xgb.train(
        {**PARAMS, "base_score": 0.0, "disable_default_eval_metric": 1},
        xgb.DMatrix(X, label=y, weight=weight),
        20,
        evals=[(xgb.DMatrix(X2, label=y2, weight=weight2), "valid")],
        obj=objective,
        custom_metric=metric,
        evals_result=log,
        verbose_eval=False,
    )
    estimator = xgb.XGBRegressor(
        objective=objective,
        eval_metric=metric,
        n_estimators=20,
        max_depth=3,
        learning_rate=0.1,
        n_jobs=1,
        tree_method="hist",
        base_score=0.0,
    )
    estimator.fit(X, y, sample_weight=weight, eval_set=[(X2, y2)], sample_weight_eval_set=[weight2], verbose=False)
    raw = native.predict(xgb.DMatrix(X), output_margin=True)
    np.testing.assert_allclose(estimator.predict(X, output_margin=True), raw, rtol=1e-6)
    nats = log["valid"]["nats"]
    law = nl.Poisson().given(native.predict(xgb.DMatrix(X2), output_margin=True).astype(float))
    assert nats[-1] == pytest.approx(np.average(law.nll(y2), weights=weight2), rel=1e-5)
    assert nats[-1] < nats[0]
    assert estimator.evals_result()["validation_0"]["nats"] == pytest.approx(nats, rel=1e-5)


def test_a_modelled_spread_in_the_native_interface():
    X, y, _ = spread_draws("gaussian", 1000)
    noise = nl.Gaussian(scale="model")
    assert raw_scores(xgboost.objective(noise), X, y, num_class=2, base_score=0.0).shape == (1000, 2)
    with pytest.raises(ValueError, match=r"shape \(1000,\) for 1000 rows; .* needs num_class=2"):
        raw_scores(xgboost.objective(noise), X, y)


def test_bad_labels_are_refused_in_the_native_interface():
    X, y, _ = draws("poisson", 100)
    y[[4, 8]] = 0.5
    with pytest.raises(ValueError, match="2 of 100 rows are not: the first, row 4"):
        raw_scores(xgboost.objective("poisson"), X, y)


def test_a_missing_package_is_named():
    code = (
        "import sys; sys.modules['xgboost'] = None\n"
        "import numpy as np, neglog as nl, neglog.xgboost as x\n"
        "try: x.train({}, np.zeros((3, 1)), [1.0, 2.0, 3.0], nl.Gaussian())\n"
        "except ImportError as error: print(error)\n"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert 'pip install "neglog[xgboost]", or xgboost-cpu' in said


@pytest.mark.parametrize("weighted", [False, True])
def test_squares_are_left_to_xgboost_without_a_difference(weighted):
    X, y, _ = draws("gaussian", 1000)
    weight = np.random.default_rng(1).uniform(0.2, 3, 1000) if weighted else None
    model = xgboost.train(PARAMS, X, y, nl.Gaussian(), sample_weight=weight, num_boost_round=30, valid=(X, y))
    own = raw_scores(xgboost.objective("gaussian"), X, y, weight=weight, base_score=float(model.intercept[0]))
    np.testing.assert_allclose(model.raw_prediction(X), own, rtol=1e-3, atol=1e-3)
