"""Rows of weight 0 do not count: whatever they hold, and wherever the rows are, nothing changes."""

import warnings

import numpy as np
import pandas
import pyarrow as pa
import pytest
from inference import problems
from inference.problems import NOISES, each
from pyarrow import parquet

import neglog as nl
from neglog.engines import files

ROWS = 120
IDLE = np.array([0, 3, 4, 31, 60, 119])
FILLERS = [-7.0, 1e10, 1e300]
FORMS = {
    "c": np.ascontiguousarray,
    "f": np.asfortranarray,
    "single": lambda X: X.astype(np.float32),
    "sparse": problems.sparse.csr_array,
    "table": lambda X: pandas.DataFrame(
        {"slope": X[:, 0], "curve": X[:, 1], "colour": problems.COLOURS[np.arange(len(X)) % 3]}
    ),
}
PRIORS = {
    "flat": (nl.Flat(), {}),
    "standardized": (nl.Gaussian(scale=0.3), {"standardize": True}),
    "learned": (nl.Gaussian(), {}),
    "lasso": (nl.Laplace(scale=0.1), {}),
}


def rows_of(noise):
    """Columns, targets and weights, some of them 0."""
    table = problems.problem(nl.Flat(), rows=ROWS).table
    weight = np.random.default_rng(3).integers(1, 4, ROWS).astype(float)
    weight[IDLE] = 0.0
    return table[["slope", "curve", "flag"]].to_numpy(float), problems.targets(noise, table), weight


def filled(X, value):
    """The same columns with something else in the rows that do not count."""
    X = X.copy()
    X[IDLE] = value
    return X


def state(fit):
    """All that a fit says about the rows that count."""
    values = [fit.coef, fit.intercept, fit.nll, fit.standard_errors, fit.intercept_standard_error, fit.n_iter]
    values += [fit.noise.parameters[name] for name in fit.noise.parameters if name != fit.noise.location]
    return [np.asarray(value, float) for value in values]


def same(one, other):
    for left, right in zip(one, other, strict=True):
        np.testing.assert_array_equal(left, right)


@each(NOISES)
@pytest.mark.parametrize("prior", list(PRIORS), ids=str)
def test_rows_of_weight_0_change_nothing(noise, prior):
    X, y, weight = rows_of(noise)
    prior, settings = PRIORS[prior]
    fits = [nl.fit(filled(X, v), y, noise, prior, sample_weight=weight, **settings) for v in FILLERS]
    kept = weight > 0
    without = nl.fit(X[kept], y[kept], noise, prior, sample_weight=weight[kept], **settings)
    assert without.converged
    for fit in fits:
        assert fit.n_rows == ROWS
        same(state(fit), state(without))


@each(NOISES)
@pytest.mark.parametrize("form", list(FORMS), ids=str)
def test_rows_of_weight_0_change_nothing_in_any_form_of_the_columns(noise, form):
    X, y, weight = rows_of(noise)
    fits = []
    for value in FILLERS:
        value = min(value, 1e30) if form == "single" else value
        fits.append(nl.fit(FORMS[form](filled(X, value)), y, noise, nl.Gaussian(), sample_weight=weight))
    for fit in fits[1:]:
        same(state(fit), state(fits[0]))


@each({name: noise for name, noise in NOISES.items() if noise.smooth})
def test_leaving_one_out_has_a_place_for_rows_of_weight_0_and_does_not_count_them(noise):
    X, y, weight = rows_of(noise)
    usual, other = (nl.fit(filled(X, v), y, noise, sample_weight=weight).loo() for v in (1.0, 1e300))
    assert len(other.nll) == ROWS
    assert other.total == usual.total
    assert other.mean == usual.mean
    kept = weight > 0
    np.testing.assert_array_equal(other.leverage, usual.leverage)
    np.testing.assert_array_equal(other.nll[kept], usual.nll[kept])
    assert np.isfinite(usual.nll).all()
    fit = nl.fit(filled(X, 1.0), y, noise, sample_weight=weight)
    np.testing.assert_allclose(usual.nll[IDLE], fit.distribution(filled(X, 1.0)[IDLE]).nll(y[IDLE]), rtol=1e-9)


