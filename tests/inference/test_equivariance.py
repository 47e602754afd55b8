"""The unit of y, or of a column, changes no answer but by that unit: for every noise whose y has one."""

import numpy as np
import pandas
import pytest
from inference.problems import KNOWN, UNKNOWN, each

import neglog as nl

MORE = {
    "huber-threshold": nl.Huber(delta=None),
    "tweedie-dispersion": nl.Tweedie(power=1.5),
    "gaussian-log": nl.Gaussian(link="log"),
    "gamma-identity": nl.Gamma(link="identity"),
}
ALL = KNOWN | UNKNOWN | MORE
OF_UNIT = {  # counts, classes and shares have none
    name: noise for name, noise in ALL.items() if noise.measure != "mass" and not np.isfinite(noise.bounds[1])
}
PRIORS = {
    "flat": lambda size: nl.Flat(),
    "gaussian": lambda size: nl.Gaussian(scale=0.4 * size),
    "laplace": lambda size: nl.Laplace(scale=0.1 * size),
    "learned": lambda size: nl.Gaussian(),
}
UNITS = (1e-6, 1e6)
ROWS = 120


def is_of_logs(noise):
    """Whether the location is that of log y: any number, of y that are positive."""
    return noise.locations[0] < 0 and noise.support.low == 0


def exponent(noise, name):
    """How a parameter of the noise goes with the unit c of y, c to this power: shapes do not, and the spread so that
    the variance goes with c^2.
    """
    if name != noise.spread or is_of_logs(noise):  # a unit moves log y, and stretches nothing
        return 0
    known = KNOWN[noise._family()].parameters | {k: v for k, v in noise.parameters.items() if v is not None}
    c, m, v = 2.0, 1.7, known[name]

    def log_variance(location, spread):
        return np.log(type(noise)(**known | {noise.location: location, name: spread}).variance())

    moved = log_variance(c * m, v) - log_variance(m, v)
    return (2 * np.log(c) - moved) / (log_variance(m, c * v) - log_variance(m, v))


def in_unit(noise, c):
    """The noise with what is stated in the new unit."""
    values = {
        name: value if value is None else value * c ** exponent(noise, name)
        for name, value in noise.parameters.items()
        if name != noise.location
    }
    return type(noise)(**values, link=noise.link)


def columns():
    rng = np.random.default_rng(5)
    return np.column_stack([rng.normal(size=ROWS), 2 * rng.random(ROWS) + 0.5, rng.random(ROWS) < 0.4])


def drawn(noise, X):
    """Targets at raw predictions of moderate size, all positive."""
    eta = 1.2 + X @ [0.3, -0.1, 0.2]
    if isinstance(noise, nl.Categorical):
        eta = np.column_stack([eta, -eta, np.zeros(len(eta))])
    stated = KNOWN[noise._family()]
    parameters = {k: v for k, v in stated.parameters.items() if k != stated.location}
    law = type(noise)(**parameters, link=noise.link).given(eta)
    return np.asarray(law.sample(rng=3), float)


def answers(fit):
    """All that a fit says, by name."""
    found = {
        "coef": fit.coef,
        "errors": fit.standard_errors,
        "intercept error": fit.intercept_standard_error,
        "nll": fit.nll,
        "d2": fit.d2,
        "scale of the prior": getattr(fit.prior, "scale", np.nan),
        **{name: fit.noise.number(name)[0] for name in fit.noise_standard_errors},
        **{f"{name} error": error for name, error in fit.noise_standard_errors.items()},
    }
    if not isinstance(fit.prior, nl.Laplace):
        posterior = fit.posterior()
        found |= {"covariance": posterior.covariance(), "evidence": posterior.evidence}
    if fit.noise.smooth:
        found["loo"] = fit.loo().total
    return found


def assert_same(found, wanted, rtol):
    """Up to what is nothing beside the others of its kind; NaN is what a coefficient at its kink has."""
    assert found.keys() == wanted.keys()
    for name, value in wanted.items():
        least = rtol if name == "d2" else 1e-8 * np.max(np.abs(value), where=np.isfinite(value), initial=0.0)
        if name == "covariance":
            least = rtol * np.sqrt(np.outer(value.diagonal(), value.diagonal()))
        gap = np.abs(found[name] - value)
        assert np.all((gap <= rtol * np.abs(value) + least) | (np.isnan(found[name]) & np.isnan(value))), name


