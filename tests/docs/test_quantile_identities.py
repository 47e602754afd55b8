"""The asymmetric Laplace law as the handbook derives it: by SymPy, then by neglog."""

import numpy as np
import sympy as sp
from docs.symbols import minus_log, zero

import neglog as nl

s, q, p = sp.symbols("s q p", positive=True)  # p is 1 - q, put in at the end
z = sp.Symbol("z", real=True)
ABOVE = q * p / s * sp.exp(-q * z)  # for z >= 0
BELOW = q * p / s * sp.exp(p * z)


def expectation(above, below):
    """Of a function of z that is given on each side."""
    upper, lower = sp.integrate(above * ABOVE * s, (z, 0, sp.oo)), sp.integrate(below * BELOW * s, (z, -sp.oo, 0))
    return sp.simplify((upper + lower).subs(p, 1 - q))


def equal(one, other):
    return sp.simplify(one - other.subs(p, 1 - q)) == 0


def test_the_law_and_its_loss():
    assert zero(minus_log(ABOVE) - (sp.log(s / (q * p)) + q * z))
    assert zero(minus_log(BELOW) - (sp.log(s / (q * p)) - p * z))
    one, nothing = sp.Integer(1), sp.Integer(0)
    assert expectation(one, one) == 1
    assert equal(expectation(nothing, one), q)  # the mass below
    mean = expectation(z, z)
    assert equal(mean, 1 / q - 1 / p)
    assert equal(expectation(z**2, z**2) - mean**2, 1 / q**2 + 1 / p**2)
    half = ABOVE.subs({q: sp.Rational(1, 2), p: sp.Rational(1, 2)})
    assert sp.simplify(half - sp.exp(-z / 2) / (2 * (2 * s))) == 0  # Laplace of scale 2 s


def test_its_information():
    assert equal(expectation(q**2, p**2), q * p)
    first, second = expectation(q * z, -p * z), expectation((q * z) ** 2, (p * z) ** 2)
    assert (first, second) == (1, 2)  # those of an exponential law of mean 1
    noise = nl.AsymmetricLaplace(scale=0.7, quantile=0.3)
    np.testing.assert_allclose(noise.derivatives(1.0, 0.0, expected=True)[2], 0.3 * 0.7 / 0.7**2)
    assert noise.log_spread_information() == 1.0


def test_half_an_absolute_value_and_a_line():
    r = sp.Symbol("r", positive=True)
    for sign in (1, -1):
        check = q * r if sign > 0 else (1 - q) * r
        assert sp.simplify(r / 2 + (q - sp.Rational(1, 2)) * sign * r - check) == 0


def test_putting_predictions_in_order_lowers_their_loss():
    a, b, y = sp.symbols("a b y", real=True)
    low, high = sp.symbols("low high", positive=True)

    def pinball(residual, share):
        return share * residual + sp.Max(-residual, 0)

    crossed, ordered = pinball(y - a, low) + pinball(y - b, high), pinball(y - b, low) + pinball(y - a, high)
    assert sp.simplify(crossed - ordered - (high - low) * (a - b)) == 0


def test_the_quantile_has_the_least_expected_loss():
    """Of an exponential y, whose distribution function is 1 - exp(-y)."""
    at = sp.Symbol("at", positive=True)
    density = sp.exp(-z)
    loss = sp.integrate((q - 1) * (z - at) * density, (z, 0, at)) + sp.integrate(q * (z - at) * density, (z, at, sp.oo))
    assert sp.simplify(sp.diff(loss, at) - ((1 - sp.exp(-at)) - q)) == 0
