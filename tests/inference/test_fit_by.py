"""Fits by group: what goes wrong in one group stays there; what comes back can be asked, kept and sent."""

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import neglog as nl


def table(groups=4, rows=30, seed=0):
    rng = np.random.default_rng(seed)
    n = groups * rows
    store = rng.permutation(np.repeat([f"s{k}" for k in range(groups)], rows))
    x, colour = rng.normal(size=n), rng.choice(["blue", "green", "red"], n)
    mean = np.exp(0.5 + 0.3 * x + 0.4 * (colour == "red") + 0.1 * np.char.count(store, "1"))
    return pd.DataFrame({"store": store, "x": x, "colour": colour, "years": rng.uniform(0.5, 2, n)}).assign(
        sales=lambda t: rng.poisson(mean * t["years"]).astype(float)
    )


def quietly(*arguments, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", nl.ConvergenceWarning)
        return nl.fit_by(*arguments, **options)


def with_rows(data, store, **columns):
    """A table with one more group."""
    size = max(len(values) for values in columns.values())
    rng = np.random.default_rng(1)
    more = {"x": rng.normal(size=size), "colour": rng.choice(["blue", "green", "red"], size), "years": np.ones(size)}
    return pd.concat([data, pd.DataFrame({"store": store, **more, **columns})], ignore_index=True)


# ---- tables ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("library", [pd.DataFrame, pl.from_pandas, pa.Table.from_pandas])
def test_tables_of_every_library(library):
    data = table()
    fits = nl.fit_by(library(data), "sales", nl.Poisson(), by="store", exposure="years")
    assert fits.groups == ("s0", "s1", "s2", "s3")
    assert fits.names == ("x", "colour[green]", "colour[red]")
    for k, store in enumerate(fits.groups):
        own = data[data["store"] == store].drop(columns="store")
        alone = nl.fit(own, "sales", nl.Poisson(), exposure="years")
        np.testing.assert_allclose(fits.coef[k], alone.coef, atol=1e-6)
        np.testing.assert_allclose(fits.predict(library(data))[data["store"] == store], alone.predict(own), rtol=1e-5)


def test_several_columns_tell_the_groups():
    data = table()
    fits = nl.fit_by(data, "sales", nl.Poisson(), by=["store", "colour"])
    assert fits.groups[:2] == (("s0", "blue"), ("s0", "green"))
    assert len(fits) == 12
    assert fits.names == ("x", "years")
    own = data[(data["store"] == "s2") & (data["colour"] == "red")]
    alone = nl.fit(own[["x", "years"]], own["sales"].to_numpy(), nl.Poisson())
    np.testing.assert_allclose(fits.coef[fits.groups.index(("s2", "red"))], alone.coef, atol=1e-6)
    np.testing.assert_allclose(fits.predict(own), alone.predict(own[["x", "years"]]), rtol=1e-5)


@pytest.mark.parametrize(
    "labels",
    [
        np.array([7, 7, 3, 3, 3, 7]),
        np.array([7.0, 7.0, 3.0, 3.0, 3.0, 7.0]),
        np.array([10**18, 10**18, -5, -5, -5, 10**18]),
        np.array([200, 200, 3, 3, 3, 200], np.uint8),
        np.array([120, 120, -128, -128, -128, 120], np.int8),
        ["b", "b", "a", "a", "a", "b"],
        pd.Series(["b", "b", "a", "a", "a", "b"], dtype="category"),
        np.array([True, True, False, False, False, True]),
        pd.to_datetime(["2025-01-02"] * 2 + ["2025-01-01"] * 3 + ["2025-01-02"]).to_numpy(),
        pl.Series(["b", "b", "a", "a", "a", "b"]),
    ],
)
def test_labels_of_every_kind(labels):
    x, y = np.arange(6.0)[:, None] ** 2, np.array([1.0, 2.0, 1.0, 5.0, 2.0, 3.0])
    fits = nl.fit_by(x, y, by=labels)
    alone = [nl.fit(x[rows], y[rows]) for rows in ([2, 3, 4], [0, 1, 5])]
    np.testing.assert_allclose(fits.coef[:, 0], [fit.coef[0] for fit in alone], rtol=1e-9)
    np.testing.assert_allclose(fits.predict(x, by=labels)[[2, 3, 4]], alone[0].predict(x[[2, 3, 4]]))


def test_levels_are_those_of_all_rows():
    data = with_rows(table(), "one colour", colour=["red"] * 20, sales=np.arange(20.0) % 5)
    fits = nl.fit_by(data, "sales", nl.Poisson(), by="store")
    own = fits["one colour"]
    assert own["colour[red]"] == own["colour[green]"] == 0
    assert "colour[red]" in own["message"]
    assert "not vary" in own["message"]
    assert own["converged"]
    alone = data[data["store"] == "one colour"]
    single = nl.fit(alone[["x"]], alone["sales"].to_numpy(), nl.Poisson())
    np.testing.assert_allclose(own["x"], single.coef[0], atol=1e-6)
    np.testing.assert_allclose(own["intercept"], single.intercept, atol=1e-6)


def test_columns_that_do_not_vary_are_where_their_prior_is():
    x = np.column_stack([np.random.default_rng(0).normal(size=40), np.repeat([2.0, 5.0], 20)])
    y, by = 1 + x[:, 0] + np.random.default_rng(1).normal(size=40), np.repeat([0, 1], 20)
    prior = nl.Gaussian(loc=np.array([0.0, 0.7]), scale=np.array([1.0, 0.5]))
    fits = nl.fit_by(x, y, nl.Gaussian(scale=1.0), prior, by=by)
    for group in (0, 1):
        alone = nl.fit(x[by == group], y[by == group], nl.Gaussian(scale=1.0), prior)
        np.testing.assert_allclose(fits.coef[group], alone.coef, atol=1e-9)
        np.testing.assert_allclose(fits.intercept[group], alone.intercept, atol=1e-9)
        np.testing.assert_allclose(fits.standard_errors[group], alone.standard_errors, rtol=1e-9)
        np.testing.assert_allclose(fits.intercept_standard_errors[group], alone.intercept_standard_error, rtol=1e-9)
    assert fits.coef[0, 1] == 0.7


@pytest.mark.parametrize("rows", [1, 7, 8, 255, 256, 257, 700])
@pytest.mark.parametrize("order", ["C", "F"])
def test_groups_of_all_sizes(rows, order):
    """Panels have 256 rows."""
    rng = np.random.default_rng(rows)
    sizes = [rows, 20, 2 * rows]
    by = np.repeat([0, 1, 2], sizes)
    X = np.asarray(rng.normal(size=(sum(sizes), 5)), order=order, dtype=np.float32)
    y = rng.poisson(np.exp(0.5 + 0.2 * X[:, 0])).astype(np.float32)
    fits = quietly(X, y, nl.Poisson(), nl.Gaussian(scale=0.5), by=by)
    for group in range(3):
        alone = nl.fit(X[by == group], y[by == group], nl.Poisson(), nl.Gaussian(scale=0.5))
        np.testing.assert_allclose(fits.coef[group], alone.coef, atol=1e-6)


def test_answers_are_the_same_for_any_number_of_threads(monkeypatch):
    rng = np.random.default_rng(0)
    X, by = rng.normal(size=(40_000, 4)), rng.integers(0, 1000, 40_000)
    y = rng.negative_binomial(2, 0.3, 40_000).astype(float)
    found = []
    for threads in ("1", "2", "3"):
        monkeypatch.setenv("NEGLOG_NUM_THREADS", threads)
        fits = quietly(X, y, nl.NegativeBinomial(), by=by)
        found.append((fits.coef, fits.noise_parameters["dispersion"], fits.standard_errors, fits.nll))
    for other in found[1:]:
        for one, same in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(one, same)


def test_a_group_does_not_depend_on_the_others():
    data = table(6)
    whole = nl.fit_by(data, "sales", nl.NegativeBinomial(), by="store", exposure="years")
    part = nl.fit_by(data[data["store"] > "s2"], "sales", nl.NegativeBinomial(), by="store", exposure="years")
    np.testing.assert_array_equal(whole.coef[3:], part.coef)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("noise", [nl.StudentT(), nl.Huber(), nl.NegativeBinomial()])
def test_heavy_tails_end_where_a_single_fit_ends(noise, weighted):
    """Of several optima, the same one."""
    rng = np.random.default_rng(5)
    by, n = rng.permutation(np.repeat(np.arange(60), 25)), 1500
    X = rng.normal(size=(n, 2))
    counts = rng.poisson(np.exp(0.3 * X[:, 0]) * rng.gamma(0.7, 1 / 0.7, n)).astype(float)
    y = counts if noise.measure == "mass" else 0.3 * X[:, 0] + rng.standard_t(1.5, size=n)
    weight = rng.integers(1, 3, n).astype(float) if weighted else None
    fits = quietly(X, y, noise, by=by, sample_weight=weight)
    worse = 0
    for group in range(60):
        rows = by == group
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", nl.ConvergenceWarning)
            alone = nl.fit(X[rows], y[rows], noise, sample_weight=None if weight is None else weight[rows])
        worse += fits.nll[group] > alone.nll + 1e-6
    assert worse <= 1


def test_columns_with_the_names_of_results():
    fits = nl.fit_by(pd.DataFrame({"rows": LABELS, "nll": ROWS[:, 0], "y": COUNTS}), "y", nl.Poisson(), by="rows")
    found = fits.table()
    assert found["rows"] == ["a", "b"]
    assert found["rows of fit"].tolist() == [20, 20]
    np.testing.assert_array_equal(found["nll effect"], fits.coef[:, 0])


# ---- what fails ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("columns", "noise", "sentence"),
    [
        ({"sales": [1.0] * 20}, nl.Gaussian(), "passes through every point"),
        ({"sales": [1.0, 2.0]}, nl.Gaussian(), "passes through every point"),
        ({"sales": [0.0] * 20}, nl.Poisson(), "every y is 0"),
        ({"sales": [0.0] * 18 + [1.0, 0.0], "x": [0.0] * 18 + [1.0, 0.0]}, nl.Poisson(), "separate"),
        ({"sales": [0.0] * 20}, nl.NegativeBinomial(), "separate"),
        ({"sales": [1.0] * 19 + [-1.0]}, nl.Poisson(), "needs counts"),
        ({"sales": [1.0] * 19 + [0.5]}, nl.Poisson(), "needs counts"),
        ({"sales": [1.0, 3.0] * 9 + [2.0, np.nan]}, nl.Poisson(), "y has no value in 1 of its 20 rows"),
        ({"sales": [1.0, 3.0] * 10, "x": [1.0] * 19 + [np.nan]}, nl.Poisson(), "'x'"),
        ({"sales": [1.0, 3.0] * 10, "x": [1.0] * 19 + [np.inf]}, nl.Poisson(), "infinite"),
        ({"sales": [1.0, 3.0] * 10, "colour": ["red"] * 19 + [None]}, nl.Poisson(), "'colour' has no value"),
        ({"sales": [1.0, 3.0] * 9 + [2.0, np.inf]}, nl.Gaussian(), "finite"),
    ],
)
def test_what_fails_stays_in_its_group(columns, noise, sentence):
    data = table()
    with pytest.warns(nl.ConvergenceWarning, match="1 did not converge. The first is 'bad'"):
        fits = nl.fit_by(with_rows(data, "bad", **columns), "sales", noise, by="store")
    place = fits.groups.index("bad")
    assert not fits.converged[place]
    assert sentence in fits.message[place]
    assert sentence in str(fits)
    others = nl.fit_by(data, "sales", noise, by="store")
    rest = np.arange(len(fits)) != place
    assert fits.converged[rest].all()
    np.testing.assert_array_equal(fits.coef[rest], others.coef)
    np.testing.assert_array_equal(fits.nll[rest], others.nll)


