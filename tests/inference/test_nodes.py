"""Nodes give the sums that the rows give."""

import numpy as np
import pytest
from scipy.special import gammaln

from neglog.likelihood.chebyshev import NODES, collected


@pytest.mark.parametrize(
    "smooth", [np.log, gammaln, lambda y: y**0.37, lambda y: 1 / (1 + y)], ids=lambda f: f.__name__
)
def test_sums_over_nodes_are_sums_over_rows(smooth, rng):
    y, w = rng.lognormal(1, 3, 20_000), rng.uniform(0, 2, 20_000)
    nodes, weights = collected(y, w)
    assert len(nodes) < 80 * NODES
    assert weights @ smooth(nodes) == pytest.approx(w @ smooth(y), rel=1e-11)


def test_a_single_value_and_values_far_apart(rng):
    for y in (np.full(10, 3.0), np.array([1e-300, 1.0, 1e300])):
        nodes, weights = collected(y, np.ones(len(y)))
        assert weights.sum() == pytest.approx(len(y), rel=1e-13)
        assert weights @ np.log(nodes) == pytest.approx(np.log(y).sum(), rel=1e-12, abs=1e-9)
