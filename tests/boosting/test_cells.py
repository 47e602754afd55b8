"""Trees whose y lies in cells: derivatives, both trainers, and what is refused."""

import pickle

import numpy as np
import pandas as pd
import pytest
from boosting.trainers import Settings, features, signal
from families import TESTED

import neglog as nl
from neglog import _core, lightgbm, xgboost
from neglog.boosting.cell_slopes import OfCells
from neglog.boosting.derivatives import slopes_of
from neglog.boosting.estimation import estimated, start_of
from neglog.boosting.laws import law_of

lgb = pytest.importorskip("lightgbm", reason="LightGBM is not installed")
xgb = pytest.importorskip("xgboost", reason="XGBoost is not installed")

TRAINERS = {
    "lightgbm": Settings(
        lightgbm,
        {"num_leaves": 7, "learning_rate": 0.1, "num_threads": 1, "force_col_wise": True, "verbosity": -1},
        {"min_data_in_leaf": 0, "min_data_in_bin": 1, "min_sum_hessian_in_leaf": 5.0},
    ),
    "xgboost": Settings(xgboost, {"max_depth": 3, "eta": 0.1, "nthread": 1, "tree_method": "hist"}, {}),
}
LAWS = [
    family(**family.examples[0])
    for family in TESTED.values()
    if family.default_link in _core.links(f"cells({family._kernel()})")
]
each_law = pytest.mark.parametrize("law", LAWS, ids=repr)


@pytest.fixture(params=TRAINERS)
def settings(request):
    return TRAINERS[request.param]


def train(settings, *args, rounds=40, **options):
    return settings.module.train(settings.params, *args, num_boost_round=rounds, **options)


def noise_of(law):
    """The noise that the law is of, and the raw prediction that gives it."""
    noise = type(law)(**law.parameters, link=law.default_link)
    return noise, float(noise.link.forward(law.parameters[law.location]))


def cells_of_each_kind(law, n=40):
    """Values, intervals, and cells that are open on either side."""
    y = law.sample(n, rng=0).astype(float)
    low, high = np.sort(law.icdf(np.random.default_rng(1).uniform(0.02, 0.98, (2, n))), axis=0)
    step = 1e-3 * np.ptp(high) if law.support.step is None else 1.0
    kind = np.arange(n) % 4
    lower = np.select([kind == 0, kind == 1, kind == 2], [y, low, low], -np.inf)
    upper = np.select([kind == 0, kind == 1, kind == 2], [y, np.maximum(high, low + step), np.inf], high)
    return nl.censored(lower, upper)


def lives(n=2000, seed=0):
    """X, durations, how long each was looked at, and whether its end was seen, as that of three fifths was."""
    X, rng = features(n, seed), np.random.default_rng(seed + 100)
    life = nl.Weibull(shape=1.7).given(signal(X)).sample(rng=rng)
    end = rng.exponential(1.5, n)
    return X, life, np.minimum(life, end), life <= end


def limited(n=1500, seed=0, scale=0.3):
    """Gaussian values that nobody saw beyond a limit."""
    X = features(n, seed)
    y = signal(X) + scale * np.random.default_rng(seed + 100).normal(size=n)
    return X, y, nl.censored(np.minimum(y, 0.3), np.where(y < 0.3, y, np.inf))


# ---- derivatives -----------------------------------------------------------------------------------------------------


@each_law
def test_gradients_are_slopes_of_the_nll_of_cells(law):
    noise, centre = noise_of(law)
    cells = cells_of_each_kind(law)
    raw = centre + 0.05 * np.random.default_rng(2).normal(size=len(cells))
    gradient, hessian = OfCells(noise)(cells, raw, None)
    step = 1e-5
    differences = (law_of(noise, raw + step).nll(cells) - law_of(noise, raw - step).nll(cells)) / (2 * step)
    size = 1 + np.abs(differences).max()
    np.testing.assert_allclose(gradient, differences, rtol=1e-3, atol=1e-4 * size)
    assert gradient.dtype == hessian.dtype == np.float32
    assert np.all(hessian > 0)
    exact = cells.exact
    np.testing.assert_allclose(
        np.stack([gradient, hessian])[:, exact], slopes_of(noise)(cells.lower[exact], raw[exact], None), rtol=1e-5
    )
    weight = np.linspace(0.5, 3, len(cells))
    weighted = OfCells(noise)(cells, raw, weight)
    np.testing.assert_allclose(weighted, [gradient * weight, hessian * weight], rtol=1e-5)


