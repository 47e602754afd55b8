"""The power of a Tweedie noise is the best of all, also where the likelihood has many valleys."""

import warnings

import numpy as np
import pytest

import neglog as nl
from neglog.engines.memory import Memory
from neglog.likelihood.tweedie import common_step


def small_sample(seed):
    """A few rows with an intercept and at most two columns: amounts, counts, or multiples of some unit."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.choice([12, 20, 40, 100])), int(rng.integers(0, 3))
    x = rng.normal(size=(n, d))
    mean = np.exp(0.5 * x.sum(axis=1) + rng.normal())
    power, dispersion = rng.choice([1.01, 1.03, 1.1, 1.2, 1.5]), rng.choice([0.3, 1.0, 3.0])
    kind = seed % 3
    if kind == 0:
        return x, rng.poisson(mean) * rng.choice([1.0, 0.5, 7.0])
    y = nl.Tweedie(mean, power, dispersion).sample(rng=rng)
    return x, y if kind == 1 else np.round(y, 1)


def best_of_many(x, y, low, near):
    """At many powers the coefficients, and at these many dispersions: all by the density alone."""
    least = np.inf
    for power in 1 + np.geomspace(low - 1, 0.999, 25):
        mean = nl.fit(x, y, nl.Tweedie(power=power, dispersion=1.0)).predict(x)
        dispersion = near * np.exp(np.linspace(-3, 3, 400))[:, None]
        least = min(least, nl.Tweedie(mean, power, dispersion).nll(y).sum(axis=1).min())
    return least


@pytest.mark.filterwarnings("ignore::neglog.ConvergenceWarning")
@pytest.mark.parametrize("seed", range(30))
def test_no_power_and_dispersion_is_better(seed):
    x, y = small_sample(seed)
    if not (np.any(y == 0) and np.any(y > 0)):
        with pytest.raises(ValueError, match="power of a Tweedie noise can be estimated only where"):
            nl.fit(x, y, nl.Tweedie())
        return
    fit = nl.fit(x, y, nl.Tweedie())
    low = 14 / 13 if common_step(y) else 1.001
    assert fit.nll <= best_of_many(x, y, min(low, fit.noise.power), fit.noise.dispersion) + 1e-3
    slopes = nl.Tweedie(fit.predict(x), fit.noise.power, fit.noise.dispersion).parameter_gradient(y)
    if fit.converged:
        assert abs(slopes["power"].sum()) * (fit.noise.power - 1) * (2 - fit.noise.power) < 1e-4
        assert abs(slopes["dispersion"].sum()) * fit.noise.dispersion < 1e-4
    else:
        assert "the edge of the range" in fit.message


@pytest.mark.parametrize("power", [1.005, 1.02, 1.05, 1.1, 1.14])
@pytest.mark.parametrize("seed", range(6))
def test_the_dispersion_at_a_stated_power_is_the_best_of_many(seed, power):
    x, y = small_sample(seed)
    fit = nl.fit(x, y, nl.Tweedie(power=power))
    dispersion = np.exp(np.linspace(-5, 5, 2000))[:, None]
    assert fit.converged
    assert fit.nll <= nl.Tweedie(fit.predict(x), power, dispersion).nll(y).sum(axis=1).min() + 1e-3
    errors = fit.noise_standard_errors["dispersion"]
    slopes = [
        nl.Tweedie(fit.predict(x), power, fit.noise.dispersion + h).parameter_gradient(y)["dispersion"].sum()
        for h in (-1e-3 * errors, 1e-3 * errors)
    ]
    assert errors == pytest.approx(((slopes[1] - slopes[0]) / (2e-3 * errors)) ** -0.5, rel=1e-2)


@pytest.mark.parametrize("unit", [1.0, 0.5, 1 / 3, 1e-4, 1e6])
def test_the_unit_of_counts_does_not_matter(unit):
    rng = np.random.default_rng(3)
    x = rng.normal(size=(400, 1))
    counts = rng.poisson(np.exp(0.3 * x[:, 0] + 0.2))
    fits = []
    for factor in (1.0, unit):
        with pytest.warns(nl.ConvergenceWarning, match="density grows without end as the power nears 1"):
            fits.append(nl.fit(x, counts * factor, nl.Tweedie(), tol=1e-9))
    one, other = fits
    power = one.noise.power
    assert other.noise.power == pytest.approx(power, abs=1e-7)
    assert other.noise.dispersion == pytest.approx(one.noise.dispersion * unit ** (2 - power), rel=1e-6)
    np.testing.assert_allclose(other.coef, one.coef, atol=1e-7)
    assert other.nll == pytest.approx(one.nll + np.count_nonzero(counts) * np.log(unit), rel=1e-8)


@pytest.mark.parametrize(("spread", "advice"), [(0.0, "or use Poisson noise"), (0.3, r"variance is [1-9][.\d]* times")])
def test_counts_are_sent_to_poisson_only_where_they_spread_like_it(spread, advice):
    rng = np.random.default_rng(1)
    mean = 3.0 * (rng.gamma(1 / spread, spread, 600) if spread else np.ones(600))
    with pytest.warns(nl.ConvergenceWarning, match=advice):
        nl.fit(np.empty((600, 0)), rng.poisson(mean), nl.Tweedie())


def test_amounts_in_whole_numbers_far_above_one_are_no_counts():
    """Jumps of 1000 that hardly differ: the power is below the least one of counts."""
    rng = np.random.default_rng(2)
    jumps = rng.poisson(1.5, 2000)
    y = np.round(np.where(jumps > 0, rng.gamma(40.0 * np.maximum(jumps, 1), 25.0), 0.0))
    fit = nl.fit(np.empty((2000, 0)), y, nl.Tweedie())
    assert fit.converged
    assert fit.noise.power == pytest.approx(1 + 1 / 41, abs=0.003)


@pytest.mark.parametrize("kind", ["counts", "thirds", "ridges", "amounts"])
def test_passes_over_the_rows_are_few(kind, monkeypatch):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(3000, 3))
    mean = np.exp(0.3 * x[:, 0] + 0.5)
    y = {
        "counts": lambda: rng.poisson(mean),
        "thirds": lambda: rng.poisson(mean) / 3,
        "ridges": lambda: nl.Tweedie(mean, 1.03, 1.0).sample(rng=rng),
        "amounts": lambda: nl.Tweedie(mean, 1.5, 1.0).sample(rng=rng),
    }[kind]()
    passes = []
    plain = Memory.evaluate
    monkeypatch.setattr(Memory, "evaluate", lambda *a, **k: (passes.append(1), plain(*a, **k))[1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", nl.ConvergenceWarning)
        fit = nl.fit(x, y, nl.Tweedie())
    assert len(passes) <= 15
    passes.clear()
    assert np.isfinite(fit.noise_standard_errors["power"]) == fit.converged  # at the edge there is no bottom
    assert len(passes) <= 8


def test_precisions_and_weights_make_a_lattice_too():
    """Claims per year of exposure, with the years as precision: their products are counts."""
    rng = np.random.default_rng(4)
    years = rng.choice([0.25, 0.5, 1.0, 2.0], 500)
    claims = rng.poisson(1.3 * years)
    with pytest.warns(nl.ConvergenceWarning, match="y are whole numbers"):
        fit = nl.fit(np.empty((500, 0)), claims / years, nl.Tweedie(), precision=years)
    assert fit.noise.power == pytest.approx(14 / 13, abs=1e-6)


@pytest.mark.parametrize(
    ("y", "step"),
    [
        ([0, 1, 2, 5], 1.0),
        ([0, 3, 6, 12], 3.0),
        ([0.1, 0.3, 0.7], 0.1),
        ([0, 1 / 3, 1.0, 5 / 3], 1 / 3),
        ([0.5, 1.25, 3.0], 0.25),
        ([0.1, np.pi, 1.7], None),
        ([1000.01, 2345.67, 12.34], None),  # a step too small to matter
        ([0.0, 0.0], None),
    ],
)
def test_common_step(y, step):
    assert common_step(np.array(y, float)) == (None if step is None else pytest.approx(step, rel=1e-9))
