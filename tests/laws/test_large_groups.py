"""A group whose levels are eliminated, for whatever the registry holds: the evidence, its derivatives and what it
counts are those of the dense curvature; of rows in memory and in pieces, of one prediction and of several.
"""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from laws.inference_cases import EXTRAS, FIRST, LINKED, each
from laws.test_modelled import TAKEN
from pyarrow import parquet

import neglog as nl
from neglog.engines import files
from neglog.engines.files import Files
from neglog.evidence import large_groups
from neglog.evidence.crossed_groups import eliminated
from neglog.evidence.groups_in_pieces import GroupInPieces
from neglog.evidence.learned_terms import ABSENT, _kept, _native, _owned
from neglog.evidence.maximum import Maximum
from neglog.evidence.state import Pulls
from neglog.fitting.fit import prepare
from neglog.solvers.penalty import Penalty
from neglog.streaming.first_pass import open_source

LEVELS = list("pqrstuvw")
GROUP = nl.group("g")
TERMS = [nl.smooth("a", size=5), GROUP, "b"]


@pytest.fixture(autouse=True)
def few_are_many(monkeypatch):
    monkeypatch.setattr(large_groups, "LARGE", len(LEVELS))
    monkeypatch.setattr(files, "ROWS_AT_ONCE", 150)
    monkeypatch.setattr(files, "ROWS_OF_PIECE", 200)


def tasks_of(table, noise, folder, terms=TERMS, modelled=None):
    """The same question of rows in memory and in files."""
    given = dict.fromkeys(["sample_weight", "precision", "offset", "exposure"])
    given |= {name: name for name in given if name in table}
    memory = prepare(table, "y", noise, nl.Flat(), given, True, 1e-9, 100, terms=terms, modelled=modelled)
    parquet.write_table(pa.Table.from_pandas(table, preserve_index=False), folder / "rows.parquet", row_group_size=100)
    settings = {"intercept": True, "tol": 1e-9, "max_iter": 100, "missing": "error", "rare": 0}
    source = Files(str(folder / "rows.parquet"))
    pieces = open_source(source, "y", noise, nl.Flat(), given, **settings, terms=terms, modelled=modelled)
    pieces.penalty = Penalty.none(pieces.engine.width)
    return memory, pieces


def search_of(task, rows=None):
    on = np.array([_native(task.engine, one) for one in _owned(task, nl.Flat(), None)])
    absent = np.where(task.engine.native(~_kept(task)) > 0, ABSENT, 0.0)
    return Maximum(task, Pulls(absent, on, np.zeros(task.engine.width)), rows)


def check_all(memory, pieces, scales, v):
    """At these scales and raw parameters, and from there to others nearby; the evidence has constants of its own."""
    u, dense = np.append(scales, v), search_of(memory)
    state = dense.at(u, None)
    gain = dense.at(u + 0.1, state).value - state.value
    for task in (memory, pieces):
        own = search_of(task, eliminated(task))
        here = own.at(u, None)
        assert here.answer.converged
        assert own.at(u + 0.1, here).value - here.value == pytest.approx(gain, rel=1e-7, abs=1e-7 * abs(state.value))
        close = 1e-6 * memory.target.total() ** 0.5
        slopes = (one.slopes(at, one.rows.third(at, 1)) for one, at in ((own, here), (dense, state)))
        np.testing.assert_allclose(*slopes, rtol=1e-5, atol=close)
        np.testing.assert_allclose(own.curvature(here), dense.curvature(state), rtol=1e-5, atol=10 * close)
        np.testing.assert_allclose(own.counted(here), dense.counted(state), rtol=1e-5, atol=1e-6)
        errors = np.sqrt(state.covariance.diagonal())
        assert np.max(np.abs(here.answer.theta - state.answer.theta) / errors) < 1e-5


@each([*FIRST, *LINKED])
@pytest.mark.parametrize("extras", EXTRAS)
def test_one_prediction(case, extras, tmp_path):
    rows = case.rows(extras)
    table = pd.DataFrame({"a": rows.matrix[:, 1], "b": rows.matrix[:, 2], "y": rows.y})
    table["g"] = np.array(LEVELS)[np.arange(len(table)) % len(LEVELS)]
    if extras == "weighted":
        beside = {"sample_weight": rows.weight, "precision": rows.precision, "offset": rows.offset}
        table = table.assign(**{name: value for name, value in beside.items() if value is not None})
    memory, pieces = tasks_of(table, case.noise, tmp_path)
    smooth = case.noise.traits.smooth and case.noise.traits.steady
    if not smooth or case.noise.of_classes:
        assert eliminated(memory) is eliminated(pieces) is None
        return
    assert isinstance(eliminated(pieces), GroupInPieces)
    check_all(memory, pieces, np.log([0.7 * case.size, 0.4 * case.size]), memory.target.raw_of(case.truth))


WAYS = {  # the terms of the location and of the parameter that is modelled, None if they are the same
    "alike": ([GROUP, "a", "b"], None, "plain"),
    "in both": ([GROUP, "a", "b"], nl.terms(GROUP, "a"), "weighted"),
    "in the location": ([GROUP, "a", "b"], nl.terms("a"), "plain"),
    "in it alone": (["a", "b"], nl.terms("a", GROUP), "weighted"),
}


@each([case for case in TAKEN if case.case.truth.traits.steady])
@pytest.mark.parametrize("way", WAYS)
def test_with_a_modelled_parameter(case, way, tmp_path):
    terms, own, extras = WAYS[way]
    rows = case.rows(extras)
    table = pd.DataFrame({"a": rows.X[:, 0], "b": rows.X[:, 2], "y": rows.y})
    table["g"] = np.array(LEVELS)[np.arange(len(table)) % len(LEVELS)]
    table = table.assign(**{name: value for name, value in rows.options.items() if value is not None})
    memory, pieces = tasks_of(table, case.noise, tmp_path, terms, None if own is None else {case.name: own})
    sizes = np.log([0.4 * case.case.size, 0.2])  # by prediction
    scales = [sizes[one.output] for one in _owned(memory, nl.Flat(), None)]
    check_all(memory, pieces, scales, memory.target.raw_of(case.case.truth))
