"""What a comparison answers: ties, the fit it names, what it refuses, leaks, hints."""

import importlib
import runpy
from pathlib import Path

import numpy as np
import pytest
from inference.test_compare import TRUTHS, columns

import neglog as nl

# ---- ties and errors -------------------------------------------------------------------------------------------------


def test_noises_that_are_the_same_are_tied():
    X, eta, rng = columns(300)
    counts = nl.compare(X, rng.poisson(np.exp(eta)), ["poisson", "tweedie(power=1, dispersion=1)"])
    amounts = nl.compare(X, rng.gamma(3.0, np.exp(eta) / 3), ["gamma", "tweedie(power=2)"])
    for found in (counts, amounts):
        assert abs(found.table[1]["worse"]) < 1e-6
        assert len(found.ties) == 2


def test_a_difference_that_is_sure_but_tiny_is_a_tie_and_weights_have_no_unit():
    X, eta, rng = columns(300)
    y = rng.poisson(np.exp(eta)).astype(float)
    for size in (1e-6, 1.0, 1e6):
        found = nl.compare(X, y, ["poisson", "gaussian"], "flat", sample_weight=np.full(300, size))
        assert found.ties == ["Poisson"]
        found.scores[1].nll = found.scores[0].nll + 1e-11  # the same in every row: the error is 0
        del found.ties
        assert found.ties == ["Poisson", "Gaussian"]


def test_the_error_of_a_difference_is_that_of_repeated_samples():
    """A small version of benchmarks/ties.py."""
    ratio = runpy.run_path(str(Path(__file__).parents[2] / "benchmarks" / "ties.py"))["ratio"]
    assert 0.85 < ratio("gaussian", ("gaussian", "laplace"), rows=200, columns=3, repeats=60) < 1.25


# ---- one path --------------------------------------------------------------------------------------------------------


def same_fit(one, other):
    """But for rounding: BLAS rounds as memory lies."""
    for mine, theirs in ((one.coef, other.coef), (one.intercept, other.intercept)):
        np.testing.assert_allclose(mine, theirs, rtol=1e-12)
    for mine, theirs in ((one.noise, other.noise), (one.prior, other.prior)):
        assert type(mine) is type(theirs)
        for name, value in mine.parameters.items():
            if value is not None:
                np.testing.assert_allclose(value, theirs.parameters[name], rtol=1e-12)
    assert one.message == other.message


@pytest.mark.parametrize("noise", ["poisson", "laplace", "tweedie"])
def test_the_fit_of_a_comparison_is_the_fit(noise):
    X, eta, rng = columns(6000)
    y = rng.poisson(np.exp(eta)) * rng.gamma(2.0, size=6000)
    found = nl.compare(X, np.round(y) if noise == "poisson" else y, [noise], folds=2)
    same_fit(found.fit, nl.fit(X, np.round(y) if noise == "poisson" else y, found.scores[0].noise, nl.Gaussian()))


def frame(n=240, seed=0):
    pandas = pytest.importorskip("pandas", reason="a table to fit")
    rng = np.random.default_rng(seed)
    table = pandas.DataFrame(
        {"age": rng.uniform(20, 80, n), "area": rng.choice(list("abc"), n), "years": rng.uniform(0.2, 1, n)}
    )
    table["shift"], table["times"] = rng.normal(size=n) / 4, rng.integers(1, 4, n)
    table["visits"] = rng.poisson(table["years"] * np.exp(-1 + 0.03 * table["age"] + table["shift"]))
    return table


CALLS = {
    "names": {"exposure": "years", "offset": "shift", "sample_weight": "times"},
    "drop": {"missing": "drop"},
    "impute": {"missing": "impute", "rare": 5, "intercept": False, "prior": nl.Gaussian(scale=1.0)},
    "scales": {"prior": nl.Gaussian(scale=[1.0, 2.0, np.inf, 1.0, 1.0, 1.0, 1.0]) * nl.Laplace(scale=0.5)},
    "groups": {"prior": nl.Gaussian(groups=[0, 1, 1, 1, 2, 2, 2])},
    "flat": {"prior": "flat"},
}


