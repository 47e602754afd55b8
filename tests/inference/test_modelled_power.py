"""The power of a Tweedie noise predicted for each row, alone and beside its dispersion: against scipy, differences."""

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from scipy.special import expit

import neglog as nl
from neglog.distributions.link import LINKS
from neglog.distributions.parameters import between
from neglog.likelihood.accelerators import make_target
from neglog.results.summary import equation

ROWS = 800


@pytest.fixture(scope="module")
def rows():
    """Powers from 1.2 to 1.8 along u."""
    rng = np.random.default_rng(3)
    table = pd.DataFrame({"x": rng.normal(size=ROWS), "u": rng.uniform(-1, 1, ROWS)})
    law = nl.Tweedie(np.exp(1 + 0.4 * table["x"]), 1.5 + 0.3 * table["u"].to_numpy(), np.full(ROWS, 1.2))
    return table.assign(y=law.sample(rng=rng))


def direct(noise, rows, start):
    """The whole nll at coefficients of the mean, then of power and dispersion: a row of them, a number, or none."""
    X = np.column_stack([np.ones(ROWS), rows["x"], rows["u"]])

    def law(z):
        left, values = list(z[3:]), []
        for name, value in (("power", lambda raw: 1 + expit(raw)), ("dispersion", np.exp)):
            count = 3 if name in noise.modelled else int(getattr(noise, name) is None)
            own, left = left[:count], left[count:]
            raw = X @ own if count == 3 else np.full(ROWS, *own) if count else None
            values.append(np.full(ROWS, getattr(noise, name)) if raw is None else value(raw))
        return nl.Tweedie(np.exp(X @ z[:3]), *values)

    nats = lambda z: float(np.sum(law(z).nll(rows["y"].to_numpy())))  # noqa: E731
    return minimize(nats, start, method="BFGS", options={"gtol": 1e-3})


@pytest.mark.parametrize(
    "noise",
    [
        nl.Tweedie(power="model"),
        nl.Tweedie(power="model", dispersion=1.2),
        nl.Tweedie(power="model", dispersion="model"),
        nl.Tweedie(dispersion="model"),
        nl.Tweedie(power=1.5, dispersion="model"),
    ],
    ids=repr,
)
def test_the_fit_is_where_scipy_ends(noise, rows):
    fit = nl.fit(rows, "y", noise, tol=1e-8)
    assert fit.converged, fit.message
    values = [np.append(own.intercept, own.coef) for own in fit.predictors.values()]
    scales = {"power": lambda p: np.log((p - 1) / (2 - p)), "dispersion": np.log}
    opened = {name: scales[name](getattr(fit.noise, name)) for name in fit.noise_standard_errors}
    if "power" in opened:  # it stands before the coefficients of the dispersion
        values.insert(1, [opened.pop("power")])
    found = np.concatenate([*values, list(opened.values())])
    wanted = direct(noise, rows, np.append(1.0, np.zeros(len(found) - 1)))
    assert fit.nll == pytest.approx(wanted.fun, abs=1e-5)
    np.testing.assert_allclose(found, wanted.x, atol=1e-3)


def test_the_truth_is_found_and_said(rows):
    fit = nl.fit(rows, "y", nl.Tweedie(power=nl.terms("u"), dispersion=nl.terms("x")), terms=nl.terms("x"))
    assert fit.converged
    np.testing.assert_allclose(fit.distribution(rows).power, 1.5 + 0.3 * rows["u"], atol=0.08)
    assert equation(fit).endswith("logit(power - 1) = intercept + u\nlog(dispersion) = intercept + x")
    own = ["power: intercept", "power: u", "dispersion: intercept", "dispersion: x"]
    assert list(fit.summary().table["name"]) == ["intercept", "x", *own]


def test_curves_of_the_power_are_learned(rows):
    fit = nl.fit(rows, "y", nl.Tweedie(power=nl.terms(nl.smooth("u"))), terms=nl.terms("x"))
    assert fit.converged
    np.testing.assert_allclose(fit.distribution(rows).power, 1.5 + 0.3 * rows["u"], atol=0.12)


@pytest.mark.parametrize("link", ["log", "identity", "inverse", "sqrt"])
def test_derivatives_of_the_rows_are_those_of_their_nll(link, rows):
    noise = nl.Tweedie(power="model", dispersion="model", link=link)
    y = rows["y"].to_numpy()
    eta = np.column_stack([LINKS[link].forward(np.exp(1 + 0.4 * rows["x"])), 2 * rows["u"], 0.3 * rows["x"]])
    target = make_target(noise, y, None, None)
    slopes, pairs = target.derivatives(noise, eta)
    for k, step in enumerate(1e-5 * np.eye(3)):
        change = (noise.given(eta + step).nll(y) - noise.given(eta - step).nll(y)) / 2e-5
        np.testing.assert_allclose(slopes[k], change, rtol=1e-5, atol=1e-5)
        above, below = (target.derivatives(noise, eta + side * step)[0] for side in (1, -1))
        for j in range(k + 1):
            change = (above[j] - below[j]) / 2e-5
            np.testing.assert_allclose(pairs[k * (k + 1) // 2 + j], change, rtol=1e-4, atol=1e-4)


def test_values_have_the_derivatives_of_cells_without_width(rows):
    law = nl.Tweedie(power=1 + expit(rows["u"].to_numpy()), dispersion=0.7)
    y, eta = rows["y"].to_numpy(), 1 + 0.4 * rows["x"].to_numpy()
    values, cells = (law.joint(one, eta, curvature=True) for one in (y, nl.censored(y, y)))
    for found, wanted in zip(values, cells, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9)


def test_a_prediction_never_arrives_at_an_end():
    raw = np.array([-1e9, -800.0, -40.0, 0.0, 40.0, 800.0, 1e9, np.nan])
    power = between(1.0, 2.0).value(raw)
    assert np.all((power[:-1] > 1) & (power[:-1] < 2))
    assert np.isnan(power[-1])
    assert power[3] == 1.5
    law = nl.Tweedie(power="model", dispersion=1.0).given(np.column_stack([np.zeros(7), raw[:-1]]))
    assert not np.isnan(law.nll(1.0)).any()


def test_what_no_rows_could_tell_is_refused(rows):
    positive = rows[rows["y"] > 0]
    for noise in (nl.Tweedie(power="model"), nl.Tweedie(power="model", dispersion=1.0)):
        with pytest.raises(ValueError, match="only where some y are 0 and some are not"):
            nl.fit(positive, "y", noise)
    with pytest.raises(ValueError, match="at power 1 y lies on the multiples of the dispersion"):
        nl.fit(rows.assign(y=np.round(rows["y"])), "y", nl.Tweedie(power=1.0, dispersion="model"))
    with pytest.raises(ValueError, match="a modelled dispersion and a power cannot be told apart"):
        nl.fit(rows.assign(y=np.round(rows["y"])), "y", nl.NegativeBinomial(power="model", dispersion="model"))
