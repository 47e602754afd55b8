"""What the noise left open, by maximum likelihood at given raw predictions; and the start, where there are none."""

import warnings
from dataclasses import dataclass

import numpy as np

from neglog.boosting.laws import open_parameters
from neglog.design.design import Design, Schema
from neglog.distributions import Gamma, Gaussian, Huber, Laplace, LogNormal, Tweedie
from neglog.distributions.arrays import Numbers
from neglog.distributions.base import Noise
from neglog.fitting.fit import fit
from neglog.likelihood.row_values import ConvergenceWarning

# The power of the spread that `precision` of a fit stands for, by which it divides (multiplies a shape) elsewhere.
PRECISION = {Gaussian: -2.0, LogNormal: -2.0, Huber: -2.0, Laplace: -1.0, Tweedie: -1.0, Gamma: 1.0}


def estimated(noise: Noise, y: Numbers, raw: Numbers, weight: Numbers | None) -> Noise:
    """The noise with its open parameters at the maximum of the exact likelihood of y around the raw predictions."""
    if not open_parameters(noise):
        return noise
    return fit(no_columns(len(y)), y, noise, sample_weight=weight, offset=raw, intercept=False).noise


def level_of(noise: Noise, y: Numbers, raw: Numbers, weight: Numbers | None) -> float:
    """What is to be added to the log of a modelled spread so that it fits these rows best on the whole.

    Trees fit the rows they were grown on too well, and so promise too small a spread for others: by a tenth or two.
    One factor for all rows is what a fit knows as a dispersion, with the predicted ones as precisions of the rows.
    """
    name = str(noise.modelled)
    with np.errstate(over="ignore", under="ignore"):
        precision = np.exp(PRECISION[type(noise)] * raw[:, 1])
    found = fit(
        no_columns(len(y)),
        y,
        noise.unmodelled(),
        sample_weight=weight,
        precision=precision,
        offset=np.ascontiguousarray(raw[:, 0]),
        intercept=False,
    )
    return float(np.log(found.noise.parameters[name]))


@dataclass(frozen=True)
class Start:
    """The best model without trees: its raw predictions, and the noise as training takes it."""

    intercept: Numbers  # one number per output
    noise: Noise  # what bends the loss (power, threshold) filled in; the spread as open or modelled as it was stated

    def scores(self, rows: int, offset: Numbers | None) -> Numbers:
        """Where the raw predictions of so many rows begin: (n,) or (n, outputs), in the order of the columns."""
        single = len(self.intercept) == 1
        scores = np.empty(rows if single else (rows, len(self.intercept)), order="F")
        scores[...] = self.intercept[0] if single else self.intercept
        if offset is not None:
            location = scores[:, 0] if self.noise.modelled else scores
            location += offset
        return scores


def start_of(noise: Noise, y: Numbers, weight: Numbers | None, offset: Numbers | None) -> Start:
    """The intercept-only maximum likelihood under the noise, with the offset."""
    _refuse_without_maximum(noise, y, weight)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a power at its edge is no reason not to start there
        null = fit(no_columns(len(y)), y, noise.unmodelled(), sample_weight=weight, offset=offset)
    intercept = np.atleast_1d(np.asarray(null.intercept, np.float64))
    if noise.modelled:
        intercept = np.append(intercept, np.log(null.noise.parameters[noise.modelled]))
    if not np.all(np.isfinite(intercept)):
        raise ValueError(f"the intercept-only fit of {noise!r} has no maximum ({null.message}); training cannot start")
    bends = [name for name in open_parameters(noise) if name != noise.spread]
    return Start(intercept, noise.estimated(**{name: null.noise.parameters[name] for name in bends}))


def no_columns(rows: int) -> Design:
    """A design that has rows only."""
    return Design((), rows, 0, Schema(0))


def _refuse_without_maximum(noise: Noise, y: Numbers, weight: Numbers | None) -> None:
    """Labels that are all at the end of their range want a raw prediction that is infinite."""
    if noise.location == "loc":
        return
    counted = y if weight is None else y[weight > 0]
    alike = len(counted) > 0 and np.all(counted == counted[0])
    if alike and (noise.location == "p" or counted[0] == 0):
        raise ValueError(
            f"y is {counted[0]:g} in all {len(counted)} rows, so that {type(noise).__name__} noise has no maximum of "
            "the likelihood: the raw prediction would be infinite; there is nothing for trees to learn"
        )