def test_separated_classes_are_told_apart_from_others():
    x = np.random.default_rng(0).normal(size=(80, 1))
    y = np.where(np.arange(80) < 40, x[:, 0] > 0, np.arange(80) % 2).astype(float)
    fits = quietly(x, y, nl.Bernoulli(), by=np.repeat([0, 1], 40))
    assert fits.converged.tolist() == [False, True]
    assert "separate" in fits.message[0]
    held = nl.fit_by(x, y, nl.Bernoulli(), nl.Gaussian(scale=1.0), by=np.repeat([0, 1], 40))
    assert held.converged.all()


def test_rows_without_weight_touch_nothing():
    data = table()
    weight = (np.arange(len(data)) % 3 > 0) * 2.0
    fits = nl.fit_by(data, "sales", nl.Poisson(), by="store", sample_weight=weight)
    kept = data[weight > 0]
    alone = nl.fit_by(kept, "sales", nl.Poisson(), by="store", sample_weight=weight[weight > 0])
    np.testing.assert_allclose(fits.coef, alone.coef, rtol=1e-12)
    none = np.where(data["store"] == "s1", 0.0, 1.0)
    fits = quietly(data, "sales", nl.Poisson(), by="store", sample_weight=none)
    assert "zero in every row" in fits.message[1]
    assert fits.converged.tolist() == [True, False, True, True]


