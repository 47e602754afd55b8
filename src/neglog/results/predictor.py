"""What a fit predicts a parameter of the noise by."""

from dataclasses import dataclass
from typing import Any

from neglog.distributions.base import Prior
from neglog.typing import Numbers


@dataclass(frozen=True)
class Predictor:
    """intercept + X coef: the raw prediction of the location, before its link, or of a modelled parameter on its raw
    scale, such as the logarithm of a scale. `prior` is that of the coefficients.
    """

    intercept: Any
    coef: Numbers
    names: tuple[str, ...]
    prior: Prior
    terms: Any = None  # one record for each of its terms, as `Fit.terms` has them for the location
