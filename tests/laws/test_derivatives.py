"""Derivatives in the raw prediction and in the parameters, against differences and against expectations."""

import itertools

import numpy as np
import pytest
from laws.cases import LINKED_NOISES, NOISES, each, plausible, raw_predictions, typical

import neglog as nl
from neglog import _core
from neglog.distributions.expectation import expectation


def difference(f, x, step):
    """The central difference with the error of the fourth order."""
    return (8 * (f(x + step) - f(x - step)) - (f(x + 2 * step) - f(x - 2 * step))) / (12 * step)


def away_from_kinks(noise, y, eta):
    """Where a difference across a kink would mean nothing."""
    away, far = noise.located(y) - noise.link.inverse(eta), np.full(eta.shape, True)
    for kink in (*noise.jumps(), *(() if noise.smooth else (0.0,))):
        far &= np.abs(away - kink) > 0.01 * min(noise.parameters[noise.spread], 1.0)
    return far


@each(LINKED_NOISES, "noise")
def test_gradient_and_hessian_are_the_derivatives_of_the_nll(noise, rng):
    eta = raw_predictions(noise)
    y = plausible(noise, eta, rng)
    nll, gradient, hessian = noise.derivatives(y, eta)
    np.testing.assert_allclose(nll, noise.given(eta).nll(y), rtol=1e-12, atol=1e-12)
    smooth = away_from_kinks(noise, y, eta)
    size = np.abs(gradient) + np.abs(hessian) + 1
    slope = difference(lambda x: noise.derivatives(y, x)[0], eta, 1e-4)
    np.testing.assert_allclose((slope / size)[smooth], (gradient / size)[smooth], atol=1e-7)
    bend = difference(lambda x: noise.derivatives(y, x)[1], eta, 1e-4)
    np.testing.assert_allclose((bend / size)[smooth], (hessian / size)[smooth], atol=1e-7)


@each(LINKED_NOISES, "noise")
def test_the_score_has_mean_zero_and_the_fisher_information_as_its_variance(noise):
    for eta in raw_predictions(noise, 3):
        law = noise.given(eta)
        _, _, information = noise.derivatives(0.5, eta, expected=True)
        mean = expectation(law, lambda y, eta=eta: noise.gradient_hessian(y, eta)[0]).value
        square = expectation(law, lambda y, eta=eta: noise.gradient_hessian(y, eta)[0] ** 2).value
        assert mean == pytest.approx(0, abs=1e-7 * np.sqrt(information))
        assert square == pytest.approx(information, rel=1e-7)
        if noise.smooth:
            observed = expectation(law, lambda y, eta=eta: noise.gradient_hessian(y, eta)[1]).value
            assert observed == pytest.approx(information, rel=1e-7)


@each(NOISES, "noise")
def test_parameter_gradient_is_the_derivative_of_the_nll(noise, rng):
    if noise._family() == "categorical":
        pytest.skip("class probabilities cannot move one at a time; test_categorical.py moves two")
    y = typical(noise, rng, 9)
    for name, slope in noise.parameter_gradient(y).items():
        if np.isnan(slope).all():
            assert (noise._family(), name) in {("tweedie", "power"), ("tweedie", "dispersion")}
            continue
        whole = noise.parameters[name]
        for k, value in enumerate(whole if noise.parameter(name).several else [whole]):

            def nll(x, name=name, k=k, whole=whole):
                moved = np.where(np.arange(np.size(whole)) == k, x, whole) if noise.parameter(name).several else x
                return type(noise)(**noise.parameters | {name: moved}).nll(y)

            own = slope[..., k] if noise.parameter(name).several else slope
            numeric = difference(nll, value, 1e-4 * abs(value) or 1e-4)
            smooth = np.abs(own - numeric) <= 1e-6 * (np.abs(own) + 1 / np.abs(value or 1))
            at_a_kink = not (noise.smooth and noise.traits.steady)
            assert smooth.mean() > 0.8 if at_a_kink else smooth.all()