@pytest.mark.parametrize("name", CALLS)
def test_the_call_that_is_named_gives_the_fit(name):
    X = frame()
    if "missing" in CALLS[name]:
        X.loc[::7, "age"] = np.nan
    found = nl.compare(X, "visits", ["gaussian(link='log')" if name == "flat" else "poisson"], folds=2, **CALLS[name])
    assert f"the call is {found.call}." in found.conclusion
    same_fit(found.fit, eval(found.call, {"nl": nl, "X": X}))


def test_the_call_names_arrays_by_their_arguments():
    X, eta, rng = columns(200)
    exposure, sample_weight = rng.uniform(0.5, 2, 200), rng.integers(1, 3, 200)
    y = rng.poisson(exposure * np.exp(eta))
    found = nl.compare(X, y, ["poisson"], exposure=exposure, sample_weight=sample_weight, folds=2)
    given = {"nl": nl, "X": X, "y": y, "exposure": exposure, "sample_weight": sample_weight}
    same_fit(found.fit, eval(found.call, given))


# ---- what cannot be fitted -------------------------------------------------------------------------------------------


def test_a_noise_that_cannot_be_fitted_is_a_refused_row(monkeypatch):
    X, eta, rng = columns(300)
    y = rng.gamma(3.0, np.exp(eta) / 3)
    module = importlib.import_module("neglog.comparison.rows")

    def failing(X, y, noise, *others, **named):
        if isinstance(noise, nl.Gamma):
            raise ZeroDivisionError("nothing to divide by")
        return nl.fit(X, y, noise, *others, **named)

    monkeypatch.setattr(module, "fit", failing)
    found = nl.compare(X, y, ["gaussian", "gamma"])
    assert found.refused == {"Gamma": "it could not be fitted: nothing to divide by"}
    assert [score.name for score in found.scores] == ["Gaussian"]
    with pytest.raises(ValueError, match=r"no noise can explain y\. Gamma: it could not be fitted"):
        nl.compare(X, y, ["gamma"])


def test_predictions_without_a_chance_are_a_refused_row():
    X, eta, rng = columns(300)
    found = nl.compare(X, rng.poisson(np.exp(eta)), ["poisson", "poisson(link='identity')"], folds=2)
    assert found.scores[0].name == "Poisson"
    assert all(np.isfinite(score.mean) for score in found.scores)
    assert "have no probability under it" in found.refused['Poisson(link="identity")']


def test_of_noises_as_good_one_whose_fit_has_an_end_is_the_best():
    """On plain counts the power of a Tweedie noise runs to its edge, where its fit says to use Poisson."""
    X, eta, rng = columns(200)
    found = nl.compare(X, rng.poisson(np.exp(eta)), ["poisson", "tweedie"], folds=2)
    assert found.fit.converged
    assert found.scores[0].name == "Poisson"


def test_faults_of_the_data_are_still_errors():
    X, eta, rng = columns(100)
    y = rng.poisson(np.exp(eta))
    X[3, 1] = np.nan
    with pytest.raises(ValueError, match="x1"):
        nl.compare(X, y)
    with pytest.raises(ValueError, match="sample_weight must be"):
        nl.compare(np.nan_to_num(X), y, sample_weight=np.r_[-1.0, np.ones(99)])


def test_rows_without_weight_do_not_decide():
    X, eta, rng = columns(200)
    y = rng.gamma(3.0, np.exp(eta) / 3)
    weight = np.r_[np.zeros(5), np.ones(195)]
    odd = np.where(weight > 0, y, 1e200)
    found = nl.compare(X, odd, ["gamma", "gaussian"], "gaussian(scale=1)", sample_weight=weight)
    assert [score.name for score in found.scores] == ["Gamma", "Gaussian"]
    assert found.scores[0].mean < 2


