"""Flat: no prior opinion, so that the MAP is the MLE."""

from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from neglog.distributions.arrays import as_numbers
from neglog.distributions.base import Prior
from neglog.distributions.registry import register
from neglog.distributions.support import REALS


@register
class Flat(Prior):
    r"""The improper prior whose density is 1 everywhere.

    Density     p(theta) = 1, which has no finite integral
    Use         no prior is wanted: plain maximum likelihood
    Not         columns are many or nearly alike, or classes separated, so that the likelihood has no maximum
    Page        bayes/map
    As prior    no penalty: the MAP under Flat() is the maximum likelihood estimate. Flat in theta is not flat in log
                theta
    """

    declared = ()
    support = REALS
    examples = ({},)
    summary = ("", "none: plain maximum likelihood")

    def __init__(self) -> None:
        self._state()

    def nll(self, y: ArrayLike) -> Any:
        """0 everywhere."""
        return np.zeros_like(as_numbers(y, "y"))[()]

    def penalty(self, theta: ArrayLike) -> Any:
        as_numbers(theta, "theta")
        return 0.0

    @property
    def strength(self) -> Any:
        return 0.0

    def _improper(self) -> NoReturn:
        raise TypeError(
            "Flat is improper: its density has no finite integral, so it cannot be sampled and has no moments"
        )

    def _draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
        self._improper()

    def mean(self) -> Any:
        self._improper()

    def variance(self) -> Any:
        self._improper()

    def median(self) -> Any:
        self._improper()

    def _entropy(self) -> Any:
        self._improper()
