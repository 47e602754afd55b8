"""What the laws over all families leave out for Categorical, whose prediction is a row."""

import numpy as np
import pytest
from scipy import special

import neglog as nl


def differences(f, x, step=1e-5):
    """The derivative of f along each class."""
    return np.stack([(f(x + step * e) - f(x - step * e)) / (2 * step) for e in np.eye(x.shape[-1])], axis=-1)


def test_gradient_and_matrix_are_the_derivatives(rng):
    noise = nl.Categorical()
    eta, y = rng.normal(size=(6, 4)), np.array([0, 1, 2, 3, 1, 1])
    nll, gradient, hessian = noise.derivatives(y, eta)
    np.testing.assert_allclose(nll, special.logsumexp(eta, axis=1) - eta[np.arange(6), y], rtol=1e-13)
    np.testing.assert_allclose(nll, noise.given(eta).nll(y), rtol=1e-13)
    np.testing.assert_allclose(nll, nl.Categorical(special.softmax(eta, axis=1)).nll(y), rtol=1e-12)
    np.testing.assert_allclose(gradient, differences(lambda x: noise.derivatives(y, x)[0], eta), atol=1e-9)
    np.testing.assert_allclose(hessian, differences(lambda x: noise.derivatives(y, x)[1], eta), atol=1e-9)
    assert noise.derivatives(y, eta, expected=True)[2] is not None
    np.testing.assert_array_equal(noise.derivatives(y, eta, expected=True)[2], hessian)


def test_far_apart_predictions_lose_no_digits():
    noise = nl.Categorical()
    nll, gradient, hessian = noise.derivatives([0, 1], [[800.0, 0.0, -800.0], [40.0, 0.0, -40.0]])
    np.testing.assert_allclose(nll, [0.0, 40.0], rtol=1e-15)
    np.testing.assert_allclose(gradient[1], [1.0, -1.0, np.exp(-80)], rtol=1e-14)
    assert hessian[1, 0, 0] == pytest.approx(np.exp(-40), rel=1e-12)


def test_rows_sum_to_zero(rng):
    _, gradient, hessian = nl.Categorical().derivatives(rng.integers(0, 3, 9), rng.normal(size=(9, 3)))
    np.testing.assert_allclose(gradient.sum(axis=-1), 0, atol=1e-15)
    np.testing.assert_allclose(hessian.sum(axis=-1), 0, atol=1e-15)


def test_float32_and_out_arrays(rng):
    eta, y = rng.normal(size=(5, 3)).astype(np.float32), np.zeros(5, np.float32)
    nll, gradient, hessian = nl.Categorical().derivatives(y, eta)
    assert nll.dtype == gradient.dtype == hessian.dtype == np.float32
    out = np.empty((5, 3)), np.empty((5, 3, 3))
    nl.Categorical().gradient_hessian(y, eta, out=out)
    np.testing.assert_allclose(out[0], gradient, rtol=1e-6)


def test_what_is_no_class_costs_everything():
    law = nl.Categorical([0.2, 0.3, 0.5])
    assert np.isinf(law.nll([-1, 3, 0.5])).all()
    assert np.isnan(law.nll(np.nan))
    assert np.isinf(nl.Categorical().given([0.0, 1.0]).nll([-1, 2, 0.5])).all()


def test_the_score_has_mean_zero():
    p = np.array([0.1, 0.2, 0.7])
    gradients = np.stack([nl.Categorical().derivatives(k, np.log(p))[1] for k in range(3)])
    np.testing.assert_allclose(p @ gradients, 0, atol=1e-15)
    information = np.einsum("k,ki,kj", p, gradients, gradients)
    np.testing.assert_allclose(information, nl.Categorical().derivatives(0, np.log(p))[2], atol=1e-15)


def test_the_parameter_gradient_moves_two_classes_at_once():
    p, step = np.array([0.2, 0.3, 0.5]), 1e-6
    along = np.array([1.0, -1.0, 0.0])
    slope = (nl.Categorical(p + step * along).nll(0) - nl.Categorical(p - step * along).nll(0)) / (2 * step)
    assert nl.Categorical(p).parameter_gradient(0)["p"] @ along == pytest.approx(slope, rel=1e-8)


def test_threads_do_not_change_the_result(rng, monkeypatch):
    eta, y = rng.normal(size=(70_000, 3)), rng.integers(0, 3, 70_000)
    results = []
    for threads in ("1", "2", "5"):
        monkeypatch.setenv("NEGLOG_NUM_THREADS", threads)
        results.append(nl.Categorical().derivatives(y, eta))
    for other in results[1:]:
        for a, b in zip(results[0], other, strict=True):
            np.testing.assert_array_equal(a, b)


def test_probabilities_that_do_not_sum_to_one_are_refused():
    with pytest.raises(ValueError, match=r"must sum to 1 over its last axis, but sums to 0.9 at index \(1,\)"):
        nl.Categorical([[0.5, 0.5], [0.5, 0.4]])
    with pytest.raises(ValueError, match="single number"):
        nl.Categorical(0.5)
