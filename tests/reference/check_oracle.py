"""Check the oracle against itself by other routes: python check_oracle.py (two minutes, prints the worst errors).

Tails and entropies against quadrature of the density, derivatives against numerical differentiation, closed-form
KL divergences against quadrature, strided sums against full sums, Tweedie at power 3/2 against a Bessel function.
"""

import json
import random
from pathlib import Path

import oracle_information as information
import oracle_laws as laws
import oracle_sums as sums
import oracle_tweedie as tweedie
from mpmath import besseli, diff, exp, log, mp, mpf, nstr, quad, sqrt

mp.dps = 60
POSITIVE = ("Gamma", "LogNormal", "Tweedie")


def rows(name, count, keep=lambda row: True):
    found = [r for r in json.loads(Path(__file__).with_name(f"{name}.json").read_text())["cases"] if keep(r)]
    return random.Random(name).sample(found, min(count, len(found)))


def report(what, errors):
    errors = list(errors)
    print(f"{what}: {len(errors)} checks, worst relative error {nstr(max(errors), 3)}")
    assert max(errors) < mpf(10) ** -19


def error(a, b):
    return abs(mpf(a) - mpf(b)) / abs(mpf(b)) if mpf(b) else abs(mpf(a))


def kinks(p):
    return [p["loc"] + side * p["scale"] * p.get("delta", 0) for side in (-1, 0, 1)]


def tails_by_quadrature():
    """Integrate from y outwards (in log y where y > 0), in pieces as long as the density takes to fall by e."""
    for row in rows("densities", 120, lambda r: "cdf" in r and r["family"] not in ("Poisson", "Bernoulli", "Beta")):
        family, p = row["family"], laws.exact(row["parameters"])
        side, name = (1, "sf") if mpf(row["sf"]) < mpf(row["cdf"]) else (-1, "cdf")
        if p.get("power") == 1 or not 0.1 < p.get("shape", 1) < 1e4 or not 1e-5 < p.get("dispersion", 1) < 1e5:
            continue
        if mpf(row[name]) < mpf(10) ** -2000:
            continue
        positive = family in POSITIVE and p.get("power") != 0

        def surprise(x, family=family, p=p, positive=positive):
            return laws.NLL[family](exp(x), **p) - x if positive else laws.NLL[family](x, **p)

        start = log(mpf(row["y"])) if positive else mpf(row["y"])
        unit = p.get("scale") or sqrt(p.get("dispersion", 1 / p.get("shape", 1)))
        unit /= min(1, p.get("delta", 1))
        points = [start]
        if family in ("Laplace", "Huber"):
            points += [x for x in kinks(p) if (x - start) * side > 0]
        x = start
        while surprise(x) < surprise(start) + 140:  # the rest weighs less than exp(-140)
            x += side * min(unit, 4 / max(abs(diff(surprise, x)), 1 / unit))
            points.append(x)
        height = surprise(start)  # divided out, because quad stops at an absolute error
        value = quad(lambda x, s=surprise, height=height: exp(height - s(x)), sorted(set(points)))
        yield error(value * exp(-height), row[name])


def derivatives_in_eta():
    with mp.workdps(120):
        for row in rows("eta", 150, lambda r: abs(r["eta"]) < 40):
            family, p, link, y = row["family"], laws.exact(row["parameters"]), row["link"], mpf(row["y"])

            def nll(eta, family=family, p=p, link=link, y=y):
                return laws.in_eta(family, p, link, y, eta)[0]

            eta = mpf(row["eta"])
            for order, name in ((1, "gradient"), (2, "hessian")):
                numeric = diff(nll, eta, order, h=mpf(10) ** -30 * (abs(eta) or 1))
                floor = mpf(10) ** -20 * mpf(row["expected_hessian"])  # some derivatives are exactly zero
                yield abs(numeric - mpf(row[name])) / max(abs(numeric), floor)


