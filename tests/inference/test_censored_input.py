"""Cells that cannot be: what is said."""

import numpy as np
import pytest

import neglog as nl

X = np.arange(6.0)[:, None]
Y = np.array([1.0, 2.0, 1.0, 4.0, 5.0, 3.0])
INF = np.inf


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: nl.censored(Y, Y - 1), r"6 of 6 cells have such ends.* row 0, \[1, 0\]"),
        (lambda: nl.censored([1.0, np.nan], [1.0, 2.0]), r"1 of 2 cells .* row 1"),
        (lambda: nl.censored(Y, event=[1, 0, 2, 1, 1, 0]), r"event must be 1 \(observed\) or 0 .* 2 in row 2"),
        (
            lambda: nl.fit(X, nl.censored(Y, np.full(6, INF)), nl.Gaussian()),
            "all 6 rows of y are censored on the right",
        ),
        (
            lambda: nl.fit(X, nl.censored(np.full(6, -INF), Y), nl.Gaussian()),
            "all 6 rows of y are censored on the left",
        ),
        (
            lambda: nl.fit(X, nl.censored(Y + 0.2, Y + 0.8), nl.Poisson()),
            r"cells that hold a y.*6 of 6 rows.*\[1.2, 1.8\]",
        ),
        (lambda: nl.fit(X, nl.censored(Y + 0.5, Y + 0.5), nl.Poisson()), "Poisson noise needs counts"),
        (lambda: nl.fit(X, nl.censored(-Y, -Y), nl.Weibull()), r"Weibull noise needs y > 0"),
        (
            lambda: nl.fit(X, nl.censored(Y, Y + 1), nl.Tweedie()),
            "only where some y are 0 .*, but no y is 0",
        ),
        (lambda: nl.fit(X, nl.censored(Y, Y + 1), nl.Tweedie(power=1.0)), "at power 1 .* cannot be estimated"),
        (lambda: nl.fit(X, nl.censored(Y, Y + 1), nl.Gaussian(link="log")), "with the link 'identity' only"),
        (lambda: nl.fit(X, nl.censored(Y, Y + 1), nl.Categorical()), "no probabilities of cells"),
    ],
)
def test_impossible_cells_are_refused(make, sentence):
    with pytest.raises(ValueError, match=sentence):
        make()


def test_ends_are_given_once():
    with pytest.raises(TypeError, match="either the upper ends or event="):
        nl.censored(Y)
    with pytest.raises(TypeError, match="two names of columns or two arrays"):
        nl.censored("low", Y)


def test_ends_of_cells_are_no_means_of_several_counts():
    with pytest.raises(ValueError, match="ends of cells are no means"):
        nl.fit(X, nl.censored(Y, Y + 1), nl.Poisson(), precision=np.arange(1.0, 7.0))
