"""Several ways to one answer, for whatever the registry holds: rows in files, a path, a saved fit, a learned prior,
another unit of y.
"""

from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from laws.inference_cases import EXAMPLES, EXTRAS, FIRST, LINKED, PRIORS, each
from pyarrow import parquet

import neglog as nl
from neglog.engines import files, survey
from neglog.streaming import first_pass

UNIT = 1000.0
# first examples under every prior, all others and every link under one
ASKED = [
    pytest.param(case, prior, id=f"{case}-{prior}")
    for case in [*EXAMPLES, *LINKED]
    for prior in (PRIORS if case in FIRST else PRIORS[case.number % 3 :][:1])
]


# ---- rows in files ---------------------------------------------------------------------------------------------------


@pytest.fixture
def small_pieces(monkeypatch):
    """So that a few hundred rows are many pieces, and the sample is a part of them."""
    monkeypatch.setattr(files, "ROWS_AT_ONCE", 100)
    monkeypatch.setattr(files, "ROWS_OF_PIECE", 150)
    monkeypatch.setattr(first_pass, "SAMPLE_ROWS", 150)
    monkeypatch.setattr(survey, "SAMPLE_ROWS", 150)


def table_of(rows):
    """The rows as a table, and which of its columns go with them."""
    beside = {"sample_weight": rows.weight, "precision": rows.precision, "offset": rows.offset}
    named = {name: values for name, values in beside.items() if values is not None}
    columns = {f"x{k}": column for k, column in enumerate(rows.X.T)}
    return pd.DataFrame({**columns, "y": rows.y, **named}), {name: name for name in named}


@pytest.mark.parametrize(("case", "prior"), ASKED)
def test_rows_in_files_give_the_answer_of_rows_in_memory(case, prior, small_pieces, tmp_path):
    rows, noise, belief = case.rows("weighted"), case.noise, case.prior(prior)
    table, named = table_of(rows)
    parquet.write_table(pa.Table.from_pandas(table, preserve_index=False), tmp_path / "rows.parquet", row_group_size=90)
    if noise.in_memory_only is not None:
        with pytest.raises(ValueError, match="not in memory"):
            nl.fit(tmp_path / "rows.parquet", "y", noise, belief, **named, progress=False)
        return
    memory = nl.fit(table, "y", noise, belief, **named, tol=1e-9)
    streamed = nl.fit(tmp_path / "rows.parquet", "y", noise, belief, **named, tol=1e-9, progress=False)
    assert streamed.converged
    assert streamed.n_rows == memory.n_rows
    assert streamed.nll == pytest.approx(memory.nll, rel=1e-9)
    close = 1e-6 * case.error()
    np.testing.assert_allclose(streamed.coef, memory.coef, rtol=1e-7, atol=close)
    assert streamed.intercept == pytest.approx(memory.intercept, rel=1e-7, abs=close)
    np.testing.assert_allclose(streamed.standard_errors, memory.standard_errors, rtol=1e-5)
    assert streamed.intercept_standard_error == pytest.approx(memory.intercept_standard_error, rel=1e-5)
    for name in noise.unknown:
        assert streamed.noise.parameters[name] == pytest.approx(memory.noise.parameters[name], rel=1e-6)
    assert streamed.noise_standard_errors == pytest.approx(memory.noise_standard_errors, rel=1e-5)
    if prior != "laplace":
        assert streamed.posterior().evidence == pytest.approx(memory.posterior().evidence, abs=1e-4)


# ---- paths, files of fits, learned priors ----------------------------------------------------------------------------


@pytest.mark.parametrize("extras", EXTRAS)
@each([*EXAMPLES, *LINKED])
def test_a_path_at_one_strength_is_a_fit(case, extras):
    rows, noise = case.rows(extras), case.noise
    strengths = np.array([0.5, 2.0]) / case.error()
    path = nl.path(rows.X, rows.y, noise, nl.Laplace(), strengths=strengths, **rows.options, tol=1e-9)
    assert path.converged
    for k, scale in enumerate(path.scales):
        fit = rows.fit(noise, nl.Laplace(scale=scale))
        np.testing.assert_allclose(path.coefs[k], fit.coef, atol=1e-5 * case.error())
        assert path.intercepts[k] == pytest.approx(fit.intercept, rel=1e-7, abs=1e-5 * case.error())
        assert path[k].nll == pytest.approx(fit.nll, rel=1e-8)
        for name in noise.unknown:
            assert path[k].noise.parameters[name] == pytest.approx(fit.noise.parameters[name], rel=1e-5)