@pytest.mark.parametrize("noise", [nl.Gaussian(), nl.Poisson(), nl.Laplace(scale=1.0)], ids=str)
def test_a_path_does_not_see_rows_of_weight_0(noise):
    X, y, weight = rows_of(noise)
    paths = [nl.path(filled(X, v), y, noise, n=5, cv=3, sample_weight=weight) for v in (1.0, 1e300)]
    np.testing.assert_array_equal(paths[0].strengths, paths[1].strengths)
    np.testing.assert_array_equal(paths[0].nlls, paths[1].nlls)
    np.testing.assert_array_equal(paths[0].held_out, paths[1].held_out)


def test_a_comparison_does_not_see_rows_of_weight_0():
    X, y, weight = rows_of(nl.Poisson())
    found = [nl.compare(filled(X, v), y, ["gaussian", "poisson"], sample_weight=weight) for v in (1.0, 1e300)]
    for one, other in zip(*(made.scores for made in found), strict=True):
        assert one.name == other.name
        assert one.mean == other.mean
        assert one.ks == other.ks
    same(state(found[0].fit), state(found[1].fit))


def test_missing_values_are_the_mean_of_the_rows_that_count():
    X, y, weight = rows_of(nl.Gaussian())
    X[7, 0] = np.nan
    table = pandas.DataFrame(filled(X, 1e300), columns=["a", "b", "c"])
    fit = nl.fit(table, y, sample_weight=weight, missing="impute")
    counted = (weight > 0) & ~np.isnan(X[:, 0])
    assert fit.schema.table[0].fill == pytest.approx(np.average(X[counted, 0], weights=weight[counted]), rel=1e-12)
    with pytest.raises(ValueError, match="no values in any row that counts"):
        nl.fit(table.assign(a=np.where(weight > 0, np.nan, 1.0)), y, sample_weight=weight, missing="impute")


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_what_is_no_number_is_refused_also_in_rows_of_weight_0(value):
    X, y, weight = rows_of(nl.Gaussian())
    X[4, 1] = value
    with pytest.raises(ValueError, match="row 4"):
        nl.fit(X, y, sample_weight=weight)


def test_a_message_counts_all_rows():
    """The row that it names is the row as given."""
    X = np.array([[1.0], [1.0], [-1.0], [2.0]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", nl.ConvergenceWarning)
        fit = nl.fit(X, [1, 2, 3, 1], nl.Poisson(link="identity"), sample_weight=[0, 1, 1, 1], intercept=False)
    assert "the first is row 2" in fit.message


# ---- files -----------------------------------------------------------------------------------------------------------


def written(folder, noise, value):
    X, y, weight = rows_of(noise)
    columns = {f"x{j}": column for j, column in enumerate(filled(X, value).T)}
    folder.mkdir()
    table = pa.table({**columns, "y": y, "w": weight})
    parquet.write_table(table.slice(0, 50), folder / "a.parquet", row_group_size=20)
    parquet.write_table(table.slice(50), folder / "b.parquet", row_group_size=20)
    return folder


@each(NOISES)
@pytest.mark.parametrize("prior", ["flat", "standardized", "learned"])
def test_files_with_rows_of_weight_0(noise, prior, tmp_path, monkeypatch):
    monkeypatch.setattr(files, "ROWS_AT_ONCE", 16)
    monkeypatch.setattr(files, "ROWS_OF_PIECE", 30)
    prior, settings = PRIORS[prior]
    fits = [
        nl.fit(written(tmp_path / str(k), noise, v), "y", noise, prior, sample_weight="w", **settings)
        for k, v in enumerate(FILLERS)
    ]
    for fit in fits[1:]:
        same(state(fit), state(fits[0]))
    X, y, weight = rows_of(noise)
    memory = nl.fit(X, y, noise, fits[0].prior, sample_weight=weight)
    np.testing.assert_allclose(fits[0].coef, memory.coef, atol=2e-5)
    assert fits[0].total_weight == pytest.approx(weight.sum(), rel=1e-12)


def test_a_comparison_of_files_does_not_see_rows_of_weight_0(tmp_path):
    found = [
        nl.compare(written(tmp_path / str(v), nl.Poisson(), v), "y", ["gaussian", "poisson"], sample_weight="w")
        for v in (1.0, 1e300)
    ]
    for one, other in zip(*(made.scores for made in found), strict=True):
        assert one.mean == other.mean
    same(state(found[0].fit), state(found[1].fit))
