"""StudentT: real values with heavy tails."""

from typing import Any

import numpy as np

from neglog.distributions.base import quiet
from neglog.distributions.lazy import special
from neglog.distributions.parameters import ITSELF, POSITIVE, REAL, Limit, Parameter, Role, Value
from neglog.distributions.quantiles import checked_root
from neglog.distributions.registry import register
from neglog.distributions.symmetric import Symmetric
from neglog.distributions.traits import Traits


@register
class StudentT(Symmetric):
    r"""A Gaussian whose precision is itself Gamma: heavier tails the fewer the degrees of freedom.

    Density     p(y) = (1 + z^2 / df)^(-(df + 1) / 2) / (scale sqrt(df) B(1/2, df / 2)),  z = (y - loc) / scale
    Domain      y real; scale > 0; df > 0
    Link        identity: the prediction is the centre, which is the mean where there is one, from df = 1 on
    Loss        (df + 1) / 2 log(1 + z^2 / df): what is far out hardly pulls, and the loss is not convex
    Use         errors with heavy tails on both sides, of which the fit finds how heavy: returns, measurements
    Not         the mean of skewed data is wanted; what is wild is a column, not y
    Page        losses/student_t
    Limits      df -> infinity is Gaussian(scale), df = 1 Cauchy
    Accuracy    the log density is exact to about 1e-13 for df from 0.3 to 1e8, in both tails
    """

    loc: Value
    scale: Value
    df: Value
    declared = (
        Parameter("loc", REAL, role=Role.LOCATION, raw=ITSELF),
        Parameter("scale", POSITIVE, role=Role.SPREAD, precision=-0.5),
        Parameter("df", POSITIVE, role=Role.SHAPE, start=4.0, search=(0.7, 100.0), limit=Limit(1e8, "Gaussian")),
    )

    traits = Traits(predicts="centre of {y}")
    examples = (
        {"loc": 0.0, "scale": 1.0, "df": 5.0},
        {"loc": -2.0, "scale": 0.3, "df": 7.5},
        {"loc": 10.0, "scale": 40.0, "df": 900.0},
    )
    summary = ("Student's t loss", "")

    def __init__(self, loc: Value = 0.0, scale: Value = None, df: Value = None, *, link: str = "identity") -> None:
        self._state(link=link, loc=loc, scale=scale, df=df)

    def _standard_cdf(self, z: Any) -> Any:
        far = _far_tail(np.abs(z), self._known("df"))  # of the two tails the smaller, which keeps its digits
        return np.where(z <= 0, far, 1 - far)

    def _standard_quantile(self, q: Any) -> Any:
        df, tail = self._known("df"), np.where(q < 0.5, q, 1 - q)
        found = np.where(tail == 0, np.inf, np.abs(special.stdtrit(df, np.where(tail == 0, 0.5, tail))))
        z = -np.where(tail == 0.5, 0.0, checked_root(_far_tail, found, tail, True, df))
        return np.where(q < 0.5, z, -z)

    def _draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
        loc, scale, df = self._known("loc", "scale", "df")
        return loc + scale * rng.standard_t(df, shape)

    @quiet
    def mean(self) -> Any:
        loc, df = self._known("loc", "df")
        return self._over_shape(np.where(np.asarray(df) > 1, loc, np.nan))

    def median(self) -> Any:
        return self.point()

    def point(self) -> Any:
        return self._over_shape(self._known("loc"))

    @quiet
    def variance(self) -> Any:
        df, scale = np.asarray(self._known("df")), self._known("scale")
        finite = np.square(scale) * df / (df - 2)
        return self._over_shape(np.where(df > 2, finite, np.where(df > 1, np.inf, np.nan)))

    def exponential_has_mean(self) -> Any:
        return False

    def log_spread_information(self) -> Any:
        return 2 - 6 / (np.asarray(self._known("df")) + 3)

    def _entropy(self) -> Any:
        df, scale = self._known("df", "scale")
        half = np.multiply(0.5, df)
        spread = (half + 0.5) * (special.digamma(half + 0.5) - special.digamma(half))
        return self._over_shape(spread + 0.5 * np.log(df) + special.betaln(0.5, half) + np.log(scale))


def _far_tail(z: Any, df: Any) -> Any:
    """P(Z > z) for z >= 0: beyond the numbers whose squares are numbers, by its leading power."""
    with np.errstate(all="ignore"):
        power = np.exp(df * (0.5 * np.log(df) - np.log(z)) - np.log(df) - special.betaln(0.5 * np.asarray(df), 0.5))
        return np.where(z > 1e100 * np.sqrt(df), power, special.stdtr(df, -z))