@each_law
def test_steps_are_sane_far_from_the_cells(law):
    """Leaves of alike rows move by one scale, or by Newton's step where the cell bends as a value would."""
    noise, centre = noise_of(law)
    cells = cells_of_each_kind(law, 60)
    width = float(np.std(noise.located(law.sample(1000, rng=0)))) if law.locations[0] < 0 else 1.0
    raw = centre + width * np.repeat([-6.0, -2.0, 0.0, 2.0, 6.0], 12)
    gradient, hessian = OfCells(noise)(cells, raw, None)
    assert np.all(np.isfinite(gradient))
    assert np.all(hessian > 0)
    if law.locations[0] < 0 and law.support.low == -np.inf:  # elsewhere steps of values are as long
        steps = np.abs(gradient / hessian)[~cells.exact]
        information = noise.derivatives(0.0, 0.0, expected=True)[2]
        farthest = np.abs(cells.points - raw)[~cells.exact] + np.ptp(law.icdf(np.array([0.02, 0.98])))
        assert np.all(steps <= np.maximum(farthest, 1 / np.sqrt(information)) * 1.001)


@pytest.mark.parametrize(
    "noise",
    [
        nl.Gaussian(scale="model"),
        nl.Laplace(scale="model"),
        nl.Weibull(shape="model"),
        nl.StudentT(scale="model", df=4.0),
    ],
    ids=repr,
)
def test_gradients_of_a_modelled_spread(noise):
    law = noise.unmodelled().with_(**{noise.spread: 1.0}).given(0.2)
    cells = cells_of_each_kind(law)
    raw = np.random.default_rng(2).normal(0.2, 0.3, size=(len(cells), 2))
    gradient, hessian = OfCells(noise)(cells, raw, None)
    ratio = []
    for k in range(2):
        step = 1e-5 * np.eye(2)[k]
        differences = (law_of(noise, raw + step).nll(cells) - law_of(noise, raw - step).nll(cells)) / 2e-5
        told = np.abs(differences) > 1e-3
        ratio.append(gradient[told, k] / differences[told])
    np.testing.assert_allclose(ratio[0], ratio[0][0], rtol=1e-3)  # in units of the mean Hessian
    np.testing.assert_allclose(ratio[1], 1.0, rtol=1e-3)
    assert hessian[:, 0].mean() == pytest.approx(1.0, rel=1e-5)
    assert np.all(hessian > 0)
    assert np.all(np.abs(gradient[:, 1]) <= hessian[:, 1])


@pytest.mark.parametrize(
    "noise", [nl.Gaussian(), nl.Gamma(), nl.LogNormal(), nl.Laplace(), nl.InverseGaussian(), nl.Weibull()], ids=repr
)
def test_units_are_those_of_values(noise):
    """An open spread leaves the Hessian of values as the built-in objectives have it, whatever it is."""
    law = noise.with_(**{noise.spread: 0.4}).given(0.1)
    y = law.sample(2000, rng=0)
    raw = np.full(2000, 0.1)
    cells = nl.censored(y, np.where(np.arange(2000) < 1999, y, np.inf))  # one of them a cell
    of_cells, of_values = OfCells(noise)(cells, raw, None), slopes_of(noise)(y, raw, None)
    np.testing.assert_allclose(np.stack(of_cells)[:, :-1], np.stack(of_values)[:, :-1], rtol=5e-3, atol=5e-3)


# ---- kinks -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("noise", [nl.Laplace(), nl.Laplace(scale=0.5), nl.Log(nl.Laplace())], ids=repr)
def test_the_start_of_a_noise_with_a_kink_is_the_maximum_likelihood(noise):
    rng = np.random.default_rng(0)
    offset, weight = rng.normal(size=300), rng.uniform(0.5, 2, 300)
    y = 3.0 + offset + rng.laplace(0, 0.7, 300)
    lower, upper = np.minimum(y, 3.3), np.where(y < 3.3, y, np.inf)
    if noise.support.low == 0:
        lower, upper = np.exp(lower), np.exp(upper)
    cells = nl.censored(lower, upper)
    start = start_of(noise, cells, weight, offset)
    raw = start.scores(300, offset)
    filled = estimated(noise, cells, raw, weight)
    best = weight @ filled.given(raw).nll(cells)
    for move in (-1e-3, 1e-3):
        assert weight @ filled.given(raw + move).nll(cells) >= best - 1e-7
        other = filled.with_(scale=filled.scale * np.exp(move))
        assert noise.scale is not None or weight @ other.given(raw).nll(cells) >= best - 1e-7
        if noise.scale is None:
            moved = estimated(noise, cells, raw + move, weight)
            assert weight @ moved.given(raw + move).nll(cells) >= best - 1e-7


