"""StudentT: what is believed about a mean, or the next value, when the spread is estimated too."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from neglog.distributions.base import Distribution, quiet
from neglog.distributions.lazy import special
from neglog.distributions.parameters import ITSELF, POSITIVE, REAL, Parameter, Value
from neglog.distributions.quantiles import checked_root
from neglog.distributions.support import REALS


class StudentT(Distribution):
    r"""A Gaussian whose precision is itself Gamma: heavier tails the fewer the degrees of freedom.

    Density     p(y) = (1 + z^2 / df)^(-(df + 1) / 2) / (scale sqrt(df) B(1/2, df / 2)),  z = (y - loc) / scale
    Domain      y any number; df > 0; scale > 0
    """

    loc: Value
    scale: Value
    df: Value
    declared = (
        Parameter("loc", REAL, raw=ITSELF),
        Parameter("scale", POSITIVE),
        Parameter("df", POSITIVE),
    )

    support = REALS
    examples = (
        {"loc": 0.0, "scale": 1.0, "df": 30.0},
        {"loc": -2.0, "scale": 0.3, "df": 7.5},
        {"loc": 10.0, "scale": 40.0, "df": 900.0},
    )

    def __init__(self, loc: Value = 0.0, scale: Value = None, df: Value = None) -> None:
        self._state(loc=loc, scale=scale, df=df)

    def _standardised(self, y: Any) -> Any:
        loc, scale = self._known("loc", "scale")
        return (y - loc) / scale

    def nll(self, y: ArrayLike) -> Any:
        """-log p(y) in nats."""

        def compute(x: Any) -> Any:
            df, scale = self._known("df", "scale")
            z = self._standardised(x)
            return 0.5 * (df + 1) * np.log1p(z * z / df) + self._constant() + np.log(scale)

        return self._elementwise(compute, y, "y")

    def _constant(self) -> Any:
        df = self._known("df")
        return 0.5 * np.log(df) + special.betaln(0.5, np.multiply(0.5, df))

    def _tail(self, y: Any, upper: bool) -> Any:
        df = self._known("df")
        z = self._standardised(y) * (-1 if upper else 1)
        far = _far_tail(np.abs(z), df)  # of the two tails the smaller, which keeps its digits
        return np.where(z <= 0, far, 1 - far)

    def _quantile(self, q: Any, upper: bool) -> Any:
        df, loc, scale = self._known("df", "loc", "scale")
        tail = np.where(q < 0.5, q, 1 - q)
        with np.errstate(all="ignore"):
            found = np.where(tail == 0, np.inf, np.abs(special.stdtrit(df, np.where(tail == 0, 0.5, tail))))
            z = -np.where(tail == 0.5, 0.0, checked_root(_far_tail, found, tail, True, df))
        return loc + scale * np.where((q < 0.5) != upper, z, -z)

    def _draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
        df, loc, scale = self._known("df", "loc", "scale")
        return loc + scale * rng.standard_t(df, shape)

    @quiet
    def mean(self) -> Any:
        df, loc = self._known("df", "loc")
        return self._over_shape(np.where(np.asarray(df) > 1, loc, np.nan))

    @quiet
    def variance(self) -> Any:
        df, scale = np.asarray(self._known("df")), self._known("scale")
        finite = np.square(scale) * df / (df - 2)
        return self._over_shape(np.where(df > 2, finite, np.where(df > 1, np.inf, np.nan)))

    def _entropy(self) -> Any:
        df, scale = self._known("df", "scale")
        half = np.multiply(0.5, df)
        spread = (half + 0.5) * (special.digamma(half + 0.5) - special.digamma(half))
        return self._over_shape(spread + self._constant() + np.log(scale))


def _far_tail(z: Any, df: Any) -> Any:
    """P(Z > z) for z >= 0: beyond the numbers whose squares are numbers, by its leading power."""
    with np.errstate(all="ignore"):
        power = np.exp(df * (0.5 * np.log(df) - np.log(z)) - np.log(df) - special.betaln(0.5 * np.asarray(df), 0.5))
        return np.where(z > 1e100 * np.sqrt(df), power, special.stdtr(df, -z))
