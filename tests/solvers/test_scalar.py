"""Roots of functions of one number."""

import numpy as np
import pytest

from neglog.solvers.scalar import EDGE, root


def test_the_root_is_found_where_the_function_also_falls_on_its_way():
    def hilly(x):
        return (x - 0.2) * (1 + 3 * np.exp(-20 * (x - 0.5) ** 2))

    assert hilly(0.8) > hilly(0.9) > 0
    assert root(hilly, 0.0, 1.0, 0.9, 0.1, 1e-10) == pytest.approx(0.2, abs=1e-9)


@pytest.mark.parametrize(("beyond", "end"), [(-1.0, 0.0), (2.0, 1.0)])
def test_a_root_beyond_the_range_ends_at_its_edge(beyond, end):
    assert abs(root(lambda x: x - beyond, 0.0, 1.0, 0.5, 0.1, 1e-10) - end) < EDGE


@pytest.mark.parametrize("start", [1e-4, 0.3, 1 - 1e-4])
def test_a_start_at_the_edge_is_no_end(start):
    assert root(lambda x: np.sinh(8 * (x - 0.4)), 0.0, 1.0, start, 0.1, 1e-10) == pytest.approx(0.4, abs=1e-9)
