"""Fits keep the threads of BLAS asleep, and leave them as they were."""

import threading

import numpy as np
import pytest
import scipy.linalg  # noqa: F401  (which brings a BLAS of its own)
from threadpoolctl import ThreadpoolController, threadpool_limits

import neglog as nl
from neglog.engines.blas import one_blas_thread

COLUMNS = 120  # more than BLAS does on one thread by itself


def blas_threads():
    return [one["num_threads"] for one in ThreadpoolController().select(user_api="blas").info()]


@pytest.fixture(autouse=True)
def many_threads():
    """As on a large machine."""
    with threadpool_limits(3, "blas"):
        yield


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, COLUMNS))
    return X, rng.poisson(np.exp(0.1 * X[:, 0] + 0.5)).astype(float)


@pytest.fixture
def seen(monkeypatch):
    """How many threads BLAS has whenever NumPy's linear algebra is called."""
    found = []

    def watched(function):
        def call(*arguments, **settings):
            found.append(max(blas_threads()))
            return function(*arguments, **settings)

        return call

    for name in ("eigh", "inv", "lstsq", "solve", "pinv", "norm", "cholesky"):
        monkeypatch.setattr(np.linalg, name, watched(getattr(np.linalg, name)))
    return found


def uses(X, y):
    """What people do with many columns."""
    fit = nl.fit(X, y, nl.Poisson(), nl.Gaussian(scale=1.0))
    return {
        "collinear": lambda: nl.fit(np.column_stack([X, X[:, 0]]), y, nl.Poisson()),
        "learned": lambda: nl.fit(X, y, nl.Poisson(), nl.Gaussian()),
        "least squares": lambda: nl.fit(X, y, nl.Gaussian(), nl.Gaussian()),
        "groups": lambda: nl.fit(X, y, nl.Gaussian(), nl.Gaussian(groups=np.arange(COLUMNS) % 3)),
        "errors": lambda: fit.standard_errors,
        "posterior": lambda: fit.posterior().std,
        "left out": fit.loo,
    }


@pytest.mark.parametrize("use", ["collinear", "learned", "least squares", "groups", "errors", "posterior", "left out"])
def test_linear_algebra_runs_on_one_thread(rows, seen, use):
    work = uses(*rows)[use]
    seen.clear()
    work()
    assert seen
    assert set(seen) == {1}
    assert set(blas_threads()) == {3}


def test_threads_come_back_after_an_error(rows):
    X, y = rows
    with pytest.raises(ValueError, match="x3"):
        nl.fit(np.where(np.arange(COLUMNS) == 3, np.nan, X), y, nl.Poisson())
    assert set(blas_threads()) == {3}


def test_several_may_be_inside_at_once():
    """The last one to leave gives the threads back."""
    entered, leave = threading.Event(), threading.Event()

    def other():
        with one_blas_thread:
            entered.set()
            leave.wait()

    thread = threading.Thread(target=other)
    with one_blas_thread:
        thread.start()
        entered.wait()
    assert set(blas_threads()) == {1}
    leave.set()
    thread.join()
    assert set(blas_threads()) == {3}
