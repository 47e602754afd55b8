"""Bands of 90% hold 90% of a curve, on the average over its points and samples; the benchmark takes more of them."""

import numpy as np
import pandas as pd
import pytest

import neglog as nl

N, SAMPLES = 300, 30
CURVES = {"wave": lambda x: np.sin(6 * x), "humps": lambda x: 3 * x * np.cos(9 * x)}


@pytest.mark.parametrize(
    ("noise", "truth", "size"),
    [(nl.Gaussian(), nl.Gaussian(scale=1.0), 1.5), (nl.Poisson(), nl.Poisson(), 0.7)],
    ids=["gaussian", "poisson"],
)
def test_bands_hold_as_much_of_a_curve_as_they_say(noise, truth, size):
    points, whole = [], []
    for rng in np.random.default_rng(3).spawn(SAMPLES):
        table = pd.DataFrame({name: rng.uniform(size=N) for name in CURVES})
        true = {name: size * curve(table[name].to_numpy()) for name, curve in CURVES.items()}
        table["y"] = truth.given(sum(true.values())).sample(rng=rng)
        fit = nl.fit(table, "y", noise, terms=[nl.smooth(name) for name in CURVES])
        for name, values in true.items():
            at = values - values.mean()
            narrow, wide = (fit.effect(name, at=table[name], level=0.9, simultaneous=one) for one in (False, True))
            points.append(np.mean((narrow.lower <= at) & (at <= narrow.upper)))
            whole.append(np.all((wide.lower <= at) & (at <= wide.upper)))
    assert 0.86 < np.mean(points) < 0.96  # three errors of 60 curves
    assert np.mean(whole) > 0.8


def test_bands_know_that_a_scale_is_learned():
    """A stated scale is known, a learned one is not: the band is wider where the curve depends on it."""
    rng = np.random.default_rng(1)
    table = pd.DataFrame({"x": rng.uniform(size=80)})
    table["y"] = np.sin(6 * table.x) + rng.normal(size=80)
    fit = nl.fit(table, "y", terms=[nl.smooth("x")])
    stated = nl.fit(table, "y", nl.Gaussian(scale=fit.noise.scale), terms=[nl.smooth("x", scale=fit.terms["x"].scale)])
    one, other = fit.effect("x"), stated.effect("x")
    np.testing.assert_allclose(one.estimate, other.estimate, atol=1e-5)
    wider = (one.upper - one.lower) / (other.upper - other.lower)
    assert wider.min() > 1 - 1e-6
    assert 1.01 < wider.max() < 2