def test_missing_values_may_be_dropped_or_imputed():
    data = table()
    data.loc[data.index[:40], "x"] = np.nan
    data.loc[data["store"] == "s3", "sales"] = np.nan
    dropped = quietly(data, "sales", nl.Poisson(), by="store", missing="drop")
    assert dropped.converged.tolist() == [True, True, True, False]
    assert "lacks a value" in dropped.message[3]
    alone = nl.fit(data[data["store"] == "s0"].drop(columns="store"), "sales", nl.Poisson(), missing="drop")
    np.testing.assert_allclose(dropped.coef[0], alone.coef, atol=1e-6)
    imputed = quietly(data, "sales", nl.Poisson(), by="store", missing="impute")
    assert "x missing" in imputed.names
    assert "has no value in 30 of its 30 rows" in imputed.message[3]


ROWS = np.random.default_rng(0).normal(size=(40, 2))
COUNTS = np.arange(40) % 4 + 0.0
LABELS = ["a", "b"] * 20


@pytest.mark.parametrize(
    ("changed", "kind", "sentence"),
    [
        ({"y": -COUNTS - 1}, ValueError, "needs counts"),
        ({"by": None}, TypeError, "by must be"),
        ({"by": LABELS[:-1]}, ValueError, "39 for 40 rows"),
        ({"by": "store"}, TypeError, "not a table"),
        ({"by": [None, *LABELS[1:]]}, ValueError, "by has no value in 1 of 40 rows, the first is row 0"),
        ({"noise": nl.Categorical()}, ValueError, "for each class"),
        ({"noise": nl.Gaussian(scale="model")}, ValueError, "modelled"),
        ({"noise": nl.AsymmetricLaplace(quantile=[0.1, 0.9])}, ValueError, "several quantiles"),
        ({"noise": "poisson"}, TypeError, "noise must be"),
        ({"prior": 1.0}, TypeError, "prior must be"),
        ({"max_iter": 0}, ValueError, "max_iter"),
        ({"missing": "ignore"}, ValueError, "missing must be"),
        ({"y": "y ~ x"}, ValueError, "formula"),
        ({"sample_weight": -np.ones(40)}, ValueError, "sample_weight"),
        ({"sample_weight": np.zeros(40)}, ValueError, "zero in every row"),
        ({"noise": nl.Laplace(), "prior": nl.Laplace()}, ValueError, "leave-one-out"),
        ({"noise": nl.Gaussian(), "exposure": np.ones(40)}, ValueError, "log link"),
        ({"prior": nl.Gaussian(scale=np.ones(3))}, ValueError, "one per coefficient"),
        ({"noise": nl.Huber(scale="mad")}, ValueError, "is settled together with the coefficients by nl.fit"),
    ],
)
def test_what_is_wrong_for_all_is_refused(changed, kind, sentence):
    arguments = {"X": ROWS, "y": COUNTS, "noise": nl.Poisson(), "by": LABELS, **changed}
    with pytest.raises(kind, match=sentence):
        nl.fit_by(arguments.pop("X"), arguments.pop("y"), **arguments)


