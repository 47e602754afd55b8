"""Entropy, cross-entropy and divergence of arrays of probabilities."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats

import neglog as nl

SHAPES = [(5,), (4, 3), (2, 3, 7), (3, 2000), (70, 33), (1, 1)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("base", [None, 2, 10])
def test_same_as_scipy_for_any_shape_and_axis(shape, base, rng):
    for axis in range(-1, len(shape)):
        p, q = (rng.gamma(0.7, size=shape) for _ in range(2))
        p, q = p / p.sum(axis=axis, keepdims=True), q / q.sum(axis=axis, keepdims=True)
        np.testing.assert_allclose(
            nl.entropy(p, axis=axis, base=base), stats.entropy(p, axis=axis, base=base), rtol=1e-12, atol=1e-14
        )
        expected = stats.entropy(p, q, axis=axis, base=base)
        np.testing.assert_allclose(nl.kl_divergence(p, q, axis=axis, base=base), expected, rtol=1e-11, atol=1e-14)
        total = nl.cross_entropy(p, q, axis=axis, base=base)
        np.testing.assert_allclose(total, -np.sum(p * np.log(q), axis=axis) / np.log(base or np.e), rtol=1e-12)


@given(hnp.arrays(float, st.integers(2, 6), elements=st.floats(0.01, 1)), st.integers(0, 5))
def test_cross_entropy_is_entropy_plus_divergence(weights, shift):
    p = weights / weights.sum()
    q = np.roll(p, shift)
    assert nl.cross_entropy(p, q) == pytest.approx(nl.entropy(p) + nl.kl_divergence(p, q), abs=1e-12)
    assert nl.kl_divergence(p, q) >= 0
    assert nl.kl_divergence(p, p) == 0
    assert 0 <= nl.entropy(p) <= np.log(len(p)) + 1e-15


def test_nothing_cancels_between_nearly_equal_rows():
    p = np.array([0.2, 0.3, 0.5])
    shift = 1e-9 * np.array([1.0, 1.0, -2.0])
    exact = np.sum(shift**2 / p) / 2  # the leading term; the next is 1e-9 of it
    assert nl.kl_divergence(p, p + shift) == pytest.approx(exact, rel=1e-6)


def test_zeros_follow_their_limits():
    assert nl.entropy([1.0, 0.0]) == 0
    assert nl.kl_divergence([1.0, 0.0], [0.5, 0.5]) == pytest.approx(np.log(2))
    assert nl.kl_divergence([0.5, 0.5], [1.0, 0.0]) == np.inf
    assert nl.cross_entropy([0.5, 0.5], [1.0, 0.0]) == np.inf
    assert nl.kl_divergence([0.0, 1.0], [0.0, 1.0]) == 0


def test_one_row_against_many(rng):
    p, q = np.array([0.2, 0.8]), rng.dirichlet(np.ones(2), 6)
    np.testing.assert_allclose(nl.kl_divergence(p, q), [nl.kl_divergence(p, row) for row in q])


def test_float32_stays_float32(rng):
    p = rng.dirichlet(np.ones(4), 5).astype(np.float32)
    for result in (nl.entropy(p), nl.kl_divergence(p, p[::-1]), nl.cross_entropy(p, p[::-1])):
        assert result.dtype == np.float32


def test_read_only_and_strided_input_is_taken_and_left_alone(rng):
    p = rng.dirichlet(np.ones(4), 6)
    expected = nl.entropy(p[::2])
    copy = p.copy()
    p.flags.writeable = False
    np.testing.assert_array_equal(nl.entropy(p[::2]), expected)
    np.testing.assert_array_equal(p, copy)


def test_empty_rows_and_no_rows():
    assert nl.entropy(np.empty((0, 3))).shape == (0,)


@pytest.mark.parametrize("function", [nl.entropy, lambda p, **o: nl.kl_divergence(p, [0.5, 0.5], **o)])
def test_bad_probabilities_are_refused_with_place_and_sum(function):
    with pytest.raises(ValueError, match=r"p must sum to 1, but it sums to 0.9; pass normalize=True"):
        function([0.5, 0.4])
    with pytest.raises(ValueError, match=r"1 of 2 rows do not; the first sums to 1.5 at index 1"):
        function([[0.5, 0.5], [1.0, 0.5]])
    with pytest.raises(ValueError, match=r"1 of 2 are negative or NaN; the first is -0.5 at index 1"):
        function([1.5, -0.5])
    with pytest.raises(ValueError, match="negative or NaN"):
        function([np.nan, 1.0])
    with pytest.raises(ValueError, match=r"cannot be normalised: the sum is 0\.0"):
        function([0.0, 0.0], normalize=True)


def test_normalize_divides_by_the_sum():
    assert nl.entropy([2, 1, 1], normalize=True, base=2) == 1.5
    assert nl.kl_divergence([1, 1], [3, 1], normalize=True, base=2) == pytest.approx(0.2075187496394219)


def test_different_classes_are_refused():
    with pytest.raises(ValueError, match="same classes, but have 2 and 3"):
        nl.kl_divergence([0.5, 0.5], [0.2, 0.3, 0.5])


def test_a_single_number_is_no_distribution():
    with pytest.raises(ValueError, match="not the single number"):
        nl.entropy(0.5)


@pytest.mark.parametrize("base", [0.0, 1.0, -2.0])
def test_a_base_that_is_none_is_refused(base):
    with pytest.raises(ValueError, match="base must be positive and not 1"):
        nl.entropy([0.5, 0.5], base=base)


def test_jensen_shannon_is_symmetric_and_bounded(rng):
    p, q = rng.dirichlet(np.ones(5), 20), rng.dirichlet(np.ones(5), 20)
    np.testing.assert_allclose(nl.jensen_shannon(p, q), nl.jensen_shannon(q, p), rtol=1e-14)
    middle = (p + q) / 2
    expected = (stats.entropy(p, middle, axis=-1) + stats.entropy(q, middle, axis=-1)) / 2
    np.testing.assert_allclose(nl.jensen_shannon(p, q), expected, rtol=1e-12)
    assert nl.jensen_shannon([1.0, 0.0], [0.0, 1.0]) == pytest.approx(np.log(2))


def test_mutual_information_is_the_three_entropies(rng):
    joint = rng.dirichlet(np.ones(12), 4).reshape(4, 3, 4)
    expected = [nl.entropy(table.sum(0)) + nl.entropy(table.sum(1)) - nl.entropy(table.ravel()) for table in joint]
    np.testing.assert_allclose(nl.mutual_information(joint), expected, rtol=1e-10)
    assert nl.mutual_information(np.diag([0.25] * 4), base=2) == pytest.approx(2.0)
    with pytest.raises(ValueError, match="at least two axes"):
        nl.mutual_information([0.5, 0.5])
