"""Numbers that are none, and weights that leave nothing to tell apart, are refused wherever they stand."""

import numpy as np
import pandas as pd
import pytest
from inference.problems import NOISES, each, problem, targets
from scipy import sparse

import neglog as nl

WIDE = 1600  # columns, of which a lasso looks at few
PRIORS = {"flat": nl.Flat(), "ridge": nl.Gaussian(scale=1.0), "lasso": nl.Laplace(scale=0.1)}


@each(NOISES)
@each(PRIORS, "prior")
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_in_a_row_of_weight_0(noise, prior, bad):
    made = problem(nl.Flat())
    X, y = made.dense, targets(noise, made.table)
    X[7, 1] = bad
    weight = np.ones(len(y))
    weight[7] = 0.0
    with pytest.raises(ValueError, match=r"column 'x1' has 1, the first in row 7"):
        nl.fit(X, y, noise, prior, sample_weight=weight)


@each(NOISES)
@pytest.mark.parametrize("bad", [np.nan, -np.inf])
def test_in_a_column_that_a_lasso_leaves_out(noise, bad):
    made = problem(nl.Flat(), rows=60)
    X, y = np.random.default_rng(0).normal(size=(60, WIDE)), targets(noise, made.table)
    X[7, 1500] = bad
    with pytest.raises(ValueError, match=r"column 'x1500' has 1, the first in row 7"):
        nl.fit(X, y, noise, nl.Laplace(scale=0.001))


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, sparse.csc_array], ids=["dense", "csr", "csc"])
@pytest.mark.parametrize("columns", [5, WIDE])
def test_on_a_path(form, columns):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, columns))
    X[3, 2] = np.nan
    with pytest.raises(ValueError, match=r"column 'x2' has 1, the first in row 3"):
        nl.path(form(X), rng.normal(size=50), n=5)


def labelled():
    labels = np.array(["a", "b", "c"])[np.arange(60) % 3]
    X = np.random.default_rng(0).normal(size=(60, 2))
    return X, labels, (labels == "b").astype(float)


@each({**PRIORS, "learned": nl.Gaussian()}, "prior")
def test_weights_that_leave_one_class(prior):
    X, labels, weight = labelled()
    with pytest.raises(ValueError, match="two classes are needed, but only rows of the class 'b' have a weight"):
        nl.fit(X, labels, nl.Categorical(), prior, sample_weight=weight)


def test_weights_that_leave_one_class_of_files_and_estimators(tmp_path):
    X, labels, weight = labelled()
    pd.DataFrame({"u": X[:, 0], "y": labels, "w": weight}).to_parquet(tmp_path / "rows.parquet")
    message = "only rows of the class 'b' have a weight"
    with pytest.raises(ValueError, match=message):
        nl.fit(tmp_path / "rows.parquet", "y", nl.Categorical(), sample_weight="w")
    with pytest.raises(ValueError, match=message):
        nl.Classifier().fit(X, labels, sample_weight=weight)
    with pytest.raises(ValueError, match="only rows of the class True have a weight"):
        nl.Classifier().fit(X, labels == "b", sample_weight=weight)
    with pytest.raises(ValueError, match="y is 'b' throughout"):
        nl.fit(X[weight > 0], labels[weight > 0], nl.Categorical())
