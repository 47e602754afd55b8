"""What the noise left open, by maximum likelihood at given raw predictions; and the start, where there are none."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from neglog.boosting.laws import open_parameters
from neglog.boosting.observed import may_be
from neglog.design.design import Design, Schema
from neglog.distributions.censored import Cells
from neglog.distributions.noise import Noise
from neglog.fitting.fit import fit
from neglog.likelihood.row_values import ConvergenceWarning
from neglog.results.fit import Fit
from neglog.typing import Numbers


def estimated(noise: Noise, y: Any, raw: Numbers, weight: Numbers | None) -> Noise:
    """The noise with its open parameters at the maximum of the exact likelihood of y around the raw predictions."""
    if not open_parameters(noise):
        return noise
    if noise.modelled:
        known = noise.unmodelled().with_(**{str(noise.spread): 1.0})
        found = _around(known, y, raw, weight)
        return noise.estimated(**{name: getattr(found, name) for name in open_parameters(noise)})
    return fit(no_columns(len(y)), y, noise, sample_weight=weight, offset=raw, intercept=False).noise


def level_of(noise: Noise, y: Any, raw: Numbers, weight: Numbers | None) -> float:
    """What is to be added to the log of a modelled spread so that it fits these rows best on the whole.

    Trees fit the rows they were grown on too well, and so promise too small a spread for others: by a tenth or two.
    One factor for all rows is what a fit knows as a dispersion, with the predicted ones as precisions of the rows.
    """
    return float(np.log(getattr(_around(noise.unmodelled(), y, raw, weight), str(noise.spread))))


def _around(noise: Noise, y: Any, raw: Numbers, weight: Numbers | None) -> Noise:
    """The noise fitted around predictions of the location, with predictions of the log spread as precisions."""
    with np.errstate(over="ignore", under="ignore"):
        precision = np.exp(raw[:, 1] / noise.parameter(str(noise.spread)).precision)  # of a row whose spread is that
    return fit(
        no_columns(len(y)),
        y,
        noise,
        sample_weight=weight,
        precision=precision,
        offset=np.ascontiguousarray(raw[:, 0]),
        intercept=False,
    ).noise


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
        intercept = np.append(intercept, np.log(null.noise.parameters[str(noise.spread)]))
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
