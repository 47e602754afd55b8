"""What Gaussian, Laplace, Huber and StudentT share: laws symmetric around `loc`, stretched by `scale`."""

from abc import abstractmethod
from typing import Any

from neglog.distributions.noise import Noise
from neglog.distributions.support import REALS


class Symmetric(Noise):
    """A noise that is a standard law, symmetric around 0, moved to `loc` and stretched by `scale`.

    A family gives the lower tail and the quantile of its standard law; the upper tail is the mirrored one.
    """

    support = REALS
    default_link = "identity"

    def _standardised(self, y: Any) -> Any:
        loc, scale = self._known("loc", "scale")
        return (y - loc) / scale

    @abstractmethod
    def _standard_cdf(self, z: Any) -> Any: ...

    @abstractmethod
    def _standard_quantile(self, q: Any) -> Any: ...

    def _tail(self, y: Any, upper: bool) -> Any:
        z = self._standardised(y)
        return self._standard_cdf(-z if upper else z)

    def _quantile(self, q: Any, upper: bool) -> Any:
        loc, scale = self._known("loc", "scale")
        z = self._standard_quantile(q)
        return loc + scale * (-z if upper else z)

    def mean(self) -> Any:
        return self._over_shape(self._known("loc"))

    def median(self) -> Any:
        return self.mean()