def test_a_noise_with_a_kink_learns_from_cells(settings):
    X, y, cells = limited(800)
    X2, y2, cells2 = limited(800, seed=5)
    model = train(settings, X, cells, nl.Laplace(), valid=(X2, cells2))
    dropped = train(settings, X[cells.exact], y[cells.exact], nl.Laplace(), rounds=40)
    assert model.nll(X2, y2).mean() < dropped.nll(X2, y2).mean() - 0.1
    best = model.nll(X2, cells2).sum()
    raw = model.raw_prediction(X2)
    for factor in (0.99, 1.01):
        assert model.noise.with_(scale=model.noise.scale * factor).given(raw).nll(cells2).sum() > best
    spread = train(settings, X, cells, nl.Laplace(scale="model"), valid=(X2, cells2))
    assert spread.held_out < model.held_out + 0.05


# ---- training --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("noise", [nl.Weibull(), nl.Gamma(), nl.LogNormal(), nl.Laplace()], ids=repr)
def test_cells_that_are_values_give_the_trees_of_values(settings, noise):
    X, life, _, _ = lives(400)
    model = train(settings, X, nl.censored(life, life), noise, rounds=10, valid=0.3)
    values = train(settings, X, life, noise, rounds=10, valid=0.3)
    np.testing.assert_array_equal(model.raw_prediction(X), values.raw_prediction(X))
    assert model.noise == values.noise


@pytest.mark.parametrize(
    "noise",
    [nl.Weibull(shape=1.7), nl.Gamma(), nl.LogNormal(), nl.StudentT(scale=0.5, df=4.0), nl.Gaussian()],
    ids=repr,
)
def test_values_beside_cells_without_weight_give_the_trees_of_values(settings, noise):
    X, life, _, _ = lives(400)
    X = X.round(1)  # the same bins, whichever rows count
    weight = np.where(np.arange(400) < 390, 1.0, 0.0)
    cells = nl.censored(life, np.where(weight > 0, life, np.inf))
    valid = (X, life)
    model = train(settings, X, cells, noise, rounds=10, sample_weight=weight, valid=valid)
    values = train(settings, X, life, noise, rounds=10, sample_weight=weight, valid=valid)
    np.testing.assert_allclose(model.raw_prediction(X), values.raw_prediction(X), rtol=1e-4, atol=1e-4)


def test_censored_lives_are_longer_than_they_seem(settings):
    X, _, time, seen = lives()
    X2, life2, time2, seen2 = lives(seed=7)
    truth = nl.Weibull(shape=1.7).given(signal(X2)).nll(life2).mean()
    model = train(settings, X, nl.censored(time, event=seen), nl.Weibull(), folds=3)
    taken = train(settings, X, time, nl.Weibull(), folds=3)
    dropped = train(settings, X[seen], time[seen], nl.Weibull(), folds=3)
    nats, of_taken, of_dropped = (found.nll(X2, life2).mean() for found in (model, taken, dropped))
    assert truth < nats < min(of_taken, of_dropped) - 0.1
    assert nats < truth + 0.08
    assert model.noise.shape == pytest.approx(1.7, rel=0.08)
    cells2 = nl.censored(time2, event=seen2)
    np.testing.assert_allclose(model.nll(X2, cells2), model.distribution(X2).nll(cells2))
    null = nl.fit(X[:, :0], nl.censored(time, event=seen), nl.Weibull())
    np.testing.assert_allclose(model.intercept, null.intercept, rtol=1e-6)


