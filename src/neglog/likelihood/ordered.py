"""Ordinal: y as the numbers of ordered classes, and their edges as what is open.

A row has two edges of all, so that the pass takes them by class (passes.cpp). What is open is raw: the first edge and
the logs of the gaps between edges, in which every value keeps the order.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from neglog.design.faults import first_rows
from neglog.distributions.lazy import special
from neglog.distributions.parameters import ITSELF, LOG, ORDER, POSITIVE, REAL, Parameter
from neglog.engines.memory import Loss
from neglog.likelihood.row_values import check_counted_classes
from neglog.likelihood.targets import Target
from neglog.typing import Numbers

MOST = 200  # classes: y with more values is a number
SHOWN = 8


class OrderedClasses(Target):
    """Ordinal: y holds labels, `classes` are these in order."""

    def __init__(self, noise: Any, y: Any, w: Numbers | None, p: Numbers | None) -> None:
        if p is not None:
            raise ValueError("Ordinal noise has no dispersion that a precision could divide; use sample_weight")
        labels = np.asarray(y)
        noise = with_order(noise, labels)
        codes = class_numbers(noise, labels)
        counted = codes if w is None else codes[w > 0]
        if w is not None:
            check_counted_classes([noise.classes[code] for code in np.unique(counted)], len(noise.classes))
        if noise.edges is None:
            _refuse_empty(noise, np.bincount(counted, minlength=len(noise.classes)))
        super().__init__(noise, codes.astype(np.float64), w, p)

    @property
    def classes(self) -> Numbers:
        """The labels in order."""
        return np.array(self.noise.classes)

    def check(self) -> None:
        """Labels are whatever they are."""

    # ---- what is open ------------------------------------------------------------------------------------------------

    @property
    def open(self) -> tuple[str, ...]:
        return tuple(own.name for own in self.opened)

    @property
    def opened(self) -> tuple[Parameter, ...]:
        """The first edge, then how wide each class is that has an edge on either side."""
        if self.noise.edges is not None:
            return ()
        first, *inner = self.noise.classes[:-1]
        edge = Parameter(f"edge {first}|{self.noise.classes[1]}", REAL, raw=ITSELF)
        return (edge, *(Parameter(f"width of {label}", POSITIVE, raw=LOG) for label in inner))

    def places(self) -> list[int]:
        return list(range(len(self.opened)))

    def at(self, v: Numbers) -> Any:
        return self.noise if self.noise.edges is not None else self.noise.estimated(edges=ORDER.value(v))

    def raw_of(self, noise: Any) -> Numbers:
        return np.asarray(ORDER.raw(noise.edges)) if self.noise.edges is None else np.empty(0)

    def values_at(self, v: Numbers) -> dict[str, Numbers]:
        return dict(zip(self.noise.edge_names(), np.moveaxis(ORDER.value(v), -1, 0), strict=True)) if self.open else {}

    def errors(self, noise: Any, covariance: Numbers) -> dict[str, float]:
        """Of the edges: each is the first and all gaps before it."""
        if not self.open:
            return {}
        turn = ORDER.slope(noise.edges)
        variances = np.einsum("ij,jk,ik->i", turn, covariance, turn)
        return dict(zip(noise.edge_names(), np.sqrt(variances).tolist(), strict=True))

    def uncentred(self, noise: Any, shift: float) -> Any:
        return noise.estimated(edges=noise.edges + shift) if self.open else noise

    def begin(self, eta: Numbers) -> Numbers:
        """Edges at which the classes have the shares that they have, about the middle of the predictions."""
        counts = np.bincount(self.raw.astype(int), self.w, len(self.noise.classes)) + 0.5
        below = np.cumsum(counts)[:-1] / counts.sum()
        middle = float(np.average(eta, weights=self.w))
        return np.asarray(ORDER.raw(middle + (special.logit if self.logistic else special.ndtri)(below)))

    @property
    def logistic(self) -> bool:
        """Whether the latent law is, or is Gaussian."""
        return bool(self.noise.link.name == "logit")

    # ---- what the pass sees ------------------------------------------------------------------------------------------

    @property
    def loss(self) -> Loss:
        return self.sharpened(Loss(self.kernel, self.noise.link.name, ()))

    def sharpened(self, loss: Loss) -> Loss:
        """Where the edges are known, those of each row are its parameters."""
        if loss.open is not None:
            return loss
        if self.noise.edges is None:
            return replace(loss, parameters=(np.full(1, np.nan),) * 2)
        return replace(loss, parameters=tuple(map(np.ascontiguousarray, self.noise.cells(self.raw)[1:])))

    def joint_loss(self) -> Loss:
        if self.noise.edges is not None:
            return replace(self.loss, open=())
        unused = (np.zeros(1),) * 2
        return Loss(self.kernel, self.noise.link.name, unused, open=tuple(range(len(self.open))), ordered=True)


# ---- labels ----------------------------------------------------------------------------------------------------------


def with_order(noise: Any, labels: Numbers) -> Any:
    """The noise with its classes stated: as they are, else those that occur, sorted; beside stated edges y may hold the
    numbers of the classes.
    """
    if noise.classes is not None:
        return noise
    if noise.edges is not None and labels.dtype.kind in "iuf" and noise.cells(labels)[0].all():
        return noise.with_classes(range(noise.class_count))
    found = np.unique(labels) if labels.dtype.kind != "O" else _sorted_objects(labels)
    if len(found) < 2:
        raise ValueError(f"Ordinal noise needs at least two classes, but y is {found.tolist()[0]!r} throughout")
    if len(found) > MOST:
        raise ValueError(
            f"Ordinal noise needs classes that many rows share, at most {MOST}, but y has {len(found):,} different "
            f"values in {len(labels):,} rows; a number takes another noise, such as Gaussian() or Poisson()"
        )
    return noise.with_classes(found)


def _sorted_objects(labels: Numbers) -> Numbers:
    kinds = {type(label) for label in labels.tolist()}
    try:
        return np.array(sorted(set(labels.tolist())), dtype=object)
    except TypeError:
        raise TypeError(
            f"Ordinal noise: labels of the kinds {', '.join(sorted(kind.__name__ for kind in kinds))} have no order; "
            "state it, as in Ordinal(classes=[...])"
        ) from None


def order_notes(stated: Any, classes: Any) -> list[str]:
    """What is to be said about an order that nobody stated: that of texts is seldom the one that is meant."""
    if stated.of_classes or stated.classes is not None or not all(isinstance(label, str) for label in classes):
        return []
    order = " < ".join([*classes[:SHOWN], *["…"] * (len(classes) > SHOWN)])
    return [f"the classes of y are in the order of their texts, {order}; state another, as in Ordinal(classes=[...])"]


def class_numbers(noise: Any, labels: Numbers) -> Any:
    """Each label as its place in the order; one that is not among the classes is refused."""
    place = {label: k for k, label in enumerate(noise.classes)}
    distinct, codes = np.unique(labels, return_inverse=True) if labels.dtype.kind != "O" else _unique_objects(labels)
    places = np.array([place.get(label, -1) for label in distinct.tolist()], np.intp)
    numbers = places[codes.reshape(-1)]
    unknown = np.flatnonzero(numbers < 0)
    if len(unknown):
        raise ValueError(
            f"y must be one of the {len(place)} classes {_listed(noise.classes)}, but "
            f"{first_rows(unknown, len(labels))} {labels[unknown[0]]!r}; name all of them in Ordinal(classes=[...])"
        )
    return numbers


def _unique_objects(labels: Numbers) -> tuple[Numbers, Numbers]:
    place: dict[Any, int] = {}
    codes = np.array([place.setdefault(label, len(place)) for label in labels.tolist()], np.intp)
    distinct = np.empty(len(place), dtype=object)
    distinct[:] = list(place)
    return distinct, codes


def _refuse_empty(noise: Any, counts: Numbers) -> None:
    """A class without rows has edges that nothing tells."""
    empty = [label for label, count in zip(noise.classes, counts.tolist(), strict=True) if not count]
    others = [label for label in noise.classes if label not in empty]
    if empty:
        raise ValueError(
            f"Ordinal noise: {len(empty)} of {len(counts)} classes {'has' if len(empty) == 1 else 'have'} no rows, "
            f"so that nothing tells their edges: {_listed(empty)}; leave them out, as in "
            f"Ordinal(classes=[{_listed(others)}]), or state edges=[...]"
        )


def _listed(labels: Any) -> str:
    shown = ", ".join(repr(label) for label in labels[:SHOWN])
    return shown if len(labels) <= SHOWN else f"{shown} and {len(labels) - SHOWN} more"