def tweedie_gradients():
    with mp.workdps(110):
        for row in rows("tweedie", 60, lambda r: r["y"] > 0):
            point = [mpf(row[name]) for name in ("y", "mean", "power", "dispersion")]
            for i, name in enumerate(("d_mean", "d_power", "d_dispersion"), start=1):

                def nll(x, point=point, i=i):
                    return tweedie.nll(*point[:i], x, *point[i + 1 :])

                numeric = diff(nll, point[i], h=(point[i] - (1 if i == 2 else 0)) * mpf(10) ** -22)
                floor = mpf(10) ** -12 if i == 2 else 0  # the power's score nearly vanishes at 3/2
                yield abs(numeric - mpf(row[name])) / max(abs(numeric), floor)


def strided_sums():
    """The same series with every term."""

    def jumps(row):
        return row["y"] ** (2 - row["power"]) / (row["dispersion"] * (2 - row["power"]))

    for row in rows("tweedie", 20, lambda r: 500 < jumps(r) < 2e5):
        point = [mpf(row[name]) for name in ("y", "power", "dispersion")]
        strided, full = tweedie.series(*point), tweedie.series(*point, every_term=True)
        yield max(error(a, b) for a, b in zip(strided, full, strict=True))


def bessel():
    """At power 3/2 the jumps are exponential and the density is a Bessel function."""
    for row in rows("tweedie", 60, lambda r: r["power"] == 1.5 and r["y"] > 0):
        y, mean, phi = (mpf(row[name]) for name in ("y", "mean", "dispersion"))
        rate, _, gam = tweedie.compound(mean, mpf(1.5), phi)
        x = 2 * sqrt(rate * y / gam)
        if x < 1e4:
            yield error(-log(sqrt(rate / (gam * y)) * besseli(1, x)) + rate + y / gam, row["nll"])


def entropies():
    families = ("Gaussian", "Laplace", "Huber", "Gamma", "LogNormal", "Tweedie")
    for row in rows("entropy", 99, lambda r: r["family"] in families):
        family, p = row["family"], laws.exact(row["parameters"])
        if p.get("power", 3) < 2 or not 0.3 < p.get("shape", 1) < 1e3 or not 0.01 < p.get("dispersion", 1) < 10:
            continue
        if not 0.1 < p.get("scale", 1) < 10:
            continue

        def integrand(y, family=family, p=p):
            nll = laws.NLL[family](y, **p)
            return exp(-nll) * nll

        if family in POSITIVE:
            value = sums.integrate_over_log(integrand, exp(p["loc"]) if "loc" in p else p["mean"], mpf(1) / 4)
        else:
            value = sums.integrate_pieces(integrand, information.breakpoints(p, p))
        yield error(value, row["entropy"])


def divergences():
    """Same-family closed forms against the quadrature used for mixed pairs, and Tweedie against its deviance."""
    for row in rows("kl", 200, lambda r: r["p"]["family"] == r["q"]["family"] and float(r["kl"]) > 0):
        family = row["p"]["family"]
        p, q = laws.exact(row["p"]["parameters"]), laws.exact(row["q"]["parameters"])
        if family == "Tweedie" and 1 < p["power"] < 2 and all(p[k] == q[k] for k in ("power", "dispersion")):
            d, m, n = p["power"], p["mean"], q["mean"]
            deviance = m ** (2 - d) / ((1 - d) * (2 - d)) - m * n ** (1 - d) / (1 - d) + n ** (2 - d) / (2 - d)
            yield error(deviance / p["dispersion"], row["kl"])
        if family not in ("Gaussian", "Laplace", "Gamma", "LogNormal"):
            continue
        if not 0.1 < p.get("scale", 1) < 100 or not 0.1 < p.get("shape", 1) < 1e3:  # too narrow for a fixed mesh
            continue
        closed = information.SAME_FAMILY_KL.pop(family)
        yield error(information.kl(family, p, family, q), row["kl"])
        information.SAME_FAMILY_KL[family] = closed


if __name__ == "__main__":
    report("tails by quadrature", tails_by_quadrature())
    report("derivatives in eta", derivatives_in_eta())
    report("Tweedie gradients", tweedie_gradients())
    report("strided against full sums", strided_sums())
    report("Tweedie against Bessel", bessel())
    report("entropies by quadrature", entropies())
    report("divergences by quadrature", divergences())
