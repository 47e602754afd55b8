"""Robust and clustered errors that Stata reports, read from what statsmodels ships with its tests; statsmodels itself
where Stata's factors differ.
"""

from pathlib import Path

import numpy as np
import pytest
from reference.test_statsmodels_results import check, fitted, results

import neglog as nl

statsmodels = pytest.importorskip("statsmodels", reason="its tests hold the numbers")
pandas = pytest.importorskip("pandas", reason="statsmodels' data sets are pandas tables")

OUT_OF_ORDER = [2, 0, 1]  # Stata's intercept comes last


@pytest.fixture(scope="module")
def stored():
    return results("discrete.tests.results.results_count_robust_cluster")


@pytest.fixture(scope="module")
def ships():
    path = Path(statsmodels.__file__).parent / "discrete/tests/results/ships.csv"
    if not path.exists():
        pytest.skip("this installation of statsmodels has no tests")
    return pandas.read_csv(path).dropna()


def columns(ships):
    return ships[["yr_con", "op_75_79"]], ships["accident"]


@pytest.mark.parametrize("exposed", [False, True])
def test_poisson_ships(ships, stored, exposed):
    own = {"exposure": ships["service"]} if exposed else {}
    fit = fitted(*columns(ships), nl.Poisson(), **own)
    prefix = f"results_poisson_{'exposure_' if exposed else ''}"
    wanted = getattr(stored, f"{prefix}clu")
    found = fit.covariance("cluster", ships["ship"])
    check(found.standard_errors, wanted.bse[OUT_OF_ORDER], 1e-6)
    check(np.asarray(found), wanted.cov[np.ix_(OUT_OF_ORDER, OUT_OF_ORDER)], 2e-6, 1e-12)
    n = len(ships)  # Stata's factor for one cluster per row
    wanted = getattr(stored, f"{prefix}hc1")
    check(fit.covariance("HC0").standard_errors * np.sqrt(n / (n - 1)), wanted.bse[OUT_OF_ORDER], 1e-6)


def test_poisson_ships_by_name(ships, stored):
    table = ships[["accident", "yr_con", "op_75_79", "ship"]]
    fit = fitted(table, "accident", nl.Poisson(), terms=["yr_con", "op_75_79"])
    check(fit.covariance("cluster", "ship").standard_errors, stored.results_poisson_clu.bse[OUT_OF_ORDER], 1e-6)


@pytest.mark.parametrize("exposed", [False, True])
def test_negative_binomial_ships(ships, stored, exposed):
    own = {"exposure": ships["service"]} if exposed else {}
    fit = fitted(*columns(ships), nl.NegativeBinomial(), **own)
    wanted = getattr(stored, f"results_negbin_{'exposure_' if exposed else ''}clu")
    found = fit.covariance("cluster", ships["ship"], noise=True)
    check(found.standard_errors, wanted.bse[[2, 0, 1, 3]], 3e-6)
    own = fit.summary(errors="cluster", cluster=ships["ship"]).table["standard error"][-1]
    check(own, wanted.bse[4], 3e-6)  # of the dispersion, Stata's alpha


@pytest.fixture(scope="module")
def grunfeld():
    from statsmodels.datasets import grunfeld

    table = grunfeld.load_pandas().data
    stored = results("regression.tests.results.results_grunfeld_ols_robust_cluster")
    firms = ["American Steel"]  # Stata's copy of the table has ten firms
    return table[~table["firm"].isin(firms)], stored


def test_grunfeld_gaussian(grunfeld):
    table, stored = grunfeld
    fit = fitted(table[["value", "capital"]], table["invest"], nl.Gaussian())
    check(np.append(fit.coef, fit.intercept), stored.results_cluster.params, 1e-6)
    wanted = stored.results_cluster.bse[OUT_OF_ORDER]
    check(fit.covariance("cluster", table["firm"]).standard_errors, wanted, 1e-6)
    summary = fit.summary(errors="cluster", cluster=table["firm"], tests=True).table
    check(summary["standard error"][:3], wanted, 1e-6)
    check(summary["t(9)"][:3], stored.results_cluster.tvalues[OUT_OF_ORDER], 1e-6)
    check(summary["p"][:3], stored.results_cluster.pvalues[OUT_OF_ORDER], 1e-4)
    # without factors for few clusters and rows
    n, clusters = len(table), table["firm"].nunique()
    large = np.sqrt((n - 3) / (n - 1) * (clusters - 1) / clusters)
    found = fit.covariance("cluster", table["firm"]).standard_errors * large
    check(found, stored.results_cluster_large.bse[OUT_OF_ORDER], 1e-6)


def test_grunfeld_two_ways(grunfeld):
    from statsmodels.regression.linear_model import OLS
    from statsmodels.stats.sandwich_covariance import cov_cluster_2groups

    table, stored = grunfeld
    fit = fitted(table[["value", "capital"]], table["invest"], nl.Gaussian())
    firm, year = table["firm"].astype("category").cat.codes, table["year"].astype(int)
    rival = OLS(np.asarray(table["invest"]), np.column_stack([np.ones(len(table)), table[["value", "capital"]]])).fit()
    wanted = cov_cluster_2groups(rival, np.asarray(firm), np.asarray(year))[0]
    for labels in (np.column_stack([firm, year]), [table["firm"], table["year"]]):
        check(np.asarray(fit.covariance("cluster", labels)), wanted, 1e-6)
    small = stored.results_cluster_2groups_small.bse[OUT_OF_ORDER]  # one factor for both, that of the fewer
    check(fit.covariance("cluster", [firm, year]).standard_errors, small, 0.03)


def test_robust_tests_are_those_of_statsmodels(grunfeld):
    from statsmodels.regression.linear_model import OLS

    table, _ = grunfeld
    rival = OLS(np.asarray(table["invest"]), np.column_stack([np.ones(len(table)), table[["value", "capital"]]]))
    fit = fitted(table[["value", "capital"]], table["invest"], nl.Gaussian())
    for kind, theirs in [("posterior", "nonrobust"), ("HC0", "HC0"), ("HC1", "HC1"), ("HC2", "HC2"), ("HC3", "HC3")]:
        other = rival.fit(cov_type=theirs, use_t=True)
        shown = fit.summary(errors=kind, tests=True).table
        check(shown["standard error"][:3], other.bse, 1e-7)
        check(shown["p"][:3], other.pvalues, 1e-6)
        check(shown["lower"][:3], other.conf_int()[:, 0], 1e-7)
        test, theirs = fit.test("value = 0.1", "value = 2 * capital", errors=kind), other.f_test("x1 = .1, x1 = 2 * x2")
        check(test.statistic, theirs.fvalue, 1e-7)
        check(test.p, theirs.pvalue, 1e-6)


def test_holm_is_that_of_statsmodels():
    from statsmodels.stats.multitest import multipletests

    from neglog.testing.outcome import holm

    p = np.array([0.03, 0.001, 0.2, 0.012, 0.9, 0.012])
    check(holm(p), multipletests(p, method="holm")[1], 1e-12)