def test_columns_that_are_not_there_are_refused():
    data = table()
    with pytest.raises(ValueError, match="did you mean 'store'"):
        nl.fit_by(data, "sales", by="stores")
    data.loc[3, "store"] = None
    with pytest.raises(ValueError, match="'store' of by has no value in 1 of 120 rows, the first is row 3"):
        nl.fit_by(data, "sales", by="store")
    assert nl.fit_by(data, "sales", nl.Poisson(), by="store", missing="drop").n_rows.sum() == 119


# ---- predictions -----------------------------------------------------------------------------------------------------


def test_new_rows_go_to_their_groups():
    data = table()
    fits = nl.fit_by(data, "sales", nl.NegativeBinomial(), by="store", exposure="years")
    mixed = data.sample(frac=1.0, random_state=0)
    law = fits.distribution(mixed)
    np.testing.assert_allclose(law.mean(), fits.predict(mixed))
    own = fits.noise_parameters["dispersion"][[fits.groups.index(store) for store in mixed["store"]]]
    np.testing.assert_array_equal(law.dispersion, own)
    total = np.bincount([fits.groups.index(store) for store in mixed["store"]], law.nll(mixed["sales"].to_numpy()))
    np.testing.assert_allclose(total, fits.nll, rtol=1e-9)
    twice = fits.predict(mixed, exposure=2 * mixed["years"].to_numpy())
    np.testing.assert_allclose(twice, 2 * fits.predict(mixed))