@pytest.mark.parametrize(("case", "prior"), ASKED)
def test_a_saved_fit_says_what_it_said(case, prior, tmp_path):
    rows = case.rows("weighted")
    fit = rows.fit(case.noise, case.prior(prior))
    fit.save(tmp_path / "fit.json")
    again = nl.load(tmp_path / "fit.json")
    assert again.noise == fit.noise
    assert again.prior == fit.prior
    assert again.noise_standard_errors == fit.noise_standard_errors
    assert (again.nll, again.intercept_standard_error) == (fit.nll, fit.intercept_standard_error)
    np.testing.assert_array_equal(again.standard_errors, fit.standard_errors)
    new = rows.X[:20]
    np.testing.assert_array_equal(again.predict(new), fit.predict(new))
    np.testing.assert_array_equal(again.distribution(new).nll(rows.y[:20]), fit.distribution(new).nll(rows.y[:20]))
    assert str(again.summary()) == str(fit.summary())


@pytest.mark.parametrize("extras", EXTRAS)
@each(EXAMPLES)
def test_a_learned_prior_is_the_most_probable_of_those_that_could_be_stated(case, extras):
    rows = case.rows(extras)
    learned = rows.fit(case.noise, nl.Gaussian())
    assert learned.converged
    scale = learned.prior.scale
    assert np.all(np.isfinite(scale) & (scale > 0))
    stated = rows.fit(learned.noise, nl.Gaussian(scale=scale))
    np.testing.assert_allclose(stated.coef, learned.coef, atol=1e-3 * case.error())
    best = stated.posterior().evidence
    for factor in (0.5, 2.0):
        other = rows.fit(learned.noise, nl.Gaussian(scale=factor * scale)).posterior().evidence
        assert other < best + (1e-3 if case.noise.traits.smooth else 0.1)


# ---- the unit of y ---------------------------------------------------------------------------------------------------


def of_unit(case):
    """What another unit of y does to the raw prediction, as (factor, shift); None where it does neither, or where y has
    no unit, or where nothing open could go with it.
    """
    noise, support = case.truth, case.truth.support
    if case.noise.spread not in case.noise.unknown or support.step is not None:
        return None
    if (support.low, support.high) not in ((-np.inf, np.inf), (0.0, np.inf)):
        return None
    means = np.array([1.0, 2.0, 5.0])
    plain, other = (noise.link.forward(noise.location_at(m)) for m in (means, UNIT * means))
    if np.allclose(other - plain, other[0] - plain[0]):
        return 1.0, float(other[0] - plain[0])
    ratios = other[plain != 0] / plain[plain != 0]
    return (float(ratios[0]), 0.0) if np.allclose(ratios, ratios[0]) else None


OF_UNIT = [case for case in [*EXAMPLES, *LINKED] if of_unit(case) is not None]


@pytest.mark.parametrize("extras", EXTRAS)
@pytest.mark.parametrize("prior", PRIORS)
@each(OF_UNIT)
def test_the_unit_of_y_changes_nothing_but_the_unit(case, prior, extras):
    rows, noise = case.rows(extras), case.noise
    factor, shift = of_unit(case)
    belief = case.prior(prior)
    other = belief if prior == "flat" else belief.with_(scale=factor * belief.scale)
    offset = None if rows.offset is None else factor * rows.offset
    fit = rows.fit(noise, belief)
    large = replace(rows, y=UNIT * rows.y, offset=offset).fit(noise, other)
    new = rows.X[:10]
    assert large.intercept == pytest.approx(factor * fit.intercept + shift, rel=1e-6, abs=1e-6 * factor * case.error())
    np.testing.assert_allclose(large.coef, factor * fit.coef, rtol=1e-6, atol=1e-6 * factor * case.error())
    np.testing.assert_allclose(large.standard_errors, factor * fit.standard_errors, rtol=1e-4)
    np.testing.assert_allclose(large.predict(new), UNIT * fit.predict(new), rtol=1e-6)
    for q in (0.1, 0.9):
        theirs = UNIT * fit.distribution(new).icdf(np.full(10, q))
        np.testing.assert_allclose(large.distribution(new).icdf(np.full(10, q)), theirs, rtol=1e-5)
    dense = rows.w @ (rows.y != noise.support.low) if noise.measure == "mixed" else rows.w.sum()
    assert large.nll == pytest.approx(fit.nll + dense * np.log(UNIT), rel=1e-8)
