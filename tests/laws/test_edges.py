"""Types, shapes and values at the edges: what a careless caller may hand over."""

import copy
import itertools
import pickle
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from laws.cases import NOISES, PROPER, UNIVARIATE, each, plausible, raw_predictions, typical

import neglog as nl
from neglog import _core
from neglog.distributions import FAMILIES, Dirichlet
from neglog.distributions.arrays import all_finite

SCALAR_NOISES = [noise for noise in NOISES if noise._family() != "categorical"]


def float32_close(actual, expected):
    assert actual.dtype == np.float32
    np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-5)


@each(UNIVARIATE)
def test_float32_in_float32_out(law, rng):
    if isinstance(law, nl.Categorical):
        law = nl.Categorical(law.p.astype(np.float32))  # an array of parameters counts too
    y = typical(law, rng, 30).astype(np.float32)
    if law.measure == "mass":
        y = np.round(y)
    if law.nll(y.astype(float)).max() == np.inf:
        pytest.skip("the rounding of the points to float32 left the lattice")
    for method in (law.nll, law.pdf, law.cdf, law.sf):
        float32_close(method(y), method(y.astype(float)))
    for method in (law.icdf, law.isf):
        levels = np.array([0.1, 0.5, 0.9], np.float32)
        assert method(levels).dtype == np.float32


@each(SCALAR_NOISES, "noise")
def test_derivatives_keep_float32(noise, rng):
    eta = raw_predictions(noise).astype(np.float32)
    y = np.round(plausible(noise, eta, rng)).clip(0, 1).astype(np.float32) + (noise.bounds == (0.0, np.inf))
    for single, double in zip(
        noise.derivatives(y, eta), noise.derivatives(y.astype(float), eta.astype(float)), strict=True
    ):
        assert single.dtype == np.float32
        np.testing.assert_allclose(single, double, rtol=1e-5)


@each(UNIVARIATE)
def test_layout_does_not_matter_and_input_is_left_alone(law, rng):
    y = typical(law, rng, 24)
    expected = law.nll(y)
    frozen = y.copy()
    frozen.flags.writeable = False
    np.testing.assert_array_equal(law.nll(frozen), expected)
    strided = np.repeat(y, 3)[::3]
    assert not strided.flags.c_contiguous
    np.testing.assert_array_equal(law.nll(strided), expected)
    table = np.asfortranarray(y.reshape(4, 6))
    np.testing.assert_array_equal(law.nll(table), expected.reshape(4, 6))
    np.testing.assert_array_equal(law.nll(y.tolist()), expected)
    swapped = y.astype(">f8")
    np.testing.assert_array_equal(law.nll(swapped), expected)
    for method in (law.nll, law.pdf, law.cdf, law.sf):
        before = y.copy()
        method(y)
        assert np.array_equal(before, y)


@each(UNIVARIATE)
def test_empty_input_gives_empty_output(law):
    for method in (law.nll, law.pdf, law.cdf, law.sf, law.icdf, law.isf):
        assert method(np.empty((0, 3))).shape == (0, 3)


@each(UNIVARIATE)
def test_a_single_number_gives_a_single_number(law):
    for method in (law.nll, law.pdf, law.cdf, law.sf, law.icdf, law.isf):
        assert isinstance(method(0.5), np.float64)


@each(UNIVARIATE)
def test_nan_stays_nan_and_infinity_costs_everything(law):
    assert np.isnan(law.nll(np.nan))
    assert law.nll(np.inf) == np.inf
    assert law.nll(-np.inf) == np.inf
    assert law.pdf(np.inf) == 0


@each(UNIVARIATE)
def test_outside_the_support_the_nll_is_infinite(law):
    low, high = law.bounds
    if np.isfinite(low):
        assert law.nll(low - 1e-9) == np.inf
    if np.isfinite(high):
        assert law.nll(high + 1e-9) == np.inf
    if law.measure == "mass":
        assert law.nll(0.123) == np.inf


