"""Curves: natural cubic splines of a column of numbers, as a straight line and wiggles, orthogonal over the rows."""

import numpy as np
import pandas as pd
import pytest
from scipy.interpolate import CubicSpline

import neglog as nl
from neglog.design.blocks import Basis, Variable
from neglog.design.splines import Spline, spline_of

N = 400
COLUMNS = {
    "uniform": lambda rng: rng.uniform(-1, 3, N),
    "skewed": lambda rng: np.exp(2 * rng.normal(size=N)),
    "ties": lambda rng: np.where(rng.random(N) < 0.8, 0.0, rng.normal(size=N)),
    "whole numbers": lambda rng: rng.poisson(4.0, N).astype(float),
    "single precision": lambda rng: rng.normal(size=N).astype(np.float32),
    "huge": lambda rng: 1e15 * (1 + rng.normal(size=N)),
    "tiny": lambda rng: 1e-15 * (1 + rng.normal(size=N)),
    "far from 0": lambda rng: 1e6 + rng.normal(size=N),
    "an outlier": lambda rng: np.append(rng.normal(size=N - 1), 1e4),
    "three values": lambda rng: rng.choice([0.0, 1.0, 5.0], N),
    "five values": lambda rng: rng.choice([-2.0, 0.0, 0.5, 7.0, 8.0], N),
}


@pytest.fixture(params=COLUMNS)
def x(request, rng):
    return COLUMNS[request.param](rng)


def columns_of(spline, x):
    return Basis((Variable.of(np.asarray(x), spline.pieces),), None, 1, spline.turn).values()


def interpolated(spline, coef):
    """The natural cubic spline through what the columns add up to at the knots, by another hand."""
    knots = np.array(spline.knots)
    return CubicSpline(knots, columns_of(spline, knots) @ coef, bc_type="natural")


@pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
def test_columns_have_the_mean_0_and_are_orthogonal_over_the_rows(x, weighted, rng):
    weight = rng.uniform(0, 3, N) if weighted else None
    values = columns_of(spline_of(x, 10, weight), x)
    weight = np.ones(N) if weight is None else weight
    gram = values.T @ (weight[:, None] * values) / weight.sum()
    unit = np.sqrt(gram.diagonal())
    typical = np.sqrt(np.average(np.asarray(x, float) ** 2, weights=weight))  # what rounding is a part of
    tight = 1e-9 * max(1.0, typical / np.std(np.asarray(x, float)))
    assert np.abs(weight @ values / weight.sum() / unit.max()).max() < tight
    seen = unit > 1e-7 * unit[1:].max()
    np.testing.assert_allclose((gram / unit / unit[:, None])[seen][:, seen], np.eye(seen.sum()), atol=1e-6)
    assert gram[1:, 1:].trace() == pytest.approx(1.0)
    assert np.all(np.diff(unit[1:]) <= 1e-9)  # from slow to fast


def test_the_line_is_a_line(x):
    spline = spline_of(x, 10)
    x = np.asarray(x, float)
    np.testing.assert_allclose(columns_of(spline, x)[:, 0], x - x.mean(), atol=1e-9 * np.abs(x).max())


def test_the_prior_is_the_integral_of_the_square_of_the_second_derivative(x):
    spline = spline_of(x, 10)
    knots = np.array(spline.knots)
    bends = np.array([interpolated(spline, one)(knots, 2) for one in np.eye(len(knots) - 1)[1:]])
    h = np.diff(knots)
    left, right = bends[:, :-1], bends[:, 1:]  # between knots second derivatives are straight
    integral = ((left * h) @ left.T + (right * h) @ right.T) / 3 + ((left * h) @ right.T + (right * h) @ left.T) / 6
    np.testing.assert_allclose(integral / integral.diagonal().mean(), np.eye(len(knots) - 2), atol=1e-4)


def test_curves_are_natural_splines_that_go_on_straight(x, rng):
    spline = spline_of(x, 10)
    coef = rng.normal(size=len(spline.knots) - 1) / np.append(np.std(x), np.ones(len(spline.knots) - 2))
    curve = interpolated(spline, coef)
    low, high = spline.knots[0], spline.knots[-1]
    inside = np.linspace(low, high, 301)
    wanted = curve(inside)
    size = np.abs(wanted).max()
    np.testing.assert_allclose(columns_of(spline, inside) @ coef, wanted, atol=1e-8 * size)
    away = (high - low) * np.array([1e-6, 0.1, 1.0, 10.0])
    for end, beyond in ((low, low - away), (high, high + away)):
        line = curve(end) + curve(end, 1) * (beyond - end)
        np.testing.assert_allclose(
            columns_of(spline, beyond) @ coef, line, rtol=1e-7, atol=1e-8 * max(size, np.abs(line).max())
        )


@pytest.mark.parametrize("values", [1, 2, 3, 5])
def test_knots_of_few_values_are_these(values, rng):
    x = rng.permutation(np.repeat(np.arange(values, dtype=float) ** 2, 20))
    spline = spline_of(x, 20)
    if values < 3:
        assert spline is None
    else:
        assert spline.knots == tuple(float(k**2) for k in range(values))
        assert columns_of(spline, x).shape[1] == values - 1
        assert np.linalg.matrix_rank(columns_of(spline, x)) == values - 1


