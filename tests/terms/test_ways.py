"""Terms wherever a fit can be asked: any table, files, a cluster, comparisons, estimators, the command line."""

import json
import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from typer.testing import CliRunner

import neglog as nl
from neglog.cli import app
from neglog.comparison import compare_in_pieces
from neglog.engines import files, survey
from neglog.evidence.maximum import Maximum
from neglog.streaming import first_pass

N = 1500
TERMS = ["late", nl.smooth("age", size=8), nl.group("region"), nl.interaction("fuel", nl.smooth("age", size=5)), "fuel"]


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(2)
    frame = pd.DataFrame(
        {
            "age": rng.uniform(18, 80, N),
            "late": rng.random(N).astype(np.float32),
            "fuel": rng.choice(["diesel", "gas"], N),
            "region": rng.choice([f"r{k}" for k in range(9)], N),
            "years": rng.uniform(0.2, 1.0, N),
            "weight": rng.integers(0, 3, N).astype(float),
        }
    )
    level = frame.region.map({f"r{k}": v for k, v in enumerate(rng.normal(0, 0.5, 9))})
    frame["eta"] = np.sin(frame.age / 9) + 0.5 * frame.late + level + 0.3 * (frame.fuel == "gas")
    frame["y"] = frame.eta + np.exp(-1.2 + 0.01 * frame.age) * rng.normal(size=N)
    frame["count"] = rng.poisson(np.exp(frame.eta) * frame.years)
    frame["cost"] = rng.gamma(2, np.exp(frame.eta) / 2)
    frame["yes"] = (rng.random(N) < 1 / (1 + np.exp(-frame.eta))).astype(float)
    frame["class"] = np.where(frame.eta + rng.logistic(size=N) > 1, "high", rng.choice(["low", "mid"], N))
    return frame.drop(columns="eta")


