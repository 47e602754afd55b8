"""Fits, comparisons and predictions of rows in files: the same as in memory."""

import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

import neglog as nl
from neglog.comparison import compare_in_pieces
from neglog.engines import files, survey
from neglog.estimation.separation import separating_direction
from neglog.likelihood.accelerators import make_target
from neglog.streaming import first_pass
from neglog.streaming.pieces import fold_of
from neglog.streaming.target_sums import condensed, sums_of

N = 2000
NOISES = {
    "gaussian": nl.Gaussian(),
    "laplace": nl.Laplace(),
    "huber": nl.Huber(delta=1.345),
    "poisson": nl.Poisson(),
    "gamma": nl.Gamma(),
    "lognormal": nl.LogNormal(),
    "bernoulli": nl.Bernoulli(),
    "tweedie": nl.Tweedie(power=1.5),
    "categorical": nl.Categorical(),
}


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    """So that small tables have many pieces, and the sample is a part of them."""
    monkeypatch.setattr(files, "ROWS_AT_ONCE", 150)
    monkeypatch.setattr(files, "ROWS_OF_PIECE", 300)
    monkeypatch.setattr(first_pass, "SAMPLE_ROWS", 400)
    monkeypatch.setattr(survey, "SAMPLE_ROWS", 400)
    monkeypatch.setattr(compare_in_pieces, "ROWS_TO_SHOW", 300)


def table(noise, seed=0):
    rng = np.random.default_rng(seed)
    area = rng.choice(["north", "south", "west"], N)
    data = pd.DataFrame(
        {
            "a": rng.normal(3, 2, N),
            "b": rng.normal(size=N).astype("float32"),
            "area": area,
            "k": rng.integers(0, 5, N),
            "new": rng.random(N) < 0.3,
            "w": rng.integers(0, 3, N),
            "trust": rng.uniform(0.5, 2, N),
            "years": rng.uniform(0.1, 1, N),
        }
    )
    eta = 0.2 * data.a.to_numpy() - 0.3 * data.b.to_numpy() + 0.3 * (area == "south") - 0.5
    mean = np.exp(eta)
    if noise == "tweedie":
        y = np.array([rng.gamma(2.0 * k, 0.5) if k else 0.0 for k in rng.poisson(mean)])
    else:
        y = {
            "gaussian": lambda: eta + 0.7 * rng.normal(size=N),
            "laplace": lambda: eta + rng.laplace(size=N),
            "huber": lambda: eta + rng.standard_t(3, N),
            "poisson": lambda: rng.poisson(mean * data.years),
            "gamma": lambda: rng.gamma(3, mean / 3),
            "lognormal": lambda: np.exp(eta + 0.5 * rng.normal(size=N)),
            "bernoulli": lambda: (rng.random(N) < 1 / (1 + np.exp(-eta))).astype(float),
            "categorical": lambda: np.where(eta + rng.logistic(size=N) > 0, "yes", rng.choice(["no", "maybe"], N)),
        }[noise]()
    return data.assign(y=y)


def written(data, folder):
    half = pa.Table.from_pandas(data, preserve_index=False)
    folder.mkdir(exist_ok=True)
    parquet.write_table(half.slice(0, 1100), folder / "1.parquet", row_group_size=170)
    parquet.write_table(half.slice(1100), folder / "2.parquet", row_group_size=230)
    return str(folder / "*.parquet")


