"""Where the objective cannot be told better any more: steps end there, and that is an optimum."""

import warnings

import numpy as np
import pytest
from inference.problems import FEW_PRIORS, NOISES, each, problem, targets

import neglog as nl
from neglog.engines.memory import Memory


@pytest.mark.parametrize("tol", [1e-9, 1e-12, 1e-15])
@each(FEW_PRIORS, "prior")
@each(NOISES)
def test_a_fit_that_stops_at_rounding_has_converged(noise, prior, tol):
    given = problem(prior)
    with warnings.catch_warnings():
        warnings.simplefilter("error", nl.ConvergenceWarning)
        assert nl.fit(given.dense, targets(noise, given.table), noise, prior, tol=tol).converged


@pytest.mark.parametrize("seed", range(8))
def test_a_sample_that_is_the_optimum_costs_few_passes(seed, monkeypatch):
    passes = []
    real = Memory.evaluate
    monkeypatch.setattr(Memory, "evaluate", lambda *a, **k: passes.append(0) or real(*a, **k))
    rng = np.random.default_rng(seed)
    fit = nl.fit(rng.normal(size=(6000, 4)), rng.integers(0, 3, 6000), nl.Categorical())
    assert fit.converged
    assert len(passes) < 12
