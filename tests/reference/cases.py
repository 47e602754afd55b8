"""The points at which the reference numbers are computed: ordinary values and the ends of every domain.

Inputs are doubles. Those that come out of exp, log or a power are rounded to six digits, so that the files
do not depend on the last bit of somebody's math library.
"""

import math
from itertools import product

LARGEST_BELOW_ONE = 1 - 2.0**-53


def tidy(x):
    return float(f"{x:.6g}")


def grid(**axes):
    return [dict(zip(axes, values, strict=True)) for values in product(*axes.values())]


# ---- densities and tails -----------------------------------------------------------------------------


def densities():
    """(family, parameters, y)"""
    for family, points in DENSITY_POINTS.items():
        for parameters, y in points():
            yield family, parameters, y


def around(loc, scale, zs):
    return [loc + side * z * scale for z in zs for side in ((1, -1) if z else (1,))]


def gaussian():
    for loc, scale in [(0.0, 1.0), (2.5, 0.3), (1e10, 1.0), (-3e10, 1e10), (0.0, 1e-10), (1.0, 1e-10), (3.0, 1e10)]:
        for y in around(loc, scale, [0, 0.5, 2, 8, 20, 37, 45]):
            yield {"loc": loc, "scale": scale}, y
    yield {"loc": 0.0, "scale": 1.0}, 1e10
    yield {"loc": 0.0, "scale": 1.0}, -1e150


def laplace():
    for loc, scale in [(0.0, 1.0), (2.5, 0.3), (1e10, 1e-3), (-3e10, 1e10), (0.0, 1e-10)]:
        for y in around(loc, scale, [0, 1e-9, 0.5, 3, 40, 685, 1e5]):
            yield {"loc": loc, "scale": scale}, y


def huber():
    for delta in (1e-3, 0.1, 0.75, 1.345, 5.0, 20.0, 50.0):
        for z in (0.5, 0.999, 1.001, 3.0):
            for y in around(0.0, 1.0, [tidy(z * delta)]):
                yield {"loc": 0.0, "scale": 1.0, "delta": delta}, y
        far = tidy(delta / 2 + 680 / delta) if delta < 36 else 36.5
        for y in around(-4.0, 1e-3, [0, far]) + around(1e6, 2e6, [30.0]):
            inner = abs(y) < 1e4
            yield {"loc": -4.0 if inner else 1e6, "scale": 1e-3 if inner else 2e6, "delta": delta}, y


def poisson():
    for mean, ys in {
        1e-8: [0, 1, 2, 10, 36],
        0.5: [0, 1, 3, 20, 140],
        2.0**-3: [0, 5],
        30.0: [0, 1, 20, 29, 30, 31, 45, 120, 300],
        690.0: [0, 3, 650, 690, 2000],
        1e4: [0, 9000, 9900, 9999, 10000, 10001, 10100, 11000, 14000, 20000],
        1e8: [0, 1e8 - 360000, 1e8 - 50000, 1e8, 1e8 + 1, 1e8 + 20000, 1e8 + 370000, 2e8],
        1e15: [0, 1e15 - 1.1e9, 1e15 - 1e8, 1e15 - 1, 1e15, 1e15 + 3e7, 1e15 + 1.1e9],
    }.items():
        for y in ys:
            yield {"mean": mean}, float(y)


def gamma():
    for mean, shape in product((1.0, 2500.0, 1e-5), (1e-3, 0.5, 1.0, 30.0, 1e8)):
        spread = 1 / math.sqrt(max(shape, 1.0))
        ys = [mean, mean * (1 + spread / 2), mean * (1 - spread / 2), mean * 3, mean / 50]
        if mean == 1.0:
            ys += [1e-300, 1e300]
            ys += [tidy((shape + 36 * math.sqrt(shape) + 680) / shape)]  # sf about 1e-300
            ys += [tidy(math.exp((math.lgamma(shape + 1) - 685) / shape) / shape)] if 1 <= shape < 100 else []
            ys += [1 - 37 * spread, 1 + 37 * spread, 1 + 5 * spread, 1 - 5 * spread] if shape == 1e8 else []
        for y in ys:
            yield {"mean": mean, "shape": shape}, y


