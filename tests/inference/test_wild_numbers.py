"""Numbers that are none, or beyond what can be squared: the error names them, and nothing else is printed."""

import numpy as np
import pytest
from inference import problems
from inference.problems import NOISES, each

import neglog as nl
from neglog.distributions.arrays import available_threads

PRIORS = [nl.Flat(), nl.Gaussian(), nl.Laplace(scale=0.5), nl.Gaussian(scale=1.0) * nl.Laplace(scale=1.0)]


def linked():
    """Every noise under every link that it has."""
    for name, noise in problems.KNOWN.items():
        for link in noise._links():
            if noise.smooth or link == "identity":  # a loss with kinks is fitted by its identity alone
                yield pytest.param(type(noise)(**{**noise.parameters, "link": link}), id=f"{name}-{link}")


@pytest.mark.parametrize("noise", list(linked()))
@pytest.mark.parametrize(
    ("prior", "intercept"), [(PRIORS[0], True), (PRIORS[0], False), (PRIORS[1], True), (PRIORS[2], False)], ids=str
)
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_what_is_no_number_in_x_is_named(noise, prior, value, intercept, capfd):
    table = problems.problem(nl.Flat(), rows=60).table
    X, y = np.array(table[["slope", "curve"]], float), problems.targets(noise, table)
    X[7, 1] = value
    with pytest.raises(ValueError, match="column 'x1' has 1, the first in row 7"):
        nl.fit(X, y, noise, prior, intercept=intercept)
    assert capfd.readouterr() == ("", "")  # LAPACK would print


SQUARING = {name: noise for name, noise in NOISES.items() if isinstance(noise, nl.Gaussian | nl.Huber)}


@each(SQUARING)
@pytest.mark.parametrize("prior", PRIORS, ids=str)
def test_a_target_beyond_squares_is_refused_with_its_row(noise, prior):
    table = problems.problem(nl.Flat(), rows=60).table
    X, y = np.array(table[["slope", "curve"]], float), problems.targets(noise, table)
    y[5] = -1e300
    with pytest.raises(
        ValueError, match=r"needs \|y\| ≤ 1e\+150.*1 of 60.*row 5.*-1e\+300; measure y in a larger unit"
    ):
        nl.fit(X, y, noise, prior)


@pytest.mark.parametrize("text", ["-3", "0", "abc", "2.5", "1e3", "²"])
def test_a_number_of_threads_that_is_none_is_refused(monkeypatch, text):
    monkeypatch.setenv("NEGLOG_NUM_THREADS", text)
    with pytest.raises(ValueError, match=r"NEGLOG_NUM_THREADS must be a whole number of threads, 1 or more, but is '"):
        nl.fit(np.ones((100_000, 3)), np.ones(100_000), nl.Poisson())


@pytest.mark.parametrize(("text", "threads"), [("1", 1), (" 7 ", 7)])
def test_a_number_of_threads_can_be_stated(monkeypatch, text, threads):
    monkeypatch.setenv("NEGLOG_NUM_THREADS", text)
    assert available_threads() == threads


def test_an_empty_number_of_threads_is_none_stated(monkeypatch):
    monkeypatch.setenv("NEGLOG_NUM_THREADS", "")
    empty = available_threads()
    monkeypatch.delenv("NEGLOG_NUM_THREADS")
    assert empty == available_threads()
