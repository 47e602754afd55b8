"""Expectations under a single univariate law: summation for masses, adaptive quadrature for densities, both for mixed laws."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from neglog.distributions.base import Distribution

OUTERMOST = 1e-250  # probability left out in each tail
INNER = (1e-100, 1e-40, 1e-16, 1e-8, 1e-4, 0.01, 0.1, 0.3)  # quantiles at which the integral is broken, from both ends


class Integral(NamedTuple):
    """A number and a bound on its absolute error."""

    value: float
    error: float


def expectation(law: Distribution, g: Callable[[Any], Any], relative_error: float = 1e-11) -> Integral:
    """E[g(Y)]; infinite if g is infinite where the law has mass. `g` takes and returns arrays."""
    with np.errstate(all="ignore"):
        if law.measure == "mass":
            return _summed(law, g)
        atom = Integral(0.0, 0.0)
        if law.measure == "mixed":
            mass = float(law.pdf(0.0))
            atom = Integral(float(_weighted(np.array([mass]), np.asarray(g(np.zeros(1))))[0]), 0.0)
        body = _integrated(law, g, relative_error)
        return Integral(atom.value + body.value, atom.error + body.error)


def _weighted(p: Any, values: Any) -> Any:
    """p * values with 0 * inf = 0: what never happens does not count."""
    return np.where(p > 0, p * values, 0.0)


def _summed(law: Distribution, g: Callable[[Any], Any]) -> Integral:
    step = float(getattr(law, "dispersion", 1.0))  # Tweedie with power 1 lives on the multiples of its dispersion
    low, high = float(law.icdf(1e-30)) / step, float(law.isf(1e-30)) / step
    points = step * np.arange(np.round(low), np.round(high) + 1)
    terms = _weighted(law.pdf(points), g(points))
    return Integral(float(terms.sum()), 1e-14 * float(np.abs(terms).sum()))


def _integrated(law: Distribution, g: Callable[[Any], Any], relative_error: float) -> Integral:
    positive = not law.support.startswith("y real")
    if law.measure == "mixed":  # quantiles of the part without the atom
        continuous = float(law.sf(0.0))
        lower = [float(law.icdf(1 - continuous + q * continuous)) for q in (0.01, 0.1, 0.3)]
        edges = [1e-280 * float(law.mean()), 1e-40 * float(law.mean()), *(1e-3 * y for y in lower[:1]), *lower]
        edges += [float(law.isf(q * continuous)) for q in (0.5, *reversed(INNER), OUTERMOST)]
    else:
        edges = [float(law.icdf(q)) for q in (OUTERMOST, *INNER)]
        edges += [float(law.isf(q)) for q in (0.5, *reversed(INNER), OUTERMOST)]
    points = np.unique([edge for edge in edges if np.isfinite(edge) and (edge > 0 or not positive)])

    if positive:  # in log y, where a density that is infinite at 0 is tame

        def integrand(u: Any) -> Any:
            y = np.exp(u)
            return _weighted(np.exp(u - law.nll(y)), g(y))

        return adaptive(integrand, np.log(points), relative_error)

    def plain(y: Any) -> Any:
        return _weighted(law.pdf(y), g(y))

    return adaptive(plain, points, relative_error)


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
    [0.066671344308688137593, 0.149451349150580593145, 0.219086362515982043995, 0.269266719309996355091, 0.295524224714752870173]
)
NODES = np.concatenate([-_NODES[:-1], _NODES[::-1]])
KRONROD = np.concatenate([_KRONROD[:-1], _KRONROD[::-1]])
GAUSS = np.zeros(21)
GAUSS[1:10:2] = _GAUSS
GAUSS[11:20:2] = _GAUSS[::-1]


def adaptive(f: Callable[[Any], Any], edges: Any, relative_error: float, rounds: int = 40) -> Integral:
    """The integral of f over the panels between the edges; panels with too large an error are halved, all at once."""
    low, high = np.asarray(edges[:-1]), np.asarray(edges[1:])
    done_value = done_error = 0.0
    for _ in range(rounds):
        half = (high - low) / 2
        values = f(((low + high) / 2)[:, None] + half[:, None] * NODES)
        kronrod, gauss = half * (values @ KRONROD), half * (values @ GAUSS)
        magnitude = half * (np.abs(values) @ KRONROD)
        error = np.abs(kronrod - gauss)
        total = done_value + kronrod.sum()
        if not np.isfinite(total):
            return Integral(float(total), 0.0 if np.isinf(total) else np.nan)
        # Kronrod's rule is far better than the difference to Gauss's says; the difference at least rules out missed structure.
        fine = error <= np.maximum(relative_error * abs(total) / 64, 2e-15 * magnitude)
        done_value += kronrod[fine].sum()
        done_error += error[fine].sum()
        if fine.all():
            return Integral(float(done_value), float(done_error))
        middle = ((low + high) / 2)[~fine]
        low, high = np.concatenate([low[~fine], middle]), np.concatenate([middle, high[~fine]])
    return Integral(float(done_value + kronrod[~fine].sum()), float(done_error + error[~fine].sum()))