def both(data, folder, *arguments, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return nl.fit(data, "y", *arguments, **options), nl.fit(written(data, folder), "y", *arguments, **options)


def check_same(memory, files, tol=1e-8):
    assert files.names == memory.names
    assert files.n_rows == memory.n_rows
    np.testing.assert_allclose(files.coef, memory.coef, atol=tol)
    np.testing.assert_allclose(files.intercept, memory.intercept, atol=tol)
    assert files.objective == pytest.approx(memory.objective, rel=1e-9)
    assert files.d2 == pytest.approx(memory.d2, abs=1e-8)
    # at a vertex the slope of an absolute loss is known but for the rows in it
    rtol = 1e-6 if memory.noise.smooth else 1e-4
    np.testing.assert_allclose(files.standard_errors, memory.standard_errors, rtol=rtol)
    for name, error in memory.noise_standard_errors.items():
        assert getattr(files.noise, name) == pytest.approx(getattr(memory.noise, name), rel=1e-7)
        assert files.noise_standard_errors[name] == pytest.approx(error, rel=10 * rtol)
    assert files.target_summary == pytest.approx(memory.target_summary)
    assert (files.n_parameters, files.converged) == (memory.n_parameters, memory.converged)


NUMBERS = ["a", "b", "k", "new"]


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("prior", [nl.Flat(), nl.Gaussian(scale=0.5), nl.Laplace(scale=0.05)], ids=str)
def test_the_answer_is_that_of_memory(tmp_path, noise, prior):
    data = table(noise)
    exposure = {"exposure": "years"} if noise == "poisson" else {}
    # a Laplace prior over all levels of a category leaves the intercept open
    columns = [*NUMBERS, "y", *exposure.values(), *([] if isinstance(prior, nl.Laplace) else ["area"])]
    check_same(*both(data[columns], tmp_path, NOISES[noise], prior, **exposure))


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("option", [{"sample_weight": "w"}, {"precision": "trust"}], ids=str)
def test_weights_and_precisions(tmp_path, noise, option):
    if "precision" in option and noise in ("poisson", "bernoulli", "categorical"):
        pytest.skip("its precision is a whole number of trials, or none at all")
    columns = [*NUMBERS, "area", "y", *option.values()]
    check_same(*both(table(noise)[columns], tmp_path, NOISES[noise], nl.Gaussian(scale=0.5), **option))


@pytest.mark.parametrize("link", ["identity", "log"])
@pytest.mark.parametrize("noise", [nl.Gaussian, nl.Huber])
def test_precisions_beside_a_stated_scale(tmp_path, noise, link):
    data = table("gamma")[["a", "b", "y", "trust"]]
    check_same(*both(data, tmp_path, noise(scale=0.7, link=link), nl.Gaussian(scale=0.5), precision="trust"))


@pytest.mark.parametrize("noise", ["gaussian", "poisson", "gamma", "tweedie", "bernoulli", "categorical"])
def test_the_posterior_is_that_of_memory(tmp_path, noise):
    memory, streamed = both(table(noise)[[*NUMBERS, "area", "y"]], tmp_path, NOISES[noise], nl.Gaussian(scale=0.5))
    one, other = memory.posterior(), streamed.posterior()
    assert other.evidence == pytest.approx(one.evidence, abs=1e-5)
    np.testing.assert_allclose(other.std, one.std, rtol=1e-5)
    rows = table(noise, seed=1).iloc[:5]
    np.testing.assert_allclose(streamed.predict(rows), memory.predict(rows), rtol=1e-7)
    assert str(streamed.summary()).splitlines()[4] == str(memory.summary()).splitlines()[4]


@pytest.mark.parametrize(
    "noise",
    [
        nl.Tweedie(),
        nl.Tweedie(power=1.1),
        nl.Tweedie(dispersion=0.7),
        nl.Huber(),
        nl.Huber(delta=1.0, link="log"),
        nl.Gamma(link="inverse"),
    ],
    ids=str,
)
def test_open_powers_thresholds_and_other_links(tmp_path, noise):
    family = {"Tweedie": "tweedie", "Huber": "huber", "Gamma": "gamma"}[type(noise).__name__]
    data = table(family)[["b", "new", "y"]]
    if family == "huber" and noise.link.name == "log":
        data["y"] = np.abs(data.y) + 1
    memory, streamed = both(data, tmp_path, noise, tol=1e-9)
    np.testing.assert_allclose(streamed.coef, memory.coef, atol=1e-8)
    assert streamed.nll == pytest.approx(memory.nll, rel=1e-10)


@pytest.mark.parametrize("noise", [nl.Tweedie(), nl.Tweedie(power=1.02)], ids=str)
def test_powers_near_one(tmp_path, noise):
    """There the density is a row of ridges, so that nothing but the rows themselves tells the dispersion."""
    data = table("poisson")[["b", "new", "y"]]
    shape = 10.0 * np.maximum(data.y, 1)
    data["y"] = np.where(data.y > 0, np.random.default_rng(5).gamma(shape, 0.1), 0.0)
    memory, streamed = both(data, tmp_path, noise, tol=1e-9)
    assert 1 < memory.noise.power < 1.15
    np.testing.assert_allclose(streamed.coef, memory.coef, atol=1e-8)
    assert streamed.noise.power == pytest.approx(memory.noise.power, rel=1e-8)
    assert streamed.noise.dispersion == pytest.approx(memory.noise.dispersion, rel=1e-8)
    assert streamed.nll == pytest.approx(memory.nll, rel=1e-10)


def test_the_power_of_counts_stays_where_their_density_is_no_row_of_peaks(tmp_path):
    data = table("poisson")[["b", "new", "y"]]
    fits = []
    for rows in (data, written(data, tmp_path)):
        with pytest.warns(nl.ConvergenceWarning, match=r"y are whole numbers.* use Poisson"):
            fits.append(nl.fit(rows, "y", nl.Tweedie()))
    assert [fit.noise.power for fit in fits] == pytest.approx([14 / 13] * 2, abs=1e-3)


def test_without_intercept_standardized_and_with_an_offset(tmp_path):
    data = table("poisson")[["a", "b", "y", "years"]]
    for options in ({"intercept": False}, {"standardize": True}, {"offset": "years"}):
        prior = nl.Gaussian(scale=0.3)
        check_same(*both(data, tmp_path, nl.Poisson(), prior, tol=1e-9, **options))


def test_missing_values_dates_and_rare_levels(tmp_path):
    data = table("gaussian")[["a", "area", "y"]].copy()
    data["day"] = pd.date_range("2020-01-01", periods=N, freq="h")
    data.loc[::7, "a"] = np.nan
    data.loc[3::11, "area"] = None
    data.loc[5:9, "area"] = "east"
    with pytest.raises(ValueError, match=r"column 'a' has 286, the first in row 0 of .*1\.parquet; 'area' has 182"):
        nl.fit(written(data, tmp_path), "y")
    for options in ({"missing": "drop"}, {"missing": "impute"}, {"missing": "impute", "rare": 10}):
        memory, streamed = both(data, tmp_path, nl.Gaussian(), nl.Gaussian(scale=1.0), **options)
        check_same(memory, streamed)
        assert streamed.notes == memory.notes


def test_least_absolute_deviations_are_exact(tmp_path):
    data = table("laplace")[["a", "b", "area", "y"]]
    memory, streamed = both(data, tmp_path, nl.Laplace())
    proof = streamed.certificate
    assert proof.gap < 1e-12
    assert proof.infeasibility < 1e-12
    assert proof.objective == pytest.approx(memory.certificate.objective, rel=1e-13)
    assert set(proof.basis.tolist()) == set(memory.certificate.basis.tolist())


def test_most_targets_alike_have_the_median_as_their_solution(tmp_path):
    data = table("poisson")[["b", "y"]]
    data["y"] = np.where(np.arange(N) % 5 == 0, data.y, 0)
    memory, streamed = both(data, tmp_path, nl.Laplace())
    assert not streamed.coef.any()
    assert streamed.noise.scale == pytest.approx(memory.noise.scale, rel=1e-12)


def test_a_prior_is_learned_from_the_sample(tmp_path):
    data = table("poisson")[["a", "b", "k", "y"]]
    streamed = nl.fit(written(data, tmp_path), "y", nl.Poisson(), nl.Gaussian())
    assert "learned from a sample of" in streamed.message
    again = nl.fit(data, "y", nl.Poisson(), streamed.prior)
    np.testing.assert_allclose(streamed.coef, again.coef, atol=1e-8)


def test_nodes_stand_for_all_rows():
    rng = np.random.default_rng(0)
    y = np.where(rng.random(5000) < 0.4, 0.0, np.exp(rng.normal(0, 3, 5000)))
    p, w = rng.uniform(0.01, 5, 5000), rng.uniform(0, 2, 5000)
    for power in (1.2, 1.5, 1.9):
        for precision in (None, p):
            target = make_target(nl.Tweedie(power=power), y, w, precision)
            nodes = condensed(target, sums_of(target))
            for t in (-2.0, 0.0, 2.0):
                rows, few = target.dispersion().constants(t), nodes.dispersion().constants(t)
                np.testing.assert_allclose(few[:2], rows[:2], rtol=1e-9)
            assert nodes.total() == pytest.approx(target.total(), rel=1e-12)
            assert nodes.middle() == pytest.approx(target.middle(), rel=1e-12)


# ---- errors ----------------------------------------------------------------------------------------------------------


def test_bad_targets_are_found_before_the_fit(tmp_path):
    data = table("poisson")[["a", "y"]]
    data.loc[1500, "y"] = -3
    with pytest.raises(ValueError, match=r"Poisson noise needs counts .* -3.*counted from row \d+ of .*2\.parquet"):
        nl.fit(written(data, tmp_path), "y", nl.Poisson())


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((np.zeros(N),), {}, "y must be the name of a column"),
        (("z",), {}, "y is 'z', but the columns are 'a', 'y', 'area'"),
        (("area",), {}, "y must be a column of numbers"),
        (("y",), {"engine": "spark"}, 'engine must be "dask" or None'),
        (("y", nl.Gaussian(), nl.Flat()), {"tol": 0}, "tol and max_iter must be > 0"),
        (("y", nl.Gaussian(), nl.Flat()), {"missing": "guess"}, "missing must be one of"),
    ],
)
def test_wrong_calls_are_refused(tmp_path, arguments, options, message):
    path = written(table("poisson")[["a", "y", "area"]], tmp_path)
    with pytest.raises((ValueError, TypeError), match=message):
        nl.fit(path, *arguments, **options)


