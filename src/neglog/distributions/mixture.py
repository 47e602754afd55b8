"""Mixture: a law that is averaged over what is not known about its parameters."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from neglog.distributions.base import Distribution
from neglog.distributions.expectation import expectation
from neglog.distributions.lazy import special


class Mixture(Distribution):
    """Laws along the first axis of their parameters, in shares `weights` that sum to 1.

    The batch shape is that of the other axes: a law for each row, say. Everything but the quantiles is a weighted sum;
    these are found by bisection between the quantiles of the components.
    """

    declared = ()

    def __init__(self, law: Distribution, weights: ArrayLike) -> None:
        shares = np.asarray(weights, np.float64)
        if shares.ndim != 1 or not (shares >= 0).all() or abs(shares.sum() - 1) > 1e-9:
            raise ValueError(f"weights must be shares ≥ 0 that sum to 1, but sum to {shares.sum():.6g}")
        if not law.batch_shape or law.batch_shape[0] != len(shares):
            raise ValueError(f"law must have {len(shares)} components along its first axis, not {law.batch_shape}")
        self.__dict__.update(law=law, weights=shares, support=law.support, measure=law.measure)

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """The shape of the laws, without the components."""
        law: Distribution = self.__dict__["law"]
        return law.batch_shape[1:]

    def _averaged(self, values: Any) -> Any:
        return np.tensordot(self.__dict__["weights"], values, axes=1)

    def _components(self, compute: Any, y: Any) -> Any:
        """compute(y) of every component, y broadcast against the batch."""
        y = np.asarray(y, np.float64)
        shape = np.broadcast_shapes(y.shape, self.batch_shape)
        return compute(np.broadcast_to(y, (len(self.__dict__["weights"]), *shape)), self._spread(shape))

    def _spread(self, shape: tuple[int, ...]) -> Distribution:
        """The law with room for leading axes of values between components and batch."""
        law: Distribution = self.__dict__["law"]
        extra = len(shape) - len(self.batch_shape)
        if extra == 0:
            return law
        axes = len(law.batch_shape)

        def spread(p: Any) -> Any:
            full = np.reshape(p, (*(1,) * (axes - np.ndim(p)), *np.shape(p)))
            return np.reshape(full, (full.shape[0], *(1,) * extra, *full.shape[1:]))

        return _with_parameters(law, spread)

    def nll(self, y: ArrayLike) -> Any:
        """-log of the averaged density, in log space."""
        nats = self._components(lambda values, law: np.asarray(law.nll(values)), y)
        with np.errstate(divide="ignore"):
            logs = np.log(self.__dict__["weights"]).reshape(-1, *(1,) * (nats.ndim - 1))
        return -special.logsumexp(logs - nats, axis=0)

    def _tail(self, y: Any, upper: bool) -> Any:
        return self._averaged(self._components(lambda values, law: law.sf(values) if upper else law.cdf(values), y))

    def _quantile(self, q: Any, upper: bool) -> Any:
        ends = self._components(lambda levels, law: law.isf(levels) if upper else law.icdf(levels), q)
        undefined = np.isnan(ends).any(axis=0)
        low, high = np.where(undefined, 0.0, ends.min(axis=0)), np.where(undefined, 0.0, ends.max(axis=0))

        def reached(y: Any) -> Any:
            level = self._tail(y, upper)
            return level <= q if upper else level >= q

        high = np.where(reached(low), low, high)  # an atom may hold the quantile
        whole = self.measure == "mass"
        with np.errstate(invalid="ignore"):
            for _ in range(200):
                middle = np.floor(0.5 * (low + high)) if whole else 0.5 * (low + high)
                wide = high - low > (0.5 if whole else 4e-16 * np.maximum(np.abs(low), np.abs(high)))
                if not np.any(wide & np.isfinite(middle)):
                    break
                up = reached(middle)
                low, high = np.where(up, low, middle + whole), np.where(up, middle, high)
        return np.where(undefined, np.nan, high)

    def _draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
        law: Distribution = self.__dict__["law"]
        weights, batch = self.__dict__["weights"], self.batch_shape
        if shape[len(shape) - len(batch) :] != batch:
            raise ValueError(f"size must end in the shape of the laws, {batch}, but is {shape}")
        chosen = rng.choice(len(weights), size=shape, p=weights / weights.sum())
        places = np.indices(shape)[len(shape) - len(batch) :] if batch else ()
        taken = _with_parameters(law, lambda p: np.broadcast_to(p, law.batch_shape)[(chosen, *places)])
        return taken.sample(rng=rng)

    def mean(self) -> Any:
        law: Distribution = self.__dict__["law"]
        return self._averaged(np.broadcast_to(law.mean(), law.batch_shape))[()]

    def variance(self) -> Any:
        law: Distribution = self.__dict__["law"]
        means = np.broadcast_to(law.mean(), law.batch_shape)
        away = means - self._averaged(means)
        return self._averaged(np.broadcast_to(law.variance(), law.batch_shape) + away**2)[()]

    def _entropy(self) -> Any:
        law: Distribution = self.__dict__["law"]
        out = np.empty(self.batch_shape)
        for place in np.ndindex(self.batch_shape):
            part = _with_parameters(
                law, lambda p, place=place: np.broadcast_to(p, law.batch_shape)[(slice(None), *place)]
            )
            one = Mixture(part, self.__dict__["weights"])
            out[place] = expectation(one, one.nll, 1e-9).value
        return out[()]

    def __repr__(self) -> str:
        law: Distribution = self.__dict__["law"]
        return f"<Mixture of {len(self.__dict__['weights'])} {type(law).__name__} laws, shape {self.batch_shape}>"


def _with_parameters(law: Distribution, change: Any) -> Distribution:
    """The same family with every parameter that is an array changed; what a raw prediction gave is remembered."""
    changes = {f"_{name}": change(value) for name, value in law.parameters.items() if np.ndim(value)}
    made_by = law.__dict__.get("_made_by")
    if made_by is not None and np.ndim(made_by[1]):
        changes["_made_by"] = made_by[0], change(made_by[1])
    return law._replaced(**changes)