POWERS_OF_TEN = 10.0 ** np.array([-323, -300, -160, 20, 300, 308])
EXTREME = np.array(
    [0, -0.0, 0.5, 1, -1, 2, 700, -745, 2.0**53, *POWERS_OF_TEN, *-POWERS_OF_TEN, np.nan, np.inf, -np.inf]
)
PARAMETERS = [1.0, 1.5, 1.0000001, 1.9999999, 2.0, 3.0, 0.0, 1e-300, 1e300, np.nan, np.inf]


KERNELS = sorted({(noise._kernel(), noise.link.name, len(noise._kernel_parameters())) for noise in SCALAR_NOISES})


@pytest.mark.parametrize(("family", "link", "count"), KERNELS)
def test_the_core_survives_any_numbers(family, link, count):
    # also those that the distributions refuse: whoever searches for a dispersion may come by
    y, eta = (values.ravel() for values in np.meshgrid(EXTREME, EXTREME))
    outputs = [np.empty(len(y)) for _ in range(3)]
    for values in in_pairs(PARAMETERS, count):
        parameters = [np.array([value]) for value in values]
        for raw in (eta, np.zeros(1)):
            _core.nll(family, link, y, raw, parameters, np.zeros(1), outputs[0], 1)
        for expected in (False, True):
            _core.slopes(family, link, expected, y, eta, parameters, np.ones(1), -np.inf, *outputs[1:], 1)
        assert np.isnan(outputs[0][np.isnan(y)]).all()


def in_pairs(values, count):
    """All combinations of up to two values; of more, those in which two are any and the others are the first."""
    places = itertools.combinations(range(count), min(count, 2))
    return {
        tuple(dict(zip(pair, chosen, strict=True)).get(k, values[0]) for k in range(count))
        for pair in places
        for chosen in itertools.product(values, repeat=len(pair))
    }


@each(SCALAR_NOISES, "noise")
def test_huge_and_tiny_values_raise_nothing(noise):
    extremes = np.array([0.0, 1e-320, 1e-20, 1.0, 1e20, 1e300, np.inf])
    y = np.concatenate([-extremes, extremes])
    for eta in (-1e3, -20.0, 0.0, 20.0, 1e3, np.nan):
        nll, _, _ = noise.derivatives(y, eta)
        assert nll.shape == y.shape
        if np.isnan(eta):
            assert np.isnan(nll[(y >= 0) & (y <= 1)]).any()
    for method in (noise.cdf, noise.sf):
        values = method(y)
        assert np.all((values >= 0) & (values <= 1))


@each(UNIVARIATE)
@settings(max_examples=25)  # of each of many laws
@given(data=st.data())
def test_parameters_and_y_broadcast(law, data):
    shapes = data.draw(hnp.mutually_broadcastable_shapes(num_shapes=2, max_dims=3, max_side=3))
    if not law.parameters or isinstance(law, nl.Categorical):
        return
    values = {
        name: np.broadcast_to(value, (*shapes.input_shapes[0], *np.shape(value)))  # some are several numbers
        for name, value in law.parameters.items()
    }
    many = type(law)(**values)
    y = np.full(shapes.input_shapes[1], float(law.icdf(0.7)))
    for method in ("nll", "cdf", "sf"):
        result = getattr(many, method)(y)
        assert result.shape == shapes.result_shape
        np.testing.assert_allclose(result, getattr(law, method)(y.flat[0]) if y.size else 0.0, rtol=1e-12, atol=1e-14)
    assert many.batch_shape == shapes.input_shapes[0]
    for method in ("mean", "median", "variance", "entropy"):
        assert np.shape(getattr(many, method)()) == many.batch_shape
    assert many.sample(rng=0).shape == many.batch_shape


@each(PROPER)
def test_laws_are_values(law):
    same = copy.deepcopy(law)
    assert same == law
    assert hash(same) == hash(law)
    assert pickle.loads(pickle.dumps(law)) == law
    with pytest.raises(AttributeError, match="immutable"):
        law.scale = 3.0


@each(NOISES, "noise")
def test_given_keeps_its_own_copy(noise):
    eta = np.zeros((4, 3)) if noise._family() == "categorical" else raw_predictions(noise)
    law, same = noise.given(eta), noise.given(eta.copy())
    before = law.nll(1.0)
    eta *= 1.25
    np.testing.assert_array_equal(law.nll(1.0), before)
    assert law == same
    assert (law == noise.given(eta)) == np.all(eta == 0)
    assert pickle.loads(pickle.dumps(law)) == law