@each(LINKED_NOISES, "noise")
def test_outside_the_domain_of_the_link_the_nll_is_infinite(noise):
    """A raw prediction of -1/2 is no square root, and not the identity or inverse of a positive mean."""
    negative_mean = noise.locations[0] < 0
    allowed = {"sqrt": False, "identity": negative_mean, "inverse": negative_mean}.get(noise.link.name, True)
    y = 1.0 if noise.support.contains(1.0) else 0.5
    assert np.isfinite(noise.derivatives(y, -0.5)[0]) == allowed


@each(NOISES, "noise")
def test_out_arrays_threads_and_instruction_sets_give_the_same_numbers(noise, rng):
    if noise._family() == "categorical":
        pytest.skip("has its own loop; see test_categorical.py")
    noise = type(noise)(**noise.parameters | {noise.location: 1.0 if noise.locations[1] > 1 else None})
    n = 5000
    eta = rng.normal(size=n) * 0.3
    y = plausible(noise, eta, rng)
    one = noise.gradient_hessian(y, eta, threads=1)
    out = np.empty(n), np.empty(n)
    two = noise.gradient_hessian(y, eta, threads=3, out=out)
    assert np.array_equal(one, two)
    assert two[0].base is out[0] or two[0] is out[0]
    best = _core.instruction_set()
    nll = noise.derivatives(y, eta)[0]
    try:
        for name in ("baseline", "avx2", "avx512"):
            try:
                _core.use_instruction_set(name)
            except ValueError:
                continue
            np.testing.assert_allclose(noise.gradient_hessian(y, eta), one, rtol=1e-12, atol=1e-13)
            np.testing.assert_allclose(noise.derivatives(y, eta)[0], nll, rtol=1e-12, atol=1e-13)
    finally:
        _core.use_instruction_set(best)


@each(NOISES, "noise")
def test_the_types_of_arrays_change_no_more_than_they_round(noise, rng):
    if noise._family() == "categorical":
        pytest.skip("has its own loop; see test_categorical.py")
    noise = type(noise)(**noise.parameters | {noise.location: 1.0 if noise.locations[1] > 1 else None})
    eta = (rng.normal(size=2000) * 0.3).astype(np.float32)
    y = np.asarray(plausible(noise, eta, rng), np.float32)
    wanted = noise.gradient_hessian(y.astype(float), eta.astype(float))
    for of_y, of_eta, *types in itertools.product((np.float32, np.float64), repeat=4):
        numbers, raw = y.astype(of_y), eta.astype(of_eta)
        found = noise.gradient_hessian(numbers, raw, out=tuple(np.empty(2000, dtype) for dtype in types))
        alone = np.empty(2000, types[0])
        noise._slopes(numbers, raw, False, alone, None)
        for exact, array in zip((*wanted, wanted[0]), (*found, alone), strict=True):
            single = array.dtype == np.float32
            np.testing.assert_allclose(array, exact, rtol=2e-7 if single else 1e-12, atol=1e-30 if single else 1e-13)


def test_an_unknown_instruction_set_is_refused():
    with pytest.raises(ValueError, match="no instruction set 'mmx'"):
        _core.use_instruction_set("mmx")


def test_wrong_out_arrays_are_refused():
    with pytest.raises(ValueError, match=r"out must be two writeable C-contiguous arrays of shape \(3,\)"):
        nl.Poisson().gradient_hessian([1.0, 2.0, 3.0], 0.0, out=(np.empty(2), np.empty(3)))


def test_at_its_kink_laplace_has_the_middle_subgradient_and_no_curvature():
    noise = nl.Laplace(scale=0.5)
    assert noise.gradient_hessian(1.0, 1.0) == (0.0, 0.0)
    assert noise.gradient_hessian(1.0, 1.0, expected=True) == (0.0, 4.0)


def test_at_its_threshold_huber_has_the_curvature_of_the_centre():
    noise = nl.Huber(scale=2.0, delta=1.0)
    assert noise.gradient_hessian(2.0, 0.0) == (-0.5, 0.25)
    assert noise.gradient_hessian(np.nextafter(2.0, 3.0), 0.0) == (-0.5, 0.0)