def test_rounded_values_keep_their_scale(settings):
    X, rng = features(1500), np.random.default_rng(3)
    y = signal(X) + 0.15 * rng.normal(size=1500)
    low = np.floor(y)
    model = train(settings, X, nl.censored(low, low + 1), nl.Gaussian(), valid=0.3, rounds=60)
    middles = train(settings, X, low + 0.5, nl.Gaussian(), valid=0.3, rounds=60)
    assert model.noise.scale < 0.3 * middles.noise.scale + 0.15
    X2 = features(1500, 9)
    y2 = signal(X2) + 0.15 * rng.normal(size=1500)
    assert model.nll(X2, y2).mean() < middles.nll(X2, y2).mean() - 0.1


def test_counts_that_are_cut_off(settings):
    X = features(1500)
    y = np.random.default_rng(0).poisson(np.exp(1 + signal(X))).astype(float)
    model = train(settings, X, nl.censored(np.minimum(y, 5), np.where(y < 5, y, np.inf)), nl.Poisson())
    cut = train(settings, X, np.minimum(y, 5), nl.Poisson())
    assert np.corrcoef(np.log(model.predict(X)), signal(X))[0, 1] > 0.95
    assert abs(model.predict(X).mean() - y.mean()) < 0.3 * abs(cut.predict(X).mean() - y.mean())


def test_a_modelled_scale_is_learned_from_cells(settings):
    X, rng = features(3000), np.random.default_rng(1)
    scale = np.exp(0.8 * X[:, 2] - 0.5)
    y = signal(X) + scale * rng.normal(size=3000)
    cells = nl.censored(np.minimum(y, 0.8), np.where(y < 0.8, y, np.inf))
    seen, held = np.arange(3000) < 2000, np.arange(3000) >= 2000
    options = {"valid": (X[held], cells[held]), "early_stopping_rounds": 10, "rounds": 100}
    two = train(settings, X[seen], cells[seen], nl.Gaussian(scale="model"), **options)
    one = train(settings, X[seen], cells[seen], nl.Gaussian(), **options)
    assert two.held_out < one.held_out - 0.03
    assert np.corrcoef(np.log(two.distribution(X).scale), np.log(scale))[0, 1] > 0.8
    best = two.nll(X[held], cells[held]).sum()
    for step in (-0.01, 0.01):
        two.intercept[1] += step
        assert two.nll(X[held], cells[held]).sum() > best
        two.intercept[1] -= step


def test_early_stopping_and_estimates_look_at_cells(settings):
    X, _, cells = limited(400)
    X2, _, cells2 = limited(400, seed=5)
    model = train(settings, X, cells, nl.Gaussian(), rounds=300, valid=(X2, cells2), early_stopping_rounds=10)
    assert 3 < model.rounds < 300
    assert model.held_out == pytest.approx(model.nll(X2, cells2).mean())
    assert model.noise.scale == pytest.approx(0.3, rel=0.25)
    raw = model.raw_prediction(X2)
    for factor in (0.99, 1.01):
        assert model.noise.with_(scale=model.noise.scale * factor).given(raw).nll(cells2).mean() > model.held_out


def test_weight_two_is_the_row_twice(settings):
    X, _, time, seen = lives(400)
    X = X.round(1)
    weight = np.where(np.arange(400) % 3 == 0, 2.0, 1.0)
    twice = np.repeat(np.arange(400), weight.astype(int))
    cells = nl.censored(time, event=seen)
    params = {**settings.params, **settings.no_counts}
    options = {"num_boost_round": 8, "valid": (X, cells)}
    a = settings.module.train(params, X, cells, nl.Weibull(), sample_weight=weight, **options)
    b = settings.module.train(params, X[twice], cells[twice], nl.Weibull(), **options)
    np.testing.assert_allclose(a.intercept, b.intercept, rtol=1e-6)
    np.testing.assert_allclose(a.raw_prediction(X), b.raw_prediction(X), rtol=1e-3, atol=1e-3)


def test_tables_exposures_and_files(settings, tmp_path):
    X, _, time, seen = lives(400)
    years = np.random.default_rng(0).uniform(0.5, 2, 400)
    columns = {"time": time * years, "died": seen.astype(int), "years": years}
    frame = pd.DataFrame(X, columns=list("abcd")).assign(**columns)
    named = nl.censored("time", event="died")
    options = {"exposure": "years", "rounds": 8, "valid": (frame[:200], named), "early_stopping_rounds": 5}
    model = train(settings, frame, named, nl.Weibull(), **options)
    cells = nl.censored(time * years, event=seen)
    valid = (X[:200], cells[:200], {"exposure": years[:200]})
    plain = train(settings, X, cells, nl.Weibull(), **options | {"exposure": years, "valid": valid})
    assert model.features.names == ("a", "b", "c", "d")
    np.testing.assert_allclose(model.nll(frame, named), plain.nll(X, cells, exposure=years), rtol=1e-6)
    model.save(tmp_path / "model.json")
    back = settings.module.load(tmp_path / "model.json")
    np.testing.assert_array_equal(back.nll(frame, named), model.nll(frame, named))
    assert back.noise == model.noise


