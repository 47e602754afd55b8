"""The figure of what a fit missed, and whether its sentences are true."""

import re

import numpy as np
import pytest

import neglog as nl
from neglog.checking.findings import along, bars_of, promised_of, sentence_along
from neglog.checking.worm import shape_of, worm_of

pytest.importorskip("matplotlib")
N = 1500


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(11)
    X = rng.normal(size=(N, 3))
    return X, 0.5 + X @ [0.6, -0.3, 0.1], rng


def test_nothing_is_said_against_the_right_noise(rows):
    X, eta, rng = rows
    cases = {
        nl.Poisson(): rng.poisson(np.exp(eta)),
        nl.Gaussian(): eta + rng.normal(size=N),
        nl.Gamma(): rng.gamma(2, np.exp(eta) / 2),
        nl.Bernoulli(): (rng.random(N) < 1 / (1 + np.exp(-eta))).astype(float),
        nl.Hurdle(nl.Gamma()): np.where(rng.random(N) < 0.4, 0, rng.gamma(2, np.exp(eta) / 2)),
    }
    for noise, y in cases.items():
        found = nl.fit(X, y, noise).check()
        assert "speaks against" in found.text
        assert "does not fit" not in found.text
        assert "Along the prediction they are alike" in found.text
        assert "No row decides much" in found.text
        assert repr(found) == found.text
        assert len(found.figure.axes) == 4


def test_too_many_zeros_are_counted(rows):
    X, eta, rng = rows
    y = np.where(rng.random(N) < 0.3, 0, rng.poisson(np.exp(eta)))
    found = nl.fit(X, y, nl.Poisson()).check()
    counted, expected = (
        int(x) for x in re.search(r"0 occurs (\d+) times, where (\d+) were expected", found.text).groups()
    )
    assert counted == np.count_nonzero(y == 0)
    assert expected == round(float(np.sum(np.exp(-nl.fit(X, y, nl.Poisson()).predict(X)))))
    assert "Poisson noise does not fit" in found.text
    better = nl.fit(X, y, nl.ZeroInflated(nl.Poisson())).check()
    assert "does not fit" not in better.text
    assert "Each count occurs about as often as it should" in better.text


def test_heavy_tails_are_found_and_nothing_else(rows):
    X, eta, rng = rows
    y = eta + rng.standard_t(2.5, N)
    fit = nl.fit(X, y, nl.Gaussian())
    found = fit.check().text
    far = int(np.count_nonzero(np.abs(fit.residuals()) > 4))
    assert f"{far} rows are beyond ±4" in found
    assert "Along the prediction they are alike" in found
    assert "does not fit" not in nl.fit(X, y, nl.StudentT()).check().text


def test_a_missed_curve_and_spread_are_found(rows):
    X, eta, rng = rows
    curved = nl.fit(X, eta**2 + rng.normal(size=N), nl.Gaussian()).check().text
    assert re.search(r"They change along the prediction: about [-\d.]+ y is mostly too (high|low)", curved)
    spread = nl.fit(X, eta + np.exp(0.8 * eta) * rng.normal(size=N), nl.Gaussian()).check().text
    assert re.search(r"they spread by 0\.\d+ about -?[\d.]+ and by [12]\.\d+ about", spread)


def test_the_row_that_decides_is_named(rows):
    X, eta, rng = rows
    X, y = X[:40].copy(), eta[:40] + rng.normal(size=40)
    X[3] *= 4
    y[3] += 12
    found = nl.fit(X, y, nl.Gaussian()).check()
    assert "Row 3 alone decides much" in found.text
    assert "3" in [one.get_text() for one in found.figure.axes[3].texts]


def test_other_rows_and_kinks_show_the_order(rows, tmp_path):
    X, eta, rng = rows
    y = eta + rng.laplace(size=N)
    fit = nl.fit(X, y, nl.Laplace())
    found = fit.check()
    assert "nothing to see" in found.text
    assert found.figure.axes[3].get_xlabel() == "row"
    fit.save(tmp_path / "fit.json")
    assert nl.load(tmp_path / "fit.json").check(X, y).text == found.text
    drift = np.cumsum(rng.normal(size=N)) / 10
    assert "alike residuals" in fit.check(X, y + drift).text
    with pytest.raises(ValueError, match="give a check the rows"):
        nl.load(tmp_path / "fit.json").check()


