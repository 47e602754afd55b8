"""Rewrite cells.json beside this file with mpmath: -log of the probability of cells, and its slopes in the parameters.

A cell is lower <= Y <= upper; null is an end that is not there. `gradient` has the derivative in each parameter.
`rounding` says what a relative error of one in the ends, such as standardising them makes, or in the mean of a count,
whose ends are whole numbers, would do to the nll and to each derivative: nobody who computes with doubles can be closer
than machine epsilon times that.
"""

import json
import math
from functools import partial
from itertools import pairwise
from pathlib import Path

import mpmath
import oracle_laws as laws
from mpmath import asinh, ceil, exp, expm1, floor, log, log1p, mp, mpf, nstr, sinh
from oracle_sums import beta_tails
from oracle_tweedie import compound

mp.dps = 120
STEP = mpf(10) ** -25  # of the differences: their error is its square, and what cancels is paid for with digits

# ---- tails that oracle_laws.py does not have -------------------------------------------------------------------------


def student_tails(y, loc, scale, df):
    z = (y - loc) / scale
    return laws.symmetric_tails(z, lambda t: beta_tails(df / 2, mpf(1) / 2, df / (df + t**2))[0] / 2)


def weibull_tails(y, scale, shape):
    hazard = (y / scale) ** shape
    return -expm1(-hazard), exp(-hazard)


def beta_proportion_tails(y, mean, precision):
    return beta_tails(mean * precision, (1 - mean) * precision, y)


def sinh_arcsinh_tails(y, loc, scale, skew, tail):
    """sinh(tail asinh((y - loc) / scale) - skew) is standard normal: Jones and Pewsey (2009)."""
    return laws.gaussian_tails(sinh(tail * asinh((y - loc) / scale) - skew), mpf(0), mpf(1))


def negative_binomial_tails(y, mean, dispersion, power):
    r = mean ** (2 - power) / dispersion
    return beta_tails(r, y + 1, r / (r + mean))


TAILS = {
    **{name: laws.TAILS[name] for name in ("Gaussian", "Laplace", "Huber", "LogNormal", "Gamma", "Poisson")},
    "StudentT": student_tails,
    "Weibull": weibull_tails,
    "InverseGaussian": laws.inverse_gaussian_tails,
    "BetaProportion": beta_proportion_tails,
    "SinhArcsinh": sinh_arcsinh_tails,
    "NegativeBinomial": negative_binomial_tails,
}
COUNTS = ("Poisson", "NegativeBinomial")
SUPPORT = {
    **dict.fromkeys(("LogNormal", "Gamma", "Weibull", "InverseGaussian", *COUNTS), (0, math.inf)),
    "BetaProportion": (0, 1),
}

# ---- the cells -------------------------------------------------------------------------------------------------------


def tidy(x):
    return float(f"{x:.6g}")


def around(place, width=1e-6):
    """Cells by where their ends lie: place(z) is z of the law's own units from its middle."""
    narrow = [(place(z), place(z) + width) for z in (0.0, -1.5, 3.0, 8.0)]
    wide = [(place(-2.0), place(1.5)), (place(0.5), place(4.0)), (place(-8.0), place(8.0))]
    left = [(None, place(z)) for z in (0.5, -5.0, -40.0)]
    right = [(place(z), None) for z in (-1.0, 5.0, 40.0)]
    deep = [(place(40.0), place(41.0)), (place(-41.0), place(-40.0)), (place(40.0), place(40.0) + width)]
    return narrow + wide + left + right + deep


def location_scale(family, *settings):
    for parameters in settings:
        for cell in around(lambda z, p=parameters: tidy(p["loc"] + z * p["scale"])):
            yield family, parameters, cell


def positive(family, parameters, lower, upper, middle, width=1e-6):
    """Given points ever deeper in the lower tail and in the upper one, and some in the middle."""
    points = [*sorted(lower), *middle, *upper]
    cells = [*pairwise(points), *((a, a * (1 + width)) for a in points)]
    cells += [(None, lower[-1]), (None, middle[0]), (middle[-1], None), (upper[-1], None), (lower[-1], upper[-1])]
    return [(family, parameters, cell) for cell in cells]


def each(family, parameters, *cells):
    return [(family, parameters, cell) for cell in cells]


