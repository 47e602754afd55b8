"""A group of many levels of rows in pieces: each piece makes its own sums, over all levels, and these are added up.

A pass costs the decoding of all rows, so that one brings all that is known of a point: slopes and curvature, and what
the noise leaves open. Nothing of a row is kept; what is, grows with the levels.
"""

from typing import Any

import numpy as np

from neglog.design.parts import Part
from neglog.evidence.large_groups import GroupedRows, Look
from neglog.evidence.modelled_groups import one_group
from neglog.likelihood.task import Task
from neglog.typing import Numbers


def sums_of_piece(task: Task, number: int, what: str, *given: Any) -> Any:
    """Sums over the rows of one piece, whose group is the part of this number."""
    part = task.engine.design.schema.parts[number]
    assert isinstance(part, Part)
    return getattr(one_group(task, part), what)(*given)


class GroupInPieces(GroupedRows):
    """Fits by Newton's method; where these begin, and the places of coefficients, a sample says."""

    borrows = False

    def __init__(self, task: Task, part: Part) -> None:
        self.sample = one_group(task.in_memory(), part)
        self.task, self.small, self.own, self.levels = task, self.sample.small, self.sample.own, self.sample.levels
        self.number = next(k for k, one in enumerate(task.engine.design.schema.parts) if one is part)
        self._last: tuple[Numbers, Numbers, Any] | None = None

    def _total(self, what: str, *given: Any) -> Any:
        """One pass."""
        return self.task.total(sums_of_piece, self.number, what, *given)

    def sums(self, theta: Numbers, v: Numbers) -> Any:
        """They are kept: a fit ends where it was looked at, and the next one begins there."""
        if self._last is None or not (np.array_equal(theta, self._last[0]) and np.array_equal(v, self._last[1])):
            self._last = theta, v, self._total("sums", theta, v)
        return self._last[2]

    def look(self, theta: Numbers, v: Numbers) -> Look:
        gradient, (nll, _, curvature, _, _) = self.sums(theta, v)
        return Look(nll, gradient, lambda: curvature, lambda: self._total("guide", theta, v))

    def inverse(self, curvature: Any, bend: Numbers, basis: Numbers | None) -> tuple[Any, float] | None:
        return self.sample.inverse(curvature, bend, basis)

    def squares_about(self, middle: float) -> Any:
        return self._total("squares_about", middle)

    def third_sums(self, theta: Numbers, v: Numbers, covariance: Any) -> Any:
        return self._total("third_sums", theta, v, covariance)