@pytest.mark.parametrize("noise", [None, ["gaussian", "laplace"]])
def test_no_columns_need_no_prior(noise):
    rng = np.random.default_rng(0)
    found = nl.compare(np.empty((200, 0)), rng.gamma(3.0, size=200), noise)
    assert found.call.count("nl.") == 2  # no prior
    assert "LogNormal" in found.ties or noise is not None


# ---- leaks and identifiers -------------------------------------------------------------------------------------------


def hire(n=400, seed=0):
    pandas = pytest.importorskip("pandas", reason="a table to compare on")
    rng = np.random.default_rng(seed)
    table = pandas.DataFrame({"heat": rng.normal(size=n), "day": rng.choice(["work", "free"], n)})
    table["casual"] = rng.poisson(np.exp(1 + 0.5 * table["heat"]))
    table["registered"] = rng.poisson(np.exp(3 + 0.3 * table["heat"]))
    table["cnt"] = table["casual"] + table["registered"]
    return table, rng


def test_a_sum_that_is_the_target_is_a_leak():
    table, _ = hire()
    found = nl.compare(table, "cnt", ["gaussian", "poisson"], folds=2)
    assert len(found.leaks) == 1
    assert found.leaks[0].startswith(("registered + casual is cnt in every row", "casual + registered is cnt in every"))
    assert found.leaks[0] in found.conclusion
    assert found.to_json()["leaks"] == found.leaks
    assert nl.compare(table.drop(columns=["casual", "registered"]), "cnt", ["gaussian"], folds=2).leaks == []


LEAKS = {
    "copy": lambda y, rng: y,
    "almost": lambda y, rng: y * (1 + 0.01 * rng.normal(size=len(y))),
    "logarithm": lambda y, rng: np.log1p(y),
    "part": lambda y, rng: np.floor(0.8 * y),
    "factor": lambda y, rng: np.char.add("n", np.minimum(y, 40).astype(int).astype(str)),
}


@pytest.mark.parametrize("name", LEAKS)
def test_a_column_that_tells_almost_all_is_a_leak(name):
    table, rng = hire()
    table = table.drop(columns=["casual", "registered"])
    table["cnt"] = np.minimum(table["cnt"], 40)
    table["later"] = LEAKS[name](table["cnt"].to_numpy().astype(float), rng)
    found = nl.compare(table, "cnt", ["gaussian"], folds=2)
    assert len(found.leaks) == 1
    assert found.leaks[0].startswith("later alone ")


