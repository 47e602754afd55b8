"""Ratios of likelihoods, scores, profiles and differences of levels as R has them."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import chi2

import neglog as nl

R = json.loads((Path(__file__).parent / "tests.json").read_text(encoding="utf-8"))
DRAWN = 0.02  # of an interval's length: both tools find simultaneous ones by draws, or by quadrature to three digits


def table(case, *columns):
    return pa.table({name: R[case][name] for name in columns})


def check_profile(fit, wanted, order=None):
    found = np.asarray(fit.interval(0.9, "profile"))
    found = found[: len(wanted)] if order is None else found[order]
    wanted = np.array(wanted)
    np.testing.assert_allclose(found, wanted, atol=2e-4 * np.max(wanted[:, 1] - wanted[:, 0]))


def test_deviance_and_score_of_counts():
    own = table("counts", "count", "spray")
    small, large = nl.fit(own, "count ~ 1", nl.Poisson()), nl.fit(own, "count", nl.Poisson())
    found, wanted = nl.likelihood_ratio(small, large), R["counts"]
    assert found.law == "chi-square(5)"
    assert found.statistic == pytest.approx(wanted["deviance"], rel=1e-9)
    assert found.p == pytest.approx(wanted["p"], rel=1e-7)
    score = small.score_test("spray")
    assert score.statistic == pytest.approx(wanted["rao"], rel=1e-9)
    assert score.p == pytest.approx(wanted["rao_p"], rel=1e-7)
    check_profile(large, wanted["profile"])


def test_poisson_at_the_end_of_negative_binomial_noise():
    own = table("days", "Days", "Sex", "Age")
    found = nl.likelihood_ratio(nl.fit(own, "Days", nl.Poisson()), nl.fit(own, "Days", nl.NegativeBinomial()))
    assert found.statistic == pytest.approx(R["days"]["statistic"], rel=1e-8)
    assert found.p == pytest.approx(0.5 * chi2.sf(found.statistic, 1))
    assert "half each" in found.law


def test_f_profile_and_levels_of_yarn():
    own, wanted = table("yarn", "breaks", "wool", "tension"), R["yarn"]
    small, large = nl.fit(own.drop(["tension"]), "breaks"), nl.fit(own, "breaks")
    found = nl.likelihood_ratio(small, large)
    assert found.law == "F(2, 50)"
    assert (found.statistic, found.p) == pytest.approx((wanted["f"], wanted["p"]), rel=1e-8)
    assert small.score_test(np.array(R["yarn"]["tension"])).p > 0
    names = list(large.interval(0.9, "profile").names)
    places = [names.index(name) for name in ("intercept", "wool[B]", "tension[L]", "tension[M]")]
    check_profile(large, wanted["profile"], places)
    for against, key in ((None, "tukey"), ("H", "dunnett")):
        levels = large.contrasts("tension", against, level=0.9)
        for name, (low, high) in zip(wanted[key]["names"], wanted[key]["ends"], strict=True):
            one, other = name.split(" - ")
            flipped = f"{other} - {one}" in levels.names
            _, lower, upper = levels[f"{other} - {one}" if flipped else name]
            lower, upper = (-upper, -lower) if flipped else (lower, upper)
            np.testing.assert_allclose([lower, upper], [low, high], atol=DRAWN * (high - low))
    given = fit_p(large, wanted["tukey"]["names"])
    np.testing.assert_allclose(given, wanted["tukey"]["p"], atol=0.01)


def fit_p(fit, names):
    """p values that know of each other, by the names that multcomp gives the differences."""
    found = fit.contrasts("tension")
    pairs = (name.split(" - ") for name in names)
    places = [found.names.index(f"{a} - {b}" if f"{a} - {b}" in found.names else f"{b} - {a}") for a, b in pairs]
    return found.p[places]


@pytest.mark.parametrize(("evidence", "key"), [("all", "reml"), ("groups", "ml")])
def test_whether_persons_differ(evidence, key):
    own = table("sleep", "Reaction", "Days", "Subject")
    small = nl.fit(own, "Reaction", terms=["Days"])
    large = nl.fit(own, "Reaction", terms=["Days", nl.group("Subject")], evidence=evidence)
    found = nl.likelihood_ratio(small, large)
    assert found.statistic == pytest.approx(R["sleep"][key], rel=1e-6)
    assert found.p == pytest.approx(0.5 * chi2.sf(R["sleep"][key], 1), rel=1e-5)


def test_profiles_of_deaths():
    own = R["budworm"]
    male, dose = np.array(own["sex"]) == "M", np.array(own["ldose"], float)
    X = np.column_stack([male, dose, male * dose])
    fit = nl.fit(X, np.array(own["dead"]) / 20, nl.Bernoulli(), precision=np.full(12, 20.0))
    check_profile(fit, own["profile"])


def test_others_are_refused_in_sentences():
    own = table("yarn", "breaks", "wool", "tension")
    large = nl.fit(own, "breaks")
    small = nl.fit(own.drop(["tension"]), "breaks")
    for one, other, said in (
        (large, small, "the small fit comes first, but it has 5 parameters and the large one 3"),
        (small, nl.fit(own.drop(["wool"]), "breaks"), r"the large fit must have all columns .* but has no 'wool\[B\]'"),
        (small, small, "must have more parameters than the small one"),
        (small, nl.fit(own.slice(1), "breaks"), "must be of the same rows, but they have 54 and 53 rows"),
        (small, nl.fit(own, "breaks", prior=nl.Gaussian(scale=1.0)), "the large fit has the prior Gaussian"),
        (nl.fit(own, "breaks", prior=nl.Gaussian(scale=1.0)), large, "the small fit has the prior Gaussian"),
        (small, nl.fit(own, "breaks", nl.Poisson()), "Gaussian noise is no limit of Poisson noise"),
    ):
        with pytest.raises(ValueError, match=said):
            nl.likelihood_ratio(one, other)
    with pytest.raises(ValueError, match="is in the fit already"):
        large.score_test("wool")
    with pytest.raises(ValueError, match=r"there is no factor 'tensions'.*did you mean 'tension'"):
        large.contrasts("tensions")
    with pytest.raises(ValueError, match='against must be "mean" or one of the levels'):
        large.contrasts("tension", "X")
