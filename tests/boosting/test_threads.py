"""The threads and the memory in which derivatives are computed for a trainer."""

import ctypes
import gc
import sys
from concurrent.futures import ThreadPoolExecutor

import lightgbm
import numpy as np
import pytest
import xgboost

import neglog as nl
from neglog import lightgbm as with_lightgbm
from neglog import xgboost as with_xgboost
from neglog.boosting.buffers import Buffers
from neglog.boosting.derivatives import slopes_of
from neglog.boosting.team import team_of

ROWS = 100_001  # enough for several threads, and no whole number of blocks
MODELLED = nl.Gaussian(scale="model")
NOISES = [nl.Gaussian(), nl.Poisson(), nl.Gamma(), nl.Laplace(), nl.Huber(), nl.Categorical(), MODELLED]
ON_LINUX = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere trainers are built with another OpenMP")
TEAMS = {"lightgbm": with_lightgbm._team, "xgboost": with_xgboost._team}


def problem(noise):
    rng = np.random.default_rng(0)
    outputs = 3 if isinstance(noise, nl.Categorical) else 2 if noise.modelled else 1
    y = rng.integers(0, 3, ROWS) if outputs == 3 else rng.poisson(2.0, ROWS) + 1
    return y.astype(float), rng.normal(size=ROWS if outputs == 1 else (ROWS, outputs)), rng.uniform(size=ROWS)


@pytest.mark.parametrize("trainer", TEAMS)
@pytest.mark.parametrize("noise", NOISES, ids=repr)
def test_a_trainers_threads_give_the_same_numbers(trainer, noise, monkeypatch):
    team = TEAMS[trainer]()
    if team is None:
        pytest.skip(f"this {trainer} was not built with GCC's OpenMP")
    y, raw, weight = problem(noise)
    for by in (None, weight):
        there = slopes_of(noise)(y, raw, by, team)
        monkeypatch.setenv("NEGLOG_NUM_THREADS", "1")
        alone = slopes_of(noise)(y, raw, by)
        monkeypatch.delenv("NEGLOG_NUM_THREADS")
        np.testing.assert_array_equal(there, alone)


@ON_LINUX
def test_the_threads_of_the_trainers_are_found():
    assert all(team() is not None for team in TEAMS.values())
    assert team_of(lightgbm.basic._LIB) == TEAMS["lightgbm"]()


@ON_LINUX
def test_a_library_without_openmp_has_no_team():
    assert team_of(ctypes.CDLL("libm.so.6")) is None
    assert team_of(None) is None


@ON_LINUX
def test_the_number_of_threads_can_be_stated(monkeypatch):
    monkeypatch.setenv("NEGLOG_NUM_THREADS", "3")
    team = team_of(lightgbm.basic._LIB)
    assert team.threads == 3
    y, raw, _ = problem(nl.Poisson())
    np.testing.assert_array_equal(slopes_of(nl.Poisson())(y, raw, None, team), slopes_of(nl.Poisson())(y, raw, None))


def test_memory_is_used_again_once_nobody_holds_it():
    buffers = Buffers()
    first = buffers.empty((4, 3), "F")
    assert first.flags.f_contiguous
    assert first.dtype == np.float32
    address = first.ctypes.data
    view = first[1:, 0]
    del first
    gc.collect()
    other = buffers.empty((4, 3))
    assert not np.shares_memory(view, other)
    del view
    again = buffers.empty((2, 6))
    assert again.ctypes.data == address
    assert buffers.empty((0,)).shape == (0,)


@pytest.mark.parametrize("noise", NOISES, ids=repr)
def test_results_that_are_kept_stay_as_they_are(noise):
    y, raw, weight = problem(noise)
    slopes = slopes_of(noise)
    kept = slopes(y, raw, weight)
    copies = [array.copy() for array in kept]
    slopes(y, raw + 1.0, weight)
    slopes(y, raw - 1.0, None)
    np.testing.assert_array_equal(kept, copies)


def test_one_objective_can_train_in_several_threads():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 3))
    y = rng.poisson(np.exp(X[:, 0])).astype(float)
    objective = with_xgboost.objective(nl.Poisson())

    def trained(_):
        params = {"base_score": 0.0, "nthread": 1}
        return xgboost.train(params, xgboost.DMatrix(X, label=y), 20, obj=objective).predict(xgboost.DMatrix(X))

    alone = trained(0)
    with ThreadPoolExecutor(4) as threads:
        for predictions in threads.map(trained, range(8)):
            np.testing.assert_array_equal(predictions, alone)