def test_whatever_tells_the_target_of_rows_held_out_is_said():
    """A product, which no column and no sum is."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    found = nl.compare(X, np.exp(1 + X.sum(axis=1) + 1e-6 * rng.normal(size=300)), ["gamma"], folds=2)
    assert found.leaks[0].startswith("all of y is predicted in rows that were held out")


def test_columns_that_tell_the_class_are_leaks():
    table, _ = hire()
    table["kind"] = np.where(table["cnt"] > 25, "many", "few")
    table["grade"] = np.where(table["cnt"] > 25, "A", "B")
    found = nl.compare(table[["heat", "cnt", "grade", "kind"]], "kind", folds=2)
    assert [text.split()[0] for text in found.leaks] == ["cnt", "grade"]


@pytest.mark.parametrize("truth", TRUTHS)
def test_honest_columns_are_no_leaks(truth):
    X, eta, rng = columns(500, seed=1)
    assert nl.compare(X, TRUTHS[truth](eta, rng), [truth.lower()], folds=2).leaks == []


def test_identifiers_are_noted():
    table, rng = hire()
    table["instant"], table["drawn"] = np.arange(400) + 1, rng.permutation(2000)[:400]
    table["wages"] = np.round(rng.normal(30_000, 5_000, 400))
    notes = nl.compare(table.drop(columns=["casual", "registered"]), "cnt", ["gaussian"], folds=2).notes
    assert [note.split(":")[0] for note in notes] == ["instant", "drawn"]


# ---- words -----------------------------------------------------------------------------------------------------------


def test_digits_follow_the_error():
    from neglog.comparison.verdict import with_error

    assert with_error(483.2694, 20.0628) == ("483", "20")
    assert with_error(2.20684, 0.01083) == ("2.207", "0.011")
    assert with_error(0.34801, 0.09967) == ("0.35", "0.10")
    assert with_error(12345.6, 1234.5) == ("12,346", "1,234")
    assert with_error(1.0, 0.0) == ("1.0000", "0.0000")


def hint_of(y, noises, X=None):
    X = np.zeros((len(y), 1)) + np.arange(len(y))[:, None] % 7 if X is None else X
    return nl.compare(X, y, noises, folds=2).conclusion.partition("not well calibrated")[2]


def test_hints_fit_the_target():
    rng = np.random.default_rng(0)
    grades = rng.choice([1.0, 2.0, 5.0], 600, p=[0.5, 0.1, 0.4])
    assert "zeros" not in hint_of(grades, ["gaussian"])
    assert "3 different values" in hint_of(grades, ["gaussian"])
    positive = np.exp(np.where(rng.random(600) < 0.5, 0.2, 3.0) * rng.random(600))
    assert "zero" not in hint_of(positive, ["gamma"])
    mixed = np.where(rng.random(600) < 0.5, 0, rng.poisson(3.0, 600))
    assert "there are more zeros" in hint_of(mixed, ["poisson"])
    wild = rng.poisson(3.0 * rng.gamma(0.5, 2.0, size=600))
    text = hint_of(wild, ["poisson"])
    assert "extreme values" in text
    assert "log link" not in text
    assert "try Huber" not in hint_of(rng.standard_cauchy(600), ["gaussian", "huber", "laplace"])


def test_huber_has_a_loss_of_its_own():
    X, eta, rng = columns(200)
    text = nl.compare(X, eta + rng.standard_t(2, size=200), ["huber"], folds=2).conclusion
    assert "is Huber's loss" in text
    assert "the Huber's" not in text


# ---- rows that are not in memory -------------------------------------------------------------------------------------


def written(table, folder):
    for i, start in enumerate(range(0, len(table), 150)):
        table.iloc[start : start + 150].to_parquet(folder / f"{i}.parquet")
    return str(folder / "*.parquet")


@pytest.mark.parametrize("prior", [None, "gaussian(scale=0.5)"])
def test_the_fit_of_files_is_the_fit_of_files(tmp_path, prior):
    paths = written(frame(), tmp_path)
    found = nl.compare(
        paths, "visits", ["poisson", "gaussian(link='log')"], prior, folds=2, exposure="years", sample_weight="times"
    )
    same_fit(found.fit, eval(found.call, {"nl": nl, "X": paths}))


def test_files_refuse_warn_and_need_no_columns(tmp_path):
    table, _ = hire()
    table["instant"] = np.arange(400) + 1.0
    noises = ["gaussian", "poisson", "poisson(link='identity')", "gamma(link='inverse')", "tweedie(power=1.5)"]
    paths = written(table, tmp_path)
    found = nl.compare(paths, "cnt", noises, folds=2)
    memory = nl.compare(table, "cnt", noises, folds=2)
    assert found.leaks == memory.leaks != []
    assert list(found.refused) == list(memory.refused)
    assert [score.name for score in found.scores] == [score.name for score in memory.scores]
    (tmp_path / "bare").mkdir()
    bare = nl.compare(written(table[["cnt"]], tmp_path / "bare"), "cnt", ["gaussian", "poisson"], folds=2)
    assert [score.mean for score in bare.scores] == pytest.approx(
        [score.mean for score in nl.compare(table[["cnt"]], "cnt", ["gaussian", "poisson"], folds=2).scores], rel=1e-4
    )
