"""Zero-inflated and hurdle fits against pscl, and against what statsmodels keeps of Stata's and R's.

p is the probability of a zero of its own: the zero part of pscl's zeroinfl, and that of hurdle with the other sign, for
there it is the probability of no zero. theta is 1 / dispersion.
"""

import json
import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy.special import expit, ndtr

import neglog as nl

STORED = json.loads(Path(__file__).with_name("zeros.json").read_text(encoding="utf-8"))
COUNTS = {"poisson": nl.Poisson, "negbin": nl.NegativeBinomial}
WRAPPERS = {"zeroinfl": nl.ZeroInflated, "hurdle": nl.Hurdle}


def at_its_limit(case):
    """Whether pscl found no zeros but those of the counts: p is then 0, as close as its optimiser cared to come."""
    return case["zero"] == "constant" and expit(case["zero coef"][0]) < 1e-6


def cases(*, limit):
    return pytest.mark.parametrize(
        "case", [case for case in STORED["cases"] if at_its_limit(case) == limit], ids=lambda case: case["name"]
    )


def fitted(case):
    table = {name: np.array(values, float) for name, values in STORED["tables"][case["table"]].items()}
    y = table.pop("y")
    p = "model" if case["zero"] == "modelled" else None
    noise = WRAPPERS[case["kind"]](COUNTS[case["dist"]](), p=p)
    fit = nl.fit(np.column_stack(list(table.values())), y, noise, tol=1e-10)
    assert fit.converged, fit.message
    return fit


def check(found, wanted, errors):
    """To a millionth of the value, or a hundred thousandth of its error where it is nearly 0."""
    wanted, errors = np.asarray(wanted), np.asarray(errors)
    np.testing.assert_array_less(np.abs(found - wanted), 1e-6 * np.abs(wanted) + 1e-5 * errors)


@cases(limit=False)
def test_coefficients_of_pscl(case):
    fit = fitted(case)
    assert fit.log_likelihood == pytest.approx(case["log likelihood"], rel=1e-8)
    check([fit.intercept, *fit.coef], case["count coef"], case["count errors"])
    np.testing.assert_allclose(fit.standard_errors, case["count errors"][1:], rtol=1e-4)
    assert fit.intercept_standard_error == pytest.approx(case["count errors"][0], rel=1e-4)
    sign = 1 if case["kind"] == "zeroinfl" else -1
    if case["zero"] == "modelled":
        zero = fit.predictors["p"]
        check([zero.intercept, *zero.coef], sign * np.array(case["zero coef"]), case["zero errors"])
    else:
        p, error = expit(sign * case["zero coef"][0]), case["zero errors"][0]
        assert fit.noise.p == pytest.approx(p, rel=1e-5)
        assert fit.noise_standard_errors["p"] == pytest.approx(p * (1 - p) * error, rel=1e-4)
    if "theta" in case:
        inside = fit.noise.noise
        assert 1 / inside.dispersion == pytest.approx(case["theta"], rel=1e-5)
        error = fit.noise_standard_errors["dispersion"] / inside.dispersion
        assert error == pytest.approx(case["log theta error"], rel=1e-4)


@cases(limit=True)
def test_without_zeros_of_their_own_counts_are_left(case):
    """The articles of biochemists have no more zeros than a negative binomial law."""
    fit = fitted(case)
    assert fit.log_likelihood == pytest.approx(case["log likelihood"], rel=1e-8)
    assert fit.noise.p < 1e-4
    check([fit.intercept, *fit.coef], case["count coef"], 10 * np.array(case["count errors"]))


# ---- what statsmodels keeps ------------------------------------------------------------------------------------------


def stored(module):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pytest.importorskip("pandas", reason="statsmodels' data sets are pandas tables")
        return pytest.importorskip(f"statsmodels.{module}", reason="its tests hold the numbers")


def doctor_visits():
    datasets = stored("datasets.randhie")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        data = datasets.load()
    return np.array(data.endog, float), np.array(data.exog, float)


@pytest.mark.parametrize("name", ["logit", "probit", "offset"])
def test_likelihoods_of_stata_at_its_estimates(name):
    """Zeros on the first column, counts on the next three. Estimates of seven digits cost the likelihood nothing."""
    wanted = getattr(stored("discrete.tests.results.results_discrete").RandHIE, f"zero_inflated_poisson_{name}")
    y, X = doctor_visits()
    zero, counts = np.split(np.array(wanted.params), [2])
    raw = X[:, 0] * zero[0] + zero[1]
    eta = X[:, 1:4] @ counts[:3] + counts[3] + (X[:, 7] if name == "offset" else 0.0)
    p = ndtr(raw) if name == "probit" else expit(raw)
    law = nl.ZeroInflated(nl.Poisson(np.exp(eta)), p)
    printed = 1e-9 if name == "logit" else 1e-7
    assert -np.sum(law.nll(y)) == pytest.approx(wanted.llf, rel=printed)


