"""Fits printed by others: R and its packages, NIST, scikit-learn's documentation, books.

Each case of regression.json carries its origin, the tool, the data and the precision of every number. Nothing in that
file was computed by neglog. Two of the published examples are not here, because `fit` cannot say them: A14, a Tweedie
noise of power 4, has no exact density in neglog, and the entry order of D11 is a path (tests/inference/test_path.py).
"""

import json
from pathlib import Path

import numpy as np
import pytest

import neglog as nl

DATA = json.loads(Path(__file__).with_name("regression.json").read_text(encoding="utf-8"))
CASES = DATA["cases"]


def column(table, text):
    """A column as the cases write it: name, log(name), name/number, name:name (product), name=level (indicator)."""
    if text.startswith("log("):
        return np.log(column(table, text[4:-1]))
    for sign, combine in (
        (":", lambda a, b: column(table, a) * column(table, b)),
        ("/", lambda a, b: column(table, a) / float(b)),
        ("=", lambda a, b: (column(table, a) == float(b)).astype(float)),
    ):
        if sign in text:
            return combine(*text.split(sign))
    values = table[text]
    if isinstance(values, dict):  # a long column in short
        values = [values["first"], *values["pair"] * values["repeat"]]
    return np.array(values, float)


def law(family, parameters):
    return getattr(nl, family)(**{k: np.array(v) if isinstance(v, list) else v for k, v in parameters.items()})


def fitted(case):
    """X, y and the fit of a case."""
    table = DATA["tables"][case["table"]]
    y = column(table, case["target"])
    X = np.column_stack([np.empty((len(y), 0)), *(column(table, name) for name in case["columns"])])
    prior = nl.Flat()
    for factor in case.get("prior", []):
        prior = prior * law(*factor)
    arguments = dict(case.get("arguments", {}))
    if "sample_weight" in arguments:
        arguments["sample_weight"] = column(table, arguments["sample_weight"])
    if "precision" in arguments:
        arguments["precision"] = np.full(len(y), float(arguments["precision"]))
    return X, y, nl.fit(X, y, law(*case["noise"]), prior, tol=1e-10, **arguments)


# ---- quantities as their authors define them -------------------------------------------------------------------------


def unbiased(fit, y):
    """From the divisor n of maximum likelihood to n - k."""
    return np.sqrt(len(y) / (len(y) - 1 - np.size(fit.coef)))


def rescaled(value, fit, case):
    """A standard error at the dispersion that its author used."""
    if "standard_error_dispersion" not in case:
        return value
    return np.multiply(value, np.sqrt(case["standard_error_dispersion"] * fit.noise.shape))


def residuals(fit, X, y):
    return y - X @ fit.coef - fit.intercept


def shrinkers(fit, X, y):
    """The ridge strengths of Hoerl, Kennard & Baldwin and of Lawless & Wang, from least squares."""
    (n, p), spread = X.shape, X.std(axis=0)
    variance = np.sum(residuals(fit, X, y) ** 2) / (n - p - 1)
    along = (X - X.mean(axis=0)) @ fit.coef
    return (p - 2) * variance / np.sum((fit.coef * spread) ** 2), (p - 2) * variance * n / np.sum(along**2)


