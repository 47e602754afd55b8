"""Ordinal: one of several classes that have an order."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from neglog import _core
from neglog.distributions import arrays
from neglog.distributions.base import quiet
from neglog.distributions.lazy import special
from neglog.distributions.noise import Noise
from neglog.distributions.parameters import INCREASING, ITSELF, ORDER, REAL, Parameter, Role, Value, kept
from neglog.distributions.registry import register
from neglog.distributions.support import Support
from neglog.distributions.traits import Traits
from neglog.typing import Array


@register
class Ordinal(Noise):
    r"""One of K classes in order, numbered 0 .. K-1: where a latent value falls among K-1 edges that are unknown too.

    Density     p(y) = F(edges[y] - loc) - F(edges[y-1] - loc)   (a mass), F logistic, with edges[-1] = -infinity and
                edges[K-1] = infinity
    Domain      y = 0, 1, ..., K-1; edges increasing. A fit takes labels: whole numbers, texts (in the order of the
                alphabet), ordered categories of pandas and polars (in their own), or any in the order of `classes`
    Link        logit: P(y <= k) = F(edges[k] - eta), the proportional odds; probit: F Gaussian. A fit has no intercept,
                which the edges take up: `fit.intercept` is 0
    Loss        -log of the probability of the cell; convex in the prediction and the edges at once (Pratt 1981)
    Use         a few classes in an order, such as grades or ratings, and columns that move y one way along it
    Not         classes without an order, or a column that makes both ends likelier: Categorical
    Page        losses/ordinal
    Special     two classes are Bernoulli, whose intercept is minus the edge
    Moments     mean, variance and quantiles are those of the class number; the mean is the expected rank
    """

    edges: Value
    loc: Value
    declared = (
        Parameter("edges", INCREASING, role=Role.SHAPE, raw=ORDER, several=True),
        Parameter("loc", REAL, role=Role.LOCATION, raw=ITSELF),
    )

    support = Support("y = 0, 1, …, K-1 in order", 0.0, ends=(True, False), step=1.0)
    measure = "mass"
    traits = Traits(
        log_concave=("logit", "probit"),
        predicts="probability of {y} above an edge",
        settled_by="ordered classes",
        separates="the classes",
        intercept=False,
    )
    default_link = "logit"
    examples = (
        {"edges": [-1.0, 0.5], "loc": 0.2},
        {"edges": [0.3], "loc": 0.0},
        {"edges": [-2.0, -0.4, 0.1, 1.7], "loc": -0.5},
    )
    summary = ("log loss over ordered classes", "")

    def __init__(
        self, classes: ArrayLike | None = None, edges: Value = None, loc: Value = 0.0, *, link: str = "logit"
    ) -> None:
        self._state(link=link, edges=None if edges is None else np.atleast_1d(np.asarray(edges)), loc=loc)
        self.__dict__["_classes"] = None if classes is None else _labels(classes)
        if self.classes is not None and self.edges is not None and len(self.classes) != self.edges.shape[-1] + 1:
            raise ValueError(
                f"Ordinal: {len(self.classes)} classes have {len(self.classes) - 1} edges between them, but edges has "
                f"{self.edges.shape[-1]}"
            )

    # ---- classes -----------------------------------------------------------------------------------------------------

    @property
    def classes(self) -> tuple[Any, ...] | None:
        """The labels of the classes in order; None where nobody said, and y is numbered itself."""
        labels: tuple[Any, ...] | None = self.__dict__["_classes"]
        return labels

    @property
    def labelled(self) -> bool:
        return True

    @property
    def class_count(self) -> int:
        return len(self.classes or ()) if self.edges is None else self._count()

    def with_classes(self, labels: ArrayLike) -> Self:
        """The same noise about these classes, in this order."""
        other = type(self)(labels, self.edges, self.loc, link=self.link.name)  # which checks their number
        return self._replaced(_classes=other.classes)

    def edge_names(self) -> tuple[str, ...]:
        """What each edge lies between: "low|mid"."""
        labels = range(self._count()) if self.classes is None else self.classes
        return tuple(f"{a}|{b}" for a, b in zip(labels, list(labels)[1:], strict=False))

    def number(self, name: str) -> tuple[float, bool]:
        if name not in self.parameters:
            return float(self._known("edges")[self.edge_names().index(name)]), False
        return super().number(name)

    @property
    def extras(self) -> dict[str, Any]:
        return {"classes": None if self.classes is None else np.array(self.classes)}

    def _count(self) -> int:
        return int(self._known("edges").shape[-1]) + 1

    def _stated(self) -> list[Any]:
        return [value for value in (self.loc, None if self.edges is None else self.edges[..., 0]) if value is not None]

    @property
    def bounds(self) -> tuple[float, float]:
        """The first and the last class number."""
        return 0.0, self._count() - 1.0

    def __repr__(self) -> str:
        text = super().__repr__().replace(", loc=0.0", "")
        return text if self.classes is None else text.replace("(", f"(classes={list(self.classes)!r}, ", 1)

    # ---- evaluation --------------------------------------------------------------------------------------------------

    @property
    def p(self) -> Array:
        """The probabilities of the classes, along the last axis."""
        laws = self._replaced(_loc=np.asarray(self._known("loc"))[..., None], _edges=self._known("edges")[..., None, :])
        return np.asarray(laws.pdf(np.arange(self._count(), dtype=float)))

    def expected_rank(self) -> Any:
        """The expectation of the class number, counted from 0: what takes the classes for equally far apart."""
        return self.mean()

    def given(self, eta: ArrayLike) -> Self:
        """The law of y at the raw prediction `eta`, from which the edges are counted."""
        return self._replaced(_loc=kept(arrays.as_numbers(eta, "eta")))

    def _raw(self) -> tuple[str, Any]:
        return self.link.name, self._known("loc")

    def cells(self, y: Any) -> tuple[Any, Any, Any]:
        """Which y are classes, and the two edges of each; of what is none those of class 0."""
        edges, count = self._known("edges"), self._count()
        with np.errstate(invalid="ignore"):
            inside = (y >= 0) & (y < count) & (y == np.floor(y))
        own = np.where(inside, y, 0).astype(np.intp)
        ends = np.full((*edges.shape[:-1], 1), np.inf)
        whole = np.concatenate([-ends, edges, ends], axis=-1)
        if edges.ndim == 1:
            return inside, whole[own], whole[own + 1]
        shape = np.broadcast_shapes(np.shape(own), edges.shape[:-1])
        own, whole = np.broadcast_to(own, shape)[..., None], np.broadcast_to(whole, (*shape, count + 1))
        return inside, *(np.take_along_axis(whole, own + k, axis=-1)[..., 0] for k in (0, 1))

    def _core_nll(self, link: str, y: Array, eta: Any) -> Any:
        inside, low, high = self.cells(y)
        dtype = arrays.output_type(y, eta, *self._others())
        nats = arrays.core_nll(self._family(), link, np.where(inside, y, 0.0), eta, (low, high), 0.0, dtype)
        return np.where(inside, nats, np.where(np.isnan(y), np.nan, np.inf)).astype(dtype, copy=False)[()]

    def _others(self) -> list[Any]:
        return [self._known("edges")[..., 0]]

    def _kernel_parameters(self) -> tuple[Any, ...]:
        return (self._known("edges")[..., 0],)  # of which the shape alone counts: a row has the edges of its class

    def _slopes(
        self,
        y: ArrayLike,
        eta: ArrayLike,
        expected: bool,
        gradient: Array,
        hessian: Array | None,
        *,
        weight: ArrayLike = 1.0,
        least: float = -np.inf,
        threads: int | None = None,
        team: tuple[int, int, int, int] | None = None,
    ) -> None:
        shape, raw = gradient.shape, arrays.native(arrays.as_numbers(eta, "eta"), gradient.shape)
        _, low, high = self.cells(np.asarray(y, np.float64))
        _core.slopes(
            self._family(),
            self.link.name,
            False,
            arrays.native(arrays.as_numbers(y, "y"), shape),
            raw,
            [arrays.native(value, shape) for value in (low, high)],
            arrays.native(arrays.as_numbers(weight, "weight"), shape),
            least,
            gradient,
            hessian,
            arrays.thread_count(gradient.size, threads),
            team,
        )
        if expected and hessian is not None:
            bend = np.asarray(weight) * self._information(np.asarray(eta, np.float64))
            hessian[...] = np.where(bend < least, least, bend)

    def _information(self, eta: Any) -> Any:
        """E[(d nll / d eta)^2]: over the classes, what the density at the edges of a cell differs by, squared, over its
        probability.
        """
        law, total = self.given(eta), np.zeros(np.shape(eta))
        for k in range(self._count()):
            slope = np.empty(np.shape(eta))
            self._slopes(np.full(np.shape(eta), float(k)), eta, False, slope, None)
            mass = law.pdf(float(k))
            total = total + np.where(mass > 0, mass * slope * slope, 0.0)
        return total

    def joint(self, y: ArrayLike, eta: ArrayLike, *, curvature: bool = False) -> tuple[Any, Any, Any]:
        """As of any noise, with the first edge and the logs of the gaps in the place of single parameters."""
        own, nll, slopes, bends = self._in_edges(y, eta, curvature)
        # d low / dv and d high / dv: each gap moves all edges after it
        count = self._count() - 1
        turn = np.concatenate([np.zeros((1, count)), ORDER.slope(self._known("edges")), np.zeros((1, count))])
        down, up = np.moveaxis(turn[own], -1, 0), np.moveaxis(turn[own + 1], -1, 0)
        first = np.concatenate([slopes[:1], slopes[1] * down + slopes[2] * up])
        if bends is None:
            return nll, first, None
        second = [bends[0]]
        for i in range(count):
            second.append(bends[1] * down[i] + bends[3] * up[i])
            for j in range(i + 1):
                both = bends[2] * down[i] * down[j] + bends[5] * up[i] * up[j]
                both = both + bends[4] * (down[i] * up[j] + up[i] * down[j])
                second.append(both + (first[1 + i] if i == j and i else 0.0))
        return nll, first, np.stack(second)

    def _in_edges(self, y: ArrayLike, eta: ArrayLike, curvature: bool) -> tuple[Any, Any, Any, Any]:
        """The class of each y, its nll, and the derivatives of that in the prediction and the edges below and above."""
        shape = arrays.broadcast_shape(y, eta)
        numbers = np.broadcast_to(arrays.as_numbers(y, "y").astype(np.float64), shape)
        _, low, high = self.cells(numbers)
        nll, slopes, bends = np.empty(shape), np.empty((3, *shape)), np.empty((6, *shape)) if curvature else None
        inputs = [arrays.native(value, shape) for value in (numbers, arrays.as_numbers(eta, "eta"), low, high)]
        threads = arrays.thread_count(nll.size)
        _core.joint(self._family(), self.link.name, inputs[0], inputs[1], inputs[2:], nll, slopes, bends, threads)
        return numbers.astype(np.intp), nll, slopes, bends

    def _latent(self, x: Any) -> Any:
        return special.expit(x) if self.link.name == "logit" else special.ndtr(x)

    def _tail(self, y: Any, upper: bool) -> Any:
        loc = self._known("loc")
        with np.errstate(invalid="ignore"):
            own = np.floor(np.clip(y, -1, self._count() - 1))
        inside = np.isfinite(own) & (own >= 0) & (own < self._count() - 1)
        _, _, edge = self.cells(np.where(inside, own, 0.0))
        beyond = np.where(own < 0, -np.inf, np.where(inside, edge, np.inf)) - loc
        return np.where(np.isnan(y), np.nan, self._latent(-beyond if upper else beyond))

    def _quantile(self, q: Any, upper: bool) -> Any:
        beyond = self._known("edges") - np.asarray(self._known("loc"))[..., None]
        tails = self._latent(-beyond if upper else beyond)
        before = tails > q[..., None] if upper else tails < q[..., None]
        return np.where(np.isnan(q), np.nan, before.sum(axis=-1))

    def _draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
        beyond = self._known("edges") - np.asarray(self._known("loc"))[..., None]
        return (rng.random(shape)[..., None] >= self._latent(beyond)).sum(axis=-1)

    # ---- moments of the class number ---------------------------------------------------------------------------------

    def mean(self) -> Any:
        return np.sum(self.p * np.arange(self._count()), axis=-1)[()]

    @quiet
    def variance(self) -> Any:
        away = np.arange(self._count()) - np.asarray(self.mean())[..., None]
        return np.sum(self.p * away**2, axis=-1)[()]

    def _entropy(self) -> Any:
        return special.entr(self.p).sum(axis=-1)

    # ---- losses ------------------------------------------------------------------------------------------------------

    @quiet
    def parameter_gradient(self, y: ArrayLike) -> dict[str, Any]:
        """The derivative of nll(y) in the location, and in each edge along a last axis."""
        own, _, (slope, low, high), _ = self._in_edges(y, self._known("loc"), False)
        edge, below, above = np.arange(self._count() - 1), own[..., None] - 1, own[..., None]
        in_edges = np.where(edge == below, low[..., None], np.where(edge == above, high[..., None], 0.0))
        return {"loc": slope[()], "edges": in_edges}

    def loss(self, y: ArrayLike, prediction: ArrayLike) -> Any:
        """Minus the log of the probability of class y at the raw prediction."""
        return self._core_nll(self.link.name, arrays.as_numbers(y, "y"), arrays.as_numbers(prediction, "prediction"))

    def loss_at(self, eta: ArrayLike, y: ArrayLike) -> Any:
        return self.loss(y, eta)


def _labels(classes: ArrayLike) -> tuple[Any, ...]:
    """Different labels, at least two of them, as plain values."""
    labels = tuple(classes) if isinstance(classes, list | tuple | range) else tuple(np.asarray(classes).tolist())
    plain = tuple(label.item() if isinstance(label, np.generic) else label for label in labels)
    twice = [label for k, label in enumerate(plain) if label in plain[:k]]
    if len(plain) < 2 or twice:
        what = f"{twice[0]!r} occurs twice" if twice else f"there is but {', '.join(map(repr, plain)) or 'none'}"
        raise ValueError(f"Ordinal noise needs at least two classes, different ones in their order, but {what}")
    return plain