def test_groups_that_nobody_has_seen_are_refused():
    data = table()
    fits = nl.fit_by(data, "sales", nl.Poisson(), by="store")
    other = data.assign(store=np.where(data["x"] > 0, data["store"], "new"))
    count = int(np.sum(data["x"] <= 0))
    with pytest.raises(ValueError, match=f"{count} of 120 rows are of groups .* the first is 'new'"):
        fits.predict(other)
    bad = quietly(with_rows(data, "bad", sales=[-1.0] * 20), "sales", nl.Poisson(), by="store")
    with pytest.raises(ValueError, match=r"20 of 140 rows .* could not be fitted.* 'bad': Poisson noise needs counts"):
        bad.predict(with_rows(data, "bad", sales=[-1.0] * 20))
    assert np.isfinite(bad.predict(data)).all()


def test_labels_that_were_values_are_asked_for_again():
    fits = nl.fit_by(ROWS, COUNTS, nl.Poisson(), by=LABELS)
    with pytest.raises(ValueError, match="by="):
        fits.predict(ROWS)
    assert np.isfinite(fits.predict(ROWS[:2], by=["b", "a"])).all()


# ---- what comes back -------------------------------------------------------------------------------------------------


def test_tables_and_words():
    data = with_rows(table(), "bad", sales=[-1.0] * 20)
    fits = quietly(data, "sales", nl.NegativeBinomial(), by="store")
    rows = fits.table()
    for made in (pd.DataFrame(rows), pl.DataFrame(rows).to_pandas(), pa.table(rows).to_pandas()):
        assert len(made) == 5
        assert list(made.columns[:6]) == ["store", "rows", "converged", "nll", "intercept", "intercept error"]
        assert {"x", "x error", "dispersion", "dispersion error"} <= set(made.columns)
    assert fits["s1"]["x"] == fits.coef[fits.groups.index("s1"), 0]
    with pytest.raises(KeyError, match="did you mean 's1'"):
        fits["S1"]
    assert "colour[red]" in str(fits)
    assert "5 groups, of which 1 did not converge" in str(fits)
    assert "1 not converged" in repr(fits)
    assert fits.noise.dispersion.shape == (5,)