def lognormal():
    for loc, scale in [(0.0, 1.0), (0.5, 1e-3), (-20.0, 3.0), (5.0, 15.0), (300.0, 0.1)]:
        for log_y in around(loc, scale, [0, 0.7, 3, 8, 20, 37]):
            yield {"loc": loc, "scale": scale}, tidy(math.exp(log_y))


def bernoulli():
    for p, y in product((1e-300, 1e-10, 0.1, 0.5, 0.75, 1 - 1e-9, LARGEST_BELOW_ONE), (0.0, 1.0)):
        yield {"p": p}, y


def beta():
    ordinary = [(0.5, 0.5), (1.0, 1.0), (2.0, 3.0), (30.0, 1e5), (1e3, 7e2)]
    for a, b in [*ordinary, (0.01, 0.01), (0.01, 20.0), (20.0, 0.01), (1e6, 1e6), (1e6, 3.0), (0.5, 1e6)]:
        mean = a / (a + b)
        deviation = math.sqrt(mean * (1 - mean) / (a + b + 1))
        ys = [tidy(mean + z * deviation) for z in (-37, -25, -5, -1, 0.2, 1, 5, 25, 37)]
        ys += [1e-300, 1e-10, 0.25, 0.5, 1 - 2.0**-20, LARGEST_BELOW_ONE]
        for y in ys:
            if 0 < y < 1:
                yield {"a": a, "b": b}, y


def dirichlet():
    for alpha in [[1.0, 1.0], [0.5, 0.5, 2.0], [0.01, 3.0, 40.0], [1e6, 1e6, 5e5], [30.0, 1.0, 0.1, 4.0]]:
        n = len(alpha)
        even = [2.0**-k for k in range(1, n)] + [2.0 ** (1 - n)]
        tiny = [2.0**-100, *([0.0] * (n - 2)), 1.0]
        tiny[1:-1] = [2.0**-3] * (n - 2)
        tiny[-1] = 1 - sum(tiny[:-1])
        for y in (even, even[::-1], tiny):
            yield {"alpha": alpha}, y
    yield {"alpha": [1e6, 1e6, 5e5]}, [0.4, 0.4, 0.2]


def categorical():
    for p in [[0.5, 0.5], [0.25, 0.125, 0.625], [1e-300, 0.5, 0.5], [0.1, 0.2, 0.3, 0.4]]:
        for y in range(len(p)):
            yield {"p": p}, y


def tweedie():
    for mean, dispersion in [(0.0, 1.0), (-2.0, 0.25), (1e10, 1e4)]:
        for y in around(mean, math.sqrt(dispersion), [0, 1.5, 20, 37]):
            yield {"mean": mean, "power": 0.0, "dispersion": dispersion}, y
    for mean, dispersion, counts in [
        (3.0, 1.0, (0, 2, 3, 40)),
        (3.0, 0.25, (0, 11, 12, 60)),
        (5e4, 8.0, (0, 6250, 9000)),
        (1e-8, 2.0, (0, 1, 5)),
        (4.0, 0.1, (0, 7, 43)),
        (1e10, 2.0**-17, (1310720000000000, 1310720100000000)),
    ]:
        for count in counts:  # y / dispersion is an integer up to the rounding of y
            yield {"mean": mean, "power": 1.0, "dispersion": dispersion}, count * dispersion
    for mean, dispersion in product((2.0, 1e4), (1e-8, 0.02, 1.0, 40.0)):
        for ratio in (1e-4, 0.9, 1.0001, 7.0):
            yield {"mean": mean, "power": 2.0, "dispersion": dispersion}, tidy(mean * ratio)
    for mean, dispersion in [(1.0, 1.0), (2.0, 1e-4), (1e3, 0.05), (0.02, 30.0), (1e-3, 1e6)]:
        shape = 1 / (dispersion * mean)
        ys = [mean, mean * 1.3, mean * 0.6, mean * 8, mean * shape / 1370, mean * 1370 / shape, mean * 1e-9, mean * 1e9]
        for y in ys:
            yield {"mean": mean, "power": 3.0, "dispersion": dispersion}, tidy(y)