def test_no_rows_are_refused(tmp_path):
    data = table("poisson")[["a", "y"]]
    parquet.write_table(pa.Table.from_pandas(data.iloc[:0], preserve_index=False), tmp_path / "empty.parquet")
    with pytest.raises(ValueError, match="there are no rows"):
        nl.fit(tmp_path / "empty.parquet", "y", nl.Poisson())
    lost = written(data.assign(a=np.nan), tmp_path / "lost")
    with pytest.raises(ValueError, match="no row has all its values"):
        nl.fit(lost, "y", nl.Poisson(), missing="drop")


def test_what_needs_rows_in_memory_says_so(tmp_path):
    streamed = nl.fit(written(table("poisson")[["a", "y"]], tmp_path), "y", nl.Poisson())
    with pytest.raises(ValueError, match="must be in memory"):
        streamed.loo()
    with pytest.raises(ValueError, match="must be in memory"):
        streamed.posterior("nuts")


def test_a_category_with_a_value_for_each_row_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(survey, "MOST_LEVELS", 1000)
    data = table("poisson")[["a", "y"]].assign(id=[f"r{i}" for i in range(N)])
    with pytest.raises(ValueError, match="'id' has more than 1,000 different values; leave it out"):
        nl.fit(written(data, tmp_path), "y", nl.Poisson())