def test_knots_are_at_quantiles_of_the_values_and_at_their_ends(rng):
    x = rng.exponential(size=5000)
    knots = spline_of(x, 12).knots
    assert len(knots) == 12
    np.testing.assert_allclose(knots, np.quantile(x, np.linspace(0, 1, 12)), rtol=1e-2)


def test_ends_of_rows_that_are_not_here(rng):
    spline = spline_of(rng.uniform(size=N), 8, None, (-1.0, 4.0))
    assert (spline.knots[0], spline.knots[-1]) == (-1.0, 4.0)


def test_weights_repeat_rows(rng):
    x, times = np.round(rng.normal(size=N), 2), rng.integers(1, 4, N)
    one, other = spline_of(x, 9, times.astype(float)), spline_of(np.repeat(x, times), 9)
    assert one.knots == other.knots
    np.testing.assert_allclose(one.turn, other.turn, rtol=1e-6, atol=1e-9)


def test_plain_values_bring_it_back(x):
    spline = spline_of(x, 10)
    again = Spline.from_json(spline.to_json())
    assert again == spline
    assert hash(again) == hash(spline)
    np.testing.assert_array_equal(columns_of(again, x), columns_of(spline, x))


# ---- in fits ---------------------------------------------------------------------------------------------------------


def table_of(rng, unit=1.0, shift=0.0):
    x = rng.uniform(size=N)
    return pd.DataFrame({"x": shift + unit * x, "y": np.sin(6 * x) + 0.3 * rng.normal(size=N)})


@pytest.mark.parametrize(("unit", "shift"), [(1e12, 0.0), (1e-12, 0.0), (-3.0, 0.0), (1.0, 1e5), (1e6, 1e9)])
def test_the_unit_of_a_column_makes_no_difference(unit, shift):
    fits = []
    for one, away in ((1.0, 0.0), (unit, shift)):
        table = table_of(np.random.default_rng(3), one, away)
        fits.append((nl.fit(table, "y", terms=[nl.smooth("x")]), table))
    (plain, table), (other, moved) = fits
    np.testing.assert_allclose(other.predict(moved), plain.predict(table), atol=1e-5)
    assert other.terms["x"].scale == pytest.approx(plain.terms["x"].scale, rel=1e-4)
    assert other.terms["x"].effective == pytest.approx(plain.terms["x"].effective, rel=1e-4)


def test_rows_without_weight_change_nothing(rng):
    table = table_of(rng)
    idle = pd.DataFrame({"x": [50.0, -7.0], "y": [1e6, 3.0]})
    plain = nl.fit(table, "y", terms=[nl.smooth("x")])
    found = nl.fit(
        pd.concat([table, idle]), "y", terms=[nl.smooth("x")], sample_weight=np.append(np.ones(N), np.zeros(2))
    )
    np.testing.assert_allclose(found.predict(table), plain.predict(table), rtol=1e-7, atol=1e-7)


def test_a_column_of_two_values_is_a_line_and_a_constant_nothing(rng):
    table = table_of(rng).assign(two=rng.integers(0, 2, N).astype(float), same=4.0)
    fit = nl.fit(table, "y", terms=[nl.smooth("x"), nl.smooth("two"), nl.smooth("same")])
    assert fit.notes == [
        "s(two): two has fewer than three values, and so no curve but a line",
        "s(same): same has fewer than three values, and so no curve but a line",
    ]
    assert [term.kind for term in fit.terms] == ["smooth", "linear", "linear"]
    assert fit.terms["two"].effective == pytest.approx(1.0)
    assert fit.terms["same"].effective == 0.0
    assert "The column same is constant, or the sum of others; its coefficient is 0." in fit.message
    assert np.isfinite(fit.predict(table)).all()


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("where", ["fit", "predict"])
def test_what_is_no_number_is_refused_with_the_name_of_its_column(value, where, rng):
    table = table_of(rng)
    wild = table.assign(x=np.where(np.arange(N) == 7, value, table.x))
    said = r"column 'x'|x: |\bx\b.*(missing|infinite)"
    if where == "fit":
        for terms in ([nl.smooth("x")], [nl.interaction("x", nl.smooth("z"))], [nl.interaction(nl.smooth("x"), "g")]):
            more = wild.assign(z=rng.normal(size=N), g=rng.choice(["a", "b"], N))
            with pytest.raises(ValueError, match=said):
                nl.fit(more, "y", terms=terms)
    else:
        fit = nl.fit(table, "y", terms=[nl.smooth("x")])
        with pytest.raises(ValueError, match=said):
            fit.predict(wild)


@pytest.mark.parametrize("noise", [nl.Gaussian(), nl.Poisson(), nl.Laplace(), nl.Gaussian(scale="model")], ids=str)
def test_what_another_column_says_already_is_held_at_0(noise, rng):
    table = table_of(rng)
    table["twice"] = 2 * table.x + 1
    table["y"] = rng.poisson(np.exp(table.y)).astype(float)
    plain = nl.fit(table, "y", noise, terms=[nl.smooth("x")])
    for terms in (["x", nl.smooth("x")], [nl.smooth("x"), "twice"]):
        fit = nl.fit(table, "y", noise, terms=terms)
        assert fit.converged
        assert "constant, or the sum of others" in fit.message
        np.testing.assert_allclose(fit.predict(table), plain.predict(table), rtol=1e-4, atol=1e-6)
        assert fit.nll == pytest.approx(plain.nll, rel=1e-5)