DENSITY_POINTS = {
    "Gaussian": gaussian,
    "Laplace": laplace,
    "Huber": huber,
    "Poisson": poisson,
    "Gamma": gamma,
    "LogNormal": lognormal,
    "Bernoulli": bernoulli,
    "Beta": beta,
    "Dirichlet": dirichlet,
    "Categorical": categorical,
    "Tweedie": tweedie,
}

# ---- the raw predictor -------------------------------------------------------------------------------

REAL_ETAS = {
    "identity": (-3.0, 0.2, 1e6),
    "log": (-20.0, -1.0, 0.5, 10.0, 40.0),
    "inverse": (-2.0, -0.1, 0.25, 3.0, 1e3),
    "sqrt": (0.1, 1.5, 30.0),
}
POSITIVE_ETAS = {
    "log": (-300.0, -30.0, -1.0, 0.5, 5.0, 30.0, 300.0),
    "identity": (1e-8, 0.3, 4.0, 1e6),
    "inverse": (1e-6, 0.2, 3.0, 1e6),
    "sqrt": (1e-3, 0.7, 5.0, 1e4),
}
BERNOULLI_ETAS = {
    "logit": (-800.0, -300.0, -40.0, -5.0, -0.3, 0.0, 0.3, 2.0, 17.0, 40.0, 300.0, 800.0),
    "probit": (-35.0, -10.0, -3.0, -0.5, 0.0, 1.0, 6.0, 9.0, 35.0),
    "cloglog": (-30.0, -5.0, -0.5, 0.0, 0.7, 2.0, 3.5, 5.0, 30.0),
    "log": (-300.0, -50.0, -3.0, -0.5, -1e-3, -1e-10),
    "identity": (1e-10, 0.2, 0.5, 0.9, 1 - 2.0**-30),
}


def predictors():
    """(family, parameters, link, y, eta)"""
    location_scales = {
        "Gaussian": [{"scale": 0.7}, {"scale": 1e3}],
        "Laplace": [{"scale": 0.7}],
        "Huber": [{"scale": 0.7, "delta": 1.345}, {"scale": 20.0, "delta": 0.2}],
    }
    for family, settings in location_scales.items():
        for parameters, (link, etas) in product(settings, REAL_ETAS.items()):
            for eta, y in product(etas, (-1.3, 0.4, 7.0)):
                yield family, parameters, link, y, eta
    for eta, y, scale in product((-700.0, -3.0, 0.2, 5.0, 1e4), (1e-300, 0.4, 7.0, 1e300), (0.7, 50.0)):
        yield "LogNormal", {"scale": scale}, "identity", y, eta
    for link, etas in POSITIVE_ETAS.items():
        for eta, y in product((*etas, -800.0, 700.0) if link == "log" else etas, (0.0, 3.0, 50.0)):
            yield "Poisson", {}, link, y, eta
        for eta, y, shape in product((*etas, 800.0) if link == "log" else etas, (1e-3, 3.0), (0.5, 30.0, 1e6)):
            yield "Gamma", {"shape": shape}, link, y, eta
        for power, dispersion in product((1.0, 1.05, 1.5, 1.9, 2.0, 3.0), (0.5, 2.0) if link == "log" else (0.5,)):
            ys = ((0.0,) if power < 2 else (0.05,)) + (4.0,)
            for eta, y in product(etas, ys):
                yield "Tweedie", {"power": power, "dispersion": dispersion}, link, y, eta
    for link, etas in BERNOULLI_ETAS.items():
        for eta, y in product(etas, (0.0, 1.0)):
            yield "Bernoulli", {}, link, y, eta


# ---- Tweedie, 1 < power < 2 ----------------------------------------------------------------------------