# ---- beside the fit --------------------------------------------------------------------------------------------------


def test_progress_tells_rows_passes_and_nats(tmp_path):
    told = []
    nl.fit(written(table("poisson")[["a", "y"]], tmp_path), "y", nl.Poisson(), progress=told.append)
    assert "pass 1: 2,000 of 2,000 rows" in told
    assert any("pass 3" in text and "nats a row before it" in text for text in told)


def test_a_cache_gives_the_same_answer_without_decoding_again(tmp_path):
    data = table("poisson")[[*NUMBERS, "area", "y", "years"]].copy()
    data.loc[::9, "a"] = np.nan
    path, options = written(data, tmp_path / "data"), {"exposure": "years", "missing": "drop"}
    plain = nl.fit(path, "y", nl.Poisson(), nl.Gaussian(scale=1.0), **options)
    for _ in range(2):
        again = nl.fit(path, "y", nl.Poisson(), nl.Gaussian(scale=1.0), cache=tmp_path / "cache", **options)
        np.testing.assert_allclose(again.coef, plain.coef, atol=1e-10)
        assert again.nll == pytest.approx(plain.nll, rel=1e-12)
    assert len(list((tmp_path / "cache").iterdir())) == 1
    data.loc[0, "y"] = 7
    changed = nl.fit(written(data, tmp_path / "data"), "y", nl.Poisson(), cache=tmp_path / "cache", **options)
    assert len(list((tmp_path / "cache").iterdir())) == 2
    assert changed.n_rows == plain.n_rows


