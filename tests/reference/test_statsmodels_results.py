"""Fits by R, Stata and glmnet that statsmodels ships with its tests, read from the installed package.

Tolerances follow from the digits stored there. Where a program reports another dispersion (Pearson's) or another
information (expected instead of observed), only what does not depend on it is compared.
"""

import importlib
import warnings
from pathlib import Path

import numpy as np
import pytest

import neglog as nl

statsmodels = pytest.importorskip("statsmodels", reason="its tests hold the numbers")
pandas = pytest.importorskip("pandas", reason="statsmodels' data sets are pandas tables")


def results(name):
    """A module of stored results; installations without tests skip."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip(f"statsmodels.{name}", reason="this installation has no tests")


def dataset(name, kept_in=np.float64):
    """y and X of a data set of statsmodels; an intercept is neglog's own. Stata often kept data in single precision."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        data = importlib.import_module(f"statsmodels.datasets.{name}").load()
    return np.array(data.endog, kept_in).astype(float), np.array(data.exog, kept_in).astype(float)


def check(actual, expected, rtol, atol=0.0):
    np.testing.assert_allclose(actual, expected, rtol=rtol, atol=atol)


def fitted(*arguments, **keywords):
    fit = nl.fit(*arguments, tol=1e-10, **keywords)
    assert fit.converged, fit.message
    return fit


def check_slopes(fit, params, rtol, atol=0.0):
    """The intercept comes last, as in Stata."""
    check(fit.coef, params[:-1], rtol, atol)
    check(fit.intercept, params[-1], rtol, atol)


# ---- generalised linear models ---------------------------------------------------------------------------------------


def test_star98_binomial():
    """Shares in 303 school districts with numbers of pupils: the binomial coefficient is part of the likelihood."""
    stored = results("genmod.tests.results.results_glm").Star98()
    counts, X = dataset("star98")
    trials = counts.sum(axis=1)
    fit = fitted(X, counts[:, 0] / trials, nl.Bernoulli(), precision=trials)
    check_slopes(fit, stored.params, 1e-6, 1e-10)
    check(fit.standard_errors, stored.bse[:-1], 1e-5)
    check(fit.intercept_standard_error, stored.bse[-1], 1e-5)
    check(fit.deviance, stored.deviance, 1e-10)
    check(fit.deviance / (1 - fit.d2), stored.null_deviance, 1e-10)
    check(fit.log_likelihood, stored.llf, 1e-10)
    check(fit.aic, stored.aic_R, 1e-10)


def test_scotland_gamma_inverse():
    stored = results("genmod.tests.results.results_glm").Scotvote()
    y, X = dataset("scotland")
    fit = fitted(X, y, nl.Gamma(link="inverse"))
    check_slopes(fit, stored.params, 3e-6)
    check(fit.deviance, stored.deviance, 1e-9)
    check(fit.deviance / (1 - fit.d2), stored.null_deviance, 2e-6)
    check(fit.standard_errors * np.sqrt(stored.scale * fit.noise.shape), stored.bse[:-1], 3e-5)


def test_low_birth_weight_logit():
    stored = results("genmod.tests.results.results_glm").Lbw()
    X = np.asarray(stored.exog, float)[:, :-1]
    fit = fitted(X, np.asarray(stored.endog, float), nl.Bernoulli())
    check_slopes(fit, stored.params, 1e-6)
    check(fit.standard_errors, stored.bse[:-1], 3e-5)  # those of the second to last iteration
    check(fit.deviance, stored.deviance, 1e-11)
    check(fit.log_likelihood, stored.llf, 1e-11)
    check(fit.aic, stored.aic_R, 1e-9)


def test_punishment_poisson_with_an_offset():
    """Cpunish: a constant offset moves the intercept only. Stored is an exposure of 100, written in front."""
    stored = results("genmod.tests.results.results_glm").Cpunish_offset()
    y, X = dataset("cpunish")
    X[:, 3] = np.log(X[:, 3])
    by_exposure = fitted(X, y, nl.Poisson(), exposure=np.full(len(y), 100.0))
    by_offset = fitted(X, y, nl.Poisson(), offset=np.full(len(y), np.log(100.0)))
    for fit in (by_exposure, by_offset):
        check(fit.intercept, stored.params[0], 2e-6)
        check(fit.coef, stored.params[1:], 1e-6)