def in_new_unit(base, fit, c, size, zeros):
    """What the fit in another unit should say, given what it says in the plain one."""
    rows, L = ROWS - zeros, np.log(c)
    wanted = dict(base)
    for name in ("coef", "errors", "intercept error", "scale of the prior"):
        wanted[name] = base[name] * size
    for name in fit.noise_standard_errors:
        factor = c ** exponent(fit.noise, name)
        wanted[name], wanted[f"{name} error"] = base[name] * factor, base[f"{name} error"] * factor
    for name in {"nll", "loo"} & base.keys():
        wanted[name] = base[name] + rows * L  # a density of y, but for zeros, which have a probability
    if "covariance" in base:
        flat = 4 if isinstance(fit.prior, nl.Flat) else 1  # coefficients that count with the density 1
        wanted["evidence"] = base["evidence"] - rows * L + flat * np.log(size)
        turn = np.diag([size] * 4 + [1.0] * (len(base["covariance"]) - 4))
        if "power" in base and "dispersion" in base:  # log dispersion + (2 - power) log c
            turn[-1, -2] = -L
        wanted["covariance"] = turn @ base["covariance"] @ turn.T
    if "power" in base and "dispersion" in base:
        wanted["dispersion error"] = (
            wanted["covariance"][-1, -1] ** 0.5 * wanted["dispersion"]
            if "covariance" in base
            else fit.noise_standard_errors["dispersion"]  # what it shares with the power is known from the posterior
        )
    return wanted


@pytest.mark.parametrize("prior", list(PRIORS.values()), ids=list(PRIORS))
@each(OF_UNIT)
def test_the_unit_of_y(noise, prior):
    X = columns()
    y = drawn(noise, X)
    additive = noise.link.name == "log" or is_of_logs(noise)  # log c more, where others are c times
    plain = nl.fit(X, y, noise, prior(1.0), tol=1e-10)
    assert plain.converged, plain.message
    base = answers(plain)
    rtol = 1e-3 if "power" in base else 1e-4 if prior is PRIORS["learned"] else 2e-6
    for c in UNITS:
        size = 1.0 if additive else c
        fit = nl.fit(X, c * y, in_unit(noise, c), prior(size), tol=1e-10)
        assert fit.converged, fit.message
        moved = plain.intercept + np.log(c) if additive else c * plain.intercept
        assert fit.intercept == pytest.approx(moved, rel=rtol)
        assert_same(answers(fit), in_new_unit(base, fit, c, size, np.count_nonzero(y == 0)), rtol)


@pytest.mark.parametrize("prior", list(PRIORS.values()), ids=list(PRIORS))
@each(ALL)
def test_the_units_of_the_columns(noise, prior):
    X = columns()
    y = drawn(noise, X)
    units = np.array([1e-6, 1.0, 1e6])
    plain, fit = nl.fit(X, y, noise, prior(1.0), tol=1e-10), nl.fit(X * units, y, noise, prior(1 / units), tol=1e-10)
    assert plain.converged, plain.message
    assert fit.converged, fit.message
    base, found = answers(plain), answers(fit)
    classes = np.size(fit.intercept)
    for name in ("coef", "errors", "scale of the prior"):
        found[name] = found[name] * units
        base[name] = base[name] * np.ones(3)
    if "covariance" in base:
        own = np.append(np.ones(int(fit.has_intercept)), units)
        turn = np.append(np.tile(own, classes), np.ones(len(found["covariance"]) - len(own) * classes))
        found["covariance"] = found["covariance"] * turn * turn[:, None]
        if isinstance(fit.prior, nl.Flat):  # of classes only differences count
            found["evidence"] += max(classes - 1, 1) * np.sum(np.log(units))
    assert_same(found, base, 1e-3 if "power" in base else 1e-4 if prior is PRIORS["learned"] else 2e-6)
    np.testing.assert_allclose(fit.intercept, plain.intercept, rtol=1e-4, atol=1e-9)


def test_the_unit_of_y_in_a_comparison():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 4))
    y = X @ [1, 0.5, 0, 0] + rng.laplace(size=600)
    noises = [nl.Gaussian(), nl.Laplace(), nl.Huber()]
    plain, large = nl.compare(X, y, noises), nl.compare(X, 1e4 * y, noises)
    assert [score.name for score in plain.scores] == [score.name for score in large.scores]
    assert isinstance(plain.best, nl.Laplace)
    shifts = [np.mean(a.nll - b.nll) for a, b in zip(large.scores, plain.scores, strict=True)]
    np.testing.assert_allclose(shifts, np.log(1e4), atol=1e-4)


def test_errors_of_laplace_noise_from_files_are_those_of_memory(tmp_path):
    rng = np.random.default_rng(0)
    table = pandas.DataFrame(rng.normal(size=(500, 2)), columns=["a", "b"])
    table["y"] = 100 * (table["a"] + rng.laplace(size=500))
    table["p"], table["w"] = rng.uniform(0.5, 2, 500), rng.integers(1, 3, 500).astype(float)
    table.to_parquet(tmp_path / "rows.parquet")
    for prior in (nl.Flat(), nl.Gaussian(scale=10.0)):
        fits = [
            nl.fit(X, "y", nl.Laplace(), prior, precision="p", sample_weight="w", progress=False)
            for X in (table, tmp_path / "rows.parquet")
        ]
        errors = [[*fit.standard_errors, *fit.noise_standard_errors.values(), fit.posterior().evidence] for fit in fits]
        np.testing.assert_allclose(errors[1], errors[0], rtol=1e-9)
