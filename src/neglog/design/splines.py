"""Natural cubic splines: a straight line and a few wiggles, beyond the ends straight on.

A curve is a natural cubic spline f with `size` knots at quantiles of x. Its columns are the straight line, which has
no prior, and wiggles, ordered from slow to fast, on whose coefficients the prior is Gaussian with one scale. Up to a
factor the -log of that prior is the integral of f''^2, so that the most probable curve is the smoothing spline of Wahba
(1978) and Wood (2017, section 5.3.1: mgcv's basis "cr"). The factor makes the scale the typical size of the wiggles at
the rows. The columns are orthogonal over the rows and have the mean 0, which the intercept has (Demmler and Reinsch
1975).

Inside, a row has four cubic B-splines that are not 0. What the core sums is by B-spline; `turn` makes columns of them.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from neglog import _core
from neglog.distributions.arrays import available_threads
from neglog.typing import Numbers

LARGEST = 200  # knots: the number of a piece is kept in one byte
LOOKED_AT = 20_000  # rows for quantiles
NEARLY = 1e-9  # of the range of x: nearer numbers are the same to a spline


@dataclass(frozen=True)
class Pieces:
    """Functions of one variable, cubic between breaks, of which each x meets `many` neighbours (basis.hpp)."""

    breaks: Numbers
    origins: Numbers
    polynomials: Numbers  # pieces × powers × many
    firsts: Any
    functions: int

    def find(self, x: Numbers) -> Any:
        """The piece that each x lies in."""
        found = np.empty(len(x), np.uint8)
        _core.pieces_of(x, self.breaks, found)
        return found

    def powers(self, piece: int, weights: Numbers) -> Numbers:
        """The weighted sum of the functions in a piece as a cubic of x less its origin, from the constant up. Weights
        may have more axes than that of the functions, and so have the coefficients.
        """
        own = self.polynomials[piece]
        first = self.firsts[piece]
        return np.tensordot(own, weights[first : first + own.shape[1]], axes=1)

    def slopes(self) -> "Pieces":
        """The derivatives of the functions."""
        falling = np.zeros_like(self.polynomials)
        falling[:, :-1] = self.polynomials[:, 1:] * np.arange(1.0, self.polynomials.shape[1])[:, None]
        return replace(self, polynomials=falling)

    def factor(self, x: Numbers, found: Any) -> tuple[Any, ...]:
        """A variable as the core takes it."""
        return x, found, self.origins, self.polynomials, self.firsts, self.functions


def number_pieces(middle: float, unit: float) -> Pieces:
    """The number itself, less its middle, in a unit."""
    polynomials = np.zeros((1, 4, 1))
    polynomials[0, 1] = 1 / unit
    return Pieces(np.empty(0), np.full(1, middle), polynomials, np.zeros(1, np.int32), 1)


@dataclass(frozen=True, eq=False)
class Spline:
    """The curve of one variable: its knots, and what makes a line and wiggles of B-splines."""

    knots: tuple[float, ...]
    turn: Numbers  # B-splines × (line, wiggles…)

    @cached_property
    def pieces(self) -> Pieces:
        """The B-splines between the knots, and straight on beyond the first and the last."""
        knots = np.array(self.knots)
        slopes = _derivatives(knots)  # derivatives 0 to 3 × pieces × the four of each
        count = len(knots) - 1
        taylor = np.moveaxis(slopes, 0, 1) / np.array([1.0, 1.0, 2.0, 6.0])[:, None]
        line = np.array([1.0, 1.0, 0.0, 0.0])[:, None]
        end = _at_right_end(knots)
        polynomials = np.concatenate([taylor[:1] * line, taylor, (end * line)[None]])
        firsts = np.concatenate([[0], np.arange(count), [count - 1]]).astype(np.int32)
        origins = np.concatenate([knots[:1], knots[:-1], knots[-1:]])
        return Pieces(knots, origins, np.ascontiguousarray(polynomials), firsts, count + 3)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Spline) and self.knots == other.knots and np.array_equal(self.turn, other.turn)

    def __hash__(self) -> int:
        return hash(self.knots)

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {"knots": list(self.knots), "turn": self.turn.tolist()}

    @classmethod
    def from_json(cls, stored: Any) -> "Spline":
        """What `to_json` described."""
        return cls(tuple(stored["knots"]), np.ascontiguousarray(stored["turn"], float))


def _derivatives(knots: Numbers) -> Numbers:
    """Of the four B-splines of each piece at its left end: value, slope, and so on, (4, pieces, 4)."""
    padded = np.concatenate([np.repeat(knots[0], 3), knots, np.repeat(knots[-1], 3)])
    count = len(knots) - 1
    left = np.arange(3, 3 + count)  # of each piece among the padded knots
    splines = np.zeros((count, 1, 4))  # of each piece, of each of its splines, by power of x less its left end
    splines[:, 0, 0] = 1.0
    for degree in range(1, 4):  # by de Boor's recursion
        higher = np.zeros((count, degree + 1, 4))
        for k in range(degree):
            begin, end = padded[left - degree + 1 + k], padded[left + 1 + k]
            share = splines[:, k] / (end - begin)[:, None]
            raised = np.roll(share, 1, axis=1)  # times x less the left end; the highest power is not yet in use
            before = padded[left] - begin
            higher[:, k + 1] += raised + before[:, None] * share
            higher[:, k] += (end - padded[left])[:, None] * share - raised
        splines = higher
    return np.asarray(np.moveaxis(splines, 2, 0) * np.array([1.0, 1.0, 2.0, 6.0])[:, None, None])


def _at_right_end(knots: Numbers) -> Numbers:
    """Value and slope of the last four B-splines at the last knot, (4, 4) with zeros for what is not needed."""
    left = _derivatives(knots)[:, -1]
    h = knots[-1] - knots[-2]
    value = left[0] + h * (left[1] + h * (left[2] / 2 + h * left[3] / 6))
    slope = left[1] + h * (left[2] + h * left[3] / 2)
    return np.stack([value, slope, np.zeros(4), np.zeros(4)])


def spline_of(
    x: Numbers, size: int, weight: Numbers | None = None, ends: tuple[float, float] | None = None
) -> Spline | None:
    """The curve for these rows, or for more of which they are some and that lie between these ends; None where x has
    fewer than three values, and with them no curve but a line.
    """
    knots = _knots(x, size, (float(np.min(x)), float(np.max(x))) if ends is None else ends)
    if len(knots) < 3:
        return None
    bare = Spline(tuple(knots.tolist()), np.eye(len(knots) + 2))
    return Spline(bare.knots, _turn(knots, _gram(bare, x, weight)))


def _knots(x: Numbers, size: int, ends: tuple[float, float]) -> Numbers:
    """At quantiles of the different values of x, and at the ends."""
    some = np.asarray(x[:: max(1, len(x) // LOOKED_AT)], np.float64)
    low, high = ends
    distinct = np.unique(np.append(some, [low, high]))
    distinct = distinct[np.append(True, np.diff(distinct) > NEARLY * (high - low))]
    at = np.linspace(0.0, len(distinct) - 1, min(size, len(distinct)))
    return np.asarray(np.interp(at, np.arange(len(distinct)), distinct))


def _gram(spline: Spline, x: Numbers, weight: Numbers | None) -> Numbers:
    """The mean over the rows of the products of B-splines."""
    pieces = spline.pieces
    table = _core.Table(len(x), False)
    table.add_basis([pieces.factor(x, pieces.find(x))], None, 1, spline.turn)
    gram = np.empty((pieces.functions, pieces.functions))
    problem = _core.Problem(table, "", "", np.zeros(1), weight, None, (), None, False, 0.0, 1)
    problem.evaluate(np.zeros(pieces.functions), None, gram, False, available_threads())
    return gram / (len(x) if weight is None else weight.sum())


def _turn(knots: Numbers, gram: Numbers) -> Numbers:
    """What makes of B-splines the line and the wiggles, all with the mean 0 over the rows."""
    functions = len(gram)
    mean = gram.sum(axis=0)  # B-splines sum to 1
    inside = _natural(knots)
    bend = inside.T @ _bending(knots) @ inside
    data = inside.T @ gram @ inside
    # wiggles are where bending is not 0; of what rows see and of what bends neither need be regular, but the sum is
    unit = np.trace(data) / np.trace(bend)
    from scipy.linalg import eigh

    shares, vectors = eigh(data, data + unit * bend)
    order = np.argsort(-shares)[2:]  # the straight lines, whose share is 1, come first
    wiggles = inside @ vectors[:, order] / np.sqrt(np.maximum(1 - shares[order], 1e-300))
    line = _greville(knots)
    line = line - mean @ line
    wiggles = wiggles - mean @ wiggles
    wiggles -= np.outer(line, (line @ gram @ wiggles) / (line @ gram @ line))
    wiggles *= np.where(wiggles[-1] < 0, -1.0, 1.0)
    size = np.sqrt(np.trace(wiggles.T @ gram @ wiggles))
    turn = np.empty((functions, 1 + wiggles.shape[1]))
    turn[:, 0], turn[:, 1:] = line, wiggles / size
    return turn


def _greville(knots: Numbers) -> Numbers:
    """The coefficients of the B-splines whose sum is x itself."""
    padded = np.concatenate([np.repeat(knots[0], 2), knots, np.repeat(knots[-1], 2)])
    return np.asarray((padded[:-2] + padded[1:-1] + padded[2:]) / 3)


def _second_derivatives(knots: Numbers) -> Numbers:
    """Of all B-splines at all knots, (knots, B-splines): between them these are straight."""
    count = len(knots) - 1
    left = _derivatives(knots)
    out = np.zeros((count + 1, count + 3))
    for k in range(count):
        out[k, k : k + 4] = left[2, k]
    out[count, count - 1 : count + 3] = left[2, -1] + (knots[-1] - knots[-2]) * left[3, -1]
    return out


def _bending(knots: Numbers) -> Numbers:
    """The integral of the products of second derivatives."""
    bends, h = _second_derivatives(knots), np.diff(knots)[:, None]
    left, right = bends[:-1], bends[1:]
    mixed = left.T @ (h * right)
    return np.asarray((left.T @ (h * left) + right.T @ (h * right)) / 3 + (mixed + mixed.T) / 6)


def _natural(knots: Numbers) -> Numbers:
    """Directions of B-splines that do not bend at the ends, as columns."""
    bends = _second_derivatives(knots)[[0, -1]]
    functions = len(knots) + 2
    rest = np.eye(functions)
    # the first and the last B-spline take up what the others bend at the ends
    rest[0] = -bends[0] / bends[0, 0]
    rest[-1] = -bends[1] / bends[1, -1]
    return rest[:, 1:-1].copy()