def amounts(mean, power, dispersion):
    """Cells of a law with zeros: no lower end is 0 and more, which has their probability."""
    spread = math.sqrt(dispersion * mean**power)
    at = [tidy(y) for y in (1e-9 * mean, 0.1 * mean, mean, mean + 3 * spread, mean + 40 * spread)]
    cells = [(None, 0.0), (None, at[0]), (None, at[2]), (None, at[3]), (at[0], at[1]), (at[1], at[2]), (at[2], at[3])]
    cells += [(at[4], tidy(at[4] + spread)), (at[0], None), (at[2], None), (at[4], None)]
    cells += [(y, y * (1 + 1e-6)) for y in at]
    return each("Tweedie", {"mean": mean, "power": power, "dispersion": dispersion}, *cells)


def cases():
    yield from location_scale("Gaussian", {"loc": 0.3, "scale": 0.7})
    yield from location_scale("Laplace", {"loc": 0.3, "scale": 0.7})
    yield from location_scale("Huber", {"loc": 0.3, "scale": 0.7, "delta": 1.345})
    yield from location_scale("StudentT", {"loc": 0.3, "scale": 0.7, "df": 4.0}, {"loc": 0.3, "scale": 0.7, "df": 0.8})
    normal = {"loc": 0.3, "scale": 0.7, "skew": 0.0, "tail": 1.0}
    yield from location_scale(
        "SinhArcsinh", normal, normal | {"skew": 0.4, "tail": 0.6}, normal | {"skew": -1.2, "tail": 1.3}
    )
    scale = {"loc": 0.3, "scale": 0.7}
    for cell in around(lambda z: tidy(math.exp(0.3 + 0.7 * z)), 1e-9):
        if cell[0] is None or cell[0] < 1e6 or cell[1] is None or cell[1] > cell[0] * 1.01:
            yield "LogNormal", scale, cell
    yield from positive("Gamma", {"mean": 2.0, "shape": 3.0}, [0.1, 1e-8], [12.0, 60.0, 400.0], [1.0, 3.0])
    yield from positive("Gamma", {"mean": 2.0, "shape": 0.2}, [1e-3, 1e-30], [20.0, 600.0], [0.1, 3.0])
    yield from positive("Gamma", {"mean": 1.0, "shape": 1e4}, [0.9, 0.6], [1.1, 1.4], [0.99, 1.005])
    yield from positive("Weibull", {"scale": 2.0, "shape": 1.7}, [0.1, 1e-12], [8.0, 100.0], [1.0, 3.0])
    yield from positive("Weibull", {"scale": 2.0, "shape": 0.4}, [1e-3, 1e-30], [200.0, 1e7], [0.5, 7.0])
    yield from positive("InverseGaussian", {"mean": 1.5, "dispersion": 0.4}, [0.05, 2e-3], [20.0, 900.0], [0.8, 2.5])
    yield from positive("InverseGaussian", {"mean": 1.5, "dispersion": 1e-3}, [1.2, 0.5], [1.8, 4.0], [1.45, 1.53])
    yield from positive(
        "BetaProportion", {"mean": 0.3, "precision": 8.0}, [0.01, 1e-10], [0.9, 1 - 2.0**-30], [0.2, 0.4]
    )
    yield from positive("BetaProportion", {"mean": 0.3, "precision": 1e4}, [0.25, 0.13], [0.35, 0.49], [0.299, 0.305])
    yield from positive(
        "BetaProportion", {"mean": 0.8, "precision": 0.5}, [1e-3, 1e-50], [0.99, 1 - 2.0**-40], [0.2, 0.7]
    )
    few = [(0, 0), (3, 3), (2, 5), (1.5, 4.2), (0, 3), (None, 2), (1, None), (10, None), (60, 70), (60, None), (0, 40)]
    many = [(10000, 10000), (9990, 10010), (None, 9500), (None, 6000), (14000, None), (14000, 14010), (6000, 6010)]
    yield from each("Poisson", {"mean": 3.7}, *few, (300, None))
    yield from each("Poisson", {"mean": 1e4}, *many)
    for power in (2.0, 1.0):
        yield from each("NegativeBinomial", {"mean": 3.7, "dispersion": 0.6, "power": power}, *few, (1000, None))
    yield from each("NegativeBinomial", {"mean": 1e4, "dispersion": 1e-6, "power": 2.0}, *many)
    yield from each("NegativeBinomial", {"mean": 0.05, "dispersion": 30.0, "power": 2.0}, *few)
    yield from each("NegativeBinomial", {"mean": 3.0, "dispersion": 1e5, "power": 2.0}, *few)
    long = [(3, None), (None, 2), (500000, None), (None, 3000000), (2000000, None), (400000, 500000)]
    yield from each("NegativeBinomial", {"mean": 1e6, "dispersion": 10.0, "power": 2.0}, *long)
    for mean, power, dispersion in (
        (1.0, 1.5, 1.0),
        (250.0, 1.7, 30.0),
        (2.0, 1.1, 0.4),
        (2.0, 1.01, 0.3),
        (1.0, 1.9, 3.0),
    ):
        yield from amounts(mean, power, dispersion)
    many = [(None, 4.0), (4.5, 5.5), (12.0, None), (5.0, 5.0 * (1 + 1e-6)), (1.0, 1.5)]
    yield from each("Tweedie", {"mean": 5.0, "power": 1.3, "dispersion": 0.05}, *many)


