"""y in cells, for whatever noise the core has cells of: probabilities, derivatives, fits."""

import numpy as np
import pandas as pd
import pytest
from laws.cases import NOISES
from laws.inference_cases import EXAMPLES, can_open

import neglog as nl
from neglog import _core
from neglog.distributions.link import LINKS


def has_cells(noise):
    return not noise.of_classes and noise.default_link in _core.links(f"cells({noise._kernel()})")


def is_reached(law):
    """Whether the usual link has a raw prediction for it: not of a negative mean, if that is the log."""
    with np.errstate(all="ignore"):
        return np.isfinite(LINKS[law.default_link].forward(law.parameters[law.location]))


LAWS = [law for law in NOISES if has_cells(law)]
CASES = [case for case in EXAMPLES if has_cells(case.truth) and case.link == case.family.default_link]
REACHED = [law for law in LAWS if is_reached(law)]
FIRST = [case for case in CASES if case.number == 0]
each_law = pytest.mark.parametrize("law", LAWS, ids=repr)


def differentiated(law):
    """Where the prediction and the raw parameters stand that have slopes: a power that stands alone has none, nor has
    the step of a lattice.
    """
    return [0, *(1 + k for k, own in enumerate(law.beside_location()) if own.name in can_open(law))]


def quantile_cells(law):
    """Cells between quantiles that cover all there is, the outer ones open."""
    inner = np.unique(law.icdf(np.array([1e-6, 0.01, 0.19, 0.45, 0.46, 0.9, 0.999])))
    inner = inner[(inner > law.bounds[0]) | (law.measure == "density")]
    step = law.support.step or 0.0
    return nl.censored(np.append(-np.inf, inner + step), np.append(inner, np.inf))


@each_law
def test_cells_that_cover_everything_have_all_the_probability(law):
    cells = quantile_cells(law)
    assert np.exp(-law.nll(cells)).sum() == pytest.approx(1, abs=1e-10)


@each_law
def test_a_cell_has_the_probability_that_the_cdf_says(law):
    cells = quantile_cells(law)
    below = law.cdf(cells.lower - (law.support.step or 0.0))
    np.testing.assert_allclose(np.exp(-law.nll(cells)), law.cdf(cells.upper) - below, rtol=1e-7, atol=1e-10)


@each_law
def test_a_cell_of_no_width_is_a_value(law, rng):
    y = law.sample(20, rng=rng).astype(float)
    np.testing.assert_allclose(law.nll(nl.censored(y, y)), law.nll(y), rtol=1e-12, atol=1e-12)


