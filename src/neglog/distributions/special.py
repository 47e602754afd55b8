"""Special functions where SciPy's lose digits: large shapes, far tails, differences of nearly equal terms."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from neglog import _core
from neglog.distributions.arrays import as_numbers, broadcast_shape, native, output_type, thread_count
from neglog.distributions.lazy import special


def half_deviance(y: ArrayLike, mean: ArrayLike, power: Any) -> Any:
    """Half the unit deviance of the Tweedie family: power 1 is y log(y/m) - y + m, power 2 is y/m - 1 - log(y/m).

    It has full relative accuracy near y = m, and is the building block of most divergences here.
    """
    y, mean = as_numbers(y, "y"), as_numbers(mean, "mean")
    shape = broadcast_shape(y, mean, power)
    out = np.empty(shape, output_type(y, mean))
    arguments = native(y, shape), native(mean, shape), native(np.asarray(power, float), shape)
    _core.half_deviance(*arguments, out, thread_count(out.size))
    return out[()]


def unary(function: Callable[[Any, Any], None], x: ArrayLike) -> Any:
    """A function of the core at each number."""
    array = np.ascontiguousarray(x, np.float64)
    out = np.empty(array.shape)
    function(array, out)
    return out.reshape(np.shape(x))[()]


def stirling_error(x: ArrayLike) -> Any:
    """log Gamma(x + 1) - [(x + 1/2) log x - x + log(2 pi)/2], what Stirling's formula leaves out."""
    return unary(_core.stirling_error, x)


def digamma_minus_log(x: ArrayLike) -> Any:
    """digamma(x) - log(x), accurate for large x where the two cancel."""
    return unary(_core.stirling_error_slope, x) - 0.5 / np.asarray(x, float)


def incomplete_gamma(a: Any, x: Any, upper: bool) -> Any:
    """P(a, x), or Q(a, x) for the upper tail, regularised.

    SciPy's continued fraction stops early in the tails of large a. There Temme's uniform expansion (DLMF 8.12) takes
    over, which three terms make exact to 1e-13 from a = 30,000 on; its coefficients cancel only within three standard
    deviations, where SciPy is right.
    """
    plain = special.gammaincc(a, x) if upper else special.gammainc(a, x)
    if np.all(np.asarray(a) < 3e4):
        return plain
    m = x / a - 1.0
    eta = np.sign(m) * np.sqrt(2.0 * half_deviance(x, a, 2.0))
    z = eta * np.sqrt(a)
    c0 = 1 / m - 1 / eta
    c1 = 1 / eta**3 - 1 / m**3 - 1 / m**2 - 1 / (12 * m)
    c2 = 3 / m**5 + 5 / m**4 + 25 / (12 * m**3) + 1 / (12 * m**2) + 1 / (288 * m) - 3 / eta**5
    rest = np.exp(-0.5 * z**2) / np.sqrt(2 * np.pi * a) * (c0 + (c1 + c2 / a) / a)
    uniform = np.maximum(special.ndtr(-z) + rest if upper else special.ndtr(z) - rest, 0.0)
    return np.where((a >= 3e4) & (np.abs(z) > 3) & (x > 0) & (x < np.inf), uniform, plain)


def scaled_exp1(x: Any) -> Any:
    """e^x E1(x); beyond 50 by its asymptotic series, whose terms still fall at k = 20."""
    x = np.asarray(x, float)
    small = np.minimum(x, 50.0)
    series = np.ones_like(x)
    for k in range(20, 0, -1):
        series = 1 - k / np.maximum(x, 50.0) * series
    return np.where(x < 50, np.exp(small) * special.exp1(small), series / x)[()]


def expm1_excess(x: ArrayLike) -> Any:
    """exp(-x) - 1 + x >= 0, by its series where the terms cancel."""
    x = np.asarray(x, float)
    small = np.clip(x, -0.5, 0.5)
    series = np.ones_like(x)
    for k in range(16, 2, -1):
        series = 1 - series * small / k
    return np.where(np.abs(x) < 0.5, 0.5 * small**2 * series, np.expm1(-x) + x)[()]
