"""Log loss taken apart: what no recalibration can save, and what one could."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from neglog.distributions.arrays import as_numbers
from neglog.distributions.lazy import special
from neglog.information.entropy import entropy
from neglog.information.probabilities import Rows


@dataclass(frozen=True)
class Decomposition:
    """log_loss = irreducible + miscalibration = uncertainty - resolution + miscalibration, in nats per row.

    irreducible     the loss after the best recalibration of these predictions: what they cannot know
    miscalibration  the nats that recalibration saves, never negative
    uncertainty     the entropy of the class frequencies: the loss without any prediction
    resolution      what the predictions know: uncertainty - irreducible
    recalibrated    the recalibrated probabilities, in the shape of the given ones
    """

    log_loss: float
    irreducible: float
    miscalibration: float
    uncertainty: float
    rows: int
    recalibrated: Any

    @property
    def resolution(self) -> float:
        """What the predictions know."""
        return self.uncertainty - self.irreducible

    def __str__(self) -> str:
        lines = (
            ("log loss", self.log_loss, f"of {self.rows} rows, nats per row"),
            ("irreducible", self.irreducible, "left after the best recalibration"),
            ("miscalibration", self.miscalibration, "saved by recalibration"),
            ("uncertainty", self.uncertainty, "entropy of the class frequencies"),
            ("resolution", self.resolution, "what the predictions know"),
        )
        return "\n".join(f"{name:<15}{value:>10.6f}  {note}" for name, value, note in lines)

    __repr__ = __str__


def decompose(y: ArrayLike, probabilities: ArrayLike, *, normalize: bool = False) -> Decomposition:
    """Held-out log loss = irreducible + miscalibration.

    `probabilities` is one number per row, the probability of class 1, or a row of class probabilities; `y` holds class
    numbers. Binary predictions are recalibrated by isotonic regression, the best increasing map of the prediction
    (Dimitriadis, Gneiting & Jordan 2021); those of several classes by the best power and factor of each class's
    probability, renormalised (vector scaling, Guo et al. 2017). Both contain the identity, so the saving is never
    negative; on few rows it is flattering, because it is fitted on the same rows.

    >>> print(decompose([0, 1, 1, 1], [0.2, 0.2, 0.9, 0.9]))
    log loss         0.510826  of 4 rows, nats per row
    irreducible      0.346574  left after the best recalibration
    miscalibration   0.164252  saved by recalibration
    uncertainty      0.562335  entropy of the class frequencies
    resolution       0.215762  what the predictions know
    """
    p = as_numbers(probabilities, "probabilities")
    binary = p.ndim == 1
    if binary and not np.all((p >= 0) & (p <= 1)):
        bad = np.flatnonzero(~((p >= 0) & (p <= 1)))
        raise ValueError(
            f"probabilities must lie between 0 and 1, but {len(bad)} of {len(p)} do not; "
            f"the first is {p[bad[0]]} in row {bad[0]}"
        )
    rows = Rows(np.stack([1 - p, p], axis=-1) if binary else p, "probabilities", -1, normalize).values
    if rows.ndim != 2:
        raise ValueError(
            f"probabilities must be one number or one row of classes for each y, but has the shape {p.shape}"
        )
    classes = _class_numbers(y, rows)
    recalibrate = _isotonic if rows.shape[1] == 2 else _vector_scaling
    recalibrated = recalibrate(classes, rows)
    log_loss, irreducible = _mean_log_loss(classes, rows), _mean_log_loss(classes, recalibrated)
    frequencies = np.bincount(classes, minlength=rows.shape[1]) / len(classes)
    return Decomposition(
        log_loss=log_loss,
        irreducible=irreducible,
        miscalibration=max(0.0, log_loss - irreducible),
        uncertainty=float(entropy(frequencies)),
        rows=len(classes),
        recalibrated=recalibrated[:, 1] if binary else recalibrated,
    )


def _class_numbers(y: ArrayLike, rows: Any) -> Any:
    numbers = as_numbers(y, "y")
    if numbers.shape != rows.shape[:1] or not numbers.size:
        raise ValueError(
            f"y must be one class number for each of the {len(rows)} predictions, but has the shape {numbers.shape}"
        )
    bad = np.flatnonzero(~((numbers >= 0) & (numbers < rows.shape[1]) & (numbers == np.floor(numbers))))
    if len(bad):
        raise ValueError(
            f"y must hold class numbers 0 to {rows.shape[1] - 1}, but {len(bad)} of {len(numbers)} are not; "
            f"the first is {numbers[bad[0]]} in row {bad[0]}"
        )
    return numbers.astype(np.intp)


def _mean_log_loss(classes: Any, rows: Any) -> float:
    with np.errstate(divide="ignore"):
        return float(0.0 - np.mean(np.log(rows[np.arange(len(classes)), classes])))


def _isotonic(classes: Any, rows: Any) -> Any:
    """Class-1 frequencies of pooled neighbours: the increasing function of the prediction with least log loss."""
    from scipy.optimize import isotonic_regression

    values, group, counts = np.unique(rows[:, 1], return_inverse=True, return_counts=True)
    ones = np.bincount(group, weights=classes, minlength=len(values))
    fitted = isotonic_regression(ones / counts, weights=counts).x[group]
    return np.stack([1 - fitted, fitted], axis=-1)


def _vector_scaling(classes: Any, rows: Any) -> Any:
    """softmax(c_k log p_k + b_k), the convex maximum likelihood fit by Newton's method; a class given 0 keeps 0."""
    n, width = rows.shape
    possible = rows > 0
    if not possible[np.arange(n), classes].all():
        # A class that was called impossible came, which no power and factor can repair: back to the frequencies.
        return np.broadcast_to(np.bincount(classes, minlength=width) / n, rows.shape)
    logs = np.where(possible, np.log(np.where(possible, rows, 1.0)), 0.0)
    chosen = np.zeros_like(rows)
    chosen[np.arange(n), classes] = 1.0

    def scaled(theta: Any) -> Any:
        eta = np.where(possible, theta[:width] * logs + theta[width:], -np.inf)
        return special.log_softmax(eta, axis=-1)

    def objective(theta: Any) -> float:
        return float(-scaled(theta)[np.arange(n), classes].mean())

    theta = np.concatenate([np.ones(width), np.zeros(width)])
    value = objective(theta)
    for _ in range(100):
        q = np.exp(scaled(theta))
        residual = q - chosen
        gradient = np.concatenate([(residual * logs).mean(axis=0), residual.mean(axis=0)])
        features = np.concatenate([q * logs, q], axis=1)
        diagonal = [(q * logs**2).mean(axis=0), (q * logs).mean(axis=0), q.mean(axis=0)]
        hessian = -(features.T @ features) / n
        index = np.arange(width)
        hessian[index, index] += diagonal[0]
        hessian[index, index + width] += diagonal[1]
        hessian[index + width, index] += diagonal[1]
        hessian[index + width, index + width] += diagonal[2]
        step = np.linalg.lstsq(hessian, gradient, rcond=1e-12)[0]
        slope = float(gradient @ step)
        if slope < 1e-13:
            break
        size = 1.0
        while (lower := objective(theta - size * step)) > value - 1e-4 * size * slope and size > 1e-8:
            size /= 2
        if not lower < value:
            break
        theta, value = theta - size * step, lower
    return np.exp(scaled(theta))