def test_punishment_tweedie_identity():
    stored = results("genmod.tests.results.results_glm").CpunishTweediePower15()
    y, X = dataset("cpunish")
    fit = fitted(X[:, [0, 4]], y, nl.Tweedie(power=1.5, dispersion=1.0, link="identity"), intercept=False)
    check(fit.coef, stored.params, 2e-6)
    check(fit.deviance, stored.deviance, 1e-9)


def test_fair_tweedie_log():
    stored = results("genmod.tests.results.results_glm").FairTweedieLog15()
    y, X = dataset("fair")
    fit = fitted(X[:, :3], y, nl.Tweedie(power=1.5, dispersion=1.0), intercept=False)
    check(fit.coef, stored.params, 3e-5)  # R stops when the deviance changes by less than 1e-8 of itself
    check(fit.deviance, stored.deviance, 3e-7)


@pytest.mark.parametrize(("name", "link"), [("InvGaussLog", "log"), ("InvGaussIdentity", "identity")])
def test_hospital_stays_inverse_gaussian(name, link):
    module = results("genmod.tests.results.results_glm")
    stored, data = getattr(module, name)(), module.Medpar1()
    y, X = np.asarray(data.endog, float), np.asarray(data.exog, float)[:, :-1]
    fit = fitted(X, y, nl.Tweedie(power=3.0, link=link))
    check_slopes(fit, stored.params, 1e-4)  # iterated to a deviance constant within 1e-8
    check(fit.deviance, stored.deviance, 2e-6)
    check(fit.deviance / (1 - fit.d2), stored.null_deviance, 2e-6)


@pytest.mark.parametrize("link", ["log", "identity"])
def test_cancer_gamma(link):
    module = results("genmod.tests.results.results_glm")
    stored = {"log": module.CancerLog, "identity": module.CancerIdentity}[link]()
    X = np.asarray(stored.exog, float)[:, :-1]
    fit = fitted(X, np.asarray(stored.endog, float), nl.Gamma(link=link))
    check_slopes(fit, stored.params, 1e-4, 1e-7)
    check(fit.deviance, stored.deviance, 2e-6)


# ---- discrete choice -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("link", ["logit", "probit"])
def test_spector_binary(link):
    stored = getattr(results("discrete.tests.results.results_discrete").Spector, link)
    y, X = dataset("spector", np.float32)
    fit = fitted(X, y, nl.Bernoulli(link=link))
    check_slopes(fit, stored.params, 3e-9)
    check(fit.log_likelihood, stored.llf, 1e-12)
    if link == "logit":  # of the probit, Stata's information is the expected one
        check(fit.standard_errors, stored.bse[:-1], 1e-5)


def test_health_insurance_poisson():
    stored = results("discrete.tests.results.results_discrete").RandHIE.poisson
    y, X = dataset("randhie", np.float32)
    fit = fitted(X, y, nl.Poisson())
    check_slopes(fit, stored.params, 1e-8)
    check(fit.standard_errors, stored.bse[:-1], 1e-5)
    check(fit.log_likelihood, stored.llf, 1e-12)
    check(fit.aic, stored.aic, 1e-12)


def test_election_multinomial():
    """Stata's class 0 has coefficients 0; ours sum to zero, so only differences between classes compare."""
    stored = results("discrete.tests.results.results_discrete").Anes.mnlogit_basezero
    y, X = dataset("anes96")
    fit = fitted(X, y, nl.Categorical())
    assert list(fit.classes) == list(range(7))
    check((fit.coef - fit.coef[0])[1:].T, stored.params[:-1], 2e-6, 1e-8)
    check((fit.intercept - fit.intercept[0])[1:], stored.params[-1], 2e-6)
    check(fit.coef.sum(axis=0), 0, 0, 1e-10)
    check(fit.intercept.sum(), 0, 0, 1e-10)
    check(fit.log_likelihood, stored.llf, 1e-10)
    check(fit.aic, stored.aic, 1e-9)  # six free classes count, not seven


# ---- robust ----------------------------------------------------------------------------------------------------------


def test_engel_median_regression():
    """Stata's qreg: food expenditure on income, 235 households."""
    stored = results("regression.tests.results.results_quantile_regression").biweight_bofinger
    from statsmodels.datasets import engel

    table = engel.load_pandas().data.astype(np.float32).astype(float)
    fit = fitted(table[["income"]], np.asarray(table["foodexp"]), nl.Laplace())
    check(fit.coef[0], stored.table[0, 0], 0, 5.1e-8)
    check(fit.intercept, stored.table[1, 0], 0, 5.1e-6)
    check(len(table) * fit.noise.scale, stored.sum_adev, 1e-8)
    assert fit.certificate.gap <= 1e-6


