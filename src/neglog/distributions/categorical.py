"""Categorical: one of several classes."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from neglog import _core
from neglog.distributions.arrays import as_numbers, output_type, thread_count
from neglog.distributions.base import quiet
from neglog.distributions.lazy import special
from neglog.distributions.noise import Noise
from neglog.distributions.parameters import ITSELF, PROBABILITY, Parameter, Role, Value
from neglog.distributions.registry import register
from neglog.distributions.support import Support
from neglog.distributions.traits import Traits


@register
class Categorical(Noise):
    r"""One class out of K, numbered 0 .. K-1. The last axis of p and of eta is the classes.

    Density     p(y) = p[y]   (a mass)
    Domain      y = 0, 1, ..., K-1; p >= 0 with sum 1
    Link        softmax: the prediction is the row of class probabilities
    Loss        log loss, -log f[y]
    Use         one of several classes without an order, and their probabilities are wanted
    Not         classes in an order: Ordinal, which has one coefficient per column; two classes: Bernoulli
    Page        losses/cross_entropy
    Derivatives the gradient has the shape of eta; the second derivative, the matrix diag(p) - p p', has one axis more
    Moments     mean, variance and quantiles are those of the class number
    """

    p: Value
    declared = (Parameter("p", PROBABILITY, role=Role.LOCATION, raw=ITSELF),)

    support = Support("y = 0, 1, …, K-1", 0.0, ends=(True, False), step=1.0)
    measure = "mass"
    traits = Traits(
        log_concave=("softmax",),
        predicts="probabilities of the classes of {y}",
        settled_by="classes",
        separates="the classes",
    )
    default_link = "softmax"
    examples = ({"p": [0.5, 0.5]}, {"p": [0.2, 0.3, 0.5]}, {"p": [0.01, 0.04, 0.25, 0.7]})
    deviance_per_loss = 2.0
    summary = ("log loss over classes", "")

    def __init__(self, p: Value = None, *, link: str = "softmax") -> None:
        self._state(link=link, p=p)
        if self.p is None:
            return
        if np.ndim(self.p) == 0:
            raise ValueError(f"Categorical: p must hold the classes on its last axis, but is the single number {p}")
        sums = self.p.sum(axis=-1)
        off = np.abs(sums - 1) > (1e-5 if self.p.dtype == np.float32 else 1e-9)
        if np.any(off):
            row = tuple(int(i) for i in np.argwhere(off)[0])
            where = f" at index {row}" if row else ""
            raise ValueError(f"Categorical: p must sum to 1 over its last axis, but sums to {sums[row]!s}{where}")

    @classmethod
    def _links(cls) -> list[str]:
        return ["softmax"]

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """The shape of p without the classes."""
        return tuple(np.shape(self._known("p"))[:-1])

    @property
    def bounds(self) -> tuple[float, float]:
        """The first and the last class number."""
        return 0.0, np.shape(self._known("p"))[-1] - 1.0

    # ---- evaluation --------------------------------------------------------------------------------------------------

    def nll(self, y: ArrayLike) -> Any:
        """-log p(y) in nats; +inf for any y that is not a class number."""
        numbers = as_numbers(y, "y")
        if "_made_by" in self.__dict__:
            nll, _ = _softmax(numbers, self.__dict__["_made_by"][1])
            return nll
        return self.loss(numbers, self._known("p"))

    def given(self, eta: ArrayLike) -> Self:
        """The law of y at a row of raw predictions."""
        return super().given(_rows_of_classes(eta, "eta"))

    def derivatives(self, y: ArrayLike, eta: ArrayLike, *, expected: bool = False) -> tuple[Any, Any, Any]:
        """nll, gradient and matrix of second derivatives, which does not depend on y: `expected` changes nothing."""
        numbers, raw = as_numbers(y, "y"), _rows_of_classes(eta, "eta")
        nll, gradient = _softmax(numbers, raw)
        return nll, gradient, _second_derivatives(raw).astype(gradient.dtype, copy=False)

    def gradient_hessian(
        self,
        y: ArrayLike,
        eta: ArrayLike,
        *,
        expected: bool = False,
        out: Any = None,
        threads: int | None = None,
    ) -> tuple[Any, Any]:
        """Gradient and matrix of second derivatives."""
        _, gradient, hessian = self.derivatives(y, eta)
        if out is None:
            return gradient, hessian
        out[0][...], out[1][...] = gradient, hessian
        return out[0], out[1]

    def _tail(self, y: Any, upper: bool) -> Any:
        p = self._known("p")
        classes = np.floor(y)[..., None]
        chosen = np.arange(p.shape[-1]) > classes if upper else np.arange(p.shape[-1]) <= classes
        return np.where(np.isnan(y), np.nan, np.where(chosen, p, 0).sum(axis=-1))

    def _quantile(self, q: Any, upper: bool) -> Any:
        p = self._known("p")
        tails = np.cumsum(p[..., ::-1], axis=-1)[..., ::-1] - p if upper else np.cumsum(p, axis=-1)
        before = tails[..., :-1] > q[..., None] if upper else tails[..., :-1] < q[..., None]
        return np.where(np.isnan(q), np.nan, before.sum(axis=-1))

    def _draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
        edges = np.cumsum(self._known("p"), axis=-1)[..., :-1]
        return (rng.random(shape)[..., None] >= edges).sum(axis=-1)

    # ---- moments of the class number ---------------------------------------------------------------------------------

    def _moment(self, order: int) -> Any:
        p = self._known("p")
        return np.sum(p * np.arange(p.shape[-1]) ** order, axis=-1)

    def mean(self) -> Any:
        return self._moment(1)

    @quiet
    def variance(self) -> Any:
        return self._moment(2) - self._moment(1) ** 2

    def _entropy(self) -> Any:
        return special.entr(self._known("p")).sum(axis=-1)

    # ---- losses ------------------------------------------------------------------------------------------------------

    @quiet
    def parameter_gradient(self, y: ArrayLike) -> dict[str, Any]:
        p = self._known("p")
        chosen = np.arange(p.shape[-1]) == as_numbers(y, "y")[..., None]
        with np.errstate(all="ignore"):
            return {"p": np.where(chosen, -1 / p, 0.0)}

    def loss(self, y: ArrayLike, prediction: ArrayLike) -> Any:
        """Minus the log of the probability that the prediction gives to class y."""
        y, p = as_numbers(y, "y"), _rows_of_classes(prediction, "the prediction")
        shape = np.broadcast_shapes(y.shape, p.shape[:-1])
        classes, rows = np.broadcast_to(y, shape), np.broadcast_to(p, (*shape, p.shape[-1]))
        inside = (classes >= 0) & (classes < p.shape[-1]) & (classes == np.floor(classes))
        index = np.where(inside, classes, 0).astype(np.intp)[..., None]
        with np.errstate(divide="ignore"):
            nats = -np.log(np.take_along_axis(rows, index, axis=-1)[..., 0])
        outside = np.where(np.isnan(classes), np.nan, np.inf)
        return np.where(inside, nats, outside).astype(output_type(y, p), copy=False)[()]

    @property
    @quiet
    def loss_scale(self) -> Any:
        return 1.0


def _rows_of_classes(values: ArrayLike, name: str) -> Any:
    rows = as_numbers(values, name)
    if rows.ndim == 0:
        raise ValueError(f"{name} must hold the classes on its last axis, but is the single number {rows[()]}")
    return rows


def _softmax(y: Any, eta: Any) -> tuple[Any, Any]:
    """nll and gradient from the native core, broadcast over all axes but the last."""
    shape = np.broadcast_shapes(y.shape, eta.shape[:-1])
    width = eta.shape[-1]
    classes = np.ascontiguousarray(np.broadcast_to(y, shape), np.float64)
    rows = np.ascontiguousarray(np.broadcast_to(eta, (*shape, width)), np.float64)
    nll, gradient = np.empty(shape), np.empty((*shape, width))
    _core.softmax(classes, rows, nll, gradient, thread_count(nll.size))
    dtype = output_type(y, eta)
    return nll.astype(dtype, copy=False)[()], gradient.astype(dtype, copy=False)


def _second_derivatives(eta: Any) -> Any:
    p = special.softmax(np.asarray(eta, np.float64), axis=-1)
    hessian = -p[..., :, None] * p[..., None, :]
    diagonal = np.arange(p.shape[-1])
    # p (1 - p) as minus the sum of the row's other entries: 1 - p would cancel
    hessian[..., diagonal, diagonal] = 0.0
    hessian[..., diagonal, diagonal] = -hessian.sum(axis=-1)
    return hessian