@each([noise for noise in NOISES if not noise.labelled], "noise")
def test_another_location_is_not_that_of_the_prediction(noise, rng):
    law = noise.given(raw_predictions(noise)[:1])
    away = law.with_(**{noise.location: noise.parameters[noise.location]})
    y = typical(noise, rng)
    np.testing.assert_array_equal(away.nll(y), noise.nll(y))


def test_parameters_are_copied_and_read_only():
    scale = np.ones(3)
    law = nl.Gaussian(scale=scale)
    scale[0] = 9.0
    assert law.scale[0] == 1.0
    with pytest.raises(ValueError, match="read-only"):
        law.scale[0] = 2.0


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES.keys())
def test_a_parameter_outside_its_domain_is_refused_by_name_and_value(family):
    for own in family.declared:
        name, domain = own.name, own.domain
        outside = np.nan if domain.contains(np.array(-0.25)) else -0.25
        example = {key: np.asarray(value) for key, value in family.examples[0].items()}
        bad = example[name] * 0 + outside
        owner = re.escape(family.__name__)
        with pytest.raises(ValueError, match=rf"{owner}: {name} must be .*{outside}"):
            family(**family.examples[0] | {name: bad})
        with pytest.raises(TypeError, match=rf"{owner}: {name} must be a number"):
            family(**family.examples[0] | {name: "wide"})


def test_the_first_bad_value_of_an_array_is_named():
    with pytest.raises(
        ValueError, match=r"Gamma: mean must be > 0 and finite, but 2 of 4 values are not; .* -1.0 at index 1"
    ):
        nl.Gamma(mean=[1.0, -1.0, 2.0, 0.0], shape=1.0)


def test_shapes_that_do_not_fit_are_named():
    with pytest.raises(ValueError, match=r"the shapes \(2,\), \(3,\) cannot be broadcast together"):
        nl.Gaussian(loc=[0.0, 1.0], scale=[1.0, 1.0, 1.0])


def test_an_unknown_parameter_is_named_when_it_is_needed():
    with pytest.raises(ValueError, match=r"Gaussian: scale is unknown \(None\).*Gaussian\(scale=...\)"):
        nl.Gaussian().nll(0.0)


def test_a_link_that_makes_no_sense_is_refused():
    with pytest.raises(ValueError, match=r"Poisson: link must be one of 'log', 'identity', .* but is 'logit'"):
        nl.Poisson(link="logit")


def test_text_is_not_data():
    with pytest.raises(TypeError, match="y must hold numbers"):
        nl.Gaussian(scale=1.0).nll(["a", "b"])


@pytest.mark.parametrize("name", ["identity", "log", "inverse", "sqrt", "logit", "probit", "cloglog"])
@given(p=st.floats(0.01, 0.99))
def test_links_are_inverse_pairs(name, p):
    link = nl.distributions.link.get_link(name)
    assert link.name == name
    assert link.inverse(link.forward(p)) == pytest.approx(p, rel=1e-12)


def test_the_softmax_link_is_an_inverse_pair(rng):
    p = rng.dirichlet(np.ones(4), 5)
    link = nl.Categorical().link
    np.testing.assert_allclose(link.inverse(link.forward(p)), p, rtol=1e-12)
    np.testing.assert_allclose(link.forward(p).sum(axis=-1), 0, atol=1e-12)


def test_dirichlet_draws_lie_on_the_simplex(rng):
    draws = Dirichlet([0.5, 2.0, 9.0]).sample((3, 4), rng=rng)
    assert draws.shape == (3, 4, 3)
    np.testing.assert_allclose(draws.sum(axis=-1), 1.0)


def test_numbers_that_are_not_finite_are_found_beside_huge_ones():
    values = np.full(100, 1e200)
    assert all_finite(values)  # without a warning, although the squares overflow
    for fault in (np.nan, np.inf, -np.inf):
        values[-1] = fault
        assert not all_finite(values)