@pytest.mark.parametrize(
    ("noise", "prior"),
    [
        (nl.Poisson(), nl.Flat()),
        (nl.NegativeBinomial(), nl.Gaussian(scale=np.array([1.0, 2.0, 2.0, 2.0, np.inf]))),
        (nl.Laplace(), nl.Laplace(scale=0.3)),
    ],
)
def test_kept_and_sent(tmp_path, noise, prior):
    data = with_rows(table(), "bad", sales=[-1.0, np.nan] * 10)
    data = with_rows(data, "same", sales=[1.0, 3.0] * 10, years=[1.0] * 20)
    fits = quietly(data, "sales", noise, prior, by="store")
    fits.save(tmp_path / "fits.json")
    for other in (nl.load(tmp_path / "fits.json"), pickle.loads(pickle.dumps(fits))):
        assert isinstance(other, nl.FitBy)
        assert other.groups == fits.groups
        assert str(other) == str(fits)
        assert repr(other) == repr(fits)
        assert other.message.tolist() == fits.message.tolist()
        for name, values in fits.table().items():
            np.testing.assert_array_equal(other.table()[name], values)
        good = data[data["store"] != "bad"]
        np.testing.assert_array_equal(other.predict(good), fits.predict(good))


def test_what_is_no_saved_fit_is_refused(tmp_path):
    fits = nl.fit_by(ROWS, COUNTS, nl.Poisson(), by=LABELS)
    path = tmp_path / "fits.json"
    fits.save(path)
    text = path.read_text()
    for old, new in [
        ('"neglog fit by": 1', '"neglog fit by": 2'),
        ('"Poisson"', '"Fish"'),
        ('"columns": 2', '"columns": 3'),
        ('"labels"', '"label"'),
        ('"a",', '["a"],'),
        ('"converged": [', '"converged": [true,'),
    ]:
        assert old in text
        path.write_text(text.replace(old, new))
        with pytest.raises(ValueError, match="fit"):
            nl.load(path)


# ---- every noise and prior -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("noise", "prior"),
    [
        (nl.Laplace(), nl.Flat()),
        (nl.AsymmetricLaplace(quantile=0.9), nl.Flat()),
        (nl.Gaussian(), nl.Gaussian()),
        (nl.Gaussian(), nl.Laplace(scale=0.2)),
        (nl.Gaussian(), nl.Gaussian(scale=1.0) * nl.Laplace(scale=0.2)),
        (nl.Gaussian(scale=1.0), nl.Laplace()),
    ],
)
def test_the_slow_way_round(noise, prior):
    y = 1 + ROWS @ [1.0, 0.0] + 0.1 * COUNTS
    fits = quietly(ROWS, y, noise, prior, by=LABELS)
    for k, label in enumerate("ab"):
        own = np.array(LABELS) == label
        alone = nl.fit(ROWS[own], y[own], noise, prior)
        np.testing.assert_allclose(fits.coef[k], alone.coef, rtol=1e-9, atol=1e-12)
        assert fits.nll[k] == pytest.approx(alone.nll)
        assert fits.message[k] == alone.message


