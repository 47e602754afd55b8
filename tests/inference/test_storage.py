"""Fits are kept without their data."""

import json
import pickle

import numpy as np
import pytest

import neglog as nl


@pytest.fixture
def rows():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(200, 3))
    return X, np.exp(0.3 + X @ [0.5, -0.2, 0.0]), rng


def fits(rows):
    X, mean, rng = rows
    net = nl.Gaussian(scale=[1.0, 2.0, np.inf]) * nl.Laplace(scale=0.2)
    yield nl.fit(X, rng.gamma(2.0, mean / 2), nl.Gamma(), net)
    yield nl.fit(X, rng.poisson(mean), nl.Poisson(link="sqrt"))
    yield nl.fit(X, np.array(["no", "yes", "maybe"])[rng.integers(0, 3, 200)], nl.Categorical(), nl.Gaussian(scale=1.0))
    yield nl.fit(X, mean + rng.laplace(size=200), nl.Laplace(), intercept=False)


def same(kept, fit, X):
    np.testing.assert_array_equal(kept.coef, fit.coef)
    np.testing.assert_array_equal(kept.predict(X), fit.predict(X))
    np.testing.assert_array_equal(kept.standard_errors, fit.standard_errors)
    for name in ("noise", "prior", "names", "message", "converged", "nll", "penalty", "aic", "bic", "d2"):
        assert getattr(kept, name) == getattr(fit, name), name
    assert str(kept.summary()) == str(fit.summary())


def test_a_saved_fit_is_the_same(rows, tmp_path):
    for fit in fits(rows):
        fit.save(tmp_path / "fit.json")
        same(nl.load(tmp_path / "fit.json"), fit, rows[0])
        assert [path.name for path in tmp_path.iterdir()] == ["fit.json"]


def test_a_pickled_fit_is_the_same(rows):
    for fit in fits(rows):
        same(pickle.loads(pickle.dumps(fit)), fit, rows[0])


def test_tables_are_read_in_the_same_order_after_loading(tmp_path):
    pandas = pytest.importorskip("pandas", reason="a table to fit")
    table = pandas.DataFrame({"colour": list("aabbcc") * 5, "size": np.arange(30.0), "y": np.arange(30) % 7})
    fit = nl.fit(table, "y", nl.Poisson(), nl.Gaussian(scale=1.0))
    fit.save(tmp_path / "fit.json")
    kept = nl.load(tmp_path / "fit.json")
    assert kept.names == ("colour[a]", "colour[b]", "colour[c]", "size")
    np.testing.assert_array_equal(kept.predict(table[["size", "colour"]]), fit.predict(table))


def test_other_files_are_refused(tmp_path):
    path = tmp_path / "other.json"
    path.write_text(json.dumps({"neglog fit": 99}))
    with pytest.raises(ValueError, match="99"):
        nl.load(path)


def test_a_file_that_cannot_be_written_leaves_nothing(rows, tmp_path):
    fit = next(fits(rows))
    with pytest.raises(OSError, match="missing"):
        fit.save(tmp_path / "missing" / "fit.json")
    assert not list(tmp_path.iterdir())
