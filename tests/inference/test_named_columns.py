"""Offset and exposure that were named at the fit are taken from the table at prediction, wherever one predicts."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from pyarrow import Table as Arrow
from pyarrow import csv, parquet

import neglog as nl

NAMED = {"exposure": "years", "offset": "known"}


def table(n=200, seed=0):
    rng = np.random.default_rng(seed)
    data = pd.DataFrame({"age": rng.normal(size=n), "area": rng.choice(["land", "town"], n)})
    data["years"], data["known"] = rng.uniform(0.2, 3, n), rng.normal(size=n)
    return data.assign(claims=rng.poisson(data.years * np.exp(data.known + 0.4 * data.age)))


def fits(tmp_path):
    """The same fit by every way to one, with its prediction by hand."""
    data = table()
    found = nl.fit(data, "claims", nl.Poisson(), **NAMED)
    found.save(tmp_path / "fit.json")
    yield "fit", found
    yield "polars", nl.fit(pl.from_pandas(data), "claims", nl.Poisson(), **NAMED)
    yield "loaded", nl.load(tmp_path / "fit.json")
    yield "formula", nl.fit(data, "claims ~ age + area", nl.Poisson(), **NAMED)
    yield "compare", nl.compare(data, "claims", ["poisson"], nl.Flat(), folds=2, **NAMED).fit
    parquet.write_table(Arrow.from_pandas(data, preserve_index=False), tmp_path / "rows.parquet")
    yield "files", nl.fit(tmp_path / "rows.parquet", "claims", nl.Poisson(), **NAMED)


def by_hand(found, data):
    eta = found.intercept + found.coef[0] * data.age + found.coef[1] * (data.area == "town") + data.known
    return (data.years * np.exp(eta)).to_numpy()


def test_each_fit_predicts_with_them(tmp_path):
    data = table(seed=1)
    for name, found in fits(tmp_path):
        mean = by_hand(found, data)
        np.testing.assert_allclose(found.predict(data), mean, rtol=1e-12, err_msg=name)
        np.testing.assert_allclose(found.distribution(data).mean(), mean, rtol=1e-12)
        np.testing.assert_allclose(found.raw_prediction(data), np.log(mean), rtol=1e-9)
        np.testing.assert_allclose(found.predict(data, exposure=1.0), mean / data.years, rtol=1e-12)
        np.testing.assert_allclose(found.predict(data.drop(columns="years"), exposure=data.years), mean, rtol=1e-12)
        np.testing.assert_allclose(found.predict(data, offset="age"), mean * np.exp(data.age - data.known), rtol=1e-12)


def test_a_table_that_lacks_them_is_refused(tmp_path):
    for _, found in fits(tmp_path):
        for ask in (found.predict, found.distribution, found.raw_prediction):
            with pytest.raises(ValueError, match=r"took its exposure from the column 'years'.*has only 'age'"):
                ask(table().drop(columns="years"))
            with pytest.raises(ValueError, match=r"took its offset from the column 'known'.*say offset="):
                ask(table().drop(columns="known"))


def test_an_array_cannot_have_them():
    found = nl.fit(table().drop(columns="area"), "claims", nl.Poisson(), exposure="years")
    with pytest.raises(ValueError, match="not a table with named columns"):
        found.predict(np.zeros((2, 2)))
    assert found.predict(np.zeros((2, 2)), exposure=[1.0, 2.0])[1] == pytest.approx(2 * np.exp(found.intercept))


@pytest.mark.parametrize("method", ["laplace", "nuts"])
def test_posteriors_predict_with_them(method):
    data = table()
    options = {} if method == "laplace" else {"draws": 500, "tune": 150, "chains": 2, "rng": 1, "progress": False}
    posterior = nl.fit(data, "claims", nl.Poisson(), **NAMED).posterior(method, **options)
    given = {what: data[name] for what, name in NAMED.items()}
    np.testing.assert_allclose(posterior.predictive(data).mean(), posterior.predictive(data, **given).mean(), rtol=1e-9)
    with pytest.raises(ValueError, match="'years'"):
        posterior.predictive(data.drop(columns="years"))


def test_estimators_predict_with_them():
    data = table()
    X = data.drop(columns="claims")
    model = nl.Regressor("poisson", "gaussian(scale=10)").fit(X, data.claims, **NAMED)
    mean = by_hand(nl.fit(data, "claims", nl.Poisson(), nl.Gaussian(scale=10.0), **NAMED), data)
    assert model.fit_.names == ("age", "area[land]", "area[town]")
    assert model.predict(X).shape == mean.shape
    np.testing.assert_allclose(model.predict(X), model.predict(X, exposure=data.years, offset=data.known), rtol=1e-12)
    assert model.score(X, data.claims) == pytest.approx(-np.mean(model.predict_distribution(X).nll(data.claims)))


def test_files_and_the_command_line_predict_with_them(tmp_path):
    from typer.testing import CliRunner

    from neglog.cli import app

    data, (_, found) = table(seed=1), next(fits(tmp_path))
    mean = by_hand(found, data)
    rows, lacking = tmp_path / "new.parquet", tmp_path / "lacking.parquet"
    parquet.write_table(Arrow.from_pandas(data, preserve_index=False), rows)
    parquet.write_table(Arrow.from_pandas(data.drop(columns="years"), preserve_index=False), lacking)
    found.predict_to(tmp_path / "out", rows)
    np.testing.assert_allclose(parquet.read_table(tmp_path / "out")["prediction"], mean, rtol=1e-12)
    done = CliRunner().invoke(app, ["predict", f"{tmp_path}/fit.json", str(rows), "-o", f"{tmp_path}/new.csv"])
    assert done.exit_code == 0
    np.testing.assert_allclose(csv.read_csv(tmp_path / "new.csv")["prediction"], mean, rtol=1e-9)
    with pytest.raises(ValueError, match="lacks the columns 'years'"):
        found.predict_to(tmp_path / "other", lacking)
    done = CliRunner().invoke(app, ["predict", f"{tmp_path}/fit.json", str(lacking)])
    assert "lacks the columns 'years'" in str(done.exception)