POWERS = (1.001, 1.01, 1.05, 1.1, 1.2, 1.3, 1.5, 1.7, 1.9, 1.95, 1.99, 1.999)
FAR = (1e-3, 0.02, 0.3, 4.0, 70.0, 1e3)  # mean / y
NEAR = (1.1, 0.93, 1.003)


def tweedie_points():
    """(mean, power, dispersion, y)"""
    decades = (-8, -6, -4, -3, -2, -1, 0, 1, 2, 3, 4, 6, 8)
    turn = 0
    for power in POWERS:
        for k in decades:
            by_y = (tidy(1.3 * 10.0**k), 1.0)
            by_dispersion = (1.3, tidy(10.0**-k))
            for y, dispersion in (by_y, by_dispersion) if k else (by_y,):
                for factor in (NEAR[turn % 3], FAR[turn % 6]) if k % 2 == 0 else (NEAR[turn % 3],):
                    yield tidy(y * factor), power, dispersion, y
                turn += 1
        for mean, dispersion in ((0.7, 1.0), (1e-3, 1e3), (500.0, 1e-2)):
            yield mean, power, dispersion, 0.0
        # Where implementations change algorithm: the number of jumps, and its spread, of moderate size.
        for jumps in (50, 75, 100, 140, 200, 280, 400, 550, 750, 1000):
            yield at_jumps(power, jumps, turn := turn + 1)
        for spread in (0.5, 0.7, 1, 1.5, 2, 3, 5, 7, 10):
            yield at_jumps(power, spread / (power - 1), turn := turn + 1)
        for mean, dispersion, y in ((30.0, 7.0, 200.0), (2e5, 300.0, 9e4), (4e-6, 0.02, 1e-5)):
            yield mean, power, dispersion, y


def at_jumps(power, jumps, turn):
    """A point whose likeliest number of jumps given y is about `jumps`."""
    y = (1.3, 0.02, 700.0)[turn % 3]
    dispersion = tidy(y ** (2 - power) / (jumps * (2 - power)))
    return tidy(y * (1.1, 0.6, 1.7, 0.98)[turn % 4]), power, dispersion, y


def unit_deviance(y, mean, p):
    return 2 * (y ** (2 - p) / ((1 - p) * (2 - p)) - y * mean ** (1 - p) / (1 - p) + mean ** (2 - p) / (2 - p))


def tweedie_tail_points():
    """(mean, power, dispersion, y) with tails from ordinary to about exp(-225)"""
    for i, (power, rate) in enumerate(product((1.01, 1.1, 1.5, 1.9, 1.99), (1e-3, 0.3, 10.0, 300.0, 1e4))):
        mean = (1.0, 250.0)[i % 2]
        dispersion = tidy(mean ** (2 - power) / (rate * (2 - power)))
        if rate == 0.3:
            yield mean, power, dispersion, 0.0
        for nats in (0.3, 25.0, 225.0):
            for low, high in ((mean, mean * 1e9), (mean, 0.0)):
                y = at_deviance(2 * dispersion * nats, mean, power, low, high)
                if y is not None and (rate < 1e3 or nats < 25 or high > 0):
                    yield mean, power, dispersion, y


def at_deviance(target, mean, power, near, far):
    """y between near and far where the unit deviance reaches the target, or None."""
    if unit_deviance(far, mean, power) < target:
        return None
    for _ in range(200):
        middle = (near + far) / 2
        near, far = (middle, far) if unit_deviance(middle, mean, power) < target else (near, middle)
    return tidy(near)


# ---- entropy and KL ----------------------------------------------------------------------------------


