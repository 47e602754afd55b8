"""Three ways to ask whether a column matters agree where it does not: for whatever the registry holds."""

from dataclasses import replace

import numpy as np
import pytest
from laws.inference_cases import EXAMPLES, EXTRAS, LINKED, each

import neglog as nl

SMOOTH = [case for case in EXAMPLES + LINKED if case.truth.smooth]
CLOSE = 0.1  # of probabilities that differ by what 400 rows leave of one over the square root of their number


@pytest.mark.parametrize("extras", EXTRAS)
@each(SMOOTH)
def test_ratio_score_and_wald_agree_about_a_column_that_says_nothing(case, extras):
    rows = case.rows(extras)
    z = np.random.default_rng(8).normal(size=len(rows.y)) * case.size
    small = rows.fit(case.noise)
    wider = replace(rows, X=np.column_stack([rows.X, z]))
    large = wider.fit(case.noise)
    ratio, slope = nl.likelihood_ratio(small, large), small.score_test(z)
    assert ratio.p == pytest.approx(slope.p, abs=CLOSE)
    assert ratio.p == pytest.approx(large.test("x3").p, abs=CLOSE)
    assert ratio.statistic > 0
    assert slope.statistic > 0


@each([case for case in SMOOTH if case.number == 0])
def test_a_score_by_how_rows_pull_is_near_the_other(case):
    rows = case.rows()
    z = np.random.default_rng(8).normal(size=len(rows.y))
    fit = rows.fit(case.noise)
    assert fit.score_test(z, errors="robust").p == pytest.approx(fit.score_test(z).p, abs=2 * CLOSE)


@each([case for case in SMOOTH if case.number == 0])
def test_columns_that_the_fit_has_say_nothing_more(case):
    rows = case.rows()
    fit = rows.fit(case.noise)
    with pytest.raises(ValueError, match="says nothing that the columns of the fit do not say already"):
        fit.score_test(rows.X @ np.array([1.0, 2.0, -1.0]) + 3.0)


@each([case for case in EXAMPLES if case.opened and case.number == 0])
def test_a_noise_that_another_can_be_is_at_the_end_of_its_range(case):
    rows, ends = case.rows(), [own for own in case.family.beside_location() if own.limit is not None]
    for own in ends:
        if own.name not in case.noise.unknown:
            continue
        family = nl.distributions.FAMILIES.get(own.limit.noise.lower())
        if family is None:  # a law that is no noise by itself
            continue
        kept = {one.name: None for one in family.beside_location() if one.name != own.name}
        if case.link not in family._links() or not np.all(family.support.contains(rows.y)):
            continue
        small = rows.fit(family(**kept, link=case.link))
        if not small.converged:
            continue
        found = nl.likelihood_ratio(small, rows.fit(case.noise))
        assert "half each" in found.law
        assert 0 <= found.p <= 1
