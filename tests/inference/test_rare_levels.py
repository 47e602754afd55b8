"""Levels of few rows have the effect 0 under every prior, learned ones and those on unit variance included."""

import numpy as np
import pandas as pd
import pytest
from inference.problems import NOISES, each, targets

import neglog as nl

PRIORS = {"flat": nl.Flat(), "learned": nl.Gaussian(), "ridge": nl.Gaussian(scale=1.0), "lasso": nl.Laplace(scale=1.0)}


def table(rows=240):
    rng = np.random.default_rng(5)
    colour = np.where(np.arange(rows) % 60 == 0, np.char.add("odd ", (np.arange(rows) // 60).astype(str)), "blue")
    colour = np.where(np.arange(rows) % 3 == 1, "cyan", colour)
    return pd.DataFrame({"slope": rng.normal(size=rows), "curve": rng.uniform(0.5, 2.5, rows), "colour": colour})


@each(NOISES)
@each(PRIORS, "prior")
def test_every_noise_and_prior_takes_rare_levels(noise, prior):
    data = table()
    y = targets(noise, data)
    found = nl.fit(data, y, noise, prior, rare=10, standardize=True)
    assert "colour[odd 0]" not in found.names
    few = data["colour"].str.startswith("odd")
    names = ["cyan"] if isinstance(prior, nl.Flat) else ["blue", "cyan"]
    columns = [data["slope"], data["curve"], *(data["colour"] == name for name in names)]
    by_hand = nl.fit(np.column_stack(columns).astype(float), y, noise, prior, standardize=True)
    np.testing.assert_allclose(found.coef, by_hand.coef, rtol=1e-4, atol=1e-5)
    assert few.sum() == 4


def test_compare_takes_them_too():
    data = table()
    y = targets(nl.Poisson(), data)
    found = nl.compare(data, y, rare=10)
    assert any("4 of 6 levels have fewer than 10 rows" in note for note in found.fit.notes)
    with pytest.raises(ValueError, match="each level of the column"):
        nl.compare(data, y, rare=10_000)