def entropies():
    """(family, parameters)"""
    for scale in (1e-10, 0.7, 1.0, 1e10):
        yield "Gaussian", {"loc": 3.0, "scale": scale}
        yield "Laplace", {"loc": -1.0, "scale": scale}
        yield "LogNormal", {"loc": 2.5, "scale": scale}
        for delta in (1e-3, 0.3, 1.345, 5.0, 50.0):
            yield "Huber", {"loc": 0.0, "scale": scale, "delta": delta}
    for mean in (1e-6, 1e-3, 0.1, 0.5, 1.0, 1.7, 5.0, 10.0, 20.0, 50.0, 100.0, 300.0, 1e3, 1e4, 1e6, 1e8):
        yield "Poisson", {"mean": mean}
    for case in grid(mean=(1e-5, 1.0, 2500.0), shape=(1e-3, 0.5, 1.0, 2.5, 30.0, 1e4, 1e8)):
        yield "Gamma", case
    for p in (1e-300, 1e-10, 0.1, 0.5, 0.9, LARGEST_BELOW_ONE):
        yield "Bernoulli", {"p": p}
    for a, b in [(0.01, 0.01), (0.5, 0.5), (1.0, 1.0), (2.0, 3.0), (0.01, 20.0), (30.0, 1e5), (1e6, 1e6), (1e6, 3.0)]:
        yield "Beta", {"a": a, "b": b}
    for alpha in [[1.0, 1.0], [0.5, 0.5, 2.0], [0.01, 3.0, 40.0], [1e6, 1e6, 5e5], [30.0, 1.0, 0.1, 4.0]]:
        yield "Dirichlet", {"alpha": alpha}
    for p in [[0.5, 0.5], [0.25, 0.125, 0.625], [1e-300, 0.5, 0.5], [0.0, 0.25, 0.75], [0.1, 0.2, 0.3, 0.4]]:
        yield "Categorical", {"p": p}
    for power, settings in {
        0.0: [(2.0, 0.3)],
        1.0: [(6.0, 2.0), (0.2, 0.5)],
        2.0: [(3.0, 0.7), (3.0, 1e-6)],
        3.0: [(1.0, 1.0), (2.0, 1e-5), (0.5, 1e4)],
        1.01: [(1.0, 0.5)],
        1.05: [(2.0, 0.1)],
        1.1: [(1.0, 1.0)],
        1.2: [(1.0, 100.0), (40.0, 0.3)],
        1.5: [(1.0, 1.0), (1.0, 0.01), (3.0, 8.0)],
        1.7: [(200.0, 5.0)],
        1.8: [(5.0, 1e-3)],
        1.9: [(1.0, 1.0)],
        1.95: [(1e-3, 0.5)],
    }.items():
        for mean, dispersion in settings:
            yield "Tweedie", {"mean": mean, "power": power, "dispersion": dispersion}


def pairs():
    """(family of P, its parameters, family of Q, its parameters)"""
    for family, settings in SAME_FAMILY.items():
        for p, q in settings:
            yield family, p, family, q
        for p, _ in settings[: 2 if family != "Huber" else 1]:
            for name in [n for n in p if n not in ("power", "delta", "dispersion")]:
                yield family, p, family, nudged(p, name, family)
        yield family, settings[0][0], family, settings[0][0]  # exactly zero
    inverse_gaussian = SAME_FAMILY["Tweedie"][-1][0]
    yield "Tweedie", inverse_gaussian, "Tweedie", nudged(inverse_gaussian, "dispersion", "Tweedie")
    left = ({"loc": 0.0, "scale": 1.0}, {"loc": -2.0, "scale": 0.3})
    right = ({"loc": 0.5, "scale": 2.0}, {"loc": -2.0, "scale": 1.0})
    for p, q in product(left, right):
        yield "Gaussian", p, "Laplace", q
        yield "Laplace", p, "Gaussian", q
        yield "Huber", {**p, "delta": 1.345}, "Gaussian", q
        yield "Gaussian", p, "Huber", {**q, "delta": 1.345}
        yield "Huber", {**p, "delta": 0.5}, "Laplace", q
        yield "Gamma", {"mean": 2.0, "shape": 4 * p["scale"]}, "LogNormal", q
        yield "LogNormal", p, "Gamma", {"mean": 1.5, "shape": q["scale"]}
        yield "Gamma", {"mean": 2.0, "shape": 30 * p["scale"]}, "Gaussian", q
        yield "Beta", {"a": 2.0, "b": 5 * p["scale"]}, "Gaussian", q
    for p, mean in product((1e-10, 0.2, 0.5, 0.999), (0.3, 5.0)):
        yield "Bernoulli", {"p": p}, "Poisson", {"mean": mean}
    yield "Gaussian", {"loc": 0.0, "scale": 1.0}, "Gamma", {"mean": 1.0, "shape": 2.0}
    yield "Laplace", {"loc": 0.5, "scale": 0.01}, "Beta", {"a": 2.0, "b": 2.0}
    yield "LogNormal", {"loc": -5.0, "scale": 0.1}, "Beta", {"a": 2.0, "b": 2.0}
    yield "Poisson", {"mean": 0.1}, "Bernoulli", {"p": 0.1}