def test_a_cache_that_fails_leaves_nothing(tmp_path, monkeypatch):
    def broken(*_):
        raise OSError("no space left")

    path = written(table("poisson")[["a", "y"]], tmp_path / "data")
    monkeypatch.setattr("neglog.engines.cache.Copy.__call__", broken)
    with pytest.raises(OSError, match="no space left"):
        nl.fit(path, "y", nl.Poisson(), cache=tmp_path / "cache")
    assert not list((tmp_path / "cache").iterdir())


@pytest.mark.parametrize(("noise", "missing"), [("gamma", "error"), ("categorical", "error"), ("gaussian", "drop")])
def test_comparisons_are_those_of_memory(tmp_path, noise, missing):
    data = table(noise)[["a", "b", "area", "y"]].copy()
    if missing == "drop":
        data.loc[5::9, "a"] = np.nan
    options = {"prior": nl.Gaussian(scale=1.0), "folds": 3, "missing": missing}
    memory = nl.compare(data, "y", **options, structures="linear")
    streamed = nl.compare(written(data, tmp_path), "y", **options)
    assert (streamed.refused, streamed.resolution) == (memory.refused, memory.resolution)
    assert streamed.rows == memory.rows == len(data.dropna())
    for one, other in zip(memory.table, streamed.table, strict=True):
        assert one["noise"] == other["noise"]
        for key in ("nats", "error", "worse", "worse_error"):  # fits of folds stop a thousandth of an error away
            assert other[key] == pytest.approx(one[key], rel=1e-4, abs=5e-6)
    assert streamed.conclusion.split(". But")[0] == memory.conclusion.split(". But")[0]


def test_classes_that_are_numbers_are_not_compared_as_something_else(tmp_path):
    with pytest.raises(ValueError, match="for a column of text only"):
        nl.compare(written(table("bernoulli")[["a", "y"]], tmp_path), "y", ["categorical"])


def test_folds_are_even_and_do_not_follow_the_order():
    fold = fold_of(np.arange(100_000), 5)
    assert np.abs(np.bincount(fold) / 20_000 - 1).max() < 0.02
    assert np.abs(np.corrcoef(fold[:-1], fold[1:])[0, 1]) < 0.01
    assert (fold_of(np.arange(10), 5, seed=1) != fold_of(np.arange(10), 5)).any()


def test_predictions_are_written_as_a_whole_directory(tmp_path):
    data = table("poisson")[["a", "area", "y", "years"]]
    path = written(data, tmp_path / "data")
    found = nl.fit(path, "y", nl.Poisson(), exposure="years")
    assert found.predict_to(tmp_path / "out", path, quantiles=[0.9], keep=["y"]) == N
    out = parquet.read_table(tmp_path / "out")
    np.testing.assert_allclose(out["prediction"].to_numpy(), found.predict(data, exposure="years"), rtol=1e-12)
    assert out.column_names == ["y", "prediction", "q0.9"]
    assert out["y"].to_pylist() == data.y.tolist()
    with pytest.raises(FileExistsError, match="already there"):
        found.predict_to(tmp_path / "out", path)
    (tmp_path / "data" / "2.parquet").write_bytes(b"PAR1")
    with pytest.raises(ValueError, match=r"2\.parquet"):
        found.predict_to(tmp_path / "other", path)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["data", "out"]


@pytest.mark.parametrize("noise", [nl.Bernoulli(), nl.Categorical()], ids=str)
def test_separation_is_looked_for_in_all_rows(tmp_path, noise):
    """A sample may be separated where they are not."""
    rng = np.random.default_rng(8)
    x, z = rng.uniform(0.2, 2.0, N) * rng.choice([-1, 1], N), rng.normal(size=N)
    y = (x > 0).astype(int)
    parquet.write_table(pa.table({"x": x, "z": z, "y": y}), tmp_path / "apart.parquet")
    with pytest.warns(nl.ConvergenceWarning, match="There is no maximum of the likelihood: the columns x"):
        nl.fit(tmp_path / "apart.parquet", "y", noise)
    y[1:4] = 1 - y[1:4]  # of which the sample, every fifth row, knows nothing
    parquet.write_table(pa.table({"x": x, "z": z, "y": y}), tmp_path / "mixed.parquet")
    fit = nl.fit(tmp_path / "mixed.parquet", "y", noise)
    assert fit.converged, fit.message
    assert separating_direction(fit._task.in_memory()) is not None
    assert separating_direction(fit._task) is None
