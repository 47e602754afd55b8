"""Linear systems of any size by the core's own factor: as exact as LAPACK's, and the same on any number of threads."""

import numpy as np
import pytest

from neglog import _core
from neglog.solvers.systems import newton_step

SIZES = [1, 2, 7, 8, 9, 63, 64, 65, 96, 97, 128, 129, 200, 331]


def system(n, seed=0):
    """A positive definite matrix whose rows have very different units, and a right side."""
    rng = np.random.default_rng(seed)
    rows, units = rng.normal(size=(n + 5, n)), np.exp(5 * rng.normal(size=n))
    return rows.T @ rows * np.outer(units, units), rng.normal(size=n) * units, units


@pytest.mark.parametrize("n", SIZES)
def test_solutions_are_those_of_lapack(n):
    matrix, right, units = system(n)
    x = np.empty(n)
    pivot = _core.solve_positive(matrix, right, x, 1)
    scaled = matrix / np.outer(units, units)
    condition = np.linalg.cond(scaled)
    np.testing.assert_allclose(x * units, np.linalg.solve(scaled, right / units), rtol=1e-13 * condition, atol=1e-13)
    unit_diagonal = matrix / np.sqrt(np.outer(matrix.diagonal(), matrix.diagonal()))
    assert pivot == pytest.approx(np.min(np.linalg.cholesky(unit_diagonal).diagonal()) ** 2, rel=1e-10 * condition)


@pytest.mark.parametrize("n", [65, 331])
def test_any_number_of_threads_gives_the_same_numbers(n):
    matrix, right, _ = system(n)
    results = []
    for threads in (1, 2, 5):
        x = np.empty(n)
        factor = _core.Factor(matrix, n, threads)
        factor.solve(right, x)
        results.append(x)
        again = np.empty(n)
        assert _core.solve_positive(matrix, right, again, threads) == factor.smallest_pivot
        np.testing.assert_array_equal(again, x)
    np.testing.assert_array_equal(results[1], results[0])
    np.testing.assert_array_equal(results[2], results[0])


@pytest.mark.parametrize("n", [3, 100])
@pytest.mark.parametrize("spoilt", [0.0, -1.0, np.nan, np.inf])
def test_a_matrix_that_is_not_positive_has_no_positive_pivot(n, spoilt):
    matrix, right, _ = system(n)
    matrix[n - 1, :] = matrix[:, n - 1] = spoilt
    assert not _core.solve_positive(matrix, right, np.empty(n), 2) > 0
    factor = _core.Factor(matrix, n, 2)
    assert not factor.smallest_pivot > 0
    with pytest.raises(ValueError, match="not positive definite"):
        factor.solve(right, np.empty(n))


@pytest.mark.parametrize("n", [20, 150])
def test_directions_without_information_get_no_step(n):
    matrix, right, units = system(n)
    turn = np.eye(n)
    turn[0, 1] = 1.0  # the first two columns alike
    singular = turn.T @ np.where(np.arange(n) == 1, 0.0, np.where(np.arange(n)[:, None] == 1, 0.0, matrix)) @ turn
    gradient = turn.T @ np.where(np.arange(n) == 1, 0.0, right)
    step = newton_step(singular, gradient)
    assert step.null is not None
    assert step.null.shape[1] == 1
    assert step.definite
    np.testing.assert_allclose((singular @ step.x + gradient) / units, 0.0, atol=1e-6 * np.abs(gradient / units).max())


@pytest.mark.parametrize("shape", [(1, 1, 8), (3, 5, 16), (37, 11, 1000), (70, 66, 264)])
def test_products_of_rows(shape):
    rng = np.random.default_rng(1)
    left, right = rng.normal(size=(shape[0], shape[2])), rng.normal(size=(shape[1], shape[2]))
    results = [np.ones(shape[:2]) for _ in range(2)]
    for out, threads in zip(results, (1, 3), strict=True):
        _core.add_row_products(left, right, out, threads)
        np.testing.assert_allclose(out, 1 + left @ right.T, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(*results)


@pytest.mark.parametrize("n", [1, 7, 64, 150])
def test_variances_and_volume_of_a_factor(n, rng):
    root = rng.normal(size=(n, 2 * n)) * 10.0 ** rng.uniform(-6, 6, n)[:, None]
    matrix = root @ root.T
    factor, variances = _core.Factor(matrix, n, 1), np.empty(n)
    volume = factor.inverse_diagonal(variances)
    scale = 1 / np.sqrt(matrix.diagonal())
    inverse = np.linalg.inv(matrix * scale * scale[:, None]) * scale * scale[:, None]
    np.testing.assert_allclose(variances, inverse.diagonal(), rtol=1e-9)
    expected = 2 * np.log(scale).sum() - np.linalg.slogdet(matrix * scale * scale[:, None])[1]
    assert volume == pytest.approx(expected, rel=1e-12, abs=1e-9)


def test_no_variances_without_a_factor():
    with pytest.raises(ValueError, match="not positive definite"):
        _core.Factor(-np.eye(2), 2, 1).inverse_diagonal(np.empty(2))
    with pytest.raises(ValueError, match="does not fit"):
        _core.Factor(np.eye(2), 2, 1).inverse_diagonal(np.empty(3))