def test_likelihood_of_zero_inflated_negative_binomial_at_its_estimates():
    wanted = stored("discrete.tests.results.results_discrete").RandHIE.zero_inflated_negative_binomial
    y, X = doctor_visits()
    zero, slope, level, dispersion = np.array(wanted.params[:2]), *wanted.params[2:]
    counts = nl.NegativeBinomial(np.exp(X[:, 1] * slope + level), dispersion)
    law = nl.ZeroInflated(counts, expit(X[:, 0] * zero[0] + zero[1]))
    assert -np.sum(law.nll(y)) == pytest.approx(wanted.llf, rel=1e-6)


def zero_part(y):
    """The log likelihood of a constant probability of zeros."""
    share = np.mean(y == 0)
    return len(y) * (share * np.log(share) + (1 - share) * np.log1p(-share))


def test_truncated_poisson_of_doctor_visits():
    """Stata's truncated regression of the visits above 0 is the other half of a hurdle."""
    results = stored("discrete.tests.results.results_discrete").RandHIE()
    results.zero_truncated_poisson()
    y, X = doctor_visits()
    fit = nl.fit(X[:, :4], y, nl.Hurdle(nl.Poisson()), tol=1e-10)
    assert fit.converged, fit.message
    assert fit.log_likelihood - zero_part(y) == pytest.approx(results.llf, rel=2e-8)
    np.testing.assert_allclose([*fit.coef, fit.intercept], results.params, rtol=1e-5)
    np.testing.assert_allclose(fit.standard_errors, results.bse[:-1], rtol=1e-4)


def visits_of_the_elderly():
    """Without those who have both insurances, and more than 70 visits, as statsmodels' tests read them."""
    folder = Path(stored("sandbox.regression.tests").__file__).parent
    table = np.genfromtxt(folder / "racd10data_with_transformed.csv", delimiter=",", names=True)
    table = table[~((table["private"] == 1) & (table["medicaid"] == 1)) & (table["docvis"] <= 70)]
    return np.column_stack([table["aget"], table["totchr"]]), table["docvis"]


@pytest.mark.parametrize(
    ("name", "noise"), [("poisson", nl.Poisson()), ("negbin", nl.NegativeBinomial())], ids=["poisson", "negbin"]
)
def test_truncated_counts_of_stata(name, noise):
    wanted = getattr(stored("discrete.tests.results.results_truncated_st"), f"results_trunc_{name}")
    X, y = visits_of_the_elderly()
    fit = nl.fit(X, y, nl.Hurdle(noise), tol=1e-10)
    assert fit.converged, fit.message
    assert fit.log_likelihood - zero_part(y) == pytest.approx(wanted.ll, rel=1e-9)
    params, errors = wanted.params_table[:, 0], wanted.params_table[:, 1]
    check([*fit.coef, fit.intercept], params[:3], errors[:3])
    np.testing.assert_allclose([*fit.standard_errors, fit.intercept_standard_error], errors[:3], rtol=1e-4)
    if name == "negbin":
        dispersion = fit.noise.noise.dispersion
        assert dispersion == pytest.approx(np.exp(params[3]), rel=1e-5)
        assert fit.noise_standard_errors["dispersion"] / dispersion == pytest.approx(errors[3], rel=1e-4)


def test_hurdle_of_pscl_with_another_zero_part():
    """There the zeros are those of a second Poisson law: its complementary log-log regression stands for them here."""
    wanted = stored("discrete.tests.results.results_truncated").hurdle_poisson
    X, y = visits_of_the_elderly()
    fit = nl.fit(X, y, nl.Hurdle(nl.Poisson()), tol=1e-10)
    zeros = nl.fit(X, (y > 0).astype(float), nl.Bernoulli(link="cloglog"), tol=1e-10)
    found = fit.log_likelihood - zero_part(y) + zeros.log_likelihood
    assert found == pytest.approx(wanted.loglik, rel=1e-8)
    check([fit.intercept, *fit.coef], wanted.count[:, 0], wanted.count[:, 1])
    check([zeros.intercept, *zeros.coef], wanted.zero[:, 0], 100 * wanted.zero[:, 1])  # where BFGS stopped
    np.testing.assert_allclose(fit.standard_errors, wanted.count[1:, 1], rtol=1e-4)
