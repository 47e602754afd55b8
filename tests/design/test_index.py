"""Values of pandas belong to rows by their index: one that differs from that of X is refused, not read by place."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import neglog as nl

N = 40
BESIDE = ("sample_weight", "precision", "offset", "exposure")


def data(index=None):
    rng = np.random.default_rng(0)
    index = pd.RangeIndex(100, 100 + N) if index is None else index
    X = pd.DataFrame({"a": rng.normal(size=N), "b": rng.normal(size=N)}, index=index)
    return X, pd.Series(rng.gamma(2.0, size=N), index=index, name="y")


def test_the_same_index_is_taken_however_it_came_to_be():
    X, y = data()
    found = nl.fit(X, y, nl.Gamma())
    for other in (y.copy(), y.set_axis(list(X.index)), y.to_frame(), y.to_numpy(), pl.Series(y.to_numpy())):
        np.testing.assert_array_equal(nl.fit(X, other, nl.Gamma()).coef, found.coef)
    twice, y = data(np.repeat(np.arange(N // 2), 2))
    assert nl.fit(twice, y, nl.Gamma()).converged
    pairs, y = data(pd.MultiIndex.from_product([range(N // 4), range(4)]))
    assert nl.fit(pairs, y, nl.Gamma()).converged
    np.testing.assert_array_equal(nl.fit(X.to_numpy(), y, nl.Gamma()).coef, found.coef)


def test_the_same_labels_in_another_order_are_refused_with_the_way_to_align_them():
    X, y = data()
    shuffled = y.sample(frac=1.0, random_state=0)
    with pytest.raises(ValueError, match=r"same labels in another order.*y\.loc\[X\.index\].*y\.to_numpy\(\)"):
        nl.fit(X, shuffled, nl.Gamma())
    np.testing.assert_array_equal(nl.fit(X, shuffled.loc[X.index], nl.Gamma()).coef, nl.fit(X, y, nl.Gamma()).coef)


@pytest.mark.parametrize("index", [None, np.repeat(np.arange(N // 2), 2), list("ab" * (N // 2))], ids=type)
def test_other_labels_are_refused(index):
    X, y = data(index)
    with pytest.raises(ValueError, match=r"other labels: the first difference is in row 0.*y\.to_numpy\(\)"):
        nl.fit(X, y.set_axis(pd.RangeIndex(1000, 1000 + N)), nl.Gamma())


@pytest.mark.parametrize("what", BESIDE)
def test_so_is_whatever_goes_beside_the_rows(what):
    X, y = data()
    with pytest.raises(ValueError, match=f"{what} must have the index of X"):
        nl.fit(X, y, nl.Gamma(), **{what: y.reset_index(drop=True)})


def test_so_it_is_at_prediction_and_in_estimators():
    X, y = data()
    found, model = nl.fit(X, y, nl.Gamma()), nl.Regressor("gamma").fit(X, y)
    other = y.reset_index(drop=True)
    for call in (
        lambda: found.predict(X, exposure=other),
        lambda: nl.Regressor("gamma").fit(X, other),
        lambda: nl.Regressor("gamma").fit(X, y, sample_weight=other),
        lambda: model.score(X, other),
        lambda: model.d2(X, other),
        lambda: nl.Classifier().fit(X, other > 1),
        lambda: nl.compare(X, other, ["gamma"], folds=2),
        lambda: nl.path(X, other),
    ):
        with pytest.raises(ValueError, match="must have the index of X"):
            call()