# ---- the trainers' own interfaces ------------------------------------------------------------------------------------


def test_labels_in_float32_are_lower_ends_of_cells(settings):
    X, _, time, seen = lives(300)
    noise, upper = nl.Weibull(shape=1.7), np.where(seen, time, np.inf)
    raw = signal(X)
    data = xgb.DMatrix(X, label=time) if settings.module is xgboost else lgb.Dataset(X, label=time).construct()
    objective, metric = (make(noise, upper=upper) for make in (settings.module.objective, settings.module.metric))
    cells = nl.censored(time, event=seen)
    for _ in range(2):
        np.testing.assert_allclose(objective(raw, data), OfCells(noise)(cells, raw, None), rtol=1e-5, atol=1e-6)
    nats = noise.given(raw).nll(cells).mean()
    assert metric(raw, data)[1] == pytest.approx(nats, rel=1e-6)
    data.set_label(2 * time)
    later = nl.censored(2 * time, np.where(seen, 2 * time, np.inf))
    with pytest.raises(ValueError, match="the lower end of a cell must not be above the upper one"):
        objective(raw, data)
    again = pickle.loads(pickle.dumps(settings.module.objective(noise, upper=later.upper)))
    np.testing.assert_allclose(again(raw, data), OfCells(noise)(later, raw, None), rtol=1e-5, atol=1e-6)
    with pytest.raises(ValueError, match=r"upper must have the upper end of each row .* shape \(10,\) for 300 labels"):
        settings.module.objective(noise, upper=upper[:10])(raw, data)


def test_a_label_may_say_that_a_row_is_open_below(settings):
    upper, raw = np.array([0.1, 0.2, 1.0, 1.5]), np.zeros(4)
    lower = np.array([-1e38, 0.2, 0.7, -1e38])
    data = xgb.DMatrix(raw[:, None], label=lower) if settings.module is xgboost else None
    data = lgb.Dataset(raw[:, None], label=lower).construct() if data is None else data
    nats = settings.module.metric(nl.Gaussian(scale=1.0), upper=upper)(raw, data)[1]
    cells = nl.censored(np.where(lower < -1e37, -np.inf, lower), upper)
    assert nats == pytest.approx(nl.Gaussian(0.0, 1.0).nll(cells).mean(), rel=1e-6)


def test_trees_of_the_trainers_own_interface():
    X, _, time, seen = lives(500)
    upper = np.where(seen, time, np.inf)
    noise = nl.Weibull(shape=1.7)
    by_ours = train(TRAINERS["lightgbm"], X, nl.censored(time, upper), noise, rounds=10)
    data = lgb.Dataset(X, label=time, init_score=np.full(500, by_ours.intercept[0]))
    params = {**TRAINERS["lightgbm"].params, "objective": lightgbm.objective(noise, upper=upper)}
    seen_nats = {}
    booster = lgb.train(
        params,
        data,
        10,
        valid_sets=[data],
        feval=lightgbm.metric(noise, upper=upper),
        callbacks=[lgb.record_evaluation(seen_nats)],
    )
    np.testing.assert_allclose(booster.predict(X) + by_ours.intercept, by_ours.raw_prediction(X), rtol=1e-4, atol=1e-4)
    ((nats,),) = [values.values() for values in seen_nats.values()]
    assert nats[-1] == pytest.approx(by_ours.nll(X, nl.censored(time, upper)).mean(), rel=1e-5)
    estimator = xgb.XGBRegressor(
        objective=xgboost.objective(noise, upper=upper),
        base_score=float(by_ours.intercept[0]),
        n_estimators=10,
        n_jobs=1,
    )
    raw = estimator.fit(X, time).predict(X, output_margin=True)
    nats, nothing = (noise.given(eta).nll(nl.censored(time, upper)).mean() for eta in (raw, by_ours.intercept[0]))
    assert nats < nothing - 0.2