@each_law
def test_predictions_far_from_a_cell_say_where_it_is(law):
    """A search or a tree may come by there, and must find its way back."""
    cells = quantile_cells(law)
    noise = type(law)(**law.parameters, link=law.default_link)
    for eta in (-40.0, -25.0, 25.0, 40.0):
        nats, slopes, bends = noise.joint(cells, np.full(len(cells), eta), curvature=True)
        assert np.isfinite(nats).all()
        assert np.isfinite(slopes).all()
        assert np.isfinite(bends).all()
        up, down = (noise.joint(cells, np.full(len(cells), eta + step))[0] for step in (1e-3, -1e-3))
        size = np.maximum(np.abs(nats), 1.0)
        np.testing.assert_allclose(2e-3 * slopes[0] / size, (up - down) / size, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("law", REACHED, ids=repr)
def test_derivatives_of_cells_are_slopes(law):
    """In the prediction and in every raw parameter, by differences of the nll of the cell."""
    cells = quantile_cells(law)[1:-1]
    noise = type(law)(**law.parameters, link=law.default_link)
    centre = float(noise.link.forward(getattr(law, f"_{law.location}")))
    names = [own.name for own in law.beside_location()]
    raw = np.array([centre, *(float(own.raw.raw(law.parameters[own.name])) for own in law.beside_location())])

    def at(point):
        return noise.at_raw(**dict(zip(names, point[1:].tolist(), strict=True))), np.full(len(cells), point[0])

    def slopes(point):
        own, eta = at(point)
        return own.joint(cells, eta, curvature=True)

    nats, first, second = slopes(raw)
    places = differentiated(law)
    for k in places:
        step = np.zeros(len(raw))
        bend = np.abs(second[k * (k + 3) // 2]).max()
        step[k] = 1e-4 * (min(1.0, 1 / np.sqrt(bend)) if k == 0 and bend > 0 else 1.0)
        up, down = slopes(raw + step), slopes(raw - step)
        size = np.abs(first[k]) + np.abs(nats) + 1
        np.testing.assert_allclose((up[0] - down[0]) / (2 * step[k]), first[k], atol=2e-5 * size.max(), rtol=1e-4)
        for other in (place for place in places if place <= k):
            slope = (up[1][other] - down[1][other]) / (2 * step[k])
            pair = k * (k + 1) // 2 + other
            np.testing.assert_allclose(slope, second[pair], rtol=1e-3, atol=1e-4 * (1 + np.abs(second[pair]).max()))


def rounded(case, rows):
    """The rows, of which some are values, some lie in intervals, and some are censored on either side."""
    law = case.truth.with_precision(rows.precision).given(rows.eta(case.centre, case.size * np.array([1.0, -0.5, 0.0])))
    y, n = rows.y, len(rows.y)
    low, high = (np.minimum(law.icdf(np.full(n, level)), y) for level in (0.1, 0.6))
    kind = np.arange(n) % 4
    lower = np.where(kind == 0, y, np.where(kind == 1, low, np.where(kind == 2, high, -np.inf)))
    upper = np.where(kind == 0, y, np.where(kind == 1, np.maximum(law.icdf(np.full(n, 0.8)), y), np.inf))
    return nl.censored(lower, np.where(kind == 3, np.maximum(law.icdf(np.full(n, 0.9)), y), upper))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_cells_that_are_values_give_the_fit_of_values(case):
    rows = case.rows("plain")
    if rows.draws is not None:
        pytest.skip("a row that was observed several times is no cell")
    values = nl.fit(rows.X, rows.y, case.noise, tol=1e-9, **rows.options)
    cells = nl.fit(rows.X, nl.censored(rows.y, rows.y), case.noise, tol=1e-9, **rows.options)
    assert cells.nll == pytest.approx(values.nll, rel=1e-10, abs=1e-8)
    np.testing.assert_allclose(cells.coef, values.coef, atol=1e-5 * case.error(), rtol=1e-6)
    if case.truth.smooth:
        np.testing.assert_allclose(cells.standard_errors, values.standard_errors, rtol=1e-4)


@pytest.mark.parametrize("case", FIRST, ids=str)
def test_a_fit_to_cells_is_where_their_nll_is_least(case):
    rows = case.rows("plain")
    y = rounded(case, rows)
    fit = nl.fit(rows.X, y, case.noise, nl.Gaussian(scale=2 * case.error()), tol=1e-9)
    assert fit.converged, fit.message

    def nats(coef, intercept, noise):
        law = noise.given(intercept + rows.X @ coef)
        return float(np.sum(law.nll(y))) + float(fit.prior.penalty(coef))

    assert fit.nll + fit.penalty == pytest.approx(nats(fit.coef, fit.intercept, fit.noise), rel=1e-10, abs=1e-8)
    here = nats(fit.coef, fit.intercept, fit.noise)
    for k in range(len(fit.coef) + 1):
        for way in (-0.05, 0.05):
            move = np.zeros(len(fit.coef) + 1)
            move[k] = way * case.error()
            assert nats(fit.coef + move[1:], fit.intercept + move[0], fit.noise) >= here - 1e-7
    for name in case.noise.unknown:
        raw = float(fit.noise.parameter(name).raw.raw(fit.noise.parameters[name]))
        for way in (-0.01, 0.01):
            assert nats(fit.coef, fit.intercept, fit.noise.at_raw(**{name: raw + way})) >= here - 1e-7
    twice = nl.fit(np.vstack([rows.X] * 2), nl.censored(np.tile(y.lower, 2), np.tile(y.upper, 2)), case.noise)
    weighted = nl.fit(rows.X, y, case.noise, sample_weight=np.full(len(y), 2.0))
    np.testing.assert_allclose(twice.coef, weighted.coef, atol=1e-4 * case.error(), rtol=1e-5)


@pytest.mark.parametrize("case", FIRST, ids=str)
def test_cells_from_files_and_beliefs(case, tmp_path):
    rows = case.rows("plain")
    y = rounded(case, rows)
    table = pd.DataFrame({f"x{k}": column for k, column in enumerate(rows.X.T)} | {"low": y.lower, "high": y.upper})
    table.to_parquet(tmp_path / "rows.parquet")
    named = nl.censored("low", "high")
    memory = nl.fit(table, named, case.noise, tol=1e-9)
    streamed = nl.fit(tmp_path / "rows.parquet", named, case.noise, tol=1e-9, progress=False)
    assert streamed.nll == pytest.approx(memory.nll, rel=1e-9)
    np.testing.assert_allclose(streamed.coef, memory.coef, atol=1e-5 * case.error(), rtol=1e-6)
    memory.save(tmp_path / "fit.json")
    np.testing.assert_array_equal(nl.load(tmp_path / "fit.json").coef, memory.coef)
    if case.truth.smooth:
        assert np.isfinite(memory.loo().nll).all()
    else:  # some rows are values
        with pytest.raises(ValueError, match="needs a smooth loss"):
            memory.loo()
    assert np.isfinite(memory.posterior().evidence)
    assert str(memory.summary())
