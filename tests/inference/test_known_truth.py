"""Rows drawn from each noise that a comparison tries by itself: it is found, or tied with what is found."""

import numpy as np
import pytest
from families import TESTED

import neglog as nl
from neglog.comparison.candidates import candidates
from neglog.comparison.recipes import law_call

TRIED = [noise for noise in candidates() if type(noise) in TESTED.values()]


@pytest.mark.parametrize("noise", TRIED, ids=lambda noise: type(noise).__name__)
def test_a_comparison_finds_the_noise_that_made_the_rows(noise):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(2000, 2))
    whole = type(noise).examples[
        -1 if hasattr(noise, "around") else 0
    ]  # of those with zeros the one that has many counts
    stated = {name: value for name, value in noise.parameters.items() if value is not None}
    example = {name: value for name, value in (whole | stated).items() if name != noise.location}
    centre = float(noise.link.forward(whole[noise.location]))
    law = type(noise)(**example)
    spread = 0.3 / np.sqrt(
        float(np.asarray(law.derivatives(law.given(centre).sample(rng=1), centre, expected=True)[2]))
    )
    y = law.given(centre + min(spread, 0.5 + abs(centre)) * (X @ [1.0, -0.5])).sample(rng=rng)
    found = nl.compare(X, np.asarray(y, float), folds=3)
    assert law_call(noise).removesuffix("()") in found.ties, found.table
