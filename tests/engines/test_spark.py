"""Rows of a Spark dataframe: the fit is that of the same rows in memory, however they are split."""

import shutil
import sys

import numpy as np
import pandas as pd
import pytest

import neglog as nl
from neglog.engines.spark import SparkRows, is_spark
from neglog.evidence.maximum import Maximum

sql = pytest.importorskip("pyspark.sql", reason="Spark is not installed: pip install 'neglog[spark]'")
if shutil.which("java") is None:
    pytest.skip("Spark needs Java, and there is none", allow_module_level=True)

pytestmark = [  # what Spark says of itself, and its older versions' sockets
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
]


@pytest.fixture(scope="module")
def spark():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        settings = {
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",  # it does not live long
            "spark.sql.codegen.wholeStage": "false",
            "spark.sql.shuffle.partitions": "2",
            "spark.sql.execution.arrow.maxRecordsPerBatch": "100",
            "spark.log.level": "OFF",
        }
        session = sql.SparkSession.builder.master("local[2]").config(map=settings).getOrCreate()
        yield session
        session.stop()


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(3)
    n = 1500
    g, x, years = rng.choice(["red", "green", "blue"], n), rng.normal(size=n), rng.uniform(0.5, 2, n)
    y = rng.poisson(years * np.exp(0.3 + 0.4 * x - 0.5 * (g == "red")))
    return pd.DataFrame({"x": x, "a.g": g, "years": years, "y": y})  # Spark takes a dot for a path


def fitted(X):
    return nl.fit(X, "y", nl.Poisson(), nl.Gaussian(scale=0.5), exposure="years", tol=1e-9)


def numbers(fit):
    return np.concatenate([fit.coef, [fit.intercept, fit.nll], fit.standard_errors])


def test_the_fit_is_that_of_the_rows_in_memory(spark, table):
    found, expected = fitted(spark.createDataFrame(table)), fitted(table)
    assert found.names == expected.names
    np.testing.assert_allclose(numbers(found), numbers(expected), rtol=1e-8)


@pytest.mark.parametrize(
    ("y", "noise", "missing"),
    [
        ("y", nl.Poisson(), "error"),
        ("years", nl.Gamma(shape=nl.terms("store", nl.smooth("x", size=5))), "impute"),
    ],
    ids=["counts", "a parameter with terms of its own"],
)
def test_terms_are_those_of_the_rows_in_memory(spark, table, monkeypatch, y, noise, missing):
    monkeypatch.setattr(Maximum.find, "__defaults__", (1e-16, None))  # scales at the very maximum, whatever the start
    rng = np.random.default_rng(1)
    rows = table.assign(store=rng.integers(1, 9, len(table)), late=rng.random(len(table)).astype(np.float32))
    if missing == "impute":
        rows = rows.assign(store=rows.store.astype(float).where(rng.random(len(rows)) < 0.9))
    frame = spark.createDataFrame(rows)
    terms = ["late", nl.smooth("x", size=8), nl.group("a.g"), nl.group("store"), nl.interaction("a.g", "x")]
    given = {"terms": terms, "missing": missing, "tol": 1e-10, "progress": False}
    found, expected = (nl.fit(X, y, noise, **given) for X in (frame, rows))
    assert found.names == expected.names
    assert "store[7]" in found.names
    assert ("store[(missing)]" in found.names) == (missing == "impute")
    np.testing.assert_allclose(found.raw_prediction(rows), expected.raw_prediction(rows), rtol=1e-8, atol=1e-8)
    assert found.nll == pytest.approx(expected.nll, rel=1e-9)
    for name, own in expected.predictors.items():
        for one, other in zip(found.predictors[name].terms, own.terms, strict=True):
            assert (one.name, one.coefficients) == (other.name, other.coefficients)
            assert one.effective == pytest.approx(other.effective, rel=1e-6, abs=1e-6)
            assert one.scale is None or one.scale == pytest.approx(other.scale, rel=1e-6)


def test_sums_do_not_depend_on_the_partitions(spark, table):
    frame = spark.createDataFrame(table)
    few, many = (fitted(frame.repartition(n).cache()) for n in (1, 7))
    np.testing.assert_allclose(numbers(few), numbers(many), rtol=1e-10)


def test_rows_are_numbered_in_the_order_of_partitions(spark):
    source = SparkRows(spark.range(1000, numPartitions=3))
    apart = source.total(
        lambda rows, first: [int(abs(rows["id"].to_numpy() - first - np.arange(len(rows))).max())], ["id"]
    )
    assert source.lengths == [333, 333, 334]
    assert apart == [0] * 12  # of four batches from each partition
    assert source.where(700) == "row 34 of partition 2"


def test_empty_partitions_are_nothing(spark):
    source = SparkRows(spark.range(2, numPartitions=5))
    assert source.total(lambda rows, first: rows.num_rows, ["id"]) == 2
    with pytest.raises(ValueError, match="there are no rows"):
        SparkRows(spark.range(0))


def test_a_target_that_cannot_be_is_named(spark, table):
    wrong = table.assign(y=table.y.where(table.index != 1400, -1))
    with pytest.raises(ValueError, match=r"Poisson.*counted from row \d+ of partition 1"):
        fitted(spark.createDataFrame(wrong))


def test_missing_values_are_named(spark, table):
    wrong = table.assign(x=table.x.where(table.index != 1400))
    with pytest.raises(ValueError, match=r"'x' has 1, the first in row \d+ of partition 1"):
        fitted(spark.createDataFrame(wrong))


def test_an_error_of_the_work_is_the_one_that_is_raised(spark):
    def fail(rows, first):
        raise ZeroDivisionError("at the first row")

    with pytest.raises(ZeroDivisionError, match="at the first row") as raised:
        SparkRows(spark.range(100_000)).total(fail, ["id"])
    assert "in fail" in raised.value.__notes__[0]


def test_partitions_that_change_are_refused(spark):
    source = SparkRows(spark.range(1000, numPartitions=3))
    source.frame = source.frame.repartition(4)
    with pytest.raises(ValueError, match="changed between passes"):
        source.total(lambda rows, first: rows.num_rows, ["id"])


def test_a_frame_of_spark_is_told_from_others(spark, table):
    assert is_spark(spark.range(1))
    assert not is_spark(table)
    with pytest.raises(TypeError, match="Dask"):
        nl.fit(spark.range(1), "id", engine="dask")
    with pytest.raises(ValueError, match="different names"):
        SparkRows(spark.range(1).selectExpr("id", "id"))