def test_cells_and_sparse_columns():
    from scipy.sparse import csr_array

    lower = COUNTS + 0.5
    upper = np.where(np.arange(40) % 5, lower + 1, np.inf)
    fits = nl.fit_by(ROWS, nl.censored(lower, upper), nl.Weibull(), by=LABELS)
    own = np.array(LABELS) == "b"
    alone = nl.fit(ROWS[own], nl.censored(lower[own], upper[own]), nl.Weibull())
    np.testing.assert_allclose(fits.coef[1], alone.coef, atol=1e-6)
    sparse = nl.fit_by(csr_array(ROWS), COUNTS, nl.Poisson(), by=LABELS)
    dense = nl.fit_by(ROWS, COUNTS, nl.Poisson(), by=LABELS)
    np.testing.assert_allclose(sparse.coef, dense.coef, atol=1e-6)
    np.testing.assert_allclose(sparse.predict(csr_array(ROWS), by=LABELS), dense.predict(ROWS, by=LABELS), rtol=1e-5)


def test_nothing_that_is_given_is_changed():
    X, y, by = ROWS.copy(), COUNTS.copy(), np.array([0, 1] * 20)
    for array in (X, y, by):
        array.setflags(write=False)
    nl.fit_by(X, y, nl.Poisson(), by=by)
    np.testing.assert_array_equal(X, ROWS)


def test_constants_alone():
    fits = nl.fit_by(np.empty((40, 0)), COUNTS, nl.Poisson(), by=LABELS)
    means = [COUNTS[np.array(LABELS) == label].mean() for label in "ab"]
    np.testing.assert_allclose(np.exp(fits.intercept), means, rtol=1e-9)


# ---- groups that know of each other ----------------------------------------------------------------------------------


def alike(groups=30, rows=12, seed=0, scales=(0.4, 0.3, 0.0)):
    """Coefficients of groups that are drawn from one law, those of the last column the same in all."""
    rng = np.random.default_rng(seed)
    by = rng.permutation(np.repeat(np.arange(groups), rows))
    X = rng.normal(size=(groups * rows, 2))
    b = np.array([0.5, 0.3, -0.2]) + rng.normal(size=(groups, 3)) * scales
    return X, b[by, 0] + X[:, 0] * b[by, 1] + X[:, 1] * b[by, 2], by, rng


@pytest.mark.parametrize("noise", [nl.Poisson(), nl.Gaussian(), nl.Gaussian(scale=0.7), nl.NegativeBinomial()])
def test_the_law_between_groups_is_where_the_evidence_is_largest(noise):
    """Against the evidence itself, by fits that hold the law where it is stated."""
    X, eta, by, rng = alike()
    known = isinstance(noise, nl.Gaussian)
    y = eta + 0.7 * rng.normal(size=len(eta)) if known else rng.poisson(np.exp(eta)).astype(float)
    fits = nl.fit_by(X, y, noise, by=by, pool=True)
    assert fits.converged.all()
    pooled = fits.pooled
    full = np.column_stack([np.ones(len(X)), X])

    def evidence(mean, scale, values):
        law = noise.with_(**values)
        prior = nl.Gaussian(loc=mean, scale=scale)
        own = nl.fit_by(full, y, law, prior, by=by, intercept=False, tol=1e-10)
        total = -own.nll.sum()
        for group in range(len(own)):
            rows = by == group
            bend = law.gradient_hessian(y[rows], full[rows] @ own.coef[group])[1]
            hessian = full[rows].T @ (bend[:, None] * full[rows]) + np.diag(scale**-2)
            total += 1.5 * np.log(2 * np.pi) - 0.5 * np.linalg.slogdet(hessian)[1] - prior.nll(own.coef[group]).sum()
        return total

    mean, scale = np.append(pooled.intercept, pooled.mean), np.append(pooled.intercept_scale, pooled.scale)
    scale = np.maximum(scale, 1e-4)
    best = evidence(mean, scale, pooled.noise)
    assert best == pytest.approx(pooled.log_evidence, abs=1e-3)
    for way in (0.02, -0.02):
        for k in range(3):
            assert evidence(mean + way * np.eye(3)[k], scale, pooled.noise) < best
            assert evidence(mean, scale * (1 + 2 * way * np.eye(3)[k]), pooled.noise) < best + 1e-6
        for name, value in pooled.noise.items():
            assert evidence(mean, scale, {name: value * (1 + 2 * way)}) < best


