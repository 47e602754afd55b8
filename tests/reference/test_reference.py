"""neglog against numbers made independently by mpmath and R; README.md says how.

A tolerance is the accuracy asked of an implementation plus what the rounding of its inputs costs anyone:
a value f(x) computed from a rounded intermediate x is uncertain by about eps |x f'(x)|.
"""

import json
from pathlib import Path

import numpy as np
import pytest

import neglog as nl

EPS = np.finfo(float).eps
TINY = np.finfo(float).tiny


def load(name):
    return json.loads(Path(__file__).with_name(f"{name}.json").read_text())["cases"]


def groups(rows):
    """Rows that one vectorised call can answer: same family, link and power (the power decides the law)."""
    found = {}
    for row in rows:
        power = row.get("parameters", row).get("power")
        parts = [row.get("family", "Tweedie"), row.get("link"), power]
        found.setdefault("-".join(str(part) for part in parts if part is not None), []).append(row)
    return [pytest.param(rows, id=name) for name, rows in found.items()]


def column(rows, name):
    return np.array([float(row[name]) for row in rows])


def parameter(rows, name):
    return np.array([row["parameters"][name] for row in rows])


def law(rows, **more):
    """One object with the parameters of every row; the power stays a number."""
    first = rows[0]["parameters"]
    parameters = {name: first[name] if name == "power" else parameter(rows, name) for name in first}
    return getattr(nl, rows[0]["family"])(**parameters, **more)


def assert_close(actual, expected, allowed, rows):
    actual, allowed = np.broadcast_to(actual, expected.shape), np.broadcast_to(allowed, expected.shape)
    with np.errstate(invalid="ignore", divide="ignore"):
        excess = np.abs(actual - expected) / allowed
    excess = np.where(actual == expected, 0.0, np.where(np.isnan(excess), np.inf, excess))
    worst = int(np.argmax(excess))
    assert excess[worst] <= 1, (
        f"{np.sum(excess > 1)} of {len(rows)} rows are off; the worst, {excess[worst]:.3g} times the tolerance: "
        f"got {actual[worst]!r}, wanted {expected[worst]!r} at {rows[worst]}"
    )


def assert_nll(actual, rows):
    expected = column(rows, "nll")
    allowed = 1e-12 * np.maximum(np.abs(expected), 0.1)
    if rows[0]["family"] == "LogNormal":  # its residual log y - loc carries the rounding of log y
        log_y, loc, scale = np.log(column(rows, "y")), parameter(rows, "loc"), parameter(rows, "scale")
        allowed += 4 * EPS * np.abs((log_y - loc) * log_y) / scale**2
    if rows[0]["family"] == "Dirichlet":  # every log y_i is rounded by itself, though together they must sum to one
        allowed += [EPS * np.sum(np.abs(np.array(row["parameters"]["alpha"]) - 1)) for row in rows]
    assert_close(actual, expected, allowed, rows)


def assert_tail(actual, rows, name):
    expected = column(rows, name)
    # TINY: a tail below the smallest normal double may be flushed to zero
    assert_close(actual, expected, 1e-12 * expected + 16 * EPS * tail_sensitivity(rows) + TINY, rows)


def tail_sensitivity(rows):
    """|x d cdf / dx| for the standardised variable x from which the tails are computed."""
    family, y, nll = rows[0]["family"], column(rows, "y"), column(rows, "nll")
    power = rows[0]["parameters"].get("power")
    if family in ("Gaussian", "Laplace", "Huber") or power == 0:
        size = np.abs(y - parameter(rows, "mean" if power == 0 else "loc"))
    elif family == "Poisson" or power == 1:  # as a function of the mean
        size = parameter(rows, "mean") / (parameter(rows, "dispersion") if power == 1 else 1)
    elif family == "LogNormal":
        size = y * np.maximum(np.abs(np.log(y)), np.abs(parameter(rows, "loc")))
    elif family == "Beta":
        size = np.minimum(y, 1 - y)
    elif family == "Bernoulli":
        return np.zeros_like(y)
    else:
        size = y
    with np.errstate(divide="ignore"):
        return np.exp(np.log(size) - nll)


