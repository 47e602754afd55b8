"""Expectations under a univariate law: sums for masses, adaptive quadrature for densities, both for mixed laws."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from neglog.distributions.base import Distribution

OUTERMOST = 1e-250  # probability left out in each tail
SMALLEST, LARGEST = 1e-300, 1e300  # where an integral over positive numbers ends at the latest
NEAREST_ZERO = 1e-280  # of the mean: where the integral of a mixed law begins
MOST_TERMS = 2_000_000  # of a sum over a lattice that are all added; of longer ones, blocks
INNER = (
    1e-100,
    1e-40,
    1e-16,
    1e-8,
    1e-4,
    0.01,
    0.1,
    0.3,
)  # quantiles at which the integral is broken, from both ends


class Integral(NamedTuple):
    """A number and a bound on its absolute error."""

    value: float
    error: float


def trusted(integral: Integral, what: str) -> float:
    """The value, with a warning if its error may exceed 1e-8 of it because rounding stopped the quadrature."""
    if integral.error > 1e-8 * abs(integral.value):
        warnings.warn(
            f"{what}: the quadrature gave {integral.value:.6g} with an error of up to {integral.error:.1g}; "
            f"nearly equal laws or extreme parameters leave no more digits",
            RuntimeWarning,
            stacklevel=2,
        )
    return integral.value


def expectation(law: Distribution, g: Callable[[Any], Any], relative_error: float = 1e-11) -> Integral:
    """E[g(Y)]; infinite if g is infinite where the law has mass. `g` takes and returns arrays."""

    def weighted(y: Any) -> Any:
        p = law.pdf(y)
        return np.where(p > 0, p * g(y), 0.0)  # what never happens does not count, even if it is infinite

    return total(weighted, (law,), relative_error)


def numeric_entropy(law: Distribution) -> Any:
    """The expectation of the nll for laws that have no formula for it, one law of a batch after the other."""
    parameters = {name: np.broadcast_to(value, law.batch_shape) for name, value in law.parameters.items()}
    out = np.empty(law.batch_shape)
    for place in np.ndindex(law.batch_shape):
        one = type(law)(**{name: float(value[place]) for name, value in parameters.items()})
        out[place] = expectation(one, one.nll).value
    return out[()]


def expectation_by_quantiles(law: Distribution, g: Callable[[Any], Any], relative_error: float) -> Integral:
    """E[g(Y)] as the integral of g(quantile(u)) over u, in log u from both ends: for poles and heavy tails."""
    panels = np.array([-575.0, -300, -150, -80, -40, -20, -10, -5, -2, np.log(0.5)])

    def half(quantile: Callable[[Any], Any]) -> Integral:
        return adaptive(lambda w: np.exp(w) * g(quantile(np.exp(w))), panels, relative_error)

    with np.errstate(all="ignore"):
        lower, upper = half(law.icdf), half(law.isf)
    return Integral(lower.value + upper.value, lower.error + upper.error)


def total(f: Callable[[Any], Any], laws: Sequence[Distribution], relative_error: float) -> Integral:
    """The sum or integral of f over the measure that the laws share, wherever one of them has mass."""
    with np.errstate(all="ignore"):
        if laws[0].measure == "mass":
            return _summed(f, laws)
        body = _integrated(f, laws, relative_error)
        if laws[0].measure == "density":
            return body
        atom = float(np.asarray(f(np.zeros(1)))[0])
        return Integral(atom + body.value, body.error)


def _summed(f: Callable[[Any], Any], laws: Sequence[Distribution]) -> Integral:
    # the last law's lattice must hold those of the others
    steps = [law.support.step or 1.0 for law in laws]
    step = steps[-1]
    if any(abs(other / step - round(other / step)) > 1e-12 for other in steps):
        return Integral(np.inf, 0.0)
    low = min(float(law.icdf(1e-30)) for law in laws)
    high = max(float(law.isf(1e-30)) for law in laws)
    first, last = np.round(low / step), np.round(high / step)
    if last - first < MOST_TERMS:
        terms = f(step * np.arange(first, last + 1))
        return Integral(float(terms.sum()), 1e-14 * float(np.abs(terms).sum()))
    sums = [(length * terms.sum(), length * np.abs(terms).sum()) for length, terms in _blocks(f, first, last, step)]
    value, size = np.sum(sums, axis=0)
    return Integral(float(value), 1e-9 * float(size))


def _odd(length: float) -> float:
    """The largest odd number up to there: the middle of as many points is one of them."""
    return float(max(1.0, 2 * np.floor(0.5 * (length + 1)) - 1))


def _blocks(f: Callable[[Any], Any], first: float, last: float, step: float) -> Iterator[tuple[float, Any]]:
    """Lengths of blocks of the lattice, and f at their middles: blocks so short beside the whole, and beside their
    distance from 0, that f is straight in each of them to ten digits.
    """
    start, longest = first, 2e-6 * (last - first)
    while start <= last:
        left = last + 1 - start
        length = _odd(min(longest, 1e-5 * start, left))
        count = max(1.0, np.floor(min(left, max(start, 1e5)) / length))
        yield length, f(step * (start + 0.5 * (length - 1) + length * np.arange(count)))
        start += length * count


def _integrated(f: Callable[[Any], Any], laws: Sequence[Distribution], relative_error: float) -> Integral:
    positive = laws[0].bounds[0] == 0
    edges = {edge for law in laws for edge in _edges(law)}
    if positive:  # quantiles beyond all numbers are taken for the last of them
        edges = {min(max(edge, SMALLEST), LARGEST) for edge in edges if not np.isnan(edge)}
    points = np.array(sorted(edge for edge in edges if np.isfinite(edge)))
    if not positive:
        return adaptive(f, points, relative_error)

    def in_logs(u: Any) -> Any:  # where a density that is infinite at 0 is tame
        y = np.exp(u)
        return y * f(y)

    return adaptive(in_logs, np.log(points), relative_error)


def _edges(law: Distribution) -> list[float]:
    """Where to break the integral: quantiles, from the farthest on."""
    levels = np.array([OUTERMOST, *INNER, 0.5])
    if law.measure == "density":
        return [*law.icdf(levels), *law.isf(levels)]
    rest = law.sf(0.0)  # beside the atom at 0
    lower, upper = law.icdf(1 - rest + rest * np.array([0.01, 0.1, 0.3])), law.isf(rest * levels)
    size = law.mean() if np.isfinite(law.mean()) else law.isf(0.5 * rest)
    edges = np.array([1e-40 * size, 1e-3 * lower[0], *lower, *upper])
    return [NEAREST_ZERO * size, *edges[edges > NEAREST_ZERO * size]]


# Gauss-Kronrod 10-21: nodes, Kronrod weights, Gauss weights (for every other node), on [0, 1) of a symmetric rule.
_NODES = np.array(
    [0.995657163025808080736, 0.973906528517171720078, 0.930157491355708226001, 0.865063366688984510732,
     0.780817726586416897064, 0.679409568299024406234, 0.562757134668604683339, 0.433395394129247190799,
     0.294392862701460198131, 0.148874338981631210885, 0.0]
)  # fmt: skip
_KRONROD = np.array(
    [0.011694638867371874278, 0.032558162307964727478, 0.054755896574351996031, 0.075039674810919952767,
     0.093125454583697605535, 0.109387158802297641899, 0.123491976262065851077, 0.134709217311473325928,
     0.142775938577060080797, 0.147739104901338491374, 0.149445554002916905664]
)  # fmt: skip
_GAUSS = np.array(
    [
        0.066671344308688137593,
        0.149451349150580593145,
        0.219086362515982043995,
        0.269266719309996355091,
        0.295524224714752870173,
    ]
)
NODES = np.concatenate([-_NODES[:-1], _NODES[::-1]])
KRONROD = np.concatenate([_KRONROD[:-1], _KRONROD[::-1]])
GAUSS = np.zeros(21)
GAUSS[1:10:2] = _GAUSS
GAUSS[11:20:2] = _GAUSS[::-1]


MOST_PANELS = 4096


def adaptive(f: Callable[[Any], Any], edges: Any, relative_error: float) -> Integral:
    """The integral of f over the panels between the edges; panels with too large an error are halved, all at once.

    It gives up, with the error it then has, when rounding alone keeps more and more panels from getting better.
    """
    low, high = np.asarray(edges[:-1]), np.asarray(edges[1:])
    done_value = done_error = 0.0
    while True:
        half = (high - low) / 2
        values = f(((low + high) / 2)[:, None] + half[:, None] * NODES)
        kronrod, gauss = half * (values @ KRONROD), half * (values @ GAUSS)
        magnitude = half * (np.abs(values) @ KRONROD)
        error = np.abs(kronrod - gauss)
        total = done_value + kronrod.sum()
        if not np.isfinite(total):
            return Integral(float(total), 0.0 if np.isinf(total) else np.nan)
        # Kronrod's rule is far better than the difference to Gauss's says; the difference at least rules out missed
        # structure.
        fine = error <= np.maximum(relative_error * abs(total) / 64, 2e-15 * magnitude)
        done_value += kronrod[fine].sum()
        done_error += error[fine].sum()
        if fine.all() or 2 * np.count_nonzero(~fine) > MOST_PANELS:
            return Integral(float(done_value + kronrod[~fine].sum()), float(done_error + error[~fine].sum()))
        middle = ((low + high) / 2)[~fine]
        low, high = np.concatenate([low[~fine], middle]), np.concatenate([middle, high[~fine]])