def test_a_scale_may_be_zero():
    X, eta, by, rng = alike(scales=(0.4, 0.0, 0.0), seed=3)
    y = eta + rng.normal(size=len(eta))
    fits = nl.fit_by(X, y, by=by, pool=True)
    assert fits.converged.all()
    for k in np.flatnonzero(fits.pooled.scale == 0):
        assert np.ptp(fits.coef[:, k]) == 0
        assert np.isinf(fits.pooled.scale_errors[k])
        assert (fits.standard_errors[:, k] == 0).all()
    same = nl.fit_by(X, rng.normal(size=len(eta)), by=by, pool=True)
    assert (np.append(same.pooled.scale, same.pooled.intercept_scale) == 0).any()


def test_groups_learn_of_each_other(tmp_path):
    X, eta, by, rng = alike(groups=50, rows=6)
    y = rng.poisson(np.exp(eta)).astype(float)
    y[by == 3] = 0.0  # alone it has no maximum
    y[by == 4] = -1.0
    y[np.flatnonzero(by == 6)[0]] = np.nan
    X[np.flatnonzero(by == 5)[0]] = np.inf
    fits = quietly(X, y, nl.Poisson(), by=by, pool=True)
    assert np.flatnonzero(~fits.converged).tolist() == [4, 5, 6]
    assert "needs counts" in fits.message[4]
    assert "infinite" in fits.message[5]
    assert "y has no value" in fits.message[6]
    assert np.isnan(fits.coef[4:7]).all()
    good = ~np.isin(by, [4, 5, 6])
    alone = nl.fit_by(X[good], y[good], nl.Poisson(), by=by[good], pool=True)
    np.testing.assert_allclose(alone.coef, np.delete(fits.coef, [4, 5, 6], axis=0), rtol=1e-6)
    new = fits.predict(X[good][:3], by=[100, 101, 102])
    np.testing.assert_allclose(new, np.exp(fits.pooled.intercept + X[good][:3] @ fits.pooled.mean))
    fits.save(tmp_path / "fits.json")
    loaded = nl.load(tmp_path / "fits.json")
    assert str(loaded) == str(fits)
    assert "between groups" in str(fits)
    assert "pooled" in repr(fits)
    np.testing.assert_array_equal(loaded.predict(X[good], by=by[good]), fits.predict(X[good], by=by[good]))
    np.testing.assert_array_equal(loaded.pooled.mean_errors, fits.pooled.mean_errors)


def test_a_weight_of_two_is_a_row_twice():
    X, eta, by, rng = alike()
    y = eta + 0.5 * rng.normal(size=len(eta))
    once = nl.fit_by(X, y, by=by, sample_weight=np.full(len(y), 2.0), pool=True)
    twice = nl.fit_by(np.vstack([X, X]), np.append(y, y), by=np.append(by, by), pool=True)
    np.testing.assert_allclose(once.coef, twice.coef, rtol=1e-4, atol=1e-5)
    assert once.pooled.log_evidence == pytest.approx(twice.pooled.log_evidence, abs=1e-6)


def test_what_cannot_be_pooled_is_refused():
    with pytest.raises(ValueError, match="learns the prior"):
        nl.fit_by(ROWS, COUNTS, nl.Poisson(), nl.Gaussian(scale=1.0), by=LABELS, pool=True)
    with pytest.raises(ValueError, match="smooth"):
        nl.fit_by(ROWS, COUNTS, nl.Laplace(), by=LABELS, pool=True)