# ---- refusals --------------------------------------------------------------------------------------------------------


HOLD = r"noise needs cells that hold a y"
ONE_SIDED = r"all 50 rows of y are censored on the right, so that there is no maximum"
NO_CELLS = r"noise has no probabilities of cells that could be fitted; y must be values"
LINK = r"noise takes cells with the link 'identity' only, but has 'log'"


@pytest.mark.parametrize(
    ("noise", "lower", "upper", "message"),
    [
        (nl.Weibull(), {}, {}, ONE_SIDED),
        (nl.Laplace(), {}, {}, ONE_SIDED),
        (
            nl.Poisson(),
            {7: 0.2, 9: 0.3},
            {7: 0.8, 9: 0.4},
            rf"Poisson {HOLD}, counts .*2 of 50 .* row 7, is \[0.2, 0.8\]",
        ),
        (
            nl.Weibull(),
            {3: -2.0},
            {3: -1.0},
            rf"Weibull {HOLD}, y > 0, but 1 of 50 .* row 3, is \[-2, -1\]; widen them",
        ),
        (
            nl.Log(nl.Laplace()),
            {3: -2.0},
            {3: -1.0},
            rf"{HOLD}, y > 0, but 1 of 50 .* row 3, is \[-2, -1\]; widen them",
        ),
        (nl.Log(nl.Laplace()), {3: -2.0}, {3: -2.0}, r"needs y > 0, but 1 of 50 rows are not: the first, row 3, is -2"),
        (nl.Gamma(), {3: -2.0}, {3: -2.0}, r"needs y > 0, but 1 of 50 rows are not: the first, row 3, is -2"),
        (nl.Tweedie(), {}, {1: 5.0}, "power of a Tweedie noise can be estimated only where some y are 0"),
        (nl.Bernoulli(), {}, {1: 5.0}, f"Bernoulli {NO_CELLS}"),
        (nl.Categorical(), {}, {1: 5.0}, f"Categorical {NO_CELLS}"),
        (nl.Ordinal(), {}, {1: 5.0}, f"Ordinal {NO_CELLS}"),
        (nl.Gaussian(link="log"), {}, {1: 5.0}, f"Gaussian {LINK}"),
        (nl.Laplace(link="log"), {}, {1: 5.0}, f"Laplace {LINK}"),
    ],
    ids=str,
)
def test_cells_that_cannot_be_meant_are_refused_before_training(settings, noise, lower, upper, message):
    low, high = np.ones(50), np.full(50, np.inf)
    low[list(lower)], high[list(upper)] = list(lower.values()), list(upper.values())
    with pytest.raises(ValueError, match=message):
        train(settings, np.zeros((50, 2)), nl.censored(low, high), noise)


def test_other_refusals(settings):
    X, _, time, seen = lives(100)
    cells = nl.censored(time, event=seen)
    frame = pd.DataFrame(X, columns=list("abcd")).assign(low=time, high=time - 1)
    for arguments, options, message in (
        ((X[:90], cells), {}, r"y must have one value per row of X, but has 100 for 90 rows"),
        ((frame, nl.censored("low", "high")), {}, r"the lower end of a cell must not be above .* 100 of 100 cells"),
        ((frame, nl.censored("low", event="lost")), {}, r"event is the name 'lost', but X has no such column"),
        ((X, cells), {"valid": (X[~seen], cells[~seen])}, r"valid: all \d+ rows of y are censored on the right"),
        ((X, cells), {"sample_weight": (~seen).astype(float)}, r"all \d+ rows of y are censored on the right"),
    ):
        with pytest.raises(ValueError, match=message):
            train(settings, *arguments, nl.Weibull(), **options)
    with pytest.raises(ValueError, match=r"y may be 0 in all 100 rows, so that Poisson noise has no maximum"):
        train(settings, X, nl.censored(np.zeros(100), np.arange(100.0)), nl.Poisson())
    with pytest.raises(ValueError, match="has no probabilities of cells"):
        settings.module.objective(nl.Bernoulli(), upper=time)
    stated = train(settings, X, cells, nl.Weibull(shape=1.7), valid=(X[~seen], cells[~seen]), rounds=3)
    assert np.isfinite(stated.held_out)  # nothing has to be told by these rows