def test_cells_classes_and_idle_rows(rows):
    X, eta, rng = rows
    time, until = rng.exponential(np.exp(eta)), rng.exponential(3, N)
    cells = nl.censored(np.minimum(time, until), event=(time <= until).astype(float))
    assert "does not fit" not in nl.fit(X, cells, nl.Weibull()).check().text
    labels = np.array(["low", "mid", "high"])
    y = labels[np.sum(eta + rng.logistic(size=N) > np.array([[0.0], [1.0]]), axis=0)]
    found = nl.fit(X, y, nl.Ordinal(classes=labels)).check()
    assert "Each class occurs" in found.text
    assert [one.get_text() for one in found.figure.axes[1].get_xticklabels()] == labels.tolist()
    with pytest.raises(ValueError, match="classes without an order"):
        nl.fit(X, y, nl.Categorical()).check()
    weight = (np.arange(N) % 3 > 0).astype(float)
    assert nl.fit(X, rng.poisson(np.exp(eta)), nl.Poisson(), sample_weight=weight).check().text.startswith("1,000 rows")


def test_many_rows_are_drawn_and_that_is_said(tmp_path):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(60_000, 1))
    y = rng.normal(size=60_000)
    y[59_999] = 40
    X[59_999] = 40
    found = nl.fit(X, y, nl.Gaussian()).check()
    assert found.text.startswith("50,000 of 60,000 rows, drawn")
    assert "Row 59,999" in found.text
    assert "59,999" in [one.get_text() for one in found.figure.axes[3].texts]
    for name in ("check.png", "check.svg"):
        found.save(tmp_path / name)
        assert (tmp_path / name).stat().st_size > 10_000
    assert found._repr_png_()[:4] == b"\x89PNG"


# ---- what stands behind the sentences --------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [8, 60, 5000])
def test_19_of_20_samples_stay_in_the_band(n):
    rng = np.random.default_rng(n)
    worms = [worm_of(rng.normal(size=n)) for _ in range(200)]
    assert np.mean([one.inside for one in worms]) == pytest.approx(0.95, abs=0.05)
    chances = np.array([one.chance for one in worms])
    assert np.mean(chances < 0.5) == pytest.approx(0.5, abs=0.12)
    np.testing.assert_array_equal(
        [one.inside for one in worms if abs(one.chance - 0.05) > 2e-3],
        [c > 0.05 for c in chances if abs(c - 0.05) > 2e-3],
    )


def test_shapes():
    z = np.random.default_rng(0).normal(size=5000)
    assert shape_of(z) == []
    assert "half lie above +0.2" in shape_of(z + 0.3)[0]
    assert "1.2" in shape_of(1.3 * z)[0] or "1.3" in shape_of(1.3 * z)[0]
    heavy = np.random.default_rng(1).standard_t(2, 5000)
    assert any("beyond ±4" in one for one in shape_of(heavy))


def test_groups_along_a_column_are_no_false_alarm():
    rng = np.random.default_rng(2)
    found = [along(rng.standard_t(3, 2000), rng.normal(size=2000)) for _ in range(100)]
    assert sum(one.drifts or one.differs for one in found) <= 2
    assert along(rng.normal(size=100), np.zeros(100)) is None
    assert sentence_along(None) == ""


def test_bars_and_promises_add_up():
    rng = np.random.default_rng(3)
    mean = np.exp(rng.normal(size=800))
    for scale in (1.0, 60.0):
        y = rng.poisson(scale * mean).astype(float)
        found = bars_of(nl.Poisson(scale * mean), y)
        assert found.counted.sum() >= 0.99 * 800
        assert found.expected.sum() == pytest.approx(found.counted.sum(), rel=0.03)
        assert len(found.labels()) == len(found.counted) <= 27
    p = rng.random(1000)
    promised = promised_of(p, (rng.random(1000) < p).astype(float))
    assert np.abs((promised.came - promised.promised) / promised.deviations).max() < 4