DENSITIES = load("densities")
VECTOR_FAMILIES = ("Dirichlet", "Categorical")
UNIVARIATE = groups(row for row in DENSITIES if row["family"] not in VECTOR_FAMILIES)


@pytest.mark.parametrize("rows", UNIVARIATE)
def test_nll(rows):
    assert_nll(law(rows).nll(column(rows, "y")), rows)


@pytest.mark.parametrize("family", VECTOR_FAMILIES)
def test_nll_of_vectors(family):
    rows = [row for row in DENSITIES if row["family"] == family]
    assert_nll([getattr(nl, family)(**row["parameters"]).nll(row["y"]) for row in rows], rows)


@pytest.mark.parametrize("rows", UNIVARIATE)
def test_cdf(rows):
    assert_tail(law(rows).cdf(column(rows, "y")), rows, "cdf")


@pytest.mark.parametrize("rows", UNIVARIATE)
def test_sf(rows):
    assert_tail(law(rows).sf(column(rows, "y")), rows, "sf")


@pytest.mark.parametrize("rows", groups(load("eta")))
def test_derivatives_in_eta(rows):
    noise = law(rows, link=rows[0]["link"])
    y, eta = column(rows, "y"), column(rows, "eta")
    nll, gradient, hessian = noise.derivatives(y, eta)
    expected_hessian = noise.derivatives(y, eta, expected=True)[2]

    value, slope = column(rows, "nll"), column(rows, "gradient")
    curve, fisher = column(rows, "hessian"), column(rows, "expected_hessian")
    # Rounding a mean by eps is moving eta by eps |eta|, and by eps more where the mean is an exponential of eta.
    relative = np.abs(eta) + (rows[0]["link"] in ("log", "logit", "probit", "cloglog"))
    moved = 4 * EPS * relative
    tweedie = 1e-11 if 1 < rows[0]["parameters"].get("power", 0) < 2 else 1e-12
    assert_close(nll, value, tweedie * np.maximum(np.abs(value), 0.1) + moved * np.abs(slope), rows)
    assert_close(gradient, slope, 1e-12 * np.abs(slope) + moved * np.abs(curve), rows)
    # The Hessian of a smooth family is a sum of terms of the size of its Fisher weight, each rounded.
    terms = np.abs(curve) if rows[0]["family"] in ("Laplace", "Huber") else fisher
    assert_close(hessian, curve, 1e-11 * np.abs(curve) + 4 * EPS * np.maximum(relative, 1) * terms, rows)
    assert_close(expected_hessian, fisher, 1e-11 * fisher + TINY, rows)


TWEEDIE = groups(load("tweedie"))


def tweedie_law(rows):
    return nl.Tweedie(mean=column(rows, "mean"), power=rows[0]["power"], dispersion=column(rows, "dispersion"))


@pytest.mark.parametrize("rows", TWEEDIE)
def test_tweedie_nll(rows):
    expected = column(rows, "nll")
    moved = column(rows, "mean") * column(rows, "d_mean"), column(rows, "dispersion") * column(rows, "d_dispersion")
    # Asked of the log density: 1e-11 where 1e-10 is promised.
    allowed = 1e-11 * np.maximum(np.abs(expected), 1) + 4 * EPS * (np.abs(moved[0]) + np.abs(moved[1]))
    assert_close(tweedie_law(rows).nll(column(rows, "y")), expected, allowed, rows)


@pytest.mark.parametrize("rows", TWEEDIE)
def test_tweedie_parameter_gradient(rows):
    gradient = tweedie_law(rows).parameter_gradient(column(rows, "y"))
    # 1e-10, and 1e-9 for the power: means over a series of which each has as many digits as the density. Each is
    # floored in the natural unit of its parameter: log dispersion, and the log odds of power - 1.
    p, dispersion = rows[0]["power"], column(rows, "dispersion")
    units = {"mean": (1e-12, np.inf), "dispersion": (1e-10, dispersion), "power": (1e-9, (p - 1) * (2 - p))}
    for name, (relative, unit) in units.items():
        expected = column(rows, f"d_{name}")
        assert_close(gradient[name], expected, relative * (np.abs(expected) + 1 / unit), rows)


