"""Curves and groups for whatever the registry holds: the evidence of their scales, its slopes, and its maximum."""

import numpy as np
import pandas as pd
import pytest
from laws.inference_cases import EXTRAS, FIRST, LINKED, each

import neglog as nl
from neglog.evidence.learned_terms import _native, _owned
from neglog.evidence.maximum import Maximum
from neglog.evidence.of_groups import MaximumOfGroups
from neglog.evidence.state import Pulls
from neglog.fitting.fit import prepare

TERMS = [nl.smooth("a", size=6), nl.group("g"), "b"]
LEVELS = list("pqrst")


def table_of(case, extras):
    """The rows of a case with columns whose effects are not straight, or differ by level."""
    rows = case.rows(extras)
    x = rows.matrix[:, 1]
    table = pd.DataFrame({"a": x, "b": rows.matrix[:, 2], "g": np.array(LEVELS)[np.arange(len(x)) % 5]})
    given = {"sample_weight": None, "precision": None, "offset": None, "exposure": None}
    if extras == "weighted":
        given |= {"sample_weight": rows.weight, "precision": rows.precision, "offset": rows.offset}
    return table, rows.y, given


def search_of(case, extras, kind=Maximum):
    table, y, given = table_of(case, extras)
    task = prepare(table, y, case.noise, nl.Flat(), given, True, 1e-9, 100, terms=TERMS)
    owned = list(_owned(task, nl.Flat(), None))
    on = np.array([_native(task.engine, one) for one in owned])
    return kind(task, Pulls(np.zeros(task.engine.width), on, np.zeros(task.engine.width)))


@each([*FIRST, *LINKED])
@pytest.mark.parametrize("extras", EXTRAS)
def test_slopes_of_the_evidence(case, extras):
    """Through where the minimum lies, too: against differences of the evidence itself."""
    search = search_of(case, extras)
    v = search.task.target.raw_of(case.truth)
    u = np.append(np.log([0.7 * case.size, 0.4 * case.size]), v)
    here = search.at(u, None)
    assert here is not None
    check_slopes(search, here, np.ones(len(u)))


def check_slopes(search, here, sizes):
    """Against differences, of steps that are small in units of what each of u may be."""
    u, found, step = here.u, search.slopes(here, search.rows.third(here, 1)), 1e-3
    for k in range(len(u)):
        way = step * sizes * (np.arange(len(u)) == k)
        ends = [search.at(u + t * way, here).value for t in (-2, -1, 1, 2)]
        expected = (ends[0] - 8 * ends[1] + 8 * ends[2] - ends[3]) / (12 * step * sizes[k])
        close = 1e-5 * search.task.target.total() ** 0.5 / sizes[k]
        assert found[k] == pytest.approx(expected, rel=1e-5, abs=close)


@each([*FIRST, *LINKED])
@pytest.mark.parametrize("extras", EXTRAS)
def test_slopes_of_the_evidence_of_groups(case, extras):
    """In the coefficients that are not integrated, too."""
    if case.noise.of_classes or not case.noise.smooth or not case.noise.traits.steady:
        with pytest.raises(ValueError, match="needs a loss of one prediction with second derivatives"):
            search_of(case, extras, MaximumOfGroups)
        return
    search = search_of(case, extras, MaximumOfGroups)
    v = search.task.target.raw_of(case.truth)
    scales = np.log([0.7 * case.size, 0.4 * case.size])
    near = Maximum(search.task, search.pulls).at(np.append(scales, v), None)
    search.theta = near.answer.theta
    here = search.at(np.concatenate([scales, search.theta[search.free], v]), None)
    assert here is not None
    errors = np.sqrt(near.covariance.diagonal()[search.free])
    check_slopes(search, here, np.concatenate([np.ones(2), errors, np.ones(len(v))]))