# ---- tables ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make",
    [
        pl.from_pandas,
        lambda table: pa.Table.from_pandas(table, preserve_index=False),
        lambda table: table.astype({"region": "category", "fuel": "category"}),
        lambda table: table.convert_dtypes(),
    ],
    ids=["polars", "arrow", "categories", "nullable"],
)
def test_every_kind_of_table(table, make):
    fit, other = nl.fit(table, "y", terms=TERMS), nl.fit(make(table), "y", terms=TERMS)
    np.testing.assert_allclose(other.coef, fit.coef, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(other.predict(make(table)), fit.predict(table), rtol=1e-9)
    assert other.names == fit.names


# ---- files and clusters ----------------------------------------------------------------------------------------------


@pytest.fixture
def small_pieces(monkeypatch):
    """So that small tables have many pieces; the sample has all rows, so that knots are the same."""
    monkeypatch.setattr(files, "ROWS_AT_ONCE", 150)
    monkeypatch.setattr(files, "ROWS_OF_PIECE", 300)
    monkeypatch.setattr(compare_in_pieces, "ROWS_TO_SHOW", 300)


@pytest.fixture
def to_the_end(monkeypatch):
    """The search of scales goes on as long as the evidence grows, so that its start makes no difference."""
    monkeypatch.setattr(Maximum.find, "__defaults__", (1e-16, None))


@pytest.fixture(scope="module")
def folder(table, tmp_path_factory):
    place = tmp_path_factory.mktemp("rows")
    rows = pa.Table.from_pandas(table, preserve_index=False)
    for k in range(3):
        parquet.write_table(rows.slice(500 * k, 500), place / f"{k}.parquet", row_group_size=170)
    return place


CASES = {
    "gaussian": ("y", nl.Gaussian(), {}),
    "weighted": ("y", nl.Gaussian(), {"sample_weight": "weight"}),
    "a prior of columns": ("y", nl.Gaussian(), {"prior": nl.Gaussian()}),
    "laplace": ("y", nl.Laplace(), {}),
    "poisson": ("count", nl.Poisson(), {"exposure": "years"}),
    "gamma": ("cost", nl.Gamma(), {}),
    "bernoulli": ("yes", nl.Bernoulli(), {}),
    "negative binomial": ("count", nl.NegativeBinomial(), {"exposure": "years"}),
    "student": ("y", nl.StudentT(), {}),
    "huber": ("y", nl.Huber(delta=1.345), {}),
    "categorical": ("class", nl.Categorical(), {}),
    "scale alike": ("y", nl.Gaussian(scale="model"), {}),
    "scale by itself": ("y", nl.Gaussian(scale=nl.terms(nl.smooth("age", size=6), "fuel")), {}),
}


@pytest.mark.parametrize("name", CASES)
def test_files_are_as_memory(name, table, folder, small_pieces, to_the_end):
    y, noise, given = CASES[name]
    memory = nl.fit(table, y, noise, terms=TERMS, tol=1e-9, **given)
    found = nl.fit(str(folder / "*.parquet"), y, noise, terms=TERMS, tol=1e-9, progress=False, **given)
    assert found.names == memory.names
    assert found.converged
    close = 1e-6 if name == "laplace" else 1e-8  # whose search ends where the evidence is flat to rounding
    np.testing.assert_allclose(found.raw_prediction(table), memory.raw_prediction(table), rtol=close, atol=close)
    assert found.nll == pytest.approx(memory.nll, rel=1e-8)
    for predictor, own in memory.predictors.items():
        for mine, other in zip(own.terms, found.predictors[predictor].terms, strict=True):
            assert other.effective == pytest.approx(mine.effective, rel=100 * close, abs=1e-6)
            if isinstance(mine.scale, float):
                assert other.scale == pytest.approx(mine.scale, rel=100 * close)
    if name == "scale by itself":
        np.testing.assert_allclose(found.distribution(table).scale, memory.distribution(table).scale, rtol=1e-8)


def test_rows_without_weight_in_files_change_nothing(table, tmp_path, small_pieces):
    wild = table.assign(age=np.where(table.weight == 0, 1e5, table.age))
    fits = []
    for k, rows in enumerate((table, wild)):
        parquet.write_table(pa.Table.from_pandas(rows, preserve_index=False), tmp_path / f"{k}.parquet")
        fits.append(
            nl.fit(
                str(tmp_path / f"{k}.parquet"), "y", terms=TERMS, sample_weight="weight", engine=None, progress=False
            )
        )
    np.testing.assert_allclose(fits[1].predict(table), fits[0].predict(table), rtol=1e-9)


def test_knots_of_a_sample_lie_between_the_ends_of_all_rows(table, folder, small_pieces, monkeypatch):
    monkeypatch.setattr(first_pass, "SAMPLE_ROWS", 400)
    monkeypatch.setattr(survey, "SAMPLE_ROWS", 400)
    memory = nl.fit(table, "y", terms=TERMS)
    found = nl.fit(str(folder), "y", terms=TERMS, progress=False)
    knots = next(part for part in found.schema.parts if part.name == "s(age)").variables[0].spline.knots
    assert (knots[0], knots[-1]) == (table.age.min(), table.age.max())
    np.testing.assert_allclose(found.predict(table), memory.predict(table), atol=0.15)
    assert found.nll == pytest.approx(memory.nll, rel=1e-2)


def test_predictions_for_files(table, folder, tmp_path):
    fit = nl.fit(table, "y", terms=TERMS)
    assert fit.predict_to(tmp_path / "out", str(folder), keep=["age"], progress=False) == N
    written = pd.read_parquet(tmp_path / "out").sort_values("age")
    np.testing.assert_allclose(written.iloc[:, -1], fit.predict(table.sort_values("age")), rtol=1e-6)


def test_a_cluster_is_as_memory(table, to_the_end):
    distributed = pytest.importorskip("distributed", reason="the cluster, of the extra neglog[dask]")
    dataframes = pytest.importorskip("dask.dataframe", reason="of the extra neglog[dask]")
    settings = {"n_workers": 1, "threads_per_worker": 1, "processes": False, "dashboard_address": ":0"}
    with distributed.LocalCluster(**settings) as cluster, distributed.Client(cluster):
        rows = dataframes.from_pandas(table, npartitions=4)
        found = nl.fit(rows, "count", nl.Poisson(), terms=TERMS, exposure="years", progress=False, tol=1e-9)
    memory = nl.fit(table, "count", nl.Poisson(), terms=TERMS, exposure="years", tol=1e-9)
    np.testing.assert_allclose(found.raw_prediction(table), memory.raw_prediction(table), rtol=1e-8, atol=1e-8)


# ---- comparisons -----------------------------------------------------------------------------------------------------


def test_comparisons_of_noises_over_terms(table, folder, small_pieces):
    used = table[["age", "late", "fuel", "region", "count"]]
    terms = ["late", nl.smooth("age"), nl.group("region")]
    found = nl.compare(used, "count", ["poisson", "negativebinomial"], terms=terms, folds=3)
    plain = nl.compare(used, "count", ["poisson", "negativebinomial"], folds=3)
    assert found.table[0]["nats"] < plain.table[0]["nats"]
    assert "s(age)" in [term.name for term in found.fit.terms]
    assert "nl.smooth('age')" in found.call
    again = eval(found.call, {"nl": nl, "X": used})
    np.testing.assert_allclose(again.predict(used), found.fit.predict(used), rtol=1e-6)
    streamed = nl.compare(str(folder), "count", ["poisson", "negativebinomial"], terms=terms, folds=3, progress=False)
    assert streamed.table[0]["nats"] == pytest.approx(found.table[0]["nats"], rel=1e-2)


# ---- estimators ------------------------------------------------------------------------------------------------------


def test_estimators(table):
    X = table[["age", "late", "fuel", "region"]]
    model = nl.Regressor("gaussian", terms=TERMS)
    again = clone(model)
    assert again.get_params()["terms"] == TERMS
    fit = nl.fit(X, table.y, terms=TERMS)
    np.testing.assert_array_equal(again.fit(X, table.y).predict(X), fit.predict(X))
    assert [term.name for term in again.fit_.terms] == [term.name for term in fit.terms]
    smooth, plain = (
        cross_val_score(nl.Regressor("gaussian", terms=terms), X, table.y, cv=3).mean() for terms in ("smooth", None)
    )
    assert smooth > plain + 0.1
    chosen = GridSearchCV(nl.Regressor("poisson"), {"terms": [None, "smooth"]}, cv=3).fit(X, table["count"])
    assert chosen.best_params_ == {"terms": "smooth"}
    for target in ("yes", "class"):
        classes = nl.Classifier(terms=["late", nl.smooth("age"), nl.group("region")]).fit(X, table[target])
        p = classes.predict_proba(X)
        np.testing.assert_allclose(p.sum(axis=1), 1.0)
        assert classes.score(X, table[target]) > (table[target].value_counts(normalize=True).max() - 0.01)
        assert clone(classes).get_params()["terms"] == classes.terms


# ---- the command line ------------------------------------------------------------------------------------------------


def run(*arguments):
    done = CliRunner().invoke(app, [str(one) for one in arguments])
    assert done.exit_code == 0, done.output
    return done.output


@pytest.fixture
def data(table, tmp_path):
    path = tmp_path / "policies.parquet"
    rows = table[["age", "late", "fuel", "region", "years", "count"]]
    parquet.write_table(pa.Table.from_pandas(rows, preserve_index=False), path)
    return path


def test_the_command_line_takes_terms(data, table, tmp_path):
    model = tmp_path / "model.json"
    stated = ["--smooth", "age", "--group", "region", "--interaction", "fuel:age"]
    given = ["--target", "count", "--exposure", "years"]
    text = run("fit", data, *given, "--noise", "poisson", *stated, "--save", model)
    assert "s(age)" in text
    assert "(1|region)" in text
    terms = ["late", "fuel", nl.smooth("age"), nl.group("region"), nl.interaction("fuel", nl.smooth("age"))]
    columns = [*table.columns[:5], "count"]
    fit = nl.fit(table[columns], "count", nl.Poisson(), terms=terms, exposure="years")
    loaded = nl.load(model)
    np.testing.assert_allclose(loaded.predict(table), fit.predict(table), rtol=1e-6)
    shown = run("explain", model)
    assert "region[r3]" in shown
    assert "as factors" in shown
    out = tmp_path / "out.csv"
    run("predict", model, data, "--output", out)
    np.testing.assert_allclose(pd.read_csv(out).iloc[:, 0], fit.predict(table), rtol=1e-5)
    compared = run("compare", data, *given, "--noise", "poisson,gaussian", "--folds", 3, *stated)
    assert "Poisson" in compared
    found = json.loads(run("compare", data, *given, "--noise", "poisson", "--folds", 3, "--smooth", "auto", "--json"))
    assert found


@pytest.mark.parametrize(
    ("stated", "said"),
    [
        (["--interaction", "age"], "pairs such as age:fuel, but one is 'age'"),
        (["--smooth", "power"], "terms name the columns 'power'"),
        (["--smooth", "auto", "--group", "region"], "--smooth auto chooses all terms"),
        (["--smooth", "region"], r"'region' holds categories; take group\('region'\)"),
    ],
)
def test_the_command_line_says_what_is_wrong(data, stated, said):
    done = CliRunner().invoke(app, ["fit", str(data), "--target", "count", "--noise", "poisson", *stated])
    assert done.exit_code
    assert re.search(said, str(done.exception) + done.output)


@pytest.mark.parametrize("prior", [nl.Gaussian(scale=0.02), nl.Laplace(scale=0.01)], ids=repr)
def test_a_stated_prior_holds_columns_that_are_stated_as_terms(table, tmp_path, prior):
    """Of columns as they are, terms are what every column is without them: in memory and in files."""
    rows = pa.Table.from_pandas(table[["late", "age", "fuel", "count"]])
    plain = nl.fit(rows, "count", nl.Poisson(), prior)
    parquet.write_table(rows.slice(0, 700), tmp_path / "0.parquet")
    parquet.write_table(rows.slice(700), tmp_path / "1.parquet")
    for X in (rows, str(tmp_path)):
        stated = nl.fit(X, "count", nl.Poisson(), prior, terms=["late", "age", "fuel"])
        np.testing.assert_allclose(stated.coef, plain.coef, atol=1e-7)
        if isinstance(prior, nl.Gaussian):  # without kinks, at which an error is none
            np.testing.assert_allclose(stated.standard_errors, plain.standard_errors, rtol=1e-5)