@pytest.mark.parametrize("rows", groups(load("tweedie_cdf")))
@pytest.mark.parametrize("name", ["cdf", "sf"])
def test_tweedie_tails(rows, name):
    expected = column(rows, name)
    # 1e-11: sums of thousands of Poisson weights and gamma tails, each well conditioned
    assert_close(getattr(tweedie_law(rows), name)(column(rows, "y")), expected, 1e-11 * expected, rows)


@pytest.mark.parametrize("rows", groups(load("entropy")))
def test_entropy(rows):
    family, power = rows[0]["family"], rows[0]["parameters"].get("power", 0)
    expected = column(rows, "entropy")
    if family in VECTOR_FAMILIES:
        actual = [getattr(nl, family)(**row["parameters"]).entropy() for row in rows]
    else:
        actual = law(rows).entropy()
    if family == "Poisson" or 1 <= power < 2:
        accuracy = 1e-10  # a sum or an integral, no closed form
    elif family in ("Gamma", "Beta", "Dirichlet") or power == 2:
        accuracy = 1e-12  # log-gamma and digamma terms that nearly cancel
    else:
        accuracy = 1e-13
    discrete = family in ("Poisson", "Bernoulli", "Categorical") or power == 1
    size = expected if discrete else np.maximum(np.abs(expected), 1)  # a differential entropy has no natural zero
    assert_close(actual, expected, accuracy * size, rows)


def separation(p, q):
    """The largest relative difference between the parameters of two laws of one family; 1 for two families."""
    if p["family"] != q["family"]:
        return 1.0
    left, right = (np.hstack([np.ravel(v) for v in law["parameters"].values()]) for law in (p, q))
    left, right = left[left != right], right[left != right]
    return np.max(np.abs(left - right) / np.maximum(np.abs(left), np.abs(right)))


def kl_accuracy(row):
    p, q = row["p"], row["q"]
    power = p["parameters"].get("power", 0)
    same_edm = all(p["parameters"].get(name) == q["parameters"].get(name) for name in ("power", "dispersion"))
    if "Huber" in (p["family"], q["family"]):
        # No closed form: quadrature, which near equality integrates a difference of two logs.
        return 1e-9 + 1e4 * EPS / separation(p, q)
    if 1 < power < 2 and not same_edm:
        return 1e-9  # quadrature of two log densities with 11 digits
    # A ratio of two nearly equal parameters, once rounded, has lost the digits they share.
    return 1e-11 + 8 * EPS / separation(p, q)


@pytest.mark.parametrize("families", sorted({(r["p"]["family"], r["q"]["family"]) for r in load("kl")}), ids="||".join)
def test_kl_divergence(families):
    rows = [row for row in load("kl") if (row["p"]["family"], row["q"]["family"]) == families]
    actual = []
    for row in rows:
        p, q = (getattr(nl, row[side]["family"])(**row[side]["parameters"]) for side in "pq")
        actual.append(float(nl.kl_divergence(p, q)))
    expected = column(rows, "kl")
    allowed = [value * kl_accuracy(row) if value > 0 else 1e-15 for value, row in zip(expected, rows, strict=True)]
    assert_close(np.array(actual), expected, np.array(allowed), rows)


R = load("r")


@pytest.mark.parametrize("rows", groups(row for row in R if "nll" in row))
def test_densities_and_tails_of_r(rows):
    distribution, y = law(rows), column(rows, "y")
    assert_nll(distribution.nll(y), rows)
    if "cdf" in rows[0]:
        assert_tail(distribution.cdf(y), rows, "cdf")
        assert_tail(distribution.sf(y), rows, "sf")


@pytest.mark.parametrize("rows", groups(row for row in R if "icdf" in row))
def test_quantiles_of_r(rows):
    expected = column(rows, "icdf")
    around_zero = 1e-13 * parameter(rows, "scale") if rows[0]["family"] == "Gaussian" else 0
    assert_close(law(rows).icdf(column(rows, "q")), expected, 1e-12 * np.abs(expected) + around_zero, rows)
