"""Residuals: how far y lies from what a fit expected, in units in which every row should look alike."""

from typing import Any

import numpy as np

from neglog.checking.places import has_intervals, normal_places
from neglog.distributions.censored import Cells
from neglog.likelihood.targets import Target
from neglog.typing import Numbers

SEED = 0  # of places that are drawn, unless one is stated


@np.errstate(all="ignore")
def residuals_of(target: Target, noise: Any, eta: Numbers, kind: str, rng: Any = None) -> Numbers:
    """Of the rows of a target at their raw predictions under the filled noise; NaN for a y that is not possible, which
    only rows of weight 0 may hold.
    """
    if kind not in KINDS:
        raise ValueError(f"kind must be one of {', '.join(map(repr, KINDS))}, but is {kind!r}")
    if noise.of_classes:
        raise ValueError(
            f"{type(noise).__name__} noise has classes without an order, so that nothing lies above or below what was "
            "predicted; look at loo() or a table of predicted and observed classes"
        )
    y = target.raw
    if kind != "quantile" and isinstance(y, Cells):
        if not y.exact.all():
            raise ValueError(
                f"{kind} residuals are of values, but {int(np.count_nonzero(~y.exact))} of {len(y)} rows hold cells "
                '(nl.censored); kind="quantile" draws a place in each'
            )
        y = y.lower
    if kind in ("pearson", "response") and noise.labelled:
        raise ValueError(
            f"{kind} residuals are differences of numbers, but {type(noise).__name__} noise has classes; "
            'kind="quantile" knows their order'
        )
    found = KINDS[kind](target, noise, eta, y, rng)
    if target.w is not None and not isinstance(y, Cells):
        found = np.where((target.w == 0) & ~_possible(target, noise, y), np.nan, found)
    return np.asarray(found, float)


def _possible(target: Target, noise: Any, y: Numbers) -> Any:
    return np.isfinite(y) if target.p is not None else noise.support.contains(y)


def laws_of(target: Target, noise: Any, eta: Numbers, y: Any) -> tuple[Any, Any]:
    """The law of each row, its precision included, and y under it: where a row stands for several observations, of
    their sum.
    """
    if target.p is not None and noise.traits.repeats:
        return noise.given(eta).of_total(target.p), np.rint(y * target.p)
    return noise.given(eta).with_precision(target.p), y


def _quantile(target: Target, noise: Any, eta: Numbers, y: Any, rng: Any) -> Numbers:
    law, y = laws_of(target, noise, eta, y)
    if not has_intervals(law, y):
        return normal_places(law, y, np.full(len(y), 0.5))
    shares = np.random.default_rng(SEED if rng is None else rng).random(len(y))
    return normal_places(law, y, np.where(shares > 0, shares, 0.5 * np.finfo(float).eps))


def _deviance(target: Target, noise: Any, eta: Numbers, y: Numbers, _: Any) -> Numbers:
    law = noise.given(eta)
    mean = np.asarray(law.parameters[noise.location])
    if noise.deviance_per_loss is not None:
        at = np.ascontiguousarray(eta[:, 0]) if noise.modelled else eta
        squares = noise.deviance_per_loss * np.asarray(law.loss_at(at, y)) * (1.0 if target.p is None else target.p)
    elif noise.saturates:
        squares = 2.0 * np.asarray(law.with_precision(target.p).loss(y, mean))
    else:
        raise ValueError(
            f"{type(noise).__name__} noise has no deviance: nothing says what y would have cost had it been expected; "
            'take kind="quantile"'
        )
    return np.asarray(np.sign(y - mean) * np.sqrt(np.maximum(squares, 0.0)))


def _pearson(target: Target, noise: Any, eta: Numbers, y: Numbers, _: Any) -> Numbers:
    law, y = laws_of(target, noise, eta, y)
    mean, variance = np.asarray(law.mean(), float), np.asarray(law.variance(), float)
    without = np.flatnonzero(~np.isfinite(mean + variance) & np.isfinite(eta).reshape(len(y), -1).all(axis=1))
    if len(without):
        first, spread = (float(np.broadcast_to(value, y.shape)[without[0]]) for value in (mean, variance))
        raise ValueError(
            f"Pearson residuals divide by the standard deviation, but {type(noise).__name__} noise has no finite one "
            f"in {len(without)} of {len(y)} rows: in the first, row {without[0]}, the mean is {first:g}, the variance "
            f'{spread:g}; take kind="quantile"'
        )
    return np.asarray((y - mean) / np.sqrt(variance))


def _response(target: Target, noise: Any, eta: Numbers, y: Numbers, _: Any) -> Numbers:
    return np.asarray(y - noise.given(eta).point())


KINDS = {"quantile": _quantile, "deviance": _deviance, "pearson": _pearson, "response": _response}