# ---- their probabilities ---------------------------------------------------------------------------------------------


def compound_nll(mean, power, dispersion, lower, upper):
    """A Poisson number of Gamma jumps: none, unless there is a lower end, and cells of the Gamma laws of their sums."""
    rate, nu, gam = compound(mean, power, dispersion)
    mass, n = exp(-rate), 0
    total = mass if lower is None else mpf(0)
    while n <= rate or mass > mp.eps * total:
        n += 1
        mass *= rate / n
        total += mass * exp(-nll("Gamma", {"mean": n * nu * gam, "shape": n * nu}, lower, upper))
    return -log(total)


def nll(family, parameters, lower, upper):
    """Of the three ways to the probability, the one in which nothing large cancels."""
    if family == "Tweedie":
        return compound_nll(**parameters, lower=lower, upper=upper)
    tails, (least, most) = TAILS[family], SUPPORT.get(family, (-math.inf, math.inf))
    if family in COUNTS:
        lower, upper = lower if lower is None else ceil(lower) - 1, upper if upper is None else floor(upper)
    below, above = (mpf(0), mpf(1)), (mpf(1), mpf(0))
    low = below if lower is None or lower < least else tails(lower, **parameters)
    high = above if upper is None or upper >= most else tails(upper, **parameters)
    if high[0] < 0.5:
        return -log(high[0] - low[0])
    return -log(low[1] - high[1]) if low[1] < 0.5 else -log1p(-low[0] - high[1])


def slope(function, x):
    h = STEP * (abs(x) or 1)
    return (function(x + h) - function(x - h)) / (2 * h)


def row(family, parameters, cell):
    exact = laws.exact(parameters)
    ends = [None if end is None else mpf(end) for end in cell]

    def at(ends, parameters=exact):
        return nll(family, parameters, *ends)

    def gradient(name, ends, parameters=exact):
        return slope(lambda value: at(ends, parameters | {name: value}), parameters[name])

    def rounding(function):
        if family in COUNTS:
            return abs(exact["mean"] * slope(lambda mean: function(ends, exact | {"mean": mean}), exact["mean"]))
        moved = [lambda x: function([x, ends[1]]), lambda x: function([ends[0], x])]
        return sum(abs(end * slope(move, end)) for end, move in zip(ends, moved, strict=True) if end is not None)

    cost = {"nll": rounding(at), **{name: rounding(partial(gradient, name)) for name in exact}}
    return {
        "family": family,
        "parameters": parameters,
        "lower": cell[0],
        "upper": cell[1],
        "nll": nstr(at(ends), 20),
        "gradient": {name: nstr(gradient(name, ends), 20) for name in exact},
        "rounding": {name: float(nstr(value, 3)) for name, value in cost.items()},
    }


if __name__ == "__main__":
    rows = [json.dumps(row(*case), allow_nan=False) for case in cases()]
    header = {"tool": f"mpmath {mpmath.__version__}", "generator": "generate_cells.py"}
    text = json.dumps(header)[:-1] + ', "cases": [\n' + ",\n".join(rows) + "\n]}\n"
    Path(__file__).with_name("cells.json").write_text(text)
    print(f"cells.json: {len(rows)} cases")