QUANTITIES = {
    "coef": lambda fit, X, y, case: fit.coef,
    "sum_of_coef": lambda fit, X, y, case: np.sum(fit.coef),
    "intercept": lambda fit, X, y, case: fit.intercept,
    "mean": lambda fit, X, y, case: fit.predict(X)[0],
    "scale": lambda fit, X, y, case: fit.noise.scale,
    "shape": lambda fit, X, y, case: fit.noise.shape,
    "unbiased_scale": lambda fit, X, y, case: fit.noise.scale * unbiased(fit, y),
    "standard_errors": lambda fit, X, y, case: rescaled(fit.standard_errors, fit, case),
    "intercept_standard_error": lambda fit, X, y, case: rescaled(fit.intercept_standard_error, fit, case),
    "unbiased_standard_errors": lambda fit, X, y, case: fit.standard_errors * unbiased(fit, y),
    "unbiased_intercept_standard_error": lambda fit, X, y, case: fit.intercept_standard_error * unbiased(fit, y),
    "scale_standard_error": lambda fit, X, y, case: fit.noise_standard_errors["scale"],
    "shape_standard_error": lambda fit, X, y, case: fit.noise_standard_errors["shape"],
    "deviance": lambda fit, X, y, case: fit.deviance,
    "null_deviance": lambda fit, X, y, case: fit.deviance / (1 - fit.d2),
    "d2": lambda fit, X, y, case: fit.d2,
    "log_likelihood": lambda fit, X, y, case: fit.log_likelihood,
    "aic": lambda fit, X, y, case: fit.aic,
    "rss": lambda fit, X, y, case: len(y) * fit.noise.scale**2,
    "extract_aic": lambda fit, X, y, case: 2 * len(y) * np.log(fit.noise.scale) + 2 * (1 + np.size(fit.coef)),
    "absolute_residuals": lambda fit, X, y, case: np.sum(np.abs(residuals(fit, X, y))),
    "dose": lambda fit, X, y, case: (np.log([1 / 3, 1.0, 3.0]) - fit.coef[0]) / fit.coef[2],
    "ymax": lambda fit, X, y, case: 1 / fit.intercept,
    "xhalf": lambda fit, X, y, case: fit.intercept / fit.coef[0],
    "frequencies": lambda fit, X, y, case: 200 * fit.distribution(X).pdf(y),
    "HKB": lambda fit, X, y, case: shrinkers(fit, X, y)[0],
    "LW": lambda fit, X, y, case: shrinkers(fit, X, y)[1],
}


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_published_fit(case):
    X, y, fit = fitted(case)
    assert fit.converged, fit.message
    for name, expected in case["expected"].items():
        np.testing.assert_allclose(
            QUANTITIES[name](fit, X, y, case),
            expected["value"],
            rtol=expected["rtol"],
            atol=expected["atol"],
            err_msg=f"{name}; {case['origin']}",
        )


def test_every_case_says_where_it_comes_from_and_how_precise_it_is():
    names = [case["name"] for case in CASES]
    assert len(set(names)) == len(names)
    for case in CASES:
        assert case["origin"]
        assert case["read"]
        assert case["tool"]
        for expected in case["expected"].values():
            assert expected["rtol"] + expected["atol"] > 0


def test_parameters_count_every_estimate():
    """The scale counts, as in R's logLik: Longley has six slopes, an intercept and a scale."""
    case = next(case for case in CASES if case["id"] == "A17")
    _, y, fit = fitted(case)
    assert fit.n_parameters == 8
    assert fit.aic == pytest.approx(2 * 109.6174 + 16, abs=1.1e-4)
    assert fit.bic == pytest.approx(2 * 109.6174 + 8 * np.log(len(y)), abs=1.1e-4)


def test_generalised_cross_validation_of_longley():
    """D08: MASS finds its minimum on a grid of 1e-4 at 0.0057. The intercept does not count as a degree of freedom."""
    table = DATA["tables"]["longley"]
    case = next(case for case in CASES if case["id"] == "D08")
    y = column(table, case["target"])
    X = np.column_stack([column(table, name) for name in case["columns"]])
    spread = X.std(axis=0)
    values = np.linalg.svd((X - X.mean(axis=0)) / spread, compute_uv=False)

    def score(strength):
        prior = nl.Gaussian(scale=1 / (np.sqrt(strength) * spread))
        fit = nl.fit(X, y, nl.Gaussian(scale=1.0), prior, tol=1e-10)
        freedom = np.sum(values**2 / (values**2 + strength))
        return np.sum(residuals(fit, X, y) ** 2) / (len(y) - freedom) ** 2

    below, best, above = (score(strength) for strength in (0.0056, 0.0057, 0.0058))
    assert best < below
    assert best < above


def test_least_squares_on_the_diabetes_data():
    """D11: Efron et al. (2004), figure 1: the coefficients of the unit-length columns add up to 3460."""
    datasets = pytest.importorskip("sklearn.datasets", reason="its diabetes data")
    X, y = datasets.load_diabetes(return_X_y=True)
    assert np.sum(np.abs(nl.fit(X, y, tol=1e-10).coef)) == pytest.approx(3460, abs=0.5)