def nudged(parameters, name, family):
    """The same law with one parameter moved by about one millionth."""
    value = parameters[name]
    if family == "Dirichlet":
        return {name: [value[0] * (1 + 1e-6), *value[1:]]}
    if family == "Categorical":  # still sums to one
        return {name: [value[0] + 2.0**-20, value[1] - 2.0**-20, *value[2:]]}
    return {**parameters, name: value * (1 + 1e-6) if value else 1e-6}


def paired(names, *pairs):
    """Pairs of laws from pairs of tuples of their parameters."""
    return [tuple(dict(zip(names.split(), values, strict=True)) for values in pair) for pair in pairs]


LOCATION_SCALE = (((1.0, 2.0), (0.0, 1.5)), ((0.0, 1e-5), (0.0, 1e5)), ((0.0, 1e3), (1e6, 1.0)))

SAME_FAMILY = {
    "Gaussian": paired("loc scale", *LOCATION_SCALE),
    "Laplace": paired("loc scale", *LOCATION_SCALE),
    "Huber": paired(
        "loc scale delta",
        ((1.0, 2.0, 1.345), (0.0, 1.5, 1.345)),
        ((0.0, 1.0, 0.3), (0.5, 2.0, 1.345)),
        ((0.0, 1.0, 5.0), (0.0, 1.0, 0.5)),
    ),
    "Poisson": paired("mean", ((2.0,), (3.5,)), ((1e8,), (1.01e8,)), ((1e-8,), (1.0,))),
    "Gamma": paired("mean shape", ((2.0, 3.0), (1.0, 0.7)), ((1.0, 1e6), (1.001, 1.1e6)), ((5.0, 0.01), (1.0, 20.0))),
    "LogNormal": paired("loc scale", ((1.0, 2.0), (0.0, 1.5)), ((0.0, 0.01), (0.5, 1.0))),
    "Bernoulli": paired("p", ((0.3,), (0.6,)), ((1e-6,), (2e-6,)), ((1e-10,), (0.5,))),
    "Categorical": paired(
        "p", (([0.25, 0.125, 0.625],), ([0.5, 0.25, 0.25],)), (([0.0, 0.25, 0.75],), ([0.5, 0.25, 0.25],))
    ),
    "Beta": paired("a b", ((2.0, 3.0), (1.0, 0.5)), ((1e5, 2e5), (1.1e5, 2e5)), ((0.1, 0.2), (20.0, 3.0))),
    "Dirichlet": paired("alpha", (([2.0, 3.0, 0.5],), ([1.0, 1.0, 1.0],)), (([1e4, 2e4, 3e4],), ([1.1e4, 2e4, 3e4],))),
    "Tweedie": paired(
        "mean power dispersion",
        ((1.0, 1.5, 1.0), (2.0, 1.5, 1.0)),
        ((3.0, 1.2, 0.5), (2.0, 1.2, 0.8)),
        ((1.0, 1.5, 1.0), (2.0, 1.3, 2.0)),
        ((2.0, 1.7, 0.1), (2.0, 1.5, 0.1)),
        ((1.0, 0.0, 2.0), (2.0, 0.0, 3.0)),
        ((1.0, 1.0, 0.5), (2.0, 1.0, 0.5)),
        ((1.0, 2.0, 0.5), (2.0, 2.0, 0.7)),
        ((1.0, 3.0, 0.5), (2.0, 3.0, 0.7)),
    ),
}
