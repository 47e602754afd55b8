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


@pytest.fixture
def stored(rows, tmp_path):
    X, mean, rng = rows
    fit = nl.fit(X, rng.poisson(mean), nl.Poisson(), nl.Gaussian(scale=1.0))
    fit.save(tmp_path / "fit.json")
    return json.loads((tmp_path / "fit.json").read_text())


def changed(stored, *where, to):
    part = stored
    for name in where[:-1]:
        part = part[name]
    part[where[-1]] = to


@pytest.mark.parametrize(
    ("where", "to", "message"),
    [
        (("noise", "family"), "__import__('os')", "noise.family must be one of"),
        (("noise", "family"), "Belief", "noise.family must be one of"),
        (("noise", "shape"), 1.0, "not a sound fit"),
        (("noise", "link"), "wild", "wild"),
        (("prior",), {"product": [1]}, "prior.product must be two distributions"),
        (("prior", "scale"), "1", "not a sound fit"),
        (("values", "coef"), {"array": [[1.0], [1.0, 2.0]]}, "values.coef must be an array"),
        (("values", "coef"), {"array": [1.0, 2.0]}, "2 coefficients and 3 standard errors for 3 columns"),
        (("values", "predict"), "code", "has unknown entries predict"),
        (("values", "_task"), {}, "has unknown entries _task"),
        (("values", "converged"), 1, "values.converged must be true or false, but is 1"),
        (("values", "n_rows"), -1, "values.n_rows must be a count"),
        (("schema", "names"), ["a"], "must have one entry for each of its columns"),
        (("schema",), [], "'schema' must be an object"),
        (("extra",), 1, "it has unknown parts: extra"),
        (("information", "noise"), {"power": "1"}, "information.noise must be numbers by name"),
    ],
)
def test_hostile_files_are_refused(stored, tmp_path, where, to, message):
    changed(stored, *where, to=to)
    path = tmp_path / "hostile.json"
    path.write_text(json.dumps(stored))
    with pytest.raises(ValueError, match=r"hostile\.json") as caught:
        nl.load(path)
    assert message in str(caught.value)


def test_files_that_were_cut_short_are_refused(stored, tmp_path):
    whole = json.dumps(stored)
    path = tmp_path / "cut.json"
    for share in (0.0, 0.1, 0.5, 0.99):
        path.write_text(whole[: int(share * len(whole))])
        with pytest.raises(ValueError, match="it is no complete JSON file"):
            nl.load(path)
    path.write_text("[" * 100_000)
    with pytest.raises(ValueError, match="it is no complete JSON file"):
        nl.load(path)
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ValueError, match="it is no complete JSON file"):
        nl.load(path)