def test_engel_upper_quartile():
    """Stata's qreg with quantile(.75), of the same households."""
    stored = results("regression.tests.results.results_quantile_regression").epanechnikov_hsheather_q75
    from statsmodels.datasets import engel

    table = engel.load_pandas().data.astype(np.float32).astype(float)
    fit = fitted(table[["income"]], np.asarray(table["foodexp"]), nl.AsymmetricLaplace(quantile=0.75))
    check(fit.coef[0], stored.table[0, 0], 0, 5.1e-8)
    check(fit.intercept, stored.table[1, 0], 0, 5.1e-6)
    check(2 * len(table) * fit.noise.scale, stored.sum_adev, 1e-8)
    check(fit.d2, stored.psrsquared, 0, 5.1e-5)
    assert fit.certificate.gap <= 1e-6


def test_stackloss_huber():
    stored = results("robust.tests.results.results_rlm").Huber()
    y, X = dataset("stackloss")
    fit = fitted(X, y, nl.Huber(scale=stored.scale))
    check_slopes(fit, stored.params, 1e-4)  # R stopped at a relative change of 1e-4


# ---- elastic nets of glmnet ------------------------------------------------------------------------------------------

ENETS = [(family, k) for family in ("binomial", "poisson") for k in range(9)]


def elastic_net(l2, l1):
    """The prior with these strengths, of which either may be zero."""
    prior = nl.Gaussian(scale=l2**-0.5) if l2 > 0 else nl.Flat()
    return prior * nl.Laplace(scale=1 / l1) if l1 > 0 else prior


@pytest.mark.parametrize(("family", "k"), ENETS)
def test_glmnet_of_a_family(family, k):
    """lambda (1 - a) = 1 / (n tau^2) and lambda a = 1 / (n b). R's read.csv took the first row for names."""
    module = results("genmod.tests.results.glmnet_r_results")
    data = np.loadtxt(Path(module.__file__).with_name(f"enet_{family}.csv"), delimiter=",")[1:]
    share, strength, *coef = getattr(module, f"rslt_{family}_{k}")
    y, X = data[:, 0], data[:, 1:]
    X = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    noise = nl.Bernoulli() if family == "binomial" else nl.Poisson()
    n = len(y)
    fit = fitted(X, y, noise, elastic_net(n * strength * (1 - share), n * strength * share), intercept=False)
    check(fit.coef, coef, 0, 1e-4)


@pytest.mark.parametrize("k", range(81))
def test_glmnet_gaussian(k):
    """glmnet divides its L2 penalty, not its L1, by the standard deviation of y."""
    module = results("regression.tests.results.glmnet_r_results")
    data = np.loadtxt(Path(module.__file__).with_name("lasso_data.csv"), delimiter=",")
    n, p, share, strength, *coef = getattr(module, f"rslt_{k}")
    n, p = int(n), int(p)
    y, X = data[:n, 0], data[:n, 1 : p + 1]
    y, X = (y - y.mean()) / y.std(ddof=1), (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    prior = elastic_net(n * strength * (1 - share) / y.std(), n * strength * share)
    fit = fitted(X, y, nl.Gaussian(scale=1.0), prior, intercept=False)
    check(fit.coef, coef, 0, 1e-5)


# ---- counts that vary more than Poisson's ----------------------------------------------------------------------------


@pytest.mark.parametrize(("power", "stored"), [(2.0, "negativebinomial_nb2_bfgs"), (1.0, "negativebinomial_nb1_bfgs")])
def test_randhie_negative_binomial(power, stored):
    """20,190 numbers of doctor visits, by Stata."""
    wanted = getattr(results("discrete.tests.results.results_discrete").RandHIE, stored)
    y, X = dataset("randhie")
    fit = fitted(X, y, nl.NegativeBinomial(power=power))
    check(fit.log_likelihood, wanted.llf, 1e-9)
    check(fit.coef, wanted.params[:-2], 2e-4, 2e-5)
    check(fit.intercept, wanted.params[-2], 2e-4)
    check(fit.noise.dispersion, wanted.params[-1], 2e-4)
