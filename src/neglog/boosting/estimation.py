"""What the noise left open, by maximum likelihood at given raw predictions; and the start, where there are none."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize

from neglog.boosting.laws import open_parameters, slopes_beside
from neglog.boosting.observed import may_be
from neglog.design.design import Design, Schema
from neglog.distributions.censored import Cells
from neglog.distributions.noise import Noise
from neglog.distributions.parameters import Parameter
from neglog.estimation.modelled_start import value_to_begin
from neglog.fitting.fit import fit
from neglog.likelihood.row_values import ConvergenceWarning
from neglog.results.fit import Fit
from neglog.typing import Numbers

REACH = 30.0  # on the raw scale: as far as a search goes


def estimated(noise: Noise, y: Any, raw: Numbers, weight: Numbers | None) -> Noise:
    """The noise with its open parameters at the maximum of the exact likelihood of y around the raw predictions."""
    if not open_parameters(noise):
        return noise
    if noise.modelled:
        return _likeliest(noise, y, raw, weight, 0)[0]
    return fit(no_columns(len(y)), y, noise, sample_weight=weight, offset=raw, intercept=False).noise


def calibrated(noise: Noise, y: Any, raw: Numbers, weight: Numbers | None) -> tuple[Noise, Numbers]:
    """The noise with its open parameters, and what is to be added to the predictions of those that are modelled, at the
    maximum of the likelihood of these rows.

    Trees fit the rows they were grown on too well, and so promise others too small a spread: by a tenth or two.
    """
    return _likeliest(noise, y, raw, weight, len(noise.modelled))


def _likeliest(noise: Noise, y: Any, raw: Numbers, weight: Numbers | None, levels: int) -> tuple[Noise, Numbers]:
    names = open_parameters(noise)
    own = [noise.parameter(name) for name in names]
    begin = [float(one.predicted.raw(one.start)) for one in own] + [0.0] * levels
    ends = [_ends(one) for one in own] + [(-REACH, REACH)] * levels
    counted = slice(None) if weight is None else weight > 0
    weights = None if weight is None else weight[counted]

    def at(x: Numbers) -> tuple[Noise, Numbers]:
        values = {one.name: float(one.predicted.value(v)) for one, v in zip(own, x, strict=False)}
        return noise.estimated(**values), x[len(names) :]

    def cost(x: Numbers) -> tuple[float, Numbers]:
        now, added = at(x)
        moved = raw.copy(order="F")
        moved[:, 1:] += added if levels else 0.0
        law: Any = now.given(moved)
        nats = np.asarray(law.nll(y))
        by_name = slopes_beside(noise, law, y, moved)
        slopes = np.stack([np.broadcast_to(by_name[name], nats.shape) for name in (*names, *noise.modelled[:levels])])
        value = float(np.average(nats[counted], weights=weights))
        gradient = np.average(slopes[:, counted], axis=1, weights=weights)
        return (value, gradient) if np.isfinite(value) and np.isfinite(gradient).all() else (1e30, np.zeros(len(x)))

    with np.errstate(all="ignore"):
        found = minimize(cost, begin, jac=True, method="L-BFGS-B", bounds=ends, options={"ftol": 1e-14, "gtol": 1e-8})
    return at(found.x)


def _ends(own: Parameter) -> tuple[float, float]:
    """Between which a raw value is looked for: beyond its limit a parameter makes no difference."""
    low, high = -REACH, REACH
    if own.limit is not None:
        last = float(own.predicted.raw(own.limit.value))
        low, high = (low, min(high, last)) if last > own.predicted.raw(own.start) else (max(low, last), high)
    return low, high


@dataclass(frozen=True)
class Start:
    """The best model without trees: its raw predictions, and the noise as training takes it."""

    intercept: Numbers  # one number per output
    noise: Noise  # as it was stated

    def scores(self, rows: int, offset: Numbers | None) -> Numbers:
        """Where the raw predictions of so many rows begin: (n,) or (n, outputs), in the order of the columns."""
        single = len(self.intercept) == 1
        scores = np.empty(rows if single else (rows, len(self.intercept)), order="F")
        scores[...] = self.intercept[0] if single else self.intercept
        if offset is not None:
            location = scores[:, 0] if self.noise.modelled else scores
            location += offset
        return scores


def start_of(noise: Noise, y: Any, weight: Numbers | None, offset: Numbers | None) -> Start:
    """The intercept-only maximum likelihood under the noise, with the offset."""
    _refuse_without_maximum(noise, y, weight)
    null = start_fit(noise, y, weight, offset)
    intercept = np.atleast_1d(np.asarray(null.intercept, np.float64))
    if noise.modelled:
        predicted = [value_to_begin(noise.parameter(name), null.noise.parameters[name]) for name in noise.modelled]
        intercept = np.append(intercept, predicted)
    if not np.all(np.isfinite(intercept)):
        raise ValueError(f"the intercept-only fit of {noise!r} has no maximum ({null.message}); training cannot start")
    return Start(intercept, noise)


def start_fit(noise: Noise, y: Any, weight: Numbers | None, offset: Numbers | None) -> Fit:
    """The intercept-only fit."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a power at its edge is no reason not to start there
        return fit(no_columns(len(y)), y, noise.unmodelled(), sample_weight=weight, offset=offset)


def no_columns(rows: int) -> Design:
    """A design that has rows only."""
    return Design((), rows, 0, Schema(0))


def _refuse_without_maximum(noise: Noise, y: Any, weight: Numbers | None) -> None:
    """Labels that are all at the end of their range want a raw prediction that is infinite."""
    if noise.locations[0] < 0:
        return
    counted = y if weight is None else y[weight > 0]
    in_cells = isinstance(y, Cells)
    if len(counted) == 0 or not (in_cells or np.all(counted == counted[0])):
        return
    for end in noise.certain:
        if may_be(counted, end):
            raise ValueError(
                f"y {'may be' if in_cells else 'is'} {end:g} in all {len(counted)} rows, so that "
                f"{type(noise).__name__} noise has no maximum of the likelihood: the raw prediction would be infinite; "
                "there is nothing for trees to learn"
            )
