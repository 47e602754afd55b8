"""Log loss taken apart into what recalibration can and cannot save."""

import numpy as np
import pytest

import neglog as nl


def forecasts(rng, n=20_000):
    """Calibrated probabilities and outcomes drawn from them."""
    p = rng.beta(2.0, 2.0, n)
    return p, (rng.random(n) < p).astype(int)


def test_the_parts_add_up(rng):
    p, y = forecasts(rng)
    parts = nl.decompose(y, p**2)
    assert parts.log_loss == pytest.approx(np.mean(nl.Bernoulli().loss(y, p**2)), rel=1e-13)
    assert parts.irreducible + parts.miscalibration == pytest.approx(parts.log_loss, rel=1e-13)
    total = parts.uncertainty - parts.resolution + parts.miscalibration
    assert total == pytest.approx(parts.log_loss, rel=1e-13)


def test_calibrated_forecasts_have_next_to_no_miscalibration(rng):
    p, y = forecasts(rng)
    parts = nl.decompose(y, p)
    assert 0 <= parts.miscalibration < 0.003
    assert parts.irreducible == pytest.approx(np.mean(nl.Bernoulli(p).entropy()), abs=0.01)


def test_an_increasing_distortion_is_found_as_miscalibration(rng):
    p, y = forecasts(rng)
    honest, distorted = nl.decompose(y, p), nl.decompose(y, p**3)
    assert distorted.irreducible == pytest.approx(
        honest.irreducible, rel=1e-12
    )  # the order of the forecasts is the same
    expected = np.mean(nl.kl_divergence(nl.Bernoulli(p), nl.Bernoulli(p**3)))
    assert distorted.miscalibration == pytest.approx(expected, rel=0.05)


def test_recalibrated_probabilities_are_the_frequencies_of_groups():
    parts = nl.decompose([0, 1, 1, 0, 1, 1], [0.1, 0.1, 0.1, 0.8, 0.8, 0.8])
    np.testing.assert_allclose(parts.recalibrated, 2 / 3)
    assert parts.resolution == pytest.approx(0, abs=1e-15)


def test_rows_of_two_classes_are_the_same_as_one_number(rng):
    p, y = forecasts(rng, 500)
    one, two = nl.decompose(y, p), nl.decompose(y, np.stack([1 - p, p], axis=1))
    assert one.log_loss == pytest.approx(two.log_loss, rel=1e-13)
    assert one.irreducible == pytest.approx(two.irreducible, rel=1e-13)
    assert two.recalibrated.shape == (500, 2)


def test_several_classes(rng):
    p = rng.dirichlet([1.0, 2.0, 3.0], 20_000)
    y = (rng.random(len(p))[:, None] > np.cumsum(p, axis=1)[:, :-1]).sum(axis=1)
    honest = nl.decompose(y, p)
    assert 0 <= honest.miscalibration < 0.001
    sharper = p**1.8 * np.array([0.5, 1.0, 2.0])
    sharper /= sharper.sum(axis=1, keepdims=True)
    distorted = nl.decompose(y, sharper)
    assert distorted.irreducible == pytest.approx(honest.irreducible, abs=1e-6)
    assert distorted.miscalibration == pytest.approx(np.mean(nl.kl_divergence(p, sharper)), rel=0.05)
    np.testing.assert_allclose(distorted.recalibrated.sum(axis=1), 1.0)


def test_classes_called_impossible(rng):
    p = np.array([[0.5, 0.5, 0.0], [0.2, 0.3, 0.5], [0.1, 0.0, 0.9]] * 20)
    parts = nl.decompose(np.array([0, 1, 2] * 20), p)
    assert np.isfinite(parts.log_loss)
    assert np.all(parts.recalibrated[p == 0] == 0)
    surprised = nl.decompose(np.array([2, 1, 2] * 20), p)
    assert surprised.log_loss == np.inf


def test_what_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="one class number for each of the 2 predictions"):
        nl.decompose([0, 1, 1], [0.5, 0.5])
    with pytest.raises(ValueError, match=r"1 of 2 are not; the first is 2\.0 in row 1"):
        nl.decompose([0, 2], [0.5, 0.5])
    with pytest.raises(ValueError, match=r"between 0 and 1, but 1 of 2 do not; the first is 1\.5 in row 1"):
        nl.decompose([0, 1], [0.5, 1.5])


def test_it_prints_its_parts():
    assert str(nl.decompose([0, 1], [0.5, 0.5])).splitlines()[0].split() == [
        "log",
        "loss",
        "0.693147",
        "of",
        "2",
        "rows,",
        "nats",
        "per",
        "row",
    ]
